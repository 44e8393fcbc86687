//! Contract of a matching engine.
//!
//! 1. A message matches a receive if their contexts are equal, and if source and tag are each equal or a
//!    wildcard in the receive.
//! 2. An arriving message takes the oldest posted receive that matches the message. Without a matching
//!    receive, the message joins the unexpected queue.
//! 3. A posted receive takes the oldest unexpected message that matches the receive. Without a matching
//!    message, the receive joins the posted queue.
//!
//! Other rules:
//!
//! * The engine queues a message for a context without posted receives, because peers may finish the creation
//!   of a communicator first.
//! * Messages with an unknown source ([`Rank::UNKNOWN`]) keep their order under every [`Order`] except
//!   `None`, because all of these messages may have the same source. A message that gets its source keeps its
//!   age among the messages of that source. `PerSource` does not order messages with unknown source among
//!   messages with known source: a caller that needs this order sets the sources first.
//! * Messages take receives in posted order, any-source receives included, with known or unknown source. Only
//!   [`Order`] `None` relaxes this rule.
//! * After [`Engine::close`] of a context, the engine has no entries and no hints of the context. The caller
//!   may use the context id again.
//! * A [`Refused`] call leaves the engine unchanged; if a batch is refused, the messages before the refused
//!   message have arrived. A failed allocation does not abort, except in the cases that
//!   [`Engine::statistics`] lists, and in [`Engine::close`] and [`Engine::fail_source`] if the caller has not
//!   [reserved capacity](Drained). [Concurrent engines](crate::concurrent) have more cases.
//! * A persistent receive (MPI-4.1 §3.9) is posted at each `MPI_Start`. A partitioned receive (§4) matches
//!   once, in a separate context, and probes of the communicator do not find it.
//! * The length of a message does not affect matching. The caller detects truncation (§3.2.5).
//! * The caller serializes calls.
//!
//! # Withdrawals
//!
//! [`Engine::cancel`], [`Engine::retract`] and [`Engine::readdress`] get the whole entry. The engine searches
//! for the entry as for a match, and needs no map of ids.
//!
//! * The caller passes the entry with the selector or the envelope with which it is queued.
//! * After [`Readdressed::SourceSet`] the envelope of a message has the new source.
//! * An engine returns true only if an entry with this id and this selector or envelope is queued. The engine
//!   may compare ids only. A call with a queued id but another selector or envelope is a caller error: the
//!   engine may withdraw the entry or leave the entry queued.
//! * For an id that is not queued, the engine returns false or [`Readdressed::Unchanged`], with any selector
//!   or envelope.

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
    /// The message took this receive, the oldest matching receive. Receive and message are removed.
    Matched(RecvId),
    /// The engine is unchanged: no message with this id and an unknown source is queued, or the envelope has
    /// a source, or the new source is [`Rank::UNKNOWN`].
    Unchanged,
}

/// Entries that [`Engine::close`] and [`Engine::fail_source`] removed, oldest first. Both calls append to the
/// lists.
///
/// A caller that must not abort without memory reserves capacity in the three lists first, as
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

/// Callback for a message that took a receive, for example to copy the data. Arguments: index of the message
/// in its batch, and the receive.
pub type Deliver<'a> = dyn Fn(usize, RecvId) + Sync + 'a;

/// Messages of a batch arrive in turn. Calls `deliver` for each match before the next message arrives.
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

/// Result of a post or an arrival, returned in two registers. The compiler returns a `Result` of an `Option`
/// in memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub struct Outcome {
    /// Id of the entry taken; the [`Place`] after a search without a match; or 0.
    pub id: u64,
    /// A status of the C interface: one of the constants below.
    pub status: i64,
}

impl Outcome {
    /// The entry of the call is queued: no entry of the other queue matched.
    pub const QUEUED: Outcome = Outcome { id: 0, status: 0 };
    /// Status of a call that took an entry of the other queue.
    pub const TOOK: i64 = 1;
    /// The call returned [`Refused::Hint`].
    pub const HINT: Outcome = Outcome { id: 0, status: -1 };
    /// The call returned [`Refused::Full`].
    pub const FULL: Outcome = Outcome { id: 0, status: -2 };
    /// The call returned [`Refused::Memory`].
    pub const MEMORY: Outcome = Outcome { id: 0, status: -3 };

