//! What the format's numbers stand for.
//!
//! It numbers predefined objects from 1 (0 is an error) and the application's own after them, and puts its own
//! constants for `MPI_ANY_SOURCE` and `MPI_ANY_TAG`, but writes `MPI_PROC_NULL` and `MPI_UNDEFINED` as the MPI
//! library had them.

use crate::call::{CommId, GroupId, Peer, RequestId, TagArg};

/// `MPI_ANY_SOURCE` and `MPI_ANY_TAG`.
const ANY: i32 = -1;

/// A communicator: 1 is null, 2 the world, 3 oneself.
#[inline]
pub(super) fn comm(raw: i32) -> CommId {
    match raw {
        ..=1 => CommId::NULL,
        2 => CommId::WORLD,
        3 => CommId::SELF,
        _ => CommId(raw.unsigned_abs()),
    }
}

/// A group: 1 is null, 2 empty.
pub(super) fn group(raw: i32) -> GroupId {
    match raw {
        ..=1 => GroupId::NULL,
        2 => GroupId::EMPTY,
        _ => GroupId(raw.unsigned_abs()),
    }
}

/// A request: 1 is null.
#[inline]
pub(super) fn request(raw: i32) -> RequestId {
    if raw == 0 || raw == 1 { RequestId::NULL } else { RequestId(raw as u32) }
}

/// The receiver of a send. None can be sent to any process, and what is negative can only be none.
#[inline]
pub(super) fn dest(raw: i32) -> Peer {
    u32::try_from(raw).map_or(Peer::Null, Peer::Rank)
}

/// The sender that a receive names.
///
/// MPICH's `MPI_PROC_NULL` is -1 as well, and so looks like any: [`known`] tells, where there is a status.
#[inline]
pub(super) fn source(raw: i32) -> Peer {
    if raw == ANY { Peer::Any } else { dest(raw) }
}

/// The sender that a receive names, given the one that its status then named: a receive from any process has got a
/// message from some process, unless "any" was really "none".
#[inline]
pub(super) fn known(source: Peer, reported: Option<Peer>) -> Peer {
    if source == Peer::Any && reported == Some(Peer::Any) { Peer::Null } else { source }
}

/// The sender in a status.
#[inline]
pub(super) fn sender(raw: i32) -> Peer {
    u32::try_from(raw).map_or(Peer::Any, Peer::Rank)
}

/// The tag of a receive, or in a status.
#[inline]
pub(super) fn tag(raw: i32) -> TagArg {
    if raw == ANY { TagArg::Any } else { TagArg::Is(raw) }
}
