//! Waiting in a queue (`fi_cq_sread` and its like): asleep in the core, but not through what is ours to say or to do.

use std::ffi::{c_int, c_void};
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::{Beside, Entries, Queue};
use crate::abi::{Addr, FidCq, errno};
use crate::layered::FrontEnd;
use crate::lock;
use crate::patch::{below, owner_at};

/// Milliseconds that are slept at once in the core where something may happen of which this queue does not tell.
const NAP_MS: c_int = 1;

/// And where a peer may owe an answer, which has died.
const OWED_MS: c_int = 100;

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
        let queue = unsafe { Queue::of(fid) };
        if !queue.is_sorted_out() {
            // SAFETY: the application's arguments, passed on. If there was a signal, the core has taken it, too.
            return unsafe {
                let read = core(fid, buf, count, sources, condition, timeout);
                take_signal(fid);
                read
            };
        }
        let mut room = queue.room(buf, count, sources);
        let mut left = left.map_or(-1, |left| c_int::try_from(left.as_millis()).unwrap_or(c_int::MAX).max(1));
        // SAFETY: as above.
        if unsafe { Queue::progress_others(fid) || Queue::of(fid).has_front_end_that(FrontEnd::is_waiting) } {
            left = NAP_MS;
        // SAFETY: as above.
        } else if unsafe { Queue::of(fid).has_front_end_that(FrontEnd::may_be_owed) }
            && !(0..OWED_MS).contains(&left)
        {
            left = OWED_MS;
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
