//! Recorded arrivals: their replay, their assignment to receives, and arrivals within recorded intervals.

use matchpoint_replay::recorded::{Match, assign_arrivals};
use matchpoint_replay::{Arrivals, LogGp, Measurements, Options, Progress, ReplayError};
use matchpoint_trace::call::*;
use matchpoint_trace::{Arrival, Function};

use crate::program::*;

/// Rank 1 sends first, but rank 2's message arrives first.
fn overtaken() -> Program {
    let root = Rank::new()
        .compute(1000)
        .recv(from_any(7), status(2, 7))
        .recv(from_any(7), status(1, 7))
        .taking(5000);
    program(vec![root, Rank::new().send(to(0, 7)), Rank::new().compute(200).send(to(0, 7))]).on_one_clock()
}

#[test]
fn recorded_order_is_order_of_arrivals() {
    let run = overtaken().arrivals(0, &[(900, 2, 7), (2000, 1, 7)]).arrivals(1, &[]).arrivals(2, &[]);
    let recorded = run.replay(Arrivals::Recorded);
    assert_eq!(recorded.totals.reproduced_wildcards, 2);
    assert_eq!((recorded.ranks[0].unexpected.length_max, recorded.ranks[0].posted.length_max), (1, 1));
    assert_eq!((recorded.arrivals.arrivals_moved, recorded.arrivals.arrivals_outside), (0, 0));
    assert!(recorded.arrivals.ended_calls.is_empty(), "{:?}", recorded.arrivals.ended_calls);
}

#[test]
fn unsent_message_delays_no_other() {
    let run = overtaken().arrivals(0, &[(500, 2, 8), (900, 2, 7), (2000, 1, 7)]);
    let recorded = run.arrivals(1, &[]).arrivals(2, &[]).replay(Arrivals::Recorded);
    assert_eq!(recorded.totals.reproduced_wildcards, 2);
    assert_eq!(recorded.arrivals.ended_calls.values().sum::<u64>(), 1, "{:?}", recorded.arrivals.ended_calls);
}

#[test]
fn trace_without_arrivals_is_refused() {
    let engines = vec!["list".into()];
    let options = Options { engines, arrivals: Arrivals::Recorded, ..Options::default() };
    let refused = matchpoint_replay::replay(&overtaken().arrivals(0, &[]), &options, &Progress::default());
    assert!(matches!(refused, Err(ReplayError::NoArrivals)));
}

fn arrivals_of_rank_0(run: &Program, of_0: &[(u64, u64)]) -> matchpoint_replay::recorded::AssignedArrivals {
    let matches = of_0.iter().map(|&(posted, arrived)| Match { posted, arrived }).collect();
    let others = (1..run_ranks(run)).map(|_| Vec::new());
    let all = std::iter::once(matches).chain(others).collect();
    assign_arrivals(run, all, &Progress::default()).unwrap().remove(0)
}

fn run_ranks(run: &Program) -> usize {
    matchpoint_trace::Trace::present(run).len()
}

#[test]
fn match_belongs_to_posting_call() {
    // Times of rank 0's calls: Init to 0, Irecv 0 to 100, Barrier 100 to 200, Irecv 200 to 300, Waitall 300
    // to 400.
    let root = Rank::new().irecv(from_any(1), 1).barrier().irecv(from(1, 2), 2);
    let action = Action::Complete { awaits: Await::All, blocking: true };
    let both = [Completion { index: 0, status: status(1, 1) }, Completion { index: 1, status: status(1, 2) }];
    let root = root.full(matchpoint_trace::Function::Waitall, action, &[1, 2], &both, &[]);
    let other = Rank::new().send(to(0, 1)).barrier().send(to(0, 2));
    let run = program(vec![root, other]).on_one_clock();
    // Receives in the barrier and in the wait belong to no call.
    let arrivals = arrivals_of_rank_0(&run, &[(50, 180), (120, 130), (250, 230), (350, 360)]);
    let expected = [Arrival { at_ns: 180, from: 1, tag: 1 }, Arrival { at_ns: 200, from: 1, tag: 2 }];
    assert_eq!((&arrivals.arrivals[..], arrivals.unknown), (&expected[..], 0));
    // The library matched one receive internally.
    let arrivals = arrivals_of_rank_0(&run, &[(50, 180), (120, 130)]);
    assert_eq!((&arrivals.arrivals[..], arrivals.unknown), (&expected[..1], 1));
}

