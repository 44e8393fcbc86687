//! Fills the schema from a report.

use std::collections::BTreeMap;

use matchpoint_replay::measurements::{
    CONFLICT_BLOCK, CommunicatorFacts, EngineMeasurements, PlaceMeasurements, QueueMeasurements,
    RankMeasurements,
};
use matchpoint_replay::{Measurements, library_cost as replayed, measurements};
use matchpoint_trace::{Class, Function};

use super::{
    Advice, Calls, Communicator, CompatibleRuns, Conflicts, Counts, Document, Engine, EngineAtRank,
    EntryCost, HeaderBits, LibraryCost, Messages, Missing, Other, Peers, Place, Probes, Queue, Rank,
    RankQueue, Replay, SCHEMA, Statistic, Tags, Timings, Trace, Verdict, Wildcards,
};
use crate::advice::Kind;
use crate::derived;
use crate::report::Report;

pub fn document<'a>(report: &'a Report<'_>) -> Document<'a> {
    let measurements = report.measurements;
    let totals = &measurements.totals;
    Document {
        schema: SCHEMA,
        trace: trace(measurements),
        calls: calls(measurements),
        sends: totals.sends,
        receives: totals.receives,
        wildcards: wildcards(totals.wildcards),
        communicators: measurements.communicators.len(),
        tags: tags(totals),
        peers: peers(measurements),
        arrivals: measurements.arrivals.mode.to_string(),
        elapsed_s: measurements.elapsed_s,
        setup_s: measurements.setup_s,
        crowding: measurements.crowding,
        library_cost: measurements.library_cost.as_ref().map(library_cost),
        verdict: verdict(report),
        engines: measurements.engines.iter().map(engine).collect(),
        ranks: (0..measurements.ranks.len()).map(|index| rank(measurements, index)).collect(),
        advice: report.advice.iter().map(advice).collect(),
        messages: messages(totals),
        probes: Probes {
            found: totals.probes_found,
            missed: totals.probes_missed,
            any_source: totals.probes_any_source,
            any_tag: totals.probes_any_tag,
        },
        compatible_runs: compatible_runs(totals),
        conflicts: conflicts(totals),
        header_bits: header_bits(measurements),
        communicator_list: measurements.communicators.iter().map(communicator).collect(),
        replay: replay(measurements),
        host: &measurements.host,
        timings: timings(measurements),
        places: measurements.places.iter().map(place).collect(),
    }
}

fn place(of: &PlaceMeasurements) -> Place<'_> {
    let there = &of.receives;
    Place {
        function: of.function.as_deref(),
        source: of.source.as_deref(),
        module: &of.module,
        address: of.address,
        ranks: of.ranks,
        receives: there.posted,
        late: there.late,
        any_source: there.any_source,
        any_tag: there.any_tag,
        posted_searches: there.found.searches,
        posted_attempts: there.found.attempts,
        posted_attempts_max: there.found.attempts_max,
        unexpected_searches: there.sought.searches,
        unexpected_attempts: there.sought.attempts,
        unexpected_attempts_max: there.sought.attempts_max,
    }
}

fn trace(measurements: &Measurements) -> Trace<'_> {
    let facts = &measurements.trace;
    Trace {
        format: &facts.format,
        library: facts.library.as_deref(),
        transport: facts.transport.as_deref(),
        command: facts.command.as_deref(),
        started: facts.started.as_deref(),
        ranks: facts.ranks,
        calls: facts.calls,
        calls_left_out: facts.calls_left_out,
        calls_cut_off: facts.calls_cut_off,
        ended_early: &facts.ended_early,
        path: &facts.path,
        missing: facts.missing.iter().map(|(rank, why)| Missing { rank: *rank, why }).collect(),
        notes: &facts.notes,
    }
}

fn library_cost(of: &replayed::LibraryCost) -> LibraryCost {
    let entry = |curve: &replayed::Curve| EntryCost {
        lengths: curve.warm.iter().map(|point| point.0).collect(),
        warm_ns: curve.warm.iter().map(|point| point.1).collect(),
        cold_ns: curve.cold_ns,
        empty_ns: curve.empty_ns,
    };
    LibraryCost {
        pairs: of.pairs,
        same_host: of.same_host,
        posted: entry(&of.posted),
        unexpected: entry(&of.unexpected),
        bursts: of.bursts.clone(),
        ring_message_ns: (of.ring_message_ns > 0.0).then_some(of.ring_message_ns),
    }
}

