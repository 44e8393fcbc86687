//! The C functions of the core.
//!
//! A panic aborts the process after its message, as Rust defines for `extern "C"` functions. A process with a
//! failed engine cannot keep MPI's matching order.

use std::ffi::{c_char, c_void};
use std::ptr;

use matchpoint::Queue;
use matchpoint_process::settings;

use crate::core::{Core, OutOfMemory};
use crate::interface::{
    self, CORE_MATCHED, CORE_POSTED, CORE_QUEUED, CORE_REFUSED, CORE_VERSION, CoreCounts, CoreEnvelope,
    CoreFunctions, CoreQueue, CoreResult, Each,
};

/// The target of a `struct core *`.
struct OpenCore {
    core: Core,
    counts: *const CoreCounts,
}

/// Functions for [`matchpoint_core`](crate::matchpoint_core).
pub static FUNCTIONS: CoreFunctions = CoreFunctions {
    version: CORE_VERSION,
    open,
    close,
    report,
    post,
    arrive,
    probe,
    take,
    cancel,
    visit,
    close_context,
};

unsafe extern "C" fn open(
    counts: *const CoreCounts,
    error: *mut c_char,
    capacity: usize,
) -> *mut interface::Core {
    match Core::new(&settings().engine) {
        Ok(core) => Box::into_raw(Box::new(OpenCore { core, counts })).cast(),
        Err(reason) => {
            // SAFETY: `error` has `capacity` bytes.
            unsafe { copy(&reason.to_string(), error, capacity) };
            ptr::null_mut()
        }
    }
}

/// Truncated if necessary, with a zero at the end.
///
/// # Safety
/// The buffer has `capacity` bytes.
unsafe fn copy(text: &str, buffer: *mut c_char, capacity: usize) {
    let Some(limit) = capacity.checked_sub(1) else { return };
    let mut length = text.len().min(limit);
    while !text.is_char_boundary(length) {
        length -= 1;
    }
    // SAFETY: `length` bytes and a zero fit into the buffer.
    unsafe {
        ptr::copy_nonoverlapping(text.as_ptr(), buffer.cast(), length);
        *buffer.add(length) = 0;
    }
}

unsafe extern "C" fn close(core_pointer: *mut interface::Core) {
    // SAFETY: the box is from `open`, and the shim closes it once.
    let mut open_core = unsafe { Box::from_raw(core_pointer.cast::<OpenCore>()) };
    // SAFETY: the shim's counts outlive the core.
    open_core.core.write_report(unsafe { &*open_core.counts }, false);
}

unsafe extern "C" fn report(core_pointer: *mut interface::Core) {
    // SAFETY: an open core, called by one thread at a time. Its counts outlive it.
    let (core, counts) = unsafe { (core(core_pointer), &*(*core_pointer.cast::<OpenCore>()).counts) };
    core.write_report(counts, true);
}

/// Returns the core behind a pointer.
///
/// # Safety
/// The core is open and called by one thread at a time.
#[inline]
unsafe fn core<'a>(core_pointer: *mut interface::Core) -> &'a mut Core {
    // SAFETY: `open` allocated it.
    unsafe { &mut (*core_pointer.cast::<OpenCore>()).core }
}

unsafe extern "C" fn post(
    core_pointer: *mut interface::Core,
    receive: u64,
    envelope: *const CoreEnvelope,
    message: *mut u64,
) -> CoreResult {
    // SAFETY: an open core, called by one thread at a time; the shim's envelope and output pointer.
    unsafe { write_result(core(core_pointer).post(receive, &*envelope), message) }
}

unsafe extern "C" fn arrive(
    core_pointer: *mut interface::Core,
    message: u64,
    envelope: *const CoreEnvelope,
    receive: *mut u64,
) -> CoreResult {
    // SAFETY: as in `post`.
    unsafe { write_result(core(core_pointer).arrive(message, &*envelope), receive) }
}

/// # Safety
/// `to` is valid for a write.
#[inline]
unsafe fn write_result(result: Result<Option<u64>, OutOfMemory>, to: *mut u64) -> CoreResult {
    match result {
        Ok(Some(id)) => {
            // SAFETY: guaranteed by the caller.
            unsafe { *to = id };
            CORE_MATCHED
        }
        Ok(None) => CORE_QUEUED,
        Err(OutOfMemory) => CORE_REFUSED,
    }
}

unsafe extern "C" fn probe(core_pointer: *mut interface::Core, envelope: *const CoreEnvelope) -> u64 {
    // SAFETY: as in `post`.
    unsafe { core(core_pointer).probe(&*envelope, false) }.unwrap_or(0)
}

unsafe extern "C" fn take(core_pointer: *mut interface::Core, envelope: *const CoreEnvelope) -> u64 {
    // SAFETY: as in `post`.
    unsafe { core(core_pointer).probe(&*envelope, true) }.unwrap_or(0)
}

unsafe extern "C" fn cancel(
    core_pointer: *mut interface::Core,
    receive: u64,
    envelope: *const CoreEnvelope,
) -> bool {
    // SAFETY: as in `post`.
    unsafe { core(core_pointer).cancel(receive, &*envelope) }
}

unsafe extern "C" fn visit(
    core_pointer: *mut interface::Core,
    queue: CoreQueue,
    each: Each,
    argument: *mut c_void,
) {
    let queue = if queue == CORE_POSTED { Queue::Posted } else { Queue::Unexpected };
    // SAFETY: as in `post`.
    let core = unsafe { core(core_pointer) };
    // SAFETY: the shim's function takes the shim's argument and does not call the core.
    core.visit(queue, |id| unsafe { each(argument, id) });
}

unsafe extern "C" fn close_context(core_pointer: *mut interface::Core, context: u32) {
    // SAFETY: as in `post`.
    unsafe { core(core_pointer).close_context(context) }
}
