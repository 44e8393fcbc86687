//! Advice about receives and probes.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use matchpoint_trace::Function;

use super::{Advice, Case, change, with_saving};
use crate::analysis::call_sites;
use crate::analysis::derived::{calls_to, late, late_share, ratio, wildcard_receives};
use crate::format;

/// Share of late receives from which the report gives advice.
const LATE: f64 = 0.2;

const LATE_MIN: u64 = 100;

/// Successful probes from which probing is a part of the program's design.
const PROBES: u64 = 1000;

/// Receives from which the absence of wildcards is no accident.
const HABIT: u64 = 1000;

/// Extra copied bytes of late receives below which copying takes less than a millisecond.
const COPIED_MIN: u64 = 1 << 20;

/// Share of any-source receives from which the cost of engines with one queue for each source depends on these
/// receives.
const MANY_ANY_SOURCE: f64 = 0.1;

const MANY_ANY_SOURCE_MIN: u64 = 1000;

const NAMED: usize = 3;

pub fn post_earlier(case: &Case<'_>) -> Option<Advice> {
    let totals = &case.measurements.totals;
    let share = late_share(totals);
    let copied = (totals.bytes as f64 * ratio(late(totals) as f64, totals.sends as f64)) as u64;
    if share < LATE || late(totals) < LATE_MIN || copied < COPIED_MIN {
        return None;
    }
    change(
        "Post receives earlier",
        format!(
            "{} of the receives ({}) are late: posted after their message arrived. Most are in {}. The MPI library copies such \
             a message twice, or delays its transfer. Post these receives before the preceding computation. This saves \
             copying up to {}, which is not part of the verdict.{}",
            format::share(share),
            format::count(late(totals)),
            most(&totals.late_by_function),
            format::bytes(copied),
            call_sites::most(case.measurements, |there| there.late)
        ),
        vec![("late_receives", late(totals) as f64), ("late_share", share)],
    )
}

fn most(by_function: &BTreeMap<Function, u64>) -> String {
    let mut sorted: Vec<_> = by_function.iter().filter(|(_, count)| **count > 0).collect();
    sorted.sort_by_key(|(_, count)| Reverse(**count));
    let named: Vec<_> = sorted
        .iter()
        .take(NAMED)
        .map(|(function, count)| format!("{} ({})", function.name(), format::count(**count)))
        .collect();
    named.join(", ")
}

pub fn matched_probe(case: &Case<'_>) -> Option<Advice> {
    let measurements = case.measurements;
    let probes = calls_to(measurements, Function::Probe) + calls_to(measurements, Function::Iprobe);
    let found = measurements.totals.probes_found;
    if probes == 0 || found < PROBES {
        return None;
    }
    change(
        "Use MPI_Improbe and MPI_Mrecv instead of MPI_Iprobe and MPI_Recv",
        format!(
            "{} of {} found a message, and the next receive searched for this message again. A matched probe removes the \
             message, so the receive needs no search: {} fewer. No other thread can take the message in between.",
            format::count(found),
            format::counted(found + measurements.totals.probes_missed, "probe"),
            format::counted(found, "search")
        ),
        vec![
            ("probes_found", found as f64),
            ("probes_missed", measurements.totals.probes_missed as f64),
            ("plain_probe_calls", probes as f64),
        ],
    )
}

pub fn assert_no_wildcards(case: &Case<'_>) -> Option<Advice> {
    let totals = &case.measurements.totals;
    // One missing call with a wildcard would make the assertion wrong.
    if case.measurements.trace.calls_left_out > 0 || case.is_negligible() {
        return None;
    }
    let (any_source, any_tag) = wildcard_receives(totals);
    let (any_source, any_tag) = (any_source + totals.probes_any_source, any_tag + totals.probes_any_tag);
    let keys = match (any_source, any_tag) {
        (0, 0) => "`mpi_assert_no_any_source` and `mpi_assert_no_any_tag`",
        (0, _) => "`mpi_assert_no_any_source`",
        (_, 0) => "`mpi_assert_no_any_tag`",
        _ => return None,
    };
    if totals.receives < HABIT {
        return None;
    }
    let effect = match (any_source, any_tag) {
        (0, 0) => "a library can then hash source and tag, without an order across sources",
        (0, _) => "a library can then keep one queue per source",
        _ => "a library can then hash the tag",
    };
    change(
        "Assert that wildcards are not used",
        format!(
            "Of {} receives and probes, {} use MPI_ANY_SOURCE and {} MPI_ANY_TAG. If this holds for every input, set \
             {keys} on the communicators (MPI-4.1 §7.4.4): {effect}. Not every library uses this assertion.",
            format::count(totals.receives + totals.probes_found + totals.probes_missed),
            none_or_count(any_source),
            none_or_count(any_tag)
        ),
        vec![
            ("receives", totals.receives as f64),
            ("any_source", any_source as f64),
            ("any_tag", any_tag as f64),
        ],
    )
}

fn none_or_count(count: u64) -> String {
    if count == 0 { "none".to_owned() } else { format::count(count) }
}

pub fn wildcards_decide(case: &Case<'_>) -> Option<Advice> {
    let worst = case.worst()?;
    let any_source = worst.any_source;
    let share = ratio(any_source as f64, worst.receives as f64);
    if share < MANY_ANY_SOURCE || any_source < MANY_ANY_SOURCE_MIN || case.is_negligible() {
        return None;
    }
    let advice = change(
        "Receives from any source are common",
        format!(
            "At rank {}, {} of the receives ({}) use MPI_ANY_SOURCE. Engines with a queue per source then search every queue. \
             If the sender is known, name it in the receive.{}",
            worst.rank,
            format::share(share),
            format::count(any_source),
            call_sites::most(case.measurements, |there| there.any_source)
        ),
        vec![("any_source", any_source as f64), ("any_source_share", share)],
    );
    with_saving(advice, case, case.verdict.rank)
}
