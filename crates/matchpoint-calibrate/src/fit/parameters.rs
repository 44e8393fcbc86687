//! All parameters of a machine, and what the measurements do not tell.

use super::Range;
use super::differences::{self, Cost, Difference, extra_attempts};
use super::protocols::{self, Point, Segment};
use super::rates::{self, NodeRate, Shared};
use super::robust::Unfit;
use crate::plan::{Measurement, Order, Part};
use crate::raw::{Measured, Raw};
use crate::topology::Placement;

/// How messages get from one process to another.
#[derive(Debug, Clone, PartialEq)]
pub struct Link {
    /// Between which processes.
    pub placement: Placement,
    /// What was measured.
    pub points: Vec<Point>,
    /// One for each protocol that was told apart, by size.
    pub segments: Vec<Segment>,
    /// R_N of each of them; of messages between nodes only, and if several pairs were tried.
    pub node_rates: Vec<NodeRate>,
}

/// What searching queues costs.
#[derive(Debug, Clone, PartialEq)]
pub struct Search {
    /// Seconds for each entry that is compared: 2 γ.
    pub attempt_s: Range,
    /// By entries compared: what is left of each difference, relative to the time of the exchange.
    pub residuals: Vec<(f64, f64)>,
    /// Messages at once, and seconds for an entry as that number alone tells it.
    pub by_messages: Vec<(u32, f64)>,
    /// What random order costs beyond equal order, as a share of what reversed order does: a half, where one list is
    /// searched from its beginning.
    pub random_share: Option<f64>,
}

impl Search {
    /// γ of equation 3.
    pub fn gamma_s(&self) -> Range {
        self.attempt_s.scaled(0.5)
    }
}

/// All that was fitted.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Parameters {
    /// The closest placement first.
    pub links: Vec<Link>,
    /// γ.
    pub search: Option<Search>,
    /// δ, in seconds per byte.
    pub contention: Option<Cost>,
    /// What the measurements do not tell, and what would: full sentences.
    pub warnings: Vec<String>,
}

/// Fits whatever was measured.
pub fn fit(raw: &Raw) -> Parameters {
    let mut found = Parameters::default();
    if !raw.complete {
        let (all, missing) = (raw.measured.len(), raw.missing().len());
        found.warnings.push(format!(
            "The calibration was interrupted: {missing} of {} measurements are missing.",
            all + missing
        ));
    }
    for placement in Placement::ALL {
        match link(raw, placement, &mut found.warnings) {
            Ok(link) => found.links.push(link),
            Err(why) => found.warnings.push(format!("No {} parameters: {why}.", placement.name())),
        }
    }
    found.search = search(raw, &mut found.warnings);
    found.contention = contention(raw, &mut found.warnings);
    found
}

fn of_part(raw: &Raw, part: Part) -> impl Iterator<Item = &Measured> {
    raw.measured.iter().filter(move |measured| measured.measurement.part == part)
}

fn link(raw: &Raw, placement: Placement, warnings: &mut Vec<String>) -> Result<Link, String> {
    let is_here = |measured: &&Measured| measured.measurement.placement == Some(placement);
    let mut points: Vec<Point> = of_part(raw, Part::Sizes)
        .filter(is_here)
        .map(|measured| Point { bytes: measured.measurement.bytes, time_s: measured.typical_s() })
        .collect();
    if points.is_empty() {
        return Err(raw.head.ranks.pair(placement).map_or_else(|absent| absent.why, |_| interrupted()));
    }
    points.sort_by_key(|point| point.bytes);
    let segments = protocols::fit(&points).map_err(|unfit| why_no_line(unfit).to_owned())?;
    warn_of_segments(placement, &segments, warnings);
    let shared: Vec<Shared> = of_part(raw, Part::Injection).map(shared).collect();
    let node_rates = match placement {
        Placement::OffNode if !shared.is_empty() => {
            segments.iter().map(|segment| rates::fit(segment, &shared)).collect()
        }
        _ => Vec::new(),
    };
    if placement == Placement::OffNode {
        warn_of_rates(&segments, &node_rates, shared.is_empty(), warnings);
    }
    Ok(Link { placement, points, segments, node_rates })
}

fn interrupted() -> String {
    "they were not measured before the calibration was interrupted".to_owned()
}

