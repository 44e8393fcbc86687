//! An address vector: the core's, of which we know what is in it. A message may come from a peer that the application
//! has not told its core of yet; when it does, whoever waits for that is told.

use std::borrow::Borrow;
use std::collections::{BTreeSet, HashMap};
use std::ffi::{c_char, c_int, c_void};

use crate::abi::{ADDR_UNSPEC, Addr, FidAv, Ops, OpsAv};
use crate::held;
use crate::layered::FrontEnd;
use crate::lock::{self, Lock, Lockable};
use crate::object::{self, Object};
use crate::patch::{Patch, owner};

/// The longest address of an endpoint, in bytes.
pub const LONGEST: usize = 256;

/// An endpoint's address, as the core names it.
#[derive(Clone, PartialEq, Eq, Hash, Default)]
pub struct Address(pub Vec<u8>);

impl Borrow<[u8]> for Address {
    fn borrow(&self) -> &[u8] {
        &self.0
    }
}

/// One of the core's, with what was put into it.
pub struct AddressVector {
    fid: *mut FidAv,
    /// Those that nobody has asked after yet: to look all up would be work in every job, and few ever ask.
    unread: BTreeSet<Addr>,
    /// The others, both ways.
    read: HashMap<Address, Addr>,
    names: HashMap<Addr, Address>,
    /// Endpoints that are bound to it.
    front_ends: Vec<*mut FrontEnd>,
    ops: Patch<OpsAv>,
    fid_ops: Patch<Ops>,
}

impl Object for AddressVector {
    fn fid_ops(&self) -> &Patch<Ops> {
        &self.fid_ops
    }

    fn put(&mut self, are_ours: bool) {
        self.ops.put(are_ours);
        self.fid_ops.put(are_ours);
    }
}

impl AddressVector {
    /// Puts ours before one that the core has just opened. `None`: no memory.
    ///
    /// # Safety
    /// It has, in a domain with this lock; `is_at_once`: without `FI_EVENT`, so that what is inserted is known at once.
    pub unsafe fn attach(fid: *mut FidAv, is_at_once: bool, lock: &Lock) -> Option<()> {
        // SAFETY: the slots are the object's.
        let this = object::place(|this| unsafe {
            let mut ops = Patch::new(&raw mut (*fid).ops, this, lock)?;
            let mut fid_ops = Patch::new(&raw mut (*fid).fid.ops, this, lock)?;
            if lock.is_some() {
                ops.table().wait_for_lock();
                held::make_wait(fid_ops.table());
            }
            let table = ops.table();
            if is_at_once {
                table.insert = Some(insert);
                table.insertsvc = table.insertsvc.and(Some(insert_service));
                table.insertsym = table.insertsym.and(Some(insert_range));
            }
            table.remove = table.remove.and(Some(remove));
            fid_ops.table().close = Some(object::close::<AddressVector>);
            Some(AddressVector {
                fid,
                unread: BTreeSet::new(),
                read: HashMap::new(),
                names: HashMap::new(),
                front_ends: Vec::new(),
                ops,
                fid_ops,
            })
        })?;
        // SAFETY: just made.
        unsafe { (*this).put(true) };
        Some(())
    }

    /// What was put before this one.
    ///
    /// # Safety
    /// It was, and nobody else refers to it meanwhile.
    pub unsafe fn of<'a>(fid: *mut FidAv) -> &'a mut AddressVector {
        // SAFETY: the caller's.
        unsafe { owner((*fid).ops) }
    }

    /// This endpoint is bound to it.
    pub fn add_front_end(&mut self, front: *mut FrontEnd) {
        self.front_ends.push(front);
    }

    /// Not any more.
    pub fn remove_front_end(&mut self, front: *mut FrontEnd) {
        self.front_ends.retain(|&other| other != front);
    }

    /// A peer's address, as the core gives it back.
    pub fn address_of(&self, addr: Addr) -> Option<Address> {
        // SAFETY: the core's function, on its object.
        self.names.get(&addr).cloned().or_else(|| unsafe { look_up(self.fid, self.ops.core(), addr) })
    }

    /// The peer with that address; [`ADDR_UNSPEC`]: the application has not named it.
    pub fn find(&mut self, address: &[u8]) -> Addr {
        for addr in std::mem::take(&mut self.unread) {
            // SAFETY: the core's functions, on its object.
            if let Some(address) = unsafe { look_up(self.fid, self.ops.core(), addr) } {
                self.names.insert(addr, address.clone());
                self.read.insert(address, addr);
            }
        }
        self.read.get(address).copied().unwrap_or(ADDR_UNSPEC)
    }

