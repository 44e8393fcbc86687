//! Time against size: one small chart per workload that was measured at several sizes, all on the same scale of time,
//! both axes logarithmic. Engines are named at the ends of their lines; a
//! stroke through a point is its spread.

mod chart;
mod frame;
pub mod gpu;
pub(super) mod key;
mod lines;
mod names;
mod place;
pub mod rate;

use std::path::Path;

use matchpoint_bench::{Cell, Results};

use super::tables::{names, rows};
use crate::report::document::html::PICTURE;
use chart::{HEIGHT, Scale, WIDTH, chart};
use frame::grid;

/// What kind of file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    /// A picture.
    Svg,
    /// The report as a page, with the picture in it.
    Html,
}

impl Form {
    /// By the end of the name.
    pub fn of(path: &Path) -> Option<Self> {
        match path.extension()?.to_str()? {
            "svg" => Some(Form::Svg),
            "html" | "htm" => Some(Form::Html),
            _ => None,
        }
    }
}

/// A picture as a file, which has its own style.
pub fn alone(svg: &str) -> String {
    svg.replacen("><", &format!("><style>{PICTURE}</style><"), 1)
}

/// Workloads, but for traces, that were measured at one size only: they are in no chart.
pub fn of_one_size(results: &Results) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    let drawn = series(results);
    for cell in &results.cells {
        let name = cell.workload.as_str();
        let is_drawn = drawn.iter().any(|(drawn, _)| *drawn == name);
        if !is_drawn && !name.contains(':') && !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// Workloads that were measured at several sizes, with their rows.
fn series(results: &Results) -> Vec<(&str, Vec<&[Cell]>)> {
    let mut series: Vec<(&str, Vec<&[Cell]>)> = Vec::new();
    for row in rows(results) {
        let Some(first) = row.first() else { continue };
        match series.iter_mut().find(|(name, _)| *name == first.workload) {
            Some((_, rows)) => rows.push(row),
            None => series.push((&first.workload, vec![row])),
        }
    }
    series.retain(|(_, rows)| rows.len() > 1);
    for (_, rows) in &mut series {
        rows.sort_by_key(|row| row[0].n);
    }
    series
}

/// The picture.
pub fn svg(results: &Results) -> String {
    let (series, names) = (series(results), names(results));
    let scale = Scale::of(&results.cells);
    let drawn: Vec<String> = series.iter().map(|(name, rows)| chart(name, rows, &names, &scale)).collect();
    let label = "Time per matched message against size, both logarithmic";
    grid(&drawn, (WIDTH, HEIGHT), label, "No workload was measured at several sizes.")
}
