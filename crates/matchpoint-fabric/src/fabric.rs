//! Fabrics and domains of the core provider, with patched functions that open objects.

use std::ffi::{CString, c_int, c_void};

use crate::abi::peer::Layout;
use crate::abi::{
    AvAttr, CLASS_CQ, CQ_FORMAT_TAGGED, CqAttr, Fid, FidAv, FidCntr, FidCq, FidDomain, FidEp, FidFabric,
    Info, Ops, OpsDomain, OpsFabric, OpsMr, THREAD_DOMAIN, errno, flags,
};
use crate::library::{OwnedInfo, call_core, is_single_host, library};
use crate::matching::Matching;
use crate::object::{self, Object};
use crate::patch::{Lock, Patch, data};
use crate::queue::Queue;
use crate::{lock, locked, peer, report};

pub struct Fabric {
    core: CString,
    ops: Patch<OpsFabric>,
    fid_ops: Patch<Ops>,
}

impl Fabric {
    /// Patches a new fabric of the core provider. Returns `None` if an allocation fails.
    ///
    /// # Safety
    /// `fid` is a fabric of the provider `core`.
    pub unsafe fn attach(fid: *mut FidFabric, core: CString) -> Option<()> {
        // SAFETY: the slots belong to the open object.
        let this = object::allocate(|this| unsafe {
            let mut ops = Patch::new(&raw mut (*fid).ops, this, &None)?;
            let mut fid_ops = Patch::new(&raw mut (*fid).fid.ops, this, &None)?;
            ops.table().domain = Some(open_domain);
            ops.table().domain2 = None;
            ops.table().trywait = ops.table().trywait.and(Some(try_wait));
            fid_ops.table().close = Some(object::close::<Fabric>);
            Some(Fabric { core, ops, fid_ops })
        })?;
        // SAFETY: the object was just allocated.
        unsafe { (*this).set_installed(true) };
        Some(())
    }
}

impl Object for Fabric {
    fn fid_ops(&self) -> &Patch<Ops> {
        &self.fid_ops
    }

    fn set_installed(&mut self, is_installed: bool) {
        self.ops.set_installed(is_installed);
        self.fid_ops.set_installed(is_installed);
    }
}

struct Domain {
    core: CString,
    lock: Lock,
    ops: Patch<OpsDomain>,
    fid_ops: Patch<Ops>,
    _mr: Option<Patch<OpsMr>>,
}

impl Object for Domain {
    fn fid_ops(&self) -> &Patch<Ops> {
        &self.fid_ops
    }

    fn set_installed(&mut self, is_installed: bool) {
        self.ops.set_installed(is_installed);
        self.fid_ops.set_installed(is_installed);
    }
}

unsafe fn info_for_core(info: *const Info, core: &std::ffi::CStr) -> Option<OwnedInfo> {
    // SAFETY: the application passes a complete `fi_info`.
    let mut copy = unsafe { library().dupinfo(info) }?;
    copy.set_provider(core);
    // SAFETY: `fi_dupinfo` returns a complete copy.
    unsafe {
        let info = &mut *copy.0;
        if is_single_host(core) {
            info.clear_caps(flags::REMOTE_COMM);
        }
        // Replies must go to the source of a message, so the source may not be a number of the application.
        info.clear_caps(flags::AV_USER_ID);
        // Matching needs the source of every message.
        info.caps |= flags::SOURCE;
        (*info.rx_attr).caps |= flags::SOURCE;
        // The lock of the domain serializes all calls.
        (*info.domain_attr).threading = THREAD_DOMAIN;
    }
    Some(copy)
}

unsafe extern "C" fn open_domain(
    fabric: *mut FidFabric,
    info: *mut Info,
    to: *mut *mut FidDomain,
    context: *mut c_void,
) -> c_int {
    // SAFETY: called through the patched table.
    let this = unsafe { data::<Fabric, _>((*fabric).ops) };
    // SAFETY: the application passes a complete `fi_info`.
    let Some(below) = (unsafe { info_for_core(info, &this.core) }) else { return -errno::ENOMEM };
    let open = this.ops.core().domain.expect("every fabric has domains");
    // SAFETY: a core function, with its own fabric.
    let rc = call_core(|| unsafe { open(fabric, below.0, to, context) });
    if rc != 0 {
        return rc;
    }
    // SAFETY: the application passes a complete `fi_info`.
    let threading = unsafe { (*(*info).domain_attr).threading };
    let lock = if threading == THREAD_DOMAIN { None } else { lock::new() };
    // SAFETY: the domain was just opened.
    unsafe { object::finish_open(&raw mut (**to).fid, attach_domain(*to, this.core.clone(), lock)) }
}

/// `fi_trywait`: a completion of this provider does not wake a waiting thread.
unsafe extern "C" fn try_wait(fabric: *mut FidFabric, fids: *mut *mut Fid, count: c_int) -> c_int {
    // SAFETY: called through the patched table. All queues in `fids` are from domains of this fabric.
    unsafe {
        let this = data::<Fabric, _>((*fabric).ops);
        for at in 0..usize::try_from(count).unwrap_or(0) {
            let fid = *fids.add(at);
            if (*fid).class == CLASS_CQ && !Queue::can_sleep(fid.cast()) {
                return -errno::EAGAIN;
            }
        }
        this.ops.core().trywait.expect("only what is there is exchanged")(fabric, fids, count)
    }
}

