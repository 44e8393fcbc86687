//! The endpoint that long messages are asked for and sent through.

use std::collections::HashMap;
use std::ffi::{c_int, c_void};
use std::ptr;

use crate::abi::{AV_MAP, Addr, AvAttr, CLASS_AV, ENABLE, Fid, FidAv, FidEp, flags};
use crate::address_vector::{Address, LONGEST, look_up};
use crate::layered::FrontEnd;
use crate::provider::into_core;

/// Buffers that wait for requests.
pub const REQUESTS: usize = 64;

/// `FI_SOCKADDR_IN`, `FI_SOCKADDR_IN6`
const SOCKET_ADDRESSES: [u32; 2] = [2, 3];

/// The endpoint and whom it knows.
pub struct Private {
    /// The endpoint.
    pub ep: *mut FidEp,
    /// Its address, which is told with every announcement and request.
    pub address: Address,
    av: *mut FidAv,
    known: HashMap<Address, Addr>,
}

unsafe fn close(fid: *mut Fid) {
    // SAFETY: the caller's: an object of the core's.
    unsafe { (*(*fid).ops).close.expect("every object can be closed")(fid) };
}

/// An endpoint's address. `Err`: what the core says.
///
/// # Safety
/// The endpoint is the core's, and enabled.
pub unsafe fn name_of(ep: *mut FidEp) -> Result<Address, c_int> {
    let mut address = vec![0; LONGEST];
    let mut length = LONGEST;
    // SAFETY: the core's function, with the room that it is told.
    let rc = unsafe {
        let name = (*(*ep).cm).getname.expect("every endpoint has a name");
        name(&raw mut (*ep).fid, address.as_mut_ptr().cast(), &raw mut length)
    };
    address.truncate(length);
    if rc == 0 { Ok(Address(address)) } else { Err(rc) }
}

impl Private {
    /// Opens one beside the endpoint of `front`, which completes in the same queue.
    ///
    /// # Safety
    /// The endpoint of `front` is enabled, and bound to queues.
    pub unsafe fn open(front: &FrontEnd) -> Result<Self, String> {
        let failed = |what: &str, rc: c_int| format!("the core provider refuses {what} (error {})", -rc);
        // SAFETY: the front end's info is complete, and its own; the objects are the core's.
        unsafe {
            let info = &mut *front.info.0;
            if SOCKET_ADDRESSES.contains(&info.addr_format) && !info.src_addr.is_null() {
                // The same interface, another port.
                (*info.src_addr.cast::<libc::sockaddr_in>()).sin_port = 0;
            }
            let domain = front.domain;
            let (mut ep, mut av) = (ptr::null_mut(), ptr::null_mut());
            let open = (*front.core_domain).endpoint.expect("it has opened one");
            let rc = into_core(|| open(domain, info, &raw mut ep, ptr::null_mut()));
            if rc != 0 {
                return Err(failed("a second endpoint", rc));
            }
            let mut attr: AvAttr = std::mem::zeroed();
            // A domain has one kind.
            attr.kind = (*info.domain_attr).av_type.max(AV_MAP);
            let open = (*front.core_domain).av_open.expect("every domain has address vectors");
            let rc = open(domain, &raw mut attr, &raw mut av, ptr::null_mut());
            if rc != 0 {
                close(&raw mut (*ep).fid);
                return Err(failed("a second address vector", rc));
            }
            debug_assert_eq!((*av).fid.class, CLASS_AV);
            let mut private = Private { ep, address: Address(Vec::new()), av, known: HashMap::new() };
            if let Err((what, rc)) = private.prepare(front) {
                private.close();
                return Err(failed(what, rc));
            }
            Ok(private)
        }
    }

    unsafe fn prepare(&mut self, front: &FrontEnd) -> Result<(), (&'static str, c_int)> {
        let checked = |what, rc| if rc == 0 { Ok(()) } else { Err((what, rc)) };
        // SAFETY: objects of the core's that are open.
        unsafe {
            let fid = &raw mut (*self.ep).fid;
            let bind = (*(*fid).ops).bind.expect("every endpoint can be bound");
            checked("the second address vector", bind(fid, &raw mut (*self.av).fid, 0))?;
            let both = flags::RECV | flags::SEND;
            checked("a second endpoint on the queue", bind(fid, &raw mut (*front.rx_cq).fid, both))?;
            let control = (*(*fid).ops).control.expect("every endpoint can be enabled");
            checked("to enable a second endpoint", control(fid, ENABLE, ptr::null_mut()))?;
            self.address = name_of(self.ep).map_err(|rc| ("to name the second endpoint", rc))?;
        }
        Ok(())
    }

    /// The peer with that address. `None`: the core does not understand it.
    ///
    /// # Safety
    /// The endpoint is open.
    pub unsafe fn peer(&mut self, address: &[u8]) -> Option<Addr> {
        if let Some(&addr) = self.known.get(address) {
            return Some(addr);
        }
        let mut addr = 0;
        // SAFETY: the address vector is open, and the address is as long as it says it is.
        let inserted = unsafe {
            let insert = (*(*self.av).ops).insert.expect("every address vector takes addresses");
            insert(self.av, address.as_ptr().cast::<c_void>(), 1, &raw mut addr, 0, ptr::null_mut())
        };
        (inserted == 1).then(|| {
            self.known.insert(Address(address.to_vec()), addr);
            addr
        })
    }

    /// A peer's address.
    ///
    /// # Safety
    /// The endpoint is open.
    pub unsafe fn address_of(&self, addr: Addr) -> Option<Address> {
        // SAFETY: the caller's.
        unsafe { look_up(self.av, &*(*self.av).ops, addr) }
    }

    /// An address as address vectors give it back, which may be another than the endpoint says (shm leaves out a prefix).
    ///
    /// # Safety
    /// The endpoint is open.
    pub unsafe fn as_kept(&mut self, address: Address) -> Address {
        // SAFETY: the caller's.
        let kept = unsafe { self.peer(&address.0).and_then(|addr| self.address_of(addr)) };
        kept.unwrap_or(address)
    }

    /// Closes it.
    ///
    /// # Safety
    /// It is open; nothing is sent or received through it any more.
    pub unsafe fn close(self) {
        // SAFETY: the caller's; the endpoint before what it is bound to.
        unsafe {
            close(&raw mut (*self.ep).fid);
            close(&raw mut (*self.av).fid);
        }
    }
}
