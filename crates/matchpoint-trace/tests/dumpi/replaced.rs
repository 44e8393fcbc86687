//! Calls that the format cannot represent: the writer replaces or omits these calls, and always reports this.

use matchpoint_trace::call::{
    Action, Await, CommId, Completion, HandleId, NewComm, Peer, ReceiveArgs, RequestId, SendArgs, SendMode,
    Status, TagArg,
};
use matchpoint_trace::{Call, Function};

use crate::written::written;

fn make_call(function: Function, action: Action) -> Call {
    Call { function, action, ..Call::default() }
}

const ARGS: ReceiveArgs =
    ReceiveArgs { source: Peer::Any, tag: TagArg::Any, comm: CommId::WORLD, bytes: None };
const STATUS: Status =
    Status { source: Peer::Rank(5), tag: TagArg::Is(9), bytes: Some(40), cancelled: false };

#[test]
fn matched_receive_has_envelope_of_probe() {
    let (handle, found) = (HandleId(4), true);
    let probe = |function, blocking| {
        let action =
            Action::Probe { args: ARGS, blocking, found, status: Some(STATUS), handle: Some(handle) };
        make_call(function, action)
    };
    let request = Some(RequestId(8));
    let received = Action::MatchedReceive { handle, request, status: None };
    let (found, deviations) = written(&[
        probe(Function::Improbe, false),
        make_call(Function::Imrecv, received),
        make_call(Function::Mrecv, Action::MatchedReceive { handle, request: None, status: None }),
    ]);
    let functions: Vec<Function> = found.iter().map(|call| call.function).collect();
    assert_eq!(functions, [Function::Iprobe, Function::Irecv]);
    let Action::Receive { args, request: Some(_), .. } = found[1].action else { panic!("{:?}", found[1]) };
    assert_eq!(args, ReceiveArgs { source: Peer::Rank(5), tag: TagArg::Is(9), bytes: Some(40), ..ARGS });
    assert_eq!(
        deviations.notes(),
        [
            "1 calls are omitted, because DUMPI has no such functions: MPI_Mrecv (1); their requests are null.",
            "2 calls are written as equivalent functions: MPI_Improbe as MPI_Iprobe (1), MPI_Imrecv as MPI_Irecv (1).",
        ]
    );
}

#[test]
fn isendrecv_is_send_and_receive() {
    let send = SendArgs {
        mode: SendMode::Standard,
        dest: Peer::Rank(1),
        tag: 3,
        comm: CommId::WORLD,
        bytes: Some(8),
    };
    let both = Action::SendReceive { send, receive: ARGS, request: Some(RequestId(1)), status: None };
    let wait = Call {
        requests: vec![RequestId(1)],
        completions: vec![Completion { index: 0, status: Some(STATUS) }],
        ..make_call(Function::Wait, Action::Complete { awaits: Await::All, blocking: true })
    };
    let (found, deviations) = written(&[make_call(Function::Isendrecv, both), wait]);
    let [
        Call { action: Action::Send { args, request: Some(sent) }, .. },
        Call { action: Action::RequestFree, requests: freed, .. },
        Call { action: Action::Receive { request: Some(received), .. }, .. },
        Call { requests: waited, completions, .. },
    ] = &found[..]
    else {
        panic!("{found:?}")
    };
    assert_eq!((args, &freed[..], &waited[..]), (&send, &[*sent][..], &[*received][..]));
    assert_eq!(completions[..], [Completion { index: 0, status: Some(STATUS) }]);
    assert_eq!(deviations.stand_ins.len(), 1);
}

#[test]
fn requests_of_omitted_calls_are_null() {
    let request = Some(RequestId(2));
    let barrier = Action::Collective { comm: CommId::WORLD, root: None, bytes: Some(0), request };
    let wait = |request| Call {
        requests: vec![RequestId(request)],
        completions: vec![Completion { index: 0, status: None }],
        ..make_call(Function::Wait, Action::Complete { awaits: Await::All, blocking: true })
    };
    let (found, deviations) = written(&[make_call(Function::Ibarrier, barrier), wait(2), wait(u32::MAX)]);
    assert_eq!((found[0].requests[0], &found[0].completions[..]), (RequestId::NULL, &[][..]));
    assert_eq!(found[1].requests[0], RequestId::UNKNOWN);
    assert_eq!(deviations.left_out[&Function::Ibarrier], 1);
}

fn create_listed(function: Function, members: &[i32], tag: Option<i64>, comm: u32) -> Call {
    let how = NewComm::Listed { own: members.len() as u32, tag };
    let action = Action::CommCreate { parent: CommId::WORLD, how, comm: CommId(comm), request: None };
    Call { integers: members.to_vec(), ..make_call(function, action) }
}

#[test]
fn listed_communicators_are_written_as_splits() {
    let all: Vec<i32> = (0..8).collect();
    let (found, deviations) = written(&[
        create_listed(Function::Comm_create, &[7, 3, 5], None, 10),
        create_listed(Function::Comm_split_type, &[], None, 0),
        create_listed(Function::Cart_create, &all, None, 11),
        create_listed(Function::Cart_create, &[3, 2], None, 12),
        create_listed(Function::Comm_create_group, &[3, 2], Some(4), 13),
    ]);
    let how: Vec<(Function, NewComm)> = found
        .iter()
        .map(|call| match call.action {
            Action::CommCreate { how, .. } => (call.function, how),
            other => panic!("{other:?}"),
        })
        .collect();
    let split = |color, key| (Function::Comm_split, NewComm::Split { color, key });
    let grid = (Function::Cart_create, NewComm::Cart { reorder: false });
    assert_eq!(how, [split(Some(3), 1), split(None, 0), grid, split(Some(2), 0)]);
    assert_eq!(found[2].integers, [8]);
    assert_eq!((deviations.left_out[&Function::Comm_create_group], deviations.members), (1, 1));
}

#[test]
fn unsupported_data_is_reported() {
    let prime = Some((1 << 61) - 1);
    let args = ReceiveArgs { bytes: prime, ..ARGS };
    let without = Status { source: Peer::Any, ..STATUS };
    let (found, deviations) = written(&[
        make_call(Function::Recv, Action::Receive { args, request: None, status: Some(without) }),
        Call {
            enter_ns: 18 * 3_600_000_000_000,
            leave_ns: 18 * 3_600_000_000_000,
            ..make_call(Function::Barrier, Action::Other)
        },
    ]);
    assert_eq!(found[0].action, Action::Receive { args: ARGS, request: None, status: None });
    assert_eq!((deviations.lengths, deviations.statuses, deviations.times), (1, 1, 1));
    assert_eq!(deviations.notes().len(), 3);
}
