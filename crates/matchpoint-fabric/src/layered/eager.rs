//! How long messages may be that go as they are.
//!
//! Messages are matched here in the order in which the core completes them. That has to be the order in which it matched
//! them to buffers, and libfabric does not promise so (`comp_order` is `FI_ORDER_NONE` nearly everywhere). A core that
//! reads a stream completes one message after the other. Those that send long messages in several pieces may complete a
//! short one first that came later: to them, what is longer than a piece is announced.

use std::ffi::CStr;

use crate::layered::wire::LONGEST;
use crate::settings::parts;

/// The size of rxm's pieces is a setting of its own.
const RXM_BUFFER: &str = "FI_OFI_RXM_BUFFER_SIZE";
/// What it is if nobody sets it, and what of it rxm's own headers take at most.
const RXM_BUFFER_BYTES: usize = 16 << 10;
const RXM_HEADERS: usize = 256;

/// What shm sends in one piece, whatever it says that it injects: where buffers may be a device's, it says 0.
const SHM_PIECE: usize = 4096;

/// The most bytes that go as they are, of those `asked` for.
///
/// `inject_bytes` is the core's `inject_size`: no core sends that little in pieces.
pub fn most_bytes(core: &CStr, inject_bytes: usize, asked: usize) -> usize {
    let is_of = |name: &[u8]| parts(core).any(|part| part == name);
    if is_of(b"ofi_rxm") {
        let buffer = std::env::var(RXM_BUFFER).ok().and_then(|bytes| bytes.parse().ok());
        asked.min(of_piece(buffer.unwrap_or(RXM_BUFFER_BYTES)))
    } else if is_of(b"shm") {
        asked.min(inject_bytes.max(SHM_PIECE).saturating_sub(LONGEST))
    } else if is_of(b"sm2") {
        asked.min(inject_bytes.saturating_sub(LONGEST))
    } else {
        asked
    }
}

/// Of a message that fits a piece of rxm's, together with what an announcement needs.
fn of_piece(bytes: usize) -> usize {
    bytes.saturating_sub(RXM_HEADERS + LONGEST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_goes_as_it_is_fits_a_piece() {
        let asked = 16 << 10;
        assert_eq!(most_bytes(c"tcp", 64, asked), asked, "a stream");
        let of_rxm = most_bytes(c"tcp;ofi_rxm", 64, asked);
        assert!(of_rxm + LONGEST < RXM_BUFFER_BYTES && of_rxm > 8192, "{of_rxm}");
        assert_eq!(most_bytes(c"tcp;ofi_rxm", 64, 1000), 1000);
        assert_eq!(of_piece(100), 0, "all is announced");
        assert_eq!(most_bytes(c"shm", 4096, asked), 4096 - LONGEST);
        assert_eq!(most_bytes(c"shm", 0, asked), 4096 - LONGEST, "if only nothing is injected");
        assert_eq!(most_bytes(c"sm2", 0, asked), 0);
    }
}
