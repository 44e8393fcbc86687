//! Tests of the verdict, the advice and the limitations.

use matchpoint_cli::report::Report;
use matchpoint_replay::Measurements;
use matchpoint_replay::analysis::advice::{Advice, Kind};
use matchpoint_replay::analysis::verdict::{Answer, Verdict};
use matchpoint_replay::library_cost::Curve;
use matchpoint_replay::measurements::{Substitute, TraceFacts, Wildcards};
use matchpoint_trace::Function;

use crate::synthetic;
use crate::worst_rank::{many_tuples, one_tuple};

pub fn with(change: impl FnOnce(&mut Measurements)) -> Measurements {
    let mut measurements = synthetic::run(8);
    change(&mut measurements);
    measurements
}

pub fn costing(share: f64) -> Measurements {
    with(|measurements| {
        let elapsed_ns = measurements.ranks[3].elapsed_s * 1e9;
        let at = &mut measurements.engines[0].ranks[3];
        (at.match_ns, at.match_cold_ns) = (share * elapsed_ns / 2.0, share * elapsed_ns * 2.0);
    })
}

fn costing_with(share: f64, change: impl FnOnce(&mut Measurements)) -> Measurements {
    let mut measurements = costing(share);
    change(&mut measurements);
    measurements
}

pub fn find(measurements: &Measurements, title: &str) -> Option<Advice> {
    Report::new(measurements).advice.into_iter().find(|advice| advice.title.contains(title))
}

#[test]
fn answer_follows_share() {
    for (share, answer, opening) in [
        (
            0.004,
            Answer::No,
            "No: matching costs 0.4 % (0.2–0.8 %) of the run time at rank 3, the worst. The engine is `list`, which \
             searches as MPICH does. The share is ",
        ),
        (0.022, Answer::Little, "A little: matching costs 2.2 % "),
        (0.2, Answer::Yes, "Yes: matching costs 20 % (10–40 %) of"),
    ] {
        let measurements = costing(share);
        let verdict = Report::new(&measurements).verdict;
        assert_eq!(verdict.answer, answer);
        assert_eq!(verdict.rank, 3);
        assert!((verdict.share - share).abs() < 1e-9 && verdict.low < verdict.high);
        assert!(verdict.text.starts_with(opening), "{}", verdict.text);
    }
}

/// Each rank needs 6 to 24 ms, likely 12 ms. Two ranks on one processor need up to 24 ms.
#[test]
fn crowded_engine_cost_is_doubled() {
    let measurements = with(|measurements| {
        measurements.crowding = Some(2.0);
        let engine = &mut measurements.engines[0];
        engine.ranks.iter_mut().for_each(|at| (at.match_ns, at.match_cold_ns) = (6e6, 24e6));
        (engine.match_ns, engine.match_cold_ns) = (8.0 * 6e6, 8.0 * 24e6);
    });
    let verdict = Report::new(&measurements).verdict;
    assert!((verdict.share * 2.0 - verdict.high).abs() < 1e-9, "{} {}", verdict.share, verdict.high);
}

#[test]
fn oversubscribed_rank_waits_for_matching_of_others() {
    let share = |crowding| {
        let measurements = with(|measurements| {
            measurements.crowding = crowding;
            let engine = &mut measurements.engines[0];
            engine.ranks.iter_mut().for_each(|at| (at.match_ns, at.match_cold_ns) = (12e6, 12e6));
            (engine.match_ns, engine.match_cold_ns) = (8.0 * 12e6, 8.0 * 12e6);
        });
        Report::new(&measurements).verdict.share
    };
    let alone = share(None);
    assert!((0.009..0.011).contains(&alone), "{alone}");
    assert!((share(Some(1.0)) - alone).abs() < 1e-9);
    assert!((share(Some(4.0)) - 4.0 * alone).abs() < 1e-3);
    assert!(share(Some(1000.0)) <= 1.0);
}

