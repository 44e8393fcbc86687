//! Fit of all parameters of a machine, and warnings about missing parameters.

use matchpoint_model::Locality;
use serde::Serialize;

use super::Range;
use super::differences::{self, Cost, Difference, extra_attempts};
use super::protocols::{self, Point, Segment};
use super::rates::{self, NodeRate, Shared};
use super::robust::{self, FitError, Row};
use crate::plan::{Measurement, Part, PostOrder};
use crate::raw::{Raw, Repeated};
use crate::typical::median;

#[derive(Debug, Clone, PartialEq)]
pub struct Link {
    pub placement: Locality,
    pub points: Vec<Point>,
    /// `None` if not tested, or if all tested messages are eager.
    pub at_once_max_bytes: Option<u32>,
    /// One segment per detected protocol, by size.
    pub segments: Vec<Segment>,
    /// R_N of each segment, between nodes, if several pairs were measured.
    pub node_rates: Vec<NodeRate>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Search {
    /// Seconds per attempt: 2 γ.
    pub attempt_s: Range,
    /// For each pair of exchanges: attempts; measured minus fitted difference of their times, relative to the time
    /// with the attempts.
    pub residuals: Vec<(f64, f64)>,
    /// Concurrent messages, and seconds per attempt.
    pub by_messages: Vec<(u32, Range)>,
    /// Additional cost of random order ÷ additional cost of reverse order: 0.5 for one list searched from its
    /// start.
    pub random_share: Option<f64>,
}

/// Maximum half width of an interval, relative to its value, for a useful estimate.
const USEFUL_HALF_WIDTH: f64 = 0.5;

impl Search {
    /// γ of equation 3.
    pub fn gamma_s(&self) -> Range {
        self.attempt_s.scaled(0.5)
    }

    /// γ for the numbers of messages with a useful estimate, ascending.
    pub fn gamma_by_messages(&self) -> Vec<(u32, Range)> {
        let tells = |range: &Range| {
            range.value > 0.0 && range.high - range.low <= 2.0 * USEFUL_HALF_WIDTH * range.value
        };
        let known = self.by_messages.iter().filter(|(_, attempt_s)| tells(attempt_s));
        known.map(|(messages, attempt_s)| (*messages, attempt_s.scaled(0.5))).collect()
    }
}

/// Parameters of LogP beyond latency, from small messages.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct LogP {
    /// o: duration of a send call.
    pub overhead_s: Range,
    /// g: time between two messages of one process.
    pub gap_s: Range,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct Parameters {
    pub links: Vec<Link>,
    /// Cost of queue searches, γ.
    pub search: Option<Search>,
    /// δ, in seconds per byte.
    pub contention: Option<Cost>,
    /// LogP parameters of the most distant pair.
    pub logp: Option<LogP>,
    /// Missing parameters, and how to measure each, in full sentences.
    pub warnings: Vec<String>,
}

impl Parameters {
    pub fn is_empty(&self) -> bool {
        self.links.is_empty() && self.search.is_none() && self.contention.is_none() && self.logp.is_none()
    }
}

struct Measurements<'a> {
    raw: &'a Raw,
    all: Vec<Repeated>,
}

impl Measurements<'_> {
    fn of_part(&self, part: Part) -> impl Iterator<Item = &Repeated> {
        self.all.iter().filter(move |one| one.measurement.part == part)
    }

    fn over_rounds(&self, whole: Range, tell: impl Fn(usize) -> Option<f64>) -> Range {
        let rounds = 0..self.raw.head.settings.rounds as usize;
        whole.over_rounds(&rounds.filter_map(tell).collect::<Vec<_>>())
    }
}

pub fn fit(raw: &Raw) -> Parameters {
    let mut found = Parameters::default();
    let measured = &Measurements { raw, all: raw.repeated() };
    if !raw.complete {
        let (all, missing) = (raw.measured.len(), raw.missing().len());
        found.warnings.push(format!(
            "The calibration was interrupted: {missing} of {} measurements are missing.",
            all + missing
        ));
    }
    for placement in Locality::ALL {
        match link(measured, placement, &mut found.warnings) {
            Ok(link) => found.links.push(link),
            Err(why) => found.warnings.push(format!("No {} parameters: {why}.", placement.name())),
        }
    }
    found.search = search(measured, &mut found.warnings);
    found.contention = contention(measured, &mut found.warnings);
    found.logp = fit_logp(measured);
    warn_of_unbounded(&mut found);
    found
}

