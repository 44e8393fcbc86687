//! R_N: rate at which all processes of a node together send to other nodes (equation 2).

use super::Range;
use super::protocols::{Point, Segment};
use super::robust::{self, Row};
use crate::typical::median;

/// Time of a message while several pairs exchange messages.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shared {
    pub pairs: u32,
    pub bytes: u32,
    /// Time from sender to receiver, including the start of all pairs together.
    pub time_s: f64,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum NodeRate {
    /// Bytes per second.
    Limit(Range),
    /// The pairs did not reach a limit.
    NotMet {
        /// The largest measured number of pairs.
        pairs: u32,
    },
    /// Latency dominates all sizes of this protocol.
    Latency,
    /// No bandwidth-dominated message of this protocol was measured with several pairs.
    NotMeasured,
}

/// Relative excess over the time of one pair, from which a time counts as limited.
const EXCESS: f64 = 0.15;

/// Minimum number of limited times for a rate.
const ROWS_MIN: usize = 3;

/// Multiple of the smallest size up to which messages show the time to start the pairs.
const SMALLEST: u32 = 4;

/// Subtracts the time to start the pairs together, a barrier per direction, which does not depend on the
/// size. The estimate is the additional time of the smallest messages compared with one pair, which needs no
/// barrier.
pub fn without_start(alone: &[Point], shared: &[Shared]) -> Vec<Shared> {
    let start_s = |pairs: u32| {
        let together = || shared.iter().filter(move |one| one.pairs == pairs);
        let smallest = together().map(|one| one.bytes).min().unwrap_or(0);
        let small = together().filter(|one| one.bytes <= smallest.saturating_mul(SMALLEST));
        let longer = |one: &Shared| {
            alone.iter().find(|point| point.bytes == one.bytes).map(|point| one.time_s - point.time_s)
        };
        let all: Vec<f64> = small.filter_map(longer).collect();
        // The median of no values is NaN.
        median(&all).max(0.0)
    };
    shared.iter().map(|one| Shared { time_s: one.time_s - start_s(one.pairs), ..*one }).collect()
}

pub fn fit(segment: &Segment, shared: &[Shared]) -> NodeRate {
    let (smallest, largest) = segment.bytes;
    let alpha_s = segment.alpha_s.value;
    // If latency dominates, a bandwidth limit is not visible.
    let is_moved = |bytes: u32| segment.beta_s_per_byte.value * f64::from(bytes) > alpha_s;
    if !is_moved(largest) {
        return NodeRate::Latency;
    }
    let of_protocol: Vec<&Shared> = shared
        .iter()
        .filter(|one| (smallest..=largest).contains(&one.bytes) && is_moved(one.bytes))
        .collect();
    let Some(pairs) = of_protocol.iter().map(|one| one.pairs).max() else { return NodeRate::NotMeasured };
    let is_limited = |one: &&&Shared| one.time_s > (1.0 + EXCESS) * segment.time_s(one.bytes);
    let limited: Vec<Row> = of_protocol.iter().filter(is_limited).map(|one| row(one, alpha_s)).collect();
    // A few slow times among many have another reason than the node.
    if limited.len() < ROWS_MIN || limited.len() * 4 < of_protocol.len() {
        return NodeRate::NotMet { pairs };
    }
    match robust::fit(&limited) {
        Ok(fit) => {
            let (value, margin) = (fit.parameters[0], fit.margins[0]);
            NodeRate::Limit(Range::around(value, value, margin).inverse())
        }
        Err(_) => NodeRate::NotMeasured,
    }
}

/// T − α = ppn s ÷ R_N. The unit is the whole time, so that an error of α has little weight.
fn row(one: &Shared, alpha_s: f64) -> Row {
    Row {
        terms: vec![f64::from(one.pairs) * f64::from(one.bytes)],
        time_s: one.time_s - alpha_s,
        unit_s: one.time_s,
    }
}
