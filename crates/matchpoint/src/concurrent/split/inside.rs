//! What the lock of [`split`](super) guards, and what calls do with it: beside a batch ([`Kept`]), and when none goes on
//! ([`Home`]).

use std::collections::HashMap;
use std::marker::PhantomData;
use std::task::Poll;

use super::batch::Batch;
use crate::engine::{Drained, Engine, Entry, Message, MsgId, Queue, Readdressed, Receive, RecvId, Refused};
use crate::envelope::{ContextId, Envelope, Rank, Selector, Wild};
use crate::footprint::Footprint;
use crate::hints::{HintTable, Hints};

/// Where models depart from the engine, to show that its steps are needed.
pub trait Rules: Send + Sync + 'static {
    /// What accepts a message of the batch waits for its end.
    const WAITS: bool = true;
    /// What is pended is posted before the next batch begins.
    const POSTS_PENDED: bool = true;
    /// The messages that a batch left are filed.
    const FILES_LEFT: bool = true;
    /// Who cancels what is not pended waits for the end of the batch.
    const WAITS_TO_CANCEL: bool = true;
    /// Who names a message waits for the end of the batch, which has the receives that may ask for the name.
    const WAITS_TO_NAME: bool = true;
    /// No batch begins before who waited for the last got in.
    const TAKES_TURNS: bool = true;
}

/// The engine as it is.
pub struct Sound;

impl Rules for Sound {}

/// See the [module's documentation](self).
pub(super) struct Inside<R> {
    /// The receives posted; none while a batch has them.
    posted: Option<Box<dyn Engine>>,
    pub(super) kept: Kept<R>,
    /// Calls that wait, or have waited, for the end of this batch, and did not get in yet. None is added between batches.
    waiting: usize,
    /// Batches that came, and those that had their turn.
    tickets: u64,
    turns: u64,
}

/// How a batch begins.
pub(super) enum Begun {
    /// It is to be matched with this engine, which has all receives.
    Lent(Box<dyn Engine>),
    /// Nothing is posted: all of it waits.
    Over,
    /// Of what came before it some could not be filed for want of room: it has to come one by one.
    Refused,
}

/// What is there while a batch goes on.
pub(super) struct Kept<R> {
    /// The messages that wait.
    unexpected: Box<dyn Engine>,
    /// Those of them whose source is not known yet: an engine does not tell what it knows of one message.
    nameless: HashMap<MsgId, Envelope>,
    /// Receives posted while a batch went on; after it, those for which the engine had no room.
    pended: Vec<Receive>,
    /// The batch; after it, of its messages those that wait, but for which the engine had no room.
    batch: Batch,
    /// As both engines have them, and what they ask of all contexts.
    hints: HintTable,
    demands: Hints,
    rules: PhantomData<R>,
}

/// What is there while no batch goes on.
pub(super) struct Home<'a, R> {
    posted: &'a mut dyn Engine,
    kept: &'a mut Kept<R>,
}

impl<R: Rules> Inside<R> {
    pub(super) fn new(posted: Box<dyn Engine>, unexpected: Box<dyn Engine>) -> Self {
        let demands = posted.demands();
        let (nameless, pended, hints) = Default::default();
        let batch = Batch::new();
        let kept = Kept { unexpected, nameless, pended, batch, hints, demands, rules: PhantomData };
        Inside { posted: Some(posted), kept, waiting: 0, tickets: 0, turns: 0 }
    }

    pub(super) fn is_lent(&self) -> bool {
        self.posted.is_none()
    }

