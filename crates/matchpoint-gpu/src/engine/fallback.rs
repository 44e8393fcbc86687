//! CPU engines for a machine that is missing, fails or is occupied.

use std::collections::BTreeSet;
use std::sync::{Mutex, OnceLock, PoisonError};

use matchpoint::engines::{self, NameError};
use matchpoint::{
    Attempts, ContextId, Deliver, Drained, Engine, Footprint, Hints, Message, MsgId, Pair, Receive, RecvId,
    Refused, Selector, Tag, forwarded, migrate_entries,
};

use super::KernelEngine;
use crate::machine::Machine;
use crate::matching::Algorithm;

static LISTENER: OnceLock<fn(&str)> = OnceLock::new();
static REPORTED: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

/// Sets the function that receives a sentence about each replacement of a machine, once for any number of
/// engines. Only the first call has an effect.
pub fn set_listener(listener: fn(&str)) {
    LISTENER.get_or_init(|| listener);
}

fn report(sentence: &str) {
    if let Some(listener) = LISTENER.get() {
        if REPORTED.lock().unwrap_or_else(PoisonError::into_inner).insert(sentence.to_owned()) {
            listener(sentence);
        }
    }
}

/// An engine on a machine, and a fallback engine, which gets all queued entries after a failure. While
/// another process occupies the machine, the fallback engine matches. Both engines have the algorithm's
/// [assertions](Engine::demands), so the application need not know the current engine.
pub struct Fallback<M: Machine> {
    algorithm: Algorithm,
    now: Current<M>,
    /// The machine's engine, empty, while the fallback engine replaces it temporarily.
    waiting: Option<Box<KernelEngine<M>>>,
    other: Option<String>,
    is_counting: bool,
    /// Attempts during the migration, which are not part of a call of the application.
    taking_over: Attempts,
    /// Attempts of earlier fallback engines.
    counted: Attempts,
    /// Maximum bytes before the current engine.
    peak_bytes: u64,
}

enum Current<M: Machine> {
    Machine(Box<KernelEngine<M>>),
    Other(Box<dyn Engine>),
}

