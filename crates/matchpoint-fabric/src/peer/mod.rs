//! The owner of a *peer SRX*. The core provider delivers messages itself, into the application's buffers;
//! only which receive a message takes is asked of us (fi_peer(3)). Nothing is copied, nothing is sent that would not be
//! sent without us.
//!
//! Works on core providers that accept such a queue: shm, ofi_rxm, and others by their documentation. Any other core
//! provider matches messages itself.

mod calls;
pub mod entry;
mod naming;
pub mod owner;
mod srx;
mod tagged;
mod untagged;
mod unused;

use std::ffi::{c_int, c_void};
use std::ptr;

use matchpoint_process::report::Endpoint;

use crate::abi::peer::{FidPeerSrx, Layout, OpsSrxOwner, PeerSrxContext};
use crate::abi::{
    CLASS_CQ, CLASS_SRX_CTX, ENABLE, Fid, FidCq, FidDomain, FidEp, Info, OPT_ENDPOINT, OPT_MIN_MULTI_RECV,
    Ops, OpsAtomic, OpsDomain, OpsEp, OpsMsg, OpsRma, OpsTagged, errno, flags,
};
use crate::asked::Terms;
use crate::lock;
use crate::matching::Matching;
use crate::object;
use crate::patch::{Lock, Patch, owner, shared_lock};
use crate::peer::entry::{ByAddress, Claims, State};
use crate::peer::owner::{Next, Owner, Untagged};
use crate::peer::unused::Supplies;
use crate::pool::Pool;
use crate::queue::Queue;
use crate::report;

/// What a buffer for several messages must have left, unless the core or the application says otherwise.
const LEAST_ROOM: usize = 64;

/// One endpoint of the core whose receives are ours.
pub struct PeerEndpoint {
    owner: Owner,
    report: Endpoint,
    ep: *mut FidEp,
    /// The core's object for the shared queue.
    core_srx: *mut FidEp,
    /// Ours, and its tables.
    srx: FidPeerSrx,
    srx_owner_ops: OpsSrxOwner,
    srx_fid_ops: Ops,
    srx_ep_ops: OpsEp,
    fid_ops: Patch<Ops>,
    ep_ops: Patch<OpsEp>,
    /// For one that is closed and was never enabled.
    supplies: Supplies,
    is_enabled: bool,
    /// Since it is enabled.
    receives: Option<(Patch<OpsTagged>, Patch<OpsMsg>)>,
    lock: Lock,
    /// The others, where there is a lock.
    _rma: Option<Patch<OpsRma>>,
    _atomic: Option<Patch<OpsAtomic>>,
}

impl PeerEndpoint {
    /// Puts ours on an endpoint that the core has just opened. `Err` says why it cannot be; the endpoint is as it was.
    ///
    /// # Safety
    /// `domain` and `ep` are the core's, `core_ops` the core's own table of the domain, which outlives the endpoint, `info`
    /// what the application opened the endpoint with.
    pub unsafe fn open(
        domain: *mut FidDomain,
        core_ops: &OpsDomain,
        ep: *mut FidEp,
        info: &Info,
        matching: Matching,
        layout: Layout,
        lock: &Lock,
    ) -> Result<(), String> {
        // SAFETY: an application's `info` is complete.
        let rx_attr = unsafe { &*info.rx_attr };
        let terms = Terms::new(info.caps | rx_attr.caps, rx_attr.op_flags);
        // SAFETY: as above.
        let av_kind = unsafe { (*info.domain_attr).av_type };
        let supplies = Supplies { domain, core: ptr::from_ref(core_ops), av_kind };
        // SAFETY: the slots are the object's.
        let this = object::place(|this| unsafe {
            let mut fid_ops = Patch::new(&raw mut (*ep).fid.ops, this, lock)?;
            let mut ep_ops = Patch::new(&raw mut (*ep).ops, this, lock)?;
            let table = fid_ops.table();
            table.close = Some(close);
            table.bind = Some(bind);
            table.control = Some(control);
            let table = ep_ops.table();
            table.cancel = Some(cancel);
            table.getopt = Some(getopt);
            table.setopt = Some(setopt);
            let this = this.cast::<Self>();
            Some(PeerEndpoint {
                owner: Owner {
                    layout,
                    cq: ptr::null_mut(),
                    completions: ptr::null_mut(),
                    terms,
                    srx: &raw mut (*this).srx,
                    pool: Pool::new(),
                    matching,
                    claims: Claims::default(),
                    untagged: Untagged::new(LEAST_ROOM),
                },
                report: Endpoint::new("peer"),
                ep,
                core_srx: ptr::null_mut(),
                srx: srx::object(&raw mut (*this).owner),
                srx_owner_ops: srx::owner_ops(layout),
                srx_fid_ops: srx::fid_ops(),
                srx_ep_ops: srx::ep_ops(),
                fid_ops,
                ep_ops,
                supplies,
                is_enabled: false,
                receives: None,
                lock: lock.clone(),
                _rma: None,
                _atomic: None,
            })
        });
        let this = this.ok_or("there is no memory")?;
        // SAFETY: just made.
        unsafe {
            let front = &mut *this;
            front.srx.owner_ops = &raw mut front.srx_owner_ops;
            front.srx.ep_fid.fid.ops = &raw mut front.srx_fid_ops;
            front.srx.ep_fid.ops = &raw mut front.srx_ep_ops;
            if let Err(why) = front.share(domain, core_ops) {
                drop(Box::from_raw(this));
                return Err(why);
            }
            front.fid_ops.install();
            front.ep_ops.install();
            // Not before: the endpoint of a core that refuses keeps its own.
            front._rma = lock::all_of(&raw mut (*ep).rma, lock);
            front._atomic = lock::all_of(&raw mut (*ep).atomic, lock);
        }
        Ok(())
    }

