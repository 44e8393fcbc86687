//! Measurements and their results.

use std::time::Duration;

use matchpoint::engines::REGISTRY;
use matchpoint_bench::latency::{LatencyOptions, StageEnd, latency};
use matchpoint_bench::offload::{OffloadOptions, offload};
use matchpoint_bench::results::Full;
use matchpoint_bench::workloads::{Job, parse};
use matchpoint_bench::{Options, Outcome, Results, run};

fn options(engines: &[&str], milliseconds: u64) -> Options {
    Options {
        engines: engines.iter().map(|name| (*name).to_owned()).collect(),
        budget: Duration::from_millis(milliseconds),
        is_cold: false,
    }
}

fn jobs(texts: &[&str]) -> Vec<Job> {
    texts.iter().flat_map(|text| parse(text).unwrap()).collect()
}

fn results(options: &Options, texts: &[&str]) -> Results {
    run(options, &jobs(texts), &mut |_, _, _| true).unwrap().unwrap()
}

#[test]
fn list_compares_entries_up_to_match() {
    let results = results(&options(&["list"], 50), &["last"]);
    for cell in &results.cells {
        assert_eq!(cell.attempts_mean, Some(cell.n as f64 + 1.0));
        assert!(cell.bytes_peak >= 40 * cell.n as u64);
    }
    assert_eq!(results.cells.len(), 6);
    assert!(results.reference_ns > 0.0 && results.floor_ns > 0.0);
}

#[test]
fn every_engine_is_right_on_workloads() {
    let names: Vec<&str> = REGISTRY.iter().map(|spec| spec.name).collect();
    let small = ["last:8", "last_sources:8", "in_order:100", "reverse:100", "many_sources:32", "wild:128"];
    let late =
        ["unexpected:100", "unexpected_sources:100", "unexpected_any:100", "gather:9", "gather_one_tag:9"];
    let both = ["posted_any:100", "identical:100", "halo:26"];
    let results = results(&options(&names, 20), &[&small[..], &late, &both].concat());
    for cell in &results.cells {
        let Outcome::Measured(timing) = &cell.outcome else { panic!("{cell:?}") };
        assert!(timing.ns_min > 0.0 && timing.ns_min <= timing.ns_p25, "{cell:?}");
        assert!(timing.ns_p25 <= timing.ns_median && timing.ns_median <= timing.ns_p75, "{cell:?}");
        assert!(cell.attempts_mean.is_some_and(|attempts| attempts > 0.0), "{cell:?}");
    }
}

#[test]
fn slow_engine_is_reported_with_bound() {
    let results = results(&options(&["list"], 1), &["many_sources:16384"]);
    let [cell] = &results.cells[..] else { panic!() };
    let Outcome::TooSlow { above_ns, why } = &cell.outcome else { panic!("{cell:?}") };
    // A millisecond, over 65,536 messages.
    assert!(*above_ns >= 1e6 / 65536.0, "{above_ns}");
    let took = why.split_once("of the 131072 calls of a round took ").unwrap().1;
    assert!(took.parse::<f64>().is_err() && !took.starts_with("0.0"), "{why}");
    assert_eq!(cell.attempts_mean, None);
}

#[test]
fn posts_and_arrivals_have_separate_times() {
    let results = results(&options(&["bins"], 50), &["unexpected:2048", "halo"]);
    let split = |at: usize| match &results.cells[at].outcome {
        Outcome::Measured(timing) => (timing.split, timing.ns_median),
        other => panic!("{other:?}"),
    };
    let (Some((post, arrive)), both) = split(0) else { panic!() };
    assert!(post > 0.0 && arrive > 0.0 && (post + arrive) / both < 3.0, "{post} {arrive} {both}");
    assert_eq!(split(1).0, None);
}

#[test]
fn cold_single_calls_have_times() {
    let cold = Options { is_cold: true, ..options(&["list", "bins"], 100) };
    let results = results(&cold, &["last:8", "halo"]);
    assert!(results.is_cold);
    for cell in &results.cells {
        let Outcome::Measured(timing) = &cell.outcome else { panic!("{cell:?}") };
        let (post, arrive) = timing.split.unwrap();
        assert_eq!(timing.ns_median, post + arrive);
        assert!(timing.samples >= 8);
    }
}

