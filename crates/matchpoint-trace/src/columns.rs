//! Columns of the table of calls, in the order of `docs/reference/convert.md`. CSV and Parquet have the same columns.

use std::collections::HashMap;

use crate::Call;
use crate::call::{
    Action, CommId, HandleId, NewComm, Peer, ReceiveArgs, RequestId, SendArgs, Status, TagArg,
};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    Name,
    U16,
    U32,
    I32,
    U64,
    I64,
    Bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Column {
    pub name: &'static str,
    pub kind: Kind,
    pub required: bool,
}

macro_rules! columns {
    ($table:ident $at:ident { $($name:ident $kind:ident $($required:ident)?,)* }) => {
        #[allow(non_camel_case_types)]
        #[derive(Clone, Copy)]
        enum $at { $($name,)* }

        impl $at {
            const COUNT: usize = [$($at::$name),*].len();
        }

        pub const $table: [Column; $at::COUNT] = [$(
            Column { name: stringify!($name), kind: Kind::$kind, required: columns!(@ $($required)?) },
        )*];
    };
    (@) => { false };
    (@ required) => { true };
}

columns! { VALUES Value {
    rank U32 required,
    thread U16 required,
    call U64 required,
    function Name required,
    enter_ns I64 required,
    leave_ns I64 required,
    comm U32,
    peer I32,
    tag I32,
    bytes U64,
    recv_peer I32,
    recv_tag I32,
    recv_bytes U64,
    root I32,
    found Bool,
    message U32,
    new_comm U32,
    color I32,
    key I32,
} }

columns! { LISTS List {
    requests U32,
    completed U32,
    status_source I32,
    status_tag I32,
    status_bytes U64,
    status_cancelled Bool,
} }

/// A call as a row. Functions are numbers, and booleans are 0 and 1.
#[derive(Default)]
pub struct Row {
    pub values: [Option<i64>; Value::COUNT],
    /// Values of [`LISTS`]. Unknown elements are `None`.
    pub lists: [Vec<Option<i64>>; List::COUNT],
    /// Requests of the rank that are no receives, and whether each is persistent. The status of such a request
    /// describes no message.
    no_receives: HashMap<RequestId, bool>,
}

impl Row {
    /// Fills the row from call `number` of the rank. Calls come in order, without gaps.
    pub fn fill(&mut self, rank: u32, number: u64, call: &Call) {
        if number == 0 {
            self.no_receives.clear();
        }
        self.values = [None; Value::COUNT];
        self.lists.iter_mut().for_each(Vec::clear);
        self.set(Value::rank, rank);
        self.set(Value::thread, call.thread);
        self.set(Value::call, number as i64);
        self.set(Value::function, call.function as u16);
        self.set(Value::enter_ns, call.enter_ns);
        self.set(Value::leave_ns, call.leave_ns);
        self.action(call);
        call.requests.iter().for_each(|&request| self.request(request));
        for found in &call.completions {
            self.lists[List::completed as usize].push(Some(found.index.into()));
            let request = call.requests.get(found.index as usize);
            let is_persistent = request.and_then(|request| self.no_receives.get(request)).copied();
            let status = found.status.map(|status| match is_persistent {
                Some(_) => Status { source: Peer::Any, tag: TagArg::Any, bytes: None, ..status },
                None => status,
            });
            self.status(status);
            if let (Some(request), Some(false), Action::Complete { .. }) =
                (request, is_persistent, &call.action)
            {
                self.no_receives.remove(request);
            }
        }
        self.begin(call);
    }

    /// Records requests that the call creates, or frees without a wait.
    fn begin(&mut self, call: &Call) {
        match call.action {
            Action::Send { request: Some(request), .. }
            | Action::Collective { request: Some(request), .. }
            | Action::CommCreate { request: Some(request), .. } => {
                _ = self.no_receives.insert(request, false)
            }
            Action::SendInit { request, .. } | Action::CollectiveInit { request, .. } => {
                self.no_receives.insert(request, true);
            }
            Action::Receive { request: Some(request), .. }
            | Action::SendReceive { request: Some(request), .. }
            | Action::MatchedReceive { request: Some(request), .. }
            | Action::ReceiveInit { request, .. } => _ = self.no_receives.remove(&request),
            Action::RequestFree => {
                for request in &call.requests {
                    self.no_receives.remove(request);
                }
            }
            _ => {}
        }
    }

    fn action(&mut self, call: &Call) {
        match call.action {
            Action::Send { args, request } => {
                self.send(&args);
                request.into_iter().for_each(|request| self.request(request));
            }
            Action::SendInit { args, request } => {
                self.send(&args);
                self.request(request);
            }
            Action::Receive { args, request, status } => {
                self.receive(&args);
                self.begun(request, status);
            }
            Action::ReceiveInit { args, request } => {
                self.receive(&args);
                self.request(request);
            }
            Action::SendReceive { send, receive, request, status } => {
                self.send(&send);
                self.set(Value::recv_peer, peer(receive.source));
                self.set(Value::recv_tag, tag(receive.tag));
                self.set_optional(Value::recv_bytes, receive.bytes);
                self.begun(request, status);
            }
            Action::Probe { args, found, status, handle, .. } => {
                self.receive(&args);
                self.set(Value::found, found);
                self.message(handle);
                status.into_iter().for_each(|status| self.status(Some(status)));
            }
            Action::MatchedReceive { handle, request, status } => {
                self.message(Some(handle));
                self.begun(request, status);
            }
            Action::Collective { comm, root, bytes, request } => {
                self.collective(comm, root, bytes);
                request.into_iter().for_each(|request| self.request(request));
            }
            Action::CollectiveInit { comm, root, bytes, request } => {
                self.collective(comm, root, bytes);
                self.request(request);
            }
            Action::CommCreate { parent, how, comm, request } => {
                self.comm(parent);
                self.set(Value::new_comm, comm.0);
                if let NewComm::Split { color, key } = how {
                    self.set_optional(Value::color, color);
                    self.set(Value::key, key);
                }
                request.into_iter().for_each(|request| self.request(request));
            }
            Action::CommFree { comm } | Action::CommSize { comm, .. } | Action::CommRank { comm, .. } => {
                self.comm(comm);
            }
            _ => {}
        }
    }

