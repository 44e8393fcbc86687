//! Applies a function to each kind of number in an event.

use matchpoint::{
    ContextId, Envelope, Event, Message, MsgId, Rank, Receive, RecvId, Selector, Tag, TagMask, Wild,
};

/// New numbers for the numbers of an event. The default methods return the old numbers.
pub(crate) trait Numbers {
    fn context(&mut self, context: ContextId) -> ContextId {
        context
    }

    /// Called for known sources only.
    fn source(&mut self, source: Rank) -> Rank {
        source
    }

    fn tag(&mut self, tag: Tag) -> Tag {
        tag
    }

    fn mask(&mut self, mask: TagMask) -> Wild<Tag> {
        Wild::Masked(mask)
    }

    fn receive(&mut self, id: u64) -> u64 {
        id
    }

    fn message(&mut self, id: u64) -> u64 {
        id
    }
}

pub(crate) fn map(event: &Event, to: &mut impl Numbers) -> Event {
    match event {
        Event::Post(posted) => Event::Post(receive(posted, to)),
        Event::Arrive(sent) => Event::Arrive(message(sent, to)),
        Event::Probe(given) => Event::Probe(selector(given, to)),
        Event::MatchedProbe(given) => Event::MatchedProbe(selector(given, to)),
        Event::Cancel(posted) => Event::Cancel(receive(posted, to)),
        Event::Retract(sent) => Event::Retract(message(sent, to)),
        Event::Readdress(sent, of) => Event::Readdress(message(sent, to), source(*of, to)),
        Event::SetHints(context, hints) => Event::SetHints(to.context(*context), *hints),
        Event::Close(context) => Event::Close(to.context(*context)),
        Event::FailSource(context, of) => Event::FailSource(to.context(*context), source(*of, to)),
        Event::ArriveBatch(sent) => Event::ArriveBatch(sent.iter().map(|sent| message(sent, to)).collect()),
    }
}

fn source(source: Rank, to: &mut impl Numbers) -> Rank {
    if source == Rank::UNKNOWN { source } else { to.source(source) }
}

fn receive(posted: &Receive, to: &mut impl Numbers) -> Receive {
    Receive::new(RecvId(to.receive(posted.id.0)), selector(&posted.selector, to))
}

fn message(sent: &Message, to: &mut impl Numbers) -> Message {
    let Envelope { context, source: sender, tag } = sent.envelope;
    let envelope = Envelope::new(to.context(context), source(sender, to), to.tag(tag));
    Message::new(MsgId(to.message(sent.id.0)), envelope)
}

fn selector(given: &Selector, to: &mut impl Numbers) -> Selector {
    let context = to.context(given.context());
    let source = match given.source() {
        Wild::Is(source) => Wild::Is(to.source(source)),
        any => any,
    };
    let tag = match given.tag() {
        Wild::Is(tag) => Wild::Is(to.tag(tag)),
        Wild::Masked(mask) => to.mask(mask),
        Wild::Any => Wild::Any,
    };
    Selector::new(context, source, tag)
}
