//! Tests of `matchpoint bench engines --through c`.

use std::fs;

use serde_json::Value;
use tempfile::tempdir;

use super::{array, bench, file, is_positive, json, members};

#[test]
fn json_has_engines_and_stand_ins() {
    let value = json("--through c --budget 0.02 -w last:64 -w wild:64 -e bins", &[]);
    assert_eq!((&value["schema"], &value["through"]), (&Value::from(1), &Value::from("c")));
    assert_eq!(value["engines"], serde_json::json!(["bins"]));
    assert_eq!(value["stand_ins"], serde_json::json!(["c:list", "c:rank_array", "c:ucx"]));
    let results = array(&value["results"]);
    assert_eq!(members(&value["results"], "engine"), ["bins", "c:list", "c:rank_array", "c:ucx"].repeat(2));
    for result in results {
        for member in ["ns_median", "ns_min", "ns_p25", "ns_p75", "samples", "times_best_stand_in"] {
            assert!(is_positive(&result[member]), "{member}: {result}");
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
    let output = bench("--through c --budget 0.02 -w last:8 -w identical", &[]).succeed();
    let page = &output.stdout;
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
    output.prints("Workloads on which an engine is slower than the best stand-in\n- hybrid: ");
    assert!(output.width() <= 80, "{output}");
}

#[test]
fn page_has_tables_and_picture() {
    let folder = tempdir().unwrap();
    let file = file(&folder, "c.html");
    bench("--through c --budget 0.02 -w last:8 -w last:64 --plot", &[&file]).succeed();
    let page = fs::read_to_string(file).unwrap();
    assert!(page.contains("<svg") && page.contains("c:rank_array") && page.contains("best stand-in"));
}
