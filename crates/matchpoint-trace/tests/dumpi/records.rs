//! Meaning of generated records.

use matchpoint_trace::call::{
    Action, Await, CommId, Completion, GroupId, NewComm, NewGroup, Peer, ReceiveArgs, RequestId, SendArgs,
    SendMode, Status, TagArg,
};
use matchpoint_trace::readers::dumpi::read_bytes;
use matchpoint_trace::{Call, Function, TraceError};

use crate::traces::read_all;
use crate::writer::{Bytes, Writer, mask};

pub fn read_calls(file: &[u8]) -> Result<Vec<Call>, TraceError> {
    read_all(&mut read_bytes(file)?)
}

fn read_call(function: u16, arguments: Bytes) -> Call {
    let calls = read_calls(&Writer::new([13, 0, 0]).call(function, arguments).file()).unwrap();
    assert_eq!(calls.len(), 1);
    calls.into_iter().next().unwrap()
}

fn bytes() -> Bytes {
    Bytes::default()
}

/// Arguments of a send to `peer`, or of a receive from `peer`: three integers, in `MPI_COMM_WORLD`.
fn message(peer: i32, tag: i32) -> Bytes {
    bytes().int(3).half(9).int(peer).int(tag).half(2)
}

fn sent(mode: SendMode) -> SendArgs {
    SendArgs { mode, dest: Peer::Rank(1), tag: 7, comm: CommId::WORLD, bytes: Some(12) }
}

fn received(source: Peer, tag: TagArg) -> ReceiveArgs {
    ReceiveArgs { source, tag, comm: CommId::WORLD, bytes: Some(12) }
}

fn status(source: u32, tag: i32) -> Status {
    Status { source: Peer::Rank(source), tag: TagArg::Is(tag), bytes: Some(8), cancelled: false }
}

#[test]
fn record_head_has_times() {
    let call = read_call(0, message(1, 7));
    assert_eq!((call.function, call.thread, call.offset), (Function::Send, 3, 16));
    assert_eq!((call.enter_ns, call.leave_ns), (1_001_000_000_010, 1_002_000_000_020));
}

#[test]
fn sends_of_every_mode() {
    use SendMode::{Buffered, Ready, Standard, Synchronous};
    for (function, mode) in [(0, Standard), (3, Buffered), (4, Synchronous), (5, Ready)] {
        assert_eq!(
            read_call(function, message(1, 7)).action,
            Action::Send { args: sent(mode), request: None }
        );
    }
    for (function, mode) in [(8, Standard), (9, Buffered), (10, Synchronous), (11, Ready)] {
        let action = Action::Send { args: sent(mode), request: Some(RequestId(5)) };
        assert_eq!(read_call(function, message(1, 7).int(5)).action, action);
    }
    for (function, mode) in [(26, Standard), (27, Buffered), (28, Synchronous), (29, Ready)] {
        let action = Action::SendInit { args: sent(mode), request: RequestId(5) };
        assert_eq!(read_call(function, message(1, 7).int(5)).action, action);
    }
}

#[test]
fn send_to_negative_rank_is_proc_null() {
    for rank in [-1, -2, -1000] {
        let Action::Send { args, .. } = read_call(0, message(rank, 7)).action else { panic!() };
        assert_eq!(args.dest, Peer::Null);
    }
}

#[test]
fn receives_have_status_and_request() {
    let action = |source, tag, status| Action::Receive { args: received(source, tag), request: None, status };
    let found = read_call(1, message(-1, -1).statuses(&[(8, 4, 6)]));
    assert_eq!(found.action, action(Peer::Any, TagArg::Any, Some(status(4, 6))));
    let ignored = read_call(1, message(4, 6).statuses(&[]));
    assert_eq!(ignored.action, action(Peer::Rank(4), TagArg::Is(6), None));
    let args = received(Peer::Any, TagArg::Is(6));
    let posted = read_call(12, message(-1, 6).int(9));
    assert_eq!(posted.action, Action::Receive { args, request: Some(RequestId(9)), status: None });
    let persistent = read_call(30, message(-1, 6).int(9));
    assert_eq!(persistent.action, Action::ReceiveInit { args, request: RequestId(9) });
}

