//! Batches in a machine's memory, matched by one kernel.

use bytemuck::{Pod, Zeroable};
use matchpoint::Hints;

use crate::batch::{Batch, Layout, NONE, Segment};
use crate::buffer::Buffer;
use crate::kernels::{Kernel, LONG_PARTS, ledger_bytes};
use crate::machine::{Grid, Machine};

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Algorithm {
    /// MPI's order, all wildcards, one block per segment (Klenk et al. 2017, §V).
    Matrix,
    /// `Matrix` with one warp per segment, for segments by source. No any-source receives (§VI-A).
    Partitioned,
    /// No order and no wildcards, one block per segment (§VI-C).
    Hash,
    /// MPI's order, all wildcards, one block per segment (Matchpoint).
    Ordered,
}

impl Algorithm {
    pub const ALL: [Algorithm; 4] =
        [Algorithm::Matrix, Algorithm::Partitioned, Algorithm::Hash, Algorithm::Ordered];

    pub fn name(self) -> &'static str {
        match self {
            Algorithm::Matrix => "gpu_matrix",
            Algorithm::Partitioned => "gpu_partitioned",
            Algorithm::Hash => "gpu_hash",
            Algorithm::Ordered => "gpu_ordered",
        }
    }

    /// Assertions that the application must make (§VI).
    pub fn demands(self) -> Hints {
        match self {
            Algorithm::Matrix | Algorithm::Ordered => Hints::default(),
            Algorithm::Partitioned => Hints { no_any_source: true, ..Hints::default() },
            Algorithm::Hash => {
                Hints { no_any_source: true, no_any_tag: true, allow_overtaking: true, ..Hints::default() }
            }
        }
    }

    pub(crate) fn kernel(self) -> Kernel {
        match self {
            Algorithm::Matrix => Kernel::MatchMatrix,
            Algorithm::Partitioned => Kernel::MatchPartitioned,
            Algorithm::Hash => Kernel::MatchHash,
            Algorithm::Ordered => Kernel::MatchOrdered,
        }
    }

    /// `entries`: on either side.
    pub fn threads(self, segments: usize, entries: usize) -> u32 {
        match self {
            // A scanning warp has 128 messages. One warp reduces.
            Algorithm::Matrix => (entries.div_ceil(128).clamp(1, 8) as u32 + 1) * 32,
            Algorithm::Partitioned => 1024,
            Algorithm::Ordered => (entries.next_power_of_two() as u32).clamp(64, 1024),
            // One block matches several segments at once.
            Algorithm::Hash => ((entries * segments).next_power_of_two().clamp(64, 1024)) as u32,
        }
    }
}

/// `Batch` of `kernels/batch.h`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
pub(crate) struct Arguments {
    pub messages: u64,
    pub receives: u64,
    pub masks: u64,
    pub segments: u64,
    pub message_order: u64,
    pub receive_order: u64,
    pub matched: u64,
    pub held: u64,
    pub ledger: u64,
    pub seed: u64,
    pub segment_count: u32,
    pub longest: u32,
}

/// A batch and its segments in a machine's memory, reused by [`load`](Self::load).
#[derive(Debug)]
pub struct Loaded<M: Machine> {
    pub(crate) layout: Layout,
    pub(crate) messages: Buffer<M>,
    pub(crate) receives: Buffer<M>,
    masks: Buffer<M>,
    pub(crate) segments: Buffer<M>,
    pub(crate) matched: Buffer<M>,
    pub(crate) message_count: usize,
    pub(crate) receive_count: usize,
    pub(crate) wildcard_count: usize,
    pub(crate) segment_count: usize,
    longest: usize,
    shorter_side: usize,
    /// No receive is in two segments, as a ledger requires.
    are_disjoint: bool,
    ledger: Buffer<M>,
    has_ledger: bool,
}

impl<M: Machine> Default for Loaded<M> {
    fn default() -> Self {
        Loaded {
            layout: Layout::Packed,
            messages: Buffer::default(),
            receives: Buffer::default(),
            masks: Buffer::default(),
            segments: Buffer::default(),
            matched: Buffer::default(),
            message_count: 0,
            receive_count: 0,
            wildcard_count: 0,
            segment_count: 0,
            longest: 0,
            shorter_side: 0,
            are_disjoint: true,
            ledger: Buffer::default(),
            has_ledger: false,
        }
    }
}

impl<M: Machine> Loaded<M> {
    /// Copies a batch to the machine. A segment lists messages and receives of the batch, each at most once.
    ///
    /// # Panics
    /// As for [`load`](Self::load).
    pub fn new(machine: &M, batch: &Batch, segments: &[Segment]) -> Result<Self, M::Error> {
        let mut loaded = Loaded::default();
        loaded.load(machine, batch, segments)?;
        Ok(loaded)
    }

