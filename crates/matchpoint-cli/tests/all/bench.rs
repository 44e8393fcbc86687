//! Tests of `matchpoint bench`.

mod cards;
mod rates;
mod through_c;

use std::fs;
use std::process::{Command, Output};

use matchpoint_bench::workloads::WORKLOADS;
use matchpoint_cli::bench::defaults;
use serde_json::Value;
use tempfile::tempdir;

fn bench(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_matchpoint")).arg("bench").args(arguments).output().unwrap()
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

fn json(arguments: &[&str]) -> Value {
    let output = bench(&[arguments, &["--json", "-"]].concat());
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_eq!(said(&output), "", "nothing but the JSON in a pipe");
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Standard error without warnings about host load, which other tests cause.
fn said(output: &Output) -> String {
    let is_said = |line: &&str| {
        !is_warning(line)
            && !line.starts_with("hint: end other programs")
            && !line.starts_with("matchpoint: this process may use ")
    };
    text(&output.stderr).lines().filter(is_said).collect::<Vec<_>>().join("\n")
}

fn is_warning(line: &str) -> bool {
    line.starts_with("matchpoint: host load: ")
}

const QUICK: [&str; 2] = ["--budget", "0.02"];

#[test]
fn json_has_documented_members() {
    let value =
        json(&[&QUICK[..], &["-e", "list", "-e", "bins", "-w", "last:0", "-w", "unexpected:1024"]].concat());
    assert_eq!(value["schema"], 1);
    assert!(value["reference_ns"].as_f64().unwrap() > 0.0);
    let results = value["results"].as_array().unwrap();
    let of = |member: &str| results.iter().map(|result| result[member].clone()).collect::<Vec<_>>();
    assert_eq!(of("workload"), ["last", "last", "unexpected", "unexpected"]);
    assert_eq!(of("n"), [0, 0, 1024, 1024]);
    assert_eq!(of("engine"), ["list", "bins", "list", "bins"]);
    for member in ["ns_median", "ns_min", "attempts_mean"] {
        assert!(of(member).iter().all(|value| value.as_f64().unwrap() > 0.0), "{member}");
    }
    assert!(of("bytes_peak").iter().all(|value| value.as_u64().unwrap() > 0));
    assert!(results[3]["ns_post"].as_f64().unwrap() > 0.0);
}

#[test]
fn abandoned_figure_is_null_with_reason() {
    let value = json(&["--budget", "0.001", "-e", "list", "-w", "many_sources:16384"]);
    let result = &value["results"][0];
    assert!(result["ns_median"].is_null() && result["ns_min"].is_null() && result["attempts_mean"].is_null());
    assert!(result["ns_above"].as_f64().unwrap() > 0.0);
    assert!(result["bytes_peak"].is_null() && result["bytes_above"].as_u64().unwrap() > 0);
    assert!(result["unfinished"].as_str().unwrap().contains("calls of a round"));
}

#[test]
fn refusing_engine_is_not_leanest() {
    let arguments =
        [&QUICK[..], &["-e", "optimistic:capacity=16", "-e", "list", "-w", "reverse:1024"]].concat();
    let value = json(&arguments);
    let [refusing, list] = value["results"].as_array().unwrap().as_slice() else { panic!("{value}") };
    assert!(
        refusing["full"].is_string() && refusing["ns_median"].is_null() && refusing["bytes_peak"].is_null()
    );
    assert!(refusing["bytes_above"].as_u64().unwrap() < list["bytes_peak"].as_u64().unwrap());
    let output = bench(&arguments);
    let memory = text(&output.stdout).split("Memory at most").nth(1).unwrap();
    let row = memory.lines().find(|line| line.starts_with("reverse:1024")).unwrap();
    assert!(row.contains("full") && row.contains('*'), "{row}");
}

#[test]
fn tables_name_best_engine_and_losses() {
    let output =
        bench(&[&QUICK[..], &["-e", "list", "-e", "bins", "-w", "last:1024", "-w", "identical"]].concat());
    assert!(output.status.success());
    let page = text(&output.stdout);
    let row = page.lines().find(|line| line.starts_with("last:1024")).unwrap();
    assert!(row.split_whitespace().nth(2).unwrap().starts_with('*'), "{row}");
    let loser = page.lines().find(|line| line.starts_with("- list: ")).unwrap();
    assert!(loser.ends_with("× the best on last:1024"), "{loser}");
    let words = page.split_whitespace().collect::<Vec<_>>().join(" ");
    let exception = "counts at most as much as its lower half";
    assert!(
        words.contains("*: best of the row. ≈: as fast as the best") && words.contains(exception),
        "{page}"
    );
    assert!(page.contains("1025"), "entries examined");
    assert!(page.contains("Reference"));
}

#[test]
fn tables_fit_terminal() {
    for options in [&["-w", "last:8", "-w", "unexpected_sources:1024"][..], &["-w", "halo", "--cold"]] {
        let output = bench(&[&QUICK[..], options].concat());
        assert!(output.status.success());
        let page = text(&output.stdout);
        for line in page.lines() {
            assert!(line.chars().count() <= 80, "{} columns: {line}", line.chars().count());
        }
        for spec in matchpoint::engines::REGISTRY {
            let headers = page.lines().filter(|line| line.starts_with("workload"));
            let columns = headers.filter(|line| line.split_whitespace().any(|word| word == spec.name));
            assert!(columns.count() >= 4, "times, spread, ratios, entries and memory of {}", spec.name);
        }
        assert_eq!(page.contains("with cold caches before each call"), options.contains(&"--cold"));
        assert!(page.contains("Spread (p25–p75 of the repetitions)"));
    }
    let output = bench(&["latency", "--entries", "1000", "-e", "list", "-e", "optimistic"]);
    let wide = text(&output.stdout).lines().find(|line| line.chars().count() > 80);
    assert_eq!(wide, None);
}

/// Empty lines show the end of a table.
#[test]
fn sections_begin_after_empty_line() {
    let output = bench(&[&QUICK[..], &["-e", "list", "-e", "bins", "-w", "unexpected:1024"]].concat());
    let lines: Vec<&str> = text(&output.stdout).lines().collect();
    for section in
        ["Spread", "Time ÷", "Post + arrival", "Entries", "Memory at", "Largest loss", "- Reference"]
    {
        let at =
            lines.iter().position(|line| line.starts_with(section)).unwrap_or_else(|| panic!("{section}"));
        assert!(lines[at - 1].is_empty() && !lines[at - 2].is_empty(), "{section}: {lines:?}");
    }
}

#[test]
fn spread_includes_median() {
    let value = json(&[&QUICK[..], &["-e", "list", "-w", "last:8"]].concat());
    let result = &value["results"][0];
    let of = |member: &str| result[member].as_f64().unwrap();
    assert!(
        of("ns_min") <= of("ns_p25") && of("ns_p25") <= of("ns_median") && of("ns_median") <= of("ns_p75")
    );
}

#[test]
fn workload_of_one_size_has_no_chart() {
    let folder = tempdir().unwrap();
    let plot = folder.path().join("a.svg").display().to_string();
    let output =
        bench(&[&QUICK[..], &["-e", "list", "-w", "last", "-w", "identical", "--plot", &plot]].concat());
    assert!(output.status.success());
    let said = text(&output.stderr);
    assert!(said.contains("identical was measured at one size") && !said.contains("last was"), "{said}");
    let svg = fs::read_to_string(&plot).unwrap();
    assert!(svg.contains(">last<") && !svg.contains(">identical<"));
    let lone = ["-w", "last:64", "-w", "identical", "-e", "list", "--plot"];
    let (empty, page) = (folder.path().join("b.svg"), folder.path().join("b.html"));
    let output = bench(&[&lone[..], &[empty.to_str().unwrap()]].concat());
    let said = text(&output.stderr);
    assert_eq!(
        (output.status.code(), said.lines().filter(|line| !line.starts_with("hint: ")).count()),
        (Some(2), 1),
        "{said}"
    );
    assert!(said.contains("needs a workload at several sizes") && !empty.exists(), "{said}");
    let output = bench(&[&QUICK[..], &lone, &[page.to_str().unwrap()]].concat());
    assert!(output.status.success() && page.exists(), "a page has tables: {}", text(&output.stderr));
}

#[test]
fn help_lists_workloads_and_default_engines() {
    let lines = |measurement: &str| -> Vec<String> {
        let output = bench(&[measurement, "--help"]);
        text(&output.stdout).lines().map(|line| line.trim_start().to_owned()).collect()
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
    let names = |arguments: &[&str]| {
        let value = json(&[&["--budget", "0.001", "-w", "last:0"], arguments].concat());
        value["engines"].as_array().unwrap().iter().map(|name| name.as_str().unwrap().to_owned()).collect()
    };
    let all: Vec<String> = matchpoint::engines::REGISTRY.iter().map(|spec| spec.name.to_owned()).collect();
    assert_eq!(names(&["-e", "all"]), all);
    let with_named: Vec<String> = names(&["-e", "all", "-e", "bins:n=3", "-e", "hybrid"]);
    assert_eq!(with_named[..2], ["bins:n=3", "hybrid"]);
    assert_eq!(with_named.len(), all.len() + 1);
}

#[test]
fn trace_is_valid_workload() {
    let trace = concat!("trace:", env!("CARGO_MANIFEST_DIR"), "/../../traces/quicksilver-8");
    let value = json(&[&QUICK[..], &["-w", trace]].concat());
    let results = value["results"].as_array().unwrap();
    assert_eq!(results.len(), matchpoint::engines::REGISTRY.len());
    for result in results {
        assert_eq!((&result["workload"], &result["n"]), (&trace.into(), &8.into()));
        assert!(result["ns_median"].as_f64().unwrap() > 0.0, "{result}");
    }
}

#[test]
fn charts_name_every_engine() {
    let folder = tempdir().unwrap();
    for name in ["chart.svg", "chart.html"] {
        let path = folder.path().join(name);
        let plot = path.display().to_string();
        let engines = ["-e", "list", "-e", "bins:n=4", "-w", "last", "-w", "halo", "--plot", &plot];
        assert!(bench(&[&QUICK[..], &engines].concat()).status.success());
        let written = fs::read_to_string(&path).unwrap();
        for word in ["<svg", "</svg>", ">last<", ">list<", ">bins:n=4<", ">8192<", "µs"] {
            assert!(written.contains(word), "{name} has no {word}");
        }
        assert!(!written.contains("NaN") && !written.contains("inf"), "{name}");
        assert_eq!(written.contains("<table "), name.ends_with("html"));
    }
}

/// A page contains everything of the terminal.
#[test]
fn page_has_spreads_notes_memory() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("page.html");
    let plot = path.display().to_string();
    let engines = ["-e", "list", "-e", "optimistic:capacity=16", "-w", "last:0", "-w", "last:8"];
    let rest = ["-w", "reverse:1024", "-w", "unexpected:1024", "--plot", &plot];
    assert!(bench(&[&QUICK[..], &engines, &rest].concat()).status.success());
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
    for (arguments, printed) in [
        (["-w", "lost"], "unknown workload 'lost'\nhint: use last, "),
        (["-w", "last:x"], "'x' is not a size of workload 'last'"),
        (["-w", "trace:"], "needs the path of a trace"),
        (["-e", "lost"], "there is no engine `lost`"),
        (["--budget", "0"], "must be at least 0.001 seconds"),
        (["latency", "--entries=1"], "must be a whole number from 1000 to 16000000, such as 1000000"),
        (["-e", "none"], "there is no engine `none`"),
        (["callers", "-ebins:n=3"], "such as locked:engine=bins:n=3"),
    ] {
        let output = bench(&arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(text(&output.stderr).contains(printed), "{}", text(&output.stderr));
    }
}

#[test]
fn impossible_bench_leaves_no_file() {
    let folder = tempdir().unwrap();
    let file = |name: &str| folder.path().join(name).display().to_string();
    for (arguments, code, printed) in [
        (["-w", "trace:/nowhere", "--json", &file("a.json")], 1, "/nowhere"),
        (["-w", "last:0", "--plot", &file("a.png")], 2, "ends in .svg or .html"),
        (["-w", "last:0", "--json", &file("none/a.json")], 1, "cannot write"),
    ] {
        let output = bench(&arguments);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}");
        let said = text(&output.stderr);
        assert!(said.starts_with("error: ") && said.contains(printed), "{said}");
        assert_eq!(said.lines().filter(|line| !line.starts_with("hint: ")).count(), 1, "{said}");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}

/// The second file would overwrite the first.
#[test]
fn outputs_need_distinct_files() {
    let folder = tempdir().unwrap();
    let file = |name: &str| folder.path().join(name).display().to_string();
    for [one, path, other, same] in [
        ["--csv", &file("y"), "--json", &file("./y")],
        ["--json", &file("s.html"), "--plot", &file("./s.html")],
        ["--csv", &file("s.html"), "--plot", &file("s.html")],
        ["--csv", "-", "--json", "-"],
    ] {
        let output = bench(&["rate", one, path, other, same]);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(&format!("{one} and {other} both name '")), "{said}");
        assert_eq!(
            (
                said.lines().filter(|line| !line.starts_with("hint: ")).count(),
                fs::read_dir(folder.path()).unwrap().count()
            ),
            (1, 0),
            "{said}"
        );
    }
}

#[test]
fn single_calls_have_percentiles() {
    let arguments = ["latency", "--entries", "2000", "--budget", "5", "-e", "bins"];
    let value = json(&arguments);
    assert_eq!(value["entries"], 2000);
    let all = &value["engines"][0]["all"];
    let of = |member: &str| all[member].as_u64().unwrap();
    assert!(of("p50_ns") <= of("p99_ns") && of("p99_ns") <= of("p9999_ns") && of("p9999_ns") <= of("max_ns"));
    let page = bench(&arguments);
    assert!(text(&page.stdout).contains("the rest is received in random order"));
    assert!(text(&page.stdout).contains("once: p99.99 of the first of 3 repetitions"));
    let long = "optimistic_parallel:bins=2048,capacity=0,by=optimism,block=32,threads=1,full=software";
    let page = bench(&["latency", "--entries", "1000", "-e", long]);
    let wide = text(&page.stdout).lines().find(|line| line.chars().count() > 80);
    assert_eq!(wide, None);
}

/// The manual has every workload and every JSON member.
#[test]
fn manual_lists_workloads_and_members() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/bench.md");
    let page = fs::read_to_string(page).unwrap();
    for workload in WORKLOADS {
        let sizes: Vec<String> = workload.sizes.iter().map(usize::to_string).collect();
        let row = page.lines().find(|line| line.starts_with(&format!("| `{}` |", workload.name)));
        let row = row.unwrap_or_else(|| panic!("{} has no row", workload.name));
        assert!(row.contains(&sizes.join(", ")) || row.contains("the same"), "{row}");
    }
    let results =
        json(&[&QUICK[..], &["-e", "list", "-w", "unexpected:1024", "-w", "many_sources:16384"]].concat());
    let latencies = json(&["latency", "--entries", "1000", "--budget", "5", "-e", "list"]);
    for value in [&results, &results["results"][0], &results["results"][1], &latencies, &latencies["nothing"]]
    {
        for member in value.as_object().unwrap().keys() {
            let named = [format!("`{member}`"), format!("`{member}[]`"), format!(".{member}`")];
            assert!(named.iter().any(|name| page.contains(name)), "{member}");
        }
    }
}

/// A full table is neither a wrong answer nor a cheap call.
#[test]
fn full_table_is_reported_in_single_calls() {
    let full = "optimistic:capacity=100";
    let calls = ["latency", "--entries", "1000", "--budget", "5", "-e", full];
    let value = json(&calls);
    let stages = value["engines"][0]["stages"].as_array().unwrap();
    assert_eq!(stages[5]["full"], "after 100 of 1000 calls", "{value}");
    assert!(stages[5]["wrong"].is_null() && stages[5]["calls"] == 100, "{value}");
    assert!(stages[6]["full"].is_null() && stages[6]["unfinished"] == "not reached", "{value}");
    assert_eq!(stages[6]["calls"], 0);
    for member in ["p50_ns", "p99_ns", "p9999_ns", "max_ns", "p9999_once_ns"] {
        assert!(stages[5][member].is_number() && stages[6][member].is_null(), "{member}: {value}");
    }
    let page = bench(&calls);
    let page = text(&page.stdout).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        page.contains("until full") && page.contains("Full: optimistic:capacity=100, receives"),
        "{page}"
    );
    let after = "Not reached: optimistic:capacity=100: the first receives from any source are posted; ";
    assert!(!page.contains("wrong") && page.contains(after), "{page}");

    let costs =
        ["offload", "-e", full, "-e", "list", "--depth", "1000", "--repeats", "2", "--repetitions", "1"];
    let value = json(&costs);
    let [full, list] = value["offload"].as_array().unwrap().as_slice() else { panic!("{value}") };
    assert!(full["full"].as_str().unwrap().ends_with("of the 1000 receives that stand in front"), "{value}");
    assert!(full["right"] == true && full["post"]["median_ns"].is_null(), "{value}");
    assert!(list["full"].is_null() && list["post"]["median_ns"].is_number(), "{value}");
    let page = bench(&costs);
    assert!(page.status.success() && text(&page.stdout).contains("Full: optimistic:capacity=100: its table"));
}

