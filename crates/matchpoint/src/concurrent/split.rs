//! `split`: posts, probes and cancels go on while a batch of messages is matched.
//!
//! ```text
//! one lock ─┬─ `posted`      an engine that has receives only   ── lent to who matches a batch, until it is over
//!           ├─ `unexpected`  an engine that has messages only
//!           ├─ `pended`      receives posted while `posted` was away: they go there when it is back, in order
//!           └─ the messages of the batch
//! ```
//!
//! A post searches `unexpected`, and what finds nothing there joins `posted`; an arrival searches `posted`, and joins
//! `unexpected`. A batch takes `posted` with it and lets the lock go. It is matched, by however many threads that engine has, and
//! delivered; under the lock again `posted` is put back, the messages left go to `unexpected`, and what was pended is posted.
//!
//! Meanwhile **who cannot tell whether the batch was there goes on, all others wait until it is over**:
//!
//! | call | goes on if | with |
//! |---|---|---|
//! | post | it finds a message in `unexpected` | that |
//! | | it accepts no message of the batch | nothing: it is pended |
//! | probe, matched probe | the same | what was found, or nothing |
//! | cancel | the receive is pended | true |
//! | retract | the message waits in `unexpected`, or is not of the batch | true, or false |
//! | all others, and other batches | never | |
//!
//! *Why it is exact.* A call takes effect while it has the lock; a message of a batch when it is matched, which is between the
//! two moments in which the batch has it. Outside a batch it is one engine in two parts: nothing that waits in one is accepted by
//! what waits in the other. Within one, what goes on commutes with every message of the batch, so that it does not matter which came
//! first:
//!
//! * *It takes a message that waits in `unexpected`.* That message arrived before the batch, so that it is the earliest whether
//!   the batch has arrived or not; and no message of the batch takes the receive, which is never posted.
//! * *It is pended.* No message of the batch takes it, nor it one of those: it accepts none. It is behind all of `posted`, which
//!   were posted before the batch began, and before all that is posted after it; others that are pended are in the order in
//!   which they had the lock. No message but the batch's arrives before it is posted.
//! * *A cancelled receive was pended*: it accepts no message of the batch, and is in no queue but that list. One that is in `posted`
//!   may have been taken by a message of the batch already, which may even be delivered. A receive that accepts no message of the
//!   batch was not taken, but the engine that has it is lent. So the cancel waits for the end of the batch.
//! * *A message that a batch leaves* is in neither engine while the batch goes on. Who could find it, waits: of two messages of one
//!   envelope, one in the batch and one that would come after it, no receive can take the second while the first is not filed, as
//!   no other message arrives and who accepts the first waits. A matched probe that accepts it waits as a post does.
//!
//! *Deliveries are answers, too.* Who was told that a message of the batch is matched, and posts what an earlier one of that batch
//! is accepted by, waits, and then finds it.
//!
//! *Who waits gets in before the next batch begins*, so that it waits for one batch of at most 1024 messages and its deliveries
//! (longer batches are cut, as if they were several); batches take turns in the order in which they came. Threads sleep while
//! they wait.
//!
//! *Nothing that was answered is refused later.* If `posted` has no room for what was pended, it stays pended, searched by arrivals
//! after `posted`, and is tried again; until that succeeds receives that find nothing are refused, and batches are matched message by
//! message under the lock. The same, the other way round, of messages that `unexpected` has no room for.
//!
//! Post, arrive and probes cost those of the engine inside and a lock; an arrival that waits is filed twice if receives are posted,
//! and each message of a batch is copied (40 bytes). Beside a batch an exact selector costs a look at its hash, or a comparison with up to
//! 1024 messages where that is among the batch's, as every wildcard does. What waits nameless is noted (40 bytes, at least), so that
//! `readdress` costs what an arrival does, and the renaming.
//!
//! It loses where messages come one by one, to the engine that it has inside, and gains nothing where one thread does all.

mod batch;
mod inside;
#[cfg(all(test, loom))]
mod models;
#[cfg(all(test, not(loom)))]
mod tests;

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::PoisonError;
use std::task::Poll;

