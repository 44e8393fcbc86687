//! A core provider for one thread of one process: endpoints that send to each other, tagged matching of its own, and
//! shared queues of peers if it is told to take them. Messages arrive when a completion queue is read, in the order of
//! their sender but at random otherwise; calls are refused at random with `FI_EAGAIN`. A message lies in its sender's
//! buffers until it arrives, and only then is the send complete, sooner or later.
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

/// Numbers from a seed: xorshift64*.
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

/// All that a thread's core has.
pub struct World {
    pub random: Random,
    /// Shared queues of peers are taken.
    pub takes_peers: bool,
    pub layout: Layout,
    /// Of a hundred calls, so many are refused with `FI_EAGAIN`.
    pub busy_percent: usize,
    /// Endpoints are in use, and cannot be closed.
    pub keeps_endpoints: bool,
    /// What may be injected, in bytes.
    pub inject_bytes: usize,
    /// So many shared queues of peers are taken.
    pub queues_left: usize,
    /// What applications ask for.
    pub caps: u64,
    pub threading: c_int,
    /// The fabric that was opened last.
    pub fabric: *mut FidFabric,
    /// Calls for one-sided writes.
    pub writes: usize,
    /// How long applications slept in their queues at most, in milliseconds; negative: until something comes.
    pub slept: Vec<c_int>,
    pub endpoints: Vec<*mut Ep>,
    /// Messages that the provider was asked about: endpoint and sender.
    pub arrivals: VecDeque<(usize, usize)>,
    /// The shared queue that was imported last.
    pub srx: *mut FidPeerSrx,
    /// Messages that the core was told to forget.
    pub discarded: usize,
}

thread_local! {
    static WORLD: Cell<*mut World> = const { Cell::new(ptr::null_mut()) };
}

/// This thread's core.
pub fn world<'a>() -> &'a mut World {
    // SAFETY: made by `begin`, never freed; tests and this core use it in one thread, for a moment each.
    unsafe { &mut *WORLD.get() }
}

/// A new core for this thread.
pub fn begin(seed: u64, takes_peers: bool, version: u32, busy_percent: usize) {
    let layout = Layout::of(version).unwrap_or(Layout { links: false, by_attr: true });
    let world = World {
        random: Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1),
        takes_peers,
        layout,
        busy_percent,
        keeps_endpoints: false,
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

/// A message under way or unexpected.
pub struct Message {
    pub from: usize,
    pub tag: u64,
    pub tagged: bool,
    pub bytes: Vec<u8>,
    /// The sender's buffers, until it leaves.
    pub parts: Vec<iovec>,
    pub data: Option<u64>,
    /// What its sender is told, some time after it has left.
    pub completion: Option<Item>,
}

impl Message {
    /// It leaves its sender's buffers.
    ///
    /// # Safety
    /// They are the core's until the send is complete.
    pub unsafe fn fetch(&mut self) {
        for part in self.parts.drain(..).filter(|part| part.iov_len > 0) {
            // SAFETY: the caller's.
            let part = unsafe { std::slice::from_raw_parts(part.iov_base.cast::<u8>(), part.iov_len) };
            self.bytes.extend_from_slice(part);
        }
    }
}

/// A receive in the core's own queue.
struct Posted {
    iov: Vec<iovec>,
    from: Addr,
    tag: u64,
    ignore: u64,
    context: *mut c_void,
}

/// A completion, or an error.
pub struct Item {
    pub entry: CqTaggedEntry,
    pub source: Addr,
    pub error: c_int,
    pub missing: usize,
}

/// An address vector: an address is the number of an endpoint, and so is what it becomes.
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
    /// Its table since it was enabled with the queue of a peer.
    pub of_peer: *mut OpsMsg,
    posted: VecDeque<Posted>,
    unexpected: VecDeque<Message>,
    inbox: VecDeque<Message>,
    /// Messages of peers that were started, to be completed later: entry as the peer knows it, and message.
    started: VecDeque<(*mut c_void, Message)>,
    /// Completions of sends, to be told in any order.
    sent: Vec<Item>,
}

/// Whether this call is refused.
pub fn is_busy() -> bool {
    let world = world();
    let percent = world.busy_percent;
    world.random.percent(percent)
}

pub fn entry_of(given: *mut c_void) -> *mut PeerRxEntry {
    let offset = if world().layout.links { 16 } else { 0 };
    given.cast::<u8>().wrapping_add(offset).cast()
}

/// Puts a message into buffers; the bytes that there is no room for.
unsafe fn fill(iov: &[iovec], bytes: &[u8]) -> usize {
    let mut left = bytes;
    for part in iov {
        let some = part.iov_len.min(left.len());
        // SAFETY: the receiver's buffers are as it said.
        unsafe { ptr::copy_nonoverlapping(left.as_ptr(), part.iov_base.cast(), some) };
        left = &left[some..];
    }
    left.len()
}

