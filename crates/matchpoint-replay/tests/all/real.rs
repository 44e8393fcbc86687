//! Real traces: engines agree, all possible messages match, and no call is ended early.

use crate::traces::{REAL, opened};
use matchpoint::engines::REGISTRY;
use matchpoint_replay::{Arrivals, Measurements, Options, Progress, replay};

fn replayed(name: &str, arrivals: Arrivals) -> Measurements {
    let engines = REGISTRY.iter().map(|spec| spec.name.to_owned()).collect();
    replayed_under(name, engines, arrivals)
}

fn replayed_under(name: &str, engines: Vec<String>, arrivals: Arrivals) -> Measurements {
    let options = Options { engines, arrivals, ..Options::default() };
    replay(&*opened(&REAL[name].folder), &options, &Progress::default()).unwrap()
}

/// Number of messages without a receive: `dumpi-testmpi-4` fails to cancel twelve sends.
fn never_received(name: &str) -> u64 {
    if name == "dumpi-testmpi-4" { 12 } else { 0 }
}

#[test]
fn simulated_and_timestamped_replays_match_everything() {
    for name in REAL.keys() {
        for mode in [Arrivals::Simulated, Arrivals::Timestamps] {
            let run = replayed(name, mode);
            let what = format!("{name}, {mode}");
            assert!(run.arrivals.ended_calls.is_empty(), "{what}: {:?}", run.arrivals.ended_calls);
            for engine in &run.engines {
                let what = format!("{what}, {}", engine.name);
                assert_eq!(engine.disagreements, 0, "{what}");
                assert_eq!(engine.unmatched_receives, 0, "{what}");
                assert_eq!(engine.unmatched_messages, never_received(name), "{what}");
                assert_eq!(engine.matched + run.totals.cancelled, run.totals.receives, "{what}");
                assert_eq!(engine.posted.hits + engine.unexpected.hits, engine.matched, "{what}");
            }
        }
    }
}

#[test]
fn at_wait_nothing_is_unexpected() {
    for name in REAL.keys() {
        let run = replayed(name, Arrivals::AtWait);
        for engine in &run.engines {
            assert_eq!(engine.disagreements, 0, "{name}, {}", engine.name);
            assert_eq!(engine.unexpected.hits, 0, "{name}, {}", engine.name);
            assert_eq!(engine.unmatched_messages, 0, "{name}, {}", engine.name);
            // The threads of `imb-mt-4` reuse request ids faster than the recorder writes calls.
            let left = if name == "imb-mt-4" { 8 } else { 0 };
            assert_eq!(engine.unmatched_receives, left, "{name}, {}", engine.name);
        }
    }
}

#[test]
fn counts_do_not_depend_on_arrivals() {
    for name in REAL.keys() {
        let [simulated, timestamps, at_wait] = Arrivals::ASSUMED.map(|mode| replayed(name, mode).totals);
        for other in [&timestamps, &at_wait] {
            assert_eq!((simulated.sends, simulated.receives), (other.sends, other.receives), "{name}");
            assert_eq!(simulated.wildcards, other.wildcards, "{name}");
            assert_eq!(simulated.sends_per_tag, other.sends_per_tag, "{name}");
        }
        // `timestamps` handles calls of several threads in the order of their return.
        assert_eq!(simulated.compatible_runs, timestamps.compatible_runs, "{name}");
    }
}

#[test]
fn replay_is_reproducible() {
    for name in REAL.keys().filter(|name| name.contains("mt") || name.contains("quicksilver")) {
        let runs = [(); 2].map(|()| replayed(name, Arrivals::Simulated));
        let [first, second] = runs.map(|run| {
            let attempts: Vec<u64> = run.engines.iter().map(|engine| engine.posted.attempts).collect();
            (attempts, run.totals.late_by_function, run.replayed_s)
        });
        assert_eq!(first, second, "{name}");
    }
}

#[test]
fn full_table_gives_no_disagreement() {
    let Some(name) = REAL.keys().find(|name| name.as_str() == "lulesh-27") else { return };
    let engines = ["list", "optimistic:capacity=4"].map(String::from).to_vec();
    let run = replayed_under(name, engines, Arrivals::Simulated);
    let [list, small] = &run.engines[..] else { panic!("two were asked for") };
    assert!(!list.full && list.sampled == 1.0);
    assert!(small.full && small.sampled < 1.0, "{}", small.sampled);
    assert_eq!(small.disagreements, 0);
}
