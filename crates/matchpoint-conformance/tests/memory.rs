//! Test: a call without memory is refused, changes nothing and never aborts.
//!
//! The first or a random allocation of a call fails. A separate program without the usual test harness,
//! because the limit holds for all threads.

mod alone;

use std::alloc::System;

use alone::Alone;
use cap::Cap;
use matchpoint::event::Outcome;
use matchpoint::{
    ContextId, Drained, Engine, Entry, Envelope, Event, Message, MsgId, Pair, Queue, Rank, Readdressed,
    Receive, RecvId, Refused, Selector, Tag, TagMask, Wild, concurrent, engines,
};
use matchpoint_conformance::{Choices, Oracle, generate};

#[global_allocator]
static MEMORY: Cap<System> = Cap::new(System, usize::MAX);

/// Runs an event with at most `bytes` bytes to allocate. Memory for results is reserved before.
fn play_with_limit(engine: &mut dyn Engine, event: &Event, bytes: usize) -> Outcome {
    let entries = engine.posted_len() + engine.unexpected_len();
    let mut drained = Drained {
        receives: Vec::with_capacity(entries),
        messages: Vec::with_capacity(entries),
        pending: Vec::with_capacity(entries),
    };
    let without_memory = |call: &mut dyn FnMut()| {
        MEMORY.set_limit(MEMORY.allocated() + bytes).expect("allocated bytes are below the limit");
        call();
        MEMORY.set_limit(usize::MAX).expect("usize::MAX is no limit");
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

fn is_refused(outcome: &Outcome) -> bool {
    matches!(
        outcome,
        Outcome::Posted(Err(Refused::Memory))
            | Outcome::Arrived(Err(Refused::Memory))
            | Outcome::Readdressed(Err(Refused::Memory))
            | Outcome::Hinted(Err(Refused::Memory))
    )
}

fn queued(engine: &dyn Engine) -> Vec<Entry> {
    let mut entries = Vec::with_capacity(engine.posted_len() + engine.unexpected_len());
    MEMORY.set_limit(MEMORY.allocated()).expect("allocated bytes are below the limit");
    for queue in [Queue::Posted, Queue::Unexpected] {
        engine.visit(queue, &mut |entry| {
            entries.push(match entry {
                // Without fields that an engine need not store.
                Entry::Message(message) => Entry::Message(Message::new(message.id, message.envelope)),
                receive => receive,
            });
        });
    }
    MEMORY.set_limit(usize::MAX).expect("usize::MAX is no limit");
    entries
}

fn made(name: &str) -> Box<dyn Engine> {
    match name.split_once(":engine=") {
        Some(_) => concurrent::create(name).map(|engine| Box::new(Alone(engine)) as Box<dyn Engine>),
        None => engines::create(name),
    }
    .unwrap_or_else(|error| panic!("{error}"))
}

/// Runs each event without memory, and after a refusal with memory. Returns the number of refusals.
fn play(engine: &mut dyn Engine, name: &str, events: &[Event]) -> usize {
    let mut oracle = Oracle::new(engine.order(), false);
    let mut refusals = 0;
    for event in events {
        let Some(event) = &oracle.admit(event) else { continue };
        let before = queued(engine);
        let mut outcome = play_with_limit(engine, event, 0);
        if let (Event::ArriveBatch(messages), Outcome::ArrivedBatch(out, result @ Err(Refused::Memory))) =
            (event, &mut outcome)
        {
            // Messages before the refused message have arrived.
            refusals += 1;
            *result = engine.arrive_batch(&messages[out.len()..], out);
        }
        if is_refused(&outcome) {
            refusals += 1;
            assert_eq!(queued(engine), before, "{name}: the refused call {event} changed a queue");
            outcome = event.play(engine);
        }
        if let Err(broken) = oracle.check(event, &outcome).and_then(|()| oracle.compare(engine)) {
            panic!("{name}: {event}: {broken}");
        }
    }
    refusals
}

fn budget(choices: &mut Choices<'_>, before: usize) -> usize {
    // Engines allocate from a few bytes to some KiB at once. A limit should fall between two allocations.
    before + (1 << choices.below(13)) + choices.below(100) as usize
}

/// Runs a batch with little memory, then the rest with a little more.
fn play_batch_with_random_limits(
    engine: &mut dyn Engine,
    name: &str,
    messages: &[Message],
    choices: &mut Choices<'_>,
    refusals: &mut usize,
) -> Outcome {
    let (mut all, mut bytes) = (Vec::with_capacity(messages.len()), 0);
    loop {
        let before = queued(engine);
        let rest = Event::ArriveBatch(messages[all.len()..].to_vec());
        let Outcome::ArrivedBatch(out, result) = play_with_limit(engine, &rest, bytes) else {
            unreachable!()
        };
        if result != Err(Refused::Memory) {
            all.extend(out);
            return Outcome::ArrivedBatch(all, result);
        }
        *refusals += 1;
        if out.is_empty() {
            assert_eq!(queued(engine), before, "{name}: {rest} with {bytes} bytes was refused");
        }
        assert!(bytes < 1 << 20, "{name}: {rest} is refused with {bytes} bytes");
        all.extend(out);
        bytes = budget(choices, bytes);
    }
}

/// Runs each event with little memory, then a little more, and compares with `list`. Returns the number of
/// refusals.
fn play_with_random_limits(name: &str, events: &[Event], mut choices: Choices<'_>) -> usize {
    let mut engines = [name, "list"].map(made);
    let mut oracle = Oracle::new(engines[0].order(), false);
    let mut refusals = 0;
    for event in events {
        let Some(event) = &oracle.admit(event) else { continue };
        let (before, mut bytes) = (queued(&*engines[0]), 0);
        let expected = event.play(&mut *engines[1]);
        let tested = loop {
            if let Event::ArriveBatch(messages) = event {
                let engine = &mut *engines[0];
                break play_batch_with_random_limits(engine, name, messages, &mut choices, &mut refusals);
            }
            let outcome = play_with_limit(&mut *engines[0], event, bytes);
            if !is_refused(&outcome) {
                break outcome;
            }
            refusals += 1;
            assert_eq!(queued(&*engines[0]), before, "{name}: {event} with {bytes} bytes was refused");
            assert!(bytes < 1 << 20, "{name}: {event} is refused with {bytes} bytes");
            bytes = budget(&mut choices, bytes);
        };
        // If the engine promises a weaker order than `list`, only the oracle decides.
        oracle.check(event, &tested).unwrap_or_else(|broken| panic!("{name}: {event}: {broken}"));
        if tested != expected {
            assert!(
                engines[0].order() != engines[1].order(),
                "{name}: {event}: {tested:?}, not {expected:?}"
            );
            return refusals;
        }
    }
    refusals
}

/// After long queues, runs calls without memory that may shrink tables.
fn withdraw_without_memory(engine: &mut dyn Engine, name: &str) {
    let envelope = |at: u64| Envelope::new(ContextId(0), Rank((at % 7) as u32), Tag(at));
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
        play_with_limit(engine, &event, 0);
    }
}

/// Fills the table while memory for the software fallback is missing. The receive is refused and the table is
/// unchanged, until memory suffices.
fn migrate_without_memory(name: &str) {
    let mut choices = Choices::Seed(5);
    let envelope = |at: u64| Envelope::new(ContextId(0), Rank((at % 3) as u32), Tag(at));
    let receive = |at: u64| Receive::new(RecvId(at), Selector::exactly(&envelope(at)));
    let mut refusals = 0;
    for waiting in [0, 3, 300] {
        let mut engine = engines::create(name).unwrap_or_else(|error| panic!("{error}"));
        (0..4).for_each(|at| assert_eq!(engine.post(receive(at)), Ok(None)));
        let messages = (100..100 + waiting).map(|at| Message::new(MsgId(at), envelope(at)));
        messages.for_each(|message| assert_eq!(engine.arrive_message(message), Ok(None)));
        let (before, mut bytes) = (queued(&*engine), 0);
        while play_with_limit(&mut *engine, &Event::Post(receive(4)), bytes)
            == Outcome::Posted(Err(Refused::Memory))
        {
            refusals += 1;
            assert_eq!(queued(&*engine), before, "{name} with {bytes} bytes");
            assert_eq!(engine.substitute(), None, "{name} with {bytes} bytes");
            assert!(engine.statistics().contains(&("fell_back", 0.0)), "{name}: the refused call fell back");
            // A refused migration leaves no entry in both engines.
            assert_eq!(engine.queued_in(ContextId(0)), (4, waiting as usize), "{name} with {bytes} bytes");
            bytes = budget(&mut choices, bytes);
        }
        assert!(engine.statistics().contains(&("fell_back", 1.0)), "{name}: {:?}", engine.statistics());
        for at in (0..5).rev() {
            assert_eq!(
                engine.arrive_message(Message::new(MsgId(at), envelope(at))),
                Ok(Some(RecvId(at))),
                "{name}"
            );
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
    assert!(refusals > 6, "{name}: only {refusals} refusals");
}

/// An index by source has no memory for a readdressed message. Receives must still find the message.
fn find_readdressed_without_memory() {
    let mut engine = engines::create("hybrid:seed=1").unwrap();
    for at in 0..3000 {
        let source = if at < 100 { Rank(1) } else { Rank::UNKNOWN };
        let envelope = Envelope::new(ContextId(0), source, Tag(at));
        assert_eq!(engine.arrive_message(Message::new(MsgId(at), envelope)), Ok(None));
    }
    let from = Selector::new(ContextId(0), Wild::Is(Rank(2)), Wild::Any);
    assert_eq!(engine.probe(&from), None);
    let mut with_source = 0;
    // Youngest first, so that each message becomes the oldest of its source.
    for at in (100..3000).rev() {
        let unknown_source = Envelope::new(ContextId(0), Rank::UNKNOWN, Tag(at));
        let event = Event::Readdress(Message::new(MsgId(at), unknown_source), Rank(2));
        match play_with_limit(&mut *engine, &event, 0) {
            Outcome::Readdressed(Ok(Readdressed::SourceSet)) => with_source += 1,
            Outcome::Readdressed(Err(Refused::Memory)) => {
                assert_eq!(event.play(&mut *engine), Outcome::Readdressed(Ok(Readdressed::SourceSet)));
            }
            outcome => panic!("{at}: {outcome:?}"),
        }
        assert_eq!(engine.probe(&from), Some(MsgId(at)));
    }
    assert!(with_source > 2000, "{with_source} messages were readdressed without memory");
}

/// Returns the selector of a receive, and the oldest message that matches.
type Asks = fn(u64) -> (Selector, MsgId);

/// Wildcard receives find messages far from the front with no, little or enough memory. An index may be
/// incomplete, but results must be right.
fn find_distant_without_memory(name: &str) {
    const WAITING: u64 = 5000;
    const WORLD: ContextId = ContextId(0);
    let kinds: [Asks; 3] = [
        |at| (Selector::new(WORLD, Wild::Any, Wild::Is(Tag(at))), MsgId(at)),
        |at| (Selector::new(WORLD, Wild::Is(Rank((at % 64) as u32)), Wild::Any), MsgId(at % 64)),
        |at| {
            let tag = Wild::Masked(TagMask { value: Tag(at), ignore: 1 << 40 });
            (Selector::new(WORLD, Wild::Any, tag), MsgId(at))
        },
    ];
    for (selector_of, bytes) in
        kinds.into_iter().flat_map(|selector_of| [0, 900, 5000].map(|bytes| (selector_of, bytes)))
    {
        let mut engine = made(name);
        // A receive of the same class in another context, so that later calls need memory only for the
        // search.
        let selector = selector_of(1 << 20).0;
        let selector = Selector::new(ContextId(1), selector.source(), selector.tag());
        assert_eq!(engine.post(Receive::new(RecvId(0), selector)), Ok(None), "{name}");
        for at in 0..WAITING {
            let message = Message::new(MsgId(at), Envelope::new(WORLD, Rank((at % 64) as u32), Tag(at)));
            assert_eq!(engine.arrive_message(message), Ok(None), "{name}");
        }
        for at in [WAITING - 1, 3000, 4000] {
            let (selector, found) = selector_of(at);
            let probe = Event::Probe(selector);
            let reported = play_with_limit(&mut *engine, &probe, bytes);
            assert_eq!(reported, Outcome::Found(Some(found)), "{name}: {probe}, with {bytes} bytes");
        }
    }
}

/// Of many messages, every 20th stays queued, and allocations often fail.
fn receive_around_leaks_without_memory() {
    let mut engine = engines::create("hybrid:seed=1").unwrap();
    let envelope = |at: u64, source| Envelope::new(ContextId(0), Rank(source), Tag(at % 3));
    let mut leaked = Vec::new();
    let mut refusals = 0;
    for at in 0..60_000_u64 {
        let is_leaked = at % 20 == 0;
        let message = Message::new(MsgId(at), envelope(at, if is_leaked { 0 } else { 1 + (at % 5) as u32 }));
        let bytes = [0, 600, 1_200, 2_400, 9_000, 40_000, 200_000][(at / 7 % 7) as usize];
        if play_with_limit(&mut *engine, &Event::Arrive(message), bytes)
            == Outcome::Arrived(Err(Refused::Memory))
        {
            refusals += 1;
            assert_eq!(engine.arrive_message(message), Ok(None));
        }
        if is_leaked {
            leaked.push(MsgId(at));
        } else {
            let receive = Receive::new(RecvId(at), Selector::exactly(&message.envelope));
            assert_eq!(engine.post(receive), Ok(Some(MsgId(at))));
        }
    }
    assert!(refusals > 100, "only {refusals} refusals");
    let bytes = engine.footprint().now_bytes();
    // A block of 64 messages takes 1,088 bytes while one of its messages is queued.
    assert!(bytes < 1_200_000, "{bytes} bytes");
    let any = Selector::new(ContextId(0), Wild::Any, Wild::Any);
    for message in leaked {
        assert_eq!(engine.post(Receive::new(RecvId(message.0), any)), Ok(Some(message)));
    }
}

fn without_memory<T>(call: impl FnOnce() -> T) -> T {
    MEMORY.set_limit(MEMORY.allocated()).expect("allocated bytes are below the limit");
    let result = call();
    MEMORY.set_limit(usize::MAX).expect("usize::MAX is no limit");
    result
}

/// Matches receives of context 0 and messages of context 1.
fn take_entries(engine: &mut dyn Engine, tags: std::ops::Range<u64>) {
    for at in tags {
        assert_eq!(engine.arrive(MsgId(at), Pair(at % 3), Tag(at)), Ok(Some(RecvId(at))));
        let taken = engine.post_exact(RecvId(at), Pair((1 << 32) | (at % 3)), Tag(at));
        assert_eq!(taken, Ok(Some(MsgId(at))));
    }
}

/// Queues a receive of context 0 or a message of context 1. No entries match.
fn queue_entry(engine: &mut dyn Engine, at: u64, choice: u64) -> Result<bool, Refused> {
    let receive = |engine: &mut dyn Engine, selector| {
        engine.post(Receive::new(RecvId(at), selector)).map(|taken| taken.is_none())
    };
    match choice % 6 {
        0 => receive(engine, Selector::of(Pair(at % 3), at, 0)),
        1 => receive(engine, Selector::of(Pair(9), at % 40, 0)),
        2 => engine.arrive(MsgId(at), Pair((1 << 32) | (at % 3)), Tag(at)).map(|taken| taken.is_none()),
        3 => engine.arrive(MsgId(at), Pair(1 << 32 | 8), Tag(at % 40)).map(|taken| taken.is_none()),
        _ => {
            let source = if choice / 6 % 2 == 0 { u64::from(u32::MAX) } else { at % 5 };
            receive(engine, Selector::of(Pair(source), at << 20, 1 << (choice / 12 % 20)))
        }
    }
}

/// After a reservation, any mix of the reserved number of entries is queued without an allocation.
fn queue_reserved_without_memory(name: &str) {
    // Entries in each queue before, at and after the reservation; then the number of reserved entries.
    let cases = [
        [0, 0, 0, 1],
        [0, 0, 0, 64],
        [0, 0, 0, 4000],
        [40_000, 0, 0, 3000],
        [3000, 3000, 3000, 3000],
        [700, 700, 700, 699],
        [40_000, 40_000, 0, 500],
        [40_000, 40_000, 0, 12_000],
        [20_000, 500, 5, 2000],
    ];
    for (case, [first, reserved, left, count]) in cases.into_iter().enumerate() {
        for seed in 0..8 {
            let mut choices = Choices::Seed(seed);
            let mut engine = engines::create(name).unwrap();
            for at in 0..first {
                assert_eq!(engine.post_exact(RecvId(at), Pair(at % 3), Tag(at)), Ok(None));
                assert_eq!(engine.arrive(MsgId(at), Pair((1 << 32) | (at % 3)), Tag(at)), Ok(None));
            }
            take_entries(&mut *engine, reserved..first);
            assert_eq!(engine.reserve(count as usize), Ok(()), "{name}");
            let mut drained = Drained::default();
            // Removes entries, with or without memory for smaller tables.
            let mut leave = || {
                take_entries(&mut *engine, left..reserved);
                engine.close(ContextId(5), &mut drained);
            };
            if seed % 2 == 0 {
                leave()
            } else {
                without_memory(leave)
            }
            for at in 0..count {
                let choice = match seed {
                    // Entries of one kind. The first kind duplicates queued receives.
                    0..6 => seed + 6 * choices.below(40),
                    _ => choices.below(240),
                };
                let queued = without_memory(|| queue_entry(&mut *engine, at, choice));
                assert_eq!(queued, Ok(true), "{name}: case {case}, seed {seed}, entry {at}");
            }
            assert_eq!(engine.posted_len() + engine.unexpected_len(), (2 * left + count) as usize);
        }
    }
    let mut engine = engines::create(name).unwrap();
    assert_eq!(engine.reserve(usize::MAX), Err(Refused::Memory), "{name}");
    assert_eq!(without_memory(|| engine.reserve(10_000)), Err(Refused::Memory), "{name}");
    assert_eq!(without_memory(|| engine.reserve(0)), Ok(()), "{name}");
}

/// The log's last block is full, and memory for a new block is missing. Receives take all messages, and the
/// block is reused.
fn reuse_full_block_without_memory() {
    let mut engine = engines::create("hybrid:seed=1").unwrap();
    let envelope = Envelope::new(ContextId(0), Rank(1), Tag(1));
    let arrival = |at| Event::Arrive(Message::new(MsgId(at), envelope));
    let exact = |at| Event::Post(Receive::new(RecvId(at), Selector::exactly(&envelope)));
    let any = |at| Event::Post(Receive::new(RecvId(at), Selector::new(ContextId(0), Wild::Any, Wild::Any)));
    for at in 0..63 {
        assert_eq!(arrival(at).play(&mut *engine), Outcome::Arrived(Ok(None)));
    }
    assert_eq!(play_with_limit(&mut *engine, &arrival(63), 0), Outcome::Arrived(Ok(None)));
    assert_eq!(play_with_limit(&mut *engine, &arrival(64), 0), Outcome::Arrived(Err(Refused::Memory)));
    for at in 0..64 {
        assert_eq!(play_with_limit(&mut *engine, &exact(at), 0), Outcome::Posted(Ok(Some(MsgId(at)))));
    }
    for at in 64..164 {
        assert_eq!(arrival(at).play(&mut *engine), Outcome::Arrived(Ok(None)));
    }
    for at in 64..164 {
        assert_eq!(any(at).play(&mut *engine), Outcome::Posted(Ok(Some(MsgId(at)))));
    }
}

fn main() {
    for name in ["list", "hybrid:seed=0", "hybrid"] {
        queue_reserved_without_memory(name);
    }
    find_readdressed_without_memory();
    receive_around_leaks_without_memory();
    reuse_full_block_without_memory();
    for name in ["optimistic:capacity=4,full=software", "optimistic_parallel:capacity=4,full=software"] {
        migrate_without_memory(name);
    }
    let profiled =
        concat!("partner:mode=static,profile=", env!("CARGO_MANIFEST_DIR"), "/tests/some.partners");
    let unbounded = engines::variants().filter(|variant| !variant.is_tight).map(|variant| variant.name);
    let streams = if std::env::var_os("MATCHPOINT_TEST_LONG").is_some() { 4 } else { 1 };
    for ref name in unbounded.chain([profiled, "locked:engine=hybrid"].map(str::to_owned)) {
        let mut refusals = 0;
        for (seed, (_, shape)) in (1..).zip(generate::SHAPES) {
            for stream in 0..streams {
                let events = generate::stream(*shape, Choices::Seed(seed * 100 + stream), 300);
                let mut engine = made(name);
                refusals += play(&mut *engine, name, &events);
                refusals += play_with_random_limits(name, &events, Choices::Seed(seed + stream));
            }
        }
        find_distant_without_memory(name);
        let mut engine = made(name);
        withdraw_without_memory(&mut *engine, name);
        assert!(refusals > 0, "{name}: no call was refused");
    }
    println!(
        "test result: ok. 1 passed; 0 failed; 0 ignored; without memory calls are refused and change nothing"
    );
}