    /// The core has taken `count` addresses; they are these.
    unsafe fn inserted(&mut self, addrs: *const Addr, count: usize) {
        // SAFETY: the caller's.
        let addrs = unsafe { std::slice::from_raw_parts(addrs, count) };
        self.unread.extend(addrs.iter().copied().filter(|&addr| addr != ADDR_UNSPEC));
        for front in self.front_ends.clone() {
            // SAFETY: a front end takes itself off before it goes.
            unsafe { (*front).peers_are_known(self) };
        }
    }

    fn removed(&mut self, addrs: &[Addr]) {
        for &addr in addrs {
            self.unread.remove(&addr);
            if let Some(name) = self.names.remove(&addr) {
                self.read.remove(&name);
            }
            for &front in &self.front_ends {
                // SAFETY: as above.
                unsafe { (*front).forget_peer(addr) };
            }
        }
    }
}

/// The address that was put into a vector of the core's as `addr`. `None`: the core does not say.
///
/// # Safety
/// The vector is open, and `core` its own table.
pub unsafe fn look_up(av: *mut FidAv, core: &OpsAv, addr: Addr) -> Option<Address> {
    let mut address = vec![0; LONGEST];
    let mut length = LONGEST;
    // SAFETY: the caller's, with the room that the core is told.
    let rc = unsafe { core.lookup?(av, addr, address.as_mut_ptr().cast(), &raw mut length) };
    address.truncate(length);
    (rc == 0).then_some(Address(address))
}

/// Inserts up to `count` addresses, and notes what they have become, whether or not the application wants to know.
unsafe fn insert_with(
    av: *mut FidAv,
    count: usize,
    to: *mut Addr,
    call: impl FnOnce(&OpsAv, *mut Addr) -> c_int,
) -> c_int {
    // SAFETY: the application's call on an object with our table.
    let (_guard, this) = unsafe { (lock::wait((*av).ops), AddressVector::of(av)) };
    let mut own = Vec::new();
    let to = if to.is_null() {
        own.resize(count, ADDR_UNSPEC);
        own.as_mut_ptr()
    } else {
        to
    };
    let rc = call(this.ops.core(), to);
    if rc > 0 {
        // What the core does not take it marks so; of those that it returns, all are among the first `count`.
        // SAFETY: the application's room, or ours.
        unsafe { this.inserted(to, count) };
    }
    rc
}

unsafe extern "C" fn insert(
    av: *mut FidAv,
    addresses: *const c_void,
    count: usize,
    to: *mut Addr,
    flags: u64,
    context: *mut c_void,
) -> c_int {
    // SAFETY: the application's call, passed on.
    unsafe {
        insert_with(av, count, to, |core, to| {
            core.insert.expect("every address vector takes addresses")(
                av, addresses, count, to, flags, context,
            )
        })
    }
}

unsafe extern "C" fn insert_service(
    av: *mut FidAv,
    node: *const c_char,
    service: *const c_char,
    to: *mut Addr,
    flags: u64,
    context: *mut c_void,
) -> c_int {
    // SAFETY: as above.
    unsafe {
        insert_with(av, 1, to, |core, to| {
            core.insertsvc.expect("only what is there is exchanged")(av, node, service, to, flags, context)
        })
    }
}

unsafe extern "C" fn insert_range(
    av: *mut FidAv,
    node: *const c_char,
    nodes: usize,
    service: *const c_char,
    services: usize,
    to: *mut Addr,
    flags: u64,
    context: *mut c_void,
) -> c_int {
    // SAFETY: as above.
    unsafe {
        insert_with(av, nodes * services, to, |core, to| {
            let insert = core.insertsym.expect("only what is there is exchanged");
            insert(av, node, nodes, service, services, to, flags, context)
        })
    }
}

unsafe extern "C" fn remove(av: *mut FidAv, addrs: *mut Addr, count: usize, flags: u64) -> c_int {
    // SAFETY: the application's call on an object with our table.
    unsafe {
        let (_guard, this) = (lock::wait((*av).ops), AddressVector::of(av));
        let gone = if count == 0 { Vec::new() } else { std::slice::from_raw_parts(addrs, count).to_vec() };
        let rc = this.ops.core().remove.expect("only what is there is exchanged")(av, addrs, count, flags);
        if rc == 0 {
            this.removed(&gone);
        }
        rc
    }
}
