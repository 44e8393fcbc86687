//! Time against size: α and R_b of each protocol, and the sizes at which the library changes the protocol
//! (§2, §3).
//!
//! The largest eager size is measured. Other changes are estimated: the fit divides the sizes into ranges
//! with a line each, and selects the best division, with a penalty per range.

use matchpoint_model::Protocol;
use serde::Serialize;

use super::Range;
use super::robust::{self, Fit, FitError, Row};

/// Time of one message, from sender to receiver.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Point {
    pub bytes: u32,
    pub time_s: f64,
}

/// A range of sizes with one line: a protocol.
#[derive(Debug, Clone, PartialEq)]
pub struct Segment {
    pub protocol: Protocol,
    pub bytes: (u32, u32),
    /// α, in seconds.
    pub alpha_s: Range,
    /// β = 1 ÷ R_b, in seconds per byte.
    pub beta_s_per_byte: Range,
    pub residuals: Vec<(u32, f64)>,
    pub scale: f64,
}

impl Segment {
    pub fn time_s(&self, bytes: u32) -> f64 {
        self.alpha_s.value + self.beta_s_per_byte.value * f64::from(bytes)
    }
}

/// Protocols that send before the match (§2).
const AT_ONCE: &[Protocol] = &[Protocol::Short, Protocol::Eager];

/// Sizes of a line: two for two parameters, two more for a meaningful interval.
const POINTS_MIN: usize = 4;

/// Relative noise. Smaller differences may come from caches and are no evidence for a protocol.
const NOISE_MIN: f64 = 0.01;

/// Penalty of a further segment in units of ln(points): two parameters, and a searched boundary, which counts
/// twice. Half of this penalty, Schwarz's usual criterion, finds segments in noise.
const CHARGE: f64 = 6.0;

/// Fits sizes in ascending order. Sizes up to `eager_max` are eager. A side of this limit with one size is
/// omitted. Without the limit, a single range is eager; of two ranges, the second is rendezvous.
///
/// # Errors
/// There are too few sizes, or a time is invalid.
pub fn fit(points: &[Point], eager_max: Option<u32>) -> Result<Vec<Segment>, FitError> {
    let noise = noise(points).max(NOISE_MIN);
    let Some(eager_max) = eager_max else {
        return cut(points, noise, &Protocol::ALL).map(name_by_order);
    };
    let (at_once, waiting) = points.split_at(points.partition_point(|point| point.bytes <= eager_max));
    let mut sides = Vec::new();
    for (side, protocols) in [(at_once, AT_ONCE), (waiting, &[Protocol::Rendezvous])] {
        match cut(side, noise, protocols) {
            Ok(segments) => sides.extend(segments),
            Err(FitError::TooFew) => {}
            Err(unfit) => return Err(unfit),
        }
    }
    if sides.is_empty() { Err(FitError::TooFew) } else { Ok(sides) }
}

/// The second of two ranges is rendezvous.
fn name_by_order(mut segments: Vec<Segment>) -> Vec<Segment> {
    if let [only] = &mut segments[..] {
        only.protocol = Protocol::Eager;
    }
    segments
}

/// Divides the points into at most as many ranges as protocols. The ranges get the last protocols.
fn cut(points: &[Point], noise: f64, protocols: &[Protocol]) -> Result<Vec<Segment>, FitError> {
    if points.len() < 2 {
        return Err(FitError::TooFew);
    }
    let whole = line(points)?;
    let costs = Costs::of(points, noise);
    let charge = CHARGE * (points.len() as f64).ln();
    let mut best = (vec![0], 2.0 * loss(&whole, noise));
    for count in 2..=protocols.len() {
        let Some((starts, cost)) = costs.cut(count) else { break };
        let charged = 2.0 * cost + charge * (count - 1) as f64;
        if charged < best.1 {
            best = (starts, charged);
        }
    }
    let starts = best.0;
    let ends = starts.iter().skip(1).copied().chain([points.len()]);
    let protocols = &protocols[protocols.len() - starts.len()..];
    let ranges = starts.iter().zip(ends).zip(protocols);
    ranges.map(|((&start, end), &protocol)| Ok(Segment { protocol, ..line(&points[start..end])? })).collect()
}

