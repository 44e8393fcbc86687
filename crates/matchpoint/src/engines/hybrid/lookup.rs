//! What an index is made of: queues of messages by a hash of what is left of their keys, oldest first.
//!
//! ```text
//! heads    [ ▪ ][ – ][ ▪ ][ ▪ ] …                 4 bytes each, one for each group
//!            ▼
//! groups   hash A, its first message ──▶ hash B, its first message     32 bytes each
//!            ▼
//! behind   second ─▶ third of hash A                                   16 bytes each
//! ```
//!
//! Keys are not kept: who finds a message compares it with what is sought, since it has to be looked up anyway. (A
//! table of keys, as that of all that is queued is, took 250 instructions more for each message that is indexed, and
//! twice the memory.) Equal hashes are nearly always equal keys, and have a queue of their own, so that a thousand of
//! them do not slow a stranger down.
//!
//! It grows as [tables](super::table) do (linear hashing, Litwin 1980), one head at a time.

use super::chunk::Word;
use super::grave::Dropped;
use super::held::Line;
use super::pool::{NIL, Place, Pool, Record};
use crate::engine::Refused;

/// Heads in a chunk: 2 KiB.
const HEADS: usize = 512;

type Heads = Box<[Place; HEADS]>;

/// Groups, and messages behind the first, that there is room for at once: 2 KiB, too. Made of the chunks of a pool one by
/// one, an index that is a little longer than any before would allocate as often.
const GROUPS: usize = 64;
const BEHIND: usize = 128;

/// Room for one record more, and mostly for as many.
#[inline]
fn make_room<T: Record>(pool: &mut Pool<T>, records: usize) -> Result<(), Refused> {
    if pool.has_room() || pool.reserve(records).is_ok() { Ok(()) } else { pool.reserve_one() }
}

/// The messages of a hash; the first of them.
#[derive(Clone, Copy)]
struct Group {
    line: Line,
    hash: u32,
    /// The next group under the same head.
    next: Place,
    /// The second message, and the last if there are two.
    first: Place,
    last: Place,
}

impl Record for Group {
    #[inline]
    fn vacant(next: Place) -> Self {
        Group { line: Line { seq: 0, word: 0 }, hash: 0, next, first: NIL, last: NIL }
    }

    #[inline]
    fn next_vacant(&self) -> Place {
        self.next
    }
}

/// A message behind the first of a hash.
#[derive(Clone, Copy)]
struct Behind {
    seq: u64,
    word: Word,
    next: Place,
}

impl Behind {
    fn of(Line { seq, word }: Line, next: Place) -> Self {
        Behind { seq, word, next }
    }

    fn line(self) -> Line {
        Line { seq: self.seq, word: self.word }
    }
}

impl Record for Behind {
    #[inline]
    fn vacant(next: Place) -> Self {
        Behind { seq: 0, word: 0, next }
    }

    #[inline]
    fn next_vacant(&self) -> Place {
        self.next
    }
}

/// A queue: its group, and the one before that under the same head.
#[derive(Clone, Copy)]
pub(super) struct Queue {
    bucket: u32,
    before: Place,
    group: Place,
}

/// See the [module's documentation](self).
#[derive(Default)]
pub(super) struct Lookup {
    heads: Vec<Heads>,
    buckets: usize,
    /// Buckets that there are, or will be when the last of them is divided, but one.
    mask: u32,
    groups: Pool<Group>,
    behind: Pool<Behind>,
}

