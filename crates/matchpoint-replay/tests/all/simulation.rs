//! Simulated arrivals: causality, blocking calls, protocols, collectives.

use crate::program::*;
use matchpoint_replay::{Arrivals, LogGp};
use matchpoint_trace::Function;
use matchpoint_trace::call::*;

#[test]
fn message_arrives_after_its_send() {
    let run = program(vec![
        Rank::new().compute(MILLISECOND).send(to(1, 7)),
        Rank::new().recv(from(0, 7), status(0, 7)).taking(10 * MICROSECOND),
    ])
    .simulated();
    assert_eq!(run.engines[0].posted.hits, 1);
    assert_eq!(run.totals.late_by_function.len(), 0);
    // 1 ms of computation, then o + L + wire time + o.
    assert!((1.0016e-3..1.0018e-3).contains(&run.replayed_s), "{}", run.replayed_s);
}

#[test]
fn late_receive_finds_waiting_message() {
    let run =
        program(vec![Rank::new().send(to(1, 7)), Rank::new().compute(MILLISECOND).recv(from(0, 7), None)])
            .simulated();
    assert_eq!(run.engines[0].unexpected.hits, 1);
    assert_eq!(run.totals.late_by_function.get(&Function::Recv), Some(&1));
    assert_eq!(run.ranks[1].unexpected.length_max, 1);
}

#[test]
fn synchronous_send_waits_for_receive() {
    let ssend = SendArgs { mode: SendMode::Synchronous, ..to(1, 0) };
    let run = program(vec![
        Rank::new().call(Function::Ssend, Action::Send { args: ssend, request: None }).send(to(1, 1)),
        Rank::new().compute(MILLISECOND).recv(from(0, 0), None).recv(from(0, 1), None),
    ])
    .simulated();
    assert_eq!((run.engines[0].unexpected.hits, run.engines[0].posted.hits), (1, 1));
}

#[test]
fn rendezvous_message_waits_for_receive() {
    let big = SendArgs { bytes: Some(1 << 20), ..to(1, 0) };
    let two = |first: SendArgs| {
        program(vec![
            Rank::new().send(first).compute(10 * MICROSECOND).send(to(1, 1)),
            Rank::new().compute(MILLISECOND).recv(from(0, 0), None).recv(from(0, 1), None),
        ])
        .simulated()
    };
    assert_eq!(two(big).engines[0].posted.hits, 1);
    assert_eq!(two(to(1, 0)).engines[0].posted.hits, 0);
    let buffered = two(SendArgs { mode: SendMode::Buffered, ..big });
    assert_eq!(buffered.engines[0].posted.hits, 0);
}

#[test]
fn sends_that_need_buffers_complete() {
    let big = |dest| SendArgs { bytes: Some(1 << 20), ..to(dest, 0) };
    let run = program(vec![
        Rank::new().send(big(1)).recv(from(1, 0), None),
        Rank::new().send(big(0)).recv(from(0, 0), None),
    ])
    .simulated();
    assert_eq!(run.engines[0].matched, 2);
    assert_eq!(run.arrivals.ended_calls.get("sends that wait for their receive"), Some(&1));
}

#[test]
fn messages_of_one_sender_do_not_overtake() {
    let big = SendArgs { bytes: Some(60_000), ..to(1, 0) };
    let run = program(vec![
        Rank::new().isend(big, 1).isend(to(1, 0), 2).waitall(&[1, 2]),
        Rank::new().compute(MILLISECOND).recv(from_any(0), None).recv(from_any(0), None),
    ])
    .replay_on(Arrivals::Simulated, LogGp { gap_per_byte_ns: 10.0, ..LogGp::default() });
    assert_eq!(run.engines[0].matched, 2);
    // The small message follows the big one, which takes 600 µs on the wire.
    assert_eq!(run.ranks[1].unexpected.length_max, 2);
    let waiting = run.ranks[1].unexpected.timeline.iter().filter(|&&length| length > 0).count();
    assert!((30..60).contains(&waiting), "{waiting} of 120 spans");
}

#[test]
fn barrier_ends_after_last_entry() {
    let run = program(vec![
        Rank::new().barrier().send(to(1, 0)),
        Rank::new().compute(MILLISECOND).irecv(from(0, 0), 1).barrier().wait(1, None),
    ])
    .simulated();
    assert_eq!(run.engines[0].posted.hits, 1);
    assert!(run.replayed_s > 1e-3);
}

