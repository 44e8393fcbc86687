//! Advice is about the rank that it names, and a cost has one share in the whole report.

use matchpoint_cli::report::Report;
use matchpoint_replay::Measurements;
use matchpoint_replay::analysis::derived::worst_ranks;
use matchpoint_replay::measurements::RankMeasurements;

use crate::judgement::{costing, find};

pub fn one_tuple(of: &mut RankMeasurements) {
    (of.tuple_share_max, of.tuples_unique, of.any_source) = (0.9, 24, 0);
}

pub fn many_tuples(of: &mut RankMeasurements) {
    (of.tuple_share_max, of.tuples_unique, of.any_source) = (0.01, 2000, of.receives);
}

/// Rank 3 is the worst.
fn costly(worst: fn(&mut RankMeasurements), others: fn(&mut RankMeasurements)) -> Measurements {
    let mut of = costing(0.2);
    of.totals.tags_unique = 2001;
    of.ranks.iter_mut().for_each(|rank| if rank.rank == 3 { worst(rank) } else { others(rank) });
    of
}

#[test]
fn tag_advice_is_about_worst_rank() {
    let texts = |worst, others| {
        let of = costly(worst, others);
        ["same source and tag", "Many distinct tags", "any source are common"]
            .map(|title| find(&of, title).map(|advice| advice.text))
    };
    let [same, many, any_source] = texts(many_tuples, one_tuple);
    assert_eq!(same, None);
    let (many, any_source) = (many.unwrap(), any_source.unwrap());
    assert!(many.contains("2,001 distinct tags") && many.contains("2,000 pairs of source and tag"), "{many}");
    assert!(any_source.starts_with("At rank 3, 100 % of the receives"), "{any_source}");
    let [same, many, any_source] = texts(one_tuple, many_tuples);
    assert_eq!((many, any_source), (None, None));
    let same = same.unwrap();
    assert!(same.starts_with("At rank 3, 90 % of the messages"), "{same}");
    assert!(same.contains(" This saves at most the matching cost at rank 3, "), "{same}");
}

#[test]
fn hot_tuple_excludes_many_tags() {
    let both = |of: &mut RankMeasurements| (of.tuple_share_max, of.tuples_unique) = (0.5, 2000);
    let of = costly(both, both);
    assert!(find(&of, "same source and tag").is_some());
    assert!(find(&of, "Many distinct tags").is_none());
}

/// Rank 3 spends 5 % of its run time outside `MPI_Init` and `MPI_Finalize`, and the estimate is 20 %.
#[test]
fn cost_above_run_has_one_share() {
    let mut of = costing(0.2);
    of.engines.truncate(2);
    let elapsed_ns = of.ranks[3].elapsed_s * 1e9;
    of.ranks[3].setup_s = 0.95 * of.ranks[3].elapsed_s;
    of.ranks[3].posted.length_max = 2000;
    let other = &mut of.engines[1].ranks[3];
    (other.match_ns, other.match_cold_ns) = (0.01 * elapsed_ns, 0.01 * elapsed_ns);
    let report = Report::new(&of);
    assert!((report.verdict.share - 0.05).abs() < 1e-9, "{}", report.verdict.text);
    let saving = |title| find(&of, title).unwrap().saving.unwrap();
    let (long, other) = (saving("Long posted receive queue"), saving("Another engine would help"));
    assert!((long.share - 0.05).abs() < 1e-9 && (long.ns - 0.05 * elapsed_ns).abs() < 1.0, "{long:?}");
    assert!((other.share - 0.04).abs() < 1e-9 && (other.ns - 0.04 * elapsed_ns).abs() < 1.0, "{other:?}");
    let (worst, costs_ns, share) = worst_ranks(&of, &of.engines[0])[0];
    assert_eq!(worst.rank, 3);
    assert!((share - 0.05).abs() < 1e-9, "{share}");
    assert!(costs_ns.iter().all(|ns| (ns - 0.05 * elapsed_ns).abs() < 1.0), "{costs_ns:?}");
    let limitation = find(&of, "estimated cost exceeds the run").unwrap().text;
    assert!(limitation.contains("the estimate for `list` is 239 ms"), "{limitation}");
    assert!(find(&costing(0.2), "estimated cost exceeds the run").is_none());
}

#[test]
fn crowded_table_shows_share_of_verdict() {
    let mut of = costing(0.2);
    of.crowding = Some(4.0);
    of.engines[0].match_ns = 2e9;
    of.engines[0].match_cold_ns = 2e9;
    let (worst, _, share) = worst_ranks(&of, &of.engines[0])[0];
    let verdict = Report::new(&of).verdict;
    assert_eq!((worst.rank, share), (verdict.rank, verdict.share));
}
