//! The owner of a *peer SRX* (fi_peer(3)).
//!
//! The core provider delivers messages directly to the application's buffers. For each message, the core
//! provider requests the matching receive from the owner. Matchpoint's provider copies no data and sends no
//! messages.
//!
//! shm and ofi_rxm accept a peer SRX, and others do according to their documentation. Other core providers
//! match messages themselves.

mod calls;
pub mod entry;
mod late_sources;
mod never_enabled;
pub mod owner;
mod srx;
mod tagged;
mod untagged;

use std::ffi::{c_int, c_void};
use std::ptr;

use matchpoint_process::report::Endpoint;

use crate::abi::peer::{FidPeerSrx, Layout, OpsSrxOwner, PeerSrxContext};
use crate::abi::{
    CLASS_CQ, CLASS_SRX_CTX, ENABLE, Fid, FidCq, FidDomain, FidEp, Info, OPT_ENDPOINT, OPT_MIN_MULTI_RECV,
    Ops, OpsAtomic, OpsDomain, OpsEp, OpsMsg, OpsRma, OpsTagged, errno, flags,
};
use crate::criteria::EndpointOptions;
use crate::lock::{self, Guard};
use crate::matching::Matching;
use crate::object;
use crate::patch::{Lock, Patch, data, shared_lock};
use crate::peer::entry::{ByAddress, Claims, State};
use crate::peer::never_enabled::BindingSource;
use crate::peer::owner::{CoreAction, SrxOwner, UntaggedQueues};
use crate::pool::Pool;
use crate::queue::Queue;
use crate::report;

/// The default of `FI_OPT_MIN_MULTI_RECV`, in bytes.
const DEFAULT_MIN_MULTI_RECV: usize = 64;

/// An endpoint of the core provider with a receive queue of this provider.
pub struct PeerEndpoint {
    owner: SrxOwner,
    report: Endpoint,
    ep: *mut FidEp,
    /// The core provider's object for the shared queue.
    core_srx: *mut FidEp,
    /// The next fields are tables of `srx`.
    srx: FidPeerSrx,
    srx_owner_ops: OpsSrxOwner,
    srx_fid_ops: Ops,
    srx_ep_ops: OpsEp,
    fid_ops: Patch<Ops>,
    ep_ops: Patch<OpsEp>,
    /// Closes an endpoint that was never enabled.
    binding_source: BindingSource,
    is_enabled: bool,
    /// Installed when the endpoint is enabled.
    receives: Option<(Patch<OpsTagged>, Patch<OpsMsg>)>,
    lock: Lock,
    /// Other patched tables of a locked domain.
    _rma: Option<Patch<OpsRma>>,
    _atomic: Option<Patch<OpsAtomic>>,
}

