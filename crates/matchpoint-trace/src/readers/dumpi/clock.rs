//! Seconds are written in 16 bits, from a bias: after 18 hours they begin again.

/// A difference in seconds that is almost a whole turn of the 16 bits is a step back instead. Threads write their
/// calls when these have returned, so that one record may be a little older than the one before.
const BACK: i64 = 3600;

/// Gives seconds without the turns.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    last: Option<i64>,
    /// The second as it was last written, and what that is without turns, in nanoseconds: most calls are left in the
    /// second in which the one before was.
    recent: (i64, i64),
}

/// No second that is written.
const NEVER: i64 = i64::MIN;

/// The shortest way of at least `-BACK` that a difference of so many seconds, less whole turns, may stand for.
fn unturned(difference: i64) -> i64 {
    (difference + BACK).rem_euclid(1 << 16) - BACK
}

impl Clock {
    /// That starts at this second.
    pub fn at(second: i64) -> Self {
        Clock { last: Some(second), recent: (NEVER, 0) }
    }

    /// That starts at the second it sees first.
    pub fn unset() -> Self {
        Clock { last: None, recent: (NEVER, 0) }
    }

    /// When a call was entered and left, in nanoseconds, of what is written: seconds (but for turns) and
    /// nanoseconds. Calls stand in the order in which they were left.
    #[inline]
    pub fn nanoseconds(&mut self, enter: (i64, i32), leave: (i64, i32)) -> (i64, i64) {
        if leave.0 != self.recent.0 {
            self.advance(leave.0);
        }
        let left_ns = self.recent.1;
        let entered_ns = if enter.0 == leave.0 { left_ns } else { self.before(leave.0 - enter.0) };
        (entered_ns.saturating_add(enter.1.into()), left_ns.saturating_add(leave.1.into()))
    }

    #[cold]
    fn advance(&mut self, second: i64) {
        let last = self.last.unwrap_or(second);
        let left = last + unturned(second - last);
        self.last = Some(left);
        self.recent = (second, nanoseconds(left));
    }

    /// So many seconds, but for turns, before the last that was seen.
    #[cold]
    fn before(&self, seconds: i64) -> i64 {
        nanoseconds(self.last.unwrap_or(0) - unturned(seconds))
    }
}

fn nanoseconds(seconds: i64) -> i64 {
    seconds.saturating_mul(1_000_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turn_is_undone() {
        let mut clock = Clock::at(100);
        assert_eq!(clock.nanoseconds((100, 1), (60_100, 2)), (100_000_000_001, 60_100_000_000_002));
        assert_eq!(clock.nanoseconds((100 + 65_535, 5), (103, 7)), (65_635_000_000_005, 65_639_000_000_007));
    }

    #[test]
    fn a_small_step_back_is_one() {
        let mut clock = Clock::at(100);
        clock.nanoseconds((200, 0), (200, 0));
        assert_eq!(clock.nanoseconds((150, 0), (190, 0)), (150_000_000_000, 190_000_000_000));
    }

    #[test]
    fn a_long_wait_is_one() {
        let mut clock = Clock::unset();
        clock.nanoseconds((10, 0), (10, 0));
        assert_eq!(clock.nanoseconds((11, 0), (40_000, 0)), (11_000_000_000, 40_000_000_000_000));
    }
}
