//! `matchpoint analyze`.

use std::path::PathBuf;

use clap::Args;
use matchpoint::engines::REGISTRY;
use matchpoint_replay::{Arrivals, LogGp, Options};

pub(super) const EXAMPLES: &str = "Examples:
  matchpoint analyze traces/lulesh-27
  matchpoint analyze traces/lulesh-27 --html report.html
  matchpoint analyze traces/lulesh-27 --engine rank_array --engine all
  matchpoint analyze traces/lulesh-27 --engine list --engine bins:n=256 --json -
  matchpoint analyze traces/lulesh-27 --loggp L=1500,o=400 --compare-arrivals";

/// `matchpoint analyze`.
#[derive(Args, Debug)]
pub struct Analyze {
    /// The trace: a recorded one, a folder of DUMPI files, its .meta file, text from dumpi2ascii, or OTF2's .otf2 file
    pub trace: PathBuf,

    /// An engine to replay, as name:key=value,…; `all` is every other one. Repeat for several: the verdict is about
    /// the first, which stands for your MPI (list searches as MPICH does, rank_array as Open MPI) [default: list, all]
    #[arg(short, long = "engine", value_name = "NAME", value_parser = engine_or_all)]
    pub engines: Vec<String>,

    /// How the order of arrivals is found, which only traces of run --record know: simulated, timestamps, at_wait or
    /// recorded
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

/// Traces below this are replayed in an instant.
const COMPARED_ANYWAY_BYTES: u64 = 32 << 20;

impl Analyze {
    /// What to ask the replay for.
    pub fn options(&self, trace_bytes: u64) -> Options {
        Options {
            engines: self.named(),
            sampled: self.wants_all(),
            arrivals: self.arrivals,
            loggp: self.loggp,
            compare_arrivals: self.compare_arrivals || trace_bytes < COMPARED_ANYWAY_BYTES,
        }
    }

    /// The engines, the first first. `all` stands for every engine of the registry that is not named.
    fn named(&self) -> Vec<String> {
        let mut names: Vec<String> = self.engines.iter().filter(|name| *name != ALL).cloned().collect();
        if self.wants_all() {
            let missing = REGISTRY.iter().filter(|spec| !self.engines.iter().any(|name| name == spec.name));
            names.extend(missing.map(|spec| spec.name.to_owned()));
        }
        names
    }

    /// Whether there are engines that nobody asked for by name.
    fn wants_all(&self) -> bool {
        self.engines.is_empty() || self.engines.iter().any(|name| name == ALL)
    }
}

/// Every engine with its defaults.
const ALL: &str = "all";

fn engine_or_all(name: &str) -> Result<String, String> {
    if name == ALL { Ok(name.to_owned()) } else { super::engine_name(name) }
}
