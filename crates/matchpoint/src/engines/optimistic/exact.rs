//! Exact receives of one communicator, shared by threads. The communicator has no posted wildcard receives,
//! so a match depends only on the bin.

#![allow(unsafe_code)]

use super::class::Class;
use super::communicator::Communicator;
use super::descriptors::Descriptor;
use super::index::bin_of_key;
use super::{Optimistic, Tally};
use crate::engine::{Queue, RecvId, Refused};
use crate::envelope::{ContextId, Envelope};
use crate::hashes::Hashes;
use crate::linked::{RemovedEntries, SharedSlab};

pub(in crate::engines) struct ExactReceives<'a> {
    receives: SharedSlab<'a, Descriptor>,
    bins: usize,
}

impl ExactReceives<'_> {
    pub(in crate::engines) fn bins(&self) -> usize {
        self.bins
    }

    #[inline]
    pub(in crate::engines) fn bin(&self, envelope: &Envelope) -> usize {
        bin_of_key(Hashes::of(envelope).source_and_tag(), self.bins)
    }

    /// Takes the oldest match of a message from its bin.
    ///
    /// # Safety
    /// No other thread is in a call with the same `bin`.
    #[inline]
    pub(in crate::engines) unsafe fn take(
        &self,
        bin: usize,
        envelope: &Envelope,
        taken: &mut RemovedEntries,
    ) -> Option<RecvId> {
        let accept = |descriptor: &Descriptor| {
            descriptor.receive.selector.matches_exact(envelope).then_some(descriptor.receive.id)
        };
        // SAFETY: guaranteed by the caller: a bin is one queue.
        unsafe { self.receives.take_first(bin, taken, accept) }
    }

    /// Loads the first receive of a bin into the cache.
    ///
    /// # Safety
    /// No other thread is in a call with the same `bin`.
    #[inline]
    pub(in crate::engines) unsafe fn prefetch_head(&self, bin: usize) -> u64 {
        // SAFETY: guaranteed by the caller: a bin is one queue.
        unsafe { self.receives.prefetch_head(bin) }
    }
}

impl<T: Tally> Optimistic<T> {
    pub(in crate::engines) fn is_exact(&self, context: ContextId) -> bool {
        let wild = [Class::AnySource, Class::AnyTag, Class::AnySourceAnyTag];
        self.communicators.get(context).is_some_and(|Communicator { posted, .. }| {
            let is_wild = wild.into_iter().any(|class| !posted.of(class).is_empty());
            !is_wild && !posted.of(Class::NoWildcard).is_empty()
        })
    }

    pub(in crate::engines) fn share(&mut self, context: ContextId) -> Option<ExactReceives<'_>> {
        let is_exact = self.is_exact(context);
        let posted = &mut self.communicators.find(context).filter(|_| is_exact)?.posted;
        let index = posted.of_mut(Class::NoWildcard);
        let bins = index.len();
        Some(ExactReceives { receives: self.receives.share(index.bins_mut()), bins })
    }

    pub(in crate::engines) fn reclaim(&mut self, context: ContextId, taken: &RemovedEntries) {
        self.receives.reclaim(taken);
        self.tally.examined(Queue::Posted, taken.examined);
        if let Some(communicator) = self.communicators.find(context) {
            communicator.posted.of_mut(Class::NoWildcard).subtract_emptied(taken.emptied);
        }
    }

    /// Reserves memory for `messages` unexpected messages, so that no such message is refused.
    pub(in crate::engines) fn reserve_unexpected(
        &mut self,
        context: ContextId,
        messages: usize,
    ) -> Result<(), Refused> {
        self.hints.admit_unexpected(context)?;
        self.messages.reserve(messages)?;
        let hints = self.hints.get(context);
        let communicator = self.communicators.find_or_insert(context, Default::default)?;
        communicator.unexpected.prepare(hints, self.bins)
    }
}
