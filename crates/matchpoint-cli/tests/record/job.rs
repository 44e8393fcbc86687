//! Recorded and analyzed jobs.

use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::Duration;
use std::{env, fs, thread};

use rustix::process::Signal;
use serde_json::Value;
use tempfile::{TempDir, tempdir};

use crate::cluster::{self, Cluster};
pub use crate::launch::{Job, JobOutput};
use crate::mpi::{self, Mpi};
use crate::ran;
pub use crate::ran::MATCHPOINT;

/// Time limit of a job, in seconds.
const SECONDS: &str = "120";

pub const TIMED_OUT: i32 = 124;

/// The program under `timeout`. Some tests empty PATH, so the path of `timeout` is absolute.
pub fn limited(program: &str) -> Command {
    let mut command = Command::new(timeout());
    command.args(["-k", "5", SECONDS, program]);
    command.env("XDG_CACHE_HOME", mpi::cache());
    command
}

fn timeout() -> PathBuf {
    let folders = env::var_os("PATH").unwrap();
    let timeout = env::split_paths(&folders).map(|folder| folder.join("timeout")).find(|path| path.is_file());
    timeout.expect("coreutils have timeout")
}

impl Job {
    /// `matchpoint record`. The caller adds the command of the job.
    pub fn new(options: &[&str]) -> Job {
        Job::made(limited(MATCHPOINT), tempdir().unwrap(), options)
    }

    /// The job runs on the first host of a cluster, and the trace is in a shared folder.
    pub fn on(cluster: &Cluster, options: &[&str]) -> Job {
        let mut command = cluster.first();
        command.arg(timeout()).args(["-k", "5", SECONDS, MATCHPOINT]);
        command.env("XDG_CACHE_HOME", mpi::cache());
        Job::made(command, cluster::seen_by_all(), options)
    }

    fn made(mut command: Command, folder: TempDir, options: &[&str]) -> Job {
        command.arg("record").args(options).arg("-o").arg(folder.path().join("trace")).arg("--");
        Job { folder, command }
    }

    pub fn of(mpi: &Mpi, ranks: u32, program: &Path) -> Job {
        Job::new(&[]).with(mpi, ranks, program)
    }

    pub fn directory(mut self, folder: &Path) -> Job {
        self.command.current_dir(folder);
        self
    }

    pub fn start(mut self) -> Running {
        let to = |name: &str| fs::File::create(self.folder.path().join(name)).unwrap();
        let child = self.command.stdout(to("stdout")).stderr(to("stderr")).spawn().unwrap();
        Running { folder: self.folder, child, what: format!("{:?}", self.command) }
    }
}

/// A running job. Dropping the value ends the job.
pub struct Running {
    pub folder: TempDir,
    child: Child,
    what: String,
}

impl Running {
    pub fn trace(&self) -> PathBuf {
        self.folder.path().join("trace")
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    pub fn description(&self) -> String {
        format!("{}\n{}", self.what, self.printed())
    }

    fn printed(&self) -> String {
        let read = |name: &str| fs::read_to_string(self.folder.path().join(name)).unwrap_or_default();
        read("stdout") + &read("stderr")
    }

    pub fn wait_for(&mut self, words: &str) {
        while !self.printed().contains(words) {
            assert!(self.child.try_wait().unwrap().is_none(), "{}", self.description());
            thread::sleep(Duration::from_millis(50));
        }
    }

    pub fn end(mut self) -> TempDir {
        let status = self.child.wait().unwrap();
        assert!(status.success(), "{status}: {}", self.description());
        std::mem::replace(&mut self.folder, tempdir().unwrap())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // After a failed test, SIGTERM to `timeout` ends the job.
        if matches!(self.child.try_wait(), Ok(None)) {
            mpi::send_signal(self.child.id(), Signal::TERM);
            let _ = self.child.wait();
        }
    }
}

impl JobOutput {
    pub fn trace(&self) -> PathBuf {
        self.folder.path().join("trace")
    }

    pub fn manifest(&self) -> Value {
        manifest(&self.trace())
    }

    pub fn report(&self) -> Value {
        analyze(&self.trace())
    }

    pub fn report_of(&self, engine: &str) -> Value {
        analyze_with(&self.trace(), &["--engine", engine])
    }

    pub fn log(&self) -> String {
        let own = self.stderr.lines().filter(|line| line.starts_with("matchpoint: "));
        own.collect::<Vec<_>>().join("\n")
    }
}

pub fn manifest(trace: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(trace.join("manifest.json")).unwrap()).unwrap()
}

pub fn analyze(trace: &Path) -> Value {
    analyze_with(trace, &[])
}

fn analyze_with(trace: &Path, options: &[&str]) -> Value {
    let mut command = limited(MATCHPOINT);
    command.arg("analyze").arg(trace).args(["--json", "-"]).args(options);
    ran::CommandOutput::of(&mut command).succeed().json()
}

/// The number at a path of the JSON report, such as `replay.lost_messages`.
pub fn number(report: &Value, path: &str) -> u64 {
    let found = report.pointer(&format!("/{}", path.replace('.', "/")));
    found.and_then(Value::as_u64).unwrap_or_else(|| panic!("no number {path}: {found:?}"))
}

/// Asserts `is_matched`, and that the replay completed no blocked call.
pub fn is_whole(report: &Value, what: &str) {
    is_matched(report, what);
    let released = report["replay"]["released"].as_object().unwrap();
    assert!(released.values().all(|count| count == 0), "{released:?}: {what}");
}

/// Asserts that all engines agree, no queue entry remains, and no message was reconstructed.
pub fn is_matched(report: &Value, what: &str) {
    for path in [
        "replay.made_up_messages",
        "replay.lost_messages",
        "replay.unmatched_receives",
        "replay.unmatched_messages",
    ] {
        assert_eq!(number(report, path), 0, "{path}: {what}");
    }
    engines_agree(report, what);
}

pub fn engines_agree(report: &Value, what: &str) {
    let engines = report["engines"].as_array().unwrap();
    assert_eq!(engines.len(), matchpoint::engines::REGISTRY.len(), "{what}");
    for engine in engines {
        let name = &engine["name"];
        assert_eq!(engine["disagreements"], 0, "{name}: {what}");
        assert_eq!(engine["matched"], engines[0]["matched"], "{name}: {what}");
    }
}
