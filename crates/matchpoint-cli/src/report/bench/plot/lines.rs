//! Rates against a number, in small charts side by side: what several benchmarks draw.

use std::fmt::Write;

use super::frame::{self, Frame};
use super::names::{End, names};
use crate::report::escape::escape;

/// Of a chart, in pixels, with all around it.
const WIDTH: usize = 460;
const HEIGHT: usize = 300;

const FRAME: Frame = Frame { left: 40.0, right: 270.0, top: 34.0, bottom: 258.0 };

/// Letters of a name.
const NAME: usize = 30;

/// Between the middles of two numbers below the axis, at least.
const APART: f64 = 30.0;

/// A line: its name, its points, and its style.
#[derive(Default)]
pub(super) struct Line {
    pub name: String,
    /// What a pointer shows, if it is more.
    pub full: String,
    /// The number, and the rate.
    pub points: Vec<(usize, f64)>,
    /// From where to where rates spread at such a number.
    pub spreads: Vec<(usize, f64, f64)>,
    pub style: usize,
    /// It has no points of its own, and goes from the left to the last number: a value that was published, say.
    pub is_level: bool,
}

/// A chart.
#[derive(Default)]
pub(super) struct Chart {
    pub title: String,
    /// What the axes are.
    pub axes: &'static str,
    pub lines: Vec<Line>,
    /// Powers of ten are as far apart as 1 and 10.
    pub has_log_rates: bool,
    /// Numbers are as far apart as they are, rather than their logarithms.
    pub has_even_numbers: bool,
}

/// A picture of all of them, and what it shows.
pub(super) fn grid(charts: &[Chart], label: &str) -> String {
    let drawn: Vec<String> = charts.iter().map(Chart::drawn).collect();
    frame::grid(&drawn, (WIDTH, HEIGHT), label, "Nothing was measured that has a chart.")
}

/// Adds a point to the line of that name, or to a new one behind the others.
pub(super) fn add(lines: &mut Vec<Line>, name: String, point: (usize, f64)) {
    match lines.iter_mut().find(|line| line.name == name) {
        Some(line) => line.points.push(point),
        None => lines.push(Line { name, points: vec![point], ..Line::default() }),
    }
}

impl Chart {
    fn points(&self) -> impl Iterator<Item = (usize, f64)> {
        self.lines.iter().flat_map(|line| line.points.iter().copied())
    }

    /// All rates that have to be in the chart: a spread goes beyond its points.
    fn rates(&self) -> impl Iterator<Item = f64> {
        let spreads = self.lines.iter().flat_map(|line| &line.spreads);
        self.points().map(|point| point.1).chain(spreads.flat_map(|&(_, low, high)| [low, high]))
    }

    fn drawn(&self) -> String {
        let Frame { left, bottom, .. } = FRAME;
        let mut svg = format!("<text class=\"title\" x=\"{left}\" y=\"18\">{}</text>", escape(&self.title));
        let (numbers, rates) = (Numbers::of(self), Rates::of(self));
        let named = |level: f64| (rates.y(level), ((level * 1e3).round() / 1e3).to_string());
        FRAME.levels(&mut svg, rates.levels().into_iter().map(named));
        FRAME.marks(
            &mut svg,
            APART,
            numbers.numbers.iter().map(|&number| (numbers.x(number), short(number))),
        );
        let _ = write!(svg, "<text class=\"tick\" x=\"{left}\" y=\"{}\">{}</text>", bottom + 33.0, self.axes);
        let mut ends = Vec::new();
        for line in &self.lines {
            let end = line.draw(&mut svg, &numbers, &rates);
            ends.push(End { x: end.0, y: end.1, name: &line.name, full: &line.full, style: line.style });
        }
        names(&mut svg, &ends, &FRAME, NAME);
        svg
    }
}

impl Line {
    /// Where it ends.
    fn draw(&self, svg: &mut String, numbers: &Numbers, rates: &Rates) -> (f64, f64) {
        let (mut path, mut end) = (String::new(), (FRAME.left, FRAME.bottom));
        let strokes: String = self
            .spreads
            .iter()
            .map(|&(number, low, high)| {
                format!("M{:.1} {:.1}V{:.1}", numbers.x(number), rates.y(high), rates.y(low))
            })
            .collect();
        if !strokes.is_empty() {
            let _ = write!(svg, "<path class=\"spread e{}\" d=\"{strokes}\"/>", self.style);
        }
        for &(number, rate) in &self.points {
            end = (numbers.x(number), rates.y(rate));
            if self.is_level && path.is_empty() {
                // Where all its numbers are the same one, it is seen to be a level nevertheless.
                let _ = write!(path, "M{:.1} {:.1}", FRAME.left, end.1);
            }
            let _ = write!(path, "{}{:.1} {:.1}", if path.is_empty() { "M" } else { "L" }, end.0, end.1);
            if !self.is_level {
                let _ = write!(
                    svg,
                    "<circle class=\"f{}\" cx=\"{:.1}\" cy=\"{:.1}\" r=\"2.2\"/>",
                    self.style, end.0, end.1
                );
            }
        }
        let _ = write!(svg, "<path class=\"line e{}\" d=\"{path}\"/>", self.style);
        end
    }
}