#[test]
fn sentences_name_substitute_of_card() {
    const CARD: &str = "gpu_ordered:fallback=";
    const BINS: usize = 2;
    let in_place = |at: usize, by: &str, ranks: u32| {
        let mut measurements = costing(0.2);
        let engine = &mut measurements.engines[at];
        engine.name = format!("{CARD}{by}");
        engine.substitute = Some(Substitute { name: by.to_owned(), ranks, of_ranks: 8 });
        measurements
    };
    let verdict = |measurements: &Measurements| Report::new(measurements).verdict.text;
    let text = verdict(&in_place(0, "list", 8));
    let opening =
        "The engine is `list` (instead of `gpu_ordered:fallback=list`), which searches as MPICH does.";
    assert!(text.contains(opening), "{text}");
    let text = verdict(&in_place(0, "hybrid", 3));
    let opening = "The engine is `gpu_ordered:fallback=hybrid` (`hybrid` instead at 3 of 8 ranks).";
    assert!(text.contains(opening), "{text}");
    let measurements = in_place(BINS, "hybrid", 8);
    let label = "`hybrid` (instead of `gpu_ordered:fallback=hybrid`)";
    let text = verdict(&measurements);
    assert!(text.contains(&format!(" with {label}")), "{text}");
    let advice = find(&measurements, "Another engine would help").unwrap().text;
    assert!(advice.starts_with(&format!("At rank 3, {label} takes ")), "{advice}");
    let wrong = with(|measurements| {
        *measurements = in_place(BINS, "hybrid", 8);
        measurements.engines[BINS].disagreements = 1;
    });
    let advice = find(&wrong, "An engine matched incorrectly").unwrap().text;
    assert!(advice.starts_with(label) && advice.contains(&format!("with {label})")), "{advice}");
}

#[test]
fn range_across_threshold_is_inconclusive() {
    for (share, threshold) in [(0.009, "1 %"), (0.012, "1 %"), (0.04, "5 %"), (0.06, "5 %")] {
        let verdict = Report::new(&costing(share)).verdict;
        assert_eq!(verdict.answer, Answer::Unknown);
        let opening = format!("Cannot tell: {threshold} is within the range of the share. Matching costs");
        assert!(verdict.text.starts_with(&opening), "{}", verdict.text);
        assert!(verdict.text.contains("The memory that the program uses between its calls decides"));
        assert!((verdict.share - share).abs() < 1e-9, "an inconclusive verdict keeps its numbers");
    }
}

#[test]
fn partial_trace_gives_no_negative_verdict() {
    let few = costing_with(0.001, |of| {
        of.trace.missing = (1..8).map(|rank| (rank, "no file".to_owned())).collect()
    });
    let verdict = Report::new(&few).verdict;
    assert_eq!(verdict.answer, Answer::Unknown);
    assert!(verdict.text.starts_with("Cannot tell: the trace contains 1 of 8 ranks."), "{}", verdict.text);
    assert!(find(&few, "needs no change").is_none());
    let left_out = costing_with(0.001, |of| of.trace.calls_left_out = 100 * of.trace.calls);
    let verdict = Report::new(&left_out).verdict;
    assert_eq!(verdict.answer, Answer::Unknown);
    assert!(verdict.text.contains("records every receive and probe"), "{}", verdict.text);
    let hardly_any = costing_with(0.001, |of| of.trace.calls_left_out = of.trace.calls / 100);
    assert_eq!(Report::new(&hardly_any).verdict.answer, Answer::No);
}

/// Nine of ten messages go to the rank without a trace.
#[test]
fn missing_busiest_rank_prevents_negative_verdict() {
    let headless = costing_with(0.001, |of| {
        of.trace.missing = vec![(5, "no file".to_owned())];
        of.arrivals.lost_messages = 9 * of.ranks.iter().map(|rank| rank.messages).sum::<u64>();
    });
    let verdict = Report::new(&headless).verdict;
    assert_eq!(verdict.answer, Answer::Unknown);
    assert!(verdict.text.starts_with("Cannot tell: the trace contains the receivers of"), "{}", verdict.text);
    let few = costing_with(0.001, |of| {
        of.trace.missing = vec![(5, "no file".to_owned())];
        of.arrivals.lost_messages = 9;
    });
    assert_eq!(Report::new(&few).verdict.answer, Answer::No);
}

