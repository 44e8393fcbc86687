//! Tests of `matchpoint bench engines --through c`.

use std::fs;

use serde_json::Value;
use tempfile::tempdir;

use super::{QUICK, bench, json, text};

const THROUGH_C: [&str; 2] = ["--through", "c"];

#[test]
fn json_has_engines_and_stand_ins() {
    let value = json(&[&THROUGH_C[..], &QUICK, &["-w", "last:64", "-w", "wild:64", "-e", "bins"]].concat());
    assert_eq!((&value["schema"], &value["through"]), (&Value::from(1), &Value::from("c")));
    assert_eq!(value["engines"], serde_json::json!(["bins"]));
    assert_eq!(value["stand_ins"], serde_json::json!(["c:list", "c:rank_array", "c:ucx"]));
    let results = value["results"].as_array().unwrap();
    let engines: Vec<&str> = results.iter().map(|result| result["engine"].as_str().unwrap()).collect();
    assert_eq!(engines, ["bins", "c:list", "c:rank_array", "c:ucx"].repeat(2));
    for result in results {
        for member in ["ns_median", "ns_min", "ns_p25", "ns_p75", "samples", "times_best_stand_in"] {
            assert!(result[member].as_f64().unwrap() > 0.0, "{member}: {result}");
        }
        assert!(result["best_stand_in"].as_str().unwrap().starts_with("c:"));
        assert!(result.get("bytes_peak").is_none() && result.get("attempts_mean").is_none());
    }
    let least = |row: &[Value]| {
        let ratios = row[1..].iter().map(|result| result["times_best_stand_in"].as_f64().unwrap());
        ratios.fold(f64::MAX, f64::min)
    };
    assert!(results.chunks(4).all(|row| least(row) == 1.0), "the best stand-in takes once its time");
}

#[test]
fn tables_have_ratio_to_best_stand_in() {
    let output = bench(&[&THROUGH_C[..], &QUICK, &["-w", "last:8", "-w", "identical"]].concat());
    assert!(output.status.success(), "{}", text(&output.stderr));
    let page = text(&output.stdout);
    let headers: Vec<Vec<&str>> = page
        .lines()
        .filter(|line| line.starts_with("workload"))
        .map(|line| line.split_whitespace().collect())
        .collect();
    let timed = vec!["workload", "hybrid", "c:list", "c:rank_array", "c:ucx"];
    assert_eq!(headers, [timed.clone(), timed, vec!["workload", "hybrid", "best", "stand-in"]]);
    for name in ["last:8", "identical:1024"] {
        assert_eq!(page.lines().filter(|line| line.starts_with(name)).count(), 3, "{page}");
    }
    assert!(
        page.contains("Workloads on which an engine is slower than the best stand-in\n- hybrid: "),
        "{page}"
    );
    assert!(page.lines().all(|line| line.chars().count() <= 80), "{page}");
}

#[test]
fn page_has_tables_and_picture() {
    let folder = tempdir().unwrap();
    let file = folder.path().join("c.html");
    let plot = ["--plot", file.to_str().unwrap()];
    let output = bench(&[&THROUGH_C[..], &QUICK, &plot, &["-w", "last:8", "-w", "last:64"]].concat());
    assert!(output.status.success(), "{}", text(&output.stderr));
    let page = fs::read_to_string(file).unwrap();
    assert!(page.contains("<svg") && page.contains("c:rank_array") && page.contains("best stand-in"));
}

#[test]
fn trace_is_usage_error() {
    let output = bench(&[&THROUGH_C[..], &["-w", "trace:lost"]].concat());
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("--through c runs only the standard workloads, not 'trace:lost'"));
}