/// Where numbers lie.
struct Numbers {
    numbers: Vec<usize>,
    are_even: bool,
}

impl Numbers {
    fn of(chart: &Chart) -> Numbers {
        let mut numbers: Vec<usize> = chart.points().map(|point| point.0).collect();
        numbers.sort_unstable();
        numbers.dedup();
        Numbers { numbers, are_even: chart.has_even_numbers }
    }

    fn x(&self, number: usize) -> f64 {
        let place = |number: usize| if self.are_even { number as f64 } else { (number as f64).ln() };
        // A number alone stands where names are.
        let [low, .., high] = self.numbers[..] else { return FRAME.right };
        FRAME.left + (place(number) - place(low)) / (place(high) - place(low)) * (FRAME.right - FRAME.left)
    }
}

/// Where rates lie.
struct Rates {
    low: f64,
    high: f64,
    /// Between two levels; none if these are powers of ten.
    step: Option<f64>,
}

impl Rates {
    fn of(chart: &Chart) -> Rates {
        let most = chart.rates().fold(0.0, f64::max);
        if chart.has_log_rates {
            let least = chart.rates().fold(most, f64::min);
            let power = |rate: f64| rate.max(1e-9).log10();
            let (low, high) = (power(least).floor(), power(most).ceil());
            return Rates { low, high: high.max(low + 1.0), step: None };
        }
        let step = nice(most / 4.0);
        Rates { low: 0.0, high: step * (most / step).ceil().max(1.0), step: Some(step) }
    }

    fn y(&self, rate: f64) -> f64 {
        let place = if self.step.is_some() { rate } else { rate.max(1e-9).log10() };
        FRAME.bottom - (place - self.low) / (self.high - self.low) * (FRAME.bottom - FRAME.top)
    }

    fn levels(&self) -> Vec<f64> {
        match self.step {
            Some(step) => (0..=(self.high / step).round() as i32).map(|at| f64::from(at) * step).collect(),
            None => (self.low as i32..=self.high as i32).map(|power| 10_f64.powi(power)).collect(),
        }
    }
}

/// A number as it stands below an axis: powers of two may be long.
fn short(number: usize) -> String {
    match number.trailing_zeros() {
        20.. if number > 0 => format!("{}Mi", number >> 20),
        10.. if number >= 1 << 14 => format!("{}Ki", number >> 10),
        _ => number.to_string(),
    }
}

/// 1, 2 or 5 times a power of ten, and not less.
fn nice(step: f64) -> f64 {
    let power = 10_f64.powf(step.max(1e-3).log10().floor());
    let of = |times: &&f64| **times * power >= step;
    [1.0, 2.0, 5.0, 10.0].iter().find(of).map_or(10.0 * power, |times| times * power)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart(points: &[(usize, f64)]) -> Chart {
        let line = Line { name: "one".to_owned(), points: points.to_vec(), ..Line::default() };
        Chart { lines: vec![line], ..Chart::default() }
    }

    #[test]
    fn what_is_drawn_lies_within_the_chart() {
        for points in [&[(1, 3.0), (64, 700.0), (4096, 0.02)][..], &[(7, 5.0)], &[(1, 0.0), (2, 0.0)]] {
            for has_log_rates in [false, true] {
                for has_even_numbers in [false, true] {
                    let chart = Chart { has_log_rates, has_even_numbers, ..chart(points) };
                    let (numbers, rates) = (Numbers::of(&chart), Rates::of(&chart));
                    for &(number, rate) in points {
                        let (x, y) = (numbers.x(number), rates.y(rate));
                        let is_log_zero = has_log_rates && rate == 0.0;
                        assert!((FRAME.left..=FRAME.right).contains(&x), "{points:?}: {x}");
                        assert!(is_log_zero || (FRAME.top..=FRAME.bottom).contains(&y), "{points:?}: {y}");
                    }
                    assert!(rates.levels().len() < 12, "{:?}", rates.levels());
                    assert!(!chart.drawn().contains("NaN"));
                }
            }
        }
    }

    #[test]
    fn long_numbers_are_short() {
        for (number, expected) in
            [(0, "0"), (1, "1"), (1000, "1000"), (4096, "4096"), (1 << 16, "64Ki"), (1 << 24, "16Mi")]
        {
            assert_eq!(short(number), expected);
        }
    }
}
