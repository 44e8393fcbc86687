//! Contract of a matching engine.
//!
//! 1. A message matches a receive if their contexts are equal, and if source and tag are each equal or a
//!    wildcard in the receive.
//! 2. An arriving message takes the oldest posted receive that it matches. If there is none, the message
//!    joins the unexpected queue.
//! 3. A posted receive takes the oldest unexpected message that it matches. If there is none, the receive
//!    joins the posted queue.
//!
//! Other rules:
//!
//! * The engine queues a message for a context without posted receives, because peers may finish the creation
//!   of a communicator first.
//! * Messages with an unknown source ([`Rank::UNKNOWN`]) keep their order, because they may have one source.
//!   This holds for every [`Order`] but `None`. A message that gets its source keeps its age among the
//!   messages of that source. Before, `PerSource` does not order it among messages with known source: a
//!   caller that needs that order sets sources first.
//! * Messages take receives in posted order, any-source receives included, with known or unknown source. No
//!   [`Order`] but `None` relaxes this.
//! * After [`Engine::close`] nothing of that context can match, the engine has no hints for it, and the id
//!   may be used again.
//! * A [`Refused`] call leaves the engine unchanged; of a batch, the messages before the refused one have
//!   arrived. A failed allocation does not abort, except in the cases that [`Engine::statistics`] lists, and
//!   in [`Engine::close`] and [`Engine::fail_source`] if the caller has not [reserved capacity](Drained).
//!   [Concurrent engines](crate::concurrent) have more cases.
//! * A persistent receive (MPI-4.1 §3.9) is posted at each `MPI_Start`. A partitioned receive (§4) matches
//!   once, in a separate context, and probes of the communicator do not find it.
//! * The length of a message does not affect matching. The caller detects truncation (§3.2.5).
//! * The caller serializes calls.
//!
//! # Withdrawals
//!
//! [`Engine::cancel`], [`Engine::retract`] and [`Engine::readdress`] get the whole entry. The engine searches
//! for it as for a match, and needs no map of ids.
//!
//! * The caller passes the entry with the selector or the envelope with which it is queued.
//! * After [`Readdressed::SourceSet`] the envelope of a message has the new source.
//! * An engine returns true only if an entry with this id and this selector or envelope is queued. It may
//!   compare the id only. A queued id with another selector or envelope is an error of the caller: the engine
//!   may withdraw the entry or not.
//! * An id that is not queued may have any selector or envelope. The engine then returns false, or
//!   [`Readdressed::Unchanged`].

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
    /// The message took this receive, the oldest that matches. Both are removed.
    Matched(RecvId),
    /// Nothing changed. No message with this id and an unknown source is queued; or the envelope has a
    /// source; or the new source is [`Rank::UNKNOWN`].
    Unchanged,
}

/// Entries that [`Engine::close`] and [`Engine::fail_source`] removed, oldest first. Both calls append.
///
/// A caller that must not abort without memory reserves capacity first: for receives, pending receives and
/// messages [queued in the context](Engine::queued_in).
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
/// As [`Engine::arrive_batch`].
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

/// Result of a post or an arrival, in two registers. The compiler returns a `Result` of an `Option` in
/// memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub struct Outcome {
    /// The entry taken, or the [`Place`] after a search without a match, or 0.
    pub id: u64,
    /// A status of the C interface: one of the constants below.
    pub status: i64,
}

impl Outcome {
    /// The entry is queued.
    pub const QUEUED: Outcome = Outcome { id: 0, status: 0 };
    /// Status if an entry was taken.
    pub const TOOK: i64 = 1;
    /// [`Refused::Hint`].
    pub const HINT: Outcome = Outcome { id: 0, status: -1 };
    /// [`Refused::Full`].
    pub const FULL: Outcome = Outcome { id: 0, status: -2 };
    /// [`Refused::Memory`].
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

/// Queue position from a search, in an encoding of the engine. 0: no position.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Place(pub u64);

/// Id of messages that the default [`Engine::take_receive`] queues and retracts. Callers of `take_receive` do
/// not use this id. No machine has such an address.
const TRANSIENT: MsgId = MsgId(0x9E37_79B9_7F4A_7C15);

/// A matching engine. The rules are in the [module's documentation](self); `matchpoint-conformance` tests
/// them.
pub trait Engine: Send {
    /// Posts a receive without wildcards (rule 3): the source in `pair` is not [`Rank::UNKNOWN`]. Returns the
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
    /// [`readdress`](Engine::readdress) replaces a source of [`Rank::UNKNOWN`] later.
    ///
    /// # Errors
    /// [`Refused::Hint`] if the message would be queued under `no_unexpected`, else [`Refused::Full`] or
    /// [`Refused::Memory`].
    fn arrive(&mut self, id: MsgId, pair: Pair, tag: Tag) -> Result<Option<RecvId>, Refused>;

    /// Returns the message that a receive with `selector` would take now, and leaves it queued
    /// (`MPI_Iprobe`). Returns `None` if the selector breaks an assertion.
    fn probe(&mut self, selector: &Selector) -> Option<MsgId>;

    /// Removes and returns the message that a receive with `selector` would take now (`MPI_Improbe`).
    fn matched_probe(&mut self, selector: &Selector) -> Option<MsgId>;

    /// Takes the receive that a message would take now, and queues nothing. A library that allocates
    /// descriptors only for unexpected messages calls it before [`queue_message`](Engine::queue_message).
    ///
    /// The default implementation needs memory, and returns `None` without it. It temporarily queues a
    /// message with the id 0x9E3779B97F4A7C15; no queued message may have this id.
    fn take_receive(&mut self, pair: Pair, tag: Tag) -> Option<RecvId> {
        let found = self.arrive(TRANSIENT, pair, tag);
        if found == Ok(None) {
            self.retract(&Message::new(TRANSIENT, Envelope::of(pair, tag)));
        }
        found.ok()?
    }

