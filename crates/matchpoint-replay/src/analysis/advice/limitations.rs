//! Limitations of the results.

use super::{Advice, Case, change, limitation};
use crate::Arrivals;
use crate::analysis::derived::{cost_ns, engine_label, index_of, likely_cost_ns, ratio};
use crate::analysis::inconclusive::{if_all_searched, is_mostly_setup};
use crate::analysis::library_cost::has_library_cost;
use crate::format;
use crate::library_cost::TYPICAL_OF;
use crate::measurements::ArrivalOrderResult;

/// Share of recorded wildcard receives with the same message in the replay, below which the share is reported.
const REPRODUCED: f64 = 0.9;

/// Difference in the share of late receives from which the arrival order matters.
const SENSITIVE: f64 = 0.1;

/// Ratio and length of the longest unexpected queues from which the arrival order matters.
const TIMES_LONGER: u64 = 4;
const LONG_QUEUE: u64 = 64;

/// Highest values on an idle host: share of the time that the timing thread waits for a processor, and excess of the
/// median repetition of a burst over the shortest.
const WAITED: f64 = 0.05;
const APART: f64 = 0.5;

/// Bursts below which the excess is meaningless, because the first bursts of an engine allocate memory.
const BURSTS: u64 = 200;

/// Interrupted bursts, as a number and as a part of all bursts, below which host load does not matter.
const INTERRUPTED: u64 = 3;
const INTERRUPTED_PART: f64 = 0.1;

pub fn host_load(case: &Case<'_>) -> Option<Advice> {
    let timings = case.measurements.timings;
    let waited = 1.0 - ratio(timings.processor_s, timings.wall_s);
    let is_rare = timings.interrupted < INTERRUPTED
        || (timings.interrupted as f64) < INTERRUPTED_PART * timings.bursts as f64;
    if timings.wall_s <= 0.0
        || is_rare
        || waited < WAITED && (timings.repetition_excess < APART || timings.bursts < BURSTS)
    {
        return None;
    }
    limitation(
        "Host load during the timing",
        format!(
            "The timing thread waited for a processor {} of the time (in {} of {}). The median repetition of a burst took \
             {} longer than the shortest, which counts. The cold end of a range can be twice as high as on an idle host. \
             Repeat the analysis on an idle host.",
            format::share(waited),
            format::count(timings.interrupted),
            format::counted(timings.bursts, "burst"),
            format::share(timings.repetition_excess)
        ),
        vec![
            ("waited_share", waited),
            ("bursts", timings.bursts as f64),
            ("bursts_interrupted", timings.interrupted as f64),
            ("repetition_excess", timings.repetition_excess),
        ],
    )
}

/// Nanoseconds from which a message without a search waits for a processor: three times the latency over TCP.
const WAITING_NS: f64 = 20_000.0;

pub fn waits_for_processors(case: &Case<'_>) -> Option<Advice> {
    let cost = case.measurements.library_cost.as_ref()?;
    let pair_ns = cost.bursts.first()?.message_ns;
    let crowding = case.measurements.crowding.filter(|&crowding| crowding > 1.0);
    let shares = crowding.map(|crowding| format!("{crowding:.1} processes share each processor"));
    let measure =
        "`matchpoint run` changes these waits too. Measure the saving with `matchpoint run --compare`.";
    if cost.ring_message_ns < WAITING_NS {
        return limitation(
            "Processes share processors",
            format!("{}. MPI calls wait for other processes, so the share is uncertain. {measure}", shares?),
            vec![("crowding", crowding?)],
        );
    }
    let reason =
        shares.map_or(String::new(), |shares| format!(" {shares}, and a waiting process may occupy it."));
    limitation(
        "MPI calls wait without a search",
        format!(
            "At the start of the program, every rank sent messages to the next rank, which needs no search. A message took \
             {}. In a burst between two ranks, a message took {}.{reason} The calls of the program therefore wait too, and \
             the share is uncertain. {measure}",
            format::duration_ns(cost.ring_message_ns),
            format::duration_ns(pair_ns),
        ),
        vec![("ring_message_ns", cost.ring_message_ns), ("pair_message_ns", pair_ns)],
    )
}

/// Cost of a message in a long burst ÷ cost in a short burst, from which the cost grows with the length.
const GROWTH: f64 = 3.0;

