//! The application sends: a short message goes as it is, a long one is announced.

use std::ffi::c_void;

use libc::iovec;

use crate::abi::{Addr, FidEp, MsgTagged, OpsTagged, errno, flags};
use crate::layered::FrontEnd;
use crate::layered::operation::{Kind, Operation, new_bytes};
use crate::layered::wire::{ANNOUNCE, Announce, CONTROL};
use crate::lock::{self, Guard};
use crate::patch::owner;
use crate::tagged::IOV_LIMIT;

/// Exchanges the sending functions of a table; those that inject are the core's: what they send is short.
pub fn exchange(table: &mut OpsTagged) {
    table.send = Some(send);
    table.sendv = Some(sendv);
    table.sendmsg = Some(sendmsg);
    table.senddata = Some(senddata);
}

/// A send that is to be announced.
struct Long<'a> {
    iov: &'a [iovec],
    desc: *const *mut c_void,
    bytes: usize,
    to: Addr,
    tag: u64,
    data: u64,
    context: *mut c_void,
    flags: u64,
}

unsafe fn front<'a>(ep: *mut FidEp) -> (Guard<'a>, &'a mut FrontEnd) {
    // SAFETY: the caller's: an endpoint whose table is ours.
    unsafe { (lock::wait((*ep).tagged), owner((*ep).tagged)) }
}

impl FrontEnd {
    /// Whether a message may go as it is; then it is accounted for.
    #[inline]
    fn goes_whole(&mut self, to: Addr, bytes: usize, flags: u64) -> bool {
        if flags & flags::INJECT != 0 {
            return true;
        }
        bytes <= self.eager_bytes && flags & flags::MATCH_COMPLETE == 0 && self.credit.spend(to, bytes)
    }

    /// What the core has said of a message that was to go as it is.
    #[inline]
    fn gone(&mut self, rc: isize, to: Addr, bytes: usize, flags: u64) -> isize {
        if rc != 0 && flags & flags::INJECT == 0 {
            self.credit.unspend(to, bytes);
        }
        rc
    }

    /// Announces a message; its data follows when it is asked for.
    fn announce(&mut self, long: &Long<'_>) -> isize {
        if long.iov.len() > IOV_LIMIT {
            return -(errno::EINVAL as isize);
        }
        let Some(send) = self.arena().get(Kind::Send) else { return -(errno::EAGAIN as isize) };
        // SAFETY: just taken; the application's registrations are as many as its buffers.
        unsafe {
            let send = &mut *send;
            send.iov[..long.iov.len()].copy_from_slice(long.iov);
            for at in 0..long.iov.len() {
                send.desc[at] = if long.desc.is_null() { std::ptr::null_mut() } else { *long.desc.add(at) };
            }
            send.count = long.iov.len();
            send.context = long.context;
            send.flags = long.flags & (flags::DELIVERY_COMPLETE | flags::TRANSMIT_COMPLETE)
                | self.sends.completion(long.flags);
        }
        let Some(private) = &self.private else { return -(errno::EINVAL as isize) };
        let message = Announce {
            operation: self.arena().name(send),
            tag: long.tag,
            bytes: long.bytes as u64,
            data: long.data,
            flags: long.flags & flags::REMOTE_CQ_DATA,
            address: private.address.clone(),
        };
        let rc = self.try_control(long.to, ANNOUNCE, &message.encode(), send.cast());
        if rc != 0 {
            self.done(send);
        }
        rc
    }

    /// Sends a control message on the application's endpoint, in the order of its messages, or not at all.
    fn try_control(&mut self, to: Addr, tag: u64, message: &[u8], of: *mut c_void) -> isize {
        let Some(operation) = self.new_control(self.ep, to, tag, message, of) else {
            return -(errno::EAGAIN as isize);
        };
        // SAFETY: just made.
        let rc = unsafe { self.try_send(operation) };
        if rc != 0 {
            self.done(operation);
        }
        rc
    }

    /// Sends a control message, now or as soon as the core can.
    pub fn send_control(
        &mut self,
        ep: *mut FidEp,
        to: Addr,
        tag: u64,
        message: &[u8],
        of: *mut c_void,
    ) -> bool {
        let Some(operation) = self.new_control(ep, to, tag, message, of) else { return false };
        // SAFETY: just made.
        if !self.deferred.is_empty() || unsafe { self.try_send(operation) } != 0 {
            self.deferred.push_back(operation);
        }
        true
    }

    fn new_control(
        &mut self,
        ep: *mut FidEp,
        to: Addr,
        tag: u64,
        message: &[u8],
        of: *mut c_void,
    ) -> Option<*mut Operation> {
        let operation = self.arena().get(Kind::Control)?;
        let Some(buffer) = new_bytes(message.len()) else {
            self.done(operation);
            return None;
        };
        // SAFETY: just taken, and as much memory as the message has.
        unsafe {
            std::ptr::copy_nonoverlapping(message.as_ptr(), buffer, message.len());
            let control = &mut *operation;
            (control.buffer, control.bytes) = (buffer, message.len());
            (control.addr, control.tag, control.context) = (to, tag, of);
            control.flags = u64::from(ep != self.ep);
        }
        Some(operation)
    }

