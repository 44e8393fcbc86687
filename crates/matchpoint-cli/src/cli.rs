//! What the command line says.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use matchpoint_replay::{Arrivals, LogGp, Options};

const EXAMPLES: &str = "Examples:
  matchpoint analyze traces/lulesh-27
  matchpoint analyze traces/lulesh-27 --html report.html
  matchpoint analyze traces/lulesh-27 --engine list --engine bins:n=256 --json -
  matchpoint analyze traces/lulesh-27 --loggp L=1500,o=400,S=16384 --compare-arrivals";

const PROFILE_EXAMPLE: &str = "Example:
  matchpoint profile traces/fillboundary-27 -o app.partners
  matchpoint analyze traces/fillboundary-27 -e list -e partner:mode=static,profile=app.partners

Each rank's engine finds its own part of the profile.";

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
    /// Count who sends most of what waits, for the engine partner in its static mode
    #[command(after_help = PROFILE_EXAMPLE)]
    Profile(Profile),
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
