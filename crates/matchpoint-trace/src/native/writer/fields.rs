//! Writer of a call's fields in Matchpoint's format.

use crate::call::{
    Action, Call, CommId, Completion, HandleId, NewComm, Peer, ReceiveArgs, RequestId, SendArgs, Status,
    TagArg,
};
use crate::native::layout::{FieldLayout, HandleKind};
use crate::native::varint::{put, zigzag};

#[derive(Default)]
pub(super) struct Last([u64; 4]);

impl Last {
    fn handle(&mut self, bytes: &mut Vec<u8>, kind: HandleKind, id: u32) {
        if id == 0 {
            return put(bytes, 0);
        }
        let last = &mut self.0[kind as usize];
        put(bytes, 1 + zigzag(i64::from(id) - *last as i64));
        *last = id.into();
    }

    fn comm(&mut self, bytes: &mut Vec<u8>, comm: CommId) {
        self.handle(bytes, HandleKind::Communicator, comm.0);
    }

    fn request(&mut self, bytes: &mut Vec<u8>, request: Option<RequestId>) {
        self.handle(bytes, HandleKind::Request, request.unwrap_or(RequestId::NULL).0);
    }

    fn message(&mut self, bytes: &mut Vec<u8>, handle: HandleId) {
        self.handle(bytes, HandleKind::Message, handle.0);
    }

    pub fn members(&mut self, bytes: &mut Vec<u8>, comm: CommId, own: &[i32], remote: &[i32]) {
        self.comm(bytes, comm);
        write_processes(bytes, own);
        write_processes(bytes, remote);
    }
}

pub(super) fn fields(bytes: &mut Vec<u8>, last: &mut Last, call: &Call) -> Result<(), &'static str> {
    match (FieldLayout::of(call.function), call.action) {
        (FieldLayout::Send(mode), Action::Send { args, request: None }) if args.mode == mode => {
            write_send(bytes, last, &args)
        }
        (FieldLayout::Isend(mode), Action::Send { args, request: Some(request) }) if args.mode == mode => {
            write_send(bytes, last, &args);
            last.request(bytes, Some(request));
        }
        (FieldLayout::SendInit(mode), Action::SendInit { args, request }) if args.mode == mode => {
            write_send(bytes, last, &args);
            last.request(bytes, Some(request));
        }
        (FieldLayout::Recv, Action::Receive { args, request: None, status: reported }) => {
            write_receive(bytes, last, &args);
            write_status(bytes, reported);
        }
        (FieldLayout::Irecv, Action::Receive { args, request: Some(request), .. })
        | (FieldLayout::RecvInit, Action::ReceiveInit { args, request }) => {
            write_receive(bytes, last, &args);
            last.request(bytes, Some(request));
        }
        (
            shape @ (FieldLayout::Sendrecv | FieldLayout::Isendrecv),
            Action::SendReceive { send: sent, receive: args, request, status: reported },
        ) => {
            write_send(bytes, last, &sent);
            write_selector(bytes, &args);
            write_length(bytes, args.bytes);
            match shape {
                FieldLayout::Sendrecv => write_status(bytes, reported),
                _ => last.request(bytes, request),
            }
        }
        (FieldLayout::Start, Action::Start)
        | (FieldLayout::Cancel, Action::Cancel)
        | (FieldLayout::RequestFree, Action::RequestFree) => write_requests(bytes, last, call),
        (FieldLayout::Complete(awaits, blocking), Action::Complete { awaits: given, blocking: as_given })
            if (awaits, blocking) == (given, as_given) =>
        {
            write_requests(bytes, last, call);
            write_completions(bytes, &call.completions);
        }
        (FieldLayout::RequestStatus, Action::RequestStatus) => {
            write_requests(bytes, last, call);
            write_completions(bytes, &call.completions);
        }
        (shape, Action::Probe { .. }) => return probe(bytes, last, shape, &call.action),
        (FieldLayout::Mrecv, Action::MatchedReceive { handle, request: None, status: reported }) => {
            last.message(bytes, handle);
            write_length(bytes, None);
            write_status(bytes, reported);
        }
        (FieldLayout::Imrecv, Action::MatchedReceive { handle, request: Some(request), .. }) => {
            last.message(bytes, handle);
            write_length(bytes, None);
            last.request(bytes, Some(request));
        }
        (FieldLayout::Collective, Action::Collective { comm, root, bytes: long, request: None }) => {
            write_collective(bytes, last, (comm, root, long));
        }
        (
            FieldLayout::Icollective,
            Action::Collective { comm, root, bytes: long, request: Some(request) },
        )
        | (FieldLayout::CollectiveInit, Action::CollectiveInit { comm, root, bytes: long, request }) => {
            write_collective(bytes, last, (comm, root, long));
            last.request(bytes, Some(request));
        }
        // Readers ignore the arguments of partitioned calls.
        (FieldLayout::PartitionedInit, Action::Partitioned) => bytes.extend([0; 5]),
        (FieldLayout::Pready, Action::Partitioned) => bytes.extend([0; 1]),
        (FieldLayout::Parrived, Action::Partitioned) => bytes.extend([0; 2]),
        (FieldLayout::CommFree, Action::CommFree { comm }) => last.comm(bytes, comm),
        (FieldLayout::Init, Action::Init)
        | (FieldLayout::Finalize, Action::Finalize)
        | (FieldLayout::Other, _) => {}
        (shape, Action::CommCreate { .. }) => return write_created_comm(bytes, last, shape, &call.action),
        _ => return Err("its calls do not do what this one does"),
    }
    Ok(())
}

