//! The lock of a domain, for applications that call from several threads (`FI_THREAD_SAFE`).
//!
//! The core provider holds its locks while it requests a receive, and acquires the locks again when it starts
//! a message. An outside owner cannot acquire these locks in the right order. The core provider is therefore
//! opened with `FI_THREAD_DOMAIN`, and every function of every object in the domain acquires this lock. An
//! application that serializes its calls has no lock.

use std::sync::Arc;

use parking_lot::{ReentrantMutex, ReentrantMutexGuard};

use crate::patch::{Lock, Patch, Table, lock_of, original_table};

/// Holds the lock until the guard is dropped. `None` if the domain has no lock.
pub type Guard<'a> = Option<ReentrantMutexGuard<'a, ()>>;

pub fn new() -> Lock {
    Some(Arc::new(ReentrantMutex::new(())))
}

pub trait Lockable: Table {
    fn add_locking(&mut self);
}

/// Returns `None` if the domain has no lock.
///
/// # Safety
/// `table` is a patched table that outlives the guard.
#[inline]
pub unsafe fn acquire<'a, T: Table>(table: *const T) -> Guard<'a> {
    // SAFETY: guaranteed by the caller. The patch holds the lock.
    unsafe { lock_of(table) }.map(ReentrantMutex::lock)
}

/// # Safety
/// The conditions of [`acquire`].
#[inline]
pub unsafe fn enter<'a, T: Table>(table: *const T) -> (Guard<'a>, &'a T) {
    // SAFETY: guaranteed by the caller.
    unsafe { (acquire(table), original_table(table)) }
}

/// Makes all functions of a core table acquire the lock. Returns `None` without memory, lock or table.
///
/// # Safety
/// As for [`Patch::new`], but the table may be absent.
pub unsafe fn lock_table<T: Lockable>(slot: *mut *mut T, lock: &Lock) -> Option<Patch<T>> {
    // SAFETY: guaranteed by the caller.
    if lock.is_none() || unsafe { (*slot).is_null() } {
        return None;
    }
    // SAFETY: guaranteed by the caller. The functions do not use the data.
    let mut patch = unsafe { Patch::new(slot, std::ptr::null_mut(), lock) }?;
    patch.table().add_locking();
    patch.install();
    Some(patch)
}
