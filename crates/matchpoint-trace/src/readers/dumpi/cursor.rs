//! Reader of big-endian integers, with errors that contain the offset.

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Fault {
    pub at: usize,
    pub violation: Violation,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Violation {
    /// The bytes end before the value.
    Short,
    Count(i32),
    Label(u16),
}

#[derive(Clone, Copy)]
pub(super) struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    pub fn new(bytes: &'a [u8], at: usize) -> Self {
        Cursor { bytes, at }
    }

    pub fn at(&self) -> usize {
        self.at
    }

    #[inline]
    pub fn ended(&self) -> bool {
        self.at >= self.bytes.len()
    }

    pub fn fault(&self, violation: Violation) -> Fault {
        Fault { at: self.at, violation }
    }

    #[inline]
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N], Fault> {
        match self.bytes.get(self.at..).and_then(<[u8]>::first_chunk) {
            Some(&bytes) => {
                self.at += N;
                Ok(bytes)
            }
            None => Err(self.fault(Violation::Short)),
        }
    }

    #[inline]
    pub fn peek<const N: usize>(&self) -> Option<&'a [u8; N]> {
        self.bytes.get(self.at..).and_then(<[u8]>::first_chunk)
    }

    #[inline]
    pub fn skip(&mut self, count: usize) {
        self.at += count;
    }

    #[inline]
    pub fn u8(&mut self) -> Result<u8, Fault> {
        self.array::<1>().map(|[byte]| byte)
    }

    #[inline]
    pub fn u16(&mut self) -> Result<u16, Fault> {
        self.array().map(u16::from_be_bytes)
    }

    #[inline]
    pub fn i32(&mut self) -> Result<i32, Fault> {
        self.array().map(i32::from_be_bytes)
    }

    #[inline]
    pub fn u64(&mut self) -> Result<u64, Fault> {
        self.array().map(u64::from_be_bytes)
    }

    #[inline]
    pub fn bytes(&mut self, count: usize) -> Result<&'a [u8], Fault> {
        let found = self.bytes.get(self.at..).and_then(|rest| rest.get(..count));
        let found = found.ok_or(self.fault(Violation::Short))?;
        self.at += count;
        Ok(found)
    }

    #[inline]
    pub fn counted(&mut self, width: usize) -> Result<&'a [u8], Fault> {
        let here = *self;
        let count = self.i32()?;
        let wrong = here.fault(Violation::Count(count));
        let length = usize::try_from(count).ok().and_then(|count| count.checked_mul(width));
        self.bytes(length.ok_or(wrong)?).map_err(|_| wrong)
    }

    /// Reads a count of elements with at least `width` bytes each.
    pub fn count(&mut self, width: usize) -> Result<usize, Fault> {
        let mut ahead = *self;
        let elements = ahead.counted(width)?;
        self.i32()?;
        Ok(elements.len() / width)
    }
}

#[inline]
pub(super) fn integers(bytes: &[u8]) -> impl Iterator<Item = i32> + '_ {
    bytes.chunks_exact(4).map(|word| i32::from_be_bytes([word[0], word[1], word[2], word[3]]))
}
