//! The run report for a terminal: verdict, table of ranks, notes.

use matchpoint_replay::format;
use matchpoint_run::report::{Overflow, Rank};

use super::Run;
use super::verdict::Verdict;
use crate::record::ranks;
use crate::report::document::{Document, Rows, WIDTH, answer_style};

const ROWS: usize = 10;

/// Renders the report. With `all`, the table has every rank.
pub fn render(run: &Run, verdict: &Verdict, all: bool) -> String {
    let mut document = Document::default();
    document.lead(&verdict.text, answer_style(verdict.answer));
    let reported: Vec<&Rank> = run
        .ranks
        .iter()
        .filter(|rank| rank.complete || rank.searches() > 0 || rank.overflow.is_some())
        .collect();
    // Rows without overflow are equal.
    let is_empty = |rank: &&Rank| rank.overflow.as_ref().is_some_and(|overflow| overflow.overflowed == 0);
    if !reported.is_empty() && (all || !reported.iter().all(is_empty)) {
        let shown = if all { reported.len() } else { ROWS.min(reported.len()) };
        // The ranks of spawned processes begin at 0 again.
        let of_several = |rank: &Rank| {
            rank.rank.is_some() && reported.iter().filter(|other| other.rank == rank.rank).count() > 1
        };
        let several = reported[..shown].iter().any(|rank| of_several(rank));
        let overflows = reported.iter().any(|rank| rank.overflow.is_some());
        let ranks = Rows::of(&reported[..shown]).column("Rank", |rank| name(rank, of_several(rank)));
        document.rows(if overflows { overflowed(ranks) } else { matched(ranks) });
        let more = reported.len() - shown;
        let mut more = if more == 0 { String::new() } else { format!(" {more} more ranks: --stats.") };
        if several {
            more +=
                " Several processes have the same rank, so the pid follows: spawned worlds, or several jobs.";
        }
        let meaning = if overflows {
            "receives: posted by the program. overflowed: of these, queued or matched by the engine. given back: of \
             the overflowed, posted to the MPI library before a call that may block. messages: taken from the library's unexpected queue. PRQ, \
             UMQ: longest queues in the engine. matching: time in the engine, from every 64th call. share: of the time \
             between MPI_Init and MPI_Finalize."
        } else {
            "Worst first. posts, arrivals: receives and messages. unexp.: unexpected messages. PRQ, UMQ: longest posted \
             and unexpected queues. length: mean queue length at search. matching: time in the engine, from every 64th \
             call. share: of the time between the first and the last endpoint."
        };
        document.note(format!("{meaning}{more}"));
    }
    for (title, text) in notes(run) {
        document.item(&title, text);
    }
    format!("\n{}", document.text(WIDTH))
}

fn name(rank: &Rank, of_several: bool) -> String {
    let name = match rank.rank {
        Some(number) if of_several => format!("{number}, pid {}", rank.pid),
        Some(number) => number.to_string(),
        None => format!("{}:{}", rank.host, rank.pid),
    };
    if rank.complete { name } else { format!("{name}, open") }
}

const UNKNOWN: &str = "–";

fn matching(rank: &Rank) -> String {
    rank.matching_ns.map_or_else(|| UNKNOWN.to_owned(), format::duration_ns)
}

fn share(rank: &Rank) -> String {
    rank.share().map_or_else(|| UNKNOWN.to_owned(), format::share)
}

fn matched<'a>(ranks: Rows<&'a &'a Rank>) -> Rows<&'a &'a Rank> {
    ranks
        .column("posts", |rank| format::count(rank.posts))
        .column("arrivals", |rank| format::count(rank.arrivals))
        .column("unexp.", |rank| format::share(rank.unexpected as f64 / rank.arrivals.max(1) as f64))
        .column("PRQ", |rank| format::count(rank.posted_max))
        .column("UMQ", |rank| format::count(rank.unexpected_max))
        .column("length", |rank| format::digits(rank.list_entries() as f64 / rank.searches().max(1) as f64))
        .column("matching", |rank| matching(rank))
        .column("share", |rank| share(rank))
}

/// A rank that ended before its first count has unknown numbers.
fn overflowed<'a>(ranks: Rows<&'a &'a Rank>) -> Rows<&'a &'a Rank> {
    let known = |rank: &Rank, text: fn(&Rank, &Overflow) -> String| {
        let counted = rank.overflow.as_ref().filter(|of| rank.complete || of.receives > 0);
        counted.map_or_else(|| UNKNOWN.to_owned(), |of| text(rank, of))
    };
    ranks
        .column("receives", |rank| known(rank, |_, of| format::count(of.receives)))
        .column("overflowed", |rank| known(rank, |_, of| format::count(of.overflowed)))
        .column("given back", |rank| known(rank, |_, of| format::count(of.given_back)))
        .column("messages", |rank| known(rank, |_, of| format::count(of.taken)))
        .column("PRQ", |rank| known(rank, |rank, _| format::count(rank.posted_max)))
        .column("UMQ", |rank| known(rank, |rank, _| format::count(rank.unexpected_max)))
        .column("matching", |rank| known(rank, |rank, _| matching(rank)))
        .column("share", |rank| known(rank, |rank, _| share(rank)))
}

fn notes(run: &Run) -> Vec<(String, String)> {
    let mut notes = Vec::new();
    let mut note = |title: &str, text: String| notes.push((title.to_owned(), text));
    let unfinished = run.unfinished();
    if !unfinished.is_empty() {
        note(
            "Not finished",
            format!(
                "{} did not reach MPI_Finalize: killed, aborted, or ended by exit. The figures exclude the end of the run \
                 there, or the whole run.",
                ranks(&unfinished),
            ),
        );
    }
    if let Some(replaced) = &run.replaced {
        note(
            "Table full",
            format!("`{replaced}` had no room for an entry, so `{}` replaced it.", run.engine),
        );
    }
    if let Some(text) = run.unseen() {
        note("No report", format!("{text}."));
    } else if run.silent() > 0 {
        let expected = run.expected.unwrap_or(0);
        note(
            "No report",
            format!(
                "{} of {expected} processes wrote no report: they ended before MPI_Init, or their hosts do not see the \
                 folder (--folder).",
                run.silent()
            ),
        );
    }
    for (why, times) in &run.unmatched {
        note("Matched by libfabric", format!("in {}: {why}.", format::counted(*times, "process")));
    }
    if run.idle > 0 && !run.ranks.is_empty() {
        let text = "loaded the provider and opened no endpoint.";
        note("Not in use", format!("{} of {} processes {text}", run.idle, run.idle + run.ranks.len() as u64));
    }
    let left: (u64, u64) = run.ranks.iter().fold((0, 0), |(receives, messages), rank| {
        (receives + rank.posted_left, messages + rank.unexpected_left)
    });
    if left.1 > 0 {
        note(
            "Not received",
            format!("{} remained in the unexpected queue.", format::counted(left.1, "message")),
        );
    }
    notes
}
