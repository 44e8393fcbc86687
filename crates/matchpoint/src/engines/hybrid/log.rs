//! The log of unexpected messages in the order of arrival, which wildcard searches scan.
//!
//! ```text
//!   blocks   [ waiting | columns ][ waiting | columns ]…     a ring: message n is in block n / 64, lane n % 64
//!                 │         └─▶ tags, lower half  [ 64 × 4 bytes ]
//!                 │             tags, upper half  [ 64 × 4 bytes ]     a SIMD kernel compares 64 at once
//!                 │             source numbers    [ 64 × 4 bytes ]
//!                 │             contexts          [ 64 × 4 bytes ]
//!                 └─ a bit for each message that waits
//! ```

use super::key::{Class, Key, Pattern};
use super::row::{NEXT, NUMBER, UNEXPECTED};
use crate::engine::Refused;
use crate::scan::{Kernel, LANES, Lanes, Search};

pub(super) const BLOCK: u64 = LANES as u64;
/// Blocks that a call visits to free memory.
const SWEEP: usize = 32;

/// Aligned: a kernel loads whole cache lines.
#[repr(align(64))]
struct Columns {
    lows: [u32; LANES],
    highs: [u32; LANES],
    sources: [u32; LANES],
    contexts: [u32; LANES],
}

/// A box that can be allocated without aborting for want of memory.
type OneColumns = Box<[Columns; 1]>;

impl Columns {
    fn allocate() -> Result<OneColumns, Refused> {
        let mut one = Vec::new();
        one.try_reserve_exact(1).map_err(|_| Refused::Memory)?;
        let none = [0; LANES];
        one.push(Columns { lows: none, highs: none, sources: none, contexts: none });
        one.into_boxed_slice().try_into().map_err(|_| Refused::Memory)
    }

    #[inline(always)]
    fn set(&mut self, lane: usize, key: Key) {
        (self.lows[lane], self.highs[lane]) = (key.tag as u32, (key.tag >> 32) as u32);
        (self.sources[lane], self.contexts[lane]) = (key.pair as u32, (key.pair >> 32) as u32);
    }

    #[inline(always)]
    fn key(&self, lane: usize) -> Key {
        Key {
            pair: u64::from(self.contexts[lane]) << 32 | u64::from(self.sources[lane]),
            tag: u64::from(self.highs[lane]) << 32 | u64::from(self.lows[lane]),
        }
    }
}

#[derive(Default)]
struct Block {
    /// Bits of the messages that wait. Bits of messages that have not arrived yet are set, too.
    waiting: u64,
    columns: Option<OneColumns>,
}

/// See the [module's documentation](self).
pub(super) struct Log {
    /// A power of two, or none.
    blocks: Vec<Block>,
    /// The number of the first block with a message that waits, or of the last block.
    first: u64,
    /// The mark of the next message: its number, and the flag of its queue.
    pub(super) mark: u64,
    /// The first number without a place in a block.
    end: u64,
    /// Number of messages that wait.
    pub(super) len: u64,
    /// Blocks below this number have been visited by [`sweep`](Self::sweep).
    swept: u64,
    /// Columns in blocks, and those for the next blocks.
    used: usize,
    spare: Vec<OneColumns>,
    /// The fewest spare columns since the last call of [`give_back`](Self::give_back).
    least_spare: usize,
    /// Spare columns that are to be freed.
    unneeded: usize,
    kernel: Kernel,
}

impl Log {
    pub(super) fn new(kernel: Kernel) -> Self {
        Log {
            blocks: Vec::new(),
            first: 0,
            mark: UNEXPECTED,
            end: 0,
            len: 0,
            swept: 0,
            used: 0,
            spare: Vec::new(),
            least_spare: 0,
            unneeded: 0,
            kernel,
        }
    }

    /// Number of messages that wait.
    #[inline(always)]
    pub(super) fn len(&self) -> usize {
        self.len as usize
    }

    /// The number of the next message.
    #[inline(always)]
    pub(super) fn next(&self) -> u64 {
        self.mark >> NUMBER
    }

    /// No message before this number waits.
    pub(super) fn first(&self) -> u64 {
        self.first * BLOCK
    }

    #[inline(always)]
    fn place(&self, block: u64) -> usize {
        block as usize & self.blocks.len().wrapping_sub(1)
    }

    fn block(&self, number: u64) -> &Block {
        &self.blocks[self.place(number)]
    }

    /// Whether the next message has a place in a block.
    #[inline(always)]
    pub(super) fn has_room(&self) -> bool {
        self.next() < self.end
    }

