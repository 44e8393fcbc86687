//! The table of receive descriptors (§III-B): of a fixed size, which bounds the receives that are posted at once.

use crate::chains::{Aged, Place, Slab};
use crate::engine::{Receive, Refused};

/// A receive, and the run of compatible receives that it belongs to. With its label and its links it takes 64 bytes,
/// as the paper's descriptors do (§IV-E).
#[derive(Clone, Copy)]
pub(in crate::engines) struct Descriptor {
    pub(super) receive: Receive,
    pub(super) run: u64,
}

/// The receives posted, of all communicators: labels are their ages.
pub(super) struct Descriptors {
    slab: Slab<Aged<Descriptor>, 1>,
    /// As many receives fit, and no more; 0: as many as memory has room for.
    capacity: usize,
}

impl Descriptors {
    pub(super) fn new(capacity: usize) -> Self {
        Descriptors { slab: Slab::default(), capacity }
    }

    /// Whether another receive fits.
    ///
    /// # Errors
    /// [`Refused::Full`]: the caller falls back to another engine, as the paper's library falls back to software.
    #[inline]
    pub(super) fn admit(&self) -> Result<(), Refused> {
        let full = self.capacity != 0 && self.slab.len() >= self.capacity;
        if full { Err(Refused::Full) } else { Ok(()) }
    }

    /// Keeps a receive.
    #[inline]
    pub(super) fn insert(&mut self, descriptor: Descriptor, label: u64) -> Result<Place, Refused> {
        self.slab.insert(Aged { value: descriptor, age: label })
    }

    pub(super) fn slab(&self) -> &Slab<Aged<Descriptor>, 1> {
        &self.slab
    }

    pub(super) fn slab_mut(&mut self) -> &mut Slab<Aged<Descriptor>, 1> {
        &mut self.slab
    }
}
