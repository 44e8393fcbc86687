//! `fi_trecv`, `fi_trecvv`, `fi_trecvmsg`: three ways to say the same.

use std::collections::HashMap;
use std::ffi::c_void;

use libc::iovec;

use crate::abi::{ADDR_UNSPEC, Addr, FidEp, MsgTagged, OpsTagged, errno, flags};
use crate::asked::Asked;
use crate::lock::{self, Lockable};
use crate::patch::owner;
use crate::peer::PeerEndpoint;
use crate::peer::entry::Entry;
use crate::peer::owner::Owner;

/// Buffers that one receive may consist of; what `rx_attr.iov_limit` is cut to.
pub const IOV_LIMIT: usize = 4;

/// A receive or a peek, as the application asks for it.
pub struct Call {
    /// Its buffers.
    pub iov: *const iovec,
    /// How many.
    pub count: usize,
    /// Their registrations, or null.
    pub desc: *const *mut c_void,
    /// What it asks for.
    pub asked: Asked,
    /// The operation's context.
    pub context: *mut c_void,
    /// Its flags.
    pub flags: u64,
}

/// What the application asked for when it opened and bound the endpoint.
#[derive(Clone, Copy, Debug)]
pub struct Terms {
    /// Tagged receives may name their source: without this, what they say of it means nothing.
    pub directed: bool,
    /// So may untagged ones.
    pub untagged_directed: bool,
    /// Only operations with `FI_COMPLETION` complete in the queue (`FI_SELECTIVE_COMPLETION`).
    pub selective: bool,
    /// Flags of all receives without any of their own (`rx_attr.op_flags`).
    pub receive_flags: u64,
}

impl Terms {
    /// Those of an endpoint that is opened with these capabilities and this `rx_attr.op_flags`.
    pub fn new(caps: u64, receive_flags: u64) -> Self {
        let untagged_directed = caps & flags::DIRECTED_RECV != 0;
        let directed = untagged_directed || caps & flags::TAGGED_DIRECTED_RECV != 0;
        Terms { directed, untagged_directed, selective: false, receive_flags }
    }

    /// `FI_COMPLETION`, if an operation with these flags completes in the queue.
    #[inline]
    pub fn completion(&self, flags: u64) -> u64 {
        if self.selective { flags & flags::COMPLETION } else { flags::COMPLETION }
    }

    /// The source that counts of a tagged receive.
    #[inline]
    pub fn source(&self, addr: Addr) -> Addr {
        if self.directed { addr } else { ADDR_UNSPEC }
    }

    /// Of an untagged one.
    pub fn untagged_source(&self, addr: Addr) -> Addr {
        if self.untagged_directed { addr } else { ADDR_UNSPEC }
    }
}

/// Messages that peeks have claimed (`FI_PEEK` with `FI_CLAIM`), by the contexts of those: a receive with `FI_CLAIM` says
/// no more, and may say one that has claimed nothing, or whose message was received.
pub struct Claims(HashMap<usize, *mut Entry>);

impl Claims {
    /// None.
    pub fn new() -> Self {
        Claims(HashMap::new())
    }

    /// The peek with this context has claimed a message.
    pub fn add(&mut self, context: *mut c_void, message: *mut Entry) {
        self.0.insert(context as usize, message);
    }

    /// The message that it has claimed, once. `Err`: what the application is told if it has none.
    pub fn take(&mut self, context: *mut c_void) -> Result<*mut Entry, isize> {
        self.0.remove(&(context as usize)).ok_or(-(errno::ENOMSG as isize))
    }
}

/// Exchanges the receiving functions of a table for ours; all others wait for the lock, if there is one.
pub fn exchange(table: &mut OpsTagged, is_locked: bool) {
    if is_locked {
        table.wait_for_lock();
    }
    table.recv = Some(recv);
    table.recvv = Some(recvv);
    table.recvmsg = Some(recvmsg);
}

/// # Safety
/// `ep` is an endpoint of a [`PeerEndpoint`]; the rest as fi_tagged(3) demands.
#[inline]
unsafe fn receive(ep: *mut FidEp, mut call: Call, own_flags: Option<u64>) -> isize {
    if call.count > IOV_LIMIT {
        return -(errno::EINVAL as isize);
    }
    // SAFETY: the endpoint's table is ours; what is kept for an endpoint lives as long as it.
    unsafe {
        let _guard = lock::wait((*ep).tagged);
        let this = &raw mut owner::<PeerEndpoint, _>((*ep).tagged).owner;
        let terms = (*this).terms;
        call.asked.addr = terms.source(call.asked.addr);
        call.flags = own_flags.unwrap_or(terms.receive_flags);
        Owner::receive_tagged(this, &call)
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
    let asked = Asked { addr, tag, ignore };
    let call = Call { iov: &raw const iov, count: 1, desc: &raw const desc, asked, context, flags: 0 };
    // SAFETY: the application's call, its one buffer made an array of one.
    unsafe { receive(ep, call, None) }
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
    let call = Call { iov, count, desc, asked: Asked { addr, tag, ignore }, context, flags: 0 };
    // SAFETY: the application's call.
    unsafe { receive(ep, call, None) }
}

unsafe extern "C" fn recvmsg(ep: *mut FidEp, msg: *const MsgTagged, flags: u64) -> isize {
    // SAFETY: the application's message.
    let msg = unsafe { &*msg };
    let asked = Asked { addr: msg.addr, tag: msg.tag, ignore: msg.ignore };
    let (iov, count, desc) = (msg.msg_iov, msg.iov_count, msg.desc);
    let call = Call { iov, count, desc, asked, context: msg.context, flags: 0 };
    // SAFETY: the application's call.
    unsafe { receive(ep, call, Some(flags)) }
}
