//! Vector comparison of keys: one kernel per instruction set, selected when an engine is created.
//!
//! ```text
//! Kernel ── run(search) ──▶ avx512::run ─▶ search.run(Avx512)      one dispatch per search, a match on an enum;
//!                           avx2::run   ─▶ search.run(Avx2)        the rest is inlined into one function that is
//!                           …                                      compiled for that instruction set
//! ```
//!
//! A search is generic over [`Lanes`]. Values of a kernel type exist only if the processor has the
//! instructions, so calls are safe. [`MATCHPOINT_ISA`](ENVIRONMENT) selects an instruction set.

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

/// Keys of a block: the bytes that one AVX-512BW instruction compares.
pub(crate) const LANES: usize = 64;

/// Environment variable with the [name](InstructionSet::name) of the instruction set to use.
pub const ENVIRONMENT: &str = "MATCHPOINT_ISA";

/// Instruction sets of the kernels, fastest first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum InstructionSet {
    /// 64 bytes per comparison, with a bit mask as result.
    Avx512,
    /// 32 bytes per comparison.
    Avx2,
    /// Part of x86-64: 16 bytes per comparison.
    Sse2,
    /// Advanced SIMD, part of 64-bit Arm: 16 bytes per comparison.
    Neon,
    /// Portable code, for every processor.
    Scalar,
}

impl InstructionSet {
    /// All instruction sets, fastest first.
    pub const ALL: [InstructionSet; 5] = [
        InstructionSet::Avx512,
        InstructionSet::Avx2,
        InstructionSet::Sse2,
        InstructionSet::Neon,
        InstructionSet::Scalar,
    ];

    /// Name of the instruction set in [`ENVIRONMENT`] and in engine names.
    pub fn name(self) -> &'static str {
        match self {
            InstructionSet::Avx512 => "avx512",
            InstructionSet::Avx2 => "avx2",
            InstructionSet::Sse2 => "sse2",
            InstructionSet::Neon => "neon",
            InstructionSet::Scalar => "scalar",
        }
    }

    /// True if the processor has the instructions and this build has a kernel.
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

    /// The available instruction sets, fastest first.
    pub fn available() -> impl Iterator<Item = InstructionSet> {
        InstructionSet::ALL.into_iter().filter(|set| set.is_available())
    }
}

/// The instruction set, the option, and the available instruction sets.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unavailable(String);

impl Display for Unavailable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Unavailable {}

/// Comparisons with all keys of a block: bit *n* of the result is for lane *n*. Methods are `inline(always)`,
/// so that they are compiled for the instruction set.
pub(crate) trait Lanes: Copy {
    fn equal_u8(self, keys: &[u8; LANES], key: u8) -> u64;
    fn equal_u16(self, keys: &[u16; LANES], key: u16) -> u64;
    fn equal_u32(self, keys: &[u32; LANES], key: u32) -> u64;
    /// Words that equal `key` in all bits of `mask`.
    fn equal_u32_under(self, keys: &[u32; LANES], mask: u32, key: u32) -> u64;
    /// Words that equal `key` in all bits of the mask of their lane.
    fn equal_u32_under_each(self, keys: &[u32; LANES], masks: &[u32; LANES], key: u32) -> u64;
}

pub(crate) trait Search {
    type Found;
    /// All implementations, and all functions called with `lanes`, are `inline(always)`.
    fn run<L: Lanes>(&mut self, lanes: L) -> Self::Found;
}

/// An [available](InstructionSet::is_available) instruction set.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Kernel(InstructionSet);

impl Kernel {
    pub(crate) fn of(set: InstructionSet) -> Option<Self> {
        set.is_available().then_some(Kernel(set))
    }

    /// The kernel called `name`. `auto`: the kernel that [`ENVIRONMENT`] names, or the fastest.
    ///
    /// # Errors
    /// The instruction set is unknown or unavailable.
    pub(crate) fn named(name: &str) -> Result<Self, Unavailable> {
        if name != "auto" {
            return Kernel::by_name(name, "isa");
        }
        match std::env::var_os(ENVIRONMENT) {
            Some(name) if !name.is_empty() => Kernel::by_name(&name.to_string_lossy(), ENVIRONMENT),
            _ => Ok(Kernel::fastest_here()),
        }
    }

    fn fastest_here() -> Self {
        InstructionSet::available().next().map_or(Kernel(InstructionSet::Scalar), Kernel)
    }

    /// The kernel that [`ENVIRONMENT`] names, if available, else the fastest.
    pub(crate) fn fastest() -> Self {
        Kernel::named("auto").unwrap_or_else(|_| Kernel::fastest_here())
    }

    fn by_name(name: &str, by: &str) -> Result<Self, Unavailable> {
        let set = InstructionSet::ALL.into_iter().find(|set| set.name() == name);
        set.and_then(Kernel::of).ok_or_else(|| {
            let known = if set.is_some() { "not available here" } else { "no instruction set" };
            let available: Vec<_> = InstructionSet::available().map(InstructionSet::name).collect();
            Unavailable(format!("{by}={name} is {known}; available are {}", available.join(", ")))
        })
    }

    #[cfg(any(target_arch = "x86_64", test))]
    pub(crate) fn set(self) -> InstructionSet {
        self.0
    }

    /// Dispatch costs one predictable branch. A copy of `search` loads other widths than were stored, which
    /// cost 10 ns.
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
