//! A job with the provider under it: what was found, what is set, the command.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::choice::{self, Choice};
use crate::environment::{self, Variable};
use crate::error::RunError;
use crate::folder::{self, Folder};
use crate::hosts::Hosts;
use crate::libfabric::{self, Fabric};
use crate::report::{self, Process};
use crate::stack::{self, Stack, Vendor};
use crate::words::Words;

/// What to run, and how.
#[derive(Debug, Clone, Default)]
pub struct Request {
    /// `hybrid`, `bins:n=7`.
    pub engine: String,
    /// What is to transport messages; else it is chosen.
    pub core: Option<String>,
    /// The compiler of the MPI library, where neither launcher nor application tell.
    pub mpicc: Option<PathBuf>,
    /// The folder of the run; else one is made, and removed.
    pub folder: Option<PathBuf>,
    /// The launcher, its options, the application and its arguments.
    pub command: Vec<String>,
}

/// How a job may run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// Its messages matched by an engine of ours.
    Ours,
    /// Over the same core, which matches them itself.
    Core,
    /// As if we were not there.
    Shipped,
}

/// A job that is ready to run.
#[derive(Debug)]
pub struct Job {
    command: Vec<String>,
    /// The MPI.
    pub stack: Stack,
    /// What its libfabric said, if it could be asked.
    pub fabric: Option<Fabric>,
    /// How far it reaches.
    pub hosts: Hosts,
    /// What transports its messages.
    pub choice: Choice,
    /// The engine.
    pub engine: String,
    /// What is set.
    pub variables: Vec<Variable>,
    /// Ranks, where the command says how many.
    pub ranks: Option<u64>,
    /// Where the provider and the reports are.
    pub folder: Folder,
}

/// Variables that are passed on if the user has set them: they help when libfabric does not work.
const PASSED_ON: &[&str] = &["FI_LOG_LEVEL"];

fn variable(name: &str) -> Option<String> {
    env::var_os(name).map(|value| value.to_string_lossy().into_owned())
}

impl Job {
    /// Finds out all of it, and makes the folder. `program` is this command, which can [`libfabric::answer`].
    ///
    /// # Errors
    /// The provider was not built, the MPI cannot be reached by it, or the user's settings contradict.
    pub fn prepare(request: Request, program: &Path) -> Result<Job, RunError> {
        let stack = stack::find(&request.command, request.mpicc.as_deref())?;
        let words = Words::of(&request.command);
        let hosts = Hosts::of(&words, variable);
        let asked = match request.core {
            Some(core) => Some((core, "--core".to_owned())),
            None => environment::chosen(&stack, variable)?,
        };
        let folders = environment::provider_folders(&stack, variable);
        let fabric = stack.fabric.as_ref().and_then(|library| libfabric::ask(program, library, &folders));
        let choice = choice::choose(&stack, fabric.as_ref(), &hosts, asked.as_ref())?;
        let provider = folder::provider(env::var_os(folder::VARIABLE).map(PathBuf::from), program)?;
        let folder = Folder::make(request.folder.as_deref(), &hosts, &provider, &choice.core, &folders)?;
        let mut variables =
            environment::variables(&stack, &choice, &request.engine, &folder.providers(), &folder.reports());
        environment::reconcile(&mut variables, &words, variable)?;
        let (engine, command) = (request.engine, request.command);
        Ok(Job { command, stack, fabric, hosts, choice, engine, variables, ranks: words.ranks, folder })
    }

    /// The command with all that it needs to run in this way.
    pub fn command(&self, way: Way) -> Command {
        let of_core;
        let variables = match way {
            Way::Ours => &self.variables[..],
            Way::Core => {
                of_core = environment::through(&self.stack, &self.choice.core);
                &of_core
            }
            Way::Shipped => &[],
        };
        let mut command = Command::new(&self.command[0]);
        if way != Way::Shipped {
            command.args(self.hand_on(variables));
        }
        command.args(&self.command[1..]);
        command.envs(variables.iter().map(|variable| (variable.name, &variable.value)));
        command
    }

    /// Options that hand our variables on: Open MPI's launcher does so by itself only for its own, and on this host.
    pub fn handed_on(&self) -> Vec<&'static str> {
        self.hand_on(&self.variables)
    }

    /// The same for variables that the user has set.
    fn hand_on(&self, variables: &[Variable]) -> Vec<&'static str> {
        if self.stack.vendor != Vendor::OpenMpi || !self.stack.own_launcher {
            return Vec::new();
        }
        let names = variables.iter().map(|variable| variable.name);
        let set = PASSED_ON.iter().copied().filter(|name| env::var_os(name).is_some());
        names.filter(|name| !name.starts_with("OMPI_")).chain(set).flat_map(|name| ["-x", name]).collect()
    }

    /// What processes have told until now.
    pub fn processes(&self) -> Vec<Process> {
        report::read(&self.folder.reports())
    }

    /// One line: what was found, and what is done.
    pub fn describe(&self) -> String {
        format!("{} over {} ({})", self.stack, self.choice.core, self.choice.why)
    }
}
