//! The application sends: a short message goes as it is, a long one is announced. To a peer that may not know who sends
//! ([`acquaintance`](super::acquaintance)) all are announced, the tiny ones whole: what costs credit is not, for from
//! there none comes back. Whole, too, is the announcement of a short one that is complete on delivery.

use std::ffi::c_void;
use std::ptr;

use libc::iovec;

use crate::abi::{Addr, FidEp, MsgTagged, OpsTagged, errno, flags};
use crate::layered::operation::{Destination, Kind, Operation, PRIVATE, WHOLE, new_bytes};
use crate::layered::wire::{ANNOUNCE, Announce, CONTROL};
use crate::layered::{FrontEnd, credit};
use crate::lock::{self, Guard};
use crate::patch::owner;
use crate::tagged::IOV_LIMIT;

/// Exchanges the sending functions of a table.
pub fn exchange(table: &mut OpsTagged) {
    table.inject = table.inject.and(Some(inject));
    table.injectdata = table.injectdata.and(Some(inject_data));
    table.send = Some(send);
    table.sendv = Some(sendv);
    table.sendmsg = Some(sendmsg);
    table.senddata = Some(senddata);
}

/// Peers that the core is found to have no room for, before the others are left for later as well.
const BUSY: usize = 32;

/// What says when a send is complete.
const LEVELS: u64 = flags::DELIVERY_COMPLETE | flags::TRANSMIT_COMPLETE;

/// What the application is told of a message once it is sent.
enum Telling {
    /// What it asked for.
    Completion,
    /// `fi_tinject` and its like: nothing.
    Nothing,
}

unsafe fn front<'a>(ep: *mut FidEp) -> (Guard<'a>, &'a mut FrontEnd) {
    // SAFETY: the caller's: an endpoint whose table is ours.
    unsafe { (lock::wait((*ep).tagged), owner((*ep).tagged)) }
}

impl FrontEnd {
    /// Whether a message may go as it is; then it is accounted for.
    #[inline]
    fn goes_as_it_is(&mut self, to: Addr, tag: u64, bytes: usize, flags: u64) -> bool {
        if !self.acquaintance.is_known_to(to) || tag & CONTROL != 0 || self.waits_for_peer(flags) {
            return false;
        }
        if flags & flags::INJECT != 0 {
            self.credit.overspend(to, bytes);
            return true;
        }
        bytes <= self.eager_bytes && self.credit.spend(to, bytes)
    }

    /// A send with these flags is complete when the peer says so, not the core: which knows only of our buffers.
    #[inline]
    fn waits_for_peer(&self, flags: u64) -> bool {
        flags & flags::MATCH_COMPLETE != 0
            || flags & flags::DELIVERY_COMPLETE != 0 && self.sends.completion(flags) != 0
    }

    /// What the core has said of a message that was to go as it is.
    #[inline]
    fn gone(&mut self, rc: isize, to: Addr, bytes: usize) -> isize {
        if rc != 0 {
            self.credit.unspend(to, bytes);
        }
        rc
    }

