//! Tests of `matchpoint profile`, and of `analyze` with a profile.

use std::fs;
use std::path::Path;

use matchpoint::engines::partner::profile::{ProcessSelection, Profile};
use matchpoint_replay::measurements::EngineMeasurements;
use matchpoint_replay::{Measurements, Options, Progress, replay};
use tempfile::{TempDir, tempdir};

use crate::ran::{bundled, copy_bundled, matchpoint, words};

struct Written {
    file: String,
    profile: Profile,
    _folder: TempDir,
}

impl Written {
    fn of(trace: &str) -> Written {
        let folder = tempdir().unwrap();
        let file = folder.path().join("app.partners").display().to_string();
        let output = matchpoint(["profile", &bundled(trace), "-o", &file]).succeed();
        assert_eq!((&*output.stdout, output.stderr), ("", format!("matchpoint: wrote {file}\n")));
        let profile = Profile::read(Path::new(&file), ProcessSelection::All);
        Written { profile: profile.unwrap_or_else(|error| panic!("{error}")), file, _folder: folder }
    }

    fn engine(&self, more: &str) -> String {
        format!("partner:mode=static,profile={}{more}", self.file)
    }
}

fn measured(trace: &str, engines: &[&str]) -> Measurements {
    let engines = engines.iter().map(|&name| name.to_owned()).collect();
    let options = Options { engines, ..Options::default() };
    let trace = matchpoint_trace::open(Path::new(&bundled(trace))).unwrap();
    replay(trace.as_ref(), &options, &Progress::default()).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn profile_counts_search_misses() {
    // Without any-source receives, probes and cancels, each search belongs to one source.
    for trace in ["fillboundary-27", "lulesh-27", "npb-is-16"] {
        let profile = Written::of(trace).profile;
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
    let written = Written::of("fillboundary-27");
    let (all, one) = (written.engine(""), written.engine(",process=0"));
    let measurements = measured("fillboundary-27", &["list", &all, &one, "rank_array"]);
    let [list, all, one, array] = &measurements.engines[..] else { unreachable!("four were asked for") };
    for engine in [all, one, array] {
        assert_eq!((engine.matched, engine.disagreements), (list.matched, 0), "{}", engine.name);
    }
    let attempts = |engine: &EngineMeasurements| engine.posted.attempts + engine.unexpected.attempts;
    // Nearly all sources send more messages than the average of all processes, so nearly all are partners.
    assert!(attempts(all) < attempts(list) / 3 && attempts(all) >= attempts(array));
    assert!(attempts(one) > 2 * attempts(all), "the neighbours of rank 0 are not those of others");
    assert!(written.profile.known.iter().all(|process| !process.sources.is_empty()));
}

#[test]
fn profile_of_other_job_is_reported() {
    for (one, processes, other, here) in
        [("npb-is-16", 16, "lulesh-27", 27), ("lulesh-27", 27, "npb-is-16", 16)]
    {
        let written = Written::of(one);
        let (engine, trace) = (written.engine(""), bundled(other));
        let message = format!(
            "app.partners is the profile of {processes} processes, but this run has {here}; write a profile"
        );
        let workload = format!("trace:{trace}");
        for arguments in
            [["analyze", &trace, "-e", &engine].as_slice(), &["bench", "-w", &workload, "-e", &engine]]
        {
            assert_eq!(matchpoint(arguments).exit(1).reports(&message).stdout, "");
        }
    }
}

#[test]
fn trace_bench_uses_partners_of_rank() {
    let written = Written::of("fillboundary-27");
    let workload = format!("trace:{}", bundled("fillboundary-27"));
    let (each, first) = (written.engine(""), written.engine(",process=0"));
    let arguments = ["bench", "-w", &workload, "--budget", "0.01", "--json", "-"];
    let engines = ["-e", "list", "-e", &each, "-e", &first];
    let json = matchpoint([&arguments[..], &engines].concat()).succeed().json();
    let attempts = |name: &str| {
        let results = json["results"].as_array().unwrap();
        results.iter().find(|result| result["engine"] == name).unwrap()["attempts_mean"].as_f64().unwrap()
    };
    let (list, each, first) = (attempts("list"), attempts(&each), attempts(&first));
    assert!(each < list / 3.0 && first > 2.0 * each, "{list} {each} {first}");
}

#[test]
fn damaged_profile_error_has_line() {
    let written = Written::of("npb-is-16");
    let text = fs::read_to_string(&written.file).unwrap();
    fs::write(&written.file, text.replacen("process 0\n", "process 0\n0 1 many 0\n", 1)).unwrap();
    for (engine, expected) in [
        (&*written.engine(""), "app.partners:5: `many` is no number of posted receives"),
        ("partner:mode=static,profile=none.partners", "none.partners: cannot be read"),
        ("partner:mode=static", "mode=static needs profile=FILE"),
        ("partner:profile=x", "`profile` is for mode=static"),
        ("partner:fence=broken", "`broken` is no value for `fence`"),
    ] {
        matchpoint(["analyze", "x", "--engine", engine]).exit(2).reports(expected);
    }
}

#[test]
fn profile_goes_to_standard_output() {
    let output = matchpoint(["profile", &bundled("npb-is-16"), "-o", "-"]).succeed();
    assert!(output.stdout.starts_with("matchpoint-partners 1\nprocesses 16\n"));
    let folder = tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let output = matchpoint(["profile", &path("none"), "-o", &path("app.partners")]).exit(1);
    assert!(output.stderr.starts_with("error: "), "{output}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "files appear whole or not at all");
    let output = matchpoint(["profile", "x", "-o", &path("none/app.partners")]);
    assert!(output.stderr.starts_with("error: cannot write"), "before the trace is read");
}

#[test]
fn missing_ranks_are_reported() {
    let folder = tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let trace = path("trace");
    fs::create_dir(&trace).unwrap();
    copy_bundled("npb-is-16", Path::new(&trace));
    for file in fs::read_dir(&trace).unwrap().map(Result::unwrap) {
        if file.file_name().to_string_lossy().ends_with("-0003.bin") {
            fs::remove_file(file.path()).unwrap();
        }
    }
    let workload = format!("trace:{trace}");
    for arguments in [
        &["profile", &trace, "-o", &path("app.partners")][..],
        &["bench", "-w", &workload, "-e", "list", "--budget", "0.001"],
        &["convert", &trace, "-o", &path("calls.csv")],
    ] {
        let output = matchpoint(arguments).succeed();
        let note = "note: 1 of 16 ranks is missing from the trace: ";
        assert_eq!(output.stderr.matches(note).count(), 1, "{output}");
    }
}

#[test]
fn levels_and_partners_are_in_the_report() {
    let trace = bundled("fillboundary-27");
    let asked = ["analyze", &trace, "-e", "list", "-e", "partner:threshold=4", "-e", "optimistic"];
    let report = words(&matchpoint(asked).stdout);
    for expected in ["partners of posted receives ", "receives of a run "] {
        assert!(report.contains(expected), "{report}");
    }
    let json = matchpoint([&asked[..], &["--json", "-"]].concat()).json();
    let statistics = |engine: usize| json["engines"][engine]["statistics"].as_array().unwrap();
    assert!(statistics(0).is_empty(), "a list has nothing to tell");
    for (engine, name, most) in [(1, "posted_partners", 27.0), (2, "empty_bins_no_wildcard_percent", 100.0)] {
        let of = statistics(engine).iter().find(|of| of["name"] == name).unwrap_or_else(|| panic!("{name}"));
        let [mean, max] = [&of["mean"], &of["max"]].map(|value| value.as_f64().unwrap());
        assert!(0.0 < mean && mean <= max && max <= most, "{name}: {mean} {max}");
    }
}
