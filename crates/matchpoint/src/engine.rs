//! Contract of a matching engine.
//!
//! 1. A message matches a receive if their contexts are equal, and if source and tag are each equal or a
//!    wildcard in the receive.
//! 2. An arriving message takes the oldest posted receive that matches. Without a match, the message joins
//!    the unexpected queue.
//! 3. A posted receive takes the oldest unexpected message that matches. Without a match, the receive joins
//!    the posted queue.
//!
//! Other rules:
//!
//! * The engine queues messages of a context without posted receives, because a peer may create the
//!   communicator first.
//! * Messages with an unknown source ([`Rank::UNKNOWN`]) may all have the same source. They keep their order
//!   under every [`Order`] except `None`. A message that gets its source keeps its age among the messages of
//!   that source. `PerSource` does not order messages with unknown and known source. A caller that needs this
//!   order sets the sources first.
//! * Messages take receives in posted order, any-source receives included, except under [`Order`] `None`.
//! * After [`Engine::close`], the engine has no entries and no hints of the context. The caller may reuse the
//!   context id.
//! * A [`Refused`] call leaves the engine unchanged; in a batch, the messages before the refused message have
//!   arrived. A failed allocation does not abort the process, with these exceptions: [`Engine::statistics`],
//!   and [`Engine::close`] and [`Engine::fail_source`] without [reserved capacity](Drained). [Concurrent
//!   engines](crate::concurrent) have more exceptions.
//! * A persistent receive (MPI-4.1 §3.9) is posted at each `MPI_Start`. A partitioned receive (§4) matches
//!   once, in a separate context, and probes of the communicator do not find it.
//! * The length of a message does not affect matching. The caller detects truncation (§3.2.5).
//! * The caller serializes calls.
//!
//! # Withdrawals
//!
//! [`Engine::cancel`], [`Engine::retract`] and [`Engine::readdress`] get the whole entry. So the engine needs
//! no map of ids: it searches by selector or envelope.
//!
//! * The caller passes the selector or envelope of the queued entry; after [`Readdressed::SourceSet`], the
//!   envelope with the new source.
//! * An engine returns true only if an entry with this id and this selector or envelope is queued. For a
//!   queued id with another selector or envelope, a caller error, the engine may withdraw the entry or not,
//!   because it may compare ids only.
//! * For an id that is not queued, the engine returns false or [`Readdressed::Unchanged`].

use std::any::Any;

use crate::effort::Attempts;
pub use crate::entry::{Entry, Message, MsgId, Queue, Receive, RecvId, Refused};
use crate::envelope::{ContextId, Envelope, Pair, Rank, Selector, Tag};
use crate::footprint::Footprint;
use crate::hints::{Hints, Order};

/// Result of [`Engine::readdress`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Readdressed {
    /// No posted receive matches. The message has the new source and keeps its age.
    SourceSet,
    /// The message took the oldest matching receive. Both are removed.
    Matched(RecvId),
    /// No message with this id and an unknown source is queued, or the envelope has a source, or the new
    /// source is [`Rank::UNKNOWN`].
    Unchanged,
}

/// Entries removed by [`Engine::close`] and [`Engine::fail_source`], oldest first. Both calls append.
///
/// A caller that must not abort without memory first reserves capacity for the entries that
/// [`Engine::queued_in`] counts.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Drained {
    /// Removed receives.
    pub receives: Vec<RecvId>,
    /// Removed messages.
    pub messages: Vec<MsgId>,
    /// Any-source receives, which stay posted (`MPI_ERR_PROC_FAILED_PENDING`).
    pub pending: Vec<RecvId>,
}

/// Callback for a match, for example to copy the data. Arguments: index of the message in its batch; the
/// receive.
pub type Deliver<'a> = dyn Fn(usize, RecvId) + Sync + 'a;

/// Lets messages arrive in turn. Each matched message is delivered before the next arrives.
///
/// # Errors
/// The errors of [`Engine::arrive_batch`].
#[inline]
pub(crate) fn arrive_each(
    messages: &[Message],
    out: &mut Vec<Option<RecvId>>,
    deliver: impl Fn(usize, RecvId),
    mut arrive: impl FnMut(Message) -> Result<Option<RecvId>, Refused>,
) -> Result<(), Refused> {
    out.try_reserve(messages.len()).map_err(|_| Refused::Memory)?;
    for (number, &message) in messages.iter().enumerate() {
        let found = arrive(message)?;
        out.push(found);
        if let Some(receive) = found {
            deliver(number, receive);
        }
    }
    Ok(())
}