#[test]
fn empty_any_source_receive_is_proc_null() {
    let Action::Receive { args, .. } = read_call(1, message(-1, -1).statuses(&[(0, -1, -1)])).action else {
        panic!()
    };
    assert_eq!(args.source, Peer::Null);
}

#[test]
fn missing_sizes_are_unknown() {
    let of = |datatype| bytes().int(3).half(datatype).int(1).int(7).half(2);
    let length = |arguments| match read_call(0, arguments).action {
        Action::Send { args, .. } => args.bytes,
        other => panic!("{other:?}"),
    };
    assert_eq!(length(of(16)), None, "a predefined type that was not used");
    assert_eq!(length(of(28)), Some(0), "an empty type of the application's own");
    assert_eq!(length(of(30)), None, "a type behind the table");
    assert_eq!(length(bytes().int(0).half(30).int(1).int(7).half(2)), Some(0), "nothing at all");
}

#[test]
fn send_and_receive_at_once() {
    let receive = received(Peer::Rank(2), TagArg::Is(8));
    let action = Action::SendReceive {
        send: sent(SendMode::Standard),
        receive,
        request: None,
        status: Some(status(2, 8)),
    };
    let both = bytes().int(3).half(9).int(1).int(7).int(3).half(9).int(2).int(8).half(2);
    assert_eq!(read_call(33, both.statuses(&[(8, 2, 8)])).action, action);
    let replace = bytes().int(3).half(9).int(1).int(7).int(2).int(8).half(2);
    assert_eq!(read_call(34, replace.statuses(&[(8, 2, 8)])).action, action);
}

#[test]
fn probes_have_status_if_found() {
    let args = ReceiveArgs { bytes: None, ..received(Peer::Any, TagArg::Any) };
    let action = |blocking, status: Option<Status>| {
        let found = status.is_some();
        Action::Probe { args, blocking, found, status, handle: None }
    };
    let asked = bytes().int(-1).int(-1).half(2);
    assert_eq!(read_call(23, asked.clone().statuses(&[(8, 4, 6)])).action, action(true, Some(status(4, 6))));
    assert_eq!(
        read_call(22, asked.clone().int(1).statuses(&[(8, 4, 6)])).action,
        action(false, Some(status(4, 6)))
    );
    assert_eq!(read_call(22, asked.int(0).statuses(&[(99, 99, 99)])).action, action(false, None));
}

fn check_completions(call: &Call, awaits: Await, blocking: bool, expected: &[(u32, Option<Status>)]) {
    assert_eq!(call.action, Action::Complete { awaits, blocking });
    let expected: Vec<_> =
        expected.iter().map(|(index, status)| Completion { index: *index, status: *status }).collect();
    assert_eq!(call.completions, expected);
}

#[test]
fn completion_of_one() {
    let done = Some(status(4, 6));
    check_completions(&read_call(13, bytes().int(5).statuses(&[(8, 4, 6)])), Await::All, true, &[(0, done)]);
    check_completions(&read_call(13, bytes().int(5).statuses(&[])), Await::All, true, &[(0, None)]);
    check_completions(&read_call(13, bytes().int(1).statuses(&[])), Await::All, true, &[]);
    check_completions(
        &read_call(14, bytes().int(5).int(1).statuses(&[(8, 4, 6)])),
        Await::All,
        false,
        &[(0, done)],
    );
    check_completions(&read_call(14, bytes().int(5).int(0).statuses(&[(8, 4, 6)])), Await::All, false, &[]);
    let call = read_call(216, bytes().int(5).int(1).statuses(&[(8, 4, 6)]));
    assert_eq!((&call.action, call.completions.len()), (&Action::RequestStatus, 1));
}

