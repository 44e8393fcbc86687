//! What an index that is far behind is made from: the hashes of all that it lacks, by the numbers of the messages.
//!
//! ```text
//! numbers     7000  7002  7004  7006 …  clock
//! hashes    [ A   ][ –  ][ B  ][ A  ] …           4 bytes a number, 512 in a chunk; –: no message has it
//!              ▲
//!              the index has all before
//! ```
//!
//! Through the log a message is looked up at 100 ns and more where a million wait: its slot is a cache miss, and a chain of them
//! if others lie there. So who has to look that far goes through the table in the order of memory instead, 5 ns a message, keeps
//! the least number that is sought, and writes down the hash of each message at its number: in the order of arrival, that is. A
//! search among hashes is a scan of four bytes each (a million in 0.2 ms), so that the index need not take them over at
//! once, but [a few](share) with each search. (Indexed at once, a million messages were 140 to 350 ms for the first search.)

use std::collections::VecDeque;

use super::class::Openness;
use super::entry::Kind;
use super::found::Found;
use super::grave::Dropped;
use super::held::{Held, Line, Store, Unexpected};
use super::key::{Hashing, Key};
use super::lookup::Lookup;
use super::search::{Search, Sought};
use super::sharing::CROWD;
use crate::engine::Refused;

/// Hashes in a chunk: 2 KiB.
const HASHES: usize = 512;

/// Hashes that are compared at once.
const AT_ONCE: usize = 64;

/// Messages that are looked up through the log in any case before the table is gone through, that of these, and that are taken
/// over with each search.
pub(super) const LEAST: usize = if cfg!(test) { 32 } else { 1024 };

/// Numbers for each message that waits, up to which hashes are kept by them, and dropped: where most are of the dead, the log,
/// which is swept, has less to look at.
const SPARSE: usize = 2;
const HOLLOW: usize = 4;

/// The hash of no message; one that has it is said to have the next.
const NOBODY: u32 = 0;

type Chunk = Box<[u32; HASHES]>;

/// Parts of what waits, one of which a search looks up through the log: of many where hashes are kept, and the table is gone
/// through once; of few where none are, and who looks that far goes through it again.
pub(super) const KEEPING: usize = 64;
pub(super) const PASSING: usize = 8;

/// Messages that a search looks up through the log of those from `until` on: all, unless they are too many.
#[inline]
pub(super) fn through_log(until: u64, parts: usize, unexpected: Unexpected<'_>) -> usize {
    let most = unexpected.table.count(Kind::Waiting) / parts + LEAST;
    if numbers(until, unexpected.clock).min(unexpected.log.len()) > 2 * most { most } else { usize::MAX }
}

/// The parts for an index: whether what it lacks is worth keeping hashes of.
pub(super) fn parts(until: u64, unexpected: Unexpected<'_>) -> usize {
    if is_dense(until, SPARSE, unexpected) { KEEPING } else { PASSING }
}

fn is_dense(from: u64, each: usize, unexpected: Unexpected<'_>) -> bool {
    numbers(from, unexpected.clock) <= each * (unexpected.table.count(Kind::Waiting) + LEAST)
}

/// Messages that an index takes over with each search.
fn share(unexpected: Unexpected<'_>) -> usize {
    unexpected.table.count(Kind::Waiting) / 32 + LEAST
}

/// Numbers that messages can have from one on, before another.
fn numbers(from: u64, until: u64) -> usize {
    until.saturating_sub(from).div_ceil(2) as usize
}

fn kept(hash: u32) -> u32 {
    hash.max(NOBODY + 1)
}

/// See the [module's documentation](self).
#[derive(Default)]
pub(super) struct Ahead {
    chunks: VecDeque<Chunk>,
    /// The number that the first hash is of.
    first: u64,
}

