//! The entries of a key that came when it had one already: seven side by side in a block, the blocks linked by age.
//!
//! ```text
//! cell    key, its first entry unless that is the one at `first`, first, last
//!                                                           ▼             ╲
//! blocks                       │ 2nd 3rd 4th 5th … 8th, owner next prev │ ⇄ │ 9th  †  11th …         │      128 bytes
//! ```
//!
//! Who takes the first reads its name, marks it dead and goes one on; who appends writes behind the last. Six of seven such calls
//! look at nothing but the cell and the block. What is withdrawn from between others is marked dead, and a block of which all
//! are is unlinked: so in each there is one alive, and nobody passes more than twelve of the dead.
//!
//! One by one, in records of 32 bytes linked to both neighbours, taken from a pool and given back to it, `identical` took 1.43
//! times a list's time where it takes 1.28. With three to a block, of 64 bytes, it took 1.33. With seven a key has more memory
//! than it had with records while it has fewer than five entries, and 18 bytes for each instead of 32 where it has many.

use super::entry::{Cell, Head, NO_SEQ, Ref};
use super::pool::{NIL, Place, Pool, Record};
use crate::engine::Refused;

/// Entries in a block: two cache lines, which processors fetch together.
const EACH: usize = 7;

/// The places of a block: an entry's is a multiple of that, and which of the block's it is. One is nobody's.
pub(super) const STEP: Place = EACH as Place + 1;

/// Blocks in a chunk: 2 KiB.
const CHUNK: usize = 16;

/// An entry, of the kind of the first.
#[derive(Clone, Copy, Debug)]
pub(super) struct Equal {
    pub(super) id: u64,
    /// [`NO_SEQ`]: nothing lies here.
    pub(super) seq: u64,
}

const DEAD: Equal = Equal { id: 0, seq: NO_SEQ };

impl Equal {
    #[inline]
    fn of(head: Head) -> Self {
        Equal { id: head.id, seq: head.seq }
    }

    #[inline]
    fn is_live(&self) -> bool {
        self.seq != NO_SEQ
    }
}

#[derive(Clone, Copy, Debug)]
#[repr(C, align(128))]
struct Block {
    equals: [Equal; EACH],
    /// The cell of the key.
    owner: Place,
    next: Place,
    prev: Place,
}

impl Block {
    fn of(owner: Place) -> Self {
        Block { equals: [DEAD; EACH], owner, next: NIL, prev: NIL }
    }

    /// Those that are alive, and which they are.
    fn live(&self) -> impl DoubleEndedIterator<Item = (usize, Equal)> {
        self.equals.into_iter().enumerate().filter(|(_, equal)| equal.is_live())
    }
}

impl Record for Block {
    const MOST: usize = super::pool::MOST / STEP as usize;

    fn vacant(next: Place) -> Self {
        // What is remembered of its entries finds nothing.
        Block { next, ..Block::of(NIL) }
    }

    #[inline]
    fn vacate(&mut self, next: Place) {
        debug_assert!(self.live().next().is_none(), "who gives a block back has taken all out");
        self.next = next;
    }

    #[inline]
    fn next_vacant(&self) -> Place {
        self.next
    }
}

/// Blocks that an entry was put into, whose entries may lie elsewhere in them now.
pub(super) type Touched = [Place; 2];

/// See the [module's documentation](self).
#[derive(Default)]
pub(super) struct Equals {
    blocks: Pool<Block, CHUNK>,
    len: u32,
    /// Keys that got a second entry since [that](super::front) was last asked.
    pub(super) begun: u32,
}

#[inline]
fn place(block: Place, nth: usize) -> Place {
    block * STEP + nth as Place
}

#[inline]
fn nth(at: Place) -> usize {
    (at % STEP) as usize
}

