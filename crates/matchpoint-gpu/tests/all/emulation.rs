//! The kernels compiled for the host (`emulation/`). Between barriers, the threads of a block run in random
//! order.
#![allow(unsafe_code)]

use std::cell::RefCell;
use std::ffi::c_void;
use std::fmt::{self, Display};
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Mutex, OnceLock, PoisonError};

use fastrand::Rng;
use libloading::Library;
use matchpoint_gpu::batch::Layout;
use matchpoint_gpu::kernels::Kernel;
use matchpoint_gpu::machine::{Grid, Machine, Memory};

use crate::left_out::leave_out;

/// Kernels for the host, as a library for each layout.
pub struct Emulation {
    libraries: [Library; 2],
    /// Random order of threads. A library runs one block at a time.
    order: Mutex<Rng>,
    shared_bytes_max: u32,
}

/// `Launch` of `emulation/kernels.cpp`.
#[repr(C)]
struct Launch {
    blocks: u32,
    threads: u32,
    shared_bytes: u32,
    padding: u32,
    order: u64,
}

type Emulate = unsafe extern "C" fn(*const Launch, *const c_void) -> bool;

#[derive(PartialEq, Eq, Debug)]
pub enum Stopped {
    /// The threads of a block wait for each other.
    Deadlock(Kernel),
    /// A block needs more shared memory than available.
    SharedMemory(Kernel),
}

impl Display for Stopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Stopped::Deadlock(kernel) => write!(f, "threads of {} wait for each other", kernel.name()),
            Stopped::SharedMemory(kernel) => write!(f, "{} has too much shared memory", kernel.name()),
        }
    }
}

impl std::error::Error for Stopped {}

/// 128-bit words are aligned for all kernels.
pub struct HostMemory(RefCell<Vec<u128>>);

impl Memory for HostMemory {
    fn address(&self) -> u64 {
        self.0.borrow_mut().as_mut_ptr() as u64
    }
}

type Compiled = [Vec<u8>; 2];

impl Emulation {
    /// Compiles the kernels once per process. `None` without a C++ compiler.
    pub fn built() -> Option<Emulation> {
        static COMPILED: OnceLock<Option<Compiled>> = OnceLock::new();
        COMPILED.get_or_init(|| compile("-O1", "batch.h", "", "")).as_ref().map(Self::loaded)
    }

    /// Compiles the kernels after the text `right` of a source is replaced by `wrong`.
    pub fn changed(optimisation: &str, file: &str, right: &str, wrong: &str) -> Option<Emulation> {
        compile(optimisation, file, right, wrong).as_ref().map(Self::loaded)
    }

    /// Loads separate libraries, because a library runs one block at a time.
    fn loaded(compiled: &Compiled) -> Emulation {
        let folder = tempfile::tempdir().unwrap();
        // The folder removes the files; the libraries stay mapped.
        let libraries =
            [("libpacked.so", &compiled[0]), ("libwide.so", &compiled[1])].map(|(name, bytes)| {
                let path = folder.path().join(name);
                fs::write(&path, bytes).unwrap();
                // SAFETY: a library built above, without effects at load time.
                unsafe { Library::new(&path) }.unwrap()
            });
        Emulation { libraries, order: Mutex::new(Rng::with_seed(1)), shared_bytes_max: 227 << 10 }
    }
}

