//! Tests of `matchpoint analyze` with bundled and damaged traces.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::{fs, str};

use serde_json::Value;
use tempfile::{TempDir, tempdir};

fn bundled() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../traces")
}

fn analyze(trace: &Path, more: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_matchpoint")).arg("analyze").arg(trace).args(more).output().unwrap()
}

fn json(trace: &Path, more: &[&str]) -> Value {
    let output = analyze(trace, &[more, &["--json", "-"]].concat());
    assert!(output.status.success(), "{}", str::from_utf8(&output.stderr).unwrap());
    serde_json::from_slice(&output.stdout).unwrap()
}

fn complaint(trace: &Path) -> String {
    let output = analyze(trace, &[]);
    assert_eq!(output.status.code(), Some(1));
    assert!(output.stdout.is_empty(), "no result of a trace that cannot be read");
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(text.trim_end().lines().filter(|line| !line.starts_with("hint: ")).count(), 1, "{text}");
    assert!(text.starts_with("error: "), "{text}");
    text
}

fn copy(name: &str) -> TempDir {
    let folder = tempdir().unwrap();
    for file in fs::read_dir(bundled().join(name)).unwrap().flatten() {
        fs::copy(file.path(), folder.path().join(file.file_name())).unwrap();
    }
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
    let traces =
        fs::read_dir(bundled()).unwrap().flatten().map(|entry| entry.path()).filter(|path| path.is_dir());
    for trace in traces {
        for arrivals in ["simulated", "timestamps", "at_wait"] {
            let report = json(&trace, &["--arrivals", arrivals]);
            let what = format!("{} {arrivals}", trace.display());
            assert_eq!(report["schema"], 1);
            assert_eq!(report["arrivals"], arrivals);
            let [low, share, high] =
                ["low", "share", "high"].map(|name| report["verdict"][name].as_f64().unwrap());
            assert!(0.0 < low && low <= share && share <= high, "{what}: {low} {share} {high}");
            // With `at_wait` no message is unexpected, so no receive searches.
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
    let output =
        analyze(&bundled().join("fillboundary-27"), &["--html", &html, "--json", &json, "--csv", &csv]);
    assert!(output.status.success());
    assert!(str::from_utf8(&output.stdout).unwrap().contains("matching costs"));
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
    for file in fs::read_dir(bundled().join("imb-mpi1-4")).unwrap().flatten() {
        fs::copy(file.path(), two.path().join(file.file_name())).unwrap();
    }
    let text = complaint(two.path());
    assert!(text.matches(".meta").count() >= 2, "both are named: {text}");
}

#[test]
fn text_named_bin_is_told_apart() {
    let trace = copy("lulesh-8");
    fs::write(
        stream(trace.path(), 0),
        "MPI_Init entering at walltime 1.0, cputime 1.0 seconds in thread 0.\n",
    )
    .unwrap();
    let text = complaint(trace.path());
    assert!(text.contains("-0000.bin"), "{text}");
}
