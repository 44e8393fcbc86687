//! What it takes to search the queues (§4.1).

use std::fmt;
use std::str::FromStr;

use crate::estimate::End;
use crate::machine::{Machine, Missing};

/// In which order messages find their receives, or how much is assumed of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Order {
    /// Equation 3, the upper bound: γ n².
    Bound,
    /// Receives were posted in the opposite order: n (n + 1) ÷ 2 entries are compared.
    Reversed,
    /// As the paper found it in its applications (§5): n² ÷ 3 entries, but no fewer than n.
    Third,
    /// Receives were posted in the order of arrival: n entries, the least that a list can do.
    InOrder,
}

impl Order {
    /// All, the costliest first.
    pub const ALL: [Order; 4] = [Order::Bound, Order::Reversed, Order::Third, Order::InOrder];

    /// Its name, as users say it.
    pub const fn name(self) -> &'static str {
        match self {
            Order::Bound => "bound",
            Order::Reversed => "reversed",
            Order::Third => "third",
            Order::InOrder => "in_order",
        }
    }

    /// Entries that a list compares for n messages.
    ///
    /// The bound has no number of entries of its own: its n² γ are those of n² ÷ 2 entries of 2 γ each.
    pub fn attempts(self, messages: u64) -> f64 {
        let n = messages as f64;
        match self {
            Order::Bound => n * n / 2.0,
            Order::Reversed => n * (n + 1.0) / 2.0,
            Order::Third => (n * n / 3.0).max(n),
            Order::InOrder => n,
        }
    }
}

impl fmt::Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Order {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let known = Order::ALL.into_iter().find(|order| order.name() == name);
        known.ok_or_else(|| {
            let names: Vec<&str> = Order::ALL.iter().map(|order| order.name()).collect();
            format!("`{name}` is none of {}", names.join(", "))
        })
    }
}

/// Equation 3: γ n².
pub fn bound_s(gamma_s: f64, messages: u64) -> f64 {
    gamma_s * (messages as f64) * (messages as f64)
}

/// So many entries compared, in so many operations.
pub fn counted_s(operation_s: f64, operations: f64, attempt_s: f64, attempts: f64) -> f64 {
    operation_s * operations + attempt_s * attempts
}

impl Machine {
    /// Time to compare one entry of the MPI library's queues: measured, or 2 γ.
    ///
    /// # Errors
    /// The machine has neither.
    pub fn attempt_s(&self, end: End) -> Result<f64, Missing> {
        let search = &self.queue_search;
        let of_gamma = || search.gamma_s.map(|gamma| 2.0 * gamma.time(end));
        let attempt_s = search.attempt_s.map(|attempt| attempt.time(end)).or_else(of_gamma);
        attempt_s.ok_or_else(|| self.missing("queue_search.gamma_s, nor queue_search.attempt_s"))
    }

    /// Time to search the queues for n messages that come in this order.
    ///
    /// # Errors
    /// The machine lacks a parameter; the bound needs γ.
    pub fn search_s(&self, order: Order, messages: u64, end: End) -> Result<f64, Missing> {
        if order == Order::Bound {
            let gamma = self.queue_search.gamma_s.ok_or_else(|| self.missing("queue_search.gamma_s"))?;
            return Ok(bound_s(gamma.time(end), messages));
        }
        Ok(self.attempt_s(end)? * order.attempts(messages))
    }

    /// Time that an engine takes for counted operations and attempts.
    ///
    /// # Errors
    /// The machine does not know this engine.
    pub fn engine_s(&self, engine: &str, operations: f64, attempts: f64, end: End) -> Result<f64, Missing> {
        let lacks = |key| self.missing(format!("queue_search.engines.\"{engine}\".{key}"));
        let cost = self.queue_search.engines.get(engine).copied().unwrap_or_default();
        let operation_s = cost.operation_s.ok_or_else(|| lacks("operation_s"))?.time(end);
        let attempt_s = cost.attempt_s.ok_or_else(|| lacks("attempt_s"))?.time(end);
        Ok(counted_s(operation_s, operations, attempt_s, attempts))
    }
}