    #[inline(always)]
    pub(crate) fn took(id: u64) -> Self {
        Outcome { id, status: Self::TOOK }
    }

    /// A search found no entry. An entry of this key can be queued at `place`.
    #[inline(always)]
    pub(crate) fn none_at(place: Place) -> Self {
        Outcome { id: place.0, status: 0 }
    }

    /// The id of the entry taken.
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

/// Queue position from a search, in an encoding of the engine. The value 0 is no position.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Place(pub u64);

/// Id of messages that the default [`Engine::take_receive`] queues and retracts. Callers of `take_receive` do
/// not use this id. Ids that are memory addresses never have this value.
const TRANSIENT: MsgId = MsgId(0x9E37_79B9_7F4A_7C15);

/// A matching engine. The rules are in the [module's documentation](self); `matchpoint-conformance` tests
/// them.
pub trait Engine: Send {
    /// Posts a receive without wildcards (rule 3). The source in `pair` must not be [`Rank::UNKNOWN`].
    /// Returns the message taken, or `None` if the receive is queued.
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
    /// [`readdress`](Engine::readdress) replaces a source of [`Rank::UNKNOWN`] later.
    ///
    /// # Errors
    /// [`Refused::Hint`] if the message would be queued under `no_unexpected`, else [`Refused::Full`] or
    /// [`Refused::Memory`].
    fn arrive(&mut self, id: MsgId, pair: Pair, tag: Tag) -> Result<Option<RecvId>, Refused>;

    /// Returns the message that a receive with `selector` would take now, and leaves the message queued
    /// (`MPI_Iprobe`). Returns `None` if the selector breaks an assertion.
    fn probe(&mut self, selector: &Selector) -> Option<MsgId>;

    /// Removes and returns the message that a receive with `selector` would take now (`MPI_Improbe`).
    fn matched_probe(&mut self, selector: &Selector) -> Option<MsgId>;

    /// Takes the receive that a message would take now, and queues nothing. A library that allocates
    /// descriptors only for unexpected messages calls `take_receive` before
    /// [`queue_message`](Engine::queue_message).
    ///
    /// The default implementation allocates memory; if the allocation fails, the result is `None`. The
    /// default temporarily queues a message with the id 0x9E3779B97F4A7C15; no queued message may have this
    /// id.
    fn take_receive(&mut self, pair: Pair, tag: Tag) -> Option<RecvId> {
        let found = self.arrive(TRANSIENT, pair, tag);
        if found == Ok(None) {
            self.retract(&Message::new(TRANSIENT, Envelope::of(pair, tag)));
        }
        found.ok()?
    }

    /// Same as [`arrive`](Engine::arrive), after [`take_receive`](Engine::take_receive) found no receive. The
    /// engine may omit the search if no receive was posted since. `place` is the result of
    /// [`place`](Engine::place).
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

    /// Same as [`post_selector`](Engine::post_selector), after [`matched_probe`](Engine::matched_probe) found
    /// no message. The engine may omit the search if no message arrived since.
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

    /// Queue position of an entry with this key. A search computes the position, and a later insertion reuses
    /// the position. A place is valid as long as the engine exists.
    fn place(&self, pair: Pair, tag: Tag) -> Place {
        _ = (pair, tag);
        Place::default()
    }

    /// Reserves memory for `entries` more entries, in any mix of both queues. For the next `entries` entries,
    /// no post, arrival or readdress is refused with [`Refused::Memory`]. The next call of `reserve` replaces
    /// the reservation; `reserve(0)` ends it. An engine that cannot reserve memory refuses every call.
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

    /// Withdraws a receive (`MPI_Cancel`) and returns whether the receive was still posted. See
    /// [withdrawals](self#withdrawals).
    fn cancel(&mut self, receive: &Receive) -> bool;

    /// Withdraws an unexpected message and returns whether the message was still queued. See
    /// [withdrawals](self#withdrawals).
    fn retract(&mut self, message: &Message) -> bool;

