//! Requests of one process, by the ids that the trace has for them.

use matchpoint::MsgId;
use matchpoint_trace::call::{ReceiveArgs, RequestId, SendArgs};
use rustc_hash::FxHashMap;

use crate::reported::Reported;
use crate::slab::Slab;

/// Ids below this are looked up by index: tracers number requests from zero, and recycle.
const DENSE: usize = 4096;

/// A request.
pub(crate) struct Request {
    pub what: RequestKind,
    pub state: RequestState,
    /// The lane that waits for it.
    pub waiter: Option<u16>,
    /// What the call that completes it reported.
    pub expected: Option<Reported>,
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
    /// Where its receive is, as long as that is outstanding: afterwards the place may be another's.
    pub fn receive(&self) -> Option<u32> {
        match (&self.what, self.state) {
            (
                RequestKind::Receive(place) | RequestKind::PersistentReceive(_, place),
                RequestState::Pending(_),
            ) => Some(*place),
            _ => None,
        }
    }

    pub fn new(what: RequestKind, state: RequestState) -> Self {
        Request { what, state, waiter: None, expected: None, got: None }
    }
}

/// The requests that a process has.
#[derive(Default)]
pub(crate) struct RequestTable {
    /// By id: one more than the place among `active`, zero for none.
    dense: Vec<u32>,
    sparse: FxHashMap<RequestId, u32>,
    active: Slab<Request>,
}

impl RequestTable {
    #[inline]
    fn place(&self, id: RequestId) -> Option<u32> {
        match self.dense.get(id.0 as usize) {
            Some(place) => place.checked_sub(1),
            None => self.sparse.get(&id).copied(),
        }
    }

    #[inline]
    pub fn get(&self, id: RequestId) -> Option<&Request> {
        self.active.get(self.place(id)?)
    }

    #[inline]
    pub fn get_mut(&mut self, id: RequestId) -> Option<&mut Request> {
        let place = self.place(id)?;
        self.active.get_mut(place)
    }

    pub fn insert(&mut self, id: RequestId, request: Request) {
        if let Some(known) = self.get_mut(id) {
            *known = request;
            return;
        }
        let place = self.active.insert(request);
        let at = id.0 as usize;
        if at >= DENSE {
            self.sparse.insert(id, place);
            return;
        }
        if at >= self.dense.len() {
            self.dense.resize(at + 1, 0);
        }
        self.dense[at] = place + 1;
    }

    pub fn remove(&mut self, id: RequestId) -> Option<Request> {
        let place = match self.dense.get_mut(id.0 as usize) {
            Some(place) => std::mem::take(place).checked_sub(1)?,
            None => self.sparse.remove(&id)?,
        };
        self.active.remove(place)
    }

    pub fn values(&self) -> impl Iterator<Item = &Request> {
        self.active.iter().map(|(_, request)| request)
    }

    pub fn values_mut(&mut self) -> impl Iterator<Item = &mut Request> {
        self.active.iter_mut()
    }
}