impl Equals {
    /// Entries.
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.len as usize
    }

    /// Bytes allocated.
    pub(super) fn bytes(&self) -> u64 {
        self.blocks.bytes()
    }

    /// Gives a chunk back, of entries that nobody needs any more. False: there is none.
    pub(super) fn give_back(&mut self) -> bool {
        self.blocks.give_back()
    }

    /// Places that there are.
    pub(super) fn places(&self) -> usize {
        self.blocks.places() * STEP as usize
    }

    /// Makes sure that one more entry can be kept, wherever.
    #[inline]
    pub(super) fn reserve_one(&mut self) -> Result<(), Refused> {
        self.blocks.reserve_one()
    }

    /// Whether an entry can be [appended](Self::append) to a queue without allocating.
    #[inline(always)]
    pub(super) fn has_room(&self, cell: &Cell) -> bool {
        nth(cell.last) < EACH - 1 || self.blocks.has_room()
    }

    #[inline]
    pub(super) fn get(&self, at: Place) -> Equal {
        self.blocks.get(at / STEP).equals[nth(at)]
    }

    /// The entry at a place, if there is that place and something lies there, and the cell of its key.
    #[inline]
    pub(super) fn find(&self, at: Place) -> Option<(Place, Equal)> {
        let block = self.blocks.find(at / STEP)?;
        let equal = *block.equals.get(nth(at))?;
        equal.is_live().then_some((block.owner, equal))
    }

    /// The entries of so many blocks from a place on, with the cells of their keys, in the order of memory.
    pub(super) fn since(&self, from: usize, blocks: usize) -> impl Iterator<Item = (Place, Place, Equal)> {
        self.blocks.since(from / STEP as usize).take(blocks).flat_map(|(block, entries)| {
            entries.live().map(move |(nth, equal)| (place(block, nth), entries.owner, equal))
        })
    }

    /// The place behind another in its queue, or [`NIL`].
    #[inline]
    pub(super) fn next(&self, at: Place) -> Place {
        let (number, block) = (at / STEP, self.blocks.get(at / STEP));
        if let Some((nth, _)) = block.live().find(|&(other, _)| other > nth(at)) {
            return place(number, nth);
        }
        self.end_of(block.next, |block| block.live().next())
    }

    /// The place before another in its queue, or [`NIL`].
    fn prev(&self, at: Place) -> Place {
        let (number, block) = (at / STEP, self.blocks.get(at / STEP));
        if let Some((nth, _)) = block.live().rev().find(|&(other, _)| other < nth(at)) {
            return place(number, nth);
        }
        self.end_of(block.prev, |block| block.live().next_back())
    }

    /// The entry at one end of a block, if there is that block: each has one alive.
    fn end_of(&self, block: Place, end: impl Fn(&Block) -> Option<(usize, Equal)>) -> Place {
        let found = (block != NIL).then(|| end(self.blocks.get(block))).flatten();
        found.map_or(NIL, |(nth, _)| place(block, nth))
    }

    /// The places of the queue of a cell, oldest first.
    pub(super) fn queue(&self, cell: &Cell) -> impl Iterator<Item = (Place, Equal)> {
        let mut at = cell.first;
        std::iter::from_fn(move || {
            let here = (at != NIL).then_some(at)?;
            at = self.next(here);
            Some((here, self.get(here)))
        })
    }

    /// Appends an entry behind the last of a cell, where that takes no other block. False, and nothing done: it does.
    #[inline(always)]
    pub(super) fn append_near(&mut self, cell: &mut Cell, head: Head) -> bool {
        let is_near = nth(cell.last) < EACH - 1;
        if is_near {
            let at = cell.last + 1;
            self.blocks.get_mut(at / STEP).equals[nth(at)] = Equal::of(head);
            cell.last = at;
            self.len += 1;
        }
        is_near
    }

    /// Takes out the first of a cell, where the second lies beside it. Its name; nothing, and nothing done: it does not.
    #[inline(always)]
    pub(super) fn take_near(&mut self, cell: &mut Cell) -> Option<u64> {
        let at = cell.first;
        if cell.has_head() {
            return None;
        }
        let equals = &mut self.blocks.get_mut(at / STEP).equals;
        if !equals.get(nth(at) + 1).is_some_and(Equal::is_live) {
            return None;
        }
        equals[nth(at)].seq = NO_SEQ;
        cell.first = at + 1;
        self.len -= 1;
        Some(equals[nth(at)].id)
    }

    /// Appends an entry to the queue of a cell. Takes [room](Self::has_room) for one.
    #[inline(always)]
    pub(super) fn append(&mut self, cell: &mut Cell, owner: Place, head: Head) -> Place {
        if !self.append_near(cell, head) {
            self.begin(cell, owner, head.id, head.seq);
        }
        cell.last
    }

    /// Appends an entry in a block of its own. It comes in registers, as where [keys are met](super::table::Table::meet_cells).
    #[inline(never)]
    fn begin(&mut self, cell: &mut Cell, owner: Place, id: u64, seq: u64) {
        let prev = if cell.last == NIL { NIL } else { cell.last / STEP };
        let block = self.blocks.take();
        // Its entries are dead. (A block made anew is copied as a whole from where it was made in parts, which stalls.)
        let begun = self.blocks.get_mut(block);
        (begun.owner, begun.prev, begun.next) = (owner, prev, NIL);
        begun.equals[0] = Equal { id, seq };
        if prev == NIL {
            self.begun = self.begun.saturating_add(1);
            cell.first = place(block, 0);
        } else {
            self.blocks.get_mut(prev).next = block;
        }
        cell.last = place(block, 0);
        self.len += 1;
    }

    /// Takes out the first of several entries of a cell, which may lie there itself. Its name.
    #[inline(always)]
    pub(super) fn take_first(&mut self, cell: &mut Cell) -> u64 {
        match self.take_near(cell) {
            Some(id) => id,
            None => self.take_beyond(cell),
        }
    }

    /// The same where it lies in the cell, or the second elsewhere.
    #[inline(never)]
    fn take_beyond(&mut self, cell: &mut Cell) -> u64 {
        if cell.has_head() {
            cell.head.seq = NO_SEQ;
            return cell.head.id;
        }
        let at = cell.first;
        let equal = &mut self.blocks.get_mut(at / STEP).equals[nth(at)];
        equal.seq = NO_SEQ;
        let id = equal.id;
        cell.first = self.pass(at);
        self.len -= 1;
        id
    }

    /// The first behind a place where nothing lies any more.
    fn pass(&mut self, at: Place) -> Place {
        let (number, next) = (at / STEP, self.blocks.get(at / STEP).next);
        if nth(at) == EACH - 1 && self.blocks.get(next).equals[0].is_live() {
            self.blocks.get_mut(next).prev = NIL;
            self.blocks.remove(number);
            return place(next, 0);
        }
        let first = self.next(at);
        if first / STEP != number {
            self.blocks.get_mut(first / STEP).prev = NIL;
            self.blocks.remove(number);
        }
        first
    }

    /// Takes out an entry, wherever it stands in the queue of a cell.
    pub(super) fn remove(&mut self, cell: &mut Cell, at: Place) {
        if cell.first == at {
            cell.first = self.next(at);
        }
        if cell.last == at {
            cell.last = self.prev(at);
        }
        self.len -= 1;
        let block = self.blocks.get_mut(at / STEP);
        block.equals[nth(at)].seq = NO_SEQ;
        let Block { next, prev, .. } = *block;
        if block.live().next().is_some() {
            return;
        }
        if prev != NIL {
            self.blocks.get_mut(prev).next = next;
        }
        if next != NIL {
            self.blocks.get_mut(next).prev = prev;
        }
        self.blocks.remove(at / STEP);
    }

    /// The eldest entry in the queue of a cell that is younger than a number, or [`NIL`].
    pub(super) fn younger(&self, cell: &Cell, seq: u64) -> Place {
        let (mut found, mut at) = (NIL, cell.last);
        while at != NIL && self.get(at).seq > seq {
            (found, at) = (at, self.prev(at));
        }
        found
    }

    /// The entries of a block: what an entry that is put before one of them may move.
    pub(super) fn block_of(&self, at: Place) -> impl Iterator<Item = (u64, u64, Ref)> {
        self.entries_of([if at == NIL { NIL } else { at / STEP }, NIL])
    }

    /// Names, numbers and places of the entries of blocks.
    pub(super) fn entries_of(&self, blocks: Touched) -> impl Iterator<Item = (u64, u64, Ref)> {
        blocks.into_iter().filter(|&block| block != NIL).flat_map(|block| {
            let live = self.blocks.get(block).live();
            live.map(move |(nth, Equal { id, seq })| (id, seq, Ref::equal(place(block, nth))))
        })
    }

    /// Puts an entry before another of the queue of a cell, or behind all. Takes room for one. Its place, and the blocks that it
    /// was put into.
    pub(super) fn insert(
        &mut self,
        cell: &mut Cell,
        owner: Place,
        before: Place,
        head: Head,
    ) -> (Place, Touched) {
        if before == NIL {
            let at = self.append(cell, owner, head);
            return (at, [at / STEP, NIL]);
        }
        let number = before / STEP;
        let block = *self.blocks.get(number);
        let mut all = [DEAD; EACH + 1];
        let older = block.live().filter(|&(at, _)| at < nth(before));
        let rest = block.live().filter(|&(at, _)| at >= nth(before));
        let entries =
            older.map(|(_, equal)| equal).chain([Equal::of(head)]).chain(rest.map(|(_, equal)| equal));
        let count = all.iter_mut().zip(entries).map(|(place, equal)| *place = equal).count();
        let here = if count > EACH { count.div_ceil(2) } else { count };
        let fill = |block: &mut Block, equals: &[Equal]| {
            block.equals = [DEAD; EACH];
            block.equals[..equals.len()].copy_from_slice(equals);
        };
        fill(self.blocks.get_mut(number), &all[..here]);
        let mut end = (number, here);
        if count > here {
            let mut rest = Block { prev: number, next: block.next, ..Block::of(owner) };
            fill(&mut rest, &all[here..count]);
            end = (self.blocks.insert(rest), count - here);
            self.blocks.get_mut(number).next = end.0;
            if block.next != NIL {
                self.blocks.get_mut(block.next).prev = end.0;
            }
        }
        if cell.first / STEP == number {
            cell.first = place(number, 0);
        }
        if cell.last / STEP == number {
            cell.last = place(end.0, end.1 - 1);
        }
        self.len += 1;
        let at = all.iter().position(|equal| equal.seq == head.seq).unwrap_or_default();
        let at = if at < here { place(number, at) } else { place(end.0, at - here) };
        (at, [number, if end.0 == number { NIL } else { end.0 }])
    }
}

