//! Ids of the numbers in DUMPI traces.
//!
//! Numbers start at 1 with predefined objects, followed by the application's objects. `MPI_PROC_NULL` and
//! `MPI_UNDEFINED` have the values of the MPI library.

use crate::call::{CommId, GroupId, Peer, RequestId, TagArg};

const ANY: i32 = -1;

/// Communicator 1 is null, 2 is `MPI_COMM_WORLD`, 3 is `MPI_COMM_SELF`.
#[inline]
pub(super) fn comm(raw: i32) -> CommId {
    match raw {
        ..=1 => CommId::NULL,
        2 => CommId::WORLD,
        3 => CommId::SELF,
        _ => CommId(raw.unsigned_abs()),
    }
}

/// Group 1 is null, 2 is the empty group.
pub(super) fn group(raw: i32) -> GroupId {
    match raw {
        ..=1 => GroupId::NULL,
        2 => GroupId::EMPTY,
        _ => GroupId(raw.unsigned_abs()),
    }
}

/// Request 1 is null.
#[inline]
pub(super) fn request(raw: i32) -> RequestId {
    if raw == 0 || raw == 1 { RequestId::NULL } else { RequestId(raw as u32) }
}

/// A negative destination can only be `MPI_PROC_NULL`.
#[inline]
pub(super) fn dest(raw: i32) -> Peer {
    u32::try_from(raw).map_or(Peer::Null, Peer::Rank)
}

/// Source of a receive. MPICH's `MPI_PROC_NULL` is −1 like `MPI_ANY_SOURCE`; [`known`] distinguishes both by
/// the status.
#[inline]
pub(super) fn source(raw: i32) -> Peer {
    if raw == ANY { Peer::Any } else { dest(raw) }
}

/// Source of a completed receive. A status without a sender belongs to a receive from `MPI_PROC_NULL`.
#[inline]
pub(super) fn known(source: Peer, reported: Option<Peer>) -> Peer {
    if source == Peer::Any && reported == Some(Peer::Any) { Peer::Null } else { source }
}

#[inline]
pub(super) fn sender(raw: i32) -> Peer {
    u32::try_from(raw).map_or(Peer::Any, Peer::Rank)
}

#[inline]
pub(super) fn tag(raw: i32) -> TagArg {
    if raw == ANY { TagArg::Any } else { TagArg::Is(raw) }
}

/// First number of the application's datatypes.
const FIRST_OWN: usize = 28;

#[derive(Clone, Default, Debug)]
pub(super) struct Sizes(Vec<i32>);

impl Sizes {
    /// A size of 0 for a predefined type means that the program did not use the type.
    pub fn new(table: Vec<i32>) -> Self {
        Sizes(table)
    }

    #[inline]
    pub fn bytes(&self, count: i32, datatype: i32) -> Option<u64> {
        let count = u64::try_from(count).ok()?;
        if count == 0 {
            return Some(0);
        }
        let datatype = usize::try_from(datatype).ok()?;
        let size = u64::try_from(*self.0.get(datatype)?).ok()?;
        (size > 0 || datatype >= FIRST_OWN).then_some(count * size)
    }
}
