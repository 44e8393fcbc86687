//! Applications from Debian packages, linked with Debian's Open MPI.

use std::fs;
use std::process::Command;

use serde_json::Value;

use crate::job::{Job, engines_agree, number};
use crate::left_out::leave_out;
use crate::mpi;
use crate::ran::repository;

/// Records an application with 8 ranks. `None`: the application is not installed.
fn record(program: &str, input: &str, arguments: &[&str]) -> Option<Value> {
    let _alone = mpi::alone();
    let is_installed =
        Command::new("sh").args(["-c", &format!("command -v {program}")]).output().unwrap().status.success();
    let mpi = mpi::named("debian-openmpi").filter(|_| is_installed);
    if !is_installed {
        leave_out(&format!("no {program}"), "`apt-get install lammps hpcc`");
    }
    let mpi = mpi?;
    let folder = tempfile::tempdir().unwrap();
    fs::copy(repository("examples/mpi").join(input), folder.path().join(input.rsplit('/').next().unwrap()))
        .unwrap();
    let ran = Job::new(&[])
        .with(&mpi, 8, program.as_ref())
        .args(arguments)
        .directory(folder.path())
        .env("OMP_NUM_THREADS", "1")
        .env("OPENBLAS_NUM_THREADS", "1")
        .succeed();
    assert!(!ran.stderr.contains("did not reach MPI_Finalize"), "{ran}");
    let report = ran.report();
    engines_agree(&report, &format!("{ran}"));
    assert_eq!(number(&report, "replay.unmatched_messages"), 0, "{ran}");
    eprintln!("{}\n  {program}: {}", ran.log(), report["verdict"]["text"]);
    Some(report)
}

#[test]
fn lammps_run_is_recorded() {
    let Some(report) = record("lmp", "lammps/melt.in", &["-in", "melt.in", "-log", "none"]) else { return };
    assert!(number(&report, "calls.by_function.MPI_Irecv") > 1000);
    assert!(number(&report, "calls.by_function.MPI_Sendrecv") > 100);
}

#[test]
fn hpc_challenge_run_is_recorded() {
    let Some(report) = record("hpcc", "hpcc/hpccinf.txt", &[]) else { return };
    assert!(number(&report, "calls.by_function.MPI_Iprobe") > 0);
    assert!(number(&report, "sends") > 1000);
}
