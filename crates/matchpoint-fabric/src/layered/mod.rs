//! Front end 2: *layered*, above the matching of a core that keeps its own. Buffers that take any message are posted
//! below, so that the core always finds the first thing it looks at; what arrives in them is matched here.
//!
//! A short message travels as the application sent it, and is copied once more on arrival. A long one is announced in its
//! place ([`wire`]), asked for once it is matched, and then sent into the application's buffer, between *private*
//! endpoints: the application's own counters, and what else it does with its endpoint, see nothing of it. What a sender
//! has under way that is neither tiny nor received is limited ([`credit`]): beyond, its messages are announced. So they
//! are, with the sender's address, to peers that may not know it yet ([`acquaintance`]).
//!
//! Of a peer that owes an answer for long it is found out whether it lives ([`inquiries`]).
//!
//! Works on any core with reliable datagrams and tagged messages.

mod acknowledgements;
mod acquaintance;
mod arrive;
mod credit;
mod eager;
pub mod entry;
mod inquiries;
mod knock;
mod operation;
mod outcomes;
mod private;
mod receive;
mod send;
mod transfer;
mod turns;
mod wire;

use std::ffi::{CStr, c_int, c_void};
use std::ptr;
use std::rc::Rc;

use libc::iovec;

use matchpoint_process::report::Endpoint;

use crate::abi::{
    ADDR_UNSPEC, Addr, CLASS_AV, CLASS_CNTR, CLASS_CQ, CLASS_SRX_CTX, ENABLE, Fid, FidCq, FidDomain, FidEp,
    MR_LOCAL, MsgTagged, Ops, OpsAtomic, OpsDomain, OpsEp, OpsMsg, OpsRma, OpsTagged, errno, flags,
};
use crate::address_vector::AddressVector;
use crate::dump::{self, Tell, Told};
use crate::layered::acknowledgements::Acknowledgements;
use crate::layered::acquaintance::Acquaintance;
use crate::layered::credit::Credit;
use crate::layered::entry::{Entry, State};
use crate::layered::inquiries::Inquiries;
pub use crate::layered::operation::Arena;
use crate::layered::operation::{Destination, Kind, Operation, new_bytes};
use crate::layered::private::Private;
use crate::layered::transfer::UnderWay;
use crate::layered::turns::Turns;
pub use crate::layered::wire::CONTROL;
use crate::library::OwnInfo;
use crate::lock::{self, Lock};
use crate::matching::{Asked, Matching};
use crate::object;
use crate::patch::{Patch, owner, shared_lock};
use crate::pool::Pool;
use crate::queue::Queue;
use crate::report;
use crate::settings::settings;
use crate::tagged::{self, Claims, IOV_LIMIT, Terms};

/// Buffers that wait for messages: taken in turn, so that more of them than fit into the cache cost a miss a message.
const BOUNCES: usize = 64;
/// Of them, those that are posted at a time while more waits here than should.
const TRICKLE: usize = 16;
/// What is always under way: buffers, posted or parked.
const POSTED: usize = BOUNCES + private::REQUESTS;
/// Room in a completion queue for what is ours, beside what the application asks for.
pub const COMPLETIONS: usize = 1024;

