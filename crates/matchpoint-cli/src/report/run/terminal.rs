//! The run report for a terminal: verdict, table of ranks, notes.

use matchpoint_run::report::Rank;

use super::Run;
use super::verdict::Verdict;
use crate::format;
use crate::record::ranks;
use crate::report::document::{Document, WIDTH, answer_style};

/// Ranks in the table without `--stats`.
const ROWS: usize = 10;

/// Columns with overflow matching.
const OVERFLOW: [&str; 9] =
    ["Rank", "receives", "overflowed", "given back", "messages", "PRQ", "UMQ", "matching", "share"];

const HEADER: [&str; 9] = ["Rank", "posts", "arrivals", "unexp.", "PRQ", "UMQ", "met", "matching", "share"];

/// Renders the report. `all`: every rank.
pub fn render(run: &Run, verdict: &Verdict, all: bool) -> String {
    let mut document = Document::default();
    document.lead(&verdict.text, answer_style(verdict.answer));
    let told: Vec<&Rank> = run
        .ranks
        .iter()
        .filter(|rank| rank.complete || rank.searches() > 0 || rank.overflow.is_some())
        .collect();
    // Without overflow, every row is the same.
    let is_empty = |rank: &&Rank| rank.overflow.as_ref().is_some_and(|overflow| overflow.overflowed == 0);
    if !told.is_empty() && (all || !told.iter().all(is_empty)) {
        let shown = if all { told.len() } else { ROWS.min(told.len()) };
        // Those of spawned processes begin again at 0; without a launcher there are none.
        let of_several = |rank: &Rank| {
            rank.rank.is_some() && told.iter().filter(|other| other.rank == rank.rank).count() > 1
        };
        let several = told[..shown].iter().any(|rank| of_several(rank));
        let rows: Vec<Vec<String>> = told[..shown].iter().map(|rank| row(rank, of_several(rank))).collect();
        let overflows = told.iter().any(|rank| rank.overflow.is_some());
        document.table(if overflows { &OVERFLOW } else { &HEADER }, rows);
        let more = told.len() - shown;
        let mut more = if more == 0 { String::new() } else { format!(" {more} more ranks: --stats.") };
        if several {
            more += " There are several worlds, each with ranks from 0, or the reports of several jobs: pid, of which process.";
        }
        let meaning = if overflows {
            "receives: all that the program posted. overflowed: of these, matched by the engine. given back: of these, posted \
             to the MPI library later, before a call that may block. messages: taken from the library's unexpected queue. PRQ, \
             UMQ: longest queues in the engine. matching: time in the engine, from every 64th call; share of the rank's time \
             between MPI_Init and MPI_Finalize."
        } else {
            "Worst first: those that matching costs most. posts, arrivals: receives and messages. \
             unexp.: messages that no receive was posted for. PRQ, UMQ: longest queues of posted receives and of unexpected \
             messages. met: entries queued, mean over searches. matching: time in the \
             engine, from every 64th call; share of the rank's time between its first endpoint and its last."
        };
        document.note(format!("{meaning}{more}"));
    }
    for (title, text) in notes(run) {
        document.item(&title, text);
    }
    format!("\n{}", document.text(WIDTH))
}

fn row(rank: &Rank, of_several: bool) -> Vec<String> {
    let name = match rank.rank {
        Some(number) if of_several => format!("{number}, pid {}", rank.pid),
        Some(number) => number.to_string(),
        None => format!("{}:{}", rank.host, rank.pid),
    };
    let name = if rank.complete { name } else { format!("{name}, open") };
    let matching = rank.matching_ns.map_or_else(|| "–".to_owned(), format::duration_ns);
    let share = rank.share().map_or_else(|| "–".to_owned(), format::share);
    if let Some(overflow) = &rank.overflow {
        if !rank.complete && overflow.receives == 0 {
            return [name].into_iter().chain((0..8).map(|_| "–".to_owned())).collect();
        }
        let counts = [overflow.receives, overflow.overflowed, overflow.given_back, overflow.taken];
        let queues = [rank.posted_max, rank.unexpected_max];
        let counts = counts.into_iter().chain(queues).map(format::count);
        return [name].into_iter().chain(counts).chain([matching, share]).collect();
    }
    let mean = rank.list_entries() as f64 / rank.searches().max(1) as f64;
    let unexpected = rank.unexpected as f64 / rank.arrivals.max(1) as f64;
    vec![
        name,
        format::count(rank.posts),
        format::count(rank.arrivals),
        format::share(unexpected),
        format::count(rank.posted_max),
        format::count(rank.unexpected_max),
        format::digits(mean),
        matching,
        share,
    ]
}

/// Facts that are not in the table.
fn notes(run: &Run) -> Vec<(String, String)> {
    let mut notes = Vec::new();
    let mut note = |title: &str, text: String| notes.push((title.to_owned(), text));
    let unfinished = run.unfinished();
    if !unfinished.is_empty() {
        note(
            "Not finished",
            format!(
                "{} did not come to MPI_Finalize: killed, aborted, or left by exit. Figures of theirs are missing, or of \
                 the moment when they were asked.",
                ranks(&unfinished),
            ),
        );
    }
    if let Some(text) = run.unseen() {
        note("Not heard of", format!("{text}."));
    } else if run.silent() > 0 {
        let expected = run.expected.unwrap_or(0);
        note(
            "Not heard of",
            format!(
                "{} of {expected} processes reported nothing: they died before MPI_Init, or ran on hosts that do not \
                 see the folder (--folder).",
                run.silent()
            ),
        );
    }
    for (why, times) in &run.unmatched {
        note("Not matched by us", format!("in {}: {why}.", format::counted(*times, "process")));
    }
    if run.idle > 0 && !run.ranks.is_empty() {
        let text = "loaded the provider and opened no endpoint with it.";
        note("Not in use", format!("{} of {} processes {text}", run.idle, run.idle + run.ranks.len() as u64));
    }
    let left: (u64, u64) = run.ranks.iter().fold((0, 0), |(receives, messages), rank| {
        (receives + rank.posted_left, messages + rank.unexpected_left)
    });
    if left.1 > 0 {
        note("Left over", format!("{} that nobody received.", format::counted(left.1, "message")));
    }
    notes
}
