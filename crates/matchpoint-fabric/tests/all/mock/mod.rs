//! A simulated core provider for one thread. Its endpoints send messages to each other.
//!
//! The core provider matches tagged messages itself, or accepts peer receive queues. Messages arrive when a
//! completion queue is read, in order per sender, otherwise at random. Calls fail at random with `FI_EAGAIN`.
//! A message is copied from the sender's buffers on arrival, and the send completes later.
#![allow(unsafe_code, dead_code)]

pub mod core;
pub mod objects;
pub mod opened;
pub mod talk;

use std::cell::Cell;
use std::collections::{HashSet, VecDeque};
use std::ffi::{c_int, c_void};
use std::ptr;

use libc::iovec;
use matchpoint_fabric::abi::peer::{FidPeerSrx, Layout, PeerMatchAttr, PeerRxEntry};
use matchpoint_fabric::abi::*;

pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    pub fn below(&mut self, below: usize) -> usize {
        ((self.next() >> 33) as usize) % below
    }

    pub fn percent(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }
}

pub struct World {
    pub random: Random,
    pub accepts_peers: bool,
    pub layout: Layout,
    pub busy_percent: usize,
    pub refuses_close: bool,
    pub inject_bytes: usize,
    /// Number of peer receive queues that the core provider still accepts.
    pub queues_left: usize,
    pub caps: u64,
    pub threading: c_int,
    pub fabric: *mut FidFabric,
    pub writes: usize,
    /// Timeouts of calls that sleep in a queue, in milliseconds. A negative value is no timeout.
    pub slept: Vec<c_int>,
    pub endpoints: Vec<*mut Ep>,
    /// Endpoint and sender of messages for which the provider returned a receive or queued an entry.
    pub arrivals: VecDeque<(usize, usize)>,
    pub srx: *mut FidPeerSrx,
    pub discarded: usize,
}

thread_local! {
    static WORLD: Cell<*mut World> = const { Cell::new(ptr::null_mut()) };
}

pub fn world<'a>() -> &'a mut World {
    // SAFETY: from `begin`, never freed. One thread uses it, with short borrows.
    unsafe { &mut *WORLD.get() }
}

pub fn begin(seed: u64, accepts_peers: bool, version: u32, busy_percent: usize) {
    let layout = Layout::of(version).unwrap_or(Layout { links: false, by_attr: true });
    let world = World {
        random: Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1),
        accepts_peers,
        layout,
        busy_percent,
        refuses_close: false,
        inject_bytes: 64,
        queues_left: usize::MAX,
        caps: flags::TAGGED | flags::DIRECTED_RECV | flags::REMOTE_CQ_DATA,
        threading: THREAD_DOMAIN,
        fabric: ptr::null_mut(),
        writes: 0,
        slept: Vec::new(),
        endpoints: Vec::new(),
        arrivals: VecDeque::new(),
        srx: ptr::null_mut(),
        discarded: 0,
    };
    WORLD.set(Box::into_raw(Box::new(world)));
}

pub struct Message {
    pub from: usize,
    pub tag: u64,
    pub tagged: bool,
    pub bytes: Vec<u8>,
    pub parts: Vec<iovec>,
    pub data: Option<u64>,
    /// The completion of the send, reported after the copy.
    pub completion: Option<Item>,
}

impl Message {
    /// Copies the message from the sender's buffers.
    ///
    /// # Safety
    /// The send is not complete.
    pub unsafe fn fetch(&mut self) {
        for part in self.parts.drain(..).filter(|part| part.iov_len > 0) {
            // SAFETY: guaranteed by the caller.
            let part = unsafe { std::slice::from_raw_parts(part.iov_base.cast::<u8>(), part.iov_len) };
            self.bytes.extend_from_slice(part);
        }
    }
}

struct Posted {
    iov: Vec<iovec>,
    from: Addr,
    tag: u64,
    ignore: u64,
    context: *mut c_void,
}

pub struct Item {
    pub entry: CqTaggedEntry,
    pub source: Addr,
    pub error: c_int,
    pub missing: usize,
}

/// The address of an endpoint is its number.
#[repr(C)]
pub struct Av {
    pub fid: FidAv,
    pub knows: HashSet<Addr>,
}

