//! Where entries of given names lie, or lay: written once, and never taken back. Who looks for a name is told a few places,
//! and sees what lies there now.
//!
//! ```text
//! shares   [ ▪ ][ ▪ ][ – ][ ▪ ] …                8 bytes each, one for some 256 entries
//!            ▼
//! blocks   note note … note ──▶ note …           64 notes, 512 bytes
//! ```
//!
//! A note has eight bytes: the hash of a name, and what the entry is found by. Shares are few enough for what is written next
//! to stay in the caches, and small enough to be read through: of a million, finding a note takes half a microsecond. (With a
//! share for eight entries, or each an entry of a [`Table`](super::table), writing one was a cache miss.)

use super::chunk::{Word, entry, word};
use super::entry::Ref;
use super::grave::Dropped;
use super::key::{Hashing, Key};
use super::pool::{NIL, Place};
use crate::engine::Refused;

/// Entries for which there is a share.
const SHARE: usize = 256;

/// Notes in a block.
const NOTES: usize = 64;

#[derive(Clone, Copy)]
struct Note {
    hash: u32,
    word: Word,
}

struct Block {
    notes: Box<[Note; NOTES]>,
    /// The one before it in its share, which is full.
    next: Place,
}

/// The notes of some hashes: the block that is written to, and how many it has.
#[derive(Clone, Copy)]
struct Share {
    block: Place,
    used: u32,
}

/// See the [module's documentation](self).
pub(super) struct Notes {
    shares: Vec<Share>,
    blocks: Vec<Block>,
}

/// What a name is kept under in tables.
pub(super) fn key(id: u64) -> Key {
    Key { pair: id, tag: 0, high: 0 }
}

fn hash(id: u64, hashing: &Hashing) -> u32 {
    hashing.spot(&key(id)).0
}

impl Notes {
    /// For so many entries: with more of them it takes longer to find one.
    pub(super) fn of(entries: usize) -> Result<Self, Refused> {
        let count = (entries / SHARE).next_power_of_two();
        let mut shares = Vec::new();
        shares.try_reserve_exact(count).map_err(|_| Refused::Memory)?;
        shares.resize(count, Share { block: NIL, used: 0 });
        Ok(Notes { shares, blocks: Vec::new() })
    }

    #[inline]
    fn share(&self, hash: u32) -> usize {
        hash as usize & (self.shares.len() - 1)
    }

    /// Notes where an entry lies.
    #[inline]
    pub(super) fn write(&mut self, id: u64, at: Ref, hashing: &Hashing) -> Result<(), Refused> {
        let hash = hash(id, hashing);
        let share = self.share(hash);
        let Share { mut block, mut used } = self.shares[share];
        if block == NIL || used as usize == NOTES {
            block = self.begin(block)?;
            used = 0;
        }
        self.blocks[block as usize].notes[used as usize] = Note { hash, word: word(at) };
        self.shares[share] = Share { block, used: used + 1 };
        Ok(())
    }

    /// A new block before another.
    #[cold]
    fn begin(&mut self, next: Place) -> Result<Place, Refused> {
        self.blocks.try_reserve(1).map_err(|_| Refused::Memory)?;
        let mut notes = Vec::new();
        notes.try_reserve_exact(NOTES).map_err(|_| Refused::Memory)?;
        notes.resize(NOTES, Note { hash: 0, word: 0 });
        let notes = notes.into_boxed_slice().try_into().map_err(|_| Refused::Memory)?;
        self.blocks.push(Block { notes, next });
        Ok(self.blocks.len() as Place - 1)
    }

    /// Where an entry of that name may lie.
    pub(super) fn read(&self, id: u64, hashing: &Hashing) -> impl Iterator<Item = Ref> {
        let hash = hash(id, hashing);
        let Share { block, used } = self.shares[self.share(hash)];
        let mut rest = (block, used as usize);
        let blocks = std::iter::from_fn(move || {
            let (place, used) = rest;
            let block = (place != NIL).then(|| &self.blocks[place as usize])?;
            rest = (block.next, NOTES);
            Some(&block.notes[..used])
        });
        blocks.flatten().filter(move |note| note.hash == hash).map(|note| entry(note.word))
    }
}

impl Dropped for Notes {
    fn bytes(&self) -> u64 {
        let lists = self.shares.capacity() * size_of::<Share>() + self.blocks.capacity() * size_of::<Block>();
        (lists + self.blocks.len() * size_of::<[Note; NOTES]>()) as u64
    }

    fn give_back(&mut self, chunks: usize) -> bool {
        // As many bytes as other chunks have.
        (0..4 * chunks).all(|_| self.blocks.pop().is_some())
    }
}

#[cfg(test)]
mod tests {
    use super::super::key::Spot;
    use super::*;

    #[test]
    #[cfg_attr(miri, ignore = "hours, and all of it is safe code")]
    fn what_was_noted_is_found() {
        let hashing = Hashing::of_seed(5);
        // Far more than there are heads for.
        let mut notes = Notes::of(100).unwrap();
        let at = |id: u64| if id % 3 == 0 { Ref::equal(id as u32) } else { Ref::inline(Spot(id as u32)) };
        let ids = || (0..100_000).map(|id| id * 3 + 1);
        ids().for_each(|id| notes.write(id, at(id), &hashing).unwrap());
        for id in ids() {
            assert!(notes.read(id, &hashing).any(|found| found == at(id)), "{id}");
            assert!(notes.read(id, &hashing).count() < 4, "{id}");
            assert_eq!(notes.read(id + 1, &hashing).filter(|&found| found == at(id + 1)).count(), 0, "{id}");
        }
        let bytes = notes.bytes();
        assert!(bytes < 100_000 * 12, "{bytes}");
        while notes.give_back(3) {}
        assert!(notes.bytes() < bytes / 10);
    }
}
