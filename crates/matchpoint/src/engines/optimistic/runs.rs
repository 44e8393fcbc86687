//! Runs: receives that were posted one after the other in their communicator with the same source and tag (§III-D,
//! *sequence of compatible receives*). Each communicator has its own, as it has its own indexes (§IV-E): what is posted in
//! another matches none of its messages, so that it ends no run.

use crate::envelope::Selector;

/// Numbers the runs of one communicator.
#[derive(Default)]
pub(super) struct Runs {
    run: u64,
    /// Receives in it so far.
    length: u32,
    last: Option<Selector>,
}

impl Runs {
    /// The run that a receive with `selector` belongs to if it is posted now: the paper's sequence ID, incremented where
    /// the receive is not compatible with the one before. No number comes twice: the parallel form takes receives by it.
    #[inline]
    pub(super) fn of_next(&self, selector: &Selector) -> u64 {
        if self.last.as_ref() == Some(selector) { self.run } else { self.run + 1 }
    }

    /// A receive was posted, with [its run](Runs::of_next). How many of that run have been.
    #[inline]
    pub(super) fn posted(&mut self, selector: &Selector, run: u64) -> u32 {
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
        let told = [(1, 1), (1, 1), (1, 2), (1, 1), (1, 1), (2, 1)].map(|(source, tag)| {
            let selector = Selector::new(ContextId(0), Wild::Is(Rank(source)), Wild::Is(Tag(tag)));
            let run = runs.of_next(&selector);
            (run, runs.posted(&selector, run))
        });
        assert_eq!(told, [(1, 1), (1, 2), (2, 1), (3, 1), (3, 2), (4, 1)]);
    }
}
