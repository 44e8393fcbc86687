//! Tests of `matchpoint analyze` with bundled and damaged traces.

use std::fs;
use std::path::{Path, PathBuf};

use matchpoint_trace::native::file_name;
use serde_json::Value;
use tempfile::{TempDir, tempdir};

use crate::ran::{bundled, copy_bundled, matchpoint};

fn json(trace: &Path, more: &[&str]) -> Value {
    matchpoint([&["analyze", trace.to_str().unwrap(), "--json", "-"], more].concat()).succeed().json()
}

fn complaint(trace: &Path) -> String {
    let output = matchpoint(["analyze".as_ref(), trace]).fail(1);
    assert_eq!(output.stdout, "", "no result of a trace that cannot be read");
    assert!(output.stderr.starts_with("error: "), "{output}");
    output.stderr
}

fn copy(name: &str) -> TempDir {
    let folder = tempdir().unwrap();
    copy_bundled(name, folder.path());
    folder
}

fn stream(folder: &Path, rank: usize) -> PathBuf {
    let files = fs::read_dir(folder).unwrap().flatten().map(|entry| entry.path());
    let mut streams: Vec<PathBuf> =
        files.filter(|path| path.extension().is_some_and(|of| of == "bin")).collect();
    streams.sort();
    streams.swap_remove(rank)
}

#[test]
fn every_bundled_trace_has_verdict() {
    let traces = fs::read_dir(bundled("")).unwrap().flatten().map(|entry| entry.path());
    for trace in traces.filter(|path| path.is_dir()) {
        for arrivals in ["simulated", "timestamps", "at_wait"] {
            let report = json(&trace, &["--arrivals", arrivals]);
            let what = format!("{} {arrivals}", trace.display());
            assert_eq!(report["schema"], 1);
            assert_eq!(report["arrivals"], arrivals);
            let [low, share, high] =
                ["low", "share", "high"].map(|name| report["verdict"][name].as_f64().unwrap());
            assert!(0.0 < low && low <= share && share <= high, "{what}: {low} {share} {high}");
            // With `at_wait` no message is unexpected, so no search finds a long unexpected message queue.
            let is_slow = trace.ends_with("gather_fds-4") && arrivals != "at_wait";
            assert!(if is_slow { low > 0.1 } else { high < 0.1 }, "{what}: {low} {share} {high}");
            let engines = report["engines"].as_array().unwrap();
            assert_eq!(engines.len(), matchpoint::engines::REGISTRY.len(), "{what}");
            for engine in engines {
                assert_eq!(engine["disagreements"], 0, "{what}");
                assert_eq!(engine["matched"], engines[0]["matched"], "{what}");
                assert_eq!(engine["posted"]["hits"], engines[0]["posted"]["hits"], "{what}");
            }
            let by_function = report["calls"]["by_function"].as_object().unwrap();
            let sum: u64 = by_function.values().map(|count| count.as_u64().unwrap()).sum();
            assert_eq!(report["trace"]["calls"], sum, "{what}");
        }
    }
}

#[test]
fn real_trace_gives_all_reports() {
    let folder = tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let (html, json, csv) = (path("report.html"), path("report.json"), path("tables"));
    let files = ["--html", &html, "--json", &json, "--csv", &csv];
    let output = matchpoint([&["analyze", &bundled("fillboundary-27")], &files[..]].concat());
    output.succeed().prints("matching costs");
    assert!(fs::read_to_string(html).unwrap().contains("fillboundary-27"));
    assert_eq!(serde_json::from_slice::<Value>(&fs::read(json).unwrap()).unwrap()["trace"]["ranks"], 27);
    assert_eq!(fs::read_dir(csv).unwrap().count(), matchpoint_cli::report::csv::TABLES.len());
}

#[test]
fn truncated_stream_error_has_file_and_offset() {
    let trace = copy("lulesh-8");
    let cut = stream(trace.path(), 3);
    let bytes = fs::read(&cut).unwrap();
    for length in [bytes.len() / 2, 100, 9] {
        fs::write(&cut, &bytes[..length]).unwrap();
        let text = complaint(trace.path());
        assert!(text.contains("-0003.bin") && text.contains("byte"), "{text}");
    }
}

#[test]
fn empty_rank_is_reported_and_rest_analyzed() {
    let trace = copy("lulesh-8");
    fs::write(stream(trace.path(), 5), "").unwrap();
    fs::remove_file(stream(trace.path(), 2)).unwrap();
    let report = json(trace.path(), &[]);
    assert_eq!(report["trace"]["ranks"], 8);
    assert_eq!(report["trace"]["missing"].as_array().unwrap().len(), 2);
    assert!(report["replay"]["made_up_messages"].as_u64().unwrap() > 0);
    let engine = &report["engines"][0];
    assert_eq!(engine["unmatched_receives"], 0);
}

#[test]
fn folder_with_none_or_two_traces_fails() {
    let empty = tempdir().unwrap();
    assert!(complaint(empty.path()).contains("no trace"));
    let two = copy("lulesh-8");
    copy_bundled("imb-mpi1-4", two.path());
    let text = complaint(two.path());
    assert!(text.matches(".meta").count() >= 2, "both are named: {text}");
}

#[test]
fn text_file_named_bin_is_rejected() {
    let trace = copy("lulesh-8");
    let text = "MPI_Init entering at walltime 1.0, cputime 1.0 seconds in thread 0.\n";
    fs::write(stream(trace.path(), 0), text).unwrap();
    let text = complaint(trace.path());
    assert!(text.contains("-0000.bin"), "{text}");
}

#[test]
fn dead_rank_is_reported() {
    let folder = tempdir().unwrap();
    let trace = folder.path().join("lulesh.trace").display().to_string();
    matchpoint(["convert", &bundled("lulesh-8"), "-o", &trace]).succeed();
    let file = folder.path().join("lulesh.trace").join(file_name(3));
    let whole = fs::read(&file).unwrap();
    fs::write(&file, &whole[..whole.len() / 2]).unwrap();
    let report = matchpoint(["analyze", &trace, "--engine", "list", "--json", "-"]).succeed().json();
    let notes = report["trace"]["notes"].to_string();
    assert!(notes.contains("rank 3,") || notes.contains("rank-00003.mpt"), "{notes}");
    let mut damaged = whole.clone();
    let middle = damaged.len() * 3 / 4;
    damaged[middle] ^= 0x55;
    fs::write(&file, damaged).unwrap();
    let output = matchpoint(["analyze", &trace, "--engine", "list"]).exit(1);
    output.reports("rank-00003.mpt', byte ").reports("the checksum");
}
