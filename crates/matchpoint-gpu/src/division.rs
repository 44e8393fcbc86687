//! Batches matched by a whole card: divided by a hash of the envelope into parts, which blocks match side by side.

use bytemuck::{Pod, Zeroable};

use crate::batch::{Layout, Segment};
use crate::buffer::Buffer;
use crate::kernels::{DIGITS, Kernel, LONG_PARTS, TILE_THREADS, WARP, ledger_bytes, tile};
use crate::machine::{Grid, Machine};
use crate::matching::{Arguments, Loaded};
use crate::wildcards::{Parts, Wildcards};

/// Threads of the blocks that match parts, at most.
const PART_THREADS: u32 = 512;
/// Entries of either side that a part has on average, for such a block: of parts of this size as good as none outgrows it.
const PART_ENTRIES: u32 = 384;
/// Two digits tell parts apart, and what wildcard receives have in place of one.
const PARTS_MAX: usize = (DIGITS * DIGITS) as usize - 1;

/// `Side` of `kernels/divide.cu`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
struct Side {
    from: u64,
    from_order: u64,
    opens: u64,
    to: u64,
    to_order: u64,
    counts: u64,
    totals: u64,
    count: u32,
    tiles: u32,
}

/// `Division` of it.
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

/// Memory for one side: twice what is divided, for a pass reads one and writes the other.
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
    /// For so many entries.
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

    /// All of it.
    fn buffers(&self) -> impl Iterator<Item = &Buffer<M>> {
        self.envelopes.iter().chain(&self.orders).chain([&self.counts, &self.totals])
    }

    fn buffers_mut(&mut self) -> impl Iterator<Item = &mut Buffer<M>> {
        self.envelopes.iter_mut().chain(&mut self.orders).chain([&mut self.counts, &mut self.totals])
    }

    /// The first pass reads the batch as it came, the second what the first wrote, and what follows what the second wrote.
    fn side(&self, pass: usize, batch: &Buffer<M>, opens: u64) -> Side {
        let before = pass.checked_sub(1);
        let after = pass % 2;
        Side {
            from: before.map_or(batch.address(), |before| self.envelopes[before].address()),
            from_order: before.map_or(0, |before| self.orders[before].address()),
            opens,
            to: self.envelopes[after].address(),
            to_order: self.orders[after].address(),
            counts: self.counts.address(),
            totals: self.totals.address(),
            count: self.count,
            tiles: self.tiles,
        }
    }
}

/// What dividing a batch needs beside the batch: some 25 bytes for each message and 50 for each receive in the packed layout. It is
/// kept for the [next](Self::fit).
#[derive(Debug)]
pub struct Division<M: Machine> {
    messages: SideMemory<M>,
    receives: SideMemory<M>,
    segments: Buffer<M>,
    ledger: Buffer<M>,
    /// Whether there is one for these batches: the memory may be of earlier ones.
    has_ledger: bool,
    /// None as long as it is for no batch.
    parts: u32,
    part_threads: u32,
    wildcards: Wildcards<M>,
}

impl<M: Machine> Default for Division<M> {
    /// For no batch, and without memory.
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
    /// Whether the machine has the shared memory to divide batches of a layout: 64 KiB for each block, or 48 in the wide one.
    pub fn fits(machine: &M, layout: Layout) -> bool {
        Kernel::MoveByDigit.shared_bytes(TILE_THREADS, layout) <= machine.shared_bytes_most()
    }

    /// For batches as large as this one.
    ///
    /// # Errors
    /// There is not enough memory.
    pub fn new(machine: &M, batch: &Loaded<M>) -> Result<Self, M::Error> {
        let mut division = Division::default();
        division.fit(machine, batch)?;
        Ok(division)
    }

    /// From now on for batches as large as this one, in the same memory where it suffices.
    ///
    /// # Errors
    /// There is not enough memory: it is for no batch then.
    pub fn fit(&mut self, machine: &M, batch: &Loaded<M>) -> Result<(), M::Error> {
        self.parts = 0;
        let entries = batch.message_count.max(batch.receive_count);
        let most = machine.shared_bytes_most();
        self.part_threads = Kernel::MatchOrdered.threads_within(most, PART_THREADS, batch.layout);
        let part_entries = PART_ENTRIES * self.part_threads / PART_THREADS;
        let parts = entries.div_ceil(part_entries as usize).clamp(1, PARTS_MAX);
        let meeting = batch.message_count.min(batch.receive_count);
        self.has_ledger = meeting > LONG_PARTS * self.part_threads as usize;
        if self.has_ledger {
            self.ledger.reserve(machine, ledger_bytes(batch.receive_count))?;
        }
        // One more for the wildcard receives.
        self.segments.reserve(machine, (parts + 1) * size_of::<Segment>())?;
        self.wildcards.fit(machine, batch, parts)?;
        self.messages.fit(machine, batch.message_count, batch.layout)?;
        self.receives.fit(machine, batch.receive_count, batch.layout)?;
        self.parts = parts as u32;
        Ok(())
    }

    /// All of its memory.
    pub(crate) fn buffers(&self) -> impl Iterator<Item = &Buffer<M>> {
        let sides = self.messages.buffers().chain(self.receives.buffers());
        sides.chain([&self.segments, &self.ledger]).chain(self.wildcards.buffers())
    }

    pub(crate) fn buffers_mut(&mut self) -> impl Iterator<Item = &mut Buffer<M>> {
        let sides = self.messages.buffers_mut().chain(self.receives.buffers_mut());
        sides.chain([&mut self.segments, &mut self.ledger]).chain(self.wildcards.buffers_mut())
    }

    /// Starts matching all of a batch with each other, in MPI's order, by the whole machine: O(messages + receives), but all
    /// entries of an envelope are matched by one block.
    ///
    /// With wildcard receives it waits for the machine, and each of these looks at all messages: O(messages × wildcards)
    /// altogether, in a round for some thousand of them as long as few want messages of the same envelope, and one for
    /// each if all do.
    ///
    /// # Errors
    /// The machine failed.
    ///
    /// # Panics
    /// The batch is another than this is for.
    pub fn launch(&mut self, machine: &M, batch: &mut Loaded<M>, seed: u64) -> Result<(), M::Error> {
        assert!(self.parts > 0, "made for no batch");
        assert_eq!(self.wildcards.count(), batch.wildcard_count, "made for another batch");
        let counts = (batch.message_count as u32, batch.receive_count as u32);
        assert_eq!((self.messages.count, self.receives.count), counts, "made for another batch");
        if counts.0 == 0 || counts.1 == 0 {
            // Nothing meets. Nobody would write where the parts of the empty side begin, and what a batch before left there holds.
            return Ok(());
        }
        let shape = |pass: usize| Shape {
            messages: self.messages.side(pass, &batch.messages, 0),
            receives: self.receives.side(pass, &batch.receives, batch.opens_at()),
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
            opens: 0,
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
        if batch.has_opens() {
            // Their part is the last of the receives.
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
        // SAFETY: the struct is what the kernel's source says; every address is of memory that this or the batch owns, made
        // for as many entries; `launch` has both to itself, and steps run one after the other.
        #[allow(unsafe_code)]
        unsafe {
            machine.launch(kernel, batch.layout, grid, arguments)
        }
    }
}