    /// Announces a message; its data follows when it is asked for, or is there: if the peer is to say that it is, or if it
    /// is tiny and the peer may not know us.
    ///
    /// # Safety
    /// The message is the application's: its buffers and their registrations are as it says.
    unsafe fn announce(&mut self, message: &MsgTagged, flags: u64, telling: Telling) -> isize {
        let &MsgTagged { addr: to, tag, data, .. } = message;
        // SAFETY: the caller's.
        let iov = unsafe { buffers(message.msg_iov, message.iov_count) };
        let bytes = total(iov);
        // Applications were told that this bit is not theirs.
        if iov.len() > IOV_LIMIT || tag & CONTROL != 0 || self.private.is_none() {
            return -(errno::EINVAL as isize);
        }
        let is_known = self.acquaintance.is_known_to(to);
        // Until it is matched: then its data may as well be asked for.
        let is_claimed = flags & flags::MATCH_COMPLETE != 0;
        let is_awaited = !is_claimed && self.waits_for_peer(flags);
        let is_whole = match is_known {
            _ if is_claimed => false,
            true => is_awaited && bytes <= self.eager_bytes && self.credit.spend(to, bytes),
            false => bytes <= self.eager_bytes.min(credit::FREE),
        };
        let send = match telling {
            Telling::Nothing if is_whole => ptr::null_mut(),
            // SAFETY: the caller's.
            _ => match unsafe { self.new_send(message, flags, &telling) } {
                Some(send) => send,
                None => {
                    self.take_back(to, bytes, is_known && is_whole);
                    return -(errno::EAGAIN as isize);
                }
            },
        };
        if flags & flags::INJECT != 0 && !is_whole && !keep(send, iov, bytes) {
            self.done(send);
            return -(errno::EAGAIN as isize);
        }
        let of = if send.is_null() { 0 } else { self.arena().name(send) };
        let announce = Announce {
            operation: if is_whole && !is_awaited { 0 } else { of },
            tag,
            bytes: bytes as u64,
            data,
            flags: flags & flags::REMOTE_CQ_DATA
                | if is_whole && is_awaited { flags::DELIVERY_COMPLETE } else { 0 },
            address: self.private.as_ref().map_or(&[], |private| &private.address.0),
            name: if is_known { &[] } else { &self.acquaintance.name.0 },
        }
        .encode();
        let is_done = is_whole && !is_awaited;
        let more = if is_done { WHOLE | flags & LEVELS } else { 0 } | flags & flags::FENCE;
        // Until the peer has it its buffers are not the application's again.
        let stays = is_awaited && flags & flags::INJECT == 0 && iov.len() < self.most_parts;
        let copied = if is_whole && !stays { iov } else { &[] };
        let control = self.new_control(to, ANNOUNCE, &announce, copied, of, more);
        // SAFETY: just made; the registrations are as many as the buffers.
        let rc = control.map_or(-(errno::EAGAIN as isize), |control| unsafe {
            if is_whole && stays {
                (*control).append(iov, message.desc);
            }
            self.send_or_give_back(control)
        });
        if rc != 0 {
            self.take_back(to, bytes, is_known && is_whole);
            if !send.is_null() {
                self.done(send);
            }
        }
        rc
    }

    /// A message that is not sent after all: what it has cost, if it has.
    fn take_back(&mut self, to: Addr, bytes: usize, was_spent: bool) {
        if was_spent {
            self.credit.unspend(to, bytes);
        }
    }

    /// The application's send, for as long as it takes.
    ///
    /// # Safety
    /// As of `announce`; and no more buffers than [`IOV_LIMIT`].
    unsafe fn new_send(
        &mut self,
        message: &MsgTagged,
        flags: u64,
        telling: &Telling,
    ) -> Option<*mut Operation> {
        let &MsgTagged { addr, desc, context, .. } = message;
        let operation = self.arena().get(Kind::Send)?;
        // SAFETY: just taken; the application's registrations are as many as its buffers.
        unsafe {
            let iov = buffers(message.msg_iov, message.iov_count);
            let send = &mut *operation;
            send.iov[..iov.len()].copy_from_slice(iov);
            for at in 0..iov.len() {
                send.desc[at] = if desc.is_null() { ptr::null_mut() } else { *desc.add(at) };
            }
            send.count = iov.len();
            (send.addr, send.context) = (addr, context);
            send.flags = flags & LEVELS
                | match telling {
                    Telling::Completion => self.sends.completion(flags),
                    Telling::Nothing => 0,
                };
        }
        Some(operation)
    }

    /// Sends a control message, or gives it back.
    ///
    /// # Safety
    /// Just made.
    unsafe fn send_or_give_back(&mut self, control: *mut Operation) -> isize {
        // SAFETY: the caller's.
        let rc = unsafe { self.try_send(control) };
        if rc != 0 {
            self.done(control);
        }
        rc
    }

    /// Tells a peer something of a few bytes: nobody is told when it is sent.
    pub fn send_answer(&mut self, to: Addr, tag: u64, message: &[u8]) {
        let is_first = !self.deferred.has(Destination { is_private: false, addr: to });
        if let Some(inject) = self.core().inject.filter(|_| is_first && message.len() <= self.inject_bytes) {
            // SAFETY: the core's function, which is done with the message when it returns.
            if unsafe { inject(self.ep, message.as_ptr().cast(), message.len(), to, tag) } == 0 {
                return;
            }
        }
        self.send_control(self.ep, to, tag, message, 0);
    }

    /// Sends a control message, now or as soon as the core can.
    pub fn send_control(&mut self, ep: *mut FidEp, to: Addr, tag: u64, message: &[u8], of: u64) -> bool {
        let flags = if ep == self.ep { 0 } else { PRIVATE };
        let Some(operation) = self.new_control(to, tag, message, &[], of, flags) else { return false };
        // SAFETY: just made.
        unsafe { self.send_or_defer(operation) };
        true
    }

