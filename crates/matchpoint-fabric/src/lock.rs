//! One lock for all that is in a domain, for applications that call from several threads at once (`FI_THREAD_SAFE`).
//!
//! The core holds locks of its own while it asks us about a message, and would take them again when we tell it to start
//! one: an owner outside of it cannot get the order right. So such a core is opened for one thread at a time
//! (`FI_THREAD_DOMAIN`), and that is what this sees to. Every function of every object in the domain waits for the lock;
//! where the application itself calls from one thread, there is none, and nothing in its way.

use std::sync::Arc;

use parking_lot::{ReentrantMutex, ReentrantMutexGuard};

use crate::patch::{Lock, Patch, Table, below, lock_of};

/// Held until it is dropped; nothing where there is no lock.
pub type Guard<'a> = Option<ReentrantMutexGuard<'a, ()>>;

/// A new one.
pub fn new() -> Lock {
    Some(Arc::new(ReentrantMutex::new(())))
}

/// A table whose functions can be made to wait for the lock.
pub trait Lockable: Table {
    /// Exchanges all that are there for such as wait, and then call what was there.
    fn wait_for_lock(&mut self);
}

/// Waits for the lock of the patch whose table this is. `None`: there is none.
///
/// # Safety
/// `table` is a patch's table, alive until the guard is gone.
#[inline]
pub unsafe fn wait<'a, T: Table>(table: *const T) -> Guard<'a> {
    // SAFETY: the caller's; the patch holds the lock.
    unsafe { lock_of(table) }.map(ReentrantMutex::lock)
}

/// The same, and the table that was there before.
///
/// # Safety
/// As [`wait`].
#[inline]
pub unsafe fn enter<'a, T: Table>(table: *const T) -> (Guard<'a>, &'a T) {
    // SAFETY: the caller's.
    unsafe { (wait(table), below(table)) }
}

/// Makes all functions of a table of the core's wait. `None`: no memory, or there is nothing to wait for.
///
/// # Safety
/// That of [`Patch::new`]; a table may be absent.
pub unsafe fn all_of<T: Lockable>(slot: *mut *mut T, lock: &Lock) -> Option<Patch<T>> {
    // SAFETY: the caller's.
    if lock.is_none() || unsafe { (*slot).is_null() } {
        return None;
    }
    // SAFETY: the caller's. The functions look for no owner.
    let mut patch = unsafe { Patch::new(slot, std::ptr::null_mut(), lock) }?;
    patch.table().wait_for_lock();
    patch.install();
    Some(patch)
}
