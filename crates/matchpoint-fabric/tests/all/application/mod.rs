//! A simulated application: endpoints, random calls, and their expected results.

mod completions;

use std::collections::{HashMap, HashSet, VecDeque};
use std::ffi::c_void;
use std::ptr;

use libc::iovec;
use matchpoint_fabric::abi::*;

use crate::mock::opened::{BOTH, Opened, checked, open};
use crate::mock::{self, Random, world};
use crate::oracle::{Lists, Posted, Unexpected};

#[derive(Clone, Copy, Debug)]
pub struct StreamOptions {
    pub seed: u64,
    pub version: u32,
    pub endpoints: usize,
    /// A completion format, 1 to 4.
    pub format: i32,
    pub is_selective: bool,
    pub busy_percent: usize,
    pub steps: usize,
    pub depth: usize,
    pub inject_bytes: usize,
    /// Endpoints learn addresses during the stream, each at a random time.
    pub is_late: bool,
}

/// Tag bits that all receives ignore, as in MPI libraries. Some receives also ignore the next bit.
const ALWAYS: u64 = 0b11 << 54;
const SOMETIMES: u64 = 1 << 60;
const ANY_TAG: u64 = 0xFF;
const LENGTHS: [usize; 10] = [0, 8, 16, 64, 65, 1024, 1025, 16384, 16385, 50000];

#[derive(Clone, Copy, PartialEq, Debug)]
enum Kind {
    Receive,
    Peek,
    Claim,
    Discard,
    Send,
}

/// An operation of the application. The context has space for a `fi_context2`.
struct Operation {
    context: Box<[usize; 8]>,
    kind: Kind,
    endpoint: usize,
    buffers: Vec<Vec<u8>>,
    /// Expected message of a receive, peek or discard, once known.
    message: Option<usize>,
    /// The expected result, once known: 0 or an error.
    expected: Option<i32>,
    is_reported: bool,
    is_done: bool,
    tag: u64,
    /// The source of the message was unknown at the match.
    has_unknown_source: bool,
}

struct Sent {
    from: usize,
    tag: u64,
    bytes: Vec<u8>,
    data: Option<u64>,
}

struct Endpoint {
    ep: *mut FidEp,
    cq: *mut FidCq,
    av: *mut FidAv,
    names: HashSet<usize>,
    lists: Lists,
}

pub struct Stream {
    options: StreamOptions,
    random: Random,
    endpoints: Vec<Endpoint>,
    operations: Vec<Operation>,
    by_context: HashMap<usize, usize>,
    messages: Vec<Sent>,
    /// Messages in transit, by sender and receiver.
    in_transit: HashMap<(usize, usize), VecDeque<usize>>,
    /// Peeks with a claimed message that is not received yet.
    claimed: Vec<usize>,
}

impl Stream {
    pub fn new(options: StreamOptions) -> Self {
        mock::begin(options.seed, true, options.version, 0);
        world().inject_bytes = options.inject_bytes;
        let mut stream = Stream {
            options,
            random: Random(options.seed.wrapping_mul(31) + 17),
            endpoints: Vec::new(),
            operations: Vec::new(),
            by_context: HashMap::new(),
            messages: Vec::new(),
            in_transit: HashMap::new(),
            claimed: Vec::new(),
        };
        // SAFETY: calls as libfabric and applications make them.
        unsafe { stream.open() };
        world().busy_percent = options.busy_percent;
        stream
    }

    unsafe fn open(&mut self) {
        let StreamOptions { endpoints, format, is_selective, .. } = self.options;
        let selective = if is_selective { flags::SELECTIVE_COMPLETION } else { 0 };
        // SAFETY: the core provider is initialized.
        let opened = unsafe { open(endpoints, format, &[BOTH[0] | selective]) };
        self.endpoints.extend(opened.into_iter().map(|Opened { ep, cq, av, .. }| Endpoint {
            ep,
            cq,
            av,
            names: HashSet::new(),
            lists: Lists::default(),
        }));
    }

