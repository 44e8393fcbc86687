//! Pending operations of one rank, from its calls.
//!
//! A trace shows when a receive is posted and completed, but not when its message arrives. The pending receives are
//! therefore at least the posted receive queue.

use std::collections::HashMap;
use std::sync::Arc;

use matchpoint_trace::Call;
use matchpoint_trace::call::{Action, CommId, NewComm, Peer, ReceiveArgs, RequestId, SendArgs, Status};

use super::flow::Flow;

/// Maximum number of ranks. A larger number is an error of the file.
pub const RANKS_MAX: u32 = 1 << 20;

#[derive(Clone)]
enum Members {
    World,
    Own,
    /// Ranks of `MPI_COMM_WORLD`. −1: a process of another world.
    Listed(Arc<[i32]>),
}

#[derive(Default)]
pub struct Pending {
    rank: u32,
    comms: HashMap<CommId, Members>,
    /// Requests by id. Ids are small and reused.
    requests: Vec<Option<Request>>,
    /// Pending receives with a source.
    pub posted_from: u64,
    /// Pending any-source receives.
    pub posted_from_any: u64,
    /// Number of receives posted, completed, cancelled or freed. A queue length of the library is current while this
    /// number stays.
    pub changes: u64,
    /// Messages to or from a peer that is unknown or in another world.
    pub elsewhere: u64,
    /// Time at which the last MPI call returned.
    pub left_ns: i64,
    /// Begin and end of the current MPI call.
    now_ns: (i64, i64),
}

#[derive(Clone, Copy)]
struct Request {
    operation: Operation,
    persistent: bool,
    /// Whether the request is started and not complete.
    active: bool,
}

#[derive(Clone, Copy)]
enum Operation {
    Send(SendArgs),
    Receive(ReceiveArgs),
}

impl Pending {
    pub fn new(rank: u32) -> Pending {
        Pending { rank, left_ns: i64::MIN, ..Pending::default() }
    }

    pub fn call(&mut self, call: &Call, flow: &mut Flow) {
        self.left_ns = self.left_ns.max(call.leave_ns);
        self.now_ns = (call.enter_ns, call.leave_ns);
        match call.action {
            Action::Send { ref args, .. } => self.send(args, flow),
            Action::Receive { ref args, request: None, status } => self.receive(args, status, flow),
            Action::Receive { ref args, request: Some(id), .. } => self.begin_receive(id, *args),
            Action::SendReceive { ref send, ref receive, request, status } => {
                self.send(send, flow);
                match request {
                    Some(id) => self.begin_receive(id, *receive),
                    None => self.receive(receive, status, flow),
                }
            }
            Action::SendInit { ref args, request } => self.keep(request, Operation::Send(*args), true),
            Action::ReceiveInit { ref args, request } => self.keep(request, Operation::Receive(*args), true),
            Action::Start => call.requests.iter().for_each(|id| self.start(*id, flow)),
            Action::Complete { .. } => self.completions(call, true, flow),
            Action::RequestStatus => self.completions(call, false, flow),
            Action::RequestFree => call.requests.iter().for_each(|id| self.forget(*id)),
            // A matched probe removes the message, so the matched receive does not count.
            Action::Probe { ref args, handle: Some(_), found: true, status, .. } => {
                self.receive(args, status, flow)
            }
            Action::CommCreate { parent, how, comm, .. } => {
                self.communicator(parent, how, comm, &call.integers)
            }
            Action::CommFree { comm } => drop(self.comms.remove(&comm)),
            _ => {}
        }
    }

    fn send(&mut self, args: &SendArgs, flow: &mut Flow) {
        let Peer::Rank(to) = args.dest else { return };
        match self.member(args.comm, to).filter(|rank| *rank < RANKS_MAX) {
            Some(rank) => flow.sent(rank, self.now_ns.0),
            None => self.elsewhere += 1,
        }
    }

