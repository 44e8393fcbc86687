//! A copy of what waits, in the order of arrival, where many kinds of wildcards are in use. For those that have no index:
//! what they ignore is left out of each comparison, so that one copy serves all of them, and keys lie side by side, so
//! that the kernels of [`vector`](crate::engines::vector) compare up to sixteen at once. And for indexes, which are filled
//! from it: each message is looked up through the log once, not once for each.
//!
//! ```text
//! block    tags, lower half   [ 64 × 4 bytes ]      read only where a search asks for some of it
//!          tags, upper half   [ 64 × 4 bytes ]
//!          sources            [ 64 × 4 bytes ]
//!          contexts           [ 64 × 4 bytes ]
//!          numbers, words     [ 64 × 12 bytes ]     what finds a message, as in the log; read of those that may be it
//!          there              64 bits
//! ```
//!
//! Who takes a message through an index or this clears its bit. What others took is looked up once, if it is met.

use super::chunk::{Word, entry, word};
use super::class::Openness;
use super::entry::Ref;
use super::found::Found;
use super::grave::Dropped;
use super::held::{Held, Line, Store, Unexpected};
use super::key::{Hashing, Key};
use super::search::Sought;
use crate::engine::Refused;
use crate::envelope::Selector;
use crate::scan::{Kernel, LANES, Lanes, Search};

#[derive(Clone)]
struct Block {
    lows: [u32; LANES],
    highs: [u32; LANES],
    sources: [u32; LANES],
    contexts: [u32; LANES],
    seqs: [u64; LANES],
    words: [Word; LANES],
    /// Those that nobody is known to have taken.
    there: u64,
    /// Those whose source is beyond 2^32: the rest of it is looked up.
    far: u64,
    used: u32,
}

/// In one piece: the standard library makes a box of more than one thing without aborting where memory is short.
type Piece = Box<[Block; 1]>;

impl Block {
    const EMPTY: Block = Block {
        lows: [0; LANES],
        highs: [0; LANES],
        sources: [0; LANES],
        contexts: [0; LANES],
        seqs: [0; LANES],
        words: [0; LANES],
        there: 0,
        far: 0,
        used: 0,
    };

    fn piece() -> Result<Piece, Refused> {
        let mut blocks = Vec::new();
        blocks.try_reserve_exact(1).map_err(|_| Refused::Memory)?;
        blocks.push(Block::EMPTY);
        blocks.into_boxed_slice().try_into().map_err(|_| Refused::Memory)
    }

    #[inline(always)]
    fn set(&mut self, lane: usize, key: &Key) {
        (self.lows[lane], self.highs[lane]) = (key.tag as u32, (key.tag >> 32) as u32);
        (self.sources[lane], self.contexts[lane]) = (key.pair as u32, (key.pair >> 32) as u32);
        self.far = self.far & !(1 << lane) | u64::from(key.high != 0) << lane;
    }

    /// The key there, if its source is not far.
    #[inline(always)]
    fn key(&self, lane: usize) -> Option<Key> {
        let pair = u64::from(self.contexts[lane]) << 32 | u64::from(self.sources[lane]);
        let tag = u64::from(self.highs[lane]) << 32 | u64::from(self.lows[lane]);
        (self.far >> lane & 1 == 0).then_some(Key { pair, tag, high: 0 })
    }

    #[inline(always)]
    fn line(&self, lane: usize) -> Line {
        Line { seq: self.seqs[lane], word: self.words[lane] }
    }

    #[inline(always)]
    fn hits<L: Lanes>(&self, lanes: L, query: &Query) -> u64 {
        let mut hits = self.there & lanes.equal_32(&self.contexts, query.context);
        for (keys, mask, key) in [
            (&self.sources, query.source_mask, query.source),
            (&self.lows, query.low_mask, query.low),
            (&self.highs, query.high_mask, query.high),
        ] {
            if mask != 0 && hits != 0 {
                hits &= lanes.equal_32_under(keys, mask, key);
            }
        }
        hits
    }
}

