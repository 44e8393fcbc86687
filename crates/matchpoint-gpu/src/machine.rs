//! Interface to the device that runs kernels: a card, or the host in tests.

use crate::batch::Layout;
use crate::kernels::Kernel;

/// Size of a launch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Grid {
    /// Number of blocks.
    pub blocks: u32,
    /// Threads per block.
    pub threads: u32,
}

/// Duration of a failure.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FailureDuration {
    /// Until memory is free. The caller may retry.
    UntilMemory,
    /// While another process uses the machine exclusively: see [`Machine::is_occupied`].
    WhileOccupied,
    /// Permanent.
    Permanent,
}

/// Runs kernels on its memory.
pub trait Machine {
    /// Reason for a failure.
    type Error: std::error::Error + Send + Sync + 'static;
    /// Memory of the machine, freed on drop.
    type Memory: Memory + Send;

    /// Allocates zeroed bytes, aligned for every kernel.
    ///
    /// # Errors
    /// If the machine has not enough memory.
    fn allocate(&self, bytes: usize) -> Result<Self::Memory, Self::Error>;

    /// Copies `bytes` to the start of the memory.
    ///
    /// # Errors
    /// If the machine fails.
    ///
    /// # Panics
    /// If the memory is smaller than `bytes`.
    fn write(&self, memory: &mut Self::Memory, bytes: &[u8]) -> Result<(), Self::Error>;

    /// Allocates memory with a copy of `bytes`.
    ///
    /// # Errors
    /// If the machine fails or has not enough memory.
    fn copied(&self, bytes: &[u8]) -> Result<Self::Memory, Self::Error> {
        let mut memory = self.allocate(bytes.len())?;
        self.write(&mut memory, bytes)?;
        Ok(memory)
    }

    /// Copies from the start of the memory, after all earlier launches have ended.
    ///
    /// # Errors
    /// If the machine or an earlier kernel fails.
    ///
    /// # Panics
    /// If the memory is smaller than `bytes`.
    fn read(&self, memory: &Self::Memory, bytes: &mut [u8]) -> Result<(), Self::Error>;

    /// Starts a kernel after the earlier launches.
    ///
    /// # Errors
    /// If the machine fails.
    ///
    /// # Safety
    /// `arguments` has the type of the kernel's source. Each address in it is memory of this machine with the
    /// content that the source demands, unused until the kernel has ended.
    #[allow(unsafe_code)]
    unsafe fn launch<A: Copy>(
        &self,
        kernel: Kernel,
        layout: Layout,
        grid: Grid,
        arguments: &A,
    ) -> Result<(), Self::Error>;

    /// Duration of the failure behind an error.
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

/// Memory of a machine.
pub trait Memory {
    /// Start address, as kernels see it.
    fn address(&self) -> u64;
}
