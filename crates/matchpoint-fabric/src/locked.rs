//! Locked objects: all functions of these objects acquire the lock of the domain.

use std::ffi::{c_int, c_void};
use std::time::{Duration, Instant};

use crate::abi::{
    Fid, FidAv, FidCntr, FidDomain, FidEp, FidMr, Ops, OpsAtomic, OpsAv, OpsCntr, OpsEp, OpsMsg, OpsRma,
    OpsTagged, errno,
};
use crate::lock;
use crate::object::{self, Object};
use crate::patch::{Lock, Patch, original_table};

enum Tables {
    None,
    Cntr { _ops: Patch<OpsCntr> },
    AddressVector { _ops: Patch<OpsAv> },
    Endpoint { _all: Box<Endpoint> },
}

pub struct Endpoint {
    _msg: Option<Patch<OpsMsg>>,
    _tagged: Option<Patch<OpsTagged>>,
    _rma: Option<Patch<OpsRma>>,
    _atomic: Option<Patch<OpsAtomic>>,
    _ep: Patch<OpsEp>,
}

struct LockedObject {
    fid_ops: Patch<Ops>,
    _tables: Tables,
}

impl Object for LockedObject {
    fn fid_ops(&self) -> &Patch<Ops> {
        &self.fid_ops
    }

    // Only this table changes: the other tables call the original functions anyway.
    fn set_installed(&mut self, is_installed: bool) {
        self.fid_ops.set_installed(is_installed);
    }
}

/// Returns `None` if an allocation fails; the caller then closes the object.
unsafe fn lock_object(fid: *mut Fid, lock: &Lock, tables: Option<Tables>) -> Option<()> {
    let _tables = tables?;
    let object = object::allocate(|address| {
        // SAFETY: the slot belongs to the object.
        let mut fid_ops = unsafe { Patch::new(&raw mut (*fid).ops, address, lock) }?;
        lock_functions(fid_ops.table());
        fid_ops.table().close = Some(object::close::<LockedObject>);
        Some(LockedObject { fid_ops, _tables })
    })?;
    // SAFETY: the object was just allocated.
    unsafe { (*object).set_installed(true) };
    Some(())
}

fn lock_functions(table: &mut Ops) {
    table.bind = table.bind.and(Some(bind));
    table.control = table.control.and(Some(control));
}

/// # Safety
/// The core provider has just opened the object, in a domain with this lock.
pub unsafe fn lock_counter(cntr: *mut FidCntr, lock: &Lock) -> Option<()> {
    // SAFETY: the slots belong to the open object.
    unsafe {
        let ops = lock::lock_table(&raw mut (*cntr).ops, lock).map(|mut ops: Patch<OpsCntr>| {
            ops.table().wait = ops.table().wait.and(Some(wait_for_counter));
            ops
        });
        lock_object(&raw mut (*cntr).fid, lock, ops.map(|_ops| Tables::Cntr { _ops }))
    }
}

/// # Safety
/// The conditions of [`lock_counter`].
pub unsafe fn lock_address_vector(av: *mut FidAv, lock: &Lock) -> Option<()> {
    // SAFETY: the slots belong to the open object.
    unsafe {
        let ops = lock::lock_table(&raw mut (*av).ops, lock);
        lock_object(&raw mut (*av).fid, lock, ops.map(|_ops| Tables::AddressVector { _ops }))
    }
}

/// # Safety
/// The conditions of [`lock_counter`].
pub unsafe fn lock_registration(mr: *mut FidMr, lock: &Lock) -> Option<()> {
    // SAFETY: the slots belong to the open object.
    unsafe { lock_object(&raw mut (*mr).fid, lock, Some(Tables::None)) }
}

/// Locks an endpoint that matches messages in the core provider.
///
/// # Safety
/// The conditions of [`lock_counter`].
pub unsafe fn lock_endpoint(ep: *mut FidEp, lock: &Lock) -> Option<()> {
    // SAFETY: the slots belong to the open object.
    unsafe {
        let mut ops = Patch::new(&raw mut (*ep).ops, std::ptr::null_mut(), lock)?;
        let table = ops.table();
        table.cancel = table.cancel.and(Some(cancel));
        table.getopt = table.getopt.and(Some(getopt));
        table.setopt = table.setopt.and(Some(setopt));
        ops.install();
        let all = Endpoint {
            _msg: lock::lock_table(&raw mut (*ep).msg, lock),
            _tagged: lock::lock_table(&raw mut (*ep).tagged, lock),
            _rma: lock::lock_table(&raw mut (*ep).rma, lock),
            _atomic: lock::lock_table(&raw mut (*ep).atomic, lock),
            _ep: ops,
        };
        lock_object(&raw mut (*ep).fid, lock, Some(Tables::Endpoint { _all: Box::new(all) }))
    }
}