    /// A control message of these bytes, and behind them a copy of what is in these buffers.
    pub(super) fn new_control(
        &mut self,
        to: Addr,
        tag: u64,
        message: &[u8],
        copied: &[iovec],
        of: u64,
        flags: u64,
    ) -> Option<*mut Operation> {
        let operation = self.arena().get(Kind::Control)?;
        let bytes = message.len() + total(copied);
        let Some(buffer) = new_bytes(bytes) else {
            self.done(operation);
            return None;
        };
        // SAFETY: just taken, and as much memory as both have; the application's buffers are as it says.
        unsafe {
            ptr::copy_nonoverlapping(message.as_ptr(), buffer, message.len());
            copy(copied, buffer.add(message.len()));
            let control = &mut *operation;
            (control.buffer, control.bytes) = (buffer, bytes);
            (control.addr, control.tag, control.of) = (to, tag, of);
            control.flags = flags;
            control.iov[0] = iovec { iov_base: buffer.cast(), iov_len: bytes };
            (control.desc[0], control.count) = (ptr::null_mut(), 1);
        }
        Some(operation)
    }

    /// Sends an operation, or defers it until the core can.
    ///
    /// # Safety
    /// A control message, or data that was asked for; not under way.
    pub(super) unsafe fn send_or_defer(&mut self, operation: *mut Operation) {
        // SAFETY: the caller's.
        unsafe {
            let to = (*operation).destination();
            if self.deferred.has(to) || self.try_send(operation) != 0 {
                self.deferred.push(to, operation);
            }
        }
    }

