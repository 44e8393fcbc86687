//! A library with the C interface, loaded.
#![allow(unsafe_code)]

use std::fmt::{self, Display};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::symbols::{
    AbiVersion, Arrive, ArriveBatch, Cancel, Close, Create, Destroy, FailSource, FootprintOf, Function,
    Length, OPTIONAL, OrderOf, Post, Probe, Readdress, Retract, SetHints, Visit,
};
use crate::types::MP_ABI_VERSION;

/// A library that has the functions of the interface. Clones share it; it stays loaded as long as one of them, or an
/// engine of it, is there.
#[derive(Clone)]
pub struct Library {
    shared: Arc<Loaded>,
}

struct Loaded {
    path: PathBuf,
    functions: Functions,
    /// Last, so that it goes last: the functions are in it.
    _library: libloading::Library,
}

/// What was found in the library. Good as long as the library is loaded, which [`Loaded`] sees to.
#[derive(Clone, Copy)]
pub(crate) struct Functions {
    pub(crate) create: Create,
    pub(crate) destroy: Destroy,
    pub(crate) post: Post,
    pub(crate) arrive: Arrive,
    pub(crate) probe: Probe,
    pub(crate) matched_probe: Probe,
    pub(crate) cancel: Cancel,
    pub(crate) posted_len: Length,
    pub(crate) unexpected_len: Length,
    pub(crate) retract: Option<Retract>,
    pub(crate) readdress: Option<Readdress>,
    pub(crate) set_hints: Option<SetHints>,
    pub(crate) close: Option<Close>,
    pub(crate) fail_source: Option<FailSource>,
    pub(crate) arrive_batch: Option<ArriveBatch>,
    pub(crate) visit: Option<Visit>,
    pub(crate) footprint: Option<FootprintOf>,
    pub(crate) order: Option<OrderOf>,
}

/// Why a library cannot be used: what was looked for, where, and what to do.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LoadError(String);

impl Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for LoadError {}

impl Library {
    /// Loads the library at `path`; a name without a folder that is no file here is sought where the system looks for
    /// libraries.
    ///
    /// Loading runs the library's constructors, and what it says of its functions' types cannot be checked: load what
    /// you would run.
    ///
    /// # Errors
    /// There is no such library, a function is missing, or it is of another version of the interface.
    pub fn load(path: &Path) -> Result<Self, LoadError> {
        // The loader takes a bare name for one of the system's libraries, even if such a file is right here.
        let whole = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        // SAFETY: that constructors and destructors of the library are sound is up to its author; the documentation
        // above says so.
        let library = unsafe { libloading::Library::new(&whole) };
        let library = library
            .map_err(|error| LoadError(format!("cannot load {}: {}", path.display(), reason(&error))))?;
        let found = Found { library: &library, path };
        found.check_version()?;
        let functions = found.functions()?;
        Ok(Library { shared: Arc::new(Loaded { path: path.to_owned(), functions, _library: library }) })
    }

    /// Where it was loaded from.
    pub fn path(&self) -> &Path {
        &self.shared.path
    }

    /// The optional functions that it does not have.
    pub fn lacks(&self) -> Vec<Function> {
        let Functions { retract, readdress, set_hints, close, fail_source, .. } = self.functions();
        let Functions { arrive_batch, visit, footprint, order, .. } = self.functions();
        let has = |function: &Function| match function {
            Function::Retract => retract.is_some(),
            Function::Readdress => readdress.is_some(),
            Function::SetHints => set_hints.is_some(),
            Function::Close => close.is_some(),
            Function::FailSource => fail_source.is_some(),
            Function::ArriveBatch => arrive_batch.is_some(),
            Function::Visit => visit.is_some(),
            Function::Footprint => footprint.is_some(),
            Function::Order => order.is_some(),
        };
        OPTIONAL.into_iter().filter(|function| !has(function)).collect()
    }

    pub(crate) fn functions(&self) -> &Functions {
        &self.shared.functions
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
    /// A function by its name; `F` is the type that the header gives it.
    fn optional<F: Copy>(&self, name: &str) -> Option<F> {
        // SAFETY: every call below names the type that `matchpoint.h` gives that function. A library that exports
        // another function under that name is its author's mistake, and cannot be told from here.
        unsafe { self.library.get::<F>(name.as_bytes()) }.ok().map(|symbol| *symbol)
    }

    fn required<F: Copy>(&self, name: &str) -> Result<F, LoadError> {
        self.optional(name).ok_or_else(|| {
            LoadError(format!(
                "{} has no function {name}; a library to be checked exports what matchpoint.h declares, at least {}",
                self.path.display(),
                crate::symbols::REQUIRED.join(", ")
            ))
        })
    }

    fn check_version(&self) -> Result<(), LoadError> {
        let version = self.required::<AbiVersion>("mp_abi_version")?;
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

    fn functions(&self) -> Result<Functions, LoadError> {
        Ok(Functions {
            create: self.required("mp_engine_create")?,
            destroy: self.required("mp_engine_destroy")?,
            post: self.required("mp_engine_post")?,
            arrive: self.required("mp_engine_arrive")?,
            probe: self.required("mp_engine_probe")?,
            matched_probe: self.required("mp_engine_matched_probe")?,
            cancel: self.required("mp_engine_cancel")?,
            posted_len: self.required("mp_engine_posted_len")?,
            unexpected_len: self.required("mp_engine_unexpected_len")?,
            retract: self.optional(Function::Retract.name()),
            readdress: self.optional(Function::Readdress.name()),
            set_hints: self.optional(Function::SetHints.name()),
            close: self.optional(Function::Close.name()),
            fail_source: self.optional(Function::FailSource.name()),
            arrive_batch: self.optional(Function::ArriveBatch.name()),
            visit: self.optional(Function::Visit.name()),
            footprint: self.optional(Function::Footprint.name()),
            order: self.optional(Function::Order.name()),
        })
    }
}
