//! From a stream that breaks a law to the shortest and plainest one found that still does.

use std::collections::HashMap;
use std::hash::Hash;

use matchpoint::{ContextId, Envelope, Event, Message, MsgId, Rank, Receive, RecvId, Selector, Tag, Wild};

/// Shortens `events` while `fails` holds for what is left: first by leaving events out (delta debugging, Zeller &
/// Hildebrandt 2002), then by plainer fields and smaller numbers, until neither helps.
pub fn shrink(mut events: Vec<Event>, fails: &dyn Fn(&[Event]) -> bool) -> Vec<Event> {
    loop {
        let before = events.clone();
        events = leave_out(events, fails);
        events = simplify(events, fails);
        let renumbered = renumber(&events);
        if renumbered != events && fails(&renumbered) {
            events = renumbered;
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
        _ => Vec::new(),
    }
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

/// Numbers given anew in the order in which they appear.
struct Numbers<K>(HashMap<K, u64>);

impl<K: Hash + Eq> Numbers<K> {
    fn of(&mut self, key: K) -> u64 {
        let next = self.0.len() as u64;
        *self.0.entry(key).or_insert(next)
    }
}

struct Renumbering {
    contexts: Numbers<ContextId>,
    sources: Numbers<Rank>,
    tags: Numbers<Tag>,
    receives: Numbers<RecvId>,
    messages: Numbers<MsgId>,
}

/// The same events with ids from 1, contexts, sources and tags from 0. Masks stay: they may then mean something else.
fn renumber(events: &[Event]) -> Vec<Event> {
    let mut numbers = Renumbering {
        contexts: Numbers(HashMap::new()),
        sources: Numbers(HashMap::new()),
        tags: Numbers(HashMap::new()),
        receives: Numbers(HashMap::new()),
        messages: Numbers(HashMap::new()),
    };
    events.iter().map(|event| numbers.event(event)).collect()
}

impl Renumbering {
    fn event(&mut self, event: &Event) -> Event {
        match event {
            Event::Post(receive) => {
                Event::Post(Receive::new(self.receive(receive.id), self.selector(&receive.selector)))
            }
            Event::Arrive(message) => Event::Arrive(self.message(message)),
            Event::Probe(selector) => Event::Probe(self.selector(selector)),
            Event::MatchedProbe(selector) => Event::MatchedProbe(self.selector(selector)),
            Event::Cancel(id) => Event::Cancel(self.receive(*id)),
            Event::Retract(id) => Event::Retract(MsgId(1 + self.messages.of(*id))),
            Event::Readdress(id, source) => {
                Event::Readdress(MsgId(1 + self.messages.of(*id)), self.source(*source))
            }
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
        ContextId(self.contexts.of(context) as u32)
    }

    fn source(&mut self, source: Rank) -> Rank {
        if source == Rank::UNKNOWN { source } else { Rank(self.sources.of(source)) }
    }

    fn receive(&mut self, id: RecvId) -> RecvId {
        RecvId(1 + self.receives.of(id))
    }

    fn message(&mut self, message: &Message) -> Message {
        let Envelope { context, source, tag } = message.envelope;
        let envelope = Envelope::new(self.context(context), self.source(source), Tag(self.tags.of(tag)));
        Message::new(MsgId(1 + self.messages.of(message.id)), envelope)
    }

    fn selector(&mut self, selector: &Selector) -> Selector {
        let context = self.context(selector.context());
        let source = match selector.source() {
            Wild::Is(source) => Wild::Is(self.source(source)),
            any => any,
        };
        let tag = match selector.tag() {
            Wild::Is(tag) => Wild::Is(Tag(self.tags.of(tag))),
            open => open,
        };
        Selector::new(context, source, tag)
    }
}
