//! The contract: what every matching engine does, and all that a caller may rely on.
//!
//! 1. A message matches a receive if their contexts are equal, and if source and tag are each equal or a wildcard in the receive.
//! 2. An arriving message takes the oldest posted receive that it matches. If there is none, the message joins the unexpected queue.
//! 3. A posted receive takes the oldest unexpected message that it matches. If there is none, the receive joins the posted queue.
//!
//! The other laws:
//!
//! * The engine queues a message for a context without posted receives, because peers may finish the creation of a communicator
//!   first.
//! * Messages with an unknown source ([`Rank::UNKNOWN`]) keep their order, because they may be of one source. This holds
//!   for every [`Order`] but `None`. A message that gets its source keeps its age among the messages of that source. Before,
//!   `PerSource` does not order it among messages with known source: a caller that needs that order sets sources first.
//! * Messages take receives in posted order, any-source receives included, whether the source of the message is known or
//!   not. No [`Order`] but `None` relaxes this.
//! * After [`Engine::close`] nothing of that context can match, the engine has no hints for it, and the id may be used again.
//! * A [`Refused`] call leaves the engine unchanged; of a batch, the messages before the refused one have arrived. A failed
//!   allocation does not abort, except in the cases that [`Engine::statistics`] lists, and in [`Engine::close`] and
//!   [`Engine::fail_source`] if the caller has not [reserved room](Drained). [Concurrent engines](crate::concurrent) have more cases.
//! * A persistent receive (MPI-4.1 §3.9) is posted at each `MPI_Start`. A partitioned receive (§4) matches once, in a separate context,
//!   and probes of the communicator do not find it.
//! * The length of a message does not affect matching. The caller detects truncation (§3.2.5).
//! * The caller serializes calls.
//!
//! # Withdrawals
//!
//! [`Engine::cancel`], [`Engine::retract`] and [`Engine::readdress`] get the whole entry. The engine finds the entry where it
//! searches for matches, and needs no map of ids.
//!
//! * The caller passes the entry with the selector or the envelope with which it is queued.
//! * After [`Readdressed::Named`] the envelope of a message has the new source.
//! * An engine returns true only if an entry with this id and this selector or envelope is queued. It may ignore everything
//!   but the id, because the caller never passes a queued id with another selector or envelope. A call that does is an error
//!   of the caller: the engine may withdraw the entry or not.
//! * An id that is not queued may have any selector or envelope. The engine then returns false, or
//!   [`Readdressed::NotNameless`].

use std::any::Any;

use crate::effort::Attempts;
pub use crate::entry::{Entry, Message, MsgId, Queue, Receive, RecvId, Refused};
use crate::envelope::{ContextId, Envelope, Pair, Rank, Selector, Tag};
use crate::footprint::Footprint;
use crate::hints::{Hints, Order};

/// The outcome of [`Engine::readdress`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Readdressed {
    /// No posted receive accepts the message. It has the source now, and keeps its age.
    Named,
    /// The message took this receive, the oldest that accepts it. Neither is queued any more.
    Matched(RecvId),
    /// Nothing changed. No message with that id and an unknown source is queued; or the envelope has a source; or the new source
    /// is [`Rank::UNKNOWN`].
    NotNameless,
}

/// Entries that [`Engine::close`] and [`Engine::fail_source`] removed, oldest first. The calls append.
///
/// A caller that must not abort without memory reserves room first: for the receives, the pending receives and the
/// messages that are [queued in the context](Engine::queued_in).
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Drained {
    /// Receives that are no longer posted.
    pub receives: Vec<RecvId>,
    /// Messages that are no longer queued.
    pub messages: Vec<MsgId>,
    /// Any-source receives, which stay posted, although the failed source may be the expected one
    /// (`MPI_ERR_PROC_FAILED_PENDING`).
    pub pending: Vec<RecvId>,
}

/// A callback for a message that took a receive, for protocol work: a copy, or a request for the data. Its arguments are the
/// number of the message in its batch, and the receive.
pub type Deliver<'a> = dyn Fn(usize, RecvId) + Sync + 'a;