/// One endpoint of the core, above whose matching is ours.
pub struct FrontEnd {
    ep: *mut FidEp,
    report: Endpoint,
    terms: Terms,
    /// What the application asked of its sends.
    sends: Terms,
    rx_cq: *mut FidCq,
    tx_cq: *mut FidCq,
    matching: Matching,
    pool: Pool<Entry>,
    /// Messages that peeks have claimed.
    claims: Claims<Entry>,
    arena: Rc<Arena>,
    credit: Credit,
    acquaintance: Acquaintance,
    acknowledgements: Acknowledgements,
    inquiries: Inquiries,
    av: *mut AddressVector,
    /// Longer messages are announced.
    eager_bytes: usize,
    /// What the core injects, in bytes.
    inject_bytes: usize,
    /// How many buffers a message of ours may consist of.
    most_parts: usize,
    /// Bytes of messages that wait here.
    kept_bytes: usize,
    /// Buffers that are not posted: the core was busy, or too much waits here.
    parked: Vec<*mut Operation>,
    /// What the core had no room for.
    deferred: Turns<Destination, *mut Operation>,
    /// Matched messages whose data is asked for later, by the private endpoint that it comes from.
    waiting: Turns<Addr, *mut Entry>,
    /// Data that is under way to here.
    under_way: UnderWay,
    domain: *mut FidDomain,
    core_domain: *const OpsDomain,
    /// What the private endpoint is opened with.
    info: OwnInfo,
    private: Option<Private>,
    fid_ops: Patch<Ops>,
    ep_ops: Patch<OpsEp>,
    /// Since it is enabled.
    tagged: Option<Patch<OpsTagged>>,
    /// A counter is bound to its sends or receives.
    is_counted: bool,
    lock: Lock,
    /// The others, where there is a lock.
    _msg: Option<Patch<OpsMsg>>,
    _rma: Option<Patch<OpsRma>>,
    _atomic: Option<Patch<OpsAtomic>>,
}

impl FrontEnd {
    /// Puts ours on an endpoint that the core has just opened. `Err` says why it cannot be; the endpoint is as it was.
    ///
    /// # Safety
    /// `domain` and `ep` are those of the core of that name, `core_ops` the core's own table of the domain, which outlives the
    /// endpoint, and `info` what the core's endpoint was opened with.
    pub unsafe fn open(
        domain: *mut FidDomain,
        core: &CStr,
        core_ops: &OpsDomain,
        ep: *mut FidEp,
        info: OwnInfo,
        matching: Matching,
        lock: &Lock,
    ) -> Result<(), String> {
        // SAFETY: the info is complete.
        let (caps, rx, tx, mr_mode) = unsafe {
            let info = &*info.0;
            (info.caps | (*info.rx_attr).caps, &*info.rx_attr, &*info.tx_attr, (*info.domain_attr).mr_mode)
        };
        if mr_mode & MR_LOCAL != 0 {
            return Err("the core provider wants every buffer registered (FI_MR_LOCAL)".to_owned());
        }
        let terms = Terms::new(caps, rx.op_flags);
        let sends = Terms::new(caps, tx.op_flags);
        let eager_bytes = eager::most_bytes(core, tx.inject_size, settings().eager_bytes);
        // SAFETY: the slots are the object's.
        let this = object::place(|this| unsafe {
            let arena = Arena::new()?;
            let mut fid_ops = Patch::new(&raw mut (*ep).fid.ops, this, lock)?;
            let mut ep_ops = Patch::new(&raw mut (*ep).ops, this, lock)?;
            let table = fid_ops.table();
            table.close = Some(close);
            table.bind = Some(bind);
            table.control = Some(control);
            ep_ops.table().cancel = Some(cancel);
            Some(FrontEnd {
                ep,
                report: Endpoint::new("layered"),
                terms,
                sends,
                rx_cq: ptr::null_mut(),
                tx_cq: ptr::null_mut(),
                matching,
                pool: Pool::new(),
                claims: Claims::new(),
                arena: Rc::new(arena),
                credit: Credit::default(),
                acquaintance: Acquaintance::default(),
                acknowledgements: Acknowledgements::default(),
                inquiries: Inquiries::new(core),
                av: ptr::null_mut(),
                eager_bytes,
                inject_bytes: tx.inject_size,
                most_parts: tx.iov_limit.min(IOV_LIMIT),
                kept_bytes: 0,
                parked: Vec::new(),
                deferred: Turns::new(),
                waiting: Turns::new(),
                under_way: UnderWay::default(),
                domain,
                core_domain: ptr::from_ref(core_ops),
                info,
                private: None,
                fid_ops,
                ep_ops,
                tagged: None,
                is_counted: false,
                lock: lock.clone(),
                _msg: lock::all_of(&raw mut (*ep).msg, lock),
                _rma: lock::all_of(&raw mut (*ep).rma, lock),
                _atomic: lock::all_of(&raw mut (*ep).atomic, lock),
            })
        });
        let this = this.ok_or("there is no memory")?;
        // SAFETY: just made.
        unsafe {
            (*this).fid_ops.install();
            (*this).ep_ops.install();
        }
        Ok(())
    }

