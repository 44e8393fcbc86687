//! Libraries of ours that are loaded into the processes of a job ahead of its MPI library, by `LD_PRELOAD`.
//!
//! There is one such variable: what the user preloads, in the environment or by options of the launcher, stays behind ours.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::compiler::{self, Compiled, Product};
use crate::error::RecordError;
use crate::launcher::Launcher;
use crate::linked::{self, Family};

/// A command whose processes load libraries of ours.
#[derive(Debug)]
pub struct Preload {
    words: Vec<String>,
    launcher: Option<Launcher>,
    /// The library that was compiled for its MPI.
    pub library: Compiled,
    /// Loaded before it.
    before: Vec<PathBuf>,
}

impl Preload {
    /// Finds the MPI library of a command, and the product for it: from the cache, or compiled. Nothing runs, but for a
    /// compiler; `compiles` is called before that. Without a command it is for every job of the MPI of `mpicc`.
    ///
    /// # Errors
    /// The command is not there, it cannot use MPI, or the product cannot be had for its MPI library.
    pub fn prepare(
        product: &Product,
        words: &[String],
        mpicc: Option<&Path>,
        compiles: &mut dyn FnMut(&str),
    ) -> Result<Preload, RecordError> {
        let Some(first) = words.first() else {
            let Some(mpicc) = mpicc else {
                return Err(RecordError("no command\nhint: put the command after --".to_owned()));
            };
            let library = compiler::library(product, None, None, Some(mpicc), compiles)?;
            return Ok(Preload { words: Vec::new(), launcher: None, library, before: Vec::new() });
        };
        let Some(found) = Launcher::of(words) else {
            return Err(RecordError(Launcher::not_found(first)));
        };
        let application = linked::application(words);
        if application.is_none() && found.at == 0 && linked::is_without_mpi(&found.path[0]) {
            return Err(RecordError(format!(
                "'{first}' does not use MPI: it is linked with system libraries only\nhint: put the launcher and the \
                 application after --"
            )));
        }
        // Without a launcher the application starts itself.
        let is_launcher = application.as_ref().is_none_or(|(path, _)| *path != found.path[0]);
        let launcher = is_launcher.then_some(found);
        let family = application.as_ref().map(|(_, family)| *family);
        let library = compiler::library(product, launcher.as_ref(), family, mpicc, compiles)?;
        if let Some((path, family)) = application.filter(|(_, family)| *family != library.family) {
            return Err(mismatch(&path, family, &library));
        }
        Ok(Preload { words: words.to_vec(), launcher, library, before: Vec::new() })
    }

    /// Has another library be loaded before those that are.
    pub fn load_before(&mut self, path: PathBuf) {
        self.before.insert(0, path);
    }

    fn files(&self, library: &Path) -> String {
        let files = self.before.iter().map(PathBuf::as_path).chain([library]);
        files.map(|file| file.to_string_lossy().into_owned()).collect::<Vec<_>>().join(":")
    }

    /// The variable that the processes need in their environment, and its value. `library` is where they find it.
    pub fn variable(&self, library: &Path) -> (&'static str, OsString) {
        let mut files = OsString::from(self.files(library));
        // A site may preload the same library for every job: once is enough.
        let others = env::var_os(PRELOAD).unwrap_or_default();
        let others = others.to_string_lossy();
        let is_ours = |file: &str| Path::new(file).file_name() == library.file_name();
        for other in others.split([':', ' ']).filter(|file| !file.is_empty() && !is_ours(file)) {
            files.push(":");
            files.push(other);
        }
        (PRELOAD, files)
    }

