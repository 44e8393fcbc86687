//! Options of `matchpoint analyze`.

use std::path::PathBuf;

use clap::Args;
use matchpoint_replay::analysis::stand_in::stand_in;
use matchpoint_replay::{Arrivals, LogGp, Options};
use matchpoint_trace::Trace;

use super::{ALL, engine_or_all, expand_all};

pub(super) const EXAMPLES: &str = "Examples:
  matchpoint analyze traces/lulesh-27
  matchpoint analyze traces/lulesh-27 --html report.html
  matchpoint analyze traces/lulesh-27 --engine rank_array --engine all
  matchpoint analyze traces/lulesh-27 --engine list --engine bins:n=256 --json -
  matchpoint analyze traces/lulesh-27 --loggp L=1500,o=400 --compare-arrivals";

#[derive(Args, Debug)]
pub struct Analyze {
    /// Trace: a recorded trace, a folder of DUMPI files, a .meta file, text of dumpi2ascii, or an .otf2 file
    pub trace: PathBuf,

    /// Engine to replay, as name:key=value,… (repeatable); `all` adds every other engine. The verdict is about the
    /// first engine [default: the engine that searches as the traced library does, then all]
    #[arg(short, long = "engine", value_name = "NAME", value_parser = engine_or_all)]
    pub engines: Vec<String>,

    /// Arrival order: recorded (traces of run --record), timestamps, simulated or at_wait [default: recorded, else
    /// timestamps if all ranks have one clock, else simulated]
    #[arg(short, long, value_name = "MODE")]
    pub arrivals: Option<Arrivals>,

    /// Compare the arrival orders (three replays instead of one); default for traces under 32 MiB
    #[arg(long)]
    pub compare_arrivals: bool,

    /// Network: L, o, g in ns, G in ns per byte, S in bytes (rendezvous above)
    #[arg(long, value_name = "KEY=VALUE,…", default_value_t)]
    pub loggp: LogGp,

    /// Write all results as JSON to this file (- is standard output, instead of the summary)
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,

    /// Write tables as CSV files into this folder
    #[arg(long, value_name = "DIR")]
    pub csv: Option<PathBuf>,

    /// Write the report as one HTML file, without network access
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
}

/// Bytes of a trace below which three replays are quick.
const COMPARED_ANYWAY_BYTES: u64 = 32 << 20;

impl Analyze {
    pub fn options(&self, trace: &dyn Trace) -> Options {
        let description = trace.description();
        Options {
            engines: self.named(description.library.as_deref(), description.transport.as_deref()),
            sampled: self.wants_all(),
            arrivals: self.arrivals.unwrap_or_else(|| Arrivals::best_of(trace)),
            loggp: self.loggp,
            compare_arrivals: self.compare_arrivals || description.bytes < COMPARED_ANYWAY_BYTES,
        }
    }

    /// The engines, with the engine of the verdict first. Without a named engine, the stand-in is first. `all` adds the
    /// other engines of the registry.
    fn named(&self, library: Option<&str>, transport: Option<&str>) -> Vec<String> {
        let is_named = self.engines.iter().any(|name| name != ALL);
        let stand_in = stand_in(library, transport).engine;
        let mut names = if is_named { Vec::new() } else { vec![stand_in.to_owned()] };
        names.extend(self.engines.iter().cloned());
        if self.wants_all() {
            names.push(ALL.to_owned());
        }
        let mut selected = expand_all(&names);
        if let (false, Some((bare, _))) = (is_named, stand_in.split_once(':')) {
            selected.retain(|name| name != bare);
        }
        selected
    }

    fn wants_all(&self) -> bool {
        self.engines.is_empty() || self.engines.iter().any(|name| name == ALL)
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use matchpoint::engines::REGISTRY;

    use super::*;

    #[derive(Parser)]
    struct Command {
        #[command(flatten)]
        analyze: Analyze,
    }

    fn engines(library: Option<&str>, arguments: &[&str]) -> Vec<String> {
        let words = ["analyze", "trace"].iter().chain(arguments);
        Command::parse_from(words).analyze.named(library, None)
    }

    #[test]
    fn first_engine_searches_as_traced_library() {
        let open_mpi = Some("Open MPI v5.0.11, package: Open MPI somebody@somewhere");
        for (library, arguments, first) in [
            (None, &[][..], "list"),
            (Some("MPICH Version: 5.0.2"), &[], "list"),
            (open_mpi, &[], "rank_array"),
            (open_mpi, &["-e", "all"], "rank_array"),
            (open_mpi, &["-e", "list", "-e", "all"], "list"),
            (open_mpi, &["-e", "all", "-e", "bins"], "bins"),
            (None, &["-e", "bins", "-e", "all", "-e", "bins"], "bins"),
        ] {
            let mut names = engines(library, arguments);
            assert_eq!(names[0], first, "{library:?} {arguments:?}");
            assert_eq!(names.len(), REGISTRY.len(), "each once");
            names.sort();
            names.dedup();
            assert_eq!(names.len(), REGISTRY.len(), "each once");
        }
        assert_eq!(engines(open_mpi, &["-e", "bins"]), ["bins"]);
    }
}