    /// Appends a message; the log [has room](Self::has_room). Returns whether it has room for another.
    #[inline(always)]
    pub(super) fn push(&mut self, key: Key) -> bool {
        let number = self.next();
        let (at, lane) = (self.place(number / BLOCK), (number % BLOCK) as usize);
        self.mark += NEXT;
        self.len += 1;
        if let Some(Block { columns: Some(columns), .. }) = self.blocks.get_mut(at) {
            columns[0].set(lane, key);
        }
        self.has_room()
    }

    /// Makes room for the next message.
    #[inline(never)]
    pub(super) fn make_room(&mut self) -> Result<(), Refused> {
        if self.has_room() {
            return Ok(());
        }
        let number = self.next() / BLOCK;
        self.advance();
        if number - self.first >= self.blocks.len() as u64 {
            self.widen()?;
        }
        self.sweep(2);
        let columns = match self.spare.pop() {
            Some(columns) => columns,
            None => {
                // So that a block can be emptied without memory.
                self.spare.try_reserve(self.used + 1).map_err(|_| Refused::Memory)?;
                Columns::allocate()?
            }
        };
        self.least_spare = self.least_spare.min(self.spare.len());
        let at = self.place(number);
        self.blocks[at] = Block { waiting: u64::MAX, columns: Some(columns) };
        self.used += 1;
        self.end = (number + 1) * BLOCK;
        Ok(())
    }

    /// Leaves some of the first blocks, if no message waits there.
    fn advance(&mut self) {
        for _ in 0..SWEEP {
            if self.first >= self.next() / BLOCK || self.block(self.first).waiting != 0 {
                break;
            }
            self.empty(self.first);
            self.first += 1;
        }
        self.swept = self.swept.max(self.first);
    }

    /// Takes the columns from some blocks further on, if no message waits there.
    fn sweep(&mut self, blocks: usize) {
        for _ in 0..blocks {
            if self.swept >= self.next() / BLOCK {
                self.swept = self.first;
            } else {
                if self.block(self.swept).waiting == 0 {
                    self.empty(self.swept);
                }
                self.swept += 1;
            }
        }
    }

    /// Empties blocks in which no message waits, and frees some columns that are not needed.
    #[cold]
    pub(super) fn tidy(&mut self) {
        self.sweep(SWEEP);
        self.advance();
        let freed = self.unneeded.min(self.spare.len()).min(SWEEP);
        self.spare.truncate(self.spare.len() - freed);
        self.unneeded -= self.unneeded.min(SWEEP);
    }

    /// Columns that were not needed since the last call are not needed any more. Frees the ring if it holds nothing.
    #[cold]
    pub(super) fn give_back(&mut self) {
        let is_idle = self.least_spare > 0 && self.len() == 0 && self.first >= self.next() / BLOCK;
        if is_idle && self.unneeded == 0 && self.spare.len() <= 1 {
            // The numbers of its last block stay unused, so that messages keep their order.
            self.mark += (self.end - self.next()) << NUMBER;
            (self.first, self.swept) = (self.end / BLOCK, self.end / BLOCK);
            (self.blocks, self.spare, self.used) = (Vec::new(), Vec::new(), 0);
        }
        (self.unneeded, self.least_spare) = (self.least_spare.saturating_sub(1), self.spare.len());
    }

    /// Takes the columns from a block, for the next blocks.
    fn empty(&mut self, block: u64) {
        let at = self.place(block);
        if let Some(columns) = self.blocks[at].columns.take() {
            self.used -= 1;
            self.spare.push(columns);
        }
    }

    /// Doubles the ring.
    pub(super) fn widen(&mut self) -> Result<(), Refused> {
        let (old, new) = (self.blocks.len(), (2 * self.blocks.len()).max(4));
        let mut blocks = Vec::new();
        blocks.try_reserve_exact(new).map_err(|_| Refused::Memory)?;
        blocks.resize_with(new, Block::default);
        for number in self.first..self.first + old as u64 {
            let at = self.place(number);
            blocks[number as usize & (new - 1)] = std::mem::take(&mut self.blocks[at]);
        }
        self.blocks = blocks;
        Ok(())
    }

    /// Whether the message of that number waits.
    #[inline(always)]
    pub(super) fn waits(&self, number: u64) -> bool {
        number / BLOCK >= self.first && self.block(number / BLOCK).waiting >> (number % BLOCK) & 1 != 0
    }

    /// The message of that number was taken.
    #[inline(always)]
    pub(super) fn remove(&mut self, number: u64) {
        let at = self.place(number / BLOCK);
        if let Some(block) = self.blocks.get_mut(at) {
            block.waiting &= !(1 << (number % BLOCK));
        }
        self.len -= 1;
    }

