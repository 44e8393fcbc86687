//! A linear model of times, robust against single outliers.
//!
//! Iteratively reweighted least squares minimize the sum of Huber's ρ over *relative* residuals, (measured −
//! modelled) ÷ unit. The unit is usually the measured time: times span six powers of ten, and absolute
//! residuals would ignore all but the largest messages. The intervals are Student's, from Huber's asymptotic
//! covariance (Huber & Ronchetti, Robust Statistics, §7.6).

use statrs::distribution::{ContinuousCDF, StudentsT};

pub const CONFIDENCE: f64 = 0.95;

/// 95 % of the efficiency of least squares for normal residuals.
const HUBER: f64 = 1.345;

/// Standard deviation ÷ median absolute deviation of a normal distribution.
const MAD: f64 = 1.4826;

const STEPS: usize = 60;

#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    pub terms: Vec<f64>,
    /// A time, or the difference of two times.
    pub time_s: f64,
    /// Unit of the residual, above 0.
    pub unit_s: f64,
}

impl Row {
    /// Row of a measured time, which is also the unit.
    pub fn new(terms: Vec<f64>, time_s: f64) -> Row {
        Row { terms, time_s, unit_s: time_s }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FitError {
    /// Fewer rows than parameters.
    TooFew,
    /// The rows do not separate the parameters, for example with equal sizes.
    Singular,
    /// A term or time is not finite, or a unit is not above 0.
    NoNumber,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Fit {
    /// In the order of the terms.
    pub parameters: Vec<f64>,
    /// Half width of each interval; infinite with no more rows than parameters.
    pub margins: Vec<f64>,
    pub residuals: Vec<f64>,
    /// Robust standard deviation of the residuals.
    pub scale: f64,
}

pub fn fit(rows: &[Row]) -> Result<Fit, FitError> {
    let parameters = rows.first().map_or(0, |row| row.terms.len());
    let is_number = |row: &Row| {
        row.unit_s > 0.0 && [row.time_s, row.unit_s].iter().chain(&row.terms).all(|number| number.is_finite())
    };
    if !rows.iter().all(is_number) {
        return Err(FitError::NoNumber);
    }
    if parameters == 0 || rows.len() < parameters {
        return Err(FitError::TooFew);
    }
    let column = |term: usize| rows.iter().map(|row| row.terms[term] / row.unit_s).collect();
    let design: Columns = (0..parameters).map(column).collect();
    let times: Vec<f64> = rows.iter().map(|row| row.time_s / row.unit_s).collect();
    let (solution, residuals, scale) = reweighted(&design, &times)?;
    let margins = margins(&design, &residuals, scale)?;
    Ok(Fit { parameters: solution, margins, residuals, scale })
}

fn reweighted(design: &Columns, times: &[f64]) -> Result<(Vec<f64>, Vec<f64>, f64), FitError> {
    let rows = times.len();
    let free = (rows - design.len()).max(1) as f64;
    let mut weights = vec![1.0; rows];
    let mut step = 0;
    loop {
        let Solution { parameters, .. } = solve(design, times, &weights).ok_or(FitError::Singular)?;
        let modelled = |row: usize| -> f64 {
            design.iter().zip(&parameters).map(|(column, parameter)| column[row] * parameter).sum()
        };
        let residuals: Vec<f64> = (0..rows).map(|row| times[row] - modelled(row)).collect();
        let scale = spread(&residuals) * (rows as f64 / free).sqrt();
        let next: Vec<f64> = residuals.iter().map(|&residual| huber_weight(residual, scale)).collect();
        let moved = next.iter().zip(&weights).any(|(next, weight)| (next - weight).abs() > 1e-6);
        step += 1;
        if !moved || step == STEPS {
            return Ok((parameters, residuals, scale));
        }
        weights = next;
    }
}

/// Standard deviation about 0, robust against outliers.
pub fn spread(of: &[f64]) -> f64 {
    let mut sizes: Vec<f64> = of.iter().map(|residual| residual.abs()).collect();
    sizes.sort_by(f64::total_cmp);
    // An exact fit has no outliers. The minimum avoids a division by 0.
    sizes.get(sizes.len() / 2).map_or(0.0, |median| MAD * median).max(1e-12)
}

fn huber_weight(residual: f64, scale: f64) -> f64 {
    let size = residual.abs() / scale;
    if size <= HUBER { 1.0 } else { HUBER / size }
}

/// Huber's covariance: K² σ² (Σψ² ÷ (n − p)) ÷ (Σψ′ ÷ n)² (XᵀX)⁻¹.
fn margins(design: &Columns, residuals: &[f64], scale: f64) -> Result<Vec<f64>, FitError> {
    let (rows, parameters) = (residuals.len(), design.len());
    if rows == parameters {
        return Ok(vec![f64::INFINITY; parameters]);
    }
    let free = (rows - parameters) as f64;
    let psi = |residual: f64| (residual / scale).clamp(-HUBER, HUBER);
    let squares: f64 = residuals.iter().map(|&residual| psi(residual).powi(2)).sum();
    let inner = residuals.iter().filter(|residual| residual.abs() <= HUBER * scale).count().max(1);
    let share = inner as f64 / rows as f64;
    let correction = 1.0 + parameters as f64 / rows as f64 * (1.0 - share) / share;
    let variance = (correction * scale / share).powi(2) * squares / free;
    let plain = solve(design, residuals, &vec![1.0; rows]).ok_or(FitError::Singular)?;
    let quantile = student(free);
    Ok(plain.variances.iter().map(|of_parameter| quantile * (variance * of_parameter).sqrt()).collect())
}

/// Half width of an interval in standard errors.
pub fn student(free: f64) -> f64 {
    StudentsT::new(0.0, 1.0, free).map_or(f64::INFINITY, |t| t.inverse_cdf((1.0 + CONFIDENCE) / 2.0))
}

/// Huber's ρ, to compare piecewise fits of the same rows.
pub fn loss(residual: f64, scale: f64) -> f64 {
    let size = residual.abs() / scale;
    if size <= HUBER { size * size / 2.0 } else { HUBER * (size - HUBER / 2.0) }
}

/// A column per parameter, a number per row.
pub type Columns = Vec<Vec<f64>>;

/// Columns with a smaller relative remainder are dependent.
const SINGULAR: f64 = 1e-9;

/// Parameters, and their variances relative to a residual's: the diagonal of (XᵀX)⁻¹.
pub struct Solution {
    pub parameters: Vec<f64>,
    pub variances: Vec<f64>,
}

/// Minimizes Σ weight × (target − Σ column × parameter)² by modified Gram-Schmidt (Björck, Numerical Methods for Least
/// Squares Problems, §2.4). `None` for dependent columns. The fits have at most two columns, and libraries need a newer
/// compiler and thirty crates.
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

fn back(triangle: &Columns, right: &[f64]) -> Vec<f64> {
    let mut solved = right.to_vec();
    for at in (0..solved.len()).rev() {
        let known: f64 = (at + 1..solved.len()).map(|later| triangle[at][later] * solved[later]).sum();
        solved[at] = (right[at] - known) / triangle[at][at];
    }
    solved
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(sizes: &[f64], alpha: f64, beta: f64) -> Vec<Row> {
        sizes.iter().map(|&size| Row::new(vec![1.0, size], alpha + beta * size)).collect()
    }

    #[test]
    fn exact_line_is_found_exactly() {
        let found = fit(&line(&[1.0, 100.0, 1e4, 1e6], 2e-6, 1e-9)).unwrap();
        assert!((found.parameters[0] / 2e-6 - 1.0).abs() < 1e-9, "{found:?}");
        assert!((found.parameters[1] / 1e-9 - 1.0).abs() < 1e-9, "{found:?}");
        assert!(found.margins[0] < 1e-12 && found.margins[1] < 1e-15, "{found:?}");
    }

    #[test]
    fn outliers_change_fit_little() {
        let sizes: Vec<f64> = (0..30).map(|power| 1.6_f64.powi(power)).collect();
        let mut rows = line(&sizes, 2e-6, 1e-9);
        for (index, row) in rows.iter_mut().enumerate() {
            let noise = 1.0 + 0.01 * f64::from(index as u32 % 5) - 0.02;
            *row = Row::new(row.terms.clone(), row.time_s * noise);
            if index % 7 == 3 {
                *row = Row::new(row.terms.clone(), row.time_s * 4.0);
            }
        }
        let found = fit(&rows).unwrap();
        assert!((found.parameters[0] / 2e-6 - 1.0).abs() < 0.03, "{found:?}");
        assert!((found.parameters[1] / 1e-9 - 1.0).abs() < 0.03, "{found:?}");
        assert!(found.scale < 0.05, "{found:?}");
    }

    #[test]
    fn invalid_rows_are_reported() {
        assert_eq!(fit(&[]), Err(FitError::TooFew));
        assert_eq!(fit(&line(&[8.0], 1e-6, 1e-9)), Err(FitError::TooFew));
        assert_eq!(fit(&line(&[8.0, 8.0, 8.0], 1e-6, 1e-9)), Err(FitError::Singular));
        for wrong in [f64::NAN, -1e-6, 0.0, f64::INFINITY] {
            let mut rows = line(&[1.0, 2.0, 3.0], 1e-6, 1e-9);
            rows[1] = Row::new(vec![1.0, 2.0], wrong);
            assert_eq!(fit(&rows), Err(FitError::NoNumber), "{wrong}");
        }
        let mut rows = line(&[1.0, 2.0, 3.0], 1e-6, 1e-9);
        rows[1].terms[1] = f64::NAN;
        assert_eq!(fit(&rows), Err(FitError::NoNumber));
    }

    #[test]
    fn minimal_rows_give_infinite_margins() {
        let found = fit(&line(&[1.0, 1000.0], 1e-6, 1e-9)).unwrap();
        assert!(found.margins.iter().all(|margin| margin.is_infinite()), "{found:?}");
    }

    #[test]
    fn student_quantiles_equal_tables() {
        assert!((student(1.0) - 12.706).abs() < 1e-3);
        assert!((student(10.0) - 2.228).abs() < 1e-3);
    }
}
