//! The table of receive descriptors (§III-B), of all communicators: labels are their ages.

use crate::chains::{Aged, Slab};
use crate::engine::Receive;

/// A receive, and the run of compatible receives that it belongs to. With its label and its links it takes 64 bytes,
/// as the paper's descriptors do (§IV-E).
#[derive(Clone, Copy)]
pub(in crate::engines) struct Descriptor {
    pub(super) receive: Receive,
    pub(super) run: u64,
}

/// The receives posted.
pub(in crate::engines) type Descriptors = Slab<Aged<Descriptor>, 1>;
