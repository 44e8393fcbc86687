//! Invented measurements: a halo exchange that ends in a gather. Equal arguments give equal measurements.

use std::collections::BTreeMap;

use matchpoint_replay::Arrivals;
use matchpoint_replay::library_cost::{Curve, LibraryCost};
use matchpoint_replay::measurements::{
    ArrivalFacts, ArrivalOrderResult, CommunicationMatrix, CommunicatorFacts, EngineAtRank,
    EngineMeasurements, Measurements, PlaceMeasurements, QueueMeasurements, RankMeasurements, RankQueue,
    SearchCounts, SiteReceives, Statistic, Timings, Totals, TraceFacts, Wildcards,
};
use matchpoint_trace::Function;

/// Number of time intervals in the timeline of a queue.
pub const SPANS: usize = 200;

const ROUNDS: u64 = 500;
const REPLAYED_S: f64 = 1.25;

pub fn library_cost(pairs: u32, posted: Curve, unexpected: Curve) -> LibraryCost {
    LibraryCost { pairs, same_host: true, posted, unexpected, bursts: vec![], ring_message_ns: 0.0 }
}

pub fn run(ranks: u32) -> Measurements {
    let all: Vec<_> = (0..ranks).map(|rank| at_rank(rank, ranks)).collect();
    let messages: u64 = all.iter().map(|rank| rank.messages).sum();
    Measurements {
        trace: trace(&all, ranks),
        calls: calls(messages, ranks),
        totals: totals(messages),
        arrivals: arrivals(),
        elapsed_s: 1.2,
        replayed_s: REPLAYED_S,
        communicators: communicators(ranks, messages),
        engines: vec![engine("list", 1.0, &all), engine("rank_array", 0.4, &all), engine("bins", 0.3, &all)],
        ranks: all,
        matrix: matrix(ranks),
        host: "AMD EPYC 9B45, 2 cores, Linux 6.1".to_owned(),
        timings: Timings {
            wall_s: 0.2,
            processor_s: 0.199,
            bursts: 400,
            interrupted: 1,
            cold_phases: 90,
            repetition_excess: 0.04,
        },
        places: places(messages, ranks),
        ..Measurements::default()
    }
}

fn places(messages: u64, ranks: u32) -> Vec<PlaceMeasurements> {
    let of =
        |address, function: Option<&str>, source: Option<&str>, posted, late, any_source| PlaceMeasurements {
            module: "/opt/halo/bin/halo".to_owned(),
            address,
            function: function.map(str::to_owned),
            source: source.map(str::to_owned),
            ranks: ranks.into(),
            receives: SiteReceives {
                posted,
                late,
                any_source,
                any_tag: 0,
                found: SearchCounts { searches: posted - late, attempts: posted * 3, attempts_max: 26 },
                sought: SearchCounts { searches: posted, attempts: late * 2, attempts_max: 9 },
            },
        };
    let blocking = messages / 5;
    vec![
        of(
            0x1a40,
            Some("exchange"),
            Some("/scratch/halo/src/exchange.c:94"),
            messages - blocking,
            messages / 9,
            0,
        ),
        of(0x2210, None, None, blocking, messages / 6, messages / 10),
    ]
}

fn trace(all: &[RankMeasurements], ranks: u32) -> TraceFacts {
    TraceFacts {
        format: "DUMPI 13.0.0".to_owned(),
        path: "traces/halo".to_owned(),
        ranks,
        calls: all.iter().map(|rank| rank.calls).sum(),
        notes: vec!["The tracer does not record communicator attributes.".to_owned()],
        ..TraceFacts::default()
    }
}

fn calls(messages: u64, ranks: u32) -> BTreeMap<Function, u64> {
    BTreeMap::from([
        (Function::Init, u64::from(ranks)),
        (Function::Isend, messages - messages / 8),
        (Function::Send, messages / 8),
        (Function::Irecv, messages - messages / 5),
        (Function::Recv, messages / 5),
        (Function::Iprobe, messages / 20),
        (Function::Waitall, messages / 4),
        (Function::Allreduce, u64::from(ranks) * ROUNDS / 10),
        (Function::Barrier, u64::from(ranks) * 3),
        (Function::Comm_split, u64::from(ranks)),
        (Function::Finalize, u64::from(ranks)),
    ])
}

