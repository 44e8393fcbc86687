//! Test: footprints equal the allocator's count. A separate program, so that no other code allocates.

use std::alloc::System;

use cap::Cap;
use matchpoint::engines::{self, Variant};
use matchpoint::{
    ContextId, Drained, Engine, Envelope, Footprint, Message, MsgId, Rank, Receive, RecvId, Selector, Tag,
    TagMask, Wild,
};

#[global_allocator]
static MEMORY: Cap<System> = Cap::new(System, usize::MAX);

/// Allowed difference: 1 / `PART` of the bytes plus `SLACK`.
const PART: usize = 100;
const SLACK: usize = 256;

/// Queues about `n` entries.
type Fill = fn(&mut dyn Engine, u64);

const FILLS: &[(&str, Fill)] = &[
    ("posted, one source", |engine, n| (0..n).for_each(|at| post(engine, at, from(1), tagged(at)))),
    ("posted, many sources", |engine, n| (0..n).for_each(|at| post(engine, at, from(at), tagged(1)))),
    ("posted, duplicates", |engine, n| (0..n).for_each(|at| post(engine, at, from(1), tagged(1)))),
    ("posted, wildcards", |engine, n| {
        (0..n).for_each(|at| post(engine, at, wildcards(at).0, wildcards(at).1))
    }),
    ("unexpected, one source", |engine, n| (0..n).for_each(|at| arrive(engine, at, 1, at))),
    ("unexpected, many sources", |engine, n| (0..n).for_each(|at| arrive(engine, at, at, 1))),
    ("unexpected, strided sources", |engine, n| (0..n).for_each(|at| arrive(engine, at, at << 20, 1))),
    ("unexpected, unknown sources", |engine, n| (0..n).for_each(|at| arrive(engine, at, u64::MAX, at))),
    ("unexpected, wildcard searches", |engine, n| {
        (0..n).for_each(|at| arrive(engine, at, at % 9, at));
        (0..n.min(9)).for_each(|at| post(engine, at, wildcards(at).0, wildcards(at).1));
    }),
    ("many contexts", |engine, n| {
        for at in 0..n.min(1000) {
            let envelope = Envelope::new(ContextId(at as u32), Rank((at % 3) as u32), Tag(1));
            let _ = engine.arrive_message(Message::new(MsgId(at), envelope));
        }
    }),
];

fn from(source: u64) -> Wild<Rank> {
    Wild::Is(Rank(source as u32))
}

fn tagged(tag: u64) -> Wild<Tag> {
    Wild::Is(Tag(tag))
}

fn wildcards(at: u64) -> (Wild<Rank>, Wild<Tag>) {
    match at % 3 {
        0 => (Wild::Any, tagged(1 << 50 | at)),
        1 => (from(1 << 50 | at), Wild::Any),
        _ => (Wild::Any, Wild::Masked(TagMask { value: Tag(1 << 50), ignore: 0xFF << (at % 7) })),
    }
}

/// Posts a receive. An engine with a fixed table may refuse the receive, which only makes the footprint
/// smaller.
fn post(engine: &mut dyn Engine, id: u64, source: Wild<Rank>, tag: Wild<Tag>) {
    let _ = engine.post(Receive::new(RecvId(id), Selector::new(ContextId(0), source, tag)));
}

fn arrive(engine: &mut dyn Engine, id: u64, source: u64, tag: u64) {
    let envelope = Envelope::new(ContextId(0), Rank(source as u32), Tag(tag));
    let _ = engine.arrive_message(Message::new(MsgId(id), envelope));
}

fn compare_footprint(when: &str, footprint: Footprint, before: usize) -> Option<String> {
    let (reported, allocated) = (footprint.now_bytes() as usize, MEMORY.allocated() - before);
    let wrong = reported.abs_diff(allocated) > SLACK + allocated / PART
        || footprint.peak_bytes < footprint.now_bytes();
    wrong.then(|| {
        format!("{when}: {allocated} bytes are allocated, but the footprint is {reported} ({footprint:?})")
    })
}

fn find_wrong_footprint(name: &str, fill: Fill, depth: u64) -> Option<String> {
    let mut drained = Drained::default();
    drained.receives.reserve(2 * depth as usize);
    drained.messages.reserve(2 * depth as usize);
    let before = MEMORY.allocated();
    let mut engine = engines::create(name).unwrap_or_else(|error| panic!("{error}"));
    let idle = compare_footprint("idle", engine.footprint(), before);
    fill(&mut *engine, depth);
    let full = compare_footprint("full", engine.footprint(), before);
    let mut contexts = (0..1000).map(ContextId);
    while engine.posted_len() + engine.unexpected_len() > 0 {
        engine.close(contexts.next().expect("all entries are in these contexts"), &mut drained);
    }
    let empty = compare_footprint("emptied", engine.footprint(), before);
    fill(&mut *engine, depth / 2);
    idle.or(full).or(empty).or(compare_footprint("filled again", engine.footprint(), before))
}

/// The comparison detects a difference of a kilobyte.
fn wrong_footprint_is_found() {
    let before = MEMORY.allocated();
    let held = vec![0u8; 10_000];
    let reported = |entries_bytes| Footprint { entries_bytes, peak_bytes: 10_000, ..Footprint::default() };
    assert!([9_000, 11_000].iter().all(|&bytes| compare_footprint("", reported(bytes), before).is_some()));
    assert_eq!(compare_footprint("", reported(held.len() as u64), before), None);
}

/// Profiles with keys close together, and with two keys of 2^32 processes.
const PROFILED: [&str; 2] = [
    concat!("partner:mode=static,profile=", env!("CARGO_MANIFEST_DIR"), "/tests/some.partners"),
    concat!("partner:mode=static,profile=", env!("CARGO_MANIFEST_DIR"), "/tests/far.partners"),
];

/// Partners with keys far apart take some hundred bytes.
fn distant_partners_take_little_memory() {
    let before = MEMORY.allocated();
    let engine = engines::create(PROFILED[1]).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(
        engine
            .statistics()
            .iter()
            .filter(|statistic| statistic.0.ends_with("partners") && statistic.1 == 2.0)
            .count(),
        2
    );
    let allocated = MEMORY.allocated() - before;
    assert!(allocated < 1500, "{allocated} bytes");
}

fn main() {
    wrong_footprint_is_found();
    distant_partners_take_little_memory();
    let mut found = Vec::new();
    for name in engines::variants().map(|Variant { name, .. }| name).chain(PROFILED.map(str::to_owned)) {
        for &(filled, fill) in FILLS {
            for depth in [1, 100, 10_000] {
                let text = find_wrong_footprint(&name, fill, depth);
                found.extend(text.map(|text| format!("{name}: {filled}, {depth}: {text}")));
            }
        }
    }
    assert!(found.is_empty(), "{} footprints are wrong:\n{}", found.len(), found.join("\n"));
    println!("test result: ok. 1 passed; 0 failed; 0 ignored; footprints equal allocated bytes");
}
