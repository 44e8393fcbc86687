//! Tests of documented costs of engines: attempts and bytes, which are the same on every host.

use matchpoint::event::{Outcome, script};
use matchpoint::{
    Attempts, ContextId, Drained, Engine, Envelope, Event, Message, MsgId, Queue, Rank, Receive, RecvId,
    Selector, Tag, TagMask, Wild, engines,
};
use matchpoint_conformance::{Choices, Oracle, generate};

fn selector(source: u64, tag: u64) -> Selector {
    Selector::new(ContextId(0), Wild::Is(Rank(source as u32)), Wild::Is(Tag(tag)))
}

fn post(engine: &mut dyn Engine, id: u64, source: u64, tag: u64) {
    engine.post(Receive::new(RecvId(id), selector(source, tag))).unwrap();
}

fn arrive(engine: &mut dyn Engine, id: u64, source: u64, tag: u64) {
    engine
        .arrive_message(Message::new(MsgId(id), Envelope::new(ContextId(0), Rank(source as u32), Tag(tag))))
        .unwrap();
}

/// Source and tag of the nth entry.
type Keys = fn(u64) -> (u64, u64);

/// Attempts of an arrival that matches the last of `depth` + 1 posted receives.
fn last(name: &str, depth: u64, keys: Keys) -> u64 {
    let mut engine = engines::create_counting(name).unwrap();
    for id in 0..=depth {
        let (source, tag) = keys(id);
        post(&mut *engine, id, source, tag);
    }
    let (source, tag) = keys(depth);
    arrive(&mut *engine, 0, source, tag);
    assert_eq!(engine.posted_len() as u64, depth, "{name}");
    engine.attempts().posted
}

#[test]
fn searches_cost_as_documented() {
    let [tags, sources]: [Keys; 2] = [|at| (0, at), |at| (at, 0)];
    assert_eq!(last("list", 1024, tags), 1025);
    assert_eq!(last("rank_array", 1024, tags), 1025);
    assert_eq!(last("rank_array", 1024, sources), 1);
    assert_eq!(last("bins:n=1", 1024, tags), 1025);
    for keys in [tags, sources] {
        let examined = last("bins", 1024, keys);
        assert!(examined <= 16, "{examined} of 1024 entries in 256 bins");
    }
    // 1021 consecutive tags or sources are in separate buckets.
    for (name, keys) in
        [("ucx", tags), ("ucx", sources), ("ucx:tags=mpich", tags), ("ucx:tags=mpich", sources)]
    {
        assert_eq!((last(name, 1020, keys), last(name, 1021, keys)), (1, 2), "{name}");
    }
}

#[test]
fn bins_fill_evenly_for_patterned_keys() {
    let patterns: [Keys; 7] = [
        |at| (at, at),
        |at| (at, 1023 - at),
        |at| (at << 8, 1),
        |at| (1, at << 32),
        |at| (at % 32, at / 32),
        |at| (at << 32, at),
        |at| (u64::MAX - 1 - at, u64::MAX - at),
    ];
    for (number, pattern) in patterns.into_iter().enumerate() {
        let mut engine = engines::create_counting("bins").unwrap();
        for id in 0..1024 {
            let (source, tag) = pattern(id);
            post(&mut *engine, id, source, tag);
        }
        for id in (0..1024).rev() {
            let (source, tag) = pattern(id);
            arrive(&mut *engine, id, source, tag);
        }
        // With 1024 random entries in 256 bins, a search for a bin's youngest entry examines 3 on average.
        let examined = engine.attempts().posted;
        assert!(examined < 1024 * 7 / 2, "pattern {number}: {examined} examined by 1024 searches");
    }
}

#[test]
fn counting_is_exact_and_optional() {
    let (_, shape) = generate::SHAPES[0];
    let events = generate::stream(shape, Choices::Seed(7), 2000);
    for spec in engines::REGISTRY {
        let mut counting = engines::create_counting(spec.name).unwrap();
        let mut silent = engines::create(spec.name).unwrap();
        for event in &events {
            let before = counting.attempts();
            let outcome = event.play(&mut *counting);
            event.play(&mut *silent);
            assert_counted(spec.name, event, &outcome, before, counting.attempts());
        }
        assert_eq!(silent.attempts(), Attempts::default(), "{}", spec.name);
    }
}