/// What a search compares keys with, and under which masks.
#[derive(Clone, Copy)]
struct Query {
    context: u32,
    source: u32,
    source_mask: u32,
    low: u32,
    low_mask: u32,
    high: u32,
    high_mask: u32,
}

impl Query {
    fn of(selector: &Selector) -> Self {
        let (asked, any_source, ignore) = selector.parts();
        let Key { pair, tag, .. } = Key::of(&asked);
        Query {
            context: (pair >> 32) as u32,
            source: pair as u32,
            source_mask: if any_source { 0 } else { u32::MAX },
            low: tag as u32,
            low_mask: !ignore as u32,
            high: (tag >> 32) as u32,
            high_mask: (!ignore >> 32) as u32,
        }
    }
}

/// The next message that may be sought, from a place on.
struct Next<'a> {
    blocks: &'a [Piece],
    query: Query,
    from: usize,
    /// Lanes of the block there that were looked at.
    seen: u64,
    examined: u64,
}

impl Search for Next<'_> {
    type Found = Option<(usize, usize)>;

    #[inline(always)]
    fn run<L: Lanes>(&mut self, lanes: L) -> Option<(usize, usize)> {
        let Next { blocks, query, from, seen, .. } = *self;
        let (mut unseen, mut examined) = (!seen, 0);
        for (number, piece) in blocks.iter().enumerate().skip(from) {
            let block = &piece[0];
            let hits = if block.there == 0 { 0 } else { block.hits(lanes, &query) & unseen };
            let before = u64::from((!unseen).count_ones());
            if hits != 0 {
                let lane = hits.trailing_zeros() as usize;
                self.examined += examined + lane as u64 + 1 - before;
                return Some((number, lane));
            }
            examined += u64::from(block.used).saturating_sub(before);
            unseen = u64::MAX;
        }
        self.examined += examined;
        None
    }
}

/// See the [module's documentation](self).
pub(super) struct Roll {
    kernel: Kernel,
    blocks: Vec<Piece>,
    /// The number of the last message of each block.
    lasts: Vec<u64>,
    len: usize,
}

impl Roll {
    /// One without messages, compared by that kernel.
    pub(super) fn of(kernel: Kernel) -> Self {
        Roll { kernel, blocks: Vec::new(), lasts: Vec::new(), len: 0 }
    }

    /// Forgets all messages, and keeps the memory.
    pub(super) fn clear(&mut self) {
        self.blocks.iter_mut().for_each(|piece| (piece[0].there, piece[0].used) = (0, 0));
        self.lasts.clear();
        self.len = 0;
    }

    /// Room for a block of messages.
    #[inline(never)]
    fn make_room(&mut self) -> Result<(), Refused> {
        self.lasts.try_reserve(1).map_err(|_| Refused::Memory)?;
        if self.blocks.len() * LANES == self.len {
            self.blocks.try_reserve(1).map_err(|_| Refused::Memory)?;
            self.blocks.push(Block::piece()?);
        }
        Ok(())
    }

    /// The block that a message lies in, or would; and its lane, if it is there.
    fn place(&self, seq: u64) -> (usize, Option<usize>) {
        let number = self.lasts.partition_point(|&last| last < seq);
        let block = self.blocks.get(number);
        let lane = block.and_then(|piece| piece[0].seqs[..piece[0].used as usize].binary_search(&seq).ok());
        (number, lane)
    }

    /// A message was taken.
    pub(super) fn forget(&mut self, seq: u64) {
        if let (number, Some(lane)) = self.place(seq) {
            self.blocks[number][0].there &= !(1 << lane);
        }
    }

    /// A message was given another key, and is found by that.
    pub(super) fn rename(&mut self, key: &Key, seq: u64, entry: Ref) {
        if let (number, Some(lane)) = self.place(seq) {
            let block = &mut self.blocks[number][0];
            block.set(lane, key);
            block.words[lane] = word(entry);
        }
    }

