//! Wildcard receives of a batch on the whole card, matched after the exact receives of all parts.

use bytemuck::{Pod, Zeroable};

use crate::batch::Segment;
use crate::buffer::Buffer;
use crate::kernels::{Kernel, WARP, window_max};
use crate::machine::{Grid, Machine};
use crate::matching::{Arguments, Loaded};

const SEEKING_THREADS: u32 = 512;
/// Maximum number of rounds between two reads of the progress.
const ROUNDS_AT_ONCE: u32 = 64;

/// `Wildcards` of `kernels/wild.cu`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
struct Shape {
    messages: u64,
    receives: u64,
    masks: u64,
    held: u64,
    matched: u64,
    pending: u64,
    oldest: u64,
    segments: u64,
    changed: u64,
    changed_in: u64,
    progress: u64,
    seed: u64,
    message_count: u32,
    count: u32,
    parts: u32,
    window_max: u32,
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
struct Progress {
    settled: u32,
    window: u32,
    round: u32,
    padding: u32,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Parts {
    pub arguments: Arguments,
    pub grid: Grid,
    /// Positions of the wildcard receives, in order.
    pub wildcards: u64,
}

/// Memory in addition to the batch and its parts: four bytes per message.
#[derive(Debug)]
pub(crate) struct Wildcards<M: Machine> {
    held: Buffer<M>,
    oldest: Buffer<M>,
    changed: Buffer<M>,
    changed_in: Buffer<M>,
    progress: Buffer<M>,
    count: u32,
    window: u32,
}

impl<M: Machine> Default for Wildcards<M> {
    fn default() -> Self {
        Wildcards {
            held: Buffer::default(),
            oldest: Buffer::default(),
            changed: Buffer::default(),
            changed_in: Buffer::default(),
            progress: Buffer::default(),
            count: 0,
            window: 0,
        }
    }
}

impl<M: Machine> Wildcards<M> {
    /// Allocates nothing without wildcard receives.
    pub fn fit(&mut self, machine: &M, batch: &Loaded<M>, parts: usize) -> Result<(), M::Error> {
        self.count = batch.wildcard_count as u32;
        if self.count == 0 {
            return Ok(());
        }
        let window = self.count.next_power_of_two().clamp(WARP, window_max(batch.layout));
        let most = machine.shared_bytes_max();
        self.window = Kernel::SettleWildcards.threads_within(most, window, batch.layout);
        let window = self.window as usize;
        self.held.reserve(machine, batch.message_count * size_of::<u32>())?;
        self.oldest.reserve(machine, window * size_of::<u32>())?;
        self.changed.reserve(machine, window * size_of::<Segment>())?;
        self.changed_in.reserve(machine, parts * size_of::<u32>())?;
        self.progress.reserve(machine, size_of::<Progress>())
    }

    pub fn count(&self) -> usize {
        self.count as usize
    }

    pub fn buffers_mut(&mut self) -> [&mut Buffer<M>; 5] {
        [&mut self.held, &mut self.oldest, &mut self.changed, &mut self.changed_in, &mut self.progress]
    }

    /// Matches the parts, then the wildcard receives. Waits for the machine.
    pub fn run(&mut self, machine: &M, batch: &mut Loaded<M>, parts: &Parts) -> Result<(), M::Error> {
        let shape = Shape {
            messages: batch.messages.address(),
            receives: batch.receives.address(),
            masks: batch.masks_address(),
            held: self.held.address(),
            matched: batch.matched.address(),
            pending: parts.wildcards,
            oldest: self.oldest.address(),
            segments: parts.arguments.segments,
            changed: self.changed.address(),
            changed_in: self.changed_in.address(),
            progress: self.progress.address(),
            seed: parts.arguments.seed,
            message_count: batch.message_count as u32,
            count: self.count,
            parts: parts.arguments.segment_count,
            window_max: self.window,
        };
        let all = Arguments { held: self.held.address(), ..parts.arguments };
        let changed = Arguments { segments: self.changed.address(), segment_count: self.window, ..all };
        let busy = 4 * machine.multiprocessors();
        let seeking_blocks = shape.message_count.div_ceil(SEEKING_THREADS).clamp(1, busy);
        let seeking = Grid { blocks: seeking_blocks, threads: SEEKING_THREADS };
        let settling = Grid { blocks: 1, threads: self.window };
        let beginning = Grid { blocks: busy, threads: self.window };
        let layout = batch.layout;
        // SAFETY: the structs have the sources' types. Every address is memory of `self`, of the batch or of
        // its division, with the size for its entries, window and parts. All of it is borrowed exclusively,
        // and launches run in order.
        #[allow(unsafe_code)]
        unsafe {
            machine.launch(Kernel::BeginWildcards, layout, beginning, &shape)?;
            machine.launch(Kernel::MatchHeld, layout, parts.grid, &all)?;
        }
        let mut progress = Progress { window: self.window, ..Progress::default() };
        while progress.settled < self.count {
            let rounds = (self.count - progress.settled).div_ceil(progress.window);
            for _ in 0..rounds.min(ROUNDS_AT_ONCE) {
                let matching = Grid { blocks: self.window.min(busy), ..parts.grid };
                // SAFETY: as for `BeginWildcards`.
                #[allow(unsafe_code)]
                unsafe {
                    machine.launch(Kernel::SeekOldest, layout, seeking, &shape)?;
                    machine.launch(Kernel::SettleWildcards, layout, settling, &shape)?;
                    machine.launch(Kernel::MatchHeld, layout, matching, &changed)?;
                }
            }
            self.progress.read(machine, bytemuck::bytes_of_mut(&mut progress))?;
        }
        Ok(())
    }
}
