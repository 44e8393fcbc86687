//! Objects that never move, allocated by the chunk and used again and again: their addresses are their names in engines
//! and in core providers.

use std::alloc::Layout;
use std::ptr;

/// Objects that are allocated together.
const CHUNK: usize = 64;

/// What a pool can hold.
///
/// # Safety
/// Zeros are a valid object, and a free one.
pub unsafe trait Slot {
    /// The link of the free list, which is the pool's while the object is free.
    fn link(&mut self) -> &mut *mut Self;

    /// Called once, on a zeroed object that has its place.
    fn settle(&mut self) {}
}

/// All objects of one kind that an endpoint has.
pub struct Pool<T: Slot> {
    chunks: Vec<*mut T>,
    free: *mut T,
}

impl<T: Slot> Pool<T> {
    const LAYOUT: Layout = Layout::new::<[T; CHUNK]>();

    /// Without any.
    pub fn new() -> Self {
        Pool { chunks: Vec::new(), free: ptr::null_mut() }
    }

    /// The object that is taken next, still free. `None`: no memory.
    #[inline]
    pub fn next(&mut self) -> Option<*mut T> {
        if self.free.is_null() {
            self.grow()?;
        }
        Some(self.free)
    }

    /// Takes the object that [`next`](Pool::next) gave.
    #[inline]
    pub fn take(&mut self, object: *mut T) {
        debug_assert_eq!(self.free, object);
        // SAFETY: objects live as long as the pool, and a free one is nobody else's.
        self.free = *unsafe { &mut *object }.link();
    }

    /// Gives an object back.
    ///
    /// # Safety
    /// It is of this pool, and nobody refers to it any more.
    #[inline]
    pub unsafe fn give_back(&mut self, object: *mut T) {
        // SAFETY: the caller's.
        unsafe { *(*object).link() = self.free };
        self.free = object;
    }

    #[cold]
    fn grow(&mut self) -> Option<()> {
        self.chunks.try_reserve(1).ok()?;
        // SAFETY: the layout is not empty, and zeros are a valid object.
        let chunk = unsafe { std::alloc::alloc_zeroed(Self::LAYOUT) }.cast::<T>();
        if chunk.is_null() {
            return None;
        }
        for at in (0..CHUNK).rev() {
            let object = chunk.wrapping_add(at);
            // SAFETY: within what was allocated, and nobody else's yet.
            unsafe {
                (*object).settle();
                *(*object).link() = self.free;
            }
            self.free = object;
        }
        self.chunks.push(chunk);
        Some(())
    }

    /// Every object, free or not, in no order.
    pub fn all(&self) -> impl Iterator<Item = *mut T> + '_ {
        self.chunks.iter().flat_map(|&chunk| (0..CHUNK).map(move |at| chunk.wrapping_add(at)))
    }
}

impl<T: Slot> Drop for Pool<T> {
    fn drop(&mut self) {
        for &chunk in &self.chunks {
            // SAFETY: allocated so in `grow`; with the pool, its objects end.
            unsafe { std::alloc::dealloc(chunk.cast(), Self::LAYOUT) };
        }
    }
}
