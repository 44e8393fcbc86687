//! What is of no use any more, given back a few chunks with each call: all 32,000 of a million entries at once took 2 to
//! 7 ms.

/// Chunks given back with each call.
const CHUNKS: usize = 8;

/// Bytes that are given back at once.
const SMALL: u64 = 64 << 10;

/// Something in chunks.
pub(super) trait Dropped {
    /// Bytes allocated.
    fn bytes(&self) -> u64;

    /// Gives so many chunks back, of something that nobody uses any more. False: that was the last of it.
    fn give_back(&mut self, chunks: usize) -> bool;
}

/// See the [module's documentation](self).
pub(super) struct Grave<T>(Vec<T>);

impl<T> Default for Grave<T> {
    fn default() -> Self {
        Grave(Vec::new())
    }
}

impl<T: Dropped> Grave<T> {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Bytes allocated.
    pub(super) fn bytes(&self) -> u64 {
        let places = self.0.capacity() * size_of::<T>();
        places as u64 + self.0.iter().map(T::bytes).sum::<u64>()
    }

    /// Takes what nobody needs.
    pub(super) fn bury(&mut self, dropped: T) {
        // Without memory to remember it by, it is given back at once, too.
        if dropped.bytes() > SMALL && self.0.try_reserve(1).is_ok() {
            self.0.push(dropped);
        }
    }

    /// Gives some chunks back.
    pub(super) fn tend(&mut self) {
        let Some(dropped) = self.0.last_mut() else { return };
        if !dropped.give_back(CHUNKS) {
            self.0.pop();
        }
    }
}