#[test]
fn truncated_calls_are_reported() {
    let cut = costing_with(0.001, |of| of.trace.calls_cut_off = 2 * of.trace.calls);
    let verdict = Report::new(&cut).verdict;
    assert_eq!(verdict.answer, Answer::Unknown);
    assert!(verdict.text.contains("Copy the trace again."), "{}", verdict.text);
    assert!(find(&cut, "Trace files are incomplete").unwrap().text.contains("Copy the trace again."));
    assert!(find(&cut, "needs no change").is_none());
    let early = costing_with(0.001, |of| of.trace.ended_early = vec![2, 4]);
    let verdict = Report::new(&early).verdict;
    assert_eq!(verdict.answer, Answer::No);
    assert!(verdict.text.ends_with(" The calls of 2 ranks end early."), "{}", verdict.text);
    assert!(find(&early, "Calls end early").unwrap().text.contains("2 ranks (the first is 2)"));
    for title in ["Trace files are incomplete", "Calls end early"] {
        assert!(find(&costing(0.001), title).is_none(), "{title}");
    }
}

#[test]
fn truncated_rank_gets_no_queue_advice() {
    let queues = |early: Vec<u32>, share: f64| {
        costing_with(share, |of| {
            (of.trace.ended_early, of.trace.calls_cut_off) = (early, 9);
            of.ranks[6].unexpected.length_max = 90_514;
            let elapsed_ns = of.ranks[6].elapsed_s * 1e9;
            let at = &mut of.engines[0].ranks[6];
            (at.match_ns, at.match_cold_ns) = (0.9 * elapsed_ns, 0.9 * elapsed_ns);
        })
    };
    let long = "Long unexpected message queue";
    assert!(find(&queues(vec![], 0.2), long).unwrap().text.starts_with("Rank 6 "));
    let truncated = queues(vec![6], 0.2);
    assert!(find(&truncated, long).is_none() && find(&truncated, "One rank receives from all").is_none());
    let report = Report::new(&truncated);
    assert_eq!((report.verdict.rank, report.verdict.answer), (3, Answer::Yes));
    assert_eq!(report.advice[0].title, "Copy the trace again");
    let text = Report::new(&queues(vec![6], 0.001)).verdict.text;
    assert!(text.starts_with("Cannot tell: the calls of rank 6 end early, and cost 90 %."), "{text}");
    assert_eq!(Report::new(&queues((0..8).collect(), 0.2)).verdict.rank, 6);
}

#[test]
fn of_equal_queues_advice_names_verdict_rank() {
    let equal = costing_with(0.2, |of| of.ranks.iter_mut().for_each(|rank| rank.posted.length_max = 5000));
    assert!(find(&equal, "Long posted receive queue").unwrap().text.starts_with("Rank 3 "));
}

#[test]
fn verdict_has_costs_of_hybrid_and_cheapest() {
    let mut measurements = costing(0.2);
    measurements.engines[1].name = "hybrid".to_owned();
    let named = |of: &Measurements| -> Vec<String> {
        Report::new(of).verdict.others.into_iter().map(|other| other.name).collect()
    };
    let at = measurements.engines[1].ranks[3];
    let mut cheaper = at;
    (cheaper.match_ns, cheaper.match_cold_ns) = (at.match_ns / 2.0, at.match_cold_ns / 2.0);
    measurements.engines[2].ranks[3] = cheaper;
    assert_eq!(named(&measurements), ["hybrid", "bins"]);
    measurements.engines[2].ranks[3] = at;
    assert_eq!(named(&measurements), ["hybrid"], "what is not clearly cheaper is not named");
}

#[test]
fn cold_below_warm_is_still_range() {
    let measurements = with(|measurements| {
        let at = &mut measurements.engines[0].ranks[5];
        (at.match_ns, at.match_cold_ns) = (at.match_cold_ns, at.match_ns);
    });
    let verdict = Report::new(&measurements).verdict;
    assert!(verdict.low < verdict.share && verdict.share < verdict.high);
}

