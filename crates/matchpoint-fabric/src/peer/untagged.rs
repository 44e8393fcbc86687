//! Untagged receives: `fi_recv` and its like, and buffers for several messages (`FI_MULTI_RECV`).
//!
//! Without a tag there is little to match: the oldest receive that names no source, or this one. So no engine: two
//! queues, in which the first entry is nearly always the right one.

use std::collections::VecDeque;
use std::ffi::{c_int, c_void};

use libc::iovec;

use crate::abi::{ADDR_UNSPEC, Addr, FidEp, Msg, errno, flags};
use crate::asked::Asked;
use crate::lock;
use crate::patch::owner;
use crate::peer::PeerEndpoint;
use crate::peer::calls::{Call, IOV_LIMIT};
use crate::peer::entry::{Entry, State};
use crate::peer::owner::{Next, Owner};

/// Untagged receives and messages, oldest first.
pub struct Untagged {
    posted: VecDeque<*mut Entry>,
    unexpected: VecDeque<*mut Entry>,
    /// A buffer with less room than this is used up (`FI_OPT_MIN_MULTI_RECV`).
    pub least_room: usize,
}

impl Untagged {
    /// Empty queues.
    pub fn new(least_room: usize) -> Self {
        Untagged { posted: VecDeque::new(), unexpected: VecDeque::new(), least_room }
    }

    /// What waits, oldest first.
    pub(crate) fn messages(&self) -> impl Iterator<Item = *mut Entry> + '_ {
        self.unexpected.iter().copied()
    }

    /// Withdraws a message.
    pub(crate) fn retract(&mut self, message: *mut Entry) {
        self.unexpected.retain(|&entry| entry != message);
    }

    /// Withdraws a receive.
    pub(crate) fn withdraw(&mut self, receive: *mut Entry) {
        self.posted.retain(|&entry| entry != receive);
    }

    fn position(queue: &VecDeque<*mut Entry>, fits: impl Fn(Addr) -> bool) -> Option<usize> {
        // SAFETY: what is queued is an entry that lives.
        queue.iter().position(|&entry| fits(unsafe { (*entry).peer.addr }))
    }
}

/// A receive that is posted is a buffer for several messages.
fn is_shared(receive: *mut Entry) -> bool {
    // SAFETY: what is queued is an entry that lives.
    unsafe { (*receive).peer.flags & flags::MULTI_RECV != 0 }
}

impl Owner {
    /// The sender of a message that waits is known now: a receive that names it may be posted already.
    pub(crate) fn name_untagged(&mut self, message: *mut Entry, addr: Addr) -> Next {
        let at = Untagged::position(&self.untagged.posted, |named| named == ADDR_UNSPEC || named == addr);
        let Some((at, receive)) = at.and_then(|at| Some((at, *self.untagged.posted.get(at)?))) else {
            return Next::Done;
        };
        self.untagged.retract(message);
        if !is_shared(receive) {
            self.untagged.posted.remove(at);
            return self.hand_over(receive, message);
        }
        if self.carve(receive, message) {
            self.untagged.posted.remove(at);
        }
        Next::Start(message)
    }

    /// An untagged message: the receive that it takes and `FI_SUCCESS`, or an entry for itself and `-FI_ENOENT`.
    pub(crate) fn untagged_message(
        &mut self,
        addr: Addr,
        bytes: usize,
    ) -> Result<(*mut Entry, c_int), c_int> {
        let at = Untagged::position(&self.untagged.posted, |named| named == ADDR_UNSPEC || named == addr);
        let receive = at.and_then(|at| self.untagged.posted.get(at).copied().map(|receive| (at, receive)));
        match receive {
            Some((at, receive)) if is_shared(receive) => {
                let part = self.new_message(addr, bytes)?;
                if self.carve(receive, part) {
                    self.untagged.posted.remove(at);
                }
                // SAFETY: just taken from the pool.
                unsafe { (*part).state = State::Active };
                Ok((part, errno::SUCCESS))
            }
            Some((at, receive)) => {
                self.untagged.posted.remove(at);
                // SAFETY: it was queued, so it lives.
                let entry = unsafe { &mut *receive };
                entry.state = State::Active;
                entry.peer.msg_size = entry.peer.msg_size.min(bytes);
                self.make_room(receive, bytes);
                Ok((receive, errno::SUCCESS))
            }
            None => {
                self.untagged.unexpected.try_reserve(1).map_err(|_| -errno::ENOMEM)?;
                let message = self.new_message(addr, bytes)?;
                self.untagged.unexpected.push_back(message);
                Ok((message, -errno::ENOENT))
            }
        }
    }

