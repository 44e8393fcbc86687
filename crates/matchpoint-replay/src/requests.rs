//! Requests of one process, by their ids in the trace.

use matchpoint_trace::Function;
use matchpoint_trace::call::{CommId, ReceiveArgs, RequestId, SendArgs};
use rustc_hash::FxHashMap;

use crate::growth::make_room;
use crate::schedule::NEVER;
use crate::slab::Slab;
use crate::status_envelope::StatusEnvelope;

/// Smaller ids index an array, because recorders number requests from zero and reuse numbers.
const DENSE: usize = 4096;

/// `Copy`, because every other call starts or completes a request.
#[derive(Clone, Copy)]
pub(crate) struct Request {
    pub kind: RequestKind,
    ends: u8,
    completed_ns: i64,
    pub waiter: Option<u16>,
    pub expected: Option<StatusEnvelope>,
    /// Source and tag of the message that a wildcard receive matched.
    pub matched: Option<StatusEnvelope>,
}

#[derive(Clone, Copy)]
pub(crate) enum RequestKind {
    None(u32),
    Send(SentMessage),
    /// A send to a destination without a stream.
    LostSend,
    /// A receive that matched an unexpected message.
    Received,
    /// The slot is valid while the receive is pending.
    Receive(u32),
    Collective,
    /// A send and a receive: two pending operations.
    SendReceive,
    /// Slot in [`RequestTable::persistent`].
    PersistentSend(u32),
    /// The slot of the arguments, and of the receive while pending.
    PersistentReceive(u32, u32),
    PersistentCollective(u32),
}

#[derive(Clone, Copy)]
pub(crate) struct SentMessage {
    pub to: u32,
    pub slot: u32,
    pub number: u32,
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum RequestState {
    /// A persistent request before the first start, or after completion.
    Inactive,
    Pending(u8),
    Complete(i64),
}

#[derive(Clone, Copy)]
pub(crate) enum Persistent {
    Send(SendArgs),
    Receive(ReceiveArgs),
    Collective { function: Function, comm: CommId, root: Option<u32>, bytes: u64 },
}

impl Request {
    /// The slot of a receive. After completion, another receive may use the slot.
    #[inline]
    pub fn receive(&self) -> Option<u32> {
        match (self.kind, self.state()) {
            (
                RequestKind::Receive(slot) | RequestKind::PersistentReceive(_, slot),
                RequestState::Pending(_),
            ) => Some(slot),
            _ => None,
        }
    }

    #[inline]
    pub fn is_receive(&self) -> bool {
        matches!(
            self.kind,
            RequestKind::Received
                | RequestKind::Receive(_)
                | RequestKind::SendReceive
                | RequestKind::PersistentReceive(..)
        )
    }

    #[inline]
    pub fn new(kind: RequestKind, state: RequestState) -> Self {
        let mut request =
            Request { kind, ends: 0, completed_ns: NEVER, waiter: None, expected: None, matched: None };
        request.set_state(state);
        request
    }

    #[inline]
    pub fn state(&self) -> RequestState {
        match (self.ends, self.completed_ns) {
            (0, NEVER) => RequestState::Inactive,
            (0, completed_ns) => RequestState::Complete(completed_ns),
            (ends, _) => RequestState::Pending(ends),
        }
    }

    #[inline]
    pub fn set_state(&mut self, state: RequestState) {
        (self.ends, self.completed_ns) = match state {
            RequestState::Inactive => (0, NEVER),
            RequestState::Pending(ends) => (ends, NEVER),
            RequestState::Complete(completed_ns) => (0, completed_ns),
        };
    }

    /// Complete at `now_ns`, without a recorded status to compare.
    pub fn is_spent(&self, now_ns: i64) -> bool {
        let is_over = matches!(self.state(), RequestState::Complete(completed_ns) if completed_ns <= now_ns);
        is_over && self.persistent().is_none() && self.matched.is_none() && self.waiter.is_none()
    }

    #[inline]
    fn persistent(&self) -> Option<u32> {
        match self.kind {
            RequestKind::PersistentSend(args)
            | RequestKind::PersistentReceive(args, _)
            | RequestKind::PersistentCollective(args) => Some(args),
            _ => None,
        }
    }
}

const NONE: u32 = u32::MAX;

pub(crate) struct RequestTable {
    /// Slots by request id: the slot + 1, or 0.
    dense: Vec<u32>,
    sparse: FxHashMap<RequestId, u32>,
    active: Vec<Request>,
    free: u32,
    /// Number of requests from which the table [removes](Self::remove_spent) spent requests.
    limit: usize,
    pub persistent: Slab<Persistent>,
}

const LIMIT_MIN: usize = 4096;

impl Default for RequestTable {
    fn default() -> Self {
        let (dense, sparse, active) = Default::default();
        RequestTable { dense, sparse, active, free: NONE, limit: LIMIT_MIN, persistent: Slab::default() }
    }
}

impl RequestTable {
    #[inline]
    pub fn slot(&self, id: RequestId) -> Option<u32> {
        match self.dense.get(id.0 as usize) {
            Some(slot) => slot.checked_sub(1),
            None => self.sparse_slot(id),
        }
    }

    fn sparse_slot(&self, id: RequestId) -> Option<u32> {
        if self.sparse.is_empty() { None } else { self.sparse.get(&id).copied() }
    }

    #[inline]
    pub fn at(&mut self, slot: u32) -> &mut Request {
        &mut self.active[slot as usize]
    }

