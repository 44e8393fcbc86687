//! Advice about other engines.

use super::{Advice, Case, Saving, change};
use crate::analysis::derived::{cost_ns, engine_label, index_of, likely_cost_ns, ratio};
use crate::analysis::library_cost;
use crate::analysis::stand_in::bare;
use crate::analysis::verdict::{Answer, FASTER, NEGLIGIBLE, REFERENCE};
use crate::format::{self, shell_word};
use crate::measurements::EngineMeasurements;

pub fn none_needed(case: &Case<'_>) -> Option<Advice> {
    if case.verdict.answer != Answer::No {
        return None;
    }
    let (caches, most) = match case.verdict.high {
        high if high < NEGLIGIBLE => (" with cold caches", high),
        _ => ("", case.verdict.share),
    };
    change(
        "Matching needs no change",
        format!(
            "At rank {}, the worst, matching takes {} of the run time{caches}. No engine or assertion can save more on this \
             host. Look elsewhere first.",
            case.verdict.rank,
            format::share(most)
        ),
        vec![("share", case.verdict.share), ("share_saved_max", most)],
    )
}

pub fn other_engine(case: &Case<'_>) -> Option<Advice> {
    if case.is_negligible() {
        return None;
    }
    let index = index_of(case.measurements, case.verdict.rank)?;
    let cost = |engine: &EngineMeasurements| engine.ranks.get(index).map_or(0.0, cost_ns);
    let (first, others) = case.measurements.engines.split_first()?;
    let best = best(case, index)?;
    let factor = cost(first) / cost(best);
    if factor < FASTER {
        return none_better(case, first, others.len());
    }
    let in_run_ns = |engine| likely_cost_ns(case.measurements, engine, index);
    let saved_ns = in_run_ns(first)? - in_run_ns(best)?;
    if saved_ns <= 0.0 {
        return None;
    }
    let saved = ratio(saved_ns, case.measurements.ranks[index].elapsed_s * 1e9);
    let saving = Saving {
        ns: saved_ns,
        share: saved,
        overflow_limit: library_cost::saving_limit(case.measurements, index),
    };
    let advice = change(
        "Another engine would help",
        format!(
            "At rank {}, {} takes {} for the same messages, {} takes {} ({} × as long). This saves {} of the run time. \
             Memory there: {}, against {}.{}",
            case.verdict.rank,
            engine_label(best),
            format::duration_ns(cost(best)),
            engine_label(first),
            format::duration_ns(cost(first)),
            format::digits(factor),
            format::share(saved),
            format::bytes(best.ranks[index].bytes),
            format::bytes(first.ranks[index].bytes),
            by_run(case, index)
        ),
        vec![("times_faster", factor), ("share_saved", saved), ("best_ns", cost(best))],
    );
    advice.map(|advice| Advice { saving: Some(saving), ..advice })
}

/// The cheapest engine at a rank, without the first engine. If the difference is small, the reference engine.
pub(super) fn best<'a>(case: &Case<'a>, index: usize) -> Option<&'a EngineMeasurements> {
    let cost = |engine: &EngineMeasurements| engine.ranks.get(index).map_or(0.0, cost_ns);
    let usable =
        |engine: &&EngineMeasurements| engine.disagreements == 0 && !engine.full && cost(engine) > 0.0;
    let sound = case.measurements.engines.iter().skip(1).filter(usable);
    let cheapest = sound.clone().min_by(|a, b| cost(a).total_cmp(&cost(b)))?;
    let visible_ns = NEGLIGIBLE * case.measurements.ranks[index].elapsed_s * 1e9;
    let is_close = |of: &&EngineMeasurements| {
        cost(of) <= FASTER * cost(cheapest) || cost(of) - cost(cheapest) < visible_ns
    };
    Some(sound.clone().find(|engine| is_reference(engine)).filter(is_close).unwrap_or(cheapest))
}

pub(super) fn is_reference(engine: &EngineMeasurements) -> bool {
    bare(&engine.name) == REFERENCE
}

/// The reason why `matchpoint run` does not help. Empty if [`super::overflow`] advises `matchpoint run`.
fn by_run(case: &Case<'_>, index: usize) -> String {
    let measurements = case.measurements;
    let Some(limit) = library_cost::overflow_limit(measurements) else { return String::new() };
    let longest = measurements.ranks.iter().map(|rank| rank.worst_length).max().unwrap_or(0);
    if longest <= limit {
        return format!(
            " `matchpoint run` does not help: no queue exceeds the {limit} entries that stay in the MPI library."
        );
    }
    if library_cost::saving_limit(measurements, index).is_some()
        || library_cost::may_save(measurements, index)
    {
        return String::new();
    }
    " `matchpoint run` saves less than half of the matching cost there.".to_owned()
}

fn none_better(case: &Case<'_>, first: &EngineMeasurements, others: usize) -> Option<Advice> {
    change(
        "No replayed engine is better",
        format!(
            "No engine of {} is {FASTER} × as fast as {} at rank {}. Only fewer or shorter searches help.",
            format::counted(others as u64, "other engine"),
            engine_label(first),
            case.verdict.rank
        ),
        vec![("engines", others as f64)],
    )
}

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
