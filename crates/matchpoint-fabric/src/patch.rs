//! Tables of functions, replaced one by one.
//!
//! The application is handed the core provider's own objects. What we do otherwise than the core, we do by putting a
//! copy of one of an object's tables in place of that table, with some functions exchanged; all others stay the core's,
//! and cost nothing. Before the copy lies a pointer to what the functions need: they find it from the table that they
//! were called through.

use std::alloc::Layout;
use std::ffi::c_void;
use std::ptr;

/// Bytes before a table: the pointer, and what keeps the table aligned as an allocation is.
const HEADER: usize = 16;
/// No table of libfabric has been longer by far.
const LONGEST: usize = 4096;

/// A table of functions: begins with its size in bytes.
///
/// # Safety
/// `Self` is `repr(C)`, begins with a `usize`, and has nothing but function pointers, or as many bytes, after that.
pub unsafe trait Table {}

macro_rules! tables {
    ($($table:ty),*) => { $(
        // SAFETY: each is declared so in `abi`.
        unsafe impl Table for $table {}
    )* };
}
tables!(
    crate::abi::Ops,
    crate::abi::OpsFabric,
    crate::abi::OpsDomain,
    crate::abi::OpsEp,
    crate::abi::OpsMsg,
    crate::abi::OpsTagged,
    crate::abi::OpsCq
);

/// One table of one object, ours in place of the core's while it is installed.
pub struct Patch<T: Table> {
    slot: *mut *mut T,
    original: *mut T,
    block: *mut u8,
    layout: Layout,
}

impl<T: Table> Patch<T> {
    /// A copy of the table in `slot`, with `owner` before it, not installed yet. `None`: no memory.
    ///
    /// # Safety
    /// `slot` points to an object's pointer to a table of this type, and stays valid as long as the patch.
    pub unsafe fn new(slot: *mut *mut T, owner: *mut c_void) -> Option<Self> {
        // SAFETY: the caller's.
        let original = unsafe { *slot };
        // SAFETY: a table begins with its size.
        let size = match unsafe { *original.cast::<usize>() } {
            size @ 1..=LONGEST => size,
            _ => size_of::<T>(),
        };
        let layout = Layout::from_size_align(HEADER + size.max(size_of::<T>()), HEADER).ok()?;
        // SAFETY: the layout is not empty. Zero is a table's way to say that a function is absent.
        let block = unsafe { std::alloc::alloc_zeroed(layout) };
        if block.is_null() {
            return None;
        }
        // SAFETY: the block has room for the header and `size` bytes; the pointer lies right before the table.
        unsafe {
            ptr::copy_nonoverlapping(original.cast::<u8>(), block.add(HEADER), size);
            block.add(HEADER - size_of::<usize>()).cast::<*mut c_void>().write(owner);
        }
        Some(Patch { slot, original, block, layout })
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
}

impl<T: Table> Drop for Patch<T> {
    fn drop(&mut self) {
        // SAFETY: allocated with this layout in `new`.
        unsafe { std::alloc::dealloc(self.block, self.layout) };
    }
}

/// What was given as owner of the patch whose table this is.
///
/// # Safety
/// `table` is a patch's table, its owner of type `O`, alive, and referred to by nobody else meanwhile.
#[inline]
pub unsafe fn owner<'a, O, T: Table>(table: *const T) -> &'a mut O {
    // SAFETY: the caller's; the pointer lies right before the table.
    unsafe { &mut **table.cast::<*mut O>().sub(1) }
}
