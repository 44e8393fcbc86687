//! Interleaved streams on two engines: a call on one engine must not change the other engine.
//!
//! An engine with process-wide state, such as the queues of an MPI library, keeps every law while no other
//! engine exists. Here the events of a stream alternate between two engines, and each engine is checked
//! separately. At the end, the first engine is dropped with queued entries, and the second continues.

use matchpoint::{Engine, Event};

use crate::law::{Broken, Law};
use crate::report::{Factory, Report, Violation, check_events};
use crate::run::{Checker, Run, catch_panics, run, substitute};
use crate::shrink::shrink;
use crate::terms::Terms;

/// Omits events that the next engine's oracle does not admit. Omitted events do not alternate, so that the
/// played events give the same calls again.
fn run_interleaved(factory: Factory<'_>, events: &[Event], terms: Terms) -> Run {
    let mut engines = [factory(), factory()];
    let mut checkers = engines.each_ref().map(|engine| Checker::new(&**engine, terms));
    let mut played = Vec::with_capacity(events.len());
    let mut result = Ok(());
    for event in events {
        let turn = played.len() % 2;
        if let Some(event) = checkers[turn].admit(event) {
            result = checkers[turn].play(&mut *engines[turn], &event).map_err(|broken| (turn, broken));
            played.push(event);
            if result.is_err() {
                break;
            }
        }
    }
    let substitute = engines.iter().find_map(|engine| substitute(&**engine));
    let ended = result.and_then(|()| end_both_engines(engines, &checkers));
    let broken = ended.err().map(|(turn, Broken { how, .. })| {
        Broken::new(Law::Independence, format!("On the {} of two engines: {how}", ["first", "second"][turn]))
    });
    Run { played, matches: checkers.iter().map(Checker::matches).sum(), broken, substitute }
}

fn end_both_engines(engines: [Box<dyn Engine>; 2], checkers: &[Checker; 2]) -> Result<(), (usize, Broken)> {
    for turn in [0, 1] {
        checkers[turn].compare(&*engines[turn]).map_err(|broken| (turn, broken))?;
    }
    let [first, mut second] = engines;
    catch_panics(|| drop(first)).map_err(|broken| (0, broken))?;
    checkers[1].close_all(&mut *second).map_err(|broken| (1, broken))
}

fn events_by_engine(played: &[Event]) -> [Vec<Event>; 2] {
    [0, 1].map(|turn| played.iter().skip(turn).step_by(2).cloned().collect())
}

/// Shrinks a stream, also by two events at a time: removal of one event moves all later events to the other
/// engine.
fn shrink_interleaved(events: Vec<Event>, fails: &dyn Fn(&[Event]) -> bool) -> Vec<Event> {
    let mut events = shrink(events, fails);
    let without = |events: &[Event], at: usize| [&events[..at], &events[at + 2..]].concat();
    while let Some(fewer) = (1..events.len()).map(|at| without(&events, at - 1)).find(|fewer| fails(fewer)) {
        events = shrink(fewer, fails);
    }
    events
}

/// Runs the stream called `stream` interleaved on two new engines.
///
/// # Errors
/// The violation, shrunk: of the law that the events of one engine alone break, else of
/// [`Law::Independence`].
pub(crate) fn check_interleaved(
    factory: Factory<'_>,
    events: &[Event],
    terms: Terms,
    stream: &str,
) -> Result<Report, Box<Violation>> {
    let played = |events: &[Event]| run_interleaved(factory, events, terms);
    let first = played(events);
    let report = Report::of(&first);
    let Some(broken) = first.broken else {
        return Ok(report);
    };
    for half in events_by_engine(&first.played) {
        check_events(factory, half, terms, || format!("{stream}, events of one engine alone"))?;
    }
    let fails_only_together = |events: &[Event]| {
        let both = played(events);
        let alone = |half: &Vec<Event>| run(&mut *factory(), half, terms).broken.is_none();
        both.broken.is_some() && events_by_engine(&both.played).iter().all(alone)
    };
    let shrunk = played(&shrink_interleaved(first.played, &fails_only_together));
    let (broken, events, substitute) = (shrunk.broken.unwrap_or(broken), shrunk.played, shrunk.substitute);
    Err(Box::new(Violation { broken, events, stream: stream.to_owned(), substitute, played: report }))
}
