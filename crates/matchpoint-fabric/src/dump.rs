//! A list of the queues' entries, written after a signal, for jobs that hang.
//!
//! The signal handler only counts requests, because the queues belong to the application's threads. The next
//! read of a completion queue appends the entries of its endpoints. A process that waits for a message reads
//! its completion queue continuously.

use std::ffi::c_int;
use std::fmt::Write as _;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use matchpoint::Queue;
use matchpoint_process::report;

use crate::abi::ADDR_UNSPEC;
use crate::criteria::Criteria;
use crate::matching::Matching;
use crate::settings::settings;

const LISTED_MAX: u64 = 1000;

/// Relaxed order suffices, because the counter publishes no other data.
static REQUESTS: AtomicU32 = AtomicU32::new(0);

#[inline]
pub fn request_count() -> u32 {
    REQUESTS.load(Relaxed)
}

extern "C" fn on_signal(_: c_int) {
    REQUESTS.fetch_add(1, Relaxed);
}

/// Installs the signal handler, unless the application handles this signal.
pub fn install_handler() {
    let Some(signal) = settings().signal else { return };
    // SAFETY: an all-zero handler is valid and has no flags. The handler only counts. An existing handler is
    // restored.
    unsafe {
        let mut before: libc::sigaction = std::mem::zeroed();
        let mut handler: libc::sigaction = std::mem::zeroed();
        handler.sa_sigaction = on_signal as extern "C" fn(c_int) as libc::sighandler_t;
        handler.sa_flags = libc::SA_RESTART;
        let rc = libc::sigaction(signal, &raw const handler, &raw mut before);
        if rc != 0 {
            return;
        }
        if before.sa_sigaction != libc::SIG_DFL {
            libc::sigaction(signal, &raw const before, std::ptr::null_mut());
            return;
        }
    }
    append("");
}

/// Appends to a file next to this process's report. Only a process with this file gets the signal.
pub fn append(text: &str) {
    let Some(folder) = &matchpoint_process::settings().report else { return };
    let path = folder.join(format!("queues-{}.txt", report::process_name()));
    if let Ok(mut file) = OpenOptions::new().create(true).append(true).open(path) {
        // Without the list, the job continues.
        let _ = file.write_all(text.as_bytes());
    }
}

pub struct EntryDescription {
    pub criteria: Criteria,
    /// Bytes of the receive's buffers, or of the message.
    pub bytes: usize,
}

/// Appends all entries of both queues, oldest first. `describe` returns the description of an entry.
pub fn append_queues(text: &mut String, matching: &Matching, describe: impl Fn(u64) -> EntryDescription) {
    let (posted, unexpected) = (matching.tally().posted_now, matching.tally().unexpected_now);
    let engine = &matchpoint_process::settings().engine;
    let _ = writeln!(
        text,
        "endpoint (peer, {engine}): {posted} receives posted, {unexpected} messages unexpected; addresses and tags are \
         libfabric's, with the MPI library's own in them"
    );
    for (queue, name) in [(Queue::Posted, "receive"), (Queue::Unexpected, "message")] {
        let mut number = 0;
        matching.visit(queue, |id| {
            number += 1;
            if number > LISTED_MAX {
                return;
            }
            let EntryDescription { criteria: Criteria { addr, tag, ignore }, bytes } = describe(id);
            let address =
                if addr == ADDR_UNSPEC { "any address".to_owned() } else { format!("address {addr}") };
            let _ = write!(text, "  {name} {number}, {address}, raw tag {tag:#x}");
            if ignore != 0 {
                let _ = write!(text, ", ignored bits {ignore:#x}");
            }
            let _ = writeln!(text, ", {bytes} bytes");
        });
        if number > LISTED_MAX {
            let _ = writeln!(text, "  and {} more {name}s", number - LISTED_MAX);
        }
    }
}