    /// Gives the core a control message, or the data of a message that was asked for. What the core says.
    ///
    /// # Safety
    /// The operation is one of these, and not under way.
    pub unsafe fn try_send(&mut self, operation: *mut Operation) -> isize {
        let Some(private) = &self.private else { return 0 };
        let private = private.ep;
        // SAFETY: the caller's.
        let sending = unsafe { &mut *operation };
        let whole = iovec { iov_base: sending.buffer.cast(), iov_len: sending.bytes };
        let is_control = sending.kind == Kind::Control;
        let (iov, count, desc) = if is_control {
            (&raw const whole, 1, std::ptr::null_mut())
        } else {
            (sending.iov.as_ptr(), sending.count, sending.desc.as_mut_ptr())
        };
        let msg = MsgTagged {
            msg_iov: iov,
            desc,
            iov_count: count,
            addr: sending.addr,
            tag: sending.tag,
            ignore: 0,
            context: operation.cast(),
            data: 0,
        };
        let level = if is_control { 0 } else { sending.flags & !flags::COMPLETION };
        // SAFETY: the core's functions, on its endpoints; the buffers live until the operation completes.
        unsafe {
            if is_control && sending.flags == 0 {
                let send = self.core().sendmsg.expect("every core sends");
                send(self.ep, &raw const msg, flags::COMPLETION)
            } else {
                let send = (*(*private).tagged).sendmsg.expect("every core sends");
                send(private, &raw const msg, flags::COMPLETION | level)
            }
        }
    }
}

unsafe extern "C" fn send(
    ep: *mut FidEp,
    buf: *const c_void,
    len: usize,
    desc: *mut c_void,
    to: Addr,
    tag: u64,
    context: *mut c_void,
) -> isize {
    // SAFETY: the application's call, through our table.
    let (_guard, front) = unsafe { front(ep) };
    let flags = front.sends.receive_flags;
    debug_assert_eq!(tag & CONTROL, 0, "applications were told that this bit is not theirs");
    if front.goes_whole(to, len, flags) {
        // SAFETY: the core's function, with the application's arguments.
        let rc =
            unsafe { front.core().send.expect("every core sends")(ep, buf, len, desc, to, tag, context) };
        return front.gone(rc, to, len, flags);
    }
    let iov = [iovec { iov_base: buf.cast_mut(), iov_len: len }];
    front.announce(&Long { iov: &iov, desc: &raw const desc, bytes: len, to, tag, data: 0, context, flags })
}

unsafe extern "C" fn senddata(
    ep: *mut FidEp,
    buf: *const c_void,
    len: usize,
    desc: *mut c_void,
    data: u64,
    to: Addr,
    tag: u64,
    context: *mut c_void,
) -> isize {
    // SAFETY: the application's call, through our table.
    let (_guard, front) = unsafe { front(ep) };
    let flags = front.sends.receive_flags;
    if front.goes_whole(to, len, flags) {
        let core = front.core().senddata.expect("every core sends");
        // SAFETY: the core's function, with the application's arguments.
        let rc = unsafe { core(ep, buf, len, desc, data, to, tag, context) };
        return front.gone(rc, to, len, flags);
    }
    let iov = [iovec { iov_base: buf.cast_mut(), iov_len: len }];
    let flags = flags | flags::REMOTE_CQ_DATA;
    front.announce(&Long { iov: &iov, desc: &raw const desc, bytes: len, to, tag, data, context, flags })
}

fn total(iov: &[iovec]) -> usize {
    iov.iter().map(|part| part.iov_len).sum()
}

/// The buffers of a call; there may be none.
unsafe fn buffers<'a>(iov: *const iovec, count: usize) -> &'a [iovec] {
    if count == 0 {
        return &[];
    }
    // SAFETY: the caller's: the application says that there are so many.
    unsafe { std::slice::from_raw_parts(iov, count) }
}

unsafe extern "C" fn sendv(
    ep: *mut FidEp,
    iov: *const iovec,
    desc: *mut *mut c_void,
    count: usize,
    to: Addr,
    tag: u64,
    context: *mut c_void,
) -> isize {
    // SAFETY: the application's call, through our table.
    let ((_guard, front), parts) = unsafe { (front(ep), buffers(iov, count)) };
    let (bytes, flags) = (total(parts), front.sends.receive_flags);
    if front.goes_whole(to, bytes, flags) {
        // SAFETY: the core's function, with the application's arguments.
        let rc =
            unsafe { front.core().sendv.expect("every core sends")(ep, iov, desc, count, to, tag, context) };
        return front.gone(rc, to, bytes, flags);
    }
    front.announce(&Long { iov: parts, desc, bytes, to, tag, data: 0, context, flags })
}

unsafe extern "C" fn sendmsg(ep: *mut FidEp, msg: *const MsgTagged, flags: u64) -> isize {
    // SAFETY: the application's call, through our table.
    let ((_guard, front), msg) = unsafe { (front(ep), &*msg) };
    // SAFETY: the application's buffers.
    let parts = unsafe { buffers(msg.msg_iov, msg.iov_count) };
    let (bytes, to) = (total(parts), msg.addr);
    if front.goes_whole(to, bytes, flags) {
        // SAFETY: the core's function, with the application's arguments.
        let rc = unsafe { front.core().sendmsg.expect("every core sends")(ep, msg, flags) };
        return front.gone(rc, to, bytes, flags);
    }
    let &MsgTagged { desc, tag, data, context, .. } = msg;
    front.announce(&Long { iov: parts, desc, bytes, to, tag, data, context, flags })
}
