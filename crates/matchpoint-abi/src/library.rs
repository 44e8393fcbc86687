//! Loads a shared library that has the C interface of `matchpoint.h`.
#![allow(unsafe_code)]

use std::ffi::c_char;
use std::fmt::{self, Display};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::types::{Engine, MP_ABI_VERSION};

type AbiVersion = unsafe extern "C" fn() -> u32;
pub(crate) type Create =
    unsafe extern "C" fn(*const c_char, u32, *mut *mut Engine, *mut c_char, usize) -> i32;

/// A loaded library, which creates engines. Clones share the library. The last clone or engine unloads the
/// library.
#[derive(Clone)]
pub struct Library {
    shared: Arc<Loaded>,
}

struct Loaded {
    path: PathBuf,
    create: Create,
    /// Declared last and so dropped last, because `create` is a function of the library.
    _library: libloading::Library,
}

/// The reason why a library cannot be loaded, with a hint.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LoadError(String);

impl Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for LoadError {}

impl Library {
    /// Loads the library at `path`. If no such file exists, a name without a folder is searched in the
    /// system's library folders.
    ///
    /// The library's constructors run. The types of its functions cannot be checked: load only libraries that
    /// you trust.
    ///
    /// # Errors
    /// The library or a function is missing, or the library has another version of the interface.
    pub fn load(path: &Path) -> Result<Self, LoadError> {
        // The loader searches a name without a folder in the system's folders only.
        let whole = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        // SAFETY: the library's author is responsible for its constructors and destructors.
        let library = unsafe { libloading::Library::new(&whole) };
        let library = library.map_err(|error| {
            LoadError(format!("cannot load {}: {}", path.display(), loader_message(&error)))
        })?;
        let symbols = Symbols { library: &library, path };
        symbols.check_version()?;
        let create = symbols.function("mp_create")?;
        Ok(Library { shared: Arc::new(Loaded { path: path.to_owned(), create, _library: library }) })
    }

    /// The path that [`load`](Self::load) was called with.
    pub fn path(&self) -> &Path {
        &self.shared.path
    }

    pub(crate) fn create_function(&self) -> Create {
        self.shared.create
    }
}

/// Returns the loader's message, which `Display` of the error omits.
fn loader_message(error: &libloading::Error) -> String {
    std::error::Error::source(error).map_or_else(|| error.to_string(), ToString::to_string)
}

struct Symbols<'a> {
    library: &'a libloading::Library,
    path: &'a Path,
}

impl Symbols<'_> {
    /// Returns a function of the library. `F` is the function's type in `matchpoint.h`.
    fn function<F: Copy>(&self, name: &str) -> Result<F, LoadError> {
        // SAFETY: each caller uses the function's type in `matchpoint.h`. A library with another function of that
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
            "{} has version {version} of the C interface, this program has version {MP_ABI_VERSION}\nhint: \
             build the library with the matchpoint.h of this program",
            self.path.display()
        )))
    }
}
