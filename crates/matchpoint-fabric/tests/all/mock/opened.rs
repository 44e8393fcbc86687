//! Endpoints opened through the provider.

use std::mem::zeroed;
use std::ptr;

use matchpoint_fabric::abi::*;

use super::{Ep, world};

#[derive(Clone, Copy)]
pub struct Opened {
    pub ep: *mut FidEp,
    pub cq: *mut FidCq,
    pub last_cq: *mut FidCq,
    pub av: *mut FidAv,
}

impl Opened {
    pub fn number(&self) -> u64 {
        // SAFETY: an object of the simulated core provider.
        unsafe { (*self.ep.cast::<Ep>()).at as u64 }
    }

    pub fn insert(&self, of: &Opened) -> Addr {
        let (address, mut addr) = (of.number(), ADDR_UNSPEC);
        // SAFETY: an open address vector, and a valid address.
        let rc = unsafe {
            let insert = (*(*self.av).ops).insert.expect("it takes addresses");
            insert(self.av, (&raw const address).cast(), 1, &raw mut addr, 0, ptr::null_mut())
        };
        assert_eq!(rc, 1);
        addr
    }

    pub fn remove(&self, mut addr: Addr) {
        // SAFETY: an open address vector.
        let rc = unsafe { (*(*self.av).ops).remove.expect("it gives back")(self.av, &raw mut addr, 1, 0) };
        assert_eq!(rc, 0);
    }
}

/// One completion queue for sends and receives.
pub const BOTH: &[u64] = &[flags::SEND | flags::RECV];

pub fn checked(rc: i32) {
    assert_eq!(rc, 0, "an object can be opened");
}

/// # Safety
/// Calls are as libfabric and applications make them.
pub unsafe fn open_domain() -> (*mut Info, *mut FidDomain) {
    // SAFETY: zeros are hints that request nothing. The tables exist.
    unsafe {
        let provider = &*matchpoint_fabric::fi_prov_ini();
        let (mut tx, mut rx, mut ep_attr): (TxAttr, RxAttr, EpAttr) = zeroed();
        let (mut domain_attr, mut fabric_attr): (DomainAttr, FabricAttr) = zeroed();
        domain_attr.threading = world().threading;
        let mut hints: Info = zeroed();
        hints.caps = world().caps;
        (hints.tx_attr, hints.rx_attr) = (&raw mut tx, &raw mut rx);
        (hints.ep_attr, hints.domain_attr) = (&raw mut ep_attr, &raw mut domain_attr);
        hints.fabric_attr = &raw mut fabric_attr;
        let mut info = ptr::null_mut();
        let getinfo = provider.getinfo.expect("a provider has it");
        checked(getinfo(version(2, 0), ptr::null(), ptr::null(), 0, &raw const hints, &raw mut info));
        let mut fabric = ptr::null_mut();
        let open = provider.fabric.expect("a provider has it");
        checked(open((*info).fabric_attr, &raw mut fabric, ptr::null_mut()));
        let mut domain = ptr::null_mut();
        let open = (*(*fabric).ops).domain.expect("there are domains");
        checked(open(fabric, info, &raw mut domain, ptr::null_mut()));
        (info, domain)
    }
}

/// Opens an endpoint without bindings.
///
/// # Safety
/// Both arguments are from [`open_domain`].
pub unsafe fn open_endpoint(info: *mut Info, domain: *mut FidDomain) -> *mut FidEp {
    let mut ep = ptr::null_mut();
    // SAFETY: guaranteed by the caller.
    unsafe {
        let open = (*(*domain).ops).endpoint.expect("there are endpoints");
        checked(open(domain, info, &raw mut ep, ptr::null_mut()));
    }
    ep
}

/// # Safety
/// The object is open and has no users.
pub unsafe fn close(fid: *mut Fid) {
    // SAFETY: guaranteed by the caller.
    unsafe { checked((*(*fid).ops).close.expect("every object can be closed")(fid)) };
}

/// Opens and enables endpoints, each with one completion queue per element of `directions`.
///
/// # Safety
/// Calls are as libfabric and applications make them.
pub unsafe fn open(endpoints: usize, format: i32, directions: &[u64]) -> Vec<Opened> {
    let mut all = Vec::new();
    // SAFETY: guaranteed by the caller. Zeros are attributes that request nothing. The tables exist.
    unsafe {
        let (info, domain) = open_domain();
        for _ in 0..endpoints {
            let mut queues = Vec::new();
            for _ in directions {
                let mut attr: CqAttr = zeroed();
                attr.format = format;
                let mut cq = ptr::null_mut();
                let open = (*(*domain).ops).cq_open.expect("there are queues");
                checked(open(domain, &raw mut attr, &raw mut cq, ptr::null_mut()));
                queues.push(cq);
            }
            let ep = open_endpoint(info, domain);
            let bind = (*(*ep).fid.ops).bind.expect("an endpoint can be bound");
            for (&cq, &directions) in queues.iter().zip(directions) {
                checked(bind(&raw mut (*ep).fid, &raw mut (*cq).fid, directions));
            }
            let mut attr: AvAttr = zeroed();
            let mut av = ptr::null_mut();
            let open = (*(*domain).ops).av_open.expect("there are address vectors");
            checked(open(domain, &raw mut attr, &raw mut av, ptr::null_mut()));
            checked(bind(&raw mut (*ep).fid, &raw mut (*av).fid, 0));
            all.push(Opened { ep, cq: queues[0], last_cq: queues[queues.len() - 1], av });
        }
        for endpoint in &all {
            let fid = &raw mut (*endpoint.ep).fid;
            let control = (*(*fid).ops).control.expect("an endpoint can be enabled");
            checked(control(fid, ENABLE, ptr::null_mut()));
        }
    }
    all
}
