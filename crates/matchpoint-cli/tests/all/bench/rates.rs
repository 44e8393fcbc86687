//! Tests of `matchpoint bench rate`.

use std::fs;

use tempfile::tempdir;

use super::{KINDS, array, bench, file, is_positive, json};
use crate::ran::words;

const FEW: &str = "rate --threads 1,2 --windows 1,7 --work-ns 0,50 --repetitions 1 --messages 20 --repeats 2";

#[test]
fn message_rates_have_every_output_form() {
    let folder = tempdir().unwrap();
    let (csv, page) = (file(&folder, "rate.csv"), file(&folder, "rate.html"));
    let engines = ["-e", "none", "-e", "list", "-e", "optimistic_parallel:bins=16"];
    let value = json(FEW, &engines);
    let rates = array(&value["rates"]);
    // Two windows, two amounts of work, and four scenarios. `none` and `list` have one rate each, the parallel engine
    // one for each number of threads.
    assert_eq!(rates.len(), 2 * 2 * 4 * 4);
    assert!(rates.iter().all(|rate| is_positive(&rate["rate_millions_per_s"]) && rate["wrong"].is_null()));
    assert!(rates[3]["per_message"]["jobs"].is_number() && rates[1]["threads"].is_null());
    assert!(rates[3]["per_message"]["threads"].is_null(), "it is no count");

    let output = bench(FEW, &[&engines[..], &["--csv", &csv, "--plot", &page]].concat()).succeed();
    output.prints("Published: window 128, other hardware").prints("Gain of threads");
    assert!(!output.stdout.contains("jobs"), "counts are for machines, and for the page");
    output.prints("Counts per message: --json");
    let text = words(&output.stdout);
    for legend in ["Work: requested with --work-ns", "none: no matching, one thread delivers"] {
        assert!(text.contains(legend) && fs::read_to_string(&page).unwrap().contains(legend), "{legend}");
    }
    let rows = fs::read_to_string(csv).unwrap();
    assert_eq!(rows.lines().count(), 1 + 2 * 2 * 4 * 4);
    assert!(rows.starts_with("window,work_ns,scenario,engine,threads,rate_millions_per_s"));
    let printed = bench(FEW, &["-e", "list", "--csv", "-"]);
    assert!(!printed.stderr.contains("wrote"), "{printed}");
    let printed = printed.stdout;
    assert!(rows.starts_with(printed.lines().next().unwrap()) && printed.lines().count() == 1 + 2 * 2 * 4);
    let page = fs::read_to_string(page).unwrap();
    // One chart for each scenario, window and amount of work, and one chart of the published rates.
    assert_eq!(page.matches("class=\"title\"").count(), 4 * 2 * 2 + 1);
    assert_eq!(value["published"]["lines"][0]["points"][5]["rate_millions_per_s"], 4.79);
    let lines = array(&value["published"]["lines"]);
    let ids: Vec<&str> = lines.iter().map(|line| line["scenario_id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["no_conflict", "fast_path", "slow_path"]);
    assert!(ids.iter().all(|id| rates.iter().any(|rate| rate["scenario"] == *id)), "{value}");
    assert_eq!(lines[0]["scenario"], "no conflict");
    assert!(page.contains("published, other hardware: not comparable"));
    assert!(page.contains("class=\"spread") && page.contains("Gain of threads"));
    assert!(page.contains("Counts of engines, per message") && page.contains("jobs "));
    let unasked = json(KINDS[2].0, &["-e", "optimistic_parallel"]);
    let most = array(&unasked["rates"]).iter().map(|rate| rate["threads"].as_u64().unwrap()).max();
    assert!(most <= unasked["processors"].as_u64(), "{most:?}");
    assert!(page.matches("</html>").count() == 1 && page.ends_with("</html>\n"));
}

/// A chart cuts long names, so names that begin alike get numbers.
#[test]
fn chart_has_short_names_and_key() {
    let folder = tempdir().unwrap();
    let path = file(&folder, "rate.html");
    let (first, second) = ("optimistic_parallel:bins=2048,capacity=0", "optimistic_parallel:bins=16");
    let engines = ["-e", "list", "-e", first, "-e", second, "--threads", "1,2", "--plot", &path];
    bench(KINDS[2].0, &engines).succeed();
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
    for (engine, depth) in [("optimistic:capacity=3", "0"), ("optimistic", "9000")] {
        let engines = ["-e", engine, "-e", "list", "--depth", depth];
        let output = bench(FEW, &engines).succeed();
        for unexpected in ["WRONG", "none is no engine"] {
            assert!(!output.prints("full").stdout.contains(unexpected), "{output}");
        }
        let rates = json(FEW, &engines);
        let rates = array(&rates["rates"]);
        let (full, measured): (Vec<_>, Vec<_>) = rates.iter().partition(|rate| rate["engine"] == engine);
        assert!(full.iter().all(|rate| rate["full"].is_string() && rate["rate_millions_per_s"].is_null()));
        assert!(measured.iter().all(|rate| rate["full"].is_null() && rate["rate_p25"].is_number()));
    }
}