/// The machine's file omits parameters with an unbounded interval.
fn warn_of_unbounded(found: &mut Parameters) {
    let mut all = Vec::new();
    for link in &found.links {
        for segment in &link.segments {
            let where_ = where_(link.placement, segment);
            all.push((format!("the latency ({where_})"), segment.alpha_s));
            all.push((format!("the time per byte ({where_})"), segment.beta_s_per_byte));
        }
    }
    all.extend(found.search.iter().map(|search| ("γ".to_owned(), search.attempt_s)));
    all.extend(found.contention.iter().map(|cost| ("δ".to_owned(), cost.each_s)));
    all.extend(
        found.logp.iter().flat_map(|logp| {
            [("o of LogP".to_owned(), logp.overhead_s), ("g of LogP".to_owned(), logp.gap_s)]
        }),
    );
    let unbounded = all.into_iter().filter(|(_, range)| !range.is_bounded());
    found.warnings.extend(unbounded.map(|(what, _)| {
        format!(
            "Unknown uncertainty of {what}: the file omits it. Measure more, or in more rounds (--rounds)."
        )
    }));
}

fn points(measured: &Measurements<'_>, placement: Locality, round: Option<usize>) -> Vec<Point> {
    let here = measured.of_part(Part::Sizes).filter(|one| one.measurement.placement == Some(placement));
    let point = |one: &Repeated| Some(Point { bytes: one.measurement.bytes, time_s: one.time_s(round)? });
    let mut points: Vec<Point> = here.filter_map(point).collect();
    points.sort_by_key(|point| point.bytes);
    points
}

/// Times of several pairs; the time to start the pairs together is subtracted.
fn shared(measured: &Measurements<'_>, round: Option<usize>) -> Vec<Shared> {
    let one = |one: &Repeated| {
        let Measurement { pairs, bytes, .. } = &one.measurement;
        Some(Shared { pairs: pairs.len() as u32, bytes: *bytes, time_s: one.time_s(round)? })
    };
    let all: Vec<Shared> = measured.of_part(Part::Injection).filter_map(one).collect();
    rates::without_start(&points(measured, Locality::OffNode, round), &all)
}

fn link(
    measured: &Measurements<'_>,
    placement: Locality,
    warnings: &mut Vec<String>,
) -> Result<Link, String> {
    let raw = measured.raw;
    let points = points(measured, placement, None);
    if points.is_empty() {
        return Err(raw.head.ranks.pair(placement).map_or_else(|absent| absent.why, |_| interrupted()));
    }
    let tried = raw.sent_at_once.iter().find(|tried| tried.placement == placement);
    let tried = tried.map(|tried| tried.at_once_max_bytes);
    let mut segments = protocols::fit(&points, tried).map_err(|unfit| why_no_line(unfit).to_owned())?;
    warn_of_names(placement, tried, &segments, &points, warnings);
    let alone: Vec<Vec<Option<Segment>>> =
        segments.iter().map(|segment| by_round(measured, placement, segment)).collect();
    for (segment, alone) in segments.iter_mut().zip(&alone) {
        let of = |tell: fn(&Segment) -> f64| move |round: usize| alone[round].as_ref().map(tell);
        segment.alpha_s = measured.over_rounds(segment.alpha_s, of(|alone| alone.alpha_s.value));
        segment.beta_s_per_byte =
            measured.over_rounds(segment.beta_s_per_byte, of(|alone| alone.beta_s_per_byte.value));
    }
    warn_of_segments(placement, &segments, warnings);
    let all_shared = shared(measured, None);
    let node_rates = match placement {
        Locality::OffNode if !all_shared.is_empty() => {
            let of = |(segment, alone): (&Segment, &Vec<Option<Segment>>)| {
                node_rate(measured, segment, alone, &all_shared)
            };
            segments.iter().zip(&alone).map(of).collect()
        }
        _ => Vec::new(),
    };
    if placement == Locality::OffNode {
        warn_of_rates(&segments, &node_rates, all_shared.is_empty(), warnings);
    }
    // If all tested sizes are eager, the limit is unknown.
    let at_once_max_bytes = tried.filter(|&bytes| bytes < raw.head.settings.bytes_max);
    Ok(Link { placement, points, at_once_max_bytes, segments, node_rates })
}

