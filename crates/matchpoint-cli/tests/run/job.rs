//! A job of `matchpoint run`.

use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;
use std::{env, fmt, fs};

use serde_json::Value;
use tempfile::{TempDir, tempdir};

use crate::cluster::{self, Cluster};
use crate::mpi::Mpi;

pub const MATCHPOINT: &str = env!("CARGO_BIN_EXE_matchpoint");

const SECONDS: &str = "100";

/// Environment settings that tests must not use.
pub const SETTINGS: &[&str] = &[
    "FI_PROVIDER",
    "FI_PROVIDER_PATH",
    "I_MPI_FABRICS",
    "I_MPI_OFI_PROVIDER",
    "MATCHPOINT_CORE_FILE",
    "MATCHPOINT_PROVIDER_FILE",
    "MATCHPOINT_WATCH",
    "SLURM_NNODES",
];

/// `matchpoint run`, with separate folders for temporary files and results.
pub struct Job {
    pub folder: TempDir,
    command: Command,
    said: Vec<String>,
}

pub struct Ran {
    pub folder: TempDir,
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
    what: String,
}

impl Job {
    /// Overflow matching with these options. The command follows.
    pub fn new(options: &[&str]) -> Job {
        Job::made(Command::new("timeout"), tempdir().unwrap(), options)
    }

    pub fn below(options: &[&str]) -> Job {
        Job::new(&[&["--below"], options].concat())
    }

    /// A job on the first host of a cluster, in a shared folder.
    pub fn on(cluster: &Cluster, options: &[&str]) -> Job {
        let (mut command, folder) = (cluster.first(), cluster::seen_by_all());
        command.arg("timeout").current_dir(folder.path());
        Job::made(command, folder, options)
    }

    fn made(mut command: Command, folder: TempDir, options: &[&str]) -> Job {
        command.args(["-k", "5", SECONDS, MATCHPOINT, "run"]).args(options);
        command.arg("--json").arg(folder.path().join("run.json")).arg("--");
        for name in SETTINGS {
            command.env_remove(name);
        }
        fs::create_dir(folder.path().join("tmp")).unwrap();
        command.env("TMPDIR", folder.path().join("tmp"));
        Job { folder, command, said: options.iter().map(|&word| word.to_owned()).collect() }
    }

    pub fn with(self, mpi: &Mpi, ranks: u32, program: &Path) -> Job {
        let launcher = mpi.mpiexec();
        self.args([
            launcher.as_os_str(),
            OsStr::new("-n"),
            OsStr::new(&ranks.to_string()),
            program.as_os_str(),
        ])
    }

    pub fn args<T: AsRef<OsStr>>(mut self, words: impl IntoIterator<Item = T>) -> Job {
        for word in words {
            self.said.push(word.as_ref().to_string_lossy().into_owned());
            self.command.arg(word);
        }
        self
    }

    pub fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Job {
        self.command.env(name, value);
        self
    }

    pub fn run(mut self) -> Ran {
        let output = self.command.output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        let ran = Ran {
            folder: self.folder,
            code: output.status.code(),
            stdout: text(output.stdout),
            stderr: text(output.stderr),
            what: self.said.join(" "),
        };
        let places = [ran.folder.path().join("tmp"), ran.folder.path().to_owned()];
        let left: Vec<_> = places.iter().flat_map(|place| fs::read_dir(place).unwrap().flatten()).collect();
        let ours =
            left.iter().filter(|entry| entry.file_name().to_string_lossy().starts_with("matchpoint-run"));
        assert_eq!(ours.count(), 0, "a folder of the run was left: {left:?}\n{ran}");
        ran
    }

    pub fn succeed(self) -> Ran {
        let ran = self.run();
        assert_eq!(ran.code, Some(0), "{ran}");
        ran
    }

    /// Runs the job, which must be refused with one error and perhaps a hint.
    pub fn refused(self) -> String {
        let ran = self.run();
        assert_eq!(ran.code, Some(1), "{ran}");
        assert_eq!(ran.stdout, "", "{ran}");
        // The library may be compiled first.
        let lines = ran.stderr.lines().filter(|line| !line.starts_with("matchpoint: compiling "));
        let lines: Vec<&str> = lines.collect();
        assert!(lines.first().is_some_and(|line| line.starts_with("error: ")), "{ran}");
        assert!(lines.len() == 1 || lines.len() == 2 && lines[1].starts_with("hint: "), "{ran}");
        ran.stderr
    }
}

impl Ran {
    pub fn json(&self) -> Value {
        serde_json::from_slice(&fs::read(self.folder.path().join("run.json")).unwrap()).unwrap()
    }

    pub fn says(&self, words: &str) {
        assert!(self.stderr.contains(words), "not said: {words}\n{self}");
    }

    pub fn ranks(&self) -> Vec<Value> {
        self.json()["ranks"].as_array().unwrap().clone()
    }

    /// Sum of a number over all processes, for example `overflow.receives`.
    pub fn sum(&self, path: &str) -> u64 {
        let number = |rank: &Value| {
            let value = path.split('.').fold(rank, |value, name| &value[name]);
            value.as_u64().unwrap_or_else(|| panic!("{path}: {rank}"))
        };
        self.ranks().iter().map(number).sum()
    }
}

impl fmt::Display for Ran {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}\nexit code {:?}\n{}{}", self.what, self.code, self.stdout, self.stderr)
    }
}
