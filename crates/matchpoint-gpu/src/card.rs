//! A graphics card behind NVIDIA's driver, which is loaded at the first use.
#![allow(unsafe_code)]

use std::collections::{BTreeMap, HashMap};
use std::ffi::CStr;
use std::fmt::{self, Display};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use cudarc::driver::sys::{self, CUdevice_attribute, CUfunction_attribute, CUresult};
use cudarc::driver::{
    CudaContext, CudaFunction, CudaStream, DevicePtr, DeviceRepr, DriverError, LaunchConfig,
};
use cudarc::driver::{CudaEvent, CudaSlice, PushKernelArg};
use cudarc::nvrtc::Ptx;

use crate::batch::Layout;
use crate::compile::{self, CompileError, compile};
use crate::kernels::{Kernel, Program};
use crate::machine::{FailureDuration, Grid, Machine, Memory};
use crate::timeout::poll_until;

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CardError {
    NoDriver,
    /// No card has this number. The second field is the number of cards.
    NoCard(usize, i32),
    /// The driver failed: the operation, and the driver's text.
    Driver(&'static str, String),
    /// Not enough memory: the operation, and the driver's text.
    Memory(&'static str, String),
    Compile(CompileError),
    /// The driver refuses kernels of the installed NVRTC: CUDA versions of NVRTC and of the driver, such as
    /// (12, 9), and the driver's text.
    Unloadable((i32, i32), (i32, i32), String),
    /// The driver waits for the end of every launch (`CUDA_LAUNCH_BLOCKING`), and a persistent kernel has no
    /// end.
    BlockingLaunches,
    /// The driver ends kernels that run for seconds, for example on a card with a display.
    KernelTimeLimit,
    /// A persistent kernel runs, and loading a kernel waits for all running kernels.
    PersistentKernelRuns(&'static str),
    /// A self-test with known pairs: found, expected.
    PairCount(usize, usize),
    /// Kernel, shared memory of the GPU that its smallest thread block needs, and what the GPU has, in bytes.
    SharedMemory(&'static str, u32, u32),
}

impl Display for CardError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CardError::NoDriver => f.write_str(
                "no graphics card: NVIDIA's driver (libcuda.so.1) is not installed\nhint: install the driver, or use \
                 an engine of the processor, such as `hybrid`",
            ),
            CardError::NoCard(ordinal, count) => {
                write!(f, "no graphics card {ordinal}: the driver reports {count}, numbered from 0")
            }
            CardError::Driver(what, said) | CardError::Memory(what, said) => {
                write!(f, "{what}: error of the driver: {said}")
            }
            CardError::Compile(error) => error.fmt(f),
            CardError::Unloadable(nvrtc, driver, said) => write!(
                f,
                "the driver does not load kernels of NVRTC {}.{}, because the driver supports CUDA {}.{} \
                 ({said})\nhint: install a newer driver, or NVRTC of CUDA {}",
                nvrtc.0, nvrtc.1, driver.0, driver.1, driver.0
            ),
            CardError::BlockingLaunches => f.write_str(
                "CUDA_LAUNCH_BLOCKING is set, which blocks the start of a persistent kernel\nhint: unset it",
            ),
            CardError::KernelTimeLimit => f.write_str(
                "the driver ends long kernels of this card, so a persistent kernel is not possible\nhint: use a card \
                 without a display, by its number",
            ),
            CardError::PersistentKernelRuns(kernel) => write!(
                f,
                "{kernel} cannot be loaded while a persistent kernel runs\nhint: match a batch that needs it before, \
                 or end the persistent kernel"
            ),
            CardError::PairCount(pairs, expected) => {
                write!(f, "the card matched incorrectly: {pairs} pairs instead of {expected}")
            }
            CardError::SharedMemory(kernel, needed, most) => write!(
                f,
                "{kernel} needs {} KiB of shared memory for its smallest block, but this card has {} KiB\nhint: use \
                 an engine of the processor, such as `hybrid`",
                needed.div_ceil(1024),
                most / 1024
            ),
        }
    }
}

impl std::error::Error for CardError {}

impl CardError {
    /// True if later operations of the card fail too, or if their results may be wrong: the driver failed, a
    /// kernel that holds a multiprocessor was abandoned, or no kernel is available.
    pub fn is_card_failure(&self) -> bool {
        match self {
            CardError::NoDriver
            | CardError::NoCard(..)
            | CardError::Driver(..)
            | CardError::Unloadable(..)
            | CardError::Compile(CompileError::Missing) => true,
            CardError::Memory(..)
            | CardError::Compile(CompileError::Refused(_))
            | CardError::BlockingLaunches
            | CardError::KernelTimeLimit
            | CardError::PersistentKernelRuns(_)
            | CardError::PairCount(..)
            | CardError::SharedMemory(..) => false,
        }
    }
}

impl From<CompileError> for CardError {
    fn from(error: CompileError) -> Self {
        CardError::Compile(error)
    }
}

pub(crate) fn check<T>(what: &'static str, result: Result<T, DriverError>) -> Result<T, CardError> {
    result.map_err(|error| failed(what, error))
}

fn failed(what: &'static str, error: DriverError) -> CardError {
    match error.0 {
        CUresult::CUDA_ERROR_OUT_OF_MEMORY => CardError::Memory(what, driver_text(error)),
        _ => CardError::Driver(what, driver_text(error)),
    }
}

fn driver_text(error: DriverError) -> String {
    let text = |found: Result<&CStr, DriverError>| found.map(|text| text.to_string_lossy().into_owned());
    let name = text(error.error_name()).unwrap_or_else(|_| format!("{:?}", error.0));
    format!("{name} ({})", text(error.error_string()).unwrap_or_default())
}

fn driver_version() -> Result<i32, CardError> {
    let mut version = 0;
    // SAFETY: the driver writes one number to the given address.
    check("asking the driver", unsafe { sys::cuDriverGetVersion(&raw mut version) }.result())?;
    Ok(version)
}

/// The most frequent reason is an NVRTC that is newer than the driver.
fn load_error(error: DriverError) -> CardError {
    let is_foreign = matches!(
        error.0,
        CUresult::CUDA_ERROR_UNSUPPORTED_PTX_VERSION
            | CUresult::CUDA_ERROR_NO_BINARY_FOR_GPU
            | CUresult::CUDA_ERROR_INVALID_IMAGE
    );
    match (is_foreign, compile::version(), driver_version()) {
        (true, Some(nvrtc), Ok(driver)) => {
            CardError::Unloadable(nvrtc, (driver / 1000, driver % 1000 / 10), driver_text(error))
        }
        _ => failed("loading a kernel", error),
    }
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Description {
    pub name: String,
    /// Such as (9, 0).
    pub compute_capability: (i32, i32),
    pub multiprocessors: u32,
    /// Highest clock of the multiprocessors.
    pub clock_khz: u32,
    /// Highest clock of the memory.
    pub memory_clock_khz: u32,
    /// Size of the second-level cache.
    pub l2_bytes: u32,
    pub memory_bytes: usize,
    /// CUDA version of the driver, such as 13000.
    pub driver_version: i32,
}

/// A card. Each call, and each drop of its memory, makes its context the thread's current context. A caller
/// that uses another card in this thread sets that card's context again.
#[derive(Debug)]
pub struct Card {
    context: Arc<CudaContext>,
    stream: Arc<CudaStream>,
    multiprocessors: u32,
    shared_bytes_max: u32,
    functions: Arc<Functions>,
}

#[derive(Debug, Default)]
struct Functions {
    loaded: Mutex<HashMap<(Kernel, Layout), CudaFunction>>,
    /// Locked during a compilation. Threads that need a loaded kernel do not take this lock.
    compiling: Mutex<()>,
}

/// Number of persistent kernels by card. Locked while a kernel is loaded or a persistent kernel is started,
/// because loading waits for all running kernels.
static PERSISTENT_KERNELS: Mutex<BTreeMap<usize, usize>> = Mutex::new(BTreeMap::new());

/// Also locks a poisoned mutex: the data is consistent after every panic.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A running kernel that does not end. While this value exists, no other kernel is loaded.
#[derive(Debug)]
pub(crate) struct PersistentKernel {
    ordinal: usize,
}

impl Drop for PersistentKernel {
    fn drop(&mut self) {
        let mut kernels = lock(&PERSISTENT_KERNELS);
        let count = kernels.get_mut(&self.ordinal).expect("it was counted");
        *count -= 1;
    }
}

#[derive(Debug)]
pub struct CardMemory {
    slice: CudaSlice<u8>,
    address: u64,
}

impl Memory for CardMemory {
    fn address(&self) -> u64 {
        self.address
    }
}

impl Card {
    /// Opens the card with this number, from 0.
    ///
    /// # Errors
    /// The driver or the card is missing or fails.
    pub fn open(ordinal: usize) -> Result<Card, CardError> {
        // SAFETY: loads the library, as the driver's first call does. Without the library, that call would
        // panic.
        if !unsafe { sys::is_culib_present() } {
            return Err(CardError::NoDriver);
        }
        let count = match CudaContext::device_count() {
            // A driver without a card, or the toolkit's stub library.
            Err(DriverError(CUresult::CUDA_ERROR_NO_DEVICE)) => 0,
            Err(DriverError(CUresult::CUDA_ERROR_STUB_LIBRARY)) => return Err(CardError::NoDriver),
            count => check("counting cards", count)?,
        };
        if ordinal >= count as usize {
            return Err(CardError::NoCard(ordinal, count));
        }
        let context = check("opening the card", CudaContext::new(ordinal))?;
        // SAFETY: all work runs on one stream, in order. No other stream waits for it.
        unsafe { context.disable_event_tracking() };
        let stream = check("opening a stream", context.new_stream())?;
        let attribute = CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT;
        let multiprocessors = check("asking the card", context.attribute(attribute))? as u32;
        let shared_bytes_max = check("asking the card", context.attribute(SHARED_BYTES_MAX))? as u32;
        Ok(Card { context, stream, multiprocessors, shared_bytes_max, functions: Arc::default() })
    }

    pub fn description(&self) -> Result<Description, CardError> {
        let ask = |attribute| check("asking the card", self.context.attribute(attribute));
        let memory = check("asking the card", self.context.bind_to_thread())
            .and_then(|()| check("asking the card", cudarc::driver::result::mem_get_info()))?;
        Ok(Description {
            name: check("asking the card", self.context.name())?,
            compute_capability: check("asking the card", self.context.compute_capability())?,
            multiprocessors: self.multiprocessors,
            clock_khz: ask(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_CLOCK_RATE)? as u32,
            memory_clock_khz: ask(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE)? as u32,
            l2_bytes: ask(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE)? as u32,
            memory_bytes: memory.1,
            driver_version: driver_version()?,
        })
    }

    /// Nanoseconds of the operations that `work` enqueues, by the card's events.
    pub fn timed(&self, work: impl FnOnce() -> Result<(), CardError>) -> Result<f64, CardError> {
        let begin = self.record_event()?;
        work()?;
        self.elapsed_ns(&begin, &self.record_event()?)
    }

    pub(crate) fn record_event(&self) -> Result<CudaEvent, CardError> {
        let event = self.context.new_event(Some(sys::CUevent_flags::CU_EVENT_DEFAULT));
        let event = check("making an event", event)?;
        check("recording an event", event.record(&self.stream))?;
        Ok(event)
    }

    pub(crate) fn elapsed_ns(&self, begin: &CudaEvent, end: &CudaEvent) -> Result<f64, CardError> {
        Ok(f64::from(check("waiting for kernels", begin.elapsed_ms(end))?) * 1e6)
    }

    pub(crate) fn wait_at_most(&self, timeout: Duration, what: &'static str) -> Result<(), CardError> {
        let ended = poll_until(timeout, || self.has_ended())?;
        if ended { Ok(()) } else { Err(CardError::Driver(what, "the kernel does not end".to_owned())) }
    }

    /// The same card with a separate stream: operations of the streams do not wait for each other.
    pub(crate) fn with_new_stream(&self) -> Result<Card, CardError> {
        Ok(Card {
            context: self.context.clone(),
            stream: check("opening a stream", self.context.new_stream())?,
            multiprocessors: self.multiprocessors,
            shared_bytes_max: self.shared_bytes_max,
            functions: self.functions.clone(),
        })
    }

    /// True after all enqueued operations. Does not wait.
    pub(crate) fn has_ended(&self) -> Result<bool, CardError> {
        self.bind()?;
        // SAFETY: the stream exists as long as `self`.
        match unsafe { sys::cuStreamQuery(self.stream.cu_stream()) }.result() {
            Err(DriverError(CUresult::CUDA_ERROR_NOT_READY)) => Ok(false),
            result => check("waiting for kernels", result).map(|()| true),
        }
    }

    /// Copies words that a kernel of another stream reads concurrently.
    ///
    /// # Panics
    /// The memory ends before `from + bytes.len()`.
    pub(crate) fn write_concurrently(
        &self,
        memory: &CardMemory,
        from: usize,
        bytes: &[u8],
    ) -> Result<(), CardError> {
        assert!(from + bytes.len() <= memory.slice.len(), "{from} and {} bytes", bytes.len());
        self.bind()?;
        // SAFETY: within the memory, which exists until `wait` returns. The kernel reads words that may
        // change.
        let copied = unsafe {
            let at = memory.address + from as u64;
            cudarc::driver::result::memcpy_htod_async(at, bytes, self.stream.cu_stream())
        };
        check("copying to the card", copied)?;
        self.wait()
    }

    /// Loads a kernel in advance, because loading waits for running kernels.
    pub(crate) fn load(&self, kernel: Kernel, layout: Layout) -> Result<(), CardError> {
        self.function(kernel, layout).map(|_| ())
    }

    pub(crate) fn wait(&self) -> Result<(), CardError> {
        check("waiting for kernels", self.stream.synchronize())
    }

    pub(crate) fn bind(&self) -> Result<(), CardError> {
        check("opening the card", self.context.bind_to_thread())
    }

    /// # Safety
    /// As for [`launch`](Machine::launch).
    pub(crate) unsafe fn launch_persistent<A: Copy>(
        &self,
        kernel: Kernel,
        layout: Layout,
        grid: Grid,
        arguments: &A,
    ) -> Result<PersistentKernel, CardError> {
        if std::env::var_os("CUDA_LAUNCH_BLOCKING").is_some_and(|value| !value.is_empty() && value != "0") {
            return Err(CardError::BlockingLaunches);
        }
        if check("asking the card", self.context.attribute(HAS_TIME_LIMIT))? != 0 {
            return Err(CardError::KernelTimeLimit);
        }
        self.load(kernel, layout)?;
        let ordinal = self.context.ordinal();
        let mut kernels = lock(&PERSISTENT_KERNELS);
        // SAFETY: guaranteed by the caller.
        unsafe { self.launch(kernel, layout, grid, arguments)? };
        *kernels.entry(ordinal).or_default() += 1;
        Ok(PersistentKernel { ordinal })
    }

    fn has_persistent_kernel(&self, kernels: &BTreeMap<usize, usize>) -> bool {
        kernels.get(&self.context.ordinal()).is_some_and(|&count| count > 0)
    }

    fn loaded(&self, kernel: Kernel, layout: Layout) -> Option<CudaFunction> {
        lock(&self.functions.loaded).get(&(kernel, layout)).cloned()
    }

    fn function(&self, kernel: Kernel, layout: Layout) -> Result<CudaFunction, CardError> {
        if let Some(function) = self.loaded(kernel, layout) {
            return Ok(function);
        }
        let _compiling = lock(&self.functions.compiling);
        if let Some(function) = self.loaded(kernel, layout) {
            return Ok(function);
        }
        // Compilation takes long, and callers poll for the persistent kernel's end.
        if self.is_occupied() {
            return Err(CardError::PersistentKernelRuns(kernel.name()));
        }
        let program = Program::ALL.into_iter().find(|program| program.kernels().contains(&kernel));
        let program = program.expect("every kernel is of a program");
        let (major, minor) = check("asking the card", self.context.compute_capability())?;
        let instructions = compile(program, layout, &format!("sm_{major}{minor}"))?;
        let kernels = lock(&PERSISTENT_KERNELS);
        if self.has_persistent_kernel(&kernels) {
            return Err(CardError::PersistentKernelRuns(kernel.name()));
        }
        let module = self.context.load_module(Ptx::from_binary(instructions)).map_err(load_error)?;
        let load = |&kernel: &Kernel| {
            let function = check("loading a kernel", module.load_function(kernel.name()))?;
            // Without this attribute a block gets at most 48 KiB.
            let asked = CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
            let most = self.shared_bytes_max as i32;
            check("asking for shared memory", function.set_attribute(asked, most))?;
            Ok(((kernel, layout), function))
        };
        let functions = program.kernels().iter().map(load).collect::<Result<HashMap<_, _>, CardError>>()?;
        let function = functions[&(kernel, layout)].clone();
        lock(&self.functions.loaded).extend(functions);
        Ok(function)
    }
}

/// Attribute for the maximum shared memory of a block.
const SHARED_BYTES_MAX: CUdevice_attribute =
    CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN;

/// Attribute that is nonzero if the driver ends long-running kernels.
const HAS_TIME_LIMIT: CUdevice_attribute = CUdevice_attribute::CU_DEVICE_ATTRIBUTE_KERNEL_EXEC_TIMEOUT;

/// Arguments of a kernel, by value.
#[repr(transparent)]
struct ByValue<A>(A);

// SAFETY: the caller of `Machine::launch` guarantees the kernel's arguments.
unsafe impl<A> DeviceRepr for ByValue<A> {}

impl Machine for Card {
    type Error = CardError;
    type Memory = CardMemory;

    fn allocate(&self, bytes: usize) -> Result<CardMemory, CardError> {
        // The driver refuses allocations of zero bytes.
        let slice = check("asking for memory of the card", self.stream.alloc_zeros::<u8>(bytes.max(1)))?;
        let address = slice.device_ptr(&self.stream).0;
        Ok(CardMemory { slice, address })
    }

    fn write(&self, memory: &mut CardMemory, bytes: &[u8]) -> Result<(), CardError> {
        if bytes.is_empty() {
            return Ok(());
        }
        let mut part = memory.slice.slice_mut(..bytes.len());
        check("copying to the card", self.stream.memcpy_htod(bytes, &mut part))
    }

    fn read(&self, memory: &CardMemory, bytes: &mut [u8]) -> Result<(), CardError> {
        if !bytes.is_empty() {
            let part = memory.slice.slice(..bytes.len());
            check("copying from the card", self.stream.memcpy_dtoh(&part, bytes))?;
        }
        check("waiting for kernels", self.stream.synchronize())
    }

    unsafe fn launch<A: Copy>(
        &self,
        kernel: Kernel,
        layout: Layout,
        grid: Grid,
        arguments: &A,
    ) -> Result<(), CardError> {
        let function = self.function(kernel, layout)?;
        let shared_mem_bytes = kernel.shared_bytes(grid.threads, layout);
        if shared_mem_bytes > self.shared_bytes_max {
            return Err(CardError::SharedMemory(kernel.name(), shared_mem_bytes, self.shared_bytes_max));
        }
        let config =
            LaunchConfig { grid_dim: (grid.blocks, 1, 1), block_dim: (grid.threads, 1, 1), shared_mem_bytes };
        let by_value = ByValue(*arguments);
        let mut launch = self.stream.launch_builder(&function);
        launch.arg(&by_value);
        // SAFETY: guaranteed by the caller.
        check("starting a kernel", unsafe { launch.launch(config) })?;
        Ok(())
    }

    fn failure_duration(error: &CardError) -> FailureDuration {
        match error {
            CardError::Memory(..) => FailureDuration::UntilMemory,
            CardError::PersistentKernelRuns(_) => FailureDuration::WhileOccupied,
            _ => FailureDuration::Permanent,
        }
    }

    fn is_occupied(&self) -> bool {
        self.has_persistent_kernel(&lock(&PERSISTENT_KERNELS))
    }

    fn shared_bytes_max(&self) -> u32 {
        self.shared_bytes_max
    }

    fn multiprocessors(&self) -> u32 {
        self.multiprocessors
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_shared_memory_of_card_is_reported() {
        let said = CardError::SharedMemory("match_matrix", 30_336, 16 << 10).to_string();
        assert!(said.contains("match_matrix needs 30 KiB") && said.contains("has 16 KiB"), "{said}");
        assert!(said.contains("hybrid"), "{said}");
    }
}
