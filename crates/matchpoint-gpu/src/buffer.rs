//! Memory of a machine that is kept from batch to batch.

use std::fmt;

use crate::machine::{Lasts, Machine, Memory};

/// Some memory of a machine, which grows with batches that are [matched](Self::settle), and is never given back before the end: asking a
/// driver for memory takes as long as matching a batch. What a batch took that is refused is [given back](Self::unsettle). It is zero where it was never written; what an earlier batch left there is no kernel's to rely on.
pub(crate) struct Buffer<M: Machine> {
    memory: Option<M::Memory>,
    bytes: usize,
    /// Bytes that it had when the last batch had been matched.
    settled: usize,
}

impl<M: Machine> fmt::Debug for Buffer<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes at {:#x}", self.bytes, self.address())
    }
}

impl<M: Machine> Default for Buffer<M> {
    fn default() -> Self {
        Buffer { memory: None, bytes: 0, settled: 0 }
    }
}

impl<M: Machine> Buffer<M> {
    /// Has room for so many bytes. If it has to grow, to twice what it had at least, and what it held is lost: amortised over
    /// batches that grow, one allocation for each doubling.
    ///
    /// # Errors
    /// There is not enough memory: it has none then.
    pub fn reserve(&mut self, machine: &M, bytes: usize) -> Result<(), M::Error> {
        if self.memory.is_some() && bytes <= self.bytes {
            return Ok(());
        }
        let doubled = bytes.max(2 * self.bytes);
        // First, so that both need not be there at once.
        (self.memory, self.bytes) = (None, 0);
        let (memory, bytes) = match machine.allocate(doubled) {
            // There may be as much as is needed now.
            Err(error) if doubled > bytes && M::lasts(&error) == Lasts::UntilMemory => {
                (machine.allocate(bytes)?, bytes)
            }
            memory => (memory?, doubled),
        };
        (self.memory, self.bytes) = (Some(memory), bytes);
        Ok(())
    }

    /// Keeps what it has: the batch is matched.
    pub fn settle(&mut self) {
        self.settled = self.bytes;
    }

    /// Has as much as when it last settled: the batch is refused. None at all, if there is not as much any more.
    pub fn unsettle(&mut self, machine: &M) {
        if self.bytes == self.settled {
            return;
        }
        (self.memory, self.bytes) = (None, 0);
        if self.settled > 0 {
            self.memory = machine.allocate(self.settled).ok();
            self.bytes = if self.memory.is_some() { self.settled } else { 0 };
        }
    }

    /// The most bytes that were asked of the machine since it last settled: it never grows but once for a batch.
    pub fn most_bytes(&self) -> u64 {
        self.bytes.max(self.settled) as u64
    }

    /// Has these bytes at its beginning, and whatever behind.
    ///
    /// # Errors
    /// There is not enough memory, or the machine failed.
    pub fn fill(&mut self, machine: &M, bytes: &[u8]) -> Result<(), M::Error> {
        self.reserve(machine, bytes.len())?;
        machine.write(self.memory.as_mut().expect("it was reserved"), bytes)
    }

    /// Copies from its beginning, when what was launched before has ended.
    ///
    /// # Errors
    /// The machine failed, or a kernel that was launched before.
    ///
    /// # Panics
    /// Fewer were reserved.
    pub fn read(&self, machine: &M, bytes: &mut [u8]) -> Result<(), M::Error> {
        assert!(bytes.len() <= self.bytes, "{} of {}", bytes.len(), self.bytes);
        self.memory.as_ref().map_or(Ok(()), |memory| machine.read(memory, bytes))
    }

    /// Where it begins, as kernels see it; 0 if nothing was reserved.
    pub fn address(&self) -> u64 {
        self.memory.as_ref().map_or(0, Memory::address)
    }

    /// Bytes that were asked of the machine.
    pub fn bytes(&self) -> u64 {
        self.bytes as u64
    }
}
