//! Messages of one communicator that arrive one after the other, nothing being posted between them. So what a message has found
//! not to accept its envelope need not be compared with the next of that envelope: where many are alike, as where they conflict,
//! a message costs a step in its chain. What is taken off the front of a chain is cut off when the stream leaves it.
//!
//! 1. Where no receive has a wildcard there is one bin to look into ([`Single`]): no labels are compared, one hash value is
//!    computed, and of a receive its source and its tag are looked at only.
//! 2. Else the bins of all classes that have receives are gone through together, in the order of labels ([`Several`]).

use super::class::{CLASSES, Class};
use super::communicator::PostedIndexes;
use super::descriptors::Descriptors;
use super::index::Index;
use super::{Optimistic, Tally};
use crate::chains::{Front, NIL, Place};
use crate::engine::RecvId;
use crate::envelope::{Envelope, Selector};
use crate::hashes::Hashes;

/// See the [module's documentation](self). All messages are of the communicator.
pub(in crate::engines) enum Stream<'a, 'm> {
    /// No receive has a wildcard.
    Single(Single<'a, 'm>),
    /// Some have, or there are none.
    Several(Several<'a, 'm>),
}

/// Where one thread is in a bin.
#[derive(Clone, Copy)]
struct Walk {
    bin: usize,
    /// What lies before it was taken, or does not accept the envelope.
    at: Place,
    /// What was taken and is not cut off yet: all that lies before `at`, or nothing.
    front: Front,
    /// Something that lies before `at` stays.
    has_passed: bool,
}

impl Walk {
    const NOWHERE: Walk = Walk { bin: 0, at: NIL, front: Front::NOTHING, has_passed: false };

    /// Takes what lies at `at` if it is accepted, and goes on to what lies behind.
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
            self.leave(index, receives);
            self.has_passed = true;
        } else if self.has_passed {
            index.take(receives, at, self.bin);
        } else {
            self.front.take(receives, at);
        }
        self.at = next;
        is_found.then_some(id)
    }

    /// Cuts off what was taken.
    #[inline(always)]
    fn leave(&mut self, index: &mut Index, receives: &mut Descriptors) {
        if !self.front.is_empty() {
            index.cut(receives, self.bin, std::mem::take(&mut self.front), self.at);
        }
    }

    /// Begins with the oldest of a bin.
    #[inline(always)]
    fn enter(&mut self, index: &Index, bin: usize) {
        *self = Walk { bin, at: index.head(bin), ..Walk::NOWHERE };
    }
}

/// Messages where no receive has a wildcard.
pub(in crate::engines) struct Single<'a, 'm> {
    index: &'a mut Index,
    receives: &'a mut Descriptors,
    /// The last message's.
    envelope: &'m Envelope,
    walk: Walk,
}

impl<'m> Single<'_, 'm> {
    /// Takes the oldest receive that accepts a message.
    #[inline(always)]
    pub(in crate::engines) fn take(&mut self, envelope: &'m Envelope) -> Option<RecvId> {
        if envelope.source != self.envelope.source || envelope.tag != self.envelope.tag {
            self.look_for(envelope);
        }
        while self.walk.at != NIL {
            let accepts = |selector: &Selector| selector.names(envelope);
            let found = self.walk.step(self.index, self.receives, accepts);
            if found.is_some() {
                return found;
            }
        }
        None
    }

    #[inline(always)]
    fn look_for(&mut self, envelope: &'m Envelope) {
        self.envelope = envelope;
        self.walk.leave(self.index, self.receives);
        let bin = self.index.number(Hashes::of(envelope).source_and_tag());
        self.walk.enter(self.index, bin);
    }
}

impl Drop for Single<'_, '_> {
    fn drop(&mut self) {
        self.walk.leave(self.index, self.receives);
    }
}

/// Messages where receives may have wildcards.
pub(in crate::engines) struct Several<'a, 'm> {
    posted: &'a mut PostedIndexes,
    receives: &'a mut Descriptors,
    /// The last message's.
    envelope: &'m Envelope,
    /// Of the classes that have receives, in the order of `CLASSES`.
    lanes: [Lane; CLASSES.len()],
    count: usize,
}

