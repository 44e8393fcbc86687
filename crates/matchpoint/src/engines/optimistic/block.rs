//! What the parallel form asks of these tables: searches that change nothing, and, once all of a block is decided, the
//! changes that follow.

use super::{Optimistic, Tally};
use crate::chains::{NIL, Place};
use crate::engine::{Message, Queue, RecvId, Refused};
use crate::envelope::{Envelope, Selector};
use crate::hashes::Hashes;
use crate::upkeep::Queues;

impl<T: Tally> Optimistic<T> {
    /// The oldest receive that accepts a message and `is_free`. Adds the receives compared to `examined`.
    #[inline]
    pub(in crate::engines) fn oldest(
        &self,
        envelope: &Envelope,
        examined: &mut u64,
        is_free: impl Fn(Place) -> bool,
    ) -> Option<Place> {
        let communicator = self.communicators.get(envelope.context)?;
        let (receives, hashes) = (&self.receives, Hashes::of(envelope));
        let found = communicator.posted.find(receives, envelope, hashes, examined, is_free);
        found.map(|(_, at)| at)
    }

    /// The receive that was posted next in the run of the one at `at`. None stands between them in the bin: what is in one
    /// bin is of one communicator, where the two were posted one after the other.
    #[inline]
    pub(in crate::engines) fn follower(&self, at: Place) -> Option<Place> {
        let receives = &self.receives;
        let next = receives.next(at, 0);
        (next != NIL && receives.get(next).value.run == receives.get(at).value.run).then_some(next)
    }

    /// What the receive at a place asks for.
    #[inline]
    pub(in crate::engines) fn selector(&self, at: Place) -> &Selector {
        &self.receives.get(at).value.receive.selector
    }

    /// Every place of a receive is below this.
    pub(in crate::engines) fn places(&self) -> usize {
        self.receives.places()
    }

    /// A message takes the receive at a place.
    pub(in crate::engines) fn take_at(&mut self, envelope: &Envelope, at: Place) -> RecvId {
        self.tell_arrival(envelope);
        self.tally.matched(&self.receives, at);
        let id = self.receive(at).id;
        self.take_posted(at);
        id
    }

    /// A message that no receive accepts waits.
    pub(in crate::engines) fn keep_unexpected(&mut self, message: Message) -> Result<(), Refused> {
        self.tell_arrival(&message.envelope);
        self.keep(message, Hashes::of(&message.envelope))
    }

    fn tell_arrival(&mut self, envelope: &Envelope) {
        if let Some(communicator) = self.communicators.find(envelope.context) {
            self.tally.arrives(&communicator.posted, &self.receives, Hashes::of(envelope));
        }
    }

    /// Receives were compared with messages in a block.
    pub(in crate::engines) fn examined(&mut self, receives: u64) {
        self.tally.examined(Queue::Posted, receives);
    }
}
