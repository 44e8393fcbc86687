//! Matching of consecutive messages of a communicator, without posts between the messages.
//!
//! A stream compares a receive once per envelope. So each message of a stream of equal envelopes costs one
//! step in its bin. Receives removed from the front of a bin are unlinked when the stream leaves the bin.

use super::class::{CLASSES, Class};
use super::communicator::PostedIndexes;
use super::descriptors::Descriptors;
use super::index::Index;
use super::{Optimistic, Tally};
use crate::engine::RecvId;
use crate::envelope::{Envelope, Selector};
use crate::hashes::Hashes;
use crate::linked::{FrontRemoval, NIL, SlotIndex};

pub(in crate::engines) enum Stream<'a, 'm> {
    Exact(ExactStream<'a, 'm>),
    Wildcard(WildcardStream<'a, 'm>),
}

#[derive(Clone, Copy)]
struct BinCursor {
    bin: usize,
    /// Earlier receives are removed, or do not match.
    at: SlotIndex,
    /// Receives that are removed but still linked: either all receives before `at`, or no receive.
    front: FrontRemoval,
    /// A receive before `at` is still in the bin.
    has_mismatch: bool,
}

impl BinCursor {
    const EMPTY: BinCursor = BinCursor { bin: 0, at: NIL, front: FrontRemoval::EMPTY, has_mismatch: false };

    #[inline(always)]
    fn step(
        &mut self,
        index: &mut Index,
        receives: &mut Descriptors,
        accepts: impl Fn(&Selector) -> bool,
    ) -> Option<RecvId> {
        let at = self.at;
        let (entry, next) = receives.get_and_next(at);
        let id = entry.value.receive.id;
        let is_found = accepts(&entry.value.receive.selector);
        if !is_found {
            self.unlink_removed(index, receives);
            self.has_mismatch = true;
        } else if self.has_mismatch {
            index.take(receives, at, self.bin);
        } else {
            self.front.take(receives, at);
        }
        self.at = next;
        is_found.then_some(id)
    }

    #[inline(always)]
    fn unlink_removed(&mut self, index: &mut Index, receives: &mut Descriptors) {
        if !self.front.is_empty() {
            index.unlink_front(receives, self.bin, std::mem::take(&mut self.front), self.at);
        }
    }

    #[inline(always)]
    fn start(&mut self, index: &Index, bin: usize) {
        *self = BinCursor { bin, at: index.head(bin), ..BinCursor::EMPTY };
    }
}

/// Searches only one bin, because the communicator has no wildcard receives.
pub(in crate::engines) struct ExactStream<'a, 'm> {
    index: &'a mut Index,
    receives: &'a mut Descriptors,
    envelope: &'m Envelope,
    cursor: BinCursor,
}

impl<'m> ExactStream<'_, 'm> {
    #[inline(always)]
    pub(in crate::engines) fn take(&mut self, envelope: &'m Envelope) -> Option<RecvId> {
        if envelope.source != self.envelope.source || envelope.tag != self.envelope.tag {
            self.set_envelope(envelope);
        }
        while self.cursor.at != NIL {
            let accepts = |selector: &Selector| selector.matches_exact(envelope);
            let found = self.cursor.step(self.index, self.receives, accepts);
            if found.is_some() {
                return found;
            }
        }
        None
    }

    #[inline(always)]
    fn set_envelope(&mut self, envelope: &'m Envelope) {
        self.envelope = envelope;
        self.cursor.unlink_removed(self.index, self.receives);
        let bin = self.index.number(Hashes::of(envelope).source_and_tag());
        self.cursor.start(self.index, bin);
    }
}

impl Drop for ExactStream<'_, '_> {
    fn drop(&mut self) {
        self.cursor.unlink_removed(self.index, self.receives);
    }
}

/// Searches the bins of all classes in use together, in the order of labels.
pub(in crate::engines) struct WildcardStream<'a, 'm> {
    posted: &'a mut PostedIndexes,
    receives: &'a mut Descriptors,
    envelope: &'m Envelope,
    /// Cursors of the classes that have receives, in the order of `CLASSES`.
    cursors: [ClassCursor; CLASSES.len()],
    count: usize,
}