/// Messages of a batch arrive in turn. `deliver` is called for each one that takes a receive, before the next one arrives.
///
/// # Errors
/// As [`Engine::arrive_batch`].
#[inline]
pub(crate) fn one_by_one(
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

/// The outcome of a post or an arrival, in two registers: the compiler does not keep a `Result` of an `Option` there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub struct Outcome {
    /// The entry that was taken, or 0.
    pub id: u64,
    /// One of the numbers below, which are the statuses of the C interface.
    pub status: i64,
}

impl Outcome {
    /// The entry is queued.
    pub const QUEUED: Outcome = Outcome { id: 0, status: 0 };
    /// The status if an entry was taken.
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

/// Where an entry would be queued, as a search found it. Only its engine knows the meaning; 0 is no place.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Place(pub u64);

/// The id of messages that [`Engine::take_receive`] queues and retracts, where an engine has no search of its own. It is not an
/// address on any machine. A program that calls `take_receive` uses no such id.
const TRANSIENT: MsgId = MsgId(0x9E37_79B9_7F4A_7C15);

/// A matching engine. The laws are in the [module's documentation](self), and as code in `matchpoint-conformance`.
pub trait Engine: Send {
    /// Rule 3, for a receive without wildcards: the source in `pair` is not [`Rank::UNKNOWN`]. Returns the message taken, or
    /// `None` once the receive is queued.
    ///
    /// # Errors
    /// [`Refused::Hint`] if the receive breaks an assertion, else [`Refused::Full`] or [`Refused::Memory`].
    fn post_exact(&mut self, id: RecvId, pair: Pair, tag: Tag) -> Result<Option<MsgId>, Refused> {
        self.post_open(id, &Selector::of(pair, tag.0, 0))
    }

    /// Rule 3, for any receive. Returns the message taken, or `None` once the receive is queued.
    ///
    /// # Errors
    /// [`Refused::Hint`] if a wildcard breaks an assertion, else [`Refused::Full`] or [`Refused::Memory`].
    fn post_open(&mut self, id: RecvId, selector: &Selector) -> Result<Option<MsgId>, Refused>;

    /// Rule 2. Returns the receive taken, or `None` once the message is queued. A source of [`Rank::UNKNOWN`] is
    /// [named](Engine::readdress) later.
    ///
    /// # Errors
    /// [`Refused::Hint`] if the message would be queued under `no_unexpected`, else [`Refused::Full`] or [`Refused::Memory`].
    fn arrive(&mut self, id: MsgId, pair: Pair, tag: Tag) -> Result<Option<RecvId>, Refused>;

    /// Returns the message that a receive with `selector` would take now, and leaves it queued (`MPI_Iprobe`). A selector that
    /// breaks an assertion finds nothing.
    fn probe(&mut self, selector: &Selector) -> Option<MsgId>;

    /// Removes and returns the message that a receive with `selector` would take now (`MPI_Improbe`).
    fn matched_probe(&mut self, selector: &Selector) -> Option<MsgId>;

    /// Takes the receive that a message would take now. Queues nothing: a library that creates a descriptor only for an
    /// unexpected message calls this, then [`queue_message`](Engine::queue_message).
    ///
    /// An engine without a search of its own needs memory, and returns `None` without it. It queues a message with the id
    /// 0x9E3779B97F4A7C15 for the time of the call, so that no queued message may have this id.
    fn take_receive(&mut self, pair: Pair, tag: Tag) -> Option<RecvId> {
        let found = self.arrive(TRANSIENT, pair, tag);
        if found == Ok(None) {
            self.retract(&Message::new(TRANSIENT, Envelope::of(pair, tag)));
        }
        found.ok()?
    }

    /// The same as [`arrive`](Engine::arrive), after [`take_receive`](Engine::take_receive) found no receive. The engine may omit a
    /// second search, if no receive was posted since. `place` is that of [`place`](Engine::place).
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

