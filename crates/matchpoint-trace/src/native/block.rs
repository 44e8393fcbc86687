//! Blocks of a rank's file. Each block begins with a header of 32 bytes.

use std::io;

use crc32fast::Hasher;

pub const MAGIC: [u8; 4] = *b"MPtb";

pub const HEADER: usize = 32;

/// Bytes before the calls of a block of kind [`kind::CALLS_THEN_TIMES`].
pub const TIMES_HEADER: usize = 12;

/// Maximum size of a block's content, in bytes.
pub const MOST_UNPACKED: u32 = 16 << 20;

/// Maximum number of unpacked bytes for each packed byte of zstd.
const MOST_PACKED: u64 = 1 << 16;

pub mod kind {
    pub const HEAD: u8 = 1;
    /// Calls of one thread. Each call is followed by its times.
    pub const CALLS: u8 = 2;
    pub const CLOCK: u8 = 3;
    pub const OFFSET: u8 = 4;
    pub const END: u8 = 5;
    /// Executable and shared libraries of the process.
    pub const MODULES: u8 = 6;
    /// Calls of one thread, followed by their times.
    pub const CALLS_THEN_TIMES: u8 = 7;
    /// A call that a thread entered long ago and has not left.
    pub const WITHIN: u8 = 8;
    pub const ARRIVALS: u8 = 9;
    pub const SEARCH: u8 = 10;
}

pub mod codec {
    pub const STORED: u8 = 0;
    pub const ZSTD: u8 = 1;
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Header {
    pub kind: u8,
    pub codec: u8,
    pub thread: u16,
    /// Size of the content in the file, in bytes.
    pub packed: u32,
    /// Size of the content without compression, in bytes.
    pub unpacked: u32,
    pub calls: u64,
    pub crc: u32,
}

impl Header {
    /// `None` if the bytes are no header.
    pub fn read(bytes: &[u8; HEADER]) -> Option<Header> {
        let word = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        (bytes[..4] == MAGIC).then(|| Header {
            kind: bytes[4],
            codec: bytes[5],
            thread: u16::from_le_bytes([bytes[6], bytes[7]]),
            packed: word(8),
            unpacked: word(12),
            calls: u64::from(word(16)) | u64::from(word(20)) << 32,
            crc: word(24),
        })
    }

    pub fn bytes(&self) -> [u8; HEADER] {
        let mut bytes = [0; HEADER];
        bytes[..4].copy_from_slice(&MAGIC);
        (bytes[4], bytes[5]) = (self.kind, self.codec);
        bytes[6..8].copy_from_slice(&self.thread.to_le_bytes());
        bytes[8..12].copy_from_slice(&self.packed.to_le_bytes());
        bytes[12..16].copy_from_slice(&self.unpacked.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.calls.to_le_bytes());
        bytes[24..28].copy_from_slice(&self.crc.to_le_bytes());
        bytes
    }

    pub fn has_valid_sizes(&self) -> bool {
        let (packed, unpacked) = (u64::from(self.packed), u64::from(self.unpacked));
        let by_codec = match self.codec {
            codec::STORED => packed == unpacked,
            _ => unpacked <= packed.saturating_mul(MOST_PACKED),
        };
        // A call has at least three bytes.
        self.unpacked <= MOST_UNPACKED && by_codec && self.calls <= unpacked / 3
    }

    pub fn checksum(&self, packed: &[u8]) -> u32 {
        let mut hasher = Hasher::new();
        hasher.update(&self.bytes()[..24]);
        hasher.update(packed);
        hasher.finalize()
    }
}

/// A block with this content, compressed if `level` is not 0 and the block becomes smaller.
///
/// # Errors
/// The content is too large for a block, or cannot be compressed.
pub fn block(kind: u8, thread: u16, calls: u64, content: &[u8], level: i32) -> io::Result<Vec<u8>> {
    let unpacked = u32::try_from(content.len()).ok().filter(|&length| length <= MOST_UNPACKED);
    let unpacked = unpacked
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "this is too much for one block"))?;
    let squeezed = if level == 0 { None } else { Some(zstd::bulk::compress(content, level)?) };
    let squeezed = squeezed.filter(|packed| packed.len() < content.len());
    let (codec, packed) = match &squeezed {
        Some(packed) => (codec::ZSTD, &packed[..]),
        None => (codec::STORED, content),
    };
    let header = Header { kind, codec, thread, packed: packed.len() as u32, unpacked, calls, crc: 0 };
    let header = Header { crc: header.checksum(packed), ..header };
    Ok([&header.bytes()[..], packed].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn block_header_survives_round_trip() {
        let content = [7; 1000];
        for level in [0, 3] {
            let bytes = block(kind::CALLS, 3, 20, &content, level).unwrap();
            let header = Header::read(bytes[..HEADER].try_into().unwrap()).unwrap();
            assert_eq!(header.bytes(), bytes[..HEADER]);
            assert_eq!((header.kind, header.thread, header.calls), (kind::CALLS, 3, 20));
            assert_eq!((header.packed as usize, header.unpacked), (bytes.len() - HEADER, 1000));
            assert_eq!(header.codec, if level == 0 { codec::STORED } else { codec::ZSTD });
            assert!(header.has_valid_sizes());
            assert_eq!(header.checksum(&bytes[HEADER..]), header.crc);
        }
    }

    #[test]
    fn invalid_block_sizes_are_refused() {
        let bytes = block(kind::CALLS, 0, 1, &[0; 64], 0).unwrap();
        let fine = Header::read(bytes[..HEADER].try_into().unwrap()).unwrap();
        for wrong in [
            Header { unpacked: MOST_UNPACKED + 1, packed: MOST_UNPACKED + 1, ..fine },
            Header { unpacked: 65, ..fine },
            Header { codec: codec::ZSTD, packed: 1, unpacked: MOST_UNPACKED, ..fine },
            Header { calls: 22, ..fine },
        ] {
            assert!(!wrong.has_valid_sizes(), "{wrong:?}");
        }
    }
}
