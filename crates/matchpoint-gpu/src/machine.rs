//! Interface to the device that runs kernels: a card, or the host in tests.

use crate::batch::Layout;
use crate::kernels::Kernel;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Grid {
    pub blocks: u32,
    pub threads: u32,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FailureDuration {
    /// The failure lasts until memory is free. The caller may retry.
    UntilMemory,
    /// The failure lasts while another process uses the machine exclusively: see [`Machine::is_occupied`].
    WhileOccupied,
    Permanent,
}

/// Runs kernels on its memory.
pub trait Machine {
    type Error: std::error::Error + Send + Sync + 'static;
    type Memory: Memory + Send;

    /// Allocates zeroed bytes, aligned for every kernel.
    fn allocate(&self, bytes: usize) -> Result<Self::Memory, Self::Error>;

    /// Copies `bytes` to the start of the memory.
    ///
    /// # Panics
    /// The memory is smaller than `bytes`.
    fn write(&self, memory: &mut Self::Memory, bytes: &[u8]) -> Result<(), Self::Error>;

    fn copied(&self, bytes: &[u8]) -> Result<Self::Memory, Self::Error> {
        let mut memory = self.allocate(bytes.len())?;
        self.write(&mut memory, bytes)?;
        Ok(memory)
    }

    /// Copies from the start of the memory, after all earlier launches have ended.
    ///
    /// # Errors
    /// The machine or an earlier kernel fails.
    ///
    /// # Panics
    /// The memory is smaller than `bytes`.
    fn read(&self, memory: &Self::Memory, bytes: &mut [u8]) -> Result<(), Self::Error>;

    /// Starts a kernel after the earlier launches.
    ///
    /// # Safety
    /// `arguments` has the type of the kernel's source. Each address in `arguments` is memory of this machine
    /// with the content that the kernel's source demands. Nothing else uses that memory until the kernel has ended.
    #[allow(unsafe_code)]
    unsafe fn launch<A: Copy>(
        &self,
        kernel: Kernel,
        layout: Layout,
        grid: Grid,
        arguments: &A,
    ) -> Result<(), Self::Error>;

    fn failure_duration(_error: &Self::Error) -> FailureDuration {
        FailureDuration::Permanent
    }

    /// True if another process uses the machine exclusively. Launches may then fail and succeed later.
    fn is_occupied(&self) -> bool {
        false
    }

    /// Maximum bytes of shared memory of a block. [`launch`](Self::launch) refuses a kernel that needs more.
    fn shared_bytes_max(&self) -> u32;

    /// Multiprocessors: the number of blocks that occupies the machine.
    fn multiprocessors(&self) -> u32;
}

pub trait Memory {
    fn address(&self) -> u64;
}