impl Lookup {
    /// Messages, dead or alive.
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.groups.len() + self.behind.len()
    }

    /// Forgets all messages, and keeps the memory.
    pub(super) fn clear(&mut self) {
        self.heads.iter_mut().for_each(|heads| heads.fill(NIL));
        self.groups.clear();
        self.behind.clear();
    }

    #[inline]
    fn bucket(&self, hash: u32) -> u32 {
        let bucket = hash & self.mask;
        if (bucket as usize) < self.buckets { bucket } else { bucket & self.mask >> 1 }
    }

    #[inline]
    fn head(&self, bucket: u32) -> Place {
        self.heads[bucket as usize / HEADS][bucket as usize % HEADS]
    }

    #[inline]
    fn set_head(&mut self, bucket: u32, group: Place) {
        self.heads[bucket as usize / HEADS][bucket as usize % HEADS] = group;
    }

    /// The messages of a hash, if there are some. Adds the hashes looked at to `examined`.
    #[inline(always)]
    pub(super) fn find(&self, hash: u32, examined: &mut u64) -> Option<Queue> {
        if self.buckets == 0 {
            return None;
        }
        let bucket = self.bucket(hash);
        let (mut before, mut group) = (NIL, self.head(bucket));
        while group != NIL {
            *examined += 1;
            let here = self.groups.get(group);
            if here.hash == hash {
                return Some(Queue { bucket, before, group });
            }
            (before, group) = (group, here.next);
        }
        None
    }

    /// The first message of a queue.
    #[inline]
    pub(super) fn first(&self, queue: Queue) -> Line {
        self.groups.get(queue.group).line
    }

    /// The messages behind the first, each with the place before it and its own.
    #[inline]
    pub(super) fn behind(&self, queue: Queue) -> (Place, Place) {
        (NIL, self.groups.get(queue.group).first)
    }

    /// The message at a place.
    #[inline]
    pub(super) fn line(&self, place: Place) -> Line {
        self.behind.get(place).line()
    }

    /// The place behind another.
    #[inline]
    pub(super) fn next(&self, place: Place) -> Place {
        self.behind.get(place).next
    }

    /// Takes out the first message of a queue. False: it was the last.
    #[inline(always)]
    pub(super) fn pop(&mut self, queue: Queue) -> bool {
        let group = self.groups.get_mut(queue.group);
        let (first, next) = (group.first, group.next);
        if first != NIL {
            let second = *self.behind.get(first);
            (group.line, group.first) = (second.line(), second.next);
            self.behind.remove(first);
            return true;
        }
        match queue.before {
            NIL => self.set_head(queue.bucket, next),
            before => self.groups.get_mut(before).next = next,
        }
        self.groups.remove(queue.group);
        false
    }

    /// Takes out a message behind the first, and the place before it unless that is the second. What comes next.
    pub(super) fn remove(&mut self, queue: Queue, before: Place, place: Place) -> Place {
        let next = self.next(place);
        match before {
            NIL => self.groups.get_mut(queue.group).first = next,
            before => self.behind.get_mut(before).next = next,
        }
        let group = self.groups.get_mut(queue.group);
        if group.last == place {
            group.last = before;
        }
        self.behind.remove(place);
        next
    }

    /// Appends a message to the queue of a hash.
    #[inline(always)]
    pub(super) fn append(&mut self, hash: u32, line: Line) -> Result<(), Refused> {
        match self.find(hash, &mut 0) {
            None => self.begin(hash, line),
            Some(queue) => {
                make_room(&mut self.behind, BEHIND)?;
                let place = self.behind.insert(Behind::of(line, NIL));
                let group = self.groups.get_mut(queue.group);
                let last = if group.first == NIL { NIL } else { group.last };
                group.last = place;
                match last {
                    NIL => group.first = place,
                    last => self.behind.get_mut(last).next = place,
                }
                Ok(())
            }
        }
    }

    /// Begins a queue.
    #[inline]
    fn begin(&mut self, hash: u32, line: Line) -> Result<(), Refused> {
        make_room(&mut self.groups, GROUPS)?;
        if self.groups.len() >= self.buckets {
            self.divide()?;
        }
        let bucket = self.bucket(hash);
        let next = self.head(bucket);
        let group = self.groups.insert(Group { line, hash, next, first: NIL, last: NIL });
        self.set_head(bucket, group);
        Ok(())
    }

    /// The youngest message of a queue.
    fn last(&self, queue: Queue) -> Line {
        let &Group { line, first, last, .. } = self.groups.get(queue.group);
        if first == NIL { line } else { self.line(last) }
    }

    /// Puts a message where its age says in the queue of a hash: O(1) before or behind all others, else O(those that are
    /// older). Adds these to `passed`.
    pub(super) fn insert_by_age(&mut self, hash: u32, line: Line, passed: &mut u64) -> Result<(), Refused> {
        let Some(queue) = self.find(hash, &mut 0).filter(|&queue| self.last(queue).seq > line.seq) else {
            return self.append(hash, line);
        };
        make_room(&mut self.behind, BEHIND)?;
        let first = self.first(queue);
        let (mut before, mut next) = self.behind(queue);
        let line = if line.seq < first.seq {
            // The first becomes the second.
            self.groups.get_mut(queue.group).line = line;
            first
        } else {
            while next != NIL && self.line(next).seq < line.seq {
                *passed += 1;
                (before, next) = (next, self.next(next));
            }
            line
        };
        let place = self.behind.insert(Behind::of(line, next));
        match before {
            NIL => self.groups.get_mut(queue.group).first = place,
            before => self.behind.get_mut(before).next = place,
        }
        if next == NIL {
            self.groups.get_mut(queue.group).last = place;
        }
        Ok(())
    }

    /// Adds a bucket, and divides another between the two.
    #[inline(never)]
    fn divide(&mut self) -> Result<(), Refused> {
        if self.buckets == self.heads.len() * HEADS {
            let grown = self.add_heads();
            // With one bucket it works as well, but not with none.
            return if self.buckets == 0 || grown.is_ok() { grown } else { Ok(()) };
        }
        let new = self.buckets as u32;
        self.mask |= new;
        self.buckets += 1;
        let old = new & self.mask >> 1;
        let mut group = self.head(old);
        self.set_head(old, NIL);
        self.set_head(new, NIL);
        while group != NIL {
            let next = self.groups.get(group).next;
            let bucket = self.bucket(self.groups.get(group).hash);
            self.groups.get_mut(group).next = self.head(bucket);
            self.set_head(bucket, group);
            group = next;
        }
        Ok(())
    }

    /// Room for more buckets; the first of them, if there was none.
    fn add_heads(&mut self) -> Result<(), Refused> {
        self.heads.try_reserve(1).map_err(|_| Refused::Memory)?;
        let mut heads = Vec::new();
        heads.try_reserve_exact(HEADS).map_err(|_| Refused::Memory)?;
        heads.resize(HEADS, NIL);
        self.heads.push(heads.into_boxed_slice().try_into().map_err(|_| Refused::Memory)?);
        self.buckets = self.buckets.max(1);
        Ok(())
    }
}

