//! Definitions of the counts.

use matchpoint_replay::measurements::Substitute;
use matchpoint_replay::{Arrivals, Options, Progress};
use matchpoint_trace::Function;
use matchpoint_trace::call::*;

use crate::program::*;

#[test]
fn persistent_request_counts_each_start() {
    let start = |at: Rank| at.full(Function::Start, Action::Start, &[1], &[], &[]).wait(1, None);
    let send_init = Action::SendInit { args: to(1, 4), request: RequestId(1) };
    let receive_init = Action::ReceiveInit { args: from(0, 4), request: RequestId(1) };
    for mode in Arrivals::ASSUMED {
        let sender = start(start(start(Rank::new().call(Function::Send_init, send_init))));
        let receiver = start(start(start(Rank::new().call(Function::Recv_init, receive_init))));
        let run = program(vec![sender, receiver]).replay(mode);
        assert_eq!((run.totals.sends, run.totals.receives), (3, 3), "{mode}");
        assert_eq!(run.engines[0].matched, 3, "{mode}");
        assert_eq!(run.totals.posted_by_function.get(&Function::Start), Some(&3), "{mode}");
    }
}

#[test]
fn sendrecv_counts_both_proc_null_neither() {
    let exchange = |send: SendArgs, receive: ReceiveArgs| {
        let action = Action::SendReceive { send, receive, request: None, status: None };
        Rank::new().call(Function::Sendrecv, action)
    };
    let nobody = SendArgs { dest: Peer::Null, ..to(0, 0) };
    for mode in Arrivals::ASSUMED {
        let run = program(vec![
            exchange(to(1, 0), from(1, 0)).send(nobody),
            exchange(to(0, 0), from(0, 0)).recv(ReceiveArgs { source: Peer::Null, ..from(0, 0) }, None),
        ])
        .replay(mode);
        assert_eq!((run.totals.sends, run.totals.receives, run.totals.proc_null), (2, 2, 2), "{mode}");
        assert_eq!(run.engines[0].matched, 2, "{mode}");
    }
}

#[test]
fn wildcards_are_counted_by_class() {
    let any_tag = |source| ReceiveArgs { tag: TagArg::Any, ..from(source, 0) };
    let both = ReceiveArgs { source: Peer::Any, ..any_tag(0) };
    let receiver = Rank::new()
        .recv(from(0, 1), None)
        .recv(from_any(2), status(0, 2))
        .recv(any_tag(0), status(0, 3))
        .recv(both, status(0, 9));
    let sender = (1..5).fold(Rank::new(), |rank, tag| rank.send(to(1, tag)).compute(MICROSECOND));
    let run = program(vec![sender, receiver]).simulated();
    let wildcards = run.totals.wildcards;
    assert_eq!((wildcards.none, wildcards.any_source, wildcards.any_tag, wildcards.both), (1, 1, 1, 1));
    assert_eq!(run.ranks[1].any_source, 2);
    assert_eq!((run.totals.recorded_wildcards, run.totals.reproduced_wildcards), (3, 2));
    assert_eq!((run.totals.tags_unique, run.totals.tag_max), (4, Some(4)));
}

#[test]
fn remaining_entries_are_reported() {
    let run = program(vec![
        Rank::new().send(to(1, 1)).send(to(1, 1)),
        Rank::new().irecv(from(0, 2), 1).irecv(from(0, 1), 2).wait(2, None),
    ])
    .simulated();
    for engine in &run.engines {
        assert_eq!((engine.unmatched_receives, engine.unmatched_messages), (1, 1), "{}", engine.name);
    }
    assert!(run.arrivals.ended_calls.is_empty());
}

#[test]
fn runs_of_compatible_receives_have_one_selector() {
    let receives =
        [1, 1, 1, 2, 1, 1].iter().zip(1..).fold(Rank::new(), |rank, (&tag, id)| rank.irecv(from(0, tag), id));
    let sends = [1, 1, 1, 2, 1, 1].iter().fold(Rank::new(), |rank, &tag| rank.send(to(1, tag)));
    let run = program(vec![sends, receives.waitall(&[1, 2, 3, 4, 5, 6])]).simulated();
    assert_eq!(run.totals.compatible_run_max, 3);
    assert_eq!(run.totals.compatible_runs, [1, 2]);
    assert_eq!(run.ranks[1].tuples_unique, 2);
    assert_eq!(run.ranks[1].tuple_share_max, 5.0 / 6.0);
    assert_eq!(run.ranks[1].tuples_per_receive, 2.0 / 6.0);
}

