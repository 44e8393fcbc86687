//! The documented format, with handmade files.

use matchpoint_trace::call::{
    Action, CommId, Completion, NewComm, Peer, RequestId, SendArgs, SendMode, Status, TagArg,
};
use matchpoint_trace::native::block::{block, kind};
use matchpoint_trace::native::summaries;
use matchpoint_trace::readers::native::read_bytes;
use matchpoint_trace::{Call, Function};

use crate::damage::drain;
use crate::pieces::{call, calls, handle, head, head_block, json_block, signed, small, varint, words};
use crate::streams::read;

fn file(blocks: &[Vec<u8>]) -> Vec<u8> {
    blocks.concat()
}

#[test]
fn file_is_read_as_documented() {
    let calls = read(&file(&small()));
    let functions: Vec<Function> = calls.iter().map(|call| call.function).collect();
    use Function::{Finalize, Init, Isend, Waitall};
    assert_eq!(functions, [Init, Isend, Isend, Isend, Waitall, Finalize]);
    let times: Vec<(i64, i64)> = calls.iter().map(|call| (call.enter_ns, call.leave_ns)).collect();
    assert_eq!(times, [(2000, 2003), (2010, 2015), (2020, 2025), (2030, 2035), (2040, 2140), (3040, 3041)]);
    let args = SendArgs {
        mode: SendMode::Standard,
        dest: Peer::Rank(2),
        tag: 77,
        comm: CommId::WORLD,
        bytes: Some(8),
    };
    for (at, id) in [(1, 1), (2, 2), (3, 3)] {
        assert_eq!(calls[at].action, Action::Send { args, request: Some(RequestId(id)) });
    }
    assert_eq!(calls[4].requests, [1, 2, 0, 3].map(RequestId));
    let empty = Status { source: Peer::Any, tag: TagArg::Any, bytes: Some(0), cancelled: false };
    let complete = [Completion { index: 0, status: None }, Completion { index: 3, status: Some(empty) }];
    assert_eq!(calls[4].completions, complete);
}

#[test]
fn separate_times_are_read() {
    let send = [handle(0, 1), signed(2), signed(5), varint(9), handle(0, 7), handle(0, 9)].concat();
    let fields = [[0], [7]].map(Vec::from).to_vec();
    let fields = [fields[0].clone(), [varint(1), send].concat(), fields[1].clone()].concat();
    let times = [1, 300, 2, 400, 1000, 5].map(varint).concat();
    let block_of = |at: usize, times: &[u8]| {
        let at = u32::try_from(at).unwrap().to_le_bytes();
        let content = [&2000u64.to_le_bytes()[..], &at, &fields, times].concat();
        file(&[head_block(&head()), block(kind::CALLS_THEN_TIMES, 0, 3, &content, 0).unwrap()])
    };
    let there = 12 + fields.len();
    let found: Vec<(Function, i64, i64)> = read(&block_of(there, &times))
        .iter()
        .map(|call| (call.function, call.enter_ns, call.leave_ns))
        .collect();
    use Function::{Finalize, Init, Isend};
    assert_eq!(found, [(Init, 2001, 2301), (Isend, 2003, 2403), (Finalize, 3003, 3008)]);
    for (bad, says) in [
        (block_of(11, &times), "not where it says"),
        (block_of(there + times.len() + 1, &times), "not where it says"),
        (block_of(there, &times[..times.len() - 1]), "truncated"),
    ] {
        let error = drain(&bad).1.unwrap();
        assert!(error.problem.contains(says), "{error}");
    }
}

