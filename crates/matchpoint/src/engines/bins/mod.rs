//! `bins`: hash bins with order, after Flajslik, Dinan & Underwood, "Mitigating MPI message matching misery" (2016),
//! as summed up in the optimistic paper (§II-B, Table I).
//!
//! Receives that leave nothing open, and all messages, lie in bins chosen by a hash of (context, source, tag). Order
//! is kept in two ways, where Flajslik et al. keep timestamps on all entries and a list of order information for
//! wildcards:
//!
//! * Receives with a wildcard or a mask wait in one list of their own. Each receive carries the number of its posting
//!   (the order marker); an arrival compares its bin's first match with the list's first match, and takes the smaller
//!   number. Both lists are in order, so the smaller of two firsts is the earliest of all, as a timestamp would say.
//! * Each message is in its bin *and* in one list of all arrivals (`messages.rs`). A receive that leaves nothing open
//!   searches its bin, where all that it could match lies, in order; any other searches the list, which is the order.
//!
//! With `n` bins and `q` entries queued: post and arrive O(1 + q/n) without wildcards, plus O(wildcard receives posted)
//! for arrivals, and O(messages queued) for receives with wildcards. Cancel, retract and readdress compare every entry
//! (in the order of memory, no map to keep): MPI programs cancel rarely. Hints and close are O(q), visiting the posted
//! queue sorts it. An idle engine holds 8·n bytes of bins; a receive takes 64, a message 40.
//!
//! The hash has a fixed key, so that counted work is the same in every run: an adversary who chooses tags can make all
//! entries share a bin, which costs what `list` costs.

mod messages;

use super::{Arguments, Built, Parameter, Spec};
use crate::chains::{Aged, Chain, Place, Slab};
use crate::effort::{Attempts, Effort};
use crate::engine::{Engine, Message, MsgId, Queue, Receive, RecvId, Refused};
use crate::envelope::{Envelope, Pair, Selector, Tag};
use crate::footprint::Footprint;
use crate::hints::HintTable;
use crate::upkeep::{self, Queues};
use messages::{Found, Messages, empty};

pub(super) const SPEC: Spec = Spec {
    name: "bins",
    summary: "hash bins with order, wildcards in a list of their own (Flajslik et al. 2016)",
    parameters: &[Parameter { key: "n", default: "256", meaning: "number of bins, 1 to 16777216" }],
    variants: &["n=1", "n=3", "n=4096"],
    tight: &[],
    build,
};

fn build(arguments: &Arguments<'_>, counting: bool) -> Built {
    let n = arguments.within("n", 1..=1 << 24)?;
    Ok(if counting { Box::new(Bins::<Attempts>::new(n)) } else { Box::new(Bins::<()>::new(n)) })
}

/// Which bin an envelope has, and in which order an arrival compares receives: what [`ucx`](super::ucx) has otherwise.
pub trait Scheme: Send + 'static {
    /// An arrival compares receives of its bin and of the list of wildcards in the order of their posting. Otherwise it
    /// compares its bin first, then the older receives of the list.
    const IS_MERGED: bool;

    /// The bin of a fully specified envelope, below `bins`.
    fn bin(&self, envelope: &Envelope, bins: usize) -> usize;
}

/// Any number of bins.
pub struct Scaled;

impl Scheme for Scaled {
    const IS_MERGED: bool = false;

    /// Multiply-shift (Dietzfelbinger et al. 1997): a sum of products by odd
    /// constants, of which the upper bits are scaled to `bins`. The three products are independent, so it takes the time
    /// of two multiplications. The folded 128-bit product of source and tag is as fast, but a search among 1024 keys
    /// (a, 1023 − a) then examines 4.8 entries where random bins make it 3.0. Scaling, not masking, so that any number of
    /// bins can be asked for, as the papers do.
    #[inline]
    fn bin(&self, envelope: &Envelope, bins: usize) -> usize {
        let tag = envelope.tag.0.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let source = u64::from(envelope.source.0).wrapping_mul(0xE703_7ED1_A0B4_28DB);
        let context = u64::from(envelope.context.0).wrapping_mul(0xA076_1D64_78BD_642F);
        let hash = tag.wrapping_add(source).wrapping_add(context);
        (((hash >> 32) * bins as u64) >> 32) as usize
    }
}

/// See the [module's documentation](self).
pub struct Bins<E: Effort = (), S = Scaled> {
    scheme: S,
    count: u32,
    posted: Slab<Aged<Receive>, 1>,
    /// None before the first receive without a wildcard.
    posted_bins: Box<[Chain]>,
    wild: Chain,
    clock: u64,
    unexpected: Messages,
    hints: HintTable,
    effort: E,
}

impl<E: Effort> Bins<E> {
    pub(super) fn new(n: u32) -> Self {
        Bins::with_scheme(Scaled, n)
    }
}

impl<E: Effort, S: Scheme> Bins<E, S> {
    pub(super) fn with_scheme(scheme: S, count: u32) -> Self {
        Bins {
            scheme,
            count,
            posted: Slab::default(),
            posted_bins: Box::default(),
            wild: Chain::default(),
            clock: 0,
            unexpected: Messages::new(count),
            hints: HintTable::default(),
            effort: E::default(),
        }
    }