impl Ahead {
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.chunks.is_empty()
    }

    fn place(&self, seq: u64) -> usize {
        numbers(self.first, seq)
    }

    fn hash(&self, place: usize) -> u32 {
        self.chunks.get(place / HASHES).map_or(NOBODY, |chunk| chunk[place % HASHES])
    }

    /// Makes room for numbers from one on, if there are none yet, before another. Refused, it is as it was.
    fn reserve(&mut self, from: u64, until: u64) -> Result<(), Refused> {
        if self.is_empty() {
            self.first = from;
        }
        let (had, chunks) = (self.chunks.len(), self.place(until).div_ceil(HASHES));
        let reserved = (had..chunks).try_for_each(|_| self.grow());
        if reserved.is_err() {
            self.chunks.truncate(had);
        }
        reserved
    }

    fn grow(&mut self) -> Result<(), Refused> {
        self.chunks.try_reserve(1).map_err(|_| Refused::Memory)?;
        let mut chunk = Vec::new();
        chunk.try_reserve_exact(HASHES).map_err(|_| Refused::Memory)?;
        chunk.resize(HASHES, NOBODY);
        self.chunks.push_back(chunk.into_boxed_slice().try_into().map_err(|_| Refused::Memory)?);
        Ok(())
    }

    /// Keeps a hash, if there is room for that number.
    #[inline]
    fn set(&mut self, seq: u64, hash: u32) {
        let place = self.place(seq);
        if let Some(chunk) = self.chunks.get_mut(place / HASHES) {
            chunk[place % HASHES] = hash;
        }
    }

    /// The message of that number does not wait any more.
    fn forget(&mut self, seq: u64) {
        self.set(seq, NOBODY);
    }

    /// The first number from one on that a hash is kept for. Adds those of other messages to `examined`.
    fn find(&self, hash: u32, from: u64, examined: &mut u64) -> Option<u64> {
        let mut place = self.place(from);
        while let Some(chunk) = self.chunks.get(place / HASHES) {
            let begun = place % HASHES;
            let hashes = &chunk[begun..usize::min(begun / AT_ONCE * AT_ONCE + AT_ONCE, HASHES)];
            // All of them, without a branch: that is done several at a time.
            let hits = hashes.iter().filter(|&&other| other == hash).count();
            let here = if hits == 0 { None } else { hashes.iter().position(|&other| other == hash) };
            let passed = &hashes[..here.unwrap_or(hashes.len())];
            *examined += passed.iter().filter(|&&other| other != NOBODY).count() as u64;
            place += passed.len();
            if here.is_some() {
                return Some(self.first + 2 * place as u64);
            }
        }
        None
    }

    /// Gives chunks back that are of numbers before that one only.
    fn give_back_before(&mut self, seq: u64) {
        while !self.is_empty() && self.first + 2 * HASHES as u64 <= seq {
            self.chunks.pop_front();
            self.first += 2 * HASHES as u64;
        }
    }
}

impl Store for Ahead {
    fn len(&self) -> usize {
        self.chunks.len() * HASHES
    }

    fn add(&mut self, rest: &Key, line: Line, hashing: &Hashing) -> Result<(), Refused> {
        self.reserve(line.seq, line.seq + 2)?;
        self.set(line.seq, kept(hashing.spot(rest).0));
        Ok(())
    }
}

/// The earliest message that is sought of those from a number on, met in the order of memory. Calls `keep` with the number of
/// each, and what is left of its key.
#[inline(always)]
pub(super) fn earliest(
    from: u64,
    sought: &Sought<'_>,
    unexpected: Unexpected<'_>,
    mut keep: impl FnMut(u64, &Key),
    examined: &mut u64,
) -> Option<Found> {
    let (mut earliest, mut looked_at) = (u64::MAX, 0);
    unexpected.table.each_of(Kind::Waiting, |key, seq| {
        if seq < from {
            return;
        }
        looked_at += 1;
        let rest = sought.open.rest(key);
        if seq < earliest && sought.is_it(key, &rest) {
            earliest = seq;
        }
        keep(seq, &rest);
    });
    *examined += looked_at;
    if earliest == u64::MAX { None } else { unexpected.find(earliest) }
}

impl<S: Store> Held<S> {
    /// [`extend`](Self::extend) by who searches: where there is no memory to keep what is met, all that is left is looked at.
    #[inline(always)]
    pub(super) fn extend_or_look(
        &mut self,
        open: &Openness,
        is_it: impl Fn(&Key, &Key) -> bool,
        sought: &Sought<'_>,
        unexpected: Unexpected<'_>,
        most: usize,
        examined: &mut u64,
    ) -> (Option<Found>, bool) {
        let (found, has_room) = self.extend(open, is_it, unexpected, most, examined);
        if has_room {
            return (found, true);
        }
        (earliest(self.until, sought, unexpected, |_, _| (), examined), false)
    }
}

impl Held<Ahead> {
    /// Whether numbers from one on are to be kept, or to be kept still, while so many wait.
    pub(super) fn is_worth_it(&self, from: u64, unexpected: Unexpected<'_>) -> bool {
        is_dense(from, if self.store.is_empty() { SPARSE } else { HOLLOW }, unexpected)
    }

