//! What an index is made of: queues of messages by a hash of what is left of their keys, oldest first.
//!
//! ```text
//! heads     [ ▪ ][ – ][ ▪ ] …                                4 bytes each, one for two hashes
//!             ▼
//! records   hash A, first ══▶ second ──▶ third ──▶ hash B, first      12 bytes each
//!                               │           ▲
//!                               └── last ───┘
//! ```
//!
//! Of a message there is its number: the log says what finds it. Keys are not kept: who finds a message compares it with
//! what is sought, since it has to be looked up anyway. (A table of keys, as that of all that is queued is, took 250
//! instructions more for each message that is indexed, and four times the memory.) Equal hashes are nearly always equal
//! keys, and a stranger steps over all of them at once: the first knows the second, and that the last.
//!
//! It grows as [tables](super::table) do (linear hashing, Litwin 1980), one head at a time.

use super::grave::Dropped;
use super::pool::Place;
use super::records::{END, Link, Record, Records};
use crate::engine::Refused;

/// Heads in a chunk: 2 KiB.
const HEADS: usize = 512;

type Heads = Box<[Link; HEADS]>;

/// Hashes for each head, before there is one more.
const EACH: usize = 1;

/// A queue: its head, the record before it under that, and its first.
#[derive(Clone, Copy)]
pub(super) struct Queue {
    bucket: u32,
    before: Option<Place>,
    pub(super) first: Place,
}

/// See the [module's documentation](self).
#[derive(Default)]
pub(super) struct Lookup {
    heads: Vec<Heads>,
    buckets: usize,
    /// Buckets that there are, or will be when the last of them is divided, but one.
    mask: u32,
    hashes: usize,
    records: Records,
}

impl Lookup {
    /// Messages, dead or alive, and places that no message can have.
    #[inline]
    pub(super) fn places(&self) -> usize {
        self.records.places()
    }

    /// Forgets all messages, and keeps the memory.
    pub(super) fn clear(&mut self) {
        self.heads.iter_mut().for_each(|heads| heads.fill(END));
        self.records.clear();
        self.hashes = 0;
    }

    #[inline]
    fn bucket(&self, hash: u32) -> u32 {
        let bucket = hash & self.mask;
        if (bucket as usize) < self.buckets { bucket } else { bucket & self.mask >> 1 }
    }

    #[inline]
    fn head(&self, bucket: u32) -> Link {
        self.heads[bucket as usize / HEADS][bucket as usize % HEADS]
    }

    /// Lets what comes before a queue lead elsewhere.
    #[inline(always)]
    fn lead(&mut self, bucket: u32, before: Option<Place>, to: Link) {
        match before {
            None => self.heads[bucket as usize / HEADS][bucket as usize % HEADS] = to,
            Some(before) => self.records.get_mut(before).next = to,
        }
    }

    /// The messages of a hash, if there are some. Adds the hashes looked at to `examined`.
    #[inline(always)]
    pub(super) fn find(&self, hash: u32, examined: &mut u64) -> Option<Queue> {
        if self.buckets == 0 {
            return None;
        }
        let bucket = self.bucket(hash);
        let (before, first) = self.records.find(self.head(bucket), hash, examined)?;
        Some(Queue { bucket, before, first })
    }

    /// The number of the first message of a queue.
    #[inline]
    pub(super) fn first(&self, queue: Queue) -> u64 {
        self.records.seq(queue.first)
    }

    /// The place of the second message, if there is one.
    #[inline]
    pub(super) fn second(&self, queue: Queue) -> Option<Place> {
        self.records.get(queue.first).next.equal()
    }

    /// The number of the message at a place.
    #[inline]
    pub(super) fn seq(&self, place: Place) -> u64 {
        self.records.seq(place)
    }

    /// The place behind another that is not the first.
    #[inline]
    pub(super) fn next(&self, queue: Queue, place: Place) -> Option<Place> {
        let is_last = self.records.last(queue.first) == place;
        if is_last { None } else { self.records.get(place).next.place() }
    }

    /// Takes out the first message of a queue, whose second becomes the first. Nothing: it was the last.
    #[inline(always)]
    pub(super) fn pop(&mut self, queue: Queue) -> Option<Queue> {
        let Queue { bucket, before, first } = queue;
        let Record { next, other: hash, .. } = *self.records.get(first);
        self.records.remove(first);
        let Some(second) = next.equal() else {
            self.lead(bucket, before, next);
            self.hashes -= 1;
            return None;
        };
        self.lead(bucket, before, Link::to(second));
        let last = std::mem::replace(&mut self.records.get_mut(second).other, hash);
        let third = self.records.get(second).next.place().filter(|_| last != second);
        if let Some(third) = third {
            self.records.get_mut(second).next = Link::to_equal(third);
            self.records.get_mut(third).other = last;
        }
        Some(Queue { first: second, ..queue })
    }

