//! Ids of communicators, found by their handles.

use std::collections::HashMap;

use crate::call::CommId;

const WORLD: u64 = 1;

pub(super) struct Comms {
    /// Id of a handle, and creations without a free. With several threads, a creation may be entered before
    /// the free of the old communicator.
    known: HashMap<u64, (CommId, u32)>,
    free: Vec<CommId>,
    next: u32,
    /// Direct-mapped cache: without it, the map took half of the time.
    recent: [(u64, CommId); RECENT],
}

const RECENT: usize = 16;

#[inline]
fn place(handle: u64) -> usize {
    ((handle ^ handle >> 32).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 60) as usize % RECENT
}

impl Default for Comms {
    fn default() -> Self {
        let known = HashMap::from([(WORLD, (CommId::WORLD, 1)), (2, (CommId::SELF, 1))]);
        Comms { known, free: Vec::new(), next: 3, recent: [(0, CommId::NULL); RECENT] }
    }
}

impl Comms {
    /// Id of a handle. The creation of the communicator may be missing in the trace.
    #[inline]
    pub fn named(&mut self, handle: u64) -> CommId {
        let at = place(handle);
        if handle != self.recent[at].0 {
            self.recent[at] = (handle, self.find(handle));
        }
        self.recent[at].1
    }

    fn find(&mut self, handle: u64) -> CommId {
        match self.known.get(&handle) {
            _ if handle == 0 => CommId::NULL,
            Some((comm, _)) => *comm,
            None => self.make(handle),
        }
    }

    pub fn make(&mut self, handle: u64) -> CommId {
        if handle == 0 {
            return CommId::NULL;
        }
        if let Some((comm, made)) = self.known.get_mut(&handle) {
            *made += 1;
            return *comm;
        }
        let comm = self.free.pop().unwrap_or_else(|| {
            self.next += 1;
            CommId(self.next - 1)
        });
        self.known.insert(handle, (comm, 1));
        comm
    }

    pub fn free(&mut self, handle: u64) -> CommId {
        let comm = self.named(handle);
        if comm.0 <= CommId::SELF.0 {
            return comm;
        }
        if let Some((_, made)) = self.known.get_mut(&handle) {
            *made -= 1;
            if *made == 0 {
                self.known.remove(&handle);
                self.free.push(comm);
                self.recent[place(handle)] = (0, CommId::NULL);
            }
        }
        comm
    }
}