#[cfg(test)]
mod tests {
    use super::super::entry::Kind;
    use super::super::key::{Hashing, Key};
    use super::super::{EQUAL, Hybrid};
    use super::*;
    use crate::engine::{Engine, Message, MsgId, Receive, RecvId};
    use crate::envelope::{ContextId, Envelope, Rank, Selector, Tag};
    use crate::scan::Kernel;
    use std::collections::{BTreeMap, VecDeque};

    fn head(seq: u64) -> Head {
        Head { kind: Kind::Waiting, seq, id: !seq }
    }

    /// A queue, what it should hold, oldest first, and where each of these lies.
    struct Checked {
        cell: Cell,
        owner: Place,
        right: VecDeque<u64>,
        places: BTreeMap<u64, Place>,
    }

    impl Checked {
        fn new(owner: Place, seq: u64) -> Self {
            let cell = Cell::new(Key { pair: 0, tag: owner.into(), high: 0 }, head(seq));
            Checked { cell, owner, right: VecDeque::from([seq]), places: BTreeMap::new() }
        }

        fn append(&mut self, equals: &mut Equals, seq: u64) {
            equals.reserve_one().unwrap();
            let at = equals.append(&mut self.cell, self.owner, head(seq));
            self.right.push_back(seq);
            self.places.insert(seq, at);
        }