fn totals(messages: u64) -> Totals {
    Totals {
        sends: messages,
        receives: messages,
        wildcards: Wildcards {
            none: messages - messages / 10,
            any_source: messages / 10 - messages / 50,
            any_tag: 0,
            both: messages / 50,
        },
        proc_null: messages / 30,
        cancelled: 2,
        probes_found: messages / 60,
        probes_missed: messages / 30,
        bytes: messages * 4096,
        tags_unique: 40,
        tags_exact: true,
        tag_max: Some(1337),
        sends_per_tag: (0..32).map(|tag| (tag * 43, messages / 2_u64.pow(tag as u32 / 2 + 1))).collect(),
        late_by_function: BTreeMap::from([(Function::Recv, messages / 6), (Function::Irecv, messages / 9)]),
        posted_by_function: BTreeMap::from([
            (Function::Recv, messages / 5),
            (Function::Irecv, messages - messages / 5),
        ]),
        compatible_runs: vec![messages / 4, messages / 9, messages / 40, 12, 3],
        compatible_run_max: 30,
        blocks: messages / 32,
        conflicts: messages / 70,
        blocks_with_conflict: messages / 320,
        recorded_wildcards: messages / 10,
        reproduced_wildcards: messages / 10 - messages / 300,
        unmatched_receives: 1,
        ..Totals::default()
    }
}

fn arrivals() -> ArrivalFacts {
    ArrivalFacts {
        compared: vec![
            under(Arrivals::Simulated, 0.25),
            under(Arrivals::Timestamps, 0.31),
            under(Arrivals::AtWait, 0.0),
        ],
        ..ArrivalFacts::default()
    }
}

fn communicators(ranks: u32, messages: u64) -> Vec<CommunicatorFacts> {
    let of = |context, origin: &str, size, messages| CommunicatorFacts {
        context,
        origin: origin.to_owned(),
        size,
        messages,
        resolved: context < 2,
    };
    vec![
        of(0, "MPI_COMM_WORLD", ranks, messages - messages / 4),
        of(1, "MPI_Comm_split of 0", ranks / 2, messages / 5),
        of(2, "MPI_Comm_dup of 0", ranks, messages / 4 - messages / 5),
    ]
}

fn at_rank(rank: u32, ranks: u32) -> RankMeasurements {
    let root = rank == 5;
    let collected = if root { u64::from(ranks) * 4 } else { 0 };
    let messages = 6 * ROUNDS + collected;
    let at = f64::from(rank) / f64::from(ranks);
    let posted = timeline(rank, 2.0 * at, 0);
    let unexpected = timeline(rank, 5.0 * at + 1.0, if root { ranks * 3 } else { 0 });
    RankMeasurements {
        rank,
        calls: 3 * messages,
        sends: messages,
        receives: messages,
        messages,
        elapsed_s: 1.2 - f64::from(rank % 7) * 0.001,
        peers: if root { ranks - 1 } else { 6.min(ranks - 1) },
        peer_uniformity: 0.97 - f64::from(rank % 5) * 0.05,
        peer_weight_max: 0.18 + f64::from(rank % 5) * 0.02,
        tuples_unique: 24,
        tuples_exact: true,
        tuple_share_max: 0.12 + f64::from(rank % 4) * 0.01,
        tuples_per_receive: 0.008,
        worst_at_s: if root { 1.13 } else { 0.4 + f64::from(rank % 9) * 0.05 },
        worst_length: longest(&unexpected).max(longest(&posted)),
        posted: queue(posted),
        unexpected: queue(unexpected),
        late_receives: messages / 4 + u64::from(rank % 3),
        ..RankMeasurements::default()
    }
}

fn longest(timeline: &[u32]) -> u64 {
    timeline.iter().copied().max().unwrap_or(0).into()
}

fn queue(timeline: Vec<u32>) -> RankQueue {
    let mean = timeline.iter().sum::<u32>() as f64 / timeline.len() as f64;
    RankQueue { length_max: longest(&timeline), length_mean: mean * 0.6, timeline }
}

