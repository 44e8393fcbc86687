//! Who is the best of a row, who is level with it, and where each engine loses: by the spreads, not by the medians alone.

use matchpoint_bench::results::Figures;
use matchpoint_bench::{Cell, Outcome, Results};

use super::tables::{figures, label, names, rows};
use crate::format::digits;

/// The best of a row: that of the least median.
pub fn best(row: &[Cell]) -> Option<&Figures> {
    row.iter().filter_map(figures).min_by(|one, other| one.ns_median.total_cmp(&other.ns_median))
}

/// Whether the spread of one overlaps with that of the best, so that neither is faster: another run might have them the other way
/// round. What interrupts a measurement only lengthens it, so the best's reaches as far above its median as below it, at most: else
/// one that was disturbed in a third of its repetitions would be level with all that are three times as slow.
pub fn is_level(best: &Figures, other: &Figures) -> bool {
    other.ns_p25 <= best.ns_p75.min(2.0 * best.ns_median - best.ns_p25)
}

/// What the marks of times mean.
pub const LEGEND: &str = "* the best of its row. ≈ in its place: the best and those that are level with it, for their spreads overlap \
     with its: another run may have another of them first. (Of the best's own spread no more counts above the median than below it.)";

/// How a cell stands in its row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Standing {
    /// Faster than all others.
    Best,
    /// Nobody is faster, but others are as fast.
    Level,
    /// Another is faster, or it has no figures.
    Behind,
}

impl Standing {
    /// The best of a row that others are level with is marked as they are: which of them had the least median is chance.
    pub fn of(cell: &Cell, row: &[Cell]) -> Standing {
        let (Some(own), Some(best)) = (figures(cell), best(row)) else { return Standing::Behind };
        match row.iter().filter_map(figures).filter(|other| is_level(best, other)).count() {
            _ if !is_level(best, own) => Standing::Behind,
            ..2 => Standing::Best,
            _ => Standing::Level,
        }
    }

    /// What stands before the time.
    pub fn mark(self) -> &'static str {
        match self {
            Standing::Best => "*",
            Standing::Level => "≈",
            Standing::Behind => "",
        }
    }
}

/// Of each engine, the workload on which it is furthest behind the best, in words.
pub fn losses(results: &Results) -> Vec<(String, String)> {
    let rows = rows(results);
    names(results).into_iter().enumerate().map(|(at, name)| (name, loss(&rows, at))).collect()
}

fn loss(rows: &[&[Cell]], engine: usize) -> String {
    let all = || rows.iter().filter_map(|row| row.get(engine).map(|cell| (cell, *row)));
    let behind = all().filter_map(|(cell, row)| {
        let best = best(row)?.ns_median;
        match &cell.outcome {
            Outcome::Measured(figures) if Standing::of(cell, row) == Standing::Behind => {
                Some((figures.ns_median / best, "", label(cell)))
            }
            Outcome::TooSlow { above_ns, .. } if *above_ns > best => {
                Some((above_ns / best, "more than ", label(cell)))
            }
            _ => None,
        }
    });
    if let Some((ratio, above, workload)) = behind.max_by(|one, other| one.0.total_cmp(&other.0)) {
        return format!("{above}{} times the best on {workload}", digits(ratio));
    }
    let measured = all().filter(|(cell, _)| figures(cell).is_some());
    let (done, level) = measured.fold((0, 0), |(done, level), (cell, row)| {
        (done + 1, level + usize::from(Standing::of(cell, row) == Standing::Level))
    });
    let which = if done == rows.len() { "every workload here" } else { "every workload that it did" };
    match (done, level) {
        (0, _) => "no figures".to_owned(),
        (_, 0) => format!("nowhere: it is the best on {which}"),
        (done, level) if done == level => {
            format!("nowhere: it is level with the best on {which}{}", apart(rows, engine))
        }
        _ => format!("nowhere: it is the best, or level with it, on {which}{}", apart(rows, engine)),
    }
}

/// How far the medians of an engine that is level with the best are from it, where that is far.
fn apart(rows: &[&[Cell]], engine: usize) -> String {
    let ratio = |row: &&[Cell]| Some(figures(row.get(engine)?)?.ns_median / best(row)?.ns_median);
    match rows.iter().filter_map(ratio).fold(0.0, f64::max) {
        ratio if ratio > FAR => format!(
            ", though by the medians it takes up to {} times as long: an idle machine would tell",
            digits(ratio)
        ),
        _ => String::new(),
    }
}

/// Times the best's median, from where on being level with it says more of the machine than of the engine.
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
        Outcome::Measured(Figures { ns_median, ns_p25, ns_p75, ..Figures::default() })
    }

    fn standings(outcomes: Vec<Outcome>) -> Vec<Standing> {
        let row: Vec<Cell> = outcomes.into_iter().map(|outcome| cell("last", "list", outcome)).collect();
        row.iter().map(|cell| Standing::of(cell, &row)).collect()
    }

    #[test]
    fn overlapping_spreads_are_level() {
        use Standing::{Behind, Best, Level};
        let full = || Outcome::Full("it is".to_owned());
        for (outcomes, expected) in [
            (vec![spread(9.0, 10.0, 11.0), spread(12.0, 13.0, 14.0)], vec![Best, Behind]),
            (vec![spread(9.0, 10.0, 11.0), spread(11.0, 13.0, 14.0)], vec![Level, Level]),
            // The third overlaps with the second, but not with the best.
            (
                vec![spread(9.0, 10.0, 11.0), spread(10.5, 11.0, 13.0), spread(12.0, 13.0, 14.0)],
                vec![Level, Level, Behind],
            ),
            // Disturbed, the best is not as slow as its slowest.
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
        for (first, second, told) in [
            (spread(10.5, 11.5, 12.0), spread(29.0, 30.0, 31.0), "3.00 times the best on halo:8"),
            (spread(10.5, 11.5, 12.0), slow(), "more than 9.00 times the best on halo:8"),
            (spread(10.5, 11.5, 12.0), best(), "nowhere: it is level with the best on every workload here"),
            (
                spread(10.5, 90.0, 99.0),
                best(),
                "nowhere: it is level with the best on every workload here, though by the medians it takes up to 9.00 times as long: \
                 an idle machine would tell",
            ),
            (
                spread(10.5, 11.5, 12.0),
                spread(1.0, 2.0, 3.0),
                "nowhere: it is the best, or level with it, on every workload here",
            ),
            (spread(1.0, 2.0, 3.0), spread(1.0, 2.0, 3.0), "nowhere: it is the best on every workload here"),
            (spread(1.0, 2.0, 3.0), full(), "nowhere: it is the best on every workload that it did"),
            (full(), full(), "no figures"),
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
            assert_eq!(losses(&results)[1], ("list".to_owned(), told.to_owned()));
        }
    }
}
