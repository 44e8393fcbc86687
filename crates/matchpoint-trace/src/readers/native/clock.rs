//! Conversion of ticks to nanoseconds of one clock, common to all processes.

const PLACES: u32 = 40;

/// Added to each product, because the rate is rounded down.
const SLACK: i128 = 1 << 32;

/// Limit of 73 years, because some clocks start in 1970. The sum of two times does not overflow.
const FARTHEST_NS: i64 = 1 << 61;

/// Error of a clock offset that was not measured.
pub(super) const UNKNOWN_NS: u64 = u64::MAX;

#[derive(Clone, Copy, PartialEq, Debug)]
struct Piece {
    from: u64,
    ns: i64,
    rate: i64,
}

#[derive(Default, Debug)]
pub(super) struct ClockSamples {
    pub pairs: Vec<(u64, i64)>,
    /// Measured clock offsets to rank 0's host: ticks, offset, error of the offset.
    pub offsets: Vec<(u64, i64, u64)>,
}

impl ClockSamples {
    /// Adds a pair. Returns false if the pair is out of order.
    pub fn pair(&mut self, ticks: u64, ns: i64) -> bool {
        let ascends = self.pairs.last().is_none_or(|last| last.0 < ticks && last.1 <= ns);
        if ascends {
            self.pairs.push((ticks, ns.clamp(-FARTHEST_NS, FARTHEST_NS)));
        }
        ascends
    }

    pub fn offset(&mut self, ticks: u64, ns: i64, error_ns: u64) -> bool {
        let ascends = self.offsets.last().is_none_or(|last| last.0 < ticks);
        if ascends {
            self.offsets.push((ticks, ns.clamp(-FARTHEST_NS, FARTHEST_NS), error_ns));
        }
        ascends
    }

    fn offset_at(&self, ticks: u64) -> i64 {
        let after = self.offsets.partition_point(|offset| offset.0 <= ticks);
        match (after.checked_sub(1).map(|before| self.offsets[before]), self.offsets.get(after)) {
            (None, None) => 0,
            (Some((_, ns, _)), None) | (None, Some(&(_, ns, _))) => ns,
            (Some(before), Some(after)) => {
                let (part, whole) = (i128::from(ticks - before.0), i128::from(after.0 - before.0));
                before.1 + (i128::from(after.1 - before.1) * part / whole) as i64
            }
        }
    }
}

/// A piecewise linear function from ticks to nanoseconds.
pub(super) struct Timeline {
    pieces: Vec<Piece>,
    at: usize,
}

impl Timeline {
    /// With fewer than two pairs, from ticks per second.
    pub fn new(samples: &ClockSamples, hz: f64) -> Self {
        let by_hz = 1e9 / if hz.is_finite() && hz >= 1.0 { hz } else { 1e9 };
        let overall = match (samples.pairs.first(), samples.pairs.last()) {
            (Some(first), Some(last)) if first.0 < last.0 => rate(*first, *last),
            _ => (by_hz * (1u64 << PLACES) as f64) as i64,
        };
        let mut host: Vec<Piece> = samples
            .pairs
            .windows(2)
            .map(|pair| Piece { from: pair[0].0, ns: pair[0].1, rate: rate(pair[0], pair[1]) })
            .collect();
        let last = samples.pairs.last().copied().unwrap_or((0, 0));
        host.push(Piece { from: last.0, ns: last.1, rate: overall });
        let before = Piece { rate: overall, ..host[0] };
        let mut pieces = vec![Piece { from: 0, ns: before.at(0), rate: overall }];
        pieces.extend(host.iter().filter(|piece| piece.from > 0));
        if let [only] = &host[..] {
            // A single piece also extends to earlier times, exactly.
            pieces = vec![*only];
        }
        Timeline { pieces: shifted(&pieces, samples), at: 0 }
    }

    #[inline]
    pub fn ns(&mut self, ticks: u64) -> i64 {
        let is_on = |at: usize| {
            (at == 0 || self.pieces[at].from <= ticks)
                && self.pieces.get(at + 1).is_none_or(|next| ticks < next.from)
        };
        if !is_on(self.at) {
            let later = self.pieces.partition_point(|piece| piece.from <= ticks);
            self.at = later.saturating_sub(1);
        }
        self.pieces[self.at].at(ticks)
    }
}

impl Piece {
    /// Time of a tick, rounded down, so that time never decreases within a piece or at its end.
    #[inline]
    fn at(&self, ticks: u64) -> i64 {
        let passed = i128::from(ticks) - i128::from(self.from);
        let ns = i128::from(self.ns) + ((passed * i128::from(self.rate) + SLACK) >> PLACES);
        ns.clamp(i128::from(-FARTHEST_NS), i128::from(FARTHEST_NS)) as i64
    }
}

