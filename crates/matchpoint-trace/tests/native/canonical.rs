//! Calls in a form that any format can have: objects are numbered in the order of their creation.

use std::collections::{BTreeMap, VecDeque};

use matchpoint_trace::Call;
use matchpoint_trace::call::{
    Action, CommId, Completion, HandleId, NewComm, Peer, RequestId, Status, TagArg,
};
use matchpoint_trace::native::layout::fields;

/// Existing objects by id, oldest first, each with its thread, and whether the object is persistent.
#[derive(Default)]
struct Numbers {
    live: BTreeMap<u32, VecDeque<(u32, bool, u16)>>,
    begun: u32,
    thread: u16,
}

impl Numbers {
    fn begin(&mut self, id: u32, persistent: bool) -> u32 {
        if id == 0 {
            return 0;
        }
        self.begun += 1;
        self.live.entry(id).or_default().push_back((self.begun, persistent, self.thread));
        self.begun
    }

    /// The object after `others` other objects with the same id. Objects of the calling thread are first.
    fn name(&self, id: u32, others: usize) -> u32 {
        let mut live: Vec<_> = self.live.get(&id).into_iter().flatten().collect();
        live.sort_by_key(|(_, _, thread)| *thread != self.thread);
        match live.get(others) {
            _ if id == 0 => 0,
            Some((number, _, _)) => *number,
            None => u32::MAX,
        }
    }

    fn end(&mut self, number: u32, even_persistent: bool) {
        for live in self.live.values_mut() {
            live.retain(|&(of, persistent, _)| of != number || (persistent && !even_persistent));
        }
    }
}

/// Canonical form of calls, without data that the format cannot contain.
#[derive(Default)]
pub struct Canonical {
    requests: Numbers,
    messages: Numbers,
    comms: BTreeMap<u32, u32>,
    made: u32,
}

impl Canonical {
    pub fn call(&mut self, call: &Call) -> Call {
        let mut call = call.clone();
        call.offset = 0;
        call.leave_ns = call.leave_ns.max(call.enter_ns);
        if !matches!(call.action, Action::CommCreate { how: NewComm::Listed { .. }, .. }) {
            call.integers.clear();
        }
        self.requests.thread = call.thread;
        self.name_requests(&mut call);
        let matched = fields(call.function).contains('m');
        match &mut call.action {
            Action::Send { args, request } => {
                self.comm(&mut args.comm);
                self.begin(request);
            }
            Action::Receive { args, request, status } => {
                self.comm(&mut args.comm);
                self.begin(request);
                plain(status);
            }
            Action::SendReceive { send, receive, request, status } => {
                self.comm(&mut send.comm);
                self.comm(&mut receive.comm);
                self.begin(request);
                plain(status);
            }
            Action::SendInit { args, request } => {
                self.comm(&mut args.comm);
                request.0 = self.requests.begin(request.0, true);
            }
            Action::ReceiveInit { args, request } => {
                self.comm(&mut args.comm);
                request.0 = self.requests.begin(request.0, true);
            }
            Action::Probe { args, status, found, handle, .. } => {
                self.comm(&mut args.comm);
                plain(status);
                let begun = handle.filter(|_| *found).unwrap_or(HandleId::NULL);
                *handle = matched.then(|| HandleId(self.messages.begin(begun.0, false)));
            }
            Action::MatchedReceive { handle, request, status } => {
                let number = self.messages.name(handle.0, 0);
                self.messages.end(number, false);
                handle.0 = if number == u32::MAX { 0 } else { number };
                self.begin(request);
                plain(status);
            }
            Action::Collective { comm, request, .. } => {
                self.comm(comm);
                self.begin(request);
            }
            Action::CollectiveInit { comm, request, .. } => {
                self.comm(comm);
                request.0 = self.requests.begin(request.0, true);
            }
            Action::CommCreate { parent, how, comm, request } => {
                self.comm(parent);
                if let NewComm::Inter { peer_comm, .. } = how {
                    self.comm(peer_comm);
                }
                simpler(how, *comm);
                if *comm != CommId::NULL {
                    self.made += 1;
                    self.comms.insert(comm.0, 10 + self.made);
                    comm.0 = 10 + self.made;
                }
                self.begin(request);
            }
            Action::CommFree { comm } => {
                let freed = comm.0;
                self.comm(comm);
                self.comms.remove(&freed);
            }
            Action::CommSize { .. }
            | Action::CommRank { .. }
            | Action::GroupCreate { .. }
            | Action::GroupFree { .. } => call.action = Action::Other,
            _ => {}
        }
        call
    }

    fn name_requests(&mut self, call: &mut Call) {
        let ids = std::mem::take(&mut call.requests);
        for (at, id) in ids.iter().enumerate() {
            let others = ids[..at].iter().filter(|other| *other == id).count();
            call.requests.push(RequestId(self.requests.name(id.0, others)));
        }
        for Completion { index, status } in &mut call.completions {
            plain(status);
            if matches!(call.action, Action::Complete { .. }) {
                self.requests.end(call.requests[*index as usize].0, false);
            }
        }
        if matches!(call.action, Action::RequestFree) {
            call.requests.iter().for_each(|request| self.requests.end(request.0, true));
        }
    }

    fn begin(&mut self, request: &mut Option<RequestId>) {
        if let Some(request) = request {
            request.0 = self.requests.begin(request.0, false);
        }
    }

    /// Ids without a creation are unchanged.
    fn comm(&mut self, comm: &mut CommId) {
        if comm.0 > CommId::SELF.0 {
            let next = 1_000_000 + self.comms.len() as u32;
            comm.0 = *self.comms.entry(comm.0).or_insert(next);
        }
    }
}

fn simpler(how: &mut NewComm, comm: CommId) {
    match how {
        NewComm::Group(_) | NewComm::Cart { .. } | NewComm::Graph { .. } | NewComm::CartSub => {
            *how = NewComm::Unknown;
        }
        _ => {}
    }
    if *how == NewComm::Unknown && comm == CommId::NULL {
        *how = NewComm::Listed { own: 0, tag: None };
    }
}

fn plain(status: &mut Option<Status>) {
    if let Some(Status { cancelled: true, .. }) = status {
        *status = Some(Status { source: Peer::Any, tag: TagArg::Any, bytes: None, cancelled: true });
    }
}
