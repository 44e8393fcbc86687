//! Waiting in a queue (`fi_cq_sread` and its like): asleep in the core, but not through what is ours to say or to do.

use std::ffi::{c_int, c_void};
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::{AT_ONCE, Beside, Entries, Queue};
use crate::abi::{Addr, FidCq, errno};
use crate::lock;
use crate::patch::{below, owner_at};

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
    // SAFETY: the application's call on an open queue. Nobody holds the lock yet, if there is one.
    let Some(core) = (unsafe { below((*fid).ops) }).sreadfrom else {
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
        // SAFETY: as above.
        if read != -(errno::EAGAIN as isize) || left == Some(Duration::ZERO) || unsafe { take_signal(fid) } {
            return read;
        }
        if is_locked {
            // To sleep in the core with the lock held would keep all others from work.
            std::thread::yield_now();
            continue;
        }
        // SAFETY: as above.
        let is_longest = unsafe { Queue::of(fid) }.has_longest_entries();
        let mut entries = Entries::new();
        let (to, most, froms) = if is_longest {
            (buf, count, sources)
        } else {
            let (to, froms) = entries.room();
            (to, count.min(AT_ONCE), froms)
        };
        // SAFETY: the application's arguments, passed on, or room for as many entries.
        let read = unsafe { core(fid, to, most, froms, condition, timeout) };
        // SAFETY: as above. If there was a signal, the core has taken it, too.
        unsafe { take_signal(fid) };
        // SAFETY: as above; the core is done, and has delivered so many.
        return unsafe {
            let queue = Queue::of(fid);
            let mut room = queue.room(buf, count, sources);
            match is_longest {
                true => queue.take_errors(read, buf, sources),
                false => entries.put(read, queue, &mut room),
            }
        };
    }
}

/// `fi_cq_signal`. The core wakes who sleeps in it, and that may not be the end of a call here.
pub unsafe extern "C" fn signal(fid: *mut FidCq) -> c_int {
    // SAFETY: the application's call on an open queue, passed on.
    unsafe {
        // Before whoever sleeps looks.
        is_signaled(fid).store(true, Ordering::Release);
        below((*fid).ops).signal.expect("only what is there is exchanged")(fid)
    }
}

/// Whether there was a signal since the last one was taken. Its partner is in [`signal`].
unsafe fn take_signal(fid: *mut FidCq) -> bool {
    // SAFETY: the caller's: an open queue.
    unsafe { is_signaled(fid) }.swap(false, Ordering::Acquire)
}

/// The one part that threads share: another may refer to the queue meanwhile.
unsafe fn is_signaled<'a>(fid: *mut FidCq) -> &'a AtomicBool {
    // SAFETY: the caller's: an open queue.
    unsafe { &(*owner_at::<Beside, _>((*fid).ops)).is_signaled }
}

#[cfg(test)]
mod tests;
