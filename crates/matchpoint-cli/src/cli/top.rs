//! `matchpoint top`.

use clap::Args;

use super::number::at_least;

pub(super) const EXAMPLES: &str = "Examples:
  matchpoint record -o app.trace -- mpiexec -n 64 ./app &
  matchpoint top app.trace
  matchpoint top $(pgrep -n mpiexec)
  matchpoint top app.trace --once --json

q or Ctrl-C ends it; the job goes on. What is not a terminal gets plain text.";

/// `matchpoint top`.
#[derive(Args, Debug)]
pub struct Top {
    /// A process of a recorded job, by its number (of a rank, or of what started it), or the folder of its trace
    #[arg(value_name = "PID|TRACE")]
    pub target: String,

    /// Look once, and end
    #[arg(long)]
    pub once: bool,

    /// Write one JSON object for each look, with all ranks
    #[arg(long)]
    pub json: bool,

    /// How many ranks to show, the worst first [default: as many as fit, 20 where there is no terminal]
    #[arg(long, value_name = "N", value_parser = at_least(0_usize, 20))]
    pub rows: Option<usize>,
}
