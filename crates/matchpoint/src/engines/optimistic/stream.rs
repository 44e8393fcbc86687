//! Messages of one communicator that arrive one after the other, nothing being posted between them. So what a message has found
//! not to accept its envelope need not be compared with the next of that envelope: where many are alike, as where they conflict,
//! a message costs a step in its chain. What is taken off the front of a chain is cut off when the stream leaves it.

use super::class::{CLASSES, Class};
use super::communicator::PostedIndexes;
use super::descriptors::Descriptor;
use super::{Optimistic, Tally};
use crate::chains::{Aged, Front, NIL, Place, Slab};
use crate::engine::{Receive, RecvId};
use crate::envelope::Envelope;
use crate::hashes::Hashes;

/// See the [module's documentation](self).
pub(in crate::engines) struct Stream<'a> {
    posted: &'a mut PostedIndexes,
    receives: &'a mut Slab<Aged<Descriptor>, 1>,
    /// The last message's.
    envelope: Envelope,
    /// Of the classes that have receives, in the order of `CLASSES`.
    lanes: [Lane; CLASSES.len()],
    count: usize,
}

/// A class's bin of the last message's envelope.
#[derive(Clone, Copy)]
struct Lane {
    class: Class,
    bin: usize,
    /// What lies before it was taken, or does not accept the envelope.
    at: Place,
    /// Its own; greater than all others at the end.
    label: u64,
    /// What was taken and is not cut off yet: all that lies before `at`, or nothing.
    front: Front,
    /// Something that lies before `at` stays.
    has_passed: bool,
}

impl Stream<'_> {
    /// Takes the oldest receive that accepts a message: lanes are gone through together, in the order of labels.
    #[inline(always)]
    pub(in crate::engines) fn take(&mut self, envelope: &Envelope) -> Option<RecvId> {
        if *envelope != self.envelope {
            self.look_for(envelope);
        }
        loop {
            let (mut lane, others) = self.lanes.split_first_mut()?;
            for other in &mut others[..self.count - 1] {
                if other.label < lane.label {
                    lane = other;
                }
            }
            let at = lane.at;
            if at == NIL {
                return None;
            }
            let (entry, next) = self.receives.get_and_next(at);
            let Receive { id, selector } = &entry.value.receive;
            let (id, is_found) = (*id, selector.matches(envelope));
            if is_found && !lane.has_passed {
                lane.front.take(self.receives, at);
            } else {
                lane.pass(at, is_found, self.posted, self.receives);
            }
            lane.go_to(next, self.receives);
            if is_found {
                return Some(id);
            }
        }
    }

    #[inline(always)]
    fn look_for(&mut self, envelope: &Envelope) {
        self.envelope = *envelope;
        let hashes = Hashes::of(envelope);
        for lane in &mut self.lanes[..self.count] {
            lane.leave(self.posted, self.receives);
            lane.has_passed = false;
            let index = self.posted.of(lane.class);
            lane.bin = index.number(lane.class.key(hashes));
            lane.go_to(index.head(lane.bin), self.receives);
        }
    }
}

impl Drop for Stream<'_> {
    fn drop(&mut self) {
        for lane in &mut self.lanes[..self.count] {
            lane.leave(self.posted, self.receives);
        }
    }
}

impl Lane {
    /// Leaves what lies at `at` where it is, or takes it from behind what was left.
    #[cold]
    fn pass(
        &mut self,
        at: Place,
        is_found: bool,
        posted: &mut PostedIndexes,
        receives: &mut Slab<Aged<Descriptor>, 1>,
    ) {
        self.leave(posted, receives);
        self.has_passed = true;
        if is_found {
            posted.of_mut(self.class).take(receives, at, self.bin);
        }
    }

    /// Cuts off what was taken.
    #[inline(always)]
    fn leave(&mut self, posted: &mut PostedIndexes, receives: &mut Slab<Aged<Descriptor>, 1>) {
        if !self.front.is_empty() {
            let front = std::mem::take(&mut self.front);
            posted.of_mut(self.class).cut(receives, self.bin, front, self.at);
        }
    }

    #[inline(always)]
    fn go_to(&mut self, at: Place, receives: &Slab<Aged<Descriptor>, 1>) {
        self.at = at;
        self.label = if at == NIL { u64::MAX } else { receives.get(at).age };
    }
}

impl<T: Tally> Optimistic<T> {
    /// The receives of a communicator for messages that arrive one after the other, the first of which has that envelope. `None` if
    /// nothing was ever queued there.
    pub(in crate::engines) fn stream(&mut self, first: &Envelope) -> Option<Stream<'_>> {
        let posted = &mut self.communicators.find(first.context)?.posted;
        let blank = Lane {
            class: Class::NoWildcard,
            bin: 0,
            at: NIL,
            label: u64::MAX,
            front: Front::default(),
            has_passed: false,
        };
        let (mut lanes, mut count) = ([blank; CLASSES.len()], 0);
        for class in CLASSES {
            if !posted.of(class).is_empty() {
                lanes[count].class = class;
                count += 1;
            }
        }
        // Without any the first is looked into in vain.
        let (count, receives) = (count.max(1), self.receives.slab_mut());
        let mut stream = Stream { posted, receives, envelope: *first, lanes, count };
        stream.look_for(first);
        Some(stream)
    }
}