/// A class's bin of the last message's envelope.
#[derive(Clone, Copy)]
struct Lane {
    class: Class,
    walk: Walk,
    /// Of the entry that comes next; greater than all others at the end.
    label: u64,
}

impl<'m> Several<'_, 'm> {
    /// Takes the oldest receive that accepts a message.
    #[inline(always)]
    pub(in crate::engines) fn take(&mut self, envelope: &'m Envelope) -> Option<RecvId> {
        if *envelope != *self.envelope {
            self.look_for(envelope);
        }
        loop {
            let Several { posted, receives, lanes, count, .. } = self;
            let [first, second, others @ ..] = lanes;
            let others = &mut others[..count.saturating_sub(2)];
            // A branch for each of the first two: which lane comes next is foreseen, and the next receive of one is not waited for to
            // look into the other.
            let eldest = others.iter_mut().min_by_key(|lane| lane.label);
            let end = first.label.min(second.label);
            let found = match eldest {
                Some(lane) if lane.label < end => lane.step(posted, receives, envelope)?,
                _ if second.label < first.label => second.step(posted, receives, envelope)?,
                _ => first.step(posted, receives, envelope)?,
            };
            if found.is_some() {
                return found;
            }
        }
    }

    #[inline(always)]
    fn look_for(&mut self, envelope: &'m Envelope) {
        self.envelope = envelope;
        let hashes = Hashes::of(envelope);
        for lane in &mut self.lanes[..self.count] {
            let index = self.posted.of_mut(lane.class);
            lane.walk.leave(index, self.receives);
            lane.walk.enter(index, index.number(lane.class.key(hashes)));
            lane.relabel(self.receives);
        }
    }
}

impl Drop for Several<'_, '_> {
    fn drop(&mut self) {
        for lane in &mut self.lanes[..self.count] {
            lane.walk.leave(self.posted.of_mut(lane.class), self.receives);
        }
    }
}

impl Lane {
    /// Takes what comes next, if it is accepted, and goes on. `None` at the end.
    #[inline(always)]
    fn step(
        &mut self,
        posted: &mut PostedIndexes,
        receives: &mut Descriptors,
        envelope: &Envelope,
    ) -> Option<Option<RecvId>> {
        if self.walk.at == NIL {
            return None;
        }
        let accepts = |selector: &Selector| selector.matches(envelope);
        let found = self.walk.step(posted.of_mut(self.class), receives, accepts);
        self.relabel(receives);
        Some(found)
    }

    #[inline(always)]
    fn relabel(&mut self, receives: &Descriptors) {
        let at = self.walk.at;
        self.label = if at == NIL { u64::MAX } else { receives.get(at).age };
    }
}

impl<T: Tally> Optimistic<T> {
    /// The receives of a communicator for messages that arrive one after the other, the first of which has that envelope. `None` if
    /// nothing was ever queued there.
    pub(in crate::engines) fn stream<'m>(&mut self, first: &'m Envelope) -> Option<Stream<'_, 'm>> {
        let is_exact = self.is_exact(first.context);
        let posted = &mut self.communicators.find(first.context)?.posted;
        let receives = &mut self.receives;
        if is_exact {
            let index = posted.of_mut(Class::NoWildcard);
            let mut stream = Single { index, receives, envelope: first, walk: Walk::NOWHERE };
            stream.look_for(first);
            return Some(Stream::Single(stream));
        }
        let blank = Lane { class: Class::NoWildcard, walk: Walk::NOWHERE, label: u64::MAX };
        let (mut lanes, mut count) = ([blank; CLASSES.len()], 0);
        for class in CLASSES {
            if !posted.of(class).is_empty() {
                lanes[count].class = class;
                count += 1;
            }
        }
        // Without any the first is looked into in vain.
        let mut stream = Several { posted, receives, envelope: first, lanes, count: count.max(1) };
        stream.look_for(first);
        Some(Stream::Several(stream))
    }
}
