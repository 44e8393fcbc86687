//! Tagged receives, peeks and claims.

use crate::abi::{errno, flags};
use crate::completion::Completion;
use crate::criteria::ReceiveCall;
use crate::peer::entry::{ByAddress, Entry, State};
use crate::peer::owner::{CoreAction, SrxOwner};
use crate::queue::Queue;

impl SrxOwner {
    /// # Safety
    /// Buffers and memory descriptors match the call.
    #[inline]
    pub unsafe fn receive(&mut self, call: &ReceiveCall) -> Result<CoreAction, isize> {
        let receive = self.pool.next().ok_or(-(errno::ENOMEM as isize))?;
        // SAFETY: a free entry has no other users. The criteria are set first, because the engine may read
        // the criteria of all receives.
        unsafe {
            ((*receive).peer.addr, (*receive).peer.tag) = (call.criteria.addr, call.criteria.tag);
            (*receive).ignore = call.criteria.ignore;
        }
        let taken = self.matching.post(receive as u64, call.criteria, &ByAddress);
        match taken.map_err(|_| self.matching.refusal_code())? {
            Some(message) => {
                let message = message as *mut Entry;
                // SAFETY: the engine returns an unexpected entry. The buffers are from the caller.
                unsafe { self.prepare_message(message, call) };
                Ok(CoreAction::Start(message))
            }
            None => {
                self.pool.take(receive);
                let completion = self.options.completion_flag(call.flags);
                self.init_receive(receive, call.context, flags::TAGGED | flags::RECV | completion);
                // SAFETY: the buffers are from the caller.
                unsafe { (*receive).set_buffers(call.iov, call.desc, call.count) };
                Ok(CoreAction::Done)
            }
        }
    }

    pub(crate) unsafe fn prepare_message(&mut self, message: *mut Entry, call: &ReceiveCall) {
        // SAFETY: the message is not queued. The buffers are from the caller.
        unsafe {
            let bytes = (*message).peer.msg_size;
            (*message).peer.context = call.context;
            (*message).peer.flags |= self.options.completion_flag(call.flags);
            (*message).set_buffers(call.iov, call.desc, call.count);
            self.provide_buffer(message, bytes);
        }
    }

    /// `FI_PEEK`, optionally with `FI_CLAIM` or `FI_DISCARD`. The provider writes the completion, with or
    /// without a match.
    pub fn peek(&mut self, call: &ReceiveCall) -> Result<CoreAction, isize> {
        let takes = call.flags & (flags::CLAIM | flags::DISCARD) != 0;
        let found = self.matching.probe(call.criteria, takes, &ByAddress);
        let mut done = Completion::new(call.context, flags::TAGGED | flags::RECV);
        let Some(message) = found.map_err(|_| self.matching.refusal_code())? else {
            done.entry.tag = call.criteria.tag;
            done.error = errno::ENOMSG;
            // SAFETY: the endpoint is bound to this queue.
            unsafe { (*self.completions).ready.push_back(done) };
            return Ok(CoreAction::Done);
        };
        let message = message as *mut Entry;
        // SAFETY: the engine returns the address of a live entry.
        let entry = unsafe { &mut *message };
        done.entry.flags |= entry.peer.flags & flags::REMOTE_CQ_DATA;
        (done.entry.len, done.entry.tag) = (entry.peer.msg_size, entry.peer.tag);
        (done.entry.data, done.source) = (entry.peer.cq_data, entry.peer.addr);
        // SAFETY: the endpoint is bound to this queue.
        unsafe { (*self.completions).ready.push_back(done) };
        if call.flags & flags::DISCARD != 0 {
            return Ok(CoreAction::Discard(message));
        }
        if call.flags & flags::CLAIM != 0 {
            entry.state = State::Claimed;
            self.claims.add(call.context, message);
        }
        Ok(CoreAction::Done)
    }

    /// `FI_CLAIM` without `FI_PEEK`: receives the message that a peek with this context claimed, or with
    /// `FI_DISCARD` discards the message.
    ///
    /// # Safety
    /// Buffers and memory descriptors match the call.
    pub unsafe fn receive_claimed(&mut self, call: &ReceiveCall) -> Result<CoreAction, isize> {
        let message = self.claims.take(call.context)?;
        if call.flags & flags::DISCARD != 0 {
            let mut done = Completion::new(call.context, flags::TAGGED | flags::RECV);
            // SAFETY: a claimed entry is live. The endpoint is bound to this queue.
            unsafe {
                (done.entry.len, done.entry.tag) = ((*message).peer.msg_size, (*message).peer.tag);
                (*self.completions).ready.push_back(done);
            }
            return Ok(CoreAction::Discard(message));
        }
        // SAFETY: a claimed entry is live. The buffers are from the caller.
        unsafe { self.prepare_message(message, call) };
        Ok(CoreAction::Start(message))
    }

    /// Receives, peeks or claims a tagged message.
    ///
    /// # Safety
    /// `this` is live and without other references. The call is as fi_tagged(3) requires.
    #[inline]
    pub unsafe fn receive_tagged(this: *mut SrxOwner, call: &ReceiveCall) -> isize {
        // SAFETY: guaranteed by the caller. Borrows end before the core provider is called.
        unsafe {
            let outcome = if call.flags & (flags::PEEK | flags::CLAIM) == 0 {
                (*this).receive(call)
            } else if call.flags & flags::PEEK == 0 {
                (*this).receive_claimed(call)
            } else {
                // A program may only peek, and needs progress.
                Queue::progress((*this).cq);
                (*this).peek(call)
            };
            outcome.map_or_else(|rc| rc, |next| SrxOwner::perform(this, next))
        }
    }
}