#[test]
fn at_wait_no_message_is_unexpected() {
    let run = program(vec![
        Rank::new().send(to(1, 1)).send(to(1, 2)),
        Rank::new()
            .compute(MILLISECOND)
            .irecv(from(0, 1), 1)
            .irecv(from_any(2), 2)
            .compute(MILLISECOND)
            .wait(2, status(0, 2))
            .wait(1, None),
    ])
    .replay(Arrivals::AtWait);
    assert_eq!((run.engines[0].posted.hits, run.engines[0].unexpected.hits), (2, 0));
    assert_eq!(run.ranks[1].posted.length_max, 2);
}

#[test]
fn timestamps_follow_recorded_times() {
    let run = program(vec![
        Rank::new().compute(3 * MILLISECOND).send(to(1, 0)),
        Rank::new().recv(from(0, 0), None).taking(4 * MILLISECOND),
    ])
    .replay(Arrivals::Timestamps);
    assert_eq!(run.engines[0].posted.hits, 1);
    assert!((run.replayed_s - 4e-3).abs() < 1e-6, "{}", run.replayed_s);
}

#[test]
fn collectives_align_clocks() {
    // The clock of the second process is an hour ahead.
    let hour = 3_600_000 * MILLISECOND;
    let run = program(vec![
        Rank::new().barrier().send(to(1, 0)).barrier(),
        Rank::begun_at(hour).barrier().recv(from(0, 0), None).barrier(),
    ])
    .replay(Arrivals::Timestamps);
    assert_eq!(run.engines[0].matched, 1);
    assert!(run.elapsed_s < 1.0, "{}", run.elapsed_s);
    assert!(run.trace.notes.iter().any(|note| note.contains("clocks of 1 rank")), "{:?}", run.trace.notes);
}

/// The outer receives are from `MPI_PROC_NULL`, but the trace shows them as receives from any source.
fn chain(statuses: impl Fn(Option<u32>) -> Option<Status>) -> Program {
    let member = |rank: u32| {
        let neighbours = [rank.checked_sub(1), (rank < 2).then_some(rank + 1)];
        let mut calls = Rank::new();
        for (neighbour, request) in neighbours.into_iter().zip(1..) {
            calls = calls.irecv(neighbour.map_or(from_any(5), |neighbour| from(neighbour, 5)), request);
        }
        for neighbour in neighbours.into_iter().flatten() {
            calls = calls.send(to(neighbour, 5));
        }
        neighbours
            .into_iter()
            .zip(1..)
            .fold(calls, |calls, (neighbour, request)| calls.wait(request, statuses(neighbour)))
    };
    program((0..3).map(member).collect())
}

#[test]
fn proc_null_receives_are_no_wildcards() {
    let nobody = Status { source: Peer::Any, tag: TagArg::Any, bytes: Some(0), cancelled: false };
    let told = |neighbour: Option<u32>| neighbour.map_or(Some(nobody), |rank| status(rank, 5));
    for trace in [chain(told), chain(|_| None)] {
        for mode in Arrivals::ASSUMED {
            let run = trace.replay(mode);
            assert_eq!((run.totals.receives, run.totals.wildcards.any_source), (4, 0), "{mode}");
            assert_eq!((run.totals.proc_null, run.engines[0].matched), (2, 4), "{mode}");
            assert!(run.arrivals.ended_calls.is_empty(), "{mode}");
        }
    }
}

#[test]
fn wildcards_with_ignored_status_stay() {
    let run = program(vec![
        Rank::new().irecv(from_any(5), 1).irecv(from_any(5), 2).waitall(&[1, 2]),
        Rank::new().send(to(0, 5)),
        Rank::new().send(to(0, 5)),
    ])
    .simulated();
    assert_eq!((run.totals.wildcards.any_source, run.totals.proc_null), (2, 0));
    assert_eq!(run.engines[0].matched, 2);
}

#[test]
fn freed_persistent_id_is_no_wildcard() {
    let nobody = Status { source: Peer::Any, tag: TagArg::Any, bytes: Some(0), cancelled: false };
    let receive_init = Action::ReceiveInit { args: from_any(9), request: RequestId(1) };
    let send_init = Action::SendInit { args: to(1, 1), request: RequestId(1) };
    let run = program(vec![
        Rank::new()
            .call(Function::Recv_init, receive_init)
            .full(Function::Request_free, Action::RequestFree, &[1], &[], &[])
            .call(Function::Send_init, send_init)
            .full(Function::Start, Action::Start, &[1], &[], &[])
            .irecv(from_any(5), 2)
            .irecv(from_any(6), 3)
            .wait(1, None)
            .wait(2, status(1, 5))
            .wait(3, Some(nobody)),
        Rank::new().recv(from(0, 1), None).send(to(0, 5)),
    ])
    .simulated();
    assert_eq!((run.totals.proc_null, run.totals.wildcards.any_source), (1, 1));
    assert_eq!(run.engines[0].matched, 2);
    assert!(run.arrivals.ended_calls.is_empty());
}