    /// Tries what is deferred: to every peer, as much as the core has room for.
    pub(super) fn send_deferred(&mut self) {
        let (mut busy, peers) = (0, self.deferred.peers());
        while busy < BUSY.min(peers) {
            let Some((_, operation)) = self.deferred.first() else { break };
            // SAFETY: what is deferred is ours, and not under way.
            let rc = unsafe { self.try_send(operation) };
            if rc == -(errno::EAGAIN as isize) {
                busy += 1;
                self.deferred.pass();
                continue;
            }
            self.deferred.take_first();
            if rc != 0 {
                self.undeliverable(operation, -rc as i32);
            }
        }
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
        let is_control = sending.kind == Kind::Control;
        let msg = MsgTagged {
            msg_iov: sending.iov.as_ptr(),
            desc: sending.desc.as_mut_ptr(),
            iov_count: sending.count,
            addr: sending.addr,
            tag: sending.tag,
            ignore: 0,
            context: operation.cast(),
            data: 0,
        };
        let level = sending.flags & (LEVELS | flags::FENCE);
        // SAFETY: the core's functions, on its endpoints; the buffers live until the operation completes.
        unsafe {
            if is_control && sending.flags & PRIVATE == 0 {
                let send = self.core().sendmsg.expect("every core sends");
                send(self.ep, &raw const msg, flags::COMPLETION | level)
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
    if front.goes_as_it_is(to, tag, len, flags) {
        // SAFETY: the core's function, with the application's arguments.
        let rc =
            unsafe { front.core().send.expect("every core sends")(ep, buf, len, desc, to, tag, context) };
        return front.gone(rc, to, len);
    }
    let (iov, mut desc) = (iovec { iov_base: buf.cast_mut(), iov_len: len }, desc);
    let message = message(&iov, &raw mut desc, to, tag, 0, context);
    // SAFETY: the application's message.
    unsafe { front.announce(&message, flags, Telling::Completion) }
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
    if front.goes_as_it_is(to, tag, len, flags) {
        let core = front.core().senddata.expect("every core sends");
        // SAFETY: the core's function, with the application's arguments.
        let rc = unsafe { core(ep, buf, len, desc, data, to, tag, context) };
        return front.gone(rc, to, len);
    }
    let (iov, mut desc) = (iovec { iov_base: buf.cast_mut(), iov_len: len }, desc);
    let message = message(&iov, &raw mut desc, to, tag, data, context);
    // SAFETY: the application's message.
    unsafe { front.announce(&message, flags | flags::REMOTE_CQ_DATA, Telling::Completion) }
}

unsafe extern "C" fn inject(ep: *mut FidEp, buf: *const c_void, len: usize, to: Addr, tag: u64) -> isize {
    // SAFETY: the application's call, through our table.
    let (_guard, front) = unsafe { front(ep) };
    if front.goes_as_it_is(to, tag, len, flags::INJECT) {
        let core = front.core().inject.expect("only what is there is exchanged");
        // SAFETY: the core's function, with the application's arguments.
        let rc = unsafe { core(ep, buf, len, to, tag) };
        return front.gone(rc, to, len);
    }
    let iov = iovec { iov_base: buf.cast_mut(), iov_len: len };
    let message = message(&iov, ptr::null_mut(), to, tag, 0, ptr::null_mut());
    // SAFETY: the application's message.
    unsafe { front.announce(&message, flags::INJECT, Telling::Nothing) }
}

unsafe extern "C" fn inject_data(
    ep: *mut FidEp,
    buf: *const c_void,
    len: usize,
    data: u64,
    to: Addr,
    tag: u64,
) -> isize {
    // SAFETY: the application's call, through our table.
    let (_guard, front) = unsafe { front(ep) };
    if front.goes_as_it_is(to, tag, len, flags::INJECT) {
        let core = front.core().injectdata.expect("only what is there is exchanged");
        // SAFETY: the core's function, with the application's arguments.
        let rc = unsafe { core(ep, buf, len, data, to, tag) };
        return front.gone(rc, to, len);
    }
    let iov = iovec { iov_base: buf.cast_mut(), iov_len: len };
    let message = message(&iov, ptr::null_mut(), to, tag, data, ptr::null_mut());
    // SAFETY: the application's message.
    unsafe { front.announce(&message, flags::INJECT | flags::REMOTE_CQ_DATA, Telling::Nothing) }
}

/// A message of one buffer.
fn message(
    iov: &iovec,
    desc: *mut *mut c_void,
    addr: Addr,
    tag: u64,
    data: u64,
    context: *mut c_void,
) -> MsgTagged {
    MsgTagged { msg_iov: iov, desc, iov_count: 1, addr, tag, ignore: 0, context, data }
}

/// Copies what is in these buffers.
///
/// # Safety
/// They are as the application says, and there is as much room.
unsafe fn copy(iov: &[iovec], mut to: *mut u8) {
    for part in iov.iter().filter(|part| part.iov_len > 0) {
        // SAFETY: the caller's.
        unsafe {
            ptr::copy_nonoverlapping(part.iov_base.cast(), to, part.iov_len);
            to = to.add(part.iov_len);
        }
    }
}

/// Has a send keep its message, for its buffers are the application's again as soon as it is called. False: there is no
/// memory.
fn keep(send: *mut Operation, iov: &[iovec], bytes: usize) -> bool {
    let Some(memory) = new_bytes(bytes) else { return false };
    // SAFETY: the application's buffers are as it says, and `bytes` long in all.
    unsafe { copy(iov, memory) };
    // SAFETY: an operation that was just taken; its memory is freed when it is given back.
    let send = unsafe { &mut *send };
    (send.buffer, send.bytes) = (memory, bytes);
    (send.iov[0], send.desc[0]) = (iovec { iov_base: memory.cast(), iov_len: bytes }, ptr::null_mut());
    send.count = 1;
    true
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
    if front.goes_as_it_is(to, tag, bytes, flags) {
        // SAFETY: the core's function, with the application's arguments.
        let rc =
            unsafe { front.core().sendv.expect("every core sends")(ep, iov, desc, count, to, tag, context) };
        return front.gone(rc, to, bytes);
    }
    let message =
        MsgTagged { msg_iov: iov, desc, iov_count: count, addr: to, tag, ignore: 0, context, data: 0 };
    // SAFETY: the application's message.
    unsafe { front.announce(&message, flags, Telling::Completion) }
}

unsafe extern "C" fn sendmsg(ep: *mut FidEp, msg: *const MsgTagged, flags: u64) -> isize {
    // SAFETY: the application's call, through our table.
    let ((_guard, front), msg) = unsafe { (front(ep), &*msg) };
    // SAFETY: the application's buffers.
    let parts = unsafe { buffers(msg.msg_iov, msg.iov_count) };
    let (bytes, to, tag) = (total(parts), msg.addr, msg.tag);
    if front.goes_as_it_is(to, tag, bytes, flags) {
        // SAFETY: the core's function, with the application's arguments.
        let rc = unsafe { front.core().sendmsg.expect("every core sends")(ep, msg, flags) };
        return front.gone(rc, to, bytes);
    }
    // SAFETY: the application's message.
    unsafe { front.announce(msg, flags, Telling::Completion) }
}
