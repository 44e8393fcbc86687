//! A job whose messages an engine of ours matches: above its MPI library, or below.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::below::{self, Below};
use crate::environment::Variable;
use crate::error::RunError;
use crate::folder::Folder;
use crate::hosts::Hosts;
use crate::overflow::{self, Limit, Overflow};
use crate::report::{self, Process};
use crate::words::Words;

/// What to run, and how.
#[derive(Debug, Clone, Default)]
pub struct Request {
    /// `hybrid`, `bins:n=7`.
    pub engine: String,
    /// Where receives go to the engine, above the MPI library.
    pub limit: Limit,
    /// Below the MPI library, as a provider of libfabric.
    pub below: bool,
    /// The core provider that transports messages there; otherwise one is chosen.
    pub core: Option<String>,
    /// Processes in which nothing overflowed write no report.
    pub quiet: bool,
    /// The compiler of the MPI library, where the launcher has none.
    pub mpicc: Option<PathBuf>,
    /// The folder of the run; otherwise one is made, and removed.
    pub folder: Option<PathBuf>,
    /// The launcher, its options, the application and its arguments.
    pub command: Vec<String>,
}

/// How a job may run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// An engine of ours matches its messages.
    Ours,
    /// The core provider matches them itself.
    Core,
    /// As the MPI library is shipped.
    Shipped,
}

/// Where the engine is.
#[derive(Debug)]
pub enum Position {
    /// Above the MPI library.
    Above(Box<Overflow>),
    /// Below it.
    Below(Box<Below>),
}

/// A job that is ready to run.
#[derive(Debug)]
pub struct Job {
    command: Vec<String>,
    /// Where the engine is.
    pub position: Position,
    /// How far it reaches.
    pub hosts: Hosts,
    /// The engine.
    pub engine: String,
    /// Ranks, where the command says how many.
    pub ranks: Option<u64>,
    /// The program, if no such program exists on this host.
    pub missing: Option<String>,
    /// Where libraries and reports are.
    pub folder: Folder,
}

fn variable(name: &str) -> Option<String> {
    env::var_os(name).map(|value| value.to_string_lossy().into_owned())
}

impl Job {
    /// Prepares it, and makes the folder. `program` is this command; `compiles` is called before a library is compiled.
    ///
    /// # Errors
    /// A library of ours was not built, the MPI cannot be reached, or the user's settings contradict.
    pub fn prepare(
        request: Request,
        program: &Path,
        compiles: &mut dyn FnMut(&str),
    ) -> Result<Job, RunError> {
        let words = Words::of(&request.command);
        let hosts = Hosts::of(&words, variable);
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
        Ok(Job { command, position, hosts, engine, ranks: words.ranks, missing: words.missing, folder })
    }

    /// The command with all that it needs to run in this way.
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

    /// The ways in which it can be compared.
    pub fn ways(&self) -> &'static [Way] {
        match self.position {
            Position::Above(_) => &[Way::Ours, Way::Shipped],
            Position::Below(_) => &[Way::Ours, Way::Shipped, Way::Core],
        }
    }

    /// What is set.
    pub fn variables(&self) -> Vec<Variable> {
        match &self.position {
            Position::Above(overflow) => overflow.variables(),
            Position::Below(below) => below.variables.clone(),
        }
    }

    /// Sets another variable.
    pub fn set(&mut self, variable: Variable) {
        match &mut self.position {
            Position::Above(overflow) => overflow.set(variable),
            Position::Below(below) => below.variables.push(variable),
        }
    }

    /// Options by which Open MPI's launcher passes the variables to other hosts.
    pub fn passed_on(&self) -> Vec<&'static str> {
        match &self.position {
            Position::Above(overflow) => overflow.passed_on(),
            Position::Below(below) => below.passed_on(),
        }
    }

    /// What processes have reported until now.
    pub fn processes(&self) -> Vec<Process> {
        report::read(&self.folder.reports())
    }

    /// One line: the MPI, and where the engine is.
    pub fn describe(&self) -> String {
        match &self.position {
            Position::Above(overflow) => format!("{}, overflow matching above it", overflow.mpi()),
            Position::Below(below) => {
                format!("{} over {} ({})", below.stack, below.choice.core, below.choice.why)
            }
        }
    }
}
