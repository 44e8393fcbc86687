//! What receives and probes ask for.

use crate::abi::Addr;

/// What a receive or a probe asks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Asked {
    /// From whom, or [`ADDR_UNSPEC`](crate::abi::ADDR_UNSPEC).
    pub addr: Addr,
    /// Which tag.
    pub tag: u64,
    /// Bits of it that do not count.
    pub ignore: u64,
}
