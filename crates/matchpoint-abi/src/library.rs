//! A library with the C interface, loaded.
#![allow(unsafe_code)]

use std::ffi::c_char;
use std::fmt::{self, Display};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::types::{Engine, MP_ABI_VERSION};

/// `mp_abi_version`.
type AbiVersion = unsafe extern "C" fn() -> u32;
/// `mp_create`.
pub(crate) type Create =
    unsafe extern "C" fn(*const c_char, u32, *mut *mut Engine, *mut c_char, usize) -> i32;

/// A library that makes engines of the interface. Clones share it; it stays loaded as long as one of them, or an
/// engine of it, is there.
#[derive(Clone)]
pub struct Library {
    shared: Arc<Loaded>,
}

struct Loaded {
    path: PathBuf,
    create: Create,
    /// Last, so that it is dropped last: the functions are in it.
    _library: libloading::Library,
}

/// Why a library cannot be used, and the remedy.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LoadError(String);

impl Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for LoadError {}

impl Library {
    /// Loads the library at `path`. A name without a folder that is no file here is sought where the system looks for
    /// libraries.
    ///
    /// Loading runs the library's constructors, and the types of its functions cannot be checked: load what
    /// you would run.
    ///
    /// # Errors
    /// There is no such library, a function is missing, or it is of another version of the interface.
    pub fn load(path: &Path) -> Result<Self, LoadError> {
        // The loader takes a bare name for one of the system's libraries, even if such a file is right here.
        let whole = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        // SAFETY: the author of the library is responsible for its constructors and destructors.
        let library = unsafe { libloading::Library::new(&whole) };
        let library = library
            .map_err(|error| LoadError(format!("cannot load {}: {}", path.display(), reason(&error))))?;
        let found = Found { library: &library, path };
        found.check_version()?;
        let create = found.function("mp_create")?;
        Ok(Library { shared: Arc::new(Loaded { path: path.to_owned(), create, _library: library }) })
    }

    /// Where it was loaded from.
    pub fn path(&self) -> &Path {
        &self.shared.path
    }

    pub(crate) fn create_function(&self) -> Create {
        self.shared.create
    }
}

/// The loader's own words, which `Display` leaves out.
fn reason(error: &libloading::Error) -> String {
    std::error::Error::source(error).map_or_else(|| error.to_string(), ToString::to_string)
}

struct Found<'a> {
    library: &'a libloading::Library,
    path: &'a Path,
}

impl Found<'_> {
    /// A function by its name; `F` is the type in the header.
    fn function<F: Copy>(&self, name: &str) -> Result<F, LoadError> {
        // SAFETY: each call below names the type that `matchpoint.h` gives that function. A library that exports
        // another function under that name is a mistake of its author, and cannot be detected here.
        let found = unsafe { self.library.get::<F>(name.as_bytes()) };
        found.map(|symbol| *symbol).map_err(|_| {
            LoadError(format!(
                "{} has no function {name}; a library to be checked exports mp_abi_version and mp_create of \
                 matchpoint.h",
                self.path.display(),
            ))
        })
    }

    fn check_version(&self) -> Result<(), LoadError> {
        let version = self.function::<AbiVersion>("mp_abi_version")?;
        // SAFETY: it takes nothing and returns a number.
        let version = unsafe { version() };
        if version == MP_ABI_VERSION {
            return Ok(());
        }
        Err(LoadError(format!(
            "{} was built for version {version} of the C interface, this is version {MP_ABI_VERSION}; \
             build it with the matchpoint.h that comes with this program",
            self.path.display()
        )))
    }
}
