//! MPI libraries prepared by `scripts/mpi`, and programs built with the libraries.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::{env, fs};

use rustix::process::{Pid, Signal, kill_process};

use crate::left_out::leave_out;
use crate::ran::{CommandOutput, repository};

#[derive(Clone, Debug)]
pub struct Mpi {
    pub name: String,
    bin: PathBuf,
}

pub fn scratch() -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("record");
    fs::create_dir_all(&folder).unwrap();
    folder
}

pub fn cache() -> PathBuf {
    scratch().join("cache")
}

/// Waiting ranks poll, so two jobs at once would be many times slower.
static ONE_JOB: Mutex<()> = Mutex::new(());

pub fn alone() -> MutexGuard<'static, ()> {
    // A panicking test has ended its job.
    ONE_JOB.lock().unwrap_or_else(PoisonError::into_inner)
}

pub fn each(mut test: impl FnMut(&Mpi)) {
    let _alone = alone();
    let all = all();
    if all.is_empty() {
        leave_out("no MPI library", "`scripts/mpi mpich-wheel`");
    }
    for mpi in all {
        eprintln!("with {}", mpi.name);
        test(&mpi);
    }
}

pub fn first() -> Option<Mpi> {
    let first = all().into_iter().next();
    if first.is_none() {
        leave_out("no MPI library", "`scripts/mpi mpich-wheel`");
    }
    first
}

pub fn named(name: &str) -> Option<Mpi> {
    let found = all().into_iter().find(|mpi| mpi.name == name);
    if found.is_none() {
        leave_out(&format!("{name} is not in MATCHPOINT_TEST_MPI"), &format!("add {name} to that variable"));
    }
    found
}

pub fn all() -> Vec<Mpi> {
    let folder = repository("target/mpi");
    let names: Vec<String> = match env::var("MATCHPOINT_TEST_MPI") {
        Ok(names) => names.split_whitespace().map(str::to_owned).collect(),
        Err(_) => {
            let ready = fs::read_dir(&folder).into_iter().flatten().flatten();
            let mut names: Vec<String> = ready
                .filter(|entry| entry.path().join("ready").is_file())
                .map(|entry| entry.file_name().to_string_lossy().into_owned())
                .collect();
            names.sort();
            names
        }
    };
    let made = |name: String| {
        let bin = folder.join(&name).join("bin");
        assert!(bin.join("mpiexec").is_file(), "MATCHPOINT_TEST_MPI: no {name}: run scripts/mpi {name}");
        Mpi { name, bin }
    };
    names.into_iter().map(made).collect()
}

impl Mpi {
    pub fn mpiexec(&self) -> PathBuf {
        self.bin.join("mpiexec")
    }

    pub fn mpicc(&self) -> PathBuf {
        self.bin.join("mpicc")
    }

    pub fn mpifort(&self) -> Option<PathBuf> {
        Some(self.bin.join("mpifort")).filter(|path| path.is_file())
    }

    pub fn venv(&self) -> PathBuf {
        self.bin.join("../venv").canonicalize().unwrap()
    }

    pub fn is_open_mpi(&self) -> bool {
        self.name.contains("openmpi")
    }

    /// The table in `examples/mpi/README.md` has these facts.
    pub fn has_sessions(&self) -> bool {
        self.name != "debian-openmpi"
    }

    pub fn can_spawn(&self) -> bool {
        self.name != "debian-mpich"
    }

    fn build(&self) -> PathBuf {
        let folder = scratch().join(&self.name);
        fs::create_dir_all(&folder).unwrap();
        folder
    }

    pub fn example(&self, name: &str) -> PathBuf {
        let build = self.build();
        let mut make = Command::new("make");
        make.arg("-C").arg(repository("examples/mpi")).arg(format!("MPICC={}", self.mpicc().display()));
        make.arg(format!("BUILD={}", build.display()));
        if let Some(mpifort) = self.mpifort() {
            make.arg(format!("MPIFORT={}", mpifort.display()));
        }
        make.arg(build.join(name));
        run(&mut make);
        build.join(name)
    }

    pub fn library(&self, name: &str) -> PathBuf {
        let library = self.build().join(format!("{name}.so"));
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/record/programs/{name}.c"));
        run(Command::new(self.mpicc())
            .args(["-fPIC", "-shared", "-Wall"])
            .arg(source)
            .arg("-o")
            .arg(&library));
        library
    }

    pub fn program(&self, name: &str) -> PathBuf {
        build_once(self.build().join(name), |program| {
            let source =
                Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/record/programs/{name}.c"));
            let mut mpicc = Command::new(self.mpicc());
            // -rdynamic: preloaded libraries may use symbols of the program.
            mpicc
                .args(["-std=gnu11", "-O1", "-g", "-Wall", "-Wno-stringop-overflow", "-rdynamic", "-iquote"])
                .arg(repository("examples/mpi"))
                .arg(source)
                .arg("-o")
                .arg(program)
                .arg("-lpthread");
            run(&mut mpicc);
        })
    }
}

/// Builds a file once in a test run. A comparison with the sources would be slower.
pub fn build_once(file: PathBuf, build: impl FnOnce(&Path)) -> PathBuf {
    static BUILT: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());
    let mut built = BUILT.lock().unwrap_or_else(PoisonError::into_inner);
    if !built.contains(&file) {
        build(&file);
        built.insert(file.clone());
    }
    file
}

/// Sends a signal. Returns false if the process has ended. Minimal systems lack the program `kill`.
pub fn send_signal(pid: u32, signal: Signal) -> bool {
    let pid = Pid::from_raw(pid.try_into().unwrap()).unwrap();
    kill_process(pid, signal).is_ok()
}

pub fn run(command: &mut Command) {
    CommandOutput::of(command).succeed();
}