macro_rules! locked_functions {
    ($object:ident.$slot:ident: $($name:ident($($argument:ident: $kind:ty),*) -> $result:ty;)*) => {$(
        unsafe extern "C" fn $name(fid: *mut Fid, $($argument: $kind),*) -> $result {
            // SAFETY: called through the object's patched table.
            unsafe {
                let (_guard, core) = lock::enter((*fid.cast::<$object>()).$slot);
                core.$name.expect("only what is there is made to wait")(fid, $($argument),*)
            }
        }
    )*};
}

locked_functions! { Fid.ops:
    bind(to: *mut Fid, flags: u64) -> c_int;
    control(command: c_int, argument: *mut c_void) -> c_int;
}

locked_functions! { FidEp.ops:
    cancel(context: *mut c_void) -> isize;
    getopt(level: c_int, option: c_int, value: *mut c_void, len: *mut usize) -> c_int;
    setopt(level: c_int, option: c_int, value: *const c_void, len: usize) -> c_int;
}

/// Polls, because a wait under the lock would block the threads that increment the counter.
unsafe extern "C" fn wait_for_counter(cntr: *mut FidCntr, threshold: u64, timeout: c_int) -> c_int {
    let end = u64::try_from(timeout).ok().map(|ms| Instant::now() + Duration::from_millis(ms));
    loop {
        // SAFETY: called through the counter's patched table.
        let (value, errors) = unsafe {
            let _guard = lock::acquire((*cntr).ops);
            let core = original_table((*cntr).ops);
            (core.read.expect("every counter can be read")(cntr), core.readerr.map_or(0, |read| read(cntr)))
        };
        if value >= threshold {
            return errno::SUCCESS;
        }
        if errors > 0 {
            return -errno::EAVAIL;
        }
        if end.is_some_and(|end| Instant::now() >= end) {
            return -libc::ETIMEDOUT;
        }
        std::thread::yield_now();
    }
}

/// Memory registrations: every function that creates a registration also locks the registration.
pub mod registrations {
    use libc::iovec;

    use super::{FidDomain, c_int, c_void, lock, lock_registration, object};
    use crate::abi::{Fid, FidMr, OpsMr};
    use crate::lock::Lockable;
    use crate::patch::Lock;

    impl Lockable for OpsMr {
        fn add_locking(&mut self) {
            self.reg = self.reg.and(Some(reg));
            self.regv = self.regv.and(Some(regv));
            self.regattr = self.regattr.and(Some(regattr));
        }
    }

    unsafe fn finish_registration(rc: c_int, mr: *mut *mut FidMr, domain: *mut FidDomain) -> c_int {
        if rc != 0 {
            return rc;
        }
        // SAFETY: a new registration, created through the domain's patched table.
        unsafe {
            let lock: Lock = crate::patch::shared_lock((*domain).mr);
            object::finish_open(&raw mut (**mr).fid, lock_registration(*mr, &lock))
        }
    }

    macro_rules! register_functions {
        ($($name:ident($($argument:ident: $kind:ty),*) -> $mr:ident;)*) => {$(
            unsafe extern "C" fn $name(fid: *mut Fid, $($argument: $kind),*) -> c_int {
                let domain = fid.cast::<FidDomain>();
                // SAFETY: called through the domain's patched table.
                unsafe {
                    let (_guard, core) = lock::enter((*domain).mr);
                    let register = core.$name.expect("only what is there is made to wait");
                    finish_registration(register(fid, $($argument),*), $mr, domain)
                }
            }
        )*};
    }

    type Mr = *mut *mut FidMr;

    register_functions! {
        reg(
            buf: *const c_void, len: usize, access: u64, offset: u64, key: u64, flags: u64, mr: Mr,
            context: *mut c_void
        ) -> mr;
        regv(
            iov: *const iovec, count: usize, access: u64, offset: u64, key: u64, flags: u64, mr: Mr,
            context: *mut c_void
        ) -> mr;
        regattr(attr: *const c_void, flags: u64, mr: Mr) -> mr;
    }
}
