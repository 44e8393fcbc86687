//! R_N: the rate at which all processes of a node together get data off it (equation 2).

use super::Range;
use super::protocols::{Point, Segment};
use super::robust::{self, Row};
use crate::typical::median;

/// The time of a message while several pairs exchange such messages.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shared {
    /// So many.
    pub pairs: u32,
    /// The size.
    pub bytes: u32,
    /// From sender to receiver, and what it takes all pairs to begin together.
    pub time_s: f64,
}

/// What the times of several pairs say of a limit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum NodeRate {
    /// Bytes per second.
    Limit(Range),
    /// None was met by so many pairs at once.
    NotMet {
        /// The most that were tried.
        pairs: u32,
    },
    /// Messages of this protocol take their time to start rather than to be moved, the largest of them too.
    Latency,
    /// No messages of this protocol that take their time to be moved were exchanged by several pairs.
    NotMeasured,
}

/// A time is limited by the node if it exceeds that of one pair by more than this share of it.
const EXCESS: f64 = 0.15;

/// So many times must be limited to tell a rate.
const ROWS_MIN: usize = 3;

/// Messages up to so many times the smallest tell what it takes pairs to begin together.
const SMALLEST: u32 = 4;

/// The same times without what it takes so many pairs to begin together, which is a barrier in each direction, whatever the
/// size: one pair alone has none. It is what the smallest messages of as many pairs take longer than those of one.
pub fn without_beginning(alone: &[Point], shared: &[Shared]) -> Vec<Shared> {
    let beginning_s = |pairs: u32| {
        let together = || shared.iter().filter(move |one| one.pairs == pairs);
        let smallest = together().map(|one| one.bytes).min().unwrap_or(0);
        let small = together().filter(|one| one.bytes <= smallest.saturating_mul(SMALLEST));
        let longer = |one: &Shared| {
            alone.iter().find(|point| point.bytes == one.bytes).map(|point| one.time_s - point.time_s)
        };
        let all: Vec<f64> = small.filter_map(longer).collect();
        // Of none it is no number.
        median(&all).max(0.0)
    };
    shared.iter().map(|one| Shared { time_s: one.time_s - beginning_s(one.pairs), ..*one }).collect()
}

/// Fits the times of those sizes that are of one protocol.
pub fn fit(segment: &Segment, shared: &[Shared]) -> NodeRate {
    let (smallest, largest) = segment.bytes;
    let alpha_s = segment.alpha_s.value;
    // Where starting takes longer than moving, a limit to moving does not show.
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
    // Few among many were late for another reason.
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

/// T − α = ppn s ÷ R_N. What α is wrong by shall weigh as little as it is of the whole.
fn row(one: &Shared, alpha_s: f64) -> Row {
    Row {
        terms: vec![f64::from(one.pairs) * f64::from(one.bytes)],
        time_s: one.time_s - alpha_s,
        unit_s: one.time_s,
    }
}
