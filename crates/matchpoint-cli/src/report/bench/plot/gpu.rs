//! Charts of matches per second on a card: the figures of the GPU paper (Klenk et al. 2017), its published values, and
//! more.

use matchpoint_gpu::Algorithm;
use matchpoint_gpu::figures::{Figure, Job, Measured, PUBLISHED, Subject};
use matchpoint_gpu::measure::{Mix, PostedOrder, Run};

use crate::report::bench::gpu::OnCard;
use crate::report::chart::axis::{Scale, plain};
use crate::report::chart::{Chart, Line, Shape, add, grid};
use crate::report::escape::escape;

const DASHED: usize = 9;

pub fn svg(on_card: &OnCard<'_>) -> String {
    let mut charts = charts(&on_card.measured);
    for (chart, figures) in charts.iter_mut().zip(OF_CHARTS) {
        if !figures.iter().all(|&figure| on_card.is_whole(figure)) {
            chart.title += " (in part)";
        }
    }
    let charts: Vec<Chart> = charts.into_iter().filter(|chart| !chart.lines.is_empty()).collect();
    let nothing = "No measurement has a chart.";
    let svg = grid(&charts, "Million matches per second of a graphics card", nothing);
    let Some(missing) = on_card.missing() else { return svg };
    let missing = escape(missing.split(';').next().unwrap_or_default());
    svg.replace("</svg>", &format!("<text class=\"tick\" x=\"4\" y=\"9\">incomplete: {missing}</text></svg>"))
}

const OF_CHARTS: [&[Figure]; 9] = [
    &[Figure::Matrix],
    &[Figure::Partitioned],
    &[Figure::Hash],
    &[Figure::Matrix, Figure::Hash, Figure::Ordered],
    &[Figure::Ordered],
    &[Figure::Unexpected],
    &[Figure::WholeCard],
    &[Figure::Fed],
    &[Figure::Recorded],
];

/// Lines by name, in the order of the measurements.
fn lines(
    measured: &[(&Job, Measured)],
    place: impl Fn(&Job) -> Option<(String, usize)>,
    rate: impl Fn(&Measured) -> Option<f64>,
) -> Vec<Line> {
    let mut lines: Vec<Line> = Vec::new();
    for (job, measured) in measured {
        let (Some((name, number)), Some(rate)) = (place(job), rate(measured)) else { continue };
        add(&mut lines, name, (number as f64, rate / 1e6));
    }
    lines.iter_mut().enumerate().for_each(|(at, line)| line.style = at % DASHED);
    lines.iter_mut().for_each(|line| line.points.sort_by(|one, other| one.0.total_cmp(&other.0)));
    lines
}

fn beside_published(mut lines: Vec<Line>, figure: Figure) -> Vec<Line> {
    let numbers = || lines.iter().flat_map(|line| line.points.iter().map(|point| point.0));
    let (Some(least), Some(most)) = (numbers().reduce(f64::min), numbers().reduce(f64::max)) else {
        return lines;
    };
    let levels =
        PUBLISHED.iter().filter(|published| published.figure == figure).enumerate().map(|(at, level)| {
            let points = vec![(least, level.rate / 1e6), (most, level.rate / 1e6)];
            Line {
                name: format!("published: {}", level.card),
                points,
                style: DASHED + at % 3,
                shape: Shape::Level,
                ..Line::default()
            }
        });
    let levels: Vec<Line> = levels.collect();
    lines.extend(levels);
    lines
}

fn median(measured: &Measured) -> Option<f64> {
    if let Measured::Rate(rate) = measured { Some(rate.median) } else { None }
}

fn stream(job: &Job) -> Option<Run> {
    if let Subject::Stream(run) = job.what { Some(run) } else { None }
}