    pub(super) fn home(&mut self) -> Option<Home<'_, R>> {
        let posted = self.posted.as_deref_mut()?;
        Some(Home { posted, kept: &mut self.kept })
    }

    /// One more waits for the end of this batch.
    pub(super) fn wait(&mut self) {
        self.waiting += 1;
    }

    /// One that waited has the lock. True: so did all.
    pub(super) fn got_in(&mut self) -> bool {
        self.waiting -= 1;
        self.waiting == 0
    }

    /// How many that are.
    #[cfg(all(test, not(loom)))]
    pub(super) fn waiting(&self) -> usize {
        self.waiting
    }

    /// A batch came.
    pub(super) fn ticket(&mut self) -> u64 {
        self.tickets += 1;
        self.tickets - 1
    }

    pub(super) fn is_turn_of(&self, ticket: u64) -> bool {
        let all_got_in = self.waiting == 0 || !R::TAKES_TURNS;
        !self.is_lent() && all_got_in && self.turns == ticket
    }

    /// Has the batch whose turn it is begin.
    pub(super) fn begin(
        &mut self,
        messages: &[Message],
        out: &mut Vec<Option<RecvId>>,
    ) -> Result<Begun, Refused> {
        self.turns += 1;
        let Some(mut home) = self.home() else { return Ok(Begun::Refused) };
        if home.settle().is_err() {
            return Ok(Begun::Refused);
        }
        if home.posted_len() == 0 {
            for &message in messages {
                out.push(home.arrive(message)?);
            }
            return Ok(Begun::Over);
        }
        self.kept.batch.begin(messages)?;
        Ok(self.posted.take().map_or(Begun::Refused, Begun::Lent))
    }

    pub(super) fn put_back(&mut self, engine: Box<dyn Engine>) {
        let engine = self.posted.insert(engine);
        self.kept.demands = engine.demands();
    }

    /// Files what a batch left, and posts what was pended meanwhile. What there is no room for stays where it is.
    pub(super) fn end(&mut self, outcomes: &[Option<RecvId>]) {
        let Some(Home { posted, kept }) = self.home() else { return };
        let mut outcomes = outcomes.iter();
        // Those behind had not arrived when one was refused.
        kept.batch.messages.retain(|message| {
            outcomes.next().is_some_and(Option::is_none) && (!R::FILES_LEFT || posted.retract(message))
        });
        if !R::FILES_LEFT {
            kept.batch.messages.clear();
        }
        if let Some(mut home) = self.home() {
            // Tried again by who needs it.
            let _ = home.settle();
        }
    }
}

/// Beside a batch. What is pending has to wait for its end.
impl<R: Rules> Kept<R> {
    pub(super) fn post(&mut self, receive: Receive) -> Poll<Result<Option<MsgId>, Refused>> {
        let found = self.matched_probe(&receive.selector);
        found.map(|found| match found {
            Some(message) => Ok(Some(message)),
            None => {
                self.admit(&receive.selector)?;
                self.pended.try_reserve(1).map_err(|_| Refused::Memory)?;
                self.pended.push(receive);
                Ok(None)
            }
        })
    }

    pub(super) fn probe(&mut self, selector: &Selector) -> Poll<Option<MsgId>> {
        let found = self.unexpected.probe(selector);
        self.found(found, selector)
    }

    pub(super) fn matched_probe(&mut self, selector: &Selector) -> Poll<Option<MsgId>> {
        let found = self.take(selector);
        self.found(found, selector)
    }

    fn found(&mut self, found: Option<MsgId>, selector: &Selector) -> Poll<Option<MsgId>> {
        let has_to_wait = found.is_none() && R::WAITS && self.batch.is_wanted(selector);
        if has_to_wait { Poll::Pending } else { Poll::Ready(found) }
    }

    pub(super) fn cancel(&mut self, receive: &Receive) -> Poll<bool> {
        let was_pended = self.forget(receive);
        if was_pended || !R::WAITS_TO_CANCEL { Poll::Ready(was_pended) } else { Poll::Pending }
    }

    pub(super) fn retract(&mut self, message: &Message) -> Poll<bool> {
        let was_there = self.withdraw(message);
        if was_there || !self.batch.has(message.id) { Poll::Ready(was_there) } else { Poll::Pending }
    }

    pub(super) fn readdress(
        &mut self,
        message: &Message,
        source: Rank,
    ) -> Poll<Result<Readdressed, Refused>> {
        if R::WAITS_TO_NAME { Poll::Pending } else { Poll::Ready(self.name(message, source)) }
    }

    /// Names a message that is filed, and that no receive accepts under that name.
    fn name(&mut self, message: &Message, source: Rank) -> Result<Readdressed, Refused> {
        let readdressed = self.unexpected.readdress(message, source)?;
        self.has_left(message.id);
        Ok(readdressed)
    }

    /// Whether it is asserted, or demanded, that nobody asks for this.
    fn admit(&self, selector: &Selector) -> Result<(), Refused> {
        self.demands.admit(selector)?;
        self.hints.admit(selector)
    }

    /// Takes a receive out of those pended.
    fn forget(&mut self, receive: &Receive) -> bool {
        let at = self.pended.iter().position(|pended| pended.id == receive.id);
        at.map(|at| self.pended.remove(at)).is_some()
    }

    /// The place of the first message that is accepted, of those that could not be filed: mostly there are none.
    fn first_left(&self, selector: &Selector) -> Option<usize> {
        let left = &self.batch.messages;
        if left.is_empty() || self.admit(selector).is_err() {
            return None;
        }
        left.iter().position(|message| selector.matches(&message.envelope))
    }

