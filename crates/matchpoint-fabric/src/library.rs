//! The libfabric that loaded the provider.
//!
//! A process may contain several versions of libfabric, and a linked provider would bind to the oldest
//! version. Functions are therefore looked up in the file that called `fi_prov_ini`.

use std::cell::Cell;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr;
use std::sync::OnceLock;

use crate::abi::{FabricAttr, FidFabric, GetInfo, Info, OpenFabric};

/// Functions of libfabric, or of a substitute in a test.
pub struct Library {
    pub getinfo: GetInfo,
    pub open_fabric: OpenFabric,
    pub freeinfo: unsafe extern "C" fn(*mut Info),
    pub dupinfo: unsafe extern "C" fn(*const Info) -> *mut Info,
    pub version: u32,
}

static LIBRARY: OnceLock<Library> = OnceLock::new();

pub fn library() -> &'static Library {
    LIBRARY.get().expect("nothing is called before fi_prov_ini has found it")
}

/// Finds the libfabric that calls this provider. Returns `None` if the caller lacks one of the functions.
pub fn find() -> Option<&'static Library> {
    if LIBRARY.get().is_none() {
        let _ = LIBRARY.set(load_library(find_caller()?)?);
    }
    LIBRARY.get()
}

unsafe extern "C" {
    fn _Unwind_Backtrace(
        each: unsafe extern "C" fn(*mut c_void, *mut c_void) -> c_int,
        argument: *mut c_void,
    ) -> c_int;
    fn _Unwind_GetIP(frame: *mut c_void) -> usize;
}

fn find_caller() -> Option<*const c_void> {
    /// Stops the unwinder at the first frame outside this library.
    unsafe extern "C" fn each(frame: *mut c_void, found: *mut c_void) -> c_int {
        // SAFETY: the unwinder passes a valid frame, and the address of the variable `found`.
        let (ip, found) =
            unsafe { (_Unwind_GetIP(frame) as *const c_void, &mut *found.cast::<*const c_void>()) };
        let load_address = |address| file_of(address).map(|file| file.dli_fbase);
        if load_address(ip) == load_address(find_caller as *const c_void) {
            return 0;
        }
        *found = ip;
        // A value other than 0 stops the walk.
        5
    }
    let mut found: *const c_void = ptr::null();
    // SAFETY: the callback gets its variable.
    unsafe { _Unwind_Backtrace(each, (&raw mut found).cast()) };
    (!found.is_null()).then_some(found)
}

/// The loaded file that contains this address.
fn file_of(address: *const c_void) -> Option<libc::Dl_info> {
    // SAFETY: an all-zero result is valid. `dladdr` does not read at the address.
    unsafe {
        let mut found: libc::Dl_info = std::mem::zeroed();
        (libc::dladdr(address, &raw mut found) != 0).then_some(found)
    }
}

fn load_library(address: *const c_void) -> Option<Library> {
    // SAFETY: the name of a loaded file.
    let handle = unsafe { libc::dlopen(file_of(address)?.dli_fname, libc::RTLD_NOW | libc::RTLD_NOLOAD) };
    // A libfabric linked into the executable has global symbols.
    let handle = if handle.is_null() { libc::RTLD_DEFAULT } else { handle };
    let symbol = |name: &CStr| {
        // SAFETY: libfabric stays loaded longer than its providers.
        let found = unsafe { libc::dlsym(handle, name.as_ptr()) };
        (!found.is_null()).then_some(found)
    };
    // SAFETY: the declared types are those of every libfabric.
    unsafe {
        let version: unsafe extern "C" fn() -> u32 = std::mem::transmute(symbol(c"fi_version")?);
        Some(Library {
            getinfo: std::mem::transmute::<*mut c_void, GetInfo>(symbol(c"fi_getinfo")?),
            open_fabric: std::mem::transmute::<*mut c_void, OpenFabric>(symbol(c"fi_fabric")?),
            freeinfo: std::mem::transmute::<*mut c_void, unsafe extern "C" fn(*mut Info)>(symbol(
                c"fi_freeinfo",
            )?),
            dupinfo: std::mem::transmute::<*mut c_void, unsafe extern "C" fn(*const Info) -> *mut Info>(
                symbol(c"fi_dupinfo")?,
            ),
            version: version(),
        })
    }
}

impl Library {
    /// Uses this libfabric, unless another libfabric is already set.
    pub fn install(self) {
        let _ = LIBRARY.set(self);
    }

    /// # Safety
    /// The conditions of `fi_getinfo`.
    pub unsafe fn getinfo(
        &self,
        version: u32,
        node: *const c_char,
        service: *const c_char,
        flags: u64,
        hints: *const Info,
    ) -> Result<*mut Info, c_int> {
        let mut found = ptr::null_mut();
        // SAFETY: guaranteed by the caller.
        match unsafe { (self.getinfo)(version, node, service, flags, hints, &raw mut found) } {
            0 => Ok(found),
            rc => Err(rc),
        }
    }

    /// # Safety
    /// The conditions of `fi_fabric`.
    pub unsafe fn open_fabric(
        &self,
        attr: *mut FabricAttr,
        to: *mut *mut FidFabric,
        context: *mut c_void,
    ) -> c_int {
        // SAFETY: guaranteed by the caller.
        unsafe { (self.open_fabric)(attr, to, context) }
    }

    /// A copy of `info`; an empty `fi_info` for a null pointer. Returns `None` if an allocation fails.
    ///
    /// # Safety
    /// `info` is null or complete.
    pub unsafe fn dupinfo(&self, info: *const Info) -> Option<OwnedInfo> {
        // SAFETY: guaranteed by the caller.
        let copy = unsafe { (self.dupinfo)(info) };
        (!copy.is_null()).then_some(OwnedInfo(copy))
    }
}

pub struct OwnedInfo(pub *mut Info);

impl OwnedInfo {
    pub fn set_provider(&mut self, name: &CStr) {
        // SAFETY: an `fi_info` of `fi_dupinfo` is complete. Its strings are from `strdup`.
        unsafe { set_provider(self.0, Some(name)) };
    }
}

impl Drop for OwnedInfo {
    fn drop(&mut self) {
        // SAFETY: the same library allocated the `fi_info`, and this value owns it.
        unsafe { (library().freeinfo)(self.0) };
    }
}

/// Replaces the provider name. `None` clears it.
///
/// # Safety
/// `info` is complete and from libfabric.
pub unsafe fn set_provider(info: *mut Info, name: Option<&CStr>) {
    // SAFETY: guaranteed by the caller. libfabric's strings are from `strdup`.
    unsafe {
        let slot = &raw mut (*(*info).fabric_attr).prov_name;
        libc::free((*slot).cast());
        *slot = name.map_or(ptr::null_mut(), |name| libc::strdup(name.as_ptr()));
    }
}

thread_local! {
    static INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// Calls libfabric for the core provider.
///
/// Some core providers (mrail, rxd, lnx) search for a provider below. The call hides Matchpoint's provider
/// from such searches.
pub fn call_core<T>(call: impl FnOnce() -> T) -> T {
    let before = INSIDE.replace(true);
    let outcome = call();
    INSIDE.set(before);
    outcome
}

pub fn is_in_core_call() -> bool {
    INSIDE.get()
}

/// True for a provider that serves one host only. Such providers lack `FI_REMOTE_COMM`, which some MPI libraries
/// require.
pub fn is_single_host(core: &CStr) -> bool {
    matches!(core.to_bytes(), b"shm" | b"sm2")
}