/// Compiles both layouts in parallel.
fn compile(optimisation: &str, file: &str, right: &str, wrong: &str) -> Option<Compiled> {
    let folder = tempfile::tempdir().unwrap();
    for part in ["emulation", "kernels"] {
        let from = Path::new(env!("CARGO_MANIFEST_DIR")).join(part);
        fs::create_dir(folder.path().join(part)).unwrap();
        for entry in fs::read_dir(from).unwrap() {
            let entry = entry.unwrap();
            let mut text = fs::read_to_string(entry.path()).unwrap();
            if entry.file_name() == file {
                assert!(text.contains(right), "{file} has no {right}");
                text = text.replacen(right, wrong, 1);
            }
            fs::write(folder.path().join(part).join(entry.file_name()), text).unwrap();
        }
    }
    let compiler = |name: &str, define: &[&str]| {
        let mut compiler = Command::new("c++");
        compiler.args(["-std=c++17", optimisation, "-Wall", "-Wextra", "-Wno-unknown-pragmas", "-fPIC"]);
        // Jumps between stacks are intended.
        compiler.args(["-shared", "-U_FORTIFY_SOURCE"]).args(define);
        compiler.current_dir(folder.path()).args(["emulation/kernels.cpp", "emulation/simt.cpp", "-o", name]);
        compiler.stderr(Stdio::piped()).spawn()
    };
    let running = [compiler("packed", &[]), compiler("wide", &["-DWIDE"])];
    let compiled = running.map(|compiler| {
        let output = compiler.ok()?.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Some(())
    });
    if compiled != [Some(()); 2] {
        leave_out("no c++", "`apt-get install g++`");
        return None;
    }
    Some(["packed", "wide"].map(|name| fs::read(folder.path().join(name)).unwrap()))
}

impl Emulation {
    /// Limits the shared memory of a block. The default is that of an H100.
    pub fn limited(&mut self, bytes: u32) {
        self.shared_bytes_max = bytes;
    }

    pub fn hash(&self, layout: Layout, words: &[u64], seed: u64) -> u64 {
        assert_eq!(words.len(), layout.envelope_words());
        let library = &self.libraries[usize::from(layout == Layout::Wide)];
        // SAFETY: the function's signature. It only reads an envelope.
        unsafe {
            let hash = library.get::<extern "C" fn(*const u64, u64) -> u64>(b"emulated_hash");
            hash.expect("it is there")(words.as_ptr(), seed)
        }
    }

    /// Number of votes, shuffles, barriers and atomic operations of all threads.
    pub fn steps(&self) -> u64 {
        let of = |library: &Library| {
            // SAFETY: the function's signature. It reads a number while no kernel runs.
            unsafe { library.get::<extern "C" fn() -> u64>(b"emulated_steps").expect("it is there")() }
        };
        let _nobody_runs = self.order.lock().unwrap_or_else(PoisonError::into_inner);
        self.libraries.iter().map(of).sum()
    }
}

impl Machine for Emulation {
    type Error = Stopped;
    type Memory = HostMemory;

    fn allocate(&self, bytes: usize) -> Result<HostMemory, Stopped> {
        Ok(HostMemory(RefCell::new(vec![0; bytes.div_ceil(16)])))
    }

    fn write(&self, memory: &mut HostMemory, bytes: &[u8]) -> Result<(), Stopped> {
        bytemuck::cast_slice_mut(&mut memory.0.borrow_mut())[..bytes.len()].copy_from_slice(bytes);
        Ok(())
    }

    fn read(&self, memory: &HostMemory, bytes: &mut [u8]) -> Result<(), Stopped> {
        bytes.copy_from_slice(&bytemuck::cast_slice(&memory.0.borrow())[..bytes.len()]);
        Ok(())
    }

    unsafe fn launch<A: Copy>(
        &self,
        kernel: Kernel,
        layout: Layout,
        grid: Grid,
        arguments: &A,
    ) -> Result<(), Stopped> {
        if kernel.shared_bytes(grid.threads, layout) > self.shared_bytes_max {
            return Err(Stopped::SharedMemory(kernel));
        }
        let mut order = self.order.lock().unwrap_or_else(PoisonError::into_inner);
        let library = &self.libraries[usize::from(layout == Layout::Wide)];
        let launch = Launch {
            blocks: grid.blocks,
            threads: grid.threads,
            shared_bytes: kernel.shared_bytes(grid.threads, layout),
            padding: 0,
            order: order.u64(..),
        };
        let name = format!("emulate_{}", kernel.name());
        // SAFETY: the function's signature. The caller guarantees the arguments.
        let ended = unsafe {
            let emulate =
                library.get::<Emulate>(name.as_bytes()).expect("there is a function for each kernel");
            emulate(&raw const launch, std::ptr::from_ref(arguments).cast())
        };
        if ended { Ok(()) } else { Err(Stopped::Deadlock(kernel)) }
    }

    fn shared_bytes_max(&self) -> u32 {
        self.shared_bytes_max
    }

    fn multiprocessors(&self) -> u32 {
        2
    }
}
