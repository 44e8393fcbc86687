//! Queue lengths by rank and time, and attempts per search.

use std::fmt::Write;

use matchpoint_replay::analysis::derived::ratio;
use matchpoint_replay::format::{count, depth_bin, digits, share};
use matchpoint_replay::measurements::{QueueMeasurements, RankMeasurements, RankQueue};

use super::chart::{Columns, bar, columns};
use crate::report::Report;
use crate::report::escape::escape;

pub fn heat(report: &Report<'_>) -> String {
    let ranks = &report.measurements.ranks;
    let longest =
        |of: fn(&RankMeasurements) -> &RankQueue| ranks.iter().map(|rank| of(rank).length_max).max();
    if ranks.iter().all(|rank| rank.posted.timeline.is_empty()) {
        return "<p class=\"empty\">No queue had an entry.</p>".to_owned();
    }
    map(&Map {
        name: "heat",
        label: "Longest queue, rank by time",
        modes: [("posted", "Posted receives"), ("unexpected", "Unexpected messages")],
        first: usize::from(longest(|rank| &rank.unexpected) > longest(|rank| &rank.posted)),
        rows: "rank",
        columns: "time in the replay",
        note: " · the ring is at the maximum",
    })
}

pub struct Map<'a> {
    pub name: &'a str,
    pub label: &'a str,
    pub modes: [(&'a str, &'a str); 2],
    pub first: usize,
    pub rows: &'a str,
    pub columns: &'a str,
    pub note: &'a str,
}

pub fn map(of: &Map<'_>) -> String {
    let mut switch = String::new();
    for (index, (mode, label)) in of.modes.iter().enumerate() {
        let checked = if index == of.first { " checked" } else { "" };
        let _ = write!(
            switch,
            "<label><input type=\"radio\" name=\"{}\" value=\"{mode}\"{checked}><span>{label}</span></label>",
            of.name
        );
    }
    format!(
        "<figure class=\"map {name}\" data-map=\"{name}\"><div class=\"tools\"><fieldset class=\"switch\"><legend \
         class=\"unseen\">{label}: what is shown</legend>{switch}</fieldset><div class=\"scale\" aria-hidden=\"true\">\
         <canvas width=\"160\" height=\"1\"></canvas><div class=\"ticks\"></div></div></div>\
         <div class=\"plot\"><div class=\"rows\" aria-hidden=\"true\"></div>\
         <div class=\"stage\" tabindex=\"0\" role=\"application\" aria-label=\"{label}: arrow keys move, Enter goes \
         to the maximum\"><canvas></canvas></div><div class=\"cols\" aria-hidden=\"true\"></div></div>\
         <p class=\"axes\"><span>{rows} ↓ · {columns} →{note}</span> <output class=\"readout\" aria-live=\"polite\"></output>\
         </p><noscript><p>This map is drawn by a script.</p></noscript></figure>",
        name = of.name,
        label = of.label,
        rows = of.rows,
        columns = of.columns,
        note = of.note,
    )
}

pub fn lengths(report: &Report<'_>) -> String {
    let ranks = &report.measurements.ranks;
    let one = |title: &str, series: &str, of: fn(&RankMeasurements) -> u64| {
        let values: Vec<f64> = ranks.iter().map(|rank| of(rank) as f64).collect();
        columns(&Columns {
            title,
            series,
            back: &[],
            front: &values,
            top: &count(ranks.iter().map(of).max().unwrap_or(0)),
            first_rank: ranks.first().map_or(0, |rank| rank.rank),
            last_rank: ranks.last().map_or(0, |rank| rank.rank),
            mark: None,
        })
    };
    one("Posted receives, longest at each rank", "posted", |rank| rank.posted.length_max)
        + &one("Unexpected messages, longest at each rank", "unexpected", |rank| rank.unexpected.length_max)
}

pub fn depths(report: &Report<'_>) -> String {
    let Some(engine) = report.measurements.engines.first() else {
        return String::new();
    };
    let about = format!(
        "<p class=\"about\">Entries that <code>{}</code> compares in one search. Each row doubles the number. An arrival \
         searches the posted receives, a receive the unexpected messages.</p>",
        escape(&engine.name)
    );
    let tables = depth("Posted receives", "posted", &engine.posted)
        + &depth("Unexpected messages", "unexpected", &engine.unexpected);
    format!("{about}<div class=\"pair\">{tables}</div>")
}

fn depth(title: &str, class: &str, queue: &QueueMeasurements) -> String {
    let misses = queue.searches.saturating_sub(queue.hits);
    let used = [&queue.depth_hit, &queue.depth_miss].map(|bins| bins.iter().rposition(|&n| n > 0));
    let last = used.into_iter().flatten().max().unwrap_or(0);
    let mut html = format!(
        "<div><h3>{title}</h3><p class=\"about\">{} searches: {} search hits with {} entries compared on average, {} search \
         misses with {}.</p>\
         <table class=\"depth {class}\"><thead><tr><th scope=\"col\">entries</th><th scope=\"col\" colspan=\"2\">search hits\
         </th><th scope=\"col\" colspan=\"2\">search misses</th></tr></thead><tbody>",
        count(queue.searches),
        share(ratio(queue.hits as f64, queue.searches as f64)),
        digits(ratio(queue.attempts_hit as f64, queue.hits as f64)),
        share(ratio(misses as f64, queue.searches as f64)),
        digits(ratio(queue.attempts_miss as f64, misses as f64)),
    );
    for bin in 0..=last {
        let _ = write!(
            html,
            "<tr><th scope=\"row\">{}</th>{}{}</tr>",
            depth_bin(bin),
            depth_cell(&queue.depth_hit, bin),
            depth_cell(&queue.depth_miss, bin)
        );
    }
    html + "</tbody></table></div>"
}

fn depth_cell(bins: &[u64], bin: usize) -> String {
    let whole: u64 = bins.iter().sum();
    let searches = bins.get(bin).copied().unwrap_or(0);
    let of = ratio(searches as f64, whole as f64);
    let number = if searches == 0 { "–".to_owned() } else { share(of) };
    format!(
        "<td class=\"n\" title=\"{}\">{number}</td><td class=\"b\">{}</td>",
        count(searches),
        bar(of, 0.0)
    )
}
