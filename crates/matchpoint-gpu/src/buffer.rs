//! Memory of a machine that is kept from batch to batch.

use std::fmt;

use crate::machine::{Lasts, Machine, Memory};

/// Some memory of a machine, which grows and is never given back before the end: asking a driver for memory takes as long as
/// matching a batch. It is zero where it was never written; what an earlier batch left there is no kernel's to rely on.
pub(crate) struct Buffer<M: Machine> {
    memory: Option<M::Memory>,
    bytes: usize,
}

impl<M: Machine> fmt::Debug for Buffer<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes at {:#x}", self.bytes, self.address())
    }
}

impl<M: Machine> Default for Buffer<M> {
    fn default() -> Self {
        Buffer { memory: None, bytes: 0 }
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
        *self = Buffer::default();
        let (memory, bytes) = match machine.allocate(doubled) {
            // There may be as much as is needed now.
            Err(error) if doubled > bytes && M::lasts(&error) == Lasts::UntilMemory => {
                (machine.allocate(bytes)?, bytes)
            }
            memory => (memory?, doubled),
        };
        *self = Buffer { memory: Some(memory), bytes };
        Ok(())
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
