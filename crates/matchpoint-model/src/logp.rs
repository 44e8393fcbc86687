//! LogP (Culler et al. 1993) and LogGP (Alexandrov et al. 1995), from the parameters of the postal model, o
//! and g.
//!
//! The postal model's α is the whole time of a message without bytes: o of the sender, L, and o of the
//! receiver. Its 1 ÷ R_b is LogGP's G.

use crate::estimate::{End, ParameterEstimate};
use crate::machine::{Machine, Missing, Protocol};

#[derive(Clone, Copy, PartialEq, Debug)]
pub struct LogP {
    /// L: time on the wire.
    pub latency_s: f64,
    /// o: processor time to send or receive a message.
    pub overhead_s: f64,
    /// g: minimum time between two messages of one process.
    pub gap_s: f64,
}

impl LogP {
    /// L is α − 2 o, or 0 if this difference is negative, because α and o have different measurements.
    ///
    /// ```
    /// let network = matchpoint_model::logp::LogP::of(2e-6, 0.5e-6, 0.25e-6);
    /// assert_eq!(network.latency_s, 1e-6);
    /// ```
    pub fn of(alpha_s: f64, overhead_s: f64, gap_s: f64) -> LogP {
        LogP { latency_s: (alpha_s - 2.0 * overhead_s).max(0.0), overhead_s, gap_s }
    }

    /// Time from the sender's first call until the receiver has the last of `messages` small messages: o + (n
    /// − 1) max(g, o) + L + o (LogP, §3). 0 without messages.
    pub fn messages_s(&self, messages: f64) -> f64 {
        if messages < 1.0 {
            return 0.0;
        }
        (messages - 1.0) * self.gap_s.max(self.overhead_s) + 2.0 * self.overhead_s + self.latency_s
    }
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub struct LogGp {
    pub small: LogP,
    /// G: time per byte.
    pub gap_per_byte_s: f64,
}

impl LogGp {
    /// Time of one message: o + (k − 1) G + L + o (LogGP, §2).
    pub fn message_s(&self, bytes: f64) -> f64 {
        self.small.messages_s(1.0) + (bytes - 1.0).max(0.0) * self.gap_per_byte_s
    }
}

impl Machine {
    /// LogP between the most distant processes ([`Machine::farthest`]), with α of the smallest messages. L
    /// uses α and o of the same end.
    pub fn as_logp(&self, end: End) -> Result<LogP, Missing> {
        let of = |estimate: Option<ParameterEstimate>, key: &str| {
            estimate.map(|estimate| estimate.time(end)).ok_or_else(|| self.missing(key))
        };
        let farthest = self.farthest();
        let link = self.link(farthest);
        let smallest = Protocol::ALL.into_iter().find_map(|protocol| link.transport(protocol).alpha_s);
        Ok(LogP::of(
            of(smallest, &format!("{}.eager.alpha_s", farthest.key()))?,
            of(self.logp.overhead_s, "logp.overhead_s")?,
            of(self.logp.gap_s, "logp.gap_s")?,
        ))
    }

    /// LogGP between the most distant processes. G is 1 ÷ R_b of the largest messages.
    pub fn as_loggp(&self, end: End) -> Result<LogGp, Missing> {
        let small = self.as_logp(end)?;
        let farthest = self.farthest();
        let link = self.link(farthest);
        let rates = Protocol::ALL.into_iter().rev();
        let largest = rates.into_iter().find_map(|protocol| link.transport(protocol).rate_bytes_per_s);
        let largest =
            largest.ok_or_else(|| self.missing(format!("{}.eager.rate_bytes_per_s", farthest.key())))?;
        Ok(LogGp { small, gap_per_byte_s: 1.0 / largest.rate(end) })
    }
}
