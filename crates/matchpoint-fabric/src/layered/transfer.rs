//! The data of long messages, which have been announced: asked for by the receiver, sent by the sender.

use crate::abi::{ADDR_UNSPEC, MsgTagged, errno, flags};
use crate::layered::FrontEnd;
use crate::layered::entry::{Entry, State, cut};
use crate::layered::operation::{Kind, Operation};
use crate::layered::wire::{REQUEST, Request};
use crate::queue::{Completion, Queue};

/// Messages whose data may be under way to one endpoint at once: the core looks through as many for each.
const UNDER_WAY: usize = 64;

impl FrontEnd {
    /// A message that was announced has its receive: its data is asked for, in turn.
    pub(crate) fn ask_for(&mut self, receive: *mut Entry) {
        // SAFETY: an entry that is in no queue.
        unsafe { (*receive).state = State::Receiving };
        self.waiting.push_back(receive);
        self.ask_for_more();
    }

    /// Asks for the data of messages that wait, as many as may be under way.
    pub fn ask_for_more(&mut self) {
        while self.active < UNDER_WAY {
            let Some(&receive) = self.waiting.front() else { break };
            // SAFETY: entries that wait for data live.
            let entry = unsafe { &*receive };
            let wanted = entry.bytes.min(entry.room());
            if wanted == 0 {
                self.waiting.pop_front();
                self.ask_for_none(receive);
                continue;
            }
            // SAFETY: as above.
            if !unsafe { self.ask(receive, wanted) } {
                break;
            }
            self.waiting.pop_front();
            self.active += 1;
        }
    }

    /// A message of which nothing is wanted is received, or dropped if its entry is no receive. Its sender is told.
    pub(crate) fn ask_for_none(&mut self, receive: *mut Entry) {
        self.request(receive, 0, 0);
        // SAFETY: an entry that is in no queue.
        if unsafe { (*receive).context }.is_null() && unsafe { (*receive).flags } == 0 {
            // SAFETY: nobody refers to it any more.
            unsafe { self.pool.give_back(receive) };
        } else {
            self.complete(receive, 0);
        }
    }

    /// Posts a receive for the data, and asks for it. False: the core or we are busy.
    unsafe fn ask(&mut self, receive: *mut Entry, wanted: usize) -> bool {
        let Some(operation) = self.arena().get(Kind::Data) else { return false };
        let name = self.arena().name(operation);
        let Some(private) = self.private.as_ref().map(|private| private.ep) else { return false };
        // SAFETY: the operation was just taken; entries that wait for data live, and their buffers are the application's
        // until they complete.
        let rc = unsafe {
            (*operation).entry = receive;
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
            receive(private, &raw const msg, flags::COMPLETION)
        };
        if rc != 0 {
            self.done(operation);
            return false;
        }
        self.request(receive, data_tag(name), wanted);
        true
    }

    fn request(&mut self, receive: *mut Entry, tag: u64, bytes: usize) {
        let Some(private) = &self.private else { return };
        // SAFETY: the caller's: an entry that lives.
        let (operation, to) = unsafe { ((*receive).announced, (*receive).private) };
        let request = Request { operation, tag, bytes: bytes as u64, address: private.address.clone() };
        let ep = private.ep;
        self.send_control(ep, to, REQUEST, &request.encode(), std::ptr::null_mut());
    }

    /// The receiver of one of our messages asks for its data.
    ///
    /// # Safety
    /// The core has put `bytes` bytes into the buffer.
    pub unsafe fn requested(&mut self, buffer: *mut Operation, bytes: usize) {
        // SAFETY: the caller's.
        let message = unsafe { std::slice::from_raw_parts((*buffer).buffer, bytes) };
        let Some(request) = Request::decode(message) else { return };
        let Some(send) = self.arena().find(request.operation, Kind::Send) else { return };
        if request.bytes == 0 {
            return self.sent(send, 0);
        }
        // SAFETY: the private endpoint is open.
        let to = self.private.as_mut().and_then(|private| unsafe { private.peer(&request.address) });
        let Some(to) = to else { return self.sent(send, errno::EINVAL) };
        // SAFETY: found as an operation that waits for this.
        unsafe {
            let sending = &mut *send;
            sending.count = cut(&mut sending.iov[..sending.count], request.bytes as usize);
            (sending.addr, sending.tag) = (to, request.tag);
            if !self.deferred.is_empty() || self.try_send(send) != 0 {
                self.deferred.push_back(send);
            }
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

    /// The data of a long message has come, or will not.
    pub(crate) fn received(&mut self, operation: *mut Operation, error: i32) {
        // SAFETY: an operation that has come to its end.
        let receive = unsafe { (*operation).entry };
        self.done(operation);
        self.active -= 1;
        self.complete(receive, error);
        self.ask_for_more();
    }
}

/// The tag of the data for an operation: its name, without the bit of control messages.
fn data_tag(name: u64) -> u64 {
    name & !super::wire::CONTROL
}
