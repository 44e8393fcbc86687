//! Compaction of a batch's unmatched entries, which start the next batch (Klenk et al. 2017, §V-A).

use bytemuck::{Pod, Zeroable};

use crate::batch::Segment;
use crate::kernels::Kernel;
use crate::machine::{Grid, Machine, Memory};
use crate::matching::{Arguments, Loaded};

/// `Compaction` of `kernels/compact.cu`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
struct Shape {
    batch: Arguments,
    is_taken: u64,
    messages: u64,
    receives: u64,
    masks: u64,
    segments: u64,
}

/// Unmatched entries of a batch.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unmatched {
    /// Envelopes in words of the layout.
    pub messages: Vec<u64>,
    /// Envelopes in words of the layout.
    pub receives: Vec<u64>,
    /// Position of each segment's entries.
    pub segments: Vec<Segment>,
}

#[derive(Debug)]
pub struct Compaction<M: Machine> {
    is_taken: M::Memory,
    messages: M::Memory,
    receives: M::Memory,
    masks: M::Memory,
    segments: M::Memory,
    /// Messages, receives and segments.
    counts: [usize; 3],
}

fn counts<M: Machine>(batch: &Loaded<M>) -> [usize; 3] {
    [batch.message_count, batch.receive_count, batch.segment_count]
}

impl<M: Machine> Compaction<M> {
    /// Allocates memory for batches of the size of `batch`.
    ///
    /// # Errors
    /// The machine has not enough memory.
    pub fn new(machine: &M, batch: &Loaded<M>) -> Result<Self, M::Error> {
        let envelope = 8 * batch.layout.envelope_words();
        Ok(Compaction {
            is_taken: machine.allocate(batch.message_count * size_of::<u32>())?,
            messages: machine.allocate(batch.message_count * envelope)?,
            receives: machine.allocate(batch.receive_count * envelope)?,
            masks: machine.allocate(batch.receive_count * 8 * batch.layout.mask_words())?,
            segments: machine.allocate(batch.segment_count * size_of::<Segment>())?,
            counts: counts(batch),
        })
    }

    /// Starts the compaction of each segment of a matched batch. One block, or for a short segment one warp,
    /// compacts a segment.
    ///
    /// # Panics
    /// The batch has another size than in [`new`](Self::new).
    pub fn launch(
        &mut self,
        machine: &M,
        batch: &mut Loaded<M>,
        are_short: bool,
        grid: Grid,
    ) -> Result<(), M::Error> {
        assert_eq!(self.counts, counts(batch), "made for another batch");
        let kernel = if are_short { Kernel::CompactByWarps } else { Kernel::Compact };
        let has_wildcards = batch.has_wildcards();
        let shape = Shape {
            batch: batch.arguments(0),
            is_taken: self.is_taken.address(),
            messages: self.messages.address(),
            receives: self.receives.address(),
            masks: if has_wildcards { self.masks.address() } else { 0 },
            segments: self.segments.address(),
        };
        // SAFETY: the struct has the source's type. All memory has the size of the batch and is borrowed
        // exclusively.
        #[allow(unsafe_code)]
        unsafe {
            machine.launch(kernel, batch.layout, grid, &shape)
        }
    }

    /// Reads the unmatched entries of each segment.
    ///
    /// # Panics
    /// The batch has another size than in [`new`](Self::new).
    pub fn read_unmatched(&self, machine: &M, batch: &Loaded<M>) -> Result<Unmatched, M::Error> {
        assert_eq!(self.counts, counts(batch), "made for another batch");
        let width = batch.layout.envelope_words();
        let mut messages = vec![0u64; batch.message_count * width];
        let mut receives = vec![0u64; batch.receive_count * width];
        let mut segments = vec![Segment::default(); batch.segment_count];
        machine.read(&self.messages, bytemuck::cast_slice_mut(&mut messages))?;
        machine.read(&self.receives, bytemuck::cast_slice_mut(&mut receives))?;
        machine.read(&self.segments, bytemuck::cast_slice_mut(&mut segments))?;
        Ok(Unmatched { messages, receives, segments })
    }
}