fn write_send(bytes: &mut Vec<u8>, last: &mut Last, args: &SendArgs) {
    last.comm(bytes, args.comm);
    write_peer(bytes, args.dest);
    write_signed(bytes, args.tag);
    write_length(bytes, args.bytes);
}

fn write_receive(bytes: &mut Vec<u8>, last: &mut Last, args: &ReceiveArgs) {
    last.comm(bytes, args.comm);
    write_selector(bytes, args);
    write_length(bytes, args.bytes);
}

fn write_selector(bytes: &mut Vec<u8>, args: &ReceiveArgs) {
    write_peer(bytes, args.source);
    tag(bytes, args.tag);
}

fn probe(
    bytes: &mut Vec<u8>,
    last: &mut Last,
    shape: FieldLayout,
    action: &Action,
) -> Result<(), &'static str> {
    let Action::Probe { args, found, status: reported, handle, .. } = action else { return Ok(()) };
    last.comm(bytes, args.comm);
    write_selector(bytes, args);
    match shape {
        FieldLayout::Probe | FieldLayout::Mprobe => {}
        FieldLayout::Iprobe | FieldLayout::Improbe => put(bytes, (*found).into()),
        _ => return Err("it is no probe"),
    }
    if matches!(shape, FieldLayout::Mprobe | FieldLayout::Improbe) {
        last.message(bytes, handle.unwrap_or(HandleId::NULL));
    }
    write_status(bytes, *reported);
    Ok(())
}

fn write_collective(
    bytes: &mut Vec<u8>,
    last: &mut Last,
    (comm, root, long): (CommId, Option<u32>, Option<u64>),
) {
    last.comm(bytes, comm);
    put(bytes, zigzag(root.map_or(-1, i64::from)));
    write_length(bytes, long);
}

