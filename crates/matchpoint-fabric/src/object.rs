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