    pub fn run(mut self) {
        let pairs: Vec<(usize, usize)> = (0..self.endpoints.len())
            .flat_map(|at| (0..self.endpoints.len()).map(move |of| (at, of)))
            .collect();
        let late = if self.options.is_late { self.options.steps / 2 } else { 1 };
        let mut pairs: Vec<_> = pairs.into_iter().map(|pair| (self.random.below(late), pair)).collect();
        pairs.sort_unstable();
        let mut pairs = pairs.into_iter().peekable();
        for step in 0..self.options.steps {
            while let Some((_, (at, of))) = pairs.next_if(|&(when, _)| when <= step) {
                self.insert_address(at, of);
            }
            self.make_random_call();
        }
        self.finish_stream();
        // SAFETY: open objects without users.
        unsafe {
            for endpoint in &self.endpoints {
                let fid = &raw mut (*endpoint.ep).fid;
                checked((*(*fid).ops).close.expect("an endpoint can be closed")(fid));
            }
            for endpoint in &self.endpoints {
                let fid = &raw mut (*endpoint.cq).fid;
                checked((*(*fid).ops).close.expect("a queue can be closed")(fid));
                let fid = &raw mut (*endpoint.av).fid;
                checked((*(*fid).ops).close.expect("an address vector can be closed")(fid));
            }
        }
    }

    fn insert_address(&mut self, at: usize, of: usize) {
        let (address, mut addr) = (self.core_number(of), ADDR_UNSPEC);
        let av = self.endpoints[at].av;
        // SAFETY: an open address vector, and a valid address.
        let rc = unsafe {
            let insert = (*(*av).ops).insert.expect("it takes addresses");
            let address = (&raw const address).cast();
            insert(
                av,
                address,
                1,
                if of % 2 == 0 { &raw mut addr } else { ptr::null_mut() },
                0,
                ptr::null_mut(),
            )
        };
        assert!(rc == 1 && (of % 2 == 1 || addr == address));
        self.endpoints[at].names.insert(of);
    }

    fn make_random_call(&mut self) {
        let at = self.random.below(self.endpoints.len());
        let deep = self.endpoints[at].lists.posted.len() > self.options.depth;
        match self.random.below(100) {
            0..35 => self.send(at),
            35..65 if !deep => self.receive(at, None),
            65..72 => self.peek(at),
            72..76 => self.cancel(at),
            76..80 => self.receive_claimed(),
            _ => {
                self.read(at);
            }
        }
    }

    /// Lets all messages arrive, receives them, and cancels the remaining receives.
    fn finish_stream(&mut self) {
        let mut idle = 0;
        while idle < 300 {
            idle += 1;
            for at in 0..self.endpoints.len() {
                if self.read(at) > 0 {
                    idle = 0;
                }
                if let Some(message) = self.endpoints[at].lists.unexpected.first().copied() {
                    let exact = Posted { id: 0, from: Some(message.from), tag: message.tag, ignore: ALWAYS };
                    self.receive(at, Some(exact));
                    idle = 0;
                }
            }
            while !self.claimed.is_empty() {
                self.receive_claimed();
                idle = 0;
            }
        }
        for at in 0..self.endpoints.len() {
            while let Some(posted) = self.endpoints[at].lists.posted.first().copied() {
                self.cancel_posted(at, posted.id);
            }
            while self.read(at) > 0 {}
        }
        assert!(
            self.in_transit.values().all(VecDeque::is_empty),
            "{:?}: a message never arrives",
            self.options
        );
        for (id, operation) in self.operations.iter().enumerate() {
            let Operation { kind, message, expected, is_reported, is_done, .. } = operation;
            let is_right = *is_done || !is_reported;
            assert!(
                is_right,
                "{:?}: {id}, {kind:?}, never ends (message {message:?}, ends {expected:?})",
                self.options
            );
        }
        self.check_silent();
    }