    fn arena(&self) -> &Arena {
        &self.arena
    }

    /// The endpoint has our tables, or the core's.
    fn put(&mut self, are_ours: bool) {
        if let Some(tagged) = &mut self.tagged {
            tagged.put(are_ours);
        }
        self.ep_ops.put(are_ours);
        self.fid_ops.put(are_ours);
    }

    /// The core's functions.
    #[inline]
    fn core(&self) -> &OpsTagged {
        self.tagged.as_ref().expect("nothing is sent or received before it is enabled").core()
    }

    /// Why its messages are not ours: then the endpoint works as if we were not there.
    fn is_left_alone(&self) -> Option<&'static str> {
        match () {
            () if self.is_counted => {
                Some("the application counts its messages (fi_cntr), which we could not")
            }
            () if self.rx_cq.is_null() || self.tx_cq.is_null() => {
                Some("the endpoint has no completion queue for both directions")
            }
            () => None,
        }
    }

    /// Tagged messages are ours from now on.
    unsafe fn enabled(&mut self) -> Result<(), String> {
        let this = ptr::from_mut(self);
        // SAFETY: the objects are the core's.
        let mut private = unsafe { Private::open(self)? };
        // SAFETY: as above.
        match unsafe { private::name_of(self.ep) } {
            // SAFETY: just opened.
            Ok(name) => self.acquaintance.name = unsafe { private.as_kept(name) },
            Err(rc) => {
                // SAFETY: just opened.
                unsafe { private.close() };
                return Err(format!("the core provider refuses to name the endpoint (error {})", -rc));
            }
        }
        self.private = Some(private);
        // SAFETY: the slot is the object's.
        let patch = unsafe { Patch::new(&raw mut (*self.ep).tagged, this.cast(), &self.lock) };
        let mut patch = patch.ok_or("there is no memory")?;
        tagged::exchange::<FrontEnd>(patch.table(), self.lock.is_some());
        send::exchange(patch.table());
        patch.install();
        self.tagged = Some(patch);
        for (cq, other) in [(self.rx_cq, self.tx_cq), (self.tx_cq, self.rx_cq)] {
            // SAFETY: the queues are ours, the front end lives until it takes itself off them.
            unsafe { Queue::of(cq).add_front_end(this, self.arena.range(), (other != cq).then_some(other)) };
        }
        let longest = (wire::LONGEST + credit::FREE.max(self.eager_bytes)).max(self.inject_bytes);
        for _ in 0..BOUNCES {
            self.new_buffer(Kind::Bounce, longest)?;
        }
        for _ in 0..private::REQUESTS {
            self.new_buffer(Kind::Request, wire::LONGEST)?;
        }
        report::enabled(&mut self.report, &self.matching);
        // SAFETY: the queue is ours; the front end takes itself off it.
        unsafe { Queue::of(self.rx_cq).add_endpoint(this) };
        Ok(())
    }

    fn new_buffer(&mut self, kind: Kind, bytes: usize) -> Result<(), String> {
        let operation = self.arena().get(kind).ok_or("there is no room for buffers")?;
        // SAFETY: just taken.
        unsafe {
            (*operation).buffer = new_bytes(bytes).ok_or("there is no memory for buffers")?;
            (*operation).bytes = bytes;
        }
        self.post_buffer(operation);
        Ok(())
    }

    /// Posts a buffer below, or parks it until that is possible.
    #[inline]
    fn post_buffer(&mut self, operation: *mut Operation) {
        // SAFETY: ours, and not posted.
        if unsafe { (*operation).kind } == Kind::Bounce && self.kept_bytes > settings().kept_bytes {
            self.parked.push(operation);
        } else {
            self.post_at_once(operation);
        }
    }

    /// The same, however much waits here.
    #[inline]
    fn post_at_once(&mut self, operation: *mut Operation) {
        // SAFETY: ours, and not posted.
        let buffer = unsafe { &mut *operation };
        buffer.iov[0] = iovec { iov_base: buffer.buffer.cast(), iov_len: buffer.bytes };
        let (ep, tag, ignore) = match buffer.kind {
            Kind::Bounce => (self.ep, 0, u64::MAX),
            _ => (self.private.as_ref().map_or(ptr::null_mut(), |private| private.ep), wire::REQUEST, 0),
        };
        let msg = MsgTagged {
            msg_iov: buffer.iov.as_ptr(),
            desc: ptr::null_mut(),
            iov_count: 1,
            addr: ADDR_UNSPEC,
            tag,
            ignore,
            context: operation.cast(),
            data: 0,
        };
        // SAFETY: the core's function, or that of the private endpoint, with a buffer that lives as long.
        let rc = unsafe {
            let core = if ep == self.ep { self.core().recvmsg } else { (*(*ep).tagged).recvmsg };
            core.expect("every core receives")(ep, &raw const msg, flags::COMPLETION)
        };
        if rc != 0 {
            self.parked.push(operation);
        }
    }

    /// What is done once for all that the core has delivered, and what could not be done when it came up.
    ///
    /// # Safety
    /// The endpoint is open.
    #[inline]
    pub unsafe fn progress(&mut self) {
        if !self.acknowledgements.is_empty() {
            self.send_acknowledgements();
        }
        if self.is_waiting() {
            // SAFETY: the caller's.
            unsafe { self.catch_up() };
        }
        if self.may_be_owed() && self.inquiries.are_due() {
            self.inquire();
        }
    }

    /// Something is to be tried again, of which nobody says when.
    pub fn is_waiting(&self) -> bool {
        !self.deferred.is_empty()
            || !self.parked.is_empty()
            || !self.waiting.is_empty()
            || self.matching.owes_names()
    }

    /// Something is to be done though the core has nothing to say.
    #[inline]
    pub fn is_due(&self) -> bool {
        self.is_waiting() || self.may_be_owed() && self.inquiries.are_due()
    }

    /// Something is under way for which a peer may owe an answer, and be asked after.
    #[inline]
    pub fn may_be_owed(&self) -> bool {
        self.arena().under_way() > POSTED && self.inquiries.are_made()
    }

    #[cold]
    unsafe fn catch_up(&mut self) {
        self.name_owed();
        self.send_deferred();
        let limit = settings().kept_bytes;
        if self.kept_bytes <= limit / 2 || self.kept_bytes <= limit && self.parked.len() < BOUNCES {
            for operation in std::mem::take(&mut self.parked) {
                self.post_buffer(operation);
            }
        } else if self.parked.len() >= BOUNCES {
            // Nothing is posted any more, and the application looks for completions: what it waits for may be behind
            // what waits here, and MPI promises that it comes.
            for operation in self.parked.split_off(self.parked.len() - TRICKLE) {
                self.post_at_once(operation);
            }
        }
        self.ask_for_more();
    }
}

