//! Tests of `matchpoint profile`, and of `analyze` with a profile.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::{fs, str};

use matchpoint::engines::partner::profile::{ProcessSelection, Profile};
use matchpoint_replay::{Arrivals, LogGp, Measurements, Options, Progress, replay};
use tempfile::tempdir;

fn bundled(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../traces").join(name)
}

fn matchpoint(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_matchpoint")).args(arguments).output().unwrap()
}

fn profile(trace: &str, file: &Path) -> Profile {
    let (trace, file) = (bundled(trace).display().to_string(), file.display().to_string());
    let output = matchpoint(&["profile", &trace, "-o", &file]);
    assert!(output.status.success() && output.stdout.is_empty());
    assert_eq!(str::from_utf8(&output.stderr).unwrap().trim_end(), format!("matchpoint: wrote {file}"));
    Profile::read(Path::new(&file), ProcessSelection::All).unwrap_or_else(|error| panic!("{error}"))
}

fn measured(trace: &str, engines: &[&str]) -> Measurements {
    let options = Options {
        sampled: false,
        engines: engines.iter().map(|&name| name.to_owned()).collect(),
        arrivals: Arrivals::default(),
        loggp: LogGp::default(),
        compare_arrivals: false,
    };
    let trace = matchpoint_trace::open(&bundled(trace)).unwrap();
    replay(trace.as_ref(), &options, &Progress::default()).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn help_has_example() {
    let output = matchpoint(&["profile", "--help"]);
    assert!(output.status.success());
    let text = str::from_utf8(&output.stdout).unwrap();
    assert!(text.contains("matchpoint profile traces/fillboundary-27 -o app.partners"), "{text}");
    assert!(text.contains("-e list -e partner:mode=static,profile=app.partners"), "{text}");
}

#[test]
fn profile_counts_search_misses() {
    let folder = tempdir().unwrap();
    // These traces have no any-source receives, probes or cancels.
    for trace in ["fillboundary-27", "lulesh-27", "npb-is-16"] {
        let profile = profile(trace, &folder.path().join("app.partners"));
        let measurements = measured(trace, &["list"]);
        let list = &measurements.engines[0];
        assert_eq!(profile.processes, measurements.ranks.len() as u64);
        assert_eq!(profile.known.len(), measurements.ranks.len());
        let sum = |of: fn(&_) -> u64| {
            profile.known.iter().flat_map(|process| &process.sources).map(of).sum::<u64>()
        };
        assert_eq!(list.unexpected.searches - list.unexpected.hits, sum(|source| source.posted), "{trace}");
        assert_eq!(list.posted.searches - list.posted.hits, sum(|source| source.unexpected), "{trace}");
    }
}

#[test]
fn each_rank_has_its_own_partners() {
    let folder = tempdir().unwrap();
    let file = folder.path().join("app.partners");
    let written = profile("fillboundary-27", &file);
    let name = |more: &str| format!("partner:mode=static,profile={}{more}", file.display());
    let (all, one) = (name(""), name(",process=0"));
    let measurements = measured("fillboundary-27", &["list", &all, &one, "rank_array"]);
    let [list, all, one, array] = &measurements.engines[..] else { unreachable!("four were asked for") };
    for engine in [all, one, array] {
        assert_eq!((engine.matched, engine.disagreements), (list.matched, 0), "{}", engine.name);
    }
    let attempts = |engine: &matchpoint_replay::measurements::EngineMeasurements| {
        engine.posted.attempts + engine.unexpected.attempts
    };
    // Every source above the average is a partner: nearly all sources.
    assert!(attempts(all) < attempts(list) / 3 && attempts(all) >= attempts(array));
    assert!(attempts(one) > 2 * attempts(all), "the neighbours of rank 0 are not those of others");
    assert!(written.known.iter().all(|process| !process.sources.is_empty()));
}

#[test]
fn profile_of_other_job_is_reported() {
    let folder = tempdir().unwrap();
    let file = folder.path().join("app.partners");
    for (one, processes, other, here) in
        [("npb-is-16", 16, "lulesh-27", 27), ("lulesh-27", 27, "npb-is-16", 16)]
    {
        profile(one, &file);
        let trace = bundled(other).display().to_string();
        let engine = format!("partner:mode=static,profile={}", file.display());
        let message =
            format!("app.partners is the profile of {processes} processes, and here are {here}; write one");
        let workload = format!("trace:{trace}");
        for arguments in [
            ["analyze", &trace, "--engine", &engine].as_slice(),
            &["bench", "--workload", &workload, "--engine", &engine],
        ] {
            let output = matchpoint(arguments);
            assert!(output.status.code() == Some(1) && output.stdout.is_empty(), "{arguments:?}");
            let text = str::from_utf8(&output.stderr).unwrap();
            assert!(text.contains(&message), "{text}");
        }
    }
}

/// `bench` creates each rank's engine for this rank, as `analyze` does.
#[test]
fn trace_bench_uses_partners_of_rank() {
    let folder = tempdir().unwrap();
    let (file, json) = (folder.path().join("app.partners"), folder.path().join("bench.json"));
    profile("fillboundary-27", &file);
    let engine = |more: &str| format!("partner:mode=static,profile={}{more}", file.display());
    let workload = format!("trace:{}", bundled("fillboundary-27").display());
    let (each, first) = (engine(""), engine(",process=0"));
    let arguments = ["bench", "--workload", &workload, "--budget", "0.01", "--json", json.to_str().unwrap()];
    let engines = ["--engine", "list", "--engine", &each, "--engine", &first];
    let output = matchpoint(&[&arguments[..], &engines[..]].concat());
    assert!(output.status.success(), "{}", str::from_utf8(&output.stderr).unwrap());
    let said: serde_json::Value = serde_json::from_slice(&fs::read(json).unwrap()).unwrap();
    let attempts = |name: &str| {
        let results = said["results"].as_array().unwrap();
        results.iter().find(|result| result["engine"] == name).unwrap()["attempts_mean"].as_f64().unwrap()
    };
    let (list, each, first) = (attempts("list"), attempts(&each), attempts(&first));
    assert!(each < list / 3.0 && first > 2.0 * each, "{list} {each} {first}");
}

#[test]
fn damaged_profile_error_has_line() {
    let folder = tempdir().unwrap();
    let file = folder.path().join("app.partners");
    profile("npb-is-16", &file);
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, text.replacen("process 0\n", "process 0\n0 1 many 0\n", 1)).unwrap();
    let engine = format!("partner:mode=static,profile={}", file.display());
    for (engine, expected) in [
        (&*engine, "app.partners:5: `many` is no number of posted receives"),
        ("partner:mode=static,profile=none.partners", "none.partners: cannot be read"),
        ("partner:mode=static", "mode=static needs profile=FILE"),
        ("partner:profile=x", "`profile` is for mode=static"),
        ("partner:fence=broken", "`broken` is no value for `fence`"),
    ] {
        let output = matchpoint(&["analyze", "x", "--engine", engine]);
        assert_eq!(output.status.code(), Some(2));
        let text = str::from_utf8(&output.stderr).unwrap();
        assert!(text.contains(expected), "{text}");
    }
}