    /// The receives of a bin.
    #[inline]
    fn posted_in(&self, bin: usize) -> Chain {
        self.posted_bins.get(bin).copied().unwrap_or_default()
    }

    /// The bin of a fully specified envelope.
    #[inline]
    pub(super) fn bin(&self, envelope: &Envelope) -> usize {
        self.scheme.bin(envelope, self.count as usize)
    }

    /// The earliest message that `selector` matches.
    #[inline]
    fn find_unexpected(&mut self, selector: &Selector) -> Option<Found> {
        // Mostly.
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

    /// The earliest receive that matches, and whether it is in the list of wildcards.
    #[inline]
    fn find_posted(&mut self, bin: usize, envelope: &Envelope) -> Option<(Place, bool)> {
        let mut examined = 0;
        let matches = |receive: &Receive| receive.selector.matches(envelope);
        let exact = self.posted_in(bin);
        let found = if S::IS_MERGED {
            exact.search_merged(self.wild, &self.posted, &mut examined, matches)
        } else {
            exact.search_both(self.wild, &self.posted, &mut examined, matches)
        };
        self.effort.examined(Queue::Posted, examined);
        found
    }

    /// Queues a receive that no message waits for.
    #[inline]
    pub(super) fn queue_receive(&mut self, receive: Receive) -> Result<(), Refused> {
        let exact = receive.selector.exact();
        if exact.is_some() && self.posted_bins.is_empty() {
            self.posted_bins = empty(self.count, Chain::default())?;
        }
        let at = self.posted.insert(Aged { value: receive, age: self.clock })?;
        self.clock += 1;
        match exact {
            Some(envelope) => {
                let bin = self.bin(&envelope);
                self.posted_bins[bin].push(&mut self.posted, at);
            }
            None => self.wild.push(&mut self.posted, at),
        }
        Ok(())
    }

    /// Queues a message that no receive waits for, in [its bin](Bins::bin).
    #[inline]
    pub(super) fn queue_message(&mut self, message: Message, bin: usize) -> Result<(), Refused> {
        self.unexpected.push(message, bin)
    }
}

impl<E: Effort, S: Scheme> Queues for Bins<E, S> {
    type Posted = Place;
    type Unexpected = Found;

    fn posted(&self) -> impl Iterator<Item = (u64, Place)> {
        self.posted.iter().map(|(at, posted)| (posted.age, at))
    }

    fn unexpected(&self) -> impl Iterator<Item = (u64, Found)> {
        // Counted from the newest, so that it stays what it is when older ones are taken out.
        (0..).map(|newer| u64::MAX - newer).zip(self.unexpected.iter().map(Messages::found))
    }

    fn receive(&self, at: Place) -> Receive {
        self.posted.get(at).value
    }

    #[inline]
    fn message(&self, found: Found) -> Message {
        self.unexpected.get(found.at)
    }

    fn take_posted(&mut self, at: Place) {
        match self.posted.get(at).value.selector.exact() {
            Some(envelope) => {
                let bin = self.bin(&envelope);
                self.posted_bins[bin].unlink(&mut self.posted, at);
            }
            None => self.wild.unlink(&mut self.posted, at),
        }
        self.posted.remove(at);
    }

    #[inline]
    fn take_unexpected(&mut self, found: Found) {
        let bin = self.bin(&self.unexpected.envelope(found.at));
        self.unexpected.take(found, bin);
    }

    fn rename(&mut self, found: Found, named: Envelope) -> Result<(), Refused> {
        let bin = |envelope: &Envelope| self.scheme.bin(envelope, self.count as usize);
        self.unexpected.rename(found.at, named, bin);
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
        if let Some((at, is_wild)) = self.find_posted(bin, &message.envelope) {
            let chain = if is_wild { &mut self.wild } else { &mut self.posted_bins[bin] };
            chain.unlink(&mut self.posted, at);
            return Ok(Some(self.posted.remove(at).value.id));
        }
        self.hints.admit_unexpected(message.envelope.context)?;
        self.queue_message(message, bin)?;
        Ok(None)
    }

    /// The age of a message is where it stands in the list of arrivals; its name is found sooner in the order of memory.
    fn retract(&mut self, message: &Message) -> bool {
        self.unexpected.named(message.id).map(|found| self.take_unexpected(found)).is_some()
    }

    upkeep::provided!(post_open probe matched_probe cancel readdress set_hints close fail_source visit);
    upkeep::provided!(posted_len unexpected_len attempts);

    fn footprint(&self) -> Footprint {
        let (messages, message_bins) = self.unexpected.bytes();
        let bins = size_of_val(&*self.posted_bins) as u64 + message_bins;
        let fixed_bytes = size_of::<Self>() as u64 + bins + self.hints.bytes();
        let entries_bytes = self.posted.bytes() + messages;
        // Slabs never give memory back, so what they have now is the most they had.
        Footprint { fixed_bytes, peers_bytes: 0, entries_bytes, peak_bytes: fixed_bytes + entries_bytes }
    }
}
