//! Tests of `matchpoint bench`.

mod cards;
mod rates;
mod through_c;

use std::fs;

use matchpoint::engines::REGISTRY;
use matchpoint_bench::workloads::WORKLOADS;
use matchpoint_cli::bench::defaults;
use serde_json::Value;
use tempfile::tempdir;

use crate::ran::{CommandOutput, bundled, file, matchpoint, repository, words};

fn bench(words: &str, more: &[&str]) -> CommandOutput {
    matchpoint(["bench"].into_iter().chain(words.split_whitespace()).chain(more.iter().copied()))
}

fn json(words: &str, more: &[&str]) -> Value {
    let output = bench(words, &[more, &["--json", "-"]].concat()).succeed();
    assert_eq!(messages(&output), "", "nothing but the JSON in a pipe");
    output.json()
}

/// Standard error without messages about host load, because other tests load the host.
fn messages(output: &CommandOutput) -> String {
    let is_kept = |line: &&str| {
        !is_warning(line)
            && !line.starts_with("hint: end other programs")
            && !line.starts_with("matchpoint: this process may use ")
    };
    output.stderr.lines().filter(is_kept).collect::<Vec<_>>().join("\n")
}

fn is_warning(line: &str) -> bool {
    line.starts_with("matchpoint: host load: ")
}

