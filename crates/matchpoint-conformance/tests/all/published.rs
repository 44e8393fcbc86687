//! Tests of published engines: attempts and memory, compared with the papers.

use matchpoint::event::script;
use matchpoint::{
    ContextId, Drained, Engine, Envelope, Footprint, Message, MsgId, Rank, Receive, RecvId, Refused,
    Selector, Tag, Wild, engines,
};
use matchpoint_conformance::{Choices, generate};

fn engine(name: &str) -> Box<dyn Engine> {
    engines::create_counting(name).unwrap_or_else(|error| panic!("{error}"))
}

fn selector(source: Option<u64>, tag: Option<u64>) -> Selector {
    let source = source.map_or(Wild::Any, |source| Wild::Is(Rank(source as u32)));
    let tag = tag.map_or(Wild::Any, |tag| Wild::Is(Tag(tag)));
    Selector::new(ContextId(0), source, tag)
}

fn post(engine: &mut dyn Engine, id: u64, source: Option<u64>, tag: Option<u64>) -> Option<MsgId> {
    engine.post(Receive::new(RecvId(id), selector(source, tag))).unwrap()
}

fn message(id: u64, source: u64, tag: u64) -> Message {
    Message::new(MsgId(id), Envelope::new(ContextId(0), Rank(source as u32), Tag(tag)))
}

fn arrive(engine: &mut dyn Engine, id: u64, source: u64, tag: u64) -> Option<RecvId> {
    engine.arrive_message(message(id, source, tag)).unwrap()
}

fn play(engine: &mut dyn Engine, text: &str) {
    for event in script::parse(text).unwrap() {
        event.play(engine);
    }
}

fn statistic(engine: &dyn Engine, name: &str) -> f64 {
    let all = engine.statistics();
    all.iter().find(|(key, _)| *key == name).unwrap_or_else(|| panic!("{name} is not among {all:?}")).1
}

#[test]
fn four_d_searches_one_source() {
    let mut engine = engine("four_d");
    (0..1024).for_each(|source| assert_eq!(post(&mut *engine, source, Some(source), Some(0)), None));
    assert_eq!(arrive(&mut *engine, 0, 1023, 0), Some(RecvId(1023)));
    assert_eq!(engine.attempts().posted, 1, "the search compares one of 1024 receives");

    let peers_bytes = |name| {
        let mut engine = engines::create(name).unwrap();
        play(&mut *engine, "arrive m1 7/60000/0");
        engine.footprint().peers_bytes
    };
    // Three arrays of branches, one array of leaves, and spare capacity of the vectors.
    assert!((320..1024).contains(&peers_bytes("four_d")), "{} bytes", peers_bytes("four_d"));
    assert!(peers_bytes("rank_array") > 480_000);
}

#[test]
fn four_d_any_source_takes_first_arrival() {
    let mut engine = engine("four_d:ranks=625");
    (0..1000).for_each(|source| assert_eq!(arrive(&mut *engine, source, 999 - source, 0), None));
    assert_eq!(
        post(&mut *engine, 0, None, Some(0)),
        Some(MsgId(0)),
        "the oldest message has a source beyond the tree"
    );
    assert_eq!(engine.attempts().unexpected, 1);
}

#[test]
fn four_d_frees_memory_of_closed_communicator() {
    let mut engine = engines::create("four_d").unwrap();
    (0..4096).for_each(|source| assert_eq!(arrive(&mut *engine, source, source * 16, 0), None));
    let before = engine.footprint();
    engine.close(ContextId(0), &mut Drained::default());
    let after = engine.footprint();
    assert!(before.peers_bytes > 500_000 && after.peers_bytes < 1000, "{before:?}, {after:?}");
    assert_eq!(after.peak_bytes, before.peak_bytes);
}

/// Posts `depth` receives, then lets their messages arrive in reverse order.
fn reverse_order(engine: &mut dyn Engine, depth: u64) {
    (0..depth).for_each(|tag| assert_eq!(post(engine, tag, Some(1), Some(tag)), None));
    (0..depth).rev().for_each(|tag| assert_eq!(arrive(engine, tag, 1, tag), Some(RecvId(tag))));
}

#[test]
fn adaptive_migrates_only_after_deep_searches() {
    let mut engine = engine("adaptive");
    (0..1000).for_each(|_| reverse_order(&mut *engine, 8));
    assert_eq!((statistic(&*engine, "moves"), statistic(&*engine, "structure")), (0.0, 0.0));
    reverse_order(&mut *engine, 256);
    assert_eq!((statistic(&*engine, "moves"), statistic(&*engine, "structure")), (1.0, 1.0));
    (0..1000).for_each(|_| reverse_order(&mut *engine, 8));
    assert_eq!(statistic(&*engine, "moves"), 1.0, "entries move once, as in the paper");
}

#[test]
fn adaptive_window_bounds_attempts_before_migration() {
    let mut engine = engine("adaptive:threshold=4,window=256");
    let before = engine.attempts().posted;
    reverse_order(&mut *engine, 4096);
    let examined = engine.attempts().posted - before;
    // A list until 4·256 attempts, with a last search of maximum depth; then 256 bins with a mean length of
    // 8.
    assert!(examined < 4 * 256 + 4096 + 4096 * 16, "{examined} examined");
    assert_eq!(statistic(&*engine, "structure"), 1.0);
}

