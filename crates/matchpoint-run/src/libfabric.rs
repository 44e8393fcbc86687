//! Asks a libfabric for its version and its providers. It is loaded to be asked, and loads its providers, any of which
//! may do as it likes: hence a process of its own, which [`ask`] starts and [`answer`] is the inside of.
#![allow(unsafe_code)]

use std::ffi::{CStr, CString, OsString, c_char, c_int, c_void};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::ptr;
use std::time::Duration;

use crate::stack;

/// What a libfabric says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Fabric {
    /// Major and minor.
    pub version: (u32, u32),
    /// Its providers that can be had here, each with what it stands on: `tcp;ofi_rxm`.
    pub providers: Vec<String>,
}

/// Those that are asked for by name: a libfabric may list only what it would choose.
const NAMED: &[&str] = &["shm", "tcp;ofi_rxm", "tcp", "verbs;ofi_rxm", "cxi"];

/// Looking for networks that are not there takes some providers seconds.
const PATIENCE: Duration = Duration::from_secs(60);

/// Asks in a process of its own: `program` is this command, which calls [`answer`] when it is given [`WORD`]. Providers
/// are sought in `providers`, if any are named.
pub fn ask(program: &Path, library: &Path, providers: &[PathBuf]) -> Option<Fabric> {
    let mut command = Command::new(program);
    command.arg(WORD).arg(library).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    for name in ["FI_PROVIDER", "FI_LOG_LEVEL", "LD_PRELOAD"] {
        command.env_remove(name);
    }
    if !providers.is_empty() {
        command.env("FI_PROVIDER_PATH", std::env::join_paths(providers).ok()?);
    }
    let mut folders: Vec<PathBuf> = library.parent().map(Path::to_owned).into_iter().collect();
    folders.extend(std::env::split_paths(&std::env::var_os("LD_LIBRARY_PATH").unwrap_or_default()));
    folders.retain(|folder| !folder.as_os_str().is_empty());
    let path: OsString = std::env::join_paths(folders).ok()?;
    parse(&stack::answer(command.env("LD_LIBRARY_PATH", path), PATIENCE)?)
}

/// The hidden command.
pub const WORD: &str = "ask-libfabric";

fn parse(text: &str) -> Option<Fabric> {
    let mut lines = text.lines();
    let (major, minor) = lines.next()?.strip_prefix("version ")?.split_once('.')?;
    let version = (major.parse().ok()?, minor.parse().ok()?);
    let providers = lines.filter_map(|line| line.strip_prefix("provider ")).map(str::to_owned).collect();
    Some(Fabric { version, providers })
}

/// The beginning of `struct fi_info`, and of what it refers to: the same in every version of libfabric.
#[repr(C)]
struct Info {
    next: *mut Info,
    caps: u64,
    mode: u64,
    addr_format: u32,
    src_addrlen: usize,
    dest_addrlen: usize,
    addresses: [*mut c_void; 3],
    attributes: [*mut c_void; 4],
    fabric_attr: *mut FabricAttr,
}

#[repr(C)]
struct FabricAttr {
    fabric: *mut c_void,
    name: *mut c_char,
    prov_name: *mut c_char,
}

type GetInfo =
    unsafe extern "C" fn(u32, *const c_char, *const c_char, u64, *const Info, *mut *mut Info) -> c_int;
type DupInfo = unsafe extern "C" fn(*const Info) -> *mut Info;

/// What a libfabric says, line by line, for [`ask`] to read.
///
/// # Errors
/// It cannot be loaded, or is none.
pub fn answer(library: &Path) -> Result<String, String> {
    // SAFETY: its constructors run, which is why this is a process of its own.
    let loaded = unsafe { libloading::Library::new(library) }.map_err(|error| error.to_string())?;
    // SAFETY: functions of these names have had these types in every version of libfabric.
    let (version, getinfo, dupinfo) = unsafe {
        let version = loaded.get::<unsafe extern "C" fn() -> u32>(b"fi_version\0");
        let getinfo = loaded.get::<GetInfo>(b"fi_getinfo\0");
        let dupinfo = loaded.get::<DupInfo>(b"fi_dupinfo\0");
        let wrong = |error: libloading::Error| error.to_string();
        (*version.map_err(wrong)?, *getinfo.map_err(wrong)?, *dupinfo.map_err(wrong)?)
    };
    // SAFETY: it takes nothing.
    let version = unsafe { version() };
    let mut text = format!("version {}.{}\n", version >> 16, version & 0xFFFF);
    // SAFETY: no hints; then hints that libfabric makes itself, complete, with a name in them.
    unsafe {
        tell(getinfo, version, ptr::null(), &mut text);
        for name in NAMED {
            let (hints, name) = (dupinfo(ptr::null()), CString::new(*name).expect("it has no zero"));
            if hints.is_null() || (*hints).fabric_attr.is_null() {
                continue;
            }
            (*(*hints).fabric_attr).prov_name = name.into_raw();
            tell(getinfo, version, hints, &mut text);
        }
    }
    // Providers have threads, and the process ends in a moment: nothing is unloaded or freed.
    std::mem::forget(loaded);
    Ok(text)
}

/// Lists what `fi_getinfo` finds.
///
/// # Safety
/// `hints` is null, or complete.
unsafe fn tell(getinfo: GetInfo, version: u32, hints: *const Info, text: &mut String) {
    let mut found: *mut Info = ptr::null_mut();
    // SAFETY: the caller's; the list that comes back is complete, and its names are null or strings.
    unsafe {
        if getinfo(version, ptr::null(), ptr::null(), 0, hints, &raw mut found) != 0 {
            return;
        }
        while let Some(info) = found.as_ref() {
            let name = info.fabric_attr.as_ref().map(|attr| attr.prov_name).filter(|name| !name.is_null());
            let line = name.map(|name| format!("provider {}", CStr::from_ptr(name).to_string_lossy()));
            // There is one for each address of this host.
            if let Some(line) = line.filter(|line| text.lines().all(|known| known != line)) {
                text.push_str(&line);
                text.push('\n');
            }
            found = info.next;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_read_back() {
        let said = parse("version 2.5\nprovider tcp\nprovider tcp;ofi_rxm\n").unwrap();
        assert_eq!(
            said,
            Fabric { version: (2, 5), providers: vec!["tcp".to_owned(), "tcp;ofi_rxm".to_owned()] }
        );
        assert_eq!(parse("cannot load"), None);
    }

    #[test]
    fn what_is_no_libfabric_is_told() {
        assert!(answer(Path::new("/nowhere/libfabric.so.1")).is_err());
    }
}
