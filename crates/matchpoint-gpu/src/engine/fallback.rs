//! Engines of the processor in place of a machine that is not there, fails, or cannot match for now.

use std::collections::BTreeSet;
use std::sync::{Mutex, OnceLock, PoisonError};

use matchpoint::engines::{self, NameError};
use matchpoint::{
    Attempts, ContextId, Deliver, Drained, Engine, Entry, Footprint, Hints, Message, MsgId, Order, Pair,
    Queue, Rank, Readdressed, Receive, RecvId, Refused, Selector, Tag, migrate_entries,
};

use super::KernelEngine;
use crate::machine::Machine;
use crate::matching::Algorithm;

static LISTENER: OnceLock<fn(&str)> = OnceLock::new();
static TOLD: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

/// Has `listener` told, in a sentence, that a machine cannot match and who does in its place: once, however many engines of that
/// name this happens to. Whoever calls first is the listener.
pub fn listen(listener: fn(&str)) {
    LISTENER.get_or_init(|| listener);
}

fn tell(sentence: &str) {
    if let Some(listener) = LISTENER.get() {
        if TOLD.lock().unwrap_or_else(PoisonError::into_inner).insert(sentence.to_owned()) {
            listener(sentence);
        }
    }
}

/// An engine whose matching a machine does as long as it can, and then another engine, if there is one for that: with all that
/// is queued. Where something else has the machine to itself, it is the other only until the first call after that. What the algorithm [demands](Engine::demands) it demands of both, so that an application need not know which it
/// has.
pub struct Fallback<M: Machine> {
    algorithm: Algorithm,
    now: Now<M>,
    /// The engine that matches on the machine, with nothing queued, while the other does what it cannot for now.
    waiting: Option<Box<KernelEngine<M>>>,
    /// The name of the other, and whether it counts what it compares.
    other: Option<String>,
    is_counting: bool,
    /// What the other compared while it took over what was queued: no call of the application's.
    taking_over: Attempts,
    /// What others compared that the machine has matched after again.
    counted: Attempts,
    /// The most bytes held until then.
    peak_bytes: u64,
}

enum Now<M: Machine> {
    Machine(Box<KernelEngine<M>>),
    Other(Box<dyn Engine>),
}

