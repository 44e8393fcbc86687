//! Conversion of seconds, which have 16 bits and wrap after 18 hours.

/// Maximum step back in seconds. Times may step back, because threads write calls at their return.
const BACK: i64 = 3600;

#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    last: Option<i64>,
    /// The last seconds, and the same time in nanoseconds.
    /// previous call.
    recent: (i64, i64),
}

const NEVER: i64 = i64::MIN;

/// The shortest step of at least `-BACK` that is equal to `difference` modulo the period.
fn unwrap_difference(difference: i64) -> i64 {
    (difference + BACK).rem_euclid(1 << 16) - BACK
}

impl Clock {
    pub fn at(second: i64) -> Self {
        Clock { last: Some(second), recent: (NEVER, 0) }
    }

    pub fn unset() -> Self {
        Clock { last: None, recent: (NEVER, 0) }
    }

    /// Times of entry and return in nanoseconds. Calls must be in the order of their return.
    #[inline]
    pub fn nanoseconds(&mut self, enter: (i64, i32), leave: (i64, i32)) -> (i64, i64) {
        if leave.0 != self.recent.0 {
            self.advance(leave.0);
        }
        let left_ns = self.recent.1;
        let entered_ns =
            if enter.0 == leave.0 { left_ns } else { self.nanoseconds_before(leave.0 - enter.0) };
        (entered_ns.saturating_add(enter.1.into()), left_ns.saturating_add(leave.1.into()))
    }

    #[cold]
    fn advance(&mut self, second: i64) {
        let last = self.last.unwrap_or(second);
        let left = last + unwrap_difference(second - last);
        self.last = Some(left);
        self.recent = (second, to_nanoseconds(left));
    }

    #[cold]
    fn nanoseconds_before(&self, seconds: i64) -> i64 {
        to_nanoseconds(self.last.unwrap_or(0) - unwrap_difference(seconds))
    }
}

fn to_nanoseconds(seconds: i64) -> i64 {
    seconds.saturating_mul(1_000_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrapped_seconds_are_unwrapped() {
        let mut clock = Clock::at(100);
        assert_eq!(clock.nanoseconds((100, 1), (60_100, 2)), (100_000_000_001, 60_100_000_000_002));
        assert_eq!(clock.nanoseconds((100 + 65_535, 5), (103, 7)), (65_635_000_000_005, 65_639_000_000_007));
    }

    #[test]
    fn small_step_back_is_preserved() {
        let mut clock = Clock::at(100);
        clock.nanoseconds((200, 0), (200, 0));
        assert_eq!(clock.nanoseconds((150, 0), (190, 0)), (150_000_000_000, 190_000_000_000));
    }

    #[test]
    fn long_wait_is_preserved() {
        let mut clock = Clock::unset();
        clock.nanoseconds((10, 0), (10, 0));
        assert_eq!(clock.nanoseconds((11, 0), (40_000, 0)), (11_000_000_000, 40_000_000_000_000));
    }
}
