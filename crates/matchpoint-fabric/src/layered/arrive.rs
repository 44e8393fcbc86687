//! A message has arrived in one of the buffers below.

use crate::abi::{ADDR_UNSPEC, Addr, CqTaggedEntry, errno, flags};
use crate::layered::FrontEnd;
use crate::layered::entry::{ByAddress, Entry, State};
use crate::layered::operation::Operation;
use crate::layered::wire::{ANNOUNCE, Announce, CONTROL, CREDIT};
use crate::queue::{Completion, Queue};

/// What a message says of itself, however it came.
struct Arrival {
    tag: u64,
    source: Addr,
    bytes: usize,
    data: u64,
    flags: u64,
    /// The sender's operation and private endpoint, of a message that is announced.
    announced: Option<(u64, Addr)>,
}

impl FrontEnd {
    /// A message lies in a buffer.
    ///
    /// # Safety
    /// The core has completed the buffer with this entry.
    #[inline]
    pub unsafe fn arrived(&mut self, buffer: *mut Operation, done: &CqTaggedEntry, source: Addr) {
        // SAFETY: the core says how much it has put there.
        let message = unsafe { std::slice::from_raw_parts((*buffer).buffer, done.len) };
        let arrival = if done.tag & CONTROL == 0 {
            let (tag, bytes, data) = (done.tag, done.len, done.data);
            Arrival { tag, source, bytes, data, flags: done.flags & flags::REMOTE_CQ_DATA, announced: None }
        } else {
            match self.control(done.tag, message, source) {
                Some(arrival) => arrival,
                None => return,
            }
        };
        self.match_message(&arrival, message);
    }

    /// A control message; the message that it announces, if it does.
    fn control(&mut self, tag: u64, message: &[u8], source: Addr) -> Option<Arrival> {
        if tag == CREDIT {
            self.credit.returned(source, u64::from_ne_bytes(message.try_into().ok()?));
            return None;
        }
        let announce = (tag == ANNOUNCE).then(|| Announce::decode(message)).flatten()?;
        // SAFETY: the private endpoint is open.
        let private = self.private.as_mut().and_then(|private| unsafe { private.peer(&announce.address) });
        let arrival = Arrival {
            tag: announce.tag,
            source,
            bytes: announce.bytes as usize,
            data: announce.data,
            flags: announce.flags,
            announced: private.map(|private| (announce.operation, private)),
        };
        if private.is_none() {
            // Nobody to ask for its data: better an error than a receive that never ends.
            self.lost(&arrival);
            return None;
        }
        Some(arrival)
    }

    #[inline]
    fn match_message(&mut self, arrival: &Arrival, message: &[u8]) {
        let Some(fresh) = self.pool.next() else { return self.lost(arrival) };
        // SAFETY: a free entry of the pool is nobody else's. Before the engine sees it: it may ask for all tags.
        unsafe { ((*fresh).addr, (*fresh).tag) = (arrival.source, arrival.tag) };
        match self.matching.arrive(fresh as u64, arrival.source, arrival.tag, &ByAddress) {
            Ok(Some(receive)) => {
                let receive = receive as *mut Entry;
                // SAFETY: what the engine gives is the address of an entry that was posted.
                describe(unsafe { &mut *receive }, arrival);
                if arrival.announced.is_some() {
                    self.ask_for(receive);
                } else {
                    // SAFETY: the message is as long as said.
                    unsafe { self.deliver(receive, message.as_ptr()) };
                }
            }
            Ok(None) => {
                self.pool.take(fresh);
                // SAFETY: just taken.
                let entry = unsafe { &mut *fresh };
                entry.flags = 0;
                describe(entry, arrival);
                entry.state = State::Unexpected;
                if arrival.announced.is_some() {
                    return;
                }
                // SAFETY: the message is as long as said.
                if unsafe { entry.keep(message.as_ptr(), message.len()) } {
                    self.kept_bytes += message.len();
                } else {
                    self.matching.retract(fresh as u64);
                    // SAFETY: in no queue any more.
                    unsafe { self.pool.give_back(fresh) };
                    self.lost(arrival);
                }
            }
            Err(_) => self.lost(arrival),
        }
    }

    /// Without memory a message cannot be kept. The application learns of it at its next look into the queue.
    #[cold]
    fn lost(&mut self, arrival: &Arrival) {
        let mut completion = Completion::new(std::ptr::null_mut(), flags::TAGGED | flags::RECV);
        (completion.entry.tag, completion.entry.len) = (arrival.tag, arrival.bytes);
        completion.error = errno::ENOMEM;
        // SAFETY: the endpoint is bound to this queue.
        unsafe { Queue::of(self.rx_cq) }.push(completion);
    }

    /// A message goes into its receive's buffers; both are done with.
    ///
    /// # Safety
    /// `message` has as many bytes as the entry says; the entry has a receive's buffers, and is in no queue.
    #[inline]
    pub unsafe fn deliver(&mut self, receive: *mut Entry, message: *const u8) {
        // SAFETY: the caller's.
        let entry = unsafe { &mut *receive };
        // SAFETY: the caller's.
        unsafe { entry.fill(message, entry.bytes) };
        self.complete(receive, 0);
    }

    /// Tells the application that a receive is complete, and its sender, if it is time, that it may send more.
    pub(crate) fn complete(&mut self, receive: *mut Entry, error: i32) {
        // SAFETY: an entry that is in no queue.
        let entry = unsafe { &mut *receive };
        let mut completion = Completion::new(entry.context, flags::TAGGED | flags::RECV);
        completion.entry.flags |= entry.flags & flags::REMOTE_CQ_DATA;
        completion.entry.len = entry.bytes;
        completion.entry.buf = entry.first();
        (completion.entry.data, completion.entry.tag) = (entry.data, entry.tag);
        completion.source = entry.addr;
        completion.error = error;
        if error == 0 && entry.bytes > entry.room() {
            completion.error = errno::ETRUNC;
            completion.missing = entry.bytes - entry.room();
        }
        if completion.error != 0 || entry.flags & flags::COMPLETION != 0 {
            // SAFETY: the endpoint is bound to this queue.
            unsafe { Queue::of(self.rx_cq) }.push(completion);
        }
        if entry.announced == 0 {
            self.consumed(entry.addr, entry.bytes);
        }
        // SAFETY: nobody refers to it any more.
        unsafe { self.pool.give_back(receive) };
    }

    /// A message that came whole was received or dropped.
    #[inline]
    pub fn consumed(&mut self, from: Addr, bytes: usize) {
        if let Some(owed) = self.credit.received(from, bytes) {
            if from != ADDR_UNSPEC {
                self.send_control(self.ep, from, CREDIT, &owed.to_ne_bytes(), std::ptr::null_mut());
            }
        }
    }
}

/// Puts what a message says of itself into an entry.
#[inline]
fn describe(entry: &mut Entry, arrival: &Arrival) {
    (entry.addr, entry.tag) = (arrival.source, arrival.tag);
    (entry.bytes, entry.data) = (arrival.bytes, arrival.data);
    entry.flags |= arrival.flags;
    (entry.announced, entry.private) = arrival.announced.unwrap_or((0, ADDR_UNSPEC));
}