#[repr(C)]
pub struct Cq {
    pub fid: FidCq,
    pub ring: VecDeque<Item>,
    pub endpoints: Vec<*mut Ep>,
}

#[repr(C)]
pub struct Ep {
    pub fid: FidEp,
    pub at: usize,
    pub av: *mut Av,
    pub rx_cq: *mut Cq,
    pub tx_cq: *mut Cq,
    pub tx_selective: bool,
    pub rx_selective: bool,
    pub srx: *mut FidPeerSrx,
    /// The table after `enable` with a peer's queue.
    pub peer_msg_ops: *mut OpsMsg,
    posted: VecDeque<Posted>,
    unexpected: VecDeque<Message>,
    inbox: VecDeque<Message>,
    /// Started messages of a peer, completed later: the peer's entry, and the message.
    started: VecDeque<(*mut c_void, Message)>,
    /// Completions of sends, reported in any order.
    sent: Vec<Item>,
}

pub fn is_busy() -> bool {
    let world = world();
    let percent = world.busy_percent;
    world.random.percent(percent)
}

pub fn entry_of(pointer: *mut c_void) -> *mut PeerRxEntry {
    let offset = if world().layout.links { 16 } else { 0 };
    pointer.cast::<u8>().wrapping_add(offset).cast()
}

/// Copies a message. Returns the number of bytes that do not fit.
unsafe fn copy_message(iov: &[iovec], bytes: &[u8]) -> usize {
    let mut left = bytes;
    for part in iov {
        let some = part.iov_len.min(left.len());
        // SAFETY: the receiver's buffers are valid.
        unsafe { ptr::copy_nonoverlapping(left.as_ptr(), part.iov_base.cast(), some) };
        left = &left[some..];
    }
    left.len()
}

impl Ep {
    /// The oldest message of a random sender.
    fn next_arrival(&mut self) -> Option<Message> {
        let some = self.inbox.len();
        if some == 0 {
            return None;
        }
        let chosen = self.inbox[world().random.below(some)].from;
        let at = self.inbox.iter().position(|message| message.from == chosen)?;
        let mut message = self.inbox.remove(at)?;
        // SAFETY: the send is not complete.
        unsafe {
            message.fetch();
            (*world().endpoints[message.from]).sent.extend(message.completion.take());
        }
        Some(message)
    }

    unsafe fn arrive(&mut self, message: Message) {
        if !self.srx.is_null() {
            // SAFETY: the peer's queue lives as long as the endpoint.
            return unsafe { self.request_receive(message) };
        }
        let is_match = |posted: &Posted| {
            (posted.from == ADDR_UNSPEC || posted.from == message.from as Addr)
                && (posted.tag ^ message.tag) & !posted.ignore == 0
        };
        match self.posted.iter().position(is_match) {
            Some(at) => {
                let posted = self.posted.remove(at).expect("found there");
                // SAFETY: the receive's buffers.
                unsafe { self.receive(&posted, &message) };
            }
            None => self.unexpected.push_back(message),
        }
    }

    unsafe fn receive(&mut self, posted: &Posted, message: &Message) {
        // SAFETY: the receive's buffers.
        let missing = unsafe { copy_message(&posted.iov, &message.bytes) };
        let item = self.make_completion(posted.context, message, missing);
        // SAFETY: the queue is bound and open.
        unsafe { (*self.rx_cq).ring.push_back(item) };
    }

    fn make_completion(&self, context: *mut c_void, message: &Message, missing: usize) -> Item {
        let mut flags = flags::RECV | if message.tagged { flags::TAGGED } else { flags::MSG };
        if message.data.is_some() {
            flags |= flags::REMOTE_CQ_DATA;
        }
        let entry = CqTaggedEntry {
            op_context: context,
            flags,
            len: message.bytes.len() - missing,
            buf: ptr::null_mut(),
            data: message.data.unwrap_or(0),
            tag: message.tag,
        };
        let error = if missing == 0 { 0 } else { errno::ETRUNC };
        Item { entry, source: self.source_of(message.from), error, missing }
    }