pub fn transfer_grows(case: &Case<'_>) -> Option<Advice> {
    let bursts = &case.measurements.library_cost.as_ref()?.bursts;
    let (short, long) = (bursts.first()?, bursts.last()?);
    let posted = case.measurements.ranks.iter().map(|rank| rank.posted.length_max).max()?;
    if long.message_ns < GROWTH * short.message_ns || posted <= u64::from(long.messages) {
        return None;
    }
    limitation(
        "Transfer time may count as search time",
        format!(
            "In this MPI library, a message costs more if more messages are outstanding: {} in a burst of {}, {} in a burst \
             of {}. A rank had {} posted receives, more than the measured bursts. The share may be near the low end.",
            format::duration_ns(short.message_ns),
            format::count(u64::from(short.messages)),
            format::duration_ns(long.message_ns),
            format::count(u64::from(long.messages)),
            format::count(posted)
        ),
        vec![
            ("short_burst_message_ns", short.message_ns),
            ("long_burst_message_ns", long.message_ns),
            ("posted_longest", posted as f64),
        ],
    )
}

const NAMED: usize = 5;

pub fn implausible_times(case: &Case<'_>) -> Option<Advice> {
    let odd = &case.measurements.implausible_times;
    let mut found = Vec::new();
    if odd.negative > 0 {
        let verb = if odd.negative == 1 { "ends before it begins" } else { "end before they begin" };
        found.push(format!("{} {verb}", format::counted(odd.negative, "call")));
    }
    if odd.backward > 0 {
        let verb = if odd.backward == 1 { "begins" } else { "begin" };
        found.push(format!(
            "{} {verb} before an earlier call of the same thread",
            format::counted(odd.backward, "call")
        ));
    }
    if let Some(rank) = odd.first_rank {
        found.push(format!("the first at rank {rank}"));
    }
    if !odd.outliers.is_empty() {
        let named: Vec<_> = odd.outliers.iter().take(NAMED).map(u32::to_string).collect();
        let more = if odd.outliers.len() > NAMED { ", …" } else { "" };
        found.push(format!(
            "{} far outside the times of other ranks ({}{more})",
            if odd.outliers.len() == 1 {
                "1 rank begins or ends".to_owned()
            } else {
                format!("{} begin or end", format::counted(odd.outliers.len() as u64, "rank"))
            },
            named.join(", ")
        ));
    }
    if found.is_empty() {
        return None;
    }
    limitation(
        "Recorded times are implausible",
        format!(
            "{}. The trace is damaged, or a clock was set. Run times and shares may be wrong.",
            format::capital(&found.join("; "))
        ),
        vec![
            ("calls_negative", odd.negative as f64),
            ("calls_backward", odd.backward as f64),
            ("ranks_outside", odd.outliers.len() as f64),
        ],
    )
}

pub fn memory_limit_exceeded(case: &Case<'_>) -> Option<Advice> {
    let engines = case.measurements.engines.iter().filter(|engine| engine.too_large);
    let named: Vec<_> = engines.map(engine_label).collect();
    if named.is_empty() {
        return None;
    }
    limitation(
        "An engine exceeded its memory limit (≈)",
        format!(
            "{}: stopped before the tables of all ranks exceeded their part of 1 GiB. The figures are extrapolated. A \
             single named engine (--engine) has a higher limit.",
            named.join(", ")
        ),
        vec![("too_large", named.len() as f64)],
    )
}

pub fn typical_cost(case: &Case<'_>) -> Option<Advice> {
    let measurements = case.measurements;
    let engine = measurements.engines.first()?;
    let is_typical = measurements.library_cost.as_ref().is_some_and(|cost| cost.pairs == 0);
    if !is_typical || !has_library_cost(measurements, engine) {
        return None;
    }
    limitation(
        "The cost of an entry is typical",
        format!(
            "The trace does not contain the cost of an entry in its MPI library. The share uses typical costs of \
             {TYPICAL_OF}. `matchpoint record` measures the cost."
        ),
        vec![],
    )
}

