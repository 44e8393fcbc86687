//! Shrinks streams of a hundred thousand events. Bisection finds the necessary repetitions, and the script
//! has repetition counts ([`script::print`](matchpoint::event::script::print)).

use std::ops::Range;

use matchpoint::{ContextId, Envelope, Event, Message, Rank, Receive, Selector, Tag};

use super::completed;
use super::numbers::{Kind, all_alike, plainer_numbers};
use super::plainer::{Fails, LONG, leave_out, simpler};

/// First attempts leave out at least `1 / PART` of the stream.
const PART: usize = 64;

/// A stream with more runs is not repetitive. A stream with at most `FEW` runs needs no fillers.
const RUNS: usize = 300;
const FEW: usize = 8;

pub(super) fn shorten(mut events: Vec<Event>, fails: Fails<'_>) -> Vec<Event> {
    loop {
        let before = events.len();
        events = make_alike(completed(events, fails), fails);
        if runs(&events).len() > FEW {
            let all = 0..events.len();
            replace_by_fillers(&mut events, all, fails);
        }
        if runs(&events).len() > RUNS {
            let smallest = events.len().div_ceil(PART);
            events = leave_out(events, smallest, fails);
        }
        events = shorter_runs(events, fails);
        if events.len() <= LONG {
            return events;
        }
        if events.len() * 10 > before * 9 {
            events = simpler_runs(make_alike(events, fails), fails);
            return plainer_numbers(events, fails);
        }
    }
}

/// One envelope for all entries, or one number of each kind.
fn make_alike(events: Vec<Event>, fails: Fails<'_>) -> Vec<Event> {
    let all: Vec<_> = events.iter().map(|event| with_tag(event, 0, 0)).collect();
    if all == events || fails(&all) {
        return all;
    }
    let kinds = [Kind::Contexts, Kind::Sources, Kind::Tags];
    kinds.into_iter().fold(events, |events, kind| all_alike(events, kind, fails))
}

/// Context and source are 0.
fn with_tag(event: &Event, of_receives: u64, of_messages: u64) -> Event {
    let envelope = |tag| Envelope::new(ContextId(0), Rank(0), Tag(tag));
    match event {
        Event::Post(receive) => {
            Event::Post(Receive::new(receive.id, Selector::exactly(&envelope(of_receives))))
        }
        Event::Arrive(message) => Event::Arrive(Message::new(message.id, envelope(of_messages))),
        other => other.clone(),
    }
}

/// A receive or message without a match, which only occupies a queue.
fn filler(event: &Event) -> Event {
    with_tag(event, 1_000_000, 1_000_001)
}

/// First all events, then halves, quarters and so on.
fn replace_by_fillers(events: &mut Vec<Event>, range: Range<usize>, fails: Fails<'_>) {
    let mut tried = events.clone();
    tried[range.clone()].iter_mut().for_each(|event| *event = filler(event));
    if tried == *events {
        return;
    }
    if fails(&tried) {
        *events = tried;
    } else if range.len() > 1 {
        let middle = range.start + range.len() / 2;
        replace_by_fillers(events, range.start..middle, fails);
        replace_by_fillers(events, middle..range.end, fails);
    }
}

/// Returns true if the calls are equal except for their ids.
fn is_repetition(one: &Event, other: &Event) -> bool {
    match (one, other) {
        (Event::Post(one), Event::Post(other)) => one.selector == other.selector,
        (Event::Arrive(one), Event::Arrive(other)) => one.envelope == other.envelope,
        // The other fields follow from the id.
        (Event::Cancel(_), Event::Cancel(_)) | (Event::Retract(_), Event::Retract(_)) => true,
        (Event::Probe(one), Event::Probe(other)) => one == other,
        (Event::MatchedProbe(one), Event::MatchedProbe(other)) => one == other,
        _ => false,
    }
}

/// Repetitions of an event.
fn runs(events: &[Event]) -> Vec<Range<usize>> {
    let mut runs: Vec<Range<usize>> = Vec::new();
    for (at, event) in events.iter().enumerate() {
        match runs.last_mut() {
            Some(run) if is_repetition(&events[run.start], event) => run.end = at + 1,
            _ => runs.push(at..at + 1),
        }
    }
    runs
}

/// Shortens runs of events. The last runs are first, so that the positions of earlier runs stay valid.
fn shorter_runs(mut events: Vec<Event>, fails: Fails<'_>) -> Vec<Event> {
    if runs(&events).len() > RUNS {
        return events;
    }
    for run in runs(&events).into_iter().rev() {
        let first = |length| [&events[..run.start + length], &events[run.end..]].concat();
        let length = smallest_sufficient(run.len(), &|length| fails(&first(length)));
        events = first(length);
        // A later event may need the last event.
        let end = run.start + length;
        let last = |length| [&events[..run.start], &events[end - length..]].concat();
        let length = smallest_sufficient(length, &|length| fails(&last(length)));
        events = last(length);
    }
    events
}

/// The smallest number that is enough. `is_enough` must be monotonic.
fn smallest_sufficient(all: usize, is_enough: &dyn Fn(usize) -> bool) -> usize {
    if all == 0 || is_enough(0) {
        return 0;
    }
    if !is_enough(all - 1) {
        return all;
    }
    let (mut low, mut high) = (1, all - 1);
    while low < high {
        let middle = (low + high) / 2;
        if is_enough(middle) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    high
}

/// Simplifies all events of a run by one step.
fn simpler_runs(mut events: Vec<Event>, fails: Fails<'_>) -> Vec<Event> {
    for run in runs(&events).into_iter().take(RUNS) {
        let steps = simpler(&events[run.start]).len();
        for step in 0..steps {
            let mut tried = events.clone();
            for event in &mut tried[run.clone()] {
                if let Some(simpler) = simpler(event).into_iter().nth(step) {
                    *event = simpler;
                }
            }
            if fails(&tried) {
                events = tried;
                break;
            }
        }
    }
    events
}
