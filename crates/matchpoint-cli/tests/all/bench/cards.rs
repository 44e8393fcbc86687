//! Tests of `matchpoint bench gpu`: without a GPU, from an earlier result, and with an emulated driver.

use std::fs;
use std::process::Command;

use tempfile::tempdir;

use super::{KINDS, array, bench, file, messages, read_json};
use crate::left_out::leave_out;
use crate::ran::{CommandOutput, MATCHPOINT, bundled, matchpoint, repository};

/// On a host with a GPU, this measurement takes half a minute.
#[test]
fn missing_card_is_reported() {
    let output = bench("gpu", &[]);
    if output.code == Some(0) {
        return leave_out("an NVIDIA GPU is present", "run the tests on a machine without one");
    }
    let output = output.fail(1);
    assert!(output.stderr.contains("card") || output.stderr.contains("libnvrtc"), "{output}");
    assert_eq!(output.stdout, "", "{output}");
}

#[test]
fn earlier_result_is_reported_and_drawn() {
    let folder = tempdir().unwrap();
    let record = repository("benchmarks/records/2026-11-22-gpu-h200.json").display().to_string();
    let [csv, svg, page] = ["gpu.csv", "gpu.svg", "gpu.html"].map(|name| file(&folder, name));
    for plot in [&svg, &page] {
        let output = bench("gpu --from", &[&record, "--csv", &csv, "--plot", plot]).succeed();
        output.prints("NVIDIA H200");
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
    let (rows, measured) = rows(&csv);
    let output = bench("gpu --from", &[&record]);
    let (others, missing) = (array(&read_json(&record)["results"]).len() - measured, rows - measured);
    for (count, what) in [
        (others, format!("matchpoint: {others} other measurements of that file are not shown, such as ")),
        (missing, format!("matchpoint: incomplete: {missing} of {} measurements are missing (", rows)),
    ] {
        assert_eq!(messages(&output).contains(&what), count > 0, "{}", messages(&output));
    }
}

/// The number of rows of a table, and the number of rows with a measurement.
fn rows(csv: &str) -> (usize, usize) {
    let mut table = csv::Reader::from_path(csv).unwrap();
    let rows: Vec<csv::StringRecord> = table.records().map(Result::unwrap).collect();
    let is_measured = |row: &&csv::StringRecord| row.iter().next_back().unwrap().is_empty();
    (rows.len(), rows.iter().filter(is_measured).count())
}

/// The emulated driver fails at a GPU kernel. The measurements of other GPU kernels are kept.
#[cfg(target_os = "linux")]
#[test]
fn card_failure_keeps_other_measurements() {
    let folder = tempdir().unwrap();
    let driver = file(&folder, "libcuda.so");
    let mut compiler = Command::new("cc");
    compiler.args(["-std=gnu11", "-O1", "-fPIC", "-shared", "-o", &driver]);
    compiler.arg(repository("crates/matchpoint-gpu/emulation/driver.c")).args(["-lpthread", "-ldl"]);
    let Ok(compiled) = compiler.output() else {
        return leave_out("no cc", "`apt-get install gcc`");
    };
    assert!(compiled.status.success(), "{compiled:?}");
    std::os::unix::fs::symlink(&driver, file(&folder, "libnvrtc.so")).unwrap();
    let [json, csv, svg, page, none] =
        ["a.json", "a.csv", "a.svg", "a.html", "none.json"].map(|name| file(&folder, name));
    let played = |failure: &str, arguments: &[&str]| {
        let mut command = Command::new(MATCHPOINT);
        command.args(["bench", "gpu"]).args(arguments).env("PLAYED_FAILURE", failure);
        CommandOutput::of(command.env("LD_PRELOAD", &driver).env("LD_LIBRARY_PATH", folder.path()))
    };
    let is_partial = |output: CommandOutput| {
        let output = output.exit(1);
        let printed = messages(&output);
        let printed = printed.lines().find(|line| line.starts_with("error: ")).unwrap();
        for expected in [
            "incomplete: ",
            " measurements are missing (Partitioned ",
            "`32 entries in 1 queues`: starting a kernel: error of the driver: PLAYED_ERROR_700",
        ] {
            assert!(printed.contains(expected), "{printed}");
        }
        output.prints("Incomplete").prints("64 entries");
    };
    is_partial(played("match_partitioned:700", &["--json", &json, "--csv", &csv, "--plot", &svg]));
    let value = read_json(&json);
    let results = array(&value["results"]);
    let of = |figure: &str| results.iter().filter(|row| row["figure"] == figure).collect::<Vec<_>>();
    assert!(of("Matrix").iter().all(|row| row["rate"].is_number() && row["missing"].is_null()));
    assert!(of("Partitioned")[0]["missing"].as_str().unwrap().contains("PLAYED_ERROR_700"));
    assert_eq!(of("Hash")[0]["missing"], "not tried after `32 entries in 1 queues` failed");
    let measured = of("Matrix").len();
    assert_eq!(value["measurements"].as_u64(), Some(results.len() as u64));
    assert_eq!(value["missing"].as_u64(), Some((results.len() - measured) as u64));
    assert_eq!(rows(&csv), (results.len(), measured));
    assert!(fs::read_to_string(&svg).unwrap().contains(">incomplete: "));
    is_partial(bench("gpu --from", &[&json, "--plot", &page]));
    let page = fs::read_to_string(page).unwrap();
    assert!(page.contains("<b>Incomplete</b>: ") && page.contains("missing: not tried after"), "{page}");
    let output = played("match_matrix:700", &["--json", &none]).exit(1);
    assert_eq!(output.stdout, "");
    assert!(messages(&output).contains("PLAYED_ERROR_700") && !fs::exists(none).unwrap());
}

#[test]
fn wrong_card_file_is_named() {
    let folder = tempdir().unwrap();
    let file = file(&folder, "a.json");
    let printed = |what: &str| {
        let output = bench("gpu --from", &[&file]).exit(1);
        let wants = "\nhint: give --from a complete file of `matchpoint bench gpu --json`";
        let printed = messages(&output);
        assert!(printed.contains(what) && printed.ends_with(wants), "{printed}");
        assert_eq!((printed.lines().count(), &*output.stdout), (2, ""), "{printed}");
    };
    for ((kind, _), name) in KINDS.into_iter().zip(["engines", "latency", "rate", "offload", "callers"]) {
        bench(kind, &["--json", &file]).succeed();
        printed(&format!("a file of `matchpoint bench {name} --json`"));
    }
    matchpoint(["analyze", &bundled("multigrid_c-8"), "--json", &file]).succeed();
    printed("a file of `matchpoint analyze --json`");
    fs::write(&file, "{}").unwrap();
    printed("no `card`");
    fs::write(&file, "figure,label\n").unwrap();
    printed("no JSON, or incomplete");
}