    fn set(&mut self, at: Value, value: impl Into<i64>) {
        self.values[at as usize] = Some(value.into());
    }

    /// Sets a column, if there is a value. A value above 63 bits is unknown.
    fn set_optional<T: TryInto<i64>>(&mut self, at: Value, value: Option<T>) {
        self.values[at as usize] = value.and_then(|value| value.try_into().ok());
    }

    fn comm(&mut self, comm: CommId) {
        self.set(Value::comm, comm.0);
    }

    fn send(&mut self, args: &SendArgs) {
        self.comm(args.comm);
        self.set(Value::peer, peer(args.dest));
        self.set(Value::tag, args.tag);
        self.set_optional(Value::bytes, args.bytes);
    }

    fn receive(&mut self, args: &ReceiveArgs) {
        self.comm(args.comm);
        self.set(Value::peer, peer(args.source));
        self.set(Value::tag, tag(args.tag));
        self.set_optional(Value::bytes, args.bytes);
    }

    fn collective(&mut self, comm: CommId, root: Option<u32>, bytes: Option<u64>) {
        self.comm(comm);
        self.set_optional(Value::root, root);
        self.set_optional(Value::bytes, bytes);
    }

    fn message(&mut self, handle: Option<HandleId>) {
        let handle = handle.filter(|&handle| handle != HandleId::NULL);
        self.set_optional(Value::message, handle.map(|handle| handle.0));
    }

    fn begun(&mut self, request: Option<RequestId>, status: Option<Status>) {
        request.into_iter().for_each(|request| self.request(request));
        status.into_iter().for_each(|status| self.status(Some(status)));
    }

    fn request(&mut self, request: RequestId) {
        let known = (request != RequestId::UNKNOWN).then_some(request.0.into());
        self.lists[List::requests as usize].push(known);
    }

    fn status(&mut self, status: Option<Status>) {
        let source = status.and_then(|status| match status.source {
            Peer::Any => None,
            other => Some(peer(other).into()),
        });
        let tag = status.and_then(|status| match status.tag {
            TagArg::Any => None,
            TagArg::Is(tag) => Some(tag.into()),
        });
        let bytes = status.and_then(|status| status.bytes).and_then(|bytes| i64::try_from(bytes).ok());
        let cancelled = status.map(|status| status.cancelled.into());
        let lists = [List::status_source, List::status_tag, List::status_bytes, List::status_cancelled];
        for (list, value) in lists.into_iter().zip([source, tag, bytes, cancelled]) {
            self.lists[list as usize].push(value);
        }
    }
}

/// −1 is `MPI_ANY_SOURCE`, and −2 is `MPI_PROC_NULL`.
fn peer(peer: Peer) -> i32 {
    match peer {
        Peer::Rank(rank) => i32::try_from(rank).unwrap_or(i32::MAX),
        Peer::Any => -1,
        Peer::Null => -2,
    }
}

/// −1 is `MPI_ANY_TAG`.
fn tag(tag: TagArg) -> i32 {
    match tag {
        TagArg::Is(tag) => tag,
        TagArg::Any => -1,
    }
}

#[cfg(test)]
mod tests {
    use crate::Function;
    use crate::call::{Await, Completion, SendMode};

    use super::*;

    fn call(function: Function, action: Action) -> Call {
        Call { function, action, ..Call::default() }
    }

    #[test]
    fn only_receives_have_senders() {
        let (sent, received) = (RequestId(1), RequestId(2));
        let mut row = Row::default();
        let dest = SendArgs {
            mode: SendMode::Standard,
            comm: CommId::WORLD,
            dest: Peer::Rank(3),
            tag: 4,
            bytes: Some(5),
        };
        row.fill(0, 0, &call(Function::Isend, Action::Send { args: dest, request: Some(sent) }));
        let args = ReceiveArgs { comm: CommId::WORLD, source: Peer::Any, tag: TagArg::Any, bytes: Some(5) };
        let receive = Action::Receive { args, request: Some(received), status: None };
        row.fill(0, 1, &call(Function::Irecv, receive));
        let status = Status { source: Peer::Rank(7), tag: TagArg::Is(8), bytes: Some(9), cancelled: false };
        let found = |index| Completion { index, status: Some(status) };
        let mut both = call(Function::Waitall, Action::Complete { awaits: Await::All, blocking: true });
        both.requests.extend([sent, received]);
        both.completions.extend([found(0), found(1)]);
        row.fill(0, 2, &both);
        assert_eq!(row.lists[List::status_source as usize], [None, Some(7)]);
        assert_eq!(row.lists[List::status_tag as usize], [None, Some(8)]);
        assert_eq!(row.lists[List::status_bytes as usize], [None, Some(9)]);
        assert_eq!(row.lists[List::status_cancelled as usize], [Some(0), Some(0)]);
        assert!(row.no_receives.is_empty(), "memory does not grow with the trace");
    }
}
