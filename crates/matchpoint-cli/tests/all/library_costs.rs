//! Tests of the verdict with search costs of the traced library.

use matchpoint_cli::report::{Report, terminal};
use matchpoint_replay::analysis::library_cost::apply;
use matchpoint_replay::analysis::verdict::{Answer, Verdict};
use matchpoint_replay::library_cost::{Curve, SearchTime};

use crate::judgement::{find, with};
use crate::ran::words;
use crate::synthetic;

#[test]
fn stand_in_has_cost_of_library() {
    let curve = Curve { warm: vec![(16.0, 1.0), (1024.0, 5.0)], cold_ns: 15.0, empty_ns: 100.0 };
    let cost = synthetic::library_cost(4, curve.clone(), curve);
    let with_cost = |library: Option<&str>| {
        let mut measurements = with(|measurements| {
            measurements.trace.library = library.map(str::to_owned);
            measurements.library_cost = Some(cost.clone());
            for engine in &mut measurements.engines {
                engine.ranks.iter_mut().for_each(|at| (at.match_ns, at.match_cold_ns) = (1e3, 2e3));
                engine.ranks[3].library =
                    Some(SearchTime { low_ns: 0.2e9, likely_ns: 0.3e9, bounded_ns: 0.3e9, high_ns: 0.45e9 });
            }
        });
        apply(&mut measurements);
        measurements
    };
    let measurements = with_cost(Some("MPICH Version: 5.0.2"));
    let [list, rank_array] = [&measurements.engines[0], &measurements.engines[1]];
    assert_eq!((list.ranks[3].match_ns, list.ranks[3].match_cold_ns), (0.2e9, 0.45e9));
    assert_eq!((list.ranks[0].match_ns, rank_array.ranks[3].match_ns), (1e3, 1e3));
    assert_eq!(list.match_ns, 0.2e9 + 7e3);
    let report = Report::new(&measurements);
    assert_eq!((report.verdict.answer, report.verdict.rank), (Answer::Yes, 3));
    assert!((report.verdict.share - 0.25).abs() < 0.01, "{}", report.verdict.share);
    let text = terminal::render(&report);
    let text = words(&text);
    assert!(text.contains("Measured in this run, between 4 pairs of ranks on one host"), "{text}");

    assert!(find(&measurements, "cost of an entry is typical").is_none());
    let mut typical = measurements.clone();
    typical.library_cost.as_mut().unwrap().pairs = 0;
    let limitation = find(&typical, "cost of an entry is typical").unwrap();
    assert!(limitation.text.contains("typical costs of MPICH 5.0"), "{}", limitation.text);

    let of_another = with_cost(Some("Open MPI v5.0.11"));
    assert_eq!(of_another.engines[0].ranks[3].match_ns, 1e3);
    assert_eq!(of_another.engines[1].ranks[3].match_ns, 0.2e9);
    assert_eq!(with_cost(None).engines[0].ranks[3].match_ns, 0.2e9);
}

/// The verdict of rank 3 from the shares of its search time. The part `bounded` of the likely time comes from calls
/// shorter than the search time.
fn from_calls([low, likely, high]: [f64; 3], bounded: f64, crowding: f64) -> Verdict {
    let curve = Curve { warm: vec![(128.0, 2.0)], cold_ns: 14.0, empty_ns: 100.0 };
    let mut measurements = with(|of| {
        of.library_cost = Some(synthetic::library_cost(4, curve.clone(), curve));
        of.crowding = Some(crowding);
        let elapsed_ns = of.ranks[3].elapsed_s * 1e9;
        for at in &mut of.engines[0].ranks {
            (at.match_ns, at.match_cold_ns) = (1e3, 2e3);
        }
        let [low_ns, likely_ns, high_ns] = [low, likely, high].map(|share| share * elapsed_ns);
        let bounded_ns = likely_ns * bounded;
        of.engines[0].ranks[3].library = Some(SearchTime { low_ns, likely_ns, bounded_ns, high_ns });
    });
    apply(&mut measurements);
    Report::new(&measurements).verdict
}

#[test]
fn bounded_calls_decide_within_range() {
    let answer = |shares, bounded, crowding| from_calls(shares, bounded, crowding).answer;
    let wide = [0.04, 0.448, 0.724];
    assert_eq!(answer(wide, 0.9, 1.0), Answer::Yes);
    assert_eq!(answer(wide, 0.9, 2.0), Answer::Yes);
    assert_eq!(answer(wide, 0.4, 1.0), Answer::Unknown, "most calls waited");
    assert_eq!(answer([0.04, 0.724, 0.724], 0.9, 1.0), Answer::Unknown, "the high end");
    assert_eq!(answer([0.04, 0.04, 0.724], 0.9, 1.0), Answer::Unknown, "the low end");
    assert_eq!(answer([0.04, 0.08, 0.724], 0.9, 1.0), Answer::Unknown, "near the threshold");
    for (shares, expected) in [([0.002, 0.02, 0.2], Answer::Little), ([0.002, 0.004, 0.02], Answer::No)] {
        assert_eq!(answer(shares, 0.9, 1.0), expected);
        assert_eq!(answer(shares, 0.9, 2.0), Answer::Unknown, "processes share processors");
    }
    let text = from_calls(wide, 0.4, 1.0).text;
    assert!(text.contains("The memory that the program uses between its calls decides"), "{text}");
    let text = from_calls([0.04, 0.08, 0.724], 0.9, 1.0).text;
    assert!(text.contains("The times of the traced calls do not decide: the share is near 4 %"), "{text}");
}

/// MPI calls of 900 ms include the time of another process on the processor. The search time is limited to the needs of
/// both processes.
#[test]
fn crowded_library_cost_has_one_share() {
    let curve = Curve { warm: vec![(128.0, 2.0)], cold_ns: 14.0, empty_ns: 100.0 };
    let mut measurements = with(|measurements| {
        measurements.crowding = Some(2.0);
        measurements.library_cost = Some(synthetic::library_cost(4, curve.clone(), curve));
        for at in &mut measurements.engines[0].ranks {
            (at.match_ns, at.match_cold_ns) = (1e3, 2e3);
            at.library =
                Some(SearchTime { low_ns: 0.05e9, likely_ns: 0.9e9, bounded_ns: 0.9e9, high_ns: 0.2e9 });
        }
        measurements.ranks[3].posted.length_max = 2000;
    });
    apply(&mut measurements);
    let report = Report::new(&measurements);
    let saving = report.advice.iter().find(|advice| advice.title == "Long posted receive queue");
    let saving = saving.unwrap().saving.unwrap();
    assert!((saving.ns - 0.4e9).abs() < 1.0, "{saving:?}");
    assert!((report.verdict.share - report.verdict.high).abs() < 1e-9, "{}", report.verdict.text);
}
