//! The libfabric provider below the MPI library of a job.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::choice::{self, Choice};
use crate::environment::{self, Variable};
use crate::error::RunError;
use crate::folder::{Folder, PROVIDER};
use crate::hosts::Hosts;
use crate::launcher_options::LauncherOptions;
use crate::libfabric::{self, Fabric};
use crate::stack::{self, Stack, Vendor};

/// The user diagnoses libfabric with these variables, which the launcher passes to other hosts.
const PASSED_ON: &[&str] = &["FI_LOG_LEVEL"];

/// A job with the provider below its MPI library.
#[derive(Debug)]
pub struct Below {
    command: Vec<String>,
    /// The MPI library of the job.
    pub stack: Stack,
    /// The version and providers of the MPI library's libfabric, if known.
    pub fabric: Option<Fabric>,
    /// Core provider, and reason.
    pub choice: Choice,
    /// The environment variables of the job.
    pub variables: Vec<Variable>,
}

/// Settings of a job with the provider below its MPI library.
#[derive(Debug, Clone, Copy)]
pub struct Settings<'a> {
    /// `hybrid`, `bins:n=7`
    pub engine: &'a str,
    /// If the user requests one.
    pub core: Option<&'a str>,
    /// Compiler of the MPI library, if the launcher has none.
    pub mpicc: Option<&'a Path>,
}

fn variable(name: &str) -> Option<String> {
    env::var_os(name).map(|value| value.to_string_lossy().into_owned())
}

impl Below {
    /// Finds MPI library and libfabric, and chooses the core provider. `program`, the `matchpoint` command,
    /// implements [`libfabric::answer`].
    ///
    /// # Errors
    /// The provider was not built, the MPI library cannot use it, or the user's settings contradict.
    pub fn prepare(
        words: &[String],
        settings: Settings<'_>,
        hosts: &Hosts,
        folder: &Folder,
        program: &Path,
    ) -> Result<Below, RunError> {
        let stack = stack::find(words, settings.mpicc)?;
        let requested = match settings.core {
            Some(core) => Some((core.to_owned(), "--core".to_owned())),
            None => environment::requested_provider(&stack, variable)?,
        };
        let folders = environment::provider_folders(&stack, variable);
        let fabric = stack.fabric.as_ref().and_then(|library| libfabric::ask(program, library, &folders));
        let choice = choice::choose(&stack, fabric.as_ref(), hosts, requested.as_ref())?;
        let provider = PROVIDER.find(env::var_os(PROVIDER.variable).map(PathBuf::from), program)?;
        folder.add_providers(&provider, &choice.core, &folders)?;
        let mut variables =
            environment::variables(&stack, &choice, settings.engine, &folder.providers(), &folder.reports());
        environment::reconcile(&mut variables, &LauncherOptions::of(words), variable)?;
        Ok(Below { command: words.to_vec(), stack, fabric, choice, variables })
    }

    /// The user's command with the provider below the MPI library.
    pub fn command(&self) -> Command {
        self.command_with(&self.variables)
    }

    /// The user's command with the same core provider, which matches messages itself.
    pub fn command_of_core(&self) -> Command {
        self.command_with(&environment::provider_variables(&self.stack, &self.choice.core))
    }

    fn command_with(&self, variables: &[Variable]) -> Command {
        let mut command = Command::new(&self.command[0]);
        command.args(self.pass_on(variables));
        command.args(&self.command[1..]);
        command.envs(variables.iter().map(|variable| (variable.name, &variable.value)));
        command
    }

    /// Options that make Open MPI's launcher pass the variables to other hosts.
    pub fn passed_on(&self) -> Vec<&'static str> {
        self.pass_on(&self.variables)
    }

    fn pass_on(&self, variables: &[Variable]) -> Vec<&'static str> {
        if self.stack.vendor != Vendor::OpenMpi || !self.stack.own_launcher {
            return Vec::new();
        }
        let names = variables.iter().map(|variable| variable.name);
        let set = PASSED_ON.iter().copied().filter(|name| env::var_os(name).is_some());
        names.filter(|name| !name.starts_with("OMPI_")).chain(set).flat_map(|name| ["-x", name]).collect()
    }
}
