//! The shared queue as the core provider sees it: an object, and functions that the core provider calls.

use std::ffi::{c_int, c_void};
use std::mem::zeroed;

use crate::abi::peer::{FidPeerSrx, Get, Layout, OpsSrxOwner, PeerMatchAttr};
use crate::abi::{Addr, CLASS_SRX_CTX, Fid, OPT_MIN_MULTI_RECV, Ops, OpsEp, errno};
use crate::peer::entry::Entry;
use crate::peer::owner::SrxOwner;

/// A shared queue. The caller sets its tables later, at their final addresses.
pub fn object(owner: *mut SrxOwner) -> FidPeerSrx {
    // SAFETY: an all-zero value is a valid object without tables.
    let mut object: FidPeerSrx = unsafe { zeroed() };
    object.ep_fid.fid.class = CLASS_SRX_CTX;
    // Some core providers copy the object with its context.
    object.ep_fid.fid.context = owner.cast();
    object
}

pub fn owner_ops(layout: Layout) -> OpsSrxOwner {
    let (get_msg, get_tag) = if layout.by_attr {
        (Get { by_attr: get_msg }, Get { by_attr: get_tag })
    } else {
        (Get { by_number: get_msg_by_number }, Get { by_number: get_tag_by_number })
    };
    let (queue_msg, free_entry): (_, unsafe extern "C" fn(*mut c_void)) =
        if layout.links { (queue as _, free_linked) } else { (queue as _, free_plain) };
    OpsSrxOwner {
        size: size_of::<OpsSrxOwner>(),
        get_msg,
        get_tag,
        queue_msg,
        queue_tag: queue_msg,
        foreach_unspec_addr,
        free_entry,
    }
}

pub fn fid_ops() -> Ops {
    // SAFETY: zeros are a table without functions.
    let mut ops: Ops = unsafe { zeroed() };
    ops.size = size_of::<Ops>();
    ops
}

/// Functions that a core provider forwards to the owner.
pub fn ep_ops() -> OpsEp {
    // SAFETY: zeros are a table without functions.
    let mut ops: OpsEp = unsafe { zeroed() };
    ops.size = size_of::<OpsEp>();
    ops.cancel = Some(cancel);
    ops.getopt = Some(getopt);
    ops.setopt = Some(setopt);
    ops
}

#[inline]
unsafe fn owner_of(srx: *mut FidPeerSrx) -> *mut SrxOwner {
    // SAFETY: the core provider passes the object or a copy, while the endpoint is open.
    unsafe { (*srx).ep_fid.fid.context.cast() }
}

#[inline]
unsafe fn return_match(
    owner: &SrxOwner,
    found: Result<(*mut Entry, c_int), c_int>,
    to: *mut *mut c_void,
) -> c_int {
    match found {
        Ok((entry, rc)) => {
            // SAFETY: the core provider provides the output pointer.
            unsafe { *to = Entry::to_core(entry, owner.layout.links) };
            rc
        }
        Err(rc) => rc,
    }
}

unsafe extern "C" fn get_tag(
    srx: *mut FidPeerSrx,
    attr: *const PeerMatchAttr,
    to: *mut *mut c_void,
) -> c_int {
    // SAFETY: the core provider calls only while no borrow is live.
    unsafe {
        let (owner, attr) = (&mut *owner_of(srx), &*attr);
        let found = owner.tagged_message(attr.addr, attr.msg_size, attr.tag);
        return_match(owner, found, to)
    }
}

unsafe extern "C" fn get_msg(
    srx: *mut FidPeerSrx,
    attr: *const PeerMatchAttr,
    to: *mut *mut c_void,
) -> c_int {
    // SAFETY: the core provider calls only while no borrow is live.
    unsafe {
        let (owner, attr) = (&mut *owner_of(srx), &*attr);
        let found = owner.untagged_message(attr.addr, attr.msg_size);
        return_match(owner, found, to)
    }
}

/// `get_tag` before libfabric 2.0. The size of the message is unknown.
unsafe extern "C" fn get_tag_by_number(
    srx: *mut FidPeerSrx,
    addr: Addr,
    tag: u64,
    to: *mut *mut c_void,
) -> c_int {
    // SAFETY: the core provider calls only while no borrow is live.
    unsafe {
        let owner = &mut *owner_of(srx);
        let found = owner.tagged_message(addr, usize::MAX, tag);
        return_match(owner, found, to)
    }
}

unsafe extern "C" fn get_msg_by_number(
    srx: *mut FidPeerSrx,
    addr: Addr,
    size: u64,
    to: *mut *mut c_void,
) -> c_int {
    // SAFETY: the core provider calls only while no borrow is live.
    unsafe {
        let owner = &mut *owner_of(srx);
        let found = owner.untagged_message(addr, size as usize);
        return_match(owner, found, to)
    }
}

/// The message is already queued since `get_tag`, and no other call occurs in between.
unsafe extern "C" fn queue(_: *mut c_void) -> c_int {
    errno::SUCCESS
}

unsafe extern "C" fn free_plain(pointer: *mut c_void) {
    // SAFETY: the core provider frees its entry.
    unsafe { free(Entry::from_core(pointer, false)) };
}

unsafe extern "C" fn free_linked(pointer: *mut c_void) {
    // SAFETY: the core provider frees its entry.
    unsafe { free(Entry::from_core(pointer, true)) };
}

unsafe fn free(entry: *mut Entry) {
    // SAFETY: every entry of the core provider points to its queue.
    unsafe { (*owner_of((*entry).peer.srx)).free(entry) };
}

unsafe extern "C" fn foreach_unspec_addr(
    srx: *mut FidPeerSrx,
    address: unsafe extern "C" fn(*mut c_void) -> Addr,
) {
    // SAFETY: every entry of the core provider points to its queue.
    unsafe { SrxOwner::set_sources(owner_of(srx), address) };
}

unsafe extern "C" fn cancel(fid: *mut Fid, context: *mut c_void) -> isize {
    // SAFETY: a shared queue begins with its `fid`.
    unsafe { (*owner_of(fid.cast())).cancel(context) }
}

unsafe extern "C" fn getopt(
    fid: *mut Fid,
    _: c_int,
    option: c_int,
    value: *mut c_void,
    len: *mut usize,
) -> c_int {
    if option != OPT_MIN_MULTI_RECV {
        return -errno::ENOPROTOOPT;
    }
    // SAFETY: a shared queue begins with its `fid`. `value` is a buffer.
    unsafe { get_min_multi_recv(&*owner_of(fid.cast()), value, len) }
}

unsafe extern "C" fn setopt(
    fid: *mut Fid,
    _: c_int,
    option: c_int,
    value: *const c_void,
    len: usize,
) -> c_int {
    if option != OPT_MIN_MULTI_RECV || len != size_of::<usize>() || value.is_null() {
        return -errno::ENOPROTOOPT;
    }
    // SAFETY: a shared queue begins with its `fid`.
    unsafe { (*owner_of(fid.cast())).untagged.min_multi_recv = *value.cast() };
    errno::SUCCESS
}

/// Writes the value of `FI_OPT_MIN_MULTI_RECV`.
///
/// # Safety
/// `value` has space for a `size_t`, and `len` is writable.
pub unsafe fn get_min_multi_recv(owner: &SrxOwner, value: *mut c_void, len: *mut usize) -> c_int {
    // SAFETY: guaranteed by the caller.
    unsafe {
        value.cast::<usize>().write(owner.untagged.min_multi_recv);
        *len = size_of::<usize>();
    }
    errno::SUCCESS
}