    /// The earliest message of those from a number on that are kept.
    pub(super) fn search(
        &mut self,
        from: u64,
        sought: &Sought<'_>,
        unexpected: Unexpected<'_>,
        examined: &mut u64,
    ) -> Search {
        let hash = kept(unexpected.hashing.spot(sought.rest).0);
        let (mut from, mut others) = (from, 0);
        while let Some(seq) = self.store.find(hash, from, examined) {
            *examined += 1;
            match unexpected.find(seq) {
                None => self.store.forget(seq),
                Some(found) if sought.admits(&unexpected.table.key(found.at)) => {
                    if sought.is_taken {
                        self.store.forget(seq);
                    }
                    return Search::Found(found);
                }
                Some(_) => others += 1,
            }
            if sought.is_shared && others > CROWD {
                return Search::Crowd;
            }
            from = seq + 2;
        }
        Search::Nothing
    }

    /// Goes through what it does not have yet, to the end, until a message is met that is sought; whether there was memory
    /// to keep all of it.
    pub(super) fn reach(
        &mut self,
        sought: &Sought<'_>,
        unexpected: Unexpected<'_>,
        examined: &mut u64,
    ) -> (Option<Found>, bool) {
        if !self.store.is_empty() {
            let is_it = |key: &Key, rest: &Key| sought.is_it(key, rest);
            let most = through_log(self.until, KEEPING, unexpected);
            let (found, has_room) =
                self.extend_or_look(&sought.open, is_it, sought, unexpected, most, examined);
            if found.is_some() || !has_room || self.until == unexpected.clock {
                return (found, has_room);
            }
        }
        (self.fill(sought, unexpected, examined), true)
    }

    /// The earliest message that is sought of those it does not have yet, in the order of memory. It has them then, if there is
    /// memory for that, and they are not too far from one another.
    #[inline(never)]
    fn fill(&mut self, sought: &Sought<'_>, unexpected: Unexpected<'_>, examined: &mut u64) -> Option<Found> {
        let Unexpected { hashing, clock, .. } = unexpected;
        // Numbers of messages are even, or all are odd, as the clock is.
        let from = self.until + (clock - self.until) % 2;
        if !self.is_worth_it(from, unexpected) || self.store.reserve(from, clock).is_err() {
            return earliest(from, sought, unexpected, |_, _| (), examined);
        }
        let keep = |seq, rest: &Key| self.store.set(seq, kept(hashing.spot(rest).0));
        let found = earliest(from, sought, unexpected, keep, examined);
        self.until = clock;
        found
    }

    /// A message was given another key.
    pub(super) fn rename(&mut self, rest: &Key, seq: u64, hashing: &Hashing) {
        if !self.store.is_empty() && seq < self.until && seq >= self.store.first {
            self.store.set(seq, kept(hashing.spot(rest).0));
        }
    }
}

impl Held<Lookup> {
    /// Takes over the hashes of some numbers; false: there was no memory for all of them.
    pub(super) fn take_over(
        &mut self,
        ahead: &mut Held<Ahead>,
        sought: &Sought<'_>,
        unexpected: Unexpected<'_>,
    ) -> bool {
        let place = ahead.store.place(self.until);
        let end = ahead.store.place(ahead.until).min(place + share(unexpected));
        for place in place..end {
            if place % AT_ONCE == 0 {
                self.store.look_at((place..end.min(place + AT_ONCE)).map(|place| ahead.store.hash(place)));
            }
            let mut hash = ahead.store.hash(place);
            let seq = ahead.store.first + 2 * place as u64;
            self.until = seq + 1;
            if hash == kept(NOBODY) {
                // Or that of nobody.
                let Some(found) = unexpected.find(seq) else { continue };
                hash = unexpected.hashing.spot(&sought.open.rest(&unexpected.table.key(found.at))).0;
            } else if hash == NOBODY {
                continue;
            }
            if self.store.append(hash, seq).is_err() {
                return false;
            }
        }
        if ahead.store.place(self.until) < ahead.store.place(ahead.until) {
            ahead.store.give_back_before(self.until);
        } else {
            self.until = self.until.max(ahead.until);
            ahead.store = Ahead::default();
        }
        true
    }
}

impl Dropped for Ahead {
    fn bytes(&self) -> u64 {
        let chunks = self.chunks.len() * size_of::<[u32; HASHES]>();
        (chunks + self.chunks.capacity() * size_of::<Chunk>()) as u64
    }

    fn give_back(&mut self, chunks: usize) -> bool {
        (0..chunks).all(|_| self.chunks.pop_back().is_some())
    }
}
