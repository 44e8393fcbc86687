//! Advice is about the rank that it names, and a cost has one share in the whole report.

use matchpoint_replay::Measurements;
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