fn by_round(measured: &Measurements<'_>, placement: Locality, of: &Segment) -> Vec<Option<Segment>> {
    let line = |round: usize| {
        let mut points = points(measured, placement, Some(round));
        points.retain(|point| (of.bytes.0..=of.bytes.1).contains(&point.bytes));
        protocols::line(&points).ok()
    };
    (0..measured.raw.head.settings.rounds as usize).map(line).collect()
}

fn node_rate(
    measured: &Measurements<'_>,
    segment: &Segment,
    alone: &[Option<Segment>],
    all: &[Shared],
) -> NodeRate {
    let time_per_byte =
        |round: usize| match rates::fit(alone[round].as_ref()?, &shared(measured, Some(round))) {
            NodeRate::Limit(rate) => Some(1.0 / rate.value),
            NodeRate::NotMet { .. } | NodeRate::Latency | NodeRate::NotMeasured => None,
        };
    match rates::fit(segment, all) {
        // If the interval of the time per byte contains 0, the rate has no upper end, and its low end is not
        // 0.
        NodeRate::Limit(whole) => {
            NodeRate::Limit(measured.over_rounds(whole.inverse(), time_per_byte).inverse())
        }
        other => other,
    }
}

fn interrupted() -> String {
    "they were not measured before the calibration was interrupted".to_owned()
}

fn why_no_line(unfit: FitError) -> &'static str {
    match unfit {
        FitError::TooFew | FitError::Singular => {
            "one size does not separate latency and rate: measure more, with a larger --max-bytes"
        }
        FitError::NoNumber => "a time is not positive",
    }
}

fn warn_of_names(
    placement: Locality,
    tried: Option<u32>,
    segments: &[Segment],
    points: &[Point],
    warnings: &mut Vec<String>,
) {
    let name = placement.name();
    let (fitted, last) = (segments.last().map(|last| last.bytes.1), points.last().map(|last| last.bytes));
    match tried {
        None => warnings.push(format!(
            "Rendezvous of {name} messages was not tested: protocols are named by their order."
        )),
        Some(at_once) if fitted < last => warnings.push(format!(
            "No {name} rendezvous parameters: only one size above {at_once} bytes was measured. Measure more, with a \
             larger --max-bytes."
        )),
        Some(_) => {}
    }
}

const SCATTER: f64 = 0.25;

fn warn_of_segments(placement: Locality, segments: &[Segment], warnings: &mut Vec<String>) {
    for segment in segments {
        let where_ = where_(placement, segment);
        if segment.residuals.len() == 2 {
            warnings.push(format!("Two sizes always fit a line, so the fit is untested ({where_})."));
        }
        if segment.scale > SCATTER {
            warnings.push(format!(
                "Times scatter by {:.0} % ({where_}): host load, or times that are not linear.",
                segment.scale * 100.0
            ));
        }
        let nothing = [
            (segment.alpha_s.may_be_zero(), "latency"),
            (segment.beta_s_per_byte.may_be_zero(), "time per byte"),
        ];
        for (_, what) in nothing.iter().filter(|(is_nothing, _)| *is_nothing) {
            warnings.push(format!("The {what} is not distinguishable from 0 ({where_})."));
        }
    }
}

fn where_(placement: Locality, segment: &Segment) -> String {
    format!("{}, {} to {} bytes", placement.name(), segment.bytes.0, segment.bytes.1)
}

fn warn_of_rates(segments: &[Segment], rates: &[NodeRate], is_untried: bool, warnings: &mut Vec<String>) {
    if is_untried {
        warnings.push(
            "No R_N, the rate of a node: only one pair of ranks between two nodes. Start two or more ranks on each."
                .to_owned(),
        );
        return;
    }
    for (segment, rate) in segments.iter().zip(rates) {
        let (from, to) = segment.bytes;
        match rate {
            NodeRate::NotMet { pairs } => warnings.push(format!(
                "R_N was not reached by {pairs} pairs at once ({from} to {to} bytes): it is infinite until more \
                 pairs are measured."
            )),
            NodeRate::Latency => warnings.push(format!(
                "R_N, the rate of a node, has no effect on messages of {from} to {to} bytes: latency determines their time."
            )),
            NodeRate::NotMeasured => warnings.push(format!(
                "No R_N of messages of {from} to {to} bytes: several pairs were not measured with messages whose \
                 transfer exceeds their latency."
            )),
            NodeRate::Limit(_) => {}
        }
    }
}