    fn check_silent(&self) {
        for operation in self.operations.iter().filter(|one| one.kind == Kind::Receive && !one.is_reported) {
            if let (Some(message), Some(0)) = (operation.message, operation.expected) {
                let received = operation.buffers.concat();
                let sent = &self.messages[message].bytes;
                assert!(received[..sent.len()] == sent[..], "{:?}: a silent receive", self.options);
            }
        }
    }

    fn new_operation(
        &mut self,
        kind: Kind,
        endpoint: usize,
        buffers: Vec<Vec<u8>>,
        is_reported: bool,
        tag: u64,
    ) -> usize {
        let id = self.operations.len();
        let context = Box::new([0; 8]);
        self.by_context.insert(context.as_ptr() as usize, id);
        let (message, expected, is_done) = (None, None, false);
        self.operations.push(Operation {
            context,
            kind,
            endpoint,
            buffers,
            message,
            expected,
            is_reported,
            is_done,
            tag,
            has_unknown_source: false,
        });
        id
    }

    fn context(&mut self, id: usize) -> *mut c_void {
        self.operations[id].context.as_mut_ptr().cast()
    }

    fn forget_operation(&mut self, id: usize) {
        let operation = self.operations.pop().expect("just made");
        assert_eq!(self.operations.len(), id);
        self.by_context.remove(&(operation.context.as_ptr() as usize));
    }

    fn random_tag(&mut self) -> u64 {
        let tag = self.random.below(6) as u64;
        tag | if self.random.percent(10) { 1 << 54 } else { 0 }
            | if self.random.percent(5) { SOMETIMES } else { 0 }
    }

    fn core_number(&self, at: usize) -> u64 {
        // SAFETY: an object of the simulated core provider.
        unsafe { (*self.endpoints[at].ep.cast::<mock::Ep>()).at as u64 }
    }

    fn endpoint_of_core_number(&self, number: usize) -> Option<usize> {
        (0..self.endpoints.len()).find(|&at| self.core_number(at) == number as u64)
    }

    fn send(&mut self, from: usize) {
        let to = self.random.below(self.endpoints.len());
        if self.endpoints[to].lists.unexpected.len() > self.options.depth
            || !self.endpoints[from].names.contains(&to)
        {
            return;
        }
        let tag = self.random_tag();
        let length = LENGTHS[self.random.below(LENGTHS.len())];
        let number = self.messages.len();
        let bytes: Vec<u8> = (0..length).map(|at| (number * 7 + at * 13 + at / 256) as u8).collect();
        let data = self.random.percent(50).then(|| self.random.next() & 0xFFFF_FFFF);
        let is_injected = length <= self.options.inject_bytes && self.random.percent(30);
        let is_silent = is_injected && self.random.percent(50);
        let is_reported = !is_silent && (!self.options.is_selective || self.random.percent(50));
        let flagged = if is_reported { flags::COMPLETION } else { 0 };
        let id = self.new_operation(Kind::Send, from, vec![bytes.clone()], is_reported, tag);
        let (context, target, ep) = (self.context(id), self.core_number(to), self.endpoints[from].ep);
        let buffer = self.operations[id].buffers[0].as_mut_ptr().cast::<c_void>();
        let half = length / 2;
        let iov = [
            iovec { iov_base: buffer, iov_len: half },
            iovec { iov_base: buffer.cast::<u8>().wrapping_add(half).cast(), iov_len: length - half },
        ];
        let way = match () {
            () if is_silent => 3,
            () if is_injected || self.options.is_selective => 2,
            () => self.random.below(3),
        };
        // SAFETY: the endpoint is enabled. The buffers live until the stream ends.
        let rc = unsafe {
            let ops = &*(*ep).tagged;
            match (way, data) {
                (0, None) => {
                    ops.send.expect("it sends")(ep, buffer, length, ptr::null_mut(), target, tag, context)
                }
                (0, Some(data)) => ops.senddata.expect("it sends")(
                    ep,
                    buffer,
                    length,
                    ptr::null_mut(),
                    data,
                    target,
                    tag,
                    context,
                ),
                (3, None) => ops.inject.expect("it sends")(ep, buffer, length, target, tag),
                (3, Some(data)) => ops.injectdata.expect("it sends")(ep, buffer, length, data, target, tag),
                _ => {
                    let more = if data.is_some() { flags::REMOTE_CQ_DATA } else { 0 }
                        | if is_injected { flags::INJECT } else { 0 };
                    let msg = MsgTagged {
                        msg_iov: iov.as_ptr(),
                        desc: ptr::null_mut(),
                        iov_count: 2,
                        addr: target,
                        tag,
                        ignore: 0,
                        context,
                        data: data.unwrap_or(0),
                    };
                    ops.sendmsg.expect("it sends")(ep, &raw const msg, more | flagged)
                }
            }
        };
        if rc != 0 {
            assert_eq!(rc, -(errno::EAGAIN as isize), "{:?}: a send is refused", self.options);
            return self.forget_operation(id);
        }
        if is_injected {
            self.operations[id].buffers[0].fill(0xAA);
        }
        self.operations[id].expected = Some(0);
        self.messages.push(Sent { from, tag, bytes, data });
        self.in_transit.entry((from, to)).or_default().push_back(number);
    }

