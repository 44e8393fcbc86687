//! A job with an engine above or below its MPI library.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::below::{self, Below};
use crate::environment::Variable;
use crate::error::RunError;
use crate::folder::Folder;
use crate::hosts::Hosts;
use crate::launcher_options::LauncherOptions;
use crate::overflow::{self, Limit, Overflow};
use crate::report::{self, Process};

/// Request from the command line.
#[derive(Debug, Clone, Default)]
pub struct Request {
    /// `hybrid`, `bins:n=7`
    pub engine: String,
    /// Limit of receives in the MPI library.
    pub limit: Limit,
    /// Uses the libfabric provider below the MPI library.
    pub below: bool,
    /// The requested core provider for `below`. With `None`, Matchpoint chooses the core provider.
    pub core: Option<String>,
    /// Processes without overflowed receives write no report.
    pub quiet: bool,
    /// Compiler of the MPI library, if the launcher has none.
    pub mpicc: Option<PathBuf>,
    /// The folder of the job. With `None`, the job has a temporary folder.
    pub folder: Option<PathBuf>,
    /// Launcher, launcher options, application and arguments.
    pub command: Vec<String>,
}

/// A variant of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// A Matchpoint engine matches messages.
    Ours,
    /// The core provider matches messages.
    Core,
    /// The MPI library in its default configuration.
    Shipped,
}

/// Position of the engine, relative to the MPI library.
#[derive(Debug)]
pub enum Position {
    /// The engine is above the MPI library.
    Above(Box<Overflow>),
    /// The engine is below the MPI library.
    Below(Box<Below>),
}

/// A job that is ready to run.
#[derive(Debug)]
pub struct Job {
    command: Vec<String>,
    /// Position of the engine.
    pub position: Position,
    /// Hosts of the job.
    pub hosts: Hosts,
    /// The engine.
    pub engine: String,
    /// Ranks, if the command has the number.
    pub ranks: Option<u64>,
    /// Program of the command that does not exist on this host.
    pub missing: Option<String>,
    /// Folder of libraries and reports.
    pub folder: Folder,
}

fn variable(name: &str) -> Option<String> {
    env::var_os(name).map(|value| value.to_string_lossy().into_owned())
}

impl Job {
    /// Prepares a job and creates its folder. `program` is the path of the `matchpoint` command. `compiles`
    /// is called before a compilation.
    ///
    /// # Errors
    /// A Matchpoint library was not built, the MPI library is not supported, or settings of the user
    /// contradict each other.
    pub fn prepare(
        request: Request,
        program: &Path,
        compiles: &mut dyn FnMut(&str),
    ) -> Result<Job, RunError> {
        if variable("LD_PRELOAD").is_some_and(|loaded| loaded.contains(overflow::LIBRARY.file)) {
            return Err(RunError(
                "a module has already loaded overflow matching (LD_PRELOAD)\nhint: unload the module, or start the job \
                 without matchpoint run"
                    .to_owned(),
            ));
        }
        let options = LauncherOptions::of(&request.command);
        let hosts = Hosts::of(&options, variable);
        let folder = Folder::make(request.folder.as_deref(), &hosts)?;
        let (engine, mpicc) = (request.engine.as_str(), request.mpicc.as_deref());
        let position = if request.below {
            let settings = below::Settings { engine, core: request.core.as_deref(), mpicc };
            Position::Below(Box::new(Below::prepare(&request.command, settings, &hosts, &folder, program)?))
        } else {
            let settings = overflow::Settings { engine, limit: request.limit, quiet: request.quiet, mpicc };
            Position::Above(Box::new(Overflow::prepare(
                &request.command,
                settings,
                &folder,
                program,
                compiles,
            )?))
        };
        let (engine, command) = (request.engine, request.command);
        Ok(Job { command, position, hosts, engine, ranks: options.ranks, missing: options.missing, folder })
    }

    /// Returns the command for a variant of the job.
    pub fn command(&self, way: Way) -> Command {
        match (way, &self.position) {
            (Way::Ours, Position::Above(overflow)) => overflow.command(),
            (Way::Ours, Position::Below(below)) => below.command(),
            (Way::Core, Position::Below(below)) => below.command_of_core(),
            (Way::Shipped, _) | (Way::Core, Position::Above(_)) => {
                let mut command = Command::new(&self.command[0]);
                command.args(&self.command[1..]);
                command
            }
        }
    }

    /// Variants of a comparison.
    pub fn ways(&self) -> &'static [Way] {
        match self.position {
            Position::Above(_) => &[Way::Ours, Way::Shipped],
            Position::Below(_) => &[Way::Ours, Way::Shipped, Way::Core],
        }
    }

    /// Returns the environment variables of the job.
    pub fn variables(&self) -> Vec<Variable> {
        match &self.position {
            Position::Above(overflow) => overflow.variables(),
            Position::Below(below) => below.variables.clone(),
        }
    }

    /// Adds an environment variable.
    pub fn set(&mut self, variable: Variable) {
        match &mut self.position {
            Position::Above(overflow) => overflow.set(variable),
            Position::Below(below) => below.variables.push(variable),
        }
    }

    /// Options that make Open MPI's launcher pass the variables to other hosts.
    pub fn passed_on(&self) -> Vec<&'static str> {
        match &self.position {
            Position::Above(overflow) => overflow.passed_on(),
            Position::Below(below) => below.passed_on(),
        }
    }

    /// Current reports of the processes.
    pub fn processes(&self) -> Vec<Process> {
        report::read(&self.folder.reports())
    }

    /// The MPI library and the position of the engine, in one line.
    pub fn describe(&self) -> String {
        match &self.position {
            Position::Above(overflow) => format!("{}, overflow matching above it", overflow.mpi()),
            Position::Below(below) => {
                format!("{} over {} ({})", below.stack, below.choice.core, below.choice.why)
            }
        }
    }
}
