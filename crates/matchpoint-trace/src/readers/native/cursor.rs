//! A place in the calls of a block.

use crate::native::varint::{self, unzigzag};

/// What is wrong with the fields of a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Fault {
    /// The block ends within them, or a number is larger than any can be.
    Number,
    /// So many elements cannot be there.
    Count(u64),
    /// The head has no function of that index.
    Function(u64),
    /// A status is none of those that there are.
    Status(u64),
}

/// Reads numbers.
pub(super) struct Cursor<'a> {
    bytes: &'a [u8],
    pub at: usize,
}

impl<'a> Cursor<'a> {
    #[inline]
    pub fn new(bytes: &'a [u8], at: usize) -> Self {
        Cursor { bytes, at }
    }

    /// Whether there is nothing more.
    #[inline]
    pub fn ended(&self) -> bool {
        self.at >= self.bytes.len()
    }

    #[inline]
    pub fn unsigned(&mut self) -> Result<u64, Fault> {
        let (value, length) = varint::get(self.bytes, self.at).ok_or(Fault::Number)?;
        self.at += length;
        Ok(value)
    }

    #[inline]
    pub fn signed(&mut self) -> Result<i64, Fault> {
        self.unsigned().map(unzigzag)
    }

    /// A number of elements that take at least one byte each.
    #[inline]
    pub fn count(&mut self) -> Result<usize, Fault> {
        let count = self.unsigned()?;
        if count > (self.bytes.len() - self.at) as u64 {
            Err(Fault::Count(count))
        } else {
            Ok(count as usize)
        }
    }
}