    fn receive(&mut self, args: &ReceiveArgs, status: Option<Status>, flow: &mut Flow) {
        self.changes += 1;
        if args.source == Peer::Null || status.is_some_and(|status| status.cancelled) {
            return;
        }
        let named = match args.source {
            Peer::Rank(rank) => Some(rank),
            _ => status.and_then(|status| match status.source {
                Peer::Rank(rank) => Some(rank),
                _ => None,
            }),
        };
        let known = match named {
            Some(rank) => self.member(args.comm, rank).is_some(),
            // The MPI call failed, or the trace lacks the status.
            None => self.is_of_world(args.comm),
        };
        if known {
            flow.received(self.rank, self.now_ns.1);
        } else {
            self.elsewhere += 1;
        }
    }

    fn begin_receive(&mut self, id: RequestId, args: ReceiveArgs) {
        if args.source != Peer::Null {
            self.keep(id, Operation::Receive(args), false);
            self.activate(id);
        }
    }

    fn keep(&mut self, id: RequestId, operation: Operation, persistent: bool) {
        if id == RequestId::NULL || id == RequestId::UNKNOWN {
            return;
        }
        let at = id.0 as usize;
        if at >= self.requests.len() {
            self.requests.resize(at + 1, None);
        }
        self.requests[at] = Some(Request { operation, persistent, active: false });
    }

    fn activate(&mut self, id: RequestId) {
        let Some(Some(request)) = self.requests.get_mut(id.0 as usize) else { return };
        let was = std::mem::replace(&mut request.active, true);
        if let (Operation::Receive(args), false) = (request.operation, was) {
            *self.posted(&args) += 1;
        }
    }

    fn start(&mut self, id: RequestId, flow: &mut Flow) {
        match self.requests.get(id.0 as usize).copied().flatten().map(|request| request.operation) {
            Some(Operation::Send(args)) => self.send(&args, flow),
            Some(Operation::Receive(args)) if args.source != Peer::Null => self.activate(id),
            _ => {}
        }
    }

    fn completions(&mut self, call: &Call, ends: bool, flow: &mut Flow) {
        for completion in &call.completions {
            let Some(&id) = call.requests.get(completion.index as usize) else { continue };
            let Some(Some(request)) = self.requests.get_mut(id.0 as usize) else { continue };
            let (kept, was) = (*request, std::mem::replace(&mut request.active, false));
            if ends && !kept.persistent {
                self.requests[id.0 as usize] = None;
            }
            if let (Operation::Receive(args), true) = (kept.operation, was) {
                *self.posted(&args) -= 1;
                self.receive(&args, completion.status, flow);
            }
        }
    }

    /// The result of a freed receive is unknown, so the receive counts neither as pending nor as received.
    fn forget(&mut self, id: RequestId) {
        let gone = self.requests.get_mut(id.0 as usize).and_then(Option::take);
        if let Some(Request { operation: Operation::Receive(args), active: true, .. }) = gone {
            *self.posted(&args) -= 1;
        }
    }

    fn posted(&mut self, args: &ReceiveArgs) -> &mut u64 {
        self.changes += 1;
        if args.source == Peer::Any { &mut self.posted_from_any } else { &mut self.posted_from }
    }

    fn member(&self, comm: CommId, rank: u32) -> Option<u32> {
        match self.members(comm)? {
            Members::World => Some(rank),
            Members::Own => Some(self.rank),
            Members::Listed(members) => u32::try_from(*members.get(rank as usize)?).ok(),
        }
    }

    fn is_of_world(&self, comm: CommId) -> bool {
        match self.members(comm) {
            Some(Members::Listed(members)) => members.iter().all(|&rank| rank >= 0),
            Some(_) => true,
            None => false,
        }
    }

    /// `None`: the trace does not contain the members.
    fn members(&self, comm: CommId) -> Option<Members> {
        match comm {
            CommId::WORLD => Some(Members::World),
            CommId::SELF => Some(Members::Own),
            _ => self.comms.get(&comm).cloned(),
        }
    }