impl PeerEndpoint {
    /// Patches a new endpoint of the core provider. An error contains the reason and leaves the endpoint
    /// unchanged.
    ///
    /// # Safety
    /// `domain` and `ep` are objects of the core provider. `core_ops` is its table of the domain, and
    /// outlives the endpoint. The application opened the endpoint with `info`.
    pub unsafe fn open(
        domain: *mut FidDomain,
        core_ops: &OpsDomain,
        ep: *mut FidEp,
        info: &Info,
        matching: Matching,
        layout: Layout,
        lock: &Lock,
    ) -> Result<(), String> {
        // SAFETY: an application's `fi_info` is complete.
        let (rx_attr, av_kind) = unsafe { (&*info.rx_attr, (*info.domain_attr).av_type) };
        let options = EndpointOptions::new(info.caps | rx_attr.caps, rx_attr.op_flags);
        let binding_source = BindingSource { domain, core: ptr::from_ref(core_ops), av_kind };
        // SAFETY: the slots belong to the open object.
        let this = object::allocate(|this| unsafe {
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
                owner: SrxOwner {
                    layout,
                    cq: ptr::null_mut(),
                    completions: ptr::null_mut(),
                    options,
                    srx: &raw mut (*this).srx,
                    pool: Pool::new(),
                    matching,
                    claims: Claims::default(),
                    untagged: UntaggedQueues::new(DEFAULT_MIN_MULTI_RECV),
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
                binding_source,
                is_enabled: false,
                receives: None,
                lock: lock.clone(),
                _rma: None,
                _atomic: None,
            })
        });
        let this = this.ok_or("there is no memory")?;
        // SAFETY: the object was just allocated.
        unsafe {
            let endpoint = &mut *this;
            endpoint.srx.owner_ops = &raw mut endpoint.srx_owner_ops;
            endpoint.srx.ep_fid.fid.ops = &raw mut endpoint.srx_fid_ops;
            endpoint.srx.ep_fid.ops = &raw mut endpoint.srx_ep_ops;
            if let Err(why) = endpoint.share_queue(domain, core_ops) {
                drop(Box::from_raw(this));
                return Err(why);
            }
            endpoint.fid_ops.install();
            endpoint.ep_ops.install();
            // No error can follow: a refused endpoint keeps its tables.
            endpoint._rma = lock::lock_table(&raw mut (*ep).rma, lock);
            endpoint._atomic = lock::lock_table(&raw mut (*ep).atomic, lock);
        }
        Ok(())
    }

    unsafe fn share_queue(&mut self, domain: *mut FidDomain, core_ops: &OpsDomain) -> Result<(), String> {
        let open = core_ops.srx_ctx.ok_or("the core provider has no shared receive queues")?;
        // SAFETY: zeros are attributes that request nothing.
        let mut attr: crate::abi::RxAttr = unsafe { std::mem::zeroed() };
        attr.op_flags = flags::PEER;
        let mut context = PeerSrxContext { size: size_of::<PeerSrxContext>(), srx: &raw mut self.srx };
        // SAFETY: a core function, with its own domain.
        let rc = unsafe { open(domain, &raw mut attr, &raw mut self.core_srx, (&raw mut context).cast()) };
        if rc != 0 {
            return Err(format!("the core provider refuses a peer's receive queue (error {})", -rc));
        }
        // SAFETY: the core provider has just opened the object.
        let close_core = |srx: *mut FidEp| unsafe {
            let close = (*(*srx).fid.ops).close.expect("every object can be closed");
            close(&raw mut (*srx).fid);
        };
        if self.srx.peer_ops.is_null() {
            // The core provider ignored the peer context and opened its own shared queue.
            close_core(self.core_srx);
            return Err("the core provider does not know peers' receive queues".to_owned());
        }
        // SAFETY: both objects are from the core provider.
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

    /// An enabled endpoint has tables that refuse receives, so this patch follows the enabling.
    fn replace_receives(&mut self) -> Result<(), c_int> {
        let this = (&raw mut self.owner).cast::<c_void>();
        // SAFETY: the slots belong to the open object.
        let patches = unsafe {
            let (tagged, msg) = (&raw mut (*self.ep).tagged, &raw mut (*self.ep).msg);
            Patch::new(tagged, this, &self.lock).zip(Patch::new(msg, this, &self.lock))
        };
        let (mut tagged, mut msg) = patches.ok_or(-errno::ENOMEM)?;
        calls::replace_tagged(tagged.table(), self.lock.is_some());
        calls::replace_untagged(msg.table(), self.lock.is_some());
        tagged.install();
        msg.install();
        self.receives = Some((tagged, msg));
        report::enabled(&mut self.report, &self.owner.matching);
        if !self.owner.cq.is_null() {
            // SAFETY: the endpoint is bound to the queue, and removes itself from the queue.
            unsafe { Queue::of(self.owner.cq) }.add_owner(&raw mut self.owner);
        }
        Ok(())
    }

    /// During the close, the core provider must find its own tables: they identify the owner of the queue.
    fn set_installed(&mut self, is_installed: bool) {
        if let Some((tagged, msg)) = &mut self.receives {
            tagged.set_installed(is_installed);
            msg.set_installed(is_installed);
        }
        self.ep_ops.set_installed(is_installed);
        self.fid_ops.set_installed(is_installed);
    }
}

unsafe fn enter<'a>(fid: *mut Fid) -> (Guard<'a>, &'a mut PeerEndpoint) {
    // SAFETY: called through the patched table. The data lives while the endpoint is open.
    unsafe { (lock::acquire((*fid).ops), data((*fid).ops)) }
}

unsafe extern "C" fn bind(fid: *mut Fid, to: *mut Fid, flags: u64) -> c_int {
    // SAFETY: the application's arguments obey libfabric's rules. A bound queue is a patched queue of the
    // domain, which stays open as long as the endpoint.
    unsafe {
        let (_guard, endpoint) = enter(fid);
        if (*to).class == CLASS_SRX_CTX {
            // The application's own shared queue is not supported.
            return -errno::EINVAL;
        }
        let rc = endpoint.fid_ops.core().bind.expect("every endpoint can be bound")(fid, to, flags);
        if rc == 0 && (*to).class == CLASS_CQ && flags & flags::RECV != 0 {
            endpoint.owner.cq = to.cast::<FidCq>();
            endpoint.owner.completions = Queue::completion_list(endpoint.owner.cq);
            endpoint.owner.options.is_selective = flags & flags::SELECTIVE_COMPLETION != 0;
        }
        rc
    }
}

