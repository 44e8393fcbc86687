//! Traffic of a trace, compared with the results of a replay.

use crate::traces::{REAL, opened};
use matchpoint_replay::traffic::{PhaseTraffic, TrafficClasses, traffic};
use matchpoint_replay::{Arrivals, Measurements, Options, Progress, replay};

const LIMITS: [u64; 2] = [100, 5000];

fn both(name: &str, arrivals: Arrivals, phases: u32) -> (Measurements, Vec<PhaseTraffic>) {
    let trace = opened(&REAL[name].folder);
    let engines = ["list", "hybrid"].map(String::from);
    let options = Options { engines: engines.to_vec(), arrivals, ..Options::default() };
    let classes = TrafficClasses { phases, size_limits: &LIMITS };
    let (measured, phases) = traffic(trace.as_ref(), &options, classes, &Progress::default()).unwrap();
    // Traffic does not change the measurements.
    let alone = replay(trace.as_ref(), &options, &Progress::default()).unwrap();
    assert_eq!(measured.totals.sends, alone.totals.sends);
    assert_eq!(measured.engines[0].posted.attempts, alone.engines[0].posted.attempts);
    (measured, phases)
}

#[test]
fn phases_sum_to_replay() {
    for name in REAL.keys() {
        for arrivals in [Arrivals::Simulated, Arrivals::Timestamps, Arrivals::AtWait] {
            let (measured, phases) = both(name, arrivals, 7);
            assert_eq!(phases.len(), 7);
            assert!(phases.windows(2).all(|pair| pair[0].begin_s < pair[1].begin_s), "{name}");
            if measured.totals.sends > 1 {
                let is_used = |phase: &PhaseTraffic| {
                    !phase.flows.is_empty() || phase.matching.iter().any(|of| of.operations > 0)
                };
                assert!(is_used(&phases[0]) && is_used(&phases[6]), "{name} {arrivals}");
            }
            let flows = || phases.iter().flat_map(|phase| &phase.flows);
            let (messages, bytes): (u64, u64) =
                (flows().map(|flow| flow.messages).sum(), flows().map(|flow| flow.bytes).sum());
            // Without known members, the destination of a message is unknown.
            if measured.communicators.iter().all(|of| of.resolved) {
                assert_eq!(messages, measured.totals.sends, "{name}");
                assert_eq!(bytes, measured.totals.bytes, "{name}");
            } else {
                assert!(messages <= measured.totals.sends && bytes <= measured.totals.bytes, "{name}");
            }
            let probes = measured.totals.probes_found + measured.totals.probes_missed;
            for (at, engine) in measured.engines.iter().enumerate() {
                for (process, rank) in engine.ranks.iter().enumerate() {
                    let counted: u64 =
                        phases.iter().map(|phase| phase.matching[process].attempts[at].unwrap()).sum();
                    // Traffic counts probes, the replay does not.
                    let is_right =
                        if probes == 0 { counted == rank.attempts } else { counted >= rank.attempts };
                    assert!(is_right, "{name} {arrivals} {} {process}: {counted}", engine.name);
                }
            }
        }
    }
}

#[test]
fn sizes_of_class_are_within_limits() {
    let (_, phases) = both("lulesh-8", Arrivals::Simulated, 3);
    let mut classes = [0; 3];
    for flow in phases.iter().flat_map(|phase| &phase.flows) {
        let mean = flow.bytes / flow.messages;
        classes[LIMITS.iter().filter(|&&limit| mean > limit).count()] += flow.messages;
    }
    assert!(classes.iter().filter(|&&messages| messages > 0).count() > 1, "{classes:?}");
}
