//! Access to the content of blocks.

use std::borrow::Cow;
use std::cell::RefCell;
use std::path::Path;

use zstd::bulk::Decompressor;

use crate::error::TraceError;
use crate::native::block::{HEADER, Header, MAGIC, codec};

pub(super) const ADVICE: &str =
    "the file is damaged from here on: copy it again, or remove the file to analyze the other ranks";

thread_local! {
    // Shared by all streams of a thread: a decompressor takes 100 KiB.
    static DECOMPRESSOR: RefCell<Option<Decompressor<'static>>> = const { RefCell::new(None) };
}

#[derive(PartialEq, Debug)]
pub(super) enum NextBlock {
    Block(Header),
    Cut,
    NoBlock,
}

#[inline]
pub(super) fn next(bytes: &[u8], at: usize) -> NextBlock {
    let rest = bytes.get(at..).unwrap_or_default();
    let Some(first) = rest.first_chunk::<HEADER>() else {
        let magic = rest.len().min(MAGIC.len());
        return if rest[..magic] == MAGIC[..magic] { NextBlock::Cut } else { NextBlock::NoBlock };
    };
    match Header::read(first) {
        Some(header) if !header.has_valid_sizes() => NextBlock::NoBlock,
        Some(header) if header.packed as usize > rest.len() - HEADER => NextBlock::Cut,
        Some(header) => NextBlock::Block(header),
        None => NextBlock::NoBlock,
    }
}

pub(super) fn packed<'b>(
    path: &Path,
    bytes: &'b [u8],
    at: usize,
    header: &Header,
) -> Result<&'b [u8], TraceError> {
    let from = at + HEADER;
    let packed = bytes.get(from..from + header.packed as usize).unwrap_or_default();
    let found = header.checksum(packed);
    if found == header.crc {
        return Ok(packed);
    }
    let problem = format!("the block has the checksum {found:08x}, but was written with {:08x}", header.crc);
    Err(TraceError::new(path, problem, ADVICE).at_offset(at as u64))
}

pub(super) fn into(
    buffer: &mut Vec<u8>,
    path: &Path,
    packed: &[u8],
    at: usize,
    header: &Header,
) -> Result<(), TraceError> {
    let error = |problem: String| TraceError::new(path, problem, ADVICE).at_offset(at as u64);
    if header.codec != codec::ZSTD {
        return Err(error(format!("the block has an unknown compression: {}", header.codec)));
    }
    buffer.clear();
    buffer.reserve_exact(header.unpacked as usize);
    let length = DECOMPRESSOR.with_borrow_mut(|decompressor| {
        if decompressor.is_none() {
            *decompressor = Decompressor::new().ok();
        }
        let Some(decompressor) = decompressor else {
            return Err("no memory to unpack it".to_owned());
        };
        decompressor.decompress_to_buffer(packed, buffer).map_err(|error| error.to_string())
    });
    match length {
        Ok(length) if length == header.unpacked as usize => Ok(()),
        Ok(length) => {
            Err(error(format!("the block is {length} bytes when unpacked, not {}", header.unpacked)))
        }
        Err(why) => Err(error(format!("the block cannot be unpacked: {why}"))),
    }
}

pub(super) fn whole<'b>(path: &Path, bytes: &'b [u8], at: usize) -> Result<Cow<'b, [u8]>, TraceError> {
    let NextBlock::Block(header) = next(bytes, at) else {
        return Err(TraceError::new(path, "no block here", ADVICE).at_offset(at as u64));
    };
    let packed = packed(path, bytes, at, &header)?;
    if header.codec == codec::STORED {
        return Ok(Cow::Borrowed(packed));
    }
    let mut buffer = Vec::new();
    into(&mut buffer, path, packed, at, &header)?;
    Ok(Cow::Owned(buffer))
}
