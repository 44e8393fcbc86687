//! The frame of a chart, and a grid of charts.

use std::fmt::Write;

use super::axis::Axis;
use crate::report::escape::escape;

const COLUMNS: usize = 3;

/// Width of a chart in pixels.
const WIDTH: usize = 460;
const HEIGHT: usize = 300;

/// Minimum distance of two labels below the axis, in pixels.
const APART: f64 = 30.0;

/// Distances from the edges of the chart to the drawing area, in pixels.
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

/// In pixels.
const LINE: f64 = 11.5;

const LETTERS: usize = 29;

/// The end of a line in pixels, and its name.
pub(super) struct End<'a> {
    pub x: f64,
    pub y: f64,
    pub name: &'a str,
    /// The tooltip. Empty: the name.
    pub full: &'a str,
    pub style: usize,
}

pub(super) fn names(svg: &mut String, ends: &[End<'_>], frame: &Frame) {
    let &Frame { right, top, bottom, .. } = frame;
    let wanted: Vec<f64> = ends.iter().map(|end| end.y).collect();
    for (End { x, y, name, full, style }, placed) in ends.iter().zip(apart(&wanted, LINE, top, bottom)) {
        let _ = write!(
            svg,
            "<path class=\"lead e{style}\" d=\"M{x:.1} {y:.1}L{:.1} {placed:.1}\"/>\
             <text class=\"name f{style}\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
            right + 12.0,
            right + 15.0,
            placed + 3.5,
            short(name, if full.is_empty() { name } else { full }, LETTERS)
        );
    }
}

fn short(name: &str, full: &str, letters: usize) -> String {
    let start = match name.chars().count() {
        all if all <= letters && name == full => return escape(name),
        all if all <= letters => name.to_owned(),
        _ => name.chars().take(letters - 1).chain(['…']).collect(),
    };
    format!("{}<title>{}</title>", escape(&start), escape(full))
}

/// Positions with minimal moves, in their order, at least `distance` apart.
fn apart(wanted: &[f64], distance: f64, top: f64, bottom: f64) -> Vec<f64> {
    let mut order: Vec<usize> = (0..wanted.len()).collect();
    order.sort_by(|one, other| wanted[*one].total_cmp(&wanted[*other]));
    let mut placed = wanted.to_vec();
    let mut least = top;
    for &at in &order {
        placed[at] = placed[at].max(least);
        least = placed[at] + distance;
    }
    let mut most = bottom;
    for &at in order.iter().rev() {
        placed[at] = placed[at].min(most);
        most = placed[at] - distance;
    }
    placed
}

#[cfg(test)]
mod tests {
    use super::apart;

    #[test]
    fn labels_keep_order_and_distance() {
        assert_eq!(apart(&[50.0, 10.0, 52.0], 10.0, 0.0, 100.0), [50.0, 10.0, 60.0]);
        assert_eq!(apart(&[99.0, 98.0], 10.0, 0.0, 100.0), [100.0, 90.0]);
        assert_eq!(apart(&[-5.0], 10.0, 0.0, 100.0), [0.0]);
    }
}