#[test]
fn callers_and_offload_are_reported() {
    let value = json(&["callers", "--threads", "1,2", "--repeats", "3", "--repetitions", "1"]);
    let page = bench(&["callers", "--threads", "1,2", "--repeats", "3", "--repetitions", "1"]);
    assert!(text(&page.stdout).contains(" 1 caller  ") && text(&page.stdout).contains(" 2 callers"));
    let rates = value["callers"].as_array().unwrap();
    assert_eq!(rates.len(), 3 * 2 * 2);
    assert!(
        rates.iter().all(|rate| rate["right"] == true && rate["rate_millions_per_s"].as_f64().unwrap() > 0.0)
    );

    let few = ["offload", "-e", "list", "--messages", "10", "--repeats", "3", "--repetitions", "1"];
    let value = json(&few);
    assert_eq!(
        (&value["offload"][0]["right"], &value["offload"][0]["fell_back"]),
        (&true.into(), &false.into())
    );
    let value = json(&[&few[..], &["--budget-kib", "0"]].concat());
    assert_eq!(
        (&value["offload"][0]["right"], &value["offload"][0]["fell_back"]),
        (&true.into(), &true.into())
    );
}

#[test]
fn full_table_of_callers_reports_fill() {
    let full = "locked:engine=optimistic:capacity=3";
    let arguments = ["callers", "--threads", "1,2", "--repeats", "5", "--repetitions", "1", "-e", full];
    let value = json(&arguments);
    for rate in value["callers"].as_array().unwrap() {
        let when = rate["full"].as_str().unwrap();
        let burst =
            when.strip_prefix("after ").and_then(|when| when.strip_suffix(" receives of a caller's burst"));
        let posted: u64 = burst.and_then(|number| number.parse().ok()).unwrap_or_else(|| panic!("{rate}"));
        // One caller or two callers use the three slots.
        assert!(posted == 3 || posted < 3 && rate["callers"] == 2, "{rate}");
        assert_eq!(rate["right"], true, "{rate}");
        assert!(rate["rate_millions_per_s"].is_null(), "{rate}");
    }
    let printed = bench(&arguments);
    assert!(text(&printed.stdout).contains(&format!("Full: {full}: its table, ")), "{printed:?}");
}

