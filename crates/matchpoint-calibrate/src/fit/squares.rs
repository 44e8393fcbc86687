//! Weighted least squares of few columns by modified Gram-Schmidt (Björck, Numerical Methods for Least
//! Squares Problems, §2.4).
//!
//! The fits have at most two columns. Libraries need a newer compiler and thirty crates.

/// A column per parameter, a number per row.
pub type Columns = Vec<Vec<f64>>;

/// Columns with a smaller relative remainder are dependent.
const SINGULAR: f64 = 1e-9;

/// Parameters, and their variances relative to a residual's: the diagonal of (XᵀX)⁻¹.
pub struct Solution {
    pub parameters: Vec<f64>,
    pub variances: Vec<f64>,
}

/// Minimizes Σ weight × (target − Σ column × parameter)². `None` for dependent columns.
pub fn solve(columns: &Columns, target: &[f64], weights: &[f64]) -> Option<Solution> {
    let count = columns.len();
    let weighted = |values: &[f64]| -> Vec<f64> {
        values.iter().zip(weights).map(|(value, weight)| value * weight.sqrt()).collect()
    };
    let mut orthogonal: Columns = columns.iter().map(|column| weighted(column)).collect();
    let mut rest = weighted(target);
    // The triangle is stored by rows; the target is an additional column.
    let mut triangle = vec![vec![0.0; count]; count];
    let mut right = vec![0.0; count];
    for at in 0..count {
        let whole = dot(&weighted(&columns[at]), &weighted(&columns[at])).sqrt();
        let length = dot(&orthogonal[at], &orthogonal[at]).sqrt();
        if length.is_nan() || length <= SINGULAR * whole {
            return None;
        }
        let unit: Vec<f64> = orthogonal[at].iter().map(|value| value / length).collect();
        triangle[at][at] = length;
        for later in at + 1..count {
            triangle[at][later] = without(&mut orthogonal[later], &unit);
        }
        right[at] = without(&mut rest, &unit);
    }
    let parameters = back(&triangle, &right);
    // The variances are the squared lengths of the inverse's rows.
    let mut variances = vec![0.0; count];
    for at in 0..count {
        let mut one = vec![0.0; count];
        one[at] = 1.0;
        for (variance, entry) in variances.iter_mut().zip(back(&triangle, &one)) {
            *variance += entry * entry;
        }
    }
    Some(Solution { parameters, variances })
}

fn dot(one: &[f64], other: &[f64]) -> f64 {
    one.iter().zip(other).map(|(one, other)| one * other).sum()
}

/// Subtracts the projection on a unit vector; returns its length.
fn without(column: &mut [f64], unit: &[f64]) -> f64 {
    let share = dot(column, unit);
    for (value, part) in column.iter_mut().zip(unit) {
        *value -= share * part;
    }
    share
}

/// Solves an upper triangular system.
fn back(triangle: &Columns, right: &[f64]) -> Vec<f64> {
    let mut solved = right.to_vec();
    for at in (0..solved.len()).rev() {
        let known: f64 = (at + 1..solved.len()).map(|later| triangle[at][later] * solved[later]).sum();
        solved[at] = (right[at] - known) / triangle[at][at];
    }
    solved
}
