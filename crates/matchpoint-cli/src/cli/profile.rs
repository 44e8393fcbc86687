//! Options of `matchpoint profile`.

use std::path::PathBuf;

use clap::Args;
use matchpoint_replay::{Arrivals, LogGp};

pub(super) const EXAMPLE: &str = "Example:
  matchpoint profile traces/fillboundary-27 -o app.partners
  matchpoint analyze traces/fillboundary-27 \\
    -e list -e partner:mode=static,profile=app.partners

The engine of each rank reads its own part of the profile.";

#[derive(Args, Debug)]
pub struct Profile {
    /// Trace: a recorded trace, a folder of DUMPI files, a .meta file, text of dumpi2ascii, or an .otf2 file
    pub trace: PathBuf,

    /// Write the profile to this file (- is standard output)
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,

    /// Arrival order: recorded (traces of run --record), timestamps, simulated or at_wait [default: recorded, else
    /// timestamps if all ranks have one clock, else simulated]
    #[arg(short, long, value_name = "MODE")]
    pub arrivals: Option<Arrivals>,

    /// Network: L, o, g in ns, G in ns per byte, S in bytes (rendezvous above)
    #[arg(long, value_name = "KEY=VALUE,…", default_value_t)]
    pub loggp: LogGp,
}
