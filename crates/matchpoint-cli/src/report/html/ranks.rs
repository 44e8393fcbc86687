//! Cost of matching, by engine and by rank.

use matchpoint_replay::analysis::derived::{attempts, cost_at_ns, cost_ns, index_of, ratio};
use matchpoint_replay::analysis::library_cost;
use matchpoint_replay::analysis::stand_in::library_of;
use matchpoint_replay::format::{at_ranks, bytes, count, digits, duration_ns, share};
use matchpoint_replay::measurements::EngineMeasurements;

use super::chart::{Columns, columns};
use crate::report::Report;
use crate::report::document::Document;
use crate::report::escape::{escape, prose};
use crate::report::terminal::tables;

const WORST: usize = 8;

pub fn engines(report: &Report<'_>) -> String {
    let engines = &report.measurements.engines;
    let slowest = engines.iter().map(|of| of.match_cold_ns.max(of.match_ns)).fold(0.0, f64::max);
    let rank = report.verdict.rank;
    let mut html = format!(
        "<p class=\"about\">Every engine gives the same matches. Engines differ in attempts, time and memory. The last \
         section names the host of the timings.</p><div class=\"scroll\" tabindex=\"0\" role=\"region\" \
         aria-label=\"Engines\"><table class=\"grid engines\"><thead><tr><th scope=\"col\">Engine</th><th \
         scope=\"col\">Compared</th><th scope=\"col\">per search</th><th scope=\"col\" class=\"wide\">Time of all ranks, \
         warm to cold</th><th scope=\"col\">At rank {rank}</th><th scope=\"col\">Memory of a rank, at most</th></tr></thead>\
         <tbody>"
    );
    for engine in engines {
        html.push_str(&engine_row(report, engine, slowest));
    }
    let costs = library_cost::describe(report.measurements);
    let costs = costs.map_or(String::new(), |costs| format!("<p class=\"about\">{}</p>", prose(&costs)));
    html + "</tbody></table></div>" + &costs
}

fn engine_row(report: &Report<'_>, engine: &EngineMeasurements, slowest: f64) -> String {
    let (attempts, per_search) = attempts(engine);
    let wrong = match engine.disagreements {
        0 => String::new(),
        number => format!(" <b class=\"wrong\">{} incorrect</b>", count(number)),
    };
    let way = library_of(&engine.name).map_or(String::new(), |of| format!(" <small>as in {of}</small>"));
    let substitute = engine.substitute.as_ref().map_or(String::new(), |of| {
        let at = at_ranks(of.ranks, of.of_ranks);
        format!(" <small><code>{}</code> instead{at}</small>", escape(&of.name))
    });
    let estimated = if engine.sampled < 1.0 {
        format!(" <abbr title=\"estimated from {} of its searches\">≈</abbr>", share(engine.sampled))
    } else {
        String::new()
    };
    format!(
        "<tr><th scope=\"row\"><code>{}</code>{way}{substitute}{estimated}{wrong}</th><td>{}</td><td>{}</td><td class=\"wide\">{}</td>\
         <td>{}</td><td>{}</td></tr>",
        escape(&engine.name),
        count(attempts),
        digits(per_search),
        span(engine, slowest),
        duration_ns(cost_at_ns(report.measurements, engine, report.verdict.rank)),
        bytes(engine.bytes_max)
    )
}

fn span(engine: &EngineMeasurements, slowest: f64) -> String {
    let (warm, cold) = (engine.match_ns, engine.match_cold_ns);
    let part = |ns: f64| ratio(ns, slowest) * 100.0;
    format!(
        "<span class=\"span\"><i style=\"width:{:.2}%\"></i><i class=\"cold\" style=\"width:{:.2}%\"></i></span>\
         <span class=\"spans\">{} – {}</span>",
        part(warm.min(cold)),
        part((cold - warm).abs()),
        duration_ns(warm),
        duration_ns(cold)
    )
}

pub fn times(report: &Report<'_>) -> String {
    let measurements = report.measurements;
    let Some(engine) = measurements.engines.first() else {
        return String::new();
    };
    let warm: Vec<f64> = engine.ranks.iter().map(|at| at.match_ns).collect();
    let cold: Vec<f64> = engine.ranks.iter().map(|at| at.match_cold_ns).collect();
    // The rank of the verdict has the largest share, but not always the longest time.
    let worst = index_of(measurements, report.verdict.rank);
    let mark =
        worst.and_then(|index| Some((index, measurements.ranks.get(index)?, engine.ranks.get(index)?)));
    columns(&Columns {
        title: &format!("Matching time of {} at each rank (light: cold caches)", engine.name),
        series: "matching_ns",
        back: &cold,
        front: &warm,
        top: &duration_ns(cold.iter().chain(&warm).copied().fold(0.0, f64::max)),
        first_rank: measurements.ranks.first().map_or(0, |rank| rank.rank),
        last_rank: measurements.ranks.last().map_or(0, |rank| rank.rank),
        mark: mark.map(|(index, rank, at)| {
            (index, format!("rank {}, the worst: {}", rank.rank, duration_ns(cost_ns(at))))
        }),
    })
}

pub fn worst(report: &Report<'_>) -> String {
    let Some(engine) = report.measurements.engines.first() else {
        return String::new();
    };
    let mut document = Document::default();
    tables::ranks(report, engine, WORST, &mut document);
    document.fragment()
}