pub fn no_cold_phase(case: &Case<'_>) -> Option<Advice> {
    let timings = case.measurements.timings;
    if timings.cold_phases > 0 || timings.bursts == 0 {
        return None;
    }
    limitation(
        "No phase was timed with cold caches",
        "The cold end of every range equals the warm end: the trace has too few phases after 20 µs of computation. \
         Matching may cost more."
            .to_owned(),
        vec![("bursts", timings.bursts as f64)],
    )
}

pub fn timed_counting(case: &Case<'_>) -> Option<Advice> {
    let engines = case.measurements.engines.iter().filter(|engine| engine.timed_counting > 0.0);
    let (count, most) = engines
        .fold((0, 0.0), |(count, most): (u32, f64), engine| (count + 1, most.max(engine.timed_counting)));
    if count == 0 {
        return None;
    }
    limitation(
        "Engines were timed while counting",
        format!(
            "{} of the operations were timed while counting, because the tables of all ranks exceed 16 MiB. The cost of \
             counting, measured with short queues, is subtracted. The error is a few nanoseconds per operation.",
            format::share(most)
        ),
        vec![("timed_counting_share", most)],
    )
}

pub fn disagreement(case: &Case<'_>) -> Option<Advice> {
    let wrong: Vec<_> = case.measurements.engines.iter().filter(|engine| engine.disagreements > 0).collect();
    let first = wrong.first()?;
    let names: Vec<_> = wrong.iter().copied().map(engine_label).collect();
    limitation(
        "An engine matched incorrectly",
        format!(
            "{} broke the matching rules of MPI ({} with {}). Do not use these figures, and please report the trace.",
            names.join(", "),
            format::counted(first.disagreements, "operation"),
            engine_label(first)
        ),
        vec![("disagreements", first.disagreements as f64)],
    )
}

pub fn table_full(case: &Case<'_>) -> Option<Advice> {
    let engines = case.measurements.engines.iter().filter(|engine| engine.full);
    let full: Vec<_> = engines.map(engine_label).collect();
    if full.is_empty() {
        return None;
    }
    limitation(
        "An engine's table was full (≈)",
        format!(
            "{}: a table of fixed size had no room for a receive. The engine was stopped, and the figures are extrapolated. \
             Set a larger capacity (see `matchpoint engines`).",
            full.join(", ")
        ),
        vec![("full", full.len() as f64)],
    )
}

pub fn stopped_early(case: &Case<'_>) -> Option<Advice> {
    let engines = case
        .measurements
        .engines
        .iter()
        .filter(|engine| engine.sampled < 1.0 && !engine.full && !engine.too_large);
    let stopped: Vec<_> = engines
        .map(|engine| format!("{} ({})", engine_label(engine), format::share(engine.sampled)))
        .collect();
    let sampled = case.measurements.engines.iter().filter(|engine| !engine.full).map(|engine| engine.sampled);
    let least = sampled.fold(1.0, f64::min);
    if stopped.is_empty() {
        return None;
    }
    limitation(
        "Some costs are estimates (≈)",
        format!(
            "These engines exceeded their time limit, and stopped after a part of their searches: {}. Times, attempts and \
             depths are extrapolated from queue lengths; memory is that of the replayed part. A named engine (--engine) has \
             a higher limit.",
            stopped.join(", ")
        ),
        vec![("sampled_min", least)],
    )
}

pub fn missing_ranks(case: &Case<'_>) -> Option<Advice> {
    let trace = &case.measurements.trace;
    let (first, why) = trace.missing.first()?;
    limitation(
        "Ranks are missing",
        format!(
            "{} of {} ranks have no calls in the trace (rank {first}: {why}). Their messages are known only from other ranks, \
             and their matching cost is unknown. Collectives with missing ranks take the recorded time, with its waits.",
            trace.missing.len(),
            trace.ranks
        ),
        vec![("missing_ranks", trace.missing.len() as f64)],
    )
}

pub fn calls_left_out(case: &Case<'_>) -> Option<Advice> {
    let trace = &case.measurements.trace;
    if trace.calls_left_out == 0 {
        return None;
    }
    let all = trace.calls + trace.calls_left_out;
    limitation(
        "Calls are missing",
        format!(
            "The tracer did not write {} of {} calls, which may be receives and probes. If every missing call searched like \
             the others, the share would be {}.",
            format::count(trace.calls_left_out),
            format::count(all),
            format::share(if_all_searched(case.measurements, case.verdict))
        ),
        vec![
            ("calls_left_out", trace.calls_left_out as f64),
            ("share_if_all_searched", if_all_searched(case.measurements, case.verdict)),
        ],
    )
}

