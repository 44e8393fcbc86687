//! Cost of queue searches (§4.1).

use std::fmt;
use std::str::FromStr;

use crate::estimate::End;
use crate::machine::{GammaAt, Machine, Missing, QueueSearch};

/// Order of messages relative to their receives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SearchOrder {
    /// Equation 3: γ n².
    Bound,
    /// n (n + 1) ÷ 2 entries are compared.
    Reversed,
    /// The paper's applications (§5): n² ÷ 3 entries, at least n.
    Third,
    /// n entries are compared, the minimum of a list.
    InOrder,
}

impl SearchOrder {
    /// The most expensive first.
    pub const ALL: [SearchOrder; 4] =
        [SearchOrder::Bound, SearchOrder::Reversed, SearchOrder::Third, SearchOrder::InOrder];

    pub const fn name(self) -> &'static str {
        match self {
            SearchOrder::Bound => "bound",
            SearchOrder::Reversed => "reversed",
            SearchOrder::Third => "third",
            SearchOrder::InOrder => "in_order",
        }
    }

    /// Entries that a list compares for n messages. The bound γ n² equals n² ÷ 2 entries at 2 γ each.
    pub fn attempts(self, messages: u64) -> f64 {
        let n = messages as f64;
        match self {
            SearchOrder::Bound => n * n / 2.0,
            SearchOrder::Reversed => n * (n + 1.0) / 2.0,
            SearchOrder::Third => (n * n / 3.0).max(n),
            SearchOrder::InOrder => n,
        }
    }
}

impl fmt::Display for SearchOrder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for SearchOrder {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let known = SearchOrder::ALL.into_iter().find(|order| order.name() == name);
        known.ok_or_else(|| {
            let names: Vec<&str> = SearchOrder::ALL.iter().map(|order| order.name()).collect();
            format!("`{name}` is none of {}", names.join(", "))
        })
    }
}

/// Equation 3: γ n².
pub fn bound_s(gamma_s: f64, messages: u64) -> f64 {
    gamma_s * (messages as f64) * (messages as f64)
}

impl QueueSearch {
    /// γ for `messages` concurrent messages: interpolated by the logarithm between the two nearest measured
    /// numbers, and constant beyond the measured numbers. `None` without measurements.
    pub fn gamma_at(&self, messages: u64, end: End) -> Option<f64> {
        let above = self.by_messages.partition_point(|at| u64::from(at.messages) < messages);
        let below = above.checked_sub(1).and_then(|below| self.by_messages.get(below));
        match (below, self.by_messages.get(above)) {
            (Some(below), Some(above)) => Some(interpolate_gamma(below, above, messages, end)),
            (Some(nearest), None) | (None, Some(nearest)) => Some(nearest.gamma_s.time(end)),
            (None, None) => self.gamma_s.map(|gamma| gamma.time(end)),
        }
    }
}

fn interpolate_gamma(below: &GammaAt, above: &GammaAt, messages: u64, end: End) -> f64 {
    let logarithms =
        [below.messages.into(), messages, above.messages.into()].map(|count| (count as f64).ln());
    let share = (logarithms[1] - logarithms[0]) / (logarithms[2] - logarithms[0]);
    below.gamma_s.time(end) * (1.0 - share) + above.gamma_s.time(end) * share
}

impl Machine {
    /// Time of an attempt with `messages` concurrent messages: measured, or 2 γ.
    pub fn attempt_s(&self, messages: u64, end: End) -> Result<f64, Missing> {
        let search = &self.queue_search;
        let of_gamma = || search.gamma_at(messages, end).map(|gamma_s| 2.0 * gamma_s);
        let attempt_s = search.attempt_s.map(|attempt| attempt.time(end)).or_else(of_gamma);
        attempt_s.ok_or_else(|| self.missing("queue_search.gamma_s, nor queue_search.attempt_s"))
    }

    /// Time of the queue searches for n messages in this order. The bound needs γ.
    pub fn search_s(&self, order: SearchOrder, messages: u64, end: End) -> Result<f64, Missing> {
        if order == SearchOrder::Bound {
            let gamma_s = self.queue_search.gamma_at(messages, end);
            return Ok(bound_s(gamma_s.ok_or_else(|| self.missing("queue_search.gamma_s"))?, messages));
        }
        Ok(self.attempt_s(messages, end)? * order.attempts(messages))
    }
}