#[test]
fn stop_request_ends_run() {
    let mut calls = 0;
    let stopped = run(&options(&["list"], 10), &jobs(&["last"]), &mut |done, total, _| {
        assert!(done < total);
        calls += 1;
        calls < 3
    });
    assert!(stopped.unwrap().is_none());
    assert_eq!(calls, 3);
}

#[test]
fn wrong_name_is_refused_before_work() {
    let mut calls = 0;
    let error = run(&options(&["list", "lost"], 10), &jobs(&["last"]), &mut |_, _, _| {
        calls += 1;
        true
    });
    assert!(error.unwrap_err().to_string().contains("there is no engine `lost`"));
    assert_eq!(calls, 0);
}

#[test]
fn every_stage_counts_its_calls() {
    let options = LatencyOptions {
        engines: REGISTRY.iter().map(|spec| spec.name.to_owned()).collect(),
        entries: 4000,
        repetitions: 2,
        budget: Duration::from_secs(20),
    };
    let latencies = latency(&options, &mut |_, _, _| true).unwrap().unwrap();
    for engine in &latencies.engines {
        let calls: Vec<usize> = engine.stages.iter().map(|stage| stage.percentiles.calls).collect();
        assert_eq!(
            calls,
            [4000, 500, 500, 500, 2500, 4000, 500, 500, 500, 4500, 4000, 64],
            "{}",
            engine.engine
        );
        for stage in &engine.stages {
            assert_eq!(stage.ended, None, "{}: {}", engine.engine, stage.what);
            let of = stage.percentiles;
            assert!(of.p50_ns <= of.p99_ns && of.p99_ns <= of.p9999_ns && of.p9999_ns <= of.max_ns);
            assert!(of.p9999_ns <= of.p9999_once_ns, "the shortest of several is no longer than the first");
        }
        assert_eq!(engine.all.calls, calls.iter().sum::<usize>());
    }
}

#[test]
fn slow_engine_stops_before_later_stages() {
    let options = LatencyOptions {
        engines: vec!["list".to_owned()],
        entries: 200_000,
        repetitions: 2,
        budget: Duration::from_millis(30),
    };
    let latencies = latency(&options, &mut |_, _, _| true).unwrap().unwrap();
    let stages = &latencies.engines[0].stages;
    let given_up = stages.iter().position(|stage| stage.ended.is_some()).unwrap();
    let Some(StageEnd::GivenUp(why)) = &stages[given_up].ended else { panic!("{stages:?}") };
    assert!(why.contains(" calls in "), "{stages:?}");
    assert_eq!(stages[given_up + 1].ended, Some(StageEnd::NotReached), "{stages:?}");
}

#[test]
fn full_table_ends_stage_before_refused_call() {
    let options = LatencyOptions {
        engines: vec!["optimistic:capacity=100".to_owned()],
        entries: 4000,
        repetitions: 2,
        budget: Duration::from_secs(20),
    };
    let latencies = latency(&options, &mut |_, _, _| true).unwrap().unwrap();
    let stages = &latencies.engines[0].stages;
    assert_eq!(stages[5].what, "receives are posted");
    assert_eq!(stages[5].ended, Some(StageEnd::Full("after 100 of 4000 calls".to_owned())));
    assert_eq!(stages[5].percentiles.calls, 100, "{stages:?}");
    assert_eq!(stages[6].ended, Some(StageEnd::NotReached), "{stages:?}");
    let done: usize = stages.iter().filter(|of| of.ended.is_none()).map(|of| of.percentiles.calls).sum();
    assert_eq!(latencies.engines[0].all.calls, done);
}

#[test]
fn substitute_hides_costs_of_full_table() {
    for (depth, messages, when) in [(200, 10, "receives in front"), (0, 200, "of a sequence")] {
        let options = OffloadOptions {
            engines: vec!["optimistic:capacity=100".to_owned(), "list".to_owned()],
            budget_bytes: 1 << 20,
            messages,
            depth,
            repeats: 2,
            repetitions: 2,
        };
        let costs = offload(&options, &mut |_, _, _| true).unwrap().unwrap();
        let Some(Full(calls)) = &costs[0].full else { panic!("{costs:?}") };
        assert!(calls.contains(when) && costs[0].is_right, "{costs:?}");
        assert!(costs[1].is_right && costs[1].costs.post.median_ns > 0.0, "{costs:?}");
    }
}
