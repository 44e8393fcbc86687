//! Untagged receives (`fi_recv` …) and multi-receive buffers (`FI_MULTI_RECV`).
//!
//! An untagged message takes the oldest receive for its source or any source. Two plain queues suffice,
//! because the first entry usually matches.

use std::ffi::c_int;

use libc::iovec;

use crate::abi::{ADDR_UNSPEC, Addr, errno, flags};
use crate::criteria::ReceiveCall;
use crate::peer::entry::{Entry, State};
use crate::peer::owner::{CoreAction, SrxOwner, UntaggedQueues};

pub(crate) fn is_multi_receive(receive: *mut Entry) -> bool {
    // SAFETY: queued entries are live.
    unsafe { (*receive).peer.flags & flags::MULTI_RECV != 0 }
}

impl SrxOwner {
    /// Matches an untagged message. Returns its receive and `FI_SUCCESS`, or a new entry for the message and
    /// `-FI_ENOENT`.
    pub(crate) fn untagged_message(
        &mut self,
        addr: Addr,
        bytes: usize,
    ) -> Result<(*mut Entry, c_int), c_int> {
        let at = UntaggedQueues::find_position(&self.untagged.posted, |source| {
            source == ADDR_UNSPEC || source == addr
        });
        let receive = at.and_then(|at| self.untagged.posted.get(at).copied().map(|receive| (at, receive)));
        match receive {
            Some((at, receive)) if is_multi_receive(receive) => {
                let part = self.new_message(addr, bytes)?;
                if self.take_part(receive, part) {
                    self.untagged.posted.remove(at);
                }
                // SAFETY: the entry was just taken from the pool.
                unsafe { (*part).state = State::Active };
                Ok((part, errno::SUCCESS))
            }
            Some((at, receive)) => {
                self.untagged.posted.remove(at);
                Ok(self.activate_receive(receive, bytes))
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
        self.init_message(message, bytes, flags::MSG | flags::RECV);
        // SAFETY: the entry was just taken from the pool.
        unsafe { ((*message).peer.addr, (*message).peer.tag) = (addr, 0) };
        Ok(message)
    }

    /// Gives a message the next part of a multi-receive buffer. Returns true if the buffer is full.
    pub(crate) fn take_part(&mut self, buffer: *mut Entry, message: *mut Entry) -> bool {
        // SAFETY: both entries are live, and differ.
        let (shared, part) = unsafe { (&mut *buffer, &mut *message) };
        let (room, desc) = shared.first_buffer();
        let bytes = part.peer.msg_size.min(room.iov_len);
        let own = iovec { iov_base: room.iov_base, iov_len: bytes };
        room.iov_base = room.iov_base.cast::<u8>().wrapping_add(bytes).cast();
        room.iov_len -= bytes;
        let is_full = room.iov_len < self.untagged.min_multi_recv;
        // SAFETY: one buffer and one memory descriptor.
        unsafe { part.set_buffers(&raw const own, &raw const desc, 1) };
        part.peer.context = shared.peer.context;
        part.peer.flags |= shared.peer.flags & !flags::MULTI_RECV;
        part.shared_buffer = buffer;
        shared.users += 1;
        if is_full {
            shared.state = State::Full;
        }
        is_full
    }

    /// # Safety
    /// Buffers and memory descriptors match the call.
    pub(crate) unsafe fn receive_untagged(&mut self, call: &ReceiveCall) -> Result<CoreAction, isize> {
        let no_memory = -(errno::ENOMEM as isize);
        if let Some(message) = self.take_untagged(call.criteria.addr) {
            // SAFETY: the message is not queued. The buffers are from the caller.
            unsafe { self.prepare_message(message, call) };
            return Ok(CoreAction::Start(message));
        }
        self.untagged.posted.try_reserve(1).map_err(|_| no_memory)?;
        let completion = self.options.completion_flag(call.flags);
        // SAFETY: guaranteed by the caller.
        let receive = unsafe { self.new_receive(call, completion) }.ok_or(no_memory)?;
        self.untagged.posted.push_back(receive);
        Ok(CoreAction::Done)
    }

    unsafe fn new_receive(&mut self, call: &ReceiveCall, flags: u64) -> Option<*mut Entry> {
        let receive = self.pool.next()?;
        self.pool.take(receive);
        self.init_receive(receive, call.context, flags::MSG | flags::RECV | flags);
        // SAFETY: the entry was just taken from the pool. The buffers are from the caller.
        unsafe {
            ((*receive).peer.addr, (*receive).peer.tag) = (call.criteria.addr, 0);
            (*receive).set_buffers(call.iov, call.desc, call.count);
        }
        Some(receive)
    }

    fn take_untagged(&mut self, addr: Addr) -> Option<*mut Entry> {
        let at = UntaggedQueues::find_position(&self.untagged.unexpected, |from| {
            addr == ADDR_UNSPEC || addr == from
        })?;
        self.untagged.unexpected.remove(at)
    }

    /// Receives into a multi-receive buffer: takes unexpected messages while space is left, then posts the
    /// rest.
    ///
    /// # Safety
    /// `this` is live and without other references. Buffers and memory descriptors match the call.
    pub(crate) unsafe fn receive_multi(this: *mut SrxOwner, call: &ReceiveCall) -> isize {
        let no_memory = -(errno::ENOMEM as isize);
        // SAFETY: guaranteed by the caller. The borrow ends before the core provider is called.
        let buffer = unsafe {
            let owner = &mut *this;
            if owner.untagged.posted.try_reserve(1).is_err() {
                return no_memory;
            }
            let flags = flags::MULTI_RECV | owner.options.completion_flag(call.flags);
            let Some(buffer) = owner.new_receive(call, flags) else { return no_memory };
            // The user prevents the release of the buffer before the buffer is posted.
            (*buffer).users = 1;
            buffer
        };
        loop {
            // SAFETY: guaranteed by the caller. The borrow ends before the core provider is called.
            unsafe {
                let owner = &mut *this;
                let Some(message) = owner.take_untagged(call.criteria.addr) else { break };
                let is_full = owner.take_part(buffer, message);
                let rc = SrxOwner::perform(this, CoreAction::Start(message));
                if rc != 0 || is_full {
                    (*this).end_part(buffer);
                    return rc;
                }
            }
        }
        // SAFETY: the buffer has a user, which ends here.
        unsafe {
            (*buffer).users -= 1;
            (*this).untagged.posted.push_back(buffer);
        }
        0
    }
}
