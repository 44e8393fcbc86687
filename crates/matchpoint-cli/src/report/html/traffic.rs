//! Calls, messages, tags and peers of the program.

use std::cmp::Reverse;

use matchpoint_replay::analysis::derived::{self, ratio};
use matchpoint_replay::format::{capital, count, counted, power_bin};
use matchpoint_replay::measurements::Totals;
use matchpoint_trace::Class;

use super::chart::{Bar, bars, stack};
use super::queues::{Map, map};
use crate::report::escape::escape;
use crate::report::terminal::facts;
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
    let most = totals.compatible_runs.iter().copied().max().unwrap_or(0);
    let rows = totals.compatible_runs.iter().enumerate().map(|(bin, runs)| row(power_bin(bin), *runs, most));
    format!(
        "{}<p class=\"about\">{}. Conflicts: {}.</p>",
        bars("Consecutive duplicates of receives: runs by length", "", &rows.collect::<Vec<_>>()),
        facts::compatible(totals),
        facts::conflicts(totals)
    )
}

pub fn tags(report: &Report<'_>) -> String {
    let measurements = report.measurements;
    let totals = &measurements.totals;
    let most = totals.sends_per_tag.first().map_or(0, |(_, sends)| *sends);
    let rows = totals.sends_per_tag.iter().take(ROWS).map(|(tag, sends)| row(tag.to_string(), *sends, most));
    format!(
        "<h3>Tags</h3>{}<p class=\"about\">{}.</p>",
        bars("Sends per tag", "", &rows.collect::<Vec<_>>()),
        capital(&facts::tags(measurements))
    )
}

pub fn peers(report: &Report<'_>) -> String {
    let facts =
        [("Peers", facts::peers(report.measurements)), ("(source, tag)", facts::tuples(report.measurements))];
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
