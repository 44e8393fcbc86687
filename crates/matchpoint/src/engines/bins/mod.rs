//! `bins`: hash bins with order.
//!
//! After Flajslik, Dinan & Underwood, "Mitigating MPI message matching misery" (2016), as summarized in the
//! optimistic paper (§II-B, Table I).
//!
//! Exact receives and all messages are in bins, selected by a hash of (context, source, tag). The paper
//! orders entries by timestamps, and by a separate list for wildcards. This engine differs:
//!
//! * Wildcard receives are in one list. Each receive has a sequence number. An arrival takes the first match
//!   of its bin or of the list, whichever has the smaller number. This receive is the oldest match, because
//!   bin and list are in posted order.
//! * Each message is in a bin *and* in a list of all arrivals. An exact receive searches its bin; a wildcard
//!   receive searches the list.
//!
//! Cancel, retract and readdress compare all entries, because MPI programs cancel rarely. The hash has fixed
//! constants, so that counts are reproducible.

mod messages;

use super::{Arguments, Built, Parameter, Spec};
use crate::effort::{Attempts, Effort};
use crate::engine::{Engine, Message, MsgId, Queue, Receive, RecvId, Refused};
use crate::envelope::{Envelope, Pair, Selector, Tag};
use crate::footprint::Footprint;
use crate::hints::HintTable;
use crate::linked::{Aged, LinkedQueue, Slab, SlotIndex};
use crate::maintenance::{self, Queues};
use messages::{Found, Messages, allocate_bins};

pub(super) const SPEC: Spec = Spec {
    name: "bins",
    summary: "hash bins with order, wildcards in a list of their own (Flajslik et al. 2016)",
    parameters: &[Parameter { key: "n", default: "256", meaning: "number of bins, 1 to 16777216" }],
    variants: &["n=1", "n=3", "n=4096"],
    tight: &[],
    build,
};

fn build(arguments: &Arguments<'_>, is_counting: bool) -> Built {
    let n = arguments.within("n", 1..=1 << 24)?;
    Ok(if is_counting { Box::new(Bins::<Attempts>::new(n)) } else { Box::new(Bins::<()>::new(n)) })
}

/// Hash function and order of comparison of `bins` or [`ucx`](super::ucx).
pub trait Scheme: Send + 'static {
    /// True: an arrival compares receives of its bin and wildcard receives in posted order. False: first the
    /// receives of its bin.
    const IS_MERGED: bool;

    /// The bin of an envelope, less than `bins`.
    fn bin(&self, envelope: &Envelope, bins: usize) -> usize;
}

pub struct MultiplyShift;

impl Scheme for MultiplyShift {
    const IS_MERGED: bool = false;

    /// Multiply-shift (Dietzfelbinger et al. 1997), scaled to `bins`. The folded 128-bit product of source
    /// and tag is as fast; but a search among 1024 keys (a, 1023 − a) then examines 4.8 entries instead of
    /// 3.0.
    #[inline]
    fn bin(&self, envelope: &Envelope, bins: usize) -> usize {
        let tag = envelope.tag.0.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let source = u64::from(envelope.source.0).wrapping_mul(0xE703_7ED1_A0B4_28DB);
        let context = u64::from(envelope.context.0).wrapping_mul(0xA076_1D64_78BD_642F);
        let hash = tag.wrapping_add(source).wrapping_add(context);
        (((hash >> 32) * bins as u64) >> 32) as usize
    }
}

pub struct Bins<E: Effort = (), S = MultiplyShift> {
    scheme: S,
    count: u32,
    posted: Slab<Aged<Receive>, 1>,
    /// Bins of exact receives, allocated with the first exact receive.
    posted_bins: Box<[LinkedQueue]>,
    wildcards: LinkedQueue,
    clock: u64,
    unexpected: Messages,
    hints: HintTable,
    effort: E,
}

impl<E: Effort> Bins<E> {
    pub(super) fn new(n: u32) -> Self {
        Bins::with_scheme(MultiplyShift, n)
    }
}

impl<E: Effort, S: Scheme> Bins<E, S> {
    pub(super) fn with_scheme(scheme: S, count: u32) -> Self {
        Bins {
            scheme,
            count,
            posted: Slab::default(),
            posted_bins: Box::default(),
            wildcards: LinkedQueue::default(),
            clock: 0,
            unexpected: Messages::new(count),
            hints: HintTable::default(),
            effort: E::default(),
        }
    }

    #[inline]
    fn posted_queue(&self, bin: usize) -> LinkedQueue {
        self.posted_bins.get(bin).copied().unwrap_or_default()
    }

    #[inline]
    pub(super) fn bin(&self, envelope: &Envelope) -> usize {
        self.scheme.bin(envelope, self.count as usize)
    }

    #[inline]
    fn find_unexpected(&mut self, selector: &Selector) -> Option<Found> {
        if self.unexpected.len() == 0 {
            return None;
        }
        let mut examined = 0;
        let found = match selector.exact() {
            Some(envelope) => self.unexpected.search_bin(self.bin(&envelope), selector, &mut examined),
            None => self.unexpected.search_all(selector, &mut examined),
        };
        self.effort.examined(Queue::Unexpected, examined);
        found
    }

