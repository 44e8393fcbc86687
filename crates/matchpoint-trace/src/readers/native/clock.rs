//! From ticks to nanoseconds that all processes share.

/// Between a tick and the next: nanoseconds, with so many binary places.
const PLACES: u32 = 40;

/// What a rate that was rounded down may lack: nothing that makes another nanosecond where it lacks nothing.
const SLACK: i128 = 1 << 32;

/// No time is further from zero (73 years, and there are clocks that begin in 1970): sums of two are times as well.
const FARTHEST_NS: i64 = 1 << 61;

/// The possible error of an offset that was not measured.
pub(super) const UNKNOWN_NS: u64 = u64::MAX;

/// From some tick on, time goes at this rate.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Piece {
    from: u64,
    ns: i64,
    rate: i64,
}

/// What the blocks of a file say of time.
#[derive(Default, Debug)]
pub(super) struct Evidence {
    /// Ticks, and the host's clock then.
    pub pairs: Vec<(u64, i64)>,
    /// Ticks, what to add to the host's clock, and by how much that may be wrong.
    pub offsets: Vec<(u64, i64, u64)>,
}

impl Evidence {
    /// Takes a pair; false if it is not after those before it.
    pub fn pair(&mut self, ticks: u64, ns: i64) -> bool {
        let ascends = self.pairs.last().is_none_or(|last| last.0 < ticks && last.1 <= ns);
        if ascends {
            self.pairs.push((ticks, ns.clamp(-FARTHEST_NS, FARTHEST_NS)));
        }
        ascends
    }

    /// Takes an offset; false if it is not after those before it.
    pub fn offset(&mut self, ticks: u64, ns: i64, error_ns: u64) -> bool {
        let ascends = self.offsets.last().is_none_or(|last| last.0 < ticks);
        if ascends {
            self.offsets.push((ticks, ns.clamp(-FARTHEST_NS, FARTHEST_NS), error_ns));
        }
        ascends
    }

    /// The offset at some tick.
    fn offset_at(&self, ticks: u64) -> i64 {
        let after = self.offsets.partition_point(|offset| offset.0 <= ticks);
        match (after.checked_sub(1).map(|before| self.offsets[before]), self.offsets.get(after)) {
            (None, None) => 0,
            (Some((_, ns, _)), None) | (None, Some(&(_, ns, _))) => ns,
            (Some(before), Some(behind)) => {
                let (part, whole) = (i128::from(ticks - before.0), i128::from(behind.0 - before.0));
                before.1 + (i128::from(behind.1 - before.1) * part / whole) as i64
            }
        }
    }
}

/// A function from ticks to nanoseconds: pieces of straight lines.
pub(super) struct Timeline {
    pieces: Vec<Piece>,
    /// The piece that the last tick was on.
    at: usize,
}

impl Timeline {
    /// By pairs, where there are two at least; else by ticks per second.
    pub fn new(evidence: &Evidence, hz: f64) -> Self {
        let by_hz = 1e9 / if hz.is_finite() && hz >= 1.0 { hz } else { 1e9 };
        let overall = match (evidence.pairs.first(), evidence.pairs.last()) {
            (Some(first), Some(last)) if first.0 < last.0 => rate(*first, *last),
            _ => (by_hz * (1u64 << PLACES) as f64) as i64,
        };
        let mut host: Vec<Piece> = evidence
            .pairs
            .windows(2)
            .map(|pair| Piece { from: pair[0].0, ns: pair[0].1, rate: rate(pair[0], pair[1]) })
            .collect();
        let last = evidence.pairs.last().copied().unwrap_or((0, 0));
        host.push(Piece { from: last.0, ns: last.1, rate: overall });
        let before = Piece { rate: overall, ..host[0] };
        let mut pieces = vec![Piece { from: 0, ns: before.at(0), rate: overall }];
        pieces.extend(host.iter().filter(|piece| piece.from > 0));
        if let [only] = &host[..] {
            // One line: what stands before its point is on it as well, to the last bit.
            pieces = vec![*only];
        }
        Timeline { pieces: shifted(&pieces, evidence), at: 0 }
    }

    /// Nanoseconds at a tick. Ticks that follow each other closely are fastest.
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
    /// Rounded down, so that time never goes backward within a piece, nor from one to the next.
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

/// With the offsets added: a piece for each stretch between two knots of either.
fn shifted(pieces: &[Piece], evidence: &Evidence) -> Vec<Piece> {
    if evidence.offsets.len() < 2 {
        let ns = evidence.offset_at(0);
        return pieces.iter().map(|piece| Piece { ns: piece.ns.saturating_add(ns), ..*piece }).collect();
    }
    let mut knots: Vec<u64> = pieces.iter().map(|piece| piece.from).collect();
    knots.extend(evidence.offsets.iter().map(|offset| offset.0));
    knots.sort_unstable();
    knots.dedup();
    let value = |knot: u64| {
        let on = pieces.partition_point(|piece| piece.from <= knot).saturating_sub(1);
        (pieces[on].at(knot).saturating_add(evidence.offset_at(knot)), pieces[on].rate)
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
        let mut evidence = Evidence::default();
        assert!(pairs.iter().all(|&(ticks, ns)| evidence.pair(ticks, ns)));
        assert!(offsets.iter().all(|&(ticks, ns)| evidence.offset(ticks, ns, 0)));
        Timeline::new(&evidence, hz)
    }

    #[test]
    fn single_pair_uses_known_rate() {
        let mut time = timeline(&[(1000, 50)], &[], 2e9);
        assert_eq!([1000, 1002, 998, 3000].map(|ticks| time.ns(ticks)), [50, 51, 49, 1050]);
    }

    #[test]
    fn time_is_linear_between_pairs() {
        // 1 ns a tick, then 3: from first to last 2.
        let mut time = timeline(&[(100, 1000), (200, 1100), (300, 1400)], &[], 1.0);
        assert_eq!([150, 250, 200, 400, 50].map(|ticks| time.ns(ticks)), [1050, 1250, 1100, 1600, 900]);
    }

    #[test]
    fn offsets_are_linear_between_two() {
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
    fn what_does_not_ascend_is_refused() {
        let mut evidence = Evidence::default();
        assert!(evidence.pair(10, 10));
        assert!(!evidence.pair(10, 11) && !evidence.pair(11, 9) && evidence.pair(11, 10));
        assert!(evidence.offset(1, 0, 0) && !evidence.offset(1, 0, 0));
    }
}
