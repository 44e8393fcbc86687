//! Numbers of objects, the inverse of [`ids`](super::super::ids).

use std::collections::HashMap;

use crate::call::{CommId, GroupId, Peer, RequestId, TagArg};

const ANY: i32 = -1;
/// `MPI_PROC_NULL` of Open MPI. The value of MPICH equals `MPI_ANY_SOURCE`.
const NO_PROCESS: i32 = -2;
pub(super) const UNDEFINED: i32 = -32_766;

const FIRST_OWN: u16 = 4;
/// Difference between the number and the id of a request: number 0 is no request, 1 is null.
const REQUESTS_FROM: u32 = 4;
/// Ids from here on are assumed to be in the file.
const FOLLOWED: u32 = 1 << 24;

pub(super) fn peer(peer: Peer) -> i32 {
    match peer {
        Peer::Rank(rank) => i32::try_from(rank).unwrap_or(NO_PROCESS),
        Peer::Any => ANY,
        Peer::Null => NO_PROCESS,
    }
}

pub(super) fn tag(tag: TagArg) -> i32 {
    match tag {
        TagArg::Is(tag) => tag,
        TagArg::Any => ANY,
    }
}

/// Numbers of communicators or groups. Numbers have 16 bits and are reused when free.
pub(super) struct Numbers {
    /// For each id, its number and its count of creations without a free.
    known: HashMap<u32, (u16, u32)>,
    free: Vec<u16>,
    next: u16,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct NumbersExhausted;

impl Numbers {
    pub fn of_comms() -> Self {
        let known =
            [(CommId::NULL, 1), (CommId::WORLD, 2), (CommId::SELF, 3)].map(|(id, raw)| (id.0, (raw, 1)));
        Numbers { known: HashMap::from(known), free: Vec::new(), next: FIRST_OWN }
    }

    pub fn of_groups() -> Self {
        let known = [(GroupId::NULL, 1), (GroupId::EMPTY, 2)].map(|(id, raw)| (id.0, (raw, 1)));
        Numbers { known: HashMap::from(known), free: Vec::new(), next: FIRST_OWN }
    }

    /// Number of an object. The creation of the object may be missing in the trace.
    pub fn number_of(&mut self, id: u32) -> Result<u16, NumbersExhausted> {
        match self.known.get(&id) {
            Some((raw, _)) => Ok(*raw),
            None => self.create(id),
        }
    }

    pub fn create(&mut self, id: u32) -> Result<u16, NumbersExhausted> {
        if let Some((raw, made)) = self.known.get_mut(&id) {
            *made += 1;
            return Ok(*raw);
        }
        let raw = match self.free.pop() {
            Some(raw) => raw,
            None => {
                self.next = self.next.checked_add(1).ok_or(NumbersExhausted)?;
                self.next - 1
            }
        };
        self.known.insert(id, (raw, 1));
        Ok(raw)
    }

    pub fn free(&mut self, id: u32) -> Result<u16, NumbersExhausted> {
        let raw = self.number_of(id)?;
        if raw >= FIRST_OWN {
            if let Some((_, made)) = self.known.get_mut(&id) {
                *made -= 1;
                if *made == 0 {
                    self.known.remove(&id);
                    self.free.push(raw);
                }
            }
        }
        Ok(raw)
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
enum RequestStart {
    #[default]
    Not,
    Once,
    Persistent,
}

/// Requests in the file. Other requests are written as null.
#[derive(Default)]
pub(super) struct Requests {
    started: Vec<RequestStart>,
    extra: u32,
}

impl Requests {
    /// Starts a request; [`RequestId::UNKNOWN`] if the application has no request.
    pub fn begin(&mut self, request: RequestId, persistent: bool) -> i32 {
        if request == RequestId::UNKNOWN {
            self.extra += 1;
            return self.extra();
        }
        self.set(request, if persistent { RequestStart::Persistent } else { RequestStart::Once });
        raw(request)
    }

    pub fn omit(&mut self, request: RequestId) {
        self.set(request, RequestStart::Not);
    }

    pub fn extra(&self) -> i32 {
        i32::MAX - (self.extra % (1 << 20)) as i32
    }

    pub fn number_of(&self, request: RequestId) -> i32 {
        match self.started.get(request.0 as usize) {
            _ if request == RequestId::UNKNOWN => raw(request),
            None if request.0 >= FOLLOWED => raw(request),
            Some(RequestStart::Once | RequestStart::Persistent) => raw(request),
            _ => 1,
        }
    }

    pub fn complete(&mut self, request: RequestId) {
        if self.started.get(request.0 as usize) == Some(&RequestStart::Once) {
            self.set(request, RequestStart::Not);
        }
    }

    fn set(&mut self, request: RequestId, to: RequestStart) {
        let at = request.0 as usize;
        if request == RequestId::NULL || request.0 >= FOLLOWED {
            return;
        }
        if at >= self.started.len() {
            self.started.resize(at + 1, RequestStart::Not);
        }
        self.started[at] = to;
    }
}

fn raw(request: RequestId) -> i32 {
    match request {
        RequestId::NULL => 1,
        RequestId::UNKNOWN => -1,
        RequestId(id) => id.wrapping_add(REQUESTS_FROM) as i32,
    }
}
