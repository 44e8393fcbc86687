//! Memory that cannot be had is refused, never an abort, and leaves the engine as it was: from the first byte on, and
//! after some at random, in the midst of a call. A program of its own, without the usual harness: the limit holds for all
//! threads, and one of the harness's would meet it.

use std::alloc::System;

use cap::Cap;
use matchpoint::event::Outcome;
use matchpoint::{
    ContextId, Drained, Engine, Entry, Envelope, Event, Message, MsgId, Queue, Rank, Receive, RecvId,
    Refused, Selector, Tag, Wild, engines,
};
use matchpoint_conformance::{Choices, Judge, generate};

#[global_allocator]
static MEMORY: Cap<System> = Cap::new(System, usize::MAX);

/// Plays an event while no more than so many bytes can be allocated. What the *caller* provides is there already.
fn starved(engine: &mut dyn Engine, event: &Event, bytes: usize) -> Outcome {
    let entries = engine.posted_len() + engine.unexpected_len();
    let mut drained = Drained {
        receives: Vec::with_capacity(entries),
        messages: Vec::with_capacity(entries),
        pending: Vec::with_capacity(entries),
    };
    let without_memory = |call: &mut dyn FnMut()| {
        MEMORY.set_limit(MEMORY.allocated() + bytes).expect("a limit that is kept as yet");
        call();
        MEMORY.set_limit(usize::MAX).expect("no limit is always kept");
    };
    match event {
        Event::Close(context) => without_memory(&mut || engine.close(*context, &mut drained)),
        Event::FailSource(context, source) => {
            without_memory(&mut || engine.fail_source(*context, *source, &mut drained))
        }
        Event::ArriveBatch(messages) => {
            let mut out = Vec::with_capacity(messages.len());
            let mut result = Ok(());
            without_memory(&mut || result = engine.arrive_batch(messages, &mut out));
            return Outcome::ArrivedBatch(out, result);
        }
        _ => {
            let mut outcome = None;
            without_memory(&mut || outcome = Some(event.play(engine)));
            return outcome.expect("the call was made");
        }
    }
    Outcome::Drained(drained)
}

fn queued(engine: &dyn Engine) -> Vec<Entry> {
    let mut entries = Vec::with_capacity(engine.posted_len() + engine.unexpected_len());
    MEMORY.set_limit(MEMORY.allocated()).expect("a limit that is kept as yet");
    for queue in [Queue::Posted, Queue::Unexpected] {
        engine.visit(queue, &mut |entry| entries.push(entry));
    }
    MEMORY.set_limit(usize::MAX).expect("no limit is always kept");
    entries
}

/// Plays a stream, each event first without memory and then, if that was refused, with it. Returns the refusals.
fn play(engine: &mut dyn Engine, name: &str, events: &[Event]) -> usize {
    let mut judge = Judge::new(engine.order(), false);
    let mut refusals = 0;
    for event in events {
        if !judge.admits(event) {
            continue;
        }
        let before = queued(engine);
        let mut outcome = starved(engine, event, 0);
        let refused = match &outcome {
            Outcome::Posted(Err(Refused::Memory))
            | Outcome::Arrived(Err(Refused::Memory))
            | Outcome::Readdressed(Err(Refused::Memory))
            | Outcome::Hinted(Err(Refused::Memory)) => true,
            // What arrived before the one refused did arrive.
            Outcome::ArrivedBatch(_, Err(Refused::Memory)) => return refusals + 1,
            _ => false,
        };
        if refused {
            refusals += 1;
            assert_eq!(queued(engine), before, "{name}: {event} was refused, but changed what is queued");
            outcome = event.play(engine);
        }
        if let Err(broken) = judge.judge(event, &outcome).and_then(|()| judge.compare(engine)) {
            panic!("{name}: {event}: {broken}");
        }
    }
    refusals
}

/// Bytes that a call may have, in such steps until it comes through.
fn budget(choices: &mut Choices<'_>, before: usize) -> usize {
    // Engines allocate from a few bytes to some KiB at once: a step should end between two allocations of a call.
    before + (1 << choices.below(13)) + choices.below(100) as usize
}

/// Plays a stream beside `list`, each event with a little memory, then a little more. Returns the refusals.
fn denied_at_random(name: &str, events: &[Event], mut choices: Choices<'_>) -> usize {
    let mut engines = [name, "list"].map(|name| engines::create(name).unwrap());
    let mut judge = Judge::new(engines[0].order(), false);
    let mut refusals = 0;
    for event in events.iter().filter(|event| !matches!(event, Event::ArriveBatch(_))) {
        if !judge.admits(event) {
            continue;
        }
        let (before, mut bytes) = (queued(&*engines[0]), 0);
        let right = event.play(&mut *engines[1]);
        let ours = loop {
            let outcome = starved(&mut *engines[0], event, bytes);
            let is_refused = matches!(
                &outcome,
                Outcome::Posted(Err(Refused::Memory))
                    | Outcome::Arrived(Err(Refused::Memory))
                    | Outcome::Readdressed(Err(Refused::Memory))
                    | Outcome::Hinted(Err(Refused::Memory))
            );
            if !is_refused {
                break outcome;
            }
            refusals += 1;
            assert_eq!(queued(&*engines[0]), before, "{name}: {event} with {bytes} bytes was refused");
            assert!(bytes < 1 << 20, "{name}: {event} is refused with {bytes} bytes");
            bytes = budget(&mut choices, bytes);
        };
        // Where less is promised than the list does, another answer may be as right: the judge knows.
        judge.judge(event, &ours).unwrap_or_else(|broken| panic!("{name}: {event}: {broken}"));
        if ours != right {
            assert!(engines[0].order() != engines[1].order(), "{name}: {event}: {ours:?}, not {right:?}");
            return refusals;
        }
    }
    refusals
}