impl<M: Machine + Send + Sync + 'static> Fallback<M> {
    fn of(algorithm: Algorithm, now: Now<M>, other: Option<String>, is_counting: bool) -> Self {
        let (counted, taking_over) = (Attempts::default(), Attempts::default());
        Fallback { algorithm, now, waiting: None, other, is_counting, counted, taking_over, peak_bytes: 0 }
    }

    /// Begins with the machine. `other` is the name of an engine: without one, what a machine that failed would have to
    /// match is refused.
    ///
    /// # Errors
    /// No engine has that name.
    pub fn new(engine: KernelEngine<M>, other: Option<&str>, is_counting: bool) -> Result<Self, NameError> {
        other.map(engines::create).transpose()?;
        let (algorithm, other) = (engine.algorithm, other.map(str::to_owned));
        let now = Now::Machine(Box::new(engine));
        Ok(Fallback::of(algorithm, now, other, is_counting))
    }

    /// Begins with the other, for there is no machine, and says why.
    ///
    /// # Errors
    /// No engine has that name.
    pub fn without_machine(
        algorithm: Algorithm,
        other: &str,
        is_counting: bool,
        why: &str,
    ) -> Result<Self, NameError> {
        let now = Now::Other(made(other, is_counting)?);
        tell(&format!("{other} replaces {}: {why}", algorithm.name()));
        let other = Some(other.to_owned());
        Ok(Fallback::of(algorithm, now, other, is_counting))
    }

    fn engine(&self) -> &dyn Engine {
        match &self.now {
            Now::Machine(engine) => &**engine,
            Now::Other(engine) => &**engine,
        }
    }

    fn engine_mut(&mut self) -> &mut dyn Engine {
        match &mut self.now {
            Now::Machine(engine) => &mut **engine,
            Now::Other(engine) => &mut **engine,
        }
    }

    /// Makes a call that the machine may be needed for, and if it failed, the same again on the other engine.
    #[inline]
    fn call<T>(&mut self, mut call: impl FnMut(&mut dyn Engine) -> Result<T, Refused>) -> Result<T, Refused> {
        if self.waiting.is_some() {
            self.return_if_free();
        }
        let engine = match &mut self.now {
            Now::Other(engine) => return call(&mut **engine),
            Now::Machine(engine) => engine,
        };
        // What was in the way of a probe, which was answered without the machine, is no reason why this call is refused.
        engine.hindrance = None;
        let answer = call(&mut **engine);
        if answer.is_err() && self.goes_on()? { call(self.engine_mut()) } else { answer }
    }

    /// Whether the machine has failed, or cannot for now, and another engine has taken over by now.
    fn goes_on(&mut self) -> Result<bool, Refused> {
        let Now::Machine(engine) = &self.now else { return Ok(false) };
        let is_over = engine.failure().is_some();
        let Some(why) = engine.failure().or(engine.hindrance()) else { return Ok(false) };
        let name = self.algorithm.name();
        let Some(other) = &self.other else {
            let what = if is_over { "stopped, and refuses further calls" } else { "refuses calls for now" };
            tell(&format!(
                "{name} {what}: {why}\nhint: use fallback=hybrid to continue with an engine of the processor"
            ));
            return Ok(false);
        };
        let taken_over = taken_over(engine, other, self.is_counting)?;
        self.taking_over = taken_over.attempts();
        // Both hold all that is queued now.
        let both = self.footprint().now_bytes() + taken_over.footprint().now_bytes();
        self.peak_bytes = both.max(self.peak_bytes);
        let for_now = if is_over { "" } else { " for now" };
        tell(&format!("{other} replaces {name}{for_now}: {why}"));
        let before = std::mem::replace(&mut self.now, Now::Other(taken_over));
        if let (Now::Machine(mut engine), false) = (before, is_over) {
            engine.clear();
            self.waiting = Some(engine);
        }
        Ok(true)
    }

    /// Goes on with the machine, and all that is queued, if nothing has it to itself any more. If there is no memory for that, a
    /// later call tries again.
    #[cold]
    fn return_if_free(&mut self) {
        if self.waiting.as_ref().is_none_or(|engine| engine.machine.is_occupied()) {
            return;
        }
        let peak_bytes = self.footprint().peak_bytes;
        let Some(mut engine) = self.waiting.take() else { return };
        if engine.take_over(self.engine()).is_err() {
            self.waiting = Some(engine);
            return;
        }
        self.peak_bytes = peak_bytes;
        (self.counted, self.taking_over) = (self.attempts(), Attempts::default());
        self.now = Now::Machine(engine);
        tell(&format!("{} matches again", self.algorithm.name()));
    }

    fn admit(&self, selector: &Selector) -> Result<(), Refused> {
        self.algorithm.demands().admit(selector)
    }
}

fn made(name: &str, is_counting: bool) -> engines::Built {
    if is_counting { engines::create_counting(name) } else { engines::create(name) }
}

/// An engine of that name with all that is queued in another, and its assertions.
fn taken_over<M: Machine + Send + Sync>(
    from: &KernelEngine<M>,
    name: &str,
    is_counting: bool,
) -> Result<Box<dyn Engine>, Refused> {
    let mut engine = made(name, is_counting).map_err(|_| Refused::Full)?;
    migrate_entries(&mut *engine, from)?;
    from.hints.iter().try_for_each(|(context, hints)| engine.set_hints(context, hints))?;
    Ok(engine)
}

