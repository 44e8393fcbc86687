//! Comparing many keys at once: one kernel per instruction set, one file each, chosen when an engine is made.
//!
//! ```text
//! Kernel ── run(search) ──▶ avx512::run ─▶ search.run(Avx512)      one dispatch per search, a match on an enum;
//!                           avx2::run   ─▶ search.run(Avx2)        inside, all is inlined into one function that is
//!                           …                                      compiled for that instruction set
//! ```
//!
//! A search is written once, over [`Lanes`]: five comparisons of the [64](LANES) keys of a block with one key, each of
//! which answers in 64 bits. A value of a kernel's type exists only where its instructions do, so calling it is safe.
//!
//! [`MATCHPOINT_ISA`](ENVIRONMENT) forces an instruction set.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(all(target_arch = "x86_64", has_avx512_intrinsics))]
mod avx512;
#[cfg(target_arch = "aarch64")]
mod neon;
mod scalar;
#[cfg(target_arch = "x86_64")]
mod sse2;
#[cfg(test)]
mod tests;

use std::fmt::{self, Display};

/// Keys in a block, and bits in an answer: what one AVX-512BW compare makes of bytes.
pub(crate) const LANES: usize = 64;

/// The environment variable that forces an instruction set, by its [name](InstructionSet::name).
pub const ENVIRONMENT: &str = "MATCHPOINT_ISA";

/// What keys can be compared with, fastest first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum InstructionSet {
    /// AVX-512BW of x86-64: 64 bytes per compare, which answers in bits.
    Avx512,
    /// AVX2 of x86-64: 32 bytes per compare.
    Avx2,
    /// SSE2, which every x86-64 has: 16 bytes per compare.
    Sse2,
    /// Advanced SIMD, which every 64-bit Arm has: 16 bytes per compare.
    Neon,
    /// None in particular: the compiler's own choice for the target.
    Scalar,
}

impl InstructionSet {
    /// All of them, fastest first.
    pub const ALL: [InstructionSet; 5] = [
        InstructionSet::Avx512,
        InstructionSet::Avx2,
        InstructionSet::Sse2,
        InstructionSet::Neon,
        InstructionSet::Scalar,
    ];

    /// What it is called in [`ENVIRONMENT`] and in the names of engines.
    pub fn name(self) -> &'static str {
        match self {
            InstructionSet::Avx512 => "avx512",
            InstructionSet::Avx2 => "avx2",
            InstructionSet::Sse2 => "sse2",
            InstructionSet::Neon => "neon",
            InstructionSet::Scalar => "scalar",
        }
    }

    /// Whether this processor has it, and this build a kernel for it.
    pub fn is_available(self) -> bool {
        match self {
            #[cfg(all(target_arch = "x86_64", has_avx512_intrinsics))]
            InstructionSet::Avx512 => avx512::is_available(),
            #[cfg(target_arch = "x86_64")]
            InstructionSet::Avx2 => avx2::is_available(),
            InstructionSet::Sse2 => cfg!(target_arch = "x86_64"),
            InstructionSet::Neon => cfg!(target_arch = "aarch64"),
            InstructionSet::Scalar => true,
            #[allow(unreachable_patterns, reason = "which are left depends on the target")]
            _ => false,
        }
    }

    /// Those that can run here, fastest first.
    pub fn available() -> impl Iterator<Item = InstructionSet> {
        InstructionSet::ALL.into_iter().filter(|set| set.is_available())
    }
}

/// An instruction set that cannot be had: what was asked for, by whom, and what there is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unavailable(String);

impl Display for Unavailable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Unavailable {}

/// Comparisons of all keys of a block: bit *n* of the answer is for lane *n*.
///
/// Every method is `inline(always)`: it must become part of the function that is compiled for the instruction set.
pub(crate) trait Lanes: Copy {
    /// Bytes that equal `key`.
    fn equal_8(self, keys: &[u8; LANES], key: u8) -> u64;
    /// Halfwords that equal `key`.
    fn equal_16(self, keys: &[u16; LANES], key: u16) -> u64;
    /// Words that equal `key`.
    fn equal_32(self, keys: &[u32; LANES], key: u32) -> u64;
    /// Words that equal `key` in the bits of `mask`.
    fn equal_32_under(self, keys: &[u32; LANES], mask: u32, key: u32) -> u64;
    /// Words that equal `key` each in the bits of its own mask.
    fn equal_32_under_each(self, keys: &[u32; LANES], masks: &[u32; LANES], key: u32) -> u64;
}

/// A search, written once for all instruction sets.
pub(crate) trait Search {
    /// What it finds.
    type Found;
    /// Searches. `inline(always)` in every implementation, as all that it calls with `lanes`.
    fn run<L: Lanes>(&mut self, lanes: L) -> Self::Found;
}

/// An instruction set that is known to be [available](InstructionSet::is_available): nothing else makes one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Kernel(InstructionSet);

impl Kernel {
    /// The kernel for an instruction set, if it can run here.
    pub(crate) fn of(set: InstructionSet) -> Option<Self> {
        set.is_available().then_some(Kernel(set))
    }

    /// The one called `name`; if that is `auto`, the one that the environment asks for, or else the fastest.
    ///
    /// # Errors
    /// There is no such instruction set, or not here.
    pub(crate) fn named(name: &str) -> Result<Self, Unavailable> {
        if name != "auto" {
            return Kernel::demanded(name, "isa");
        }
        match std::env::var_os(ENVIRONMENT) {
            Some(name) if !name.is_empty() => Kernel::demanded(&name.to_string_lossy(), ENVIRONMENT),
            _ => Ok(Kernel::fastest_here()),
        }
    }

    fn fastest_here() -> Self {
        InstructionSet::available().next().map_or(Kernel(InstructionSet::Scalar), Kernel)
    }

    /// The one that the environment asks for, if it can be had; else the fastest.
    pub(crate) fn fastest() -> Self {
        Kernel::named("auto").unwrap_or_else(|_| Kernel::fastest_here())
    }

    fn demanded(name: &str, by: &str) -> Result<Self, Unavailable> {
        let set = InstructionSet::ALL.into_iter().find(|set| set.name() == name);
        set.and_then(Kernel::of).ok_or_else(|| {
            let known = if set.is_some() { "not available here" } else { "no instruction set" };
            let there: Vec<_> = InstructionSet::available().map(InstructionSet::name).collect();
            Unavailable(format!("{by}={name} is {known}; there are {}", there.join(", ")))
        })
    }

    /// The instruction set.
    pub(crate) fn set(self) -> InstructionSet {
        self.0
    }

    /// Runs a search with it. The match is all that dispatch costs: one branch that is always the same. By reference,
    /// since a search that was moved once was copied in other sizes than it was written in, which took 10 ns.
    #[inline(always)]
    pub(crate) fn run<S: Search>(self, search: &mut S) -> S::Found {
        match self.0 {
            #[cfg(all(target_arch = "x86_64", has_avx512_intrinsics))]
            InstructionSet::Avx512 => avx512::run(self, search),
            #[cfg(target_arch = "x86_64")]
            InstructionSet::Avx2 => avx2::run(self, search),
            #[cfg(target_arch = "x86_64")]
            InstructionSet::Sse2 => sse2::run(search),
            #[cfg(target_arch = "aarch64")]
            InstructionSet::Neon => neon::run(search),
            _ => scalar::run(search),
        }
    }
}