    fn new_message(&mut self, addr: Addr, bytes: usize) -> Result<*mut Entry, c_int> {
        let message = self.pool.next().ok_or(-errno::ENOMEM)?;
        self.pool.take(message);
        self.becomes_message(message, bytes, flags::MSG | flags::RECV);
        // SAFETY: just taken from the pool.
        unsafe { ((*message).peer.addr, (*message).peer.tag) = (addr, 0) };
        Ok(message)
    }

    /// The next part of a buffer for several messages becomes the buffer of this one. True: the buffer is used up.
    fn carve(&mut self, buffer: *mut Entry, message: *mut Entry) -> bool {
        // SAFETY: both live, and differ.
        let (shared, part) = unsafe { (&mut *buffer, &mut *message) };
        let (room, desc) = shared.buffer();
        let bytes = part.peer.msg_size.min(room.iov_len);
        let own = iovec { iov_base: room.iov_base, iov_len: bytes };
        room.iov_base = room.iov_base.cast::<u8>().wrapping_add(bytes).cast();
        room.iov_len -= bytes;
        let is_full = room.iov_len < self.untagged.least_room;
        // SAFETY: one buffer, and one registration.
        unsafe { part.buffers(&raw const own, &raw const desc, 1) };
        part.peer.context = shared.peer.context;
        part.peer.flags |= shared.peer.flags & !flags::MULTI_RECV;
        part.within = buffer;
        shared.users += 1;
        if is_full {
            shared.state = State::Full;
        }
        is_full
    }

    /// `fi_recv` and its like.
    ///
    /// # Safety
    /// Buffers and registrations are as the call says.
    unsafe fn receive_untagged(&mut self, call: &Call) -> Result<Next, isize> {
        let no_memory = -(errno::ENOMEM as isize);
        let completion = self.terms.completion(call.flags);
        if let Some(message) = self.take_untagged(call.asked.addr) {
            // SAFETY: it is in no queue any more; the buffers are the caller's.
            unsafe {
                let bytes = (*message).peer.msg_size;
                (*message).peer.context = call.context;
                (*message).peer.flags |= completion;
                (*message).buffers(call.iov, call.desc, call.count);
                self.make_room(message, bytes);
            }
            return Ok(Next::Start(message));
        }
        self.untagged.posted.try_reserve(1).map_err(|_| no_memory)?;
        // SAFETY: the caller's.
        let receive = unsafe { self.new_receive(call, completion) }.ok_or(no_memory)?;
        self.untagged.posted.push_back(receive);
        Ok(Next::Done)
    }

    unsafe fn new_receive(&mut self, call: &Call, flags: u64) -> Option<*mut Entry> {
        let receive = self.pool.next()?;
        self.pool.take(receive);
        self.becomes_receive(receive, call.context, flags::MSG | flags::RECV | flags);
        // SAFETY: just taken from the pool; the buffers are the caller's.
        unsafe {
            ((*receive).peer.addr, (*receive).peer.tag) = (call.asked.addr, 0);
            (*receive).buffers(call.iov, call.desc, call.count);
        }
        Some(receive)
    }

    /// The oldest message that a receive from `addr` may take, taken.
    fn take_untagged(&mut self, addr: Addr) -> Option<*mut Entry> {
        let at = Untagged::position(&self.untagged.unexpected, |from| addr == ADDR_UNSPEC || addr == from)?;
        self.untagged.unexpected.remove(at)
    }