/// Result of a post or an arrival, returned in two registers. The compiler would return a `Result` of an
/// `Option` in memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub struct Outcome {
    /// Id of the entry taken; or the [`Place`] after a search miss; or 0.
    pub id: u64,
    /// A status of the C interface: one of the constants of `Outcome`.
    pub status: i64,
}

impl Outcome {
    /// No entry of the other queue matched, and the new entry is queued.
    pub const QUEUED: Outcome = Outcome { id: 0, status: 0 };
    /// An entry of the other queue was taken.
    pub const TOOK: i64 = 1;
    /// [`Refused::Hint`]
    pub const HINT: Outcome = Outcome { id: 0, status: -1 };
    /// [`Refused::Full`]
    pub const FULL: Outcome = Outcome { id: 0, status: -2 };
    /// [`Refused::Memory`]
    pub const MEMORY: Outcome = Outcome { id: 0, status: -3 };

    #[inline(always)]
    pub(crate) fn took(id: u64) -> Self {
        Outcome { id, status: Self::TOOK }
    }

    /// Search miss; an entry with this key can be queued at `place`.
    #[inline(always)]
    pub(crate) fn none_at(place: Place) -> Self {
        Outcome { id: place.0, status: 0 }
    }

    #[inline(always)]
    pub(crate) fn taken(self) -> Option<u64> {
        (self.status == Self::TOOK).then_some(self.id)
    }

    #[cold]
    pub(crate) fn refused(why: Refused) -> Self {
        match why {
            Refused::Hint => Self::HINT,
            Refused::Full => Self::FULL,
            Refused::Memory => Self::MEMORY,
        }
    }

    #[inline(always)]
    pub(crate) fn map<T>(self, id: impl Fn(u64) -> T) -> Result<Option<T>, Refused> {
        match self {
            Outcome { status: 0, .. } => Ok(None),
            Outcome { id: taken, status: Self::TOOK } => Ok(Some(id(taken))),
            Self::HINT => Err(Refused::Hint),
            Self::FULL => Err(Refused::Full),
            _ => Err(Refused::Memory),
        }
    }
}

/// Queue position that a search computed, in an encoding of the engine; 0: unknown.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Place(pub u64);

/// Id of messages that the default [`Engine::take_receive`] queues temporarily. No memory address has this
/// value.
const TRANSIENT: MsgId = MsgId(0x9E37_79B9_7F4A_7C15);

/// A matching engine: a posted and an unexpected queue under the [rules of this module](self). The crate
/// `matchpoint-conformance` tests the rules.
pub trait Engine: Send {
    /// Posts a receive without wildcards (rule 3). The source must not be [`Rank::UNKNOWN`]. Returns the
    /// message taken, or `None` if the receive is queued.
    ///
    /// # Errors
    /// [`Refused::Hint`] if the receive breaks an assertion, else [`Refused::Full`] or [`Refused::Memory`].
    fn post_exact(&mut self, id: RecvId, pair: Pair, tag: Tag) -> Result<Option<MsgId>, Refused> {
        self.post_selector(id, &Selector::of(pair, tag.0, 0))
    }

    /// Posts any receive (rule 3). Returns the message taken, or `None` if the receive is queued.
    ///
    /// # Errors
    /// [`Refused::Hint`] if a wildcard breaks an assertion, else [`Refused::Full`] or [`Refused::Memory`].
    fn post_selector(&mut self, id: RecvId, selector: &Selector) -> Result<Option<MsgId>, Refused>;

    /// Handles an arriving message (rule 2). Returns the receive taken, or `None` if the message is queued.
    /// [`readdress`](Engine::readdress) can set an unknown source later.
    ///
    /// # Errors
    /// [`Refused::Hint`] if the message would be queued under `no_unexpected`, else [`Refused::Full`] or
    /// [`Refused::Memory`].
    fn arrive(&mut self, id: MsgId, pair: Pair, tag: Tag) -> Result<Option<RecvId>, Refused>;

    /// Returns the message that a receive with this selector would take now (`MPI_Iprobe`). The message stays
    /// queued. `None` if no message matches, or if the selector breaks an assertion.
    fn probe(&mut self, selector: &Selector) -> Option<MsgId>;