pub fn calls_cut_off(case: &Case<'_>) -> Option<Advice> {
    let trace = &case.measurements.trace;
    if trace.calls_cut_off == 0 {
        return None;
    }
    limitation(
        "Trace files are incomplete",
        format!(
            "The files lost {} after the run. The report is about the remaining calls. Copy the trace again.",
            format::counted(trace.calls_cut_off, "call")
        ),
        vec![("calls_cut_off", trace.calls_cut_off as f64)],
    )
}

pub fn copy_again(case: &Case<'_>) -> Option<Advice> {
    let lost = case.measurements.trace.calls_cut_off;
    if lost == 0 {
        return None;
    }
    change(
        "Copy the trace again",
        format!(
            "Files of the trace were truncated, and lack {}. Messages and receives of the truncated ranks are incomplete.",
            format::counted(lost, "call")
        ),
        vec![("calls_cut_off", lost as f64)],
    )
}

pub fn ended_early(case: &Case<'_>) -> Option<Advice> {
    let early = &case.measurements.trace.ended_early;
    let first = early.first()?;
    let which = if early.len() == 1 {
        format!("rank {first}")
    } else {
        format!("{} (the first is {first})", format::counted(early.len() as u64, "rank"))
    };
    limitation(
        "Calls end early",
        format!(
            "The last calls of {which} are not in the trace, and their number is unknown. The figures do not include long \
             queues or blocked calls at the end of the run."
        ),
        vec![("ranks_ended_early", early.len() as f64)],
    )
}

pub fn blocked_calls_completed(case: &Case<'_>) -> Option<Advice> {
    let released = &case.measurements.arrivals.ended_calls;
    let total: u64 = released.values().sum();
    if total == 0 {
        return None;
    }
    let reasons: Vec<_> =
        released.iter().map(|(why, calls)| format!("{why}: {}", format::count(*calls))).collect();
    limitation(
        "Blocked calls were completed",
        format!(
            "{} completed in the recorded run, but blocked in the replay ({}). The order of later calls is uncertain.",
            format::counted(total, "call"),
            reasons.join("; ")
        ),
        vec![("released_calls", total as f64)],
    )
}

pub fn unknown_communicators(case: &Case<'_>) -> Option<Advice> {
    let ranks = case.measurements.arrivals.unexplained_ranks;
    if ranks == 0 {
        return None;
    }
    limitation(
        "Unknown communicators",
        format!(
            "{} {} a communicator without a recorded creation, such as one of MPIX_Comm_shrink or of a callback. The replay \
             matches its messages as in MPI_COMM_WORLD, so some may match no receive, or another.",
            format::counted(ranks, "rank"),
            if ranks == 1 { "uses" } else { "use" }
        ),
        vec![("unexplained_ranks", ranks as f64)],
    )
}

pub fn reconstructed_messages(case: &Case<'_>) -> Option<Advice> {
    let arrivals = &case.measurements.arrivals;
    if arrivals.made_up_messages + arrivals.lost_messages == 0 {
        return None;
    }
    limitation(
        "Messages from or to missing calls",
        format!(
            "{} without a recorded send were reconstructed from the receives; {} to ranks without calls have no receiver.",
            format::counted(arrivals.made_up_messages, "message"),
            format::count(arrivals.lost_messages)
        ),
        vec![
            ("made_up_messages", arrivals.made_up_messages as f64),
            ("lost_messages", arrivals.lost_messages as f64),
        ],
    )
}

pub fn unmatched_at_end(case: &Case<'_>) -> Option<Advice> {
    let totals = &case.measurements.totals;
    if totals.unmatched_receives + totals.unmatched_messages == 0 {
        return None;
    }
    limitation(
        "Unmatched receives or messages",
        format!(
            "At the end, {} posted and {} unexpected: the program leaves them, or the trace ends early.",
            remain(totals.unmatched_receives, "receive"),
            remain(totals.unmatched_messages, "message")
        ),
        vec![
            ("unmatched_receives", totals.unmatched_receives as f64),
            ("unmatched_messages", totals.unmatched_messages as f64),
        ],
    )
}

