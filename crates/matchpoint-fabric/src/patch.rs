//! Tables of functions, replaced one by one.
//!
//! The application is handed the core provider's own objects. What we do otherwise than the core, we do by putting a
//! copy of one of an object's tables in place of that table, with some functions exchanged; all others stay the core's,
//! and cost nothing. Before the copy lies what the functions need: they find it from the table that they were called
//! through.

use std::alloc::Layout;
use std::ffi::c_void;
use std::ptr;
use std::sync::Arc;

use parking_lot::ReentrantMutex;

/// The lock of a domain; none where the application sees to it itself. One thread may take it again: the core calls
/// through its own tables.
pub type Lock = Option<Arc<ReentrantMutex<()>>>;

/// What lies before a table of ours.
#[repr(C)]
struct Header {
    /// The lock of the domain, or null; kept alive by the patch.
    lock: *const ReentrantMutex<()>,
    /// What the functions that were exchanged need.
    owner: *mut c_void,
    /// The table that was there before.
    below: *mut c_void,
    /// Keeps the table aligned as an allocation is.
    _padding: usize,
}

const HEADER: usize = size_of::<Header>();
/// No table of libfabric has been longer by far.
const LONGEST: usize = 4096;

/// A table of functions: begins with its size in bytes.
///
/// # Safety
/// `Self` is `repr(C)`, begins with a `usize`, and has nothing but function pointers, or as many bytes, after that.
pub unsafe trait Table {}

/// One table of one object, ours in place of the core's while it is installed.
pub struct Patch<T: Table> {
    slot: *mut *mut T,
    original: *mut T,
    block: *mut u8,
    layout: Layout,
    _lock: Lock,
}

impl<T: Table> Patch<T> {
    /// A copy of the table in `slot`, with `owner` and `lock` before it, not installed yet. `None`: no memory.
    ///
    /// # Safety
    /// `slot` points to an object's pointer to a table of this type, and stays valid as long as the patch.
    pub unsafe fn new(slot: *mut *mut T, owner: *mut c_void, lock: &Lock) -> Option<Self> {
        // SAFETY: the caller's.
        let original = unsafe { *slot };
        // SAFETY: a table begins with its size.
        let size = match unsafe { *original.cast::<usize>() } {
            size @ 1..=LONGEST => size,
            _ => size_of::<T>(),
        };
        let layout = Layout::from_size_align(HEADER + size.max(size_of::<T>()), align_of::<Header>()).ok()?;
        // SAFETY: the layout is not empty. Zero is a table's way to say that a function is absent.
        let block = unsafe { std::alloc::alloc_zeroed(layout) };
        if block.is_null() {
            return None;
        }
        let shared = lock.as_ref().map_or(ptr::null(), Arc::as_ptr);
        let header = Header { lock: shared, owner, below: original.cast(), _padding: 0 };
        // SAFETY: the block has room for the header and `size` bytes after it.
        unsafe {
            ptr::copy_nonoverlapping(original.cast::<u8>(), block.add(HEADER), size);
            block.cast::<Header>().write(header);
        }
        Some(Patch { slot, original, block, layout, _lock: lock.clone() })
    }

    /// Our table, to exchange functions in it.
    pub fn table(&mut self) -> &mut T {
        // SAFETY: the block has a whole `T` there, zeroed or copied, and a table is valid with any bits that the core
        // had or with zeros; the borrow is this patch's.
        unsafe { &mut *self.block.add(HEADER).cast() }
    }

    /// The core's table.
    #[inline]
    pub fn core(&self) -> &T {
        // SAFETY: the core's tables live as long as the core provider is loaded. One shorter than `T` is read only in
        // functions that it has: those that every version of libfabric had.
        unsafe { &*self.original }
    }

    /// From now on the object has our table.
    pub fn install(&mut self) {
        // SAFETY: the slot is valid as long as the patch.
        unsafe { *self.slot = self.block.add(HEADER).cast() };
    }

    /// From now on it has the core's again.
    pub fn restore(&mut self) {
        // SAFETY: as above.
        unsafe { *self.slot = self.original };
    }

    /// One or the other.
    pub fn put(&mut self, is_ours: bool) {
        if is_ours { self.install() } else { self.restore() }
    }
}

impl<T: Table> Drop for Patch<T> {
    fn drop(&mut self) {
        // SAFETY: allocated with this layout in `new`.
        unsafe { std::alloc::dealloc(self.block, self.layout) };
    }
}

/// What lies before a table of ours.
unsafe fn header<'a, T: Table>(table: *const T) -> &'a Header {
    // SAFETY: the caller's: a patch's table, alive.
    unsafe { &*table.cast::<Header>().sub(1) }
}

/// What was given as owner of the patch whose table this is.
///
/// # Safety
/// `table` is a patch's table, its owner of type `O`, alive, and referred to by nobody else meanwhile.
#[inline]
pub unsafe fn owner<'a, O, T: Table>(table: *const T) -> &'a mut O {
    // SAFETY: the caller's.
    unsafe { &mut *owner_at(table) }
}

/// Where that owner is: for the parts of it that threads share, of which one may refer to the rest meanwhile.
///
/// # Safety
/// `table` is a patch's table, alive, its owner of type `O`.
#[inline]
pub unsafe fn owner_at<O, T: Table>(table: *const T) -> *mut O {
    // SAFETY: the caller's.
    unsafe { header(table).owner.cast() }
}

/// The table that was there before the patch whose table this is.
///
/// # Safety
/// `table` is a patch's table, alive.
#[inline]
pub unsafe fn below<'a, T: Table>(table: *const T) -> &'a T {
    // SAFETY: the caller's; it was a table of this type.
    unsafe { &*header(table).below.cast() }
}

/// The lock that was given with it.
///
/// # Safety
/// As [`below`].
#[inline]
pub unsafe fn lock_of<'a, T: Table>(table: *const T) -> Option<&'a ReentrantMutex<()>> {
    // SAFETY: the caller's; null, or alive as long as the patch.
    unsafe { header(table).lock.as_ref() }
}

/// The same lock, shared: for an object that may outlive the patch, or another one.
///
/// # Safety
/// As [`below`].
pub unsafe fn shared_lock<T: Table>(table: *const T) -> Lock {
    // SAFETY: the caller's; the pointer is that of an `Arc` that the patch holds.
    unsafe {
        let lock = header(table).lock;
        (!lock.is_null()).then(|| {
            Arc::increment_strong_count(lock);
            Arc::from_raw(lock)
        })
    }
}
