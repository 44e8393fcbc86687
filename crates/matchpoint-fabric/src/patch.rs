//! Replaced function tables of core objects.
//!
//! To change a function, a patch installs a copy of the object's table with the function replaced. Other
//! functions cost nothing. A header before the copy holds the data. A replaced function finds the data from
//! the table of the call.

use std::alloc::Layout;
use std::ffi::c_void;
use std::ptr;
use std::sync::Arc;

use parking_lot::ReentrantMutex;

/// `None` if the application serializes its calls. The lock is reentrant, because the core provider calls
/// through its own tables.
pub type Lock = Option<Arc<ReentrantMutex<()>>>;

#[repr(C)]
struct Header {
    /// Null without a lock. The patch keeps the lock alive.
    lock: *const ReentrantMutex<()>,
    data: *mut c_void,
    original: *mut c_void,
    /// Keeps the alignment of the table.
    _padding: usize,
}

const HEADER: usize = size_of::<Header>();
/// Maximum plausible bytes of a table. libfabric's tables are much smaller.
const SIZE_MAX: usize = 4096;

/// A function table that begins with its size in bytes.
///
/// # Safety
/// `Self` is `repr(C)` and begins with a `usize`. All other fields are pointers.
pub unsafe trait Table {}

pub struct Patch<T: Table> {
    slot: *mut *mut T,
    original: *mut T,
    block: *mut u8,
    layout: Layout,
    _lock: Lock,
}

impl<T: Table> Patch<T> {
    /// Copies the table in `slot`, with `data` and `lock` in the header. The copy is not installed yet.
    /// Returns `None` if an allocation fails.
    ///
    /// # Safety
    /// `slot` points to an object's pointer to a table of this type, and stays valid as long as the patch.
    pub unsafe fn new(slot: *mut *mut T, data: *mut c_void, lock: &Lock) -> Option<Self> {
        // SAFETY: guaranteed by the caller.
        let original = unsafe { *slot };
        // SAFETY: a table begins with its size.
        let size = match unsafe { *original.cast::<usize>() } {
            size @ 1..=SIZE_MAX => size,
            _ => size_of::<T>(),
        };
        let layout = Layout::from_size_align(HEADER + size.max(size_of::<T>()), align_of::<Header>()).ok()?;
        // SAFETY: the layout is not empty. A zero entry means that a function is absent.
        let block = unsafe { std::alloc::alloc_zeroed(layout) };
        if block.is_null() {
            return None;
        }
        let shared = lock.as_ref().map_or(ptr::null(), Arc::as_ptr);
        let header = Header { lock: shared, data, original: original.cast(), _padding: 0 };
        // SAFETY: the block has room for the header and `size` bytes.
        unsafe {
            ptr::copy_nonoverlapping(original.cast::<u8>(), block.add(HEADER), size);
            block.cast::<Header>().write(header);
        }
        Some(Patch { slot, original, block, layout, _lock: lock.clone() })
    }

    pub fn table(&mut self) -> &mut T {
        // SAFETY: the block contains a whole `T`, copied or zeroed, and zeros are valid. The borrow is of
        // this patch.
        unsafe { &mut *self.block.add(HEADER).cast() }
    }

    #[inline]
    pub fn core(&self) -> &T {
        // SAFETY: the core provider's tables live while it is loaded. From a table shorter than `T`, only
        // functions of every libfabric are read.
        unsafe { &*self.original }
    }

    pub fn install(&mut self) {
        // SAFETY: the slot is valid as long as the patch.
        unsafe { *self.slot = self.block.add(HEADER).cast() };
    }

    pub fn restore(&mut self) {
        // SAFETY: the slot is valid as long as the patch.
        unsafe { *self.slot = self.original };
    }

    pub fn set_installed(&mut self, is_installed: bool) {
        if is_installed { self.install() } else { self.restore() }
    }
}

impl<T: Table> Drop for Patch<T> {
    fn drop(&mut self) {
        // SAFETY: `new` allocated the block with this layout.
        unsafe { std::alloc::dealloc(self.block, self.layout) };
    }
}

unsafe fn header_of<'a, T: Table>(table: *const T) -> &'a Header {
    // SAFETY: the caller passes a live patched table.
    unsafe { &*table.cast::<Header>().sub(1) }
}

/// # Safety
/// `table` is a live patched table with data of type `O`. No other reference to the data exists.
#[inline]
pub unsafe fn data<'a, O, T: Table>(table: *const T) -> &'a mut O {
    // SAFETY: guaranteed by the caller.
    unsafe { &mut *data_at(table) }
}

/// The address of the data, while another thread has a reference to other fields.
///
/// # Safety
/// `table` is a live patched table with data of type `O`.
#[inline]
pub unsafe fn data_at<O, T: Table>(table: *const T) -> *mut O {
    // SAFETY: guaranteed by the caller.
    unsafe { header_of(table).data.cast() }
}

/// # Safety
/// `table` is a live patched table.
#[inline]
pub unsafe fn original_table<'a, T: Table>(table: *const T) -> &'a T {
    // SAFETY: guaranteed by the caller. The original table has this type.
    unsafe { &*header_of(table).original.cast() }
}

/// # Safety
/// The conditions of [`original_table`].
#[inline]
pub unsafe fn lock_of<'a, T: Table>(table: *const T) -> Option<&'a ReentrantMutex<()>> {
    // SAFETY: guaranteed by the caller. The pointer is null, or valid as long as the patch.
    unsafe { header_of(table).lock.as_ref() }
}

/// A shared handle of the lock, for an object that may outlive the patch.
///
/// # Safety
/// The conditions of [`original_table`].
pub unsafe fn shared_lock<T: Table>(table: *const T) -> Lock {
    // SAFETY: guaranteed by the caller. The pointer is from an `Arc` that the patch holds.
    unsafe {
        let lock = header_of(table).lock;
        (!lock.is_null()).then(|| {
            Arc::increment_strong_count(lock);
            Arc::from_raw(lock)
        })
    }
}
