//! What runs kernels: a card, or the host that plays one in tests.

use crate::batch::Layout;
use crate::kernels::Kernel;

/// How a kernel is run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Grid {
    /// Blocks.
    pub blocks: u32,
    /// Threads of each.
    pub threads: u32,
}

/// How long a machine that failed at something does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Lasts {
    /// Until there is memory: who asked for it may ask again.
    UntilMemory,
    /// As long as something has the machine to itself: see [`Machine::is_occupied`].
    WhileOccupied,
    /// Whatever is tried.
    ForGood,
}

/// Runs kernels on memory of its own.
pub trait Machine {
    /// Why it could not.
    type Error: std::error::Error + Send + Sync + 'static;
    /// Memory of its own, given back when dropped.
    type Memory: Memory + Send;

    /// So many bytes, all zero. Aligned for whatever a kernel reads.
    ///
    /// # Errors
    /// There is not enough.
    fn allocate(&self, bytes: usize) -> Result<Self::Memory, Self::Error>;

    /// Copies to the beginning of its memory.
    ///
    /// # Errors
    /// The machine failed.
    ///
    /// # Panics
    /// There are more bytes than the memory has.
    fn write(&self, memory: &mut Self::Memory, bytes: &[u8]) -> Result<(), Self::Error>;

    /// Memory that begins with a copy of these bytes, and has no others.
    ///
    /// # Errors
    /// There is not enough, or the machine failed.
    fn copied(&self, bytes: &[u8]) -> Result<Self::Memory, Self::Error> {
        let mut memory = self.allocate(bytes.len())?;
        self.write(&mut memory, bytes)?;
        Ok(memory)
    }

    /// Copies from the beginning of its memory, when what was launched before has ended.
    ///
    /// # Errors
    /// The machine failed, or a kernel that was launched before.
    ///
    /// # Panics
    /// As many bytes are wanted as the memory does not have.
    fn read(&self, memory: &Self::Memory, bytes: &mut [u8]) -> Result<(), Self::Error>;

    /// Starts a kernel after those that were launched before.
    ///
    /// # Errors
    /// The machine failed.
    ///
    /// # Safety
    /// `arguments` is what the kernel's source says that it is given, and every address in it is of memory of this machine
    /// that has what the source says, and that nobody else uses until the kernel has ended.
    #[allow(unsafe_code)]
    unsafe fn launch<A: Copy>(
        &self,
        kernel: Kernel,
        layout: Layout,
        grid: Grid,
        arguments: &A,
    ) -> Result<(), Self::Error>;

    /// How long what failed does.
    fn lasts(_error: &Self::Error) -> Lasts {
        Lasts::ForGood
    }

    /// Whether something has the machine to itself, for which kernels may be refused that could run later.
    fn is_occupied(&self) -> bool {
        false
    }

    /// Bytes of shared memory that a block may have; a kernel whose block takes more is refused by [`launch`](Self::launch).
    fn shared_bytes_most(&self) -> u32;

    /// How many blocks make it busy: its multiprocessors.
    fn multiprocessors(&self) -> u32;
}

/// Memory of a machine.
pub trait Memory {
    /// Where it begins, as kernels see it.
    fn address(&self) -> u64;
}