    fn random_asked(&mut self, id: usize) -> Posted {
        let from = self.random.percent(60).then(|| self.random.below(self.endpoints.len()));
        let at = self.operations[id].endpoint;
        let from = from.filter(|from| self.endpoints[at].names.contains(from));
        let mut ignore = ALWAYS;
        if self.random.percent(30) {
            ignore |= ANY_TAG;
        }
        if self.random.percent(50) {
            ignore |= SOMETIMES;
        }
        if self.random.percent(2) {
            ignore = 0;
        }
        if self.random.percent(2) {
            ignore = u64::MAX >> 1;
        }
        Posted { id, from, tag: self.random_tag(), ignore }
    }

    /// Buffers that are sometimes too short for a message.
    fn random_buffers(&mut self, is_reported: bool) -> Vec<Vec<u8>> {
        let longest = *LENGTHS.last().expect("there are some");
        let room = if is_reported && self.random.percent(15) { self.random.below(2000) } else { longest };
        let parts = 1 + self.random.below(3);
        let mut buffers: Vec<Vec<u8>> = (0..parts - 1).map(|_| vec![0xEE; room / parts]).collect();
        buffers.push(vec![0xEE; room - (parts - 1) * (room / parts)]);
        buffers
    }

    fn call(&mut self, id: usize, context: *mut c_void, criteria: Posted, flags: u64) -> isize {
        let addr = criteria.from.map_or(ADDR_UNSPEC, |from| self.core_number(from));
        let operation = &mut self.operations[id];
        let is_reported = if operation.is_reported { flags::COMPLETION } else { 0 };
        let iov: Vec<iovec> = operation
            .buffers
            .iter_mut()
            .map(|part| iovec { iov_base: part.as_mut_ptr().cast(), iov_len: part.len() })
            .collect();
        let ep = self.endpoints[operation.endpoint].ep;
        let msg = MsgTagged {
            msg_iov: iov.as_ptr(),
            desc: ptr::null_mut(),
            iov_count: iov.len(),
            addr,
            tag: criteria.tag,
            ignore: criteria.ignore,
            context,
            data: 0,
        };
        // SAFETY: the endpoint is enabled. The buffers live until the stream ends.
        unsafe { (*(*ep).tagged).recvmsg.expect("it receives")(ep, &raw const msg, flags | is_reported) }
    }

    fn receive(&mut self, at: usize, criteria: Option<Posted>) {
        let is_reported = !self.options.is_selective || self.random.percent(70);
        let buffers = self.random_buffers(is_reported);
        let id = self.new_operation(Kind::Receive, at, buffers, is_reported, 0);
        let criteria = criteria.map_or_else(|| self.random_asked(id), |criteria| Posted { id, ..criteria });
        self.operations[id].tag = criteria.tag;
        let context = self.context(id);
        let rc = self.call(id, context, criteria, 0);
        self.record_arrivals();
        if rc != 0 {
            assert_eq!(rc, -(errno::EAGAIN as isize), "{:?}: a receive is refused", self.options);
            return self.forget_operation(id);
        }
        if let Some(message) = self.endpoints[at].lists.post(criteria) {
            self.record_match(id, message);
        }
    }

