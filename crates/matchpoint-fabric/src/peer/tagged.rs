//! Tagged receives, peeks and claims.

use crate::abi::{errno, flags};
use crate::asked::Call;
use crate::completion::Completion;
use crate::peer::entry::{ByAddress, Entry, State};
use crate::peer::owner::{Next, Owner};
use crate::queue::Queue;

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
        match taken.map_err(|_| self.matching.refusal())? {
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
            let bytes = (*message).peer.msg_size;
            (*message).peer.context = call.context;
            (*message).peer.flags |= self.terms.completion(call.flags);
            (*message).buffers(call.iov, call.desc, call.count);
            self.make_room(message, bytes);
        }
    }

    /// `FI_PEEK`, perhaps with `FI_CLAIM` or `FI_DISCARD`. Its completion is ours to write, found or not.
    pub fn peek(&mut self, call: &Call) -> Result<Next, isize> {
        let takes = call.flags & (flags::CLAIM | flags::DISCARD) != 0;
        let found = self.matching.probe(call.asked, takes, &ByAddress);
        let mut done = Completion::new(call.context, flags::TAGGED | flags::RECV);
        let Some(message) = found.map_err(|_| self.matching.refusal())? else {
            done.entry.tag = call.asked.tag;
            done.error = errno::ENOMSG;
            // SAFETY: the endpoint is bound to this queue.
            unsafe { (*self.completions).now.push_back(done) };
            return Ok(Next::Done);
        };
        let message = message as *mut Entry;
        // SAFETY: what the engine gives is an entry that waits, or did until now.
        let entry = unsafe { &mut *message };
        done.entry.flags |= entry.peer.flags & flags::REMOTE_CQ_DATA;
        (done.entry.len, done.entry.tag) = (entry.peer.msg_size, entry.peer.tag);
        (done.entry.data, done.source) = (entry.peer.cq_data, entry.peer.addr);
        // SAFETY: the endpoint is bound to this queue.
        unsafe { (*self.completions).now.push_back(done) };
        if call.flags & flags::DISCARD != 0 {
            return Ok(Next::Discard(message));
        }
        if call.flags & flags::CLAIM != 0 {
            entry.state = State::Claimed;
            self.claims.add(call.context, message);
        }
        Ok(Next::Done)
    }

    /// `FI_CLAIM` without `FI_PEEK`: receives, or with `FI_DISCARD` drops, what a peek with this context has claimed.
    ///
    /// # Safety
    /// Buffers and registrations are as the call says.
    pub unsafe fn claimed(&mut self, call: &Call) -> Result<Next, isize> {
        let message = self.claims.take(call.context)?;
        if call.flags & flags::DISCARD != 0 {
            let mut done = Completion::new(call.context, flags::TAGGED | flags::RECV);
            // SAFETY: a claimed entry lives; the endpoint is bound to this queue.
            unsafe {
                (done.entry.len, done.entry.tag) = ((*message).peer.msg_size, (*message).peer.tag);
                (*self.completions).now.push_back(done);
            }
            return Ok(Next::Discard(message));
        }
        // SAFETY: as above; the buffers are the caller's.
        unsafe { self.begin(message, call) };
        Ok(Next::Start(message))
    }

    /// Receives, peeks or claims.
    ///
    /// # Safety
    /// `this` lives, and nobody refers to it; the call is as fi_tagged(3) demands.
    #[inline]
    pub unsafe fn receive_tagged(this: *mut Owner, call: &Call) -> isize {
        // SAFETY: the caller's. Borrows end before the core is called.
        let outcome = unsafe {
            if call.flags & (flags::PEEK | flags::CLAIM) == 0 {
                (*this).receive(call)
            } else if call.flags & flags::PEEK == 0 {
                (*this).claimed(call)
            } else {
                // A program that does nothing but peek would otherwise never let its messages in.
                Queue::progress((*this).cq);
                (*this).peek(call)
            }
        };
        match outcome {
            // SAFETY: nothing is borrowed.
            Ok(next) => unsafe { Owner::proceed(this, next) },
            Err(rc) => rc,
        }
    }
}
