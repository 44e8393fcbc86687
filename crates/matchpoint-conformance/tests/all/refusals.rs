//! Tests of refused calls with a full table: a broken assertion is reported first, and nothing changes.

use matchpoint::{
    ContextId, Engine, Envelope, Hints, Message, MsgId, Rank, Receive, RecvId, Refused, Selector, Tag, Wild,
    engines,
};

const HERE: ContextId = ContextId(4);

/// Engines with a small table: name and capacity.
fn tight() -> impl Iterator<Item = (String, u64)> {
    engines::variants().filter(|variant| variant.is_tight).map(|variant| {
        let capacity = variant.name.split(&[':', ','][..]).find_map(|word| word.strip_prefix("capacity="));
        let capacity = capacity.and_then(|capacity| capacity.parse().ok());
        let capacity = capacity.unwrap_or_else(|| panic!("{} has no capacity", variant.name));
        (variant.name, capacity)
    })
}

fn receive(id: u64, context: ContextId, source: Wild<Rank>, tag: u64) -> Receive {
    Receive::new(RecvId(id), Selector::new(context, source, Wild::Is(Tag(tag))))
}

fn message(id: u64, context: ContextId, tag: u64) -> Message {
    Message::new(MsgId(id), Envelope::new(context, Rank(1), Tag(tag)))
}

/// An engine with a full table: receives from rank 1 with tags 0, 1, ….
fn full(name: &str, capacity: u64) -> Box<dyn Engine> {
    let mut engine = engines::create(name).unwrap();
    for tag in 0..capacity {
        assert_eq!(engine.post(receive(tag, HERE, Wild::Is(Rank(1)), tag)), Ok(None), "{name}");
    }
    engine
}

#[test]
fn broken_assertion_precedes_full_table() {
    for (name, capacity) in tight() {
        let mut engine = full(&name, capacity);
        let hints = Hints { no_any_source: true, no_unexpected: true, ..Hints::default() };
        assert_eq!(engine.set_hints(HERE, hints), Ok(()), "{name}: hints need no slot of the table");
        assert_eq!(engine.post(receive(1000, HERE, Wild::Any, 1000)), Err(Refused::Hint), "{name}");
        assert_eq!(engine.post(receive(1000, HERE, Wild::Is(Rank(1)), 1000)), Err(Refused::Full), "{name}");
        assert_eq!(engine.arrive_message(message(1000, HERE, 1000)), Err(Refused::Hint), "{name}");
        // The other context has no hint.
        let elsewhere = ContextId(5);
        assert_eq!(engine.post(receive(1000, elsewhere, Wild::Any, 1000)), Err(Refused::Full), "{name}");
        assert_eq!(engine.arrive_message(message(1000, elsewhere, 1000)), Ok(None), "{name}");
        // A match needs no slot, and frees a slot.
        assert_eq!(engine.post(receive(1000, elsewhere, Wild::Any, 1000)), Ok(Some(MsgId(1000))), "{name}");
        assert_eq!(engine.arrive_message(message(1000, HERE, 0)), Ok(Some(RecvId(0))), "{name}");
        assert_eq!(engine.post(receive(0, HERE, Wild::Any, 0)), Err(Refused::Hint), "{name}");
        assert_eq!(engine.set_hints(HERE, Hints::default()), Ok(()), "{name}");
        assert_eq!(engine.post(receive(0, HERE, Wild::Any, 0)), Ok(None), "{name}");
    }
}

#[test]
fn refused_call_allocates_nothing() {
    for (name, capacity) in tight() {
        let mut engine = full(&name, capacity);
        let hints = Hints { no_any_tag: true, no_unexpected: true, ..Hints::default() };
        assert_eq!(engine.set_hints(ContextId(9), hints), Ok(()));
        let before = engine.footprint();
        for context in 100..200 {
            assert_eq!(
                engine.post(receive(1000, ContextId(context), Wild::Any, 7)),
                Err(Refused::Full),
                "{name}"
            );
            assert_eq!(
                engine.arrive_message(message(1000, ContextId(9), context.into())),
                Err(Refused::Hint)
            );
        }
        assert_eq!(
            engine.footprint(),
            before,
            "{name}: a refused call allocated memory for its communicator"
        );
    }
}
