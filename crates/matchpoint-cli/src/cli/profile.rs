//! `matchpoint profile`.

use std::path::PathBuf;

use clap::Args;
use matchpoint_replay::{Arrivals, LogGp};

pub(super) const EXAMPLE: &str = "Example:
  matchpoint profile traces/fillboundary-27 -o app.partners
  matchpoint analyze traces/fillboundary-27 \\
    -e list -e partner:mode=static,profile=app.partners

Each rank's engine finds its own part of the profile.";

/// `matchpoint profile`.
#[derive(Args, Debug)]
pub struct Profile {
    /// The trace: a recorded one, a folder of DUMPI files, its .meta file, text from dumpi2ascii, or OTF2's .otf2 file
    pub trace: PathBuf,

    /// Write the profile to this file (- is standard output)
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,

    /// How the order of arrivals is found: recorded (traces of run --record), timestamps, simulated or at_wait [default:
    /// recorded, else timestamps if all ranks have one clock, else simulated]
    #[arg(short, long, value_name = "MODE")]
    pub arrivals: Option<Arrivals>,

    /// The network: L, o, g in ns, G in ns per byte, S in bytes (larger messages wait for their receive)
    #[arg(long, value_name = "KEY=VALUE,…", default_value_t)]
    pub loggp: LogGp,
}
