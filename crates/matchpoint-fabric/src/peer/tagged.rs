//! Tagged receives, peeks and claims.

use crate::abi::{errno, flags};
use crate::asked::Call;
use crate::completion::Completion;
use crate::peer::entry::{ByAddress, Entry, State};
use crate::peer::owner::{Next, Owner};
use crate::queue::Queue;

impl Owner {
    /// Posts a tagged receive.
    ///
    /// # Safety
    /// Buffers and memory descriptors match the call.
    #[inline]
    pub unsafe fn receive(&mut self, call: &Call) -> Result<Next, isize> {
        let fresh = self.pool.next().ok_or(-(errno::ENOMEM as isize))?;
        // SAFETY: a free entry has no other users. Its criteria are set before the engine runs, because the engine may
        // read the criteria of all receives.
        unsafe {
            ((*fresh).peer.addr, (*fresh).peer.tag) = (call.asked.addr, call.asked.tag);
            (*fresh).ignore = call.asked.ignore;
        }
        let taken = self.matching.post(fresh as u64, call.asked, &ByAddress);
        match taken.map_err(|_| self.matching.refusal())? {
            Some(message) => {
                let message = message as *mut Entry;
                // SAFETY: the engine returns an unexpected entry. The buffers are from the caller.
                unsafe { self.begin(message, call) };
                Ok(Next::Start(message))
            }
            None => {
                self.pool.take(fresh);
                let completion = self.terms.completion(call.flags);
                self.becomes_receive(fresh, call.context, flags::TAGGED | flags::RECV | completion);
                // SAFETY: the buffers are from the caller.
                unsafe { (*fresh).buffers(call.iov, call.desc, call.count) };
                Ok(Next::Done)
            }
        }
    }

    /// Prepares an unexpected message for the call's buffers.
    unsafe fn begin(&mut self, message: *mut Entry, call: &Call) {
        // SAFETY: the message is not queued. The buffers are from the caller.
        unsafe {
            let bytes = (*message).peer.msg_size;
            (*message).peer.context = call.context;
            (*message).peer.flags |= self.terms.completion(call.flags);
            (*message).buffers(call.iov, call.desc, call.count);
            self.make_room(message, bytes);
        }
    }

    /// `FI_PEEK`, optionally with `FI_CLAIM` or `FI_DISCARD`. The provider writes its completion, with or without a
    /// match.
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
        // SAFETY: the engine returns the address of a live entry.
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

    /// `FI_CLAIM` without `FI_PEEK`: receives the message that a peek with this context claimed. `FI_DISCARD` discards
    /// it.
    ///
    /// # Safety
    /// Buffers and memory descriptors match the call.
    pub unsafe fn claimed(&mut self, call: &Call) -> Result<Next, isize> {
        let message = self.claims.take(call.context)?;
        if call.flags & flags::DISCARD != 0 {
            let mut done = Completion::new(call.context, flags::TAGGED | flags::RECV);
            // SAFETY: a claimed entry is live. The endpoint is bound to this queue.
            unsafe {
                (done.entry.len, done.entry.tag) = ((*message).peer.msg_size, (*message).peer.tag);
                (*self.completions).now.push_back(done);
            }
            return Ok(Next::Discard(message));
        }
        // SAFETY: as above. The buffers are from the caller.
        unsafe { self.begin(message, call) };
        Ok(Next::Start(message))
    }

    /// Receives, peeks or claims.
    ///
    /// # Safety
    /// `this` is live and without other references. The call is as fi_tagged(3) requires.
    #[inline]
    pub unsafe fn receive_tagged(this: *mut Owner, call: &Call) -> isize {
        // SAFETY: guaranteed by the caller. Borrows end before the core provider is called.
        let outcome = unsafe {
            if call.flags & (flags::PEEK | flags::CLAIM) == 0 {
                (*this).receive(call)
            } else if call.flags & flags::PEEK == 0 {
                (*this).claimed(call)
            } else {
                // A program that only peeks needs this progress.
                Queue::progress((*this).cq);
                (*this).peek(call)
            }
        };
        match outcome {
            // SAFETY: no borrow is live.
            Ok(next) => unsafe { Owner::proceed(this, next) },
            Err(rc) => rc,
        }
    }
}
