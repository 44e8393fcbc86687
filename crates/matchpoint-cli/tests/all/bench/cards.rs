//! Tests of `matchpoint bench gpu`: without a card, from an earlier result, and with a false driver.

use std::fs;
use std::process::{Command, Output};

use serde_json::Value;
use tempfile::tempdir;

use super::{KINDS, bench, said, text};
use crate::left_out::leave_out;

/// With a card, this measurement would take half a minute.
#[test]
fn missing_card_is_reported() {
    let output = bench(&["gpu"]);
    if output.status.success() {
        return leave_out("an NVIDIA GPU is present", "run the tests on a machine without one");
    }
    let said = text(&output.stderr);
    assert!(said.contains("card") || said.contains("libnvrtc"), "{said}");
    assert_eq!(
        (text(&output.stdout), said.lines().filter(|line| !line.starts_with("hint: ")).count()),
        ("", 1),
        "{said}"
    );
}

/// An earlier result is reported and drawn without a card.
#[test]
fn earlier_result_is_reported_and_drawn() {
    let folder = tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let record = concat!(env!("CARGO_MANIFEST_DIR"), "/../../benchmarks/records/2026-11-22-gpu-h200.json");
    let (csv, svg, page) = (path("gpu.csv"), path("gpu.svg"), path("gpu.html"));
    for plot in [&svg, &page] {
        let output = bench(&["gpu", "--from", record, "--csv", &csv, "--plot", plot]);
        assert!(output.status.success(), "{}", text(&output.stderr));
        assert!(text(&output.stdout).contains("NVIDIA H200"), "{}", text(&output.stdout));
        let drawn = fs::read_to_string(plot).unwrap();
        for word in [
            "Figure 4: the matrix",
            "Figure 5: queues by source",
            "Figure 6b: hashing without order",
            "published: GTX 1080",
            "16Mi",
        ] {
            assert!(drawn.contains(word), "{plot} has no {word}");
        }
        assert!(!drawn.contains("NaN") && !drawn.contains("inf"), "{plot}");
        assert_eq!(drawn.contains("Table II"), *plot == page);
    }
    let record_path = record;
    let record: Value = serde_json::from_str(&fs::read_to_string(record).unwrap()).unwrap();
    // Measurements that the earlier result lacks are reported.
    let mut rows = csv::Reader::from_path(&csv).unwrap();
    let rows: Vec<csv::StringRecord> = rows.records().map(Result::unwrap).collect();
    let is_measured = |row: &&csv::StringRecord| row.iter().next_back().unwrap().is_empty();
    let measured = rows.iter().filter(is_measured).count();
    let output = bench(&["gpu", "--from", record_path]);
    let (others, missing) = (record["results"].as_array().unwrap().len() - measured, rows.len() - measured);
    for (count, what) in [
        (others, format!("matchpoint: {others} other measurements of that file are not shown, such as ")),
        (missing, format!("matchpoint: incomplete: {missing} of {} measurements are missing (", rows.len())),
    ] {
        assert_eq!(said(&output).contains(&what), count > 0, "{}", said(&output));
    }
}

