//! Advice about overflow matching, with the command that measures the saving.

use super::engine::{best, is_reference};
use super::{Advice, Case, change};
use crate::analysis::derived::index_of;
use crate::analysis::library_cost;
use crate::format;
use crate::format::shell_word;

/// Runs of each kind, the minimum for which `matchpoint run` compares run times.
const TURNS: u32 = 3;

pub fn run(case: &Case<'_>) -> Option<Advice> {
    if case.is_negligible() {
        return None;
    }
    let measurements = case.measurements;
    let index = index_of(measurements, case.verdict.rank)?;
    let limit = library_cost::overflow_limit(measurements)?;
    let saved = case.verdict.share * library_cost::saving_by_run(measurements, index)?;
    let saves = if library_cost::saving_limit(measurements, index).is_some() {
        format!("may save {} of the run time", format::share(saved))
    } else if library_cost::may_save(measurements, index) {
        "may save time".to_owned()
    } else {
        return None;
    };
    let command = command(case, index, limit);
    let advice = change(
        "Run with overflow matching",
        format!(
            "Overflow matching {saves} without recompiling. {limit} entries stay in the MPI library, and overflow matching \
             takes time too. Measure the saving: `{command}`"
        ),
        vec![("limit", limit as f64), ("share_saved", saved)],
    );
    advice.map(|advice| Advice { command: Some(command), ..advice })
}

/// The command names another engine if that engine saves at least 1 % of the run time more than the default.
fn command(case: &Case<'_>, index: usize, limit: u64) -> String {
    let has_reference = case.measurements.engines.iter().skip(1).any(is_reference);
    let other = best(case, index).filter(|best| has_reference && !is_reference(best));
    let engine = other.map_or(String::new(), |other| format!("--engine {} ", shell_word(&other.name)));
    let words: Vec<_> = case.measurements.trace.command_words.iter().map(|of| shell_word(of)).collect();
    let job = if words.is_empty() { "…".to_owned() } else { words.join(" ") };
    format!("matchpoint run --compare {TURNS} {engine}--limit {limit} -- {job}")
}
