//! Commands with Matchpoint libraries that processes load before the MPI library (`LD_PRELOAD`).

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::compiler::{self, Compiled, Product};
use crate::error::RecordError;
use crate::launcher::Launcher;
use crate::linked::{self, Family};

/// A command with preloaded Matchpoint libraries.
#[derive(Debug)]
pub struct Preload {
    words: Vec<String>,
    launcher: Option<Launcher>,
    /// The library compiled for the command's MPI.
    pub library: Compiled,
    /// Matchpoint libraries loaded before `library`.
    word_before: Vec<PathBuf>,
}

impl Preload {
    /// Finds or compiles the product for the MPI library of the command `words`; without a command, for the
    /// MPI library of `mpicc`. Calls `compiles` before a compilation.
    ///
    /// # Errors
    /// The command is missing or cannot use MPI, or the product is not available for its MPI library.
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
            return Ok(Preload { words: Vec::new(), launcher: None, library, word_before: Vec::new() });
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
        // An application without a launcher is the first word itself.
        let is_launcher = application.as_ref().is_none_or(|(path, _)| *path != found.path[0]);
        let launcher = is_launcher.then_some(found);
        let family = application.as_ref().map(|(_, family)| *family);
        let library = compiler::library(product, launcher.as_ref(), family, mpicc, compiles)?;
        if let Some((path, family)) = application.filter(|(_, family)| *family != library.family) {
            return Err(mismatch_error(&path, family, &library));
        }
        Ok(Preload { words: words.to_vec(), launcher, library, word_before: Vec::new() })
    }

    /// Adds a library before all others.
    pub fn load_before(&mut self, path: PathBuf) {
        self.word_before.insert(0, path);
    }

    fn preload_value(&self, library: &Path) -> String {
        let files = self.word_before.iter().map(PathBuf::as_path).chain([library]);
        files.map(|file| file.to_string_lossy().into_owned()).collect::<Vec<_>>().join(":")
    }

    /// Name and value of the preload variable, followed by the user's preloads. `library`: path of the
    /// compiled library on the processes' hosts.
    pub fn variable(&self, library: &Path) -> (&'static str, OsString) {
        let mut files = OsString::from(self.preload_value(library));
        // A site may preload the same library for all jobs.
        let others = env::var_os(PRELOAD).unwrap_or_default();
        let others = others.to_string_lossy();
        let is_library = |file: &str| Path::new(file).file_name() == library.file_name();
        for other in others.split([':', ' ']).filter(|file| !file.is_empty() && !is_library(file)) {
            files.push(":");
            files.push(other);
        }
        (PRELOAD, files)
    }

    /// The command with these variables and the preload variable.
    pub fn command(&self, library: &Path, variables: &[(&'static str, OsString)]) -> Command {
        let mut command = Command::new(&self.words[0]);
        let preload = self.variable(library);
        let Merged { words, is_set_by_x } = merge(&self.words, &self.preload_value(library));
        // Open MPI's launcher passes only variables of `-x` to other hosts.
        let names = variables.iter().map(|(name, _)| *name).chain((!is_set_by_x).then_some(PRELOAD));
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

    /// True for Open MPI's launcher, which passes only variables of `-x` to other hosts.
    pub fn needs_x(&self) -> bool {
        self.library.family == Family::OpenMpi && self.launcher.as_ref().is_some_and(Launcher::is_of_library)
    }
}

fn mismatch_error(application: &Path, family: Family, library: &Compiled) -> RecordError {
    RecordError(format!(
        "'{}' is linked with {}, but the launcher's MPI is {}\nhint: use the launcher of the application's MPI, or \
         name the compiler of that MPI with --mpicc",
        application.display(),
        family.name(),
        library.library
    ))
}

const PRELOAD: &str = "LD_PRELOAD";

/// A command after the merge of the user's preloads.
#[derive(Debug, PartialEq, Eq)]
struct Merged {
    /// The command, with Matchpoint's libraries before the user's.
    words: Vec<String>,
    /// True if the user's `-x` sets the variable: Open MPI's launcher accepts one `-x` per variable.
    is_set_by_x: bool,
}

/// Adds Matchpoint's libraries before the preloads in the command: `-x LD_PRELOAD=…` (Open MPI), `-genv
/// LD_PRELOAD …` and `-env` (MPICH, Intel MPI), `--export=…,LD_PRELOAD=…` (Slurm), `env LD_PRELOAD=…`.
fn merge(words: &[String], libraries: &str) -> Merged {
    let assignment = format!("{PRELOAD}=");
    let mut merged = Merged { words: Vec::with_capacity(words.len()), is_set_by_x: false };
    for (at, word) in words.iter().enumerate() {
        let word_before =
            |back: usize| at.checked_sub(back).map_or("", |at| words[at].trim_start_matches('-'));
        let is_option = |back: usize| at >= back && words[at - back].starts_with('-');
        let with_libraries = |others: &str| {
            if others.is_empty() { libraries.to_owned() } else { format!("{libraries}:{others}") }
        };
        merged.words.push(if let Some(others) = word.strip_prefix(&assignment) {
            merged.is_set_by_x |= is_option(1) && word_before(1) == "x";
            format!("{assignment}{}", with_libraries(others))
        } else if is_option(2) && matches!(word_before(2), "genv" | "env") && word_before(1) == PRELOAD {
            with_libraries(word)
        } else if let (true, Some((rest, others))) =
            (word.starts_with("--export="), word.split_once(&format!(",{assignment}")))
        {
            format!("{rest},{assignment}{}", with_libraries(others))
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
        (merged.words.join(" "), merged.is_set_by_x)
    }

    #[test]
    fn preloads_of_user_follow_recorder() {
        for (command, with, is_set_by_x) in [
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
            assert_eq!(merged(command), (with.to_owned(), is_set_by_x), "{command}");
        }
    }
}
