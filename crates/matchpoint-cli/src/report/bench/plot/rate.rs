//! Charts of message rate by threads, as in Figure 8 of the optimistic paper: one for each scenario, window and amount
//! of protocol work. The published rates have a separate chart.

use matchpoint_bench::rate::{Rate, Rates, Scenario, published};
use matchpoint_replay::format::in_place;

use super::key::Key;
use crate::report::bench::rate::charts;
use crate::report::chart::axis::Scale;
use crate::report::chart::{Chart, Line, STYLES, Shape, add, grid};

pub fn svg(rates: &Rates) -> String {
    let key = &Key::of(rates);
    let drawn = rates.options.scenarios.iter().flat_map(|&scenario| {
        charts(rates).into_iter().map(move |(window, work_ns)| {
            let title = format!("{}; window {window}, --work-ns {work_ns}", scenario.title());
            chart(title, lines(rates, key, (scenario, window, work_ns)))
        })
    });
    let title = "published, other hardware: not comparable".to_owned();
    let drawn: Vec<Chart> = drawn.chain([chart(title, published())]).collect();
    grid(&drawn, "Million messages per second against threads", "")
}

fn chart(title: String, lines: Vec<Line>) -> Chart {
    let axes = "→ threads   ↑ million messages per second";
    Chart::new(title, axes, lines, (Scale::Ratios, Scale::FromZero))
}

/// Engines with threads are lines, and other engines are levels.
fn lines(rates: &Rates, key: &Key, of: (Scenario, usize, u32)) -> Vec<Line> {
    let here = |rate: &&Rate| (rate.scenario, rate.window, rate.work_ns) == of;
    let threads = || rates.rates.iter().filter_map(|rate| rate.threads);
    let [least, most] = [threads().min(), threads().max()].map(|threads| threads.unwrap_or(1) as f64);
    let mut lines: Vec<Line> = Vec::new();
    for rate in rates.rates.iter().filter(here).filter(|rate| rate.full.is_none()) {
        let substitute = rate.substitute.as_deref();
        let (name, full) = (key.short(&rate.engine, substitute), in_place(&rate.engine, substitute));
        match rate.threads {
            Some(threads) => {
                let threads = threads as f64;
                add(&mut lines, name.clone(), (threads, rate.rate.median));
                if let Some(line) = lines.iter_mut().find(|line| line.name == name) {
                    line.spreads.push((threads, rate.rate.p25, rate.rate.p75));
                    line.full = full;
                }
            }
            None => {
                let points = vec![(least, rate.rate.median), (most, rate.rate.median)];
                let spreads = vec![(most, rate.rate.p25, rate.rate.p75)];
                lines.push(Line { name, full, points, spreads, shape: Shape::Level, ..Line::default() });
            }
        }
    }
    for (at, line) in lines.iter_mut().enumerate() {
        line.points.sort_by(|one, other| one.0.total_cmp(&other.0));
        line.style = at % STYLES;
    }
    lines
}

fn published() -> Vec<Line> {
    let lines = published::LINES.iter().map(|(name, points)| (*name, points.to_vec()));
    let controls = published::CONTROLS.iter().map(|(name, rate)| (*name, vec![(1, *rate), (32, *rate)]));
    let all = lines.chain(controls).enumerate().map(|(style, (name, points))| {
        let points = points.into_iter().map(|(threads, rate)| (threads as f64, rate)).collect();
        Line { name: name.to_owned(), points, style, ..Line::default() }
    });
    all.collect()
}