/// One neighbor is `MPI_PROC_NULL`, another the rank itself.
#[test]
fn receives_started_together_have_own_arrivals() {
    let init = |args, request| Action::ReceiveInit { args, request: RequestId(request) };
    let function = matchpoint_trace::Function::Recv_init;
    let none = ReceiveArgs { source: Peer::Null, ..from(0, 1) };
    let action = Action::Complete { awaits: Await::All, blocking: true };
    let complete = |index, source| Completion { index, status: status(source, 1) };
    // Four inits to 400, Startall 400 to 500, Waitall.
    let root = Rank::new()
        .call(function, init(none, 1))
        .call(function, init(from(0, 1), 2))
        .call(function, init(from(1, 1), 3))
        .call(function, init(from(2, 1), 4))
        .full(matchpoint_trace::Function::Startall, Action::Start, &[1, 2, 3, 4], &[], &[])
        .full(
            matchpoint_trace::Function::Waitall,
            action,
            &[1, 2, 3, 4],
            &[complete(1, 0), complete(2, 1), complete(3, 2)],
            &[],
        );
    let other = || Rank::new().send(to(0, 1));
    let run = program(vec![root, other(), other()]).on_one_clock();
    let arrival = |at_ns, from| Arrival { at_ns, from, tag: 1 };
    // Two posts, because the library matches the receive from the rank itself.
    let arrivals = arrivals_of_rank_0(&run, &[(450, 700), (460, 600)]);
    assert_eq!((&arrivals.arrivals[..], arrivals.unknown), (&[arrival(600, 2), arrival(700, 1)][..], 1));
    // Three posts; the receive from rank 1 never had a message.
    let arrivals = arrivals_of_rank_0(&run, &[(440, 445), (450, u64::MAX), (460, 600)]);
    assert_eq!((&arrivals.arrivals[..], arrivals.unknown), (&[arrival(445, 0), arrival(600, 2)][..], 1));
    // With one post, the assignment is ambiguous.
    assert_eq!(arrivals_of_rank_0(&run, &[(450, 700)]).unknown, 3);
}

#[test]
fn persistent_and_probed_receives_have_arrivals() {
    let init = Action::ReceiveInit { args: from(1, 1), request: RequestId(1) };
    let probe = Action::Probe {
        args: ReceiveArgs { bytes: None, tag: TagArg::Any, ..from_any(0) },
        blocking: true,
        found: true,
        status: status(1, 3),
        handle: Some(HandleId(1)),
    };
    let take = Action::MatchedReceive { handle: HandleId(1), request: None, status: status(1, 3) };
    // Recv_init 0 to 100, Start 100, Wait 200, Start 300, Wait 400, Mprobe 500, Mrecv 600.
    let root = Rank::new()
        .call(matchpoint_trace::Function::Recv_init, init)
        .full(matchpoint_trace::Function::Start, Action::Start, &[1], &[], &[])
        .wait(1, status(1, 1))
        .full(matchpoint_trace::Function::Start, Action::Start, &[1], &[], &[])
        .wait(1, status(1, 1))
        .call(matchpoint_trace::Function::Mprobe, probe)
        .call(matchpoint_trace::Function::Mrecv, take);
    let other = Rank::new().send(to(0, 1)).send(to(0, 1)).send(to(0, 3));
    let run = program(vec![root, other]).on_one_clock();
    let arrivals = arrivals_of_rank_0(&run, &[(560, 555), (310, 410), (150, 220)]);
    let expected = [(220, 1), (410, 1), (500, 3)].map(|(at_ns, tag)| Arrival { at_ns, from: 1, tag });
    assert_eq!((&arrivals.arrivals[..], arrivals.unknown), (&expected[..], 0));
}

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
