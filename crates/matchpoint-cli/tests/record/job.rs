//! A recorded and analyzed job.

use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::Duration;
use std::{env, fs, thread};

use rustix::process::Signal;
use serde_json::Value;
use tempfile::{TempDir, tempdir};

use crate::cluster::{self, Cluster};
pub use crate::launch::{Job, Ran};
use crate::mpi::{self, Mpi};
use crate::ran;
pub use crate::ran::MATCHPOINT;

/// Time limit of a job in seconds.
const SECONDS: &str = "120";

/// Exit code of `timeout` at the limit.
pub const TIMED_OUT: i32 = 124;

/// Runs with `timeout`, found before a test empties the path.
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
    /// `matchpoint record` with these options. The command follows.
    pub fn new(options: &[&str]) -> Job {
        Job::made(limited(MATCHPOINT), tempdir().unwrap(), options)
    }

    /// On the first host of a cluster, with a shared folder.
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

    /// This number of ranks of a program.
    pub fn of(mpi: &Mpi, ranks: u32, program: &Path) -> Job {
        Job::new(&[]).with(mpi, ranks, program)
    }

    pub fn directory(mut self, folder: &Path) -> Job {
        self.command.current_dir(folder);
        self
    }

    pub fn start(mut self) -> Going {
        let to = |name: &str| fs::File::create(self.folder.path().join(name)).unwrap();
        let child = self.command.stdout(to("stdout")).stderr(to("stderr")).spawn().unwrap();
        Going { folder: self.folder, child, what: format!("{:?}", self.command) }
    }
}

/// A running job, which ends on drop.
pub struct Going {
    pub folder: TempDir,
    child: Child,
    what: String,
}

impl Going {
    pub fn trace(&self) -> PathBuf {
        self.folder.path().join("trace")
    }

    /// Pid of the first process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    pub fn said(&self) -> String {
        format!("{}\n{}", self.what, self.printed())
    }

    fn printed(&self) -> String {
        let read = |name: &str| fs::read_to_string(self.folder.path().join(name)).unwrap_or_default();
        read("stdout") + &read("stderr")
    }

    /// Waits for this output.
    pub fn wait_for(&mut self, words: &str) {
        while !self.printed().contains(words) {
            assert!(self.child.try_wait().unwrap().is_none(), "{}", self.said());
            thread::sleep(Duration::from_millis(50));
        }
    }

    /// Waits for the end of the job, which must succeed.
    pub fn end(mut self) -> TempDir {
        let status = self.child.wait().unwrap();
        assert!(status.success(), "{status}: {}", self.said());
        std::mem::replace(&mut self.folder, tempdir().unwrap())
    }
}

impl Drop for Going {
    fn drop(&mut self) {
        // After a failed test, `timeout` ends the job.
        if matches!(self.child.try_wait(), Ok(None)) {
            mpi::send_signal(self.child.id(), Signal::TERM);
            let _ = self.child.wait();
        }
    }
}

impl Ran {
    pub fn trace(&self) -> PathBuf {
        self.folder.path().join("trace")
    }

    pub fn manifest(&self) -> Value {
        manifest(&self.trace())
    }

    /// The report of `matchpoint analyze`.
    pub fn report(&self) -> Value {
        analyze(&self.trace())
    }

    /// The report with this engine first.
    pub fn report_of(&self, engine: &str) -> Value {
        analyze_with(&self.trace(), &["--engine", engine])
    }

    /// Lines of the command itself.
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
    ran::Ran::of(&mut command).succeed().json()
}

/// A member of a report, by its path in `docs/reference/json.md`: `replay.lost_messages`.
pub fn number(report: &Value, path: &str) -> u64 {
    let found = report.pointer(&format!("/{}", path.replace('.', "/")));
    found.and_then(Value::as_u64).unwrap_or_else(|| panic!("no number {path}: {found:?}"))
}

/// As `is_matched`, and the replay ends as the program.
pub fn is_whole(report: &Value, what: &str) {
    is_matched(report, what);
    let released = report["replay"]["released"].as_object().unwrap();
    assert!(released.values().all(|count| count == 0), "{released:?}: {what}");
}

/// No engine disagrees, no entry remains, and no message was reconstructed.
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
