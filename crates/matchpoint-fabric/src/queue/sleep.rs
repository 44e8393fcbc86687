//! Waiting in a queue (`fi_cq_sread` and its like): asleep in the core, but not through what is ours to say or to do.

use std::ffi::{c_int, c_void};
use std::ptr;
use std::time::{Duration, Instant};

use super::{Entries, Queue};
use crate::abi::{Addr, FidCq, errno};
use crate::lock;

/// Milliseconds that are slept at once in the core where something may happen of which this queue does not tell.
const NAP_MS: c_int = 1;

/// `fi_cq_sread`
pub unsafe extern "C" fn wait_read(
    fid: *mut FidCq,
    buf: *mut c_void,
    count: usize,
    condition: *const c_void,
    timeout: c_int,
) -> isize {
    // SAFETY: the application's call, passed on.
    unsafe { wait_read_from(fid, buf, count, ptr::null_mut(), condition, timeout) }
}

/// `fi_cq_sreadfrom`
pub unsafe extern "C" fn wait_read_from(
    fid: *mut FidCq,
    buf: *mut c_void,
    count: usize,
    sources: *mut Addr,
    condition: *const c_void,
    timeout: c_int,
) -> isize {
    // SAFETY: the application's call on an open queue.
    let Some(core) = (unsafe { Queue::of(fid) }).ops.core().sreadfrom else {
        return -(errno::ENOSYS as isize);
    };
    let end = u64::try_from(timeout).ok().map(|ms| Instant::now() + Duration::from_millis(ms));
    loop {
        // Ours first; what the core wakes up for may be ours as well.
        // SAFETY: the application's call, passed on.
        let (read, is_locked) = unsafe {
            let guard = lock::wait((*fid).ops);
            (Queue::read(fid, buf, count, sources), guard.is_some())
        };
        let left = end.map(|end| end.saturating_duration_since(Instant::now()));
        if read != -(errno::EAGAIN as isize) || left == Some(Duration::ZERO) {
            return read;
        }
        if is_locked {
            // To sleep in the core with the lock held would keep all others from work.
            std::thread::yield_now();
            continue;
        }
        // SAFETY: as above.
        let queue = unsafe { Queue::of(fid) };
        if !queue.is_sorted_out() {
            // SAFETY: the application's arguments, passed on.
            return unsafe { core(fid, buf, count, sources, condition, timeout) };
        }
        let mut room = queue.room(buf, count, sources);
        let mut left = left.map_or(-1, |left| c_int::try_from(left.as_millis()).unwrap_or(c_int::MAX).max(1));
        // SAFETY: as above.
        if unsafe { Queue::progress_others(fid) || Queue::of(fid).is_waited_for() } {
            left = NAP_MS;
        }
        let mut entries = Entries::new();
        let (to, froms) = (entries.0.as_mut_ptr(), entries.1.as_mut_ptr());
        // SAFETY: the core's function, with room for one.
        let read = unsafe { core(fid, to.cast(), 1, froms.cast(), ptr::null(), left) };
        // SAFETY: as the core says.
        let rc = unsafe { Queue::sort_out(fid, read, &entries, &mut room) };
        if room.taken > 0 {
            return room.taken as isize;
        }
        if rc != 0 {
            return rc;
        }
    }
}
