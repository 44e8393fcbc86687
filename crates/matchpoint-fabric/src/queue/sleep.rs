//! Waiting in a completion queue (`fi_cq_sread`, `fi_cq_sreadfrom`). The thread sleeps in the core provider, but only
//! while the provider has no completions.

use std::ffi::{c_int, c_void};
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::{BATCH, CoreEntries, Queue, QueueData};
use crate::abi::{Addr, FidCq, errno};
use crate::lock;
use crate::patch::{data_at, original_table};

pub unsafe extern "C" fn wait_read(
    fid: *mut FidCq,
    buf: *mut c_void,
    count: usize,
    condition: *const c_void,
    timeout: c_int,
) -> isize {
    // SAFETY: the application's arguments obey libfabric's rules.
    unsafe { wait_read_from(fid, buf, count, ptr::null_mut(), condition, timeout) }
}

pub unsafe extern "C" fn wait_read_from(
    fid: *mut FidCq,
    buf: *mut c_void,
    count: usize,
    sources: *mut Addr,
    condition: *const c_void,
    timeout: c_int,
) -> isize {
    // SAFETY: the application passes an open queue. This thread does not hold the lock yet.
    let Some(core) = (unsafe { original_table((*fid).ops) }).sreadfrom else {
        return -(errno::ENOSYS as isize);
    };
    let end = u64::try_from(timeout).ok().map(|ms| Instant::now() + Duration::from_millis(ms));
    loop {
        // The provider's completions are read first: the core provider may wake the thread for such a
        // completion. SAFETY: the application's arguments.
        let (read, is_locked) = unsafe {
            let guard = lock::acquire((*fid).ops);
            (Queue::read(fid, buf, count, sources), guard.is_some())
        };
        let left = end.map(|end| end.saturating_duration_since(Instant::now()));
        // SAFETY: the application passes an open queue.
        if read != -(errno::EAGAIN as isize) || left == Some(Duration::ZERO) || unsafe { take_signal(fid) } {
            return read;
        }
        if is_locked {
            // A sleep under the lock would block all other threads.
            std::thread::yield_now();
            continue;
        }
        // SAFETY: the application passes an open queue.
        let is_longest = unsafe { Queue::of(fid) }.has_longest_entries();
        let mut entries = CoreEntries::new();
        let (to, most, core_sources) = if is_longest {
            (buf, count, sources)
        } else {
            let (to, core_sources) = entries.buffer_pointers();
            (to, count.min(BATCH), core_sources)
        };
        // SAFETY: the application's arguments, or a buffer for `most` entries. The core provider has returned
        // `read` entries.
        return unsafe {
            let read = core(fid, to, most, core_sources, condition, timeout);
            // Next to a completion, the core provider has consumed a pending signal.
            take_signal(fid);
            let queue = Queue::of(fid);
            let mut output = queue.read_buffer(buf, count, sources);
            match is_longest {
                true => queue.extract_truncated(read, buf, sources),
                false => entries.copy_to(read, queue, &mut output),
            }
        };
    }
}

/// Wakes the sleeping thread. The call of that thread may continue here.
pub unsafe extern "C" fn signal(fid: *mut FidCq) -> c_int {
    // SAFETY: the application passes an open queue.
    unsafe {
        // The flag is set before the sleeping thread wakes and reads the flag.
        is_signaled(fid).store(true, Ordering::Release);
        original_table((*fid).ops).signal.expect("only what is there is exchanged")(fid)
    }
}

/// The swap pairs with the store in [`signal`].
unsafe fn take_signal(fid: *mut FidCq) -> bool {
    // SAFETY: guaranteed by the caller: an open queue.
    unsafe { is_signaled(fid) }.swap(false, Ordering::Acquire)
}

/// The flag is the only field that threads share. Another thread may have a reference to the queue.
unsafe fn is_signaled<'a>(fid: *mut FidCq) -> &'a AtomicBool {
    // SAFETY: guaranteed by the caller: an open queue.
    unsafe { &(*data_at::<QueueData, _>((*fid).ops)).is_signaled }
}

#[cfg(test)]
mod tests;