/// Cost of an order beyond the cost of equal order, by number of messages.
fn beyond_equal(
    measured: &Measurements<'_>,
    order: PostOrder,
    round: Option<usize>,
) -> Vec<(u32, Difference)> {
    let times = |order: PostOrder| {
        let here = measured.of_part(Part::Queue).filter(move |one| one.measurement.order == order);
        here.filter_map(move |one| Some((one.measurement.messages, one.time_s(round)?)))
    };
    let equal: Vec<(u32, f64)> = times(PostOrder::Equal).collect();
    let found = times(order).filter_map(|(messages, with_s)| {
        let (_, without_s) = equal.iter().find(|(of, _)| *of == messages)?;
        let difference = Difference { with_s, without_s: *without_s, amount: extra_attempts(messages) };
        (messages > 1).then_some((messages, difference))
    });
    found.collect()
}

fn each_s(difference: &Difference) -> f64 {
    (difference.with_s - difference.without_s) / difference.amount
}

fn search(measured: &Measurements<'_>, warnings: &mut Vec<String>) -> Option<Search> {
    let reversed = beyond_equal(measured, PostOrder::Reversed, None);
    let telling = dominated_by_search(&reversed);
    let differences: Vec<Difference> = telling.iter().map(|(_, difference)| *difference).collect();
    let cost = match differences::fit(&differences) {
        Ok(cost) if reversed.len() > 1 => cost,
        _ => {
            warnings.push(
                "No γ, the cost of queue search: it needs two numbers of messages above one (--max-messages).".to_owned(),
            );
            return None;
        }
    };
    let in_round = |round: usize| {
        let is_telling = |of: &(u32, Difference)| telling.iter().any(|(messages, _)| *messages == of.0);
        let all = beyond_equal(measured, PostOrder::Reversed, Some(round));
        let same: Vec<Difference> = all.into_iter().filter(is_telling).map(|(_, of)| of).collect();
        differences::fit(&same).ok().map(|cost| cost.each_s.value)
    };
    let attempt_s = measured.over_rounds(cost.each_s, in_round);
    if attempt_s.may_be_zero() {
        warnings.push(why_nothing(&reversed));
    }
    Some(Search {
        attempt_s,
        residuals: cost.residuals,
        by_messages: by_messages(measured, &reversed),
        random_share: random_share(measured, &reversed),
    })
}

/// In one round, the machine has the same speed for both orders.
fn by_messages(measured: &Measurements<'_>, reversed: &[(u32, Difference)]) -> Vec<(u32, Range)> {
    let rounds = 0..measured.raw.head.settings.rounds as usize;
    let by_round: Vec<Vec<(u32, Difference)>> =
        rounds.map(|round| beyond_equal(measured, PostOrder::Reversed, Some(round))).collect();
    let of = |&(messages, whole): &(u32, Difference)| {
        let alone = by_round.iter().filter_map(|round| round.iter().find(|(of, _)| *of == messages));
        let alone: Vec<f64> = alone.map(|(_, difference)| each_s(difference)).collect();
        let value = if alone.is_empty() { each_s(&whole) } else { median(&alone) }.max(0.0);
        let nothing_known = Range { value, low: 0.0, high: f64::INFINITY };
        let point = Range { value, low: value, high: value };
        (messages, if alone.len() < 2 { nothing_known } else { point.over_rounds(&alone) })
    };
    reversed.iter().map(of).collect()
}

/// The queues are hashed, or the measurements contradict each other.
fn why_nothing(reversed: &[(u32, Difference)]) -> String {
    let (messages, most) = reversed.last().map_or((0, 1.0), |(count, of)| (*count, of.with_s / of.without_s));
    if most < COST_RATIO_MIN {
        return "γ is not distinguishable from 0: messages in reversed order cost no more than in equal order, as \
                with hashed queues."
            .to_owned();
    }
    format!(
        "γ is not distinguishable from 0, although {messages} messages took {most:.1} × as long in reversed order as \
         in equal order: other numbers of messages disagree. Measure longer (--seconds), or on an idle host."
    )
}

/// Smaller ratios of costs may be due to chance.
const COST_RATIO_MIN: f64 = 1.5;

