//! Tests of `matchpoint convert`.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use matchpoint_trace::Call;
use serde_json::Value;
use tempfile::tempdir;

use crate::ran::{CommandOutput, MATCHPOINT, bundled, copy_bundled, matchpoint, repository};

#[cfg(feature = "parquet")]
mod packed;

/// Output files and formats of this build.
const PACKED: &[&str] = if cfg!(feature = "parquet") { &["a.parquet"] } else { &[] };
const TABLES: &[&str] = if cfg!(feature = "parquet") { &["csv", "parquet"] } else { &["csv"] };

fn all_bundled() -> Vec<PathBuf> {
    let entries = fs::read_dir(bundled("")).unwrap().flatten().map(|entry| entry.path());
    let is_dumpi = |path: &PathBuf| path.is_dir() && !path.join("manifest.json").exists();
    let mut traces: Vec<PathBuf> = entries.filter(is_dumpi).collect();
    traces.sort();
    assert!(traces.len() >= 10);
    traces
}

fn command(trace: &Path, output: &Path, more: &[&str]) -> Command {
    let mut command = Command::new(MATCHPOINT);
    command.arg("convert").arg(trace).arg("-o").arg(output).args(more);
    command
}

fn convert(trace: &Path, output: &Path, more: &[&str]) -> CommandOutput {
    CommandOutput::of(&mut command(trace, output, more))
}

fn converted(trace: &Path, output: &Path) -> String {
    convert(trace, output, &[]).succeed().stderr
}

/// The JSON of `analyze` without members that vary between runs.
fn analysis(trace: &Path) -> Value {
    let mut report =
        matchpoint(["analyze", trace.to_str().unwrap(), "--json", "-", "-e", "list"]).succeed().json();
    let members = report.as_object_mut().unwrap();
    for member in ["verdict", "advice", "timings"] {
        members.remove(member);
    }
    for member in ["format", "path", "bytes", "notes", "calls_left_out", "command", "started"] {
        members["trace"].as_object_mut().unwrap().remove(member);
    }
    timeless(&mut report);
    report
}

fn timeless(value: &mut Value) {
    match value {
        Value::Object(members) => {
            // A conversion may lose the origin of a communicator. The members of the communicator are kept.
            members.retain(|name, _| !name.contains("_ns") && !name.contains("share") && name != "origin");
            members.values_mut().for_each(timeless);
        }
        Value::Array(elements) => elements.iter_mut().for_each(timeless),
        _ => {}
    }
}

#[test]
fn converted_traces_have_equal_analysis() {
    let folder = tempdir().unwrap();
    for trace in all_bundled() {
        let name = trace.file_name().unwrap().to_str().unwrap();
        let [native, dumpi] =
            ["trace", "dumpi"].map(|extension| folder.path().join(format!("{name}.{extension}")));
        let expected = converted(&trace, &native);
        // Calls that the tracer did not write are reported, because the new trace has no place for their number.
        assert_eq!(expected.contains("did not write 1260 calls"), name == "quicksilver-8", "{expected}");
        let theirs = analysis(&trace);
        assert_eq!(analysis(&native), theirs, "{name}");
        converted(&native, &dumpi);
        let mut ours = analysis(&dumpi);
        // DUMPI lacks some functions that create communicators. The conversion writes equivalent functions.
        ours["calls"] = theirs["calls"].clone();
        assert_eq!(ours, theirs, "{name}, in DUMPI again");
    }
}

fn counts(trace: &Path) -> BTreeMap<String, u64> {
    let trace = matchpoint_trace::open(trace).unwrap();
    let (mut counts, mut call) = (BTreeMap::new(), Call::default());
    for &rank in trace.present() {
        let mut stream = trace.rank(rank).unwrap();
        while stream.read(&mut call).unwrap() {
            *counts.entry(call.function.name().to_owned()).or_default() += 1;
        }
    }
    counts
}

#[test]
fn csv_has_every_call() {
    let folder = tempdir().unwrap();
    for trace in all_bundled() {
        let csv = folder.path().join("calls.csv");
        converted(&trace, &csv);
        let mut found = BTreeMap::<String, u64>::new();
        for row in csv::Reader::from_path(&csv).unwrap().records() {
            *found.entry(row.unwrap()[3].to_owned()).or_default() += 1;
        }
        assert_eq!(found, counts(&trace), "{}", trace.display());
    }
}

#[test]
#[cfg(not(feature = "parquet"))]
fn parquet_is_refused_without_feature() {
    let folder = tempdir().unwrap();
    let done = convert(&all_bundled()[0], &folder.path().join("calls.parquet"), &[]);
    done.exit(1).reports("--features parquet");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn every_column_is_documented() {
    let page = fs::read_to_string(repository("docs/reference/convert.md")).unwrap();
    let page = page.split_once("## Tables").unwrap().1;
    use matchpoint_trace::columns::{LISTS, VALUES};
    let documented: Vec<&str> =
        page.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next()).collect();
    let columns: Vec<&str> = VALUES.iter().chain(&LISTS).map(|column| column.name).collect();
    assert_eq!(documented, columns);
}

