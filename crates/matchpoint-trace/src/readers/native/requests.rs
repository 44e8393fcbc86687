//! Small, reused ids for requests and messages. An MPI library may give the handle of a freed object to a new one.

#[derive(Clone, Copy, Default)]
struct Slot {
    handle: u64,
    /// Id of the oldest object with this handle; 0 in a free slot.
    oldest: u32,
    newest: u32,
    /// Last id returned for this handle, and the call that looked up the handle.
    given: u32,
    call: u32,
    /// The current call has used all objects of its thread.
    is_own_done: bool,
}

#[derive(Clone, Copy, Default)]
struct Node {
    handle: u64,
    older: u32,
    newer: u32,
    thread: u16,
    persistent: bool,
    named: u32,
}

/// Ids of the requests or of the messages of a process.
///
/// 1. A hash table with open addressing, at most half full. Every call that starts or ends an object looks up
///    a handle, and the standard map took a third of the reading time.
pub(super) struct Table {
    slots: Vec<Slot>,
    used: usize,
    nodes: Vec<Node>,
    free: Vec<u32>,
    call: u32,
    pub thread: u16,
}

const FIRST_SLOTS: usize = 64;

impl Default for Table {
    fn default() -> Self {
        let slots = vec![Slot::default(); FIRST_SLOTS];
        Table { slots, used: 0, nodes: vec![Node::default()], free: Vec::new(), call: 0, thread: 0 }
    }
}

impl Table {
    #[inline]
    pub fn begin(&mut self, handle: u64, persistent: bool) -> u32 {
        if self.used * 2 >= self.slots.len() {
            self.grow();
        }
        let id = self.free.pop().unwrap_or_else(|| {
            self.nodes.push(Node::default());
            (self.nodes.len() - 1) as u32
        });
        let at = self.place(handle);
        let slot = &mut self.slots[at];
        let older = slot.newest;
        if slot.oldest == 0 {
            *slot = Slot { handle, oldest: id, newest: id, ..Slot::default() };
            self.used += 1;
        } else {
            slot.newest = id;
            self.nodes[older as usize].newer = id;
        }
        self.nodes[id as usize] = Node { handle, older, newer: 0, thread: self.thread, persistent, named: 0 };
        id
    }

    #[inline]
    pub fn next_call(&mut self) {
        self.call = self.call.wrapping_add(1).max(1);
    }

    /// The oldest object with this handle that the current call has not used yet, preferably of the same
    /// thread.
    ///
    /// Calls are read in the order of entry. A library may give a handle that one thread freed to an earlier
    /// call of another thread.
    #[inline]
    pub fn name(&mut self, handle: u64) -> Option<u32> {
        let at = self.place(handle);
        let slot = &self.slots[at];
        let again = slot.call == self.call;
        let next = if again { self.nodes[slot.given as usize].newer } else { slot.oldest };
        if next != 0 && self.nodes[next as usize].thread == self.thread && !(again && slot.is_own_done) {
            return self.return_id(at, next, false);
        }
        self.name_among_threads(at, next, again)
    }

    #[cold]
    fn name_among_threads(&mut self, at: usize, next: u32, again: bool) -> Option<u32> {
        let Slot { oldest, is_own_done, .. } = self.slots[at];
        let find = |from: u32, wanted: &dyn Fn(&Node) -> bool| {
            let mut id = from;
            while id != 0 && !wanted(&self.nodes[id as usize]) {
                id = self.nodes[id as usize].newer;
            }
            id
        };
        let own = if again && is_own_done { 0 } else { find(next, &|node| node.thread == self.thread) };
        if own != 0 {
            return self.return_id(at, own, false);
        }
        let from = if again && is_own_done { next } else { oldest };
        let other = find(from, &|node| node.named != self.call);
        self.return_id(at, other, true)
    }

    #[inline]
    fn return_id(&mut self, at: usize, id: u32, is_own_done: bool) -> Option<u32> {
        if id == 0 {
            return None;
        }
        let slot = &mut self.slots[at];
        (slot.given, slot.call, slot.is_own_done) = (id, self.call, is_own_done);
        self.nodes[id as usize].named = self.call;
        Some(id)
    }

    #[inline]
    pub fn complete(&mut self, id: u32) {
        if self.nodes.get(id as usize).is_some_and(|node| !node.persistent) {
            self.end(id);
        }
    }

    /// A repeated removal has no effect.
    #[inline]
    pub fn end(&mut self, id: u32) {
        let Some(&Node { handle, older, newer, .. }) = self.nodes.get(id as usize).filter(|_| id != 0) else {
            return;
        };
        let at = self.place(handle);
        let Slot { oldest, newest, .. } = self.slots[at];
        if oldest == id && newest == id {
            self.free_slot(at);
        } else {
            // False after the removal: no handle leads to the object.
            let is_listed = if older == 0 { oldest == id } else { self.nodes[older as usize].newer == id };
            if !is_listed || oldest == 0 {
                return;
            }
            match older {
                0 => self.slots[at].oldest = newer,
                _ => self.nodes[older as usize].newer = newer,
            }
            match newer {
                0 => self.slots[at].newest = older,
                _ => self.nodes[newer as usize].older = older,
            }
            // The next lookup by the same call continues after the removed object.
            if self.slots[at].given == id {
                self.slots[at].call = 0;
            }
        }
        self.nodes[id as usize] = Node::default();
        self.free.push(id);
    }

