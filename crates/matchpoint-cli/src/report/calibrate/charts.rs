//! Charts of a calibration: measured and modelled times, and residuals.

use matchpoint_calibrate::fit::differences::extra_attempts;
use matchpoint_calibrate::fit::parameters::Link;
use matchpoint_calibrate::fit::protocols::Segment;
use matchpoint_calibrate::fit::rates::NodeRate;
use matchpoint_calibrate::plan::{Part, PostOrder};
use matchpoint_calibrate::raw::Repeated;
use matchpoint_replay::format::{bytes, count, seconds};

use super::Calibration;
use crate::report::chart::axis::Scale;
use crate::report::chart::{Chart, Line, Shape};

const SIZES: Scale = Scale::Powers(16, |mark| bytes(mark as u64));
const COUNTS: Scale = Scale::Powers(10, |mark| count(mark as u64));
const TIMES: Scale = Scale::Powers(10, seconds);
const RESIDUALS: Scale = Scale::Signed(|mark| format!("{:+.0} %", mark * 100.0));

pub(super) struct Group {
    pub title: &'static str,
    pub text: &'static str,
    pub charts: Vec<Chart>,
}

pub(super) fn groups(of: &Calibration<'_>) -> Vec<Group> {
    let groups = [
        Group {
            title: "One message",
            text: "Ping-pong of one pair. Dots: measured. Lines: α + s ÷ R_b, one per protocol. Residuals: (measured \
                   − modelled) ÷ measured.",
            charts: if of.parameters.links.is_empty() { vec![] } else { vec![sizes(of), size_residuals(of)] },
        },
        Group {
            title: "Several pairs at once",
            text: "Ping-pong between two nodes; lines: α + max(s ÷ R_b, pairs × s ÷ R_N).",
            charts: injection(of).into_iter().collect(),
        },
        Group {
            title: "Many messages at once",
            text: "HighVolumePingPong, constant bytes in different numbers of messages. Line: modelled reversed \
                   order, the measured equal order plus the cost of the additional attempts.",
            charts: queue(of).into_iter().chain(queue_residuals(of)).collect(),
        },
    ];
    groups.into_iter().filter(|group| !group.charts.is_empty()).collect()
}

fn dots(name: impl Into<String>, style: usize, points: Vec<(f64, f64)>) -> Line {
    Line { name: name.into(), style, points, shape: Shape::Dots, ..Line::default() }
}

fn line(style: usize, points: Vec<(f64, f64)>) -> Line {
    Line { style, points, shape: Shape::Curve, ..Line::default() }
}

fn within(segment: &Segment) -> impl Iterator<Item = f64> {
    const STEPS: u32 = 24;
    let (low, high) = (f64::from(segment.bytes.0), f64::from(segment.bytes.1));
    (0..=STEPS).map(move |step| low * (high / low).powf(f64::from(step) / f64::from(STEPS)))
}

fn sizes(of: &Calibration<'_>) -> Chart {
    let mut series = Vec::new();
    for (colour, link) in of.parameters.links.iter().enumerate() {
        let points = link.points.iter().map(|point| (f64::from(point.bytes), point.time_s)).collect();
        series.push(dots(link.placement.name(), colour, points));
        for segment in &link.segments {
            let time = |size: f64| segment.alpha_s.value + segment.beta_s_per_byte.value * size;
            series.push(line(colour, within(segment).map(|size| (size, time(size))).collect()));
        }
    }
    Chart::new("Time of a message", "→ bytes   ↑ time", series, (SIZES, TIMES))
}

fn size_residuals(of: &Calibration<'_>) -> Chart {
    let series = of.parameters.links.iter().enumerate().map(|(colour, link)| {
        let residuals = link.segments.iter().flat_map(|segment| &segment.residuals);
        let points = residuals.map(|(size, residual)| (f64::from(*size), *residual)).collect();
        dots(link.placement.name(), colour, points)
    });
    Chart::new("Residuals", "→ bytes   ↑ measured − modelled", series.collect(), (SIZES, RESIDUALS))
}

fn injection(of: &Calibration<'_>) -> Option<Chart> {
    let link = of.parameters.links.iter().find(|link| !link.node_rates.is_empty())?;
    let all = of.raw.repeated();
    let measured = || all.iter().filter(|one| one.measurement.part == Part::Injection);
    let mut counts: Vec<usize> = measured().map(|one| one.measurement.pairs.len()).collect();
    counts.dedup();
    let mut series = Vec::new();
    for (colour, pairs) in counts.into_iter().enumerate() {
        let here = measured().filter(|one| one.measurement.pairs.len() == pairs);
        let points: Vec<(f64, f64)> =
            here.filter_map(|one| Some((f64::from(one.measurement.bytes), one.time_s(None)?))).collect();
        series.push(dots(format!("{pairs} pairs"), colour, points));
        for (index, segment) in link.segments.iter().enumerate() {
            let time = |size| limited_s(link, index, pairs, size);
            series.push(line(colour, within(segment).map(|size| (size, time(size))).collect()));
        }
    }
    Some(Chart::new("Time of a message of each pair", "→ bytes   ↑ time", series, (SIZES, TIMES)))
}

/// Equation 2 (max-rate).
fn limited_s(link: &Link, index: usize, pairs: usize, size: f64) -> f64 {
    let segment = &link.segments[index];
    let alone_s = segment.beta_s_per_byte.value * size;
    let together_s = match &link.node_rates[index] {
        NodeRate::Limit(rate) => pairs as f64 * size / rate.value,
        NodeRate::NotMet { .. } | NodeRate::Latency | NodeRate::NotMeasured => 0.0,
    };
    segment.alpha_s.value + alone_s.max(together_s)
}

fn times(of: &Calibration<'_>, order: PostOrder) -> Vec<(f64, f64)> {
    let is_of = |one: &&Repeated| one.measurement.part == Part::Queue && one.measurement.order == order;
    let all = of.raw.repeated();
    let here = all.iter().filter(is_of);
    here.filter_map(|one| Some((f64::from(one.measurement.messages), one.time_s(None)?))).collect()
}

fn queue(of: &Calibration<'_>) -> Option<Chart> {
    let search = of.parameters.search.as_ref()?;
    let equal = times(of, PostOrder::Equal);
    let modelled = equal.iter().map(|(messages, time_s)| {
        (*messages, time_s + search.attempt_s.value * extra_attempts(*messages as u32))
    });
    let series = vec![
        dots("equal", 0, equal.clone()),
        dots("random", 2, times(of, PostOrder::Random)),
        dots("reversed", 1, times(of, PostOrder::Reversed)),
        line(1, modelled.collect()),
    ];
    let title = "Time of all messages, by order of receives";
    Some(Chart::new(title, "→ messages   ↑ time", series, (COUNTS, TIMES)))
}

fn queue_residuals(of: &Calibration<'_>) -> Option<Chart> {
    let search = of.parameters.search.as_ref()?;
    let series = vec![dots("reversed", 1, search.residuals.clone())];
    let axes = "→ entries compared   ↑ measured − modelled";
    Some(Chart::new("Residuals", axes, series, (COUNTS, RESIDUALS)))
}
