//! Tests of `matchpoint analyze` with native traces.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use matchpoint_replay::Progress;
use matchpoint_replay::members::Members;
use matchpoint_trace::native::{Settings, Writer, file_name};
use matchpoint_trace::{Call, open};
use serde_json::Value;
use tempfile::tempdir;

fn bundled(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../traces").join(name)
}

fn convert(name: &str, folder: &Path) {
    let trace = open(&bundled(name)).unwrap();
    let members = Members::of(&*trace, &Progress::default()).unwrap();
    for (index, &rank) in trace.present().iter().enumerate() {
        let settings = Settings { host: "here".into(), ..Settings::of(rank, trace.description().ranks) };
        let mut writer = Writer::new(File::create(folder.join(file_name(rank))).unwrap(), settings).unwrap();
        let (mut stream, mut members) = (trace.rank(rank).unwrap(), members.rank(index));
        let mut call = Call::default();
        while stream.read(&mut call).unwrap() {
            members.list(&mut call);
            writer.call(&call).unwrap();
        }
        writer.finish("finalize").unwrap();
    }
}

fn analyze(trace: &Path, more: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_matchpoint"))
        .arg("analyze")
        .arg(trace)
        .args(["--engine", "list"])
        .args(more)
        .output()
        .unwrap()
}

fn json(trace: &Path, arrivals: &str) -> Value {
    let output = analyze(trace, &["--arrivals", arrivals, "--json", "-"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn recorded_trace_has_analysis_of_original() {
    let folder = tempdir().unwrap();
    convert("lulesh-8", folder.path());
    for arrivals in ["simulated", "timestamps", "at_wait"] {
        let (theirs, ours) = (json(&bundled("lulesh-8"), arrivals), json(folder.path(), arrivals));
        assert_eq!(ours["trace"]["format"], "Matchpoint 2");
        assert_eq!(ours["trace"]["calls"], theirs["trace"]["calls"]);
        for member in ["matched", "unmatched_receives", "unmatched_messages", "disagreements"] {
            assert_eq!(ours["engines"][0][member], theirs["engines"][0][member], "{arrivals}, {member}");
        }
        assert_eq!(ours["messages"], theirs["messages"], "{arrivals}");
        assert_eq!(ours["calls"], theirs["calls"], "{arrivals}");
        assert_eq!(ours["replay"]["intervals_known"], arrivals == "timestamps");
        assert_eq!(theirs["replay"]["intervals_known"], false);
    }
}

#[test]
fn dead_rank_is_reported() {
    let folder = tempdir().unwrap();
    convert("lulesh-8", folder.path());
    let file = folder.path().join(file_name(3));
    let whole = fs::read(&file).unwrap();
    fs::write(&file, &whole[..whole.len() / 2]).unwrap();
    let report = json(folder.path(), "simulated");
    let notes = report["trace"]["notes"].to_string();
    assert!(notes.contains("rank 3,"), "{notes}");
    let mut damaged = whole.clone();
    let middle = damaged.len() * 3 / 4;
    damaged[middle] ^= 0x55;
    fs::write(&file, damaged).unwrap();
    let output = analyze(folder.path(), &[]);
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.contains("rank-00003.mpt', byte ") && text.contains("the checksum"), "{text}");
}
