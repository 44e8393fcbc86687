//! Message rate against threads, in the manner of the optimistic paper's Figure 8: one small chart for each window and each
//! amount of protocol work, and what was published beside them, on a scale of its own.

use std::fmt::Write;

use matchpoint_bench::rate::{Rate, Rates, Scenario, published};

use super::names::{End, names};
use super::{Form, STYLE};
use crate::report::bench::rate::{charts, label};
use crate::report::html::escape::escape;

/// Of a chart, in pixels, with all around it.
const WIDTH: usize = 460;
const HEIGHT: usize = 300;

/// Of what is drawn in.
const LEFT: f64 = 40.0;
const RIGHT: f64 = 270.0;
const TOP: f64 = 34.0;
const BOTTOM: f64 = 258.0;

/// Charts side by side.
const COLUMNS: usize = 3;

/// Letters of a name.
const NAME: usize = 30;

/// A line: its name, its points (threads, million messages per second), and its style.
struct Line {
    name: String,
    points: Vec<(usize, f64)>,
    style: usize,
}

/// The whole file.
pub fn render(rates: &Rates, form: Form) -> String {
    match form {
        Form::Svg => svg(rates),
        Form::Html => page(rates),
    }
}

fn svg(rates: &Rates) -> String {
    let charts = charts(rates);
    let count = charts.len() + 1;
    let columns = COLUMNS.min(count);
    let (width, height) = (WIDTH * columns, HEIGHT * count.div_ceil(COLUMNS));
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" role=\"img\" \
         aria-label=\"Million messages per second against threads\"><style>{STYLE}</style>"
    );
    let drawn = charts.into_iter().map(|(window, work_ns)| {
        chart(&format!("window {window}, {work_ns} ns of work each"), &lines(rates, window, work_ns))
    });
    let beside = chart("published, other hardware: not comparable", &published());
    for (at, inner) in drawn.chain([beside]).enumerate() {
        let (x, y) = (at % COLUMNS * WIDTH, at / COLUMNS * HEIGHT);
        let _ = write!(svg, "<g transform=\"translate({x} {y})\">{inner}</g>");
    }
    svg + "</svg>\n"
}

/// Engines with threads: a line for each scenario. Others: a level, where there is no conflict.
fn lines(rates: &Rates, window: usize, work_ns: u32) -> Vec<Line> {
    let here = |rate: &&Rate| rate.window == window && rate.work_ns == work_ns;
    let threads: Vec<usize> = rates.rates.iter().filter_map(|rate| rate.threads).collect();
    let (least, most) =
        (threads.iter().min().copied().unwrap_or(1), threads.iter().max().copied().unwrap_or(1));
    let mut lines: Vec<Line> = Vec::new();
    for rate in rates.rates.iter().filter(here) {
        let Some(threads) = rate.threads else {
            if rate.scenario == Scenario::NoConflict {
                let points = vec![(least, rate.median), (most, rate.median)];
                lines.push(Line { name: label(rate), points, style: 0 });
            }
            continue;
        };
        let bare = rate.engine.split(':').next().unwrap_or_default();
        let name = format!("{}: {bare}", rate.scenario.title());
        match lines.iter_mut().find(|line| line.name == name) {
            Some(line) => line.points.push((threads, rate.median)),
            None => lines.push(Line { name, points: vec![(threads, rate.median)], style: 0 }),
        }
    }
    for (at, line) in lines.iter_mut().enumerate() {
        line.points.sort_by_key(|point| point.0);
        line.style = at % 12;
    }
    lines
}

fn published() -> Vec<Line> {
    let lines = published::LINES.iter().map(|(name, points)| ((*name).to_owned(), points.to_vec()));
    let controls =
        published::CONTROLS.iter().map(|(name, rate)| ((*name).to_owned(), vec![(1, *rate), (32, *rate)]));
    let styled = |(style, (name, points)): (usize, (String, Vec<(usize, f64)>))| Line { name, points, style };
    lines.chain(controls).enumerate().map(styled).collect()
}