fn calls(measurements: &Measurements) -> Calls<'_> {
    let of = |class| derived::calls_of(measurements, class);
    Calls {
        point_to_point: of(Class::PointToPoint),
        collective: of(Class::Collective),
        one_sided: of(Class::OneSided),
        completion: of(Class::Completion),
        communicator: of(Class::Communicator),
        other: of(Class::Other),
        by_function: named(&measurements.calls),
    }
}

fn named(by_function: &BTreeMap<Function, u64>) -> Counts<'_> {
    by_function.iter().map(|(function, count)| (function.name(), *count)).collect()
}

fn wildcards(of: measurements::Wildcards) -> Wildcards {
    Wildcards { none: of.none, any_source: of.any_source, any_tag: of.any_tag, both: of.both }
}

fn tags(totals: &measurements::Totals) -> Tags<'_> {
    Tags {
        unique: totals.tags_unique,
        max: totals.tag_max,
        exact: totals.tags_exact,
        most_sends: &totals.sends_per_tag,
    }
}

fn peers(measurements: &Measurements) -> Peers {
    let (mean, max) = derived::peers(measurements);
    Peers { mean, max }
}

fn verdict<'a>(report: &'a Report<'_>) -> Verdict<'a> {
    let of = &report.verdict;
    Verdict {
        share: of.share,
        low: of.low,
        high: of.high,
        share_of_replay: of.share_of_replay,
        rank: of.rank,
        at_s: of.at_s,
        text: &of.text,
        answer: of.answer.name(),
        share_of_replay_low: of.range_of_replay.0,
        share_of_replay_high: of.range_of_replay.1,
        share_without_setup: of.share_without_setup,
        share_without_setup_low: of.range_without_setup.0,
        share_without_setup_high: of.range_without_setup.1,
        others: of.others.iter().map(|other| Other { name: &other.name, share: other.share }).collect(),
    }
}

fn timings(measurements: &Measurements) -> Timings {
    let of = measurements.timings;
    Timings {
        wall_s: of.wall_s,
        processor_s: of.processor_s,
        bursts: of.bursts,
        bursts_interrupted: of.interrupted,
        cold_phases: of.cold_phases,
        repetition_excess: of.repetition_excess,
    }
}

/// Why an engine was stopped, if it was.
fn stopped(of: &EngineMeasurements) -> Option<&'static str> {
    match of {
        _ if of.full => Some("full"),
        _ if of.too_large => Some("memory"),
        _ if of.sampled < 1.0 => Some("time"),
        _ => None,
    }
}

fn engine(of: &EngineMeasurements) -> Engine<'_> {
    Engine {
        name: &of.name,
        substitute: of.substitute.as_ref().map(|of| &*of.name),
        substitute_ranks: of.substitute.as_ref().map(|of| of.ranks),
        sampled: of.sampled,
        stopped: stopped(of),
        timed_counting: of.timed_counting,
        matched: of.matched,
        match_ns: of.match_ns,
        match_cold_ns: of.match_cold_ns,
        unmatched_receives: of.unmatched_receives,
        unmatched_messages: of.unmatched_messages,
        disagreements: of.disagreements,
        posted: queue(&of.posted),
        unexpected: queue(&of.unexpected),
        statistics: of.statistics.iter().map(statistic).collect(),
        bytes_max: of.bytes_max,
        bytes_sum: of.bytes_sum,
    }
}

fn statistic(of: &measurements::Statistic) -> Statistic {
    Statistic { name: of.name, mean: of.mean, max: of.max }
}

fn queue(of: &QueueMeasurements) -> Queue<'_> {
    Queue {
        length_max: of.length_max,
        length_mean: of.length_mean,
        attempts: of.attempts,
        searches: of.searches,
        hits: of.hits,
        attempts_hit: of.attempts_hit,
        attempts_miss: of.attempts_miss,
        depth_hit: &of.depth_hit,
        depth_miss: &of.depth_miss,
    }
}

fn rank(measurements: &Measurements, index: usize) -> Rank<'_> {
    let of: &RankMeasurements = &measurements.ranks[index];
    Rank {
        rank: of.rank,
        calls: of.calls,
        sends: of.sends,
        receives: of.receives,
        messages: of.messages,
        elapsed_s: of.elapsed_s,
        setup_s: of.setup_s,
        peers: of.peers,
        peer_uniformity: of.peer_uniformity,
        peer_weight_max: of.peer_weight_max,
        tuples_unique: of.tuples_unique,
        tuples_exact: of.tuples_exact,
        tuple_share_max: of.tuple_share_max,
        tuples_per_receive: of.tuples_per_receive,
        posted: rank_queue(&of.posted),
        unexpected: rank_queue(&of.unexpected),
        late_receives: of.late_receives,
        worst_at_s: of.worst_at_s,
        worst_length: of.worst_length,
        engines: measurements.engines.iter().filter_map(|engine| engine_at(engine, index)).collect(),
    }
}