/// Short measurements of each kind that accepts engines of cards.
const KINDS: [&[&str]; 5] = [
    &["-w", "last:8", "-w", "last:64", "--budget", "0.01"],
    &["latency", "--entries", "1000"],
    &["rate", "--messages", "9", "--repeats", "1", "--windows", "4", "--work-ns", "0", "--repetitions", "1"],
    &["offload", "--messages", "9", "--repeats", "1", "--repetitions", "1"],
    &["callers", "--threads", "1,2", "--repeats", "3", "--repetitions", "1"],
];

/// Every form shows that the figures are those of a substitute.
#[test]
fn figures_of_substitute_have_its_name() {
    const CARD: &str = "gpu_ordered:card=999,fallback=list";
    let folder = tempdir().unwrap();
    let file = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let named = format!("list for {CARD}");
    for (at, kind) in KINDS.into_iter().enumerate() {
        let is_concurrent = kind[0] == "callers";
        let inside =
            |engine: &str| if is_concurrent { format!("locked:engine={engine}") } else { engine.to_owned() };
        let (list, card) = (inside("list"), inside(CARD));
        let path = file("a.json");
        let engines = ["-e", &list, "-e", &card, "--json", &path];
        let output = bench(&[kind, &engines].concat());
        assert!(output.status.success(), "{}", text(&output.stderr));
        let value: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
        let members = ["results", "engines", "rates", "offload", "callers"];
        let rows = value[members[at]].as_array().unwrap();
        for row in rows {
            let expected = if row["engine"] == card.as_str() { Value::from("list") } else { Value::Null };
            assert_eq!(row.get("substitute"), Some(&expected), "{row}");
        }
        assert!(rows.iter().any(|row| row["engine"] == card.as_str()), "{value}");
        let page = text(&output.stdout).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(
            page.contains(&if is_concurrent { format!("list for {card}") } else { named.clone() }),
            "{page}"
        );
        assert!(!page.contains("list for list"), "{page}");
    }
    let page = bench(&[KINDS[0], &["-e", "list", "-e", CARD]].concat());
    let page = text(&page.stdout).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(page.contains(&format!("Substitute: `list` matched instead of `{CARD}`.")), "{page}");
    for (kind, form) in [(0, "svg"), (0, "html"), (2, "svg"), (2, "html")] {
        let (plot, csv) = (file(&format!("plot.{form}")), file("a.csv"));
        let more = ["-e", "list", "-e", CARD, "--plot", &plot];
        let csv_too = if kind == 2 { &["--csv", &csv][..] } else { &[] };
        assert!(bench(&[KINDS[kind], &more, csv_too].concat()).status.success());
        let drawn = fs::read_to_string(plot).unwrap();
        // The visible short name contains the substitute; the tooltip has the full name.
        assert!(drawn.contains(&named) && drawn.contains(">list for gpu_"), "{form}: {drawn}");
    }
    let mut table = csv::Reader::from_path(file("a.csv")).unwrap();
    let column = table.headers().unwrap().iter().position(|name| name == "substitute").unwrap();
    for row in table.records().map(Result::unwrap) {
        assert_eq!(&row[column], if &row[3] == CARD { "list" } else { "" }, "{row:?}");
    }
}