fn read_json(path: &str) -> Value {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

fn array(value: &Value) -> &[Value] {
    value.as_array().unwrap()
}

pub fn members(rows: &Value, member: &str) -> Vec<Value> {
    array(rows).iter().map(|row| row[member].clone()).collect()
}

fn is_positive(value: &Value) -> bool {
    value.as_f64().is_some_and(|value| value > 0.0)
}

#[test]
fn json_has_documented_members() {
    let value = json("--budget 0.02 -e list -e bins -w last:0 -w unexpected:1024", &[]);
    assert_eq!(value["schema"], 1);
    assert!(is_positive(&value["reference_ns"]));
    let of = |member| members(&value["results"], member);
    assert_eq!(of("workload"), ["last", "last", "unexpected", "unexpected"]);
    assert_eq!(of("n"), [0, 0, 1024, 1024]);
    assert_eq!(of("engine"), ["list", "bins", "list", "bins"]);
    for member in ["ns_median", "ns_min", "attempts_mean", "bytes_peak"] {
        assert!(of(member).iter().all(is_positive), "{member}");
    }
    assert!(is_positive(&value["results"][3]["ns_post"]));
}

#[test]
fn abandoned_measurement_is_null_with_reason() {
    let value = json("--budget 0.001 -e list -w many_sources:16384", &[]);
    let result = &value["results"][0];
    for member in ["ns_median", "ns_min", "attempts_mean", "bytes_peak"] {
        assert!(result[member].is_null(), "{member}: {result}");
    }
    assert!(is_positive(&result["ns_above"]) && is_positive(&result["bytes_above"]));
    assert!(result["unfinished"].as_str().unwrap().contains("calls of a round"));
}

#[test]
fn refusing_engine_is_not_leanest() {
    let arguments = "--budget 0.02 -e optimistic:capacity=16 -e list -w reverse:1024";
    let value = json(arguments, &[]);
    let [refusing, list] = array(&value["results"]) else { panic!("{value}") };
    assert!(refusing["full"].is_string(), "{refusing}");
    assert!(refusing["ns_median"].is_null() && refusing["bytes_peak"].is_null(), "{refusing}");
    assert!(refusing["bytes_above"].as_u64().unwrap() < list["bytes_peak"].as_u64().unwrap());
    let output = bench(arguments, &[]);
    let memory = output.stdout.split("Memory at most").nth(1).unwrap();
    let row = memory.lines().find(|line| line.starts_with("reverse:1024")).unwrap();
    assert!(row.contains("full") && row.contains('*'), "{row}");
}

#[test]
fn tables_name_best_engine_and_losses() {
    let output = bench("--budget 0.02 -e list -e bins -w last:1024 -w identical", &[]).succeed();
    let row = output.stdout.lines().find(|line| line.starts_with("last:1024")).unwrap();
    assert!(row.split_whitespace().nth(2).unwrap().starts_with('*'), "{row}");
    let loser = output.stdout.lines().find(|line| line.starts_with("- list: ")).unwrap();
    assert!(loser.ends_with("× the best on last:1024"), "{loser}");
    let words = words(&output.stdout);
    for legend in ["*: best of the row. ≈: as fast as the best", "counts at most as much as its lower half"]
    {
        assert!(words.contains(legend), "{output}");
    }
    output.prints("1025").prints("Reference");
}

#[test]
fn tables_fit_terminal() {
    for options in ["-w last:8 -w unexpected_sources:1024", "-w halo --cold"] {
        let output = bench("--budget 0.02", &options.split(' ').collect::<Vec<_>>()).succeed();
        assert!(output.width() <= 80, "{output}");
        for spec in REGISTRY {
            let headers = output.stdout.lines().filter(|line| line.starts_with("workload"));
            let columns = headers.filter(|line| line.split_whitespace().any(|word| word == spec.name));
            assert!(columns.count() >= 4, "times, spread, ratios, entries and memory of {}", spec.name);
        }
        let is_cold = output.stdout.contains("with cold caches before each call");
        assert_eq!(is_cold, options.contains("--cold"));
        output.prints("Spread (p25–p75 of the repetitions)");
    }
    let output = bench("latency --entries 1000 -e list -e optimistic", &[]);
    assert!(output.width() <= 80, "{output}");
}

#[test]
fn sections_begin_after_empty_line() {
    let output = bench("--budget 0.02 -e list -e bins -w unexpected:1024", &[]);
    let lines: Vec<&str> = output.stdout.lines().collect();
    for section in
        ["Spread", "Time ÷", "Post + arrival", "Entries", "Memory at", "Largest loss", "- Reference"]
    {
        let at = lines.iter().position(|line| line.starts_with(section));
        let at = at.unwrap_or_else(|| panic!("{section}"));
        assert!(lines[at - 1].is_empty() && !lines[at - 2].is_empty(), "{section}: {lines:?}");
    }
}

#[test]
fn spread_includes_median() {
    let value = json("--budget 0.02 -e list -w last:8", &[]);
    let of = |member: &str| value["results"][0][member].as_f64().unwrap();
    assert!(["ns_min", "ns_p25", "ns_median", "ns_p75"].map(of).is_sorted(), "{value}");
}

#[test]
fn workload_of_one_size_has_no_chart() {
    let folder = tempdir().unwrap();
    let [drawn, empty, page] = ["a.svg", "b.svg", "b.html"].map(|name| file(&folder, name));
    let output = bench("--budget 0.02 -e list -w last -w identical --plot", &[&drawn]).succeed();
    output.reports("identical was measured at one size");
    assert!(!output.stderr.contains("last was"), "{output}");
    let svg = fs::read_to_string(drawn).unwrap();
    assert!(svg.contains(">last<") && !svg.contains(">identical<"));
    let lone = "--budget 0.02 -w last:64 -w identical -e list --plot";
    bench(lone, &[&empty]).fail(2).reports("needs a workload at several sizes");
    bench(lone, &[&page]).succeed();
    assert!(!fs::exists(empty).unwrap() && fs::exists(page).unwrap(), "a page has tables");
}

#[test]
fn help_lists_workloads_and_default_engines() {
    let lines = |measurement: &str| -> Vec<String> {
        let output = bench(measurement, &["--help"]);
        output.stdout.lines().map(|line| line.trim_start().to_owned()).collect()
    };
    let workloads = lines("engines");
    for workload in WORKLOADS {
        let head = format!("{} ", workload.name);
        assert!(workloads.iter().any(|line| line.starts_with(&head)), "{head}");
    }
    for (measurement, engines) in [
        ("rate", &defaults::RATED[..]),
        ("offload", &defaults::OFFLOADED),
        ("callers", &defaults::CONCURRENT),
    ] {
        let lines = lines(measurement);
        assert!(engines.iter().all(|&engine| lines.iter().any(|line| line == engine)), "{lines:?}");
    }
}

#[test]
fn all_adds_each_processor_engine() {
    let names = |words: &str| json(&format!("--budget 0.001 -w last:0 {words}"), &[])["engines"].clone();
    let all: Vec<&str> = REGISTRY.iter().map(|spec| spec.name).collect();
    assert_eq!(names("-e all"), Value::from(all.clone()));
    let with_named = names("-e all -e bins:n=3 -e hybrid");
    assert_eq!(array(&with_named)[..2], ["bins:n=3", "hybrid"]);
    assert_eq!(array(&with_named).len(), all.len() + 1);
}

#[test]
fn trace_is_valid_workload() {
    let trace = format!("trace:{}", bundled("quicksilver-8"));
    let value = json("--budget 0.02 -w", &[&trace]);
    let results = array(&value["results"]);
    assert_eq!(results.len(), REGISTRY.len());
    for result in results {
        assert_eq!((&result["workload"], &result["n"]), (&trace.as_str().into(), &8.into()));
        assert!(is_positive(&result["ns_median"]), "{result}");
    }
}

#[test]
fn charts_name_every_engine() {
    let folder = tempdir().unwrap();
    for name in ["chart.svg", "chart.html"] {
        let plot = file(&folder, name);
        bench("--budget 0.02 -e list -e bins:n=4 -w last -w halo --plot", &[&plot]).succeed();
        let written = fs::read_to_string(&plot).unwrap();
        for word in ["<svg", "</svg>", ">last<", ">list<", ">bins:n=4<", ">8192<", "µs"] {
            assert!(written.contains(word), "{name} has no {word}");
        }
        assert!(!written.contains("NaN") && !written.contains("inf"), "{name}");
        assert_eq!(written.contains("<table "), name.ends_with("html"));
    }
}

#[test]
fn page_has_spreads_notes_memory() {
    let folder = tempdir().unwrap();
    let path = file(&folder, "page.html");
    let engines = "--budget 0.02 -e list -e optimistic:capacity=16 -w last:0 -w last:8";
    bench(engines, &["-w", "reverse:1024", "-w", "unexpected:1024", "--plot", &path]).succeed();
    let page = fs::read_to_string(path).unwrap();
    let bars = page.matches("class=\"spread e0\"").count();
    assert_eq!(bars, 1, "one path has the spreads of a line");
    for printed in [
        "≈: as fast as the best",
        "counts at most as much as its lower half",
        "–",
        "<h2>Post + arrival",
        "<h2>Entries compared",
        "<h2>Memory at most",
        "<td class=\"best\">*",
        " KiB</td>",
        "<b>Full</b>: optimistic:capacity=16 on reverse:1024",
        "<b>list</b>: ",
        "<b>Reference</b>: ",
    ] {
        assert!(page.contains(printed), "no {printed} in {page}");
    }
    assert_eq!(page.matches("<small>").count(), page.matches("</small>").count());
}

#[test]
fn wrong_word_is_usage_error_with_hint() {
    for (arguments, expected) in [
        ("-w lost", "unknown workload 'lost'\nhint: use last, "),
        ("-w last:x", "'x' is not a size of workload 'last'"),
        ("-w trace:", "needs the path of a trace"),
        ("-e lost", "there is no engine `lost`"),
        ("--budget 0", "must be at least 0.001 seconds"),
        ("latency --entries=1", "must be a whole number from 1000 to 16000000, such as 1000000"),
        ("-e none", "there is no engine `none`"),
        ("callers -ebins:n=3", "such as locked:engine=bins:n=3"),
        ("gpu -w last", "a card does not run the workload 'last'"),
        ("--through c -w trace:lost", "--through c runs only the standard workloads, not 'trace:lost'"),
    ] {
        bench(arguments, &[]).exit(2).reports(expected);
    }
}

#[test]
fn impossible_bench_leaves_no_file() {
    let folder = tempdir().unwrap();
    for (words, name, code, expected) in [
        ("-w trace:/nowhere --json", "a.json", 1, "/nowhere"),
        ("-w last:0 --plot", "a.png", 2, "ends in .svg or .html"),
        ("-w last:0 --json", "none/a.json", 1, "cannot write"),
    ] {
        let output = bench(words, &[&file(&folder, name)]).fail(code);
        assert!(output.reports(expected).stderr.starts_with("error: "), "{output}");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}

#[test]
fn outputs_need_distinct_files() {
    let folder = tempdir().unwrap();
    for [one, path, other, same] in [
        ["--csv", &file(&folder, "y"), "--json", &file(&folder, "./y")],
        ["--json", &file(&folder, "s.html"), "--plot", &file(&folder, "./s.html")],
        ["--csv", &file(&folder, "s.html"), "--plot", &file(&folder, "s.html")],
        ["--csv", "-", "--json", "-"],
    ] {
        let output = bench("rate", &[one, path, other, same]).fail(2);
        output.reports(&format!("{one} and {other} both name '"));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}

#[test]
fn single_calls_have_percentiles() {
    let arguments = "latency --entries 2000 --budget 5 -e bins";
    let value = json(arguments, &[]);
    assert_eq!(value["entries"], 2000);
    let of = |member: &str| value["engines"][0]["all"][member].as_u64().unwrap();
    assert!(["p50_ns", "p99_ns", "p9999_ns", "max_ns"].map(of).is_sorted(), "{value}");
    let page = bench(arguments, &[]);
    page.prints("the rest is received in random order").prints("once: p99.99 of the first of 3 repetitions");
    let long = "optimistic_parallel:bins=2048,capacity=0,by=optimism,block=32,threads=1,full=software";
    let page = bench("latency --entries 1000 -e", &[long]);
    assert!(page.width() <= 80, "{page}");
}

#[test]
fn manual_lists_workloads_and_members() {
    let page = fs::read_to_string(repository("docs/reference/bench.md")).unwrap();
    for workload in WORKLOADS {
        let sizes: Vec<String> = workload.sizes.iter().map(usize::to_string).collect();
        let row = page.lines().find(|line| line.starts_with(&format!("| `{}` |", workload.name)));
        let row = row.unwrap_or_else(|| panic!("{} has no row", workload.name));
        assert!(row.contains(&sizes.join(", ")) || row.contains("the same"), "{row}");
    }
    let results = json("--budget 0.02 -e list -w unexpected:1024 -w many_sources:16384", &[]);
    let latencies = json("latency --entries 1000 --budget 5 -e list", &[]);
    for value in [&results, &results["results"][0], &results["results"][1], &latencies, &latencies["nothing"]]
    {
        for member in value.as_object().unwrap().keys() {
            let named = [format!("`{member}`"), format!("`{member}[]`"), format!(".{member}`")];
            assert!(named.iter().any(|name| page.contains(name)), "{member}");
        }
    }
}

#[test]
fn full_table_is_reported_in_single_calls() {
    let calls = "latency --entries 1000 --budget 5 -e optimistic:capacity=100";
    let value = json(calls, &[]);
    let [full, after] = [5, 6].map(|at| &value["engines"][0]["stages"][at]);
    assert_eq!(full["full"], "after 100 of 1000 calls", "{value}");
    assert!(full["wrong"].is_null() && full["calls"] == 100, "{value}");
    assert!(after["full"].is_null() && after["unfinished"] == "not reached", "{value}");
    assert_eq!(after["calls"], 0);
    for member in ["p50_ns", "p99_ns", "p9999_ns", "max_ns", "p9999_once_ns"] {
        assert!(full[member].is_number() && after[member].is_null(), "{member}: {value}");
    }
    let page = words(&bench(calls, &[]).stdout);
    for printed in [
        "until full",
        "Full: optimistic:capacity=100, receives",
        "Not reached: optimistic:capacity=100: the first receives from any source are posted; ",
    ] {
        assert!(page.contains(printed) && !page.contains("wrong"), "{page}");
    }

    let costs = "offload -e optimistic:capacity=100 -e list --depth 1000 --repeats 2 --repetitions 1";
    let value = json(costs, &[]);
    let [full, list] = array(&value["offload"]) else { panic!("{value}") };
    assert!(full["full"].as_str().unwrap().ends_with("of the 1000 receives in front"), "{value}");
    assert!(full["right"] == true && full["post"]["median_ns"].is_null(), "{value}");
    assert!(list["full"].is_null() && list["post"]["median_ns"].is_number(), "{value}");
    bench(costs, &[]).succeed().prints("Full: optimistic:capacity=100: its table");
}

#[test]
fn callers_and_offload_are_reported() {
    let callers = "callers --threads 1,2 --repeats 3 --repetitions 1";
    let value = json(callers, &[]);
    bench(callers, &[]).prints(" 1 caller  ").prints(" 2 callers");
    let rates = array(&value["callers"]);
    assert_eq!(rates.len(), 3 * 2 * 2);
    assert!(rates.iter().all(|rate| rate["right"] == true && is_positive(&rate["rate_millions_per_s"])));

    for (budget, fell_back) in [("", false), ("--budget-kib 0", true)] {
        let few = format!("offload -e list --messages 10 --repeats 3 --repetitions 1 {budget}");
        let value = json(&few, &[]);
        let result = &value["offload"][0];
        assert_eq!((&result["right"], &result["fell_back"]), (&true.into(), &fell_back.into()));
    }
}

#[test]
fn full_table_of_callers_reports_fill() {
    let full = "locked:engine=optimistic:capacity=3";
    let arguments = "callers --threads 1,2 --repeats 5 --repetitions 1 -e";
    for rate in array(&json(arguments, &[full])["callers"]) {
        let when = rate["full"].as_str().unwrap();
        let burst =
            when.strip_prefix("after ").and_then(|when| when.strip_suffix(" receives of a caller's burst"));
        let posted: u64 = burst.and_then(|number| number.parse().ok()).unwrap_or_else(|| panic!("{rate}"));
        // One caller uses the three slots of the table, or two callers share the slots.
        assert!(posted == 3 || posted < 3 && rate["callers"] == 2, "{rate}");
        assert!(rate["right"] == true && rate["rate_millions_per_s"].is_null(), "{rate}");
    }
    bench(arguments, &[full]).prints(&format!("Full: {full}: its table, "));
}

/// Arguments for a short measurement of each kind, and the JSON member with the results.
const KINDS: [(&str, &str); 5] = [
    ("-w last:8 -w last:64 --budget 0.01", "results"),
    ("latency --entries 1000", "engines"),
    ("rate --messages 9 --repeats 1 --windows 4 --work-ns 0 --repetitions 1", "rates"),
    ("offload --messages 9 --repeats 1 --repetitions 1", "offload"),
    ("callers --threads 1,2 --repeats 3 --repetitions 1", "callers"),
];

#[test]
fn outputs_name_substitute_of_card() {
    const CARD: &str = "gpu_ordered:card=999,fallback=list";
    let folder = tempdir().unwrap();
    let path = file(&folder, "a.json");
    for (kind, member) in KINDS {
        let inside = |engine: &str| match member {
            "callers" => format!("locked:engine={engine}"),
            _ => engine.to_owned(),
        };
        let (list, card) = (inside("list"), inside(CARD));
        let output = bench(kind, &["-e", &list, "-e", &card, "--json", &path]).succeed();
        let value = read_json(&path);
        let rows = array(&value[member]);
        for row in rows {
            let expected = if row["engine"] == *card { Value::from("list") } else { Value::Null };
            assert_eq!(row.get("substitute"), Some(&expected), "{row}");
        }
        assert!(rows.iter().any(|row| row["engine"] == *card), "{value}");
        let page = words(&output.stdout);
        assert!(page.contains(&format!("list for {card}")) && !page.contains("list for list"), "{page}");
    }
    let page = words(&bench(KINDS[0].0, &["-e", "list", "-e", CARD]).stdout);
    assert!(page.contains(&format!("Substitute: `list` matched instead of `{CARD}`.")), "{page}");
    let csv = file(&folder, "a.csv");
    for (kind, form) in [(0, "svg"), (0, "html"), (2, "svg"), (2, "html")] {
        let plot = file(&folder, &format!("plot.{form}"));
        let csv_too = if kind == 2 { &["--csv", &csv][..] } else { &[] };
        bench(KINDS[kind].0, &[&["-e", "list", "-e", CARD, "--plot", &plot], csv_too].concat()).succeed();
        let drawn = fs::read_to_string(plot).unwrap();
        // The visible short name contains the substitute. The tooltip has the full name.
        assert!(drawn.contains(&format!("list for {CARD}")), "{form}: {drawn}");
        assert!(drawn.contains(">list for gpu_"), "{form}: {drawn}");
    }
    let mut table = csv::Reader::from_path(csv).unwrap();
    let column = table.headers().unwrap().iter().position(|name| name == "substitute").unwrap();
    for row in table.records().map(Result::unwrap) {
        assert_eq!(&row[column], if &row[3] == CARD { "list" } else { "" }, "{row:?}");
    }
}

#[test]
fn substitute_inside_concurrent_engine_is_named() {
    for kind in ["locked:", "sharded:shards=2,"] {
        let name = format!("{kind}engine=gpu_ordered:card=999,fallback=list");
        let value = bench(KINDS[4].0, &["-e", &name, "--json", "-"]).succeed().json();
        let rows = array(&value["callers"]);
        assert!(rows.len() == 6 && rows.iter().all(|row| row["substitute"] == "list"), "{value}");
    }
}

#[test]
fn every_measurement_has_host_load() {
    let cores = fs::read_to_string("/proc/stat").map_or(0, |stat| stat.matches("\ncpu").count());
    for (kind, member) in KINDS {
        let engine: &[&str] = if member == "callers" { &[] } else { &["-e", "list"] };
        let output = bench(kind, &[engine, &["--json", "-"]].concat()).succeed();
        let value = output.json();
        let load = value.get("load").unwrap_or_else(|| panic!("{kind}")).as_f64();
        assert_eq!(load.is_some(), cfg!(target_os = "linux"), "{kind}");
        let is_busy = load.is_some_and(|load| load >= cores as f64 - 0.9);
        assert_eq!(output.stderr.lines().any(is_warning), is_busy, "{load:?}, {cores} cores");
    }
}
