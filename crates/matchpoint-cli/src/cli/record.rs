//! `matchpoint record`.

use std::path::PathBuf;

use clap::Args;

use super::size::bytes;

pub(super) const EXAMPLES: &str = "Examples:
  matchpoint record -- mpiexec -n 8 ./app input.dat
  matchpoint record -o app.trace -- mpirun --oversubscribe -n 64 ./app
  matchpoint record --live -- mpiexec -n 8 ./app input.dat
  matchpoint record -o app.trace --limit 2G -- srun -n 512 ./app
  matchpoint analyze app.trace

On a cluster whose batch system starts the processes, --dry-run prints what their environment needs.";

/// `matchpoint record`.
#[derive(Args, Debug)]
pub struct Record {
    /// The folder to make for the trace; it must be seen by all hosts of the job
    #[arg(short, long, value_name = "TRACE", default_value = "matchpoint.trace")]
    pub output: PathBuf,

    /// Replace the trace that is there
    #[arg(long)]
    pub replace: bool,

    /// The C compiler of the application's MPI, where the launcher does not tell (as srun)
    #[arg(long, value_name = "PATH")]
    pub mpicc: Option<PathBuf>,

    /// Bytes that each process may write (K, M and G are known): afterwards calls are only counted
    #[arg(long, value_name = "BYTES", value_parser = bytes)]
    pub limit: Option<u64>,

    /// Keep where in the application every call is made
    #[arg(long)]
    pub callsites: bool,

    /// Do not measure in MPI_Init what the MPI library pays for an entry that it compares
    #[arg(long)]
    pub no_search_cost: bool,

    /// Show the queues of all ranks while the job runs, as `matchpoint top` does: below what the job prints, or, where
    /// standard error is no terminal, as a line every ten seconds
    #[arg(long, conflicts_with = "dry_run")]
    pub live: bool,

    /// Print the environment that the processes need, and run nothing
    #[arg(long)]
    pub dry_run: bool,

    /// The launcher with its options, the application with its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub command: Vec<String>,
}