fn remain(count: u64, word: &str) -> String {
    let verb = if count == 1 { "is" } else { "are" };
    format!("{} {verb}", format::counted(count, word))
}

pub fn wildcards_differ(case: &Case<'_>) -> Option<Advice> {
    let totals = &case.measurements.totals;
    let share = ratio(totals.reproduced_wildcards as f64, totals.recorded_wildcards as f64);
    if totals.recorded_wildcards == 0 || share >= REPRODUCED {
        return None;
    }
    limitation(
        "Wildcards matched other messages",
        format!(
            "Of {} wildcard receives and probes with a recorded result, the replay reproduces {}. The arrival order is \
             plausible, but not that of the run.",
            format::count(totals.recorded_wildcards),
            format::share(share)
        ),
        vec![
            ("recorded_wildcards", totals.recorded_wildcards as f64),
            ("reproduced_wildcards", totals.reproduced_wildcards as f64),
        ],
    )
}

pub fn mostly_setup(case: &Case<'_>) -> Option<Advice> {
    let verdict = case.verdict;
    if !is_mostly_setup(verdict) {
        return None;
    }
    let setup = 1.0 - verdict.share / verdict.share_without_setup;
    limitation(
        "MPI_Init and MPI_Finalize took most of the run",
        format!(
            "The two calls took {1} of the run time of rank {0}. Without the two calls, the share is {2}, a better estimate \
             for longer runs.",
            verdict.rank,
            format::share(setup),
            format::share(verdict.share_without_setup)
        ),
        vec![("setup_share", setup), ("share_without_setup", verdict.share_without_setup)],
    )
}

pub fn cost_exceeds_run(case: &Case<'_>) -> Option<Advice> {
    let (measurements, rank) = (case.measurements, case.verdict.rank);
    let index = index_of(measurements, rank)?;
    let engine = measurements.engines.first()?;
    let (estimated_ns, counted_ns) =
        (cost_ns(engine.ranks.get(index)?), likely_cost_ns(measurements, engine, index)?);
    if estimated_ns <= counted_ns || case.verdict.share == 0.0 {
        return None;
    }
    limitation(
        "The estimated cost exceeds the run",
        format!(
            "At rank {rank}, the estimate for {} is {}. Outside MPI_Init and MPI_Finalize, the run took {}, so this time \
             counts as the cost.",
            engine_label(engine),
            format::duration_ns(estimated_ns),
            format::duration_ns(counted_ns)
        ),
        vec![("estimated_ns", estimated_ns), ("counted_ns", counted_ns)],
    )
}

pub fn arrival_order_matters(case: &Case<'_>) -> Option<Advice> {
    let arrivals = &case.measurements.arrivals;
    let (own, others) = arrivals.compared.split_first()?;
    let differs = |of: &&ArrivalOrderResult| {
        let (short, long) = (
            own.unexpected_longest.min(of.unexpected_longest),
            own.unexpected_longest.max(of.unexpected_longest),
        );
        let is_longer = long >= LONG_QUEUE && long >= TIMES_LONGER * short.max(1);
        is_longer || (of.unexpected_share - own.unexpected_share).abs() >= SENSITIVE
    };
    let others = others.iter().filter(|of| of.mode != Arrivals::AtWait).filter(differs);
    let other = others.max_by_key(|of| of.unexpected_longest.abs_diff(own.unexpected_longest))?;
    let better = if arrivals.mode == Arrivals::Recorded || arrivals.intervals_known {
        format!("Only `{}` uses the recorded times.", arrivals.mode)
    } else {
        "The trace does not show which order is right.".to_owned()
    };
    limitation(
        "The result depends on the arrival order",
        format!(
            "With `{}`, {} of the receives are late, and the longest unexpected queue has {}. With `{}`: {} and {}. \
             {better}",
            own.mode,
            format::share(own.unexpected_share),
            format::counted(own.unexpected_longest, "message"),
            other.mode,
            format::share(other.unexpected_share),
            format::counted(other.unexpected_longest, "message"),
        ),
        vec![
            ("unexpected_share", own.unexpected_share),
            ("unexpected_share_other", other.unexpected_share),
            ("unexpected_longest", own.unexpected_longest as f64),
            ("unexpected_longest_other", other.unexpected_longest as f64),
        ],
    )
}
