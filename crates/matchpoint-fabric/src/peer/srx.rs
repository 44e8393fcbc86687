//! The shared queue as the core sees it: an object, and functions that the core calls while it works.

use std::ffi::{c_int, c_void};
use std::mem::zeroed;

use crate::abi::peer::{FidPeerSrx, Get, Layout, OpsSrxOwner, PeerMatchAttr};
use crate::abi::{Addr, CLASS_SRX_CTX, Fid, OPT_MIN_MULTI_RECV, Ops, OpsEp, errno};
use crate::peer::entry::Entry;
use crate::peer::owner::Owner;

/// The object; its tables are put in once they have their place.
pub fn object(owner: *mut Owner) -> FidPeerSrx {
    // SAFETY: zeros are an object without any tables.
    let mut object: FidPeerSrx = unsafe { zeroed() };
    object.ep_fid.fid.class = CLASS_SRX_CTX;
    // Some cores copy the object, so the way back to us is here, and not the object's address.
    object.ep_fid.fid.context = owner.cast();
    object
}

/// Functions that a core of this layout calls.
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

/// Functions of the object itself.
pub fn fid_ops() -> Ops {
    // SAFETY: zeros are absent functions.
    let mut ops: Ops = unsafe { zeroed() };
    ops.size = size_of::<Ops>();
    ops
}

/// Functions that the core passes on to whoever owns the queue.
pub fn ep_ops() -> OpsEp {
    // SAFETY: zeros are absent functions.
    let mut ops: OpsEp = unsafe { zeroed() };
    ops.size = size_of::<OpsEp>();
    ops.cancel = Some(cancel);
    ops.getopt = Some(getopt);
    ops.setopt = Some(setopt);
    ops
}

/// The owner behind the object that the core was given.
#[inline]
unsafe fn owner_of(srx: *mut FidPeerSrx) -> *mut Owner {
    // SAFETY: the core calls with what it was given, or with a copy, while the endpoint is open.
    unsafe { (*srx).ep_fid.fid.context.cast() }
}

/// Answers the core's question.
#[inline]
unsafe fn answer(owner: &Owner, found: Result<(*mut Entry, c_int), c_int>, to: *mut *mut c_void) -> c_int {
    match found {
        Ok((entry, rc)) => {
            // SAFETY: the core gives room for the answer.
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
    // SAFETY: the core calls while nothing of ours is borrowed: from within its progress, or from what we call without.
    unsafe {
        let (owner, attr) = (&mut *owner_of(srx), &*attr);
        let found = owner.tagged_message(attr.addr, attr.msg_size, attr.tag);
        answer(owner, found, to)
    }
}

unsafe extern "C" fn get_msg(
    srx: *mut FidPeerSrx,
    attr: *const PeerMatchAttr,
    to: *mut *mut c_void,
) -> c_int {
    // SAFETY: as above.
    unsafe {
        let (owner, attr) = (&mut *owner_of(srx), &*attr);
        let found = owner.untagged_message(attr.addr, attr.msg_size);
        answer(owner, found, to)
    }
}

/// Before libfabric 2.0 the size of a tagged message is not told.
unsafe extern "C" fn get_tag_by_number(
    srx: *mut FidPeerSrx,
    addr: Addr,
    tag: u64,
    to: *mut *mut c_void,
) -> c_int {
    // SAFETY: as above.
    unsafe {
        let owner = &mut *owner_of(srx);
        let found = owner.tagged_message(addr, usize::MAX, tag);
        answer(owner, found, to)
    }
}

unsafe extern "C" fn get_msg_by_number(
    srx: *mut FidPeerSrx,
    addr: Addr,
    size: u64,
    to: *mut *mut c_void,
) -> c_int {
    // SAFETY: as above.
    unsafe {
        let owner = &mut *owner_of(srx);
        let found = owner.untagged_message(addr, size as usize);
        answer(owner, found, to)
    }
}

/// The message joined its queue when the core asked for a receive: between the two calls nobody else can.
unsafe extern "C" fn queue(_: *mut c_void) -> c_int {
    errno::SUCCESS
}

unsafe extern "C" fn free_plain(given: *mut c_void) {
    // SAFETY: the core frees what it was given.
    unsafe { free(Entry::from_core(given, false)) };
}

unsafe extern "C" fn free_linked(given: *mut c_void) {
    // SAFETY: as above.
    unsafe { free(Entry::from_core(given, true)) };
}

unsafe fn free(entry: *mut Entry) {
    // SAFETY: every entry that the core has names the queue it belongs to.
    unsafe { (*owner_of((*entry).peer.srx)).free(entry) };
}

unsafe extern "C" fn foreach_unspec_addr(
    srx: *mut FidPeerSrx,
    address: unsafe extern "C" fn(*mut c_void) -> Addr,
) {
    // SAFETY: as above.
    unsafe { Owner::name_sources(owner_of(srx), address) };
}

unsafe extern "C" fn cancel(fid: *mut Fid, context: *mut c_void) -> isize {
    // SAFETY: the object is the beginning of ours.
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
    // SAFETY: the object is the beginning of ours; the core gives room for what the option is.
    unsafe { tell_least_room(&*owner_of(fid.cast()), value, len) }
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
    // SAFETY: as above.
    unsafe { (*owner_of(fid.cast())).untagged.least_room = *value.cast() };
    errno::SUCCESS
}

/// The value of `FI_OPT_MIN_MULTI_RECV`.
///
/// # Safety
/// `value` has room for a `size_t`, and `len` is writable.
pub unsafe fn tell_least_room(owner: &Owner, value: *mut c_void, len: *mut usize) -> c_int {
    // SAFETY: the caller's.
    unsafe {
        value.cast::<usize>().write(owner.untagged.least_room);
        *len = size_of::<usize>();
    }
    errno::SUCCESS
}
