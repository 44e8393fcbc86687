//! Speed and memory of the process `matchpoint analyze` on long traces (`benchmarks/README.md`).

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use matchpoint_bench::statistics::median;
use serde_json::{Value, json};

use crate::measurement::{Destination, build_command, load_average};
use crate::repository::root;
use crate::{Failure, amplify};

const SAMPLING: Duration = Duration::from_millis(2);

/// Memory limit of the command without the part for each rank.
const FIXED_BYTES: u64 = 64 << 20;
const RANK_BYTES: u64 = 16 << 10;

#[derive(clap::Args)]
pub struct Arguments {
    /// Names of bundled traces, or folders of DUMPI traces.
    #[arg(default_values = ["lulesh-27", "fillboundary-27", "cloverleaf-16", "imb-mpi1-4"])]
    traces: Vec<String>,
    /// Minimum calls of each trace.
    #[arg(long, default_value_t = 4_000_000)]
    calls: u64,
    /// Number of measured runs, after one warm-up run.
    #[arg(long, default_value_t = 5)]
    runs: usize,
    /// The engine.
    #[arg(long, default_value = "bins")]
    engine: String,
    /// The order of arrivals.
    #[arg(long, default_value = "simulated")]
    arrivals: String,
    #[command(flatten)]
    destination: Destination,
}

pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let binary = build_command()?;
    println!(
        "| trace | calls | ranks | median calls/s | slowest | fastest | peak anonymous memory | limit |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    let mut traces = Vec::new();
    for name in &arguments.traces {
        let measured = measure(&binary, name, arguments)?;
        println!("{}", row(&measured));
        traces.push(measured);
    }
    let command = format!(
        "matchpoint analyze T --engine {} --arrivals {} --json -",
        arguments.engine, arguments.arrivals
    );
    let results = json!({ "command": command, "runs": arguments.runs, "traces": traces });
    arguments.destination.write("analyze", results)
}

fn measure(binary: &Path, name: &str, arguments: &Arguments) -> Result<Value, Failure> {
    let bundled = root().join("traces").join(name);
    let short = if bundled.is_dir() { bundled } else { PathBuf::from(name) };
    let folder = tempfile::tempdir()?;
    let times = repetitions(&short, arguments.calls)?;
    amplify::amplify(&short, folder.path(), times)?;
    let bytes = warm_page_cache(folder.path())?;
    // This run is not measured. It loads the binary into the page cache, and its report describes the trace.
    let report = analyze(binary, folder.path(), arguments)?.report;
    let (calls, ranks) = (number(&report["trace"]["calls"]), number(&report["trace"]["ranks"]));
    let mut runs = Vec::new();
    for _ in 0..arguments.runs.max(1) {
        let load = load_average();
        let run = analyze(binary, folder.path(), arguments)?;
        runs.push((run.seconds, run.peak_bytes, load));
    }
    let mut seconds: Vec<f64> = runs.iter().map(|run| run.0).collect();
    seconds.sort_by(f64::total_cmp);
    let per_second = |seconds: f64| (calls as f64 / seconds).round();
    Ok(json!({
        "trace": name,
        "repeated": times,
        "calls": calls,
        "ranks": ranks,
        "messages": report["sends"],
        "trace_bytes": bytes,
        "calls_per_s_median": per_second(median(&mut seconds)),
        "calls_per_s_min": per_second(seconds[seconds.len() - 1]),
        "calls_per_s_max": per_second(seconds[0]),
        "anonymous_bytes_peak": runs.iter().map(|run| run.1).max(),
        "anonymous_bytes_limit": FIXED_BYTES + RANK_BYTES * ranks,
        "each_run": runs.iter().map(|(seconds, peak_bytes, load)| json!({
            "elapsed_s": seconds, "anonymous_bytes_peak": peak_bytes, "load_average_before": load,
        })).collect::<Vec<_>>(),
    }))
}

fn repetitions(trace: &Path, calls: u64) -> Result<u32, Failure> {
    let trace = matchpoint_trace::open(trace)?;
    let (mut call, mut short) = (matchpoint_trace::Call::default(), 0);
    for &rank in trace.present() {
        let mut reader = trace.rank(rank)?;
        while reader.read(&mut call)? {
            short += 1;
        }
    }
    // Initialization and finalization, a few calls of each rank, are not repeated.
    let ends = 8 * trace.present().len() as u64;
    let repeated = u64::max(short, ends + 1) - ends;
    Ok(u32::try_from(calls.div_ceil(repeated))?)
}

fn warm_page_cache(folder: &Path) -> Result<u64, Failure> {
    let (mut buffer, mut bytes) = (vec![0; 1 << 20], 0);
    for entry in fs::read_dir(folder)? {
        let mut file = File::open(entry?.path())?;
        loop {
            match file.read(&mut buffer)? {
                0 => break,
                read => bytes += read as u64,
            }
        }
    }
    Ok(bytes)
}

struct Run {
    seconds: f64,
    peak_bytes: u64,
    report: Value,
}

fn analyze(binary: &Path, trace: &Path, arguments: &Arguments) -> Result<Run, Failure> {
    let mut command = Command::new(binary);
    command.arg("analyze").arg(trace);
    command.args(["--engine", &arguments.engine, "--arrivals", &arguments.arrivals, "--json", "-"]);
    let begin = Instant::now();
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let status = PathBuf::from(format!("/proc/{}/status", child.id()));
    let is_over = AtomicBool::new(false);
    let (output, seconds, peak_bytes) = thread::scope(|scope| {
        let sampler = scope.spawn(|| peak(&status, &is_over));
        let output = child.wait_with_output();
        let seconds = begin.elapsed().as_secs_f64();
        is_over.store(true, Ordering::Relaxed);
        (output, seconds, sampler.join().unwrap_or(0))
    });
    let output = output?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned().into());
    }
    Ok(Run { seconds, peak_bytes, report: serde_json::from_slice(&output.stdout)? })
}

/// Maximum anonymous memory until the process ends.
fn peak(status: &Path, is_over: &AtomicBool) -> u64 {
    let mut peak = 0;
    while !is_over.load(Ordering::Relaxed) {
        let now = fs::read_to_string(status).ok().and_then(|text| anonymous_bytes(&text));
        peak = peak.max(now.unwrap_or(0));
        thread::sleep(SAMPLING);
    }
    peak
}

fn anonymous_bytes(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"))?;
    Some(line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? * 1024)
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or(0)
}

fn row(measured: &Value) -> String {
    let millions = |key: &str| format!("{:.2} M", measured[key].as_f64().unwrap_or(0.0) / 1e6);
    let mebibytes =
        |key: &str| format!("{:.1} MiB", measured[key].as_f64().unwrap_or(0.0) / f64::from(1 << 20));
    format!(
        "| {} × {} | {} | {} | {} | {} | {} | {} | {} |",
        measured["trace"].as_str().unwrap_or_default(),
        measured["repeated"],
        millions("calls"),
        measured["ranks"],
        millions("calls_per_s_median"),
        millions("calls_per_s_min"),
        millions("calls_per_s_max"),
        mebibytes("anonymous_bytes_peak"),
        mebibytes("anonymous_bytes_limit"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernel_reports_anonymous_memory() {
        assert_eq!(anonymous_bytes("VmRSS:\t  900 kB\nRssAnon:\t     12 kB\nRssFile: 1 kB\n"), Some(12288));
        assert_eq!(anonymous_bytes("VmRSS: 900 kB"), None);
    }
}
