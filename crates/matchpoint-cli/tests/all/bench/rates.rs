//! Tests of `matchpoint bench rate`.

use std::fs;

use tempfile::tempdir;

use super::{KINDS, bench, json, text};

/// Very short measurements.
const FEW: [&str; 8] = ["--threads", "1,2", "--windows", "1,7", "--work-ns", "0,50", "--repetitions", "1"];

#[test]
fn message_rates_have_every_output_form() {
    let folder = tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (csv, page) = (path("rate.csv"), path("rate.html"));
    let few = [&FEW[..], &["--messages", "20", "--repeats", "2"]].concat();
    let engines = ["-e", "none", "-e", "list", "-e", "optimistic_parallel:bins=16"];
    let value = json(&[&["rate"][..], &few, &engines].concat());
    let rates = value["rates"].as_array().unwrap();
    // Two windows, two amounts of work, four scenarios; `none`, one engine without threads, one with one or two.
    assert_eq!(rates.len(), 2 * 2 * 4 * 4);
    assert!(
        rates
            .iter()
            .all(|rate| rate["rate_millions_per_s"].as_f64().unwrap() > 0.0 && rate["wrong"].is_null())
    );
    assert!(rates[3]["per_message"]["jobs"].is_number() && rates[1]["threads"].is_null());
    assert!(rates[3]["per_message"]["threads"].is_null(), "it is no count");

    let output = bench(&[&["rate"][..], &few, &engines, &["--csv", &csv, "--plot", &page]].concat());
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains("Published: window 128, other hardware"));
    assert!(text(&output.stdout).contains("Gain of threads"));
    assert!(!text(&output.stdout).contains("jobs"), "counts are for machines, and for the page");
    assert!(text(&output.stdout).contains("Counts per message: --json"));
    let said = text(&output.stdout).split_whitespace().collect::<Vec<_>>().join(" ");
    for legend in ["Work: requested with --work-ns", "none: no matching, one thread delivers"] {
        assert!(said.contains(legend) && fs::read_to_string(&page).unwrap().contains(legend), "{legend}");
    }
    let rows = fs::read_to_string(csv).unwrap();
    assert_eq!(rows.lines().count(), 1 + 2 * 2 * 4 * 4);
    assert!(rows.starts_with("window,work_ns,scenario,engine,threads,rate_millions_per_s"));
    let printed = bench(&[&["rate"][..], &few, &["-e", "list", "--csv", "-"]].concat());
    assert!(!text(&printed.stderr).contains("wrote"), "{}", text(&printed.stderr));
    let printed = text(&printed.stdout);
    assert!(rows.starts_with(printed.lines().next().unwrap()) && printed.lines().count() == 1 + 2 * 2 * 4);
    let page = fs::read_to_string(page).unwrap();
    // A chart per scenario, window and amount of work, and the published rates.
    assert_eq!(page.matches("class=\"title\"").count(), 4 * 2 * 2 + 1);
    assert_eq!(value["published"]["lines"][0]["points"][5]["rate_millions_per_s"], 4.79);
    let lines = value["published"]["lines"].as_array().unwrap();
    let ids: Vec<&str> = lines.iter().map(|line| line["scenario_id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["no_conflict", "fast_path", "slow_path"]);
    assert!(ids.iter().all(|id| rates.iter().any(|rate| rate["scenario"] == *id)), "{value}");
    assert_eq!(lines[0]["scenario"], "no conflict");
    assert!(page.contains("published, other hardware: not comparable"));
    assert!(page.contains("class=\"spread") && page.contains("Gain of threads"));
    assert!(page.contains("Counts of engines, per message") && page.contains("jobs "));
    // Default threads do not exceed the processors.
    let unasked = json(&[KINDS[2], &["-e", "optimistic_parallel"]].concat());
    let most =
        unasked["rates"].as_array().unwrap().iter().map(|rate| rate["threads"].as_u64().unwrap()).max();
    assert!(most <= unasked["processors"].as_u64(), "{most:?}");
    assert!(page.matches("</html>").count() == 1 && page.ends_with("</html>\n"));
}

/// Similar names would be cut to the same letters.
#[test]
fn chart_has_short_names_and_key() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("rate.html");
    let (first, second) = ("optimistic_parallel:bins=2048,capacity=0", "optimistic_parallel:bins=16");
    let engines = ["-e", "list", "-e", first, "-e", second, "--threads", "1,2"];
    let output = bench(&[KINDS[2], &engines, &["--plot", path.to_str().unwrap()]].concat());
    assert!(output.status.success(), "{}", text(&output.stderr));
    let page = fs::read_to_string(path).unwrap();
    let second_full = format!("<b>optimistic_parallel 2</b>: {second}");
    for expected in
        [">optimistic_parallel 1<title>", &format!("<b>optimistic_parallel 1</b>: {first}"), &second_full]
    {
        assert!(page.contains(expected), "{expected} in {page}");
    }
    assert!(page.contains(">list</text>") && !page.contains("<b>list</b>:"), "{page}");
}

#[test]
fn engine_with_full_table_has_no_rate() {
    let few = [&FEW[..], &["--messages", "20", "--repeats", "2"]].concat();
    for (engine, depth) in [("optimistic:capacity=3", "0"), ("optimistic", "9000")] {
        let asked = [&["rate"][..], &few, &["-e", engine, "-e", "list", "--depth", depth]].concat();
        let output = bench(&asked);
        assert!(output.status.success(), "{}", text(&output.stderr));
        let table = text(&output.stdout);
        assert!(!table.contains("WRONG") && table.contains("full"), "{table}");
        assert!(!table.contains("none is no engine"), "{table}");
        let rates = json(&asked);
        let rates = rates["rates"].as_array().unwrap();
        let (full, measured): (Vec<_>, Vec<_>) = rates.iter().partition(|rate| rate["engine"] == engine);
        assert!(full.iter().all(|rate| rate["full"].is_string() && rate["rate_millions_per_s"].is_null()));
        assert!(measured.iter().all(|rate| rate["full"].is_null() && rate["rate_p25"].is_number()));
    }
}
