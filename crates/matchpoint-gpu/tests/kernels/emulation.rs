//! The kernels compiled for this host, where a block's threads run in an order drawn at random between the points at which
//! they meet: `emulation/`.
#![allow(unsafe_code)]

use std::fs;
use std::path::Path;
use std::process::Command;
use std::ptr;

use libloading::Library;
use matchpoint_gpu::layout::{Message, NONE, Receive, Segment};
use matchpoint_gpu::partition::Partition;
use tempfile::TempDir;

/// The library, and the folder that it lies in.
pub struct Emulation {
    library: Library,
    _folder: TempDir,
}

type Matrix = unsafe extern "C" fn(
    u32,
    u32,
    u64,
    *const Message,
    *const u32,
    *const Receive,
    *const u32,
    *const Segment,
    *mut u32,
) -> bool;
type Hash = unsafe extern "C" fn(
    u32,
    u64,
    *const Message,
    u32,
    *const Receive,
    u32,
    u32,
    *mut u32,
    u32,
    *mut u32,
    *mut u32,
    *mut u32,
) -> bool;
type Ordered = unsafe extern "C" fn(
    u32,
    u64,
    *const Message,
    u32,
    *const Receive,
    u32,
    u32,
    *mut [u32; 4],
    u32,
    *mut u32,
    *mut u32,
    *mut u32,
    *mut u32,
) -> bool;

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

    /// For each receive the message that it gets.
    pub fn matrix(&self, messages: &[Message], receives: &[Receive], threads: u32, order: u64) -> Vec<u32> {
        let whole = Segment {
            message: 0,
            message_end: messages.len() as u32,
            receive: 0,
            receive_end: receives.len() as u32,
        };
        let mut matched = vec![NONE - 7; receives.len()];
        // SAFETY: the kernel's signature; every pointer is to as much as the kernel is told.
        let ended = unsafe {
            let matrix = self.library.get::<Matrix>(b"emulate_matrix").unwrap();
            let (messages, receives) = (messages.as_ptr(), receives.as_ptr());
            matrix(
                1,
                threads,
                order,
                messages,
                ptr::null(),
                receives,
                ptr::null(),
                &whole,
                matched.as_mut_ptr(),
            )
        };
        assert!(ended, "threads wait for each other");
        matched
    }

    /// The same, with a block for each segment.
    pub fn partitioned(
        &self,
        messages: &[Message],
        receives: &[Receive],
        partition: &Partition,
        threads: u32,
        order: u64,
    ) -> Vec<u32> {
        let mut matched = vec![NONE - 7; receives.len()];
        // SAFETY: as above; the orders have as many indices as there are messages and receives, and within these.
        let ended = unsafe {
            let matrix = self.library.get::<Matrix>(b"emulate_matrix").unwrap();
            matrix(
                partition.segments.len() as u32,
                threads,
                order,
                messages.as_ptr(),
                partition.message_order.as_ptr(),
                receives.as_ptr(),
                partition.receive_order.as_ptr(),
                partition.segments.as_ptr(),
                matched.as_mut_ptr(),
            )
        };
        assert!(ended, "threads wait for each other");
        matched
    }

    /// The same, by hashing, without order.
    pub fn hash(&self, messages: &[Message], receives: &[Receive], threads: u32, order: u64) -> Vec<u32> {
        let secondary = (receives.len() as u32 / 4).max(1);
        let mut table = vec![0; 6 * secondary as usize];
        let (mut placed, mut done) = (vec![7; receives.len()], vec![7; messages.len()]);
        let mut matched = vec![NONE - 7; receives.len()];
        // SAFETY: as above; the tables are as long as the kernel's documentation asks.
        let ended = unsafe {
            let hash = self.library.get::<Hash>(b"emulate_hash").unwrap();
            hash(
                threads,
                order,
                messages.as_ptr(),
                messages.len() as u32,
                receives.as_ptr(),
                receives.len() as u32,
                order as u32,
                table.as_mut_ptr(),
                secondary,
                placed.as_mut_ptr(),
                done.as_mut_ptr(),
                matched.as_mut_ptr(),
            )
        };
        assert!(ended, "threads wait for each other");
        matched
    }

    /// The same, by numbers within each envelope.
    pub fn ordered(&self, messages: &[Message], receives: &[Receive], threads: u32, order: u64) -> Vec<u32> {
        let entries = messages.len() + receives.len();
        let slots = entries + entries / 2 + 1;
        let mut table = vec![[7; 4]; slots];
        let (mut slot_of, mut number) = (vec![7; entries], vec![7; entries]);
        let mut queued = vec![7; receives.len()];
        let mut matched = vec![NONE - 7; receives.len()];
        // SAFETY: as above.
        let ended = unsafe {
            let ordered = self.library.get::<Ordered>(b"emulate_ordered").unwrap();
            ordered(
                threads,
                order,
                messages.as_ptr(),
                messages.len() as u32,
                receives.as_ptr(),
                receives.len() as u32,
                order as u32,
                table.as_mut_ptr(),
                slots as u32,
                slot_of.as_mut_ptr(),
                number.as_mut_ptr(),
                queued.as_mut_ptr(),
                matched.as_mut_ptr(),
            )
        };
        assert!(ended, "threads wait for each other");
        matched
    }
}
