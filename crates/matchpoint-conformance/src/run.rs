//! Runs one stream on one engine under an oracle.

use std::error::Error;
use std::panic::{AssertUnwindSafe, catch_unwind};

use matchpoint::{Drained, Engine, Event, MsgId, Outcome, RecvId};

use crate::law::{Broken, Law};
use crate::oracle::{Oracle, drained_text};
use crate::terms::Terms;

/// Result of a stream.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Run {
    /// Events that ran. Calls that no caller may make, such as a duplicate id, and calls that the engine
    /// lacks are left out. A withdrawal of a queued entry has the selector or envelope of the entry.
    pub played: Vec<Event>,
    /// Matches.
    pub matches: u64,
    /// Law broken by the last event, or by closing all contexts after the last event.
    pub broken: Option<Broken>,
    /// The fallback engine in use before all contexts were closed: see [`Engine::substitute`].
    pub substitute: Option<String>,
}

/// Queues up to `SHORT` entries are compared after each event. Longer queues are compared after 64 events,
/// and after `RARE` events if the call is rare.
const SHORT: usize = 32;
const RARE: usize = 4;

/// Longer queues are compared at a rate of `EACH` entries per event: 140,000 entries after each event would
/// take hours.
const LONG: usize = 4096;
const EACH: usize = 4;

/// Runs `events` on a new engine under an [`Oracle`], up to the first broken law.
pub fn run(engine: &mut dyn Engine, events: &[Event], terms: impl Into<Terms>) -> Run {
    let mut watch = Checker::new(engine, terms.into());
    let mut played = Vec::with_capacity(events.len());
    let mut broken = None;
    for event in events {
        if let Some(event) = watch.admit(event) {
            let result = watch.play(engine, &event);
            played.push(event);
            if let Err(found) = result {
                broken = Some(found);
                break;
            }
        }
    }
    let substitute = substitute(engine);
    let broken = broken.or_else(|| watch.close_all(engine).err());
    Run { played, matches: watch.matches(), broken, substitute }
}

/// The fallback engine in use. `None` also if the query panics.
pub(crate) fn substitute(engine: &dyn Engine) -> Option<String> {
    catch_panics(|| engine.substitute().map(str::to_owned)).ok().flatten()
}

/// An oracle, and the events since the last full comparison.
pub(crate) struct Checker {
    oracle: Oracle,
    since: usize,
}

impl Checker {
    pub(crate) fn new(engine: &dyn Engine, terms: Terms) -> Self {
        let terms = Terms { demands: engine.demands(), ..terms };
        Checker { oracle: Oracle::new(engine.order(), terms), since: 0 }
    }

    /// As [`Oracle::admit`].
    pub(crate) fn admit(&self, event: &Event) -> Option<Event> {
        self.oracle.admit(event)
    }

    pub(crate) fn matches(&self) -> u64 {
        self.oracle.matches()
    }

    pub(crate) fn play(&mut self, engine: &mut dyn Engine, event: &Event) -> Result<(), Broken> {
        self.since += 1;
        if run_event(engine, &mut self.oracle, event, self.since)? {
            self.since = 0;
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

/// An adapter for an engine of another language panics with a boxed error if a result is invalid. Such a
/// panic is reported as an invalid result.
pub(crate) fn catch_panics<T>(call: impl FnOnce() -> T) -> Result<T, Broken> {
    catch_unwind(AssertUnwindSafe(call)).map_err(|panic| {
        if let Some(answer) = panic.downcast_ref::<Box<dyn Error + Send + Sync>>() {
            return Broken::new(Law::Panic, format!("{answer}."));
        }
        let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
        let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
        Broken::new(Law::Panic, format!("It panicked: {}.", text.as_deref().unwrap_or("no message")))
    })
}

/// `since` events after the last full comparison. Returns true after a full comparison.
fn run_event(
    engine: &mut dyn Engine,
    oracle: &mut Oracle,
    event: &Event,
    since: usize,
) -> Result<bool, Broken> {
    let outcome = catch_panics(|| event.play(engine))?;
    oracle.check(event, &outcome)?;
    let compared = match oracle.queued() {
        queued if queued <= SHORT => true,
        queued if queued <= LONG => {
            let often = if is_frequent(event) { 64 } else { RARE };
            since >= often || is_refusal(&outcome)
        }
        queued => since * EACH >= queued,
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

/// Into one [`Drained`] that is not empty.
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
        let here = oracle.drained_by_close(context);
        expected.receives.extend(here.receives);
        expected.messages.extend(here.messages);
        catch_panics(|| engine.close(context, &mut drained))?;
    }
    let empty = engine.posted_len() + engine.unexpected_len() == 0;
    if drained == expected && empty {
        return Ok(());
    }
    let (drained, expected) = (drained_text(&drained), drained_text(&expected));
    let how = format!(
        "Closing all after that, into what holds an entry of each kind, left {drained}, not {expected}."
    );
    Err(Broken::new(Law::Close, how))
}
