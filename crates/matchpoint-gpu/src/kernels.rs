//! The kernels: their sources and their shared memory.

use crate::batch::Layout;

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Program {
    /// MPI's order and wildcards, by a matrix of votes (Klenk et al. 2017, §V).
    Matrix,
    /// `Matrix` for many short queues, one warp per queue (§VI-A).
    Partitioned,
    /// No order and no wildcards, by two tables (§VI-C).
    Hash,
    /// Keeps MPI's order, with wildcards: entries of equal envelope have sequence numbers (Matchpoint).
    Ordered,
    /// `Ordered` in a persistent kernel that reads batches from a ring (§II-C).
    Resident,
    /// Moves the unmatched entries together (§V-A).
    Compact,
    /// Divides a batch into parts for the whole card (Matchpoint).
    Divide,
    /// Wildcard receives of a divided batch (Matchpoint).
    Wild,
}

impl Program {
    pub const ALL: [Program; 8] = [
        Program::Matrix,
        Program::Partitioned,
        Program::Hash,
        Program::Ordered,
        Program::Resident,
        Program::Compact,
        Program::Divide,
        Program::Wild,
    ];

    pub fn kernels(self) -> &'static [Kernel] {
        match self {
            Program::Matrix => &[Kernel::MatchMatrix],
            Program::Partitioned => &[Kernel::MatchPartitioned],
            Program::Hash => &[Kernel::MatchHash],
            Program::Ordered => &[Kernel::MatchOrdered, Kernel::MatchHeld],
            Program::Resident => &[Kernel::MatchResident, Kernel::FeedResident],
            Program::Compact => &[Kernel::Compact, Kernel::CompactByWarps],
            Program::Divide => {
                &[Kernel::CountDigits, Kernel::SumDigits, Kernel::MoveByDigit, Kernel::FindSegments]
            }
            Program::Wild => &[Kernel::BeginWildcards, Kernel::SeekOldest, Kernel::SettleWildcards],
        }
    }

    /// CUDA C++ without includes.
    pub fn source(self, layout: Layout) -> String {
        let own = match self {
            Program::Matrix => include_str!("../kernels/matrix.cu"),
            Program::Partitioned => include_str!("../kernels/partitioned.cu"),
            Program::Hash => include_str!("../kernels/hash.cu"),
            Program::Ordered => concat!(
                include_str!("../kernels/ordered.cu"),
                include_str!("../kernels/long.cu"),
                include_str!("../kernels/segments.cu")
            ),
            Program::Resident => concat!(
                include_str!("../kernels/ordered.cu"),
                include_str!("../kernels/kept.h"),
                include_str!("../kernels/resident.cu")
            ),
            Program::Compact => {
                concat!(include_str!("../kernels/kept.h"), include_str!("../kernels/compact.cu"))
            }
            Program::Divide => include_str!("../kernels/divide.cu"),
            Program::Wild => {
                concat!(include_str!("../kernels/kept.h"), include_str!("../kernels/wild.cu"))
            }
        };
        let layout = match layout {
            Layout::Packed => "",
            Layout::Wide => "#define WIDE\n",
        };
        let words = if self == Program::Resident { SHARED_WORDS } else { "" };
        format!("{PRELUDE}{words}{layout}{}\n{own}", include_str!("../kernels/batch.h"))
    }
}

/// CUDA's definitions of the macros in the sources. A host compiler gets other definitions.
const PRELUDE: &str = "#define SHARED(type, name) extern __shared__ type name[]\n\
                       #define BLOCK_OF(threads) __launch_bounds__(threads)\n\
                       #define PAUSE() __nanosleep(20)\n\
                       static __device__ inline void meet_team(unsigned team, unsigned threads)\n\
                       {\n\
                           if (threads == 32)\n\
                               __syncwarp();\n\
                           else\n\
                               asm volatile(\"bar.sync %0, %1;\" ::\"r\"(team), \"r\"(threads) : \"memory\");\n\
                       }\n";

/// Acquire loads and release stores of words that the host or another block accesses concurrently. Only
/// [`Program::Resident`] needs them.
const SHARED_WORDS: &str = "static __device__ inline unsigned long long load_acquire(const unsigned long long *at)\n\
                            {\n\
                                unsigned long long word;\n\
                                asm volatile(\"ld.acquire.sys.u64 %0, [%1];\" : \"=l\"(word) : \"l\"(at) : \"memory\");\n\
                                return word;\n\
                            }\n\
                            static __device__ inline unsigned load_acquire(const unsigned *at)\n\
                            {\n\
                                unsigned word;\n\
                                asm volatile(\"ld.acquire.sys.u32 %0, [%1];\" : \"=r\"(word) : \"l\"(at) : \"memory\");\n\
                                return word;\n\
                            }\n\
                            static __device__ inline void store_release(unsigned long long *at, unsigned long long word)\n\
                            {\n\
                                asm volatile(\"st.release.sys.u64 [%0], %1;\" ::\"l\"(at), \"l\"(word) : \"memory\");\n\
                            }\n\
                            static __device__ inline void store_release(unsigned *at, unsigned word)\n\
                            {\n\
                                asm volatile(\"st.release.sys.u32 [%0], %1;\" ::\"l\"(at), \"r\"(word) : \"memory\");\n\
                            }\n";

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs, reason = "what each does is said where it is written")]
pub enum Kernel {
    MatchMatrix,
    MatchPartitioned,
    MatchHash,
    MatchOrdered,
    MatchHeld,
    MatchResident,
    FeedResident,
    Compact,
    CompactByWarps,
    CountDigits,
    SumDigits,
    MoveByDigit,
    FindSegments,
    BeginWildcards,
    SeekOldest,
    SettleWildcards,
}