/// Calls that put away what long queues left behind, while nothing can be allocated.
fn drained(engine: &mut dyn Engine, name: &str) {
    let envelope = |at: u64| Envelope::new(ContextId(0), Rank(at % 7), Tag(at));
    for at in 0..2000 {
        let message = Event::Arrive(Message::new(MsgId(at), envelope(at)));
        let _ = message.play(engine);
    }
    for at in 0..2000 {
        let _ = Event::Post(Receive::new(RecvId(at), Selector::exactly(&envelope(at)))).play(engine);
    }
    assert_eq!(engine.unexpected_len(), 0, "{name}");
    let any = Selector::new(ContextId(0), Wild::Any, Wild::Any);
    for event in [
        Event::Probe(any),
        Event::Arrive(Message::new(MsgId(5000), envelope(1))),
        Event::Post(Receive::new(RecvId(5000), any)),
        Event::Close(ContextId(0)),
    ] {
        starved(engine, &event, 0);
    }
}

/// A receive that finds the table full while there is too little memory to go on in software: it is refused, and all is in the
/// tables as before, until there is enough.
fn moved_without_memory(name: &str) {
    let mut choices = Choices::Seed(5);
    let envelope = |at: u64| Envelope::new(ContextId(0), Rank(at % 3), Tag(at));
    let receive = |at: u64| Receive::new(RecvId(at), Selector::exactly(&envelope(at)));
    let mut refusals = 0;
    for waiting in [0, 3, 300] {
        let mut engine = engines::create(name).unwrap_or_else(|error| panic!("{error}"));
        (0..4).for_each(|at| assert_eq!(engine.post(receive(at)), Ok(None)));
        let messages = (100..100 + waiting).map(|at| Message::new(MsgId(at), envelope(at)));
        messages.for_each(|message| assert_eq!(engine.arrive(message), Ok(None)));
        let (before, mut bytes) = (queued(&*engine), 0);
        while starved(&mut *engine, &Event::Post(receive(4)), bytes) == Outcome::Posted(Err(Refused::Memory))
        {
            refusals += 1;
            assert_eq!(queued(&*engine), before, "{name} with {bytes} bytes");
            assert_eq!(engine.substitute(), None, "{name} with {bytes} bytes");
            assert!(engine.statistics().contains(&("fell_back", 0.0)), "{name}: it did not fall back");
            // What was moved before the refusal is nowhere twice.
            assert_eq!(engine.queued_in(ContextId(0)), (4, waiting as usize), "{name} with {bytes} bytes");
            bytes = budget(&mut choices, bytes);
        }
        assert!(engine.statistics().contains(&("fell_back", 1.0)), "{name}: {:?}", engine.statistics());
        for at in (0..5).rev() {
            assert_eq!(engine.arrive(Message::new(MsgId(at), envelope(at))), Ok(Some(RecvId(at))), "{name}");
        }
        for at in (100..100 + waiting).rev() {
            assert_eq!(engine.post(receive(at)), Ok(Some(MsgId(at))), "{name}");
        }
        assert_eq!(
            (engine.posted_len(), engine.unexpected_len(), engine.substitute()),
            (0, 0, None),
            "{name}"
        );
    }
    assert!(refusals > 6, "{name} was refused {refusals} times: the test shows little");
}

fn main() {
    for name in ["optimistic:capacity=4,full=software", "optimistic_parallel:capacity=4,full=software"] {
        moved_without_memory(name);
    }
    let profiled =
        concat!("partner:mode=static,profile=", env!("CARGO_MANIFEST_DIR"), "/tests/some.partners");
    let roomy = engines::variants().filter(|variant| !variant.tight).map(|variant| variant.name);
    for ref name in roomy.chain([profiled.to_owned()]) {
        let mut refusals = 0;
        for (seed, (_, shape)) in (1..).zip(generate::SHAPES) {
            for stream in 0..4 {
                let events = generate::stream(*shape, Choices::Seed(seed * 100 + stream), 300);
                let mut engine = engines::create(name).unwrap_or_else(|error| panic!("{error}"));
                refusals += play(&mut *engine, name, &events);
                refusals += denied_at_random(name, &events, Choices::Seed(seed + stream));
            }
        }
        let mut engine = engines::create(name).unwrap_or_else(|error| panic!("{error}"));
        drained(&mut *engine, name);
        assert!(refusals > 0, "{name} never asked for memory: the test shows nothing");
    }
    println!(
        "test result: ok. 1 passed; 0 failed; 0 ignored; without memory calls are refused and change nothing"
    );
}