fn rate(from: (u64, i64), to: (u64, i64)) -> i64 {
    let per_tick = (i128::from(to.1 - from.1) << PLACES) / i128::from(to.0 - from.0);
    per_tick.clamp(0, i128::from(i64::MAX)) as i64
}

/// Adds the clock offsets. The result has a piece between each two knots of both functions.
fn shifted(pieces: &[Piece], samples: &ClockSamples) -> Vec<Piece> {
    if samples.offsets.len() < 2 {
        let ns = samples.offset_at(0);
        return pieces.iter().map(|piece| Piece { ns: piece.ns.saturating_add(ns), ..*piece }).collect();
    }
    let mut knots: Vec<u64> = pieces.iter().map(|piece| piece.from).collect();
    knots.extend(samples.offsets.iter().map(|offset| offset.0));
    knots.sort_unstable();
    knots.dedup();
    let value = |knot: u64| {
        let on = pieces.partition_point(|piece| piece.from <= knot).saturating_sub(1);
        (pieces[on].at(knot).saturating_add(samples.offset_at(knot)), pieces[on].rate)
    };
    let mut found = Vec::with_capacity(knots.len());
    for (at, &from) in knots.iter().enumerate() {
        let (ns, own) = value(from);
        let rate = knots.get(at + 1).map_or(own, |&next| rate((from, ns), (next, value(next).0)));
        found.push(Piece { from, ns, rate });
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timeline(pairs: &[(u64, i64)], offsets: &[(u64, i64)], hz: f64) -> Timeline {
        let mut samples = ClockSamples::default();
        assert!(pairs.iter().all(|&(ticks, ns)| samples.pair(ticks, ns)));
        assert!(offsets.iter().all(|&(ticks, ns)| samples.offset(ticks, ns, 0)));
        Timeline::new(&samples, hz)
    }

    #[test]
    fn single_pair_uses_known_rate() {
        let mut time = timeline(&[(1000, 50)], &[], 2e9);
        assert_eq!([1000, 1002, 998, 3000].map(|ticks| time.ns(ticks)), [50, 51, 49, 1050]);
    }

    #[test]
    fn time_is_linear_between_pairs() {
        let mut time = timeline(&[(100, 1000), (200, 1100), (300, 1400)], &[], 1.0);
        assert_eq!([150, 250, 200, 400, 50].map(|ticks| time.ns(ticks)), [1050, 1250, 1100, 1600, 900]);
    }

    #[test]
    fn offset_between_measurements_is_interpolated() {
        let mut time = timeline(&[(0, 0), (1000, 1000)], &[(100, 10), (300, 30)], 1.0);
        assert_eq!([50, 100, 200, 300, 900].map(|ticks| time.ns(ticks)), [60, 110, 220, 330, 930]);
        let mut time = timeline(&[(0, 0), (1000, 1000)], &[(100, 10)], 1.0);
        assert_eq!([0, 100, 2000].map(|ticks| time.ns(ticks)), [10, 110, 2010]);
    }

    #[test]
    fn time_never_goes_backward() {
        let pairs = [
            (1 << 40, 5),
            ((1 << 40) + 7, 9),
            ((1 << 40) + 100_003, 33_333),
            ((1 << 40) + 1_000_000, 777_777),
        ];
        let mut time = timeline(&pairs, &[((1 << 40) + 50, 3), ((1 << 40) + 900_000, 1000)], 1.0);
        let mut last = i64::MIN;
        for ticks in (1 << 40) - 1000..(1 << 40) + 1_001_000 {
            let ns = time.ns(ticks);
            assert!(ns >= last, "at {ticks}");
            last = ns;
        }
    }

    #[test]
    fn absurd_times_cause_no_overflow() {
        let mut time =
            timeline(&[(0, i64::MIN), (u64::MAX, i64::MAX)], &[(5, i64::MAX), (6, i64::MIN)], f64::NAN);
        for ticks in [0, 5, 6, 1 << 63, u64::MAX] {
            assert!(time.ns(ticks).unsigned_abs() <= 1 << 62);
        }
        let mut time = timeline(&[(1, 0)], &[], 1.0);
        assert_eq!(time.ns(u64::MAX), FARTHEST_NS);
    }

    #[test]
    fn unordered_samples_are_refused() {
        let mut samples = ClockSamples::default();
        assert!(samples.pair(10, 10));
        assert!(!samples.pair(10, 11) && !samples.pair(11, 9) && samples.pair(11, 10));
        assert!(samples.offset(1, 0, 0) && !samples.offset(1, 0, 0));
    }
}
