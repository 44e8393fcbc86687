//! Shrinking: a stream that breaks a law becomes a short and simple stream that still breaks the law.

mod long;
mod numbers;
mod plainer;

use std::cell::Cell;

use matchpoint::Event;

use self::numbers::plainer_numbers;
use self::plainer::{Fails, LONG, remove_parts, simpler_forms};
use crate::issued::Issued;

/// Maximum events of all attempts, about a minute.
const BUDGET: usize = 40_000_000;

/// Removes events (delta debugging, Zeller & Hildebrandt 2002), then tries simpler fields and smaller
/// numbers, until the stream no longer changes. `fails` holds for the result.
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
        events = remove_parts(events, 1, &fails);
        events = simplify(events, &fails);
        events = plainer_numbers(events, &fails);
        if events == before {
            break;
        }
    }
    events
}

/// Updates withdrawals, because shrinking may have changed the selectors and envelopes of their entries.
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
        while let Some(simpler) = simpler_forms(&events[at]).into_iter().find(|simpler| {
            let mut tried = events.clone();
            tried[at] = simpler.clone();
            fails(&tried)
        }) {
            events[at] = simpler;
        }
    }
    events
}