#[test]
fn adaptive_migration_counts_no_attempts() {
    let mut engine = engine("adaptive:threshold=0,window=1,n=1,ranks=yes");
    play(&mut *engine, "arrive m1 0/1/1\narrive m2 0/2/1\npost r1 0/3/1\npost r2 0/3/1");
    let examined = engine.attempts().unexpected;
    assert_eq!(statistic(&*engine, "structure"), 2.0);
    assert_eq!(examined, 4, "each post examines two messages");
    assert_eq!(engine.attempts().posted, 0);
}

#[test]
fn adaptive_uses_rank_array_if_enabled() {
    let mut engine = engine("adaptive:threshold=4,window=64,n=1,ranks=yes,back=4");
    reverse_order(&mut *engine, 512);
    assert_eq!(
        statistic(&*engine, "structure"),
        2.0,
        "one bin has long searches, so the array of ranks is used"
    );
    let deep = engine.footprint();
    (0..100).for_each(|_| reverse_order(&mut *engine, 4));
    assert_eq!((statistic(&*engine, "structure"), statistic(&*engine, "moves")), (0.0, 3.0));
    let shallow = engine.footprint();
    assert!(shallow.now_bytes() < deep.now_bytes() / 8, "{shallow:?} after {deep:?}");
    assert!(shallow.peak_bytes >= deep.now_bytes());
}

/// Bytes according to the paper (§IV-E): 20 per bin in each of three tables, 64 per receive.
fn paper_memory(bins: u64, receives: u64) -> u64 {
    3 * bins * 20 + receives * 64
}

/// Memory of the engine with receives: a third without wildcards, a third with any source, a third with any
/// tag.
fn optimistic_memory(bins: u64, receives: u64) -> Footprint {
    let mut engine = engines::create(&format!("optimistic:bins={bins},capacity={receives}")).unwrap();
    for id in 0..receives {
        let source = (id % 3 != 1).then_some(id);
        post(&mut *engine, id, source, (id % 3 != 2).then_some(id));
    }
    engine.footprint()
}

#[test]
fn optimistic_memory_is_below_paper() {
    assert_eq!(paper_memory(128, 0), 7680, "7.5 KiB");
    assert_eq!(paper_memory(128, 8192).div_ceil(1024), 520, "KiB");
    let empty = engines::create("optimistic").unwrap().footprint();
    let full = optimistic_memory(128, 8192);
    assert_eq!(full.entries_bytes, 8192 * 64, "a receive takes 64 bytes, as in the paper");
    let tables = full.fixed_bytes - empty.fixed_bytes;
    // 4 bytes per bin, where the paper has 20, and eight indexes for each of four communicators.
    assert!((3 * 128 * 4..3 * 128 * 4 + 2048).contains(&tables), "{tables} bytes");
    assert!(full.peak_bytes < paper_memory(128, 8192));
    // With twice as many bins as receives, as in the paper (§VI), bins take most memory.
    let (tested, paper) = (optimistic_memory(16384, 8192).peak_bytes, paper_memory(16384, 8192));
    assert!(tested < paper / 2, "{tested} of {paper} bytes");
}

#[test]
fn optimistic_full_table_refuses_then_accepts() {
    let mut engine = engine("optimistic:capacity=2");
    post(&mut *engine, 1, Some(1), Some(1));
    let elsewhere = Selector::new(ContextId(9), Wild::Any, Wild::Any);
    engine.post(Receive::new(RecvId(2), elsewhere)).unwrap();
    let third = Receive::new(RecvId(3), selector(Some(1), Some(1)));
    let before = (engine.footprint(), engine.statistics());
    assert_eq!(engine.post(third), Err(Refused::Full));
    assert_eq!((engine.footprint(), engine.statistics()), before);
    for id in 0..100 {
        assert_eq!(arrive(&mut *engine, id, 2, id), None, "the capacity does not limit messages");
    }
    assert_eq!(
        post(&mut *engine, 4, Some(2), Some(7)),
        Some(MsgId(7)),
        "a receive that matches at once needs no slot"
    );
    assert_eq!(arrive(&mut *engine, 100, 1, 1), Some(RecvId(1)));
    assert_eq!(engine.post(third), Ok(None));
}