    /// The same as [`post_open`](Engine::post_open), after [`matched_probe`](Engine::matched_probe) found no message. The engine may
    /// omit a second search, if no message arrived since.
    ///
    /// # Errors
    /// As [`post_open`](Engine::post_open).
    fn queue_receive(
        &mut self,
        id: RecvId,
        selector: &Selector,
        place: Place,
    ) -> Result<Option<MsgId>, Refused> {
        _ = place;
        self.post_open(id, selector)
    }

    /// Where an entry with this key would be queued. A search computes it, and queueing need not compute it again. It is valid as
    /// long as the engine exists.
    fn place(&self, pair: Pair, tag: Tag) -> Place {
        _ = (pair, tag);
        Place::default()
    }

    /// Reserves memory for `entries` more entries, in any mix of both queues. Until so many are queued or get a source, no call that
    /// queues or names an entry is refused with [`Refused::Memory`]. The memory remains reserved until the next call of `reserve`;
    /// `reserve(0)` ends the reservation. An engine that cannot reserve memory refuses every call.
    ///
    /// # Errors
    /// [`Refused::Memory`]. No memory is reserved then.
    fn reserve(&mut self, entries: usize) -> Result<(), Refused> {
        if entries == 0 { Ok(()) } else { Err(Refused::Memory) }
    }

    /// The engine as its own type, for callers that have a faster way to call that type.
    fn as_any(&self) -> Option<&dyn Any> {
        None
    }

    /// Withdraws a receive (`MPI_Cancel`). The caller passes the receive as it was posted: its id and its selector.
    /// True: it was still posted, and no longer is. See [withdrawals](self#withdrawals).
    fn cancel(&mut self, receive: &Receive) -> bool;

    /// Withdraws an unexpected message. The caller passes the message as it is queued: its id and its envelope.
    /// True: it was still queued, and no longer is. See [withdrawals](self#withdrawals).
    fn retract(&mut self, message: &Message) -> bool;

    /// Sets the source of an unexpected message that arrived with [`Rank::UNKNOWN`]. The message then takes the oldest posted
    /// receive that it matches (rule 2). If there is none, the message keeps its age in the queue.
    ///
    /// The caller passes the message as it is queued. Its `envelope.source` is therefore [`Rank::UNKNOWN`]; any other source
    /// yields [`Readdressed::NotNameless`]. See [withdrawals](self#withdrawals).
    ///
    /// A caller that sets the source of several messages begins with the oldest. Otherwise a younger message takes the receive of
    /// an older one.
    ///
    /// # Errors
    /// [`Refused::Memory`], or [`Refused::Full`] if the engine has no more numbers for entries. The message keeps the unknown source
    /// and its age. The caller may repeat the call.
    fn readdress(&mut self, message: &Message, source: Rank) -> Result<Readdressed, Refused>;

    /// Replaces the assertions on a context.
    ///
    /// # Errors
    /// [`Refused::Hint`] if a queued entry breaks one of them, else [`Refused::Memory`].
    fn set_hints(&mut self, context: ContextId, hints: Hints) -> Result<(), Refused>;

    /// Removes all entries of `context`, and its hints.
    fn close(&mut self, context: ContextId, drained: &mut Drained);

    /// A process failed (ULFM, a proposal to the MPI Forum): removes the posted receives that name it, keeps its messages, and
    /// lists any-source receives of this context, which stay posted, as pending.
    fn fail_source(&mut self, context: ContextId, source: Rank, drained: &mut Drained);

    /// Calls `each` for all entries of `queue`, of all contexts, oldest first.
    fn visit(&self, queue: Queue, each: &mut dyn FnMut(Entry));

    /// Number of posted receives.
    fn posted_len(&self) -> usize;

    /// Number of unexpected messages.
    fn unexpected_len(&self) -> usize;

