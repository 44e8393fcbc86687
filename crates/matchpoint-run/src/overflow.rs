//! Overflow matching: a Matchpoint library above the MPI library of a job. The shim (`shim/`) is compiled
//! once for each MPI library, like the recorder.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use matchpoint_record::compiler::{FLAGS, Product};
use matchpoint_record::preload::Preload;
use matchpoint_record::shim::{COMMON, Sources};

use crate::environment::{QUEUES_SIGNAL, Variable};
use crate::error::RunError;
use crate::folder::{CORE, Folder};

const SOURCES: Sources = include!(concat!(env!("OUT_DIR"), "/sources.rs"));

/// The shim.
pub(crate) const LIBRARY: Product = Product {
    what: "the library of overflow matching",
    file: "libmatchpoint-mpi.so",
    folder: "overflow",
    sources: &[COMMON, SOURCES],
    main: "matchpoint_mpi.c",
    flags: FLAGS,
    is_linked: false,
    standard_abi: Some(include_bytes!(concat!(env!("OUT_DIR"), "/standard-abi.so"))),
};

/// Receives beyond the limit go to the engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Limit {
    /// Each process measures where the engine is faster.
    #[default]
    Measured,
    /// A fixed number of receives. With 0, all receives go to the engine.
    Receives(u64),
    /// No receive goes to the engine.
    None,
}

impl Limit {
    fn value(self) -> String {
        match self {
            Limit::Measured => "auto".to_owned(),
            Limit::Receives(receives) => receives.to_string(),
            Limit::None => "none".to_owned(),
        }
    }
}

/// A job with the shim in its processes.
#[derive(Debug)]
pub struct Overflow {
    preload: Preload,
    /// Receives in the MPI library.
    pub limit: Limit,
    /// Path of the shim on the hosts of the job.
    library: PathBuf,
    /// All environment variables except the loader's variables.
    variables: Vec<Variable>,
}

/// Settings of a job with overflow matching.
#[derive(Debug, Clone, Copy)]
pub struct Settings<'a> {
    /// `hybrid`, `bins:n=7`
    pub engine: &'a str,
    /// Limit of receives in the MPI library, see [`Limit`].
    pub limit: Limit,
    /// Processes without overflowed receives write no report.
    pub quiet: bool,
    /// Compiler of the MPI library, if the launcher has none.
    pub mpicc: Option<&'a Path>,
}

impl Overflow {
    /// Prepares the shim for a command's MPI library. `compiles` is called before a compilation.
    ///
    /// # Errors
    /// The command is missing, its MPI library has neither compiler nor header, or the core was not built.
    pub fn prepare(
        words: &[String],
        settings: Settings<'_>,
        folder: &Folder,
        program: &Path,
        compiles: &mut dyn FnMut(&str),
    ) -> Result<Overflow, RunError> {
        let core = CORE.find(env::var_os(CORE.variable).map(PathBuf::from), program)?;
        let preload = Preload::prepare(&LIBRARY, words, settings.mpicc, compiles)
            .map_err(|error| RunError(error.to_string()))?;
        let library = folder.share(&preload.library.path)?;
        let core = folder.share(&core)?;
        let set = |name, value: String, why| Variable { name, value, why };
        let mut variables = vec![
            set("MATCHPOINT_OVERFLOW", core.to_string_lossy().into_owned(), "the core of overflow matching"),
            set("MATCHPOINT_ENGINE", settings.engine.to_owned(), "the engine"),
            set(
                "MATCHPOINT_LIMIT",
                settings.limit.value(),
                "receives in the MPI library before overflow begins",
            ),
        ];
        let reports = folder.reports().to_string_lossy().into_owned();
        variables.push(set("MATCHPOINT_REPORT", reports, "the folder of reports"));
        // Without a command, the variables are for a module, and batch systems may use the signal.
        if !words.is_empty() {
            let signal = QUEUES_SIGNAL.to_owned();
            variables.push(set("MATCHPOINT_QUEUES_SIGNAL", signal, "the signal for the contents of queues"));
        }
        if settings.quiet {
            variables.push(set("MATCHPOINT_QUIET", "1".to_owned(), "no report where nothing overflowed"));
        }
        Ok(Overflow { preload, limit: settings.limit, library, variables })
    }

    /// Name and version: `MPICH 5.0.2`.
    pub fn mpi(&self) -> &str {
        &self.preload.library.library
    }

    /// Adds an environment variable.
    pub fn set(&mut self, variable: Variable) {
        self.variables.push(variable);
    }

    /// Loads the recorder before the shim.
    pub fn load_before(&mut self, library: PathBuf) {
        self.preload.load_before(library);
    }

    /// Returns all environment variables, including the loader's variables.
    pub fn variables(&self) -> Vec<Variable> {
        let (name, value) = self.preload.variable(&self.library);
        let value = value.to_string_lossy().into_owned();
        let loaded = Variable { name, value, why: "our library is loaded before the MPI library" };
        [vec![loaded], self.variables.clone()].concat()
    }

    /// The user's command with the shim.
    pub fn command(&self) -> Command {
        let pairs: Vec<(&'static str, OsString)> =
            self.variables.iter().map(|variable| (variable.name, OsString::from(&variable.value))).collect();
        self.preload.command(&self.library, &pairs)
    }

    /// Options that make Open MPI's launcher pass the variables to other hosts.
    pub fn passed_on(&self) -> Vec<&'static str> {
        if !self.preload.needs_x() {
            return Vec::new();
        }
        self.variables().iter().flat_map(|variable| ["-x", variable.name]).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A build script shares no code with its crate, so the flags exist twice.
    #[test]
    fn standard_abi_uses_same_flags() {
        let script = include_str!("../build.rs");
        let (_, array) = script.split_once("const FLAGS: &[&str] =").unwrap();
        let (array, _) = array.split_once(';').unwrap();
        let flags: Vec<&str> = array.split('"').skip(1).step_by(2).collect();
        assert_eq!(flags, FLAGS);
    }

    #[test]
    fn limit_has_documented_values() {
        let values = [Limit::Measured, Limit::Receives(0), Limit::None].map(Limit::value);
        assert_eq!(values, ["auto", "0", "none"]);
    }
}