#[test]
fn table_has_wildcards_and_statuses() {
    let folder = tempdir().unwrap();
    let csv = folder.path().join("calls.csv");
    converted(Path::new(&bundled("imb-mpi1-4")), &csv);
    let mut rows = csv::Reader::from_path(&csv).unwrap();
    let rows: Vec<BTreeMap<String, String>> = rows.deserialize().map(Result::unwrap).collect();
    let receives =
        |row: &&BTreeMap<String, String>| ["MPI_Recv", "MPI_Irecv"].contains(&row["function"].as_str());
    let any = |name: &str, row: &BTreeMap<String, String>| {
        row[name] == "-1" || row[&format!("recv_{name}")] == "-1"
    };
    let posting = rows.iter().filter(|row| receives(row) || row["function"].contains("Sendrecv"));
    let posting: Vec<_> = posting.collect();
    assert_eq!(posting.iter().filter(|row| any("peer", row)).count(), 672);
    assert_eq!(posting.iter().filter(|row| any("tag", row)).count(), 2016);
    let took =
        rows.iter().find(|row| row["function"] == "MPI_Recv" && !row["status_source"].is_empty()).unwrap();
    assert!(took["status_bytes"].parse::<u64>().is_ok() && took["status_cancelled"] == "false");
}

#[test]
fn failed_conversion_leaves_no_output() {
    let folder = tempdir().unwrap();
    let damaged = folder.path().join("damaged");
    fs::create_dir(&damaged).unwrap();
    copy_bundled("lulesh-8", &damaged);
    for file in fs::read_dir(&damaged).unwrap().flatten().map(|file| file.path()) {
        if file.to_str().unwrap().ends_with("-0003.bin") {
            let mut bytes = fs::read(&file).unwrap();
            bytes[20_000..24_000].fill(0xff);
            fs::write(file, bytes).unwrap();
        }
    }
    for name in [&["a.csv", "a.trace", "a.dumpi"][..], PACKED].concat() {
        let done = convert(&damaged, &folder.path().join(name), &[]).fail(1);
        done.reports("-0003.bin").reports("byte 2");
        assert!(!done.stderr.contains("cannot write"), "{done}");
    }
    let left: Vec<_> =
        fs::read_dir(folder.path()).unwrap().flatten().map(|entry| entry.file_name()).collect();
    assert_eq!(left, ["damaged"]);
}

/// The native format keeps facts about the run. The command reports the facts that other formats lose.
#[test]
fn command_line_is_kept_or_reported_missing() {
    let folder = tempdir().unwrap();
    let recorded = folder.path().join("recorded.trace");
    assert!(!converted(&all_bundled()[0], &recorded).contains("omitted"));
    let manifest = |trace: &Path| -> Value {
        serde_json::from_slice(&fs::read(trace.join("manifest.json")).unwrap()).unwrap()
    };
    let mut of_run = manifest(&recorded);
    of_run["mpi"] = "MPICH 5.0.2".into();
    of_run["command"] = vec!["mpiexec", "-n", "4", "./app"].into();
    of_run["started"] = "2026-01-02T03:04:05Z".into();
    of_run["ended"] = "2026-01-02T03:05:05Z".into();
    of_run["exit_status"] = 3.into();
    fs::write(recorded.join("manifest.json"), of_run.to_string()).unwrap();
    fs::write(recorded.join("rank-00000.mpa"), "").unwrap();

    let again = folder.path().join("again.trace");
    let expected = converted(&recorded, &again);
    for member in ["mpi", "command", "started", "ended", "exit_status", "ranks"] {
        assert_eq!(manifest(&again)[member], of_run[member], "{member}");
    }
    assert!(expected.contains("Hosts and processes of the run are omitted"), "{expected}");
    let arrivals = "Arrival times are omitted";
    for name in [&["a.dumpi", "a.csv"][..], PACKED].concat() {
        let expected = converted(&recorded, &folder.path().join(name));
        assert!(
            expected.contains("Command, MPI library, time and hosts of the run are omitted"),
            "{expected}"
        );
        assert!(expected.contains(arrivals), "{expected}");
    }
}

#[test]
fn nonempty_folder_is_not_changed() {
    let folder = tempdir().unwrap();
    fs::write(folder.path().join("mine"), "1").unwrap();
    let done = convert(&all_bundled()[0], folder.path(), &["--to", "dumpi"]);
    done.exit(1).reports("is not empty");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn name_without_format_is_error() {
    let done = convert(&all_bundled()[0], Path::new("somewhere"), &[]);
    done.exit(2).reports("use --to dumpi");
}

#[test]
fn dash_writes_table_to_standard_output() {
    let folder = tempdir().unwrap();
    for to in TABLES {
        let path = folder.path().join(format!("calls.{to}"));
        converted(&all_bundled()[0], &path);
        let done = command(&all_bundled()[0], Path::new("-"), &["--to", to]).output().unwrap();
        assert!(done.status.success() && done.stdout == fs::read(&path).unwrap(), "{to}");
    }
    convert(&all_bundled()[0], Path::new("-"), &["--to", "native"]).reports("name a folder");
}

#[test]
fn closed_pipe_is_no_error() {
    let mut command = command(&all_bundled()[0], Path::new("-"), &["--to", "csv"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let done = child.wait_with_output().unwrap();
    assert!(done.status.success(), "{done:?}");
}