    /// The messages from one on that nobody is known to have taken, with their keys unless those are far.
    #[inline]
    pub(super) fn since(&self, seq: u64) -> Since<'_> {
        let number = self.lasts.partition_point(|&last| last < seq);
        let block = self.blocks.get(number).map(|piece| &piece[0]);
        let left = block.map_or(0, |block| {
            let older = block.seqs[..block.used as usize].partition_point(|&number| number < seq);
            block.there & u64::MAX << older
        });
        Since { blocks: &self.blocks, number, left }
    }
}

/// See [`Roll::since`].
pub(super) struct Since<'a> {
    blocks: &'a [Piece],
    number: usize,
    /// Lanes of the block there.
    left: u64,
}

impl Iterator for Since<'_> {
    type Item = (Option<Key>, Line);

    #[inline(always)]
    fn next(&mut self) -> Option<(Option<Key>, Line)> {
        while self.left == 0 {
            self.number += 1;
            self.left = self.blocks.get(self.number)?[0].there;
        }
        let lane = self.left.trailing_zeros() as usize;
        self.left &= self.left - 1;
        let block = &self.blocks[self.number][0];
        Some((block.key(lane), block.line(lane)))
    }
}

/// Messages copied at once.
pub(super) const STRIDE: usize = 64;

impl Held<Roll> {
    /// Copies so many messages more; false: there is no memory for them.
    pub(super) fn copy_some(&mut self, most: usize, unexpected: Unexpected<'_>) -> bool {
        self.extend(&Openness::NOTHING, |_, _| false, unexpected, most, &mut 0).1
    }

    /// The earliest message of those it has.
    #[inline(never)]
    pub(super) fn search(
        &mut self,
        sought: &Sought<'_>,
        unexpected: Unexpected<'_>,
        examined: &mut u64,
    ) -> Option<Found> {
        let Roll { kernel, blocks, .. } = &mut self.store;
        let query = Query::of(sought.selector);
        let (mut from, mut seen) = (0, 0);
        loop {
            let mut next = Next { blocks, query, from, seen, examined: 0 };
            let met = kernel.run(&mut next);
            *examined += next.examined;
            let (number, lane) = met?;
            let block = &mut blocks[number][0];
            let found = unexpected.resolve(entry(block.words[lane]), block.seqs[lane]);
            let is_it = found.filter(|found| sought.admits(&unexpected.table.key(found.at)));
            *examined += u64::from(found.is_none());
            if found.is_none() || is_it.is_some() && sought.is_taken {
                block.there &= !(1 << lane);
            }
            if is_it.is_some() {
                return is_it;
            }
            (from, seen) = (number, u64::MAX >> (LANES - 1 - lane));
        }
    }
}

impl Store for Roll {
    fn len(&self) -> usize {
        self.len
    }

    #[inline]
    fn add(&mut self, key: &Key, Line { seq, word }: Line, _: &Hashing) -> Result<(), Refused> {
        if self.len % LANES == 0 {
            self.make_room()?;
            self.lasts.push(seq);
        }
        let block = &mut self.blocks[self.len / LANES][0];
        let lane = self.len % LANES;
        block.set(lane, key);
        (block.seqs[lane], block.words[lane]) = (seq, word);
        block.there |= 1 << lane;
        block.used += 1;
        self.lasts[self.len / LANES] = seq;
        self.len += 1;
        Ok(())
    }
}

impl Dropped for Roll {
    fn bytes(&self) -> u64 {
        let lists = self.blocks.capacity() * size_of::<Piece>() + self.lasts.capacity() * size_of::<u64>();
        (lists + self.blocks.len() * size_of::<Block>()) as u64
    }

    fn give_back(&mut self, chunks: usize) -> bool {
        (0..chunks).all(|_| self.blocks.pop().is_some())
    }
}
