//! Shrinking of events: removal, and simpler fields.

use matchpoint::{Event, Hints, Message, Rank, Receive, Selector, Tag, Wild};

/// Longer streams are first shortened by runs of equal events, because removal of single events is quadratic.
pub(super) const LONG: usize = 2000;

/// True if the law is still broken.
pub(super) type Fails<'a> = &'a dyn Fn(&[Event]) -> bool;

/// Removes halves, quarters and so on, down to `smallest_part` events at a time, while the stream fails.
pub(super) fn remove_parts(mut events: Vec<Event>, smallest_part: usize, fails: Fails<'_>) -> Vec<Event> {
    let mut chunk = events.len().div_ceil(2);
    while chunk >= smallest_part.max(1) {
        let mut at = 0;
        while at < events.len() {
            let end = (at + chunk).min(events.len());
            let rest = [&events[..at], &events[end..]].concat();
            if fails(&rest) {
                events = rest;
            } else {
                at = end;
            }
        }
        chunk /= 2;
    }
    events
}

/// Simpler forms of an event: a masked tag becomes any tag or a value, a wildcard becomes a value, a batch or
/// hints lose an element.
pub(super) fn simpler_forms(event: &Event) -> Vec<Event> {
    match event {
        Event::Post(receive) => {
            simpler_selectors(receive.selector).map(|s| Event::Post(Receive::new(receive.id, s))).collect()
        }
        Event::Probe(selector) => simpler_selectors(*selector).map(Event::Probe).collect(),
        Event::MatchedProbe(selector) => simpler_selectors(*selector).map(Event::MatchedProbe).collect(),
        Event::ArriveBatch(messages) => simpler_batches(messages),
        Event::SetHints(context, hints) => {
            simpler_hints(*hints).map(|h| Event::SetHints(*context, h)).collect()
        }
        _ => Vec::new(),
    }
}

fn simpler_hints(hints: Hints) -> impl Iterator<Item = Hints> {
    let without = [
        Hints { no_any_source: false, ..hints },
        Hints { no_any_tag: false, ..hints },
        Hints { exact_length: false, ..hints },
        Hints { allow_overtaking: false, ..hints },
        Hints { no_unexpected: false, ..hints },
    ];
    without.into_iter().filter(move |fewer| *fewer != hints)
}

fn simpler_batches(messages: &[Message]) -> Vec<Event> {
    if let [message] = messages {
        return vec![Event::Arrive(*message)];
    }
    let without = |at| Event::ArriveBatch([&messages[..at], &messages[at + 1..]].concat());
    (0..messages.len()).map(without).collect()
}

fn simpler_selectors(selector: Selector) -> impl Iterator<Item = Selector> {
    let (context, source, tag) = (selector.context(), selector.source(), selector.tag());
    let sources = if source == Wild::Any { vec![Wild::Is(Rank(0))] } else { Vec::new() };
    let tags = match tag {
        Wild::Is(_) => Vec::new(),
        Wild::Any => vec![Wild::Is(Tag(0))],
        Wild::Masked(mask) => vec![Wild::Any, Wild::Is(mask.value)],
    };
    let by_source = sources.into_iter().map(move |source| Selector::new(context, source, tag));
    by_source.chain(tags.into_iter().map(move |tag| Selector::new(context, source, tag)))
}
