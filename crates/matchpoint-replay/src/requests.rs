//! Requests of one process, by the ids that the trace has for them.

use matchpoint::MsgId;
use matchpoint_trace::call::{ReceiveArgs, RequestId, SendArgs, Status};
use rustc_hash::FxHashMap;

/// Ids below this are looked up by index: tracers number requests from zero, and recycle.
const DENSE: usize = 4096;

/// A request.
pub(crate) struct Request {
    pub what: RequestKind,
    pub state: RequestState,
    /// The lane that waits for it.
    pub waiter: Option<u16>,
    /// What the call that completes it reported.
    pub expected: Option<Status>,
    /// Source and tag of the message it got, for a receive that left one of them open.
    pub got: Option<(u32, i32)>,
}

pub(crate) enum RequestKind {
    /// With its message: index of the receiving process, and name.
    Send(Option<(u32, MsgId)>),
    /// A receive whose message waited already.
    Received,
    /// With its place among the receives while it is pending.
    Receive(u32),
    Collective,
    /// A combined send and receive: two ends to wait for.
    SendReceive,
    PersistentSend(Box<SendArgs>),
    PersistentReceive(Box<ReceiveArgs>, u32),
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum RequestState {
    /// A persistent request that was not started, or whose last start is complete.
    Inactive,
    /// That many ends are outstanding.
    Pending(u8),
    /// Complete since then.
    Done(i64),
}

impl Request {
    pub fn new(what: RequestKind, state: RequestState) -> Self {
        Request { what, state, waiter: None, expected: None, got: None }
    }
}

/// The requests that a process has.
#[derive(Default)]
pub(crate) struct RequestTable {
    dense: Vec<Option<Request>>,
    sparse: FxHashMap<RequestId, Request>,
}

impl RequestTable {
    #[inline]
    pub fn get(&self, id: RequestId) -> Option<&Request> {
        match self.dense.get(id.0 as usize) {
            Some(place) => place.as_ref(),
            None => self.sparse.get(&id),
        }
    }

    #[inline]
    pub fn get_mut(&mut self, id: RequestId) -> Option<&mut Request> {
        match self.dense.get_mut(id.0 as usize) {
            Some(place) => place.as_mut(),
            None => self.sparse.get_mut(&id),
        }
    }

    pub fn insert(&mut self, id: RequestId, request: Request) {
        let at = id.0 as usize;
        if at >= DENSE {
            self.sparse.insert(id, request);
            return;
        }
        if at >= self.dense.len() {
            self.dense.resize_with(at + 1, || None);
        }
        self.dense[at] = Some(request);
    }

    pub fn remove(&mut self, id: RequestId) -> Option<Request> {
        match self.dense.get_mut(id.0 as usize) {
            Some(place) => place.take(),
            None => self.sparse.remove(&id),
        }
    }

    pub fn values(&self) -> impl Iterator<Item = &Request> {
        self.dense.iter().flatten().chain(self.sparse.values())
    }

    pub fn values_mut(&mut self) -> impl Iterator<Item = &mut Request> {
        self.dense.iter_mut().flatten().chain(self.sparse.values_mut())
    }
}
