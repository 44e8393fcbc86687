//! The kernels compiled for this host, where a block's threads run in an order drawn at random between the points at which
//! they meet: `emulation/`.
#![allow(unsafe_code)]

use std::fs;
use std::path::Path;
use std::process::Command;
use std::ptr;

use libloading::Library;
use matchpoint_gpu::Kernel;
use matchpoint_gpu::layout::{Message, NONE, Receive, Segment};
use matchpoint_gpu::partition::Partition;
use tempfile::TempDir;

/// The library, and the folder that it lies in.
pub struct Emulation {
    library: Library,
    _folder: TempDir,
}

/// How a kernel is run, and what all are given: `Launch` of `emulation/kernels.cpp`.
#[repr(C)]
struct Launch {
    blocks: u32,
    threads: u32,
    shared_bytes: u32,
    seed: u32,
    order: u64,
    messages: *const Message,
    receives: *const Receive,
    message_count: u32,
    receive_count: u32,
    matched: *mut u32,
}

type Matrix = unsafe extern "C" fn(*const Launch, *const u32, *const u32, *const Segment) -> bool;
type Hash = unsafe extern "C" fn(*const Launch, *mut u32, u32, *mut u32, *mut u32) -> bool;
type Ordered = unsafe extern "C" fn(*const Launch, *mut [u32; 4], u32, *mut u32, *mut u32, *mut u32) -> bool;

impl Emulation {
    /// Compiles it: none where there is no C++ compiler, and nobody asked that there be one.
    pub fn built() -> Option<Emulation> {
        Self::changed("batch.h", "", "")
    }

    /// The same, with a mistake: something in a kernel's source replaced.
    pub fn changed(file: &str, right: &str, wrong: &str) -> Option<Emulation> {
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
        let path = folder.path().join("libkernels.so");
        let emulation = folder.path().join("emulation");
        let mut compiler = Command::new("c++");
        compiler.args(["-std=c++17", "-O1", "-Wall", "-Wextra", "-fPIC", "-shared"]);
        compiler.arg(emulation.join("kernels.cpp")).arg(emulation.join("simt.cpp")).arg("-o").arg(&path);
        let output = match compiler.output() {
            Err(_) if std::env::var_os("MATCHPOINT_REQUIRE_C").is_none() => return None,
            output => output.expect("c++ runs"),
        };
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        // SAFETY: it was made a moment ago, and does nothing as it is loaded.
        let library = unsafe { Library::new(&path) }.unwrap();
        Some(Emulation { library, _folder: folder })
    }

    /// Runs `kernel` on a batch, by so many blocks of threads that run in an order drawn from `order`: for each receive the
    /// message that it gets.
    fn run(
        &self,
        kernel: Kernel,
        (messages, receives): (&[Message], &[Receive]),
        (blocks, threads): (usize, u32),
        order: u64,
        call: impl Fn(&Library, &Launch) -> bool,
    ) -> Vec<u32> {
        // Neither a message nor none: whatever is not written shows.
        let mut matched = vec![NONE - 7; receives.len()];
        let launch = Launch {
            blocks: blocks as u32,
            threads,
            shared_bytes: kernel.shared_bytes(threads),
            seed: order as u32,
            order,
            messages: messages.as_ptr(),
            receives: receives.as_ptr(),
            message_count: messages.len() as u32,
            receive_count: receives.len() as u32,
            matched: matched.as_mut_ptr(),
        };
        assert!(call(&self.library, &launch), "threads wait for each other");
        matched
    }

    /// By the matrix, in one block.
    pub fn matrix(&self, messages: &[Message], receives: &[Receive], threads: u32, order: u64) -> Vec<u32> {
        let whole = Segment {
            message: 0,
            message_end: messages.len() as u32,
            receive: 0,
            receive_end: receives.len() as u32,
        };
        self.run(Kernel::Matrix, (messages, receives), (1, threads), order, |library, launch| {
            // SAFETY: the function's signature; every pointer is to as much as the kernel is told.
            unsafe {
                let matrix = library.get::<Matrix>(b"emulate_matrix").unwrap();
                matrix(launch, ptr::null(), ptr::null(), &whole)
            }
        })
    }

    /// By the matrix, in a block for each segment.
    pub fn partitioned(
        &self,
        messages: &[Message],
        receives: &[Receive],
        partition: &Partition,
        threads: u32,
        order: u64,
    ) -> Vec<u32> {
        let Partition { message_order, receive_order, segments } = partition;
        let blocks = (segments.len(), threads);
        self.run(Kernel::Matrix, (messages, receives), blocks, order, |library, launch| {
            // SAFETY: as above; the orders are of all messages and receives.
            unsafe {
                let matrix = library.get::<Matrix>(b"emulate_matrix").unwrap();
                matrix(launch, message_order.as_ptr(), receive_order.as_ptr(), segments.as_ptr())
            }
        })
    }

    /// By hashing, without order.
    pub fn hash(&self, messages: &[Message], receives: &[Receive], threads: u32, order: u64) -> Vec<u32> {
        let secondary = (receives.len() / 4).max(1);
        self.run(Kernel::Hash, (messages, receives), (1, threads), order, |library, launch| {
            let mut table = vec![7; 6 * secondary];
            let (mut placed, mut done) = (vec![7; receives.len()], vec![7; messages.len()]);
            // SAFETY: as above; the tables are as long as the kernel asks.
            unsafe {
                let hash = library.get::<Hash>(b"emulate_hash").unwrap();
                hash(launch, table.as_mut_ptr(), secondary as u32, placed.as_mut_ptr(), done.as_mut_ptr())
            }
        })
    }

    /// By numbers within each envelope.
    pub fn ordered(&self, messages: &[Message], receives: &[Receive], threads: u32, order: u64) -> Vec<u32> {
        let entries = messages.len() + receives.len();
        let slots = entries + entries / 2 + 1;
        self.run(Kernel::Ordered, (messages, receives), (1, threads), order, |library, launch| {
            let mut table = vec![[7; 4]; slots];
            let [mut slot_of, mut number, mut queued] =
                [entries, entries, receives.len()].map(|length| vec![7; length]);
            // SAFETY: as above.
            unsafe {
                let ordered = library.get::<Ordered>(b"emulate_ordered").unwrap();
                let (table, slot_of) = (table.as_mut_ptr(), slot_of.as_mut_ptr());
                ordered(launch, table, slots as u32, slot_of, number.as_mut_ptr(), queued.as_mut_ptr())
            }
        })
    }
}
