//! Errors of `matchpoint record`. Each has a hint, and no job starts.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use tempfile::{TempDir, tempdir};

use crate::job::MATCHPOINT;
use crate::mpi;
use crate::ran::{CommandOutput, script};

struct Setting {
    folder: TempDir,
    command: Command,
}

impl Setting {
    fn new(options: &[&str]) -> Setting {
        let folder = tempdir().unwrap();
        let mut command = Command::new(MATCHPOINT);
        command.arg("record").args(options).arg("-o").arg(folder.path().join("trace"));
        command.env("XDG_CACHE_HOME", folder.path().join("cache")).env_remove("CC");
        Setting { folder, command }
    }

    /// Uses the compiler of an MPI library, and the cache of all tests.
    fn with_compiler() -> Option<Setting> {
        let mpi = mpi::first()?;
        let mut setting = Setting::new(&["--mpicc", mpi.mpicc().to_str().unwrap()]);
        setting.command.env("XDG_CACHE_HOME", mpi::cache());
        Some(setting)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn launcher(&self) -> PathBuf {
        let path = self.path("bin/mpiexec");
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        script(&path, &format!("touch '{}'", self.path("has-run").display()));
        path
    }

    /// The only error and its hint. Asserts that the launcher did not run.
    fn complaint(&mut self, command: &[&Path]) -> String {
        let message = CommandOutput::of(self.command.arg("--").args(command)).exit(1).stderr;
        let is_error = |line: &&str| !line.contains("compiling the recorder") && !line.starts_with("hint: ");
        let lines: Vec<&str> = message.lines().filter(is_error).collect();
        assert!(lines.len() == 1 && lines[0].starts_with("error: "), "{message}");
        assert!(!self.path("has-run").exists(), "the launcher ran: {message}");
        message
    }
}

#[test]
fn missing_command_is_reported() {
    let message = Setting::new(&[]).complaint(&[Path::new("no-such-mpiexec")]);
    assert!(message.contains("no such command: 'no-such-mpiexec'"), "{message}");
}

#[test]
fn option_after_dashes_is_reported() {
    let message = Setting::new(&[]).complaint(&[Path::new("-o"), Path::new("w.trace"), Path::new("mpiexec")]);
    assert!(message.contains("'-o' follows --") && message.contains("before --"), "{message}");
}

#[test]
fn missing_compiler_is_reported() {
    let mut setting = Setting::new(&[]);
    let launcher = setting.launcher();
    setting.command.env("PATH", "");
    let message = setting.complaint(&[&launcher]);
    let needs = "needs the header of your MPI library, but there is no working mpicc";
    for words in [needs, "package of that MPI", "libopenmpi-dev", "--mpicc", "libmpi_abi"] {
        assert!(message.contains(words), "{message}");
    }
    assert!(!setting.path("trace").exists());
}

#[test]
fn wrong_compiler_is_reported() {
    for (mpicc, words) in
        [("/bin/false", "cannot compile the recorder"), ("/nowhere/mpicc", "name another compiler")]
    {
        let mut setting = Setting::new(&["--mpicc", mpicc]);
        let launcher = setting.launcher();
        let message = setting.complaint(&[&launcher]);
        assert!(message.contains(mpicc) && message.contains(words), "{message}");
    }
}

#[test]
fn failing_compiler_is_reported() {
    let mut setting = Setting::new(&[]);
    let launcher = setting.launcher();
    let mpicc = setting.path("mpicc");
    let fails =
        "case $1 in -E) echo '#define MPI_VERSION 3';; *) echo 'mpicc: out of order' >&2; exit 1;; esac";
    script(&mpicc, fails);
    setting.command.arg("--mpicc").arg(&mpicc);
    let message = setting.complaint(&[&launcher]);
    assert!(
        message.contains("out of order") && message.contains("name another compiler with --mpicc"),
        "{message}"
    );
}

#[test]
fn nonempty_folder_is_refused() {
    let _alone = mpi::alone();
    for (file, words) in [("rank-00000.mpt", "--replace"), ("notes.txt", "name another")] {
        let Some(mut setting) = Setting::with_compiler() else { return };
        let launcher = setting.launcher();
        fs::create_dir(setting.path("trace")).unwrap();
        fs::write(setting.path("trace").join(file), "mine").unwrap();
        let message = setting.complaint(&[&launcher]);
        assert!(message.contains("is not empty") && message.contains(words), "{message}");
        assert_eq!(fs::read_to_string(setting.path("trace").join(file)).unwrap(), "mine");
    }
}

#[test]
fn unwritable_cache_is_reported() {
    let _alone = mpi::alone();
    let Some(mut setting) = Setting::with_compiler() else { return };
    let launcher = setting.launcher();
    setting.command.env("XDG_CACHE_HOME", setting.path("cache"));
    // Root can write to any folder, so a file is in place of the folder.
    fs::write(setting.path("cache"), "").unwrap();
    let message = setting.complaint(&[&launcher]);
    assert!(
        message.contains("cache/matchpoint/record") && message.contains("check the path and its permissions"),
        "{message}"
    );
}

#[test]
fn missing_cache_folder_is_reported() {
    let _alone = mpi::alone();
    let Some(mut setting) = Setting::with_compiler() else { return };
    let launcher = setting.launcher();
    setting.command.env_remove("XDG_CACHE_HOME").env_remove("HOME");
    let message = setting.complaint(&[&launcher]);
    assert!(message.contains("set HOME or XDG_CACHE_HOME"), "{message}");
}

#[test]
fn command_without_mpi_is_refused() {
    let mut setting = Setting::new(&[]);
    let message = setting.complaint(&[Path::new("ls")]);
    assert!(message.contains("'ls' does not use MPI"), "{message}");
    assert!(!message.contains("compiling") && !setting.path("trace").exists(), "{message}");
}

#[test]
fn job_without_mpi_is_reported() {
    let _alone = mpi::alone();
    for (command, words) in
        [("exit 0", "calls MPI_Init"), ("exit 3", "before a process with the recorder wrote a call")]
    {
        let Some(mut setting) = Setting::with_compiler() else { return };
        let message = setting.complaint(&[Path::new("sh"), Path::new("-c"), Path::new(command)]);
        assert!(message.contains("nothing was recorded") && message.contains(words), "{message}");
        assert!(!setting.path("trace").exists(), "an empty trace is left");
    }
    assert!(env::var_os("MATCHPOINT_RECORD_DIR").is_none());
}