#[test]
fn completion_of_all() {
    let (first, last) = (Some(status(4, 6)), Some(status(5, 6)));
    let three = bytes().int(3).ints(&[5, 1, 7]);
    let call = read_call(18, three.clone().statuses(&[(8, 4, 6), (0, -1, -1), (8, 5, 6)]));
    assert_eq!(call.requests, [RequestId(5), RequestId::NULL, RequestId(7)]);
    check_completions(&call, Await::All, true, &[(0, first), (2, last)]);
    check_completions(&read_call(18, three.clone().statuses(&[])), Await::All, true, &[(0, None), (2, None)]);
    check_completions(&read_call(19, three.clone().int(0).statuses(&[])), Await::All, false, &[]);
    check_completions(&read_call(19, three.int(1).statuses(&[])), Await::All, false, &[(0, None), (2, None)]);
}

#[test]
fn completion_of_any() {
    let (done, three) = (Some(status(4, 6)), bytes().int(3).ints(&[1, 6, 7]));
    let any = |index| three.clone().int(index);
    check_completions(&read_call(16, any(2).statuses(&[(8, 4, 6)])), Await::Any, true, &[(2, done)]);
    check_completions(&read_call(16, any(-32766).statuses(&[])), Await::Any, true, &[]);
    check_completions(&read_call(17, any(1).int(1).statuses(&[(8, 4, 6)])), Await::Any, false, &[(1, done)]);
    check_completions(&read_call(17, any(1).int(0).statuses(&[(8, 4, 6)])), Await::Any, false, &[]);
    check_completions(&read_call(17, any(3).int(1).statuses(&[])), Await::Any, false, &[]);
}

#[test]
fn completions_have_request_indexes() {
    let three = bytes().int(3).ints(&[1, 6, 7]);
    let call = read_call(20, three.clone().int(2).ints(&[2, 1]).statuses(&[(8, 4, 6), (8, 5, 6)]));
    check_completions(&call, Await::Some, true, &[(2, Some(status(4, 6))), (1, Some(status(5, 6)))]);
    check_completions(
        &read_call(21, three.clone().int(1).ints(&[1]).statuses(&[])),
        Await::Some,
        false,
        &[(1, None)],
    );
    check_completions(&read_call(21, three.clone().int(0).ints(&[]).statuses(&[])), Await::Some, false, &[]);
    check_completions(&read_call(20, three.int(-32766).ints(&[]).statuses(&[])), Await::Some, true, &[]);
}

#[test]
fn requests_are_started_cancelled_and_freed() {
    for (function, action) in [(31, Action::Start), (24, Action::Cancel), (15, Action::RequestFree)] {
        let call = read_call(function, bytes().int(5));
        assert_eq!((call.action, &call.requests[..]), (action, &[RequestId(5)][..]));
    }
    let call = read_call(32, bytes().int(2).ints(&[5, 6]));
    assert_eq!((call.action, &call.requests[..]), (Action::Start, &[RequestId(5), RequestId(6)][..]));
}

fn created(parent: CommId, how: NewComm, comm: CommId) -> Action {
    Action::CommCreate { parent, how, comm, request: None }
}

#[test]
fn communicators_are_created_and_freed() {
    let (world, four) = (CommId::WORLD, CommId(4));
    assert_eq!(read_call(84, bytes().half(2).half(4)).action, created(world, NewComm::Dup, four));
    let group = NewComm::Group(GroupId(5));
    assert_eq!(read_call(85, bytes().half(2).half(5).half(4)).action, created(world, group, four));
    assert_eq!(read_call(85, bytes().half(2).half(5).half(1)).action, created(world, group, CommId::NULL));
    let split = NewComm::Split { color: Some(2), key: -1 };
    assert_eq!(read_call(86, bytes().half(2).int(2).int(-1).half(4)).action, created(world, split, four));
    let undefined = NewComm::Split { color: None, key: 0 };
    assert_eq!(
        read_call(86, bytes().half(2).int(-32766).int(0).half(1)).action,
        created(world, undefined, CommId::NULL)
    );
    let inter = NewComm::Inter { local_leader: 0, peer_comm: world, remote_leader: 3, tag: 12 };
    let arguments = bytes().half(3).int(0).half(2).int(3).int(12).half(4);
    assert_eq!(read_call(91, arguments).action, created(CommId::SELF, inter, four));
    let merge = NewComm::Merge { high: true };
    assert_eq!(read_call(92, bytes().half(4).int(1).half(5)).action, created(four, merge, CommId(5)));
    assert_eq!(read_call(87, bytes().half(4)).action, Action::CommFree { comm: four });
    assert_eq!(read_call(81, bytes().half(2).int(8)).action, Action::CommSize { comm: world, size: 8 });
    assert_eq!(read_call(82, bytes().half(2).int(5)).action, Action::CommRank { comm: world, rank: 5 });
}