impl<M: Machine + Send + Sync + 'static> Engine for Fallback<M> {
    fn post_selector(&mut self, id: RecvId, selector: &Selector) -> Result<Option<MsgId>, Refused> {
        let receive = Receive::new(id, *selector);
        self.admit(&receive.selector)?;
        self.call(|engine| engine.post(receive))
    }

    fn arrive(&mut self, id: MsgId, pair: Pair, tag: Tag) -> Result<Option<RecvId>, Refused> {
        self.call(|engine| engine.arrive(id, pair, tag))
    }

    fn probe(&mut self, selector: &Selector) -> Option<MsgId> {
        self.admit(selector).ok()?;
        self.engine_mut().probe(selector)
    }

    fn matched_probe(&mut self, selector: &Selector) -> Option<MsgId> {
        self.admit(selector).ok()?;
        self.engine_mut().matched_probe(selector)
    }

    fn cancel(&mut self, receive: &Receive) -> bool {
        self.engine_mut().cancel(receive)
    }

    fn retract(&mut self, message: &Message) -> bool {
        self.engine_mut().retract(message)
    }

    fn readdress(&mut self, message: &Message, source: Rank) -> Result<Readdressed, Refused> {
        self.engine_mut().readdress(message, source)
    }

    fn set_hints(&mut self, context: ContextId, hints: Hints) -> Result<(), Refused> {
        if let Some(waiting) = &mut self.waiting {
            waiting.hints.reserve()?;
        }
        self.engine_mut().set_hints(context, hints)?;
        // It has nothing queued that could break them.
        self.waiting.as_mut().map_or(Ok(()), |waiting| waiting.hints.set(context, hints))
    }

    fn close(&mut self, context: ContextId, drained: &mut Drained) {
        self.engine_mut().close(context, drained);
        if let Some(waiting) = &mut self.waiting {
            waiting.hints.forget(context);
        }
    }

    fn fail_source(&mut self, context: ContextId, source: Rank, drained: &mut Drained) {
        self.engine_mut().fail_source(context, source, drained);
    }

    fn visit(&self, queue: Queue, each: &mut dyn FnMut(Entry)) {
        self.engine().visit(queue, each);
    }

    fn queued_in(&self, context: ContextId) -> (usize, usize) {
        self.engine().queued_in(context)
    }

    fn posted_len(&self) -> usize {
        self.engine().posted_len()
    }

    fn unexpected_len(&self) -> usize {
        self.engine().unexpected_len()
    }

    fn arrive_batch(&mut self, messages: &[Message], out: &mut Vec<Option<RecvId>>) -> Result<(), Refused> {
        // A machine that fails does so before anything of the batch is matched.
        self.call(|engine| engine.arrive_batch(messages, out))
    }

    fn deliver_batch(
        &mut self,
        messages: &[Message],
        out: &mut Vec<Option<RecvId>>,
        deliver: &Deliver<'_>,
    ) -> Result<(), Refused> {
        self.call(|engine| engine.deliver_batch(messages, out, deliver))
    }

    fn order(&self) -> Order {
        self.engine().order()
    }

    fn demands(&self) -> Hints {
        self.algorithm.demands()
    }

    fn substitute(&self) -> Option<&str> {
        if let Now::Other(_) = self.now { self.other.as_deref() } else { None }
    }

    fn attempts(&self) -> Attempts {
        let all = self.engine().attempts();
        Attempts {
            posted: self.counted.posted + all.posted - self.taking_over.posted,
            unexpected: self.counted.unexpected + all.unexpected - self.taking_over.unexpected,
        }
    }

    fn footprint(&self) -> Footprint {
        let inner = self.engine().footprint();
        let own = size_of::<Self>() as u64;
        let waits = self.waiting.as_ref().map_or(Footprint::default(), |engine| engine.footprint());
        Footprint {
            fixed_bytes: inner.fixed_bytes + own + waits.fixed_bytes,
            entries_bytes: inner.entries_bytes + waits.entries_bytes,
            peak_bytes: self.peak_bytes.max(inner.peak_bytes + own + waits.now_bytes()),
            ..inner
        }
    }

    fn statistics(&self) -> Vec<(&'static str, f64)> {
        let mut statistics = self.engine().statistics();
        statistics.push(("fell_back", f64::from(u8::from(matches!(self.now, Now::Other(_))))));
        statistics
    }
}
