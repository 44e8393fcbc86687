//! The rank of engines within a row, by spreads instead of medians only.

use matchpoint_bench::results::Timing;
use matchpoint_bench::{Cell, Outcome, Results};
use matchpoint_replay::format::digits;

use super::tables::{label, names, rows, timing};

pub fn best(row: &[Cell]) -> Option<&Timing> {
    row.iter().filter_map(timing).min_by(|one, other| one.ns_median.total_cmp(&other.ns_median))
}

/// Whether the spreads of an engine and of the best engine overlap, so that another run might have another order.
/// Interrupts only lengthen times, so the upper half of the best spread counts at most as much as its lower half.
pub fn is_level(best: &Timing, other: &Timing) -> bool {
    other.ns_p25 <= best.ns_p75.min(2.0 * best.ns_median - best.ns_p25)
}

pub const LEGEND: &str = "*: best of the row. ≈: as fast as the best, because the spreads overlap: another run may \
                          have another order. (The upper half of the best's spread counts at most as much as its \
                          lower half.)";

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RowRank {
    Best,
    Level,
    Behind,
}

impl RowRank {
    /// If other engines are as fast as the best, the best is [`RowRank::Level`] too.
    pub fn of(cell: &Cell, row: &[Cell]) -> RowRank {
        let (Some(own), Some(best)) = (timing(cell), best(row)) else { return RowRank::Behind };
        match row.iter().filter_map(timing).filter(|other| is_level(best, other)).count() {
            _ if !is_level(best, own) => RowRank::Behind,
            ..2 => RowRank::Best,
            _ => RowRank::Level,
        }
    }

    pub fn mark(self) -> &'static str {
        match self {
            RowRank::Best => "*",
            RowRank::Level => "≈",
            RowRank::Behind => "",
        }
    }
}

pub fn losses(results: &Results) -> Vec<(String, String)> {
    let rows = rows(results);
    names(results).into_iter().enumerate().map(|(at, name)| (name, loss(&rows, at))).collect()
}

fn loss(rows: &[&[Cell]], engine: usize) -> String {
    let all = || rows.iter().filter_map(|row| row.get(engine).map(|cell| (cell, *row)));
    let behind = all().filter_map(|(cell, row)| {
        let best = best(row)?.ns_median;
        match &cell.outcome {
            Outcome::Measured(timing) if RowRank::of(cell, row) == RowRank::Behind => {
                Some((timing.ns_median / best, "", label(cell)))
            }
            Outcome::TooSlow { above_ns, .. } if *above_ns > best => {
                Some((above_ns / best, "more than ", label(cell)))
            }
            _ => None,
        }
    });
    if let Some((ratio, above, workload)) = behind.max_by(|one, other| one.0.total_cmp(&other.0)) {
        return format!("{above}{} × the best on {workload}", digits(ratio));
    }
    let measured = all().filter(|(cell, _)| timing(cell).is_some());
    let (done, level) = measured.fold((0, 0), |(done, level), (cell, row)| {
        (done + 1, level + usize::from(RowRank::of(cell, row) == RowRank::Level))
    });
    let which = if done == rows.len() { "every workload" } else { "every finished workload" };
    match (done, level) {
        (0, _) => "no times".to_owned(),
        (_, 0) => format!("none: best on {which}"),
        (done, level) if done == level => {
            format!("none: as fast as the best on {which}{}", apart(rows, engine))
        }
        _ => format!("none: best, or as fast as the best, on {which}{}", apart(rows, engine)),
    }
}

fn apart(rows: &[&[Cell]], engine: usize) -> String {
    let ratio = |row: &&[Cell]| Some(timing(row.get(engine)?)?.ns_median / best(row)?.ns_median);
    match rows.iter().filter_map(ratio).fold(0.0, f64::max) {
        ratio if ratio > FAR => {
            format!(", although its medians are up to {} × as long: repeat on an idle host", digits(ratio))
        }
        _ => String::new(),
    }
}

/// Ratio of medians from which overlapping spreads show host load.
const FAR: f64 = 1.5;

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(workload: &str, engine: &str, outcome: Outcome) -> Cell {
        Cell {
            workload: workload.to_owned(),
            n: 8,
            engine: engine.to_owned(),
            substitute: None,
            outcome,
            attempts_mean: None,
            bytes_peak: 64,
        }
    }

    fn spread(ns_p25: f64, ns_median: f64, ns_p75: f64) -> Outcome {
        Outcome::Measured(Timing { ns_median, ns_p25, ns_p75, ..Timing::default() })
    }

    fn standings(outcomes: Vec<Outcome>) -> Vec<RowRank> {
        let row: Vec<Cell> = outcomes.into_iter().map(|outcome| cell("last", "list", outcome)).collect();
        row.iter().map(|cell| RowRank::of(cell, &row)).collect()
    }

    #[test]
    fn overlapping_spreads_are_level() {
        use RowRank::{Behind, Best, Level};
        let full = || Outcome::Full("it is".to_owned());
        for (outcomes, expected) in [
            (vec![spread(9.0, 10.0, 11.0), spread(12.0, 13.0, 14.0)], vec![Best, Behind]),
            (vec![spread(9.0, 10.0, 11.0), spread(11.0, 13.0, 14.0)], vec![Level, Level]),
            // The spread of the third engine overlaps with the second, but not with the best.
            (
                vec![spread(9.0, 10.0, 11.0), spread(10.5, 11.0, 13.0), spread(12.0, 13.0, 14.0)],
                vec![Level, Level, Behind],
            ),
            (vec![spread(9.0, 10.0, 60.0), spread(40.0, 41.0, 42.0)], vec![Best, Behind]),
            (vec![full(), spread(9.0, 10.0, 11.0)], vec![Behind, Best]),
            (vec![full()], vec![Behind]),
        ] {
            assert_eq!(standings(outcomes), expected);
        }
    }

    #[test]
    fn engine_loses_if_spread_exceeds_best() {
        let slow = || Outcome::TooSlow { above_ns: 90.0, why: "it is".to_owned() };
        let full = || Outcome::Full("it is".to_owned());
        let best = || spread(9.0, 10.0, 11.0);
        for (first, second, loss_text) in [
            (spread(10.5, 11.5, 12.0), spread(29.0, 30.0, 31.0), "3.00 × the best on halo:8"),
            (spread(10.5, 11.5, 12.0), slow(), "more than 9.00 × the best on halo:8"),
            (spread(10.5, 11.5, 12.0), best(), "none: as fast as the best on every workload"),
            (
                spread(10.5, 90.0, 99.0),
                best(),
                "none: as fast as the best on every workload, although its medians are up to 9.00 × as long: repeat on \
                 an idle host",
            ),
            (
                spread(10.5, 11.5, 12.0),
                spread(1.0, 2.0, 3.0),
                "none: best, or as fast as the best, on every workload",
            ),
            (spread(1.0, 2.0, 3.0), spread(1.0, 2.0, 3.0), "none: best on every workload"),
            (spread(1.0, 2.0, 3.0), full(), "none: best on every finished workload"),
            (full(), full(), "no times"),
        ] {
            let results = Results {
                reference_ns: 1.0,
                reference_range_ns: (1.0, 1.0),
                floor_ns: 1.0,
                is_cold: false,
                engines: ["bins", "list"].map(str::to_owned).to_vec(),
                cells: vec![
                    cell("last", "bins", best()),
                    cell("last", "list", first),
                    cell("halo", "bins", best()),
                    cell("halo", "list", second),
                ],
            };
            assert_eq!(losses(&results)[1], ("list".to_owned(), loss_text.to_owned()));
        }
    }
}
