//! What the command line says.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use matchpoint::Order;
use matchpoint_conformance::Calls;
use matchpoint_replay::{Arrivals, LogGp, Options};

const EXAMPLES: &str = "Examples:
  matchpoint analyze traces/lulesh-27
  matchpoint analyze traces/lulesh-27 --html report.html
  matchpoint analyze traces/lulesh-27 --engine list --engine bins:n=256 --json -
  matchpoint analyze traces/lulesh-27 --loggp L=1500,o=400,S=16384 --compare-arrivals";

const BENCH_EXAMPLES: &str = "Examples:
  matchpoint bench
  matchpoint bench --engine list --engine bins:n=64 --workload last --workload many_sources:1024
  matchpoint bench --workload masks --workload contexts --engine list --engine hybrid
  matchpoint bench --workload trace:traces/lulesh-27 --cold
  matchpoint bench --budget 10 --json results.json --plot results.html
  matchpoint bench --latency --entries 100000 --engine bins

Every time is nanoseconds per matched message: one post and one arrival. docs/bench.md defines the workloads;
`matchpoint engines` lists the engines.";

/// The examples, and the workloads there are.
fn bench_help() -> String {
    let mut help = format!("{BENCH_EXAMPLES}\n\nWorkloads, and their usual sizes N:\n");
    for workload in matchpoint_bench::workloads::WORKLOADS {
        let sizes: Vec<String> = workload.sizes.iter().map(usize::to_string).collect();
        help +=
            &format!("  {:<18}  {}\n{:22}N is {}\n", workload.name, workload.summary, "", sizes.join(", "));
    }
    help + "  trace:PATH          what every rank of a trace did"
}

const PROFILE_EXAMPLE: &str = "Example:
  matchpoint profile traces/fillboundary-27 -o app.partners
  matchpoint analyze traces/fillboundary-27 -e list -e partner:mode=static,profile=app.partners

Each rank's engine finds its own part of the profile.";

const CHECK_EXAMPLES: &str = "Examples:
  matchpoint check
  matchpoint check bins:n=3 --streams 20000
  matchpoint check --library ./libother.so --save scripts

Ends with 0 if no law is broken. A script that shows a broken law is as short as could be found; it begins with the
law, and what the engine answered.";

/// MPI message matching: whether it costs you time, where, and what would help.
#[derive(Parser, Debug)]
#[command(name = "matchpoint", version, propagate_version = true)]
#[command(after_help = "Start with:\n  matchpoint analyze TRACE --html report.html")]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands.
#[derive(Subcommand, Debug)]
pub enum Command {
    /// Replay a trace and say whether matching is the problem, at which rank, and when
    #[command(after_help = EXAMPLES)]
    Analyze(Analyze),
    /// Measure engines on the standard workloads: time, memory, entries examined
    #[command(after_help = bench_help())]
    Bench(Bench),
    /// Count who sends most of what waits, for the engine partner in its static mode
    #[command(after_help = PROFILE_EXAMPLE)]
    Profile(Profile),
    /// Check the laws of matching on engines: ours, or those of a library with the C interface
    #[command(after_help = CHECK_EXAMPLES)]
    Check(Check),
    /// List the matching engines, with their parameters
    Engines,
}

/// `matchpoint analyze`.
#[derive(Args, Debug)]
pub struct Analyze {
    /// The trace: a folder of DUMPI files, its .meta file, or text from dumpi2ascii
    pub trace: PathBuf,

    /// An engine to replay, as name:key=value,… (repeat for several; the verdict is about the first)
    #[arg(
        short,
        long = "engine",
        value_name = "NAME",
        default_values = ["list", "rank_array", "bins"],
        value_parser = engine_name
    )]
    pub engines: Vec<String>,

    /// How the order of arrivals is found, which no trace knows: simulated, timestamps or at_wait
    #[arg(short, long, value_name = "MODE", default_value_t)]
    pub arrivals: Arrivals,

    /// Find out how far the choice of --arrivals moves the result (three replays instead of one): done anyway for
    /// traces under 32 MiB
    #[arg(long)]
    pub compare_arrivals: bool,

    /// The network: L, o, g in ns, G in ns per byte, S in bytes (larger messages wait for their receive)
    #[arg(long, value_name = "KEY=VALUE,…", default_value_t)]
    pub loggp: LogGp,

    /// Write all results as JSON to this file (- is standard output, instead of the summary)
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,

    /// Write tables as CSV files into this folder
    #[arg(long, value_name = "DIR")]
    pub csv: Option<PathBuf>,

    /// Write the report as one HTML file that needs no network
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
}

/// `matchpoint bench`.
#[derive(Args, Debug)]
pub struct Bench {
    /// An engine, as name:key=value,… (repeat for several) [default: all]
    #[arg(short, long = "engine", value_name = "NAME", value_parser = engine_name)]
    pub engines: Vec<String>,

    /// A workload, in its usual sizes or in size N, or trace:PATH (repeat for several) [default: all but traces]
    #[arg(short, long = "workload", value_name = "NAME[:N]", value_parser = workload_name)]
    pub workloads: Vec<String>,

    /// Flush the caches before every call that is timed, as a compute phase would
    #[arg(long)]
    pub cold: bool,

