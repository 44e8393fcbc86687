//! Closing an endpoint that was never enabled.
//!
//! When a core provider (shm, ofi_rxm) enables an endpoint, it records that the receive queue has another
//! owner. Without this record, the core provider would close the queue as its own. An endpoint is therefore
//! enabled before the close, with temporary objects for missing bindings, because a binding cannot be undone.

use std::ffi::c_int;
use std::mem::zeroed;
use std::ptr;

use crate::abi::{
    AV_MAP, AvAttr, CQ_FORMAT_TAGGED, CqAttr, ENABLE, Fid, FidAv, FidCq, FidDomain, Ops, OpsDomain, errno,
    flags,
};
use crate::patch::Patch;

pub struct BindingSource {
    pub domain: *mut FidDomain,
    pub core: *const OpsDomain,
    pub av_kind: c_int,
}

/// Objects closed after the endpoint.
pub struct TemporaryBindings {
    cq: *mut FidCq,
    av: *mut FidAv,
}

impl BindingSource {
    /// Enables an endpoint. After an error of the core provider, the endpoint must not be closed.
    ///
    /// # Safety
    /// `ops` is the patch of `ep`, an open endpoint of the domain.
    pub unsafe fn enable(&self, ep: *mut Fid, ops: &Patch<Ops>) -> Result<TemporaryBindings, c_int> {
        let mut bindings = TemporaryBindings { cq: ptr::null_mut(), av: ptr::null_mut() };
        // SAFETY: functions of the core provider, on its objects. Zeroed attributes request nothing.
        let rc = unsafe {
            let core = &*self.core;
            let mut attr: CqAttr = zeroed();
            attr.format = CQ_FORMAT_TAGGED;
            let open = core.cq_open.expect("every domain has queues");
            open(self.domain, &raw mut attr, &raw mut bindings.cq, ptr::null_mut());
            let mut attr: AvAttr = zeroed();
            attr.kind = self.av_kind.max(AV_MAP);
            let open = core.av_open.expect("every domain has address vectors");
            open(self.domain, &raw mut attr, &raw mut bindings.av, ptr::null_mut());
            let bind = ops.core().bind.expect("every endpoint can be bound");
            let (cq, av) = (bindings.cq.cast::<Fid>(), bindings.av.cast::<Fid>());
            for (object, flags) in [(cq, flags::RECV), (cq, flags::SEND), (av, 0)] {
                if !object.is_null() {
                    // An endpoint refuses a second binding.
                    bind(ep, object, flags);
                }
            }
            ops.core().control.expect("every endpoint can be enabled")(ep, ENABLE, ptr::null_mut())
        };
        if rc == errno::SUCCESS { Ok(bindings) } else { Err(rc) }
    }
}

impl TemporaryBindings {
    /// # Safety
    /// The endpoint is closed.
    pub unsafe fn close(self) {
        for object in [self.cq.cast::<Fid>(), self.av.cast::<Fid>()] {
            // SAFETY: an object of the core provider without users.
            unsafe {
                if !object.is_null() {
                    (*(*object).ops).close.expect("every object can be closed")(object);
                }
            }
        }
    }
}