#[test]
fn thread_may_end_within_call() {
    let folder = tempfile::tempdir().unwrap();
    let within = |thread: u16, function: u64| {
        let content = [5000u64, function].map(u64::to_le_bytes).concat();
        block(kind::WITHIN, thread, 0, &content, 0).unwrap()
    };
    let clock = words(kind::CLOCK, &[2_500_005_000, 2_500_005_000]);
    let one_call = || calls(0, 2000, &[call(0, 0, 1, &[])]);
    let path = folder.path().join("rank-00000.mpt");
    let end = json_block(kind::END, r#"{"reason":"exit"}"#);
    for (blocks, expected) in [
        (vec![one_call(), within(0, 2), clock.clone()], vec!["MPI_Waitall"]),
        (vec![within(0, 2), one_call(), clock.clone()], vec![]),
        (vec![within(1, 2), one_call(), within(0, 8), clock.clone()], vec!["MPI_Send", "MPI_Waitall"]),
        (vec![one_call(), within(0, 99), block(kind::WITHIN, 0, 0, &[1; 9], 0).unwrap()], vec![]),
        (vec![one_call(), within(0, 2), end], vec![]),
    ] {
        std::fs::write(&path, file(&[vec![head_block(&head())], blocks].concat())).unwrap();
        let summary = summaries(folder.path()).unwrap().remove(0);
        assert_eq!(summary.unfinished, expected);
        let notes = matchpoint_trace::open(folder.path()).unwrap().description().notes.join(" ");
        assert_eq!(notes.contains("2.5 s in MPI_Waitall"), expected.contains(&"MPI_Waitall"), "{notes}");
    }
}

#[test]
fn unknown_content_is_skipped() {
    // A function, a remark and a block of a newer version. Handles in their fields are bases of later
    // handles.
    let novelty = [
        handle(0, 1),
        handle(0, 500),
        [varint(2), signed(-5), signed(6)].concat(),
        [varint(2), handle(500, 501), varint(0)].concat(),
        [varint(1), signed(0), varint(1), signed(1), signed(2), varint(3)].concat(),
        varint(3),
        [varint(1), signed(0), signed(1), varint(4)].concat(),
        varint(0),
    ];
    let remark = [varint(0), signed(4), [varint(1), signed(2), signed(0), varint(1)].concat()];
    let send = [handle(1, 1), signed(1), signed(5), varint(0), handle(501, 502), handle(0, 9)];
    let stream = [call(5, 1, 1, &novelty), call(6, 0, 0, &remark), call(1, 1, 1, &send)];
    let future = json_block(77, "anything");
    let calls = read(&file(&[head_block(&head()), future, calls(0, 0, &stream)]));
    assert_eq!(calls.len(), 2);
    assert_eq!((calls[0].function, calls[0].action), (Function::Unknown, Action::Other));
    let Action::Send { args, request } = calls[1].action else { panic!("{:?}", calls[1]) };
    assert_eq!((args.comm, args.bytes, request), (CommId::WORLD, None, Some(RequestId(1))));
}

#[test]
fn members_follow_call_that_made_communicator() {
    let split = [handle(0, 1), signed(3), signed(0), handle(1, 90)];
    let members = [
        handle(90, 90),
        [varint(2), signed(3), signed(-2), varint(2), signed(-1), signed(0), varint(2)].concat(),
        [varint(1), signed(2), signed(0), varint(1)].concat(),
    ];
    let send = [handle(90, 90), signed(1), signed(5), varint(1)];
    let none = [handle(90, 1), signed(-1), signed(0), varint(0)];
    let stream = [call(3, 1, 1, &split), call(4, 0, 0, &members), call(8, 1, 1, &send), call(3, 1, 1, &none)];
    let calls = read(&file(&[head_block(&head()), calls(0, 0, &stream)]));
    let how = NewComm::Listed { own: 4, tag: None };
    let made = CommId(3);
    let parent = CommId::WORLD;
    assert_eq!(calls[0].action, Action::CommCreate { parent, how, comm: made, request: None });
    assert_eq!(calls[0].integers, [3, 1, -1, -1, 2]);
    assert!(
        matches!(calls[1].action, Action::Send { args, .. } if args.comm == made && args.bytes == Some(0))
    );
    let how = NewComm::Split { color: None, key: 0 };
    assert_eq!(calls[2].action, Action::CommCreate { parent, how, comm: CommId::NULL, request: None });
}

#[test]
fn ticks_become_ns_by_clock_samples() {
    // First two ticks per nanosecond, then one. The offset to rank 0's host grows from 100 ns to 300 ns.
    let clock = words(kind::CLOCK, &[1000, 1000, 3000, 2000, 4000, 3000]);
    let offset = |ticks, ns| words(kind::OFFSET, &[ticks, ns, 7]);
    let stream: Vec<_> = [0, 1000, 1000, 500].map(|after| call(7, after, 100, &[])).to_vec();
    let blocks = [head_block(&head()), offset(2000, 100), clock, calls(0, 1000, &stream), offset(4000, 300)];
    let times: Vec<(i64, i64)> =
        read(&file(&blocks)).iter().map(|call| (call.enter_ns, call.leave_ns)).collect();
    assert_eq!(times, [(1100, 1150), (1600, 1660), (2200, 2310), (2750, 2860)]);
}

#[test]
fn threads_are_merged_by_entry() {
    let blocks: Vec<Vec<u8>> = (0..100u16)
        .map(|thread| {
            calls(thread, 1000 - 10 * u64::from(thread), &[call(7, 0, 1, &[]), call(7, 995, 1, &[])])
        })
        .collect();
    let found = read(&file(&[&[head_block(&head())][..], &blocks].concat()));
    assert!(found.is_sorted_by_key(|call: &Call| call.enter_ns));
    assert_eq!(found.len(), 200);
    assert_eq!(found[0].thread, 99);
}

#[test]
fn head_with_wrong_fields_is_refused() {
    for (name, fields, says) in [
        ("MPI_Send", "cpg", "the fields `cpg` for MPI_Send, but `cpgb` are expected"),
        ("MPI_Send", "cpgbz", "an unknown field `z` for MPI_Send"),
        ("MPIX_New", "?", "an unknown field `?` for MPIX_New"),
    ] {
        let mut head = head();
        head.functions.push((name.to_owned(), fields.to_owned()));
        let error = read_bytes(&head_block(&head)).err().unwrap();
        assert!(error.problem.contains(says), "{error}");
    }
}
