//! The verdict and the advice: each says something exactly when the numbers support it.

mod synthetic;

use matchpoint_cli::advice::{Advice, Kind};
use matchpoint_cli::report::Report;
use matchpoint_cli::verdict::Answer;
use matchpoint_replay::Measurements;
use matchpoint_replay::measurements::Wildcards;
use matchpoint_trace::Function;

fn with(change: impl FnOnce(&mut Measurements)) -> Measurements {
    let mut measurements = synthetic::run(8);
    change(&mut measurements);
    measurements
}

fn costing(share: f64) -> Measurements {
    with(|measurements| {
        let elapsed_ns = measurements.ranks[3].elapsed_s * 1e9;
        let at = &mut measurements.engines[0].ranks[3];
        (at.match_ns, at.match_cold_ns) = (share * elapsed_ns / 2.0, share * elapsed_ns * 2.0);
    })
}

fn find(measurements: &Measurements, title: &str) -> Option<Advice> {
    Report::new(measurements).advice.into_iter().find(|advice| advice.title.contains(title))
}

#[test]
fn the_answer_follows_from_the_share() {
    for (share, answer, opening) in [
        (
            0.005,
            Answer::No,
            "No: with engine `list`, matching costs 0.5 % (0.25–1 %) of the run time of the worst rank, 3; the longest",
        ),
        (0.03, Answer::Little, "A little: with engine `list`, matching costs 3 % "),
        (0.2, Answer::Yes, "Yes: with engine `list`, matching costs 20 % (10–40 %) of the run time"),
    ] {
        let measurements = costing(share);
        let verdict = Report::new(&measurements).verdict;
        assert_eq!(verdict.answer, answer);
        assert_eq!(verdict.rank, 3);
        assert!((verdict.share - share).abs() < 1e-9 && verdict.low < verdict.high);
        assert!(verdict.text.starts_with(opening), "{}", verdict.text);
    }
}

#[test]
fn cold_below_warm_is_a_range_all_the_same() {
    let measurements = with(|measurements| {
        let at = &mut measurements.engines[0].ranks[5];
        (at.match_ns, at.match_cold_ns) = (at.match_cold_ns, at.match_ns);
    });
    let verdict = Report::new(&measurements).verdict;
    assert!(verdict.low < verdict.share && verdict.share < verdict.high);
}

#[test]
fn nothing_to_match_is_said() {
    let verdict = Report::new(&with(|of| of.totals = Default::default())).verdict;
    assert_eq!(verdict.answer, Answer::NoMessages);
    assert!(verdict.text.starts_with("No messages: "), "{}", verdict.text);
}

#[test]
fn without_run_times_nothing_is_claimed() {
    let measurements = with(|of| of.ranks.iter_mut().for_each(|rank| rank.elapsed_s = 0.0));
    assert!(Report::new(&measurements).verdict.text.starts_with("Unknown: "));
}

#[test]
fn missing_ranks_are_part_of_the_answer() {
    let measurements = with(|of| of.trace.missing.push((3, "no file".to_owned())));
    assert!(Report::new(&measurements).verdict.text.ends_with("1 of 8 ranks is missing from the trace."));
    assert_eq!(find(&measurements, "Ranks are missing").unwrap().kind, Kind::Trust);
}

#[test]
fn engines_are_compared_only_where_matching_matters() {
    assert!(find(&costing(0.005), "needs no change").is_some());
    assert!(find(&costing(0.005), "Another engine").is_none());
    let advice = find(&costing(0.2), "Another engine would help").unwrap();
    assert!(advice.text.contains("`bins`"), "{}", advice.text);
    let wrong = with(|of| {
        *of = costing(0.2);
        of.engines[2].disagreements = 7;
    });
    let advice = find(&wrong, "Another engine would help").unwrap();
    assert!(advice.text.contains("`rank_array`"), "a wrong engine is not recommended");
    assert!(find(&wrong, "An engine is wrong").is_some());
}

#[test]
fn an_engine_that_was_stopped_is_told() {
    assert!(find(&costing(0.2), "estimates").is_none());
    let stopped = with(|of| of.engines[0].sampled = 0.25);
    let advice = find(&stopped, "estimates").unwrap();
    assert_eq!(advice.kind, Kind::Trust);
    assert!(advice.text.contains("`list` (25"), "{}", advice.text);
}

