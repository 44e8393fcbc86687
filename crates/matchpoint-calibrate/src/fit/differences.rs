//! Costs from differences of two times.
//!
//! γ is the difference between receives in reverse and in equal order (§4.1), δ the difference between a
//! shared and an unshared link (§4.2). The cost of the transfer cancels out.

use super::Range;
use super::robust::{self, Fit, FitError, Row};

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Difference {
    pub with_s: f64,
    pub without_s: f64,
    /// Attempts, or bytes.
    pub amount: f64,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Cost {
    /// Seconds per attempt or byte.
    pub each_s: Range,
    /// Amount, and residual of its difference relative to the time with the cost.
    pub residuals: Vec<(f64, f64)>,
}

/// Fits with − without = cost × amount.
///
/// # Errors
/// There are no differences, or a time is invalid.
pub fn fit(differences: &[Difference]) -> Result<Cost, FitError> {
    let rows: Vec<Row> = differences.iter().map(|one| row(one, vec![one.amount])).collect();
    Ok(cost(differences, &robust::fit(&rows)?))
}

/// Fits with − without = constant + cost × amount. The constant is, for example, a barrier among more
/// processes.
///
/// # Errors
/// There are fewer than two differences, all amounts are equal, or a time is invalid.
pub fn fit_beyond_constant(differences: &[Difference]) -> Result<Cost, FitError> {
    let rows: Vec<Row> = differences.iter().map(|one| row(one, vec![one.amount, 1.0])).collect();
    Ok(cost(differences, &robust::fit(&rows)?))
}

fn row(one: &Difference, terms: Vec<f64>) -> Row {
    // A small difference of long times has little weight.
    Row { terms, time_s: one.with_s - one.without_s, unit_s: one.with_s }
}

fn cost(differences: &[Difference], fit: &Fit) -> Cost {
    let (value, margin) = (fit.parameters[0], fit.margins[0]);
    Cost {
        each_s: Range::around(value.max(0.0), value, margin),
        residuals: differences.iter().zip(&fit.residuals).map(|(one, left)| (one.amount, *left)).collect(),
    }
}

/// Attempts of a list for n messages in reverse order beyond the attempts in equal order: n (n + 1) ÷ 2 − n.
pub fn extra_attempts(messages: u32) -> f64 {
    let n = f64::from(messages);
    n * (n - 1.0) / 2.0
}
