//! Advice and limitations of a report, each with its numbers.
//!
//! A check is one function in a file of this folder, and one line of [`CHECKS`].

mod engine;
mod limitations;
mod overflow;
mod queues;
mod receives;
mod tags;

use matchpoint_replay::Measurements;

use crate::derived::{cost_ns, ratio};
use crate::format;
use crate::library_cost;
use crate::verdict::{Answer, NEGLIGIBLE, Verdict};

/// Advice, or a limitation.
#[derive(Clone, PartialEq, Debug)]
pub struct Advice {
    /// Advice or limitation.
    pub kind: Kind,
    /// A few words.
    pub title: String,
    /// Full sentences.
    pub text: String,
    /// Numbers by name; the names contain the units.
    pub numbers: Vec<(&'static str, f64)>,
    /// Matching time that the change can save.
    pub saving: Option<Saving>,
    /// The command at the end of `text`.
    pub command: Option<String>,
}

/// Saving of a change at a rank.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Saving {
    /// Time in nanoseconds, at most.
    pub ns: f64,
    /// That time ÷ the run time of the rank.
    pub share: f64,
    /// The limit with which `matchpoint run` saves most of that time; `None`: no limit.
    pub overflow_limit: Option<u64>,
}

/// Kind of a finding.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A change, or that none is needed.
    Change,
    /// A limitation of the results.
    Limitation,
}

/// Input of a check.
pub struct Case<'a> {
    measurements: &'a Measurements,
    verdict: &'a Verdict,
}

impl Case<'_> {
    /// Whether matching costs less than a change can visibly save.
    fn is_negligible(&self) -> bool {
        self.verdict.answer == Answer::No || self.verdict.high < NEGLIGIBLE
    }
}

type Check = fn(&Case<'_>) -> Option<Advice>;

/// Every check, in the order of the report.
const CHECKS: &[Check] = &[
    limitations::copy_again,
    engine::none_needed,
    engine::other_engine,
    overflow::run,
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
    limitations::disagreement,
    limitations::busy,
    limitations::waits_for_processors,
    limitations::transfer_grows,
    limitations::typical_cost,
    limitations::never_cold,
    limitations::implausible_times,
    limitations::full,
    limitations::sampled,
    limitations::too_large,
    limitations::timed_counting,
    limitations::missing_ranks,
    limitations::calls_left_out,
    limitations::calls_cut_off,
    limitations::ended_early,
    limitations::released,
    limitations::unexplained,
    limitations::made_up,
    limitations::unmatched,
    limitations::wildcards_differ,
    limitations::mostly_setup,
    limitations::sensitive,
];

/// All findings.
pub fn advice(measurements: &Measurements, verdict: &Verdict) -> Vec<Advice> {
    let case = Case { measurements, verdict };
    CHECKS.iter().filter_map(|check| check(&case)).collect()
}

fn change(title: &str, text: String, numbers: Vec<(&'static str, f64)>) -> Option<Advice> {
    Some(Advice { kind: Kind::Change, title: title.to_owned(), text, numbers, saving: None, command: None })
}

fn limitation(title: &str, text: String, numbers: Vec<(&'static str, f64)>) -> Option<Advice> {
    Some(Advice {
        kind: Kind::Limitation,
        title: title.to_owned(),
        text,
        numbers,
        saving: None,
        command: None,
    })
}

/// Adds the saving of shorter searches at a rank: at most the matching cost with the first engine.
fn with_saving(advice: Option<Advice>, case: &Case<'_>, rank: u32) -> Option<Advice> {
    let mut advice = advice?;
    let Some(saving) = at_stake(case, rank) else { return Some(advice) };
    advice.text += &format!(
        " This saves at most the matching cost there, {} ({} of its run time).",
        format::duration_ns(saving.ns),
        format::share(saving.share)
    );
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
