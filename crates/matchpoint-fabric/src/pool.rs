//! Pools of objects that never move, because the address of an object is its id in engines and core
//! providers.

use std::alloc::Layout;
use std::ptr;

const CHUNK: usize = 64;

/// An object of a pool.
///
/// # Safety
/// The all-zero bit pattern is a valid, free object.
pub unsafe trait Slot {
    /// The link of the free list, used while the object is free.
    fn link(&mut self) -> &mut *mut Self;

    /// Initializes a zeroed object, once, at its final address.
    fn init(&mut self) {}
}

pub struct Pool<T: Slot> {
    chunks: Vec<*mut T>,
    free: *mut T,
}

impl<T: Slot> Pool<T> {
    const LAYOUT: Layout = Layout::new::<[T; CHUNK]>();

    pub fn new() -> Self {
        Pool { chunks: Vec::new(), free: ptr::null_mut() }
    }

    /// Returns the object that [`take`](Pool::take) takes next. Returns `None` if an allocation fails.
    #[inline]
    pub fn next(&mut self) -> Option<*mut T> {
        if self.free.is_null() {
            self.add_chunk()?;
        }
        Some(self.free)
    }

    #[inline]
    pub fn take(&mut self, object: *mut T) {
        debug_assert_eq!(self.free, object);
        // SAFETY: objects live as long as the pool. A free object has no other users.
        self.free = *unsafe { &mut *object }.link();
    }

    /// Returns an object to the pool.
    ///
    /// # Safety
    /// The object is from this pool, and no reference to it remains.
    #[inline]
    pub unsafe fn release(&mut self, object: *mut T) {
        // SAFETY: guaranteed by the caller.
        unsafe { *(*object).link() = self.free };
        self.free = object;
    }

    #[cold]
    fn add_chunk(&mut self) -> Option<()> {
        self.chunks.try_reserve(1).ok()?;
        // SAFETY: the layout is not empty, and zeros are a valid object.
        let chunk = unsafe { std::alloc::alloc_zeroed(Self::LAYOUT) }.cast::<T>();
        if chunk.is_null() {
            return None;
        }
        for at in (0..CHUNK).rev() {
            let object = chunk.wrapping_add(at);
            // SAFETY: the object is within the allocation, and not in use yet.
            unsafe {
                (*object).init();
                *(*object).link() = self.free;
            }
            self.free = object;
        }
        self.chunks.push(chunk);
        Some(())
    }

    /// All objects, including free objects, in no particular order.
    pub fn objects(&self) -> impl Iterator<Item = *mut T> + '_ {
        self.chunks.iter().flat_map(|&chunk| (0..CHUNK).map(move |at| chunk.wrapping_add(at)))
    }
}

impl<T: Slot> Drop for Pool<T> {
    fn drop(&mut self) {
        for &chunk in &self.chunks {
            // SAFETY: `grow` allocated the chunk with this layout. The objects end with the pool.
            unsafe { std::alloc::dealloc(chunk.cast(), Self::LAYOUT) };
        }
    }
}