fn charts(measured: &[(&Job, Measured)]) -> [Chart; 9] {
    let of = |figure: Figure, name: fn(&Run) -> Option<(String, usize)>| {
        lines(measured, |job| stream(job).filter(|_| job.figure == figure).and_then(|run| name(&run)), median)
    };
    let powers = Scale::Powers(10, plain);
    let by_entries = |title: &str, lines: Vec<Line>, values: Scale| {
        Chart::new(title, "entries of the queue; million matches per second", lines, (Scale::Ratios, values))
    };
    let matrix = of(Figure::Matrix, |run| {
        let order = match run.mix.posted {
            PostedOrder::AtRandom => "at random",
            PostedOrder::InOrder => "in order",
            PostedOrder::Reversed => "reversed",
        };
        Some((format!("receives {order}"), run.mix.entries))
    });
    let partitioned = of(Figure::Partitioned, |run| {
        let plural = if run.mix.queues == 1 { "" } else { "s" };
        Some((format!("{} queue{plural}", run.mix.queues), run.mix.entries))
    });
    let hash =
        of(Figure::Hash, |run| (run.blocks == 1).then(|| (run.algorithm.name().to_owned(), run.mix.entries)));
    let wildcards = of(Figure::Ordered, |run| {
        let percent = 2.0 * run.mix.wildcard_percent;
        (percent > 0.0).then(|| (run.algorithm.name().to_owned(), percent as usize))
    });
    let unexpected = of(Figure::Unexpected, |run| {
        let with = if run.compacts { ", compacted" } else { "" };
        Some((format!("{}{with}", run.algorithm.name()), run.mix.matched_percent as usize))
    });
    [
        by_entries("Figure 4: the matrix", beside_published(matrix, Figure::Matrix), Scale::FromZero),
        by_entries(
            "Figure 5: queues by source, one block",
            beside_published(partitioned, Figure::Partitioned),
            Scale::FromZero,
        ),
        by_entries("Figure 6b: hashing without order", beside_published(hash, Figure::Hash), Scale::FromZero),
        by_entries("Order (Matchpoint) and its relaxations", ordered(measured), powers),
        Chart::new(
            "Queues of 1024 entries with wildcards",
            "% of the receives with wildcards; million matches per second",
            wildcards,
            (Scale::Ratios, powers),
        ),
        Chart::new(
            "§VI-B: 1024 entries, some unmatched",
            "% of the messages have a receive; million matches per second",
            unexpected,
            (Scale::Even, powers),
        ),
        Chart::new(
            "One batch by the whole card, in order (Matchpoint)",
            "entries of the batch; million matches per second",
            lines(measured, whole_card, median),
            (Scale::Ratios, powers),
        ),
        Chart::new(
            "Persistent kernel, and the processor",
            "entries of a batch; million matches per second",
            fed(measured),
            (Scale::Ratios, powers),
        ),
        Chart::new(
            "Batches of applications",
            "new messages or receives of a batch, at most; million matches per second",
            lines(measured, recorded, median),
            (Scale::Ratios, powers),
        ),
    ]
}

fn ordered(measured: &[(&Job, Measured)]) -> Vec<Line> {
    let place = |job: &Job| {
        let run = stream(job)?;
        let plain = Run::of(run.algorithm, Mix::of(run.mix.entries));
        let is_of_its_figure = job.figure != Figure::Unexpected;
        (run == plain && is_of_its_figure && run.algorithm != Algorithm::Partitioned)
            .then(|| (run.algorithm.name().to_owned(), run.mix.entries))
    };
    lines(measured, place, median)
}

fn whole_card(job: &Job) -> Option<(String, usize)> {
    let Subject::WholeCard(mix) = job.what else { return None };
    let name = match mix.envelopes {
        _ if mix.wildcard_percent > 0.0 => format!("{} % wildcards", 2.0 * mix.wildcard_percent),
        envelopes if envelopes == mix.entries => "all different".to_owned(),
        envelopes if mix.entries % envelopes == 0 => format!("each {} times", mix.entries / envelopes),
        envelopes => format!("of {envelopes} envelopes"),
    };
    Some((name, mix.entries))
}

fn recorded(job: &Job) -> Option<(String, usize)> {
    let Subject::Recorded { algorithm, entries, .. } = &job.what else { return None };
    let trace = job.label.split(',').next().unwrap_or_default();
    let trace = trace.rsplit(['/', ':']).next().unwrap_or_default();
    Some((format!("{}, {trace}", algorithm.name()), *entries))
}

fn fed(measured: &[(&Job, Measured)]) -> Vec<Line> {
    let place = |name: &'static str| {
        move |job: &Job| {
            if let Subject::Fed(entries) = job.what { Some((name.to_owned(), entries)) } else { None }
        }
    };
    let of = |name, rate: fn(&matchpoint_gpu::measure::Fed) -> f64| {
        lines(measured, place(name), |one| if let Measured::Fed(fed) = one { Some(rate(fed)) } else { None })
    };
    let all = [
        of("fed by the host", |fed| fed.by_host.median),
        of("fed by the card", |fed| fed.by_card.median),
        of("hybrid, one core", |fed| fed.engine.1.median),
    ];
    let mut all: Vec<Line> = all.into_iter().flatten().collect();
    all.iter_mut().enumerate().for_each(|(style, line)| line.style = style);
    all
}