impl Tell for FrontEnd {
    fn tell(&self, text: &mut String) {
        dump::queues(text, "layered", &self.matching, |id| {
            // SAFETY: what is queued is an entry that lives.
            let entry = unsafe { &*(id as *const Entry) };
            let (ignore, bytes) = match entry.state {
                State::Posted => (entry.ignore, entry.room()),
                _ => (0, entry.bytes),
            };
            Told { asked: Asked { addr: entry.addr, tag: entry.tag, ignore }, bytes }
        });
    }
}

unsafe extern "C" fn bind(fid: *mut Fid, to: *mut Fid, flags: u64) -> c_int {
    // SAFETY: the application's call, through our table.
    let (_guard, front) = unsafe { (lock::wait((*fid).ops), owner::<FrontEnd, _>((*fid).ops)) };
    // SAFETY: the object that the application binds.
    let class = unsafe { (*to).class };
    if class == CLASS_SRX_CTX {
        return -errno::EINVAL;
    }
    // SAFETY: the core's function, with the application's arguments.
    let rc = unsafe { front.fid_ops.core().bind.expect("every endpoint can be bound")(fid, to, flags) };
    if rc == 0 && class == CLASS_CQ {
        let selective = flags & flags::SELECTIVE_COMPLETION != 0;
        if flags & flags::RECV != 0 {
            front.rx_cq = to.cast();
            front.terms.selective = selective;
        }
        if flags & flags::SEND != 0 {
            front.tx_cq = to.cast();
            front.sends.selective = selective;
        }
    }
    if rc == 0 && class == CLASS_CNTR && flags & (flags::SEND | flags::RECV) != 0 {
        front.is_counted = true;
    }
    if rc == 0 && class == CLASS_AV {
        // SAFETY: an address vector of the domain's, so ours was put before it; the endpoint takes itself off it.
        let av = unsafe { AddressVector::of(to.cast()) };
        av.add_front_end(front);
        front.av = av;
    }
    rc
}

