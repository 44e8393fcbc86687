//! Records the programs of `examples/mpi`. The trace contains every counted call once.

use std::fs;

use serde_json::Value;

use crate::counts::Counts;
use crate::job::{Job, JobOutput, is_matched, is_whole, number};
use crate::mpi::{self, Mpi};

fn compare(mpi: &Mpi, ranks: u32, program: &str, arguments: &[&str]) -> (JobOutput, Value) {
    let job = Job::of(mpi, ranks, &mpi.example(program)).args(arguments).counting();
    let ran = job.succeed();
    let what = format!("{ran}");
    let report = ran.report();
    let counts = Counts::read(&ran.prefix(), ranks);
    counts.agree(&report, &what);
    let cancelled = if program == "features" { 2 * u64::from(ranks) } else { 0 };
    assert_eq!(number(&report, "messages.cancelled"), cancelled, "{what}");
    assert_eq!(report["trace"]["missing"].as_array().unwrap().len(), 0, "{what}");
    let manifest = ran.manifest();
    assert_eq!((&manifest["state"], &manifest["exit_status"]), (&"finished".into(), &0.into()), "{what}");
    let files = manifest["files"].as_array().unwrap();
    assert_eq!((files.len(), number(&manifest, "ranks")), (ranks as usize, u64::from(ranks)), "{what}");
    assert!(files.iter().all(|file| file["complete"] == true), "{files:?}");
    let calls: u64 = files.iter().map(|file| number(file, "calls")).sum();
    assert_eq!(number(&report, "trace.calls"), calls, "{what}");
    (ran, report)
}

fn compare_whole(mpi: &Mpi, ranks: u32, program: &str, arguments: &[&str]) -> Value {
    let (ran, report) = compare(mpi, ranks, program, arguments);
    // Probes may find messages of `amr` in another order than recorded, so a synchronous send may wait for a late
    // message.
    let check = if program == "amr" { is_matched } else { is_whole };
    check(&report, &format!("{ran}"));
    eprintln!("  {program}: blocked calls completed: {}", report["replay"]["released"]);
    let [recorded, reproduced] =
        ["recorded", "reproduced"].map(|what| number(&report, &format!("replay.{what}_wildcards")));
    eprintln!("  {program} {}: {reproduced} of {recorded} wildcards reproduced", arguments.join(" "));
    // The trace contains the match of each wildcard receive, even if the program ignores the status.
    let wildcards =
        ["any_source", "any_tag", "both"].map(|class| number(&report, &format!("wildcards.{class}")));
    let cancelled = number(&report, "messages.cancelled");
    assert!(recorded + cancelled >= wildcards.iter().sum(), "{recorded} of {wildcards:?}: {ran}");
    report
}

#[test]
fn stencils_are_recorded() {
    mpi::each(|mpi| {
        compare_whole(mpi, 8, "halo27", &[]);
        compare_whole(mpi, 4, "halo27", &["--persistent"]);
        compare_whole(mpi, 8, "sweep", &[]);
    });
}

#[test]
fn master_and_workers_are_recorded() {
    mpi::each(|mpi| {
        for arguments in [&[][..], &["--iprobe"], &["--direct"]] {
            compare_whole(mpi, 4, "master_worker", arguments);
        }
        compare_whole(mpi, 4, "gather_fds", &[]);
        compare_whole(mpi, 4, "alltoall_reverse", &[]);
    });
}

#[test]
fn irregular_exchanges_are_recorded() {
    mpi::each(|mpi| {
        compare_whole(mpi, 4, "amr", &[]);
        let matrix = mpi.example("irregular.mtx");
        compare_whole(mpi, 4, "spmv", &[matrix.to_str().unwrap()]);
    });
}

#[test]
fn calls_of_threads_are_recorded() {
    mpi::each(|mpi| {
        for arguments in [&[][..], &["--comms"]] {
            let report = compare_whole(mpi, 4, "threads_halo", arguments);
            assert_eq!(number(&report, "wildcards.none"), number(&report, "receives"));
        }
    });
}

#[test]
fn every_mpi_feature_is_recorded() {
    mpi::each(|mpi| {
        compare_whole(mpi, 4, "features", &[]);
        if mpi.has_sessions() {
            compare_whole(mpi, 4, "features", &["--sessions"]);
        }
    });
}

/// Each MPI_COMM_WORLD has a trace. Messages between both are incomplete in both traces.
#[test]
fn spawned_processes_have_separate_trace() {
    mpi::each(|mpi| {
        if !mpi.can_spawn() {
            eprintln!("{} cannot spawn", mpi.name);
            return;
        }
        let (ran, report) = compare(mpi, 2, "features", &["--spawn"]);
        assert_eq!(number(&report, "calls.by_function.MPI_Comm_spawn"), 2);
        assert_eq!(ran.manifest()["spawned"], serde_json::json!(["spawned-1"]));
        ran.reports("spawned");
        let spawned = ran.trace().join("spawned-1");
        let report = crate::job::analyze(&spawned);
        let counts = Counts::read(&ran.folder.path().join("count.spawned"), 2);
        counts.agree(&report, &format!("spawned: {ran}"));
        let manifest = crate::job::manifest(&spawned);
        assert_eq!((&manifest["state"], number(&manifest, "ranks")), (&"finished".into(), 2));
        assert!(manifest["files"].as_array().unwrap().iter().all(|file| file["complete"] == true));
        drop(Job::new(&["--replace"]).run());
        assert!(fs::read_dir(&spawned).unwrap().count() > 2);
    });
}
