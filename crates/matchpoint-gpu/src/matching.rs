//! Batches in a machine's memory, matched by one kernel.

use bytemuck::{Pod, Zeroable};
use matchpoint::Hints;

use crate::batch::{Batch, Layout, NONE, Segment};
use crate::buffer::Buffer;
use crate::kernels::{Kernel, LONG_PARTS, ledger_bytes};
use crate::machine::{Grid, Machine};

/// How a batch is matched.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Algorithm {
    /// MPI's order, all wildcards, a block for each segment (Klenk et al. 2017, §V).
    Matrix,
    /// The same with a warp for each segment: for segments of some sources, no receive leaving its source open (§VI-A).
    Partitioned,
    /// No order and no wildcards, a block for each segment (§VI-C).
    Hash,
    /// MPI's order, all wildcards, a block for each segment (ours).
    Ordered,
}

impl Algorithm {
    /// All of them.
    pub const ALL: [Algorithm; 4] =
        [Algorithm::Matrix, Algorithm::Partitioned, Algorithm::Hash, Algorithm::Ordered];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Algorithm::Matrix => "gpu_matrix",
            Algorithm::Partitioned => "gpu_partitioned",
            Algorithm::Hash => "gpu_hash",
            Algorithm::Ordered => "gpu_ordered",
        }
    }

    /// What it needs an application to assert (§VI).
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

    /// Threads of a block that suit so many segments, of so many entries on either side.
    pub fn threads(self, segments: usize, entries: usize) -> u32 {
        match self {
            // A warp that scans has 128 messages; one warp more reduces.
            Algorithm::Matrix => (entries.div_ceil(128).clamp(1, 8) as u32 + 1) * 32,
            Algorithm::Partitioned => 1024,
            Algorithm::Ordered => (entries.next_power_of_two() as u32).clamp(64, 1024),
            // It matches several segments at once.
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
    pub opens: u64,
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

/// A batch in a machine's memory, and its segments. The memory is kept for the [next](Self::load).
#[derive(Debug)]
pub struct Loaded<M: Machine> {
    pub(crate) layout: Layout,
    pub(crate) messages: Buffer<M>,
    pub(crate) receives: Buffer<M>,
    opens: Buffer<M>,
    pub(crate) segments: Buffer<M>,
    pub(crate) matched: Buffer<M>,
    pub(crate) message_count: usize,
    pub(crate) receive_count: usize,
    pub(crate) wildcard_count: usize,
    pub(crate) segment_count: usize,
    longest: usize,
    /// Messages or receives of a segment, whichever are fewer, at most.
    meeting: usize,
    /// Whether no receive is of two segments: what a ledger has room for.
    are_disjoint: bool,
    ledger: Buffer<M>,
    /// Whether there is one of this batch: the memory may be of an earlier one.
    has_ledger: bool,
}

impl<M: Machine> Default for Loaded<M> {
    /// Nothing, and no memory for it.
    fn default() -> Self {
        Loaded {
            layout: Layout::Packed,
            messages: Buffer::default(),
            receives: Buffer::default(),
            opens: Buffer::default(),
            segments: Buffer::default(),
            matched: Buffer::default(),
            message_count: 0,
            receive_count: 0,
            wildcard_count: 0,
            segment_count: 0,
            longest: 0,
            meeting: 0,
            are_disjoint: true,
            ledger: Buffer::default(),
            has_ledger: false,
        }
    }
}

impl<M: Machine> Loaded<M> {
    /// Copies a batch to the machine. Segments name messages and receives of the batch, each at most once.
    ///
    /// # Errors
    /// The machine failed, or has not enough memory.
    ///
    /// # Panics
    /// As of [`load`](Self::load).
    pub fn new(machine: &M, batch: &Batch, segments: &[Segment]) -> Result<Self, M::Error> {
        let mut loaded = Loaded::default();
        loaded.load(machine, batch, segments)?;
        Ok(loaded)
    }

    /// Copies another batch to the machine in place of what is there, into the same memory where it suffices.
    ///
    /// # Errors
    /// The machine failed, or has not enough memory: nothing is there then that may be matched, until another batch is.
    ///
    /// # Panics
    /// A segment goes beyond the batch, or that has 2³¹ messages or receives: kernels count to twice as many.
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
        // What fails halfway leaves no counts beyond the memory that is there.
        (self.message_count, self.receive_count, self.wildcard_count) = (0, 0, 0);
        (self.segment_count, self.has_ledger) = (0, false);
        let (messages, receives, opens) = batch.words();
        self.messages.fill(machine, bytemuck::cast_slice(messages))?;
        self.receives.fill(machine, bytemuck::cast_slice(receives))?;
        if batch.wildcards() > 0 {
            self.opens.fill(machine, bytemuck::cast_slice(opens))?;
        }
        self.segments.fill(machine, bytemuck::cast_slice(segments))?;
        self.matched.fill(machine, bytemuck::cast_slice(&vec![NONE; receive_count]))?;
        self.layout = batch.layout();
        (self.message_count, self.receive_count) = (message_count, receive_count);
        self.wildcard_count = batch.wildcards();
        self.segment_count = segments.len();
        self.longest = segments.iter().map(Segment::entries).max().unwrap_or(0);
        self.meeting = segments.iter().map(Segment::meeting).max().unwrap_or(0);
        self.are_disjoint = have_own_receives(segments);
        Ok(())
    }

    /// Whether any receive leaves anything open.
    pub(crate) fn has_opens(&self) -> bool {
        self.wildcard_count > 0
    }

    /// Where what receives leave open lies, as kernels read it: nowhere, if nothing is.
    pub(crate) fn opens_at(&self) -> u64 {
        if self.has_opens() { self.opens.address() } else { 0 }
    }

    /// All of its memory.
    pub(crate) fn buffers(&self) -> [&Buffer<M>; 6] {
        [&self.messages, &self.receives, &self.opens, &self.segments, &self.matched, &self.ledger]
    }

    pub(crate) fn buffers_mut(&mut self) -> [&mut Buffer<M>; 6] {
        [
            &mut self.messages,
            &mut self.receives,
            &mut self.opens,
            &mut self.segments,
            &mut self.matched,
            &mut self.ledger,
        ]
    }

    /// Starts matching each segment by itself. `seed` is of the hash functions: unknown to peers. Blocks have fewer threads than
    /// `grid` says where the machine has not the shared memory for so many, and match long segments in more parts.
    ///
    /// # Errors
    /// The machine failed.
    ///
    /// # Panics
    /// The algorithm hashes without order, and a receive leaves something open; or segments have receives in common, and are so long
    /// that blocks keep a ledger of them.
    pub fn launch(
        &mut self,
        machine: &M,
        algorithm: Algorithm,
        grid: Grid,
        seed: u64,
    ) -> Result<(), M::Error> {
        assert!(algorithm != Algorithm::Hash || !self.has_opens(), "hashing knows no wildcards");
        let kernel = algorithm.kernel();
        let threads = kernel.threads_within(machine.shared_bytes_most(), grid.threads, self.layout);
        let grid = Grid { threads, ..grid };
        let is_long = self.meeting > LONG_PARTS * grid.threads as usize;
        if algorithm == Algorithm::Ordered && is_long && !self.has_opens() {
            // Two blocks would write into one part of it, and what one reads of the other leads beyond its end.
            assert!(self.are_disjoint, "segments have receives in common");
            self.ledger.reserve(machine, ledger_bytes(self.receive_count))?;
            self.has_ledger = true;
        }
        let arguments = self.arguments(seed);
        // SAFETY: the struct is what the kernels that match are given; every address is of memory that this owns, at
        // least as long as `load` needed it, and segments are within it; `&mut self` says that nobody else uses it, and the machine runs
        // and reads in order.
        #[allow(unsafe_code)]
        unsafe {
            machine.launch(kernel, self.layout, grid, &arguments)
        }
    }

    pub(crate) fn arguments(&self, seed: u64) -> Arguments {
        Arguments {
            messages: self.messages.address(),
            receives: self.receives.address(),
            opens: self.opens_at(),
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

    /// For each receive its message, or [`NONE`], when what was launched has ended.
    ///
    /// # Errors
    /// The machine failed, or a kernel that was launched.
    pub fn matched(&self, machine: &M) -> Result<Vec<u32>, M::Error> {
        let mut matched = vec![NONE; self.receive_count];
        self.matched.read(machine, bytemuck::cast_slice_mut(&mut matched))?;
        Ok(matched)
    }
}

/// Whether kernels can count to twice as many, and a block more.
fn can_be_counted(entries: usize) -> bool {
    entries < 1 << 31
}

/// Whether no receive is of two segments: O(segments) where they are in order, as they mostly are.
fn have_own_receives(segments: &[Segment]) -> bool {
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
        assert!(have_own_receives(&[]));
        assert!(have_own_receives(&[of(5, 9), of(0, 5), of(3, 3)]));
        assert!(!have_own_receives(&[of(0, 5), of(7, 9), of(4, 6)]));
        assert!(!have_own_receives(&[of(0, 9), of(2, 3)]));
    }

    #[test]
    fn what_cannot_be_counted_is_refused() {
        assert!(can_be_counted((1 << 31) - 1));
        assert!(!can_be_counted(1 << 31));
    }
}
