//! Costs that are seen as the difference of two times: γ, between receives in reversed and in equal order (§4.1), and δ,
//! between a link that is shared and one that is not (§4.2). What the messages cost to move is in both, and falls out.

use super::Range;
use super::robust::{self, Fit, Row, Unfit};

/// Two times that differ by a cost.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Difference {
    /// With the cost.
    pub with_s: f64,
    /// Without it.
    pub without_s: f64,
    /// How often it was paid: entries compared, or bytes.
    pub amount: f64,
}

/// What one of them costs.
#[derive(Debug, Clone, PartialEq)]
pub struct Cost {
    /// In seconds.
    pub each_s: Range,
    /// By amount: what is left of each difference, relative to the time with the cost.
    pub residuals: Vec<(f64, f64)>,
}

/// Fits with − without = cost × amount.
///
/// # Errors
/// There are none, or their times are none.
pub fn fit(differences: &[Difference]) -> Result<Cost, Unfit> {
    let rows: Vec<Row> = differences.iter().map(|one| row(one, vec![one.amount])).collect();
    Ok(cost(differences, &robust::fit(&rows)?))
}

/// Fits with − without = constant + cost × amount: what the one has and the other has not besides is the same for all, as a
/// barrier among more processes.
///
/// # Errors
/// There are fewer than two, their amounts are all the same, or their times are none.
pub fn fit_beyond_constant(differences: &[Difference]) -> Result<Cost, Unfit> {
    let rows: Vec<Row> = differences.iter().map(|one| row(one, vec![one.amount, 1.0])).collect();
    Ok(cost(differences, &robust::fit(&rows)?))
}

fn row(one: &Difference, terms: Vec<f64>) -> Row {
    // A small difference of long times says little, however small it is.
    Row { terms, time_s: one.with_s - one.without_s, unit_s: one.with_s }
}

/// The cost is the first parameter.
fn cost(differences: &[Difference], fit: &Fit) -> Cost {
    let (value, margin) = (fit.parameters[0], fit.margins[0]);
    Cost {
        each_s: Range::around(value.max(0.0), value, margin),
        residuals: differences.iter().zip(&fit.residuals).map(|(one, left)| (one.amount, *left)).collect(),
    }
}

/// Entries that a list compares when n messages arrive in the order that is opposite to that of their receives, beyond the n
/// of equal order: n (n + 1) ÷ 2 − n.
pub fn extra_attempts(messages: u32) -> f64 {
    let n = f64::from(messages);
    n * (n - 1.0) / 2.0
}