/// A search counts entries of its queue, at least the found entry. Other calls count no entries.
fn assert_counted(name: &str, event: &Event, outcome: &Outcome, before: Attempts, after: Attempts) {
    let (posted, unexpected) = (after.posted - before.posted, after.unexpected - before.unexpected);
    let plausible = match (event, outcome) {
        (Event::Post(_), Outcome::Posted(Ok(Some(_)))) => posted == 0 && unexpected > 0,
        (Event::Probe(_) | Event::MatchedProbe(_), Outcome::Found(Some(_))) => posted == 0 && unexpected > 0,
        (Event::Post(_) | Event::Probe(_) | Event::MatchedProbe(_), _) => posted == 0,
        (Event::Arrive(_), Outcome::Arrived(Ok(Some(_)))) => posted > 0 && unexpected == 0,
        (Event::Arrive(_) | Event::ArriveBatch(_), _) => unexpected == 0,
        _ => posted == 0 && unexpected == 0,
    };
    assert!(
        plausible,
        "{name}: {event} returned {outcome:?}, and examined {posted} receives and {unexpected} messages"
    );
}

#[test]
fn idle_engine_is_small() {
    for spec in engines::REGISTRY {
        let bytes = engines::create(spec.name).unwrap().footprint().now_bytes();
        assert!(bytes <= 4096, "{}: {bytes} bytes", spec.name);
    }
}

#[test]
fn large_source_needs_no_memory() {
    for spec in engines::REGISTRY {
        let mut engine = engines::create(spec.name).unwrap();
        for (id, source) in [1 << 30, 1 << 31, u32::MAX - 1, u32::MAX].into_iter().enumerate() {
            arrive(&mut *engine, id as u64, source.into(), 0);
        }
        let bytes = engine.footprint().peak_bytes;
        assert!(bytes < 8192, "{}: {bytes} bytes", spec.name);
    }
}

#[test]
fn warm_engine_allocates_nothing() {
    for spec in engines::REGISTRY {
        let mut engine = engines::create(spec.name).unwrap();
        let mut warm = None;
        for round in 0..100 {
            (0..50).for_each(|id| post(&mut *engine, id, id % 7, round + id));
            (0..50).rev().for_each(|id| arrive(&mut *engine, id, id % 7, round + id));
            (0..50).for_each(|id| arrive(&mut *engine, id, id % 7, round + id));
            (0..50).rev().for_each(|id| post(&mut *engine, id, id % 7, round + id));
            if round > 0 {
                assert_eq!(engine.footprint(), *warm.get_or_insert(engine.footprint()), "{}", spec.name);
            }
        }
    }
}

#[test]
fn close_frees_memory_of_peers() {
    let mut engine = engines::create("rank_array").unwrap();
    for event in script::parse("arrive m1 7/60000/0\npost r1 0/3/0").unwrap() {
        event.play(&mut *engine);
    }
    let before = engine.footprint();
    assert!(before.peers_bytes > 480_000, "{before:?}");
    engine.close(ContextId(7), &mut Drained::default());
    let after = engine.footprint();
    assert!(after.peers_bytes < 1000, "{after:?}");
    assert_eq!(after.peak_bytes, before.peak_bytes);
}

/// Attempts of an arrival that matches the last of `masks` receives with different masks.
fn last_mask(name: &str, masks: u64, source: fn(u64) -> u64) -> u64 {
    let mut engine = engines::create_counting(name).unwrap();
    for id in 0..masks {
        let tag = TagMask { value: Tag(id << 32), ignore: id + 1 };
        let selector = Selector::new(ContextId(0), Wild::Is(Rank(source(id) as u32)), Wild::Masked(tag));
        engine.post(Receive::new(RecvId(id), selector)).unwrap();
    }
    let last = masks - 1;
    // The receive ignores a bit of each tag.
    let envelope = Envelope::new(ContextId(0), Rank(source(last) as u32), Tag(last << 32 | masks));
    assert_eq!(engine.arrive_message(Message::new(MsgId(0), envelope)), Ok(Some(RecvId(last))), "{name}");
    engine.attempts().posted
}

