//! Tables of queues, searches, engines, ranks and call sites.

use matchpoint::engines::REGISTRY;
use matchpoint_replay::analysis::call_sites::{compared, short};
use matchpoint_replay::analysis::derived::{attempts, cost_at_ns, mean_over_ranks, ratio, worst_ranks};
use matchpoint_replay::analysis::library_cost;
use matchpoint_replay::analysis::stand_in::library_of;
use matchpoint_replay::format::{at_ranks, bytes, count, depth_bin, digits, duration_ns, seconds, share};
use matchpoint_replay::measurements::{
    EngineMeasurements, PlaceMeasurements, QueueMeasurements, RankMeasurements, RankQueue,
};

use super::statistics::statistics;
use crate::report::Report;
use crate::report::document::{Document, Rows};

const BINS: usize = 8;

pub fn write(report: &Report<'_>, document: &mut Document) {
    if let Some(engine) = report.measurements.engines.first() {
        queues(report, engine, document);
        depths(engine, document);
        engines(report, document);
        ranks(report, engine, 5, document);
        places(report, engine, 6, document);
    }
}

/// The `most` call sites with most compared entries.
pub(in crate::report) fn places(
    report: &Report<'_>,
    engine: &EngineMeasurements,
    most: usize,
    document: &mut Document,
) {
    let all = &report.measurements.places;
    if all.is_empty() {
        return;
    }
    let of_posted = |of: &PlaceMeasurements, part: u64| share(ratio(part as f64, of.receives.posted as f64));
    let rows = Rows::of(all.iter().take(most))
        .column("Call site", |of| format!("{}\n{}", short(of), of.source.as_deref().unwrap_or(&of.module)))
        .column_of_page("ranks", |of| count(of.ranks))
        .column("receives", |of| count(of.receives.posted))
        .column("late", move |of| of_posted(of, of.receives.late))
        .column("any source", move |of| of_posted(of, of.receives.any_source))
        .column_of_page("any tag", move |of| of_posted(of, of.receives.any_tag))
        .column("compared", |of| count(compared(of)))
        .column("deepest", |of| count(of.receives.found.attempts_max.max(of.receives.sought.attempts_max)));
    document.rows(rows);
    let rest = match all.len().saturating_sub(most) {
        0 => String::new(),
        rest => format!(" {rest} more call sites: --json, --csv."),
    };
    document.note(format!(
        "late: posted after the message arrived. compared, deepest: entries that `{}` compares in all searches for \
         these receives, and in the longest search.{rest}",
        engine.name
    ));
}

fn queues(report: &Report<'_>, engine: &EngineMeasurements, document: &mut Document) {
    let mean = |of: fn(&RankMeasurements) -> &RankQueue| {
        mean_over_ranks(report.measurements, |rank| of(rank).length_mean)
    };
    let queues = [
        ("posted", &engine.posted, mean(|rank| &rank.posted)),
        ("unexpected", &engine.unexpected, mean(|rank| &rank.unexpected)),
    ];
    let rows = Rows::of(queues)
        .column("Queue", |(name, ..)| (*name).to_owned())
        .column("longest", |(_, of, _)| count(of.length_max))
        .column("mean", |(.., mean)| match *mean {
            tiny if tiny > 0.0 && tiny < 0.001 => "<0.001".to_owned(),
            mean => digits(mean),
        })
        .column("searches", |(_, of, _)| count(of.searches))
        .column("queue length at search", |(_, of, _)| digits(of.length_mean))
        .column("search hits", |(_, of, _)| share(ratio(of.hits as f64, of.searches as f64)));
    document.rows(rows);
    document.note("mean: queue length over time and ranks. search hits: searches with a match.");
}

fn depths(engine: &EngineMeasurements, document: &mut Document) {
    let hits = |queue: &QueueMeasurements| ratio(queue.attempts_hit as f64, queue.hits as f64);
    let misses = |queue: &QueueMeasurements| {
        ratio(queue.attempts_miss as f64, queue.searches.saturating_sub(queue.hits) as f64)
    };
    let (posted, unexpected) = (&engine.posted, &engine.unexpected);
    let all = [
        ("posted hits", hits(posted), &posted.depth_hit),
        ("posted misses", misses(posted), &posted.depth_miss),
        ("unexpected hits", hits(unexpected), &unexpected.depth_hit),
        ("unexpected misses", misses(unexpected), &unexpected.depth_miss),
    ];
    let used = all.iter().filter_map(|(_, _, bins)| bins.iter().rposition(|searches| *searches > 0)).max();
    let columns = used.map_or(1, |last| last + 1).min(BINS);
    let rows = Rows::of(all)
        .column("Search", |(name, ..)| (*name).to_owned())
        .column("compared", |(_, mean, _)| digits(*mean));
    let rows = (0..columns).fold(rows, |rows, bin| {
        rows.column(label(bin, columns, used), |(.., bins)| depth_cell(bins, bin, columns))
    });
    document.rows(rows);
    document.note(format!(
        "compared: entries that `{}` compares per search hit or search miss, mean. Then % of the searches by number of \
         compared entries.",
        engine.name
    ));
}

