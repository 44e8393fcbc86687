//! Memory of a machine, reused for many batches.

use std::fmt;

use crate::machine::{FailureDuration, Machine, Memory};

/// Memory that grows with batches, because an allocation by the driver takes as long as matching a batch. After a
/// [matched](Self::keep_size) batch the size stays. After a refused batch the memory [shrinks](Self::restore_size) to
/// the size before. Unwritten bytes are zero.
pub(crate) struct Buffer<M: Machine> {
    memory: Option<M::Memory>,
    bytes: usize,
    kept: usize,
}

impl<M: Machine> fmt::Debug for Buffer<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes at {:#x}", self.bytes, self.address())
    }
}

impl<M: Machine> Default for Buffer<M> {
    fn default() -> Self {
        Buffer { memory: None, bytes: 0, kept: 0 }
    }
}

impl<M: Machine> Buffer<M> {
    /// Provides at least `bytes` bytes. Growth at least doubles the size and loses the content.
    ///
    /// # Errors
    /// The machine has not enough memory. The buffer is then empty.
    pub fn reserve(&mut self, machine: &M, bytes: usize) -> Result<(), M::Error> {
        if self.memory.is_some() && bytes <= self.bytes {
            return Ok(());
        }
        let doubled = bytes.max(2 * self.bytes);
        // Old and new memory need not fit at once.
        (self.memory, self.bytes) = (None, 0);
        let (memory, bytes) = match machine.allocate(doubled) {
            // The exact size may fit.
            Err(error) if doubled > bytes && M::failure_duration(&error) == FailureDuration::UntilMemory => {
                (machine.allocate(bytes)?, bytes)
            }
            memory => (memory?, doubled),
        };
        (self.memory, self.bytes) = (Some(memory), bytes);
        Ok(())
    }

    pub fn keep_size(&mut self) {
        self.kept = self.bytes;
    }

    /// Restores the size of the last `keep_size` after a refused batch. The buffer is empty if this
    /// allocation fails.
    pub fn restore_size(&mut self, machine: &M) {
        if self.bytes == self.kept {
            return;
        }
        (self.memory, self.bytes) = (None, 0);
        if self.kept > 0 {
            self.memory = machine.allocate(self.kept).ok();
            self.bytes = if self.memory.is_some() { self.kept } else { 0 };
        }
    }

    /// Maximum bytes since the last `keep_size`. A buffer grows at most once per batch.
    pub fn max_bytes(&self) -> u64 {
        self.bytes.max(self.kept) as u64
    }

    /// Copies `bytes` to the start. The rest is undefined.
    pub fn fill(&mut self, machine: &M, bytes: &[u8]) -> Result<(), M::Error> {
        self.reserve(machine, bytes.len())?;
        machine.write(self.memory.as_mut().expect("it was reserved"), bytes)
    }

    /// Copies from the start, after all earlier launches have ended.
    ///
    /// # Errors
    /// The machine or an earlier kernel fails.
    ///
    /// # Panics
    /// The buffer is smaller than `bytes`.
    pub fn read(&self, machine: &M, bytes: &mut [u8]) -> Result<(), M::Error> {
        assert!(bytes.len() <= self.bytes, "{} of {}", bytes.len(), self.bytes);
        self.memory.as_ref().map_or(Ok(()), |memory| machine.read(memory, bytes))
    }

    /// 0 if the buffer is empty.
    pub fn address(&self) -> u64 {
        self.memory.as_ref().map_or(0, Memory::address)
    }

    pub fn bytes(&self) -> u64 {
        self.bytes as u64
    }
}
