//! Footprints compared with an allocator's count. A separate program, so that no other code allocates.

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

/// About `n` entries.
type Fill = fn(&mut dyn Engine, u64);

const FILLS: &[(&str, Fill)] = &[
    ("posted, one source", |engine, n| (0..n).for_each(|at| post(engine, at, is(1), tagged(at)))),
    ("posted, many sources", |engine, n| (0..n).for_each(|at| post(engine, at, is(at), tagged(1)))),
    ("posted, all alike", |engine, n| (0..n).for_each(|at| post(engine, at, is(1), tagged(1)))),
    ("posted, wildcards", |engine, n| (0..n).for_each(|at| post(engine, at, open(at).0, open(at).1))),
    ("unexpected, one source", |engine, n| (0..n).for_each(|at| arrive(engine, at, 1, at))),
    ("unexpected, many sources", |engine, n| (0..n).for_each(|at| arrive(engine, at, at, 1))),
    ("unexpected, strided sources", |engine, n| (0..n).for_each(|at| arrive(engine, at, at << 20, 1))),
    ("unexpected, nameless", |engine, n| (0..n).for_each(|at| arrive(engine, at, u64::MAX, at))),
    ("unexpected and looked for", |engine, n| {
        (0..n).for_each(|at| arrive(engine, at, at % 9, at));
        (0..n.min(9)).for_each(|at| post(engine, at, open(at).0, open(at).1));
    }),
    ("many contexts", |engine, n| {
        for at in 0..n.min(1000) {
            let envelope = Envelope::new(ContextId(at as u32), Rank((at % 3) as u32), Tag(1));
            let _ = engine.arrive_message(Message::new(MsgId(at), envelope));
        }
    }),
];

fn is(source: u64) -> Wild<Rank> {
    Wild::Is(Rank(source as u32))
}

fn tagged(tag: u64) -> Wild<Tag> {
    Wild::Is(Tag(tag))
}

fn open(at: u64) -> (Wild<Rank>, Wild<Tag>) {
    match at % 3 {
        0 => (Wild::Any, tagged(1 << 50 | at)),
        1 => (is(1 << 50 | at), Wild::Any),
        _ => (Wild::Any, Wild::Masked(TagMask { value: Tag(1 << 50), ignore: 0xFF << (at % 7) })),
    }
}

/// A fixed table may refuse, which makes the footprint smaller.
fn post(engine: &mut dyn Engine, id: u64, source: Wild<Rank>, tag: Wild<Tag>) {
    let _ = engine.post(Receive::new(RecvId(id), Selector::new(ContextId(0), source, tag)));
}

fn arrive(engine: &mut dyn Engine, id: u64, source: u64, tag: u64) {
    let envelope = Envelope::new(ContextId(0), Rank(source as u32), Tag(tag));
    let _ = engine.arrive_message(Message::new(MsgId(id), envelope));
}

fn compared(when: &str, footprint: Footprint, before: usize) -> Option<String> {
    let (says, has) = (footprint.now_bytes() as usize, MEMORY.allocated() - before);
    let wrong = says.abs_diff(has) > SLACK + has / PART || footprint.peak_bytes < footprint.now_bytes();
    wrong.then(|| format!("{when}: {has} bytes are allocated, and it says {says} ({footprint:?})"))
}

fn wrong(name: &str, fill: Fill, depth: u64) -> Option<String> {
    let mut drained = Drained::default();
    drained.receives.reserve(2 * depth as usize);
    drained.messages.reserve(2 * depth as usize);
    let before = MEMORY.allocated();
    let mut engine = engines::create(name).unwrap_or_else(|error| panic!("{error}"));
    let idle = compared("idle", engine.footprint(), before);
    fill(&mut *engine, depth);
    let full = compared("full", engine.footprint(), before);
    let mut contexts = (0..1000).map(ContextId);
    while engine.posted_len() + engine.unexpected_len() > 0 {
        engine.close(contexts.next().expect("there are no others"), &mut drained);
    }
    let empty = compared("emptied", engine.footprint(), before);
    fill(&mut *engine, depth / 2);
    idle.or(full).or(empty).or(compared("filled again", engine.footprint(), before))
}

/// A kilobyte too much or too little is found.
fn wrong_footprint_is_found() {
    let before = MEMORY.allocated();
    let held = vec![0u8; 10_000];
    let says = |entries_bytes| Footprint { entries_bytes, peak_bytes: 10_000, ..Footprint::default() };
    assert!([9_000, 11_000].iter().all(|&bytes| compared("", says(bytes), before).is_some()));
    assert_eq!(compared("", says(held.len() as u64), before), None);
}

/// Close together, and two of 2^32 processes.
const PROFILED: [&str; 2] = [
    concat!("partner:mode=static,profile=", env!("CARGO_MANIFEST_DIR"), "/tests/some.partners"),
    concat!("partner:mode=static,profile=", env!("CARGO_MANIFEST_DIR"), "/tests/far.partners"),
];

/// Some hundred bytes at any distance.
fn distant_partners_take_little_memory() {
    let before = MEMORY.allocated();
    let engine = engines::create(PROFILED[1]).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(engine.statistics().iter().filter(|of| of.0.ends_with("partners") && of.1 == 2.0).count(), 2);
    let takes = MEMORY.allocated() - before;
    assert!(takes < 1500, "{takes} bytes");
}

fn main() {
    wrong_footprint_is_found();
    distant_partners_take_little_memory();
    let mut found = Vec::new();
    for name in engines::variants().map(|Variant { name, .. }| name).chain(PROFILED.map(str::to_owned)) {
        for &(filled, fill) in FILLS {
            for depth in [1, 100, 10_000] {
                let text = wrong(&name, fill, depth);
                found.extend(text.map(|text| format!("{name}: {filled}, {depth}: {text}")));
            }
        }
    }
    assert!(found.is_empty(), "{} footprints are wrong:\n{}", found.len(), found.join("\n"));
    println!("test result: ok. 1 passed; 0 failed; 0 ignored; footprints are what is allocated");
}
