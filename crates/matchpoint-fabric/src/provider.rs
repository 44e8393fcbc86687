//! The functions that libfabric calls first: `getinfo` and `fabric`.

use std::cell::UnsafeCell;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::sync::OnceLock;

use crate::abi::internal::{CORE_ONLY, HIDDEN, INTERNAL};
use crate::abi::{
    EP_RDM, FabricAttr, FidFabric, Info, PROGRESS_AUTO, PROGRESS_MANUAL, Provider, THREAD_DOMAIN,
    THREAD_UNSPEC, errno, flags, version,
};
use crate::library::{OwnedInfo, call_core, is_in_core_call, is_single_host, library, set_provider};
use crate::peer::entry::IOV_LIMIT;
use crate::settings::settings;
use crate::{fabric, object};

/// libfabric uses the provider until libfabric unloads it.
struct ProviderObject(UnsafeCell<Provider>);

// SAFETY: libfabric serializes its use of providers.
unsafe impl Send for ProviderObject {}
// SAFETY: libfabric serializes its use of providers.
unsafe impl Sync for ProviderObject {}

pub fn provider() -> *mut Provider {
    static PROVIDER: OnceLock<ProviderObject> = OnceLock::new();
    PROVIDER.get_or_init(|| ProviderObject(UnsafeCell::new(new_provider()))).0.get()
}

fn new_provider() -> Provider {
    Provider {
        version: version(1, 0),
        // The highest version that libfabric accepts. The real version is read from libfabric.
        fi_version: version(2, 99),
        context: [std::ptr::null_mut(); 4],
        name: settings().name.as_ptr(),
        getinfo: Some(getinfo),
        fabric: Some(open_fabric),
        cleanup: Some(cleanup),
    }
}

unsafe extern "C" fn cleanup() {}

/// The requested core provider: from the application's provider name (`core;ofi_matchpoint`), or from the
/// environment.
///
/// # Safety
/// `name` is null or a string.
unsafe fn requested_core(name: *const c_char) -> Option<CString> {
    // SAFETY: guaranteed by the caller.
    let name = (!name.is_null()).then(|| unsafe { CStr::from_ptr(name) }.to_bytes());
    let rest = name.and_then(|name| name.strip_suffix(settings().name.to_bytes()));
    let core = rest.and_then(|rest| rest.strip_suffix(b";")).and_then(|core| CString::new(core).ok());
    core.or_else(|| settings().core.clone())
}

unsafe extern "C" fn getinfo(
    version: u32,
    node: *const c_char,
    service: *const c_char,
    flags: u64,
    hints: *const Info,
    found: *mut *mut Info,
) -> c_int {
    if is_in_core_call() || flags & (INTERNAL | CORE_ONLY) != 0 {
        return -errno::ENODATA;
    }
    // SAFETY: null, or hints of the application. Names may be null.
    let core = unsafe {
        let attr = hints.as_ref().and_then(|hints| hints.fabric_attr.as_ref());
        requested_core(attr.map_or(std::ptr::null_mut(), |attr| attr.prov_name))
    };
    let Some(core) = core else { return -errno::ENODATA };
    // SAFETY: libfabric passes the application's hints.
    let Some(mut core_hints) = (unsafe { library().dupinfo(hints) }) else { return -errno::ENOMEM };
    // SAFETY: an `fi_info` of `fi_dupinfo` is complete.
    let (threading, is_served) =
        unsafe { ((*(*core_hints.0).domain_attr).threading, adapt_hints(&mut core_hints, &core)) };
    if !is_served {
        return -errno::ENODATA;
    }
    // SAFETY: the application's arguments, and complete hints.
    let infos =
        call_core(|| unsafe { library().getinfo(version, node, service, flags | HIDDEN, core_hints.0) });
    match infos {
        Ok(infos) => {
            let mut next = infos;
            while !next.is_null() {
                // SAFETY: a complete list from libfabric.
                next = unsafe { adapt_info(next, &core, threading) };
            }
            // SAFETY: libfabric provides the output pointer.
            unsafe { *found = infos };
            errno::SUCCESS
        }
        Err(rc) => rc,
    }
}

/// Converts hints for this provider into hints for the core provider. Returns false if no core provider can
/// serve the hints.
///
/// # Safety
/// The hints are complete.
unsafe fn adapt_hints(core_hints: &mut OwnedInfo, core: &CStr) -> bool {
    core_hints.set_provider(core);
    // SAFETY: guaranteed by the caller.
    unsafe {
        let hints = &mut *core_hints.0;
        if is_single_host(core) {
            hints.clear_caps(flags::REMOTE_COMM);
        }
        if hints.caps & flags::TAGGED != 0 {
            hints.caps |= flags::SOURCE;
        }
        let (domain, ep) = (&mut *hints.domain_attr, &mut *hints.ep_attr);
        if ep.kind == 0 {
            ep.kind = EP_RDM;
        }
        if domain.threading != THREAD_UNSPEC {
            domain.threading = THREAD_DOMAIN;
        }
        // FI_HMEM is refused. The provider copies truncated messages with the processor. In shm with FI_HMEM,
        // a standard send does not return before its receive is posted. The MPI library retries without
        // FI_HMEM and copies device buffers itself.
        let is_served = domain.data_progress != PROGRESS_AUTO && hints.caps & flags::HMEM == 0;
        ep.kind == EP_RDM && is_served
    }
}

/// Converts an `fi_info` of the core provider into an `fi_info` of this provider, for an application that
/// requests `threading`. Returns the next `fi_info` of the list.
///
/// # Safety
/// `info` is complete and from libfabric.
unsafe fn adapt_info(info: *mut Info, core: &CStr, threading: c_int) -> *mut Info {
    // SAFETY: guaranteed by the caller.
    unsafe {
        if !settings().is_utility() {
            set_provider(info, None);
        }
        let info = &mut *info;
        info.clear_caps(flags::HMEM);
        let (domain, rx) = (&mut *info.domain_attr, &mut *info.rx_attr);
        if is_single_host(core) {
            info.caps |= flags::REMOTE_COMM;
            domain.caps |= flags::REMOTE_COMM;
        }
        // Matched messages progress when the application reads completions, even with threads of the core
        // provider.
        domain.data_progress = PROGRESS_MANUAL;
        rx.iov_limit = rx.iov_limit.min(IOV_LIMIT);
        if threading != THREAD_UNSPEC {
            domain.threading = threading;
        }
        info.next
    }
}

unsafe extern "C" fn open_fabric(
    attr: *mut FabricAttr,
    to: *mut *mut FidFabric,
    context: *mut c_void,
) -> c_int {
    // SAFETY: attributes of the application, from libfabric.
    let (mut below, core) = unsafe { (*attr, requested_core((*attr).prov_name)) };
    let Some(core) = core else { return -errno::ENODATA };
    below.prov_name = core.as_ptr().cast_mut();
    // SAFETY: attributes of the core provider's fabric.
    let rc = call_core(|| unsafe { library().open_fabric(&raw mut below, to, context) });
    if rc != 0 {
        return rc;
    }
    // SAFETY: the fabric was just opened.
    unsafe { object::finish_open(&raw mut (**to).fid, fabric::Fabric::attach(*to, core)) }
}