    /// Files what is left of the last batch, if there is room now.
    fn file(&mut self) -> Result<(), Refused> {
        let Kept { unexpected, nameless, batch, .. } = self;
        all_go(&mut batch.messages, |message| keep(&mut **unexpected, nameless, message))
    }

    /// Files a message that waits.
    fn keep(&mut self, message: Message) -> Result<(), Refused> {
        keep(&mut *self.unexpected, &mut self.nameless, message)
    }

    /// Takes a message that is filed.
    fn take(&mut self, selector: &Selector) -> Option<MsgId> {
        let taken = self.unexpected.matched_probe(selector);
        taken.into_iter().for_each(|id| self.has_left(id));
        taken
    }

    /// Takes this message, if it is there.
    fn withdraw(&mut self, message: &Message) -> bool {
        let was_there = self.unexpected.retract(message);
        if was_there {
            self.has_left(message.id);
        }
        was_there
    }

    fn has_left(&mut self, message: MsgId) {
        // Mostly there are none, and nothing is hashed.
        if !self.nameless.is_empty() {
            self.nameless.remove(&message);
        }
    }
}

/// Files a message, noted if its source is not known.
fn keep(
    unexpected: &mut dyn Engine,
    nameless: &mut HashMap<MsgId, Envelope>,
    message: Message,
) -> Result<(), Refused> {
    if message.envelope.source != Rank::UNKNOWN {
        return unexpected.arrive_message(message).map(drop);
    }
    nameless.try_reserve(1).map_err(|_| Refused::Memory)?;
    unexpected.arrive_message(message)?;
    nameless.insert(message.id, message.envelope);
    Ok(())
}

/// Hands these over in order, until one is refused.
fn all_go<A: Copy>(queue: &mut Vec<A>, mut go: impl FnMut(A) -> Result<(), Refused>) -> Result<(), Refused> {
    let mut gone = Ok(());
    let refused = queue.iter().position(|&next| {
        gone = go(next);
        gone.is_err()
    });
    queue.drain(..refused.unwrap_or(queue.len()));
    gone
}

