//! The kernels: their sources, and how much memory each needs.

/// A kernel.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Kernel {
    /// All of MPI's order, and wildcards: a matrix of votes (Klenk et al. 2017, §V).
    Matrix,
    /// No order and no wildcards: two tables (§VI-C).
    Hash,
    /// MPI's order, no wildcards: numbered within each envelope (ours).
    Ordered,
}

/// Receives in a window of the matrix: `WINDOW` of its source.
const WINDOW: u32 = 64;
/// Threads of a warp.
const WARP: u32 = 32;

/// What CUDA calls what the sources, which a host compiles too, have other words for.
const PRELUDE: &str = "#define SHARED(type, name) extern __shared__ type name[]\n";

impl Kernel {
    /// All of them.
    pub const ALL: [Kernel; 3] = [Kernel::Matrix, Kernel::Hash, Kernel::Ordered];

    /// The function's name in what is compiled.
    pub fn function(self) -> &'static str {
        match self {
            Kernel::Matrix => "match_matrix",
            Kernel::Hash => "match_hash",
            Kernel::Ordered => "match_ordered",
        }
    }

    /// The whole source, in CUDA C++ that includes nothing.
    pub fn source(self) -> String {
        let own = match self {
            Kernel::Matrix => include_str!("../kernels/matrix.cu"),
            Kernel::Hash => include_str!("../kernels/hash.cu"),
            Kernel::Ordered => include_str!("../kernels/ordered.cu"),
        };
        format!("{PRELUDE}{}\n{own}", include_str!("../kernels/batch.h"))
    }

    /// Bytes of shared memory for a block of so many threads.
    pub fn shared_bytes(self, threads: u32) -> u32 {
        let words = match self {
            Kernel::Matrix => 2 * threads / WARP * WINDOW,
            Kernel::Hash => 1,
            Kernel::Ordered => threads,
        };
        4 * words
    }
}
