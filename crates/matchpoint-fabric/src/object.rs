//! What is kept beside an object of the core's: made when the core has opened it, gone when the core has closed it.

use std::ffi::{c_int, c_void};

use crate::abi::{Fid, Ops, errno};
use crate::patch::{Patch, owner, shared_lock};

/// Something that owns tables of one object of the core's.
pub trait Object: Sized {
    /// The table that [`close`] is in.
    fn fid_ops(&self) -> &Patch<Ops>;

    /// The object has our tables from now on, or the core's again.
    fn put(&mut self, are_ours: bool);
}

/// Makes one, at the place that `make` is told: patches want to know their owner. Its tables are not installed yet.
/// `None`: `make` had no memory.
pub fn place<O>(make: impl FnOnce(*mut c_void) -> Option<O>) -> Option<*mut O> {
    let place = Box::into_raw(Box::<O>::new_uninit());
    let Some(object) = make(place.cast()) else {
        // SAFETY: just allocated; there is nothing in it.
        drop(unsafe { Box::from_raw(place) });
        return None;
    };
    // SAFETY: just allocated.
    unsafe { (*place).write(object) };
    Some(place.cast())
}

/// What an application is told of an object that the core has opened: that it is open, or, if there was no memory to put
/// ours before it, that it is not, and then it is not.
///
/// # Safety
/// The object is open, with the core's own tables, and the application has not seen it.
pub unsafe fn opened(fid: *mut Fid, attached: Option<()>) -> c_int {
    if attached.is_some() {
        return errno::SUCCESS;
    }
    // SAFETY: the caller's.
    unsafe { (*(*fid).ops).close.map(|close| close(fid)) };
    -errno::ENOMEM
}

/// Closes an object, and drops what was kept beside it; if the core does not close it, nothing has changed.
pub unsafe extern "C" fn close<O: Object>(fid: *mut Fid) -> c_int {
    // SAFETY: the application's call, through a table of an `O` that `place` has made. The lock outlives the patch that
    // leads to it; if the core closes the object, nobody refers to ours any more.
    unsafe {
        let (lock, this): (_, *mut O) = (shared_lock((*fid).ops), owner((*fid).ops));
        let _guard = lock.as_ref().map(|lock| lock.lock());
        (*this).put(false);
        let rc = (*this).fid_ops().core().close.expect("every object can be closed")(fid);
        if rc == errno::SUCCESS {
            drop(Box::from_raw(this));
        } else {
            (*this).put(true);
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
    fn object_without_our_wrapper_is_closed() {
        // SAFETY: zeros are absent functions.
        let mut ops: Ops = unsafe { std::mem::zeroed() };
        ops.close = Some(close_core);
        let mut fid = Fid { class: 0, context: ptr::null_mut(), ops: &raw mut ops };
        // SAFETY: an object that can be closed, of which nobody knows.
        unsafe {
            assert_eq!((opened(&raw mut fid, Some(())), CLOSED.get()), (errno::SUCCESS, 0));
            assert_eq!((opened(&raw mut fid, None), CLOSED.get()), (-errno::ENOMEM, 1));
        }
    }
}