fn write_created_comm(
    bytes: &mut Vec<u8>,
    last: &mut Last,
    shape: FieldLayout,
    action: &Action,
) -> Result<(), &'static str> {
    let Action::CommCreate { parent, how, comm, request } = *action else { return Ok(()) };
    if shape != FieldLayout::CreateFromGroup {
        last.comm(bytes, parent);
    }
    match (shape, how) {
        (FieldLayout::Dup | FieldLayout::Idup | FieldLayout::Create, _) => {}
        (FieldLayout::Split, NewComm::Split { color, key }) => {
            write_signed(bytes, color.unwrap_or(-1));
            write_signed(bytes, key);
        }
        // Readers ignore color and key if the members are known.
        (FieldLayout::Split, _) => bytes.extend([0, 0]),
        (FieldLayout::CreateGroup | FieldLayout::CreateFromGroup, how) => match how {
            NewComm::Listed { tag: Some(tag), .. } => put(bytes, zigzag(tag)),
            _ => put(bytes, 0),
        },
        (FieldLayout::InterCreate, NewComm::Inter { local_leader, peer_comm, remote_leader, tag }) => {
            put(bytes, zigzag(local_leader.into()));
            last.comm(bytes, peer_comm);
            put(bytes, zigzag(remote_leader.into()));
            write_signed(bytes, tag);
        }
        (FieldLayout::Merge, NewComm::Merge { high }) => put(bytes, high.into()),
        _ => return Err("it makes no communicator in that way"),
    }
    last.comm(bytes, comm);
    if shape == FieldLayout::Idup {
        last.request(bytes, request);
    }
    Ok(())
}

fn write_requests(bytes: &mut Vec<u8>, last: &mut Last, call: &Call) {
    put(bytes, call.requests.len() as u64);
    call.requests.iter().for_each(|&request| last.request(bytes, Some(request)));
}

fn write_completions(bytes: &mut Vec<u8>, completions: &[Completion]) {
    put(bytes, completions.len() as u64);
    let mut next = 0;
    for completion in completions {
        put(bytes, zigzag(i64::from(completion.index) - next));
        next = i64::from(completion.index) + 1;
        write_status(bytes, completion.status);
    }
}

fn write_status(bytes: &mut Vec<u8>, status: Option<Status>) {
    let empty = Status { source: Peer::Any, tag: TagArg::Any, bytes: Some(0), cancelled: false };
    match status {
        None => put(bytes, 0),
        Some(Status { cancelled: true, .. }) => put(bytes, 2),
        Some(status) if status == empty => put(bytes, 3),
        Some(status) => {
            put(bytes, 1);
            write_peer(bytes, status.source);
            tag(bytes, status.tag);
            write_length(bytes, status.bytes);
        }
    }
}

fn write_peer(bytes: &mut Vec<u8>, peer: Peer) {
    let written = match peer {
        Peer::Rank(rank) => i64::from(rank),
        Peer::Any => -1,
        Peer::Null => -2,
    };
    put(bytes, zigzag(written));
}

fn tag(bytes: &mut Vec<u8>, tag: TagArg) {
    match tag {
        TagArg::Is(tag) => write_signed(bytes, tag),
        TagArg::Any => write_signed(bytes, -1),
    }
}

fn write_signed(bytes: &mut Vec<u8>, value: i32) {
    put(bytes, zigzag(value.into()));
}

fn write_length(bytes: &mut Vec<u8>, length: Option<u64>) {
    put(bytes, length.map_or(0, |length| length.saturating_add(1)));
}

fn write_processes(bytes: &mut Vec<u8>, ranks: &[i32]) {
    let mut runs: Vec<(i64, i64, u64)> = Vec::new();
    for rank in ranks.iter().map(|&rank| i64::from(rank)) {
        match runs.last_mut() {
            // Processes outside `MPI_COMM_WORLD` form separate ranges.
            Some((first, step, many))
                if (rank < 0) == (*first < 0) && (*many == 1 || *first + *step * *many as i64 == rank) =>
            {
                if *many == 1 {
                    *step = rank - *first;
                }
                *many += 1;
            }
            _ => runs.push((rank, 0, 1)),
        }
    }
    put(bytes, runs.len() as u64);
    for (first, step, many) in runs {
        put(bytes, zigzag(first));
        put(bytes, zigzag(step));
        put(bytes, many);
    }
}