/// Queue lengths over the run: waves, noise, and `pile` entries near the end.
fn timeline(rank: u32, phase: f64, pile: u32) -> Vec<u32> {
    let mut state = u64::from(rank) * 7919 + (phase * 64.0) as u64;
    (0..SPANS)
        .map(|span| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let noise = (state >> 33) as u32 % 4;
            let wave = ((span as f64 * 0.35 + phase * 3.0).sin().max(0.0) * f64::from(10 + rank % 13)) as u32;
            let piled = if span > 160 { pile * (SPANS - span) as u32 / 40 } else { 0 };
            if span < 12 { 0 } else { wave + noise * u32::from(wave > 0) + piled }
        })
        .collect()
}

fn engine(name: &str, factor: f64, all: &[RankMeasurements]) -> EngineMeasurements {
    let ranks: Vec<_> = all.iter().map(|rank| engine_at(rank, factor)).collect();
    let sum = |of: fn(&EngineAtRank) -> f64| ranks.iter().map(of).sum();
    let messages: u64 = all.iter().map(|rank| rank.messages).sum();
    EngineMeasurements {
        name: name.to_owned(),
        sampled: 1.0,
        match_ns: sum(|at| at.match_ns),
        match_cold_ns: sum(|at| at.match_cold_ns),
        matched: messages,
        unmatched_receives: 1,
        posted: searches(messages, factor, 3, all.iter().map(|rank| rank.posted.length_max).max()),
        unexpected: searches(messages, factor, 1, all.iter().map(|rank| rank.unexpected.length_max).max()),
        // One statistic, so that the JSON has its members.
        statistics: vec![Statistic { name: "nothing", mean: 0.0, max: 0.0 }],
        bytes_max: 4096 + (ranks.len() as f64 * 32.0 / factor) as u64,
        bytes_sum: ranks.iter().map(|at| at.bytes).sum(),
        ranks,
        ..EngineMeasurements::default()
    }
}

fn engine_at(rank: &RankMeasurements, factor: f64) -> EngineAtRank {
    let attempts = rank.messages as f64 * (2.0 + rank.worst_length as f64 * 0.2) * factor;
    let match_ns = rank.messages as f64 * 80.0 + attempts * 40.0 * factor;
    EngineAtRank {
        match_ns,
        match_cold_ns: match_ns * 2.6,
        attempts: attempts as u64,
        library: None,
        bytes: (2048.0 + rank.worst_length as f64 * 24.0 / factor) as u64,
    }
}

fn searches(messages: u64, factor: f64, hits_per_four: u64, longest: Option<u64>) -> QueueMeasurements {
    let hits = messages * hits_per_four / 4;
    let misses = messages - hits;
    QueueMeasurements {
        length_max: longest.unwrap_or(0),
        length_mean: 6.4,
        attempts: (hits as f64 * 3.2 * factor) as u64 + (misses as f64 * 6.4 * factor) as u64,
        searches: messages,
        hits,
        depth_hit: vec![hits - hits / 2 - hits / 4 - hits / 8, hits / 2, hits / 4, hits / 8],
        depth_miss: vec![misses - misses / 2 - misses / 3 - 1, misses / 2, misses / 3, 0, 1],
        attempts_hit: (hits as f64 * 3.2 * factor) as u64,
        attempts_miss: (misses as f64 * 6.4 * factor) as u64,
    }
}

fn matrix(ranks: u32) -> CommunicationMatrix {
    let ranks_per_cell = ranks.div_ceil(64);
    let cells = ranks.div_ceil(ranks_per_cell);
    let messages: Vec<_> =
        (0..cells * cells).map(|cell| traffic(cell / cells, cell % cells, cells)).collect();
    let bytes = messages.iter().map(|messages| messages * 4096).collect();
    CommunicationMatrix { ranks_per_cell, cells, messages, bytes }
}

fn traffic(from: u32, to: u32, cells: u32) -> u64 {
    let distance = from.abs_diff(to);
    let around = distance.min(cells - distance);
    let gathered = if to == 5.min(cells - 1) { 4 } else { 0 };
    match around {
        1 => 1000,
        2..=3 => 500 / u64::from(around),
        8 => 120,
        _ => gathered,
    }
}

fn under(mode: Arrivals, unexpected_share: f64) -> ArrivalOrderResult {
    ArrivalOrderResult { mode, unexpected_share, unexpected_longest: 3 }
}
