//! What the format's description says, on files put together by hand.

use matchpoint_trace::call::{
    Action, CommId, Completion, NewComm, Peer, RequestId, SendArgs, SendMode, Status, TagArg,
};
use matchpoint_trace::native::block::kind;
use matchpoint_trace::readers::native::read_bytes;
use matchpoint_trace::{Call, Function};

use crate::pieces::{call, calls, handle, head, head_block, json_block, signed, small, varint, words};
use crate::streams::read;

fn file(blocks: &[Vec<u8>]) -> Vec<u8> {
    blocks.concat()
}

#[test]
fn a_file_is_read_as_its_description_says() {
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
fn what_is_not_known_is_passed_over() {
    // A function, a remark and a block that newer versions may have; handles among them count for those that follow.
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
fn members_follow_the_call_that_made_a_communicator() {
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
fn time_goes_by_clock_pairs_and_offsets() {
    // Two ticks a nanosecond, then one; from 100 ns ahead of rank 0's host to 300 ns.
    let clock = words(kind::CLOCK, &[1000, 1000, 3000, 2000, 4000, 3000]);
    let offset = |ticks, ns| words(kind::OFFSET, &[ticks, ns, 7]);
    let stream: Vec<_> = [0, 1000, 1000, 500].map(|after| call(7, after, 100, &[])).to_vec();
    let blocks = [head_block(&head()), offset(2000, 100), clock, calls(0, 1000, &stream), offset(4000, 300)];
    let times: Vec<(i64, i64)> =
        read(&file(&blocks)).iter().map(|call| (call.enter_ns, call.leave_ns)).collect();
    assert_eq!(times, [(1100, 1150), (1600, 1660), (2200, 2310), (2750, 2860)]);
}

#[test]
fn threads_are_merged_by_entry_and_many_are_let_go() {
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
fn a_head_must_give_known_functions_the_fields_that_they_need() {
    for (name, fields, says) in [
        ("MPI_Send", "cpg", "MPI_Send has the fields `cpg`, which should be `cpgb`"),
        ("MPI_Send", "cpgbz", "MPI_Send has a field `z`, which is not known"),
        ("MPIX_New", "?", "MPIX_New has a field `?`, which is not known"),
    ] {
        let mut head = head();
        head.functions.push((name.to_owned(), fields.to_owned()));
        let error = read_bytes(&head_block(&head)).err().unwrap();
        assert!(error.problem.contains(says), "{error}");
    }
}
