//! Shrinking of streams of a hundred thousand events: bisection finds the necessary number of repetitions,
//! which a script prints in one line.

use std::ops::Range;

use matchpoint::{ContextId, Envelope, Event, Message, Rank, Receive, Selector, Tag};

use super::completed;
use super::numbers::{Kind, make_equal, plainer_numbers};
use super::plainer::{Fails, LONG, remove_parts, simpler_forms};

/// First attempts remove at least `1 / PART` of the stream.
const PART: usize = 64;

/// A run is a series of events that are equal except for ids. Streams with more runs are not repetitive;
/// streams with at most [`FEW_RUNS`] need no fillers.
const RUNS_MAX: usize = 300;
const FEW_RUNS: usize = 8;

pub(super) fn shorten(mut events: Vec<Event>, fails: Fails<'_>) -> Vec<Event> {
    loop {
        let before = events.len();
        events = make_keys_equal(completed(events, fails), fails);
        if runs(&events).len() > FEW_RUNS {
            let all = 0..events.len();
            replace_by_fillers(&mut events, all, fails);
        }
        if runs(&events).len() > RUNS_MAX {
            let smallest = events.len().div_ceil(PART);
            events = remove_parts(events, smallest, fails);
        }
        events = shorter_runs(events, fails);
        if events.len() <= LONG {
            return events;
        }
        if events.len() * 10 > before * 9 {
            events = simpler_runs(make_keys_equal(events, fails), fails);
            return plainer_numbers(events, fails);
        }
    }
}

/// Tries one envelope for all entries, else one number of each kind.
fn make_keys_equal(events: Vec<Event>, fails: Fails<'_>) -> Vec<Event> {
    let all: Vec<_> = events.iter().map(|event| with_tag(event, 0, 0)).collect();
    if all == events || fails(&all) {
        return all;
    }
    let kinds = [Kind::Contexts, Kind::Sources, Kind::Tags];
    kinds.into_iter().fold(events, |events, kind| make_equal(events, kind, fails))
}

/// The event with context and source 0, and the given tag.
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

/// Tries fillers for all events, then for halves, quarters and so on.
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
        // The other fields depend on the id.
        (Event::Cancel(_), Event::Cancel(_)) | (Event::Retract(_), Event::Retract(_)) => true,
        (Event::Probe(one), Event::Probe(other)) => one == other,
        (Event::MatchedProbe(one), Event::MatchedProbe(other)) => one == other,
        _ => false,
    }
}

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

/// Shortens runs, beginning with the last run, so that positions of earlier runs stay valid.
fn shorter_runs(mut events: Vec<Event>, fails: Fails<'_>) -> Vec<Event> {
    if runs(&events).len() > RUNS_MAX {
        return events;
    }
    for run in runs(&events).into_iter().rev() {
        let first = |length| [&events[..run.start + length], &events[run.end..]].concat();
        let length = smallest_sufficient(run.len(), &|length| fails(&first(length)));
        events = first(length);
        // A later event may need the last event of the run.
        let end = run.start + length;
        let last = |length| [&events[..run.start], &events[end - length..]].concat();
        let length = smallest_sufficient(length, &|length| fails(&last(length)));
        events = last(length);
    }
    events
}

/// The smallest number that suffices. `suffices` must be monotonic.
fn smallest_sufficient(all: usize, suffices: &dyn Fn(usize) -> bool) -> usize {
    if all == 0 || suffices(0) {
        return 0;
    }
    if !suffices(all - 1) {
        return all;
    }
    let (mut low, mut high) = (1, all - 1);
    while low < high {
        let middle = (low + high) / 2;
        if suffices(middle) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    high
}

fn simpler_runs(mut events: Vec<Event>, fails: Fails<'_>) -> Vec<Event> {
    for run in runs(&events).into_iter().take(RUNS_MAX) {
        let steps = simpler_forms(&events[run.start]).len();
        for step in 0..steps {
            let mut tried = events.clone();
            for event in &mut tried[run.clone()] {
                if let Some(simpler) = simpler_forms(event).into_iter().nth(step) {
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
