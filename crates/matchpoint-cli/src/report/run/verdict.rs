//! Did matching matter in this job? Of what was measured while it ran, and what a plain list would have searched at most.

use matchpoint_run::report::Rank;

use super::Run;
use crate::format;
use crate::verdict::{Answer, NEGLIGIBLE};

/// Nanoseconds that an entry costs in the lists of libfabric's own providers: 2 in `shm` and `tcp;ofi_rxm`, 4 in `tcp`,
/// with 8192 entries before the one that matches (2026-11-21, two cores of a Xeon).
pub const ENTRY_NS: f64 = 4.0;

/// The answer with its numbers.
#[derive(Clone, PartialEq, Debug)]
pub struct Verdict {
    /// The answer, for the engine that ran.
    pub answer: Answer,
    /// Share of the run time of the worst rank; none if there were too few messages to measure.
    pub share: Option<f64>,
    /// What a plain list would have cost there, at most, as a share of the same time.
    pub list_share: f64,
    /// The rank with the largest of either.
    pub rank: Option<u64>,
    /// The answer in words.
    pub text: String,
}

/// Share of a rank's run time that a plain list would have searched, at most.
fn list_share(rank: &Rank) -> f64 {
    let share = rank.list_entries() as f64 * ENTRY_NS / rank.elapsed_ns as f64;
    if share.is_finite() { share } else { 0.0 }
}

/// By which ranks are compared: what matching costs, or would cost with a list at most, and then the former alone.
pub fn cost(rank: &Rank) -> (f64, f64) {
    let share = rank.share().unwrap_or(0.0);
    (share.max(list_share(rank)), share)
}

/// Judges.
pub fn verdict(run: &Run) -> Verdict {
    if run.ranks.iter().any(|rank| rank.overflow.is_some()) {
        return of_overflow(run);
    }
    let Some(worst) = run.ranks.iter().find(|rank| rank.searches() > 0) else {
        return without(run);
    };
    let (share, list_share) = (worst.share(), list_share(worst));
    let answer = Answer::to(share.unwrap_or(0.0));
    let name = worst.rank.map_or_else(|| format!("process {}", worst.pid), |rank| rank.to_string());
    let measured = match share {
        Some(share) => format!("took {} of the run time of the worst rank, {name}", format::share(share)),
        None => format!("had {} at the worst rank, {name}, too few to time", searches(worst)),
    };
    let text = format!(
        "{}: matching with `{}` {measured}. {}{}",
        answer.word(),
        run.engine,
        if run.engine == "list" { String::new() } else { list(worst, list_share) + " " },
        memory(run)
    );
    Verdict { answer, share, list_share, rank: worst.rank, text }
}

/// The verdict on overflow. One run does not show what overflow saves.
fn of_overflow(run: &Run) -> Verdict {
    let receives = |rank: &Rank| rank.overflow.as_ref().map_or(0, |overflow| overflow.receives);
    let overflowed = |rank: &Rank| rank.overflow.as_ref().map_or(0, |overflow| overflow.overflowed);
    let Some(worst) = run.ranks.iter().max_by_key(|rank| overflowed(rank)) else { return without(run) };
    let name = worst.rank.map_or_else(|| format!("process {}", worst.pid), |rank| format!("rank {rank}"));
    if overflowed(worst) == 0 {
        let text = if run.ranks.iter().all(|rank| rank.complete) {
            "Nothing overflowed: the MPI library matched every message itself, at its own speed."
        } else {
            "Nothing is known to have overflowed: not every rank came to its end."
        };
        let answer = if run.ranks.iter().all(|rank| rank.complete) { Answer::No } else { Answer::Unknown };
        return Verdict { answer, share: None, list_share: 0.0, rank: worst.rank, text: text.to_owned() };
    }
    let share = worst.share();
    let measured = match share {
        Some(share) => format!("; matching them took {} of its run time", format::share(share)),
        None => String::new(),
    };
    let text = format!(
        "{} of {} of {name} overflowed to `{}`{measured}. The longest queues there had {} and {}. {}. --compare 3 measures \
         what that saves.",
        format::share(overflowed(worst) as f64 / receives(worst).max(1) as f64),
        format::counted(receives(worst), "receive"),
        run.engine,
        format::counted(worst.posted_max, "receive"),
        format::counted(worst.unexpected_max, "message"),
        memory(run).trim_end_matches('.'),
    );
    Verdict { answer: Answer::to(share.unwrap_or(0.0)), share, list_share: 0.0, rank: worst.rank, text }
}

fn searches(rank: &Rank) -> String {
    let count = rank.searches();
    format!("{} {}", format::count(count), if count == 1 { "search" } else { "searches" })
}

/// An upper bound: it compares with every entry that is queued, while a list stops at the first that matches.
fn list(worst: &Rank, share: f64) -> String {
    let entries = worst.list_entries();
    if entries == 0 {
        return "A plain list would have had nothing to search: no queue had an entry.".to_owned();
    }
    let each = format::digits(entries as f64 / worst.searches() as f64);
    let bound = format!(
        "A plain list, as libfabric's own providers have, would have compared at most {} there, {each} a search: at \
         {} ns each, {}",
        if entries == 1 { "1 entry".to_owned() } else { format!("{} entries", format::count(entries)) },
        format::digits(ENTRY_NS).trim_end_matches('0').trim_end_matches('.'),
        at_most(share.min(1.0)),
    );
    if share < NEGLIGIBLE {
        return format!("{bound} of that time.");
    }
    format!("{bound} of that time: run again with `--engine list` to see how much of it.")
}

fn at_most(share: f64) -> String {
    let text = format::share(share);
    if text.starts_with("under") { text } else { format!("at most {text}") }
}

fn memory(run: &Run) -> String {
    let most = run.ranks.iter().map(|rank| rank.bytes_max).max().unwrap_or(0);
    let all: u64 = run.ranks.iter().map(|rank| rank.bytes_max).sum();
    format!("The engine had at most {} a rank, {} in all.", format::bytes(most), format::bytes(all))
}

fn without(run: &Run) -> Verdict {
    let open = run.ranks.iter().filter(|rank| !rank.complete).count();
    let (answer, text) = if open > 0 {
        let text = "no rank came to its end, so nothing is known of what it searched.";
        (Answer::Unknown, text)
    } else {
        let text = "the engine matched no message, so no engine can change the run time: there were no messages, or the \
            MPI library matched them.";
        (Answer::NoMessages, text)
    };
    Verdict { answer, share: None, list_share: 0.0, rank: None, text: format!("{}: {text}", answer.word()) }
}
