//! Options of `matchpoint top`.

use clap::Args;

use super::number::at_least;

pub(super) const EXAMPLES: &str = "Examples:
  matchpoint record -o app.trace -- mpiexec -n 64 ./app &
  matchpoint top app.trace
  matchpoint top $(pgrep -n mpiexec)
  matchpoint top app.trace --once --json

q or Ctrl-C ends top, not the job. The output is plain text without a terminal.";

#[derive(Args, Debug)]
pub struct Top {
    /// Process of a recorded job (a rank, or a parent process), or the folder of its trace
    #[arg(value_name = "PID|TRACE")]
    pub target: String,

    /// Print one snapshot, and end
    #[arg(long)]
    pub once: bool,

    /// Print one JSON object per snapshot, with all ranks
    #[arg(long)]
    pub json: bool,

    /// Ranks to show, worst first [default: as many as fit, 20 without a terminal]
    #[arg(long, value_name = "N", value_parser = at_least(0_usize, 20))]
    pub rows: Option<usize>,
}
