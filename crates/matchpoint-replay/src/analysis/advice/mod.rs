//! Advice and limitations of a report. A check is one function in a file of this folder, and one line of [`CHECKS`].

mod engine;
mod limitations;
mod queues;
mod receives;
mod tags;

use crate::analysis::derived::{index_of, likely_cost_ns, ratio};
use crate::analysis::library_cost;
use crate::analysis::verdict::{Answer, NEGLIGIBLE, Verdict};
use crate::measurements::RankMeasurements;
use crate::{Measurements, format};

#[derive(Clone, PartialEq, Debug)]
pub struct Advice {
    pub kind: Kind,
    pub title: String,
    pub text: String,
    pub numbers: Vec<(&'static str, f64)>,
    pub saving: Option<Saving>,
    pub command: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Saving {
    /// The saved time is at most this, in nanoseconds.
    pub ns: f64,
    /// Saved time ÷ run time of the rank.
    pub share: f64,
    /// The limit with which `matchpoint run` saves most of this time. `None`: no limit saves time.
    pub overflow_limit: Option<u64>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A recommended change, or the statement that no change is needed.
    Change,
    Limitation,
}

pub struct Case<'a> {
    measurements: &'a Measurements,
    verdict: &'a Verdict,
}

impl Case<'_> {
    fn is_negligible(&self) -> bool {
        self.verdict.answer == Answer::No || self.verdict.high < NEGLIGIBLE
    }

    /// The rank of the verdict.
    fn worst(&self) -> Option<&RankMeasurements> {
        self.measurements.ranks.get(index_of(self.measurements, self.verdict.rank)?)
    }
}

type Check = fn(&Case<'_>) -> Option<Advice>;

/// Every check, in the order of the report.
const CHECKS: &[Check] = &[
    limitations::copy_again,
    engine::none_needed,
    engine::other_engine,
    engine::run,
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
    limitations::host_load,
    limitations::waits_for_processors,
    limitations::transfer_grows,
    limitations::typical_cost,
    limitations::no_cold_phase,
    limitations::implausible_times,
    limitations::table_full,
    limitations::stopped_early,
    limitations::memory_limit_exceeded,
    limitations::timed_counting,
    limitations::missing_ranks,
    limitations::calls_left_out,
    limitations::calls_cut_off,
    limitations::ended_early,
    limitations::blocked_calls_completed,
    limitations::unknown_communicators,
    limitations::reconstructed_messages,
    limitations::unmatched_at_end,
    limitations::wildcards_differ,
    limitations::mostly_setup,
    limitations::cost_exceeds_run,
    limitations::arrival_order_matters,
];

pub fn advice(measurements: &Measurements, verdict: &Verdict) -> Vec<Advice> {
    let case = Case { measurements, verdict };
    CHECKS.iter().filter_map(|check| check(&case)).collect()
}

fn change(title: &str, text: String, numbers: Vec<(&'static str, f64)>) -> Option<Advice> {
    Some(Advice { kind: Kind::Change, title: title.to_owned(), text, numbers, saving: None, command: None })
}

fn limitation(title: &str, text: String, numbers: Vec<(&'static str, f64)>) -> Option<Advice> {
    change(title, text, numbers).map(|advice| Advice { kind: Kind::Limitation, ..advice })
}

/// Adds the saving of shorter searches at a rank, which is at most the matching cost of the first engine.
fn with_saving(advice: Option<Advice>, case: &Case<'_>, rank: u32) -> Option<Advice> {
    let mut advice = advice?;
    let Some(saving) = at_stake(case, rank) else { return Some(advice) };
    advice.text += &format!(
        " This saves at most the matching cost at rank {rank}, {} ({} of its run time).",
        format::duration_ns(saving.ns),
        format::share(saving.share)
    );
    advice.saving = Some(saving);
    Some(advice)
}

fn at_stake(case: &Case<'_>, rank: u32) -> Option<Saving> {
    let measurements = case.measurements;
    let index = index_of(measurements, rank)?;
    let ns = likely_cost_ns(measurements, measurements.engines.first()?, index)?;
    Some(Saving {
        ns,
        share: ratio(ns, measurements.ranks[index].elapsed_s * 1e9),
        overflow_limit: library_cost::saving_limit(measurements, index),
    })
}
