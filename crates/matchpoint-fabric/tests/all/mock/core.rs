//! Operations of the simulated core provider: sends, receives, cancels, reads, and peer functions.

use std::ffi::{c_int, c_void};
use std::ptr;

use libc::iovec;
use matchpoint_fabric::abi::peer::OpsSrxPeer;
use matchpoint_fabric::abi::*;

use super::*;

pub const CORE_ERROR: c_int = 77;

const AGAIN: isize = -(errno::EAGAIN as isize);

unsafe fn buffers_of<'a>(iov: *const iovec, count: usize) -> &'a [iovec] {
    // SAFETY: guaranteed by the caller.
    if count == 0 { &[] } else { unsafe { std::slice::from_raw_parts(iov, count) } }
}

/// Injected messages have no context and no completion.
unsafe fn send(
    ep: *mut FidEp,
    iov: &[iovec],
    to: Addr,
    tag: Option<u64>,
    data: Option<u64>,
    context: Option<*mut c_void>,
    flags: u64,
) -> isize {
    let (tag, tagged) = (tag.unwrap_or(0), tag.is_some());
    if is_busy() {
        return AGAIN;
    }
    // SAFETY: the endpoint is an object of this module, with valid buffers.
    unsafe {
        let from = &mut *ep.cast::<Ep>();
        assert!((*from.av).knows.contains(&to), "an application sends to peers that it has named");
        let is_reported = !from.tx_selective || flags & flags::COMPLETION != 0;
        let completion = context.filter(|_| is_reported).map(|context| {
            let entry = CqTaggedEntry {
                op_context: context,
                flags: flags::SEND | if tagged { flags::TAGGED } else { flags::MSG },
                len: 0,
                buf: ptr::null_mut(),
                data: 0,
                tag: 0,
            };
            Item { entry, source: ADDR_UNSPEC, error: 0, missing: 0 }
        });
        let parts = iov.to_vec();
        let (from, bytes) = (from.at, Vec::new());
        let mut message = Message { from, tag, tagged, bytes, parts, data, completion };
        if flags & flags::INJECT != 0 {
            message.fetch();
        }
        (*world().endpoints[to as usize]).inbox.push_back(message);
    }
    0
}

pub unsafe extern "C" fn untagged_send(
    ep: *mut FidEp,
    buf: *const c_void,
    len: usize,
    _: *mut c_void,
    to: Addr,
    context: *mut c_void,
) -> isize {
    let iov = [iovec { iov_base: buf.cast_mut(), iov_len: len }];
    // SAFETY: the caller passes valid buffers.
    unsafe { send(ep, &iov, to, None, None, Some(context), 0) }
}

pub unsafe extern "C" fn tsend(
    ep: *mut FidEp,
    buf: *const c_void,
    len: usize,
    _: *mut c_void,
    to: Addr,
    tag: u64,
    context: *mut c_void,
) -> isize {
    let iov = [iovec { iov_base: buf.cast_mut(), iov_len: len }];
    // SAFETY: the caller passes valid buffers.
    unsafe { send(ep, &iov, to, Some(tag), None, Some(context), 0) }
}

pub unsafe extern "C" fn tsenddata(
    ep: *mut FidEp,
    buf: *const c_void,
    len: usize,
    _: *mut c_void,
    data: u64,
    to: Addr,
    tag: u64,
    context: *mut c_void,
) -> isize {
    let iov = [iovec { iov_base: buf.cast_mut(), iov_len: len }];
    // SAFETY: the caller passes valid buffers.
    unsafe { send(ep, &iov, to, Some(tag), Some(data), Some(context), 0) }
}

pub unsafe extern "C" fn tinject(
    ep: *mut FidEp,
    buf: *const c_void,
    len: usize,
    to: Addr,
    tag: u64,
) -> isize {
    let iov = [iovec { iov_base: buf.cast_mut(), iov_len: len }];
    // SAFETY: the caller passes valid buffers.
    unsafe { send(ep, &iov, to, Some(tag), None, None, flags::INJECT) }
}

pub unsafe extern "C" fn tinjectdata(
    ep: *mut FidEp,
    buf: *const c_void,
    len: usize,
    data: u64,
    to: Addr,
    tag: u64,
) -> isize {
    let iov = [iovec { iov_base: buf.cast_mut(), iov_len: len }];
    // SAFETY: the caller passes valid buffers.
    unsafe { send(ep, &iov, to, Some(tag), Some(data), None, flags::INJECT) }
}

pub unsafe extern "C" fn tsendmsg(ep: *mut FidEp, msg: *const MsgTagged, flags: u64) -> isize {
    // SAFETY: the caller passes valid messages.
    unsafe {
        let msg = &*msg;
        let data = (flags & flags::REMOTE_CQ_DATA != 0).then_some(msg.data);
        send(
            ep,
            buffers_of(msg.msg_iov, msg.iov_count),
            msg.addr,
            Some(msg.tag),
            data,
            Some(msg.context),
            flags,
        )
    }
}

