//! A loaded library with the C interface.
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

/// A library that creates engines. Clones share it. It is unloaded after the last clone and the last engine.
#[derive(Clone)]
pub struct Library {
    shared: Arc<Loaded>,
}

struct Loaded {
    path: PathBuf,
    create: Create,
    /// Dropped last, because it contains the functions.
    _library: libloading::Library,
}

/// The reason why a library cannot be used, and a remedy.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LoadError(String);

impl Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for LoadError {}

impl Library {
    /// Loads the library at `path`. A name without a folder that is not a file here is searched in the system's library
    /// folders.
    ///
    /// Loading runs the library's constructors. The types of its functions cannot be checked: load only libraries that
    /// you would run.
    ///
    /// # Errors
    /// The library or a function is missing, or the library has another version of the interface.
    pub fn load(path: &Path) -> Result<Self, LoadError> {
        // The loader searches a bare name in the system's folders only, even if the file exists here.
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

    /// The path from which the library was loaded.
    pub fn path(&self) -> &Path {
        &self.shared.path
    }

    pub(crate) fn create_function(&self) -> Create {
        self.shared.create
    }
}

/// The loader's message, which `Display` omits.
fn reason(error: &libloading::Error) -> String {
    std::error::Error::source(error).map_or_else(|| error.to_string(), ToString::to_string)
}

struct Found<'a> {
    library: &'a libloading::Library,
    path: &'a Path,
}

impl Found<'_> {
    /// Returns a function by its name. `F` is its type in the header.
    fn function<F: Copy>(&self, name: &str) -> Result<F, LoadError> {
        // SAFETY: each call below uses the function's type in `matchpoint.h`. A library with another function of that
        // name is faulty, which cannot be detected here.
        let found = unsafe { self.library.get::<F>(name.as_bytes()) };
        found.map(|symbol| *symbol).map_err(|_| {
            LoadError(format!(
                "{} has no function {name}\nhint: name a library that exports mp_abi_version and mp_create of \
                 matchpoint.h",
                self.path.display(),
            ))
        })
    }

    fn check_version(&self) -> Result<(), LoadError> {
        let version = self.function::<AbiVersion>("mp_abi_version")?;
        // SAFETY: the function has no arguments and returns a number.
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
