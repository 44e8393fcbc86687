//! From a stream that breaks a law to the shortest and plainest one found that still does.

use std::collections::HashMap;

use matchpoint::{
    ContextId, Envelope, Event, Hints, Message, MsgId, Rank, Receive, RecvId, Selector, Tag, Wild,
};

/// Shortens `events` while `fails` holds for what is left: first by leaving events out (delta debugging, Zeller &
/// Hildebrandt 2002), then by plainer fields and smaller numbers, until neither helps.
pub fn shrink(mut events: Vec<Event>, fails: &dyn Fn(&[Event]) -> bool) -> Vec<Event> {
    loop {
        let before = events.clone();
        events = leave_out(events, fails);
        events = simplify(events, fails);
        for kind in KINDS {
            let renumbered = renumber(&events, kind);
            if renumbered != events && fails(&renumbered) {
                events = renumbered;
            }
        }
        if events == before {
            return events;
        }
    }
}

fn leave_out(mut events: Vec<Event>, fails: &dyn Fn(&[Event]) -> bool) -> Vec<Event> {
    let mut chunk = events.len().div_ceil(2);
    while chunk > 0 {
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

fn simplify(mut events: Vec<Event>, fails: &dyn Fn(&[Event]) -> bool) -> Vec<Event> {
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

/// Events a little plainer than this one. Each step goes down: from masked to any to one value, from many to few.
fn simpler(event: &Event) -> Vec<Event> {
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

/// One assertion less.
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

/// What can be numbered anew by itself: where one kind of number is the point, the others still become plain.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Contexts,
    Sources,
    Tags,
    Receives,
    Messages,
}

const KINDS: [Kind; 5] = [Kind::Contexts, Kind::Sources, Kind::Tags, Kind::Receives, Kind::Messages];

/// Numbers given anew in the order in which they appear.
struct Renumbering {
    kind: Kind,
    seen: HashMap<u64, u64>,
}

/// The same events with one kind of number given anew: ids from 1, the others from 0. Masks stay as they are.
fn renumber(events: &[Event], kind: Kind) -> Vec<Event> {
    let mut renumbering = Renumbering { kind, seen: HashMap::new() };
    events.iter().map(|event| renumbering.event(event)).collect()
}

impl Renumbering {
    fn number(&mut self, kind: Kind, number: u64) -> u64 {
        if kind != self.kind {
            return number;
        }
        let from = if matches!(kind, Kind::Receives | Kind::Messages) { 1 } else { 0 };
        let next = from + self.seen.len() as u64;
        *self.seen.entry(number).or_insert(next)
    }

    fn event(&mut self, event: &Event) -> Event {
        match event {
            Event::Post(receive) => {
                Event::Post(Receive::new(self.receive(receive.id), self.selector(&receive.selector)))
            }
            Event::Arrive(message) => Event::Arrive(self.message(message)),
            Event::Probe(selector) => Event::Probe(self.selector(selector)),
            Event::MatchedProbe(selector) => Event::MatchedProbe(self.selector(selector)),
            Event::Cancel(id) => Event::Cancel(self.receive(*id)),
            Event::Retract(id) => Event::Retract(self.message_id(*id)),
            Event::Readdress(id, source) => Event::Readdress(self.message_id(*id), self.source(*source)),
            Event::SetHints(context, hints) => Event::SetHints(self.context(*context), *hints),
            Event::Close(context) => Event::Close(self.context(*context)),
            Event::FailSource(context, source) => {
                Event::FailSource(self.context(*context), self.source(*source))
            }
            Event::ArriveBatch(messages) => {
                Event::ArriveBatch(messages.iter().map(|message| self.message(message)).collect())
            }
        }
    }

    fn context(&mut self, context: ContextId) -> ContextId {
        ContextId(self.number(Kind::Contexts, context.0.into()) as u32)
    }

    fn source(&mut self, source: Rank) -> Rank {
        if source == Rank::UNKNOWN { source } else { Rank(self.number(Kind::Sources, source.0)) }
    }

    fn tag(&mut self, tag: Tag) -> Tag {
        Tag(self.number(Kind::Tags, tag.0))
    }

    fn receive(&mut self, id: RecvId) -> RecvId {
        RecvId(self.number(Kind::Receives, id.0))
    }

    fn message_id(&mut self, id: MsgId) -> MsgId {
        MsgId(self.number(Kind::Messages, id.0))
    }

    fn message(&mut self, message: &Message) -> Message {
        let Envelope { context, source, tag } = message.envelope;
        let envelope = Envelope::new(self.context(context), self.source(source), self.tag(tag));
        Message::new(self.message_id(message.id), envelope)
    }

    fn selector(&mut self, selector: &Selector) -> Selector {
        let context = self.context(selector.context());
        let source = match selector.source() {
            Wild::Is(source) => Wild::Is(self.source(source)),
            any => any,
        };
        let tag = match selector.tag() {
            Wild::Is(tag) => Wild::Is(self.tag(tag)),
            open => open,
        };
        Selector::new(context, source, tag)
    }
}
