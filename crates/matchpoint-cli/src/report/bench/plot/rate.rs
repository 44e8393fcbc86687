//! Message rate against threads, in the manner of the optimistic paper's Figure 8: one small chart for each window and each
//! amount of protocol work, and what was published beside them, on a scale of its own.

use matchpoint_bench::rate::{Rate, Rates, Scenario, published};

use super::Form;
use super::document::document;
use super::lines::{Chart, Line, add, grid};
use crate::format::in_place;
use crate::report::bench::rate::{charts, label};
use crate::report::html::escape::escape;

/// The whole file.
pub fn render(rates: &Rates, form: Form) -> String {
    match form {
        Form::Svg => svg(rates),
        Form::Html => page(rates),
    }
}

fn svg(rates: &Rates) -> String {
    let drawn = charts(rates).into_iter().map(|(window, work_ns)| {
        let title = format!("window {window}, {work_ns} ns of work each");
        Chart { title, lines: lines(rates, window, work_ns), ..chart() }
    });
    let title = "published, other hardware: not comparable".to_owned();
    let beside = Chart { title, lines: published(), ..chart() };
    let drawn: Vec<Chart> = drawn.chain([beside]).collect();
    grid(&drawn, "Million messages per second against threads")
}

fn chart() -> Chart {
    Chart { axes: "threads; million messages per second", ..Chart::default() }
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
                lines.push(Line { name: label(rate), points, style: 0, is_level: false });
            }
            continue;
        };
        let bare = rate.engine.split(':').next().unwrap_or_default();
        let name = in_place(bare, rate.substitute.as_deref());
        add(&mut lines, format!("{}: {name}", rate.scenario.title()), (threads, rate.median));
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
        is_level: false,
    };
    lines.chain(controls).enumerate().map(styled).collect()
}

fn page(rates: &Rates) -> String {
    let header = ["window", "work, ns", "scenario", "engine", "million messages/s", "p25", "p75"];
    let header: String = header.iter().map(|name| format!("<th scope=\"col\">{name}</th>")).collect();
    let rows: String = rates.rates.iter().map(row).collect();
    let options = &rates.options;
    let body = format!(
        "<h1>Messages matched and delivered, by threads</h1>\n\
         <p>Sequences of {} messages, {} receives in front. Measured on {}, which lets this process have {} processors. The \
         published figures are from other hardware, and not comparable in absolute terms.</p>\n{}\n\
         <h2>All of it</h2>\n<div class=\"scroll\"><table><thead><tr>{header}</tr></thead><tbody>{rows}</tbody></table></div>\n\
         </main>\n</body>\n</html>\n",
        options.messages,
        options.depth,
        escape(&matchpoint_replay::host::host()),
        rates.processors,
        svg(rates),
    );
    document("message rate", &body)
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