    /// Removes and returns the message that a receive with this selector would take now (`MPI_Improbe`).
    fn matched_probe(&mut self, selector: &Selector) -> Option<MsgId>;

    /// Takes the receive that such a message would take now, and queues nothing. A library that allocates
    /// descriptors only for unexpected messages calls [`queue_message`](Engine::queue_message) afterwards.
    ///
    /// The default implementation temporarily queues a message with the id 0x9E3779B97F4A7C15, which no
    /// queued message may have. It returns `None` if that queueing fails for lack of memory.
    fn take_receive(&mut self, pair: Pair, tag: Tag) -> Option<RecvId> {
        let found = self.arrive(TRANSIENT, pair, tag);
        if found == Ok(None) {
            self.retract(&Message::new(TRANSIENT, Envelope::of(pair, tag)));
        }
        found.ok()?
    }

    /// [`arrive`](Engine::arrive) after [`take_receive`](Engine::take_receive) found no receive. The engine
    /// may omit the search if no receive was posted since. `place` is from [`place`](Engine::place).
    ///
    /// # Errors
    /// The errors of [`arrive`](Engine::arrive).
    fn queue_message(
        &mut self,
        id: MsgId,
        pair: Pair,
        tag: Tag,
        place: Place,
    ) -> Result<Option<RecvId>, Refused> {
        _ = place;
        self.arrive(id, pair, tag)
    }

    /// [`post_selector`](Engine::post_selector) after [`matched_probe`](Engine::matched_probe) found no
    /// message. The engine may omit the search if no message arrived since.
    ///
    /// # Errors
    /// The errors of [`post_selector`](Engine::post_selector).
    fn queue_receive(
        &mut self,
        id: RecvId,
        selector: &Selector,
        place: Place,
    ) -> Result<Option<MsgId>, Refused> {
        _ = place;
        self.post_selector(id, selector)
    }

    /// Queue position for an entry with this key, valid as long as the engine. A later insertion reuses the
    /// position.
    fn place(&self, pair: Pair, tag: Tag) -> Place {
        _ = (pair, tag);
        Place::default()
    }

    /// Reserves memory for `entries` more entries in total, in any mix of both queues. Posts, arrivals and
    /// readdresses of these entries are never refused with [`Refused::Memory`]. The next call replaces the
    /// reservation; `reserve(0)` ends the reservation. An engine without reservations refuses all others.
    ///
    /// # Errors
    /// [`Refused::Memory`]: no memory is reserved.
    fn reserve(&mut self, entries: usize) -> Result<(), Refused> {
        if entries == 0 { Ok(()) } else { Err(Refused::Memory) }
    }

    /// The engine as its concrete type, for callers that have a faster path for one type.
    fn as_any(&self) -> Option<&dyn Any> {
        None
    }

    /// Withdraws a receive (`MPI_Cancel`). Returns false if the receive is not posted. See
    /// [withdrawals](self#withdrawals).
    fn cancel(&mut self, receive: &Receive) -> bool;

    /// Withdraws an unexpected message. Returns false if the message is not queued. See
    /// [withdrawals](self#withdrawals).
    fn retract(&mut self, message: &Message) -> bool;

    /// Sets the source of an unexpected message that arrived with [`Rank::UNKNOWN`]. The message takes the
    /// oldest matching receive (rule 2), or keeps its age in the queue. See [withdrawals](self#withdrawals).
    ///
    /// Set the source of the oldest message first, so that no younger message takes the older message's
    /// receive.
    ///
    /// # Errors
    /// [`Refused::Memory`], or [`Refused::Full`] if the engine has no more numbers for entries. The message
    /// is unchanged; the caller may repeat the call.
    fn readdress(&mut self, message: &Message, source: Rank) -> Result<Readdressed, Refused>;

    /// Replaces the assertions on a context.
    ///
    /// # Errors
    /// [`Refused::Hint`] if a queued entry breaks an assertion, else [`Refused::Memory`].
    fn set_hints(&mut self, context: ContextId, hints: Hints) -> Result<(), Refused>;

    /// Removes all entries and hints of `context`.
    fn close(&mut self, context: ContextId, drained: &mut Drained);

    /// Handles a failed process (ULFM, a proposal to the MPI Forum). Removes the receives from this source.
    /// Messages from the source stay queued. Any-source receives of the context stay posted and are listed as
    /// pending.
    fn fail_source(&mut self, context: ContextId, source: Rank, drained: &mut Drained);

