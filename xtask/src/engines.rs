//! Measures every engine on every workload with `matchpoint bench`, and writes a record: with warm caches, with cold
//! caches, and call by call. Prints tables of a record for the engines' pages.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::Failure;
use crate::measurement::{Destination, build_command, load_average};

#[derive(clap::Args)]
pub struct Arguments {
    /// Engines, as name:key=value,… [default: every engine].
    engines: Vec<String>,
    /// Time limit of an engine on a workload, in seconds.
    #[arg(long, default_value = "0.4")]
    budget: String,
    /// Number of runs; the record has every run.
    #[arg(long, default_value_t = 3)]
    runs: usize,
    #[command(flatten)]
    destination: Destination,
}

pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let binary = build_command()?;
    let mut runs = Vec::new();
    for options in [&[][..], &["--cold"], &["latency", "--budget", "2"]] {
        let times = if options.is_empty() { arguments.runs.max(1) } else { 1 };
        for _ in 0..times {
            println!("matchpoint bench {}", options.join(" "));
            let load = load_average();
            let results = bench(&binary, arguments, options)?;
            runs.push(json!({ "options": options, "load_average_before": load, "results": results }));
        }
    }
    arguments.destination.write("engines", json!({ "runs": runs }))
}

#[derive(clap::Args)]
pub struct Table {
    /// The record.
    record: PathBuf,
    /// Engines, in the order of columns [default: all of the record].
    #[arg(short, long = "engine")]
    engines: Vec<String>,
    /// Workloads with their sizes, such as last:64, in the order of rows [default: all of the record].
    #[arg(short, long = "workload")]
    workloads: Vec<String>,
    /// Use the run with cold caches instead of a warm run.
    #[arg(long)]
    cold: bool,
}

/// Prints a table in Markdown: the median time of each engine on each workload, in nanoseconds, and the record. Among
/// warm runs, the table has the run with the least sum of medians.
pub fn table(arguments: &Table) -> Result<(), Failure> {
    let record: Value = serde_json::from_str(&fs::read_to_string(&arguments.record)?)?;
    println!("{}", markdown(&record, arguments).ok_or("this is no record of engines with such a run")?);
    Ok(())
}

fn markdown(record: &Value, asked: &Table) -> Option<String> {
    let is_wanted = |run: &&Value| run["options"] == if asked.cold { json!(["--cold"]) } else { json!([]) };
    let runs = record["runs"].as_array()?.iter().filter(is_wanted);
    let results = runs.filter_map(|run| run["results"]["results"].as_array());
    let sum = |cells: &&Vec<Value>| cells.iter().filter_map(|cell| cell["ns_median"].as_f64()).sum::<f64>();
    let cells = results.min_by(|one, other| sum(one).total_cmp(&sum(other)))?;
    let name = |cell: &Value| format!("{}:{}", cell["workload"].as_str().unwrap_or_default(), cell["n"]);
    let engine = |cell: &Value| cell["engine"].as_str().unwrap_or_default().to_owned();
    let engines = chosen(&asked.engines, cells.iter().map(engine));
    let workloads = chosen(&asked.workloads, cells.iter().map(name));
    let mut text =
        format!("| workload | {} |\n|---{}|\n", ticked(&engines).join(" | "), "|---".repeat(engines.len()));
    for workload in &workloads {
        let cell = |wanted: &String| {
            let found = cells.iter().find(|cell| name(cell) == *workload && engine(cell) == *wanted);
            found.map_or("·".to_owned(), times)
        };
        let row: Vec<String> = engines.iter().map(cell).collect();
        text += &format!("| `{workload}` | {} |\n", row.join(" | "));
    }
    let of = |member: &Value| member.as_str().unwrap_or("?").to_owned();
    let host = of(&record["host"]["processor"]);
    Some(
        text + &format!(
            "\nMeasured {} at commit {}, {host}.",
            of(&record["date"]),
            of(&record["commit"]["id"])
        ),
    )
}

/// The requested names without duplicates, or all available names.
fn chosen(asked: &[String], there: impl Iterator<Item = String>) -> Vec<String> {
    let mut all = asked.to_vec();
    for name in there.filter(|_| asked.is_empty()) {
        if !all.contains(&name) {
            all.push(name);
        }
    }
    all
}

fn ticked(names: &[String]) -> Vec<String> {
    names.iter().map(|name| format!("`{name}`")).collect()
}

fn times(cell: &Value) -> String {
    match (cell["ns_median"].as_f64(), cell["ns_above"].as_f64()) {
        (Some(median), _) => format!("{median:.1}"),
        (_, Some(above)) => format!("> {above:.0}"),
        _ => "·".to_owned(),
    }
}

fn bench(binary: &PathBuf, arguments: &Arguments, options: &[&str]) -> Result<Value, Failure> {
    let mut command = Command::new(binary);
    command.arg("bench").args(options);
    if !options.contains(&"--budget") {
        command.args(["--budget", &arguments.budget]);
    }
    for engine in &arguments.engines {
        command.args(["--engine", engine]);
    }
    let output = command.args(["--json", "-"]).stdin(Stdio::null()).stderr(Stdio::inherit()).output()?;
    if !output.status.success() {
        return Err("matchpoint bench failed".into());
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_uses_least_disturbed_run() {
        let cell =
            |engine: &str, ns: f64| json!({ "workload": "last", "n": 8, "engine": engine, "ns_median": ns });
        let run = |options: Value, cells: Vec<Value>| json!({ "options": options, "results": { "results": cells } });
        let slow =
            json!({ "workload": "last", "n": 64, "engine": "list", "ns_median": null, "ns_above": 77.0 });
        let record = json!({
            "date": "2026-11-21",
            "commit": { "id": "abc" },
            "host": { "processor": "a processor" },
            "runs": [
                run(json!([]), vec![cell("list", 20.0), cell("bins", 12.0)]),
                run(json!([]), vec![cell("list", 15.0), cell("bins", 11.0), slow]),
                run(json!(["--cold"]), vec![cell("list", 500.0)]),
            ],
        });
        let asked = |cold| Table { record: PathBuf::new(), engines: Vec::new(), workloads: Vec::new(), cold };
        let warm = markdown(&record, &asked(false)).unwrap();
        let expected = "| workload | `list` | `bins` |\n|---|---|---|\n| `last:8` | 15.0 | 11.0 |\n\
                        | `last:64` | > 77 | · |\n\nMeasured 2026-11-21 at commit abc, a processor.";
        assert_eq!(warm, expected);
        assert!(markdown(&record, &asked(true)).unwrap().contains("500.0"));
        assert_eq!(markdown(&json!({}), &asked(false)), None);
    }
}