    /// Takes out a message behind the first, with the place before it. What comes next.
    pub(super) fn remove(&mut self, queue: Queue, before: Place, place: Place) -> Option<Place> {
        let last = self.records.last(queue.first);
        let next = self.next(queue, place);
        let link = self.records.get(place).next;
        let new_last = if next.is_none() { before } else { last };
        self.records.remove(place);
        if before != queue.first {
            self.records.get_mut(before).next = link;
            self.set_last(queue, new_last);
            return next;
        }
        // The third, if there is one, becomes the second.
        self.records.get_mut(before).next = next.map_or(link, Link::to_equal);
        if next.is_some() {
            self.set_last(queue, last);
        }
        next
    }

    fn set_last(&mut self, queue: Queue, last: Place) {
        if let Some(second) = self.second(queue) {
            self.records.get_mut(second).other = last;
        }
    }

    /// Brings what messages of some hashes are appended to into the caches: of a million, each is a miss or two, and so they do not
    /// wait for one another.
    #[inline(never)]
    pub(super) fn look_at(&self, hashes: impl Iterator<Item = u32>) {
        if self.buckets == 0 {
            return;
        }
        // The buckets that are divided meanwhile, too.
        let divided = |nth: usize| self.bucket((self.buckets + nth) as u32);
        let all = hashes.enumerate().fold(0, |all, (nth, hash)| {
            let heads = [self.head(self.bucket(hash)), self.head(divided(nth))];
            let first = |head: Link| head.place().map_or(0, |first| self.records.get(first).other);
            all ^ first(heads[0]) ^ first(heads[1])
        });
        std::hint::black_box(all);
    }

    /// Appends a message to the queue of a hash.
    #[inline(always)]
    pub(super) fn append(&mut self, hash: u32, seq: u64) -> Result<(), Refused> {
        if self.hashes >= EACH * self.buckets {
            self.divide()?;
        }
        let bucket = self.bucket(hash);
        let head = &mut self.heads[bucket as usize / HEADS][bucket as usize % HEADS];
        if *head != END {
            if let Some((before, first)) = self.records.find(*head, hash, &mut 0) {
                return self.append_to(Queue { bucket, before, first }, seq);
            }
        }
        *head = Link::to(self.records.insert(seq, *head, hash)?);
        self.hashes += 1;
        Ok(())
    }

    #[inline(never)]
    fn append_to(&mut self, queue: Queue, seq: u64) -> Result<(), Refused> {
        let last = self.records.last(queue.first);
        self.insert_behind(queue, last, seq)
    }

    /// Puts a message behind one of a queue.
    fn insert_behind(&mut self, queue: Queue, before: Place, seq: u64) -> Result<(), Refused> {
        let last = self.records.last(queue.first);
        let Record { next, .. } = *self.records.get(before);
        let place = self.records.insert(seq, Link::behind(next), last)?;
        let new_last = if before == last { place } else { last };
        self.records.get_mut(before).next =
            if before == queue.first { Link::to_equal(place) } else { Link::to(place) };
        self.set_last(queue, new_last);
        Ok(())
    }

    /// Puts a message where its age says in the queue of a hash: O(1) before or behind all others, else O(those that are
    /// older). Adds these to `passed`.
    pub(super) fn insert_by_age(&mut self, hash: u32, seq: u64, passed: &mut u64) -> Result<(), Refused> {
        let Some(queue) = self.find(hash, &mut 0) else { return self.append(hash, seq) };
        if self.seq(self.records.last(queue.first)) < seq {
            return self.append_to(queue, seq);
        }
        if seq < self.first(queue) {
            return self.insert_first(queue, seq);
        }
        let (mut before, mut next) = (queue.first, self.second(queue));
        while let Some(place) = next.filter(|&place| self.seq(place) < seq) {
            *passed += 1;
            (before, next) = (place, self.next(queue, place));
        }
        self.insert_behind(queue, before, seq)
    }

    /// Puts a message before all others of a queue.
    fn insert_first(&mut self, queue: Queue, seq: u64) -> Result<(), Refused> {
        let Queue { bucket, before, first } = queue;
        let last = self.records.last(first);
        let Record { next, other: hash, .. } = *self.records.get(first);
        let place = self.records.insert(seq, Link::to_equal(first), hash)?;
        self.lead(bucket, before, Link::to(place));
        let second = self.records.get_mut(first);
        (second.next, second.other) = (Link::behind(next), last);
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
        let mut next = self.head(old);
        self.lead(old, None, END);
        self.lead(new, None, END);
        while let Some(first) = next.place() {
            let last = self.records.last(first);
            next = self.records.get(last).next;
            let bucket = self.bucket(self.records.get(first).other);
            self.records.get_mut(last).next = self.head(bucket);
            self.lead(bucket, None, Link::to(first));
        }
        Ok(())
    }

