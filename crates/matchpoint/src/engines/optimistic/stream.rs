//! Messages of one communicator that arrive one after the other, nothing being posted between them. So what a message has found
//! not to accept its envelope need not be compared with the next of that envelope: where many are alike, as where they conflict,
//! a message costs a step in its chain.

use super::class::{CLASSES, Class};
use super::communicator::PostedIndexes;
use super::descriptors::Descriptor;
use super::{Optimistic, Tally};
use crate::chains::{Aged, NIL, Place, Slab};
use crate::engine::RecvId;
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
    /// What lies before it does not accept the envelope.
    at: Place,
    /// Its own; greater than all others at the end.
    label: u64,
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
            let fits = self.receives.get(at).value.receive.selector.matches(envelope);
            lane.go_to(self.receives.next(at, 0), self.receives);
            if fits {
                return Some(self.posted.of_mut(lane.class).take(self.receives, at, lane.bin).receive.id);
            }
        }
    }

    #[inline(always)]
    fn look_for(&mut self, envelope: &Envelope) {
        self.envelope = *envelope;
        let hashes = Hashes::of(envelope);
        for lane in &mut self.lanes[..self.count] {
            let index = self.posted.of(lane.class);
            lane.bin = index.number(lane.class.key(hashes));
            lane.go_to(index.head(lane.bin), self.receives);
        }
    }
}

impl Lane {
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
        let blank = Lane { class: Class::NoWildcard, bin: 0, at: NIL, label: u64::MAX };
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