fn why_no_line(unfit: Unfit) -> &'static str {
    match unfit {
        Unfit::TooFew | Unfit::Singular => {
            "one size alone does not tell latency and rate apart; measure more, with a larger --max-bytes"
        }
        Unfit::NoNumber => "a time is not above 0",
    }
}

fn shared(measured: &Measured) -> Shared {
    let Measurement { pairs, bytes, .. } = &measured.measurement;
    Shared { pairs: pairs.len() as u32, bytes: *bytes, time_s: measured.typical_s() }
}

/// Of a protocol whose line misses times by more than this the reader should know.
const SCATTER: f64 = 0.25;

fn warn_of_segments(placement: Placement, segments: &[Segment], warnings: &mut Vec<String>) {
    for segment in segments {
        let where_ = format!("{}, {} to {} bytes", placement.name(), segment.bytes.0, segment.bytes.1);
        if segment.scale > SCATTER {
            warnings.push(format!(
                "Times scatter by {:.0} % ({where_}): the host was busy, or a line does not describe them.",
                segment.scale * 100.0
            ));
        }
        let nothing = [
            (segment.alpha_s.may_be_nothing(), "latency"),
            (segment.beta_s_per_byte.may_be_nothing(), "time per byte"),
        ];
        for (_, what) in nothing.iter().filter(|(is_nothing, _)| *is_nothing) {
            warnings.push(format!("The {what} cannot be told from 0 ({where_})."));
        }
    }
}

fn warn_of_rates(segments: &[Segment], rates: &[NodeRate], is_untried: bool, warnings: &mut Vec<String>) {
    if is_untried {
        warnings.push(
            "No R_N, the rate of a node: one pair of ranks between two nodes; start two or more on each."
                .to_owned(),
        );
        return;
    }
    for (segment, rate) in segments.iter().zip(rates) {
        let (from, to) = segment.bytes;
        match rate {
            NodeRate::NotMet { pairs } => warnings.push(format!(
                "R_N was not met by {pairs} pairs at once ({from} to {to} bytes): it is infinite until more are tried."
            )),
            NodeRate::NotToBeSeen => warnings.push(format!(
                "R_N does not show in messages of {from} to {to} bytes: what they take is latency."
            )),
            NodeRate::Limit(_) => {}
        }
    }
}

/// The time of each number of messages with this order.
fn times(raw: &Raw, order: Order) -> Vec<(u32, f64)> {
    let of_order = of_part(raw, Part::Queue).filter(|measured| measured.measurement.order == order);
    of_order.map(|measured| (measured.measurement.messages, measured.typical_s())).collect()
}

/// What another order costs beyond equal order.
fn beyond_equal(raw: &Raw, order: Order) -> Vec<(u32, Difference)> {
    let equal = times(raw, Order::Equal);
    let found = times(raw, order).into_iter().filter_map(|(messages, with_s)| {
        let (_, without_s) = equal.iter().find(|(of, _)| *of == messages)?;
        let difference = Difference { with_s, without_s: *without_s, amount: extra_attempts(messages) };
        (messages > 1).then_some((messages, difference))
    });
    found.collect()
}

fn search(raw: &Raw, warnings: &mut Vec<String>) -> Option<Search> {
    let reversed = beyond_equal(raw, Order::Reversed);
    let differences: Vec<Difference> = reversed.iter().map(|(_, difference)| *difference).collect();
    let cost = match differences::fit(&mostly_search(&differences)) {
        Ok(cost) if differences.len() > 1 => cost,
        _ => {
            warnings.push(
                "No γ, the cost of queue search: it takes two numbers of messages above one (--max-messages).".to_owned(),
            );
            return None;
        }
    };
    if cost.each_s.may_be_nothing() {
        warnings.push(why_nothing(&reversed));
    }
    let each = |difference: &Difference| (difference.with_s - difference.without_s) / difference.amount;
    let by_messages: Vec<(u32, f64)> =
        reversed.iter().map(|(messages, difference)| (*messages, each(difference))).collect();
    let random_share = random_share(raw, &reversed);
    warn_of_growth(&by_messages, &cost.each_s, warnings);
    Some(Search { attempt_s: cost.each_s, residuals: cost.residuals, by_messages, random_share })
}