    fn record_match(&mut self, id: usize, message: usize) {
        let operation = &mut self.operations[id];
        let room: usize = operation.buffers.iter().map(Vec::len).sum();
        operation.message = Some(message);
        operation.has_unknown_source =
            !self.endpoints[operation.endpoint].names.contains(&self.messages[message].from);
        operation.expected = Some(if self.messages[message].bytes.len() > room { errno::ETRUNC } else { 0 });
    }

    fn peek(&mut self, at: usize) {
        let kind = [Kind::Peek, Kind::Claim, Kind::Discard][self.random.below(3)];
        let id = self.new_operation(kind, at, Vec::new(), true, 0);
        let criteria = self.random_asked(id);
        self.operations[id].tag = criteria.tag;
        let more = match kind {
            Kind::Claim => flags::CLAIM,
            Kind::Discard => flags::DISCARD,
            _ => 0,
        };
        let context = self.context(id);
        let rc = self.call(id, context, criteria, flags::PEEK | more);
        self.record_arrivals();
        assert_eq!(rc, 0, "{:?}: a peek is refused", self.options);
        let lists = &mut self.endpoints[at].lists;
        let found = if kind == Kind::Peek { lists.probe(&criteria) } else { lists.take(&criteria) };
        let operation = &mut self.operations[id];
        operation.message = found;
        operation.has_unknown_source =
            found.is_some_and(|found| !self.endpoints[at].names.contains(&self.messages[found].from));
        operation.expected = Some(if found.is_some() { 0 } else { errno::ENOMSG });
        if kind == Kind::Claim && found.is_some() {
            self.claimed.push(id);
        }
    }

    fn receive_claimed(&mut self) {
        if self.claimed.is_empty() {
            return;
        }
        let claim = self.claimed[0];
        let (at, message) =
            (self.operations[claim].endpoint, self.operations[claim].message.expect("it found one"));
        while !self.operations[claim].is_done {
            self.read(at);
        }
        self.claimed.remove(0);
        let drops = self.random.percent(30);
        let buffers = if drops { Vec::new() } else { self.random_buffers(true) };
        // From now on, the context of the peek belongs to this operation.
        let id = self.new_operation(if drops { Kind::Discard } else { Kind::Receive }, at, buffers, true, 0);
        let own = self.operations[id].context.as_ptr() as usize;
        self.by_context.remove(&own);
        let context = self.context(claim);
        self.by_context.insert(context as usize, id);
        let criteria = Posted { id, from: None, tag: self.messages[message].tag, ignore: 0 };
        let rc = self.call(id, context, criteria, flags::CLAIM | if drops { flags::DISCARD } else { 0 });
        assert_eq!(rc, 0, "{:?}: a claimed message is refused", self.options);
        if drops {
            (self.operations[id].message, self.operations[id].expected) = (Some(message), Some(0));
        } else {
            self.record_match(id, message);
        }
    }

    fn cancel(&mut self, at: usize) {
        let some = self.endpoints[at].lists.posted.len();
        if some > 0 {
            let which = self.random.below(some);
            self.cancel_posted(at, self.endpoints[at].lists.posted[which].id);
        }
    }

    fn cancel_posted(&mut self, at: usize, id: usize) {
        let (context, ep) = (self.context(id), self.endpoints[at].ep);
        // SAFETY: the endpoint is enabled.
        let rc = unsafe { (*(*ep).ops).cancel.expect("it cancels")(&raw mut (*ep).fid, context) };
        assert_eq!(rc, 0, "{:?}: a cancel is refused", self.options);
        assert!(self.endpoints[at].lists.cancel(id));
        self.operations[id].expected = Some(errno::ECANCELED);
        self.operations[id].is_reported = true;
    }
}
