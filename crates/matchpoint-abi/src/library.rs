//! A loaded library with the C interface.
#![allow(unsafe_code)]

use std::ffi::c_char;
use std::fmt::{self, Display};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::types::{Engine, MP_ABI_VERSION};

type AbiVersion = unsafe extern "C" fn() -> u32;
pub(crate) type Create =
    unsafe extern "C" fn(*const c_char, u32, *mut *mut Engine, *mut c_char, usize) -> i32;

/// Creates engines. Clones share the library, which is unloaded after the last clone and the last engine.
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

/// The reason, and a remedy.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LoadError(String);

impl Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for LoadError {}

impl Library {
    /// Loads the library at `path`. A name without a folder that is not a file here is searched in the
    /// system's library folders.
    ///
    /// Loading runs the library's constructors. The types of its functions cannot be checked: load only
    /// libraries that you would run.
    ///
    /// # Errors
    /// The library or a function is missing, or the interface has another version.
    pub fn load(path: &Path) -> Result<Self, LoadError> {
        // The loader searches a bare name in the system's folders only.
        let whole = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        // SAFETY: the library's author is responsible for its constructors and destructors.
        let library = unsafe { libloading::Library::new(&whole) };
        let library = library
            .map_err(|error| LoadError(format!("cannot load {}: {}", path.display(), reason(&error))))?;
        let found = Found { library: &library, path };
        found.check_version()?;
        let create = found.function("mp_create")?;
        Ok(Library { shared: Arc::new(Loaded { path: path.to_owned(), create, _library: library }) })
    }

    /// As loaded.
    pub fn path(&self) -> &Path {
        &self.shared.path
    }

    pub(crate) fn create_function(&self) -> Create {
        self.shared.create
    }
}

/// `Display` omits the loader's message.
fn reason(error: &libloading::Error) -> String {
    std::error::Error::source(error).map_or_else(|| error.to_string(), ToString::to_string)
}

struct Found<'a> {
    library: &'a libloading::Library,
    path: &'a Path,
}

impl Found<'_> {
    /// `F` is the type in the header.
    fn function<F: Copy>(&self, name: &str) -> Result<F, LoadError> {
        // SAFETY: each call below uses the function's type in `matchpoint.h`. Another function of that name
        // is a fault of the library, which cannot be detected here.
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
