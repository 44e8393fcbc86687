//! Small charts in a grid. Lines have their names at their ends.

pub mod axis;
mod frame;

use std::fmt::Write;

use self::axis::{Axis, Scale};
use self::frame::{End, FRAME, Frame, names};
use crate::report::document::html::PICTURE;
use crate::report::escape::escape;

pub const STYLES: usize = 12;

#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub enum Shape {
    #[default]
    Points,
    Dots,
    Curve,
    /// A horizontal line from the left edge to the last number, without points.
    Level,
}

#[derive(Default)]
pub struct Line {
    /// The name at the end of the line. Empty: the line continues the previous line.
    pub name: String,
    pub full: String,
    /// Each point: its place on the horizontal axis, and its value.
    pub points: Vec<(f64, f64)>,
    /// Places on the horizontal axis, each with its range of values.
    pub spreads: Vec<(f64, f64, f64)>,
    /// Points with a value that is only a lower bound.
    pub arrows: Vec<(f64, f64)>,
    pub style: usize,
    pub shape: Shape,
}

pub struct Chart {
    pub title: String,
    pub axes: String,
    pub lines: Vec<Line>,
    /// Scales of the numbers and of the values.
    pub scales: (Scale, Scale),
    /// Values that the chart must include.
    pub reach: Vec<f64>,
}

/// A picture of all charts. `label` is for screen readers. `nothing` is the text without charts.
pub fn grid(charts: &[Chart], label: &str, nothing: &str) -> String {
    frame::grid(&charts.iter().map(Chart::drawn).collect::<Vec<_>>(), label, nothing)
}

pub fn alone(svg: &str) -> String {
    svg.replacen("><", &format!("><style>{PICTURE}</style><"), 1)
}

pub fn add(lines: &mut Vec<Line>, name: String, point: (f64, f64)) {
    match lines.iter_mut().find(|line| line.name == name) {
        Some(line) => line.points.push(point),
        None => lines.push(Line { name, points: vec![point], ..Line::default() }),
    }
}

impl Chart {
    pub fn new(title: impl Into<String>, axes: &str, lines: Vec<Line>, scales: (Scale, Scale)) -> Chart {
        Chart { title: title.into(), axes: axes.to_owned(), lines, scales, reach: Vec::new() }
    }

    fn axes(&self) -> (Axis, Axis) {
        let points = || self.lines.iter().flat_map(|line| line.points.iter().chain(&line.arrows));
        let spreads = self.lines.iter().flat_map(|line| &line.spreads);
        let values = points().map(|point| point.1).chain(spreads.flat_map(|&(_, low, high)| [low, high]));
        let values = values.chain(self.reach.iter().copied());
        let Frame { left, right, top, bottom } = FRAME;
        let numbers = Axis::of(points().map(|point| point.0), self.scales.0, left, right);
        (numbers, Axis::of(values, self.scales.1, bottom, top))
    }

    fn drawn(&self) -> String {
        let (left, below) = (FRAME.left, FRAME.bottom + 33.0);
        let mut svg = format!("<text class=\"title\" x=\"{left}\" y=\"18\">{}</text>", escape(&self.title));
        let (numbers, values) = self.axes();
        frame::levels(&mut svg, &values);
        frame::marks(&mut svg, &numbers);
        let _ = write!(svg, "<text class=\"tick\" x=\"{left}\" y=\"{below}\">{}</text>", escape(&self.axes));
        let mut ends = Vec::new();
        for line in &self.lines {
            let end = line.draw(&mut svg, &numbers, &values);
            if let (Some((x, y)), false) = (end, line.name.is_empty()) {
                ends.push(End { x, y, name: &line.name, full: &line.full, style: line.style });
            }
        }
        names(&mut svg, &ends, &FRAME);
        svg
    }
}

impl Line {
    fn draw(&self, svg: &mut String, numbers: &Axis, values: &Axis) -> Option<(f64, f64)> {
        let style = self.style;
        let place = |&(number, value): &(f64, f64)| (numbers.place(number), values.place(value));
        let stroke = |&(number, low, high): &(f64, f64, f64)| {
            let [high, low] = [high, low].map(|value| values.place(value));
            format!("M{:.1} {high:.1}V{low:.1}", numbers.place(number))
        };
        let strokes: String = self.spreads.iter().map(stroke).collect();
        if !strokes.is_empty() {
            let _ = write!(svg, "<path class=\"spread e{style}\" d=\"{strokes}\"/>");
        }
        let mut path = String::new();
        for (x, y) in self.points.iter().map(place) {
            if self.shape == Shape::Level && path.is_empty() {
                // A level at a single number is a short line.
                let _ = write!(path, "M{:.1} {y:.1}", FRAME.left);
            }
            let _ = write!(path, "{}{x:.1} {y:.1}", if path.is_empty() { "M" } else { "L" });
            if matches!(self.shape, Shape::Points | Shape::Dots) {
                let _ = write!(svg, "<circle class=\"f{style}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"2.2\"/>");
            }
        }
        for (x, y) in self.arrows.iter().map(place) {
            let _ = write!(svg, "<path class=\"more e{style}\" d=\"M{x:.1} {y:.1}v-9m-3 3l3 -3l3 3\"/>");
        }
        if path.contains('L') && self.shape != Shape::Dots {
            let _ = write!(svg, "<path class=\"line e{style}\" d=\"{path}\"/>");
        }
        let all = self.points.iter().chain(&self.arrows);
        all.max_by(|one, other| one.0.total_cmp(&other.0)).map(place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chart_elements_are_within_frame() {
        let powers = Scale::Powers(10, |mark| mark.to_string());
        let ways = [Scale::Even, Scale::Ratios].map(|way| [(way, Scale::FromZero), (way, powers)]);
        for points in
            [&[(1.0, 3.0), (64.0, 700.0), (4096.0, 0.02)][..], &[(7.0, 5.0)], &[(0.0, 0.0), (2.0, 0.0)]]
        {
            for scales in ways.concat() {
                let line = Line { name: "one".to_owned(), points: points.to_vec(), ..Line::default() };
                let chart = Chart::new("", "", vec![line], scales);
                let (numbers, values) = chart.axes();
                for &(number, value) in points {
                    let (x, y) = (numbers.place(number), values.place(value));
                    let is_log_zero = matches!(scales.1, Scale::Powers(..)) && value == 0.0;
                    assert!((FRAME.left..=FRAME.right).contains(&x), "{points:?}: {x}");
                    assert!(is_log_zero || (FRAME.top..=FRAME.bottom).contains(&y), "{points:?}: {y}");
                }
                assert!(values.marks.len() < 12, "{:?}", values.marks);
                assert!(!chart.drawn().contains("NaN"));
            }
        }
    }
}
