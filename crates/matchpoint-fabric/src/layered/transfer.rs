//! The data of long messages, which have been announced: asked for by the receiver, sent by the sender.

use std::collections::HashMap;
use std::ptr;

use crate::abi::{ADDR_UNSPEC, Addr, MsgTagged, errno, flags};
use crate::completion::Completion;
use crate::layered::FrontEnd;
use crate::layered::entry::{Entry, State, cut};
use crate::layered::operation::{Destination, Kind, Operation, Stage};
use crate::layered::wire::{REQUEST, Request};
use crate::queue::Queue;

/// Messages whose data may be under way to one endpoint at once: the core looks through as many for each.
const MOST: usize = 1024;
/// Those of one sender: one that is busy computing does not keep back many others.
const MOST_OF_ONE: usize = 64;
/// Those that each sender may have however many others have: a process that has died never sends what it was asked for, and
/// a core need not say that it has, or says so only when something is to be sent there.
const ALWAYS: usize = 4;
/// Senders that are found to have as many as they may, before the others are left for later as well.
const FULL: usize = 32;

/// How many messages there are whose data is under way to here.
#[derive(Default)]
pub struct UnderWay {
    all: usize,
    /// By the private endpoint that it comes from, where there are any. All of them together are as many as above.
    of: HashMap<Addr, usize>,
}

impl UnderWay {
    fn has_room_for(&self, from: Addr) -> bool {
        let those = self.of.get(&from).copied().unwrap_or(0);
        those < ALWAYS || those < MOST_OF_ONE && self.all < MOST
    }

    fn begins(&mut self, from: Addr) {
        self.all += 1;
        *self.of.entry(from).or_default() += 1;
    }

    fn ends(&mut self, from: Addr) {
        // None of one that was forgotten.
        let Some(those) = self.of.get_mut(&from) else { return };
        self.all -= 1;
        *those -= 1;
        if *those == 0 {
            self.of.remove(&from);
        }
    }

    /// What it was asked for may come or not: it counts no more.
    fn forget(&mut self, from: Addr) {
        self.all -= self.of.remove(&from).unwrap_or(0);
    }
}

impl FrontEnd {
    /// A message that was announced has its receive: its data is asked for, in turn.
    pub(crate) fn ask_for(&mut self, receive: *mut Entry) {
        // SAFETY: an entry that is in no queue.
        let from = unsafe {
            (*receive).state = State::Receiving;
            (*receive).private
        };
        self.waiting.push(from, receive);
        self.ask_for_more();
    }

    /// Asks for the data of messages that wait, as many as may be under way.
    pub fn ask_for_more(&mut self) {
        let mut full = 0;
        while full < FULL.min(self.waiting.peers()) {
            let Some((from, receive)) = self.waiting.first() else { break };
            if !self.under_way.has_room_for(from) {
                full += 1;
                self.waiting.pass();
                continue;
            }
            // SAFETY: entries that wait for data live.
            let entry = unsafe { &*receive };
            let wanted = entry.bytes.min(entry.room());
            if wanted == 0 {
                self.waiting.take_first();
                self.request_none(receive);
                self.complete(receive, 0);
                continue;
            }
            // Before it is asked for: if nobody can be asked, its end comes at once.
            self.under_way.begins(from);
            // SAFETY: as above.
            if !unsafe { self.ask(receive, wanted) } {
                self.under_way.ends(from);
                break;
            }
            self.waiting.take_first();
        }
    }

    /// The core says that something could not be sent there, or does not come from there: whoever it is has died, or cannot
    /// be reached. It is asked after; and what it owes is not in the way of others' messages any more.
    pub(crate) fn peer_may_be_gone(&mut self, peer: Destination) {
        match peer.is_private {
            true => self.under_way.forget(peer.addr),
            false => self.count_no_more(peer.addr),
        }
        self.inquiries.suspect(peer);
    }

    /// The application has taken a peer out of the vector, or the core has said that it is gone. What that has been asked
    /// for, and may never send, is not in the way of others' messages any more.
    pub(crate) fn count_no_more(&mut self, peer: Addr) {
        if self.under_way.all == 0 {
            return;
        }
        // SAFETY: entries live as long as the pool.
        for entry in self.pool.all().map(|entry| unsafe { &*entry }) {
            if entry.state == State::Receiving && entry.addr == peer {
                self.under_way.forget(entry.private);
            }
        }
    }

    /// Tells the sender of a message that was announced that nothing of it is wanted.
    pub(crate) fn request_none(&mut self, message: *mut Entry) {
        // SAFETY: the caller's: an entry that lives.
        let (operation, to) = unsafe { ((*message).announced, (*message).private) };
        self.request(operation, to, 0, 0, 0);
    }

