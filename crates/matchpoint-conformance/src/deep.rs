//! Deep streams: queues beyond 65,536 entries, with growth, wildcards and withdrawals far from both ends.
//!
//! A linear engine must complete these streams in time, so only a few hundred calls match far from the front.

use matchpoint::{
    ContextId, Envelope, Event, Message, MsgId, Rank, Receive, RecvId, Selector, Tag, TagMask, Wild,
};

/// Name of a stream, and a function that creates the stream with `n` entries in a queue.
pub type Scenario = (&'static str, fn(u64) -> Vec<Event>);

pub const SCENARIOS: &[Scenario] = &[
    ("filled and drained in order", in_order),
    ("wildcards in long posted queue", posted),
    ("wildcard searches of long unexpected queue", unexpected),
    ("sequence numbers", sequences),
];

const DEEP_SEARCHES: u64 = 48;

const ANY_SOURCE: Wild<Rank> = Wild::Any;

fn from(source: u64) -> Wild<Rank> {
    Wild::Is(Rank(source as u32))
}

fn tagged(tag: u64) -> Wild<Tag> {
    Wild::Is(Tag(tag))
}

fn receive_of(id: u64, source: Wild<Rank>, tag: Wild<Tag>) -> Receive {
    Receive::new(RecvId(id), Selector::new(ContextId(0), source, tag))
}

fn message_of(id: u64, source: u64, tag: u64) -> Message {
    Message::new(MsgId(id), Envelope::new(ContextId(0), Rank(source as u32), Tag(tag)))
}

fn post(id: u64, source: Wild<Rank>, tag: Wild<Tag>) -> Event {
    Event::Post(receive_of(id, source, tag))
}

fn arrive(id: u64, source: u64, tag: u64) -> Event {
    Event::Arrive(message_of(id, source, tag))
}

/// Fills and empties each queue completely, then partially.
fn in_order(n: u64) -> Vec<Event> {
    let mut events = Vec::new();
    let mut next = 0;
    for n in [n, n / 16, n / 8] {
        let ids = next..next + n;
        next += n;
        // Matches are near the front.
        events.extend(ids.clone().map(|id| post(id, from(id % 3), tagged(1))));
        events.extend(ids.clone().map(|id| arrive(id, id % 3, 1)));
        events.extend(ids.clone().map(|id| arrive(next + id, id % 3, 1)));
        let source_of = |id: u64| if id % 64 == 0 { ANY_SOURCE } else { from(id % 3) };
        events.extend(ids.map(|id| post(next + id, source_of(id), tagged(1))));
        next += n;
    }
    events
}

/// `DEEP_SEARCHES` numbers less than `n`, evenly spaced, including both ends.
fn spread(n: u64) -> impl DoubleEndedIterator<Item = u64> + Clone {
    (0..DEEP_SEARCHES).map(move |at| at * (n.max(1) - 1) / (DEEP_SEARCHES - 1))
}

fn posted(n: u64) -> Vec<Event> {
    let masked = |value| Wild::Masked(TagMask { value: Tag(value), ignore: 0xFF });
    let receive = |id: u64| match id % 1000 {
        999 => (ANY_SOURCE, tagged(id % 64)),
        500 => (from(id % 64), Wild::Any),
        250 => (from(id % 64), masked(id % 64)),
        _ => (from(id % 64), tagged((id / 64) << 8)),
    };
    let mut events: Vec<_> = (0..n).map(|id| post(id, receive(id).0, receive(id).1)).collect();
    // An old exact receive and a young wildcard receive, and the reverse, far apart.
    events.insert(0, post(n, from(1), tagged(u64::MAX)));
    events.extend([post(n + 1, ANY_SOURCE, tagged(u64::MAX)), post(n + 2, from(1), tagged(u64::MAX))]);
    let mut next = 0;
    let mut message = |source, tag| {
        next += 1;
        arrive(next, source, tag)
    };
    events.extend((0..3).map(|_| message(1, u64::MAX)));
    events.extend(spread(n).rev().map(|id| message(id % 64, (id / 64) << 8)));
    events.extend(spread(n).map(|id| message(100, id % 64)));
    events.extend(spread(n).map(|id| message(id % 64, 0xFF)));
    // Cancels from both ends inwards. Some ids occur twice: the second cancel must find no receive.
    let ends = (0..DEEP_SEARCHES).flat_map(|at| [n.saturating_sub(1 + at), at]);
    events
        .extend(ends.chain(spread(n)).map(|id| Event::Cancel(receive_of(id, receive(id).0, receive(id).1))));
    events.extend([Event::FailSource(ContextId(0), Rank(3)), Event::Close(ContextId(0))]);
    events.extend([post(1, from(1), tagged(1)), message(1, 1)]);
    events
}

/// A long unexpected queue, searched by receives and probes with every wildcard.
fn unexpected(n: u64) -> Vec<Event> {
    let source = |id: u64| if id % 1000 == 7 { u64::from(Rank::UNKNOWN.0) } else { id % 64 };
    let mut events: Vec<_> = (0..n).map(|id| arrive(id, source(id), id / 64)).collect();
    let mut next = 0;
    let mut probe_and_post = |source, tag| {
        next += 1;
        [Event::Probe(Selector::new(ContextId(0), source, tag)), post(next, source, tag)]
    };
    let ones = |id: u64| Wild::Masked(TagMask { value: Tag(id / 64), ignore: 1 << 40 });
    events.extend(spread(n).rev().flat_map(|id| probe_and_post(from(id % 64), tagged(id / 64))));
    events.extend(spread(n).flat_map(|id| probe_and_post(ANY_SOURCE, tagged(id / 64))));
    events.extend(spread(n).rev().flat_map(|id| probe_and_post(from(id % 64), ones(id))));
    events.extend(spread(n).flat_map(|id| probe_and_post(from(id % 64), Wild::Any)));
    events.extend((0..DEEP_SEARCHES).flat_map(|_| probe_and_post(ANY_SOURCE, Wild::Any)));
    let unknown_sources = (0..n).filter(|&id| source(id) == Rank::UNKNOWN.0.into());
    events.extend(
        unknown_sources
            .step_by(2)
            .map(|id| Event::Readdress(message_of(id, source(id), id / 64), Rank((id % 64) as u32))),
    );
    let ends = (0..DEEP_SEARCHES).flat_map(|at| [n.saturating_sub(1 + at), at]);
    events.extend(ends.chain(spread(n)).map(|id| Event::Retract(message_of(id, source(id), id / 64))));
    // Receives in order, past the slots of removed messages.
    events.extend((0..n / 8).flat_map(|_| probe_and_post(ANY_SOURCE, Wild::Any).into_iter().skip(1)));
    events.extend([Event::Close(ContextId(0)), arrive(1, 1, 1)]);
    events.extend(probe_and_post(ANY_SOURCE, tagged(1)));
    events
}

/// Many posts and arrivals, so that sequence numbers overflow. Two receives match each message, in either
/// order.
fn sequences(n: u64) -> Vec<Event> {
    let mut events = Vec::new();
    for round in 0..n.div_ceil(2) {
        let (id, tag) = (2 * round, round % 3);
        let source_of = if round % 2 == 0 { [ANY_SOURCE, from(1)] } else { [from(1), ANY_SOURCE] };
        events.extend([post(id, source_of[0], tagged(tag)), post(id + 1, source_of[1], tagged(tag))]);
        events.extend([arrive(id, 1, tag), arrive(id + 1, 1, tag)]);
        if round % 4 == 0 {
            events.extend([arrive(id, 1, tag), arrive(id + 1, 2, tag)]);
            events.extend([
                post(id, ANY_SOURCE, tagged(tag)),
                post(id + 1, source_of[round as usize % 2], Wild::Any),
            ]);
            events.push(post(id + 1, ANY_SOURCE, tagged(tag)));
        }
    }
    events
}