use self::batch::BATCH;
use self::inside::{Begun, Home, Inside, Kept, Rules, Sound};
use super::Concurrent;
use crate::engine::{Deliver, Engine, Message, MsgId, Readdressed, Receive, RecvId, Refused, one_by_one};
use crate::envelope::{Envelope, Pair, Rank, Selector, Tag};
use crate::footprint::Footprint;
use crate::forward::forwarded;
use crate::sync::{Condvar, Mutex, MutexGuard};

/// See the [module's documentation](self). `R` is what its own tests change.
pub struct Split<R: Rules = Sound> {
    inside: Mutex<Inside<R>>,
    /// A batch is over: who waited for that gets in.
    over: Condvar,
    /// A batch may begin.
    turn: Condvar,
}

impl Split {
    /// The receives in one engine, the messages in the other; both are empty, and match alike.
    pub fn new(posted: Box<dyn Engine>, unexpected: Box<dyn Engine>) -> Self {
        Split::with_rules(posted, unexpected)
    }
}

/// Has those look who wait for the turn of their batch.
struct Next<'a>(&'a Condvar);

impl Drop for Next<'_> {
    fn drop(&mut self) {
        self.0.notify_all();
    }
}

type Locked<'a, R> = MutexGuard<'a, Inside<R>>;

impl<R: Rules> Split<R> {
    fn with_rules(posted: Box<dyn Engine>, unexpected: Box<dyn Engine>) -> Self {
        Split {
            inside: Mutex::new(Inside::new(posted, unexpected)),
            over: Condvar::new(),
            turn: Condvar::new(),
        }
    }

    fn lock(&self) -> Locked<'_, R> {
        // An engine that panicked is as good as one that did so in a thread of its own.
        self.inside.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls `act` when no batch goes on.
    fn call<A>(&self, act: impl FnOnce(&mut Home<'_, R>) -> A) -> A {
        self.after_batch(self.lock(), act)
    }

    /// The same, of who has the lock already.
    fn after_batch<'a, A>(&'a self, mut inside: Locked<'a, R>, act: impl FnOnce(&mut Home<'_, R>) -> A) -> A {
        loop {
            let Some(mut home) = inside.home() else {
                inside = self.wait(inside);
                continue;
            };
            return act(&mut home);
        }
    }

    /// Returns once the batch is over.
    fn wait<'a>(&'a self, mut inside: Locked<'a, R>) -> Locked<'a, R> {
        inside.wait();
        while inside.is_lent() {
            inside = self.over.wait(inside).unwrap_or_else(PoisonError::into_inner);
        }
        if inside.got_in() {
            self.turn.notify_all();
        }
        inside
    }

    /// Calls `beside` if a batch goes on, and `act` when it is over if `beside` says that this has to wait, or if none goes on.
    fn beside<A>(
        &self,
        beside: impl FnOnce(&mut Kept<R>) -> Poll<A>,
        act: impl FnOnce(&mut Home<'_, R>) -> A,
    ) -> A {
        let mut inside = self.lock();
        if inside.is_lent()
            && let Poll::Ready(answer) = beside(&mut inside.kept)
        {
            return answer;
        }
        self.after_batch(inside, act)
    }

    /// So many messages of a batch, the first of which has a number.
    fn piece(
        &self,
        (first, messages): (usize, &[Message]),
        out: &mut Vec<Option<RecvId>>,
        deliver: Option<&Deliver<'_>>,
    ) -> Result<(), Refused> {
        let mut engine = match self.begin(messages, out)? {
            Begun::Lent(engine) => engine,
            Begun::Over => return Ok(()),
            Begun::Refused => return self.singly((first, messages), out, deliver),
        };
        let from = out.len();
        let matched = catch_unwind(AssertUnwindSafe(|| match deliver {
            Some(deliver) => {
                let deliver = |number, receive| deliver(first + number, receive);
                engine.deliver_batch(messages, out, &deliver)
            }
            None => engine.arrive_batch(messages, out),
        }));
        self.end(engine, &out[from..]);
        matched.unwrap_or_else(|panic| resume_unwind(panic))
    }

    /// Takes the engine of receives with it when it is the turn of this batch.
    fn begin(&self, messages: &[Message], out: &mut Vec<Option<RecvId>>) -> Result<Begun, Refused> {
        let mut inside = self.lock();
        let ticket = inside.ticket();
        while !inside.is_turn_of(ticket) {
            inside = self.turn.wait(inside).unwrap_or_else(PoisonError::into_inner);
        }
        // Whatever happens, the next has its turn.
        let next = Next(&self.turn);
        let begun = inside.begin(messages, out);
        if matches!(begun, Ok(Begun::Lent(_))) {
            // After this one.
            std::mem::forget(next);
        }
        begun
    }

    /// The batch is over, with these outcomes of messages that arrived.
    fn end(&self, engine: Box<dyn Engine>, outcomes: &[Option<RecvId>]) {
        let mut inside = self.lock();
        // First of all: whatever happens now, nobody waits for ever.
        inside.put_back(engine);
        self.over.notify_all();
        self.turn.notify_all();
        inside.end(outcomes);
    }

    fn singly(
        &self,
        (first, messages): (usize, &[Message]),
        out: &mut Vec<Option<RecvId>>,
        deliver: Option<&Deliver<'_>>,
    ) -> Result<(), Refused> {
        let delivered = |number, receive| {
            if let Some(deliver) = deliver {
                deliver(first + number, receive);
            }
        };
        one_by_one(messages, out, delivered, |message| self.arrive_message(message))
    }

    fn batch(
        &self,
        messages: &[Message],
        out: &mut Vec<Option<RecvId>>,
        deliver: Option<&Deliver<'_>>,
    ) -> Result<(), Refused> {
        out.try_reserve(messages.len()).map_err(|_| Refused::Memory)?;
        for (number, messages) in messages.chunks(BATCH).enumerate() {
            let piece = (number * BATCH, messages);
            match messages {
                [_] => self.singly(piece, out, deliver)?,
                _ => self.piece(piece, out, deliver)?,
            }
        }
        Ok(())
    }
}

