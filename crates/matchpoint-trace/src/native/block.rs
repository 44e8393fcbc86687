//! Blocks: what a rank's file is a sequence of. Each begins with 32 bytes that say what follows.

use std::io;

use crc32fast::Hasher;

/// How a block begins.
pub const MAGIC: [u8; 4] = *b"MPtb";

/// Bytes before what a block holds.
pub const HEADER: usize = 32;

/// Bytes before the calls of a block that has their times apart: ticks, and where the times are.
pub const AHEAD: usize = 12;

/// No block is larger when unpacked.
pub const MOST_UNPACKED: u32 = 16 << 20;

/// zstd makes at least one byte of so many: what claims to be more is no frame.
const MOST_PACKED: u64 = 1 << 16;

/// Kinds of blocks.
pub mod kind {
    /// What the file is.
    pub const HEAD: u8 = 1;
    /// Calls of one thread, each with its times.
    pub const CALLS: u8 = 2;
    /// Pairs of ticks and nanoseconds.
    pub const CLOCK: u8 = 3;
    /// The difference to the clock of rank 0's host.
    pub const OFFSET: u8 = 4;
    /// How it ended.
    pub const END: u8 = 5;
    /// Which files the code is of.
    pub const MODULES: u8 = 6;
    /// Calls of one thread, and behind all of them the times of all.
    pub const CALLS_THEN_TIMES: u8 = 7;
    /// The call that a thread has been within for long.
    pub const WITHIN: u8 = 8;
    /// When messages arrived, in a file of their own.
    pub const ARRIVALS: u8 = 9;
    /// What the library pays for an entry that it compares.
    pub const SEARCH: u8 = 10;
}

/// How what follows is packed.
pub mod codec {
    /// Not at all.
    pub const STORED: u8 = 0;
    /// As one zstd frame.
    pub const ZSTD: u8 = 1;
}

/// The first 32 bytes of a block, all that does not follow from the rest of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Header {
    /// One of [`kind`].
    pub kind: u8,
    /// One of [`codec`].
    pub codec: u8,
    /// Whose calls these are.
    pub thread: u16,
    /// Bytes that follow.
    pub packed: u32,
    /// Bytes they are when unpacked.
    pub unpacked: u32,
    /// Calls in the block.
    pub calls: u64,
    /// Of bytes 0 to 23 and of what follows.
    pub crc: u32,
}

impl Header {
    /// Reads it; `None` if these bytes do not begin as a block does.
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

    /// The same bytes again.
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

    /// Whether its sizes can be true of some block.
    pub fn is_possible(&self) -> bool {
        let (packed, unpacked) = (u64::from(self.packed), u64::from(self.unpacked));
        let by_codec = match self.codec {
            codec::STORED => packed == unpacked,
            _ => unpacked <= packed.saturating_mul(MOST_PACKED),
        };
        // A call takes three bytes at least.
        self.unpacked <= MOST_UNPACKED && by_codec && self.calls <= unpacked / 3
    }

    /// What the checksum should be, given what follows.
    pub fn checksum(&self, packed: &[u8]) -> u32 {
        let mut hasher = Hasher::new();
        hasher.update(&self.bytes()[..24]);
        hasher.update(packed);
        hasher.finalize()
    }
}

/// Makes a block. Packs it if that makes it smaller and `level` is not 0.
///
/// # Errors
/// What is in it is larger than a block may be, or cannot be packed.
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
    fn a_block_says_what_is_in_it() {
        let content = [7; 1000];
        for level in [0, 3] {
            let bytes = block(kind::CALLS, 3, 20, &content, level).unwrap();
            let header = Header::read(bytes[..HEADER].try_into().unwrap()).unwrap();
            assert_eq!(header.bytes(), bytes[..HEADER]);
            assert_eq!((header.kind, header.thread, header.calls), (kind::CALLS, 3, 20));
            assert_eq!((header.packed as usize, header.unpacked), (bytes.len() - HEADER, 1000));
            assert_eq!(header.codec, if level == 0 { codec::STORED } else { codec::ZSTD });
            assert!(header.is_possible());
            assert_eq!(header.checksum(&bytes[HEADER..]), header.crc);
        }
    }

    #[test]
    fn impossible_sizes_are_seen() {
        let bytes = block(kind::CALLS, 0, 1, &[0; 64], 0).unwrap();
        let fine = Header::read(bytes[..HEADER].try_into().unwrap()).unwrap();
        for wrong in [
            Header { unpacked: MOST_UNPACKED + 1, packed: MOST_UNPACKED + 1, ..fine },
            Header { unpacked: 65, ..fine },
            Header { codec: codec::ZSTD, packed: 1, unpacked: MOST_UNPACKED, ..fine },
            Header { calls: 22, ..fine },
        ] {
            assert!(!wrong.is_possible(), "{wrong:?}");
        }
    }
}