unsafe extern "C" fn control(fid: *mut Fid, command: c_int, argument: *mut c_void) -> c_int {
    // SAFETY: the application's call, through our table.
    let (_guard, front) = unsafe { (lock::wait((*fid).ops), owner::<FrontEnd, _>((*fid).ops)) };
    // SAFETY: the core's function, with the application's arguments.
    let rc = unsafe {
        front.fid_ops.core().control.expect("every endpoint can be enabled")(fid, command, argument)
    };
    if command != ENABLE || rc != 0 || front.tagged.is_some() {
        return rc;
    }
    if let Some(why) = front.is_left_alone() {
        report::unmatched(why);
        // SAFETY: the slot is the object's.
        front.tagged = unsafe { lock::all_of(&raw mut (*front.ep).tagged, &front.lock) };
        return rc;
    }
    // SAFETY: the endpoint is enabled.
    match unsafe { front.enabled() } {
        Ok(()) => rc,
        // Peers would announce messages that nobody here understands.
        Err(why) => {
            report::unmatched(&why);
            -errno::EIO
        }
    }
}

unsafe extern "C" fn cancel(fid: *mut Fid, context: *mut c_void) -> isize {
    // SAFETY: the application's call, through our table of endpoint functions.
    let ops = unsafe { (*fid.cast::<FidEp>()).ops };
    // SAFETY: as above.
    let (_guard, front) = unsafe { (lock::wait(ops), owner::<FrontEnd, _>(ops)) };
    if front.cancel(context) {
        return 0;
    }
    // SAFETY: the core's function: it may be an untagged receive.
    unsafe { front.ep_ops.core().cancel.map_or(0, |cancel| cancel(fid, context)) }
}

unsafe extern "C" fn close(fid: *mut Fid) -> c_int {
    // SAFETY: the application's call. The core may complete operations while it closes, so this is a pointer.
    let (lock, this): (_, *mut FrontEnd) = unsafe { (shared_lock((*fid).ops), owner((*fid).ops)) };
    let _guard = lock.as_ref().map(|lock| lock.lock());
    // SAFETY: the front end lives until the end of this function.
    unsafe {
        let front = &mut *this;
        front.put(false);
        let rc = front.fid_ops.core().close.expect("every object can be closed")(fid);
        if rc != 0 {
            front.put(true);
            return rc;
        }
        report::closed(&front.report, &front.matching);
        if !front.rx_cq.is_null() {
            Queue::of(front.rx_cq).remove_endpoint(this);
        }
        for entry in front.pool.all() {
            (*entry).forget();
        }
        if let Some(av) = front.av.as_mut() {
            av.remove_front_end(this);
        }
        if let Some(private) = front.private.take() {
            private.close();
        }
        front.arena.empty();
        let arena = front.arena.clone();
        for cq in [front.rx_cq, front.tx_cq] {
            if !cq.is_null() {
                // What the core has yet to say of our operations is dropped; so their addresses must stay ours.
                Queue::of(cq).remove_front_end(this, &arena);
            }
        }
        drop(Box::from_raw(this));
        rc
    }
}
