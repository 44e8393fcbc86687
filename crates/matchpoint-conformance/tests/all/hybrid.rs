//! Tests of `hybrid`: constant work, freed memory, growing tables.

mod flood;

use matchpoint::{
    ContextId, Drained, Engine, Envelope, Event, Message, MsgId, Outcome, Rank, Readdressed, Receive, RecvId,
    Selector, Tag, TagMask, Wild, engines,
};
use matchpoint_conformance::{Choices, generate};

const WORLD: ContextId = ContextId(0);
const ANY_SOURCE: Wild<Rank> = Wild::Any;
const ANY_TAG: Wild<Tag> = Wild::Any;

fn from(source: u64) -> Wild<Rank> {
    Wild::Is(Rank(source as u32))
}

fn tagged(tag: u64) -> Wild<Tag> {
    Wild::Is(Tag(tag))
}

fn masked(value: u64, ignore: u64) -> Wild<Tag> {
    Wild::Masked(TagMask { value: Tag(value), ignore })
}

fn receive(id: u64, source: Wild<Rank>, tag: Wild<Tag>) -> Receive {
    Receive::new(RecvId(id), Selector::new(WORLD, source, tag))
}

fn message(id: u64, source: u64, tag: u64) -> Message {
    Message::new(MsgId(id), Envelope::new(WORLD, Rank(source as u32), Tag(tag)))
}

fn post(engine: &mut dyn Engine, id: u64, source: Wild<Rank>, tag: Wild<Tag>) -> Option<MsgId> {
    engine.post(receive(id, source, tag)).unwrap()
}

fn arrive(engine: &mut dyn Engine, id: u64, source: u64, tag: u64) -> Option<RecvId> {
    engine.arrive_message(message(id, source, tag)).unwrap()
}

fn statistic(engine: &dyn Engine, name: &str) -> f64 {
    engine.statistics().iter().find(|(of, _)| *of == name).unwrap().1
}

/// Queues about `n` entries and matches all of them.
type Workload = fn(&mut dyn Engine, u64);

fn last(engine: &mut dyn Engine, n: u64) {
    (0..n).for_each(|tag| _ = post(engine, tag, from(0), tagged(tag)));
    (0..n).rev().for_each(|tag| assert_eq!(arrive(engine, tag, 0, tag), Some(RecvId(tag))));
}

fn sources(engine: &mut dyn Engine, n: u64) {
    (0..n).for_each(|at| _ = arrive(engine, at, at << 12, at % 3));
    (0..n).rev().for_each(|at| assert_eq!(post(engine, at, from(at << 12), tagged(at % 3)), Some(MsgId(at))));
}

fn identical(engine: &mut dyn Engine, n: u64) {
    (0..n).for_each(|id| _ = post(engine, id, from(1), tagged(1)));
    (0..n).for_each(|id| assert_eq!(arrive(engine, id, 1, 1), Some(RecvId(id))));
}

fn wildcards(engine: &mut dyn Engine, n: u64) {
    let open = |at: u64| match at % 3 {
        0 => (ANY_SOURCE, tagged(1 << 40 | at)),
        1 => (from(at), ANY_TAG),
        _ => (from(at), masked(0, 0xFF)),
    };
    (0..n).for_each(|id| _ = post(engine, id, open(id).0, open(id).1));
    (0..n).rev().for_each(|id| {
        let tag = if id % 3 == 0 { 1 << 40 | id } else { 5 };
        assert_eq!(arrive(engine, id, id, tag), Some(RecvId(id)));
    });
}

fn unexpected_any(engine: &mut dyn Engine, n: u64) {
    (0..n).for_each(|id| _ = arrive(engine, id, id % 64, id));
    (0..n).rev().for_each(|id| assert_eq!(post(engine, id, ANY_SOURCE, tagged(id)), Some(MsgId(id))));
    (0..n).for_each(|id| _ = arrive(engine, id, id % 64, id));
    (0..n).for_each(|id| assert_eq!(post(engine, id, ANY_SOURCE, ANY_TAG), Some(MsgId(id))));
}

