//! A place in the bytes of a stream, and what can be wrong with what stands there.

/// Why bytes are not what the format says, and where.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Fault {
    /// Where, in bytes from the start of the file.
    pub at: usize,
    /// Why.
    pub what: What,
}

/// Why bytes are not what the format says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum What {
    /// They end before the value does.
    Short,
    /// A count of elements that is negative, or for which there are not bytes enough.
    Count(i32),
    /// A number that is no function's.
    Label(u16),
}

/// A place in some bytes: integers are read from there, most significant byte first.
#[derive(Clone, Copy)]
pub(super) struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    /// At `at` of `bytes`, which need not exist.
    pub fn new(bytes: &'a [u8], at: usize) -> Self {
        Cursor { bytes, at }
    }

    /// Where it is.
    pub fn at(&self) -> usize {
        self.at
    }

    /// Whether there is nothing left.
    #[inline]
    pub fn ended(&self) -> bool {
        self.at >= self.bytes.len()
    }

    /// What a reader should be told about this place.
    pub fn fault(&self, what: What) -> Fault {
        Fault { at: self.at, what }
    }

    /// The next so many bytes.
    #[inline]
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N], Fault> {
        match self.bytes.get(self.at..).and_then(<[u8]>::first_chunk) {
            Some(&bytes) => {
                self.at += N;
                Ok(bytes)
            }
            None => Err(self.fault(What::Short)),
        }
    }

    /// The next so many bytes, if they are there; the cursor stays.
    #[inline]
    pub fn peek<const N: usize>(&self) -> Option<&'a [u8; N]> {
        self.bytes.get(self.at..).and_then(<[u8]>::first_chunk)
    }

    /// Goes past so many bytes that were [peeked](Self::peek) at.
    #[inline]
    pub fn skip(&mut self, count: usize) {
        self.at += count;
    }

    /// The next byte.
    #[inline]
    pub fn u8(&mut self) -> Result<u8, Fault> {
        self.array::<1>().map(|[byte]| byte)
    }

    /// The next two bytes.
    #[inline]
    pub fn u16(&mut self) -> Result<u16, Fault> {
        self.array().map(u16::from_be_bytes)
    }

    /// The next four.
    #[inline]
    pub fn i32(&mut self) -> Result<i32, Fault> {
        self.array().map(i32::from_be_bytes)
    }

    /// The next eight.
    #[inline]
    pub fn u64(&mut self) -> Result<u64, Fault> {
        self.array().map(u64::from_be_bytes)
    }

    /// The next `count` bytes.
    #[inline]
    pub fn bytes(&mut self, count: usize) -> Result<&'a [u8], Fault> {
        let found = self.bytes.get(self.at..).and_then(|rest| rest.get(..count));
        let found = found.ok_or(self.fault(What::Short))?;
        self.at += count;
        Ok(found)
    }

    /// A count, and as many elements of `width` bytes. Nothing is believed of a count that the bytes do not bear out.
    #[inline]
    pub fn counted(&mut self, width: usize) -> Result<&'a [u8], Fault> {
        let here = *self;
        let count = self.i32()?;
        let wrong = here.fault(What::Count(count));
        let length = usize::try_from(count).ok().and_then(|count| count.checked_mul(width));
        self.bytes(length.ok_or(wrong)?).map_err(|_| wrong)
    }

    /// A count of things that take at least `width` bytes each.
    pub fn count(&mut self, width: usize) -> Result<usize, Fault> {
        let mut ahead = *self;
        let elements = ahead.counted(width)?;
        self.i32()?;
        Ok(elements.len() / width)
    }
}

/// The integers in the bytes that [`Cursor::counted`] gave for a width of 4.
#[inline]
pub(super) fn integers(bytes: &[u8]) -> impl Iterator<Item = i32> + '_ {
    bytes.chunks_exact(4).map(|word| i32::from_be_bytes([word[0], word[1], word[2], word[3]]))
}
