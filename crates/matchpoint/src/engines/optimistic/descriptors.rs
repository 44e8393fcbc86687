//! Receive descriptors of all communicators (paper §III-B). The paper's label of a receive is its age.

use crate::engine::Receive;
use crate::linked::{Aged, Slab};

/// With label and links, a descriptor has 64 bytes, as in the paper (§IV-E).
#[derive(Clone, Copy)]
pub(in crate::engines) struct Descriptor {
    pub(super) receive: Receive,
    pub(super) run: u64,
}

pub(in crate::engines) type Descriptors = Slab<Aged<Descriptor>, 1>;
