//! Batches matched by a whole card: a hash of the envelope divides a batch into parts, which blocks match in
//! parallel.

use bytemuck::{Pod, Zeroable};

use crate::batch::{Layout, Segment};
use crate::buffer::Buffer;
use crate::kernels::{DIGITS, Kernel, LONG_PARTS, TILE_THREADS, WARP, ledger_bytes, tile};
use crate::machine::{Grid, Machine};
use crate::matching::{Arguments, Loaded};
use crate::wildcards::{Parts, Wildcards};

/// Maximum threads of a block that matches parts.
const PART_THREADS: u32 = 512;
/// Mean entries of a part on either side, for `PART_THREADS` threads. Almost no part of this mean size
/// exceeds the block.
const PART_ENTRIES: u32 = 384;
/// Two digits number the parts and the extra part of the wildcard receives.
const PARTS_MAX: usize = (DIGITS * DIGITS) as usize - 1;

/// `Side` of `kernels/divide.cu`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
struct Side {
    from: u64,
    from_order: u64,
    masks: u64,
    to: u64,
    to_order: u64,
    counts: u64,
    totals: u64,
    count: u32,
    tiles: u32,
}

/// `Division` of `kernels/divide.cu`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
struct Shape {
    messages: Side,
    receives: Side,
    seed: u64,
    segments: u64,
    parts: u32,
    shift: u32,
}

#[derive(Debug)]
struct SideMemory<M: Machine> {
    envelopes: [Buffer<M>; 2],
    orders: [Buffer<M>; 2],
    counts: Buffer<M>,
    totals: Buffer<M>,
    count: u32,
    tiles: u32,
}

impl<M: Machine> Default for SideMemory<M> {
    fn default() -> Self {
        SideMemory {
            envelopes: Default::default(),
            orders: Default::default(),
            counts: Buffer::default(),
            totals: Buffer::default(),
            count: 0,
            tiles: 0,
        }
    }
}

impl<M: Machine> SideMemory<M> {
    fn fit(&mut self, machine: &M, count: usize, layout: Layout) -> Result<(), M::Error> {
        let tiles = count.div_ceil(tile(layout) as usize);
        for envelopes in &mut self.envelopes {
            envelopes.reserve(machine, count * 8 * layout.envelope_words())?;
        }
        for order in &mut self.orders {
            order.reserve(machine, count * size_of::<u32>())?;
        }
        self.counts.reserve(machine, tiles * DIGITS as usize * size_of::<u32>())?;
        self.totals.reserve(machine, DIGITS as usize * size_of::<u32>())?;
        (self.count, self.tiles) = (count as u32, tiles as u32);
        Ok(())
    }

    fn buffers_mut(&mut self) -> impl Iterator<Item = &mut Buffer<M>> {
        self.envelopes.iter_mut().chain(&mut self.orders).chain([&mut self.counts, &mut self.totals])
    }

    /// The first pass reads the batch, the second the output of the first. Later kernels read the output of
    /// the second.
    fn side(&self, pass: usize, batch: &Buffer<M>, masks: u64) -> Side {
        let before = pass.checked_sub(1);
        let after = pass % 2;
        Side {
            from: before.map_or(batch.address(), |before| self.envelopes[before].address()),
            from_order: before.map_or(0, |before| self.orders[before].address()),
            masks,
            to: self.envelopes[after].address(),
            to_order: self.orders[after].address(),
            counts: self.counts.address(),
            totals: self.totals.address(),
            count: self.count,
            tiles: self.tiles,
        }
    }
}

/// Memory to divide a batch: in the packed layout, about 25 bytes per message and 50 per receive.
/// [`fit`](Self::fit) reuses the memory.
#[derive(Debug)]
pub struct Division<M: Machine> {
    messages: SideMemory<M>,
    receives: SideMemory<M>,
    segments: Buffer<M>,
    ledger: Buffer<M>,
    /// The memory of the ledger may be of earlier batches.
    has_ledger: bool,
    parts: u32,
    part_threads: u32,
    wildcards: Wildcards<M>,
}

impl<M: Machine> Default for Division<M> {
    fn default() -> Self {
        Division {
            messages: SideMemory::default(),
            receives: SideMemory::default(),
            segments: Buffer::default(),
            ledger: Buffer::default(),
            has_ledger: false,
            parts: 0,
            part_threads: 0,
            wildcards: Wildcards::default(),
        }
    }
}

impl<M: Machine> Division<M> {
    /// True if the machine has the shared memory: 64 KiB per block, or 48 KiB in the wide layout.
    pub fn fits(machine: &M, layout: Layout) -> bool {
        Kernel::MoveByDigit.shared_bytes(TILE_THREADS, layout) <= machine.shared_bytes_max()
    }

    pub fn new(machine: &M, batch: &Loaded<M>) -> Result<Self, M::Error> {
        let mut division = Division::default();
        division.fit(machine, batch)?;
        Ok(division)
    }