    #[inline]
    fn place(&self, handle: u64) -> usize {
        let mask = self.slots.len() - 1;
        let mut at = hash_slot(handle, mask);
        while self.slots[at].oldest != 0 && self.slots[at].handle != handle {
            at = (at + 1) & mask;
        }
        at
    }

    /// Frees a slot, and moves later entries that a lookup would no longer find.
    fn free_slot(&mut self, at: usize) {
        let mask = self.slots.len() - 1;
        let (mut hole, mut next) = (at, (at + 1) & mask);
        while self.slots[next].oldest != 0 {
            let distance = next.wrapping_sub(hash_slot(self.slots[next].handle, mask)) & mask;
            if distance >= (next.wrapping_sub(hole) & mask) {
                self.slots[hole] = self.slots[next];
                hole = next;
            }
            next = (next + 1) & mask;
        }
        self.slots[hole].oldest = 0;
        self.slots[hole].newest = 0;
        self.used -= 1;
    }

    #[cold]
    fn grow(&mut self) {
        let larger = vec![Slot::default(); self.slots.len() * 2];
        let old = std::mem::replace(&mut self.slots, larger);
        for slot in old.into_iter().filter(|slot| slot.oldest != 0) {
            let at = self.place(slot.handle);
            self.slots[at] = slot;
        }
    }
}

/// Handles are addresses, or small numbers with high bits: the upper half of the product depends on all bits.
#[inline]
fn hash_slot(handle: u64, mask: usize) -> usize {
    ((handle ^ handle >> 32).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize & mask
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, VecDeque};

    use super::*;

    #[test]
    fn reused_handle_gets_separate_ids() {
        let mut table = Table::default();
        let ids = [table.begin(7, false), table.begin(7, false), table.begin(7, false)];
        assert_eq!(ids, [1, 2, 3]);
        table.next_call();
        assert_eq!(
            [table.name(7), table.name(7), table.name(7), table.name(7)],
            [Some(1), Some(2), Some(3), None]
        );
        table.complete(2);
        table.next_call();
        assert_eq!([table.name(7), table.name(7), table.name(7)], [Some(1), Some(3), None]);
        table.complete(1);
        table.complete(1);
        table.complete(3);
        table.next_call();
        assert_eq!(table.name(7), None);
        assert_eq!(table.used, 0);
    }

    #[test]
    fn lookup_prefers_request_of_same_thread() {
        let mut table = Table::default();
        let begin = |table: &mut Table, thread| {
            table.thread = thread;
            table.begin(7, false)
        };
        let ids = [begin(&mut table, 1), begin(&mut table, 2), begin(&mut table, 1), begin(&mut table, 2)];
        assert_eq!(ids, [1, 2, 3, 4]);
        table.thread = 2;
        table.next_call();
        let named = [(); 5].map(|()| table.name(7));
        assert_eq!(named, [Some(2), Some(4), Some(1), Some(3), None]);
        table.thread = 0;
        table.begin(7, false);
        table.next_call();
        assert_eq!([table.name(7), table.name(7)], [Some(5), Some(1)]);
        table.thread = 3;
        table.next_call();
        assert_eq!([table.name(7), table.name(7)], [Some(1), Some(2)]);
    }

    #[test]
    fn persistent_requests_stay_until_freed() {
        let mut table = Table::default();
        let id = table.begin(9, true);
        table.complete(id);
        table.next_call();
        assert_eq!(table.name(9), Some(id));
        table.end(id);
        table.next_call();
        assert_eq!(table.name(9), None);
    }

    #[test]
    fn table_agrees_with_map_of_queues() {
        let (mut table, mut model) = (Table::default(), BTreeMap::<u64, VecDeque<u32>>::new());
        let mut state = 1u64;
        for round in 0..200_000 {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            // Few and many handles alternate. Addresses differ in their middle bits only.
            let handle = 0x7f00_0000_0000 + ((state >> 40) % (1 << (1 + (round / 20_000) % 10))) * 64;
            let queue = model.entry(handle).or_default();
            table.next_call();
            match state >> 33 & 3 {
                0 | 1 => queue.push_back(table.begin(handle, false)),
                _ => {
                    assert_eq!(table.name(handle), queue.front().copied());
                    if let Some(id) = queue.pop_front() {
                        table.complete(id);
                    }
                }
            }
        }
        let live: usize = model.values().map(VecDeque::len).sum();
        assert_eq!(table.nodes.len() - 1 - table.free.len(), live);
    }
}
