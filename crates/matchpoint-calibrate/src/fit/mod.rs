//! Fit of the model's parameters to raw measurements.
//!
//! [`protocols`] fits times by size, [`rates`] times of several pairs, [`differences`] pairs of times.
//! [`parameters`] combines these fits.

pub mod differences;
pub mod parameters;
pub mod protocols;
pub mod rates;
pub mod robust;

use serde::Serialize;

/// A parameter with its confidence interval ([`robust::CONFIDENCE`]). JSON has no infinity: an infinite end is null.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Range {
    /// Never negative.
    pub value: f64,
    /// Never negative.
    pub low: f64,
    /// Infinite for a time if one round has no more measurements than parameters.
    pub high: f64,
}

impl Range {
    /// `value` is `centre` without negative values.
    fn around(value: f64, centre: f64, margin: f64) -> Range {
        Range { value, low: (centre - margin).clamp(0.0, value), high: (centre + margin).max(value) }
    }

    /// Widens the interval by the variation between rounds: Student's interval of the mean of single rounds'
    /// estimates, around the value. A bootstrap of few rounds is too narrow, because it never exceeds the
    /// extremes. With no more times than parameters, only rounds give an interval.
    pub(crate) fn over_rounds(self, estimates: &[f64]) -> Range {
        let count = estimates.len() as f64;
        if count < 2.0 {
            return self;
        }
        let mean = estimates.iter().sum::<f64>() / count;
        let variance = estimates.iter().map(|one| (one - mean).powi(2)).sum::<f64>() / (count - 1.0);
        let margin = robust::student(count - 1.0) * (variance / count).sqrt();
        let own = Range::around(self.value, self.value, margin);
        if !self.is_bounded() {
            return own;
        }
        Range { value: self.value, low: self.low.min(own.low), high: self.high.max(own.high) }
    }

    pub fn is_bounded(&self) -> bool {
        self.high.is_finite()
    }

    pub fn may_be_zero(&self) -> bool {
        self.low <= 0.0
    }

    pub fn inverse(&self) -> Range {
        Range { value: 1.0 / self.value, low: 1.0 / self.high, high: 1.0 / self.low }
    }

    pub fn scaled(&self, factor: f64) -> Range {
        Range { value: self.value * factor, low: self.low * factor, high: self.high * factor }
    }
}
