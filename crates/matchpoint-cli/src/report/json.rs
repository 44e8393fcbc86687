//! JSON, schema 1. Names and nesting are fixed: programs read them. `docs/json.md` describes every member, and a
//! test compares it with what is written.

mod build;

use std::collections::BTreeMap;
use std::io::{self, Write};

use matchpoint_trace::BurstCost;
use serde::Serialize;

use super::Report;

/// The version of the schema.
pub const SCHEMA: u32 = 1;

/// Writes the report.
///
/// # Errors
/// `out` does not take it.
pub fn write(report: &Report<'_>, mut out: &mut dyn Write) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut out, &document(report))?;
    out.write_all(b"\n")
}

/// The report as plain data.
pub fn document<'a>(report: &'a Report<'_>) -> Document<'a> {
    build::document(report)
}

type Counts<'a> = BTreeMap<&'a str, u64>;

/// All of it.
#[derive(Serialize)]
pub struct Document<'a> {
    schema: u32,
    trace: Trace<'a>,
    calls: Calls<'a>,
    sends: u64,
    receives: u64,
    wildcards: Wildcards,
    communicators: usize,
    tags: Tags<'a>,
    peers: Peers,
    arrivals: String,
    elapsed_s: f64,
    setup_s: f64,
    crowding: Option<f64>,
    library_cost: Option<LibraryCost>,
    verdict: Verdict<'a>,
    engines: Vec<Engine<'a>>,
    ranks: Vec<Rank<'a>>,
    advice: Vec<Advice<'a>>,
    messages: Messages<'a>,
    probes: Probes,
    compatible_runs: CompatibleRuns<'a>,
    conflicts: Conflicts,
    header_bits: HeaderBits,
    communicator_list: Vec<Communicator<'a>>,
    replay: Replay<'a>,
    host: &'a str,
    timings: Timings,
    places: Vec<Place<'a>>,
}

#[derive(Serialize)]
struct Place<'a> {
    function: Option<&'a str>,
    source: Option<&'a str>,
    module: &'a str,
    address: u64,
    ranks: u64,
    receives: u64,
    late: u64,
    any_source: u64,
    any_tag: u64,
    posted_searches: u64,
    posted_attempts: u64,
    posted_attempts_max: u64,
    unexpected_searches: u64,
    unexpected_attempts: u64,
    unexpected_attempts_max: u64,
}

#[derive(Serialize)]
struct Timings {
    wall_s: f64,
    processor_s: f64,
    bursts: u64,
    bursts_interrupted: u64,
    cold_phases: u64,
    repetition_excess: f64,
}

#[derive(Serialize)]
struct Trace<'a> {
    format: &'a str,
    library: Option<&'a str>,
    transport: Option<&'a str>,
    command: Option<&'a str>,
    started: Option<&'a str>,
    ranks: u32,
    calls: u64,
    calls_left_out: u64,
    calls_cut_off: u64,
    ended_early: &'a [u32],
    path: &'a str,
    missing: Vec<Missing<'a>>,
    notes: &'a [String],
}

#[derive(Serialize)]
struct LibraryCost {
    pairs: u32,
    same_host: bool,
    posted: EntryCost,
    unexpected: EntryCost,
    bursts: Vec<BurstCost>,
    ring_message_ns: Option<f64>,
}

#[derive(Serialize)]
struct EntryCost {
    lengths: Vec<f64>,
    warm_ns: Vec<f64>,
    cold_ns: f64,
    empty_ns: f64,
}

#[derive(Serialize)]
struct Missing<'a> {
    rank: u32,
    why: &'a str,
}

#[derive(Serialize)]
struct Calls<'a> {
    point_to_point: u64,
    collective: u64,
    one_sided: u64,
    completion: u64,
    communicator: u64,
    other: u64,
    by_function: Counts<'a>,
}

#[derive(Serialize)]
struct Wildcards {
    none: u64,
    any_source: u64,
    any_tag: u64,
    both: u64,
}

#[derive(Serialize)]
struct Tags<'a> {
    unique: u64,
    max: Option<i32>,
    exact: bool,
    most_sends: &'a [(i32, u64)],
}

#[derive(Serialize)]
struct Peers {
    mean: f64,
    max: u32,
}