pub const WARP: u32 = 32;
const THREADS_LEAST: u32 = 2 * WARP;
/// `DIGITS` of `kernels/divide.cu`.
pub(crate) const DIGITS: u32 = 256;
/// `TILE_THREADS` of `kernels/divide.cu`.
pub(crate) const TILE_THREADS: u32 = 256;
/// `TILE` of `kernels/divide.cu`.
pub(crate) fn tile(layout: Layout) -> u32 {
    match layout {
        Layout::Packed => 16 * TILE_THREADS,
        Layout::Wide => 4 * TILE_THREADS,
    }
}
/// `LONG_PARTS` of `kernels/long.cu`.
pub(crate) const LONG_PARTS: usize = 8;
/// `LEDGER_WORDS` of `kernels/long.cu`.
const LEDGER_WORDS: usize = 6;

/// Size of the extra memory of `match_ordered`. Needed if both sides of a segment have more entries than
/// [`LONG_PARTS`] blocks have threads.
pub(crate) fn ledger_bytes(receives: usize) -> usize {
    receives * LEDGER_WORDS * size_of::<u32>()
}

/// Number of receives in a round of `kernels/wild.cu`, a power of two.
pub(crate) fn window_max(layout: Layout) -> u32 {
    match layout {
        Layout::Packed => 1024,
        Layout::Wide => 512,
    }
}

/// `ITEMS` of `kernels/hash.cu`.
fn hashed_items(layout: Layout) -> u32 {
    match layout {
        Layout::Packed => 4,
        Layout::Wide => 2,
    }
}

impl Kernel {
    pub fn name(self) -> &'static str {
        match self {
            Kernel::MatchMatrix => "match_matrix",
            Kernel::MatchPartitioned => "match_partitioned",
            Kernel::MatchHash => "match_hash",
            Kernel::MatchOrdered => "match_ordered",
            Kernel::MatchHeld => "match_held",
            Kernel::MatchResident => "match_resident",
            Kernel::FeedResident => "feed_resident",
            Kernel::Compact => "compact",
            Kernel::CompactByWarps => "compact_by_warps",
            Kernel::CountDigits => "count_digits",
            Kernel::SumDigits => "sum_digits",
            Kernel::MoveByDigit => "move_by_digit",
            Kernel::FindSegments => "find_segments",
            Kernel::BeginWildcards => "begin_wildcards",
            Kernel::SeekOldest => "seek_oldest",
            Kernel::SettleWildcards => "settle_wildcards",
        }
    }

    /// `threads`, halved until a block has at most `most` bytes of shared memory. If no number fits, the
    /// result is the smallest, and a [`Machine`](crate::Machine) refuses the launch.
    pub fn threads_within(self, most: u32, threads: u32, layout: Layout) -> u32 {
        let mut threads = threads;
        while threads > THREADS_LEAST
            && threads % (2 * WARP) == 0
            && self.shared_bytes(threads, layout) > most
        {
            threads /= 2;
        }
        threads
    }

    pub fn shared_bytes(self, threads: u32, layout: Layout) -> u32 {
        let envelope = 8 * layout.envelope_words() as u32;
        let open = 8 * layout.mask_words() as u32;
        let posted = envelope + open;
        match self {
            // Three windows of 64 receives. Each receive has a column of 33 vote words and two words. Each
            // lane has three words.
            Kernel::MatchMatrix => 3 * 64 * (posted + 4 * (WARP + 1) + 2 * 4) + 3 * 4 * WARP,
            Kernel::MatchPartitioned => posted * threads,
            // Per item of a thread: an envelope, six slots and a word.
            Kernel::MatchHash => hashed_items(layout) * (envelope + 4 * 7) * threads,
            // Per thread: eight slots, sixteen words of counts and six other words. Per warp: three words.
            // Per block: one word.
            Kernel::MatchOrdered | Kernel::MatchHeld | Kernel::MatchResident => {
                (posted + 4 * (8 + 16 + 6)) * threads + 12 * (threads / WARP) + 4
            }
            Kernel::Compact => 4 * (threads / WARP),
            Kernel::CountDigits => 4 * DIGITS,
            Kernel::SumDigits => 4 * threads,
            Kernel::MoveByDigit => (envelope + 4) * tile(layout) + 4 * DIGITS * (TILE_THREADS / WARP + 2),
            // Per receive of the largest window: envelope, wildcard mask and six words. Per block: nine
            // words.
            Kernel::SeekOldest => window_max(layout) * (posted + 4 * 6) + 4 * 9,
            Kernel::SettleWildcards => (posted + 4 * 8) * threads + 2 * 4 * (threads / WARP),
            Kernel::FeedResident | Kernel::CompactByWarps | Kernel::FindSegments | Kernel::BeginWildcards => {
                0
            }
        }
    }
}
