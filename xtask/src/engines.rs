//! A record of `matchpoint bench`: every engine on every workload, warm, cold and call by call.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::Failure;
use crate::bench::{build, commit, host, said};
use crate::repository::root;

/// What to measure.
#[derive(clap::Args)]
pub struct Arguments {
    /// Engines, as name:key=value,…; every engine with its defaults if none is named.
    engines: Vec<String>,
    /// Seconds that one engine may spend on one workload.
    #[arg(long, default_value = "0.4")]
    budget: String,
    /// Measure so many times: the record has every run.
    #[arg(long, default_value_t = 3)]
    runs: usize,
    /// Name of the record: a word for the machine.
    #[arg(long, default_value = "host")]
    name: String,
    /// Where records are kept.
    #[arg(long, default_value = "benchmarks/records")]
    records: PathBuf,
}

/// Measures and writes the record.
///
/// # Errors
/// The command fails (an engine that answers wrongly makes it), or the record cannot be written.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let binary = build()?;
    let mut runs = Vec::new();
    for options in [&[][..], &["--cold"], &["--latency", "--budget", "2"]] {
        let times = if options.is_empty() { arguments.runs.max(1) } else { 1 };
        for _ in 0..times {
            println!("matchpoint bench {}", options.join(" "));
            let load = said(Command::new("cut").args(["-d", " ", "-f", "1", "/proc/loadavg"]));
            let results = bench(&binary, arguments, options)?;
            runs.push(json!({ "options": options, "load_average_before": load, "results": results }));
        }
    }
    let date = said(Command::new("date").args(["-u", "+%Y-%m-%d"]));
    let record = json!({ "date": date, "commit": commit(), "host": host(), "runs": runs });
    let folder = root().join(&arguments.records);
    fs::create_dir_all(&folder)?;
    let path = folder.join(format!("{date}-engines-{}.json", arguments.name));
    fs::write(&path, format!("{record}\n"))?;
    println!("wrote {}", path.display());
    Ok(())
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