/// Each of 1000 probes compares 50 messages; receives and arrivals compare none.
#[test]
fn probes_alone_cost_library_time() {
    let sender = (0..50).fold(Rank::new(), |rank, tag| rank.send(to(1, tag)));
    let probe = |at: Rank| {
        let action =
            Action::Probe { args: from(0, 99), blocking: false, found: false, status: None, handle: None };
        at.call(Function::Iprobe, action)
    };
    let receiver = (0..1000).fold(Rank::new().compute(MILLISECOND), |rank, _| probe(rank));
    let run = program(vec![sender, receiver]).simulated();
    let list = &run.engines[0];
    assert_eq!((run.totals.probes_missed, list.posted.attempts, list.unexpected.attempts), (1000, 0, 0));
    let (entry_ns, cold_ns) = run.library_cost.unwrap().unexpected.entry(50.0);
    let time = list.ranks[1].library.unwrap();
    let entries = 1000.0 * 50.0;
    assert!((time.low_ns / (entries * entry_ns) - 1.0).abs() < 1e-9, "{time:?}, {entry_ns} ns an entry");
    assert!((time.high_ns / (entries * cold_ns) - 1.0).abs() < 1e-9, "{time:?}, {cold_ns} ns an entry");
    assert!((time.low_ns..=time.high_ns).contains(&time.likely_ns), "{time:?}");
}

/// The trace shows receives from `MPI_PROC_NULL` as receives from any source; the program ignores every
/// status.
#[test]
fn ignored_status_of_proc_null_is_inferred() {
    let member = |rank: u32| {
        let receive = rank.checked_sub(1).map_or(from_any(5), |below| from(below, 5));
        let above = (rank < 2).then_some(rank + 1);
        let send = SendArgs { dest: above.map_or(Peer::Null, Peer::Rank), ..to(0, 5) };
        let both = Action::SendReceive { send, receive, request: None, status: None };
        let init = Action::ReceiveInit { args: receive, request: RequestId(1) };
        let mut calls = Rank::new().call(Function::Sendrecv, both).call(Function::Sendrecv, both);
        calls = calls.send(send).recv(receive, None).send(send);
        calls
            .call(Function::Recv_init, init)
            .full(Function::Start, Action::Start, &[1], &[], &[])
            .wait(1, None)
    };
    for mode in Arrivals::ASSUMED {
        let run = program((0..3).map(member).collect()).replay(mode);
        assert_eq!((run.totals.receives, run.totals.wildcards.any_source), (8, 0), "{mode}");
        assert_eq!((run.totals.proc_null, run.engines[0].matched), (8, 8), "{mode}");
        assert!(run.arrivals.ended_calls.is_empty(), "{mode}");
    }
}

/// The trace has enough messages for every receive.
#[test]
fn blocking_wildcard_with_ignored_status_stays() {
    let receiver = Rank::new().recv(from_any(5), None).recv(from_any(5), None);
    let run = program(vec![receiver, Rank::new().send(to(0, 5)), Rank::new().send(to(0, 5))]).simulated();
    assert_eq!((run.totals.wildcards.any_source, run.totals.proc_null), (2, 0));
    assert_eq!(run.engines[0].matched, 2);
}

#[test]
fn substitute_is_reported_with_its_ranks() {
    let sender = Rank::new().send(to(1, 1)).send(to(2, 1));
    let receiver = || Rank::new().recv(from(0, 1), None);
    let trace =
        program(vec![sender, receiver().irecv(from(0, 2), 1).irecv(from(0, 2), 2), receiver(), Rank::new()]);
    let engines = vec!["list".into(), "optimistic:capacity=1,full=software".into()];
    let options = Options { engines, ..Options::default() };
    let run = matchpoint_replay::replay(&trace, &options, &Progress::default()).unwrap();
    assert_eq!(run.engines[0].substitute, None);
    // Ranks 0 and 3 have no matching operations.
    let expected = Substitute { name: "hybrid".into(), ranks: 1, of_ranks: 2 };
    assert_eq!(run.engines[1].substitute, Some(expected));
    assert_eq!((run.engines[1].matched, run.engines[1].unmatched_receives), (2, 2));
}
