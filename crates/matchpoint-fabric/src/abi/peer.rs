//! Shared receive queues with an owner and a peer: `rdma/providers/fi_peer.h`, fi_peer(3).
//!
//! The structures have the form of libfabric 2.3 and later. Older forms:
//!
//! | libfabric | entry of a receive | `get_msg`, `get_tag` |
//! |---|---|---|
//! | 1.17, 1.18 | other fields | other arguments: not supported |
//! | 1.19 to 1.22 | two links first | `(srx, addr, size or tag, entry)` |
//! | 2.0 to 2.2 | two links first | `(srx, attr, entry)` |
//! | 2.3 and later | as declared here | `(srx, attr, entry)` |

use std::ffi::{c_int, c_void};

use libc::iovec;

use super::{Addr, FidEp, version};

/// The form of libfabric 2.3 and later. Older versions have two links first ([`Layout::links`]).
#[repr(C)]
pub struct PeerRxEntry {
    pub srx: *mut FidPeerSrx,
    pub addr: Addr,
    pub msg_size: usize,
    pub tag: u64,
    pub cq_data: u64,
    pub flags: u64,
    pub context: *mut c_void,
    pub count: usize,
    pub desc: *mut *mut c_void,
    pub peer_context: *mut c_void,
    pub owner_context: *mut c_void,
    pub iov: *mut iovec,
}

#[repr(C)]
pub struct PeerMatchAttr {
    pub addr: Addr,
    pub msg_size: usize,
    pub tag: u64,
}

/// Requests the receive of a message, in libfabric 2.0 and later.
pub type GetByAttr = unsafe extern "C" fn(*mut FidPeerSrx, *const PeerMatchAttr, *mut *mut c_void) -> c_int;
/// Requests the receive of a message, before libfabric 2.0. The number is the size of an untagged message, or
/// the tag of a tagged message.
pub type GetByNumber = unsafe extern "C" fn(*mut FidPeerSrx, Addr, u64, *mut *mut c_void) -> c_int;

/// A function of the signature that [`Layout::by_attr`] selects.
#[repr(C)]
#[derive(Clone, Copy)]
pub union Get {
    pub by_attr: GetByAttr,
    pub by_number: GetByNumber,
}

/// The type of entries depends on [`Layout`], hence `c_void`.
#[repr(C)]
pub struct OpsSrxOwner {
    pub size: usize,
    pub get_msg: Get,
    pub get_tag: Get,
    pub queue_msg: unsafe extern "C" fn(*mut c_void) -> c_int,
    pub queue_tag: unsafe extern "C" fn(*mut c_void) -> c_int,
    pub foreach_unspec_addr: unsafe extern "C" fn(*mut FidPeerSrx, unsafe extern "C" fn(*mut c_void) -> Addr),
    pub free_entry: unsafe extern "C" fn(*mut c_void),
}

#[repr(C)]
pub struct OpsSrxPeer {
    pub size: usize,
    pub start_msg: unsafe extern "C" fn(*mut c_void) -> c_int,
    pub start_tag: unsafe extern "C" fn(*mut c_void) -> c_int,
    pub discard_msg: unsafe extern "C" fn(*mut c_void) -> c_int,
    pub discard_tag: unsafe extern "C" fn(*mut c_void) -> c_int,
}

#[repr(C)]
pub struct FidPeerSrx {
    pub ep_fid: FidEp,
    pub owner_ops: *mut OpsSrxOwner,
    pub peer_ops: *mut OpsSrxPeer,
}

#[repr(C)]
pub struct PeerSrxContext {
    pub size: usize,
    pub srx: *mut FidPeerSrx,
}

/// The form of the structures in a version of libfabric.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Layout {
    /// Two links precede an entry.
    pub links: bool,
    /// `get_msg` and `get_tag` take a `fi_peer_match_attr`.
    pub by_attr: bool,
}

impl Layout {
    /// Returns the layout of this `fi_version()`, or `None` if the version is not supported.
    pub fn of(fi_version: u32) -> Option<Layout> {
        match fi_version {
            v if v >= version(2, 3) => Some(Layout { links: false, by_attr: true }),
            v if v >= version(2, 0) => Some(Layout { links: true, by_attr: true }),
            v if v >= version(1, 19) => Some(Layout { links: true, by_attr: false }),
            _ => None,
        }
    }
}
