//! What is of no use any more, given back a few chunks with each call: all 32,000 of a million entries at once took 2 to
//! 7 ms.

use super::class::Classes;
use super::ids::Ids;
use super::log::Log;
use super::table::Table;

/// Chunks given back with each call.
const CHUNKS: usize = 8;

/// Bytes that are given back at once.
const SMALL: u64 = 64 << 10;

/// What may be buried beside indexes.
#[derive(Default)]
pub(super) struct Graves {
    pub(super) tables: Grave<Table>,
    pub(super) classes: Grave<Classes>,
    pub(super) logs: Grave<Log>,
    pub(super) names: Grave<Ids>,
}

impl Graves {
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        let Graves { tables, classes, logs, names } = self;
        tables.is_empty() && classes.is_empty() && logs.is_empty() && names.is_empty()
    }

    /// Bytes allocated.
    pub(super) fn bytes(&self) -> u64 {
        let Graves { tables, classes, logs, names } = self;
        tables.bytes() + classes.bytes() + logs.bytes() + names.bytes()
    }

    /// Gives some chunks back, of one of them.
    pub(super) fn tend(&mut self) {
        let Graves { tables, classes, logs, names } = self;
        _ = tables.tend() || classes.tend() || logs.tend() || names.tend();
    }
}

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

    /// Gives some chunks back. False: there were none.
    pub(super) fn tend(&mut self) -> bool {
        let Some(dropped) = self.0.last_mut() else { return false };
        if !dropped.give_back(CHUNKS) {
            self.0.pop();
        }
        if self.0.is_empty() {
            self.0 = Vec::new();
        }
        true
    }
}