    /// Numbers of posted receives and of unexpected messages in `context`, which [`close`](Engine::close) would remove. A caller
    /// can reserve room for them. Allocates nothing. O(queued entries), or O(1) if the engine's documentation says so.
    fn queued_in(&self, context: ContextId) -> (usize, usize) {
        let (mut receives, mut messages) = (0, 0);
        self.visit(Queue::Posted, &mut |entry| receives += usize::from(entry.context() == context));
        self.visit(Queue::Unexpected, &mut |entry| messages += usize::from(entry.context() == context));
        (receives, messages)
    }

    /// The same as [`Engine::arrive`] on each message in turn; appends the outcomes to `out`.
    ///
    /// # Errors
    /// Stops at the first refused message: `out` has grown by the number of messages before it. Without memory for all outcomes it
    /// has not grown, and no message has arrived.
    fn arrive_batch(&mut self, messages: &[Message], out: &mut Vec<Option<RecvId>>) -> Result<(), Refused> {
        one_by_one(
            messages,
            out,
            |_, _| (),
            |Message { id, envelope }| self.arrive(id, envelope.pair(), envelope.tag),
        )
    }

    /// The same as [`Engine::arrive_batch`], and calls `deliver` once for each message that takes a receive, before it returns. An
    /// engine with worker threads calls `deliver` in several threads at once, in any order.
    ///
    /// If `deliver` panics in an engine with worker threads, the engine matches and delivers the rest of the batch. Then this call
    /// panics with the value of the first panic, and leaks the values of later ones. In other engines the messages after the panic have
    /// not arrived.
    ///
    /// A worker thread has the stack size of the standard library (2 MiB, or `RUST_MIN_STACK`), the name `matchpoint-worker`, and the
    /// signal mask of the thread that hands in the first batch. The thread of a delivery may differ from call to call.
    ///
    /// # Errors
    /// As [`Engine::arrive_batch`]. The refused message and later ones are not delivered.
    fn deliver_batch(
        &mut self,
        messages: &[Message],
        out: &mut Vec<Option<RecvId>>,
        deliver: &Deliver<'_>,
    ) -> Result<(), Refused> {
        one_by_one(messages, out, deliver, |Message { id, envelope }| {
            self.arrive(id, envelope.pair(), envelope.tag)
        })
    }

    /// The order it promises on a context whose hints relax nothing.
    fn order(&self) -> Order {
        Order::Total
    }

    /// What it asks an application to assert of every context: calls that break this are refused, as if it had been
    /// [set](Engine::set_hints), whatever was. Nothing, of an engine that matches all that MPI allows.
    fn demands(&self) -> Hints {
        Hints::default()
    }

    /// The name of the engine that matches in the place of this one, which cannot: its machine is not there, or failed,
    /// or its table is full. What it counts, and what it takes, is that engine's as well.
    fn substitute(&self) -> Option<&str> {
        None
    }

    /// Bytes in use.
    fn footprint(&self) -> Footprint;

    /// Entries compared so far; zero in an engine built without counting.
    fn attempts(&self) -> Attempts {
        Attempts::default()
    }

    /// Values of this engine only: a name with its unit, and the value. An engine that does not count returns those without cost.
    fn statistics(&self) -> Vec<(&'static str, f64)> {
        Vec::new()
    }
}

/// Calls with structs, which become scalars before the call: nothing passes through memory.
impl dyn Engine + '_ {
    /// [`post_exact`](Engine::post_exact) or [`post_open`](Engine::post_open), as the receive needs.
    ///
    /// # Errors
    /// As these.
    #[inline(always)]
    pub fn post(&mut self, receive: Receive) -> Result<Option<MsgId>, Refused> {
        let Receive { id, selector } = receive;
        if selector.is_exact() {
            return self.post_exact(id, selector.pair(), Tag(selector.tag_and_ignored().0));
        }
        self.post_open(id, &selector)
    }

    /// [`arrive`](Engine::arrive) with the words of a message.
    ///
    /// # Errors
    /// As there.
    #[inline(always)]
    pub fn arrive_message(&mut self, message: Message) -> Result<Option<RecvId>, Refused> {
        self.arrive(message.id, message.envelope.pair(), message.envelope.tag)
    }
}