/// While no batch goes on.
impl<R: Rules> Home<'_, R> {
    /// Has both engines have all that is theirs, if there is room now.
    fn settle(&mut self) -> Result<(), Refused> {
        let filed = self.kept.file();
        self.post_pended().and(filed)
    }

    fn post_pended(&mut self) -> Result<(), Refused> {
        if !R::POSTS_PENDED {
            return Ok(());
        }
        all_go(&mut self.kept.pended, |receive| self.posted.post(receive).map(drop))
    }

    pub(super) fn post(&mut self, receive: Receive) -> Result<Option<MsgId>, Refused> {
        if let Some(message) = self.matched_probe(&receive.selector) {
            return Ok(Some(message));
        }
        self.post_pended()?;
        self.posted.post(receive)
    }

    pub(super) fn arrive(&mut self, message: Message) -> Result<Option<RecvId>, Refused> {
        if self.posted.posted_len() > 0 {
            match self.posted.arrive_message(message) {
                Ok(None) => _ = self.posted.retract(&message),
                // It may not wait; but it need not if a receive is pended for it.
                Err(Refused::Hint) if !self.kept.pended.is_empty() => {}
                found => return found,
            }
        }
        // Behind all that is posted.
        let accepts = |receive: &Receive| receive.selector.matches(&message.envelope);
        if let Some(at) = self.kept.pended.iter().position(accepts) {
            return Ok(Some(self.kept.pended.remove(at).id));
        }
        self.kept.file()?;
        self.kept.keep(message).map(|()| None)
    }

    pub(super) fn probe(&mut self, selector: &Selector) -> Option<MsgId> {
        let found = self.kept.unexpected.probe(selector);
        found.or_else(|| self.kept.first_left(selector).map(|at| self.kept.batch.messages[at].id))
    }

    pub(super) fn matched_probe(&mut self, selector: &Selector) -> Option<MsgId> {
        let found = self.kept.take(selector);
        found.or_else(|| {
            let at = self.kept.first_left(selector)?;
            Some(self.kept.batch.messages.remove(at).id)
        })
    }

    pub(super) fn cancel(&mut self, receive: &Receive) -> bool {
        self.posted.cancel(receive) || self.kept.forget(receive)
    }

    pub(super) fn retract(&mut self, message: &Message) -> bool {
        self.kept.withdraw(message) || {
            let left = &mut self.kept.batch.messages;
            let at = left.iter().position(|of| of.id == message.id);
            at.map(|at| left.remove(at)).is_some()
        }
    }

    pub(super) fn readdress(&mut self, message: &Message, source: Rank) -> Result<Readdressed, Refused> {
        // The message may be one that a batch left and that has no place yet.
        self.settle().map_err(|_| Refused::Memory)?;
        let is_meant = message.envelope.source == Rank::UNKNOWN && source != Rank::UNKNOWN;
        let Some(&nameless) = self.kept.nameless.get(&message.id).filter(|_| is_meant) else {
            return Ok(Readdressed::NotNameless);
        };
        // Which receive accepts it only the engine that has them can tell, of a message that arrives there.
        if self.posted.posted_len() > 0 {
            let named = Message::new(message.id, Envelope { source, ..nameless });
            if let Some(receive) = self.posted.arrive_message(named)? {
                self.kept.withdraw(message);
                return Ok(Readdressed::Matched(receive));
            }
            self.posted.retract(&named);
        }
        self.kept.name(message, source)
    }

    pub(super) fn set_hints(&mut self, context: ContextId, hints: Hints) -> Result<(), Refused> {
        // Only the engines know what breaks them.
        self.settle().map_err(|_| Refused::Memory)?;
        self.kept.hints.reserve()?;
        let before = self.kept.hints.get(context);
        self.posted.set_hints(context, hints)?;
        if let Err(refused) = self.kept.unexpected.set_hints(context, hints) {
            // It held before.
            self.posted.set_hints(context, before)?;
            return Err(refused);
        }
        self.kept.hints.set(context, hints)
    }

    pub(super) fn close(&mut self, context: ContextId, drained: &mut Drained) {
        self.posted.close(context, drained);
        self.kept.pended.retain(|receive| {
            let stays = receive.selector.context() != context;
            drained.receives.extend((!stays).then_some(receive.id));
            stays
        });
        self.kept.unexpected.close(context, drained);
        self.kept.nameless.retain(|_, envelope| envelope.context != context);
        self.kept.batch.messages.retain(|message| {
            let stays = message.envelope.context != context;
            drained.messages.extend((!stays).then_some(message.id));
            stays
        });
        self.kept.hints.forget(context);
    }

    pub(super) fn fail_source(&mut self, context: ContextId, source: Rank, drained: &mut Drained) {
        self.posted.fail_source(context, source, drained);
        self.kept.pended.retain(|receive| {
            let named = receive.selector.source();
            let is_here = receive.selector.context() == context;
            drained.pending.extend((is_here && named == Wild::Any).then_some(receive.id));
            let stays = !(is_here && named == Wild::Is(source));
            drained.receives.extend((!stays).then_some(receive.id));
            stays
        });
    }

    pub(super) fn visit(&self, queue: Queue, each: &mut dyn FnMut(Entry)) {
        match queue {
            Queue::Posted => {
                self.posted.visit(queue, each);
                self.kept.pended.iter().copied().map(Entry::Receive).for_each(each);
            }
            Queue::Unexpected => {
                self.kept.unexpected.visit(queue, each);
                self.kept.batch.messages.iter().copied().map(Entry::Message).for_each(each);
            }
        }
    }

    pub(super) fn posted_len(&self) -> usize {
        self.posted.posted_len() + self.kept.pended.len()
    }

    pub(super) fn unexpected_len(&self) -> usize {
        self.kept.unexpected.unexpected_len() + self.kept.batch.messages.len()
    }

    /// Who matches in the place of one of its engines.
    pub(super) fn substitute(&self) -> Option<String> {
        let substitute = self.posted.substitute().or_else(|| self.kept.unexpected.substitute());
        substitute.map(str::to_owned)
    }

    /// Without what it lies in.
    pub(super) fn footprint(&self) -> Footprint {
        let Kept { pended, batch, hints, unexpected, nameless, .. } = &*self.kept;
        let (posted, unexpected) = (self.posted.footprint(), unexpected.footprint());
        let nameless = nameless.capacity() * size_of::<(MsgId, Envelope)>();
        let pended = pended.capacity() * size_of::<Receive>();
        let own = batch.bytes() + hints.bytes() + (pended + nameless) as u64;
        Footprint {
            fixed_bytes: posted.fixed_bytes + unexpected.fixed_bytes,
            peers_bytes: posted.peers_bytes + unexpected.peers_bytes,
            // Nothing of its own is given back.
            entries_bytes: posted.entries_bytes + unexpected.entries_bytes + own,
            peak_bytes: posted.peak_bytes + unexpected.peak_bytes + own,
        }
    }
}