#[test]
fn substitute_inside_concurrent_engine_is_named() {
    for kind in ["locked:", "sharded:shards=2,"] {
        let name = format!("{kind}engine=gpu_ordered:card=999,fallback=list");
        let output = bench(&[KINDS[4], &["-e", &name, "--json", "-"]].concat());
        assert!(output.status.success(), "{}", text(&output.stderr));
        let value: Value = serde_json::from_slice(&output.stdout).unwrap();
        let rows = value["callers"].as_array().unwrap();
        assert!(rows.len() == 6 && rows.iter().all(|row| row["substitute"] == "list"), "{value}");
    }
}

/// The host load in the JSON shows how reliable the figures are.
#[test]
fn every_measurement_has_host_load() {
    let cores = fs::read_to_string("/proc/stat").map_or(0, |stat| stat.matches("\ncpu").count());
    for kind in KINDS {
        let output = bench(
            &[kind, &["--json", "-"], if kind[0] == "callers" { &[] } else { &["-e", "list"] }].concat(),
        );
        assert!(output.status.success(), "{}", text(&output.stderr));
        let value: Value = serde_json::from_slice(&output.stdout).unwrap();
        let load = value.get("load").unwrap_or_else(|| panic!("{kind:?}")).as_f64();
        assert_eq!(load.is_some(), cfg!(target_os = "linux"), "{kind:?}");
        let is_busy = load.is_some_and(|load| load >= cores as f64 - 0.9);
        assert_eq!(text(&output.stderr).lines().any(is_warning), is_busy, "{load:?}, {cores} cores");
    }
}