    /// Visits the entries of a queue in all contexts, oldest first.
    fn visit(&self, queue: Queue, each: &mut dyn FnMut(Entry));

    /// Number of posted receives.
    fn posted_len(&self) -> usize;

    /// Number of unexpected messages.
    fn unexpected_len(&self) -> usize;

    /// Numbers of posted receives and unexpected messages in `context`, for a caller that reserves capacity
    /// before [`close`](Engine::close). Allocates nothing. O(queued entries); O(1) in some engines.
    fn queued_in(&self, context: ContextId) -> (usize, usize) {
        let (mut receives, mut messages) = (0, 0);
        self.visit(Queue::Posted, &mut |entry| receives += usize::from(entry.context() == context));
        self.visit(Queue::Unexpected, &mut |entry| messages += usize::from(entry.context() == context));
        (receives, messages)
    }

    /// [`Engine::arrive`] on each message in turn. Appends the results to `out`.
    ///
    /// # Errors
    /// The error of the first refused message. `out` has the results of the messages before it. Without
    /// memory for all results, no message arrives.
    fn arrive_batch(&mut self, messages: &[Message], out: &mut Vec<Option<RecvId>>) -> Result<(), Refused> {
        arrive_each(
            messages,
            out,
            |_, _| (),
            |Message { id, envelope }| self.arrive(id, envelope.pair(), envelope.tag),
        )
    }

    /// [`Engine::arrive_batch`], with one call of `deliver` per match. Worker threads may call `deliver`
    /// concurrently and in any order; the threads may differ from call to call.
    ///
    /// If `deliver` panics in an engine with worker threads, the engine matches and delivers the rest of the
    /// batch. Then `deliver_batch` panics with the first panic value, and leaks later panic values. In other
    /// engines, the messages after the panic have not arrived.
    ///
    /// A worker thread has the name `matchpoint-worker`, Rust's default stack size (2 MiB, or
    /// `RUST_MIN_STACK`), and the signal mask of the thread that passes the first batch.
    ///
    /// # Errors
    /// The errors of [`Engine::arrive_batch`]. The refused message and later messages are not delivered.
    fn deliver_batch(
        &mut self,
        messages: &[Message],
        out: &mut Vec<Option<RecvId>>,
        deliver: &Deliver<'_>,
    ) -> Result<(), Refused> {
        arrive_each(messages, out, deliver, |Message { id, envelope }| {
            self.arrive(id, envelope.pair(), envelope.tag)
        })
    }

    /// Matching order of the engine in a context without hints that relax the order.
    fn order(&self) -> Order {
        Order::Total
    }

    /// Assertions that the engine requires of every context. Calls that break an assertion are refused, as
    /// after [`set_hints`](Engine::set_hints).
    fn demands(&self) -> Hints {
        Hints::default()
    }

    /// Name of the fallback engine in use, after a missing or failed device or a full table. Counts and
    /// memory of this engine include the fallback engine.
    fn substitute(&self) -> Option<&str> {
        None
    }

    /// Memory in use, in bytes.
    fn footprint(&self) -> Footprint;

    /// Entries compared so far; zero in an engine without counters.
    fn attempts(&self) -> Attempts {
        Attempts::default()
    }

    /// Statistics that only this engine has: name with unit, and value. A failed allocation aborts the
    /// process.
    fn statistics(&self) -> Vec<(&'static str, f64)> {
        Vec::new()
    }
}

/// Calls that pass the fields of a struct in registers.
impl dyn Engine + '_ {
    /// Calls [`post_exact`](Engine::post_exact) or [`post_selector`](Engine::post_selector).
    #[inline(always)]
    pub fn post(&mut self, receive: Receive) -> Result<Option<MsgId>, Refused> {
        let Receive { id, selector } = receive;
        if selector.is_exact() {
            return self.post_exact(id, selector.pair(), Tag(selector.tag_and_ignored().0));
        }
        self.post_selector(id, &selector)
    }

    /// [`arrive`](Engine::arrive) with the fields of a message.
    #[inline(always)]
    pub fn arrive_message(&mut self, message: Message) -> Result<Option<RecvId>, Refused> {
        self.arrive(message.id, message.envelope.pair(), message.envelope.tag)
    }
}