impl Dropped for Lookup {
    fn bytes(&self) -> u64 {
        let heads =
            self.heads.len() * size_of::<[Place; HEADS]>() + self.heads.capacity() * size_of::<Heads>();
        heads as u64 + self.groups.bytes() + self.behind.bytes()
    }

    fn give_back(&mut self, chunks: usize) -> bool {
        (0..chunks).all(|_| self.heads.pop().is_some() || self.groups.give_back() || self.behind.give_back())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::{BTreeMap, VecDeque};

    fn line(seq: u64) -> Line {
        Line { seq, word: seq as Word }
    }

    fn all(lookup: &Lookup, hash: u32) -> Vec<u64> {
        let Some(queue) = lookup.find(hash, &mut 0) else { return Vec::new() };
        let mut seqs = vec![lookup.first(queue).seq];
        let (_, mut place) = lookup.behind(queue);
        while place != NIL {
            seqs.push(lookup.line(place).seq);
            place = lookup.next(place);
        }
        seqs
    }

    /// As `readdress` names them: mostly in the order they came.
    #[test]
    fn who_comes_first_or_last_passes_nobody() {
        let mut lookup = Lookup::default();
        let mut passed = 0;
        (1000..2000).for_each(|seq| lookup.insert_by_age(7, line(seq), &mut passed).unwrap());
        (0..1000).rev().for_each(|seq| lookup.insert_by_age(7, line(seq), &mut passed).unwrap());
        assert_eq!(passed, 0);
        assert_eq!(all(&lookup, 7), (0..2000).collect::<Vec<_>>());
    }

    /// Beside queues of the standard library: appended to, put between, taken from all places.
    #[test]
    fn queues_stay_in_order_while_it_grows() {
        let mut lookup = Lookup::default();
        let mut right: BTreeMap<u32, VecDeque<u64>> = BTreeMap::new();
        let mut random = 1_u64;
        let mut below = |limit: u64| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (random >> 33) % limit
        };
        for step in 0..60_000_u64 {
            // Few hashes that fall together, many, and hardly any.
            let hash = (below([7, 5000, 900][step as usize / 20_000]) as u32).wrapping_mul(0x10001);
            let queue = right.entry(hash).or_default();
            match below(8) {
                0..=3 => {
                    lookup.append(hash, line(2 * step)).unwrap();
                    queue.push_back(2 * step);
                }
                4 => {
                    let seq = 2 * below(step + 1) + 1;
                    if !queue.contains(&seq) {
                        lookup.insert_by_age(hash, line(seq), &mut 0).unwrap();
                        queue.insert(queue.partition_point(|&before| before < seq), seq);
                    }
                }
                5 | 6 => {
                    let found = lookup.find(hash, &mut 0);
                    assert_eq!(found.map(|found| lookup.first(found).seq), queue.pop_front());
                    if let Some(found) = found {
                        assert_eq!(lookup.pop(found), !queue.is_empty());
                    }
                }
                _ => {
                    if let Some(found) = lookup.find(hash, &mut 0).filter(|_| queue.len() > 1) {
                        let nth = below(queue.len() as u64 - 1) as usize;
                        let (mut before, mut place) = lookup.behind(found);
                        (0..nth).for_each(|_| (before, place) = (place, lookup.next(place)));
                        lookup.remove(found, before, place);
                        queue.remove(1 + nth);
                    }
                }
            }
            if step % 97 == 0 {
                assert_eq!(
                    all(&lookup, hash),
                    right[&hash].iter().copied().collect::<Vec<_>>(),
                    "step {step}"
                );
            }
        }
        assert_eq!(lookup.len(), right.values().map(VecDeque::len).sum::<usize>());
        for (&hash, queue) in &right {
            assert_eq!(all(&lookup, hash), queue.iter().copied().collect::<Vec<_>>());
        }
        let bytes = lookup.bytes();
        lookup.clear();
        assert_eq!((lookup.len(), all(&lookup, 0), lookup.bytes()), (0, Vec::new(), bytes));
        lookup.append(7, line(3)).unwrap();
        assert_eq!(all(&lookup, 7), [3]);
        while lookup.give_back(3) {}
        assert!(lookup.bytes() < bytes / 10);
    }
}
