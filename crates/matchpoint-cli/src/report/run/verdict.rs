//! The verdict of `matchpoint run`, from times measured during the job.

use matchpoint_replay::analysis::verdict::Answer;
use matchpoint_replay::format;
use matchpoint_run::report::Rank;

use super::Run;

#[derive(Clone, PartialEq, Debug)]
pub struct Verdict {
    pub answer: Answer,
    /// Share of the run time of the worst rank. `None`: too few messages were timed.
    pub share: Option<f64>,
    pub rank: Option<u64>,
    pub text: String,
}

pub fn verdict(run: &Run) -> Verdict {
    if run.ranks.iter().any(|rank| rank.overflow.is_some()) {
        return of_overflow(run);
    }
    let Some(worst) = run.ranks.iter().find(|rank| rank.searches() > 0) else {
        return without(run);
    };
    let share = worst.share();
    let answer = answer(run, share);
    let name = name(worst);
    let measured = match share {
        Some(share) => {
            format!("matching costs {} of the run time at {name}, the worst", format::share(share))
        }
        None => format!(
            "{} at {name}, the worst, are too few to time",
            format::counted(worst.searches(), "search")
        ),
    };
    let open = if answer == Answer::Unknown { ", but not every rank reached MPI_Finalize" } else { "" };
    let text =
        format!("{}: {measured}{open}. The engine is `{}`. {}", answer.word(), run.engine, memory(run));
    Verdict { answer, share, rank: worst.rank, text }
}

fn name(worst: &Rank) -> String {
    worst.rank.map_or_else(|| format!("process {}", worst.pid), |rank| format!("rank {rank}"))
}

/// Whether the MPI library matched every message at every rank.
pub fn nothing_overflowed(run: &Run) -> bool {
    let is_idle = |rank: &Rank| rank.overflow.as_ref().is_some_and(|overflow| overflow.overflowed == 0);
    !run.ranks.is_empty() && run.ranks.iter().all(|rank| rank.complete && is_idle(rank))
}

/// The verdict with overflow matching. A single run does not show the saving.
fn of_overflow(run: &Run) -> Verdict {
    let receives = |rank: &Rank| rank.overflow.as_ref().map_or(0, |overflow| overflow.receives);
    let overflowed = |rank: &Rank| rank.overflow.as_ref().map_or(0, |overflow| overflow.overflowed);
    let given_back = |rank: &Rank| rank.overflow.as_ref().map_or(0, |overflow| overflow.given_back);
    let off = run.ranks.iter().find_map(|rank| rank.overflow.as_ref()?.off.as_deref());
    let overflows = run.ranks.iter().find(|rank| overflowed(rank) > 0);
    let Some(worst) = overflows.or(run.ranks.first()) else { return without(run) };
    let name = name(worst);
    if overflowed(worst) == 0 {
        let answer = answer(run, None);
        let text = match (answer, off) {
            (_, Some(reason)) => format!("Overflow matching was off: {}.", explain_off(reason)),
            (Answer::No, None) => {
                "Nothing overflowed: the MPI library matched every message itself.".to_owned()
            }
            _ => {
                "Cannot tell: the counts are missing, because not every rank reached MPI_Finalize.".to_owned()
            }
        };
        return Verdict { answer, share: None, rank: worst.rank, text };
    }
    let share = worst.share();
    let measured = match share {
        Some(share) => format!(", which took {} of the run time", format::share(share)),
        None => String::new(),
    };
    let measured = match given_back(worst) {
        0 => measured,
        all if all >= overflowed(worst) => {
            format!(
                "{measured}. All were given back to the MPI library before calls that may block: nothing was gained"
            )
        }
        some => {
            format!("{measured}. {} were given back to the MPI library", format::counted(some, "receive"))
        }
    };
    let text = format!(
        "{} of {} of {name} overflowed to `{}`{measured}. The longest queues had {} and {}. {}",
        format::share(overflowed(worst) as f64 / receives(worst).max(1) as f64),
        format::counted(receives(worst), "receive"),
        run.engine,
        format::counted(worst.posted_max, "receive"),
        format::counted(worst.unexpected_max, "message"),
        memory(run),
    );
    Verdict { answer: answer(run, share), share, rank: worst.rank, text }
}

/// `reason`: member `off` of the report.
pub fn explain_off(reason: &str) -> &'static str {
    match reason {
        "program" => "the program imports a function that needs all messages in the MPI library",
        "library" => "MPI_Imrecv fails in Open MPI with pml=cm",
        _ => "the MPI library cannot probe for messages of spawned or connected processes",
    }
}

/// An unfinished rank may have a larger share.
fn answer(run: &Run, share: Option<f64>) -> Answer {
    match Answer::to(share.unwrap_or(0.0)) {
        Answer::No if run.ranks.iter().any(|rank| !rank.complete) => Answer::Unknown,
        answer => answer,
    }
}

fn memory(run: &Run) -> String {
    let most = run.ranks.iter().map(|rank| rank.bytes_max).max().unwrap_or(0);
    let all: u64 = run.ranks.iter().map(|rank| rank.bytes_max).sum();
    format!("Memory of the engine: at most {} per rank, {} in all.", format::bytes(most), format::bytes(all))
}

fn without(run: &Run) -> Verdict {
    let open = run.ranks.iter().filter(|rank| !rank.complete).count();
    let (answer, text) = if open > 0 {
        let text = "no rank reached MPI_Finalize, so the searches are unknown.";
        (Answer::Unknown, text)
    } else {
        let text = "the engine matched no message, so no engine can change the run time. The job sent no messages, or the \
            MPI library matched them.";
        (Answer::NoMessages, text)
    };
    Verdict { answer, share: None, rank: None, text: format!("{}: {text}", answer.word()) }
}