#[test]
fn trace_without_messages_is_reported() {
    let verdict = Report::new(&with(|of| of.totals = Default::default())).verdict;
    assert_eq!(verdict.answer, Answer::NoMessages);
    assert!(verdict.text.starts_with("No messages: "), "{}", verdict.text);
}

/// A deadlock, a limit of the trace or an abort may hide messages.
#[test]
fn incomplete_trace_without_messages_is_inconclusive() {
    let silent = |change: fn(&mut TraceFacts)| {
        let measurements = with(|of| {
            of.totals = Default::default();
            change(&mut of.trace);
        });
        let Verdict { answer, text, .. } = Report::new(&measurements).verdict;
        assert_eq!(answer, Answer::Unknown, "{text}");
        text
    };
    let shows = "Cannot tell: the trace contains no point-to-point message, and ";
    for (text, ending) in [
        (
            silent(|of| of.missing = vec![(1, "no file".to_owned())]),
            "1 of 8 ranks is missing. Trace all ranks.",
        ),
        (silent(|of| of.calls_left_out = 1), "calls are missing. Trace all calls."),
        (silent(|of| of.calls_cut_off = 1), "calls are missing. Trace all calls."),
        (
            silent(|of| of.ended_early = vec![0, 1]),
            "the calls of 2 ranks end early. Trace a run that ends normally.",
        ),
    ] {
        assert!(text.starts_with(shows) && text.ends_with(ending), "{text}");
    }
}

#[test]
fn missing_run_times_are_inconclusive() {
    let measurements = with(|of| of.ranks.iter_mut().for_each(|rank| rank.elapsed_s = 0.0));
    assert!(Report::new(&measurements).verdict.text.starts_with("Cannot tell: "));
}

#[test]
fn verdict_mentions_missing_ranks() {
    let measurements = with(|of| of.trace.missing.push((3, "no file".to_owned())));
    assert!(Report::new(&measurements).verdict.text.ends_with("1 of 8 ranks is missing from the trace."));
    assert_eq!(find(&measurements, "Ranks are missing").unwrap().kind, Kind::Limitation);
}

#[test]
fn unused_wildcards_can_be_asserted() {
    let wildcards = |any_source, any_tag| {
        costing_with(0.2, |of| of.totals.wildcards = Wildcards { none: 9000, any_source, any_tag, both: 0 })
    };
    let text = |of: &Measurements| find(of, "wildcards are not used").map(|advice| advice.text);
    let neither = text(&wildcards(0, 0)).unwrap();
    assert!(neither.contains("no_any_source") && neither.contains("no_any_tag"));
    let sources = text(&wildcards(10, 0)).unwrap();
    assert!(!sources.contains("no_any_source") && sources.contains("no_any_tag"));
    assert_eq!(text(&wildcards(10, 10)), None);
    // Probes use wildcards too. Missing calls may use wildcards.
    let mut probing = wildcards(0, 0);
    probing.totals.probes_any_source = 1;
    assert!(!text(&probing).unwrap().contains("no_any_source"));
    let mut partial = wildcards(0, 0);
    partial.trace.calls_left_out = 1;
    assert_eq!(text(&partial), None);
    assert!(find(&partial, "Calls are missing").is_some());
}

#[test]
fn run_of_mostly_setup_is_no_answer() {
    let short = |setup: f64| {
        costing_with(0.003, |of| {
            of.setup_s = setup * of.elapsed_s;
            of.ranks.iter_mut().for_each(|rank| rank.setup_s = setup * rank.elapsed_s);
        })
    };
    let verdict = Report::new(&short(0.9)).verdict;
    assert_eq!(verdict.answer, Answer::Unknown);
    assert!(
        verdict.text.starts_with("Cannot tell: MPI_Init and MPI_Finalize took 90 % of the run."),
        "{}",
        verdict.text
    );
    let expected = "Without MPI_Init and MPI_Finalize, the share is 3 % (1.5–6 %). Trace a longer run.";
    assert!(verdict.text.contains(expected), "{}", verdict.text);
    let exact = with(|of| {
        *of = short(0.9);
        let at = &mut of.engines[0].ranks[3];
        (at.match_ns, at.match_cold_ns) = (at.match_ns * 2.0, at.match_cold_ns / 2.0);
    });
    let text = Report::new(&exact).verdict.text;
    assert!(text.contains("the share is 3 %. Trace a longer run."), "{text}");
    assert!((verdict.share - 0.003).abs() < 1e-9 && (verdict.share_without_setup - 0.03).abs() < 1e-9);
    assert!(find(&short(0.9), "took most of the run").is_some());
    assert!(find(&short(0.4), "took most of the run").is_none());
}