        fn take_first(&mut self, equals: &mut Equals) {
            let first = self.right.pop_front().unwrap();
            self.places.remove(&first);
            assert_eq!(equals.take_first(&mut self.cell), !first);
        }

        /// One that is not the first.
        fn remove(&mut self, equals: &mut Equals, nth: usize) {
            let seq = self.right.remove(nth).unwrap();
            equals.remove(&mut self.cell, self.places.remove(&seq).unwrap());
        }

        fn insert(&mut self, equals: &mut Equals, seq: u64) {
            equals.reserve_one().unwrap();
            let before = equals.younger(&self.cell, seq);
            let may_move: Vec<u64> = equals.block_of(before).map(|(_, seq, _)| seq).collect();
            let (at, touched) = equals.insert(&mut self.cell, self.owner, before, head(seq));
            for (id, moved, entry) in equals.entries_of(touched) {
                assert_eq!(id, !moved);
                let old = self.places.insert(moved, entry.place().unwrap());
                assert!(old.is_none_or(|old| Some(old) == entry.place()) || may_move.contains(&moved));
            }
            assert_eq!(self.places[&seq], at);
            self.right.insert(self.right.partition_point(|&other| other < seq), seq);
        }

        fn check(&self, equals: &Equals) {
            let first = self.cell.has_head().then_some(self.cell.head.seq);
            let queue: Vec<(Place, Equal)> = equals.queue(&self.cell).collect();
            let seqs: Vec<u64> = first.into_iter().chain(queue.iter().map(|(_, equal)| equal.seq)).collect();
            assert_eq!(self.right, seqs);
            let mut at = self.cell.last;
            for &(place, Equal { id, seq }) in queue.iter().rev() {
                assert_eq!((at, self.places[&seq], id), (place, place, !seq));
                let (owner, equal) = equals.find(place).unwrap();
                assert_eq!((owner, equal.seq), (self.owner, seq));
                at = equals.prev(at);
            }
            assert_eq!(at, NIL);
            assert_eq!(self.cell.is_single(), self.right.len() == 1);
        }
    }

