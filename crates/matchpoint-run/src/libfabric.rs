//! The version and the providers of a libfabric. A loaded libfabric loads its providers, which may crash:
//! [`ask`] starts a separate process, in which [`answer`] runs.
#![allow(unsafe_code)]

use std::ffi::{CStr, CString, OsString, c_char, c_int, c_void};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::ptr;
use std::time::Duration;

use crate::stack;

/// Version and providers of a libfabric.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Fabric {
    /// Major and minor.
    pub version: (u32, u32),
    /// Usable providers. A utility provider includes the provider below: `tcp;ofi_rxm`.
    pub providers: Vec<String>,
}

/// Providers requested by name, because a libfabric may list only its preferred providers.
const REQUESTED_PROVIDERS: &[&str] = &["shm", "tcp;ofi_rxm", "tcp", "verbs;ofi_rxm", "cxi"];

/// Some providers search several seconds for missing networks.
const QUERY_TIMEOUT: Duration = Duration::from_secs(60);

/// Queries a libfabric in a separate process. `program` is the `matchpoint` command, which calls [`answer`]
/// for [`WORD`]. `providers` are folders.
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
    parse_answer(&stack::output_of(command.env("LD_LIBRARY_PATH", path), QUERY_TIMEOUT)?)
}

/// Hidden subcommand of `matchpoint` for [`answer`].
pub const WORD: &str = "ask-libfabric";

fn parse_answer(text: &str) -> Option<Fabric> {
    let mut lines = text.lines();
    let (major, minor) = lines.next()?.strip_prefix("version ")?.split_once('.')?;
    let version = (major.parse().ok()?, minor.parse().ok()?);
    let providers = lines.filter_map(|line| line.strip_prefix("provider ")).map(str::to_owned).collect();
    Some(Fabric { version, providers })
}

/// First fields of `struct fi_info` and its attributes, equal in all versions of libfabric.
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

/// Version and providers line by line, for [`ask`].
///
/// # Errors
/// The file cannot be loaded, or is not a libfabric.
pub fn answer(library: &Path) -> Result<String, String> {
    // SAFETY: the library's constructors may crash, so this is a separate process.
    let loaded = unsafe { libloading::Library::new(library) }.map_err(|error| error.to_string())?;
    // SAFETY: the declared types are those of every libfabric.
    let (version, getinfo, dupinfo) = unsafe {
        let version = loaded.get::<unsafe extern "C" fn() -> u32>(b"fi_version\0");
        let getinfo = loaded.get::<GetInfo>(b"fi_getinfo\0");
        let dupinfo = loaded.get::<DupInfo>(b"fi_dupinfo\0");
        let error_text = |error: libloading::Error| error.to_string();
        (*version.map_err(error_text)?, *getinfo.map_err(error_text)?, *dupinfo.map_err(error_text)?)
    };
    // SAFETY: `fi_version` has no arguments.
    let version = unsafe { version() };
    let mut text = format!("version {}.{}\n", version >> 16, version & 0xFFFF);
    // SAFETY: the hints are null, or complete hints of libfabric with a provider name.
    unsafe {
        append_providers(getinfo, version, ptr::null(), &mut text);
        for name in REQUESTED_PROVIDERS {
            let (hints, name) = (dupinfo(ptr::null()), CString::new(*name).expect("it has no zero"));
            if hints.is_null() || (*hints).fabric_attr.is_null() {
                continue;
            }
            (*(*hints).fabric_attr).prov_name = name.into_raw();
            append_providers(getinfo, version, hints, &mut text);
        }
    }
    // Nothing is unloaded or freed: providers have threads, and the process ends soon.
    std::mem::forget(loaded);
    Ok(text)
}

/// # Safety
/// `hints` must be null or complete.
unsafe fn append_providers(getinfo: GetInfo, version: u32, hints: *const Info, text: &mut String) {
    let mut found: *mut Info = ptr::null_mut();
    // SAFETY: the caller guarantees valid hints. The returned list is complete; its names are null or
    // strings.
    unsafe {
        if getinfo(version, ptr::null(), ptr::null(), 0, hints, &raw mut found) != 0 {
            return;
        }
        while let Some(info) = found.as_ref() {
            let name = info.fabric_attr.as_ref().map(|attr| attr.prov_name).filter(|name| !name.is_null());
            let line = name.map(|name| format!("provider {}", CStr::from_ptr(name).to_string_lossy()));
            // libfabric returns one element per address of this host.
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
    fn answer_lines_are_parsed() {
        let message = parse_answer("version 2.5\nprovider tcp\nprovider tcp;ofi_rxm\n").unwrap();
        assert_eq!(
            message,
            Fabric { version: (2, 5), providers: vec!["tcp".to_owned(), "tcp;ofi_rxm".to_owned()] }
        );
        assert_eq!(parse_answer("cannot load"), None);
    }

    #[test]
    fn missing_libfabric_is_an_error() {
        assert!(answer(Path::new("/nowhere/libfabric.so.1")).is_err());
    }
}
