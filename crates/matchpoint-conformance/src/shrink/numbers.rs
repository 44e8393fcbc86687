//! Shrinking of numbers in all events, separately for each kind: if one kind must keep its numbers, the
//! others still become small.

use std::collections::HashMap;

use matchpoint::{ContextId, Event, Rank, Tag, TagMask, Wild};

use super::plainer::Fails;
use crate::renumber::{Numbers, map};

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Contexts,
    Sources,
    Tags,
    Receives,
    Messages,
}

const KINDS: [Kind; 5] = [Kind::Contexts, Kind::Sources, Kind::Tags, Kind::Receives, Kind::Messages];

/// Tries small numbers for each kind, else numbers with fewer bits.
pub(super) fn plainer_numbers(mut events: Vec<Event>, fails: Fails<'_>) -> Vec<Event> {
    for kind in KINDS {
        let smaller = smaller(&events, kind);
        events = if smaller == events || fails(&smaller) { smaller } else { fewer_bits(events, kind, fails) };
    }
    events
}

/// New numbers in order of appearance: ids from 1, other kinds from 0. Masks do not change.
fn smaller(events: &[Event], kind: Kind) -> Vec<Event> {
    let from = if matches!(kind, Kind::Receives | Kind::Messages) { 1 } else { 0 };
    let mut seen = HashMap::new();
    let new_number = |number| {
        let next = from + seen.len() as u64;
        *seen.entry(number).or_insert(next)
    };
    map_numbers(events, Change { kind, number: new_number, masks: false })
}

/// Tries 0 for all numbers of a kind. Masks then ignore no bits.
pub(super) fn make_equal(events: Vec<Event>, kind: Kind, fails: Fails<'_>) -> Vec<Event> {
    replace_numbers(events, kind, |_| 0, fails)
}

/// Clears unnecessary bits of numbers and masks, and moves the necessary bits down.
fn fewer_bits(mut events: Vec<Event>, kind: Kind, fails: Fails<'_>) -> Vec<Event> {
    for at in (0..64).rev() {
        let clear = |number| number & !(1 << at);
        events = replace_numbers(events, kind, clear, fails);
    }
    for at in 1..64 {
        let mut used = 0;
        let record_bits = |number| {
            used |= number;
            number
        };
        let _ = map_numbers(&events, Change { kind, number: record_bits, masks: true });
        let free = (!used).trailing_zeros();
        if used >> at & 1 == 1 && free < at {
            let down = |number: u64| number & !(1 << at) | (number >> at & 1) << free;
            events = replace_numbers(events, kind, down, fails);
        }
    }
    events
}

fn replace_numbers(
    events: Vec<Event>,
    kind: Kind,
    number: impl FnMut(u64) -> u64,
    fails: Fails<'_>,
) -> Vec<Event> {
    let changed = map_numbers(&events, Change { kind, number, masks: true });
    if changed != events && fails(&changed) { changed } else { events }
}

fn map_numbers(events: &[Event], mut change: Change<impl FnMut(u64) -> u64>) -> Vec<Event> {
    events.iter().map(|event| map(event, &mut change)).collect()
}

struct Change<N> {
    kind: Kind,
    number: N,
    masks: bool,
}

impl<N: FnMut(u64) -> u64> Change<N> {
    fn number(&mut self, kind: Kind, number: u64) -> u64 {
        if kind == self.kind { (self.number)(number) } else { number }
    }
}

impl<N: FnMut(u64) -> u64> Numbers for Change<N> {
    fn context(&mut self, context: ContextId) -> ContextId {
        ContextId(self.number(Kind::Contexts, context.0.into()) as u32)
    }

    fn source(&mut self, source: Rank) -> Rank {
        Rank(self.number(Kind::Sources, source.0.into()) as u32)
    }

    fn tag(&mut self, tag: Tag) -> Tag {
        Tag(self.number(Kind::Tags, tag.0))
    }

    fn mask(&mut self, mask: TagMask) -> Wild<Tag> {
        if !self.masks {
            return Wild::Masked(mask);
        }
        let ignore = self.number(Kind::Tags, mask.ignore);
        Wild::Masked(TagMask { value: self.tag(mask.value), ignore })
    }

    fn receive(&mut self, id: u64) -> u64 {
        self.number(Kind::Receives, id)
    }

    fn message(&mut self, id: u64) -> u64 {
        self.number(Kind::Messages, id)
    }
}
