//! One chart: dots that were measured, lines that were computed.

use std::fmt::Write;

use crate::report::escape::escape;

/// Of a chart, in pixels, with all around it.
pub(super) const WIDTH: f64 = 560.0;
pub(super) const HEIGHT: f64 = 300.0;

/// Of what is drawn in.
const LEFT: f64 = 62.0;
const RIGHT: f64 = 530.0;
const TOP: f64 = 44.0;
const BOTTOM: f64 = 258.0;

/// How far axes around 0 may reach: what is nearly nothing shall look so.
const STEPS: [f64; 6] = [0.04, 0.1, 0.2, 0.4, 1.0, 2.0];

/// Marks of an axis at most.
const MARKS: i32 = 8;

/// Dots or a line, with a name.
pub(super) struct Series {
    /// For the legend; empty for a line that goes with the dots before it.
    pub name: String,
    /// The number of its colour.
    pub colour: usize,
    /// Whether it is a line.
    pub is_line: bool,
    /// Places and values.
    pub points: Vec<(f64, f64)>,
}

/// How values are laid out.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Scale {
    /// Each power of this is as wide as the one before, and has a mark.
    Logarithmic(u32),
    /// Around 0, which has a line.
    Signed,
}

/// How a mark is written.
pub(super) type Label = fn(f64) -> String;

/// What is drawn, and how.
pub(super) struct Chart<'a> {
    /// What it shows.
    pub title: &'a str,
    /// What is below the axes, left and bottom.
    pub axes: (&'a str, &'a str),
    /// Of the horizontal axis and of the vertical one.
    pub scales: (Scale, Scale),
    /// In the order in which they are drawn.
    pub series: Vec<Series>,
    /// How marks are written.
    pub labels: (Label, Label),
}

/// From values to pixels.
struct Axis {
    scale: Scale,
    low: f64,
    high: f64,
    from: f64,
    to: f64,
}

impl Axis {
    fn of(values: impl Iterator<Item = f64>, scale: Scale, from: f64, to: f64) -> Axis {
        let seen: Vec<f64> = match scale {
            Scale::Logarithmic(base) => {
                values.filter(|value| *value > 0.0).map(|value| value.log(base.into())).collect()
            }
            Scale::Signed => values.map(f64::abs).collect(),
        };
        let low = seen.iter().copied().fold(f64::INFINITY, f64::min);
        let high = seen.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let (low, high) = match scale {
            _ if low > high => (0.0, 1.0),
            // What is not quite a whole power after taking a logarithm is one all the same.
            Scale::Logarithmic(_) => {
                ((low + 1e-9).floor(), (high - 1e-9).ceil().max((low + 1e-9).floor() + 1.0))
            }
            Scale::Signed => {
                let most = STEPS.into_iter().find(|step| *step >= high).unwrap_or(high);
                (-most, most)
            }
        };
        Axis { scale, low, high, from, to }
    }

    fn place(&self, value: f64) -> f64 {
        let value = match self.scale {
            Scale::Logarithmic(base) => value.max(1e-300).log(base.into()),
            Scale::Signed => value,
        };
        self.from + (value - self.low) / (self.high - self.low) * (self.to - self.from)
    }

    fn marks(&self) -> Vec<f64> {
        match self.scale {
            Scale::Logarithmic(base) => {
                let (low, high) = (self.low as i32, self.high as i32);
                let step = ((high - low) / MARKS + 1) as usize;
                (low..=high).step_by(step).map(|power| f64::from(base).powi(power)).collect()
            }
            Scale::Signed => vec![self.low, self.low / 2.0, 0.0, self.high / 2.0, self.high],
        }
    }
}

impl Chart<'_> {
    /// Draws it, for a place in a picture.
    pub fn svg(&self) -> String {
        let values = || self.series.iter().flat_map(|series| &series.points);
        let x = Axis::of(values().map(|(x, _)| *x), self.scales.0, LEFT, RIGHT);
        let y = Axis::of(values().map(|(_, y)| *y), self.scales.1, BOTTOM, TOP);
        let mut svg = format!(
            "<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{title}\">\
             <text class=\"title\" x=\"{LEFT}\" y=\"14\">{title}</text>",
            title = escape(self.title)
        );
        self.frame(&mut svg, &x, &y);
        self.legend(&mut svg);
        for series in &self.series {
            series.draw(&mut svg, &x, &y);
        }
        svg + "</svg>\n"
    }

    fn frame(&self, svg: &mut String, x: &Axis, y: &Axis) {
        for mark in y.marks() {
            let at = y.place(mark);
            let _ = write!(
                svg,
                "<path class=\"grid\" d=\"M{LEFT} {at:.1}H{RIGHT}\"/><text class=\"tick y\" x=\"{}\" y=\"{:.1}\">{}</text>",
                LEFT - 6.0,
                at + 3.5,
                escape(&(self.labels.1)(mark))
            );
        }
        for mark in x.marks() {
            let at = x.place(mark);
            let _ = write!(
                svg,
                "<path class=\"grid\" d=\"M{at:.1} {TOP}V{BOTTOM}\"/><text class=\"tick x\" x=\"{at:.1}\" y=\"{}\">{}</text>",
                BOTTOM + 15.0,
                escape(&(self.labels.0)(mark))
            );
        }
        let _ = write!(
            svg,
            "<text class=\"tick x\" x=\"{:.1}\" y=\"{}\">{}</text><text class=\"tick\" x=\"{LEFT}\" y=\"{}\">{}</text>",
            (LEFT + RIGHT) / 2.0,
            BOTTOM + 31.0,
            escape(self.axes.0),
            TOP - 16.0,
            escape(self.axes.1)
        );
    }

    fn legend(&self, svg: &mut String) {
        let mut right = RIGHT;
        for series in self.series.iter().rev().filter(|series| !series.name.is_empty()) {
            // Some six pixels for each letter, and the sign before them.
            let width = series.name.chars().count() as f64 * 6.0 + 22.0;
            let at = right - width;
            right = at;
            let colour = series.colour;
            let sign = if series.is_line {
                format!("<path class=\"line e{colour}\" d=\"M{at:.1} {y}h12\"/>", y = TOP - 19.5)
            } else {
                format!(
                    "<circle class=\"f{colour}\" cx=\"{:.1}\" cy=\"{}\" r=\"2.6\"/>",
                    at + 6.0,
                    TOP - 19.5
                )
            };
            let _ = write!(
                svg,
                "{sign}<text x=\"{:.1}\" y=\"{}\">{}</text>",
                at + 16.0,
                TOP - 16.0,
                escape(&series.name)
            );
        }
    }
}

impl Series {
    fn draw(&self, svg: &mut String, x: &Axis, y: &Axis) {
        let colour = self.colour;
        if self.is_line {
            let mut path = String::new();
            for (at, value) in &self.points {
                let start = if path.is_empty() { 'M' } else { 'L' };
                let _ = write!(path, "{start}{:.1} {:.1}", x.place(*at), y.place(*value));
            }
            let _ = write!(svg, "<path class=\"line e{colour}\" d=\"{path}\"/>");
            return;
        }
        for (at, value) in &self.points {
            let (at, value) = (x.place(*at), y.place(*value));
            let _ = write!(svg, "<circle class=\"f{colour}\" cx=\"{at:.1}\" cy=\"{value:.1}\" r=\"2.4\"/>");
        }
    }
}