#[test]
fn examined_entries_stay_constant_with_depth() {
    let workloads: [(&str, Workload); 5] = [
        ("last", last),
        ("sources", sources),
        ("identical", identical),
        ("wildcards", wildcards),
        ("unexpected_any", unexpected_any),
    ];
    for (name, play) in workloads {
        for n in [1 << 8, 1 << 12, 1 << 16] {
            let mut engine = engines::create_counting("hybrid:seed=7").unwrap();
            play(&mut *engine, n);
            assert_eq!(engine.posted_len() + engine.unexpected_len(), 0, "{name}");
            let attempts = engine.attempts();
            // At most four calls per entry. In `unexpected_any` a scan precedes the first index.
            let scans = if name == "unexpected_any" { 192.0 } else { 0.0 };
            let each = (attempts.posted + attempts.unexpected) as f64 / n as f64;
            assert!(each <= 16.0 + scans, "{name}: {each} examined for each of {n} entries");
        }
    }
}

/// A hash by one multiplication distributes these patterns unevenly with some seeds.
#[test]
fn keys_spread_evenly_for_any_seed() {
    type Pattern = fn(u64) -> (u64, u64);
    let patterns: [Pattern; 6] = [
        |at| (0, at),
        |at| (at, 0),
        |at| (at / 4, at % 4),
        |at| (at, 1023 - at),
        |at| (at % 32, at / 32),
        |at| (0, at << 32),
    ];
    for (number, pattern) in patterns.into_iter().enumerate() {
        for seed in 0..32 {
            let mut engine = engines::create_counting(&format!("hybrid:seed={seed}")).unwrap();
            (0..1024).for_each(|at| _ = post(&mut *engine, at, from(pattern(at).0), tagged(pattern(at).1)));
            let before = engine.attempts().posted;
            (0..1024)
                .for_each(|at| assert!(arrive(&mut *engine, at, pattern(at).0, pattern(at).1).is_some()));
            let examined = engine.attempts().posted - before;
            assert!(examined < 1300, "pattern {number}, seed {seed}: {examined} examined by 1024 searches");
        }
    }
}

#[test]
fn unused_class_table_is_reused() {
    let mut engine = engines::create("hybrid").unwrap();
    for mask in 0..20 {
        (0..9).for_each(|id| assert_eq!(post(&mut *engine, id, from(1), masked(0, 1 << mask)), None));
        assert_eq!(statistic(&*engine, "wildcard_classes"), 1.0, "mask {mask}");
        (0..9).for_each(|id| assert_eq!(arrive(&mut *engine, id, 1, 0), Some(RecvId(id))));
    }
}

#[test]
fn arrivals_without_receives_examine_nothing() {
    let mut engine = engines::create_counting("hybrid").unwrap();
    assert_eq!(arrive(&mut *engine, 0, 1, 1), None);
    assert_eq!(post(&mut *engine, 0, from(1), tagged(1)), Some(MsgId(0)));
    assert_eq!(post(&mut *engine, 1, ANY_SOURCE, ANY_TAG), None);
    assert_eq!(arrive(&mut *engine, 1, 1, 1), Some(RecvId(1)));
    let before = engine.attempts().posted;
    (2..5).for_each(|id| assert_eq!(arrive(&mut *engine, id, 1, 1), None));
    assert_eq!(engine.attempts().posted, before);
}

