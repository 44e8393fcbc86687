//! Each obstacle gives one error with a hint, and nothing runs.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use tempfile::{TempDir, tempdir};

use crate::job::MATCHPOINT;
use crate::mpi;

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

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A launcher that leaves a file if it runs.
    fn launcher(&self) -> PathBuf {
        let path = self.path("bin/mpiexec");
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, format!("#!/bin/sh\ntouch '{}'\n", self.path("has-run").display())).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    /// The error and its hint.
    fn complaint(&mut self, command: &[&Path]) -> String {
        let output = self.command.arg("--").args(command).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{said}");
        let lines: Vec<&str> = said.lines().filter(|line| !line.contains("compiling the recorder")).collect();
        assert!(lines.len() == 1 && lines[0].starts_with("matchpoint: error: "), "{said}");
        assert!(!self.path("has-run").exists(), "it was run: {said}");
        said
    }
}

#[test]
fn a_command_that_is_not_there() {
    let said = Setting::new(&[]).complaint(&[Path::new("no-such-mpiexec")]);
    assert!(said.contains("no-such-mpiexec: no such command"), "{said}");
}

#[test]
fn an_option_of_ours_behind_the_dashes() {
    let said = Setting::new(&[]).complaint(&[Path::new("-o"), Path::new("w.trace"), Path::new("mpiexec")]);
    assert!(said.contains("-o stands behind --") && said.contains("before --"), "{said}");
}

#[test]
fn no_compiler_and_no_header() {
    let mut setting = Setting::new(&[]);
    let launcher = setting.launcher();
    setting.command.env("PATH", "");
    let said = setting.complaint(&[&launcher]);
    for words in ["no working mpicc", "libopenmpi-dev", "--mpicc", "libmpi_abi"] {
        assert!(said.contains(words), "{said}");
    }
    assert!(!setting.path("trace").exists());
}

#[test]
fn a_compiler_that_is_none() {
    for (mpicc, words) in
        [("/bin/false", "could not compile the recorder"), ("/nowhere/mpicc", "name another compiler")]
    {
        let mut setting = Setting::new(&["--mpicc", mpicc]);
        let launcher = setting.launcher();
        let said = setting.complaint(&[&launcher]);
        assert!(said.contains(mpicc) && said.contains(words), "{said}");
    }
}

/// A compiler that fails after the header check.
#[test]
fn a_compiler_that_breaks() {
    let mut setting = Setting::new(&["--mpicc", "DIR"]);
    let launcher = setting.launcher();
    let mpicc = setting.path("mpicc");
    let script = "#!/bin/sh\ncase $1 in -E) echo '#define MPI_VERSION 3';; *) echo 'mpicc: out of order' >&2; exit 1;; esac\n";
    fs::write(&mpicc, script).unwrap();
    fs::set_permissions(&mpicc, fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = Command::new(MATCHPOINT);
    command.arg("record").arg("--mpicc").arg(&mpicc).arg("-o").arg(setting.path("trace"));
    command.env("XDG_CACHE_HOME", setting.path("cache"));
    setting.command = command;
    let said = setting.complaint(&[&launcher]);
    assert!(said.contains("out of order") && said.contains("name another with --mpicc"), "{said}");
}

#[test]
fn a_folder_that_is_not_empty() {
    let _alone = mpi::alone();
    let Some(mpi) = mpi::first() else { return };
    for (file, words) in [("rank-00000.mpt", "--replace"), ("notes.txt", "name another")] {
        let mut setting = Setting::new(&["--mpicc", mpi.mpicc().to_str().unwrap()]);
        setting.command.env("XDG_CACHE_HOME", mpi::cache());
        let launcher = setting.launcher();
        fs::create_dir(setting.path("trace")).unwrap();
        fs::write(setting.path("trace").join(file), "mine").unwrap();
        let said = setting.complaint(&[&launcher]);
        assert!(said.contains("is not empty") && said.contains(words), "{said}");
        assert_eq!(fs::read_to_string(setting.path("trace").join(file)).unwrap(), "mine");
    }
}

#[test]
fn a_cache_that_cannot_be_written() {
    let _alone = mpi::alone();
    let Some(mpi) = mpi::first() else { return };
    let mut setting = Setting::new(&["--mpicc", mpi.mpicc().to_str().unwrap()]);
    let launcher = setting.launcher();
    // A file in place of the folder also stops root.
    fs::write(setting.path("cache"), "").unwrap();
    let said = setting.complaint(&[&launcher]);
    assert!(
        said.contains("cache/matchpoint/record") && said.contains("check the path and its permissions"),
        "{said}"
    );
}

#[test]
fn no_place_for_a_cache() {
    let _alone = mpi::alone();
    let Some(mpi) = mpi::first() else { return };
    let mut setting = Setting::new(&["--mpicc", mpi.mpicc().to_str().unwrap()]);
    let launcher = setting.launcher();
    setting.command.env_remove("XDG_CACHE_HOME").env_remove("HOME");
    let said = setting.complaint(&[&launcher]);
    assert!(said.contains("set HOME or XDG_CACHE_HOME"), "{said}");
}

/// Nothing is compiled or created for a command without MPI.
#[test]
fn a_command_that_calls_no_mpi() {
    let mut setting = Setting::new(&[]);
    let said = setting.complaint(&[Path::new("ls")]);
    assert!(said.contains("ls calls no MPI"), "{said}");
    assert!(!said.contains("compiling") && !setting.path("trace").exists(), "{said}");
}

/// The job succeeds, but the missing calls are reported.
#[test]
fn a_job_without_mpi() {
    let _alone = mpi::alone();
    let Some(mpi) = mpi::first() else { return };
    for (command, words) in
        [("exit 0", "must call MPI_Init"), ("exit 3", "before any process had written a call")]
    {
        let mut setting = Setting::new(&["--mpicc", mpi.mpicc().to_str().unwrap()]);
        setting.command.env("XDG_CACHE_HOME", mpi::cache());
        let said = setting.complaint(&[Path::new("sh"), Path::new("-c"), Path::new(command)]);
        assert!(said.contains("nothing was recorded") && said.contains(words), "{said}");
        assert!(!setting.path("trace").exists(), "an empty trace is left");
    }
    assert!(env::var_os("MATCHPOINT_RECORD_DIR").is_none());
}