fn chart(title: &str, lines: &[Line]) -> String {
    let mut svg = format!("<text class=\"title\" x=\"{LEFT}\" y=\"18\">{}</text>", escape(title));
    let points = || lines.iter().flat_map(|line| &line.points);
    let most = points().map(|point| point.1).fold(0.0, f64::max);
    let step = nice(most / 4.0);
    let top = step * (most / step).ceil().max(1.0);
    let mut threads: Vec<usize> = points().map(|point| point.0).collect();
    threads.sort_unstable();
    threads.dedup();
    let (low, high) = (threads.first().copied().unwrap_or(1), threads.last().copied().unwrap_or(1));
    let x = |threads: usize| {
        let log = |threads: usize| (threads as f64).ln();
        let share = if high > low { (log(threads) - log(low)) / (log(high) - log(low)) } else { 0.5 };
        LEFT + share * (RIGHT - LEFT)
    };
    let y = |rate: f64| BOTTOM - rate / top * (BOTTOM - TOP);
    let mut level = 0.0;
    while level <= top * 1.001 {
        let _ = write!(
            svg,
            "<path class=\"grid\" d=\"M{LEFT} {at:.1}H{RIGHT}\"/><text class=\"tick y\" x=\"{}\" y=\"{:.1}\">{}</text>",
            LEFT - 6.0,
            y(level) + 3.5,
            (level * 1e3).round() / 1e3,
            at = y(level)
        );
        level += step;
    }
    for &count in &threads {
        let at = x(count);
        let _ = write!(
            svg,
            "<path class=\"grid\" d=\"M{at:.1} {BOTTOM}v4\"/><text class=\"tick x\" x=\"{at:.1}\" y=\"{}\">{count}</text>",
            BOTTOM + 17.0
        );
    }
    let _ = write!(
        svg,
        "<text class=\"tick\" x=\"{LEFT}\" y=\"{}\">threads; million messages per second</text>",
        BOTTOM + 33.0
    );
    let mut ends = Vec::new();
    for line in lines {
        let mut path = String::new();
        for &(count, rate) in &line.points {
            let _ = write!(path, "{}{:.1} {:.1}", if path.is_empty() { "M" } else { "L" }, x(count), y(rate));
            let _ = write!(
                svg,
                "<circle class=\"f{}\" cx=\"{:.1}\" cy=\"{:.1}\" r=\"2.2\"/>",
                line.style,
                x(count),
                y(rate)
            );
        }
        let _ = write!(svg, "<path class=\"line e{}\" d=\"{path}\"/>", line.style);
        let (x, y) = line.points.last().map_or((LEFT, BOTTOM), |&(count, rate)| (x(count), y(rate)));
        ends.push(End { x, y, name: &line.name, style: line.style });
    }
    names(&mut svg, &ends, RIGHT, (TOP, BOTTOM), NAME);
    svg
}

/// 1, 2 or 5 times a power of ten, and not less.
fn nice(step: f64) -> f64 {
    let power = 10_f64.powf(step.max(1e-3).log10().floor());
    let of = |times: &&f64| **times * power >= step;
    [1.0, 2.0, 5.0, 10.0].iter().find(of).map_or(10.0 * power, |times| times * power)
}

fn page(rates: &Rates) -> String {
    let header = ["window", "work, ns", "scenario", "engine", "million messages/s", "p25", "p75"];
    let header: String = header.iter().map(|name| format!("<th scope=\"col\">{name}</th>")).collect();
    let rows: String = rates.rates.iter().map(row).collect();
    let options = &rates.options;
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" \
         content=\"width=device-width, initial-scale=1\">\n<meta name=\"color-scheme\" content=\"light dark\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
         <title>Matchpoint: message rate</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<main>\n\
         <h1>Messages matched and delivered, by threads</h1>\n\
         <p>Sequences of {} messages, {} receives in front. Measured on {}, which lets this process have {} processors. The \
         published figures are from other hardware, and not comparable in absolute terms.</p>\n{}\n\
         <h2>All of it</h2>\n<div class=\"scroll\"><table><thead><tr>{header}</tr></thead><tbody>{rows}</tbody></table></div>\n\
         </main>\n</body>\n</html>\n",
        options.messages,
        options.depth,
        escape(&matchpoint_replay::host::host()),
        rates.processors,
        svg(rates),
    )
}

fn row(rate: &Rate) -> String {
    format!(
        "<tr><th scope=\"row\">{}</th><td>{}</td><td>{}</td><td>{}</td><td>{:.2}</td><td>{:.2}</td><td>{:.2}</td></tr>",
        rate.window,
        rate.work_ns,
        rate.scenario.title(),
        escape(&label(rate)),
        rate.median,
        rate.p25,
        rate.p75
    )
}
