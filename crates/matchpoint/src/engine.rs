//! The contract: what every matching engine does, and all that a caller may rely on.
//!
//! 1. A message matches a receive when their contexts are equal, and source and tag are each equal or left open.
//! 2. An arriving message takes the earliest posted receive it matches; if none, it joins the unexpected queue.
//! 3. A posted receive takes the earliest unexpected message it matches; if none, it joins the posted queue.
//!
//! The remaining laws:
//!
//! * Arrivals for a context that nothing was posted to yet are queued, never refused: peers may finish creating a
//!   communicator first.
//! * Messages whose source is not known yet ([`Rank::UNKNOWN`]) are ordered among themselves as if all came from one
//!   source, for they might have: the earliest is taken first, whatever [`Order`] but `None` is promised. Once named, a
//!   message is ordered by its age among those of its source, however late it was named. Before that, a promise of
//!   `PerSource` does not order it among named ones: a caller who needs that names it before receives are posted.
//! * Receives are taken in the order in which they were posted, those from any source included, by nameless messages as
//!   by others; no [`Order`] but `None` relaxes this.
//! * After [`Engine::close`] nothing of that context can match, its hints are forgotten, and its id may be reused.
//! * A [`Refused`] call leaves the engine as it was (of a batch, as the last message before it left it). No call aborts
//!   for want of memory, but for what [`Engine::statistics`] lists, and [`Engine::close`] and [`Engine::fail_source`] where
//!   the caller has not [reserved room](Drained). Of engines that several threads call see [there](crate::concurrent).
//! * Persistent receives (MPI-4.1 §3.9) are posted at each `MPI_Start`; partitioned ones (§4) match once, in a
//!   context of their own, unseen by probes of the communicator's.
//! * The length of a message never affects matching: truncation (§3.2.5) is the caller's to find.
//! * The caller owns locking.
//!
//! # Withdrawals
//!
//! [`Engine::cancel`], [`Engine::retract`] and [`Engine::readdress`] get the whole entry, so that an engine finds it where
//! it searches for matches, and needs no map of ids.
//!
//! * The caller passes what it posted, or what arrived: the selector or the envelope is the one that the entry was queued with.
//! * After [`Readdressed::Named`] the envelope of a message has the named source.
//! * An engine returns true only if an entry with this id and this selector or envelope is queued. It may ignore everything
//!   but the id, because the caller never passes a queued id with another selector or envelope. A call that does is an error
//!   of the caller: the engine may withdraw the entry or not.
//! * An id that is not queued may be passed with any selector or envelope. The answer is then false, or
//!   [`Readdressed::NotNameless`].

use std::any::Any;

use crate::effort::Attempts;
pub use crate::entry::{Entry, Message, MsgId, Queue, Receive, RecvId, Refused};
use crate::envelope::{ContextId, Envelope, Pair, Rank, Selector, Tag};
use crate::footprint::Footprint;
use crate::hints::{Hints, Order};

/// What [`Engine::readdress`] came to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Readdressed {
    /// No receive that is posted accepts the message under its name: it has that now, and waits on at its age.
    Named,
    /// This receive, the earliest posted that accepts it under its name, has taken it: neither is queued any more.
    Matched(RecvId),
    /// Nothing changed. No message of that id waits nameless: it was taken, withdrawn or named before, or never came; or
    /// the envelope passed names a source; or the name given is [`Rank::UNKNOWN`], which is none.
    NotNameless,
}

/// What [`Engine::close`] and [`Engine::fail_source`] took out, oldest first. They add to what is there already.
///
/// A caller that must survive without memory reserves room beforehand: for as many receives, and pending ones, and for as
/// many messages as are [queued in the context](Engine::queued_in).
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Drained {
    /// Receives that are no longer posted.
    pub receives: Vec<RecvId>,
    /// Messages that are no longer queued.
    pub messages: Vec<MsgId>,
    /// Receives that stay posted although the failed source might have been the one to serve them
    /// (`MPI_ERR_PROC_FAILED_PENDING`).
    pub pending: Vec<RecvId>,
}

/// What is done with a message that has found its receive, the protocol work: a copy, or a request for the data. It is told
/// the message's number in its batch, and the receive.
pub type Deliver<'a> = dyn Fn(usize, RecvId) + Sync + 'a;

