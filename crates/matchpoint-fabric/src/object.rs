//! Provider data of a core object, allocated after the object opens and freed after the object closes.

use std::ffi::{c_int, c_void};

use crate::abi::{Fid, Ops, errno};
use crate::patch::{Patch, data, shared_lock};

pub trait Object: Sized {
    fn fid_ops(&self) -> &Patch<Ops>;

    fn set_installed(&mut self, is_installed: bool);
}

/// Allocates an object without installing its patched tables. `make` receives the address, because patches
/// point to their data. Returns `None` if `make` had no memory.
pub fn allocate<O>(make: impl FnOnce(*mut c_void) -> Option<O>) -> Option<*mut O> {
    let address = Box::into_raw(Box::<O>::new_uninit());
    let Some(object) = make(address.cast()) else {
        // SAFETY: the memory was just allocated and contains no object yet.
        drop(unsafe { Box::from_raw(address) });
        return None;
    };
    // SAFETY: the object was just allocated.
    unsafe { (*address).write(object) };
    Some(address.cast())
}

/// Finishes the open call of a core object. Without patches, closes the object and returns `-FI_ENOMEM`.
///
/// # Safety
/// The object is open and has the core provider's tables. The application does not have the object yet.
pub unsafe fn finish_open(fid: *mut Fid, attached: Option<()>) -> c_int {
    if attached.is_some() {
        return errno::SUCCESS;
    }
    // SAFETY: guaranteed by the caller.
    unsafe { (*(*fid).ops).close.map(|close| close(fid)) };
    -errno::ENOMEM
}

/// Closes an object and frees its provider data. If the core provider fails to close, both stay unchanged.
pub unsafe extern "C" fn close<O: Object>(fid: *mut Fid) -> c_int {
    // SAFETY: the application calls through a table of an `O` that `allocate` made. The lock outlives the patch. After
    // the core provider closes the object, no reference to the data remains.
    unsafe {
        let (lock, this): (_, *mut O) = (shared_lock((*fid).ops), data((*fid).ops));
        let _guard = lock.as_ref().map(|lock| lock.lock());
        (*this).set_installed(false);
        let rc = (*this).fid_ops().core().close.expect("every object can be closed")(fid);
        if rc == errno::SUCCESS {
            drop(Box::from_raw(this));
        } else {
            (*this).set_installed(true);
        }
        rc
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::ptr;

    use super::*;

    thread_local! {
        static CLOSED: Cell<usize> = const { Cell::new(0) };
    }

    unsafe extern "C" fn close_core(_: *mut Fid) -> c_int {
        CLOSED.set(CLOSED.get() + 1);
        errno::SUCCESS
    }

    #[test]
    fn open_without_memory_closes_object() {
        // SAFETY: zeros are a table without functions.
        let mut ops: Ops = unsafe { std::mem::zeroed() };
        ops.close = Some(close_core);
        let mut fid = Fid { class: 0, context: ptr::null_mut(), ops: &raw mut ops };
        // SAFETY: the object has a close function, and no other users.
        unsafe {
            assert_eq!((finish_open(&raw mut fid, Some(())), CLOSED.get()), (errno::SUCCESS, 0));
            assert_eq!((finish_open(&raw mut fid, None), CLOSED.get()), (-errno::ENOMEM, 1));
        }
    }
}