    fn communicator(&mut self, parent: CommId, how: NewComm, comm: CommId, listed: &[i32]) {
        let members = match how {
            _ if comm == CommId::NULL => return,
            NewComm::Dup => self.members(parent),
            // Peers on an inter-communicator are in the remote group, which is second.
            NewComm::Listed { own, .. } if (own as usize) < listed.len() => {
                Some(Members::Listed(listed[own as usize..].into()))
            }
            NewComm::Listed { .. } => Some(Members::Listed(listed.into())),
            _ => None,
        };
        match members {
            Some(members) => drop(self.comms.insert(comm, members)),
            None => drop(self.comms.remove(&comm)),
        }
    }
}

#[cfg(test)]
mod tests {
    use matchpoint_trace::Function;
    use matchpoint_trace::call::{Await, Completion, SendMode, TagArg};

    use super::*;

    const THERE: CommId = CommId(9);

    fn receive(comm: CommId, source: Peer) -> ReceiveArgs {
        ReceiveArgs { source, tag: TagArg::Is(1), comm, bytes: None }
    }

    fn send(comm: CommId, dest: u32) -> SendArgs {
        SendArgs { mode: SendMode::Standard, dest: Peer::Rank(dest), tag: 1, comm, bytes: None }
    }

    fn post(source: Peer, id: u32) -> Action {
        Action::Receive { args: receive(CommId::WORLD, source), request: Some(RequestId(id)), status: None }
    }

    fn from(source: u32, cancelled: bool) -> Option<Status> {
        Some(Status { source: Peer::Rank(source), tag: TagArg::Is(1), bytes: None, cancelled })
    }

    /// Messages sent to rank 3 at the start of a test.
    const PLENTY: i64 = 100;

    struct Processed {
        pending: Pending,
        flow: Flow,
    }

    impl Processed {
        fn new() -> Processed {
            let mut flow = Flow::default();
            (0..PLENTY).for_each(|_| flow.sent(3, 0));
            Processed { pending: Pending::new(3), flow }
        }

        fn call(&mut self, action: Action) {
            self.with(action, &[], &[], &[]);
        }

        fn with(
            &mut self,
            action: Action,
            ids: &[u32],
            completed: &[(u32, Option<Status>)],
            members: &[i32],
        ) {
            let call = Call {
                function: Function::Init,
                action,
                requests: ids.iter().map(|&id| RequestId(id)).collect(),
                completions: completed.iter().map(|&(index, status)| Completion { index, status }).collect(),
                integers: members.to_vec(),
                ..Call::default()
            };
            self.pending.call(&call, &mut self.flow);
        }

        fn wait(&mut self, ids: &[u32], completed: &[(u32, Option<Status>)]) {
            self.with(Action::Complete { awaits: Await::All, blocking: true }, ids, completed, &[]);
        }

        fn counts(&self) -> (u64, u64, i64, u64) {
            let of = &self.pending;
            (of.posted_from, of.posted_from_any, PLENTY - self.sent(3), of.elsewhere)
        }

        fn sent(&self, to: u32) -> i64 {
            self.flow.pending(to, i64::MAX) as i64
        }
    }

    #[test]
    fn receives_are_posted_until_reported_complete() {
        let mut processed = Processed::new();
        processed.call(post(Peer::Rank(1), 1));
        processed.call(post(Peer::Any, 2));
        processed.call(post(Peer::Null, 3));
        processed.call(post(Peer::Rank(2), 4));
        assert_eq!(processed.counts(), (2, 1, 0, 0));
        processed.wait(&[1, 2], &[(1, from(0, false))]);
        assert_eq!(processed.counts(), (2, 0, 1, 0));
        // A cancelled receive has no message. The message of a freed receive is unknown.
        processed.wait(&[1], &[(0, from(1, true))]);
        processed.with(Action::RequestFree, &[4], &[], &[]);
        assert_eq!(processed.counts(), (0, 0, 1, 0));
        processed.wait(&[4, 77], &[(0, None), (1, None)]);
        assert_eq!(processed.counts(), (0, 0, 1, 0));
        let blocking = Action::Receive {
            args: receive(CommId::WORLD, Peer::Any),
            request: None,
            status: from(0, false),
        };
        processed.call(blocking);
        assert_eq!(processed.counts(), (0, 0, 2, 0));
    }

