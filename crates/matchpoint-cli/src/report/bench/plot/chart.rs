//! One chart.

use std::fmt::Write;

use matchpoint_bench::{Cell, Outcome};

use super::frame::Frame;
use super::names::{End, names};
use crate::report::escape::escape;

/// Of a chart, in pixels, with all around it.
pub(super) const WIDTH: usize = 400;
pub(super) const HEIGHT: usize = 270;

const FRAME: Frame = Frame { left: 44.0, right: 296.0, top: 34.0, bottom: 232.0 };

/// Between the middles of two sizes below the axis, at least.
const APART: f64 = 22.0;

/// Letters of a name.
const NAME: usize = 15;

/// Styles of lines: after them colours come again.
const STYLES: usize = 12;

/// Of times, in powers of ten: the same in every chart.
pub(super) struct Scale {
    low: f64,
    high: f64,
}

impl Scale {
    pub fn of(cells: &[Cell]) -> Self {
        let times = cells.iter().flat_map(drawn).map(|ns| ns.max(0.1).log10());
        let (low, high) =
            times.fold((f64::MAX, f64::MIN), |(low, high), power| (low.min(power), high.max(power)));
        if low > high {
            return Scale { low: 0.0, high: 1.0 };
        }
        Scale { low: low.floor(), high: high.ceil().max(low.floor() + 1.0) }
    }

    fn y(&self, ns: f64) -> f64 {
        let share = (ns.max(0.1).log10() - self.low) / (self.high - self.low);
        FRAME.bottom - share * (FRAME.bottom - FRAME.top)
    }
}

/// The time of a cell, and whether it is only known to be more.
fn time(cell: &Cell) -> Option<(f64, bool)> {
    match &cell.outcome {
        Outcome::Measured(figures) => Some((figures.ns_median, false)),
        Outcome::TooSlow { above_ns, .. } => Some((*above_ns, true)),
        Outcome::Differs(_) | Outcome::Full(_) | Outcome::Wrong(_) => None,
    }
}

/// All times of a cell that have to be in the chart: a spread goes beyond its median.
fn drawn(cell: &Cell) -> impl Iterator<Item = f64> {
    let spread = match &cell.outcome {
        Outcome::Measured(figures) => Some([figures.ns_p25, figures.ns_p75]),
        _ => None,
    };
    time(cell).map(|(ns, _)| ns).into_iter().chain(spread.into_iter().flatten())
}

/// Where sizes lie. A queue of no entries has a place too: one is added to each if there is one.
struct Sizes {
    sizes: Vec<usize>,
    added: usize,
}

impl Sizes {
    fn of(rows: &[&[Cell]]) -> Self {
        let sizes: Vec<usize> = rows.iter().map(|row| row[0].n).collect();
        let added = usize::from(sizes.contains(&0));
        Sizes { sizes, added }
    }

    fn x(&self, size: usize) -> f64 {
        let log = |size: usize| ((size + self.added) as f64).ln();
        let (low, high) = (log(self.sizes[0]), log(self.sizes[self.sizes.len() - 1]));
        let share = if high > low { (log(size) - low) / (high - low) } else { 0.5 };
        FRAME.left + share * (FRAME.right - FRAME.left)
    }
}

/// Draws the rows of one workload, which are sorted by size.
pub(super) fn chart(name: &str, rows: &[&[Cell]], engines: &[String], scale: &Scale) -> String {
    let sizes = Sizes::of(rows);
    let mut svg = format!("<text class=\"title\" x=\"{}\" y=\"18\">{}</text>", FRAME.left, escape(name));
    let powers = scale.low as i32..=scale.high as i32;
    FRAME.levels(&mut svg, powers.map(|power| (scale.y(10_f64.powi(power)), nanoseconds(power))));
    let marks = sizes.sizes.iter().map(|&size| (sizes.x(size), size.to_string()));
    FRAME.marks(&mut svg, APART, marks);
    let mut ends = Vec::new();
    for (at, name) in engines.iter().enumerate() {
        if let Some((x, y)) = line(&mut svg, rows, at, &sizes, scale) {
            ends.push(End { x, y, name, full: "", style: at % STYLES });
        }
    }
    names(&mut svg, &ends, &FRAME, NAME);
    svg
}

fn nanoseconds(power: i32) -> String {
    match power {
        ..3 => format!("{} ns", 10_f64.powi(power)),
        3..6 => format!("{} µs", 10_f64.powi(power - 3)),
        _ => format!("{} ms", 10_f64.powi(power - 6)),
    }
}

/// An engine's line; where it ends, unless it has no points.
fn line(
    svg: &mut String,
    rows: &[&[Cell]],
    engine: usize,
    sizes: &Sizes,
    scale: &Scale,
) -> Option<(f64, f64)> {
    let mut spreads = String::new();
    let points = rows.iter().filter_map(|row| {
        let cell = row.get(engine)?;
        let (ns, is_more) = time(cell)?;
        if let Outcome::Measured(figures) = &cell.outcome {
            let (slow, fast) = (scale.y(figures.ns_p75), scale.y(figures.ns_p25));
            let _ = write!(spreads, "M{:.1} {slow:.1}V{fast:.1}", sizes.x(cell.n));
        }
        Some((sizes.x(cell.n), scale.y(ns), is_more))
    });
    let points: Vec<(f64, f64, bool)> = points.collect();
    let class = engine % STYLES;
    if !spreads.is_empty() {
        let _ = write!(svg, "<path class=\"spread e{class}\" d=\"{spreads}\"/>");
    }
    let mut path = String::new();
    for (x, y, is_more) in &points {
        if *is_more {
            // Given up there: the time is somewhere above, so no line leads to it.
            let _ = write!(svg, "<path class=\"more e{class}\" d=\"M{x:.1} {y:.1}v-9m-3 3l3 -3l3 3\"/>");
        } else {
            let _ = write!(path, "{}{x:.1} {y:.1}", if path.is_empty() { "M" } else { "L" });
            let _ = write!(svg, "<circle class=\"f{class}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"2.2\"/>");
        }
    }
    if path.contains('L') {
        let _ = write!(svg, "<path class=\"line e{class}\" d=\"{path}\"/>");
    }
    points.last().map(|(x, y, _)| (*x, *y))
}
