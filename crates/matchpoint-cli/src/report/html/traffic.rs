//! Calls, messages, tags and peers of the program.

use std::cmp::Reverse;

use matchpoint_replay::analysis::derived::{self, HEADER_BITS, ratio};
use matchpoint_replay::format::{count, counted, digits, power_bin, share};
use matchpoint_replay::measurements::{CONFLICT_BLOCK, RankMeasurements, Totals};
use matchpoint_trace::Class;

use super::chart::{Bar, bars, stack};
use super::queues::{Map, map};
use crate::report::escape::escape;
use crate::report::{Report, document};

const ROWS: usize = 12;

pub fn calls(report: &Report<'_>) -> String {
    let measurements = report.measurements;
    let of = |class| derived::calls_of(measurements, class);
    let mix = stack(&[
        ("point-to-point", of(Class::PointToPoint)),
        ("completion", of(Class::Completion)),
        ("collective", of(Class::Collective)),
        ("one-sided", of(Class::OneSided)),
        ("communicators", of(Class::Communicator)),
        ("other", of(Class::Other)),
    ]);
    let mut sorted: Vec<_> = measurements.calls.iter().map(|(of, calls)| (of.name(), *calls)).collect();
    sorted.sort_by_key(|(_, calls)| Reverse(*calls));
    let most = sorted.first().map_or(0, |(_, calls)| *calls);
    let rows: Vec<_> =
        sorted.iter().take(ROWS).map(|(name, calls)| row((*name).to_owned(), *calls, most)).collect();
    format!("<h3>Calls</h3>{mix}{}", bars("Most called functions", "", &rows))
}

fn row(label: String, number: u64, most: u64) -> Bar {
    Bar { label, number: count(number), length: ratio(number as f64, most as f64), marked: 0.0 }
}

pub fn receives(report: &Report<'_>) -> String {
    let totals = &report.measurements.totals;
    let wildcards = stack(&[
        ("exact", totals.wildcards.none),
        ("any source", totals.wildcards.any_source),
        ("any tag", totals.wildcards.any_tag),
        ("any source and tag", totals.wildcards.both),
    ]);
    let most = totals.posted_by_function.values().copied().max().unwrap_or(0) as f64;
    let rows = totals.posted_by_function.iter().map(|(function, posted)| {
        let late = totals.late_by_function.get(function).copied().unwrap_or(0);
        Bar {
            label: function.name().to_owned(),
            number: format!("{} of {}", count(late), count(*posted)),
            length: ratio(*posted as f64, most),
            marked: ratio(late as f64, most),
        }
    });
    let late = bars("Late receives: posted after their message arrived", "late", &rows.collect::<Vec<_>>());
    format!("<h3>Receives</h3>{wildcards}{late}{}", runs(totals))
}

fn runs(totals: &Totals) -> String {
    let (runs, mean) = derived::compatible_runs(totals);
    let most = totals.compatible_runs.iter().copied().max().unwrap_or(0);
    let rows = totals.compatible_runs.iter().enumerate().map(|(bin, runs)| {
        let label = power_bin(bin);
        row(label, *runs, most)
    });
    format!(
        "{}<p class=\"about\">{}, {} receives long on average, {} at most. Of the blocks of {CONFLICT_BLOCK} arrivals, {} have \
         a conflict: {} match the receive of an earlier message of their block.</p>",
        bars("Consecutive duplicates of receives: runs by length", "", &rows.collect::<Vec<_>>()),
        counted(runs, "run"),
        digits(mean),
        count(totals.compatible_run_max),
        share(ratio(totals.blocks_with_conflict as f64, totals.blocks as f64)),
        counted(totals.conflicts, "message")
    )
}

pub fn tags(report: &Report<'_>) -> String {
    let measurements = report.measurements;
    let totals = &measurements.totals;
    let most = totals.sends_per_tag.first().map_or(0, |(_, sends)| *sends);
    let rows = totals.sends_per_tag.iter().take(ROWS).map(|(tag, sends)| row(tag.to_string(), *sends, most));
    let bits = derived::header_bits(measurements);
    format!(
        "<h3>Tags</h3>{}<p class=\"about\">{}{} tags. A header needs {} bits (context {}, source {}, tag {}): it {} \
         {HEADER_BITS}.</p>",
        bars("Sends per tag", "", &rows.collect::<Vec<_>>()),
        if totals.tags_exact { "" } else { "At least " },
        count(totals.tags_unique),
        bits.total(),
        bits.context,
        bits.source,
        bits.tag,
        if bits.total() <= HEADER_BITS { "fits" } else { "does not fit" }
    )
}

pub fn peers(report: &Report<'_>) -> String {
    let measurements = report.measurements;
    let (mean, most) = derived::peers(measurements);
    let ordinary = |of: fn(&RankMeasurements) -> f64| derived::median_over_receivers(measurements, of);
    let facts = [
        ("Peers per rank", format!("{} on average, {most} at most", digits(mean))),
        ("Messages from the most frequent peer", share(ordinary(|rank| rank.peer_weight_max))),
        ("Evenness of peers (1: all send equally)", digits(ordinary(|rank| rank.peer_uniformity))),
        ("Messages with the most frequent source and tag", share(ordinary(|rank| rank.tuple_share_max))),
        (
            "Distinct (source, tag) ÷ receives",
            share(derived::mean_over_ranks(measurements, |rank| rank.tuples_per_receive)),
        ),
    ];
    format!("<h3>Peers</h3>{}{}", document::html::facts("list", &facts), communicators(report))
}

fn communicators(report: &Report<'_>) -> String {
    let mut sorted: Vec<_> = report.measurements.communicators.iter().collect();
    sorted.sort_by_key(|of| Reverse(of.messages));
    let most = sorted.first().map_or(0, |of| of.messages);
    let rows = sorted.iter().take(ROWS).map(|of| {
        let doubt = if of.resolved { "" } else { ", members unknown" };
        let size = counted(of.size.into(), "rank");
        row(format!("{} ({size}{doubt})", of.origin), of.messages, most)
    });
    bars(
        &format!("Messages per communicator ({})", count(sorted.len() as u64)),
        "",
        &rows.collect::<Vec<_>>(),
    )
}

pub fn matrix(report: &Report<'_>) -> String {
    let of = &report.measurements.matrix;
    if of.cells == 0 {
        return "<p class=\"empty\">No messages.</p>".to_owned();
    }
    let about = match of.ranks_per_cell {
        0 | 1 => String::new(),
        ranks => format!("<p class=\"about\">{} per cell.</p>", escape(&counted(ranks.into(), "rank"))),
    };
    about
        + &map(&Map {
            name: "matrix",
            label: "Communication matrix",
            modes: [("messages", "Messages"), ("bytes", "Bytes")],
            first: 0,
            rows: "sender",
            columns: "receiver",
            note: "",
        })
}
