//! Runs one stream on one engine under an oracle.

use std::error::Error;
use std::panic::{AssertUnwindSafe, catch_unwind};

use matchpoint::{Drained, Engine, Event, MsgId, Outcome, RecvId};

use crate::law::{Broken, Law};
use crate::oracle::{Oracle, drained_text};
use crate::terms::Terms;

#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Run {
    /// Events that ran, as [`Oracle::admit`] returned them.
    pub played: Vec<Event>,
    pub matches: u64,
    /// Law broken by the last event, or by the close of all contexts after the last event.
    pub broken: Option<Broken>,
    /// The fallback engine in use before all contexts were closed: see [`Engine::substitute`].
    pub substitute: Option<String>,
}

/// Queues of at most this length are compared after each event. Longer queues are compared after 64 events,
/// but after [`EVENTS_AFTER_RARE`] events if the last call is rare.
const SHORT_QUEUE: usize = 32;
const EVENTS_AFTER_RARE: usize = 4;

/// Queues beyond this length are compared at a mean rate of [`ENTRIES_PER_EVENT`] entries per event: 140,000
/// entries after each event take hours.
const LONG_QUEUE: usize = 4096;
const ENTRIES_PER_EVENT: usize = 4;

/// Runs `events` on a new engine under an [`Oracle`], up to the first broken law.
pub fn run(engine: &mut dyn Engine, events: &[Event], terms: impl Into<Terms>) -> Run {
    let mut checker = Checker::new(engine, terms.into());
    let mut played = Vec::with_capacity(events.len());
    let mut broken = None;
    for event in events {
        if let Some(event) = checker.admit(event) {
            let result = checker.play(engine, &event);
            played.push(event);
            if let Err(found) = result {
                broken = Some(found);
                break;
            }
        }
    }
    let substitute = substitute(engine);
    let broken = broken.or_else(|| checker.close_all(engine).err());
    Run { played, matches: checker.matches(), broken, substitute }
}

/// The fallback engine in use; `None` also if the query panics.
pub(crate) fn substitute(engine: &dyn Engine) -> Option<String> {
    catch_panics(|| engine.substitute().map(str::to_owned)).ok().flatten()
}

pub(crate) struct Checker {
    oracle: Oracle,
    events_since_compare: usize,
}

impl Checker {
    pub(crate) fn new(engine: &dyn Engine, terms: Terms) -> Self {
        let terms = Terms { demands: engine.demands(), ..terms };
        Checker { oracle: Oracle::new(engine.order(), terms), events_since_compare: 0 }
    }

    pub(crate) fn admit(&self, event: &Event) -> Option<Event> {
        self.oracle.admit(event)
    }

    pub(crate) fn matches(&self) -> u64 {
        self.oracle.matches()
    }

    pub(crate) fn play(&mut self, engine: &mut dyn Engine, event: &Event) -> Result<(), Broken> {
        self.events_since_compare += 1;
        if run_event(engine, &mut self.oracle, event, self.events_since_compare)? {
            self.events_since_compare = 0;
        }
        Ok(())
    }

    pub(crate) fn compare(&self, engine: &dyn Engine) -> Result<(), Broken> {
        catch_panics(|| self.oracle.compare(engine))?
    }

    pub(crate) fn close_all(&self, engine: &mut dyn Engine) -> Result<(), Broken> {
        close_all(engine, &self.oracle)
    }
}

/// Converts a panic to a broken law. The adapter of an engine of another language panics with a boxed error
/// if a result is invalid: the error is then the text.
pub(crate) fn catch_panics<T>(call: impl FnOnce() -> T) -> Result<T, Broken> {
    catch_unwind(AssertUnwindSafe(call)).map_err(|panic| {
        if let Some(answer) = panic.downcast_ref::<Box<dyn Error + Send + Sync>>() {
            return Broken::new(Law::Panic, format!("{answer}."));
        }
        let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
        let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
        Broken::new(Law::Panic, format!("The call panicked: {}.", text.as_deref().unwrap_or("no message")))
    })
}

/// Runs one event. Returns true if both queues were compared in full.
fn run_event(
    engine: &mut dyn Engine,
    oracle: &mut Oracle,
    event: &Event,
    events_since_compare: usize,
) -> Result<bool, Broken> {
    let outcome = catch_panics(|| event.play(engine))?;
    oracle.check(event, &outcome)?;
    let compared = match oracle.queued() {
        queued if queued <= SHORT_QUEUE => true,
        queued if queued <= LONG_QUEUE => {
            let interval = if is_frequent(event) { 64 } else { EVENTS_AFTER_RARE };
            events_since_compare >= interval || is_refusal(&outcome)
        }
        queued => events_since_compare * ENTRIES_PER_EVENT >= queued,
    };
    catch_panics(|| if compared { oracle.compare(engine) } else { oracle.compare_lengths(engine) })??;
    Ok(compared)
}

fn is_frequent(event: &Event) -> bool {
    matches!(event, Event::Post(_) | Event::Arrive(_) | Event::Probe(_))
}

fn is_refusal(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::Posted(Err(_)) | Outcome::Arrived(Err(_)) | Outcome::Hinted(Err(_)))
}

/// Closes all contexts. The list of removed entries is not empty at first, because a close must append to the
/// list.
fn close_all(engine: &mut dyn Engine, oracle: &Oracle) -> Result<(), Broken> {
    catch_panics(|| oracle.compare(engine))??;
    if !oracle.terms().calls.close {
        return Ok(());
    }
    let before = || Drained {
        receives: vec![RecvId(u64::MAX)],
        messages: vec![MsgId(u64::MAX)],
        pending: vec![RecvId(u64::MAX)],
    };
    let (mut drained, mut expected) = (before(), before());
    for context in oracle.contexts() {
        let closed = oracle.drained_by_close(context);
        expected.receives.extend(closed.receives);
        expected.messages.extend(closed.messages);
        catch_panics(|| engine.close(context, &mut drained))?;
    }
    let empty = engine.posted_len() + engine.unexpected_len() == 0;
    if drained == expected && empty {
        return Ok(());
    }
    let (drained, expected) = (drained_text(&drained), drained_text(&expected));
    let how = format!(
        "The close of all contexts after the last event, with an entry in each drained list, returned {drained}, not {expected}."
    );
    Err(Broken::new(Law::Close, how))
}
