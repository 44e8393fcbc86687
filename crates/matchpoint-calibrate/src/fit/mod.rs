//! From raw measurements to the parameters of the model.
//!
//! Every part is a function of what it needs and no more: [`protocols`] of times by size, [`rates`] of those of several
//! pairs, [`differences`] of pairs of times whose difference is a cost. [`parameters`] puts them together.

pub mod differences;
pub mod parameters;
pub mod protocols;
pub mod rates;
pub mod robust;
mod squares;

/// A parameter with its interval of confidence ([`robust::CONFIDENCE`]).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Range {
    /// The estimate, never negative.
    pub value: f64,
    /// The low end, never negative.
    pub low: f64,
    /// The high end; of a time infinite if nothing tells it: no more measurements than parameters, and one round.
    pub high: f64,
}

impl Range {
    /// What is `value` once negative ones are cut off, by a fit that gave `centre`.
    fn around(value: f64, centre: f64, margin: f64) -> Range {
        Range { value, low: (centre - margin).clamp(0.0, value), high: (centre + margin).max(value) }
    }

    /// The same, at least as wide as several estimates of it tell, one from each round: Student's interval of their mean, about
    /// the value. (Of so few rounds a bootstrap would be too narrow: it never reaches beyond the most and the least.) How
    /// well one line describes all times says nothing of how fast the machine was that minute; rounds do. Where there are no
    /// more times than parameters, which say nothing of the line either, rounds alone tell.
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

    /// Whether anything tells how uncertain a time is.
    pub fn is_bounded(&self) -> bool {
        self.high.is_finite()
    }

    /// Whether it may as well be nothing.
    pub fn may_be_nothing(&self) -> bool {
        self.low <= 0.0
    }

    /// One over it.
    pub fn inverse(&self) -> Range {
        Range { value: 1.0 / self.value, low: 1.0 / self.high, high: 1.0 / self.low }
    }

    /// All of it, so many times.
    pub fn scaled(&self, factor: f64) -> Range {
        Range { value: self.value * factor, low: self.low * factor, high: self.high * factor }
    }
}