/// The kernels of the false driver find nothing: equal kernels fail, then the card.
#[cfg(target_os = "linux")]
#[test]
fn card_failure_keeps_earlier_figures() {
    let folder = tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (driver, source) = (path("libcuda.so"), "/../matchpoint-gpu/emulation/driver.c");
    let mut compiler = Command::new("cc");
    compiler.args(["-std=gnu11", "-O1", "-fPIC", "-shared", "-o", &driver]);
    compiler.arg([env!("CARGO_MANIFEST_DIR"), source].concat()).args(["-lpthread", "-ldl"]);
    let Ok(compiled) = compiler.output() else {
        return leave_out("no cc", "`apt-get install gcc`");
    };
    assert!(compiled.status.success(), "{}", text(&compiled.stderr));
    std::os::unix::fs::symlink(&driver, path("libnvrtc.so")).unwrap();
    let (file, csv, svg, page) = (path("a.json"), path("a.csv"), path("a.svg"), path("a.html"));
    let played = |failure: &str, arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_matchpoint"));
        command.args(["bench", "gpu"]).args(arguments).env("PLAYED_FAILURE", failure);
        command.env("LD_PRELOAD", &driver).env("LD_LIBRARY_PATH", folder.path()).output().unwrap()
    };
    let output = played("match_partitioned:700", &["--json", &file, "--csv", &csv, "--plot", &svg]);
    let is_partial = |output: &Output| {
        assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
        let printed = said(output);
        let printed = printed.lines().find(|line| line.starts_with("error: ")).unwrap();
        assert!(
            printed.contains("incomplete: ") && printed.contains(" measurements are missing (Partitioned ")
        );
        assert!(
            printed.contains(
                "`32 entries in 1 queues`: starting a kernel: error of the driver: PLAYED_ERROR_700"
            ),
            "{printed}"
        );
        let page = text(&output.stdout);
        assert!(page.contains("Incomplete") && page.contains("64 entries"), "{page}");
    };
    is_partial(&output);
    let value: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    let results = value["results"].as_array().unwrap();
    let of = |figure: &str| results.iter().filter(|row| row["figure"] == figure).collect::<Vec<_>>();
    assert!(of("Matrix").iter().all(|row| row["rate"].is_number() && row["missing"].is_null()));
    assert!(of("Partitioned")[0]["missing"].as_str().unwrap().contains("PLAYED_ERROR_700"));
    assert_eq!(of("Hash")[0]["missing"], "not tried after `32 entries in 1 queues` failed");
    let measured = of("Matrix").len();
    assert_eq!(value["measurements"].as_u64(), Some(results.len() as u64));
    assert_eq!(value["missing"].as_u64(), Some((results.len() - measured) as u64));
    let mut rows = csv::Reader::from_path(&csv).unwrap();
    let rows: Vec<csv::StringRecord> = rows.records().map(Result::unwrap).collect();
    let last = |row: &csv::StringRecord| row.iter().next_back().unwrap().is_empty();
    assert_eq!((rows.len(), rows.iter().filter(|row| last(row)).count()), (results.len(), measured));
    assert!(fs::read_to_string(&svg).unwrap().contains(">incomplete: "));
    is_partial(&bench(&["gpu", "--from", &file, "--plot", &page]));
    let page = fs::read_to_string(page).unwrap();
    assert!(page.contains("<b>Incomplete</b>: ") && page.contains("missing: not tried after"), "{page}");
    // Without any measurement: an error and no file.
    let output = played("match_matrix:700", &["--json", &path("none.json")]);
    assert_eq!((output.status.code(), text(&output.stdout)), (Some(1), ""));
    assert!(said(&output).contains("PLAYED_ERROR_700") && !folder.path().join("none.json").exists());
}

/// The error names the actual and the expected kind.
#[test]
fn wrong_card_file_is_named() {
    let folder = tempdir().unwrap();
    let file = folder.path().join("a.json").to_str().unwrap().to_owned();
    let wants = "\nhint: give --from a complete file of `matchpoint bench gpu --json`";
    let printed = |what: &str| {
        let output = bench(&["gpu", "--from", &file]);
        assert_eq!((output.status.code(), text(&output.stdout)), (Some(1), ""));
        let printed = said(&output);
        assert!(
            printed.contains(what)
                && printed.ends_with(wants)
                && printed.lines().filter(|line| !line.starts_with("hint: ")).count() == 1,
            "{printed}"
        );
    };
    let kinds = [
        "bench engines --json",
        "bench latency --json",
        "bench rate --json",
        "bench offload --json",
        "bench callers --json",
    ];
    for (kind, command) in KINDS.into_iter().zip(kinds) {
        assert!(bench(&[kind, &["--json", &file]].concat()).status.success());
        printed(&format!("a file of `matchpoint {command}`"));
    }
    let trace = concat!(env!("CARGO_MANIFEST_DIR"), "/../../traces/multigrid_c-8");
    let mut analyze = Command::new(env!("CARGO_BIN_EXE_matchpoint"));
    assert!(analyze.args(["analyze", trace, "--json", &file]).output().unwrap().status.success());
    printed("a file of `matchpoint analyze --json`");
    fs::write(&file, "{}").unwrap();
    printed("no `card`");
    fs::write(&file, "figure,label\n").unwrap();
    printed("no JSON, or incomplete");
}

#[test]
fn card_takes_only_trace_batches() {
    let output = bench(&["gpu", "-w", "last"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        text(&output.stderr).contains("a card does not run the workload 'last'"),
        "{}",
        text(&output.stderr)
    );
}
