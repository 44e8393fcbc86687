//! Functions for `optimistic_parallel`: read-only searches, and changes after all decisions of a block of
//! messages.

use super::{Optimistic, Tally};
use crate::engine::{Message, Queue, RecvId, Refused};
use crate::envelope::{Envelope, Selector};
use crate::hashes::Hashes;
use crate::linked::{NIL, SlotIndex};
use crate::maintenance::Queues;

impl<T: Tally> Optimistic<T> {
    /// The oldest match for which `is_free` holds. Adds compared receives to `examined`.
    #[inline]
    pub(in crate::engines) fn find_oldest(
        &self,
        envelope: &Envelope,
        examined: &mut u64,
        is_free: impl Fn(SlotIndex) -> bool,
    ) -> Option<SlotIndex> {
        let communicator = self.communicators.get(envelope.context)?;
        let (receives, hashes) = (&self.receives, Hashes::of(envelope));
        let found = communicator.posted.find(receives, envelope, hashes, examined, is_free);
        found.map(|(_, at)| at)
    }

    /// The next in the bin, because a bin has the receives of one communicator in posted order.
    #[inline]
    pub(in crate::engines) fn next_in_run(&self, at: SlotIndex) -> Option<SlotIndex> {
        let receives = &self.receives;
        let next = receives.next(at, 0);
        (next != NIL && receives.get(next).value.run == receives.get(at).value.run).then_some(next)
    }

    #[inline]
    pub(in crate::engines) fn selector(&self, at: SlotIndex) -> &Selector {
        &self.receives.get(at).value.receive.selector
    }

    pub(in crate::engines) fn slot_count(&self) -> usize {
        self.receives.slot_count()
    }

    pub(in crate::engines) fn take_receive_at(&mut self, envelope: &Envelope, at: SlotIndex) -> RecvId {
        self.count_arrival(envelope);
        self.tally.count_match(&self.receives, at);
        let id = self.receive(at).id;
        self.take_posted(at);
        id
    }

    pub(in crate::engines) fn insert_unexpected(&mut self, message: Message) -> Result<(), Refused> {
        self.count_arrival(&message.envelope);
        self.insert_message(message, Hashes::of(&message.envelope))
    }

    fn count_arrival(&mut self, envelope: &Envelope) {
        if let Some(communicator) = self.communicators.find(envelope.context) {
            self.tally.count_arrival(&communicator.posted, &self.receives, Hashes::of(envelope));
        }
    }

    pub(in crate::engines) fn examined(&mut self, receives: u64) {
        self.tally.examined(Queue::Posted, receives);
    }
}
