//! Message rate against threads, in the manner of the optimistic paper's Figure 8: one small chart for each scenario, each window
//! and each amount of protocol work, and what was published beside them, on a scale of its own.

use std::fmt::Write;

use matchpoint_bench::rate::{Rate, Rates, Scenario, published};

use super::document::document;
use super::key::Key;
use super::lines::{Chart, Line, add, grid};
use super::{Form, busy};
use crate::format::{digits, in_place};
use crate::report::bench::rate::{charts, label, notes, without};
use crate::report::html::escape::escape;
use crate::report::html::table::table_of;

/// The whole file.
pub fn render(rates: &Rates, load: Option<f64>, form: Form) -> String {
    match form {
        Form::Svg => svg(rates),
        Form::Html => page(rates, load),
    }
}

fn svg(rates: &Rates) -> String {
    let key = &Key::of(rates);
    let drawn = rates.options.scenarios.iter().flat_map(|&scenario| {
        charts(rates).into_iter().map(move |(window, work_ns)| {
            let title = format!("{}; window {window}, --work-ns {work_ns}", scenario.title());
            Chart { title, lines: lines(rates, key, (scenario, window, work_ns)), ..chart() }
        })
    });
    let title = "published, other hardware: not comparable".to_owned();
    let beside = Chart { title, lines: published(), ..chart() };
    let drawn: Vec<Chart> = drawn.chain([beside]).collect();
    grid(&drawn, "Million messages per second against threads")
}

fn chart() -> Chart {
    Chart { axes: "→ threads   ↑ million messages per second", ..Chart::default() }
}

/// Engines with threads: a line. Others: a level.
fn lines(rates: &Rates, key: &Key, of: (Scenario, usize, u32)) -> Vec<Line> {
    let here = |rate: &&Rate| (rate.scenario, rate.window, rate.work_ns) == of;
    let threads: Vec<usize> = rates.rates.iter().filter_map(|rate| rate.threads).collect();
    let (least, most) =
        (threads.iter().min().copied().unwrap_or(1), threads.iter().max().copied().unwrap_or(1));
    let mut lines: Vec<Line> = Vec::new();
    for rate in rates.rates.iter().filter(here).filter(|rate| rate.full.is_none()) {
        let substitute = rate.substitute.as_deref();
        let (name, full) = (key.short(&rate.engine, substitute), in_place(&rate.engine, substitute));
        match rate.threads {
            Some(threads) => {
                add(&mut lines, name.clone(), (threads, rate.median));
                if let Some(line) = lines.iter_mut().find(|line| line.name == name) {
                    line.spreads.push((threads, rate.p25, rate.p75));
                    line.full = full;
                }
            }
            None => {
                let points = vec![(least, rate.median), (most, rate.median)];
                // A level's spread stands at its end, where it has its name.
                let spreads = vec![(most, rate.p25, rate.p75)];
                lines.push(Line { name, full, points, spreads, is_level: true, ..Line::default() });
            }
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
    let styled = |(style, (name, points)): (usize, (String, Vec<(usize, f64)>))| Line {
        name,
        points,
        style,
        ..Line::default()
    };
    lines.chain(controls).enumerate().map(styled).collect()
}

fn page(rates: &Rates, load: Option<f64>) -> String {
    let mut body = format!(
        "<h1>Messages matched and delivered, by threads</h1>\n<p>Measured on {}.{} {}</p>\n",
        escape(&matchpoint_replay::host::host()),
        busy(load),
        escape(&notes::here(rates)),
    );
    for sentence in notes::substitutes(rates) {
        let _ = writeln!(body, "<p>{}.</p>", escape(&sentence));
    }
    let _ = writeln!(
        body,
        "{}<p class=\"note\">Points and levels are medians, the strokes through points and at the ends of levels spreads, p25–p75. \
         {} The published figures are from other hardware, and not comparable in absolute terms.</p>",
        svg(rates),
        escape(&notes::legend(rates))
    );
    let key = Key::of(rates).entries();
    if !key.is_empty() {
        body += "<p>Names in the figure:</p>\n<ul>";
        for (short, full) in key {
            let _ = write!(body, "<li><b>{}</b>: {}</li>", escape(&short), escape(&full));
        }
        body += "</ul>\n";
    }
    let paid = notes::paid(rates);
    if !paid.is_empty() {
        let legend = escape(notes::PAID_LEGEND);
        let _ = writeln!(
            body,
            "<h2>{}</h2>\n{}<p class=\"note\">{legend}</p>",
            notes::PAID,
            table_of(&notes::paid_header(rates), &paid)
        );
    }
    let header = ["window", "--work-ns", "scenario", "engine", "million messages/s", "p25", "p75"];
    let rows: Vec<Vec<String>> = rates.rates.iter().map(row).collect();
    let _ = writeln!(body, "<h2>All of it</h2>\n{}", table_of(&header, &rows));
    let counted = notes::counted(rates);
    if !counted.is_empty() {
        let _ = write!(body, "<h2>{}</h2>\n<ul>", notes::COUNTED);
        for (what, counts) in counted {
            let _ = write!(body, "<li><b>{}</b>: {}</li>", escape(&what), escape(&counts));
        }
        body += "</ul>";
    }
    document("message rate", &body)
}

fn row(rate: &Rate) -> Vec<String> {
    let figure = |of: f64| without(rate).map_or_else(|| digits(of), |_| String::new());
    let median = without(rate).map_or_else(|| figure(rate.median), str::to_owned);
    let scenario = rate.scenario.title().to_owned();
    vec![
        rate.window.to_string(),
        rate.work_ns.to_string(),
        scenario,
        label(rate),
        median,
        figure(rate.p25),
        figure(rate.p75),
    ]
}
