//! Emulated hosts (`scripts/hosts`), each with a name, a network interface, a clock and temporary files.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use crate::left_out::leave_out;
use crate::mpi::{self, Mpi};
use crate::ran::repository;

/// Emulated hosts, which end when the value is dropped.
pub struct Cluster {
    folder: TempDir,
}

impl Cluster {
    /// Difference between the clocks of successive hosts, in seconds.
    pub const AHEAD_S: i64 = 1000;

    /// Starts two hosts. `None`: this host cannot emulate hosts.
    pub fn make() -> Option<Cluster> {
        Cluster::of(2)
    }

    pub fn of(hosts: u32) -> Option<Cluster> {
        let check = script().arg("check").output().unwrap();
        if check.status.code() == Some(77) {
            let reason = String::from_utf8_lossy(&check.stderr);
            let is_installed = !reason.contains("iproute2");
            let remedy = if is_installed { "run the tests as root" } else { "`apt-get install iproute2`" };
            leave_out(&reason, remedy);
            return None;
        }
        let cluster = Cluster { folder: seen_by_all() };
        let scratch = mpi::scratch();
        let mut up = cluster.script();
        up.env("MATCHPOINT_HOSTS_AHEAD_S", Cluster::AHEAD_S.to_string());
        mpi::run(up.args(["up", &hosts.to_string()]).arg(scratch));
        Some(cluster)
    }

    pub fn script(&self) -> Command {
        let mut command = script();
        command.arg("--folder").arg(self.state());
        command
    }

    pub fn state(&self) -> PathBuf {
        self.folder.path().join("hosts")
    }

    pub fn first(&self) -> Command {
        self.on("host0")
    }

    pub fn on(&self, host: &str) -> Command {
        let mut command = self.script();
        // The MPI launchers of `scripts/mpi` start processes on the local host by default.
        command.env("I_MPI_HYDRA_BOOTSTRAP", "ssh").args(["exec", host]);
        command
    }

    /// The words that start a program with even ranks on the first host and odd ranks on the second.
    pub fn launch(&self, mpi: &Mpi, ranks: u32, program: &Path) -> Vec<Box<OsStr>> {
        let (launcher, hosts, ranks) = (mpi.mpiexec(), self.state().join("hostfile"), ranks.to_string());
        let mut words: Vec<&OsStr> = vec![launcher.as_ref()];
        if mpi.is_open_mpi() {
            words.extend(["--map-by", "node:oversubscribe", "--hostfile"].map(OsStr::new));
        } else {
            words.extend(["-ppn", "1", "-f"].map(OsStr::new));
        }
        words.extend([hosts.as_ref(), "-n".as_ref(), OsStr::new(&ranks), program.as_ref()]);
        words.into_iter().map(Into::into).collect()
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        let _ = self.script().arg("down").status();
    }
}

fn script() -> Command {
    Command::new(repository("scripts/hosts"))
}

pub fn seen_by_all() -> TempDir {
    tempfile::tempdir_in(mpi::scratch()).unwrap()
}