fn rank_queue(of: &measurements::RankQueue) -> RankQueue {
    RankQueue { length_max: of.length_max, length_mean: of.length_mean }
}

fn engine_at(engine: &EngineMeasurements, index: usize) -> Option<EngineAtRank<'_>> {
    engine.ranks.get(index).map(|at| EngineAtRank {
        name: &engine.name,
        match_ns: at.match_ns,
        match_cold_ns: at.match_cold_ns,
        attempts: at.attempts,
        bytes: at.bytes,
    })
}

fn advice(of: &crate::advice::Advice) -> Advice<'_> {
    let kind = match of.kind {
        Kind::Change => "change",
        Kind::Trust => "trust",
    };
    Advice {
        kind,
        title: &of.title,
        text: &of.text,
        numbers: of.numbers.iter().copied().collect(),
        saving_ns: of.saving.map(|saving| saving.ns),
        saving_share: of.saving.map(|saving| saving.share),
        overflow_limit: of.saving.and_then(|saving| saving.overflow_limit),
    }
}

fn messages(totals: &measurements::Totals) -> Messages<'_> {
    Messages {
        bytes: totals.bytes,
        sends_without_size: totals.sends_without_size,
        proc_null: totals.proc_null,
        cancelled: totals.cancelled,
        late_receives: derived::late(totals),
        late_by_function: named(&totals.late_by_function),
        posted_by_function: named(&totals.posted_by_function),
    }
}

fn compatible_runs(totals: &measurements::Totals) -> CompatibleRuns<'_> {
    let (runs, length_mean) = derived::compatible_runs(totals);
    CompatibleRuns {
        runs,
        length_mean,
        length_max: totals.compatible_run_max,
        by_length: &totals.compatible_runs,
    }
}

fn conflicts(totals: &measurements::Totals) -> Conflicts {
    Conflicts {
        block_messages: CONFLICT_BLOCK,
        blocks: totals.blocks,
        blocks_with_conflict: totals.blocks_with_conflict,
        messages: totals.conflicts,
    }
}

fn header_bits(measurements: &Measurements) -> HeaderBits {
    let of = derived::header_bits(measurements);
    HeaderBits { context: of.context, source: of.source, tag: of.tag, total: of.total() }
}

fn communicator(of: &CommunicatorFacts) -> Communicator<'_> {
    Communicator {
        context: of.context,
        origin: &of.origin,
        size: of.size,
        messages: of.messages,
        resolved: of.resolved,
    }
}

fn replay(measurements: &Measurements) -> Replay<'_> {
    let (arrivals, totals) = (&measurements.arrivals, &measurements.totals);
    Replay {
        elapsed_s: measurements.replayed_s,
        loggp: arrivals.loggp.to_string(),
        released: &arrivals.released,
        made_up_messages: arrivals.made_up_messages,
        lost_messages: arrivals.lost_messages,
        intervals_known: arrivals.intervals_known,
        arrivals_moved: arrivals.arrivals_moved,
        arrivals_outside: arrivals.arrivals_outside,
        unexplained_ranks: arrivals.unexplained_ranks,
        recorded_wildcards: totals.recorded_wildcards,
        reproduced_wildcards: totals.reproduced_wildcards,
        unmatched_receives: totals.unmatched_receives,
        unmatched_messages: totals.unmatched_messages,
        unexpected_share: unexpected_share(measurements),
        unexpected_longest: unexpected_longest(measurements),
    }
}

fn unexpected_share(measurements: &Measurements) -> BTreeMap<String, f64> {
    let own = (measurements.arrivals.mode.to_string(), derived::late_share(&measurements.totals));
    let compared = measurements.arrivals.compared.iter();
    compared.map(|of| (of.mode.to_string(), of.unexpected_share)).chain([own]).collect()
}

fn unexpected_longest(measurements: &Measurements) -> BTreeMap<String, u64> {
    let compared = measurements.arrivals.compared.iter();
    compared.map(|of| (of.mode.to_string(), of.unexpected_longest)).collect()
}
