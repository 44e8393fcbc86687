//! An endpoint that is closed and was never enabled.
//!
//! A core knows by the tables that it puts into an endpoint when it enables it that the receive queue is not its own.
//! Before, it would close the queue as one of its own (shm, ofi_rxm), and there is no way to take it back: so such an
//! endpoint is enabled, with what it was not bound to yet.

use std::ffi::c_int;
use std::mem::zeroed;
use std::ptr;

use crate::abi::{
    AV_MAP, AvAttr, CQ_FORMAT_TAGGED, CqAttr, ENABLE, Fid, FidAv, FidCq, FidDomain, Ops, OpsDomain, errno,
    flags,
};
use crate::patch::Patch;

/// Where an endpoint gets what it lacks.
pub struct Supplies {
    /// The core's domain, and its own table of it.
    pub domain: *mut FidDomain,
    /// As above.
    pub core: *const OpsDomain,
    /// What kind of address vectors it has.
    pub av_kind: c_int,
}

/// What an endpoint was given; to be closed after it.
pub struct Supplied {
    cq: *mut FidCq,
    av: *mut FidAv,
}

impl Supplies {
    /// Enables an endpoint that was not. `Err`: what the core says; the endpoint must not be closed.
    ///
    /// # Safety
    /// `ops` are those of `ep`, an endpoint of the domain, which is open.
    pub unsafe fn enable(&self, ep: *mut Fid, ops: &Patch<Ops>) -> Result<Supplied, c_int> {
        let mut given = Supplied { cq: ptr::null_mut(), av: ptr::null_mut() };
        // SAFETY: the core's functions, on its objects; zeros are attributes that ask for nothing.
        let rc = unsafe {
            let core = &*self.core;
            let mut attr: CqAttr = zeroed();
            attr.format = CQ_FORMAT_TAGGED;
            let open = core.cq_open.expect("every domain has queues");
            open(self.domain, &raw mut attr, &raw mut given.cq, ptr::null_mut());
            let mut attr: AvAttr = zeroed();
            attr.kind = self.av_kind.max(AV_MAP);
            let open = core.av_open.expect("every domain has address vectors");
            open(self.domain, &raw mut attr, &raw mut given.av, ptr::null_mut());
            let bind = ops.core().bind.expect("every endpoint can be bound");
            let (cq, av) = (given.cq.cast::<Fid>(), given.av.cast::<Fid>());
            for (object, flags) in [(cq, flags::RECV), (cq, flags::SEND), (av, 0)] {
                if !object.is_null() {
                    // What it has already it refuses.
                    bind(ep, object, flags);
                }
            }
            ops.core().control.expect("every endpoint can be enabled")(ep, ENABLE, ptr::null_mut())
        };
        if rc == errno::SUCCESS { Ok(given) } else { Err(rc) }
    }
}

impl Supplied {
    /// Closes it.
    ///
    /// # Safety
    /// The endpoint is closed.
    pub unsafe fn close(self) {
        for object in [self.cq.cast::<Fid>(), self.av.cast::<Fid>()] {
            // SAFETY: an object of the core's that nobody uses any more.
            unsafe {
                if !object.is_null() {
                    (*(*object).ops).close.expect("every object can be closed")(object);
                }
            }
        }
    }
}