impl<R: Rules> Concurrent for Split<R> {
    fn post_open(&self, id: RecvId, selector: &Selector) -> Result<Option<MsgId>, Refused> {
        let receive = Receive::new(id, *selector);
        self.beside(|kept| kept.post(receive), |home| home.post(receive))
    }

    fn arrive(&self, id: MsgId, pair: Pair, tag: Tag) -> Result<Option<RecvId>, Refused> {
        let message = Message::new(id, Envelope::of(pair, tag));
        self.call(|home| home.arrive(message))
    }

    fn arrive_batch(&self, messages: &[Message], out: &mut Vec<Option<RecvId>>) -> Result<(), Refused> {
        self.batch(messages, out, None)
    }

    fn deliver_batch(
        &self,
        messages: &[Message],
        out: &mut Vec<Option<RecvId>>,
        deliver: &Deliver<'_>,
    ) -> Result<(), Refused> {
        self.batch(messages, out, Some(deliver))
    }

    fn probe(&self, selector: &Selector) -> Option<MsgId> {
        self.beside(|kept| kept.probe(selector), |home| home.probe(selector))
    }

    fn matched_probe(&self, selector: &Selector) -> Option<MsgId> {
        self.beside(|kept| kept.matched_probe(selector), |home| home.matched_probe(selector))
    }

    fn cancel(&self, receive: &Receive) -> bool {
        self.beside(|kept| kept.cancel(receive), |home| home.cancel(receive))
    }

    fn retract(&self, message: &Message) -> bool {
        self.beside(|kept| kept.retract(message), |home| home.retract(message))
    }

    fn readdress(&self, message: &Message, source: Rank) -> Result<Readdressed, Refused> {
        self.beside(|kept| kept.readdress(message, source), |home| home.readdress(message, source))
    }

    forwarded!(concurrent: set_hints close fail_source visit posted_len unexpected_len);

    fn substitute(&self) -> Option<String> {
        self.call(|home| home.substitute())
    }

    fn footprint(&self) -> Footprint {
        let inside = self.call(|home| home.footprint());
        let own = size_of::<Self>() as u64;
        Footprint { fixed_bytes: inside.fixed_bytes + own, peak_bytes: inside.peak_bytes + own, ..inside }
    }
}
