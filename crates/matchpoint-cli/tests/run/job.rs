//! A job of `matchpoint run`.

use std::fs;
use std::process::Command;

use serde_json::Value;
use tempfile::{TempDir, tempdir};

use crate::cluster::{self, Cluster};
pub use crate::launch::{Job, JobOutput};
pub use crate::ran::MATCHPOINT;

const SECONDS: &str = "100";

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

impl Job {
    /// Overflow matching. The caller adds the command of the job.
    pub fn new(options: &[&str]) -> Job {
        Job::made(Command::new("timeout"), tempdir().unwrap(), options)
    }

    pub fn below(options: &[&str]) -> Job {
        Job::new(&[&["--below"], options].concat())
    }

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
        Job { folder, command }
    }

    pub fn refused(self) -> String {
        let ran = self.run();
        assert_eq!(ran.code, Some(1), "{ran}");
        assert_eq!(ran.stdout, "", "{ran}");
        // The command may compile its library first.
        let lines = ran.stderr.lines().filter(|line| !line.starts_with("matchpoint: compiling "));
        let lines: Vec<&str> = lines.collect();
        assert!(lines.first().is_some_and(|line| line.starts_with("error: ")), "{ran}");
        assert!(lines.len() == 1 || lines.len() == 2 && lines[1].starts_with("hint: "), "{ran}");
        ran.stderr.clone()
    }
}

impl JobOutput {
    pub fn json(&self) -> Value {
        serde_json::from_slice(&fs::read(self.folder.path().join("run.json")).unwrap()).unwrap()
    }

    pub fn ranks(&self) -> Vec<Value> {
        self.json()["ranks"].as_array().unwrap().clone()
    }

    /// The sum of a number over all processes, such as `overflow.receives`.
    pub fn sum(&self, path: &str) -> u64 {
        let number = |rank: &Value| {
            let value = path.split('.').fold(rank, |value, name| &value[name]);
            value.as_u64().unwrap_or_else(|| panic!("{path}: {rank}"))
        };
        self.ranks().iter().map(number).sum()
    }
}
