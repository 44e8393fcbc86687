//! Table of receive descriptors (§III-B) of all communicators. Labels are the ages.

use crate::engine::Receive;
use crate::linked::{Aged, Slab};

/// A receive and its run of compatible receives. With label and links 64 bytes, as in the paper (§IV-E).
#[derive(Clone, Copy)]
pub(in crate::engines) struct Descriptor {
    pub(super) receive: Receive,
    pub(super) run: u64,
}

pub(in crate::engines) type Descriptors = Slab<Aged<Descriptor>, 1>;