    pub fn source_of(&self, from: usize) -> Addr {
        // SAFETY: the address vector is bound and open.
        let knows = unsafe { (*self.av).knows.contains(&(from as Addr)) };
        if knows { from as Addr } else { ADDR_UNSPEC }
    }

    unsafe fn request_receive(&mut self, message: Message) {
        let (srx, layout) = (self.srx, world().layout);
        world().arrivals.push_back((self.at, message.from));
        let (addr, bytes) = (self.source_of(message.from), message.bytes.len());
        let mut pointer: *mut c_void = ptr::null_mut();
        // SAFETY: the peer's functions, in the form of the layout.
        unsafe {
            let ops = &*(*srx).owner_ops;
            let get = if message.tagged { ops.get_tag } else { ops.get_msg };
            let rc = if layout.by_attr {
                let attr = PeerMatchAttr { addr, msg_size: bytes, tag: message.tag };
                (get.by_attr)(srx, &raw const attr, &raw mut pointer)
            } else {
                let number = if message.tagged { message.tag } else { bytes as u64 };
                (get.by_number)(srx, addr, number, &raw mut pointer)
            };
            let entry = &mut *entry_of(pointer);
            match rc {
                0 => self.started.push_back((pointer, message)),
                rc if rc == -errno::ENOENT => {
                    if let Some(data) = message.data {
                        entry.cq_data = data;
                        entry.flags |= flags::REMOTE_CQ_DATA;
                    }
                    entry.msg_size = bytes;
                    let tagged = message.tagged;
                    entry.peer_context = Box::into_raw(Box::new(message)).cast();
                    entry.owner_context = ptr::from_mut(self).cast();
                    let queue = if tagged { ops.queue_tag } else { ops.queue_msg };
                    assert_eq!(queue(pointer), 0);
                }
                rc => panic!("the owner refuses a message: {rc}"),
            }
        }
    }

    unsafe fn finish(&mut self, pointer: *mut c_void, message: &Message) {
        // SAFETY: the entry belongs to the core provider until it is freed.
        unsafe {
            let entry = &mut *entry_of(pointer);
            let iov = std::slice::from_raw_parts(entry.iov, entry.count);
            let missing = copy_message(iov, &message.bytes);
            // Before libfabric 2.0, the owner does not know the size of a tagged message.
            let reported = world().layout.by_attr;
            assert!(!reported || entry.msg_size <= message.bytes.len(), "a message does not grow");
            assert!(
                missing == 0 || !reported || !message.tagged,
                "the owner makes room for the whole message"
            );
            let mut item = self.make_completion(entry.context, message, missing);
            item.entry.buf = if entry.count > 0 { (*entry.iov).iov_base } else { ptr::null_mut() };
            if entry.flags & flags::COMPLETION != 0 || missing > 0 {
                (*self.rx_cq).ring.push_back(item);
            }
            ((*(*self.srx).owner_ops).free_entry)(pointer);
        }
    }

    pub fn remove_posted(&mut self, context: *mut c_void) -> bool {
        let at = self.posted.iter().position(|posted| posted.context == context);
        at.and_then(|at| self.posted.remove(at)).is_some()
    }

    pub fn in_transit(&self) -> usize {
        self.inbox.len()
    }

    pub unsafe fn progress(&mut self) {
        for _ in 0..world().random.below(6) {
            let Some(message) = self.next_arrival() else { break };
            // SAFETY: the endpoint is open.
            unsafe { self.arrive(message) };
        }
        while !self.sent.is_empty() && world().random.percent(80) {
            let some = world().random.below(self.sent.len());
            let item = self.sent.swap_remove(some);
            // SAFETY: the queue is bound and open.
            unsafe { (*self.tx_cq).ring.push_back(item) };
        }
        for _ in 0..world().random.below(6) {
            let some = self.started.len();
            if some == 0 {
                break;
            }
            let Some((pointer, message)) = self.started.remove(world().random.below(some)) else { break };
            // SAFETY: the message is started and not finished.
            unsafe { self.finish(pointer, &message) };
        }
    }

    pub fn is_quiet(&self) -> bool {
        self.inbox.is_empty() && self.started.is_empty() && self.sent.is_empty()
    }
}
