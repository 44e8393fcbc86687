//! Times as biased seconds in 16 bits, and nanoseconds.

use super::super::clock::Clock;

const SECOND: i64 = 1_000_000_000;

/// State that computes the seconds that a reader restores.
pub(super) struct Times {
    bias: i64,
    clock: Clock,
}

/// Biased seconds, and nanoseconds.
pub(super) type Written = (u16, i32);

impl Times {
    pub fn from(first_ns: i64) -> Self {
        let second = first_ns.div_euclid(SECOND);
        let bias = second.clamp(i32::MIN.into(), i32::MAX.into());
        Times { bias, clock: Clock::at(bias) }
    }

    pub fn bias(&self) -> i32 {
        self.bias as i32
    }

    /// Times of a call in the file's form, and whether a reader restores the original times.
    pub fn write(&mut self, enter_ns: i64, leave_ns: i64) -> (Written, Written, bool) {
        let written = |ns: i64| {
            let seconds = ns.div_euclid(SECOND).wrapping_sub(self.bias);
            (seconds as u16, ns.rem_euclid(SECOND) as i32)
        };
        let (enter, leave) = (written(enter_ns), written(leave_ns));
        let seconds = |(seconds, rest): Written| (self.bias + i64::from(seconds), rest);
        let read = self.clock.nanoseconds(seconds(enter), seconds(leave));
        (enter, leave, read == (enter_ns, leave_ns))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_written_and_read() {
        let mut times = Times::from(-5);
        for hour in 0..100 {
            let enter_ns = hour * 3600 * SECOND - 5;
            assert!(times.write(enter_ns, enter_ns + 1000 * SECOND + 7).2);
        }
    }

    #[test]
    fn ambiguous_times_are_reported() {
        let mut times = Times::from(0);
        assert!(times.write(0, 1).2);
        assert!(!times.write(0, 18 * 3600 * SECOND).2);
    }
}