#[test]
fn stand_in_engine_is_named() {
    let of = |library: Option<&str>, engine: usize| {
        let measurements = costing_with(0.2, |of| {
            of.trace.library = library.map(str::to_owned);
            of.engines.swap(0, engine);
        });
        Report::new(&measurements).verdict.text
    };
    let expected = "(the traced library searches as Open MPI does)";
    let open_mpi = Some("Open MPI v5.0.11, package: Open MPI somebody@somewhere");
    assert!(of(open_mpi, 0).contains(&format!("`list`, which searches as MPICH does {expected}.")));
    assert!(of(Some("MPICH Version: 5.0.2"), 1).contains("(the traced library searches as MPICH does)"));
    for (library, engine) in
        [(None, 0), (None, 1), (Some("MPICH Version: 5.0.2"), 0), (open_mpi, 1), (open_mpi, 2)]
    {
        let text = of(library, engine);
        assert!(!text.contains("the traced library"), "{text}");
    }
}

fn costly(of: &mut Measurements) {
    *of = costing(0.2);
}

fn trifling(of: &mut Measurements) {
    *of = costing(0.001);
    one_tuple(&mut of.ranks[3]);
    of.totals.tags_unique = 100_000;
    of.totals.wildcards = Wildcards { none: 0, any_source: 4, any_tag: 0, both: 0 };
}

fn odd_times(of: &mut Measurements) {
    of.implausible_times.backward = 1;
    of.implausible_times.first_rank = Some(4);
    of.implausible_times.outliers = vec![2, 3];
}

fn wrong_engine(of: &mut Measurements) {
    costly(of);
    of.engines[2].disagreements = 7;
}

/// A title of advice, a change of the measurements, and a part of the text. `None`: the advice is absent.
#[test]
fn advice_follows_measurements() {
    type Case = (&'static str, fn(&mut Measurements), Option<&'static str>);
    let cases: [Case; 33] = [
        ("Host load", costly, None),
        (
            "Host load",
            |of| {
                of.timings.interrupted = 40;
                of.timings.processor_s = of.timings.wall_s / 2.0;
            },
            Some("waited for a processor 50 % of the time (in 40 of 400 bursts)"),
        ),
        (
            "Host load",
            |of| {
                of.timings.interrupted = 39;
                of.timings.processor_s = of.timings.wall_s / 2.0;
            },
            None,
        ),
        ("implausible", costly, None),
        ("implausible", odd_times, Some("1 call begins before an earlier call")),
        ("implausible", odd_times, Some("2 ranks begin or end")),
        ("No phase was timed with cold", costly, None),
        ("No phase was timed with cold", |of| of.timings.cold_phases = 0, Some("")),
        ("timed while counting", costly, None),
        ("timed while counting", |of| of.engines[1].timed_counting = 0.5, Some("50 % of the operations")),
        ("estimates", costly, None),
        ("estimates", |of| of.engines[0].sampled = 0.25, Some("`list` (25")),
        ("have the same source and tag", trifling, None),
        (
            "have the same source and tag",
            |of| {
                costly(of);
                one_tuple(&mut of.ranks[3]);
            },
            Some(""),
        ),
        ("Many distinct tags", trifling, None),
        (
            "Many distinct tags",
            |of| {
                costly(of);
                many_tuples(&mut of.ranks[3]);
                of.totals.tags_unique = 100_000;
            },
            Some(""),
        ),
        ("any source are common", trifling, None),
        ("wildcards are not used", trifling, None),
        (
            "too wide",
            |of| {
                of.totals.tag_max = Some(i32::MAX);
                of.trace.ranks = 1 << 20;
                of.communicators[0].context = 1 << 15;
            },
            Some("need 67 bits"),
        ),
        ("needs no change", |of| *of = costing(0.004), Some("")),
        ("Another engine", |of| *of = costing(0.004), None),
        ("Another engine would help", costly, Some("`bins`")),
        ("Another engine would help", wrong_engine, Some("`rank_array`")),
        ("An engine matched incorrectly", wrong_engine, Some("")),
        ("Post receives earlier", |_| {}, Some("MPI_Recv (4,005)")),
        ("Post receives earlier", |of| of.totals.late_by_function = [(Function::Recv, 10)].into(), None),
        ("MPI_Improbe", |_| {}, None),
        ("MPI_Improbe", |of| of.totals.probes_found = 5000, Some("")),
        (
            "MPI_Improbe",
            |of| {
                of.totals.probes_found = 5000;
                of.calls.remove(&Function::Iprobe);
                of.calls.insert(Function::Improbe, 5000);
            },
            None,
        ),
        ("One rank receives from all", |of| *of = synthetic::run(1024), Some("")),
        ("One rank receives from all", |_| {}, None),
        ("Long posted receive queue", |of| of.ranks[1].posted.length_max = 5000, Some("")),
        ("Long unexpected message queue", |of| of.ranks[1].unexpected.length_max = 5000, Some("")),
    ];
    for (title, change, expected) in cases {
        let text = find(&with(change), title).map(|advice| advice.text);
        let is_expected = match (&text, expected) {
            (Some(text), Some(part)) => text.contains(part),
            (text, part) => text.is_none() && part.is_none(),
        };
        assert!(is_expected, "{title}, {expected:?}: {text:?}");
    }
}

