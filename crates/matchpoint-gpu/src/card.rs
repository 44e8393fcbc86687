//! A graphics card, through NVIDIA's driver, which is looked for when it is first needed.
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
use crate::machine::{Grid, Lasts, Machine, Memory};
use crate::patience::has_come;

/// Why a card could not do it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CardError {
    /// There is no driver.
    NoDriver,
    /// There is a driver, but no card of that number: how many there are.
    NoCard(usize, i32),
    /// The driver failed: at what, and what it said.
    Driver(&'static str, String),
    /// There was not enough memory: for what, and what the driver said.
    Memory(&'static str, String),
    /// A kernel was not compiled.
    Compile(CompileError),
    /// The driver takes no kernels of the NVRTC that is there: versions of CUDA of NVRTC and of the driver (12, 9), and what it said.
    Unloadable((i32, i32), (i32, i32), String),
    /// The driver waits for the end of every kernel that is started (`CUDA_LAUNCH_BLOCKING`), and of one that stays for ever.
    IsBlocking,
    /// The driver ends kernels of this card that run for seconds, as where it drives a display; one that stays would be.
    IsWatched,
    /// A kernel that stays was there when another had to be loaded, which waits for all that run.
    IsStaying(&'static str),
    /// Of batches whose pairs are known it found so many: how many there are.
    Wrong(usize, usize),
    /// The smallest block of a kernel takes more shared memory than one may have on this card: which, and both in bytes.
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
            CardError::IsBlocking => f.write_str(
                "CUDA_LAUNCH_BLOCKING is set, which blocks the start of a persistent kernel\nhint: unset it",
            ),
            CardError::IsWatched => f.write_str(
                "the driver ends long kernels of this card, so a persistent kernel is not possible\nhint: use a card \
                 without a display, by its number",
            ),
            CardError::IsStaying(kernel) => write!(
                f,
                "{kernel} cannot be loaded while a persistent kernel runs\nhint: match a batch that needs it before, \
                 or end the persistent kernel"
            ),
            CardError::Wrong(pairs, expected) => {
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
    /// Whether what is asked of the card next is in vain, or cannot be trusted: the driver has failed, or a kernel was given up that has
    /// a multiprocessor; or no kernel is to be had at all.
    pub fn is_of_the_card(&self) -> bool {
        match self {
            CardError::NoDriver
            | CardError::NoCard(..)
            | CardError::Driver(..)
            | CardError::Unloadable(..)
            | CardError::Compile(CompileError::Missing) => true,
            CardError::Memory(..)
            | CardError::Compile(CompileError::Refused(_))
            | CardError::IsBlocking
            | CardError::IsWatched
            | CardError::IsStaying(_)
            | CardError::Wrong(..)
            | CardError::SharedMemory(..) => false,
        }
    }
}

impl From<CompileError> for CardError {
    fn from(error: CompileError) -> Self {
        CardError::Compile(error)
    }
}

/// Says what was tried when the driver failed.
pub(crate) fn tried<T>(what: &'static str, result: Result<T, DriverError>) -> Result<T, CardError> {
    result.map_err(|error| failed(what, error))
}

fn failed(what: &'static str, error: DriverError) -> CardError {
    match error.0 {
        CUresult::CUDA_ERROR_OUT_OF_MEMORY => CardError::Memory(what, said(error)),
        _ => CardError::Driver(what, said(error)),
    }
}

/// What the driver says of an error.
fn said(error: DriverError) -> String {
    let text = |found: Result<&CStr, DriverError>| found.map(|text| text.to_string_lossy().into_owned());
    let name = text(error.error_name()).unwrap_or_else(|_| format!("{:?}", error.0));
    format!("{name} ({})", text(error.error_string()).unwrap_or_default())
}

/// The version of CUDA that the driver has, as 13000.
fn driver_version() -> Result<i32, CardError> {
    let mut version = 0;
    // SAFETY: the driver writes one number where it is told.
    tried("asking the driver", unsafe { sys::cuDriverGetVersion(&raw mut version) }.result())?;
    Ok(version)
}

/// Why a module was not loaded: most of all, that driver and NVRTC do not go together.
fn not_loaded(error: DriverError) -> CardError {
    let is_foreign = matches!(
        error.0,
        CUresult::CUDA_ERROR_UNSUPPORTED_PTX_VERSION
            | CUresult::CUDA_ERROR_NO_BINARY_FOR_GPU
            | CUresult::CUDA_ERROR_INVALID_IMAGE
    );
    match (is_foreign, compile::version(), driver_version()) {
        (true, Some(nvrtc), Ok(driver)) => {
            CardError::Unloadable(nvrtc, (driver / 1000, driver % 1000 / 10), said(error))
        }
        _ => failed("loading a kernel", error),
    }
}

/// What a card is: part of every figure measured on it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Description {
    /// Its name, as the driver has it.
    pub name: String,
    /// As 9.0.
    pub compute_capability: (i32, i32),
    /// Streaming multiprocessors.
    pub multiprocessors: u32,
    /// The highest clock of these in kHz.
    pub clock_khz: u32,
    /// The highest clock of its memory in kHz.
    pub memory_clock_khz: u32,
    /// Bytes of cache of the second level.
    pub l2_bytes: u32,
    /// Bytes of memory.
    pub memory_bytes: usize,
    /// The version of CUDA that the driver has, as 13000.
    pub driver_version: i32,
}

/// A card. What is called on it, and dropping memory of it, leaves its context the current one of the thread: who uses another card
/// there too makes that the current one again.
#[derive(Debug)]
pub struct Card {
    context: Arc<CudaContext>,
    stream: Arc<CudaStream>,
    multiprocessors: u32,
    shared_bytes_most: u32,
    functions: Arc<Functions>,
}

/// Kernels of a card.
#[derive(Debug, Default)]
struct Functions {
    loaded: Mutex<HashMap<(Kernel, Layout), CudaFunction>>,
    /// Held while one is compiled: who needs the same waits for it, and who needs one that is there does not.
    compiling: Mutex<()>,
}

/// How many kernels stay, by the number of the card. Held while a kernel is loaded, and while one that stays is started: loading waits
/// for all that run.
static STAYING: Mutex<BTreeMap<usize, usize>> = Mutex::new(BTreeMap::new());

/// What is locked here is whole whoever panicked.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A kernel that stays: as long as this is there, none is loaded.
#[derive(Debug)]
pub(crate) struct Stay {
    ordinal: usize,
}

impl Drop for Stay {
    fn drop(&mut self) {
        let mut staying = locked(&STAYING);
        let count = staying.get_mut(&self.ordinal).expect("it was counted");
        *count -= 1;
    }
}

/// Memory of a card.
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
    /// The card of a number, from 0.
    ///
    /// # Errors
    /// There is no driver, or no such card, or it cannot be used.
    pub fn open(ordinal: usize) -> Result<Card, CardError> {
        // SAFETY: loads a library of that name, as the first call of the driver would; where there is none that would panic.
        if !unsafe { sys::is_culib_present() } {
            return Err(CardError::NoDriver);
        }
        let count = match CudaContext::device_count() {
            // A driver on a machine without a card, and the toolkit's library that stands for a driver where programs are linked.
            Err(DriverError(CUresult::CUDA_ERROR_NO_DEVICE)) => 0,
            Err(DriverError(CUresult::CUDA_ERROR_STUB_LIBRARY)) => return Err(CardError::NoDriver),
            count => tried("counting cards", count)?,
        };
        if ordinal >= count as usize {
            return Err(CardError::NoCard(ordinal, count));
        }
        let context = tried("opening the card", CudaContext::new(ordinal))?;
        // SAFETY: everything here runs on one stream, in order, so that nothing need be waited for from another.
        unsafe { context.disable_event_tracking() };
        let stream = tried("opening a stream", context.new_stream())?;
        let attribute = CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT;
        let multiprocessors = tried("asking the card", context.attribute(attribute))? as u32;
        let shared_bytes_most = tried("asking the card", context.attribute(SHARED_BYTES_MOST))? as u32;
        Ok(Card { context, stream, multiprocessors, shared_bytes_most, functions: Arc::default() })
    }

    /// What it is.
    ///
    /// # Errors
    /// The driver failed.
    pub fn description(&self) -> Result<Description, CardError> {
        let ask = |attribute| tried("asking the card", self.context.attribute(attribute));
        let memory = tried("asking the card", self.context.bind_to_thread())
            .and_then(|()| tried("asking the card", cudarc::driver::result::mem_get_info()))?;
        Ok(Description {
            name: tried("asking the card", self.context.name())?,
            compute_capability: tried("asking the card", self.context.compute_capability())?,
            multiprocessors: self.multiprocessors,
            clock_khz: ask(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_CLOCK_RATE)? as u32,
            memory_clock_khz: ask(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE)? as u32,
            l2_bytes: ask(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE)? as u32,
            memory_bytes: memory.1,
            driver_version: driver_version()?,
        })
    }

    /// Nanoseconds between the beginning of what `work` starts and its end, as the card's events tell.
    ///
    /// # Errors
    /// The driver failed, or the work.
    pub fn timed(&self, work: impl FnOnce() -> Result<(), CardError>) -> Result<f64, CardError> {
        let begin = self.moment()?;
        work()?;
        self.between(&begin, &self.moment()?)
    }

    /// When the card comes to what is started next.
    pub(crate) fn moment(&self) -> Result<CudaEvent, CardError> {
        let event = self.context.new_event(Some(sys::CUevent_flags::CU_EVENT_DEFAULT));
        let event = tried("making an event", event)?;
        tried("recording an event", event.record(&self.stream))?;
        Ok(event)
    }

    /// Nanoseconds from one moment to another, for which it waits.
    pub(crate) fn between(&self, begin: &CudaEvent, end: &CudaEvent) -> Result<f64, CardError> {
        Ok(f64::from(tried("waiting for kernels", begin.elapsed_ms(end))?) * 1e6)
    }

    /// Waits for all that was started here, for so long at most.
    pub(crate) fn ends_within(&self, patience: Duration, what: &'static str) -> Result<(), CardError> {
        let ended = has_come(patience, || self.has_ended())?;
        if ended { Ok(()) } else { Err(CardError::Driver(what, "the kernel does not end".to_owned())) }
    }

    /// The same card with a stream of its own: what is started on it waits for nothing that is started here, nor is waited for.
    pub(crate) fn beside(&self) -> Result<Card, CardError> {
        Ok(Card {
            context: self.context.clone(),
            stream: tried("opening a stream", self.context.new_stream())?,
            multiprocessors: self.multiprocessors,
            shared_bytes_most: self.shared_bytes_most,
            functions: self.functions.clone(),
        })
    }

    /// Whether all that was started here has ended; it waits for nothing.
    pub(crate) fn has_ended(&self) -> Result<bool, CardError> {
        self.bind()?;
        // SAFETY: a stream that was made and lives.
        match unsafe { sys::cuStreamQuery(self.stream.cu_stream()) }.result() {
            Err(DriverError(CUresult::CUDA_ERROR_NOT_READY)) => Ok(false),
            result => tried("waiting for kernels", result).map(|()| true),
        }
    }

    /// Copies to memory that a kernel reads meanwhile which was started elsewhere, word by word.
    ///
    /// # Panics
    /// There are more bytes than the memory has from there on.
    pub(crate) fn write_beside(
        &self,
        memory: &CardMemory,
        from: usize,
        bytes: &[u8],
    ) -> Result<(), CardError> {
        assert!(from + bytes.len() <= memory.slice.len(), "{from} and {} bytes", bytes.len());
        self.bind()?;
        // SAFETY: within the memory, which lives until this has waited; the kernel reads words that may change.
        let copied = unsafe {
            let at = memory.address + from as u64;
            cudarc::driver::result::memcpy_htod_async(at, bytes, self.stream.cu_stream())
        };
        tried("copying to the card", copied)?;
        self.wait()
    }

    /// Loads a kernel before it is needed: loading waits for kernels that run.
    pub(crate) fn load(&self, kernel: Kernel, layout: Layout) -> Result<(), CardError> {
        self.function(kernel, layout).map(|_| ())
    }

    /// Waits for all that was started.
    pub(crate) fn wait(&self) -> Result<(), CardError> {
        tried("waiting for kernels", self.stream.synchronize())
    }

    /// Makes it the card of this thread.
    pub(crate) fn bind(&self) -> Result<(), CardError> {
        tried("opening the card", self.context.bind_to_thread())
    }

    /// Starts a kernel that stays until it is told to end.
    ///
    /// # Safety
    /// As of [`launch`](Machine::launch).
    pub(crate) unsafe fn launch_to_stay<A: Copy>(
        &self,
        kernel: Kernel,
        layout: Layout,
        grid: Grid,
        arguments: &A,
    ) -> Result<Stay, CardError> {
        if std::env::var_os("CUDA_LAUNCH_BLOCKING").is_some_and(|value| !value.is_empty() && value != "0") {
            return Err(CardError::IsBlocking);
        }
        if tried("asking the card", self.context.attribute(IS_WATCHED))? != 0 {
            return Err(CardError::IsWatched);
        }
        self.load(kernel, layout)?;
        let ordinal = self.context.ordinal();
        let mut staying = locked(&STAYING);
        // SAFETY: the caller's promise.
        unsafe { self.launch(kernel, layout, grid, arguments)? };
        *staying.entry(ordinal).or_default() += 1;
        Ok(Stay { ordinal })
    }

    /// Whether a kernel stays here, as they are counted.
    fn has_staying(&self, staying: &BTreeMap<usize, usize>) -> bool {
        staying.get(&self.context.ordinal()).is_some_and(|&count| count > 0)
    }

    fn loaded(&self, kernel: Kernel, layout: Layout) -> Option<CudaFunction> {
        locked(&self.functions.loaded).get(&(kernel, layout)).cloned()
    }

    fn function(&self, kernel: Kernel, layout: Layout) -> Result<CudaFunction, CardError> {
        if let Some(function) = self.loaded(kernel, layout) {
            return Ok(function);
        }
        let _compiling = locked(&self.functions.compiling);
        if let Some(function) = self.loaded(kernel, layout) {
            return Ok(function);
        }
        // Compiling takes long, and whoever waits for the end of the other asks often.
        if self.is_occupied() {
            return Err(CardError::IsStaying(kernel.name()));
        }
        let program = Program::ALL.into_iter().find(|program| program.kernels().contains(&kernel));
        let program = program.expect("every kernel is of a program");
        let (major, minor) = tried("asking the card", self.context.compute_capability())?;
        let instructions = compile(program, layout, &format!("sm_{major}{minor}"))?;
        let staying = locked(&STAYING);
        if self.has_staying(&staying) {
            return Err(CardError::IsStaying(kernel.name()));
        }
        let module = self.context.load_module(Ptx::from_binary(instructions)).map_err(not_loaded)?;
        let load = |&kernel: &Kernel| {
            let function = tried("loading a kernel", module.load_function(kernel.name()))?;
            // What a block may have unasked is 48 KiB.
            let asked = CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
            let most = self.shared_bytes_most as i32;
            tried("asking for shared memory", function.set_attribute(asked, most))?;
            Ok(((kernel, layout), function))
        };
        let functions = program.kernels().iter().map(load).collect::<Result<HashMap<_, _>, CardError>>()?;
        let function = functions[&(kernel, layout)].clone();
        locked(&self.functions.loaded).extend(functions);
        Ok(function)
    }
}

/// Shared memory that a block may have if it is asked for.
const SHARED_BYTES_MOST: CUdevice_attribute =
    CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN;

/// Whether the driver ends kernels that run for long.
const IS_WATCHED: CUdevice_attribute = CUdevice_attribute::CU_DEVICE_ATTRIBUTE_KERNEL_EXEC_TIMEOUT;

/// Arguments of a kernel, by value.
#[repr(transparent)]
struct ByValue<A>(A);

// SAFETY: `Machine::launch` asks of its caller that they are what the kernel is given.
unsafe impl<A> DeviceRepr for ByValue<A> {}

impl Machine for Card {
    type Error = CardError;
    type Memory = CardMemory;

    fn allocate(&self, bytes: usize) -> Result<CardMemory, CardError> {
        // The driver knows no memory of no bytes.
        let slice = tried("asking for memory of the card", self.stream.alloc_zeros::<u8>(bytes.max(1)))?;
        let address = slice.device_ptr(&self.stream).0;
        Ok(CardMemory { slice, address })
    }

    fn write(&self, memory: &mut CardMemory, bytes: &[u8]) -> Result<(), CardError> {
        if bytes.is_empty() {
            return Ok(());
        }
        let mut part = memory.slice.slice_mut(..bytes.len());
        tried("copying to the card", self.stream.memcpy_htod(bytes, &mut part))
    }

    fn read(&self, memory: &CardMemory, bytes: &mut [u8]) -> Result<(), CardError> {
        if !bytes.is_empty() {
            let part = memory.slice.slice(..bytes.len());
            tried("copying from the card", self.stream.memcpy_dtoh(&part, bytes))?;
        }
        tried("waiting for kernels", self.stream.synchronize())
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
        if shared_mem_bytes > self.shared_bytes_most {
            return Err(CardError::SharedMemory(kernel.name(), shared_mem_bytes, self.shared_bytes_most));
        }
        let config =
            LaunchConfig { grid_dim: (grid.blocks, 1, 1), block_dim: (grid.threads, 1, 1), shared_mem_bytes };
        let by_value = ByValue(*arguments);
        let mut launch = self.stream.launch_builder(&function);
        launch.arg(&by_value);
        // SAFETY: the caller's promise.
        tried("starting a kernel", unsafe { launch.launch(config) })?;
        Ok(())
    }

    fn lasts(error: &CardError) -> Lasts {
        match error {
            CardError::Memory(..) => Lasts::UntilMemory,
            CardError::IsStaying(_) => Lasts::WhileOccupied,
            _ => Lasts::ForGood,
        }
    }

    fn is_occupied(&self) -> bool {
        self.has_staying(&locked(&STAYING))
    }

    fn shared_bytes_most(&self) -> u32 {
        self.shared_bytes_most
    }

    fn multiprocessors(&self) -> u32 {
        self.multiprocessors
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_shared_memory_is_reported_with_size() {
        let said = CardError::SharedMemory("match_matrix", 30_336, 16 << 10).to_string();
        assert!(said.contains("match_matrix needs 30 KiB") && said.contains("has 16 KiB"), "{said}");
        assert!(said.contains("hybrid"), "{said}");
    }
}