#[test]
fn broadcast_waits_for_root_only() {
    let run = program(vec![
        Rank::new().collective(Function::Bcast, Some(0)).send(to(1, 0)),
        Rank::new().irecv(from(0, 0), 1).collective(Function::Bcast, Some(0)).wait(1, None),
        Rank::new().compute(MILLISECOND).collective(Function::Bcast, Some(0)),
    ])
    .simulated();
    assert_eq!(run.engines[0].posted.hits, 1);
    let arrival = run.ranks[1].posted.timeline.iter().position(|&length| length == 0);
    assert!(arrival.is_some_and(|span| span < 5), "the message came at once: {arrival:?}");
}

#[test]
fn waitany_waits_for_completed_request() {
    let run = program(vec![
        Rank::new().send(to(1, 1)).compute(MILLISECOND).send(to(1, 2)),
        Rank::new().irecv(from(0, 1), 1).irecv(from(0, 2), 2).waitany(&[1, 2], 1).waitany(&[1, 2], 0),
    ])
    .simulated();
    assert_eq!(run.engines[0].matched, 2);
    assert!(run.replayed_s > 1e-3);
    assert!(run.arrivals.ended_calls.is_empty());
}

#[test]
fn receive_without_remaining_message_is_abandoned() {
    // All messages invented for the last receive match the hundred older receives, for which no thread waits.
    let mut receiver = Rank::new();
    for request in 1..=100 {
        receiver = receiver.irecv(from_any(0), request);
    }
    let run = program(vec![Rank::new(), receiver.recv(from(0, 0), None).send(to(0, 1))]).simulated();
    let released = &run.arrivals.ended_calls;
    assert_eq!(released["receives blocked by other receives"], 1, "{released:?}");
    assert_eq!(run.totals.sends, 1);
}

#[test]
fn successful_probe_waits_for_message() {
    let probe = |found, at: Rank| {
        let args = from_any(3);
        let action = Action::Probe { args, blocking: false, found, status: status(0, 3), handle: None };
        at.call(Function::Iprobe, action)
    };
    let receiver = probe(true, probe(false, Rank::new())).recv(from(0, 3), None);
    let run = program(vec![Rank::new().compute(MILLISECOND).send(to(1, 3)), receiver]).simulated();
    assert_eq!((run.totals.probes_found, run.totals.probes_missed), (1, 1));
    assert_eq!(run.engines[0].unexpected.hits, 1);
    assert_eq!((run.totals.recorded_wildcards, run.totals.reproduced_wildcards), (1, 1));
}

#[test]
fn matched_probe_removes_message() {
    let mprobe = Action::Probe {
        args: from_any(3),
        blocking: true,
        found: true,
        status: status(0, 3),
        handle: Some(HandleId(1)),
    };
    let mrecv = Action::MatchedReceive { handle: HandleId(1), request: None, status: status(0, 3) };
    let run = program(vec![
        Rank::new().send(to(1, 3)).send(to(1, 3)),
        Rank::new().call(Function::Mprobe, mprobe).call(Function::Mrecv, mrecv).recv(from(0, 3), None),
    ])
    .simulated();
    assert_eq!(run.totals.receives, 1);
    assert_eq!(run.engines[0].unmatched_messages, 0);
    assert_eq!(run.engines[0].matched, 1);
}

#[test]
fn cancelled_receive_matches_nothing() {
    let cancel = |at: Rank| at.full(Function::Cancel, Action::Cancel, &[1], &[], &[]);
    let receiver = cancel(Rank::new().irecv(from(0, 9), 1)).wait(1, None).recv(from(0, 1), None);
    let run = program(vec![Rank::new().send(to(1, 1)), receiver]).simulated();
    assert_eq!(run.totals.cancelled, 1);
    assert_eq!(run.engines[0].unmatched_receives, 0);
}