    /// The key of a message that waits.
    #[inline]
    pub(super) fn key(&self, number: u64) -> Key {
        let columns = self.block(number / BLOCK).columns.as_ref();
        columns.expect("a block with waiting messages has columns")[0].key((number % BLOCK) as usize)
    }

    /// Changes the key of a message that waits.
    pub(super) fn set_key(&mut self, number: u64, key: Key) {
        let at = self.place(number / BLOCK);
        if let Some(columns) = &mut self.blocks[at].columns {
            columns[0].set((number % BLOCK) as usize, key);
        }
    }

    /// The first message from number `from` on that a pattern accepts, and how many were compared.
    #[inline]
    pub(super) fn search(&self, pattern: &Pattern, from: u64) -> (Option<u64>, u64) {
        let mut scan = Scan { log: self, pattern, from: from.max(self.first()), compared: 0 };
        let found = if scan.from < self.next() { self.kernel.run(&mut scan) } else { None };
        (found, scan.compared)
    }

    /// Gives back memory, if no message waits.
    pub(super) fn release(&mut self) {
        self.tidy();
        self.least_spare = self.spare.len();
        self.give_back();
    }

    /// Whether the log has far more blocks, or numbers, than the messages that wait need.
    pub(super) fn is_sparse(&self) -> bool {
        let waiting = self.len() as u64;
        self.used as u64 * BLOCK > 8 * waiting + 4096 || self.next() - self.first() > 256 * waiting + 65_536
    }

    /// Bits of the messages that wait in a full block.
    pub(super) fn waiting(&self, block: u64) -> u64 {
        self.block(block).waiting
    }

    /// Number of blocks in the ring.
    pub(super) fn blocks(&self) -> u64 {
        self.blocks.len() as u64
    }

    /// Has so many spare columns.
    pub(super) fn reserve_columns(&mut self, count: usize) -> Result<(), Refused> {
        while self.spare.len() < count {
            self.spare.try_reserve(self.used + 1).map_err(|_| Refused::Memory)?;
            self.spare.push(Columns::allocate()?);
        }
        Ok(())
    }

    /// Bytes allocated.
    pub(super) fn bytes(&self) -> u64 {
        (self.blocks.capacity() * size_of::<Block>()
            + (self.used + self.spare.len()) * size_of::<Columns>()
            + self.spare.capacity() * size_of::<OneColumns>()) as u64
    }
}

/// A search, for any instruction set.
struct Scan<'a> {
    log: &'a Log,
    pattern: &'a Pattern,
    from: u64,
    compared: u64,
}

impl Search for Scan<'_> {
    type Found = Option<u64>;

    #[inline(always)]
    fn run<L: Lanes>(&mut self, lanes: L) -> Option<u64> {
        let Scan { log, pattern, from, .. } = *self;
        let last = log.next() - 1;
        let mut wanted = u64::MAX << (from % BLOCK);
        for number in from / BLOCK..=last / BLOCK {
            let block = log.block(number);
            if number == last / BLOCK {
                wanted &= u64::MAX >> (BLOCK - 1 - last % BLOCK);
            }
            let waiting = block.waiting & wanted;
            if let (true, Some([columns])) = (waiting != 0, block.columns.as_deref()) {
                let mut hits = candidates(lanes, columns, pattern, waiting);
                while hits != 0 {
                    let lane = hits.trailing_zeros();
                    if pattern.accepts(columns.key(lane as usize)) {
                        self.compared += u64::from((waiting & u64::MAX >> (63 - lane)).count_ones());
                        return Some(number * BLOCK + u64::from(lane));
                    }
                    hits &= hits - 1;
                }
                self.compared += u64::from(waiting.count_ones());
            }
            wanted = u64::MAX;
        }
        None
    }
}

/// The lanes of `hits` that a pattern may accept. Further columns are compared while several are left.
#[inline(always)]
fn candidates<L: Lanes>(lanes: L, columns: &Columns, pattern: &Pattern, mut hits: u64) -> u64 {
    let Pattern { key, class: Class { source, ignore } } = *pattern;
    let (low, high) = (!ignore as u32, (!ignore >> 32) as u32);
    let has_several = |hits: u64| hits & hits.wrapping_sub(1) != 0;
    if low != 0 {
        hits &= lanes.equal_32_under(&columns.lows, low, key.tag as u32);
    }
    if source == 0 && has_several(hits) {
        hits &= lanes.equal_32(&columns.sources, key.pair as u32);
    }
    if high != 0 && has_several(hits) {
        hits &= lanes.equal_32_under(&columns.highs, high, (key.tag >> 32) as u32);
    }
    if has_several(hits) {
        hits &= lanes.equal_32(&columns.contexts, (key.pair >> 32) as u32);
    }
    hits
}