    /// Beside queues of the standard library: appended to, taken from at the front and in the middle, put between.
    #[test]
    fn queues_stay_in_order_and_blocks_come_back() {
        let mut equals = Equals::default();
        let mut random = 1_u64;
        let mut below = |limit: u64| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (random >> 33) % limit
        };
        let mut queues: Vec<Checked> = (0..4).map(|owner| Checked::new(owner, 0)).collect();
        for step in 1..if cfg!(miri) { 300 } else { 60_000 } {
            let queue = &mut queues[below(4) as usize];
            let len = queue.right.len() as u64;
            // Queues grow, shrink, and grow again.
            let grows = if step / 5000 % 2 == 0 { 4 } else { 2 };
            match below(8) {
                kind if kind < grows => queue.append(&mut equals, 4 * step),
                4 if len > 1 => {
                    let (eldest, youngest) = (queue.right[0], queue.right[len as usize - 1]);
                    let seq = (eldest + below(youngest - eldest + 4)) / 4 * 4 + 2;
                    if seq > eldest && !queue.right.contains(&seq) && queue.right.back() != Some(&seq) {
                        queue.insert(&mut equals, seq);
                    }
                }
                5 | 6 if len > 1 => queue.remove(&mut equals, 1 + below(len - 1) as usize),
                _ if len > 1 => queue.take_first(&mut equals),
                _ => {}
            }
            if step % 31 == 0 {
                queues.iter().for_each(|queue| queue.check(&equals));
                let places = queues.iter().map(|queue| queue.places.len());
                assert_eq!(equals.len(), places.sum::<usize>());
            }
        }
        for queue in &mut queues {
            while queue.right.len() > 1 {
                queue.take_first(&mut equals);
            }
            if queue.cell.first != NIL {
                let last = queue.cell.first;
                equals.remove(&mut queue.cell, last);
            }
        }
        assert_eq!((equals.len(), equals.blocks.len()), (0, 0), "all blocks are vacant");
    }

    /// Withdrawn in all orders of eight, across two blocks.
    #[test]
    fn what_is_left_is_in_order_whatever_was_removed() {
        for gone in (0..1_u32 << 9).step_by(if cfg!(miri) { 37 } else { 1 }) {
            let mut equals = Equals::default();
            let mut queue = Checked::new(0, 0);
            (1..10).for_each(|seq| queue.append(&mut equals, 4 * seq));
            for nth in (0..9).rev().filter(|nth| gone >> nth & 1 != 0) {
                queue.remove(&mut equals, 1 + nth);
                queue.check(&equals);
            }
            queue.append(&mut equals, 100);
            queue.check(&equals);
            (0..queue.right.len() - 1).for_each(|_| queue.take_first(&mut equals));
            queue.check(&equals);
        }
    }

    /// The queue that the last calls met is emptied by what looks elsewhere, and its cell is vacant: the next call of that key
    /// must not take it for a queue.
    #[test]
    fn a_vacant_cell_is_no_queue() {
        let mut engine = Hybrid::<()>::new(Hashing::of_seed(1), 0, Kernel::fastest());
        let envelope = Envelope::new(ContextId(0), Rank(0), Tag(0));
        let selector = Selector::exactly(&envelope);
        for round in 0..3 {
            (0..20).for_each(|id| assert_eq!(engine.arrive(Message::new(MsgId(id), envelope)), Ok(None)));
            assert_ne!(engine.gate & EQUAL, 0, "equals are met at once");
            (0..20).for_each(|id| assert_eq!(engine.matched_probe(&selector), Some(MsgId(id))));
            assert_ne!(engine.gate & EQUAL, 0);
            if round == 1 {
                assert_eq!(engine.arrive(Message::new(MsgId(7), envelope)), Ok(None));
                assert_eq!(engine.post(Receive::new(RecvId(8), selector)), Ok(Some(MsgId(7))));
            }
            (0..20).for_each(|id| assert_eq!(engine.post(Receive::new(RecvId(id), selector)), Ok(None)));
            let arrive = |id: u64| Message::new(MsgId(id), envelope);
            (0..20).for_each(|id| assert_eq!(engine.arrive(arrive(id)), Ok(Some(RecvId(id)))));
            assert_eq!((engine.posted_len(), engine.unexpected_len()), (0, 0));
        }
    }
}
