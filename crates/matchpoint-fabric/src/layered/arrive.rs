//! A message has arrived in one of the buffers below.

use std::ptr;

use matchpoint::Queue;

use crate::abi::{ADDR_UNSPEC, Addr, CqTaggedEntry, errno, flags};
use crate::address_vector::{Address, AddressVector};
use crate::completion::Completion;
use crate::layered::FrontEnd;
use crate::layered::entry::{ByAddress, Entry, State};
use crate::layered::operation::{Kind, Operation};
use crate::layered::wire::{ANNOUNCE, ARRIVED, Announce, CONTROL, CREDIT, KNOWN};
use crate::queue;

/// What a message says of itself, however it came.
struct Arrival<'a> {
    tag: u64,
    source: Addr,
    bytes: usize,
    data: u64,
    flags: u64,
    /// The sender's operation, of a message that is only announced; else 0.
    announced: u64,
    /// The sender's operation, if the message is here and the sender is to be told; else 0.
    awaited: u64,
    /// The sender's private endpoint, if it has told of it.
    private: Addr,
    /// The message, if it is here.
    payload: &'a [u8],
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
            let flags = done.flags & flags::REMOTE_CQ_DATA;
            let (announced, awaited, private, payload) = (0, 0, ADDR_UNSPEC, message);
            Arrival { tag, source, bytes, data, flags, announced, awaited, private, payload }
        } else {
            match self.control(done.tag, message, source) {
                Some(arrival) => arrival,
                None => return,
            }
        };
        self.match_message(&arrival);
        if arrival.awaited != 0 {
            self.acknowledge(&arrival);
        }
    }

    /// Tells the sender of a message that it lies in its receive's buffers, or is kept for one.
    fn acknowledge(&mut self, arrival: &Arrival<'_>) {
        if arrival.source != ADDR_UNSPEC {
            self.acknowledgements.add(arrival.source, arrival.awaited);
        } else if arrival.private != ADDR_UNSPEC {
            self.request(arrival.awaited, arrival.private, 0, 0, 0);
        }
    }

    /// Tells those senders that wait for it.
    #[inline(never)]
    pub(crate) fn send_acknowledgements(&mut self) {
        while let Some((to, operations)) = self.acknowledgements.take() {
            self.send_answer(to, ARRIVED, &operations);
        }
    }

    /// A control message; the message that it announces or brings, if it does.
    fn control<'a>(&mut self, tag: u64, message: &'a [u8], source: Addr) -> Option<Arrival<'a>> {
        if tag == CREDIT {
            self.credit.returned(source, u64::from_ne_bytes(message.try_into().ok()?));
            return None;
        }
        if tag == KNOWN {
            self.acquaintance.known_to(source);
            return None;
        }
        if tag == ARRIVED {
            for name in message.chunks_exact(size_of::<u64>()) {
                let sent = self.arena().find(u64::from_ne_bytes(name.try_into().ok()?));
                if let Some((Kind::Send, send)) = sent {
                    self.sent(send, 0);
                }
            }
            return None;
        }
        let (announce, payload) = (tag == ANNOUNCE).then(|| Announce::decode(message)).flatten()?;
        let Announce { operation, tag, bytes, data, flags, address, name } = announce;
        let is_here = flags & flags::DELIVERY_COMPLETE != 0;
        let (announced, awaited) = if is_here { (0, operation) } else { (operation, 0) };
        // Only where it is needed: a process has as many peers as there are.
        let is_nameless = source == ADDR_UNSPEC && (awaited != 0 || !name.is_empty());
        let is_met = announced != 0 || is_nameless;
        let private = self.private.as_mut().filter(|_| is_met);
        // SAFETY: the private endpoint is open.
        let private = private.and_then(|private| unsafe { private.peer(address) });
        let private = private.unwrap_or(ADDR_UNSPEC);
        let source = if name.is_empty() { source } else { self.introduced(source, private, name) };
        let (bytes, flags) = (bytes as usize, flags & flags::REMOTE_CQ_DATA);
        let arrival = Arrival { tag, source, bytes, data, flags, announced, awaited, private, payload };
        if announced != 0 && private == ADDR_UNSPEC {
            // Nobody to ask for its data: better an error than a receive that never ends.
            self.lost(&arrival);
            return None;
        }
        Some(arrival)
    }

    /// A message says whom it is from. Who that is, for the application: the core may not have known.
    fn introduced(&mut self, source: Addr, private: Addr, name: &[u8]) -> Addr {
        if source != ADDR_UNSPEC {
            if self.acquaintance.is_to_be_told(source) {
                self.send_control(self.ep, source, KNOWN, &[], 0);
            }
            return source;
        }
        // SAFETY: the vector that the endpoint is bound to.
        let found = unsafe { self.av.as_mut() }.map_or(ADDR_UNSPEC, |av| av.find(name));
        if found == ADDR_UNSPEC && private != ADDR_UNSPEC {
            self.acquaintance.met(private, Address(name.to_vec()));
        }
        found
    }

    /// The application has put addresses into the vector: of senders, perhaps, of whom messages wait.
    pub fn peers_are_known(&mut self, av: &mut AddressVector) {
        let named =
            self.acquaintance.named(|name| Some(av.find(&name.0)).filter(|&addr| addr != ADDR_UNSPEC));
        if named.is_empty() {
            return;
        }
        // Those that wait, oldest first: the messages of one sender keep their order.
        let mut messages: Vec<*mut Entry> = Vec::new();
        self.matching.visit(Queue::Unexpected, |id| messages.push(id as *mut Entry));
        // SAFETY: entries live as long as the pool.
        let is_taken =
            |&entry: &*mut Entry| matches!(unsafe { (*entry).state }, State::Claimed | State::Receiving);
        messages.extend(self.pool.all().filter(is_taken));
        for message in messages {
            // SAFETY: as above.
            let entry = unsafe { &mut *message };
            let Some(&addr) = named.get(&entry.private).filter(|_| entry.addr == ADDR_UNSPEC) else {
                continue;
            };
            entry.addr = addr;
            if entry.state != State::Unexpected {
                continue;
            }
            // One at a time: what takes no receive that was posted stays where it is in the queue.
            if let Some(receive) = self.matching.readdress(message as u64, addr) {
                self.hand_over(receive as *mut Entry, message);
            }
        }
    }

    /// Gives messages the names that there was no memory for.
    pub(super) fn name_owed(&mut self) {
        while let Some((message, receive)) = self.matching.name_owed(&ByAddress) {
            self.hand_over(receive as *mut Entry, message as *mut Entry);
        }
    }

    /// A message that waited takes a receive that was posted.
    fn hand_over(&mut self, receive: *mut Entry, message: *mut Entry) {
        // SAFETY: what the engine gives are the addresses of entries; neither is in a queue any more.
        unsafe {
            (*message).buffers_of(&*receive);
            self.pool.give_back(receive);
        }
        self.take(message);
    }

    /// The application has taken a peer out of the vector; its number may become another's.
    pub fn forget_peer(&mut self, addr: Addr) {
        self.acquaintance.forget(addr);
        self.credit.forget(addr);
        self.count_no_more(addr);
        self.ask_no_more(addr);
    }

    #[inline]
    fn match_message(&mut self, arrival: &Arrival<'_>) {
        let Some(fresh) = self.pool.next() else { return self.lost(arrival) };
        // SAFETY: a free entry of the pool is nobody else's. Before the engine sees it: it may ask for all tags.
        unsafe { ((*fresh).addr, (*fresh).tag) = (arrival.source, arrival.tag) };
        match self.matching.arrive(fresh as u64, arrival.source, arrival.tag, &ByAddress) {
            Ok(Some(receive)) => {
                let receive = receive as *mut Entry;
                // SAFETY: what the engine gives is the address of an entry that was posted.
                describe(unsafe { &mut *receive }, arrival);
                if arrival.announced != 0 {
                    self.ask_for(receive);
                } else {
                    // SAFETY: the message is as long as said.
                    unsafe { self.deliver(receive, arrival.payload.as_ptr()) };
                }
            }
            Ok(None) => {
                self.pool.take(fresh);
                // SAFETY: just taken.
                let entry = unsafe { &mut *fresh };
                entry.flags = 0;
                describe(entry, arrival);
                entry.state = State::Unexpected;
                self.kept_bytes += size_of::<Entry>();
                if arrival.announced != 0 {
                    return;
                }
                // SAFETY: the message is as long as said.
                if unsafe { entry.keep(arrival.payload.as_ptr(), arrival.payload.len()) } {
                    self.kept_bytes += arrival.payload.len();
                } else {
                    self.matching.retract(fresh as u64);
                    self.kept_bytes -= size_of::<Entry>();
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
    fn lost(&mut self, arrival: &Arrival<'_>) {
        self.lose(arrival.tag, arrival.bytes, errno::ENOMEM);
    }

    /// A message cannot be received, for this reason.
    #[cold]
    pub(crate) fn lose(&mut self, tag: u64, bytes: usize, error: i32) {
        let mut completion = Completion::new(ptr::null_mut(), flags::TAGGED | flags::RECV);
        (completion.entry.tag, completion.entry.len) = (tag, bytes);
        completion.error = error;
        // SAFETY: the endpoint is bound to this queue.
        unsafe { queue::Queue::of(self.rx_cq) }.push(completion);
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
            unsafe { queue::Queue::of(self.rx_cq) }.push(completion);
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
                self.send_answer(from, CREDIT, &owed.to_ne_bytes());
            }
        }
    }
}

/// Puts what a message says of itself into an entry.
#[inline]
fn describe(entry: &mut Entry, arrival: &Arrival<'_>) {
    (entry.addr, entry.tag) = (arrival.source, arrival.tag);
    (entry.bytes, entry.data) = (arrival.bytes, arrival.data);
    entry.flags |= arrival.flags;
    (entry.announced, entry.private) = (arrival.announced, arrival.private);
}
