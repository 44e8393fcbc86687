//! What to change, and what to be careful about: findings in plain words, each with the numbers it rests on.
//!
//! A finding is one function in one of the files here and one line of [`CHECKS`]; it speaks only when the numbers
//! support it.

mod engine;
mod queues;
mod receives;
mod tags;
mod trust;

use matchpoint_replay::Measurements;

use crate::derived::{cost_ns, ratio};
use crate::format;
use crate::verdict::Verdict;

/// One finding.
#[derive(Clone, PartialEq, Debug)]
pub struct Advice {
    /// What it is about.
    pub kind: Kind,
    /// A few words.
    pub title: String,
    /// Full sentences.
    pub text: String,
    /// The numbers it rests on, by name; units are in the names.
    pub numbers: Vec<(&'static str, f64)>,
}

/// What a finding is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Something the user can change, or need not.
    Change,
    /// Something that limits how far the results can be trusted.
    Trust,
}

/// What a check sees.
pub struct Case<'a> {
    measurements: &'a Measurements,
    verdict: &'a Verdict,
}

type Check = fn(&Case<'_>) -> Option<Advice>;

/// Every check, in the order in which findings are told.
const CHECKS: &[Check] = &[
    engine::none_needed,
    engine::other_engine,
    receives::post_earlier,
    receives::matched_probe,
    queues::gather,
    queues::long_posted,
    queues::long_unexpected,
    receives::assert_no_wildcards,
    receives::wildcards_decide,
    tags::hot_tuple,
    tags::many_tags,
    tags::wide_header,
    trust::disagreement,
    trust::busy,
    trust::never_cold,
    trust::odd_times,
    trust::full,
    trust::sampled,
    trust::too_large,
    trust::timed_counting,
    trust::missing_ranks,
    trust::calls_left_out,
    trust::calls_cut_off,
    trust::ended_early,
    trust::released,
    trust::unexplained,
    trust::made_up,
    trust::unmatched,
    trust::wildcards_differ,
    trust::mostly_setup,
    trust::sensitive,
];

/// All findings.
pub fn advice(measurements: &Measurements, verdict: &Verdict) -> Vec<Advice> {
    let case = Case { measurements, verdict };
    CHECKS.iter().filter_map(|check| check(&case)).collect()
}

fn change(title: &str, text: String, numbers: Vec<(&'static str, f64)>) -> Option<Advice> {
    Some(Advice { kind: Kind::Change, title: title.to_owned(), text, numbers })
}

fn trust(title: &str, text: String, numbers: Vec<(&'static str, f64)>) -> Option<Advice> {
    Some(Advice { kind: Kind::Trust, title: title.to_owned(), text, numbers })
}

/// The most that shorter searches at a rank can save: all that matching costs there under the first engine.
fn at_stake(case: &Case<'_>, rank: u32) -> String {
    let measurements = case.measurements;
    let index = measurements.ranks.iter().position(|of| of.rank == rank);
    let cost = index.and_then(|index| Some((measurements.engines.first()?.ranks.get(index)?, index)));
    let Some((at, index)) = cost else { return String::new() };
    format!(
        "In time it can save what matching costs there, {} ({} of its run time).",
        format::duration_ns(cost_ns(at)),
        format::share(ratio(cost_ns(at), measurements.ranks[index].elapsed_s * 1e9))
    )
}