    /// Sets the source of an unexpected message that arrived with [`Rank::UNKNOWN`]. The message takes the
    /// oldest matching posted receive (rule 2). Without a matching receive, the message keeps its age in the
    /// queue.
    ///
    /// `message.envelope.source` is [`Rank::UNKNOWN`]; a message with another source yields
    /// [`Readdressed::Unchanged`]. See [withdrawals](self#withdrawals).
    ///
    /// Set the source of the oldest message first, so that no younger message takes the receive of an older
    /// message.
    ///
    /// # Errors
    /// [`Refused::Memory`], or [`Refused::Full`] if the engine has no more numbers for entries. The message
    /// is unchanged, and the caller may repeat the call.
    fn readdress(&mut self, message: &Message, source: Rank) -> Result<Readdressed, Refused>;

    /// Replaces the assertions on a context.
    ///
    /// # Errors
    /// [`Refused::Hint`] if a queued entry breaks an assertion, else [`Refused::Memory`].
    fn set_hints(&mut self, context: ContextId, hints: Hints) -> Result<(), Refused>;

    /// Removes all entries of `context`, and the hints of `context`.
    fn close(&mut self, context: ContextId, drained: &mut Drained);

    /// Handles a failed process (ULFM, a proposal to the MPI Forum). Removes the posted receives with this
    /// source and keeps the messages of this source. Lists the any-source receives of this context as
    /// pending; any-source receives stay posted.
    fn fail_source(&mut self, context: ContextId, source: Rank, drained: &mut Drained);

    /// Calls `each` for all entries of `queue`, of all contexts, oldest first.
    fn visit(&self, queue: Queue, each: &mut dyn FnMut(Entry));

    /// Number of posted receives.
    fn posted_len(&self) -> usize;

    /// Number of unexpected messages.
    fn unexpected_len(&self) -> usize;

    /// Numbers of posted receives and of unexpected messages in `context`, for a caller that reserves
    /// capacity before [`close`](Engine::close). Allocates nothing. O(queued entries), or O(1) where the
    /// engine documents it.
    fn queued_in(&self, context: ContextId) -> (usize, usize) {
        let (mut receives, mut messages) = (0, 0);
        self.visit(Queue::Posted, &mut |entry| receives += usize::from(entry.context() == context));
        self.visit(Queue::Unexpected, &mut |entry| messages += usize::from(entry.context() == context));
        (receives, messages)
    }

    /// Same as [`Engine::arrive`] on each message in turn; appends the results to `out`.
    ///
    /// # Errors
    /// Stops at the first refused message: `out` has the results of the messages before the refused message.
    /// Without memory for all results, no message arrives.
    fn arrive_batch(&mut self, messages: &[Message], out: &mut Vec<Option<RecvId>>) -> Result<(), Refused> {
        arrive_each(
            messages,
            out,
            |_, _| (),
            |Message { id, envelope }| self.arrive(id, envelope.pair(), envelope.tag),
        )
    }

    /// Same as [`Engine::arrive_batch`], and calls `deliver` once per match. Worker threads may call
    /// `deliver` concurrently and in any order; the threads may differ from call to call.
    ///
    /// If `deliver` panics in an engine with worker threads, the engine matches and delivers the rest of the
    /// batch. Then `deliver_batch` panics with the first panic value and leaks later panic values. In other
    /// engines, the messages after the panic have not arrived.
    ///
    /// A worker thread has the stack size of the standard library (2 MiB, or `RUST_MIN_STACK`) and the name
    /// `matchpoint-worker`. It inherits the signal mask of the thread that passes the first batch.
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

    /// Assertions that every context must keep. Calls that break these assertions are refused, as after
    /// [`set_hints`](Engine::set_hints). By default, the engine demands no assertion.
    fn demands(&self) -> Hints {
        Hints::default()
    }

    /// Name of the fallback engine, if the fallback engine is in use: the device is missing or failed, or the
    /// table of the device is full. The counts and the memory of this engine include the fallback engine.
    fn substitute(&self) -> Option<&str> {
        None
    }

    /// Memory in use, in bytes.
    fn footprint(&self) -> Footprint;

    /// Entries compared so far; zero in an engine without counters.
    fn attempts(&self) -> Attempts {
        Attempts::default()
    }

    /// Statistics that only this engine has: pairs of a name with its unit, and a value.
    fn statistics(&self) -> Vec<(&'static str, f64)> {
        Vec::new()
    }
}

/// Calls with structs as arguments. The fields are passed in registers instead of memory.
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
