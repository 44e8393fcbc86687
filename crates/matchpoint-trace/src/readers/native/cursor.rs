//! Reader of the numbers in a block.

use crate::native::varint::{self, unzigzag};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Fault {
    Number,
    Count(u64),
    Function(u64),
    Status(u64),
}

pub(super) struct Cursor<'a> {
    bytes: &'a [u8],
    pub at: usize,
}

impl<'a> Cursor<'a> {
    #[inline]
    pub fn new(bytes: &'a [u8], at: usize) -> Self {
        Cursor { bytes, at }
    }

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