    /// Has the core take our queue, and the endpoint use it.
    unsafe fn share(&mut self, domain: *mut FidDomain, core_ops: &OpsDomain) -> Result<(), String> {
        let open = core_ops.srx_ctx.ok_or("the core provider has no shared receive queues")?;
        // SAFETY: zeros are attributes that ask for nothing.
        let mut attr: crate::abi::RxAttr = unsafe { std::mem::zeroed() };
        attr.op_flags = flags::PEER;
        let mut context = PeerSrxContext { size: size_of::<PeerSrxContext>(), srx: &raw mut self.srx };
        // SAFETY: the core's function, on its domain.
        let rc = unsafe { open(domain, &raw mut attr, &raw mut self.core_srx, (&raw mut context).cast()) };
        if rc != 0 {
            return Err(format!("the core provider refuses a peer's receive queue (error {})", -rc));
        }
        // SAFETY: the object that the core has just opened.
        let close_core = |srx: *mut FidEp| unsafe {
            let close = (*(*srx).fid.ops).close.expect("every object can be closed");
            close(&raw mut (*srx).fid);
        };
        if self.srx.peer_ops.is_null() {
            // It has opened a shared queue of its own, and not understood whose this is to be.
            close_core(self.core_srx);
            return Err("the core provider does not know peers' receive queues".to_owned());
        }
        // SAFETY: both objects are the core's.
        let rc = unsafe {
            let bind = (*(*self.ep).fid.ops).bind.expect("every endpoint can be bound");
            bind(&raw mut (*self.ep).fid, &raw mut (*self.core_srx).fid, 0)
        };
        if rc != 0 {
            close_core(self.core_srx);
            return Err(format!(
                "the core provider's endpoint refuses a peer's receive queue (error {})",
                -rc
            ));
        }
        Ok(())
    }

    /// Receives are ours from now on. The core has put tables there that refuse them: not before it is enabled.
    fn enabled(&mut self) -> Result<(), c_int> {
        let this = (&raw mut self.owner).cast::<c_void>();
        // SAFETY: the slots are the object's.
        let patches = unsafe {
            let (tagged, msg) = (&raw mut (*self.ep).tagged, &raw mut (*self.ep).msg);
            Patch::new(tagged, this, &self.lock).zip(Patch::new(msg, this, &self.lock))
        };
        let (mut tagged, mut msg) = patches.ok_or(-errno::ENOMEM)?;
        calls::exchange(tagged.table(), self.lock.is_some());
        calls::exchange_untagged(msg.table(), self.lock.is_some());
        tagged.install();
        msg.install();
        self.receives = Some((tagged, msg));
        report::enabled(&mut self.report, &self.owner.matching);
        if !self.owner.cq.is_null() {
            // SAFETY: the queue that the endpoint is bound to; the endpoint takes itself off it.
            unsafe { Queue::of(self.owner.cq) }.add_owner(&raw mut self.owner);
        }
        Ok(())
    }

    /// The endpoint has our tables, or the core's; that knows by its own, when it closes, whose the queue is.
    fn put(&mut self, are_ours: bool) {
        if let Some((tagged, msg)) = &mut self.receives {
            tagged.put(are_ours);
            msg.put(are_ours);
        }
        self.ep_ops.put(are_ours);
        self.fid_ops.put(are_ours);
    }
}

/// What is kept for an endpoint of ours.
unsafe fn of<'a>(fid: *mut Fid) -> &'a mut PeerEndpoint {
    // SAFETY: called through our table, which is this object's as long as it is open.
    unsafe { owner((*fid).ops) }
}

unsafe extern "C" fn bind(fid: *mut Fid, to: *mut Fid, flags: u64) -> c_int {
    // SAFETY: the application's call.
    let (_guard, front) = unsafe { (lock::wait((*fid).ops), of(fid)) };
    // SAFETY: as above.
    if unsafe { (*to).class } == CLASS_SRX_CTX {
        // Another shared queue than ours: the application's own.
        return -errno::EINVAL;
    }
    // SAFETY: the core's function, with the application's arguments.
    let rc = unsafe { front.fid_ops.core().bind.expect("every endpoint can be bound")(fid, to, flags) };
    // SAFETY: as above.
    if rc == 0 && unsafe { (*to).class } == CLASS_CQ && flags & flags::RECV != 0 {
        front.owner.cq = to.cast::<FidCq>();
        // SAFETY: a queue of the domain, which is ours, and which stays open as long as the endpoint.
        front.owner.completions = unsafe { Queue::completions(front.owner.cq) };
        front.owner.terms.selective = flags & flags::SELECTIVE_COMPLETION != 0;
    }
    rc
}