#[test]
fn wildcards_that_nobody_uses_can_be_asserted() {
    let wildcards = |any_source, any_tag| {
        with(|of| {
            *of = costing(0.2);
            of.totals.wildcards = Wildcards { none: 9000, any_source, any_tag, both: 0 };
        })
    };
    let text = |of: &Measurements| find(of, "wildcards are not used").map(|advice| advice.text);
    let neither = text(&wildcards(0, 0)).unwrap();
    assert!(neither.contains("no_any_source") && neither.contains("no_any_tag"));
    let sources = text(&wildcards(10, 0)).unwrap();
    assert!(!sources.contains("no_any_source") && sources.contains("no_any_tag"));
    assert_eq!(text(&wildcards(10, 10)), None);
    // A probe breaks the promise too, and so may a call that nobody saw.
    let mut probing = wildcards(0, 0);
    probing.totals.probes_any_source = 1;
    assert!(!text(&probing).unwrap().contains("no_any_source"));
    let mut partial = wildcards(0, 0);
    partial.trace.calls_left_out = 1;
    assert_eq!(text(&partial), None);
    assert!(find(&partial, "Calls are missing").is_some());
}

#[test]
fn a_run_that_was_mostly_waiting_is_told_in_the_verdict() {
    let waiting = with(|of| {
        *of = costing(0.005);
        of.replayed_s = of.elapsed_s / 10.0;
    });
    let verdict = Report::new(&waiting).verdict;
    assert!((verdict.share_of_replay - 0.05).abs() < 0.01, "{}", verdict.share_of_replay);
    assert!(verdict.text.contains("10.0 times as long as its replay"), "{}", verdict.text);
    assert!(find(&waiting, "far slower than its replay").is_some());
    assert!(find(&waiting, "needs no change").is_none());
}

#[test]
fn late_receives_name_their_functions() {
    let late = find(&synthetic::run(8), "Post receives earlier").unwrap();
    assert!(late.text.contains("MPI_Recv (4,005)"), "{}", late.text);
    let prompt = with(|of| of.totals.late_by_function = [(Function::Recv, 10)].into());
    assert!(find(&prompt, "Post receives earlier").is_none());
}

#[test]
fn matched_probes_are_advised_to_who_probes_a_lot() {
    assert!(find(&synthetic::run(8), "MPI_Improbe").is_none());
    assert!(find(&with(|of| of.totals.probes_found = 5000), "MPI_Improbe").is_some());
    let already = with(|of| {
        of.totals.probes_found = 5000;
        of.calls.remove(&Function::Iprobe);
        of.calls.insert(Function::Improbe, 5000);
    });
    assert!(find(&already, "MPI_Improbe").is_none());
}

#[test]
fn queues_are_long_or_not() {
    assert!(find(&synthetic::run(1024), "One rank collects").is_some());
    assert!(find(&synthetic::run(8), "One rank collects").is_none());
    assert!(find(&with(|of| of.ranks[1].posted.length_max = 5000), "Many receives are posted").is_some());
    assert!(find(&with(|of| of.ranks[1].unexpected.length_max = 5000), "Many messages wait").is_some());
}

#[test]
fn tags_and_tuples() {
    let hot = with(|of| of.ranks.iter_mut().for_each(|rank| rank.tuple_share_max = 0.9));
    assert!(find(&hot, "look alike").is_some());
    assert!(find(&with(|of| of.totals.tags_unique = 100_000), "Tags are many").is_some());
    let wide = with(|of| {
        of.totals.tag_max = Some(i32::MAX);
        of.trace.ranks = 1 << 20;
        of.communicators[0].context = 1 << 15;
    });
    let text = find(&wide, "too wide").unwrap().text;
    assert!(text.contains("need 67 bits"), "{text}");
}

#[test]
fn doubts_are_told() {
    let doubtful = with(|of| {
        of.arrivals.released.insert("a wait that never ends", 1);
        of.arrivals.made_up_messages = 4;
        of.totals.reproduced_wildcards = 1;
        of.arrivals.compared[0].1 = 0.9;
    });
    for title in
        ["let go", "cross the edge", "Not everything", "takes other messages", "order of arrivals decides"]
    {
        assert_eq!(find(&doubtful, title).map(|advice| advice.kind), Some(Kind::Trust), "{title}");
    }
}