#[test]
fn reused_request_does_not_affect_others() {
    for (function, action) in
        [(Function::Cancel, Action::Cancel), (Function::Request_free, Action::RequestFree)]
    {
        // The second receive is posted after the first has its message, and reuses its index.
        let receiver = Rank::new()
            .irecv(from(0, 1), 1)
            .compute(MILLISECOND)
            .irecv(from(0, 2), 2)
            .full(function, action, &[1], &[], &[])
            .wait(2, None)
            .send(to(0, 3));
        let sender =
            Rank::new().send(to(1, 1)).compute(3 * MILLISECOND).send(to(1, 2)).recv(from(1, 3), None);
        let run = program(vec![sender, receiver]).simulated();
        assert_eq!((run.engines[0].matched, run.totals.cancelled), (3, 0), "{function:?}");
        assert!(run.arrivals.ended_calls.is_empty(), "{function:?}: {:?}", run.arrivals.ended_calls);
    }
}

#[test]
fn cancelled_send_removes_message() {
    let cancelled = Status { source: Peer::Any, tag: TagArg::Any, bytes: None, cancelled: true };
    let run = program(vec![
        Rank::new().isend(to(1, 1), 1).compute(MILLISECOND).wait(1, Some(cancelled)),
        Rank::new().compute(2 * MILLISECOND),
    ])
    .simulated();
    assert_eq!(run.totals.sends, 1);
    assert_eq!(run.engines[0].unmatched_messages, 0);
}

#[test]
fn threads_enter_calls_in_recorded_order() {
    // The second thread reuses the first thread's request id, after the library freed the id.
    let receiver = Rank::new()
        .thread(0)
        .irecv(from(0, 0), 1)
        .wait(1, None)
        .thread(1)
        .irecv(from(0, 0), 1)
        .thread(0)
        .recv(from(0, 1), None)
        .thread(1)
        .wait(1, None);
    let run = program(vec![
        Rank::new().send(to(1, 0)).send(to(1, 1)).compute(MILLISECOND).send(to(1, 0)),
        receiver,
    ])
    .simulated();
    assert_eq!(run.engines[0].matched, 3);
    assert!(run.arrivals.ended_calls.is_empty(), "{:?}", run.arrivals.ended_calls);
}

/// The wait frees the id that the receive gets, because the reader assigns ids in the order of the stream.
#[test]
fn calls_entered_at_once_keep_stream_order() {
    let receiver = Rank::new().thread(1).irecv(from(0, 0), 1).wait(1, None).compute(-100);
    let receiver = receiver.thread(0).irecv(from(0, 1), 1).thread(1).send(to(0, 2)).thread(0).wait(1, None);
    let sender = Rank::new().send(to(1, 0)).recv(from(1, 2), None).send(to(1, 1));
    let run = program(vec![sender, receiver]).simulated();
    assert_eq!(run.engines[0].matched, 3);
    assert!(run.arrivals.ended_calls.is_empty(), "{:?}", run.arrivals.ended_calls);
}

#[test]
fn slow_thread_does_not_stop_others() {
    let receiver = Rank::new().thread(0).irecv(from(0, 0), 1).thread(1).recv(from(0, 1), None).send(to(0, 2));
    let run = program(vec![
        Rank::new().compute(MILLISECOND).send(to(1, 1)).recv(from(1, 2), None).send(to(1, 0)),
        receiver.thread(0).wait(1, None),
    ])
    .simulated();
    assert_eq!(run.engines[0].matched, 3);
    assert!(run.arrivals.ended_calls.is_empty(), "{:?}", run.arrivals.ended_calls);
}

#[test]
fn message_to_same_rank_arrives() {
    let run = program(vec![Rank::new().irecv(from(0, 0), 1).send(to(0, 0)).wait(1, None)]).simulated();
    assert_eq!(run.engines[0].matched, 1);
}

/// The library's buffers were full, so each send took as long as its receive.
#[test]
fn eager_send_takes_recorded_time() {
    let longest = |send: fn(Rank) -> Rank| {
        let sender = (0..20).fold(Rank::new(), |at, _| send(at));
        let receiver = (0..20).fold(Rank::new(), |at, _| at.compute(MILLISECOND).recv(from(0, 1), None));
        program(vec![sender, receiver]).simulated().ranks[1].unexpected.length_max
    };
    assert_eq!(longest(|at| at.send(to(1, 1))), 20, "no send waited");
    assert!(longest(|at| at.send(to(1, 1)).taking(MILLISECOND)) <= 2);
}