/// A sender may prepare the next message while the receiver searches, which hides the time of equal order in
/// the time of reverse order. From this ratio on, little is hidden.
const SEARCH_RATIO_MIN: f64 = 4.0;

fn dominated_by_search(all: &[(u32, Difference)]) -> Vec<(u32, Difference)> {
    let is_search = |(_, one): &&(u32, Difference)| one.with_s >= SEARCH_RATIO_MIN * one.without_s;
    let some: Vec<(u32, Difference)> = all.iter().filter(is_search).copied().collect();
    if some.len() < 2 { all.to_vec() } else { some }
}

/// Ratio of random to reverse order, for the largest number of messages, where search dominates.
fn random_share(measured: &Measurements<'_>, reversed: &[(u32, Difference)]) -> Option<f64> {
    let random = beyond_equal(measured, PostOrder::Random, None);
    let (messages, most) = reversed.iter().max_by_key(|(messages, _)| *messages)?;
    let (_, same) = random.iter().find(|(of, _)| of == messages)?;
    let reversed_s = most.with_s - most.without_s;
    (reversed_s > 0.0).then(|| (same.with_s - same.without_s) / reversed_s)
}

fn contention(measured: &Measurements<'_>, warnings: &mut Vec<String>) -> Option<Cost> {
    let differences = line_differences(measured, None);
    if differences.is_empty() {
        let nodes = measured.raw.head.ranks.nodes().len();
        warnings.push(format!(
            "No δ, the cost of shared links: it needs four nodes in a line (figure 6 of the paper), but there {} \
             {nodes}.",
            if nodes == 1 { "is" } else { "are" }
        ));
        return None;
    }
    let mut cost = differences::fit_beyond_constant(&differences).ok()?;
    let in_round = |round: usize| {
        let alone = differences::fit_beyond_constant(&line_differences(measured, Some(round)));
        alone.ok().map(|cost| cost.each_s.value)
    };
    cost.each_s = measured.over_rounds(cost.each_s, in_round);
    if cost.each_s.may_be_zero() {
        warnings.push(
            "δ is not distinguishable from 0: these four nodes share no link, or the link is no bottleneck. Use four \
             nodes in a line."
                .to_owned(),
        );
    }
    Some(cost)
}

fn line_differences(measured: &Measurements<'_>, round: Option<usize>) -> Vec<Difference> {
    let alone: Vec<&Repeated> = measured.of_part(Part::LineAlone).collect();
    let difference = |shared: &Repeated| {
        let of = &shared.measurement;
        let same =
            |one: &&&Repeated| (one.measurement.messages, one.measurement.bytes) == (of.messages, of.bytes);
        let without_s = alone.iter().find(same)?.time_s(round)?;
        // All pairs use the link between the second and the third node.
        let amount = of.pairs.len() as f64 * f64::from(of.messages) * f64::from(of.bytes);
        Some(Difference { with_s: shared.time_s(round)?, without_s, amount })
    };
    measured.of_part(Part::LineShared).filter_map(difference).collect()
}

fn fit_logp(measured: &Measurements<'_>) -> Option<LogP> {
    let of = |part: Part| {
        let whole = each_more(measured, part, None)?;
        let in_round = |round| each_more(measured, part, Some(round)).map(|alone| alone.value);
        Some(measured.over_rounds(whole, in_round))
    };
    Some(LogP { overhead_s: of(Part::Overhead)?, gap_s: of(Part::Gap)? })
}

fn each_more(measured: &Measurements<'_>, part: Part, round: Option<usize>) -> Option<Range> {
    let row =
        |one: &Repeated| Some(Row::new(vec![1.0, f64::from(one.measurement.messages)], one.time_s(round)?));
    let rows: Vec<Row> = measured.of_part(part).filter_map(row).collect();
    let fit = robust::fit(&rows).ok()?;
    let (value, margin) = (fit.parameters[1], fit.margins[1]);
    Some(Range::around(value.max(0.0), value, margin))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_times_indicate_hashing() {
        let with = |with_s| {
            [
                (10, Difference { with_s: 1.0, without_s: 1.0, amount: 45.0 }),
                (5000, Difference { with_s, without_s: 1.0, amount: 1e7 }),
            ]
        };
        assert!(why_nothing(&with(1.1)).contains("hashed"));
        let told = why_nothing(&with(10.0));
        assert!(told.contains("5000 messages took 10.0 × as long") && !told.contains("hashed"), "{told}");
    }
}