#[test]
fn limitations_are_reported() {
    let doubtful = with(|of| {
        of.arrivals.ended_calls.insert("a wait that never ends", 1);
        of.arrivals.made_up_messages = 4;
        of.arrivals.unexplained_ranks = 2;
        of.totals.reproduced_wildcards = 1;
        of.arrivals.compared[1].unexpected_share = 0.9;
        of.engines[0].sampled = 0.25;
    });
    for title in [
        "estimates",
        "Blocked calls were completed",
        "from or to missing calls",
        "Unknown communicators",
        "Unmatched receives or messages",
        "Wildcards matched other messages",
        "depends on the arrival order",
    ] {
        assert_eq!(find(&doubtful, title).map(|advice| advice.kind), Some(Kind::Limitation), "{title}");
    }
}

#[test]
fn arrival_order_changes_queue_length() {
    let longer = |longest| {
        let differing = with(|of| of.arrivals.compared[1].unexpected_longest = longest);
        find(&differing, "depends on the arrival order").map(|advice| advice.text)
    };
    assert_eq!(longer(63), None);
    let text = longer(1000).unwrap();
    assert!(text.contains("the longest unexpected queue has 3 messages"), "{text}");
    assert!(text.contains("With `timestamps`: 31 % and 1,000 messages."), "{text}");
}

#[test]
fn run_is_advised_beyond_limit() {
    let curve = Curve { warm: vec![(128.0, 2.0)], cold_ns: 14.0, empty_ns: 100.0 };
    let cost = synthetic::library_cost(1, curve.clone(), curve);
    let text = |longest: u64| {
        let measurements = costing_with(0.2, |of| {
            of.library_cost = Some(cost.clone());
            of.ranks.iter_mut().for_each(|rank| rank.worst_length = longest);
            for at in &mut of.engines[2].ranks {
                (at.match_ns, at.match_cold_ns) = (at.match_ns / 10.0, at.match_cold_ns / 10.0);
            }
        });
        let other = find(&measurements, "Another engine would help").unwrap().text;
        other + &find(&measurements, "Run with overflow matching").map_or(String::new(), |run| run.text)
    };
    assert!(
        text(75).contains("`matchpoint run` does not help: no queue exceeds the 75 entries"),
        "{}",
        text(75)
    );
    assert!(text(76).ends_with("`matchpoint run --compare 3 --limit 75 -- …`"), "{}", text(76));
}