    /// Adapts the division to batches of the size of `batch`. Reuses the memory if it suffices.
    ///
    /// # Errors
    /// The machine has not enough memory. The division is then for no batch.
    pub fn fit(&mut self, machine: &M, batch: &Loaded<M>) -> Result<(), M::Error> {
        self.parts = 0;
        let entries = batch.message_count.max(batch.receive_count);
        let most = machine.shared_bytes_max();
        self.part_threads = Kernel::MatchOrdered.threads_within(most, PART_THREADS, batch.layout);
        let part_entries = PART_ENTRIES * self.part_threads / PART_THREADS;
        let parts = entries.div_ceil(part_entries as usize).clamp(1, PARTS_MAX);
        let shorter_side = batch.message_count.min(batch.receive_count);
        self.has_ledger = shorter_side > LONG_PARTS * self.part_threads as usize;
        if self.has_ledger {
            self.ledger.reserve(machine, ledger_bytes(batch.receive_count))?;
        }
        // The wildcard receives have an additional segment.
        self.segments.reserve(machine, (parts + 1) * size_of::<Segment>())?;
        self.wildcards.fit(machine, batch, parts)?;
        self.messages.fit(machine, batch.message_count, batch.layout)?;
        self.receives.fit(machine, batch.receive_count, batch.layout)?;
        self.parts = parts as u32;
        Ok(())
    }

    pub(crate) fn buffers_mut(&mut self) -> impl Iterator<Item = &mut Buffer<M>> {
        let sides = self.messages.buffers_mut().chain(self.receives.buffers_mut());
        sides.chain([&mut self.segments, &mut self.ledger]).chain(self.wildcards.buffers_mut())
    }

    /// Starts matching the whole batch in MPI's order. O(messages + receives), but one block matches all
    /// entries of an envelope.
    ///
    /// With wildcard receives, the function waits for the machine. Each wildcard receive is compared with all
    /// messages: O(messages × wildcards). A round settles up to a window of receives if few receives want the
    /// same messages, and one receive if all do.
    ///
    /// # Panics
    /// The batch has another size than in [`fit`](Self::fit).
    pub fn launch(&mut self, machine: &M, batch: &mut Loaded<M>, seed: u64) -> Result<(), M::Error> {
        assert!(self.parts > 0, "made for no batch");
        assert_eq!(self.wildcards.count(), batch.wildcard_count, "made for another batch");
        let counts = (batch.message_count as u32, batch.receive_count as u32);
        assert_eq!((self.messages.count, self.receives.count), counts, "made for another batch");
        if counts.0 == 0 || counts.1 == 0 {
            // Without matches, the kernels would keep an earlier batch's starts of the parts of the empty
            // side.
            return Ok(());
        }
        let shape = |pass: usize| Shape {
            messages: self.messages.side(pass, &batch.messages, 0),
            receives: self.receives.side(pass, &batch.receives, batch.masks_address()),
            seed,
            segments: self.segments.address(),
            parts: self.parts,
            shift: if pass == 1 { DIGITS.trailing_zeros() } else { 0 },
        };
        let of_tiles = Grid { blocks: self.messages.tiles + self.receives.tiles, threads: TILE_THREADS };
        let tiles = self.messages.tiles.max(self.receives.tiles);
        let of_digits = Grid { blocks: 2 * DIGITS, threads: tiles.next_power_of_two().clamp(WARP, 1024) };
        for pass in 0..2 {
            self.launch_step(machine, batch, Kernel::CountDigits, of_tiles, &shape(pass))?;
            self.launch_step(machine, batch, Kernel::SumDigits, of_digits, &shape(pass))?;
            self.launch_step(machine, batch, Kernel::MoveByDigit, of_tiles, &shape(pass))?;
        }
        self.launch_step(machine, batch, Kernel::FindSegments, of_tiles, &shape(2))?;
        let arguments = Arguments {
            messages: self.messages.envelopes[1].address(),
            receives: self.receives.envelopes[1].address(),
            masks: 0,
            segments: self.segments.address(),
            message_order: self.messages.orders[1].address(),
            receive_order: self.receives.orders[1].address(),
            matched: batch.matched.address(),
            held: 0,
            ledger: if self.has_ledger { self.ledger.address() } else { 0 },
            seed,
            segment_count: self.parts,
            longest: 0,
        };
        let blocks = self.parts.min(4 * machine.multiprocessors());
        let grid = Grid { blocks, threads: self.part_threads };
        if batch.has_wildcards() {
            // The wildcard receives are the last part.
            let before = (batch.receive_count - batch.wildcard_count) * size_of::<u32>();
            let wildcards_at = self.receives.orders[1].address() + before as u64;
            return self.wildcards.run(machine, batch, &Parts { arguments, grid, wildcards: wildcards_at });
        }
        self.launch_step(machine, batch, Kernel::MatchOrdered, grid, &arguments)
    }

    fn launch_step<A: Copy>(
        &self,
        machine: &M,
        batch: &Loaded<M>,
        kernel: Kernel,
        grid: Grid,
        arguments: &A,
    ) -> Result<(), M::Error> {
        if grid.blocks == 0 {
            return Ok(());
        }
        // SAFETY: the struct has the source's type. Every address is memory of `self` or of the batch, with
        // the size for its entries. Both are borrowed exclusively, and launches run in order.
        #[allow(unsafe_code)]
        unsafe {
            machine.launch(kernel, batch.layout, grid, arguments)
        }
    }
}