    #[test]
    fn each_start_posts_persistent_request() {
        let mut processed = Processed::new();
        processed
            .call(Action::ReceiveInit { args: receive(CommId::WORLD, Peer::Rank(1)), request: RequestId(1) });
        processed.call(Action::SendInit { args: send(CommId::WORLD, 5), request: RequestId(2) });
        assert_eq!(processed.counts(), (0, 0, 0, 0));
        for round in 1..=3 {
            processed.with(Action::Start, &[1, 2], &[], &[]);
            assert_eq!((processed.counts(), processed.sent(5)), ((1, 0, round - 1, 0), round));
            // The completion counts once, at the status test.
            processed.with(Action::RequestStatus, &[1], &[(0, None)], &[]);
            assert_eq!(processed.counts(), (0, 0, round, 0));
            processed.wait(&[1, 2], &[(0, from(1, false)), (1, None)]);
            assert_eq!(processed.counts(), (0, 0, round, 0));
        }
    }

    #[test]
    fn matched_probe_counts_message_once() {
        let mut processed = Processed::new();
        let args = receive(CommId::WORLD, Peer::Any);
        let taken = matchpoint_trace::call::HandleId(1);
        let handle = Some(taken);
        let probe =
            |handle, found| Action::Probe { args, blocking: false, found, status: from(0, false), handle };
        processed.call(probe(None, true));
        processed.call(probe(handle, false));
        assert_eq!(processed.counts(), (0, 0, 0, 0));
        processed.call(probe(handle, true));
        processed.call(Action::MatchedReceive { handle: taken, request: None, status: from(0, false) });
        assert_eq!(processed.counts(), (0, 0, 1, 0));
    }

    #[test]
    fn communicator_ranks_become_world_ranks() {
        let mut processed = Processed::new();
        let made = |how, parent| Action::CommCreate { parent, how, comm: THERE, request: None };
        processed.with(made(NewComm::Listed { own: 3, tag: None }, CommId::WORLD), &[], &[], &[6, 3, -1]);
        processed.call(Action::Send { args: send(THERE, 0), request: None });
        processed.call(Action::Send { args: send(THERE, 2), request: None });
        processed.call(Action::Send { args: send(CommId::SELF, 0), request: None });
        assert_eq!((processed.sent(6), processed.sent(3) - PLENTY, processed.counts().3), (1, 1, 1));
        processed.call(Action::Receive {
            args: receive(THERE, Peer::Any),
            request: None,
            status: from(2, false),
        });
        processed.call(Action::Receive { args: receive(THERE, Peer::Rank(0)), request: None, status: None });
        assert_eq!(processed.counts(), (0, 0, 0, 2));
        processed.with(made(NewComm::Listed { own: 1, tag: None }, CommId::WORLD), &[], &[], &[3, 8]);
        processed.call(Action::Send { args: send(THERE, 0), request: None });
        assert_eq!(processed.sent(8), 1);
        // A communicator without a recorded creation has unknown members.
        processed.call(made(NewComm::Dup, CommId::WORLD));
        processed.call(Action::Send { args: send(THERE, 1), request: None });
        assert_eq!(processed.sent(1), 1);
        processed.call(Action::CommFree { comm: THERE });
        processed.call(Action::Send { args: send(THERE, 1), request: None });
        assert_eq!((processed.sent(1), processed.counts().3), (1, 3));
    }
}
