//! The frame of a chart, and a grid of charts.

use std::fmt::Write;

use super::axis::Axis;
use crate::report::escape::escape;

const COLUMNS: usize = 3;

/// Width of a chart in pixels.
const WIDTH: usize = 460;
const HEIGHT: usize = 300;

/// In pixels.
const APART: f64 = 30.0;

/// In pixels, from the edges of the chart.
pub(super) struct Frame {
    pub left: f64,
    pub right: f64,
    pub top: f64,
    pub bottom: f64,
}

pub(super) const FRAME: Frame = Frame { left: 48.0, right: 278.0, top: 34.0, bottom: 258.0 };

pub(super) fn levels(svg: &mut String, values: &Axis) {
    let Frame { left, right, .. } = FRAME;
    for (value, name) in &values.marks {
        let y = values.place(*value);
        let _ = write!(
            svg,
            "<path class=\"grid\" d=\"M{left} {y:.1}H{right}\"/><text class=\"tick y\" x=\"{}\" y=\"{:.1}\">{}</text>",
            left - 6.0,
            y + 3.5,
            escape(name)
        );
    }
}

/// Marks that are too close have no label.
pub(super) fn marks(svg: &mut String, numbers: &Axis) {
    let (bottom, mut last) = (FRAME.bottom, f64::MIN);
    for (number, name) in &numbers.marks {
        let x = numbers.place(*number);
        let _ = write!(svg, "<path class=\"grid\" d=\"M{x:.1} {bottom}v4\"/>");
        if x - last >= APART {
            last = x;
            let _ = write!(
                svg,
                "<text class=\"tick x\" x=\"{x:.1}\" y=\"{}\">{}</text>",
                bottom + 17.0,
                escape(name)
            );
        }
    }
}

pub(super) fn grid(charts: &[String], label: &str, nothing: &str) -> String {
    let columns = COLUMNS.min(charts.len().max(1));
    let rows = charts.len().div_ceil(COLUMNS).max(1);
    let across = WIDTH * columns;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {across} {}\" style=\"max-width:{across}px\" role=\"img\" aria-label=\"{}\">",
        HEIGHT * rows,
        escape(label)
    );
    if charts.is_empty() {
        let _ = write!(svg, "<text x=\"12\" y=\"24\">{}</text>", escape(nothing));
    }
    for (at, chart) in charts.iter().enumerate() {
        let (x, y) = (at % COLUMNS * WIDTH, at / COLUMNS * HEIGHT);
        let _ = write!(svg, "<g transform=\"translate({x} {y})\">{chart}</g>");
    }
    svg + "</svg>\n"
}