#[test]
fn optimistic_hints_remove_indexes() {
    let bytes = |hints: &str| {
        let mut engine = engines::create("optimistic").unwrap();
        play(&mut *engine, hints);
        let before = engine.footprint().fixed_bytes;
        play(&mut *engine, "arrive m1 0/1/1\narrive m2 0/2/2");
        engine.footprint().fixed_bytes - before
    };
    let all = bytes("");
    assert_eq!(
        all - bytes("set_hints 0 no_any_source"),
        128 * 4 + 4,
        "bins by tag and the list are not allocated"
    );
    assert_eq!(
        all - bytes("set_hints 0 no_any_tag"),
        128 * 4 + 4,
        "bins by source and the list are not allocated"
    );
    assert_eq!(all - bytes("set_hints 0 no_any_source,no_any_tag"), 2 * 128 * 4 + 4);
    // Hints after arrivals free indexes; the withdrawal of hints rebuilds the indexes.
    let mut engine = engines::create("optimistic").unwrap();
    play(&mut *engine, "arrive m1 0/1/1\narrive m2 0/2/2");
    let before = engine.footprint();
    play(&mut *engine, "set_hints 0 no_any_source");
    let steered = engine.footprint();
    assert!(steered.now_bytes() < before.now_bytes() && steered.peak_bytes >= before.peak_bytes);
    play(&mut *engine, "set_hints 0");
    assert_eq!(post(&mut *engine, 1, None, Some(2)), Some(MsgId(2)));
}

/// Mean number of receives in the bins that arrivals search.
fn bin_depth_mean(bins: u32) -> f64 {
    let mut engine = engine(&format!("optimistic:bins={bins}"));
    reverse_order(&mut *engine, 1024);
    statistic(&*engine, "bin_depth_mean")
}

#[test]
fn more_optimistic_bins_shorten_bin_queues() {
    // The lengths are 1024, 1023, … 1.
    assert_eq!(bin_depth_mean(1), 512.5);
    // A bin has the wanted receive and an equal part of all others.
    for bins in [32, 128] {
        let (depth, expected) = (bin_depth_mean(bins), 1.0 + 511.5 / f64::from(bins));
        assert!((0.8..1.25).contains(&(depth / expected)), "{depth} with {bins} bins, expected {expected}");
    }
}

#[test]
fn optimistic_searches_only_used_indexes() {
    let mut engine = engine("optimistic");
    (0..1024).for_each(|id| assert_eq!(post(&mut *engine, id, None, Some(id)), None));
    (0..1024).rev().for_each(|id| assert_eq!(arrive(&mut *engine, id, id % 7, id), Some(RecvId(id))));
    let mean = engine.attempts().posted / 1024;
    assert!(mean <= 8, "{mean} examined on the average, of 1024 receives from any source in 128 bins");
    (0..1024).for_each(|id| assert_eq!(arrive(&mut *engine, id, id % 7, id), None));
    for (id, (source, tag)) in [(None, Some(9)), (Some(4), None), (None, None)].into_iter().enumerate() {
        let before = engine.attempts().unexpected;
        assert!(post(&mut *engine, id as u64, source, tag).is_some());
        let examined = engine.attempts().unexpected - before;
        assert!(examined <= 24, "{examined} examined for {source:?}, {tag:?}");
    }
}

#[test]
fn optimistic_reports_collisions_bins_and_runs() {
    let mut engine = engine("optimistic:bins=4");
    for id in 0..8 {
        post(&mut *engine, id, Some(1), Some(id / 4));
    }
    post(&mut *engine, 8, None, Some(5));
    assert_eq!(statistic(&*engine, "posted_no_wildcard"), 8.0);
    assert_eq!(statistic(&*engine, "posted_any_source"), 1.0);
    assert_eq!(statistic(&*engine, "runs"), 3.0);
    assert_eq!(statistic(&*engine, "run_length_mean"), 3.0);
    assert_eq!(statistic(&*engine, "run_length_max"), 4.0);
    let collisions = statistic(&*engine, "posted_collisions");
    assert!(
        (6.0..=7.0).contains(&collisions),
        "{collisions} collisions, not all receives except the first of each bin"
    );
    for id in 0..4 {
        arrive(&mut *engine, id, 1, 0);
    }
    assert_eq!(
        statistic(&*engine, "matches_followed_percent"),
        75.0,
        "three of four matched receives have a successor in the run"
    );
    let others = statistic(&*engine, "bin_depth_mean") - statistic(&*engine, "bin_others_mean");
    assert_eq!(others, 1.0, "the means differ by the one matched receive");
    assert_eq!(statistic(&*engine, "empty_bins_any_source_percent"), 75.0);
    assert_eq!(statistic(&*engine, "empty_bins_any_tag_percent"), 100.0);
}

#[test]
fn optimistic_counts_runs_per_communicator() {
    let mut engine = engine("optimistic");
    for id in 0..20 {
        let selector = Selector::new(ContextId(id as u32 % 2), Wild::Is(Rank(3)), Wild::Is(Tag(7)));
        assert_eq!(engine.post(Receive::new(RecvId(id), selector)), Ok(None));
    }
    assert_eq!((statistic(&*engine, "runs"), statistic(&*engine, "run_length_max")), (2.0, 10.0));
    for id in 0..10 {
        assert_eq!(arrive(&mut *engine, id, 3, 7), Some(RecvId(2 * id)));
    }
    assert_eq!(statistic(&*engine, "matches_followed_percent"), 90.0);
}

#[test]
fn index_statistics_are_free_unless_counting() {
    let events = generate::stream(generate::SHAPES[0].1, Choices::Seed(7), 500);
    let mut silent = engines::create("optimistic").unwrap();
    events.iter().for_each(|event| drop(event.play(&mut *silent)));
    assert_eq!(silent.statistics(), []);
}