    #[inline]
    pub fn get(&self, id: RequestId) -> Option<&Request> {
        self.active.get(self.slot(id)? as usize)
    }

    #[inline]
    pub fn get_mut(&mut self, id: RequestId) -> Option<&mut Request> {
        let slot = self.slot(id)?;
        self.active.get_mut(slot as usize)
    }

    pub fn insert(&mut self, id: RequestId, request: Request) {
        if let Some(slot) = self.slot(id) {
            self.remove_arguments(slot);
            self.active[slot as usize] = request;
            return;
        }
        let slot = match self.active.get_mut(self.free as usize) {
            Some(at) => {
                let next = if let RequestKind::None(next) = at.kind { next } else { NONE };
                *at = request;
                std::mem::replace(&mut self.free, next)
            }
            None => {
                make_room(&mut self.active);
                self.active.push(request);
                (self.active.len() - 1) as u32
            }
        };
        match self.dense.get_mut(id.0 as usize) {
            Some(known) => *known = slot + 1,
            None => self.insert_id(id, slot),
        }
    }

    #[cold]
    fn insert_id(&mut self, id: RequestId, slot: u32) {
        let at = id.0 as usize;
        if at >= DENSE {
            self.sparse.insert(id, slot);
            return;
        }
        self.dense.reserve_exact((at + 1 + at / 4).next_multiple_of(4) - self.dense.len());
        self.dense.resize(at + 1, 0);
        self.dense[at] = slot + 1;
    }

    #[inline]
    pub fn remove(&mut self, id: RequestId) -> Option<Request> {
        let slot = self.slot(id)?;
        let request = self.active[slot as usize];
        self.remove_at(id, slot);
        Some(request)
    }

    #[inline]
    pub fn remove_at(&mut self, id: RequestId, slot: u32) {
        match self.dense.get_mut(id.0 as usize) {
            Some(known) => *known = 0,
            None => drop(self.sparse.remove(&id)),
        }
        self.remove_arguments(slot);
        self.active[slot as usize].kind = RequestKind::None(self.free);
        self.free = slot;
    }

    /// The caller should [remove](Self::remove_spent) spent requests.
    #[inline]
    pub fn is_full(&self) -> bool {
        self.free == NONE && self.active.len() >= self.limit
    }

    /// Removes spent requests, for programs that never complete their requests.
    pub fn remove_spent(&mut self, is_removable: impl Fn(&Request) -> bool) {
        self.remove_all(is_removable);
        self.limit = LIMIT_MIN.max(2 * self.values().count());
    }

    /// Linear in the number of requests.
    pub fn remove_all(&mut self, is_over: impl Fn(&Request) -> bool) {
        let dense =
            (0..).zip(&self.dense).filter_map(|(id, slot)| Some((RequestId(id), slot.checked_sub(1)?)));
        let all = dense.chain(self.sparse.iter().map(|(&id, &slot)| (id, slot)));
        let over: Vec<(RequestId, u32)> =
            all.filter(|&(_, slot)| is_over(&self.active[slot as usize])).collect();
        over.iter().for_each(|&(id, slot)| self.remove_at(id, slot));
    }

    #[inline]
    fn remove_arguments(&mut self, slot: u32) {
        if let Some(args) = self.active[slot as usize].persistent() {
            self.persistent.remove(args);
        }
    }

    #[cfg(test)]
    fn len(&self) -> usize {
        self.values().count()
    }

    pub fn values(&self) -> impl Iterator<Item = &Request> {
        self.active.iter().filter(|request| !matches!(request.kind, RequestKind::None(_)))
    }

    pub fn values_mut(&mut self) -> impl Iterator<Item = &mut Request> {
        self.active.iter_mut().filter(|request| !matches!(request.kind, RequestKind::None(_)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn request_has_minimal_size() {
        assert_eq!(size_of::<Request>(), 48);
        for state in [RequestState::Inactive, RequestState::Pending(2), RequestState::Complete(-7)] {
            assert_eq!(Request::new(RequestKind::Received, state).state(), state);
        }
    }

    #[test]
    fn removed_slots_are_reused() {
        let mut table = RequestTable::default();
        for round in 0..3u32 {
            for at in 0..100 {
                let kind = RequestKind::Receive(round * 100 + at);
                table.insert(RequestId(at * 100), Request::new(kind, RequestState::Pending(1)));
            }
            assert_eq!(table.len(), 100);
            for at in (0..100).rev() {
                let request = table.remove(RequestId(at * 100)).unwrap();
                assert_eq!(request.receive(), Some(round * 100 + at));
            }
            assert!(table.get(RequestId(0)).is_none());
        }
        assert_eq!((table.len(), table.active.len()), (0, 100));
    }

    #[test]
    fn spent_requests_are_removed() {
        let mut table = RequestTable::default();
        let mut most = 0;
        for at in 0..100_000u32 {
            if table.is_full() {
                table.remove_spent(|request| request.is_spent(i64::from(at)));
            }
            let state =
                if at % 1000 == 0 { RequestState::Pending(1) } else { RequestState::Complete(at.into()) };
            table.insert(RequestId(1 + at), Request::new(RequestKind::Receive(at), state));
            most = most.max(table.active.len());
        }
        assert!(most <= LIMIT_MIN, "{most}");
        for at in (0..100_000).step_by(1000) {
            assert_eq!(table.get(RequestId(1 + at)).and_then(Request::receive), Some(at));
        }
    }
}