pub unsafe extern "C" fn trecvmsg(ep: *mut FidEp, msg: *const MsgTagged, _: u64) -> isize {
    if is_busy() {
        return AGAIN;
    }
    // SAFETY: the endpoint is an object of this module, and the caller's message.
    unsafe {
        let (ep, msg) = (&mut *ep.cast::<Ep>(), &*msg);
        let iov = buffers_of(msg.msg_iov, msg.iov_count).to_vec();
        let posted = Posted { iov, from: msg.addr, tag: msg.tag, ignore: msg.ignore, context: msg.context };
        let is_match = |message: &Message| {
            (posted.from == ADDR_UNSPEC || posted.from == message.from as Addr)
                && (posted.tag ^ message.tag) & !posted.ignore == 0
        };
        match ep.unexpected.iter().position(is_match) {
            Some(at) => {
                let message = ep.unexpected.remove(at).expect("found there");
                ep.receive(&posted, &message);
            }
            None => ep.posted.push_back(posted),
        }
    }
    0
}

pub unsafe extern "C" fn write(
    _: *mut FidEp,
    _: *const c_void,
    _: usize,
    _: *mut c_void,
    _: Addr,
    _: u64,
    _: u64,
    _: *mut c_void,
) -> isize {
    world().writes += 1;
    0
}

/// Does nothing, because no thread sleeps.
pub unsafe extern "C" fn signal(_: *mut FidCq) -> c_int {
    0
}

pub unsafe extern "C" fn cancel(fid: *mut Fid, context: *mut c_void) -> isize {
    // SAFETY: an object of this module. Its queue is open.
    unsafe {
        let ep = &mut *fid.cast::<Ep>();
        let entry = CqTaggedEntry {
            op_context: context,
            flags: flags::RECV | flags::TAGGED,
            len: 0,
            buf: ptr::null_mut(),
            data: 0,
            tag: 0,
        };
        if ep.remove_posted(context) {
            let error = errno::ECANCELED;
            (*ep.rx_cq).ring.push_back(Item { entry, source: ADDR_UNSPEC, error, missing: 0 });
        }
    }
    0
}

/// An error must first be read by `readerr`.
pub unsafe extern "C" fn readfrom(
    fid: *mut FidCq,
    buf: *mut c_void,
    count: usize,
    sources: *mut Addr,
) -> isize {
    let cq = fid.cast::<Cq>();
    // SAFETY: the queue is an object of this module. No reference is held while owners are called.
    unsafe {
        for at in 0..(*cq).endpoints.len() {
            let ep = (&(*cq).endpoints)[at];
            (*ep).progress();
        }
        let ring = &mut (*cq).ring;
        let mut read = 0;
        while read < count && ring.front().is_some_and(|item| item.error == 0) {
            let item = ring.pop_front().expect("there is one");
            buf.cast::<CqTaggedEntry>().add(read).write(item.entry);
            if !sources.is_null() {
                *sources.add(read) = item.source;
            }
            read += 1;
        }
        match (read, ring.front()) {
            (0, Some(_)) if count > 0 => -(errno::EAVAIL as isize),
            (0, _) => AGAIN,
            (read, _) => read as isize,
        }
    }
}

/// Returns a signal at the third call.
pub unsafe extern "C" fn sreadfrom(
    fid: *mut FidCq,
    buf: *mut c_void,
    count: usize,
    sources: *mut Addr,
    _: *const c_void,
    timeout: c_int,
) -> isize {
    // SAFETY: guaranteed by the caller.
    let read = unsafe { readfrom(fid, buf, count, sources) };
    if read == AGAIN {
        world().slept.push(timeout);
        if world().slept.len() == 3 {
            return -(libc::EINTR as isize);
        }
    }
    read
}

pub unsafe extern "C" fn readerr(fid: *mut FidCq, to: *mut CqErrEntry, _: u64) -> isize {
    // SAFETY: the queue is an object of this module. Only fields of all versions are written.
    unsafe {
        let ring = &mut (*fid.cast::<Cq>()).ring;
        if ring.front().is_none_or(|item| item.error == 0) {
            return AGAIN;
        }
        let item = ring.pop_front().expect("there is one");
        (*to).op_context = item.entry.op_context;
        (*to).flags = item.entry.flags;
        (*to).len = item.entry.len;
        (*to).data = item.entry.data;
        (*to).tag = item.entry.tag;
        (*to).olen = item.missing;
        (*to).err = item.error;
        (*to).prov_errno = CORE_ERROR;
    }
    1
}

/// Delivers a message after the application posted its receive.
unsafe extern "C" fn start(pointer: *mut c_void) -> c_int {
    // SAFETY: an entry that this core provider queued.
    unsafe {
        let entry = &mut *entry_of(pointer);
        let message = Box::from_raw(entry.peer_context.cast::<Message>());
        let ep = &mut *entry.owner_context.cast::<Ep>();
        if world().random.percent(50) {
            ep.finish(pointer, &message);
        } else {
            ep.started.push_back((pointer, *message));
        }
    }
    0
}

unsafe extern "C" fn discard(pointer: *mut c_void) -> c_int {
    // SAFETY: an entry that this core provider queued.
    unsafe { drop(Box::from_raw((*entry_of(pointer)).peer_context.cast::<Message>())) };
    world().discarded += 1;
    0
}

pub fn peer_ops() -> *mut OpsSrxPeer {
    let ops = OpsSrxPeer {
        size: size_of::<OpsSrxPeer>(),
        start_msg: start,
        start_tag: start,
        discard_msg: discard,
        discard_tag: discard,
    };
    Box::into_raw(Box::new(ops))
}
