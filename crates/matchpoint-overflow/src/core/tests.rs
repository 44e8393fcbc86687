//! Tests of the core without its C interface.

use matchpoint::engines::REGISTRY;

use super::*;

mod refusing;

fn envelope(context: u32, source: i32, tag: i32) -> CoreEnvelope {
    CoreEnvelope { context, source, tag }
}

fn core(engine: &str) -> Core {
    Core::new(engine).expect("the registry has the engine")
}

fn ids(core: &Core, queue: Queue) -> Vec<u64> {
    let mut ids = Vec::new();
    core.visit(queue, |id| ids.push(id));
    ids
}

struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % n
    }
}

#[test]
fn unknown_engine_is_an_error() {
    let error = Core::new("tree").err().expect("there is no such engine").to_string();
    assert!(error.contains("there is no engine `tree`"), "{error}");
}

#[test]
fn receive_matches_waiting_message() {
    let mut core = core("hybrid");
    assert_eq!(core.arrive(1, &envelope(0, 2, 3)), Ok(None));
    assert_eq!(core.post(10, &envelope(0, 2, 4)), Ok(None));
    assert_eq!(core.post(11, &envelope(1, 2, 3)), Ok(None));
    assert_eq!(core.post(12, &envelope(0, 2, 3)), Ok(Some(1)));
    let tally = core.tally();
    assert_eq!((tally.posts, tally.posts_hit, tally.posted_now, tally.unexpected_now), (3, 1, 2, 0));
}

#[test]
fn message_matches_earliest_receive() {
    let mut core = core("hybrid");
    assert_eq!(core.post(10, &envelope(0, ANY, 3)), Ok(None));
    assert_eq!(core.post(11, &envelope(0, 2, 3)), Ok(None));
    assert_eq!(core.arrive(1, &envelope(0, 2, 3)), Ok(Some(10)));
    assert_eq!(core.arrive(2, &envelope(0, 2, 3)), Ok(Some(11)));
    assert_eq!(core.arrive(3, &envelope(0, 2, 3)), Ok(None));
    assert_eq!((core.tally().arrivals, core.tally().arrivals_hit), (3, 2));
}

#[test]
fn wildcards_accept_every_value() {
    for (source, tag) in [(ANY, 3), (2, ANY), (ANY, ANY)] {
        let mut core = core("hybrid");
        assert_eq!(core.post(10, &envelope(0, source, tag)), Ok(None));
        assert_eq!(core.arrive(1, &envelope(1, 2, 3)), Ok(None), "another context");
        assert_eq!(core.arrive(2, &envelope(0, 2, 3)), Ok(Some(10)));
    }
    let mut core = core("hybrid");
    assert_eq!(core.post(10, &envelope(0, ANY, ANY)), Ok(None));
    assert_eq!(core.arrive(1, &envelope(0, i32::MAX, i32::MAX)), Ok(Some(10)));
}

#[test]
fn probe_leaves_message_and_take_removes_it() {
    let mut core = core("hybrid");
    assert_eq!(core.probe(&envelope(0, ANY, ANY), false), None);
    assert_eq!(core.arrive(1, &envelope(0, 2, 3)), Ok(None));
    assert_eq!(core.probe(&envelope(0, ANY, 3), false), Some(1));
    assert_eq!(core.probe(&envelope(0, ANY, 3), true), Some(1));
    assert_eq!(core.probe(&envelope(0, ANY, 3), true), None);
    assert_eq!((core.tally().probes, core.tally().unexpected_now), (4, 0));
}

#[test]
fn cancel_after_match_returns_false() {
    let mut core = core("hybrid");
    assert_eq!(core.post(10, &envelope(0, 2, 3)), Ok(None));
    assert_eq!(core.post(11, &envelope(0, 2, 3)), Ok(None));
    assert!(core.cancel(10, &envelope(0, 2, 3)));
    assert!(!core.cancel(10, &envelope(0, 2, 3)));
    assert_eq!(core.arrive(1, &envelope(0, 2, 3)), Ok(Some(11)));
    assert!(!core.cancel(11, &envelope(0, 2, 3)));
    assert_eq!(core.tally().posted_now, 0);
}

#[test]
fn visit_is_oldest_first() {
    let mut core = core("hybrid");
    for id in 1..=100 {
        let source = if id % 3 == 0 { ANY } else { (id % 5) as i32 };
        assert_eq!(core.post(id, &envelope((id % 2) as u32, source, 1)), Ok(None));
        assert_eq!(core.arrive(1000 + id, &envelope((id % 2) as u32, 0, 2)), Ok(None));
    }
    assert_eq!(ids(&core, Queue::Posted), (1..=100).collect::<Vec<_>>());
    assert_eq!(ids(&core, Queue::Unexpected), (1001..=1100).collect::<Vec<_>>());
}

#[test]
fn close_context_keeps_other_contexts() {
    let mut core = core("hybrid");
    for context in [0, 1] {
        let id = u64::from(context);
        assert_eq!(core.post(10 + id, &envelope(context, 2, 3)), Ok(None));
        assert_eq!(core.arrive(20 + id, &envelope(context, 2, 4)), Ok(None));
    }
    core.close_context(0);
    assert_eq!((ids(&core, Queue::Posted), ids(&core, Queue::Unexpected)), (vec![11], vec![21]));
    assert_eq!((core.tally().posted_now, core.tally().unexpected_now), (1, 1));
    assert_eq!(core.arrive(30, &envelope(0, 2, 3)), Ok(None), "the context may be reused");
}

