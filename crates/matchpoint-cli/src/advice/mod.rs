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
use crate::library_cost;
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
    /// The time that a change can save, where matching is what it saves.
    pub saving: Option<Saving>,
}

/// What a change can save at a rank.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Saving {
    /// Time, at most.
    pub ns: f64,
    /// The same as a share of the run time of the rank.
    pub share: f64,
    /// The limit with which `matchpoint run` saves most of it without a change of the program; `None`: no limit does.
    pub overflow_limit: Option<u64>,
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
    trust::waits_for_processors,
    trust::transfer_grows,
    trust::never_cold,
    trust::implausible_times,
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
    Some(Advice { kind: Kind::Change, title: title.to_owned(), text, numbers, saving: None })
}

fn trust(title: &str, text: String, numbers: Vec<(&'static str, f64)>) -> Option<Advice> {
    Some(Advice { kind: Kind::Trust, title: title.to_owned(), text, numbers, saving: None })
}

/// Adds the most that shorter searches at a rank can save, all that matching costs there under the first engine, and the
/// command that saves most of it without a change.
fn with_saving(advice: Option<Advice>, case: &Case<'_>, rank: u32) -> Option<Advice> {
    let mut advice = advice?;
    let Some(saving) = at_stake(case, rank) else { return Some(advice) };
    advice.text += &format!(
        " In time it can save what matching costs there, {} ({} of its run time).",
        format::duration_ns(saving.ns),
        format::share(saving.share)
    );
    if let Some(limit) = saving.overflow_limit {
        advice.text += &format!(" `matchpoint run --limit {limit}` can save most of it without a change.");
    }
    advice.saving = Some(saving);
    Some(advice)
}

fn at_stake(case: &Case<'_>, rank: u32) -> Option<Saving> {
    let measurements = case.measurements;
    let index = measurements.ranks.iter().position(|of| of.rank == rank)?;
    let ns = cost_ns(measurements.engines.first()?.ranks.get(index)?);
    Some(Saving {
        ns,
        share: ratio(ns, measurements.ranks[index].elapsed_s * 1e9),
        overflow_limit: library_cost::saving_limit(measurements, index),
    })
}