    /// Replaces the batch, and reuses the memory if it suffices. After an error, no batch is loaded.
    ///
    /// # Panics
    /// A segment exceeds the batch, or the batch has 2³¹ messages or receives. Kernels count to twice the
    /// number of entries.
    pub fn load(&mut self, machine: &M, batch: &Batch, segments: &[Segment]) -> Result<(), M::Error> {
        let (message_count, receive_count) = (batch.message_count(), batch.receive_count());
        assert!(
            can_be_counted(message_count.max(receive_count)),
            "{message_count} messages, {receive_count} receives"
        );
        for segment in segments {
            let fits = |from: u32, end: u32, count: usize| from <= end && end as usize <= count;
            assert!(fits(segment.message, segment.message_end, message_count), "{segment:?}");
            assert!(fits(segment.receive, segment.receive_end, receive_count), "{segment:?}");
        }
        // After a failure, the counts must not exceed the memory.
        (self.message_count, self.receive_count, self.wildcard_count) = (0, 0, 0);
        (self.segment_count, self.has_ledger) = (0, false);
        let (messages, receives, masks) = batch.words();
        self.messages.fill(machine, bytemuck::cast_slice(messages))?;
        self.receives.fill(machine, bytemuck::cast_slice(receives))?;
        if batch.wildcards() > 0 {
            self.masks.fill(machine, bytemuck::cast_slice(masks))?;
        }
        self.segments.fill(machine, bytemuck::cast_slice(segments))?;
        self.matched.fill(machine, bytemuck::cast_slice(&vec![NONE; receive_count]))?;
        self.layout = batch.layout();
        (self.message_count, self.receive_count) = (message_count, receive_count);
        self.wildcard_count = batch.wildcards();
        self.segment_count = segments.len();
        self.longest = segments.iter().map(Segment::longer_side).max().unwrap_or(0);
        self.shorter_side = segments.iter().map(Segment::shorter_side).max().unwrap_or(0);
        self.are_disjoint = have_disjoint_receives(segments);
        Ok(())
    }

    pub(crate) fn has_wildcards(&self) -> bool {
        self.wildcard_count > 0
    }

    pub(crate) fn masks_address(&self) -> u64 {
        if self.has_wildcards() { self.masks.address() } else { 0 }
    }

    pub(crate) fn buffers_mut(&mut self) -> [&mut Buffer<M>; 6] {
        [
            &mut self.messages,
            &mut self.receives,
            &mut self.masks,
            &mut self.segments,
            &mut self.matched,
            &mut self.ledger,
        ]
    }

    /// Starts matching each segment separately. `seed`, unknown to peers, is for the hash functions. If the
    /// machine lacks the shared memory for `grid.threads`, blocks have fewer threads and match long segments
    /// in more parts.
    ///
    /// # Panics
    /// The algorithm is `Hash` and a receive has a wildcard, or segments share receives and need a ledger.
    pub fn launch(
        &mut self,
        machine: &M,
        algorithm: Algorithm,
        grid: Grid,
        seed: u64,
    ) -> Result<(), M::Error> {
        assert!(algorithm != Algorithm::Hash || !self.has_wildcards(), "hashing knows no wildcards");
        let kernel = algorithm.kernel();
        let threads = kernel.threads_within(machine.shared_bytes_max(), grid.threads, self.layout);
        let grid = Grid { threads, ..grid };
        let is_long = self.shorter_side > LONG_PARTS * grid.threads as usize;
        if algorithm == Algorithm::Ordered && is_long && !self.has_wildcards() {
            // Two blocks would write to one part of the ledger.
            assert!(self.are_disjoint, "segments have receives in common");
            self.ledger.reserve(machine, ledger_bytes(self.receive_count))?;
            self.has_ledger = true;
        }
        let arguments = self.arguments(seed);
        // SAFETY: the struct has the sources' type. Every address is memory of `self`, at least as large as
        // `load` needs, and segments are within it. `&mut self` excludes other users, and the machine runs in
        // order.
        #[allow(unsafe_code)]
        unsafe {
            machine.launch(kernel, self.layout, grid, &arguments)
        }
    }

    pub(crate) fn arguments(&self, seed: u64) -> Arguments {
        Arguments {
            messages: self.messages.address(),
            receives: self.receives.address(),
            masks: self.masks_address(),
            segments: self.segments.address(),
            message_order: 0,
            receive_order: 0,
            matched: self.matched.address(),
            held: 0,
            ledger: if self.has_ledger { self.ledger.address() } else { 0 },
            seed,
            segment_count: self.segment_count as u32,
            longest: self.longest as u32,
        }
    }

    /// Waits for the kernels and returns for each receive its message, or [`NONE`].
    pub fn matched(&self, machine: &M) -> Result<Vec<u32>, M::Error> {
        let mut matched = vec![NONE; self.receive_count];
        self.matched.read(machine, bytemuck::cast_slice_mut(&mut matched))?;
        Ok(matched)
    }
}

/// Kernels can count to twice this number plus one block.
fn can_be_counted(entries: usize) -> bool {
    entries < 1 << 31
}

/// O(segments) if the segments are sorted, as usual.
fn have_disjoint_receives(segments: &[Segment]) -> bool {
    let is_some = |segment: &&Segment| segment.receive < segment.receive_end;
    let mut ranges: Vec<(u32, u32)> =
        segments.iter().filter(is_some).map(|segment| (segment.receive, segment.receive_end)).collect();
    ranges.sort_unstable();
    ranges.windows(2).all(|pair| pair[0].1 <= pair[1].0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shared_receives_are_found_in_any_order() {
        let of = |receive, receive_end| Segment { message: 0, message_end: 9, receive, receive_end };
        assert!(have_disjoint_receives(&[]));
        assert!(have_disjoint_receives(&[of(5, 9), of(0, 5), of(3, 3)]));
        assert!(!have_disjoint_receives(&[of(0, 5), of(7, 9), of(4, 6)]));
        assert!(!have_disjoint_receives(&[of(0, 9), of(2, 3)]));
    }

    #[test]
    fn batch_beyond_counter_is_refused() {
        assert!(can_be_counted((1 << 31) - 1));
        assert!(!can_be_counted(1 << 31));
    }
}
