//! Hosts, each with a name, a network interface, a clock and temporary files of its own, between which a job is started
//! by a launcher as on a cluster: `scripts/hosts`.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use crate::left_out::leave_out;
use crate::mpi::{self, Mpi};

/// Some, which go when this is dropped.
pub struct Cluster {
    folder: TempDir,
}

impl Cluster {
    /// By how much the clock of each is ahead of that of the one before it.
    pub const AHEAD_S: i64 = 1000;

    /// Two, unless none can be made here.
    pub fn make() -> Option<Cluster> {
        Cluster::of(2)
    }

    /// So many, likewise.
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

    /// `scripts/hosts`, of these.
    pub fn script(&self) -> Command {
        let mut command = script();
        command.arg("--folder").arg(self.noted());
        command
    }

    /// Where the script keeps what it knows of them.
    pub fn noted(&self) -> PathBuf {
        self.folder.path().join("hosts")
    }

    /// What is to follow runs on the first host.
    pub fn first(&self) -> Command {
        self.on("host0")
    }

    /// On that one.
    pub fn on(&self, host: &str) -> Command {
        let mut command = self.script();
        // That of `scripts/mpi` starts processes here.
        command.env("I_MPI_HYDRA_BOOTSTRAP", "ssh").args(["exec", host]);
        command
    }

    /// So many ranks of a program: even ones on the first host, odd ones on the second.
    pub fn launch(&self, mpi: &Mpi, ranks: u32, program: &Path) -> Vec<Box<OsStr>> {
        let (launcher, hosts, ranks) = (mpi.mpiexec(), self.noted().join("hostfile"), ranks.to_string());
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
        // What still runs on them ends.
        let _ = self.script().arg("down").status();
    }
}

fn script() -> Command {
    Command::new(mpi::root().join("scripts/hosts"))
}

/// A folder that all hosts see.
pub fn seen_by_all() -> TempDir {
    tempfile::tempdir_in(mpi::scratch()).unwrap()
}