    /// Time every single call, while queues grow, wildcards come into use and all is cleaned up: percentiles
    #[arg(long, conflicts_with_all = ["cold", "workloads", "plot"])]
    pub latency: bool,

    /// With --latency: how many entries queues grow to
    #[arg(long, value_name = "N", default_value_t = 1_000_000, value_parser = clap::value_parser!(u32).range(1000..=16_000_000))]
    pub entries: u32,

    /// Seconds that one engine may spend on one workload before it is given up
    #[arg(long, value_name = "SECONDS", default_value = "0.4", value_parser = seconds)]
    pub budget: Duration,

    /// Write the results as JSON to this file (- is standard output, instead of the tables)
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,

    /// Draw time against size into this file: .svg, or .html with the table
    #[arg(long, value_name = "FILE")]
    pub plot: Option<PathBuf>,
}

fn workload_name(name: &str) -> Result<String, String> {
    match name.strip_prefix(TRACE) {
        Some("") => Err("trace: needs the path of a trace".to_owned()),
        Some(_) => Ok(name.to_owned()),
        None => matchpoint_bench::workloads::parse(name).map(|_| name.to_owned()),
    }
}

/// What a workload that is a trace begins with.
pub const TRACE: &str = "trace:";

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: Option<f64> = text.parse().ok();
    let duration = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    duration
        .filter(|duration| *duration >= LEAST_BUDGET)
        .ok_or_else(|| "give seconds, 0.001 at least".to_owned())
}

/// A shorter budget measures nothing.
const LEAST_BUDGET: Duration = Duration::from_millis(1);

/// `matchpoint profile`.
#[derive(Args, Debug)]
pub struct Profile {
    /// The trace: a folder of DUMPI files, its .meta file, or text from dumpi2ascii
    pub trace: PathBuf,

    /// Write the profile to this file (- is standard output)
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,

    /// How the order of arrivals is found, which no trace knows: simulated, timestamps or at_wait
    #[arg(short, long, value_name = "MODE", default_value_t)]
    pub arrivals: Arrivals,

    /// The network: L, o, g in ns, G in ns per byte, S in bytes (larger messages wait for their receive)
    #[arg(long, value_name = "KEY=VALUE,…", default_value_t)]
    pub loggp: LogGp,
}

/// `matchpoint check`.
#[derive(Args, Debug)]
pub struct Check {
    /// Engines, as name:key=value,…: every engine with its defaults if none is named. With --library: names that the
    /// library understands
    #[arg(value_name = "ENGINE")]
    pub engines: Vec<String>,

    /// Check engines of this library, which exports the functions of matchpoint.h (docs/check.md says which it must)
    #[arg(short, long, value_name = "FILE")]
    pub library: Option<PathBuf>,

    /// Random streams of each shape
    #[arg(long, value_name = "N", default_value_t = 200)]
    pub streams: u64,

    /// Events in each
    #[arg(long, value_name = "N", default_value_t = 1000)]
    pub events: usize,

    /// The first seed: the same seed makes the same streams
    #[arg(long, value_name = "S", default_value_t = 1)]
    pub seed: u64,

    /// The engine's table has a fixed size: it may refuse what does not fit
    #[arg(long)]
    pub fixed_table: bool,

    /// The order to hold it to, if not to the one that it promises
    #[arg(long, value_enum)]
    pub order: Option<OrderName>,

    /// Load the library into this process, where a debugger sees it, and keep the name of the stream being played in
    /// FILE: without this, a library has a process of its own, which may crash
    #[arg(long, value_name = "FILE", requires = "library")]
    pub trail: Option<PathBuf>,

    /// Save the script of every engine that breaks a law in this folder
    #[arg(long, value_name = "DIR")]
    pub save: Option<PathBuf>,
}

/// Which of several messages that match may be taken.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum OrderName {
    /// The earliest, over all sources
    Total,
    /// The earliest of its source, from whichever source
    #[value(alias = "per_source")]
    PerSource,
    /// Any that matches
    None,
}

impl From<OrderName> for Order {
    fn from(name: OrderName) -> Self {
        match name {
            OrderName::Total => Order::Total,
            OrderName::PerSource => Order::PerSource,
            OrderName::None => Order::None,
        }
    }
}

impl Check {
    /// How hard to look, at an engine that has these calls.
    pub fn options(&self, calls: Calls) -> matchpoint_conformance::Options {
        matchpoint_conformance::Options {
            seed: self.seed,
            streams: self.streams,
            events: self.events,
            depths: vec![1, 2, 7, 70, 700],
            fixed_table: self.fixed_table,
            order: self.order.map(Order::from),
            calls,
        }
    }
}

/// Traces below this are replayed in an instant.
const COMPARED_ANYWAY_BYTES: u64 = 32 << 20;

impl Analyze {
    /// What to ask the replay for.
    pub fn options(&self, trace_bytes: u64) -> Options {
        Options {
            engines: self.engines.clone(),
            arrivals: self.arrivals,
            loggp: self.loggp,
            compare_arrivals: self.compare_arrivals || trace_bytes < COMPARED_ANYWAY_BYTES,
        }
    }
}

fn engine_name(name: &str) -> Result<String, String> {
    matchpoint::engines::create(name).map(|_| name.to_owned()).map_err(|error| error.to_string())
}
