//! How often something is done that may prove to be in vain: each time that it was, twice as many chances of it are left.

/// Chances that are left in a row, at most.
const MOST: u32 = 64;

#[derive(Default)]
pub(super) struct Backoff {
    left: u32,
    /// How many were left the last time.
    last: u32,
}

impl Backoff {
    /// The next is left.
    pub(super) fn once() -> Self {
        Backoff { left: 1, last: 1 }
    }

    #[inline]
    pub(super) fn is_left(&self) -> bool {
        self.left > 0
    }

    /// Whether this chance is left: then there is one less to be left.
    #[inline]
    pub(super) fn leave(&mut self) -> bool {
        let is_left = self.left > 0;
        self.left -= u32::from(is_left);
        is_left
    }

    /// It was done in vain, or may have been.
    pub(super) fn double(&mut self) {
        self.last = (2 * self.last).clamp(1, MOST);
        self.left = self.last;
    }

    /// It would not have been in vain: the next is not left, and of those after it half as many as the last time.
    pub(super) fn halve(&mut self) {
        (self.left, self.last) = (0, self.last / 2);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn left(backoff: &mut Backoff) -> u32 {
        (0..).take_while(|_| backoff.leave()).count() as u32
    }

    #[test]
    fn twice_as_many_are_left_each_time_up_to_the_most() {
        let mut backoff = Backoff::default();
        let counts: Vec<u32> = (0..9)
            .map(|_| {
                let left = left(&mut backoff);
                backoff.double();
                left
            })
            .collect();
        assert_eq!(counts, [0, 1, 2, 4, 8, 16, 32, MOST, MOST]);
        backoff.halve();
        assert!(!backoff.is_left());
        backoff.double();
        assert_eq!(left(&mut backoff), MOST);
        (0..2).for_each(|_| backoff.halve());
        backoff.double();
        assert_eq!(left(&mut backoff), MOST / 2);
        assert_eq!(left(&mut Backoff::once()), 1);
    }
}
