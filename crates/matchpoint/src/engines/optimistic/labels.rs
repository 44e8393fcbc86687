//! Labels and runs: in which order receives were posted (§III-C), and which were posted one after the other with the
//! same source and tag (§III-D, *sequence of compatible receives*).

use crate::envelope::Selector;

/// Counts what is queued, and the runs of compatible receives.
#[derive(Default)]
pub(super) struct Labels {
    next: u64,
    run: u32,
    last: Option<Selector>,
}

impl Labels {
    /// The label of what is queued next.
    #[inline]
    pub(super) fn next(&self) -> u64 {
        self.next
    }

    /// The run that a receive with `selector` belongs to if it is posted now. Only neighbours are ever compared, so
    /// that a number may come again after 2³² runs.
    #[inline]
    pub(super) fn run(&self, selector: &Selector) -> u32 {
        if self.last.as_ref() == Some(selector) { self.run } else { self.run.wrapping_add(1) }
    }

    /// A receive was posted, with [the next label](Labels::next) and [its run](Labels::run). True: it joined the run
    /// of the one before.
    #[inline]
    pub(super) fn posted(&mut self, selector: &Selector, run: u32) -> bool {
        self.next += 1;
        let joins = self.last.replace(*selector).is_some() && run == self.run;
        self.run = run;
        joins
    }

    /// A message was queued, with [the next label](Labels::next).
    #[inline]
    pub(super) fn queued(&mut self) {
        self.next += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::envelope::{ContextId, Rank, Tag, Wild};

    #[test]
    fn a_run_ends_where_another_receive_is_posted() {
        let mut labels = Labels::default();
        let runs = [(1, 1), (1, 1), (1, 2), (1, 1), (1, 1), (2, 1)].map(|(source, tag)| {
            let selector = Selector::new(ContextId(0), Wild::Is(Rank(source)), Wild::Is(Tag(tag)));
            let run = labels.run(&selector);
            labels.posted(&selector, run);
            labels.queued();
            run
        });
        assert_eq!(runs, [1, 1, 2, 3, 3, 4]);
        assert_eq!(labels.next(), 12);
    }
}