unsafe fn attach_domain(fid: *mut FidDomain, core: CString, lock: Lock) -> Option<()> {
    // SAFETY: the slots belong to the open object.
    let this = object::allocate(|this| unsafe {
        let mut ops = Patch::new(&raw mut (*fid).ops, this, &lock)?;
        let mut fid_ops = Patch::new(&raw mut (*fid).fid.ops, this, &lock)?;
        let table = ops.table();
        table.cq_open = Some(open_cq);
        table.endpoint = Some(open_endpoint);
        table.endpoint2 = None;
        if lock.is_some() {
            table.av_open = table.av_open.and(Some(open_av));
            table.cntr_open = table.cntr_open.and(Some(open_cntr));
        }
        fid_ops.table().close = Some(object::close::<Domain>);
        let _mr = lock::lock_table(&raw mut (*fid).mr, &lock);
        Some(Domain { core, lock, ops, fid_ops, _mr })
    })?;
    // SAFETY: the object was just allocated.
    unsafe { (*this).set_installed(true) };
    Some(())
}

unsafe extern "C" fn open_cq(
    domain: *mut FidDomain,
    attr: *mut CqAttr,
    to: *mut *mut FidCq,
    context: *mut c_void,
) -> c_int {
    // SAFETY: called through the patched table.
    let (_guard, this) = unsafe { (lock::acquire((*domain).ops), data::<Domain, _>((*domain).ops)) };
    // SAFETY: a core function, with the application's arguments and another format; then a queue that was
    // just opened.
    unsafe {
        let mut below = *attr;
        below.format = CQ_FORMAT_TAGGED;
        let rc =
            this.ops.core().cq_open.expect("every domain has queues")(domain, &raw mut below, to, context);
        if rc != 0 {
            return rc;
        }
        // Reports the wait object that the core provider chose.
        (*attr).wait_obj = below.wait_obj;
        object::finish_open(&raw mut (**to).fid, Queue::attach(*to, (*attr).format, &this.lock))
    }
}

unsafe extern "C" fn open_av(
    domain: *mut FidDomain,
    attr: *mut AvAttr,
    to: *mut *mut FidAv,
    context: *mut c_void,
) -> c_int {
    // SAFETY: called through the patched table; a core function, with the same arguments.
    unsafe {
        let (_guard, this) = (lock::acquire((*domain).ops), data::<Domain, _>((*domain).ops));
        match this.ops.core().av_open.expect("only what is there is made to wait")(domain, attr, to, context)
        {
            0 => object::finish_open(&raw mut (**to).fid, locked::lock_address_vector(*to, &this.lock)),
            rc => rc,
        }
    }
}

unsafe extern "C" fn open_cntr(
    domain: *mut FidDomain,
    attr: *mut c_void,
    to: *mut *mut FidCntr,
    context: *mut c_void,
) -> c_int {
    // SAFETY: called through the patched table; a core function, with the same arguments.
    unsafe {
        let (_guard, this) = (lock::acquire((*domain).ops), data::<Domain, _>((*domain).ops));
        match this.ops.core().cntr_open.expect("only what is there is made to wait")(
            domain, attr, to, context,
        ) {
            0 => object::finish_open(&raw mut (**to).fid, locked::lock_counter(*to, &this.lock)),
            rc => rc,
        }
    }
}

unsafe extern "C" fn open_endpoint(
    domain: *mut FidDomain,
    info: *mut Info,
    to: *mut *mut FidEp,
    context: *mut c_void,
) -> c_int {
    // SAFETY: called through the patched table.
    let (_guard, this) = unsafe { (lock::acquire((*domain).ops), data::<Domain, _>((*domain).ops)) };
    // SAFETY: the application passes a complete `fi_info`.
    let Some(below) = (unsafe { info_for_core(info, &this.core) }) else { return -errno::ENOMEM };
    let open = this.ops.core().endpoint.expect("every domain has endpoints");
    // SAFETY: a core function, with its own domain.
    let rc = call_core(|| unsafe { open(domain, below.0, to, context) });
    if rc != 0 {
        return rc;
    }
    // SAFETY: the endpoint was just opened, and the application's `fi_info`.
    if let Err(why) = unsafe { attach_engine(this, domain, *to, &*info) } {
        report::unmatched(&why);
        if this.lock.is_some() {
            // SAFETY: the endpoint was just opened, with the core provider's tables.
            return unsafe {
                object::finish_open(&raw mut (**to).fid, locked::lock_endpoint(*to, &this.lock))
            };
        }
    }
    errno::SUCCESS
}

/// Lets an engine match the messages of an endpoint. After an error, the core provider matches the messages,
/// and the endpoint is unchanged.
unsafe fn attach_engine(
    this: &Domain,
    domain: *mut FidDomain,
    ep: *mut FidEp,
    info: &Info,
) -> Result<(), String> {
    let version = library().version;
    let layout = Layout::of(version).ok_or_else(|| {
        format!(
            "libfabric {}.{} has no peer receive queues (1.19 and later do)",
            version >> 16,
            version & 0xFFFF
        )
    })?;
    let matching =
        Matching::new(&matchpoint_process::settings().engine).map_err(|wrong| wrong.to_string())?;
    // SAFETY: objects of the core provider, and the application's `fi_info`.
    unsafe { peer::PeerEndpoint::open(domain, this.ops.core(), ep, info, matching, layout, &this.lock) }
}