fn label(bin: usize, columns: usize, used: Option<usize>) -> String {
    if bin + 1 == columns && used.is_some_and(|last| last >= columns) {
        format!("{} up", count(1 << (bin - 1)))
    } else {
        depth_bin(bin)
    }
}

fn depth_cell(bins: &[u64], bin: usize, columns: usize) -> String {
    let last = if bin + 1 == columns { bins.len() } else { bin + 1 };
    let searches: u64 = bins.get(bin..last.max(bin)).unwrap_or(&[]).iter().sum();
    let whole = bins.iter().sum::<u64>() as f64;
    if searches == 0 { "·".to_owned() } else { percent(ratio(searches as f64, whole)) }
}

fn percent(of: f64) -> String {
    if of < 0.0005 { "<0.1".to_owned() } else { format!("{:.1}", of * 100.0) }
}

pub(in crate::report) fn engines(report: &Report<'_>, document: &mut Document) {
    let engines = &report.measurements.engines;
    let rank = report.verdict.rank;
    let rows = Rows::of(engines)
        .column("Engine", |of| format!("{}{}", of.name, if of.sampled < 1.0 { " ≈" } else { "" }))
        .column("compared", |of| count(attempts(of).0))
        .column("per search", |of| digits(attempts(of).1))
        .column("warm", |of| duration_ns(of.match_ns))
        .column("cold", |of| duration_ns(of.match_cold_ns))
        .column(format!("at rank {rank}"), |of| duration_ns(cost_at_ns(report.measurements, of, rank)))
        .column("memory", |of| bytes(of.bytes_max));
    document.rows(rows);
    let ways = engines
        .iter()
        .filter_map(|of| Some(format!("`{}` searches as {} does", of.name, library_of(&of.name)?)));
    let substitutes = engines.iter().filter_map(|of| {
        let substitute = of.substitute.as_ref()?;
        let at = at_ranks(substitute.ranks, substitute.of_ranks);
        Some(format!("`{}` matched instead of `{}`{at}", substitute.name, of.name))
    });
    let ways: Vec<_> = ways.chain(substitutes).collect();
    let ways = if ways.is_empty() { String::new() } else { format!(" {}.", ways.join(", ")) };
    let estimated = if engines.iter().any(|engine| engine.sampled < 1.0) { " ≈: estimate." } else { "" };
    document.note(format!(
        "compared: entries. warm, cold: time of all ranks with warm and with cold caches. at rank {rank}: likely time. \
         memory: of one rank, at most.{estimated}{ways}"
    ));
    if let Some(text) = library_cost::describe(report.measurements) {
        document.note(text);
    }
    // Only engines that the user named have statistics, because all engines would fill a page.
    let described: Vec<_> = engines.iter().filter_map(|of| Some((of, statistics(of)?))).collect();
    if !described.is_empty() && engines.len() < REGISTRY.len() {
        for (engine, text) in described {
            document.item(&format!("`{}`, at one rank", engine.name), text);
        }
    }
}

/// The `most` ranks with the largest share of the run time.
pub(in crate::report) fn ranks(
    report: &Report<'_>,
    engine: &EngineMeasurements,
    most: usize,
    document: &mut Document,
) {
    let rows = Rows::of(worst_ranks(report.measurements, engine).into_iter().take(most))
        .column("Worst ranks", |(rank, ..)| rank.rank.to_string())
        .column("share", |(.., of_run)| share(*of_run).replace("under ", "<"))
        .column("warm", |(_, [warm_ns, ..], _)| duration_ns(*warm_ns))
        .column("cold", |(_, [.., cold_ns], _)| duration_ns(*cold_ns))
        .column_of_page("messages", |(rank, ..)| count(rank.messages))
        .column("posted", |(rank, ..)| count(rank.posted.length_max))
        .column("unexpected", |(rank, ..)| count(rank.unexpected.length_max))
        .column("late", |(rank, ..)| count(rank.late_receives))
        .column_of_page("longest search", |(rank, ..)| count(rank.worst_length))
        .column("at", |(rank, ..)| seconds(rank.worst_at_s));
    document.rows(rows);
    document.note(format!(
        "share, warm, cold: cost of `{}`. posted, unexpected: longest queues. late: late receives. at: replay time of \
         the longest search.",
        engine.name
    ));
}
