//! How far the results can be trusted.

use matchpoint_replay::Arrivals;
use matchpoint_replay::measurements::ArrivalOrderResult;

use super::{Advice, Case, trust};
use crate::derived::{ratio, who};
use crate::doubt::{if_all_searched, is_mostly_setup};
use crate::format;

/// Recorded wildcard receives that the replay should give the same message; fewer, and its order is not the run's.
const REPRODUCED: f64 = 0.9;

/// A difference between the orders of arrival, in receives that are late, that changes what one would do.
const SENSITIVE: f64 = 0.1;

/// The same in the longest unexpected queue: so many times as long, and at least so long.
const TIMES_LONGER: u64 = 4;
const LONG_QUEUE: u64 = 64;

/// Time that the measuring thread spent waiting for a processor, as a share, and how far repetitions of the same burst
/// may be apart, on a machine that does nothing else.
const WAITED: f64 = 0.05;
const APART: f64 = 0.5;

/// Bursts below which it says little: the first ones of an engine get their memory from the system.
const BURSTS: u64 = 200;

pub fn busy(case: &Case<'_>) -> Option<Advice> {
    let timings = case.measurements.timings;
    let waited = 1.0 - ratio(timings.processor_s, timings.wall_s);
    if timings.wall_s <= 0.0
        || waited < WAITED && (timings.repetition_excess < APART || timings.bursts < BURSTS)
    {
        return None;
    }
    trust(
        "This machine was busy while engines were timed",
        format!(
            "The timing thread had to wait for a processor {} of the time (in {} of {}), and the same burst took {} \
             longer in the median of its repetitions than in the shortest, which counts. The cold end of every range can be \
             twice what it is on a machine that does nothing else: a phase is played cold once, so nothing shorter counts \
             instead. Where that matters, repeat there.",
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

/// Nanoseconds from which on a message of a burst, which needs no search, waits for a processor: three times the latency over
/// TCP.
const WAITING_NS: f64 = 20_000.0;

pub fn waits_for_processors(case: &Case<'_>) -> Option<Advice> {
    let cost = case.measurements.library_cost.as_ref()?;
    let pair_ns = cost.bursts.first()?.message_ns;
    if cost.ring_message_ns < WAITING_NS {
        return None;
    }
    let crowding = case.measurements.crowding.filter(|&crowding| crowding > 1.0);
    let reason = crowding.map_or(String::new(), |crowding| {
        format!(
            " {} processes share each processor: one that waits may keep the processor from the others.",
            format::digits(crowding)
        )
    });
    trust(
        "MPI calls wait, even if nothing is searched",
        format!(
            "While the program started, every rank sent messages that need no search to the next rank. Each took {}. In a \
             burst between two ranks, each message took {}.{reason} So the calls of the program wait too, and the share of \
             matching is uncertain. `matchpoint run` changes the waiting as well: it can save more time than matching takes. \
             `matchpoint run --compare` measures that.",
            format::duration_ns(cost.ring_message_ns),
            format::duration_ns(pair_ns),
        ),
        vec![("ring_message_ns", cost.ring_message_ns), ("pair_message_ns", pair_ns)],
    )
}

/// The cost of a message in a long burst, divided by that in a short one. From this ratio on, the cost grows beyond the long
/// burst too.
const GROWTH: f64 = 3.0;

pub fn transfer_grows(case: &Case<'_>) -> Option<Advice> {
    let bursts = &case.measurements.library_cost.as_ref()?.bursts;
    let (short, long) = (bursts.first()?, bursts.last()?);
    let posted = case.measurements.ranks.iter().map(|rank| rank.posted.length_max).max()?;
    if long.message_ns < GROWTH * short.message_ns || posted <= u64::from(long.messages) {
        return None;
    }
    trust(
        "The transfer of many messages may count as searching",
        format!(
            "In this MPI library a message costs more while more messages are outstanding: {} in a burst of {}, {} in a burst \
             of {}. A rank had {} receives posted, so the calls may have transferred for longer than the measured bursts \
             show. Then the share of matching is nearer the low end.",
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

/// How many ranks a sentence names.
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
            "{} {verb} before an earlier one of the same thread",
            format::counted(odd.backward, "call")
        ));
    }
    if let Some(rank) = odd.first_rank {
        found.push(format!("the first of them at rank {rank}"));
    }
    if !odd.outliers.is_empty() {
        let named: Vec<_> = odd.outliers.iter().take(NAMED).map(u32::to_string).collect();
        let more = if odd.outliers.len() > NAMED { ", …" } else { "" };
        found.push(format!(
            "{} at times far outside of the others' ({}{more})",
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
    trust(
        "Recorded times are implausible",
        format!(
            "{}: a damaged trace, or a clock that was set. Run times, and every share of them, may be wrong.",
            format::capital(&found.join("; "))
        ),
        vec![
            ("calls_negative", odd.negative as f64),
            ("calls_backward", odd.backward as f64),
            ("ranks_outside", odd.outliers.len() as f64),
        ],
    )
}

pub fn too_large(case: &Case<'_>) -> Option<Advice> {
    let engines = case.measurements.engines.iter().filter(|engine| engine.too_large);
    let named: Vec<_> = engines.map(who).collect();
    if named.is_empty() {
        return None;
    }
    trust(
        "An engine held too much memory here (≈)",
        format!(
            "{}: stopped before its tables, at all ranks together, took their part of a gibibyte of this machine. Its \
             figures are scaled up from the part that it was played. Name it alone (--engine) to give it more.",
            named.join(", ")
        ),
        vec![("too_large", named.len() as f64)],
    )
}

/// Time on warm and on cold caches is the same then, which looks as if it had been measured.
pub fn never_cold(case: &Case<'_>) -> Option<Advice> {
    let timings = case.measurements.timings;
    if timings.cold_phases > 0 || timings.bursts == 0 {
        return None;
    }
    trust(
        "Nothing was played on cold caches",
        "The cold end of every range is the warm one: of phases between which a process computed (20 µs and more) the \
         trace has none, or too few for one to be drawn. What matching costs may be more."
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
    trust(
        "Engines were timed while they counted",
        format!(
            "What an engine holds, at all ranks together, is there once, not once for counting and once for timing, for \
             it was more than 16 MiB: {} of the operations were timed so. What counting takes was measured on short \
             queues and taken off, which is right within a few nanoseconds an operation.",
            format::share(most)
        ),
        vec![("timed_counting_share", most)],
    )
}

pub fn disagreement(case: &Case<'_>) -> Option<Advice> {
    let wrong: Vec<_> = case.measurements.engines.iter().filter(|engine| engine.disagreements > 0).collect();
    let first = wrong.first()?;
    let names: Vec<_> = wrong.iter().copied().map(who).collect();
    trust(
        "An engine is wrong",
        format!(
            "{} matched otherwise than MPI's rule asks ({} under {}). Do not use these figures, and please report \
             the trace.",
            names.join(", "),
            format::counted(first.disagreements, "operation"),
            who(first)
        ),
        vec![("disagreements", first.disagreements as f64)],
    )
}

pub fn full(case: &Case<'_>) -> Option<Advice> {
    let engines = case.measurements.engines.iter().filter(|engine| engine.full);
    let full: Vec<_> = engines.map(who).collect();
    if full.is_empty() {
        return None;
    }
    trust(
        "An engine's table was full (≈)",
        format!(
            "{}: a table of fixed size had no room for a receive. An MPI library would go on with another engine; here \
             it was stopped, and its figures are scaled up from the part that it was played. A larger capacity (see \
             `matchpoint engines`) avoids that.",
            full.join(", ")
        ),
        vec![("full", full.len() as f64)],
    )
}

pub fn sampled(case: &Case<'_>) -> Option<Advice> {
    let engines = case
        .measurements
        .engines
        .iter()
        .filter(|engine| engine.sampled < 1.0 && !engine.full && !engine.too_large);
    let stopped: Vec<_> =
        engines.map(|engine| format!("{} ({})", who(engine), format::share(engine.sampled))).collect();
    let sampled = case.measurements.engines.iter().filter(|engine| !engine.full).map(|engine| engine.sampled);
    let least = sampled.fold(1.0, f64::min);
    if stopped.is_empty() {
        return None;
    }
    trust(
        "Some engines' figures are estimates (≈)",
        format!(
            "Playing all of them to the end would have taken too long; they were stopped after a part of their \
             searches: {}. Their times, attempts and depths are scaled up by the entries that were queued at the \
             searches left out, and their memory is that of the part played. An engine that you name (--engine) is \
             given more time.",
            stopped.join(", ")
        ),
        vec![("sampled_min", least)],
    )
}

pub fn missing_ranks(case: &Case<'_>) -> Option<Advice> {
    let trace = &case.measurements.trace;
    let (first, why) = trace.missing.first()?;
    trust(
        "Ranks are missing",
        format!(
            "{} of {} ranks have no calls in the trace (rank {first}: {why}). Their messages are known only from their \
             partners, what matching costs them is not known, and collectives that they belong to take the time \
             recorded: waiting for them is part of it.",
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
    trust(
        "Calls are missing from the streams",
        format!(
            "The tracer did not write {} of {} calls. Receives and probes among them search queues too: what matching \
             costs is more than what is seen here; had they all been such, and searched as those in the trace do, up to \
             {}.",
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
    trust(
        "The trace's files are not whole",
        format!(
            "They have lost {} since they were written; the run that is judged is what is left of it. Copy the trace \
             again.",
            format::counted(trace.calls_cut_off, "call")
        ),
        vec![("calls_cut_off", trace.calls_cut_off as f64)],
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
    trust(
        "Calls end early",
        format!(
            "The last calls of {which} are not in the trace, and nobody counted them: what was going on when the run \
             ended, a pile of messages or a call that never returned, is not part of the figures."
        ),
        vec![("ranks_ended_early", early.len() as f64)],
    )
}

pub fn released(case: &Case<'_>) -> Option<Advice> {
    let released = &case.measurements.arrivals.released;
    let total: u64 = released.values().sum();
    if total == 0 {
        return None;
    }
    let reasons: Vec<_> =
        released.iter().map(|(why, calls)| format!("{why}: {}", format::count(*calls))).collect();
    trust(
        "Calls had to be let go",
        format!(
            "{}, which did complete when the trace was taken, could not in the replayed order ({}). The order after that is \
             a guess.",
            format::counted(total, "call"),
            reasons.join("; ")
        ),
        vec![("released_calls", total as f64)],
    )
}

pub fn unexplained(case: &Case<'_>) -> Option<Advice> {
    let ranks = case.measurements.arrivals.unexplained_ranks;
    if ranks == 0 {
        return None;
    }
    trust(
        "Communicators are not explained",
        format!(
            "{} {} a communicator whose making the trace does not show: by an extension of MPI (MPIX_Comm_shrink, say), or in a \
             callback. Its messages are taken for ones of MPI_COMM_WORLD, so that some may have found no receive here, or \
             another.",
            format::counted(ranks, "rank"),
            if ranks == 1 { "uses" } else { "use" }
        ),
        vec![("unexplained_ranks", ranks as f64)],
    )
}

pub fn made_up(case: &Case<'_>) -> Option<Advice> {
    let arrivals = &case.measurements.arrivals;
    if arrivals.made_up_messages + arrivals.lost_messages == 0 {
        return None;
    }
    trust(
        "Messages cross the edge of the trace",
        format!(
            "{} from ranks without calls in the trace, or after the end of their calls, were made up from what the \
             receivers recorded; {} to ranks without calls have no receiver.",
            format::counted(arrivals.made_up_messages, "message"),
            format::count(arrivals.lost_messages)
        ),
        vec![
            ("made_up_messages", arrivals.made_up_messages as f64),
            ("lost_messages", arrivals.lost_messages as f64),
        ],
    )
}

pub fn unmatched(case: &Case<'_>) -> Option<Advice> {
    let totals = &case.measurements.totals;
    if totals.unmatched_receives + totals.unmatched_messages == 0 {
        return None;
    }
    trust(
        "Not everything was matched",
        format!(
            "At the end {} still posted and {} still waiting: the program leaves them, or the trace ends early.",
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
    trust(
        "The replay takes other messages than the run did",
        format!(
            "Of {} wildcard receives and probes whose outcome was recorded, the replay reproduces {}. Its order of \
             arrivals is plausible, but not the one of that run.",
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
    trust(
        "MPI_Init and MPI_Finalize took most of the run",
        format!(
            "At rank {} they took {} of it. What a longer run spends on matching is nearer to the share of the time between \
             them, {}.",
            verdict.rank,
            format::share(setup),
            format::share(verdict.share_without_setup)
        ),
        vec![("setup_share", setup), ("share_without_setup", verdict.share_without_setup)],
    )
}

pub fn sensitive(case: &Case<'_>) -> Option<Advice> {
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
    // At wait nothing is ever late: that says nothing about the order.
    let others = others.iter().filter(|of| of.mode != Arrivals::AtWait).filter(differs);
    let other = others.max_by_key(|of| of.unexpected_longest.abs_diff(own.unexpected_longest))?;
    let trusted = if arrivals.mode == Arrivals::Recorded || arrivals.intervals_known {
        format!("Only `{}` keeps to the recorded times.", arrivals.mode)
    } else {
        "Which is nearer to the traced run is not known.".to_owned()
    };
    trust(
        "The order of arrivals decides",
        format!(
            "Under `{}` {} of the receives are late, and the longest unexpected queue has {}. Under `{}` it is {} and {}. \
             {trusted}",
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