    /// A buffer for several messages: takes what waits as long as there is room, and is posted if some is left.
    ///
    /// # Safety
    /// `this` lives, and nobody refers to it; buffers and registrations are as the call says.
    unsafe fn receive_several(this: *mut Owner, call: &Call) -> isize {
        let no_memory = -(errno::ENOMEM as isize);
        // SAFETY: the caller's. The borrow ends before the core is called.
        let buffer = unsafe {
            let owner = &mut *this;
            if owner.untagged.posted.try_reserve(1).is_err() {
                return no_memory;
            }
            let flags = flags::MULTI_RECV | owner.terms.completion(call.flags);
            let Some(buffer) = owner.new_receive(call, flags) else { return no_memory };
            // A user of its own, until it is posted: so that it is not used up under our hands.
            (*buffer).users = 1;
            buffer
        };
        loop {
            // SAFETY: as above.
            let next = unsafe {
                let owner = &mut *this;
                let message = owner.take_untagged(call.asked.addr);
                message.map(|message| (message, owner.carve(buffer, message)))
            };
            let Some((message, is_full)) = next else { break };
            // SAFETY: nothing is borrowed.
            let rc = unsafe { Owner::proceed(this, Next::Start(message)) };
            if rc != 0 || is_full {
                // SAFETY: the buffer lives: it has a user, which ends here.
                unsafe { (*this).leave(buffer) };
                return rc;
            }
        }
        // SAFETY: as above.
        unsafe {
            (*buffer).users -= 1;
            (*this).untagged.posted.push_back(buffer);
        }
        0
    }
}

/// Any of these calls.
///
/// # Safety
/// `ep` is an endpoint of ours; the rest as fi_msg(3) demands.
unsafe fn receive(ep: *mut FidEp, mut call: Call, own_flags: Option<u64>) -> isize {
    if call.count > IOV_LIMIT {
        return -(errno::EINVAL as isize);
    }
    // SAFETY: the endpoint's table is ours; what is kept for an endpoint lives as long as it, and the application calls in one
    // thread at a time. Borrows end before the core is called.
    unsafe {
        let _guard = lock::wait((*ep).msg);
        let this = &raw mut owner::<PeerEndpoint, _>((*ep).msg).owner;
        call.asked.addr = (*this).terms.untagged_source(call.asked.addr);
        let default = (*this).terms.receive_flags;
        call.flags = own_flags.map_or(default, |own| own | default & flags::MULTI_RECV);
        if call.flags & flags::MULTI_RECV != 0 {
            return Owner::receive_several(this, &call);
        }
        let outcome = (*this).receive_untagged(&call);
        match outcome {
            Ok(next) => Owner::proceed(this, next),
            Err(rc) => rc,
        }
    }
}

fn from(addr: Addr) -> Asked {
    Asked { addr, tag: 0, ignore: u64::MAX }
}

/// `fi_recv`
pub unsafe extern "C" fn recv(
    ep: *mut FidEp,
    buf: *mut c_void,
    len: usize,
    desc: *mut c_void,
    addr: Addr,
    context: *mut c_void,
) -> isize {
    let iov = iovec { iov_base: buf, iov_len: len };
    let (iov, desc) = (&raw const iov, &raw const desc);
    // SAFETY: the application's call, its one buffer made an array of one.
    unsafe { receive(ep, Call { iov, count: 1, desc, asked: from(addr), context, flags: 0 }, None) }
}

/// `fi_recvv`
pub unsafe extern "C" fn recvv(
    ep: *mut FidEp,
    iov: *const iovec,
    desc: *mut *mut c_void,
    count: usize,
    addr: Addr,
    context: *mut c_void,
) -> isize {
    // SAFETY: the application's call.
    unsafe { receive(ep, Call { iov, count, desc, asked: from(addr), context, flags: 0 }, None) }
}

/// `fi_recvmsg`
pub unsafe extern "C" fn recvmsg(ep: *mut FidEp, msg: *const Msg, flags: u64) -> isize {
    // SAFETY: the application's message.
    let msg = unsafe { &*msg };
    let (iov, count, desc) = (msg.msg_iov, msg.iov_count, msg.desc);
    let call = Call { iov, count, desc, asked: from(msg.addr), context: msg.context, flags: 0 };
    // SAFETY: the application's call.
    unsafe { receive(ep, call, Some(flags)) }
}