#[derive(Serialize)]
struct Verdict<'a> {
    share: f64,
    low: f64,
    high: f64,
    share_of_replay: f64,
    rank: u32,
    at_s: f64,
    text: &'a str,
    answer: &'static str,
    share_of_replay_low: f64,
    share_of_replay_high: f64,
    share_without_setup: f64,
    share_without_setup_low: f64,
    share_without_setup_high: f64,
    others: Vec<Other<'a>>,
}

#[derive(Serialize)]
struct Other<'a> {
    name: &'a str,
    share: f64,
}

#[derive(Serialize)]
struct Engine<'a> {
    name: &'a str,
    substitute: Option<&'a str>,
    substitute_ranks: Option<u32>,
    sampled: f64,
    stopped: Option<&'static str>,
    timed_counting: f64,
    matched: u64,
    match_ns: f64,
    match_cold_ns: f64,
    unmatched_receives: u64,
    unmatched_messages: u64,
    disagreements: u64,
    posted: Queue<'a>,
    unexpected: Queue<'a>,
    statistics: Vec<Statistic>,
    bytes_max: u64,
    bytes_sum: u64,
}

#[derive(Serialize)]
struct Statistic {
    name: &'static str,
    mean: f64,
    max: f64,
}

#[derive(Serialize)]
struct Queue<'a> {
    length_max: u64,
    length_mean: f64,
    attempts: u64,
    searches: u64,
    hits: u64,
    attempts_hit: u64,
    attempts_miss: u64,
    depth_hit: &'a [u64],
    depth_miss: &'a [u64],
}

#[derive(Serialize)]
struct Rank<'a> {
    rank: u32,
    calls: u64,
    sends: u64,
    receives: u64,
    messages: u64,
    elapsed_s: f64,
    setup_s: f64,
    peers: u32,
    peer_uniformity: f64,
    peer_weight_max: f64,
    tuples_unique: u64,
    tuples_exact: bool,
    tuple_share_max: f64,
    tuples_per_receive: f64,
    posted: RankQueue,
    unexpected: RankQueue,
    late_receives: u64,
    worst_at_s: f64,
    worst_length: u64,
    engines: Vec<EngineAtRank<'a>>,
}

#[derive(Serialize)]
struct RankQueue {
    length_max: u64,
    length_mean: f64,
}

#[derive(Serialize)]
struct EngineAtRank<'a> {
    name: &'a str,
    match_ns: f64,
    match_cold_ns: f64,
    attempts: u64,
    bytes: u64,
}

#[derive(Serialize)]
struct Advice<'a> {
    kind: &'static str,
    title: &'a str,
    text: &'a str,
    numbers: BTreeMap<&'static str, f64>,
    saving_ns: Option<f64>,
    saving_share: Option<f64>,
    overflow_limit: Option<u64>,
}

#[derive(Serialize)]
struct Messages<'a> {
    bytes: u64,
    sends_without_size: u64,
    proc_null: u64,
    cancelled: u64,
    late_receives: u64,
    late_by_function: Counts<'a>,
    posted_by_function: Counts<'a>,
}

#[derive(Serialize)]
struct Probes {
    found: u64,
    missed: u64,
    any_source: u64,
    any_tag: u64,
}

#[derive(Serialize)]
struct CompatibleRuns<'a> {
    runs: u64,
    length_mean: f64,
    length_max: u64,
    by_length: &'a [u64],
}

#[derive(Serialize)]
struct Conflicts {
    block_messages: usize,
    blocks: u64,
    blocks_with_conflict: u64,
    messages: u64,
}

#[derive(Serialize)]
struct HeaderBits {
    context: u32,
    source: u32,
    tag: u32,
    total: u32,
}

#[derive(Serialize)]
struct Communicator<'a> {
    context: u32,
    origin: &'a str,
    size: u32,
    messages: u64,
    resolved: bool,
}

#[derive(Serialize)]
struct Replay<'a> {
    elapsed_s: f64,
    loggp: String,
    released: &'a BTreeMap<&'static str, u64>,
    made_up_messages: u64,
    lost_messages: u64,
    intervals_known: bool,
    arrivals_moved: u64,
    arrivals_outside: u64,
    unexplained_ranks: u64,
    recorded_wildcards: u64,
    reproduced_wildcards: u64,
    unmatched_receives: u64,
    unmatched_messages: u64,
    unexpected_share: BTreeMap<String, f64>,
    unexpected_longest: BTreeMap<String, u64>,
}