unsafe extern "C" fn control(fid: *mut Fid, command: c_int, argument: *mut c_void) -> c_int {
    // SAFETY: the application's call.
    let (_guard, front) = unsafe { (lock::wait((*fid).ops), of(fid)) };
    // SAFETY: the core's function, with the application's arguments.
    let rc = unsafe {
        front.fid_ops.core().control.expect("every endpoint can be enabled")(fid, command, argument)
    };
    if command != ENABLE || rc != 0 || front.receives.is_some() {
        return rc;
    }
    front.is_enabled = true;
    match front.enabled() {
        Ok(()) => rc,
        Err(rc) => rc,
    }
}

unsafe extern "C" fn close(fid: *mut Fid) -> c_int {
    // SAFETY: the application's call. The core calls back while it closes, so this is a pointer.
    let (lock, this): (_, *mut PeerEndpoint) = unsafe { (shared_lock((*fid).ops), of(fid)) };
    let _guard = lock.as_ref().map(|lock| lock.lock());
    // SAFETY: it lives until the end of this function; borrows end before the core is called.
    unsafe {
        let supplied = match (*this).is_enabled {
            true => None,
            false => match (*this).supplies.enable(fid, &(*this).fid_ops) {
                Ok(supplied) => Some(supplied),
                Err(rc) => return rc,
            },
        };
        report::closed(&(*this).report, &(*this).owner.matching);
        for entry in (*this).owner.leftovers() {
            if (*entry).state == State::Unexpected && (*entry).tagged {
                (*this).owner.matching.retract(entry as u64, &ByAddress);
            }
            Owner::proceed(&raw mut (*this).owner, Next::Discard(entry));
        }
        (*this).put(false);
        let rc = (*this).fid_ops.core().close.expect("every object can be closed")(fid);
        if rc != 0 {
            // What it was enabled with stays its own.
            (*this).is_enabled = true;
            (*this).put(true);
            return rc;
        }
        if !(*this).owner.cq.is_null() {
            Queue::of((*this).owner.cq).remove_owner(&raw mut (*this).owner);
        }
        let srx = (*this).core_srx;
        if let Some(close) = (*(*srx).fid.ops).close {
            close(&raw mut (*srx).fid);
        }
        if let Some(supplied) = supplied {
            supplied.close();
        }
        drop(Box::from_raw(this));
        rc
    }
}

unsafe extern "C" fn cancel(fid: *mut Fid, context: *mut c_void) -> isize {
    // SAFETY: the application's call, through our table of endpoint functions.
    let ops = unsafe { (*fid.cast::<FidEp>()).ops };
    // SAFETY: as above.
    let (_guard, front) = unsafe { (lock::wait(ops), owner::<PeerEndpoint, _>(ops)) };
    front.owner.cancel(context)
}

unsafe extern "C" fn getopt(
    fid: *mut Fid,
    level: c_int,
    option: c_int,
    value: *mut c_void,
    len: *mut usize,
) -> c_int {
    // SAFETY: as above.
    let ops = unsafe { (*fid.cast::<FidEp>()).ops };
    // SAFETY: as above.
    let (_guard, front) = unsafe { (lock::wait(ops), owner::<PeerEndpoint, _>(ops)) };
    if (level, option) == (OPT_ENDPOINT, OPT_MIN_MULTI_RECV) {
        // SAFETY: the application gave room for what the option is.
        return unsafe { srx::tell_least_room(&front.owner, value, len) };
    }
    // SAFETY: the core's function, with the application's arguments.
    unsafe { front.ep_ops.core().getopt.map_or(-errno::ENOSYS, |get| get(fid, level, option, value, len)) }
}

unsafe extern "C" fn setopt(
    fid: *mut Fid,
    level: c_int,
    option: c_int,
    value: *const c_void,
    len: usize,
) -> c_int {
    // SAFETY: as above.
    let ops = unsafe { (*fid.cast::<FidEp>()).ops };
    // SAFETY: as above.
    let (_guard, front) = unsafe { (lock::wait(ops), owner::<PeerEndpoint, _>(ops)) };
    if (level, option) == (OPT_ENDPOINT, OPT_MIN_MULTI_RECV) {
        if len != size_of::<usize>() {
            return -errno::EINVAL;
        }
        // SAFETY: the application says that there is a `size_t`.
        front.owner.untagged.least_room = unsafe { *value.cast() };
        return errno::SUCCESS;
    }
    // SAFETY: the core's function, with the application's arguments.
    unsafe { front.ep_ops.core().setopt.map_or(-errno::ENOSYS, |set| set(fid, level, option, value, len)) }
}