unsafe extern "C" fn control(fid: *mut Fid, command: c_int, argument: *mut c_void) -> c_int {
    // SAFETY: the application's arguments obey libfabric's rules.
    unsafe {
        let (_guard, endpoint) = enter(fid);
        let control = endpoint.fid_ops.core().control.expect("every endpoint can be enabled");
        let rc = control(fid, command, argument);
        if command != ENABLE || rc != 0 || endpoint.receives.is_some() {
            return rc;
        }
        endpoint.is_enabled = true;
        endpoint.replace_receives().map_or_else(|rc| rc, |()| rc)
    }
}

unsafe extern "C" fn close(fid: *mut Fid) -> c_int {
    // SAFETY: the application's arguments obey libfabric's rules. A pointer, because the core provider calls
    // back during the close.
    let (lock, this): (_, *mut PeerEndpoint) = unsafe { (shared_lock((*fid).ops), data((*fid).ops)) };
    let _guard = lock.as_ref().map(|lock| lock.lock());
    // SAFETY: the data lives until the end of this function. Borrows end before the core provider is called.
    unsafe {
        let temporary = match (*this).is_enabled {
            true => None,
            false => match (*this).binding_source.enable(fid, &(*this).fid_ops) {
                Ok(temporary) => Some(temporary),
                Err(rc) => return rc,
            },
        };
        report::closed(&(*this).report, &(*this).owner.matching);
        for entry in (*this).owner.remaining_messages() {
            if (*entry).state == State::Unexpected && (*entry).is_tagged {
                (*this).owner.matching.retract(entry as u64, &ByAddress);
            }
            SrxOwner::perform(&raw mut (*this).owner, CoreAction::Discard(entry));
        }
        (*this).set_installed(false);
        let rc = (*this).fid_ops.core().close.expect("every object can be closed")(fid);
        if rc != 0 {
            // The endpoint keeps its temporary bindings.
            (*this).is_enabled = true;
            (*this).set_installed(true);
            return rc;
        }
        if !(*this).owner.cq.is_null() {
            Queue::of((*this).owner.cq).remove_owner(&raw mut (*this).owner);
        }
        let srx = (*this).core_srx;
        if let Some(close) = (*(*srx).fid.ops).close {
            close(&raw mut (*srx).fid);
        }
        if let Some(temporary) = temporary {
            temporary.close();
        }
        drop(Box::from_raw(this));
        rc
    }
}

unsafe extern "C" fn cancel(fid: *mut Fid, context: *mut c_void) -> isize {
    // SAFETY: the application passes an endpoint.
    let (_guard, endpoint) = unsafe { enter(fid) };
    endpoint.owner.cancel(context)
}

unsafe extern "C" fn getopt(
    fid: *mut Fid,
    level: c_int,
    option: c_int,
    value: *mut c_void,
    len: *mut usize,
) -> c_int {
    // SAFETY: the application passes an endpoint, and a buffer for the value.
    unsafe {
        let (_guard, endpoint) = enter(fid);
        if (level, option) == (OPT_ENDPOINT, OPT_MIN_MULTI_RECV) {
            return srx::get_min_multi_recv(&endpoint.owner, value, len);
        }
        endpoint.ep_ops.core().getopt.map_or(-errno::ENOSYS, |get| get(fid, level, option, value, len))
    }
}

unsafe extern "C" fn setopt(
    fid: *mut Fid,
    level: c_int,
    option: c_int,
    value: *const c_void,
    len: usize,
) -> c_int {
    // SAFETY: the application passes an endpoint, and a value of `len` bytes.
    unsafe {
        let (_guard, endpoint) = enter(fid);
        if (level, option) != (OPT_ENDPOINT, OPT_MIN_MULTI_RECV) {
            let set = endpoint.ep_ops.core().setopt;
            return set.map_or(-errno::ENOSYS, |set| set(fid, level, option, value, len));
        }
        if len != size_of::<usize>() {
            return -errno::EINVAL;
        }
        endpoint.owner.untagged.min_multi_recv = *value.cast();
        errno::SUCCESS
    }
}