/// Fits α and β, not negative, of one range of sizes.
///
/// # Errors
/// There are too few sizes, or a time is invalid.
pub fn line(points: &[Point]) -> Result<Segment, FitError> {
    let rows = |terms: fn(f64) -> Vec<f64>| -> Vec<Row> {
        points.iter().map(|point| Row::new(terms(f64::from(point.bytes)), point.time_s)).collect()
    };
    let free = robust::fit(&rows(|bytes| vec![1.0, bytes]))?;
    let (alpha, beta) = (free.parameters[0], free.parameters[1]);
    // A negative parameter becomes 0, and the other is fitted again alone.
    let (fit, values): (Fit, _) = if alpha < 0.0 {
        let fit = robust::fit(&rows(|bytes| vec![bytes]))?;
        let values = [0.0, fit.parameters[0]];
        (fit, values)
    } else if beta < 0.0 {
        let fit = robust::fit(&rows(|_| vec![1.0]))?;
        let values = [fit.parameters[0], 0.0];
        (fit, values)
    } else {
        (free.clone(), [alpha, beta])
    };
    let range = |at: usize| Range::around(values[at], free.parameters[at], free.margins[at]);
    let of_point = |(point, residual): (&Point, &f64)| (point.bytes, *residual);
    Ok(Segment {
        protocol: Protocol::Eager,
        bytes: (points[0].bytes, points[points.len() - 1].bytes),
        alpha_s: range(0),
        beta_s_per_byte: range(1),
        residuals: points.iter().zip(&fit.residuals).map(of_point).collect(),
        scale: fit.scale,
    })
}

fn loss(segment: &Segment, noise: f64) -> f64 {
    segment.residuals.iter().map(|(_, residual)| robust::loss(*residual, noise)).sum()
}

/// Scatter of the times, independent of protocols: deviations from the line through both neighbours.
fn noise(points: &[Point]) -> f64 {
    let misses: Vec<f64> = points.windows(3).map(miss).collect();
    robust::spread(&misses)
}

/// Deviation of a time from its neighbours' line, in standard deviations of one time, including the
/// uncertainty of the neighbours.
fn miss(three: &[Point]) -> f64 {
    let size = |at: usize| f64::from(three[at].bytes);
    let right = (size(1) - size(0)) / (size(2) - size(0));
    let between = three[0].time_s * (1.0 - right) + three[2].time_s * right;
    (three[1].time_s - between) / three[1].time_s / (1.0 + right.powi(2) + (1.0 - right).powi(2)).sqrt()
}

struct Costs {
    points: usize,
    costs: Vec<f64>,
}

impl Costs {
    fn of(points: &[Point], noise: f64) -> Costs {
        let count = points.len();
        let mut costs = vec![f64::INFINITY; count * (count + 1)];
        for start in 0..count {
            for end in start + POINTS_MIN..=count {
                let cost = line(&points[start..end]).map_or(f64::INFINITY, |segment| loss(&segment, noise));
                costs[start * (count + 1) + end] = cost;
            }
        }
        Costs { points: count, costs }
    }

    fn cost(&self, start: usize, end: usize) -> f64 {
        self.costs[start * (self.points + 1) + end]
    }

    /// Starts and loss of the best division into `count` ranges.
    fn cut(&self, count: usize) -> Option<(Vec<usize>, f64)> {
        let mut best: Vec<(Vec<usize>, f64)> =
            (0..=self.points).map(|end| (vec![0], self.cost(0, end))).collect();
        for _ in 1..count {
            best = (0..=self.points).map(|end| self.extended(&best, end)).collect();
        }
        best.pop().filter(|(_, cost)| cost.is_finite())
    }

    fn extended(&self, best: &[(Vec<usize>, f64)], end: usize) -> (Vec<usize>, f64) {
        let last = |start: usize| best[start].1 + self.cost(start, end);
        let start = (0..end).min_by(|&one, &other| last(one).total_cmp(&last(other)));
        let Some(start) = start else { return (vec![0], f64::INFINITY) };
        let mut starts = best[start].0.clone();
        starts.push(start);
        (starts, last(start))
    }
}
