//! Time of a message: the postal model, the max-rate model, and a node-aware model by locality (§2, §3).

use crate::estimate::End;
use crate::machine::{Locality, Machine, Missing, Protocol, Transport};

/// Equation 1: α + s ÷ R_b.
pub fn postal_s(alpha_s: f64, rate_bytes_per_s: f64, bytes: f64) -> f64 {
    alpha_s + bytes / rate_bytes_per_s
}

/// Equation 2: α + ppn s ÷ min(R_N, ppn R_b), if `active` (ppn) processes of the node send this size
/// concurrently. Equals the postal model while ppn R_b ≤ R_N.
pub fn max_rate_s(
    alpha_s: f64,
    rate_bytes_per_s: f64,
    node_rate_bytes_per_s: f64,
    active: f64,
    bytes: f64,
) -> f64 {
    alpha_s + active * bytes / node_rate_bytes_per_s.min(active * rate_bytes_per_s)
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TransportModel {
    /// Every message has the greatest distance ([`Machine::farthest`]), and no node is a bottleneck.
    Postal,
    /// Every message has the greatest distance.
    MaxRate,
    /// Separate parameters within sockets and within nodes (§3).
    NodeAware,
}

impl TransportModel {
    /// The simplest first.
    pub const ALL: [TransportModel; 3] =
        [TransportModel::Postal, TransportModel::MaxRate, TransportModel::NodeAware];

    pub const fn name(self) -> &'static str {
        match self {
            TransportModel::Postal => "postal",
            TransportModel::MaxRate => "max-rate",
            TransportModel::NodeAware => "node-aware",
        }
    }
}

impl Machine {
    /// Time of a message while `active` processes of the sender's node send such messages.
    pub fn message_s(&self, locality: Locality, bytes: f64, active: u32, end: End) -> Result<f64, Missing> {
        let protocol = self.link(locality).protocol(bytes as u64);
        let (alpha_s, rate) = self.postal(locality, protocol, end)?;
        let limit = self.link(locality).transport(protocol).node_rate_bytes_per_s;
        let is_bounded = locality == Locality::OffNode && active > 1;
        match limit {
            Some(limit) => Ok(max_rate_s(alpha_s, rate, limit.rate(end), active.max(1).into(), bytes)),
            None if is_bounded => {
                let key = format!("{}.{}.node_rate_bytes_per_s", locality.key(), protocol.key());
                Err(self.missing(key))
            }
            None => Ok(postal_s(alpha_s, rate, bytes)),
        }
    }

    /// Locality that the postal and max-rate models use for every message: between nodes. On a machine with
    /// one node: between sockets, or within a socket.
    pub fn farthest(&self) -> Locality {
        let is_measured = |locality: &Locality| {
            Protocol::ALL.iter().any(|&protocol| self.link(*locality).transport(protocol).alpha_s.is_some())
        };
        Locality::ALL.into_iter().rev().find(is_measured).unwrap_or(Locality::OffNode)
    }

    fn postal(&self, locality: Locality, protocol: Protocol, end: End) -> Result<(f64, f64), Missing> {
        let Transport { alpha_s, rate_bytes_per_s, .. } = self.link(locality).transport(protocol);
        let lacks = |key| self.missing(format!("{}.{}.{key}", locality.key(), protocol.key()));
        let alpha_s = alpha_s.ok_or_else(|| lacks("alpha_s"))?.time(end);
        let rate = rate_bytes_per_s.ok_or_else(|| lacks("rate_bytes_per_s"))?.rate(end);
        Ok((alpha_s, rate))
    }

    /// As [`message_s`](Self::message_s), in the given model.
    pub fn modelled_message_s(
        &self,
        model: TransportModel,
        locality: Locality,
        bytes: f64,
        active: u32,
        end: End,
    ) -> Result<f64, Missing> {
        match model {
            TransportModel::Postal => {
                let farthest = self.farthest();
                let protocol = self.link(farthest).protocol(bytes as u64);
                let (alpha_s, rate) = self.postal(farthest, protocol, end)?;
                Ok(postal_s(alpha_s, rate, bytes))
            }
            TransportModel::MaxRate => self.message_s(self.farthest(), bytes, active, end),
            TransportModel::NodeAware => self.message_s(locality, bytes, active, end),
        }
    }
}