#[derive(Clone, Copy)]
struct ClassCursor {
    class: Class,
    cursor: BinCursor,
    /// Label (age) of the next receive; `u64::MAX` at the end of the bin.
    label: u64,
}

impl<'m> WildcardStream<'_, 'm> {
    #[inline(always)]
    pub(in crate::engines) fn take(&mut self, envelope: &'m Envelope) -> Option<RecvId> {
        if *envelope != *self.envelope {
            self.set_envelope(envelope);
        }
        loop {
            let WildcardStream { posted, receives, cursors, count, .. } = self;
            let [first, second, others @ ..] = cursors;
            let others = &mut others[..count.saturating_sub(2)];
            // The first two classes have separate branches. Branch prediction guesses the class of the next
            // receive, so the processor does not wait for loads of the other class.
            let eldest = others.iter_mut().min_by_key(|class_cursor| class_cursor.label);
            let end = first.label.min(second.label);
            let found = match eldest {
                Some(class_cursor) if class_cursor.label < end => {
                    class_cursor.step(posted, receives, envelope)?
                }
                _ if second.label < first.label => second.step(posted, receives, envelope)?,
                _ => first.step(posted, receives, envelope)?,
            };
            if found.is_some() {
                return found;
            }
        }
    }

    #[inline(always)]
    fn set_envelope(&mut self, envelope: &'m Envelope) {
        self.envelope = envelope;
        let hashes = Hashes::of(envelope);
        for class_cursor in &mut self.cursors[..self.count] {
            let index = self.posted.of_mut(class_cursor.class);
            class_cursor.cursor.unlink_removed(index, self.receives);
            class_cursor.cursor.start(index, index.number(class_cursor.class.key(hashes)));
            class_cursor.update_label(self.receives);
        }
    }
}

impl Drop for WildcardStream<'_, '_> {
    fn drop(&mut self) {
        for class_cursor in &mut self.cursors[..self.count] {
            class_cursor.cursor.unlink_removed(self.posted.of_mut(class_cursor.class), self.receives);
        }
    }
}

impl ClassCursor {
    #[inline(always)]
    fn step(
        &mut self,
        posted: &mut PostedIndexes,
        receives: &mut Descriptors,
        envelope: &Envelope,
    ) -> Option<Option<RecvId>> {
        if self.cursor.at == NIL {
            return None;
        }
        let accepts = |selector: &Selector| selector.matches(envelope);
        let found = self.cursor.step(posted.of_mut(self.class), receives, accepts);
        self.update_label(receives);
        Some(found)
    }

    #[inline(always)]
    fn update_label(&mut self, receives: &Descriptors) {
        let at = self.cursor.at;
        self.label = if at == NIL { u64::MAX } else { receives.get(at).age };
    }
}

impl<T: Tally> Optimistic<T> {
    /// `None` if the communicator never had entries.
    pub(in crate::engines) fn stream<'m>(&mut self, first: &'m Envelope) -> Option<Stream<'_, 'm>> {
        let is_exact = self.is_exact(first.context);
        let posted = &mut self.communicators.find(first.context)?.posted;
        let receives = &mut self.receives;
        if is_exact {
            let index = posted.of_mut(Class::NoWildcard);
            let mut stream = ExactStream { index, receives, envelope: first, cursor: BinCursor::EMPTY };
            stream.set_envelope(first);
            return Some(Stream::Exact(stream));
        }
        let blank = ClassCursor { class: Class::NoWildcard, cursor: BinCursor::EMPTY, label: u64::MAX };
        let (mut cursors, mut count) = ([blank; CLASSES.len()], 0);
        for class in CLASSES {
            if !posted.of(class).is_empty() {
                cursors[count].class = class;
                count += 1;
            }
        }
        let mut stream = WildcardStream { posted, receives, envelope: first, cursors, count: count.max(1) };
        stream.set_envelope(first);
        Some(Stream::Wildcard(stream))
    }
}