/// Why γ may be 0: nothing is searched, or the measurements contradict each other.
fn why_nothing(reversed: &[(u32, Difference)]) -> String {
    let (messages, most) = reversed.last().map_or((0, 1.0), |(count, of)| (*count, of.with_s / of.without_s));
    if most < MORE {
        return "γ cannot be told from 0: messages in reversed order cost no more than in equal order, as where queues are \
                hashed."
            .to_owned();
    }
    format!(
        "γ cannot be told from 0, though {messages} messages took {most:.1} times as long in reversed order as in equal order: \
         other numbers of messages tell otherwise. Measure longer (--seconds), or on a host that is less busy."
    )
}

/// Beyond chance.
const MORE: f64 = 1.5;

/// While a receiver searches, the sender may send what is next: what equal order takes may be hidden in what reversed order
/// takes. Where that is this many times as much, little is.
const SEARCHES: f64 = 4.0;

/// Those whose time is mostly search; all, if there are not two of them.
fn mostly_search(all: &[Difference]) -> Vec<Difference> {
    let is_search = |one: &&Difference| one.with_s >= SEARCHES * one.without_s;
    let some: Vec<Difference> = all.iter().filter(is_search).copied().collect();
    if some.len() < 2 { all.to_vec() } else { some }
}

/// Of the largest number of messages: with it, the search is most of the time.
fn random_share(raw: &Raw, reversed: &[(u32, Difference)]) -> Option<f64> {
    let random = beyond_equal(raw, Order::Random);
    let (messages, most) = reversed.iter().max_by_key(|(messages, _)| *messages)?;
    let (_, same) = random.iter().find(|(of, _)| of == messages)?;
    let reversed_s = most.with_s - most.without_s;
    (reversed_s > 0.0).then(|| (same.with_s - same.without_s) / reversed_s)
}

/// With fewer messages, what an entry costs is lost in what messages cost.
const GROWS: u32 = 500;

/// An entry costs more where the queue no longer lies in a cache.
fn warn_of_growth(by_messages: &[(u32, f64)], attempt_s: &Range, warnings: &mut Vec<String>) {
    let long: Vec<&(u32, f64)> = by_messages.iter().filter(|(messages, _)| *messages >= GROWS).collect();
    let (Some((least, first)), Some((most, last))) = (long.first(), long.last()) else { return };
    if attempt_s.may_be_nothing() || *first <= 0.0 || (last / first).max(first / last) < 2.0 {
        return;
    }
    warnings.push(format!(
        "Comparing an entry takes {:.2} ns with {least} messages at once and {:.2} ns with {most}: γ stands between.",
        first * 1e9,
        last * 1e9
    ));
}

fn contention(raw: &Raw, warnings: &mut Vec<String>) -> Option<Cost> {
    let alone: Vec<&Measured> = of_part(raw, Part::LineAlone).collect();
    let difference = |shared: &Measured| {
        let of = &shared.measurement;
        let same =
            |one: &&&Measured| (one.measurement.messages, one.measurement.bytes) == (of.messages, of.bytes);
        let without_s = alone.iter().find(same)?.typical_s();
        // All of them pass the link between the second node and the third.
        let amount = of.pairs.len() as f64 * f64::from(of.messages) * f64::from(of.bytes);
        Some(Difference { with_s: shared.typical_s(), without_s, amount })
    };
    let differences: Vec<Difference> = of_part(raw, Part::LineShared).filter_map(difference).collect();
    if differences.is_empty() {
        let nodes = raw.head.ranks.nodes().len();
        warnings.push(format!(
            "No δ, the cost of shared links: it takes four nodes in a line (figure 6 of the paper), and there {} {nodes}.",
            if nodes == 1 { "is" } else { "are" }
        ));
        return None;
    }
    let cost = differences::fit(&differences).ok()?;
    if cost.each_s.may_be_nothing() {
        warnings.push(
            "δ cannot be told from 0: these four nodes share no link, or it is no bottleneck; name four that lie in a line."
                .to_owned(),
        );
    }
    Some(cost)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashing_is_told_only_where_order_does_not_matter() {
        let with = |with_s| {
            [
                (10, Difference { with_s: 1.0, without_s: 1.0, amount: 45.0 }),
                (5000, Difference { with_s, without_s: 1.0, amount: 1e7 }),
            ]
        };
        assert!(why_nothing(&with(1.1)).contains("hashed"));
        let told = why_nothing(&with(10.0));
        assert!(told.contains("5000 messages took 10.0 times as long") && !told.contains("hashed"), "{told}");
    }
}
