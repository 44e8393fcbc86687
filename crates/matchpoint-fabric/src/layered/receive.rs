//! The application receives, peeks, claims and cancels.

use std::ffi::c_void;

use crate::abi::{errno, flags};
use crate::completion::Completion;
use crate::layered::FrontEnd;
use crate::layered::entry::{ByAddress, Entry, State};
use crate::queue::Queue;
use crate::tagged::{Call, Receives, Terms};

impl Receives for FrontEnd {
    #[inline]
    fn terms(&self) -> &Terms {
        &self.terms
    }

    #[inline]
    unsafe fn receive(this: *mut FrontEnd, call: &Call) -> isize {
        // SAFETY: the caller's. The borrow ends before the queue is read, which calls back.
        unsafe {
            if call.flags & (flags::PEEK | flags::CLAIM) == 0 {
                (*this).post(call)
            } else if call.flags & flags::PEEK == 0 {
                (*this).claimed(call)
            } else {
                Queue::progress((*this).rx_cq);
                (*this).peek(call)
            }
        }
    }
}

impl FrontEnd {
    /// `fi_trecv` and its like.
    ///
    /// # Safety
    /// Buffers and registrations are as the call says.
    #[inline]
    unsafe fn post(&mut self, call: &Call) -> isize {
        let Some(fresh) = self.pool.next() else { return -(errno::ENOMEM as isize) };
        // SAFETY: a free entry of the pool is nobody else's. Before the engine sees it: it may ask for what all ask.
        unsafe {
            ((*fresh).addr, (*fresh).tag) = (call.asked.addr, call.asked.tag);
            (*fresh).ignore = call.asked.ignore;
        }
        match self.matching.post(fresh as u64, call.asked, &ByAddress) {
            Ok(Some(message)) => {
                // SAFETY: what the engine gives is an entry that waited; the buffers are the caller's.
                unsafe { self.begin(message as *mut Entry, call) };
                0
            }
            Ok(None) => {
                self.pool.take(fresh);
                // SAFETY: just taken; the buffers are the caller's.
                unsafe {
                    (*fresh).state = State::Posted;
                    (*fresh).flags = 0;
                    (*fresh).buffers(call, self.terms.completion(call.flags));
                }
                0
            }
            Err(_) => self.matching.refusal(),
        }
    }

    /// A message that waited is received into the call's buffers.
    unsafe fn begin(&mut self, message: *mut Entry, call: &Call) {
        // SAFETY: the message is in no queue any more; the buffers are the caller's.
        unsafe { (*message).buffers(call, self.terms.completion(call.flags)) };
        self.take(message);
    }

    /// A message that waited is received: it has its receive's buffers.
    pub(crate) fn take(&mut self, message: *mut Entry) {
        self.kept_bytes -= size_of::<Entry>();
        // SAFETY: an entry that is in no queue.
        let entry = unsafe { &mut *message };
        if entry.announced != 0 {
            return self.ask_for(message);
        }
        // SAFETY: what was kept is as long as the entry says.
        unsafe { entry.fill(entry.kept(), entry.bytes) };
        self.forget(message);
        self.complete(message, 0);
    }

    /// What was kept of a message is not needed any more.
    fn forget(&mut self, message: *mut Entry) {
        // SAFETY: an entry that is in no queue.
        let entry = unsafe { &mut *message };
        self.kept_bytes -= entry.bytes;
        entry.forget();
    }

    /// Drops a message.
    fn discard(&mut self, message: *mut Entry) {
        self.kept_bytes -= size_of::<Entry>();
        // SAFETY: an entry that is in no queue.
        let entry = unsafe { &mut *message };
        if entry.announced != 0 {
            // Its sender waits for a request all the same: of nothing.
            self.request_none(message);
        } else {
            let (from, bytes) = (entry.addr, entry.bytes);
            self.forget(message);
            self.consumed(from, bytes);
        }
        // SAFETY: nobody refers to it any more.
        unsafe { self.pool.give_back(message) };
    }

    /// `FI_PEEK`, perhaps with `FI_CLAIM` or `FI_DISCARD`.
    fn peek(&mut self, call: &Call) -> isize {
        let takes = call.flags & (flags::CLAIM | flags::DISCARD) != 0;
        let found = self.matching.probe(call.asked, takes, &ByAddress);
        let Ok(found) = found else { return self.matching.refusal() };
        let mut done = Completion::new(call.context, flags::TAGGED | flags::RECV);
        let Some(message) = found else {
            done.entry.tag = call.asked.tag;
            done.error = errno::ENOMSG;
            // SAFETY: the endpoint is bound to this queue.
            unsafe { Queue::of(self.rx_cq) }.push(done);
            return 0;
        };
        let message = message as *mut Entry;
        // SAFETY: what the engine gives is an entry that waits, or did until now.
        let entry = unsafe { &mut *message };
        done.entry.flags |= entry.flags & flags::REMOTE_CQ_DATA;
        (done.entry.len, done.entry.tag) = (entry.bytes, entry.tag);
        (done.entry.data, done.source) = (entry.data, entry.addr);
        // SAFETY: the endpoint is bound to this queue.
        unsafe { Queue::of(self.rx_cq) }.push(done);
        if call.flags & flags::DISCARD != 0 {
            self.discard(message);
        } else if call.flags & flags::CLAIM != 0 {
            entry.state = State::Claimed;
            self.claims.add(call.context, message);
        }
        0
    }

    /// `FI_CLAIM` without `FI_PEEK`: receives, or with `FI_DISCARD` drops, what a peek with this context has claimed.
    ///
    /// # Safety
    /// Buffers and registrations are as the call says.
    unsafe fn claimed(&mut self, call: &Call) -> isize {
        let message = match self.claims.take(call.context) {
            Ok(message) => message,
            Err(rc) => return rc,
        };
        if call.flags & flags::DISCARD == 0 {
            // SAFETY: a claimed entry lives; the buffers are the caller's.
            unsafe { self.begin(message, call) };
            return 0;
        }
        let mut done = Completion::new(call.context, flags::TAGGED | flags::RECV);
        // SAFETY: a claimed entry lives; the endpoint is bound to this queue.
        unsafe {
            (done.entry.len, done.entry.tag) = ((*message).bytes, (*message).tag);
            Queue::of(self.rx_cq).push(done);
        }
        self.discard(message);
        0
    }

    /// Withdraws the receive with this context. False: there is none.
    pub fn cancel(&mut self, context: *mut c_void) -> bool {
        // SAFETY: entries live as long as the pool.
        let is_it =
            |&entry: &*mut Entry| unsafe { (*entry).state == State::Posted && (*entry).context == context };
        let Some(receive) = self.pool.all().find(is_it) else { return false };
        self.matching.cancel(receive as u64);
        let mut done = Completion::new(context, flags::TAGGED | flags::RECV);
        done.error = errno::ECANCELED;
        // SAFETY: in no queue any more; the endpoint is bound to this one.
        unsafe {
            done.entry.tag = (*receive).tag;
            self.pool.give_back(receive);
            Queue::of(self.rx_cq).push(done);
        }
        true
    }
}
