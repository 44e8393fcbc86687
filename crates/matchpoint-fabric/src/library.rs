//! The libfabric that loaded us.
//!
//! A process may have several, in versions whose symbols differ, and one linked against would bind to the oldest. The
//! one that matters is the one that called `fi_prov_ini`: its functions are looked up in the file it is in.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr;
use std::sync::OnceLock;

use crate::abi::{FabricAttr, FidFabric, GetInfo, Info, OpenFabric};

/// Its functions.
pub struct Library {
    getinfo: GetInfo,
    open_fabric: OpenFabric,
    freeinfo: unsafe extern "C" fn(*mut Info),
    dupinfo: unsafe extern "C" fn(*const Info) -> *mut Info,
    /// `fi_version()`
    pub version: u32,
}

static LIBRARY: OnceLock<Library> = OnceLock::new();

/// The library, once [`find`] has found it.
pub fn library() -> &'static Library {
    LIBRARY.get().expect("nothing is called before fi_prov_ini has found it")
}

/// Finds it, among those that called. `None`: nobody did who has all of its functions.
pub fn find() -> Option<&'static Library> {
    if LIBRARY.get().is_none() {
        let _ = LIBRARY.set(load(caller()?)?);
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

/// An address in whoever called into this library.
fn caller() -> Option<*const c_void> {
    /// Frames are those of this library first; the walk ends at the first that is not.
    unsafe extern "C" fn each(frame: *mut c_void, found: *mut c_void) -> c_int {
        // SAFETY: the unwinder's frame, and the variable below.
        let (ip, found) =
            unsafe { (_Unwind_GetIP(frame) as *const c_void, &mut *found.cast::<*const c_void>()) };
        if base(ip) == base(caller as *const c_void) {
            return 0;
        }
        *found = ip;
        // Anything but 0 ends the walk.
        5
    }
    let mut found: *const c_void = ptr::null();
    // SAFETY: the function gets the variable that it expects.
    unsafe { _Unwind_Backtrace(each, (&raw mut found).cast()) };
    (!found.is_null()).then_some(found)
}

/// Where the file that this address is in was loaded.
fn base(address: *const c_void) -> *mut c_void {
    // SAFETY: zeros are an empty answer; `dladdr` looks the address up and reads nothing there.
    unsafe {
        let mut found: libc::Dl_info = std::mem::zeroed();
        libc::dladdr(address, &raw mut found);
        found.dli_fbase
    }
}

fn load(address: *const c_void) -> Option<Library> {
    // SAFETY: zeros are an empty answer; `dladdr` looks the address up and reads nothing there.
    let handle = unsafe {
        let mut found: libc::Dl_info = std::mem::zeroed();
        if libc::dladdr(address, &raw mut found) == 0 {
            return None;
        }
        libc::dlopen(found.dli_fname, libc::RTLD_NOW | libc::RTLD_NOLOAD)
    };
    // Linked into the executable itself: then its symbols are global.
    let handle = if handle.is_null() { libc::RTLD_DEFAULT } else { handle };
    let symbol = |name: &CStr| {
        // SAFETY: the handle is open, and stays so: libfabric is not unloaded before its providers.
        let found = unsafe { libc::dlsym(handle, name.as_ptr()) };
        (!found.is_null()).then_some(found)
    };
    // SAFETY: functions of these names have had these types in every version of libfabric.
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
    /// Functions that are there already: of a libfabric that is linked into the program, or of one that a test makes up.
    pub const fn new(
        getinfo: GetInfo,
        open_fabric: OpenFabric,
        freeinfo: unsafe extern "C" fn(*mut Info),
        dupinfo: unsafe extern "C" fn(*const Info) -> *mut Info,
        version: u32,
    ) -> Self {
        Library { getinfo, open_fabric, freeinfo, dupinfo, version }
    }

    /// From now on this is the library, unless one was found before.
    pub fn give(self) {
        let _ = LIBRARY.set(self);
    }

    /// `fi_getinfo`
    ///
    /// # Safety
    /// That of the function.
    pub unsafe fn getinfo(
        &self,
        version: u32,
        node: *const c_char,
        service: *const c_char,
        flags: u64,
        hints: *const Info,
    ) -> Result<*mut Info, c_int> {
        let mut found = ptr::null_mut();
        // SAFETY: the caller's.
        match unsafe { (self.getinfo)(version, node, service, flags, hints, &raw mut found) } {
            0 => Ok(found),
            rc => Err(rc),
        }
    }

    /// `fi_fabric`
    ///
    /// # Safety
    /// That of the function.
    pub unsafe fn open_fabric(
        &self,
        attr: *mut FabricAttr,
        to: *mut *mut FidFabric,
        context: *mut c_void,
    ) -> c_int {
        // SAFETY: the caller's.
        unsafe { (self.open_fabric)(attr, to, context) }
    }

    /// `fi_dupinfo`; of null, an empty one. `None`: no memory.
    ///
    /// # Safety
    /// `info` is null or complete.
    pub unsafe fn dupinfo(&self, info: *const Info) -> Option<OwnInfo> {
        // SAFETY: the caller's.
        let copy = unsafe { (self.dupinfo)(info) };
        (!copy.is_null()).then_some(OwnInfo(copy))
    }
}

/// An `fi_info` that is freed at the end.
pub struct OwnInfo(pub *mut Info);

impl OwnInfo {
    /// Puts another provider's name in it.
    pub fn set_provider(&mut self, name: &CStr) {
        // SAFETY: what `fi_dupinfo` made is complete, and its strings are from `strdup`.
        unsafe { set_provider(self.0, Some(name)) };
    }
}

impl Drop for OwnInfo {
    fn drop(&mut self) {
        // SAFETY: made by the same library, and ours.
        unsafe { (library().freeinfo)(self.0) };
    }
}

/// Puts a provider's name, or none, in place of the one that is there.
///
/// # Safety
/// `info` is complete, and was made by libfabric.
pub unsafe fn set_provider(info: *mut Info, name: Option<&CStr>) {
    // SAFETY: the caller's: its strings are from `strdup`, as libfabric's are.
    unsafe {
        let slot = &raw mut (*(*info).fabric_attr).prov_name;
        libc::free((*slot).cast());
        *slot = name.map_or(ptr::null_mut(), |name| libc::strdup(name.as_ptr()));
    }
}