    /// Room for more buckets; the first of them, if there was none.
    fn add_heads(&mut self) -> Result<(), Refused> {
        self.heads.try_reserve(1).map_err(|_| Refused::Memory)?;
        let mut heads = Vec::new();
        heads.try_reserve_exact(HEADS).map_err(|_| Refused::Memory)?;
        heads.resize(HEADS, END);
        self.heads.push(heads.into_boxed_slice().try_into().map_err(|_| Refused::Memory)?);
        self.buckets = self.buckets.max(1);
        Ok(())
    }
}

impl Dropped for Lookup {
    fn bytes(&self) -> u64 {
        let heads =
            self.heads.len() * size_of::<[Link; HEADS]>() + self.heads.capacity() * size_of::<Heads>();
        heads as u64 + self.records.bytes()
    }

    fn give_back(&mut self, chunks: usize) -> bool {
        (0..chunks).all(|_| self.heads.pop().is_some() || self.records.give_back())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::{BTreeMap, VecDeque};

    fn all(lookup: &Lookup, hash: u32) -> Vec<u64> {
        let Some(queue) = lookup.find(hash, &mut 0) else { return Vec::new() };
        let mut seqs = vec![lookup.first(queue)];
        let mut next = lookup.second(queue);
        while let Some(place) = next {
            seqs.push(lookup.seq(place));
            next = lookup.next(queue, place);
        }
        seqs
    }

    /// As `readdress` names them: mostly in the order they came.
    #[test]
    fn who_comes_first_or_last_passes_nobody() {
        let mut lookup = Lookup::default();
        let mut passed = 0;
        (1000..2000).for_each(|at| lookup.insert_by_age(7, 2 * at, &mut passed).unwrap());
        (0..1000).rev().for_each(|at| lookup.insert_by_age(7, 2 * at, &mut passed).unwrap());
        assert_eq!(passed, 0);
        assert_eq!(all(&lookup, 7), (0..2000).map(|at| 2 * at).collect::<Vec<_>>());
    }

    /// A thousand equals are one step for a stranger.
    #[test]
    fn equals_are_passed_at_once() {
        let mut lookup = Lookup::default();
        // Of two hashes under one head, that of the younger comes first.
        lookup.append(1, 1).unwrap();
        lookup.append(1 << 20 | 1, 2).unwrap();
        (2..1000).for_each(|at| lookup.append(1 << 20 | 1, 2 * at).unwrap());
        let mut examined = 0;
        assert!(lookup.find(1, &mut examined).is_some());
        assert_eq!(examined, 2);
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
        for step in (0..60_000_u64).step_by(if cfg!(miri) { 60 } else { 1 }) {
            // Few hashes that fall together, many, and hardly any.
            let hash = (below([7, 5000, 900][step as usize / 20_000]) as u32).wrapping_mul(0x10001);
            let queue = right.entry(hash).or_default();
            match below(8) {
                0..=3 => {
                    lookup.append(hash, 4 * step).unwrap();
                    queue.push_back(4 * step);
                }
                4 => {
                    let seq = 4 * below(step + 1) + 2;
                    if !queue.contains(&seq) {
                        lookup.insert_by_age(hash, seq, &mut 0).unwrap();
                        queue.insert(queue.partition_point(|&before| before < seq), seq);
                    }
                }
                5 | 6 => {
                    let found = lookup.find(hash, &mut 0);
                    assert_eq!(found.map(|found| lookup.first(found)), queue.pop_front());
                    if let Some(found) = found {
                        let rest = lookup.pop(found);
                        assert_eq!(rest.map(|rest| lookup.first(rest)), queue.front().copied());
                    }
                }
                _ => {
                    if let Some(found) = lookup.find(hash, &mut 0).filter(|_| queue.len() > 1) {
                        let nth = below(queue.len() as u64 - 1) as usize;
                        let (mut before, mut place) = (found.first, lookup.second(found).unwrap());
                        for _ in 0..nth {
                            (before, place) = (place, lookup.next(found, place).unwrap());
                        }
                        let next = lookup.remove(found, before, place);
                        queue.remove(1 + nth);
                        assert_eq!(next.map(|next| lookup.seq(next)), queue.get(1 + nth).copied());
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
        assert_eq!(lookup.records.len(), right.values().map(VecDeque::len).sum::<usize>());
        for (&hash, queue) in &right {
            assert_eq!(all(&lookup, hash), queue.iter().copied().collect::<Vec<_>>());
        }
        let bytes = lookup.bytes();
        lookup.clear();
        assert_eq!((lookup.places(), all(&lookup, 0), lookup.bytes()), (0, Vec::new(), bytes));
        lookup.append(7, 3).unwrap();
        assert_eq!(all(&lookup, 7), [3]);
        while lookup.give_back(3) {}
        assert!(lookup.bytes() < bytes / 10);
    }
}