#[test]
fn many_masks_cost_as_documented() {
    for masks in [8, 64, 1024] {
        // With one source, no index separates the receives.
        for name in ["list", "rank_array", "bins", "four_d", "partner", "vector", "fuzzy", "optimistic"] {
            assert_eq!(last_mask(name, masks, |_| 7), masks, "{name}");
        }
        // With one source per receive, engines with queues by source examine one receive. `bins` has one
        // wildcard list.
        assert_eq!(last_mask("bins", masks, |id| id), masks);
        assert_eq!(last_mask("rank_array", masks, |id| id), 1);
        assert_eq!(last_mask("four_d", masks, |id| id), 1);
        let examined = last_mask("optimistic", masks, |id| id);
        assert!(examined <= 24, "{examined} of {masks} in 128 bins");
    }
}

/// Attempts of an arrival that matches the only receive of the last of `contexts` communicators, and bytes
/// per communicator.
fn last_context(name: &str, contexts: u64) -> (u64, u64) {
    let mut engine = engines::create_counting(name).unwrap();
    for id in 0..contexts {
        let selector = Selector::new(ContextId(id as u32), Wild::Is(Rank(0)), Wild::Is(Tag(0)));
        engine.post(Receive::new(RecvId(id), selector)).unwrap();
    }
    let envelope = Envelope::new(ContextId(contexts as u32 - 1), Rank(0), Tag(0));
    let arrived = engine.arrive_message(Message::new(MsgId(0), envelope));
    assert_eq!(arrived, Ok(Some(RecvId(contexts - 1))), "{name}");
    (engine.attempts().posted, engine.footprint().now_bytes() / contexts)
}

#[test]
fn thousand_communicators_cost_as_documented() {
    // These engines have one queue for all communicators.
    for name in ["list", "partner", "vector", "fuzzy", "fuzzy:bits=32"] {
        assert_eq!(last_context(name, 1000).0, 1000, "{name}");
    }
    for name in ["rank_array", "four_d", "optimistic"] {
        assert_eq!(last_context(name, 1000).0, 1, "{name}");
    }
    let (examined, _) = last_context("bins", 1000);
    assert!(examined <= 16, "{examined} of 1000 communicators in 256 bins");
    // Bytes per communicator with one entry. `optimistic` has 128 bins per communicator.
    for (name, most) in [
        ("list", 80),
        ("bins", 140),
        ("rank_array", 200),
        ("fuzzy", 120),
        ("four_d", 900),
        ("optimistic", 1000),
    ] {
        let (_, bytes) = last_context(name, 1000);
        assert!(bytes <= most, "{name}: {bytes} bytes for each of 1000 communicators");
    }
}

#[test]
fn keys_separate_thousand_communicators() {
    for (name, most) in [("vector", 0.0), ("fuzzy:bits=32", 0.0), ("fuzzy:bits=16", 20.0), ("fuzzy", 2500.0)]
    {
        let mut engine = engines::create_counting(name).unwrap();
        let contexts = || (0..1000_u32).map(|context| (u64::from(context), ContextId(context)));
        for (id, context) in contexts() {
            let selector = Selector::new(context, Wild::Is(Rank(3)), Wild::Is(Tag(7)));
            engine.post(Receive::new(RecvId(id), selector)).unwrap();
        }
        for (id, context) in contexts().rev() {
            let envelope = Envelope::new(context, Rank(3), Tag(7));
            assert_eq!(
                engine.arrive_message(Message::new(MsgId(id), envelope)),
                Ok(Some(RecvId(id))),
                "{name}"
            );
        }
        // 1000 random keys of 8 bits give 1951 colliding pairs.
        let (_, in_vain) = engine.statistics()[0];
        assert!(in_vain <= most, "{name}: {in_vain} verified without a match");
    }
}