#[test]
fn profile_goes_to_standard_output() {
    let trace = bundled("npb-is-16").display().to_string();
    let output = matchpoint(&["profile", &trace, "-o", "-"]);
    assert!(output.status.success());
    assert!(output.stdout.starts_with(b"matchpoint-partners 1\nprocesses 16\n"));
    let folder = tempdir().unwrap();
    let file = folder.path().join("app.partners").display().to_string();
    let output = matchpoint(&["profile", &folder.path().join("none").display().to_string(), "-o", &file]);
    assert_eq!(output.status.code(), Some(1));
    assert!(output.stderr.starts_with(b"error: "));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "files appear whole or not at all");
    let file = folder.path().join("none/app.partners").display().to_string();
    let output = matchpoint(&["profile", "x", "-o", &file]);
    assert!(output.stderr.starts_with(b"error: cannot write"), "before the trace is read");
}

#[test]
fn missing_ranks_are_reported() {
    let folder = tempdir().unwrap();
    let trace = folder.path().join("trace");
    fs::create_dir(&trace).unwrap();
    for file in fs::read_dir(bundled("npb-is-16")).unwrap() {
        let file = file.unwrap();
        if !file.file_name().to_string_lossy().ends_with("-0003.bin") {
            fs::copy(file.path(), trace.join(file.file_name())).unwrap();
        }
    }
    let trace = trace.display().to_string();
    let workload = format!("trace:{trace}");
    let file = folder.path().join("app.partners").display().to_string();
    let table = folder.path().join("calls.csv").display().to_string();
    for arguments in [
        &["profile", &trace, "-o", &file][..],
        &["bench", "-w", &workload, "-e", "list", "--budget", "0.001"],
        &["convert", &trace, "-o", &table],
    ] {
        let output = matchpoint(arguments);
        let message = str::from_utf8(&output.stderr).unwrap();
        assert!(output.status.success(), "{arguments:?}: {message}");
        assert_eq!(
            message.matches("note: 1 of 16 ranks is missing from the trace: ").count(),
            1,
            "{arguments:?}: {message}"
        );
    }
}

#[test]
fn levels_and_partners_are_in_the_report() {
    let trace = bundled("fillboundary-27").display().to_string();
    let asked = ["analyze", &trace, "-e", "list", "-e", "partner:threshold=4", "-e", "optimistic"];
    let report = matchpoint(&asked);
    let message = str::from_utf8(&report.stdout).unwrap();
    let words = message.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        words.contains("partners of posted receives ") && words.contains("receives of a run "),
        "{message}"
    );
    let json = matchpoint(&[&asked[..], &["--json", "-"]].concat());
    let json: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!(json["engines"][0]["statistics"].as_array().unwrap().len(), 0, "a list has nothing to tell");
    let statistic = |engine: usize, name: &str| {
        let all = json["engines"][engine]["statistics"].as_array().unwrap();
        let of = all.iter().find(|of| of["name"] == name).unwrap_or_else(|| panic!("{name}: {all:?}"));
        [&of["mean"], &of["max"]].map(|value| value.as_f64().unwrap())
    };
    let [mean, max] = statistic(1, "posted_partners");
    assert!(0.0 < mean && mean <= max && max <= 27.0, "{mean} {max}");
    let [mean, max] = statistic(2, "empty_bins_no_wildcard_percent");
    assert!(0.0 < mean && mean <= max && max <= 100.0, "{mean} {max}");
}
