//! Time against size: α and R_b of each protocol, and where the library goes from one to the next (§2, §3).
//!
//! From which size on messages wait for their receive was tried; where else the library changes is seen in the data: of all
//! ways to cut the sizes into ranges, with a line for each, the one that explains most, every further range being charged
//! for.

use matchpoint_model::Protocol;

use super::Range;
use super::robust::{self, Fit, Row, Unfit};

/// The time of one message.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    /// Its size.
    pub bytes: u32,
    /// From sender to receiver.
    pub time_s: f64,
}

/// A range of sizes with a line of its own: a protocol.
#[derive(Debug, Clone, PartialEq)]
pub struct Segment {
    /// How these messages are sent.
    pub protocol: Protocol,
    /// Smallest and largest size that were measured of it.
    pub bytes: (u32, u32),
    /// α, in seconds.
    pub alpha_s: Range,
    /// β = 1 ÷ R_b, in seconds per byte.
    pub beta_s_per_byte: Range,
    /// Relative, size by size.
    pub residuals: Vec<(u32, f64)>,
    /// Their standard deviation, outliers apart.
    pub scale: f64,
}

impl Segment {
    /// What the model says of a message of this size.
    pub fn time_s(&self, bytes: u32) -> f64 {
        self.alpha_s.value + self.beta_s_per_byte.value * f64::from(bytes)
    }
}

/// What is sent at once: short, eager (§2).
const AT_ONCE: &[Protocol] = &[Protocol::Short, Protocol::Eager];

/// Two parameters need two sizes, and an interval that means something two more.
const POINTS_MIN: usize = 4;

/// No difference below this, relative, is evidence for a protocol: caches and the like bend lines, too.
const NOISE_MIN: f64 = 0.01;

/// What a further segment is charged, in units of ln(points): two parameters and a place, which is searched for and so
/// counts twice. Half of it, the usual criterion of Schwarz, finds segments in noise.
const CHARGE: f64 = 6.0;

/// Fits sizes in ascending order, of which those up to `at_once_max` are sent at once. A side of that size with one size
/// alone has no line of its own, and is left out. Where it is not known, ranges are named by their order: one is eager, two
/// are eager and rendezvous.
///
/// # Errors
/// There are too few sizes, or a time is none.
pub fn fit(points: &[Point], at_once_max: Option<u32>) -> Result<Vec<Segment>, Unfit> {
    let noise = noise(points).max(NOISE_MIN);
    let Some(at_once_max) = at_once_max else {
        return cut(points, noise, &Protocol::ALL).map(named_by_order);
    };
    let (at_once, waiting) = points.split_at(points.partition_point(|point| point.bytes <= at_once_max));
    let mut sides = Vec::new();
    for (side, protocols) in [(at_once, AT_ONCE), (waiting, &[Protocol::Rendezvous])] {
        match cut(side, noise, protocols) {
            Ok(segments) => sides.extend(segments),
            Err(Unfit::TooFew) => {}
            Err(unfit) => return Err(unfit),
        }
    }
    if sides.is_empty() { Err(Unfit::TooFew) } else { Ok(sides) }
}

/// Nobody knows which messages wait for their receive: of two ranges the second is taken for those, of one none.
fn named_by_order(mut segments: Vec<Segment>) -> Vec<Segment> {
    if let [only] = &mut segments[..] {
        only.protocol = Protocol::Eager;
    }
    segments
}

/// Into as many ranges as there are protocols, or fewer, which are then named after the last of them.
fn cut(points: &[Point], noise: f64, protocols: &[Protocol]) -> Result<Vec<Segment>, Unfit> {
    if points.len() < 2 {
        return Err(Unfit::TooFew);
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

/// α and β of one range of sizes, neither negative; taken for eager.
///
/// # Errors
/// There are too few sizes, or a time is none.
pub fn line(points: &[Point]) -> Result<Segment, Unfit> {
    let rows = |terms: fn(f64) -> Vec<f64>| -> Vec<Row> {
        points.iter().map(|point| Row::new(terms(f64::from(point.bytes)), point.time_s)).collect()
    };
    let free = robust::fit(&rows(|bytes| vec![1.0, bytes]))?;
    let (alpha, beta) = (free.parameters[0], free.parameters[1]);
    // A negative one says that it is nothing, and the other has to be fitted without it.
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

/// How far times scatter, whatever the protocols: by how much each misses the line through its two neighbours.
fn noise(points: &[Point]) -> f64 {
    let misses: Vec<f64> = points.windows(3).map(miss).collect();
    robust::spread(&misses)
}

/// In standard deviations of one time: the line through two others is uncertain, too.
fn miss(three: &[Point]) -> f64 {
    let size = |at: usize| f64::from(three[at].bytes);
    let right = (size(1) - size(0)) / (size(2) - size(0));
    let between = three[0].time_s * (1.0 - right) + three[2].time_s * right;
    (three[1].time_s - between) / three[1].time_s / (1.0 + right.powi(2) + (1.0 - right).powi(2)).sqrt()
}

/// What a line through points from one to before another misses.
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

    /// The best way to cut all points into so many ranges: where each starts, and its cost.
    fn cut(&self, count: usize) -> Option<(Vec<usize>, f64)> {
        let mut best: Vec<(Vec<usize>, f64)> =
            (0..=self.points).map(|end| (vec![0], self.cost(0, end))).collect();
        for _ in 1..count {
            best = (0..=self.points).map(|end| self.extended(&best, end)).collect();
        }
        best.pop().filter(|(_, cost)| cost.is_finite())
    }

    /// One more range, which ends here.
    fn extended(&self, best: &[(Vec<usize>, f64)], end: usize) -> (Vec<usize>, f64) {
        let last = |start: usize| best[start].1 + self.cost(start, end);
        let start = (0..end).min_by(|&one, &other| last(one).total_cmp(&last(other)));
        let Some(start) = start else { return (vec![0], f64::INFINITY) };
        let mut starts = best[start].0.clone();
        starts.push(start);
        (starts, last(start))
    }
}