#[test]
fn full_table_moves_entries_to_hybrid() {
    let tight = REGISTRY.iter().flat_map(|spec| spec.tight.iter().map(move |tight| (spec.name, tight)));
    let mut engines = 0;
    for (name, tight) in tight {
        let mut core = core(&format!("{name}:{tight}"));
        assert_eq!(core.arrive(1000, &envelope(0, 9, 9)), Ok(None));
        for id in 1..=100 {
            assert_eq!(core.post(id, &envelope(0, (id % 4) as i32, ANY)), Ok(None), "{name}:{tight}");
        }
        assert!(core.fell_back(), "{name}:{tight}");
        assert_eq!(ids(&core, Queue::Posted), (1..=100).collect::<Vec<_>>());
        assert_eq!(core.post(101, &envelope(0, ANY, 9)), Ok(Some(1000)));
        assert_eq!(core.arrive(1001, &envelope(0, 1, 5)), Ok(Some(1)));
        engines += 1;
    }
    assert!(engines > 0, "the registry has engines with tables of fixed size");
}

/// One receive, one message, and an engine that refuses all other entries.
fn refusing_core(reason: Refused) -> Core {
    let mut core = core("list");
    assert_eq!(core.post(10, &envelope(0, 2, 3)), Ok(None));
    assert_eq!(core.arrive(20, &envelope(0, 2, 4)), Ok(None));
    let engine = std::mem::replace(&mut core.engine, engines::create("list").expect("it exists"));
    core.engine = Box::new(refusing::RefusingEngine { engine, reason });
    core
}

#[test]
fn refused_call_changes_nothing() {
    let mut core = refusing_core(Refused::Memory);
    assert_eq!(core.post(11, &envelope(0, 2, 4)), Err(OutOfMemory));
    assert_eq!(core.arrive(21, &envelope(0, 2, 3)), Err(OutOfMemory));
    assert!(!core.fell_back());
    assert_eq!((ids(&core, Queue::Posted), ids(&core, Queue::Unexpected)), (vec![10], vec![20]));
    let tally = core.tally();
    assert_eq!((tally.posts, tally.arrivals, tally.posted_now, tally.unexpected_now), (1, 1, 1, 1));
}

#[test]
fn full_or_unsuitable_engine_is_replaced() {
    for reason in [Refused::Full, Refused::Hint] {
        let mut core = refusing_core(reason);
        assert_eq!(core.arrive(21, &envelope(0, 2, 3)), Ok(Some(10)));
        assert!(core.fell_back());
        assert_eq!(core.post(11, &envelope(0, 2, 4)), Ok(Some(20)));
        assert_eq!((core.tally().posted_now, core.tally().unexpected_now), (0, 0));
    }
}

/// Plays a random stream on an engine and on `list`, and compares all results.
fn compare_with_list(engine: &str, seed: u64, events: u64) {
    let (mut core, mut list, mut random) = (core(engine), core("list"), Random(seed));
    let mut receives_by_id = vec![envelope(0, 0, 0)];
    for id in 1..=events {
        let at = format!("{engine}, seed {seed}, event {id}");
        let context = random.below(2) as u32;
        let (source, tag) = (random.below(4) as i32, random.below(12) as i32);
        let message = envelope(context, source, tag);
        let wild = random.below(8);
        let receive = envelope(
            context,
            if wild & 3 == 0 { ANY } else { source },
            if wild & 4 == 0 { tag } else { ANY },
        );
        receives_by_id.push(receive);
        // Both queues grow in phases.
        let receives = if (id / 300) % 2 == 0 { 70 } else { 25 };
        match random.below(110) {
            n if n < receives => assert_eq!(core.post(id, &receive), list.post(id, &receive), "{at}"),
            ..95 => assert_eq!(core.arrive(id, &message), list.arrive(id, &message), "{at}"),
            n @ 95..100 => {
                let take = n > 96;
                assert_eq!(core.probe(&receive, take), list.probe(&receive, take), "{at}");
            }
            100..109 => {
                let other = id - random.below(id.min(200));
                let of = &receives_by_id[other as usize];
                assert_eq!(core.cancel(other, of), list.cancel(other, of), "{at}");
            }
            _ if random.below(10) == 0 => {
                core.close_context(context);
                list.close_context(context);
            }
            _ => {}
        }
    }
    for queue in [Queue::Posted, Queue::Unexpected] {
        assert_eq!(ids(&core, queue), ids(&list, queue), "{engine}, seed {seed}");
    }
    let lengths = |core: &Core| (core.tally().posted_now, core.tally().unexpected_now);
    assert_eq!(lengths(&core), lengths(&list), "{engine}, seed {seed}");
}

#[test]
fn hybrid_equals_list_on_random_streams() {
    for seed in 1..=20 {
        compare_with_list("hybrid", seed * 0x9E37_79B9, 5000);
    }
}

#[test]
fn engines_equal_list_on_random_streams() {
    // `rank_array` keeps order per source only, so a wildcard receive may match another message.
    for variant in engines::variants().filter(|variant| !variant.name.starts_with("rank_array")) {
        compare_with_list(&variant.name, 77, 3000);
    }
}