    /// Posts a receive for the data, and asks for it. False: the core or we are busy.
    unsafe fn ask(&mut self, receive: *mut Entry, wanted: usize) -> bool {
        let Some(operation) = self.arena().get(Kind::Data) else { return false };
        let name = self.arena().name(operation);
        let Some(private) = self.private.as_ref().map(|private| private.ep) else { return false };
        // SAFETY: the operation was just taken; entries that wait for data live, and their buffers are the application's
        // until they complete.
        let (rc, announced, from) = unsafe {
            (*operation).entry = receive;
            let (announced, from) = ((*receive).announced, (*receive).private);
            let (iov, desc) = (*receive).cut(wanted);
            let msg = MsgTagged {
                msg_iov: iov.as_ptr(),
                desc,
                iov_count: iov.len(),
                addr: ADDR_UNSPEC,
                tag: data_tag(name),
                ignore: 0,
                context: operation.cast(),
                data: 0,
            };
            let receive = (*(*private).tagged).recvmsg.expect("every core receives");
            (receive(private, &raw const msg, flags::COMPLETION), announced, from)
        };
        if rc != 0 {
            self.done(operation);
            return false;
        }
        self.request(announced, from, data_tag(name), wanted, name);
        true
    }

    /// Asks a peer's private endpoint for the first bytes of the message of its operation, under that tag; of 0, says that
    /// none are wanted (any more). `of` is the operation of ours that they are for.
    pub(crate) fn request(&mut self, operation: u64, to: Addr, tag: u64, bytes: usize, of: u64) {
        let Some(private) = &self.private else { return };
        let request = Request { operation, tag, bytes: bytes as u64, address: &private.address.0 };
        let ep = private.ep;
        if !self.send_control(ep, to, REQUEST, &request.encode(), of) {
            if let Some((Kind::Data, data)) = self.arena().find(of) {
                self.abandoned(data, errno::ENOMEM);
            }
        }
    }

    /// The receiver of one of our messages asks for its data.
    ///
    /// # Safety
    /// The core has put `bytes` bytes into the buffer.
    pub unsafe fn requested(&mut self, buffer: *mut Operation, bytes: usize) {
        // SAFETY: the caller's.
        let message = unsafe { std::slice::from_raw_parts((*buffer).buffer, bytes) };
        let Some(request) = Request::decode(message) else { return };
        let Some((Kind::Send, send)) = self.arena().find(request.operation) else { return };
        if request.bytes == 0 {
            return self.sent(send, 0);
        }
        // SAFETY: the private endpoint is open.
        let to = self.private.as_mut().and_then(|private| unsafe { private.peer(request.address) });
        let Some(to) = to else { return self.sent(send, errno::EINVAL) };
        // SAFETY: found as an operation that waits for this.
        unsafe {
            let sending = &mut *send;
            sending.count = cut(&mut sending.iov[..sending.count], request.bytes as usize);
            (sending.addr, sending.tag, sending.stage) = (to, request.tag, Stage::Sending);
            self.send_or_defer(send);
        }
    }

    /// A long message of ours has been received, or could not be.
    pub(crate) fn sent(&mut self, send: *mut Operation, error: i32) {
        // SAFETY: an operation that has come to its end.
        let (context, kind) = unsafe { ((*send).context, (*send).flags) };
        if error != 0 || kind & flags::COMPLETION != 0 {
            let mut completion = Completion::new(context, flags::TAGGED | flags::SEND);
            completion.error = error;
            // SAFETY: the endpoint is bound to this queue.
            unsafe { Queue::of(self.tx_cq) }.push(completion);
        }
        self.done(send);
    }

    /// Data that was to come will not, it seems. The core gives back the buffers, and with them says so, unless it has begun to
    /// fill them: then it says how that ends.
    pub(crate) fn cancel_data(&mut self, operation: *mut Operation) {
        let Some(private) = self.private.as_ref().map(|private| private.ep) else { return };
        // SAFETY: an operation under way; the core's function, on its endpoint.
        unsafe {
            (*operation).stage = Stage::GivenUp;
            if let Some(cancel) = (*(*private).ops).cancel {
                cancel(&raw mut (*private).fid, operation.cast());
            }
        }
    }

    /// Data that was to come will not: nobody could be asked for it. The operation stays the core's until that gives back
    /// the buffers that it was posted with.
    pub(crate) fn abandoned(&mut self, operation: *mut Operation, error: i32) {
        // SAFETY: an operation under way.
        let receive = unsafe { ptr::replace(&raw mut (*operation).entry, ptr::null_mut()) };
        self.cancel_data(operation);
        if !receive.is_null() {
            // SAFETY: entries that wait for data live.
            self.under_way.ends(unsafe { (*receive).private });
            self.complete(receive, error);
        }
    }

    /// The data of a long message has come, or will not.
    pub(crate) fn received(&mut self, operation: *mut Operation, error: i32) {
        // SAFETY: an operation that has come to its end.
        let receive = unsafe { (*operation).entry };
        self.done(operation);
        if receive.is_null() {
            return;
        }
        let error = not_canceled(error);
        // SAFETY: as above.
        let from = unsafe { (*receive).private };
        self.under_way.ends(from);
        if error != 0 {
            self.peer_may_be_gone(Destination { is_private: true, addr: from });
        }
        self.complete(receive, error);
        self.ask_for_more();
    }
}

/// What is told of an operation that the application has not cancelled: to MPI libraries that error means that it has.
pub(super) fn not_canceled(error: i32) -> i32 {
    if error == errno::ECANCELED { errno::ECONNABORTED } else { error }
}

/// The tag of the data for an operation: its name, without the bit of control messages.
fn data_tag(name: u64) -> u64 {
    name & !super::wire::CONTROL
}