#[test]
fn visit_shows_entries_of_context() {
    let (_, shape) = generate::SHAPES[0];
    // More contexts than those for which an engine keeps counts.
    let shape = generate::StreamParameters { contexts: 200, maintenance: 1, ..shape };
    for variant in engines::variants().filter(|variant| !variant.is_tight) {
        let mut engine = engines::create(&variant.name).unwrap();
        let mut oracle = Oracle::new(engine.order(), false);
        for (number, event) in generate::stream(shape, Choices::Seed(3), 2000).iter().enumerate() {
            if let Some(event) = oracle.admit(event) {
                let outcome = event.play(&mut *engine);
                oracle.check(&event, &outcome).unwrap_or_else(|broken| panic!("{}: {broken}", variant.name));
            }
            if number % 100 > 0 {
                continue;
            }
            let shown = [Queue::Posted, Queue::Unexpected].map(|queue| {
                let mut counts = [0; 210];
                engine.visit(queue, &mut |entry| counts[entry.context().0 as usize] += 1);
                counts
            });
            for (context, (posted, unexpected)) in shown[0].into_iter().zip(shown[1]).enumerate() {
                let counted = engine.queued_in(ContextId(context as u32));
                assert_eq!(counted, (posted, unexpected), "{}: context {context}", variant.name);
            }
        }
        (0..200).for_each(|context| engine.close(ContextId(context), &mut Drained::default()));
        assert_eq!(engine.posted_len() + engine.unexpected_len(), 0, "{}", variant.name);
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Growth {
    /// Independent of the queue length.
    Constant,
    /// Proportional to the queue length: from 64 or 256 entries on, each doubling of the queue doubles the
    /// additional attempts.
    Linear,
}

/// A workload. Entries are queued in order and requested youngest first, so that a linear search visits the
/// whole queue.
struct Workload {
    name: &'static str,
    queue: Queue,
    keys: Keys,
    any_source: bool,
    /// Entries are requested oldest first.
    in_order: bool,
}

const POSTED: Workload = Workload {
    name: "posted, one source",
    queue: Queue::Posted,
    keys: |at| (0, at),
    any_source: false,
    in_order: false,
};

/// The columns of [`GROWTH`].
const WORKLOADS: [Workload; 8] = [
    POSTED,
    Workload { name: "posted, many sources", keys: |at| (at, 0), ..POSTED },
    Workload { name: "posted, any source", any_source: true, ..POSTED },
    Workload { name: "posted, in order", in_order: true, ..POSTED },
    Workload { name: "unexpected, one source", queue: Queue::Unexpected, ..POSTED },
    Workload { name: "unexpected, many sources", queue: Queue::Unexpected, keys: |at| (at, 0), ..POSTED },
    Workload {
        name: "unexpected, any source",
        queue: Queue::Unexpected,
        keys: |at| (at, at),
        any_source: true,
        ..POSTED
    },
    Workload { name: "unexpected, in order", queue: Queue::Unexpected, in_order: true, ..POSTED },
];

/// Attempts per search with `queued` entries, after one uncounted round for adaptation.
fn examined_per_search(name: &str, workload: &Workload, queued: u64) -> f64 {
    let mut engine = engines::create_counting(name).unwrap();
    let receive = |engine: &mut dyn Engine, id| {
        let (source, tag) = (workload.keys)(id);
        let source = if workload.any_source { Wild::Any } else { Wild::Is(Rank(source as u32)) };
        let selector = Selector::new(ContextId(0), source, Wild::Is(Tag(tag)));
        engine.post(Receive::new(RecvId(id), selector)).unwrap();
    };
    let message = |engine: &mut dyn Engine, id| {
        let (source, tag) = (workload.keys)(id);
        arrive(engine, id, source, tag);
    };
    let mut before = Attempts::default();
    for _ in 0..2 {
        let put = |engine: &mut dyn Engine, id| match workload.queue {
            Queue::Posted => receive(engine, id),
            Queue::Unexpected => message(engine, id),
        };
        (0..queued).for_each(|id| put(&mut *engine, id));
        before = engine.attempts();
        for nth in 0..queued {
            let id = if workload.in_order { nth } else { queued - 1 - nth };
            match workload.queue {
                Queue::Posted => message(&mut *engine, id),
                Queue::Unexpected => receive(&mut *engine, id),
            }
        }
        assert_eq!(engine.posted_len() + engine.unexpected_len(), 0, "{name}: {}", workload.name);
    }
    let after = engine.attempts();
    let examined = match workload.queue {
        Queue::Posted => after.posted - before.posted,
        Queue::Unexpected => after.unexpected - before.unexpected,
    };
    examined as f64 / queued as f64
}

#[rustfmt::skip]
mod promised {
    use super::Growth::{self, Constant as C, Linear as L};

    /// Documented growth of attempts, for queues up to and beyond the size of the default table, and for
    /// adjustable tables also with a larger table.
    pub const GROWTH: &[(&str, [Growth; 8])] = &[
        // posted: one source, many sources, any source, in order; unexpected: the same.
        ("list", [L, L, L, C, L, L, L, C]),
        ("rank_array", [L, C, L, C, L, C, L, C]),
        ("bins", [L, L, L, C, L, L, L, C]),
        ("bins:n=65536", [C, C, L, C, C, C, L, C]),
        ("ucx:n=61", [L, L, L, C, L, L, L, C]),
        ("ucx", [C, C, L, C, C, C, L, C]),
        ("four_d", [L, C, L, C, L, C, L, C]),
        ("adaptive", [L, L, L, C, L, L, L, C]),
        ("adaptive:n=65536", [C, C, L, C, C, C, L, C]),
        ("adaptive:threshold=1,window=3,n=3,ranks=yes", [L, C, L, C, L, C, L, C]),
        ("partner", [L, L, L, C, L, L, L, C]),
        ("partner:threshold=3,c=0,metric=median", [L, C, L, C, L, C, L, C]),
        ("vector", [L, L, L, C, L, L, L, C]),
        ("fuzzy", [L, L, L, C, L, L, L, C]),
        ("optimistic", [L, L, L, C, L, L, L, C]),
        ("optimistic:bins=16384,capacity=16384", [C; 8]),
        ("optimistic_parallel", [L, L, L, C, L, L, L, C]),
        ("optimistic_parallel:bins=16384,capacity=16384", [C; 8]),
        ("hybrid", [C; 8]),
    ];
}

/// `growth`.
fn disagrees(growth: Growth, [once, twice, four_times]: [f64; 3]) -> bool {
    let (first, second) = (twice - once, four_times - twice);
    match growth {
        // Collisions depend on the fill of the table. The smallest linear growth is six.
        Growth::Constant => four_times - once >= 2.0,
        Growth::Linear => first < 1.5 || !(1.8..2.2).contains(&(second / first)),
    }
}

#[test]
fn work_grows_with_queue_as_documented() {
    for spec in engines::REGISTRY {
        let is_promised = promised::GROWTH.iter().any(|&(name, _)| name == spec.name);
        assert!(is_promised, "GROWTH has no line for {}", spec.name);
    }
    for &(name, growths) in promised::GROWTH {
        for (workload, growth) in WORKLOADS.iter().zip(growths) {
            let examined = [1024, 2048, 4096].map(|queued| examined_per_search(name, workload, queued));
            assert!(!disagrees(growth, examined), "{name}, {}: {growth:?}? {examined:?}", workload.name);
        }
    }
}

#[test]
fn wrong_growth_is_rejected() {
    let (constant, linear, square) = ([1.1, 1.3, 1.2], [2.5, 4.5, 8.5], [1.0, 4.0, 16.0]);
    assert!(!disagrees(Growth::Constant, constant) && !disagrees(Growth::Linear, linear));
    assert!(disagrees(Growth::Linear, constant) && disagrees(Growth::Constant, linear));
    assert!(disagrees(Growth::Linear, square) && disagrees(Growth::Constant, square));
}

/// The manual page of an engine, with its lines joined.
fn page(engine: &str) -> String {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/engines");
    let text = std::fs::read_to_string(format!("{folder}/{engine}.md")).unwrap();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
#[cfg(target_pointer_width = "64")]
fn manual_pages_state_memory_of_receive() {
    let [adaptive, bins] = ["adaptive", "bins"].map(|name| {
        let mut engine = engines::create(name).unwrap();
        post(&mut *engine, 0, 0, 0);
        engine.footprint().now_bytes()
    });
    let sentence = format!("{adaptive} bytes against {bins} in a process with one receive posted");
    assert!(
        page("adaptive").contains(&sentence),
        "docs/reference/engines/adaptive.md lacks the sentence: {sentence}"
    );
}

#[test]
#[cfg(target_pointer_width = "64")]
fn list_keeps_memory_of_longest_queue() {
    let mut engine = engines::create("list").unwrap();
    (0..1000).for_each(|id| post(&mut *engine, id, 0, id));
    let full = engine.footprint();
    (0..1000).for_each(|id| arrive(&mut *engine, id, 0, id));
    assert_eq!((engine.posted_len(), engine.footprint()), (0, full));
    assert_eq!(full.entries_bytes, 1024 * 40);
    assert!(
        page("list").contains("slots of 40 bytes. A ring begins with four slots, and a full ring doubles.")
    );
}