#[test]
fn topologies_create_communicators() {
    let (world, four) = (CommId::WORLD, CommId(4));
    let call = read_call(99, bytes().half(2).int(2).ints(&[4, 2]).ints(&[1, 0]).int(1).half(4));
    assert_eq!(call.action, created(world, NewComm::Cart { reorder: true }, four));
    assert_eq!(call.integers, [4, 2]);
    let call = read_call(111, bytes().int(2).half(4).ints(&[0, 1]).half(5));
    assert_eq!(call.action, created(four, NewComm::CartSub, CommId(5)));
    assert_eq!(call.integers, [0, 1]);
    let graph = bytes().int(4).half(2).int(3).ints(&[1, 3, 4]).ints(&[1, 0, 2, 1]).int(0).half(4);
    assert_eq!(
        read_call(101, graph).action,
        created(world, NewComm::Graph { nodes: 3, reorder: false }, four)
    );
}

#[test]
fn groups_are_created_and_freed() {
    let (five, six) = (GroupId(5), GroupId(6));
    let made = |how| Action::GroupCreate { how, group: GroupId(7) };
    assert_eq!(read_call(72, bytes().half(2).half(7)).action, made(NewGroup::OfComm(CommId::WORLD)));
    assert_eq!(read_call(90, bytes().half(4).half(7)).action, made(NewGroup::OfRemote(CommId(4))));
    assert_eq!(read_call(73, bytes().half(5).half(6).half(7)).action, made(NewGroup::Union(five, six)));
    assert_eq!(
        read_call(74, bytes().half(5).half(6).half(7)).action,
        made(NewGroup::Intersection(five, six))
    );
    assert_eq!(
        read_call(75, bytes().half(5).half(2).half(7)).action,
        made(NewGroup::Difference(five, GroupId::EMPTY))
    );
    for (function, how) in [(76, NewGroup::Include(five)), (77, NewGroup::Exclude(five))] {
        let call = read_call(function, bytes().half(5).int(2).ints(&[3, 1]).half(7));
        assert_eq!((call.action, &call.integers[..]), (made(how), &[3, 1][..]));
    }
    for (function, how) in [(78, NewGroup::RangeInclude(five)), (79, NewGroup::RangeExclude(five))] {
        let call =
            read_call(function, bytes().half(5).int(2).int(2).ints(&[0, 6, 2]).ints(&[9, 7, -1]).half(7));
        assert_eq!((call.action, &call.integers[..]), (made(how), &[0, 6, 2, 9, 7, -1][..]));
    }
    assert_eq!(read_call(80, bytes().half(5)).action, Action::GroupFree { group: five });
}

