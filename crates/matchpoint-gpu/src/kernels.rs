//! The kernels: their sources, and how much memory each needs.

use crate::batch::Layout;

/// A source that is compiled by itself.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Program {
    /// All of MPI's order, and wildcards: a matrix of votes (Klenk et al. 2017, §V).
    Matrix,
    /// The same for each of many short queues, by warps (§VI-A).
    Partitioned,
    /// No order and no wildcards: two tables (§VI-C).
    Hash,
    /// MPI's order, and wildcards: numbered within each envelope (ours).
    Ordered,
    /// The same by a kernel that stays, and is fed through a ring (§II-C).
    Resident,
    /// What has no partner, put together (§V-A).
    Compact,
    /// Parts of a batch for the whole card (ours).
    Divide,
}

impl Program {
    /// All of them.
    pub const ALL: [Program; 7] = [
        Program::Matrix,
        Program::Partitioned,
        Program::Hash,
        Program::Ordered,
        Program::Resident,
        Program::Compact,
        Program::Divide,
    ];

    /// Its kernels.
    pub fn kernels(self) -> &'static [Kernel] {
        match self {
            Program::Matrix => &[Kernel::MatchMatrix],
            Program::Partitioned => &[Kernel::MatchPartitioned],
            Program::Hash => &[Kernel::MatchHash],
            Program::Ordered => &[Kernel::MatchOrdered],
            Program::Resident => &[Kernel::MatchResident, Kernel::FeedResident],
            Program::Compact => &[Kernel::Compact, Kernel::CompactByWarps],
            Program::Divide => {
                &[Kernel::CountDigits, Kernel::SumDigits, Kernel::MoveByDigit, Kernel::FindSegments]
            }
        }
    }

    /// The whole source for a layout, in CUDA C++ that includes nothing.
    pub fn source(self, layout: Layout) -> String {
        let own = match self {
            Program::Matrix => include_str!("../kernels/matrix.cu"),
            Program::Partitioned => include_str!("../kernels/partitioned.cu"),
            Program::Hash => include_str!("../kernels/hash.cu"),
            Program::Ordered => include_str!("../kernels/ordered.cu"),
            Program::Resident => concat!(
                include_str!("../kernels/ordered.cu"),
                include_str!("../kernels/kept.h"),
                include_str!("../kernels/resident.cu")
            ),
            Program::Compact => {
                concat!(include_str!("../kernels/kept.h"), include_str!("../kernels/compact.cu"))
            }
            Program::Divide => include_str!("../kernels/divide.cu"),
        };
        let layout = match layout {
            Layout::Packed => "",
            Layout::Wide => "#define WIDE\n",
        };
        format!("{PRELUDE}{layout}{}\n{own}", include_str!("../kernels/batch.h"))
    }
}

/// What CUDA calls what the sources, which a host compiles too, have other words for.
const PRELUDE: &str = "#define SHARED(type, name) extern __shared__ type name[]\n\
                       #define BLOCK_OF(threads) __launch_bounds__(threads)\n\
                       #define PAUSE() __nanosleep(20)\n";

/// A function that a card runs.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs, reason = "what each does is said where it is written")]
pub enum Kernel {
    MatchMatrix,
    MatchPartitioned,
    MatchHash,
    MatchOrdered,
    MatchResident,
    FeedResident,
    Compact,
    CompactByWarps,
    CountDigits,
    SumDigits,
    MoveByDigit,
    FindSegments,
}

/// Threads of a warp.
pub const WARP: u32 = 32;
/// `DIGITS` of `kernels/divide.cu`.
pub(crate) const DIGITS: u32 = 256;
/// `TILE_THREADS` of it.
pub(crate) const TILE_THREADS: u32 = 256;
/// `TILE` of it.
pub(crate) const TILE: u32 = 16 * TILE_THREADS;

impl Kernel {
    /// Its name in what is compiled.
    pub fn name(self) -> &'static str {
        match self {
            Kernel::MatchMatrix => "match_matrix",
            Kernel::MatchPartitioned => "match_partitioned",
            Kernel::MatchHash => "match_hash",
            Kernel::MatchOrdered => "match_ordered",
            Kernel::MatchResident => "match_resident",
            Kernel::FeedResident => "feed_resident",
            Kernel::Compact => "compact",
            Kernel::CompactByWarps => "compact_by_warps",
            Kernel::CountDigits => "count_digits",
            Kernel::SumDigits => "sum_digits",
            Kernel::MoveByDigit => "move_by_digit",
            Kernel::FindSegments => "find_segments",
        }
    }

    /// Bytes of shared memory for a block of so many threads.
    pub fn shared_bytes(self, threads: u32, layout: Layout) -> u32 {
        let envelope = 8 * layout.envelope_words() as u32;
        let open = 8 * layout.open_words() as u32;
        let posted = envelope + open;
        match self {
            // Three windows of 64 receives, each with a column of 33 words of votes and two words; and a word for each lane.
            Kernel::MatchMatrix => 3 * 64 * (posted + 4 * (WARP + 1) + 2 * 4) + 3 * 4 * WARP,
            Kernel::MatchPartitioned => posted * threads,
            Kernel::MatchHash => 4 * (envelope + 4 * 7) * threads,
            // For each thread eight places, sixteen words of counts and six others, three for each warp; then one word.
            Kernel::MatchOrdered | Kernel::MatchResident => {
                (posted + 4 * (8 + 16 + 6)) * threads + 12 * (threads / WARP) + 4
            }
            Kernel::Compact => 4 * (threads / WARP),
            Kernel::CountDigits => 4 * DIGITS,
            Kernel::SumDigits => 4 * threads,
            Kernel::MoveByDigit => (envelope + 4) * TILE + 4 * DIGITS * (TILE_THREADS / WARP + 2),
            Kernel::FeedResident | Kernel::CompactByWarps | Kernel::FindSegments => 0,
        }
    }
}
