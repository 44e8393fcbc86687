//! Seconds are written in 16 bits, from a bias: after 18 hours they begin again.

/// A difference in seconds that is almost a whole turn of the 16 bits is a step back instead. Threads write their
/// calls when these have returned, so that one record may be a little older than the one before.
const BACK: i64 = 3600;

/// Gives seconds without the turns.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    last: Option<i64>,
}

/// The shortest way of at least `-BACK` that a difference of so many seconds, less whole turns, may stand for.
fn unturned(difference: i64) -> i64 {
    (difference + BACK).rem_euclid(1 << 16) - BACK
}

impl Clock {
    /// That starts at this second.
    pub fn at(second: i64) -> Self {
        Clock { last: Some(second) }
    }

    /// That starts at the second it sees first.
    pub fn unset() -> Self {
        Clock { last: None }
    }

    /// When a call was entered and left, in nanoseconds, of what is written: seconds (but for turns) and
    /// nanoseconds. Calls stand in the order in which they were left.
    #[inline]
    pub fn nanoseconds(&mut self, enter: (i64, i32), leave: (i64, i32)) -> (i64, i64) {
        let last = self.last.unwrap_or(leave.0);
        let left = last + unturned(leave.0 - last);
        self.last = Some(left);
        let entered = left - unturned(leave.0 - enter.0);
        (nanoseconds(entered, enter.1), nanoseconds(left, leave.1))
    }
}

fn nanoseconds(seconds: i64, rest: i32) -> i64 {
    seconds.saturating_mul(1_000_000_000).saturating_add(i64::from(rest))
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
