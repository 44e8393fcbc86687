//! Arrivals within recorded intervals, with `--arrivals timestamps`.

use crate::program::*;
use matchpoint_replay::{Arrivals, LogGp, Measurements};
use matchpoint_trace::Function;
use matchpoint_trace::call::{Action, ReceiveArgs};

fn slow(program: &Program) -> Measurements {
    let loggp = LogGp { latency_ns: 1e6, overhead_ns: 0.0, gap_ns: 0.0, ..LogGp::default() };
    let run = program.replay_on(Arrivals::Timestamps, loggp);
    assert!(run.arrivals.ended_calls.is_empty(), "{:?}", run.arrivals.ended_calls);
    run
}

/// Rank 0 sends at 1000 ns; rank 1 has received at 1500 ns.
fn quick() -> Program {
    let receive = Rank::new().recv(from(0, 5), status(0, 5)).taking(1500);
    program(vec![Rank::new().compute(1000).send(to(1, 5)), receive])
}

#[test]
fn message_arrives_before_reporting_call_ends() {
    let apart = slow(&quick());
    assert!(!apart.arrivals.intervals_known);
    assert_eq!((apart.arrivals.arrivals_moved, apart.arrivals.arrivals_outside), (0, 0));
    assert!(apart.replayed_s >= 1e-3, "{}", apart.replayed_s);
    let run = slow(&quick().on_one_clock());
    assert!(run.arrivals.intervals_known);
    assert_eq!((run.arrivals.arrivals_moved, run.arrivals.arrivals_outside), (1, 0));
    assert_eq!(run.replayed_s, run.elapsed_s);
}

#[test]
fn intervals_need_timestamps() {
    let run = quick().on_one_clock().simulated();
    assert!(!run.arrivals.intervals_known);
    assert_eq!(run.arrivals.arrivals_moved, 0);
}

#[test]
fn timely_arrival_is_unchanged() {
    let receive = Rank::new().recv(from(0, 5), None).taking(9 * MILLISECOND);
    let run = slow(&program(vec![Rank::new().compute(1000).send(to(1, 5)), receive]).on_one_clock());
    assert_eq!((run.arrivals.arrivals_moved, run.arrivals.arrivals_outside), (0, 0));
}

fn probe(args: ReceiveArgs) -> Action {
    let args = ReceiveArgs { bytes: None, ..args };
    Action::Probe { args, blocking: true, found: true, status: None, handle: None }
}

#[test]
fn requests_and_probes_limit_arrivals() {
    let sends = Rank::new().isend(to(1, 1), 1).isend(to(1, 2), 2).isend(to(1, 3), 3).waitall(&[1, 2, 3]);
    let receives = Rank::new()
        .irecv(from(0, 3), 1)
        .irecv(from(0, 1), 2)
        .waitall(&[1, 2])
        .taking(20 * MICROSECOND)
        .call(Function::Probe, probe(from(0, 2)))
        .recv(from(0, 2), None);
    let run = slow(&program(vec![sends, receives]).on_one_clock());
    // The last message cannot overtake the second.
    assert_eq!((run.arrivals.arrivals_moved, run.arrivals.arrivals_outside), (3, 0));
    assert_eq!(run.engines[0].unexpected.hits, 1);
    assert_eq!(run.engines[0].matched, 3);
}

#[test]
fn late_sends_are_counted() {
    let receive = Rank::new().recv(from(0, 5), None).taking(500);
    let run = slow(&program(vec![Rank::new().compute(1000).send(to(1, 5)), receive]).on_one_clock());
    assert_eq!((run.arrivals.arrivals_moved, run.arrivals.arrivals_outside), (0, 1));
    assert_eq!(run.engines[0].matched, 1);
}
