//! Tables of queues, searches, engines, ranks and call sites.

use matchpoint::engines::REGISTRY;
use matchpoint_replay::analysis::call_sites::{compared, short};
use matchpoint_replay::analysis::derived::{
    RankCost, attempts, cost_at_ns, mean_over_ranks, ratio, worst_ranks,
};
use matchpoint_replay::analysis::library_cost;
use matchpoint_replay::analysis::stand_in::library_of;
use matchpoint_replay::format::{at_ranks, bytes, count, depth_bin, digits, duration_ns, seconds, share};
use matchpoint_replay::measurements::{
    EngineMeasurements, PlaceMeasurements, QueueMeasurements, RankMeasurements, RankQueue,
};

use super::statistics::statistics;
use crate::report::Report;
use crate::report::document::Document;

const WORST: usize = 5;

const PLACES: usize = 6;

/// Columns of a histogram that fit into 80 columns of text.
const BINS: usize = 8;

pub fn write(report: &Report<'_>, document: &mut Document) {
    if let Some(engine) = report.measurements.engines.first() {
        queues(report, engine, document);
        depths(engine, document);
        engines(report, document);
        ranks(report, engine, document);
        places(report, engine, document);
    }
}

fn places(report: &Report<'_>, engine: &EngineMeasurements, document: &mut Document) {
    let all = &report.measurements.places;
    if all.is_empty() {
        return;
    }
    let rows: Vec<_> = all.iter().take(PLACES).map(place_row).collect();
    document.table(&["Call site", "receives", "late", "any source", "compared", "deepest"], rows);
    let rest = match all.len().saturating_sub(PLACES) {
        0 => String::new(),
        rest => format!(" {rest} more call sites: --json, --csv."),
    };
    document.note(format!(
        "late: posted after the message arrived. compared, deepest: entries that `{}` compares in all searches for \
         these receives, and in the longest search.{rest}",
        engine.name
    ));
}

fn place_row(place: &PlaceMeasurements) -> Vec<String> {
    let there = &place.receives;
    let of_posted = |part: u64| share(ratio(part as f64, there.posted as f64));
    vec![
        short(place),
        count(there.posted),
        of_posted(there.late),
        of_posted(there.any_source),
        count(compared(place)),
        count(there.found.attempts_max.max(there.sought.attempts_max)),
    ]
}

fn queues(report: &Report<'_>, engine: &EngineMeasurements, document: &mut Document) {
    let mean = |of: fn(&RankMeasurements) -> &RankQueue| {
        mean_over_ranks(report.measurements, |rank| of(rank).length_mean)
    };
    let rows = vec![
        queue_row("posted", &engine.posted, mean(|rank| &rank.posted)),
        queue_row("unexpected", &engine.unexpected, mean(|rank| &rank.unexpected)),
    ];
    document.table(&["Queue", "longest", "mean", "searches", "queue length at search", "search hits"], rows);
    document.note("mean: queue length over time and ranks. search hits: searches with a match.");
}

fn queue_row(name: &str, queue: &QueueMeasurements, mean_length: f64) -> Vec<String> {
    vec![
        name.to_owned(),
        count(queue.length_max),
        if mean_length > 0.0 && mean_length < 0.001 { "<0.001".to_owned() } else { digits(mean_length) },
        count(queue.searches),
        digits(queue.length_mean),
        share(ratio(queue.hits as f64, queue.searches as f64)),
    ]
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
    let labels = (0..columns).map(|bin| label(bin, columns, used));
    let header: Vec<String> = ["Search", "compared"].map(str::to_owned).into_iter().chain(labels).collect();
    let rows: Vec<_> = all.iter().map(|(name, mean, bins)| depth_row(name, *mean, bins, columns)).collect();
    document.table(&header, rows);
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

fn depth_row(name: &str, mean: f64, bins: &[u64], columns: usize) -> Vec<String> {
    let whole = bins.iter().sum::<u64>() as f64;
    let cell = |bin: usize| {
        let last = if bin + 1 == columns { bins.len() } else { bin + 1 };
        let searches: u64 = bins.get(bin..last.max(bin)).unwrap_or(&[]).iter().sum();
        if searches == 0 { "·".to_owned() } else { percent(ratio(searches as f64, whole)) }
    };
    [name.to_owned(), digits(mean)].into_iter().chain((0..columns).map(cell)).collect()
}

fn percent(of: f64) -> String {
    if of < 0.0005 { "<0.1".to_owned() } else { format!("{:.1}", of * 100.0) }
}

fn engines(report: &Report<'_>, document: &mut Document) {
    let engines = &report.measurements.engines;
    let rank = report.verdict.rank;
    let rows: Vec<_> = engines.iter().map(|engine| engine_row(report, engine)).collect();
    let at_rank = format!("at rank {rank}");
    document.table(&["Engine", "compared", "per search", "warm", "cold", &at_rank, "memory"], rows);
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

fn engine_row(report: &Report<'_>, engine: &EngineMeasurements) -> Vec<String> {
    let (attempts, per_search) = attempts(engine);
    vec![
        format!("{}{}", engine.name, if engine.sampled < 1.0 { " ≈" } else { "" }),
        count(attempts),
        digits(per_search),
        duration_ns(engine.match_ns),
        duration_ns(engine.match_cold_ns),
        duration_ns(cost_at_ns(report.measurements, engine, report.verdict.rank)),
        bytes(engine.bytes_max),
    ]
}

fn ranks(report: &Report<'_>, engine: &EngineMeasurements, document: &mut Document) {
    let worst = worst_ranks(report.measurements, engine);
    let rows: Vec<_> = worst.iter().take(WORST).map(rank_row).collect();
    document.table(&["Worst ranks", "share", "warm", "cold", "posted", "unexpected", "late", "at"], rows);
    document.note(format!(
        "share, warm, cold: cost of `{}`. posted, unexpected: longest queues. late: late receives. at: replay time of \
         the longest search.",
        engine.name
    ));
}

fn rank_row((rank, at, of_run): &RankCost<'_>) -> Vec<String> {
    vec![
        rank.rank.to_string(),
        share(*of_run).replace("under ", "<"),
        duration_ns(at.match_ns),
        duration_ns(at.match_cold_ns),
        count(rank.posted.length_max),
        count(rank.unexpected.length_max),
        count(rank.late_receives),
        seconds(rank.worst_at_s),
    ]
}
