//! Tagged receives: `fi_trecv` and its like, peeks and claims.

use std::ffi::c_void;

use libc::iovec;

use crate::abi::{Addr, FidEp, MsgTagged, errno, flags};
use crate::matching::Asked;
use crate::patch::owner;
use crate::peer::FrontEnd;
use crate::peer::entry::{ByAddress, Entry, IOV_LIMIT, State};
use crate::peer::owner::{Call, Next, Owner};
use crate::queue::{Completion, Queue};

impl Owner {
    /// `fi_trecv` and its like.
    ///
    /// # Safety
    /// Buffers and registrations are as the call says.
    #[inline]
    pub unsafe fn receive(&mut self, call: &Call) -> Result<Next, isize> {
        let fresh = self.pool.next().ok_or(-(errno::ENOMEM as isize))?;
        // SAFETY: a free entry of the pool is nobody else's. What it asks for must stand in it before the engine sees
        // it, which may ask for what all receives ask.
        unsafe {
            ((*fresh).peer.addr, (*fresh).peer.tag) = (call.asked.addr, call.asked.tag);
            (*fresh).ignore = call.asked.ignore;
        }
        let taken = self.matching.post(fresh as u64, call.asked, &ByAddress);
        match taken.map_err(|_| -(errno::ENOMEM as isize))? {
            Some(message) => {
                let message = message as *mut Entry;
                // SAFETY: what the engine gives is an entry that waited; the buffers are the caller's.
                unsafe { self.begin(message, call) };
                Ok(Next::Start(message))
            }
            None => {
                self.pool.take(fresh);
                let completion = self.terms.completion(call.flags);
                self.becomes_receive(fresh, call.context, flags::TAGGED | flags::RECV | completion);
                // SAFETY: the buffers are the caller's.
                unsafe { (*fresh).buffers(call.iov, call.desc, call.count) };
                Ok(Next::Done)
            }
        }
    }

    /// A message that waited is received into the call's buffers.
    unsafe fn begin(&mut self, message: *mut Entry, call: &Call) {
        // SAFETY: the message is in no queue any more; the buffers are the caller's.
        unsafe {
            (*message).peer.context = call.context;
            (*message).peer.flags |= self.terms.completion(call.flags);
            (*message).buffers(call.iov, call.desc, call.count);
        }
    }

    /// `FI_PEEK`, perhaps with `FI_CLAIM` or `FI_DISCARD`. Its completion is ours to write, found or not.
    ///
    /// # Safety
    /// With `FI_CLAIM`, the context is a `fi_context`, as fi_tagged(3) demands.
    pub unsafe fn peek(&mut self, call: &Call) -> Result<Next, isize> {
        let takes = call.flags & (flags::CLAIM | flags::DISCARD) != 0;
        let found = if takes {
            self.matching.take(call.asked, &ByAddress)
        } else {
            self.matching.probe(call.asked, &ByAddress)
        };
        let mut done = Completion::new(call.context, flags::TAGGED | flags::RECV);
        let Some(message) = found.map_err(|_| -(errno::ENOMEM as isize))? else {
            done.entry.tag = call.asked.tag;
            done.error = errno::ENOMSG;
            // SAFETY: the endpoint is bound to this queue.
            unsafe { Queue::of(self.cq) }.push(done);
            return Ok(Next::Done);
        };
        let message = message as *mut Entry;
        // SAFETY: what the engine gives is an entry that waits, or did until now.
        let entry = unsafe { &mut *message };
        done.entry.flags |= entry.peer.flags & flags::REMOTE_CQ_DATA;
        (done.entry.len, done.entry.tag) = (entry.peer.msg_size, entry.peer.tag);
        (done.entry.data, done.source) = (entry.peer.cq_data, entry.peer.addr);
        // SAFETY: the endpoint is bound to this queue.
        unsafe { Queue::of(self.cq) }.push(done);
        if call.flags & flags::DISCARD != 0 {
            return Ok(Next::Discard(message));
        }
        if call.flags & flags::CLAIM != 0 {
            entry.state = State::Claimed;
            // SAFETY: the caller's: a `fi_context` has room for a pointer.
            unsafe { call.context.cast::<*mut Entry>().write(message) };
        }
        Ok(Next::Done)
    }

    /// `FI_CLAIM` without `FI_PEEK`: receives, or with `FI_DISCARD` drops, what a peek with this context has claimed.
    ///
    /// # Safety
    /// The context is that of such a peek. Buffers and registrations are as the call says.
    pub unsafe fn claimed(&mut self, call: &Call) -> Result<Next, isize> {
        // SAFETY: the caller's.
        let message = unsafe { *call.context.cast::<*mut Entry>() };
        if call.flags & flags::DISCARD != 0 {
            let mut done = Completion::new(call.context, flags::TAGGED | flags::RECV);
            // SAFETY: a claimed entry lives; the endpoint is bound to this queue.
            unsafe {
                (done.entry.len, done.entry.tag) = ((*message).peer.msg_size, (*message).peer.tag);
                Queue::of(self.cq).push(done);
            }
            return Ok(Next::Discard(message));
        }
        // SAFETY: as above; the buffers are the caller's.
        unsafe { self.begin(message, call) };
        Ok(Next::Start(message))
    }
}

/// Any of these calls.
///
/// # Safety
/// `ep` is an endpoint of ours; the rest as fi_tagged(3) demands.
#[inline]
unsafe fn receive(ep: *mut FidEp, mut call: Call, own_flags: Option<u64>) -> isize {
    if call.count > IOV_LIMIT {
        return -(errno::EINVAL as isize);
    }
    // SAFETY: the endpoint's table is ours.
    let this = unsafe { &raw mut owner::<FrontEnd, _>((*ep).tagged).owner };
    // SAFETY: the front end lives as long as its endpoint, and the application calls in one thread at a time. The borrow
    // ends before the core is called.
    let outcome = unsafe {
        let owner = &mut *this;
        call.asked.addr = owner.terms.source(call.asked.addr);
        call.flags = own_flags.unwrap_or(owner.terms.receive_flags);
        if call.flags & (flags::PEEK | flags::CLAIM) == 0 {
            owner.receive(&call)
        } else if call.flags & flags::PEEK == 0 {
            owner.claimed(&call)
        } else {
            // A program that does nothing but peek would otherwise never let its messages in.
            Queue::progress((*this).cq);
            (*this).peek(&call)
        }
    };
    match outcome {
        // SAFETY: nothing is borrowed.
        Ok(next) => unsafe { Owner::proceed(this, next) },
        Err(rc) => rc,
    }
}

/// `fi_trecv`
pub unsafe extern "C" fn recv(
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

/// `fi_trecvv`
pub unsafe extern "C" fn recvv(
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

/// `fi_trecvmsg`
pub unsafe extern "C" fn recvmsg(ep: *mut FidEp, msg: *const MsgTagged, flags: u64) -> isize {
    // SAFETY: the application's message.
    let msg = unsafe { &*msg };
    let asked = Asked { addr: msg.addr, tag: msg.tag, ignore: msg.ignore };
    let (iov, count, desc) = (msg.msg_iov, msg.iov_count, msg.desc);
    let call = Call { iov, count, desc, asked, context: msg.context, flags: 0 };
    // SAFETY: the application's call.
    unsafe { receive(ep, call, Some(flags)) }
}