/// All tags have the same hash, so more displaced keys pass a slot than its counter can count.
#[test]
fn six_hundred_colliding_keys_are_found() {
    let mut engine = engines::create_counting("hybrid:seed=1").unwrap();
    // The first hash seed of `Hashing::of_seed`: this pair has hash 0.
    let word = 0x9E37_79B9_7F4A_7C15_u64.wrapping_add(1);
    let word = (word ^ word >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let word = (word ^ word >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    let pair = (word ^ word >> 31) | 1;
    let (context, source) = (ContextId((pair >> 32) as u32), Rank(pair as u32));
    let selector = |tag| Selector::new(context, Wild::Is(source), tagged(tag));
    for id in 0..600 {
        let message = Message::new(MsgId(id), Envelope::new(context, source, Tag(id)));
        assert_eq!(engine.arrive_message(message), Ok(None));
    }
    let before = engine.attempts().unexpected;
    assert_eq!(engine.probe(&selector(600)), None);
    let examined = engine.attempts().unexpected - before;
    assert!(examined >= 600, "{examined} examined among 600 colliding keys");
    for id in 0..600 {
        assert_eq!(engine.post(Receive::new(RecvId(id), selector(id))), Ok(Some(MsgId(id))));
    }
}

#[test]
fn arrival_needs_one_lookup_among_million_wildcards() {
    let mut engine = engines::create_counting("hybrid").unwrap();
    for id in 0..1 << 20 {
        post(&mut *engine, id, ANY_SOURCE, tagged(id));
    }
    let before = engine.attempts().posted;
    for id in (0..1 << 20).step_by(1 << 10) {
        assert_eq!(arrive(&mut *engine, id, 3, id), Some(RecvId(id)));
    }
    let examined = engine.attempts().posted - before;
    assert!(examined <= 8 << 10, "{examined} examined by {} searches", 1 << 10);
}

/// Compares each outcome with `list`. Returns the maximum number of queued entries.
fn compare_with_list(name: &str, events: &[Event], seed: u64) -> usize {
    let mut engines = [name, "list"].map(|name| engines::create(name).unwrap());
    let mut oracle = matchpoint_conformance::Oracle::new(engines[1].order(), false);
    let mut longest = 0;
    for (number, event) in events.iter().enumerate() {
        let Some(event) = &oracle.admit(event) else { continue };
        let [tested, expected]: [Outcome; 2] = engines.each_mut().map(|engine| event.play(&mut **engine));
        assert_eq!(tested, expected, "{name}, seed {seed}: event {number}, {event}");
        oracle.check(event, &expected).unwrap_or_else(|broken| panic!("{broken}"));
        longest = longest.max(engines[0].posted_len() + engines[0].unexpected_len());
    }
    longest
}

#[test]
fn long_streams_equal_list() {
    let mut longest = 0;
    for (seed, (name, shape)) in (1..).zip(generate::SHAPES) {
        // No closes, which keep the queues short.
        for (posts, arrivals) in [(shape.posts, shape.arrivals), (1, 12), (12, 1)] {
            let shape = generate::StreamParameters { posts, arrivals, maintenance: 0, tags: 4096, ..*shape };
            assert!(posts + arrivals > 0, "{name}");
            let events = generate::stream(shape, Choices::Seed(seed), 20_000);
            longest = longest.max(compare_with_list("hybrid", &events, seed));
        }
    }
    assert!(longest > 10_000, "the longest queues had {longest} entries, too few for growth");
}

/// Some of the twelve masks have a table; receives with other masks share the list.
#[test]
fn many_masks_and_duplicates_equal_list() {
    for seed in 0..40 {
        let mut choices = Choices::Seed(seed);
        let mut events = Vec::new();
        while events.len() < 4_000 {
            let (source, tag, mask) = (choices.below(3), choices.below(4), choices.below(12));
            let is_posted = choices.chance(50);
            for _ in 0..choices.below(40) {
                let id = events.len() as u64;
                events.push(if is_posted {
                    let source = if choices.chance(30) { ANY_SOURCE } else { from(source) };
                    let tag = if choices.chance(60) { tagged(tag) } else { masked(tag, 1 << mask) };
                    Event::Post(receive(id, source, tag))
                } else {
                    let source = if choices.chance(10) { u64::from(Rank::UNKNOWN.0) } else { source };
                    Event::Arrive(message(id, source, tag))
                });
            }
            for _ in 0..choices.below(6) {
                let id = choices.below(events.len() as u64 + 1);
                match events.get(id as usize) {
                    Some(&Event::Post(receive)) => events.push(Event::Cancel(receive)),
                    Some(&Event::Arrive(message)) if choices.chance(50) => {
                        events.push(Event::Readdress(message, Rank(choices.below(3) as u32)));
                    }
                    Some(&Event::Arrive(message)) => events.push(Event::Retract(message)),
                    _ => {}
                }
            }
        }
        compare_with_list(&format!("hybrid:seed={seed}"), &events, seed);
    }
}

#[test]
fn cancel_finds_entries_while_table_grows() {
    let open = |id: u64| match id % 4 {
        0 => receive(id, ANY_SOURCE, tagged(1 << 40 | id)),
        1 => receive(id, from(id), ANY_TAG),
        _ => receive(id, from((1 << 31) | (id % 7)), tagged(id)),
    };
    for n in [100, 5_000, 60_000] {
        let mut engine = engines::create("hybrid").unwrap();
        (0..n).for_each(|id| assert_eq!(engine.post(open(id)), Ok(None)));
        for step in 0..n {
            // Each receive is cancelled once, because 7919 is prime.
            let id = step * 7919 % n;
            assert!(engine.cancel(&open(id)), "{id} of {n}");
            assert!(!engine.cancel(&open(id)), "{id} of {n} was cancelled twice");
            let next = receive(n + step, from(3), tagged(step));
            assert_eq!(engine.post(next), Ok(None));
            if step % 2 == 0 {
                assert_eq!(arrive(&mut *engine, step, 3, step), Some(RecvId(n + step)));
                assert!(!engine.cancel(&next), "{} was matched", n + step);
            }
        }
        assert_eq!(engine.posted_len() as u64, n / 2);
    }
}

/// Cancels the entries of the last block of the ring, then of a middle block.
#[test]
fn duplicates_keep_order_after_cancelled_block() {
    let mut engine = engines::create("hybrid").unwrap();
    let same = |id| receive(id, from(1), tagged(1));
    (0..70).for_each(|id| assert_eq!(engine.post(same(id)), Ok(None)));
    (56..70).chain(14..28).for_each(|id| assert!(engine.cancel(&same(id)), "{id}"));
    (70..80).for_each(|id| assert_eq!(engine.post(same(id)), Ok(None)));
    for id in (0..14).chain(28..56).chain(70..80) {
        assert_eq!(arrive(&mut *engine, id, 1, 1), Some(RecvId(id)));
    }
}

#[test]
fn readdressed_message_is_retracted_by_envelope() {
    for n in [1, 1000] {
        let mut engine = engines::create("hybrid").unwrap();
        (0..n).for_each(|id| assert_eq!(arrive(&mut *engine, id, Rank::UNKNOWN.0.into(), id), None));
        for id in 0..n {
            let with_source =
                engine.readdress(&message(id, Rank::UNKNOWN.0.into(), id), Rank((id % 9) as u32));
            assert_eq!(with_source, Ok(Readdressed::SourceSet), "{id} of {n}");
        }
        (0..n).for_each(|id| assert!(engine.retract(&message(id, id % 9, id)), "{id} of {n}"));
        assert_eq!(engine.unexpected_len(), 0);
    }
}

/// A search compares each message at most once, and adds a few messages to an index.
#[test]
fn wildcard_search_examines_no_more_than_list() {
    let mut choices = Choices::Seed(3);
    let mut engines = ["hybrid:seed=5", "list"].map(|name| engines::create_counting(name).unwrap());
    for id in 0..6_000 {
        engines.iter_mut().for_each(|engine| _ = arrive(&mut **engine, id, id % 61, id / 3));
    }
    for id in 6_000..8_000 {
        let sought = choices.below(id);
        let selector = match choices.below(3) {
            0 => Selector::new(WORLD, ANY_SOURCE, tagged(sought / 3)),
            1 => Selector::new(WORLD, from(sought % 63), ANY_TAG),
            _ => Selector::new(WORLD, ANY_SOURCE, masked(sought / 3, 7)),
        };
        let before = engines.each_ref().map(|engine| engine.attempts().unexpected);
        let [tested, expected] = engines.each_mut().map(|engine| engine.matched_probe(&selector));
        assert_eq!(tested, expected, "{selector}");
        let after = engines.each_ref().map(|engine| engine.attempts().unexpected);
        let [tested, list] = [0, 1].map(|at| after[at] - before[at]);
        assert!(tested <= list + 24, "{selector}: {tested} examined, where a list examines {list}");
        engines.iter_mut().for_each(|engine| _ = arrive(&mut **engine, id, id % 61, id / 3));
    }
}

#[test]
fn unused_index_is_removed() {
    let mut engine = engines::create("hybrid").unwrap();
    (0..1000).for_each(|id| _ = arrive(&mut *engine, id, id, 0));
    assert_eq!(post(&mut *engine, 0, ANY_SOURCE, tagged(7)), None);
    assert_eq!(statistic(&*engine, "unexpected_indexes"), 1.0);
    for round in 0..40_000 {
        arrive(&mut *engine, 1000 + round, 1, 1);
        post(&mut *engine, 1 + round, from(1), tagged(1));
    }
    assert_eq!(statistic(&*engine, "unexpected_indexes"), 0.0, "the unused index is kept");
}

#[test]
fn many_masks_take_memory_of_receives() {
    for masks in [8, 64, 1024, 8192] {
        let peak = |name| {
            let mut engine = engines::create(name).unwrap();
            for id in 0..4 * masks {
                post(&mut *engine, id, from(7), masked((id / 4) << 32, id / 4 + 1));
            }
            engine.footprint().peak_bytes
        };
        let (tested, list) = (peak("hybrid"), peak("list"));
        assert!(tested <= 3 * list + (64 << 10), "{masks} masks: {tested} bytes where list takes {list}");
    }
}

/// Each index has its maximum size.
#[test]
fn many_masks_keep_few_indexes() {
    let mut engine = engines::create("hybrid").unwrap();
    (0..6_000).for_each(|id| _ = arrive(&mut *engine, id, 0, id * 0x0001_0001_0001_0001));
    let (without, mut most) = (engine.footprint().now_bytes(), 0);
    for round in 0..40 {
        for at in 0..64 {
            // The mask keeps 15 of 16 bits.
            let kept = (0xFFFF & !(1 << (at / 4 % 15))) << (at % 4 * 16);
            let selector = Selector::new(WORLD, ANY_SOURCE, masked(0x8000_8000_8000_8000, !kept));
            assert_eq!(engine.probe(&selector), None, "round {round}, mask {at}");
        }
        most = most.max(engine.footprint().now_bytes() - without);
    }
    let indexes = statistic(&*engine, "unexpected_indexes");
    assert!((1.0..=4.0).contains(&indexes), "{indexes} indexes");
    assert!(most < 7 << 20, "{most} bytes of indexes for 6000 messages");
}

/// A hundred of a million messages are never received.
#[test]
fn leaked_messages_keep_log_small() {
    let mut engine = engines::create("hybrid").unwrap();
    for id in 0..1_000_000 {
        let is_leaked = id % 10_000 == 0;
        arrive(&mut *engine, id, if is_leaked { 0 } else { 1 }, id % 8);
        if !is_leaked {
            assert_eq!(post(&mut *engine, id, from(1), tagged(id % 8)), Some(MsgId(id)));
        }
    }
    let bytes = engine.footprint().peak_bytes;
    assert!(bytes < 200_000, "{bytes} bytes for a hundred messages");
    for id in (0..1_000_000).step_by(10_000) {
        assert_eq!(post(&mut *engine, id, ANY_SOURCE, ANY_TAG), Some(MsgId(id)));
    }
}

#[test]
fn memory_per_entry_is_bounded() {
    let n = 100_000;
    type Fill = fn(&mut dyn Engine, u64);
    let fills: [(&str, Fill, u64); 4] = [
        ("receives", |engine, id| _ = post(engine, id, from(id % 1000), tagged(id)), 64),
        ("any source", |engine, id| _ = post(engine, id, ANY_SOURCE, tagged(id)), 64),
        ("duplicates", |engine, id| _ = post(engine, id, from(1), tagged(1)), 64),
        ("messages", |engine, id| _ = arrive(engine, id, id % 1000, id), 96),
    ];
    for (name, fill, most) in fills {
        let mut engine = engines::create("hybrid:seed=1").unwrap();
        assert!(engine.footprint().now_bytes() < 2048, "{name}: the empty engine takes more than 2 KiB");
        (0..n).for_each(|id| fill(&mut *engine, id));
        let bytes = engine.footprint().now_bytes() / n;
        assert!(bytes <= most, "{name}: {bytes} bytes an entry");
    }
}

#[test]
fn memory_returns_after_flood() {
    let mut engine = engines::create("hybrid:seed=1").unwrap();
    let n = 100_000;
    (0..n).for_each(|id| _ = post(&mut *engine, id, from(1), tagged(id)));
    (0..n).for_each(|id| _ = post(&mut *engine, n + id, ANY_SOURCE, tagged(n + id)));
    (0..2 * n).for_each(|id| assert_eq!(arrive(&mut *engine, id, 1, id), Some(RecvId(id))));
    (0..n).for_each(|id| _ = arrive(&mut *engine, id, 1, id % 1000));
    (0..n).for_each(|id| assert_eq!(post(&mut *engine, id, ANY_SOURCE, ANY_TAG), Some(MsgId(id))));
    let full = engine.footprint().now_bytes();
    for id in 0..200_000 {
        post(&mut *engine, id, from(2), tagged(id % 8));
        arrive(&mut *engine, id, 2, id % 8);
    }
    let bytes = engine.footprint().now_bytes();
    assert!(full > 1 << 20 && bytes < 64 << 10, "{full} bytes, then {bytes}");
    assert!(engine.footprint().peak_bytes >= full);
}

/// Each cycle queues the same number of entries.
#[test]
fn repeated_cycles_keep_table_size() {
    let mut engine = engines::create("hybrid:seed=3").unwrap();
    let mut slots = Vec::new();
    for _ in 0..200 {
        (0..3500).for_each(|id| assert_eq!(post(&mut *engine, id, from(0), tagged(id)), None));
        (0..3500).for_each(|id| assert_eq!(arrive(&mut *engine, id, 0, id), Some(RecvId(id))));
        slots.push(statistic(&*engine, "slots"));
    }
    assert!(slots.iter().all(|&of| of == slots[0]), "{slots:?}");
}

/// At most two keys are queued, so at most one is displaced.
#[test]
fn displaced_keys_slow_no_search() {
    let mut engine = engines::create_counting("hybrid:seed=9").unwrap();
    for id in 0..50_000 {
        let tags = [2 * id, 2 * id + 1];
        tags.iter().for_each(|&tag| assert_eq!(post(&mut *engine, tag, from(0), tagged(tag)), None));
        for tag in tags {
            if id % 2 == 0 {
                assert_eq!(arrive(&mut *engine, tag, 0, tag), Some(RecvId(tag)));
            } else {
                assert!(engine.cancel(&receive(tag, from(0), tagged(tag))));
            }
        }
    }
    assert_eq!(statistic(&*engine, "slots"), 64.0, "the table grew");
    (0..16).for_each(|id| _ = arrive(&mut *engine, id, 1, id));
    let before = engine.attempts().unexpected;
    (0..1000).for_each(|tag| _ = engine.probe(&Selector::new(WORLD, from(2), tagged(tag))));
    let examined = engine.attempts().unexpected - before;
    assert!(examined < 1000, "{examined} examined by 1000 searches among 16 messages");
}

#[test]
fn close_of_last_entries_frees_all() {
    let mut engine = engines::create("hybrid").unwrap();
    (0..100_000).for_each(|id| _ = arrive(&mut *engine, id, id, 0));
    (0..10_000).for_each(|id| _ = post(&mut *engine, id, ANY_SOURCE, tagged(1 + id)));
    let peak = engine.footprint().now_bytes();
    engine.close(ContextId(1), &mut Drained::default());
    assert_eq!(engine.footprint().now_bytes(), peak, "the close of another context freed memory");
    engine.close(WORLD, &mut Drained::default());
    assert!(engine.footprint().now_bytes() < 1024, "{:?}", engine.footprint());
    assert!(engine.footprint().peak_bytes >= peak);
    assert_eq!(arrive(&mut *engine, 0, 0, 0), None);
    assert_eq!(post(&mut *engine, 0, ANY_SOURCE, ANY_TAG), Some(MsgId(0)));
}

#[test]
fn cancelled_flood_frees_memory() {
    let mut engine = engines::create("hybrid").unwrap();
    for id in 0..200_000 {
        assert_eq!(post(&mut *engine, id, from(id % 64), tagged(id)), None);
    }
    let peak = engine.footprint().now_bytes();
    let cancel = |engine: &mut dyn Engine, id| {
        engine.cancel(&Receive::new(RecvId(id), Selector::new(WORLD, from(id % 64), tagged(id))))
    };
    (0..200_000).for_each(|id| assert!(cancel(&mut *engine, id)));
    for _ in 0..100_000 {
        assert_eq!(post(&mut *engine, 0, from(0), tagged(0)), None);
        assert!(cancel(&mut *engine, 0));
    }
    let now = engine.footprint().now_bytes();
    assert!(now * 8 < peak, "{now} bytes of {peak} are kept");
}

/// The table must finish its growth although later calls add no key: arrivals take wildcard receives.
#[test]
fn growing_table_moves_without_new_keys() {
    let mut engine = engines::create("hybrid:seed=1").unwrap();
    let mut queued = 0;
    while statistic(&*engine, "slots") < 65_536.0 {
        assert_eq!(arrive(&mut *engine, queued, queued % 64, queued), None);
        queued += 1;
    }
    let grown = engine.footprint().now_bytes();
    for id in 0..queued {
        assert_eq!(post(&mut *engine, id, ANY_SOURCE, tagged(id)), Some(MsgId(id)));
    }
    for id in 0..10_000 {
        assert_eq!(post(&mut *engine, id, ANY_SOURCE, ANY_TAG), None);
        assert_eq!(arrive(&mut *engine, id, 1, 1), Some(RecvId(id)));
    }
    assert!(engine.footprint().now_bytes() < grown, "the old slots are kept");
}

/// Exact receives take indexed messages. A later search removes only some stale index entries.
#[test]
fn stale_index_entries_cost_little() {
    let (n, taken) = (50_000, 10_000);
    let mut engine = engines::create_counting("hybrid:seed=7").unwrap();
    (0..n).for_each(|id| _ = arrive(&mut *engine, id, id % 64, 1));
    let any_source = |tag| Selector::new(WORLD, ANY_SOURCE, tagged(tag));
    (0..300).for_each(|_| assert_eq!(engine.probe(&any_source(2)), None));
    assert_eq!(statistic(&*engine, "unexpected_indexes"), 1.0);
    (0..taken).for_each(|id| assert_eq!(post(&mut *engine, id, from(id % 64), tagged(1)), Some(MsgId(id))));
    for _ in 0..30 {
        let before = engine.attempts().unexpected;
        assert_eq!(engine.probe(&any_source(1)), Some(MsgId(taken)));
        let examined = engine.attempts().unexpected - before;
        assert!(examined < 1000, "one probe examines {examined}");
    }
    let before = engine.attempts().unexpected;
    assert_eq!(engine.probe(&any_source(1)), Some(MsgId(taken)));
    assert!(engine.attempts().unexpected - before < 8, "earlier probes did not remove stale entries");
}

/// Without messages, the log frees its blocks. The index stays in use.
#[test]
fn index_finds_messages_after_log_restarts() {
    let mut engine = engines::create("hybrid").unwrap();
    (0..10_000).for_each(|id| _ = arrive(&mut *engine, id, 1, id));
    for id in (5_000..10_000).rev().chain(0..5_000) {
        assert_eq!(post(&mut *engine, id, ANY_SOURCE, tagged(id)), Some(MsgId(id)));
    }
    assert_eq!(statistic(&*engine, "unexpected_indexes"), 1.0);
    for id in 0..100_000 {
        assert_eq!(arrive(&mut *engine, id, 1, id % 8), None);
        assert_eq!(post(&mut *engine, id, ANY_SOURCE, tagged(id % 8)), Some(MsgId(id)));
    }
}

/// A few messages stay queued while the log frees the blocks of a flood.
#[test]
fn log_keeps_messages_while_blocks_return() {
    let mut engine = engines::create("hybrid").unwrap();
    (0..10_000).for_each(|id| _ = arrive(&mut *engine, id, 1, id));
    (3..10_000).for_each(|id| assert_eq!(post(&mut *engine, id, from(1), tagged(id)), Some(MsgId(id))));
    for id in 10_000..110_000 {
        assert_eq!(arrive(&mut *engine, id, 2, id % 8), None);
        assert_eq!(post(&mut *engine, id, from(2), tagged(id % 8)), Some(MsgId(id)));
    }
    (0..3).for_each(|id| assert_eq!(post(&mut *engine, id, ANY_SOURCE, ANY_TAG), Some(MsgId(id))));
    assert_eq!(engine.unexpected_len(), 0);
}

#[test]
fn index_finds_last_readdressed_message() {
    let (mut engine, unknown) = (engines::create("hybrid").unwrap(), Rank::UNKNOWN.0.into());
    (0..1000).for_each(|id| assert_eq!(arrive(&mut *engine, id, unknown, id), None));
    let selector = Selector::new(WORLD, from(2), ANY_TAG);
    (0..20).for_each(|_| assert_eq!(engine.probe(&selector), None));
    assert_eq!(statistic(&*engine, "unexpected_indexes"), 1.0);
    assert_eq!(engine.readdress(&message(999, unknown, 999), Rank(2)), Ok(Readdressed::SourceSet));
    assert_eq!(engine.probe(&selector), Some(MsgId(999)));
}
