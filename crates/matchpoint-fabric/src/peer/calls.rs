//! Receive functions of the application, tagged (`fi_trecv` …) and untagged (`fi_recv` …).

use std::ffi::c_void;

use libc::iovec;

use crate::abi::{Addr, FidEp, Msg, MsgTagged, OpsMsg, OpsTagged, errno, flags};
use crate::criteria::{Criteria, ReceiveCall};
use crate::lock::{self, Lockable};
use crate::patch::data_at;
use crate::peer::entry::IOV_LIMIT;
use crate::peer::owner::SrxOwner;

/// Replaces the receive functions of a table. In a locked domain, all other functions acquire the lock.
pub fn replace_tagged(table: &mut OpsTagged, is_locked: bool) {
    if is_locked {
        table.add_locking();
    }
    table.recv = Some(recv);
    table.recvv = Some(recvv);
    table.recvmsg = Some(recvmsg);
}

pub fn replace_untagged(table: &mut OpsMsg, is_locked: bool) {
    if is_locked {
        table.add_locking();
    }
    table.recv = Some(recv_untagged);
    table.recvv = Some(recvv_untagged);
    table.recvmsg = Some(recvmsg_untagged);
}

/// # Safety
/// `ep` is a patched endpoint, and the call obeys fi_tagged(3).
#[inline]
unsafe fn receive_tagged(ep: *mut FidEp, mut call: ReceiveCall, call_flags: Option<u64>) -> isize {
    if call.count > IOV_LIMIT {
        return -(errno::EINVAL as isize);
    }
    // SAFETY: called through the endpoint's patched table.
    unsafe {
        let _guard = lock::acquire((*ep).tagged);
        let this: *mut SrxOwner = data_at((*ep).tagged);
        let options = (*this).options;
        call.criteria.addr = options.source(call.criteria.addr);
        call.flags = call_flags.unwrap_or(options.receive_flags);
        SrxOwner::receive_tagged(this, &call)
    }
}

unsafe extern "C" fn recv(
    ep: *mut FidEp,
    buf: *mut c_void,
    len: usize,
    desc: *mut c_void,
    addr: Addr,
    tag: u64,
    ignore: u64,
    context: *mut c_void,
) -> isize {
    let iov = iovec { iov_base: buf, iov_len: len };
    let criteria = Criteria { addr, tag, ignore };
    let call =
        ReceiveCall { iov: &raw const iov, count: 1, desc: &raw const desc, criteria, context, flags: 0 };
    // SAFETY: `iov` is an array with one buffer.
    unsafe { receive_tagged(ep, call, None) }
}

unsafe extern "C" fn recvv(
    ep: *mut FidEp,
    iov: *const iovec,
    desc: *mut *mut c_void,
    count: usize,
    addr: Addr,
    tag: u64,
    ignore: u64,
    context: *mut c_void,
) -> isize {
    let call = ReceiveCall { iov, count, desc, criteria: Criteria { addr, tag, ignore }, context, flags: 0 };
    // SAFETY: the application's arguments obey libfabric's rules.
    unsafe { receive_tagged(ep, call, None) }
}

unsafe extern "C" fn recvmsg(ep: *mut FidEp, msg: *const MsgTagged, flags: u64) -> isize {
    // SAFETY: the application passes a valid message structure.
    let msg = unsafe { &*msg };
    let criteria = Criteria { addr: msg.addr, tag: msg.tag, ignore: msg.ignore };
    let (iov, count, desc) = (msg.msg_iov, msg.iov_count, msg.desc);
    let call = ReceiveCall { iov, count, desc, criteria, context: msg.context, flags: 0 };
    // SAFETY: the application's arguments obey libfabric's rules.
    unsafe { receive_tagged(ep, call, Some(flags)) }
}

/// # Safety
/// `ep` is a patched endpoint, and the call obeys fi_msg(3).
unsafe fn receive_untagged(ep: *mut FidEp, mut call: ReceiveCall, call_flags: Option<u64>) -> isize {
    if call.count > IOV_LIMIT {
        return -(errno::EINVAL as isize);
    }
    // SAFETY: called through the endpoint's patched table. Calls are serialized. Borrows end before the core
    // provider is called.
    unsafe {
        let _guard = lock::acquire((*ep).msg);
        let this: *mut SrxOwner = data_at((*ep).msg);
        call.criteria.addr = (*this).options.untagged_source(call.criteria.addr);
        let default = (*this).options.receive_flags;
        call.flags = call_flags.map_or(default, |own| own | default & flags::MULTI_RECV);
        if call.flags & flags::MULTI_RECV != 0 {
            return SrxOwner::receive_multi(this, &call);
        }
        let outcome = (*this).receive_untagged(&call);
        outcome.map_or_else(|rc| rc, |next| SrxOwner::perform(this, next))
    }
}

fn any_tag_from(addr: Addr) -> Criteria {
    Criteria { addr, tag: 0, ignore: u64::MAX }
}

unsafe extern "C" fn recv_untagged(
    ep: *mut FidEp,
    buf: *mut c_void,
    len: usize,
    desc: *mut c_void,
    addr: Addr,
    context: *mut c_void,
) -> isize {
    let iov = iovec { iov_base: buf, iov_len: len };
    let (iov, desc) = (&raw const iov, &raw const desc);
    let call = ReceiveCall { iov, count: 1, desc, criteria: any_tag_from(addr), context, flags: 0 };
    // SAFETY: `iov` is an array with one buffer.
    unsafe { receive_untagged(ep, call, None) }
}

unsafe extern "C" fn recvv_untagged(
    ep: *mut FidEp,
    iov: *const iovec,
    desc: *mut *mut c_void,
    count: usize,
    addr: Addr,
    context: *mut c_void,
) -> isize {
    let call = ReceiveCall { iov, count, desc, criteria: any_tag_from(addr), context, flags: 0 };
    // SAFETY: the application's arguments obey libfabric's rules.
    unsafe { receive_untagged(ep, call, None) }
}

unsafe extern "C" fn recvmsg_untagged(ep: *mut FidEp, msg: *const Msg, flags: u64) -> isize {
    // SAFETY: the application passes a valid message structure.
    let msg = unsafe { &*msg };
    let (iov, count, desc) = (msg.msg_iov, msg.iov_count, msg.desc);
    let call =
        ReceiveCall { iov, count, desc, criteria: any_tag_from(msg.addr), context: msg.context, flags: 0 };
    // SAFETY: the application's arguments obey libfabric's rules.
    unsafe { receive_untagged(ep, call, Some(flags)) }
}