impl<M: Machine + Send + Sync + 'static> Fallback<M> {
    fn of(algorithm: Algorithm, now: Current<M>, other: Option<String>, is_counting: bool) -> Self {
        let (counted, taking_over) = (Attempts::default(), Attempts::default());
        Fallback { algorithm, now, waiting: None, other, is_counting, counted, taking_over, peak_bytes: 0 }
    }

    /// Starts on the machine. `other` is the name of the fallback engine. Without a fallback engine, calls
    /// after a failure are refused.
    pub fn new(engine: KernelEngine<M>, other: Option<&str>, is_counting: bool) -> Result<Self, NameError> {
        other.map(engines::create).transpose()?;
        let (algorithm, other) = (engine.algorithm, other.map(str::to_owned));
        let now = Current::Machine(Box::new(engine));
        Ok(Fallback::of(algorithm, now, other, is_counting))
    }

    /// Starts on the fallback engine, because the machine is missing, and reports `why`.
    pub fn without_machine(
        algorithm: Algorithm,
        other: &str,
        is_counting: bool,
        why: &str,
    ) -> Result<Self, NameError> {
        let now = Current::Other(create_counting(other, is_counting)?);
        report(&format!("{other} replaces {}: {why}", algorithm.name()));
        let other = Some(other.to_owned());
        Ok(Fallback::of(algorithm, now, other, is_counting))
    }

    fn engine(&self) -> &dyn Engine {
        match &self.now {
            Current::Machine(engine) => &**engine,
            Current::Other(engine) => &**engine,
        }
    }

    fn engine_mut(&mut self) -> &mut dyn Engine {
        match &mut self.now {
            Current::Machine(engine) => &mut **engine,
            Current::Other(engine) => &mut **engine,
        }
    }

    /// If the machine fails, makes the call again on the fallback engine.
    #[inline]
    fn call<T>(&mut self, mut call: impl FnMut(&mut dyn Engine) -> Result<T, Refused>) -> Result<T, Refused> {
        if self.waiting.is_some() {
            self.return_if_free();
        }
        let engine = match &mut self.now {
            Current::Other(engine) => return call(&mut **engine),
            Current::Machine(engine) => engine,
        };
        // An earlier probe may have set a temporary failure, which is not the reason for a refusal of this
        // call.
        engine.temporary_failure = None;
        let answer = call(&mut **engine);
        if answer.is_err() && self.switch_to_fallback()? { call(self.engine_mut()) } else { answer }
    }

    /// True if the machine failed or is occupied, and the fallback engine has replaced it.
    fn switch_to_fallback(&mut self) -> Result<bool, Refused> {
        let Current::Machine(engine) = &self.now else { return Ok(false) };
        let is_over = engine.failure.is_some();
        let why = engine.failure.as_ref().or(engine.temporary_failure.as_ref());
        let Some(why) = why else { return Ok(false) };
        let name = self.algorithm.name();
        let Some(other) = &self.other else {
            let what = if is_over { "stopped, and refuses further calls" } else { "refuses calls for now" };
            report(&format!(
                "{name} {what}: {why}\nhint: use fallback=hybrid to continue with an engine of the processor"
            ));
            return Ok(false);
        };
        let taken_over = migrate(engine, other, self.is_counting)?;
        self.taking_over = taken_over.attempts();
        // Both engines hold all queued entries now.
        let both = self.footprint().now_bytes() + taken_over.footprint().now_bytes();
        self.peak_bytes = both.max(self.peak_bytes);
        let for_now = if is_over { "" } else { " for now" };
        report(&format!("{other} replaces {name}{for_now}: {why}"));
        let before = std::mem::replace(&mut self.now, Current::Other(taken_over));
        if let (Current::Machine(mut engine), false) = (before, is_over) {
            engine.clear();
            self.waiting = Some(engine);
        }
        Ok(true)
    }

    /// Moves all queued entries back to the machine if it is free again. If memory is missing, a later call
    /// tries again.
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
        self.now = Current::Machine(engine);
        report(&format!("{} matches again", self.algorithm.name()));
    }

    fn admit(&self, selector: &Selector) -> Result<(), Refused> {
        self.algorithm.demands().admit(selector)
    }
}

fn create_counting(name: &str, is_counting: bool) -> engines::Built {
    if is_counting { engines::create_counting(name) } else { engines::create(name) }
}

fn migrate<M: Machine + Send + Sync>(
    from: &KernelEngine<M>,
    name: &str,
    is_counting: bool,
) -> Result<Box<dyn Engine>, Refused> {
    let mut engine = create_counting(name, is_counting).map_err(|_| Refused::Full)?;
    migrate_entries(&mut *engine, from)?;
    from.hints.iter().try_for_each(|(context, hints)| engine.set_hints(context, hints))?;
    Ok(engine)
}

impl<M: Machine + Send + Sync + 'static> Engine for Fallback<M> {
    forwarded!(through [engine_mut()]: cancel retract readdress fail_source);
    forwarded!(through [engine()]: visit queued_in posted_len unexpected_len order);

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

    fn set_hints(&mut self, context: ContextId, hints: Hints) -> Result<(), Refused> {
        if let Some(waiting) = &mut self.waiting {
            waiting.hints.reserve()?;
        }
        self.engine_mut().set_hints(context, hints)?;
        // The waiting engine has no queued entry that could break the assertion.
        self.waiting.as_mut().map_or(Ok(()), |waiting| waiting.hints.set(context, hints))
    }

    fn close(&mut self, context: ContextId, drained: &mut Drained) {
        self.engine_mut().close(context, drained);
        if let Some(waiting) = &mut self.waiting {
            waiting.hints.forget(context);
        }
    }

    fn arrive_batch(&mut self, messages: &[Message], out: &mut Vec<Option<RecvId>>) -> Result<(), Refused> {
        // A machine fails before any message of the batch is matched.
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

    fn demands(&self) -> Hints {
        self.algorithm.demands()
    }

    fn substitute(&self) -> Option<&str> {
        if let Current::Other(_) = self.now { self.other.as_deref() } else { None }
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
        statistics.push(("fell_back", f64::from(u8::from(matches!(self.now, Current::Other(_))))));
        statistics
    }
}