/// A batch that is its messages in turn: `deliver` is told of each that `arrive` says has taken a receive, before the next arrives.
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
    /// [`Refused::Hint`] if the message would wait where `no_unexpected` was asserted, else [`Refused::Full`] or
    /// [`Refused::Memory`].
    fn arrive(&mut self, id: MsgId, pair: Pair, tag: Tag) -> Result<Option<RecvId>, Refused>;

    /// The message that a receive with `selector` would take now, left in place (`MPI_Iprobe`). A selector that
    /// breaks an assertion finds nothing.
    fn probe(&mut self, selector: &Selector) -> Option<MsgId>;

    /// The message that a receive with `selector` would take now, taken: no receive or probe sees it any more
    /// (`MPI_Improbe`).
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

    /// Where an entry with this key would be queued: what a search computes and queueing would compute again. It remains
    /// valid as long as the engine.
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

    /// Names the source of an unexpected message that arrived with [`Rank::UNKNOWN`]. It takes the earliest posted receive
    /// that it matches under that name (rule 2); if none, it waits on, at its age.
    ///
    /// The caller passes the message as it is queued. Its `envelope.source` is therefore [`Rank::UNKNOWN`]; any other source
    /// yields [`Readdressed::NotNameless`]. See [withdrawals](self#withdrawals).
    ///
    /// Who learns the source of several messages at once names the oldest first, or a younger one takes the receive of an
    /// older one.
    ///
    /// # Errors
    /// [`Refused::Memory`], or [`Refused::Full`] if the engine's own numbering of entries has come to its end. The message
    /// waits, nameless, at its age, and the call may be tried again: let to arrive anew it would lose its place.
    fn readdress(&mut self, message: &Message, source: Rank) -> Result<Readdressed, Refused>;

    /// Replaces the assertions on a context.
    ///
    /// # Errors
    /// [`Refused::Hint`] if what is queued already breaks one of them, else [`Refused::Memory`].
    fn set_hints(&mut self, context: ContextId, hints: Hints) -> Result<(), Refused>;

    /// Takes out all that is queued in `context` and forgets its hints (`MPI_Comm_free`).
    fn close(&mut self, context: ContextId, drained: &mut Drained);

    /// A peer died (the ULFM proposal to the MPI Forum; not in MPI-4.1): takes out the posted receives that name it, keeps what had
    /// arrived from it, and lists the receives from any source of this context, which stay posted, as pending.
    fn fail_source(&mut self, context: ContextId, source: Rank, drained: &mut Drained);

    /// Calls `each` for all that is in `queue`, over all contexts, oldest first.
    fn visit(&self, queue: Queue, each: &mut dyn FnMut(Entry));

    /// Number of receives posted.
    fn posted_len(&self) -> usize;

    /// Number of messages unexpected.
    fn unexpected_len(&self) -> usize;

    /// Number of receives posted and of messages unexpected in `context`: what [`close`](Engine::close) would take out,
    /// so that a caller who must survive without memory can have room for it. It allocates nothing in an engine of ours.
    /// O(entries queued), or O(1) where the engine says so.
    fn queued_in(&self, context: ContextId) -> (usize, usize) {
        let (mut receives, mut messages) = (0, 0);
        self.visit(Queue::Posted, &mut |entry| receives += usize::from(entry.context() == context));
        self.visit(Queue::Unexpected, &mut |entry| messages += usize::from(entry.context() == context));
        (receives, messages)
    }

    /// The same as [`Engine::arrive`] on each message in turn; appends the outcomes to `out`.
    ///
    /// # Errors
    /// Stops at the first message refused: `out` then has grown by the number of messages before it. That is none if
    /// there is no memory for `out` to grow by all of them.
    fn arrive_batch(&mut self, messages: &[Message], out: &mut Vec<Option<RecvId>>) -> Result<(), Refused> {
        one_by_one(
            messages,
            out,
            |_, _| (),
            |Message { id, envelope }| self.arrive(id, envelope.pair(), envelope.tag),
        )
    }

    /// The same as [`Engine::arrive_batch`], and calls `deliver` once for each message that takes a receive, as soon as that
    /// is certain, and before it returns. An engine that has threads of its own calls it from several of them at once, in any
    /// order; if it panics there, so does this call, once all of the batch is matched and the others are delivered: with what the
    /// first panic brought. What later ones bring is leaked. In other engines the messages behind one that panics have not arrived.
    ///
    /// Threads of an engine have the stack that the standard library gives a thread (2 MiB, or what `RUST_MIN_STACK` says),
    /// are called `matchpoint-worker`, and mask the signals that the thread masked that handed in the first batch: a program
    /// whose handlers are to run in certain threads masks its signals there before. Any delivery may be in such a thread, or
    /// in the calling one, and where the next one is may differ.
    ///
    /// # Errors
    /// As [`Engine::arrive_batch`]; nothing is delivered of messages from the one refused on.
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

    /// Entries examined so far: zero forever in an engine that was built without counting.
    fn attempts(&self) -> Attempts {
        Attempts::default()
    }

    /// What only this engine has to tell: name, with its unit, and value. Nothing from an engine built without
    /// counting, unless it knows anyway.
    fn statistics(&self) -> Vec<(&'static str, f64)> {
        Vec::new()
    }
}

/// Structs become words before the call: nothing passes through memory.
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
