//! Batches matched by a whole card: divided by a hash of the envelope into parts, which blocks match side by side.

use bytemuck::{Pod, Zeroable};

use crate::batch::Segment;
use crate::kernels::{DIGITS, Kernel, TILE, TILE_THREADS, WARP};
use crate::machine::{Grid, Machine, Memory};
use crate::matching::{Arguments, Loaded};
use crate::wildcards::{Parts, Wildcards};

/// Entries of either side that a part has on average: of parts of this size as good as none outgrows its block.
const PART_ENTRIES: usize = 384;
/// Threads of the blocks that match parts.
const PART_THREADS: u32 = 512;
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
    envelopes: [M::Memory; 2],
    orders: [M::Memory; 2],
    counts: M::Memory,
    totals: M::Memory,
    count: u32,
    tiles: u32,
}

impl<M: Machine> SideMemory<M> {
    fn new(machine: &M, count: usize, envelope_bytes: usize) -> Result<Self, M::Error> {
        let tiles = count.div_ceil(TILE as usize);
        let envelopes = || machine.allocate(count * envelope_bytes);
        let orders = || machine.allocate(count * size_of::<u32>());
        Ok(SideMemory {
            envelopes: [envelopes()?, envelopes()?],
            orders: [orders()?, orders()?],
            counts: machine.allocate(tiles * DIGITS as usize * size_of::<u32>())?,
            totals: machine.allocate(DIGITS as usize * size_of::<u32>())?,
            count: count as u32,
            tiles: tiles as u32,
        })
    }

    /// The first pass reads the batch as it came, the second what the first wrote, and what follows what the second wrote.
    fn side(&self, pass: usize, batch: &M::Memory, opens: Option<&M::Memory>) -> Side {
        let before = pass.checked_sub(1);
        let after = pass % 2;
        Side {
            from: before.map_or(batch.address(), |before| self.envelopes[before].address()),
            from_order: before.map_or(0, |before| self.orders[before].address()),
            opens: opens.map_or(0, Memory::address),
            to: self.envelopes[after].address(),
            to_order: self.orders[after].address(),
            counts: self.counts.address(),
            totals: self.totals.address(),
            count: self.count,
            tiles: self.tiles,
        }
    }
}

/// What dividing a batch needs beside the batch: some 40 bytes for each message and receive in the packed layout.
#[derive(Debug)]
pub struct Division<M: Machine> {
    messages: SideMemory<M>,
    receives: SideMemory<M>,
    segments: M::Memory,
    parts: u32,
    wildcards: Option<Wildcards<M>>,
}

impl<M: Machine> Division<M> {
    /// For batches as large as this one.
    ///
    /// # Errors
    /// There is not enough memory.
    pub fn new(machine: &M, batch: &Loaded<M>) -> Result<Self, M::Error> {
        let entries = batch.message_count.max(batch.receive_count);
        let parts = entries.div_ceil(PART_ENTRIES).clamp(1, PARTS_MAX);
        let envelope_bytes = 8 * batch.layout.envelope_words();
        Ok(Division {
            messages: SideMemory::new(machine, batch.message_count, envelope_bytes)?,
            receives: SideMemory::new(machine, batch.receive_count, envelope_bytes)?,
            // One more for the wildcard receives.
            segments: machine.allocate((parts + 1) * size_of::<Segment>())?,
            parts: parts as u32,
            wildcards: Wildcards::new(machine, batch, parts)?,
        })
    }

    /// Starts matching all of a batch with each other, in MPI's order, by the whole machine. O(messages + receives) as long
    /// as no envelope has many thousands: those are matched by one block, in time that grows with their square.
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
        assert_eq!(self.wildcards.is_some(), batch.opens.is_some(), "made for another batch");
        let counts = (batch.message_count as u32, batch.receive_count as u32);
        assert_eq!((self.messages.count, self.receives.count), counts, "made for another batch");
        let shape = |pass: usize| Shape {
            messages: self.messages.side(pass, &batch.messages, None),
            receives: self.receives.side(pass, &batch.receives, batch.opens.as_ref()),
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
            seed,
            segment_count: self.parts,
            longest: 0,
        };
        let blocks = self.parts.min(4 * machine.multiprocessors());
        let grid = Grid { blocks, threads: PART_THREADS };
        if let Some(wildcards) = &mut self.wildcards {
            // Their part is the last of the receives.
            let before = (batch.receive_count - batch.wildcard_count) * size_of::<u32>();
            let wildcards_at = self.receives.orders[1].address() + before as u64;
            return wildcards.run(machine, batch, &Parts { arguments, grid, wildcards: wildcards_at });
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
