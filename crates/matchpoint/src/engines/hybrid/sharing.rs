//! Tag masks in numbers. A class of its own for each mask is a look for each, 5 ns of an arrival, and a table for each.
//! But masks mostly leave the same fields of the tag alone, so those beyond the first two share one class, of what
//! *none* of them ignores: its key finds the few receives that can match, and each has a [`Guard`], its own mask, which
//! decides.
//!
//! What they ignore together only grows, bit by bit, so that there are as many such classes at a time as it took to
//! find it out, and later one. Where masks have nothing in common, many receives would lie under one key: those beyond
//! [`CROWD`] go to the class of their own mask. So a look at a shared class compares eight at most, and an arrival looks
//! at two classes for each mask, at most; four, where it is in use with a source and without.

use super::backoff::Backoff;
use super::class::Openness;
use super::pool::{Place, Record};

/// Masks that have a class each, before they share one: two looks cost less than one and the guard.
const ALONE: usize = 2;

/// Entries under one key of a shared class that are compared one by one.
pub(super) const CROWD: usize = 8;

/// Receives in a row that had but two masks, before those have classes of their own again.
const STEADY: u32 = 1024;

/// What a receive in a shared class asks of the tag, and its name.
#[derive(Clone, Copy)]
pub(super) struct Guard {
    pub(super) id: u64,
    pub(super) tag: u64,
    pub(super) ignore: u64,
}

impl Guard {
    #[inline]
    pub(super) fn admits(&self, tag: u64) -> bool {
        (self.tag ^ tag) & !self.ignore == 0
    }

    /// Whether it is that of a receive: these ignore something.
    pub(super) fn is_posted(&self) -> bool {
        self.ignore != 0
    }
}

impl Record for Guard {
    #[inline]
    fn vacant(next: Place) -> Self {
        Guard { id: next.into(), tag: 0, ignore: 0 }
    }

    #[inline]
    fn next_vacant(&self) -> Place {
        self.id as Place
    }
}

/// Whether masks share, and what they ignore together.
#[derive(Default)]
pub(super) struct Sharing {
    is_on: bool,
    /// Of receives that name the source, of those that do not.
    covers: [u64; 2],
    /// Some of them met a crowd.
    is_crowded: bool,
    /// Of times that none of these receives is posted any more, when it is not found out anew nevertheless.
    backoff: Backoff,
    recent: [u64; 2],
    steady: u32,
}

impl Sharing {
    /// The class that a receive is to share, while `others()` masks have a class or an index of their own. `is_kept`: some lie in
    /// classes that were shared before. Without, what masks ignore together is found out anew when they begin to share again.
    #[inline]
    pub(super) fn wide(
        &mut self,
        open: Openness,
        others: impl FnOnce() -> usize,
        is_kept: bool,
    ) -> Option<Openness> {
        if !open.is_partial() {
            return None;
        }
        if !self.is_on {
            if others() < ALONE {
                return None;
            }
            if !is_kept {
                *self = Sharing::default();
            }
            self.is_on = true;
        }
        self.watch(open.ignore);
        let cover = &mut self.covers[usize::from(open.any_source)];
        *cover |= open.ignore;
        self.is_on.then_some(Openness { ignore: *cover, ..open })
    }

    /// The same, if it is known without that: nothing changes.
    #[inline]
    pub(super) fn is_covered(&self, open: Openness) -> Option<Openness> {
        let ignore = self.covers[usize::from(open.any_source)];
        (self.is_on && open.is_partial() && open.ignore & !ignore == 0).then_some(Openness { ignore, ..open })
    }

    /// The class that a receive shares with others, if that has nothing to learn from it.
    #[inline]
    pub(super) fn known(&mut self, open: Openness) -> Option<Openness> {
        let known = self.is_covered(open)?;
        self.watch(open.ignore);
        self.is_on.then_some(known)
    }

    #[inline]
    fn watch(&mut self, mask: u64) {
        if self.recent.contains(&mask) {
            self.steady += 1;
        } else {
            self.recent = [mask, self.recent[0]];
            self.steady = 0;
        }
        if self.steady >= STEADY {
            (self.is_on, self.steady) = (false, 0);
        }
    }

    /// More than [`CROWD`] entries lay under one key.
    #[cold]
    pub(super) fn met_crowd(&mut self) {
        self.is_crowded = true;
    }

    /// No receive that leaves something open is posted: where what the masks ignore together left too little, it is found out
    /// anew, for they may be others now; but less and less often, for they may be the same.
    #[inline]
    pub(super) fn settle(&mut self) {
        if self.is_crowded && !self.backoff.leave() {
            self.backoff.double();
            self.covers = [0; 2];
            self.is_crowded = false;
        }
    }
}
