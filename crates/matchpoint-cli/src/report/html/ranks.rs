//! Cost of matching, by engine and by rank.

use matchpoint_replay::analysis::derived::{cost_ns, index_of, ratio};
use matchpoint_replay::format::duration_ns;

use super::chart::{Bar, Columns, bars, columns};
use crate::report::Report;
use crate::report::document::Document;
use crate::report::terminal::tables;

const WORST: usize = 8;

pub fn engines(report: &Report<'_>) -> String {
    let engines = &report.measurements.engines;
    let slowest = engines.iter().map(|of| of.match_cold_ns.max(of.match_ns)).fold(0.0, f64::max);
    let rows = engines.iter().map(|of| Bar {
        label: of.name.clone(),
        number: format!("{} – {}", duration_ns(of.match_ns), duration_ns(of.match_cold_ns)),
        length: ratio(of.match_ns.max(of.match_cold_ns), slowest),
        marked: ratio(of.match_ns.min(of.match_cold_ns), slowest),
    });
    let mut document = Document::default();
    tables::engines(report, &mut document);
    format!(
        "<p class=\"about\">Every engine gives the same matches. Engines differ in attempts, time and memory. The last \
         section names the host of the timings.</p>{}{}",
        bars("Time of all ranks, warm to cold", "", &rows.collect::<Vec<_>>()),
        document.fragment()
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