#[test]
fn collectives_have_fields_of_root() {
    let collective = |root, bytes| Action::Collective { comm: CommId::WORLD, root, bytes, request: None };
    assert_eq!(read_call(52, bytes().half(2)).action, collective(None, Some(0)));
    assert_eq!(read_call(53, bytes().int(3).half(9).int(2).half(2)).action, collective(Some(2), Some(12)));
    let gather = |rank| bytes().int(rank).int(3).half(9).int(2).half(2);
    assert_eq!(read_call(54, gather(1)).action, collective(Some(2), Some(12)));
    assert_eq!(read_call(54, gather(2).int(3).half(9)).action, collective(Some(2), Some(12)));
    let gatherv = |rank| bytes().int(rank).int(4).int(3).half(9).int(2).half(2);
    assert_eq!(read_call(55, gatherv(1).half(9)).action, collective(Some(2), Some(12)));
    assert_eq!(
        read_call(55, gatherv(2).ints(&[3; 4]).ints(&[0; 4]).half(9)).action,
        collective(Some(2), Some(12))
    );
    let alltoallv =
        bytes().int(2).ints(&[1, 2]).ints(&[0, 1]).half(9).ints(&[5, 5]).ints(&[0, 5]).half(9).half(2);
    assert_eq!(read_call(61, alltoallv).action, collective(None, Some(12)));
    assert_eq!(read_call(60, bytes().int(1).half(9).int(1).half(9).half(2)).action, collective(None, None));
}

#[test]
fn masked_fields_are_absent() {
    let arguments = || bytes().int(5);
    let read = |mask, arguments| {
        read_calls(&Writer::new([13, 0, 0]).masked(13, mask, arguments).file()).unwrap().remove(0)
    };
    let call = read(mask::STATUSES | mask::WALL, arguments().statuses(&[(8, 4, 6)]));
    assert_eq!((call.thread, call.enter_ns), (0, 1_001_000_000_010));
    let call = read(mask::CPU | mask::THREAD, arguments());
    assert_eq!((call.thread, call.enter_ns, call.leave_ns), (3, 6_000_000_010, 7_000_000_020));
    assert_eq!(call.completions, [Completion { index: 0, status: None }]);
    let call = read(0, arguments());
    assert_eq!((call.enter_ns, call.leave_ns), (0, 0));
    let call = read(mask::USUAL | mask::COUNTERS, arguments().statuses(&[(8, 4, 6)]));
    assert_eq!(call.completions, [Completion { index: 0, status: Some(status(4, 6)) }]);
}

#[test]
fn old_statuses_have_no_tags() {
    let old = bytes().int(5).int(1).int(8).int(4).byte(1).byte(0);
    let file = Writer::new([0, 6, 2]).call(13, old).file();
    let expected = Status { tag: TagArg::Any, cancelled: true, ..status(4, 0) };
    assert_eq!(read_calls(&file).unwrap()[0].completions, [Completion { index: 0, status: Some(expected) }]);
}

#[test]
fn older_files_have_shorter_indices() {
    for words in 5..=7 {
        let file = Writer::new([0, 6, 3]).call(0, message(1, 7)).indexed(words);
        let Action::Send { args, .. } = read_calls(&file).unwrap()[0].action else { panic!() };
        assert_eq!(args.bytes, None, "sizes of datatypes came last");
    }
}

#[test]
fn bytes_after_finalize_are_no_call() {
    let file = Writer::new([0, 4, 0]).call(125, bytes()).unended().file();
    assert_eq!(read_calls(&file).unwrap().len(), 1);
    let file = Writer::new([0, 4, 0]).call(125, bytes()).raw(bytes().half(0).int(1)).unended().file();
    assert_eq!(read_calls(&file).unwrap().len(), 1);
}

#[test]
fn program_functions_are_skipped() {
    let writer = Writer::new([13, 0, 0]).call(291, bytes().long(42)).call(0, message(1, 7));
    let calls = read_calls(&writer.call(292, bytes().long(42)).file()).unwrap();
    assert_eq!(calls.iter().map(|call| call.function).collect::<Vec<_>>(), [Function::Send]);
}

#[test]
fn program_and_arguments_are_skipped() {
    let arguments = bytes().int(2).text("a.out").text("");
    assert_eq!(read_call(124, arguments.clone()).action, Action::Init);
    assert_eq!(read_call(171, arguments.byte(1).byte(4)).action, Action::Init);
    assert_eq!(read_call(125, bytes()).action, Action::Finalize);
}