    /// The command with these variables, and ours, in the environment of its processes.
    pub fn command(&self, library: &Path, variables: &[(&'static str, OsString)]) -> Command {
        let mut command = Command::new(&self.words[0]);
        let preload = self.variable(library);
        let Merged { words, by_x } = merge(&self.words, &self.files(library));
        // Open MPI's launcher passes to processes on other hosts only what `-x` names.
        let names = variables.iter().map(|(name, _)| *name).chain((!by_x).then_some(PRELOAD));
        let at = self.launcher.as_ref().map_or(0, |launcher| launcher.at);
        command.args(&words[1..=at]);
        if self.needs_x() {
            command.args(names.flat_map(|name| ["-x", name]));
        }
        command.args(&words[at + 1..]);
        command.envs(variables.iter().map(|(name, value)| (name, value)));
        command.env(preload.0, preload.1);
        command
    }

    /// Whether the launcher is Open MPI's, which passes on only the variables that `-x` names.
    pub fn needs_x(&self) -> bool {
        self.library.family == Family::OpenMpi && self.launcher.as_ref().is_some_and(Launcher::is_of_library)
    }
}

fn mismatch(application: &Path, family: Family, library: &Compiled) -> RecordError {
    RecordError(format!(
        "'{}' is linked with {}, but the launcher's MPI is {}\nhint: use the launcher of its MPI, or name the \
         compiler of that MPI with --mpicc",
        application.display(),
        family.name(),
        library.library
    ))
}

/// The variable.
const PRELOAD: &str = "LD_PRELOAD";

/// The words of a command in which the user sets the variable.
#[derive(Debug, PartialEq, Eq)]
struct Merged {
    /// With our libraries ahead of what they name.
    words: Vec<String>,
    /// It was by `-x`, which Open MPI's launcher may be given once for each variable.
    by_x: bool,
}

/// Puts our libraries ahead of what the words of a command preload: `-x LD_PRELOAD=…` (Open MPI), `-genv LD_PRELOAD …` and
/// `-env` (MPICH, Intel MPI), `--export=…,LD_PRELOAD=…` (Slurm), `env LD_PRELOAD=…`.
fn merge(words: &[String], ours: &str) -> Merged {
    let assignment = format!("{PRELOAD}=");
    let mut merged = Merged { words: Vec::with_capacity(words.len()), by_x: false };
    for (at, word) in words.iter().enumerate() {
        let before = |back: usize| at.checked_sub(back).map_or("", |at| words[at].trim_start_matches('-'));
        let is_option = |back: usize| at >= back && words[at - back].starts_with('-');
        let ahead = |others: &str| {
            if others.is_empty() { ours.to_owned() } else { format!("{ours}:{others}") }
        };
        merged.words.push(if let Some(others) = word.strip_prefix(&assignment) {
            merged.by_x |= is_option(1) && before(1) == "x";
            format!("{assignment}{}", ahead(others))
        } else if is_option(2) && matches!(before(2), "genv" | "env") && before(1) == PRELOAD {
            ahead(word)
        } else if let (true, Some((rest, others))) =
            (word.starts_with("--export="), word.split_once(&format!(",{assignment}")))
        {
            format!("{rest},{assignment}{}", ahead(others))
        } else {
            word.clone()
        });
    }
    merged
}

#[cfg(test)]
mod tests {
    use super::*;

    fn merged(command: &str) -> (String, bool) {
        let words: Vec<String> = command.split(' ').map(str::to_owned).collect();
        let merged = merge(&words, "/r.so");
        (merged.words.join(" "), merged.by_x)
    }

    #[test]
    fn preloads_of_user_follow_recorder() {
        for (command, with, by_x) in [
            ("mpiexec -n 2 ./a", "mpiexec -n 2 ./a", false),
            ("mpiexec -x LD_PRELOAD=/u.so ./a", "mpiexec -x LD_PRELOAD=/r.so:/u.so ./a", true),
            ("mpiexec -x LD_PRELOAD ./a", "mpiexec -x LD_PRELOAD ./a", false),
            ("mpiexec -x LD_PRELOAD= ./a", "mpiexec -x LD_PRELOAD=/r.so ./a", true),
            ("mpiexec -genv LD_PRELOAD /u.so ./a", "mpiexec -genv LD_PRELOAD /r.so:/u.so ./a", false),
            ("mpiexec -env LD_PRELOAD /u.so ./a", "mpiexec -env LD_PRELOAD /r.so:/u.so ./a", false),
            ("mpiexec -genv LD_LIBRARY_PATH /u ./a", "mpiexec -genv LD_LIBRARY_PATH /u ./a", false),
            (
                "srun --export=ALL,LD_PRELOAD=/u.so,A=1 ./a",
                "srun --export=ALL,LD_PRELOAD=/r.so:/u.so,A=1 ./a",
                false,
            ),
            ("mpiexec -n 2 env LD_PRELOAD=/u.so ./a", "mpiexec -n 2 env LD_PRELOAD=/r.so:/u.so ./a", false),
        ] {
            assert_eq!(merged(command), (with.to_owned(), by_x), "{command}");
        }
    }
}