    /// Same as [`arrive`](Engine::arrive), after [`take_receive`](Engine::take_receive) found no receive. The
    /// engine may omit the search if no receive was posted since. `place` is from [`place`](Engine::place).
    ///
    /// # Errors
    /// As [`arrive`](Engine::arrive).
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
    /// As [`post_selector`](Engine::post_selector).
    fn queue_receive(
        &mut self,
        id: RecvId,
        selector: &Selector,
        place: Place,
    ) -> Result<Option<MsgId>, Refused> {
        _ = place;
        self.post_selector(id, selector)
    }

    /// Queue position of an entry with this key. A search computes it; a later insertion need not. Valid as
    /// long as the engine exists.
    fn place(&self, pair: Pair, tag: Tag) -> Place {
        _ = (pair, tag);
        Place::default()
    }

    /// Reserves memory for `entries` more entries, in any mix of both queues. Until so many are queued or get
    /// a source, no such call is refused with [`Refused::Memory`]. The next call of `reserve` replaces the
    /// reservation; `reserve(0)` ends it. An engine that cannot reserve memory refuses every call.
    ///
    /// # Errors
    /// [`Refused::Memory`]. No memory is reserved then.
    fn reserve(&mut self, entries: usize) -> Result<(), Refused> {
        if entries == 0 { Ok(()) } else { Err(Refused::Memory) }
    }

    /// The engine as its concrete type, for callers with a faster path for that type.
    fn as_any(&self) -> Option<&dyn Any> {
        None
    }

    /// Withdraws a receive (`MPI_Cancel`) and returns whether it was still posted. See
    /// [withdrawals](self#withdrawals).
    fn cancel(&mut self, receive: &Receive) -> bool;

    /// Withdraws an unexpected message and returns whether it was still queued. See
    /// [withdrawals](self#withdrawals).
    fn retract(&mut self, message: &Message) -> bool;

    /// Sets the source of an unexpected message that arrived with [`Rank::UNKNOWN`]. The message takes the
    /// oldest posted receive that it matches (rule 2). Otherwise it keeps its age in the queue.
    ///
    /// `message.envelope.source` is [`Rank::UNKNOWN`]; other sources yield [`Readdressed::Unchanged`]. See
    /// [withdrawals](self#withdrawals).
    ///
    /// Set the sources of several messages oldest first. Otherwise a younger message takes the receive of an
    /// older one.
    ///
    /// # Errors
    /// [`Refused::Memory`], or [`Refused::Full`] if the engine has no more numbers for entries. The message
    /// is unchanged, and the caller may repeat the call.
    fn readdress(&mut self, message: &Message, source: Rank) -> Result<Readdressed, Refused>;

    /// Replaces the assertions on a context.
    ///
    /// # Errors
    /// [`Refused::Hint`] if a queued entry breaks one of them, else [`Refused::Memory`].
    fn set_hints(&mut self, context: ContextId, hints: Hints) -> Result<(), Refused>;

    /// Removes all entries of `context`, and its hints.
    fn close(&mut self, context: ContextId, drained: &mut Drained);

    /// Handles a failed process (ULFM, a proposal to the MPI Forum). Removes the posted receives with this
    /// source and keeps its messages. Lists the any-source receives of this context as pending; they stay
    /// posted.
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
    /// Stops at the first refused message: `out` has grown by the number of messages before it. Without
    /// memory for all results, no message arrives.
    fn arrive_batch(&mut self, messages: &[Message], out: &mut Vec<Option<RecvId>>) -> Result<(), Refused> {
        arrive_each(
            messages,
            out,
            |_, _| (),
            |Message { id, envelope }| self.arrive(id, envelope.pair(), envelope.tag),
        )
    }

    /// Same as [`Engine::arrive_batch`], and calls `deliver` once per match before it returns. Worker threads
    /// may call `deliver` at once and in any order; the threads may differ from call to call.
    ///
    /// If `deliver` panics in an engine with worker threads, the engine matches and delivers the rest of the
    /// batch. Then this call panics with the first value and leaks later ones. In other engines, later
    /// messages have not arrived.
    ///
    /// A worker thread has the stack size of the standard library (2 MiB, or `RUST_MIN_STACK`) and the name
    /// `matchpoint-worker`. It inherits the signal mask of the thread that passes the first batch.
    ///
    /// # Errors
    /// As [`Engine::arrive_batch`]. The refused message and later ones are not delivered.
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

    /// The order that the engine guarantees on a context without hints that relax it.
    fn order(&self) -> Order {
        Order::Total
    }

    /// Assertions that every context must keep. Calls that break them are refused, as after
    /// [`set_hints`](Engine::set_hints). Default: none.
    fn demands(&self) -> Hints {
        Hints::default()
    }

    /// Name of the fallback engine, if it matches now: the device is missing or failed, or its table is full.
    /// Its counts and memory are included in those of this engine.
    fn substitute(&self) -> Option<&str> {
        None
    }

    /// Bytes in use.
    fn footprint(&self) -> Footprint;

    /// Entries compared so far; zero in an engine without counters.
    fn attempts(&self) -> Attempts {
        Attempts::default()
    }

    /// Values of this engine only: name with unit, value.
    fn statistics(&self) -> Vec<(&'static str, f64)> {
        Vec::new()
    }
}

/// Calls with structs, passed as scalars: nothing passes through memory.
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