impl Ep {
    /// Whom `progress` has work for: one message of one sender, the oldest of it.
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

    /// A message reaches this endpoint.
    unsafe fn arrive(&mut self, message: Message) {
        if !self.srx.is_null() {
            // SAFETY: the peer's queue lives as long as the endpoint.
            return unsafe { self.ask_peer(message) };
        }
        let fits = |posted: &Posted| {
            (posted.from == ADDR_UNSPEC || posted.from == message.from as Addr)
                && (posted.tag ^ message.tag) & !posted.ignore == 0
        };
        match self.posted.iter().position(fits) {
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
        let missing = unsafe { fill(&posted.iov, &message.bytes) };
        let item = self.item(posted.context, message, missing);
        // SAFETY: bound, and open.
        unsafe { (*self.rx_cq).ring.push_back(item) };
    }

    fn item(&self, context: *mut c_void, message: &Message, missing: usize) -> Item {
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
        Item { entry, source: self.name_of(message.from), error, missing }
    }

    /// The sender of a message, if the application has told of it.
    pub fn name_of(&self, from: usize) -> Addr {
        // SAFETY: bound, and open.
        let knows = unsafe { (*self.av).knows.contains(&(from as Addr)) };
        if knows { from as Addr } else { ADDR_UNSPEC }
    }

    /// The peer says which receive a message takes.
    unsafe fn ask_peer(&mut self, message: Message) {
        let (srx, layout) = (self.srx, world().layout);
        world().arrivals.push_back((self.at, message.from));
        let (addr, bytes) = (self.name_of(message.from), message.bytes.len());
        let mut given: *mut c_void = ptr::null_mut();
        // SAFETY: the peer's functions, in the form of the layout.
        unsafe {
            let ops = &*(*srx).owner_ops;
            let get = if message.tagged { ops.get_tag } else { ops.get_msg };
            let rc = if layout.by_attr {
                let attr = PeerMatchAttr { addr, msg_size: bytes, tag: message.tag };
                (get.by_attr)(srx, &raw const attr, &raw mut given)
            } else {
                let number = if message.tagged { message.tag } else { bytes as u64 };
                (get.by_number)(srx, addr, number, &raw mut given)
            };
            let entry = &mut *entry_of(given);
            match rc {
                0 => self.started.push_back((given, message)),
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
                    assert_eq!(queue(given), 0);
                }
                rc => panic!("the owner refuses a message: {rc}"),
            }
        }
    }

    /// A message of the peer's is copied into its receive's buffers, which the peer is told.
    unsafe fn finish(&mut self, given: *mut c_void, message: &Message) {
        // SAFETY: the entry is ours until it is freed.
        unsafe {
            let entry = &mut *entry_of(given);
            let iov = std::slice::from_raw_parts(entry.iov, entry.count);
            let missing = fill(iov, &message.bytes);
            // Before 2.0 the owner is not told how long a message is.
            let told = world().layout.by_attr;
            assert!(!told || entry.msg_size <= message.bytes.len(), "a message does not grow");
            assert!(missing == 0 || !told || !message.tagged, "the owner makes room for the whole message");
            let mut item = self.item(entry.context, message, missing);
            item.entry.buf = if entry.count > 0 { (*entry.iov).iov_base } else { ptr::null_mut() };
            if entry.flags & flags::COMPLETION != 0 || missing > 0 {
                (*self.rx_cq).ring.push_back(item);
            }
            ((*(*self.srx).owner_ops).free_entry)(given);
        }
    }

    /// A receive is not to be completed by a message any more; whether it was there.
    pub fn take_back(&mut self, context: *mut c_void) -> bool {
        let at = self.posted.iter().position(|posted| posted.context == context);
        at.and_then(|at| self.posted.remove(at)).is_some()
    }

    /// How much is under way to here.
    pub fn under_way(&self) -> usize {
        self.inbox.len()
    }

    /// Some of what is under way arrives.
    pub unsafe fn progress(&mut self) {
        for _ in 0..world().random.below(6) {
            let Some(message) = self.next_arrival() else { break };
            // SAFETY: open.
            unsafe { self.arrive(message) };
        }
        while !self.sent.is_empty() && world().random.percent(80) {
            let some = world().random.below(self.sent.len());
            let item = self.sent.swap_remove(some);
            // SAFETY: bound, and open.
            unsafe { (*self.tx_cq).ring.push_back(item) };
        }
        for _ in 0..world().random.below(6) {
            let some = self.started.len();
            if some == 0 {
                break;
            }
            let Some((given, message)) = self.started.remove(world().random.below(some)) else { break };
            // SAFETY: started, and not finished.
            unsafe { self.finish(given, &message) };
        }
    }

    /// Nothing is under way to here.
    pub fn is_quiet(&self) -> bool {
        self.inbox.is_empty() && self.started.is_empty() && self.sent.is_empty()
    }
}
