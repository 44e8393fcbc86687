//! Runs: consecutive receives of a communicator with the same selector (paper §III-D, *sequence of compatible
//! receives*).
//!
//! Posts in other communicators do not end a run (§IV-E).

use crate::envelope::Selector;

#[derive(Default)]
pub(super) struct Runs {
    run: u64,
    length: u32,
    last: Option<Selector>,
}

impl Runs {
    /// The paper's sequence ID, incremented at each incompatible receive, and unique as `optimistic_parallel`
    /// requires.
    #[inline]
    pub(super) fn next_run(&self, selector: &Selector) -> u64 {
        if self.last.as_ref() == Some(selector) { self.run } else { self.run + 1 }
    }

    #[inline]
    pub(super) fn count_posted(&mut self, selector: &Selector, run: u64) -> u32 {
        self.length = if run == self.run { self.length.saturating_add(1) } else { 1 };
        self.last = Some(*selector);
        self.run = run;
        self.length
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::envelope::{ContextId, Rank, Tag, Wild};

    #[test]
    fn different_receive_ends_run() {
        let mut runs = Runs::default();
        let counted = [(1, 1), (1, 1), (1, 2), (1, 1), (1, 1), (2, 1)].map(|(source, tag)| {
            let selector = Selector::new(ContextId(0), Wild::Is(Rank(source)), Wild::Is(Tag(tag)));
            let run = runs.next_run(&selector);
            (run, runs.count_posted(&selector, run))
        });
        assert_eq!(counted, [(1, 1), (1, 2), (2, 1), (3, 1), (3, 2), (4, 1)]);
    }
}
