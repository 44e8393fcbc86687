//! From a stream that breaks a law to the shortest and plainest one found that still does.

mod long;
mod numbers;
mod plainer;

use std::cell::Cell;

use matchpoint::Event;

use self::numbers::plainer_numbers;
use self::plainer::{Fails, LONG, leave_out, simpler};
use crate::issued::Issued;

/// Events played in all before it is content with what it has: about a minute.
const BUDGET: usize = 40_000_000;

/// Shortens `events` while `fails` holds for what is left: first by leaving events out (delta debugging, Zeller &
/// Hildebrandt 2002), then by plainer fields and smaller numbers, until neither helps.
pub fn shrink(mut events: Vec<Event>, fails: Fails<'_>) -> Vec<Event> {
    let played = Cell::new(0);
    let fails = |events: &[Event]| {
        played.set(played.get() + events.len() + 1);
        played.get() < BUDGET && fails(events)
    };
    if events.len() > LONG {
        events = long::shorten(events, &fails);
    }
    while events.len() <= LONG {
        let before = events.clone();
        events = completed(events, &fails);
        events = leave_out(events, 1, &fails);
        events = simplify(events, &fails);
        events = plainer_numbers(events, &fails);
        if events == before {
            break;
        }
    }
    events
}

/// Withdrawals get the selectors and envelopes that are left: they may have those of posts and arrivals that became plainer.
fn completed(events: Vec<Event>, fails: Fails<'_>) -> Vec<Event> {
    let mut issued = Issued::default();
    let complete = |event: &Event| {
        let event = issued.completed(event.clone());
        issued.note(&event);
        event
    };
    let completed: Vec<_> = events.iter().map(complete).collect();
    if completed != events && fails(&completed) { completed } else { events }
}

fn simplify(mut events: Vec<Event>, fails: Fails<'_>) -> Vec<Event> {
    for at in 0..events.len() {
        while let Some(simpler) = simpler(&events[at]).into_iter().find(|simpler| {
            let mut tried = events.clone();
            tried[at] = simpler.clone();
            fails(&tried)
        }) {
            events[at] = simpler;
        }
    }
    events
}