    #[inline]
    fn find_posted(&mut self, bin: usize, envelope: &Envelope) -> Option<(SlotIndex, bool)> {
        let mut examined = 0;
        let matches = |receive: &Receive| receive.selector.matches(envelope);
        let exact = self.posted_queue(bin);
        let found = if S::IS_MERGED {
            exact.search_merged(self.wildcards, &self.posted, &mut examined, matches)
        } else {
            exact.search_both(self.wildcards, &self.posted, &mut examined, matches)
        };
        self.effort.examined(Queue::Posted, examined);
        found
    }

    #[inline]
    pub(super) fn queue_receive(&mut self, receive: Receive) -> Result<(), Refused> {
        let exact = receive.selector.exact();
        if exact.is_some() && self.posted_bins.is_empty() {
            self.posted_bins = allocate_bins(self.count, LinkedQueue::default())?;
        }
        let at = self.posted.insert(Aged { value: receive, age: self.clock })?;
        self.clock += 1;
        match exact {
            Some(envelope) => {
                let bin = self.bin(&envelope);
                self.posted_bins[bin].push(&mut self.posted, at);
            }
            None => self.wildcards.push(&mut self.posted, at),
        }
        Ok(())
    }

    #[inline]
    pub(super) fn queue_message(&mut self, message: Message, bin: usize) -> Result<(), Refused> {
        self.unexpected.push(message, bin)
    }
}

impl<E: Effort, S: Scheme> Queues for Bins<E, S> {
    type Posted = SlotIndex;
    type Unexpected = Found;

    fn posted_positions(&self) -> impl Iterator<Item = (u64, SlotIndex)> {
        self.posted.iter().map(|(at, posted)| (posted.age, at))
    }

    fn unexpected_positions(&self) -> impl Iterator<Item = (u64, Found)> {
        // Ages count from the newest message, so that removals of older messages change no age.
        (0..).map(|newer| u64::MAX - newer).zip(self.unexpected.iter().map(Messages::at_place))
    }

    fn receive(&self, at: SlotIndex) -> Receive {
        self.posted.get(at).value
    }

    #[inline]
    fn message(&self, found: Found) -> Message {
        self.unexpected.get(found.at)
    }

    fn take_posted(&mut self, at: SlotIndex) {
        match self.posted.get(at).value.selector.exact() {
            Some(envelope) => {
                let bin = self.bin(&envelope);
                self.posted_bins[bin].unlink(&mut self.posted, at);
            }
            None => self.wildcards.unlink(&mut self.posted, at),
        }
        self.posted.remove(at);
    }

    #[inline]
    fn take_unexpected(&mut self, found: Found) {
        let bin = self.bin(&self.unexpected.envelope(found.at));
        self.unexpected.take(found, bin);
    }

    fn set_envelope(&mut self, found: Found, named: Envelope) -> Result<(), Refused> {
        let bin = |envelope: &Envelope| self.scheme.bin(envelope, self.count as usize);
        self.unexpected.set_envelope(found.at, named, bin);
        Ok(())
    }

    fn hints(&mut self) -> &mut HintTable {
        &mut self.hints
    }
}

impl<E: Effort, S: Scheme> Engine for Bins<E, S> {
    fn arrive(&mut self, id: MsgId, pair: Pair, tag: Tag) -> Result<Option<RecvId>, Refused> {
        let message = Message::new(id, Envelope::of(pair, tag));
        let bin = self.bin(&message.envelope);
        if let Some((at, is_wildcard)) = self.find_posted(bin, &message.envelope) {
            let chain = if is_wildcard { &mut self.wildcards } else { &mut self.posted_bins[bin] };
            chain.unlink(&mut self.posted, at);
            return Ok(Some(self.posted.remove(at).value.id));
        }
        self.hints.admit_unexpected(message.envelope.context)?;
        self.queue_message(message, bin)?;
        Ok(None)
    }

    /// Compares ids in memory order, without the list of arrivals.
    fn retract(&mut self, message: &Message) -> bool {
        self.unexpected.find_by_id(message.id).map(|found| self.take_unexpected(found)).is_some()
    }

    maintenance::provided!(post_selector probe matched_probe cancel readdress set_hints close fail_source visit);
    maintenance::provided!(posted_len unexpected_len attempts);

    fn footprint(&self) -> Footprint {
        let (messages, message_bins) = self.unexpected.bytes();
        let bins = size_of_val(&*self.posted_bins) as u64 + message_bins;
        let fixed_bytes = size_of::<Self>() as u64 + bins + self.hints.bytes();
        let entries_bytes = self.posted.bytes() + messages;
        // Slabs never free memory, so the current size is the peak.
        Footprint { fixed_bytes, peers_bytes: 0, entries_bytes, peak_bytes: fixed_bytes + entries_bytes }
    }
}
