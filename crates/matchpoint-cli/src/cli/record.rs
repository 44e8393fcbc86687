//! Options of `matchpoint record`.

use std::path::PathBuf;

use clap::Args;

use super::number::bytes;

pub(super) const EXAMPLES: &str = "Examples:
  matchpoint record -- mpiexec -n 8 ./app input.dat
  matchpoint record -o app.trace -- mpirun --oversubscribe -n 64 ./app
  matchpoint record --live -- mpiexec -n 8 ./app input.dat
  matchpoint record -o app.trace --limit 2G -- srun -n 512 ./app
  matchpoint analyze app.trace

If a batch system starts the processes, --dry-run prints their environment.";

#[derive(Args, Debug)]
pub struct Record {
    /// Folder for the trace, which all hosts of the job must see
    #[arg(short, long, value_name = "TRACE", default_value = "matchpoint.trace")]
    pub output: PathBuf,

    /// Replace an existing trace
    #[arg(long)]
    pub replace: bool,

    /// C compiler of the application's MPI, if the launcher does not show it (srun)
    #[arg(long, value_name = "PATH")]
    pub mpicc: Option<PathBuf>,

    /// Bytes that each process may write (suffixes K, M, G); later calls are only counted
    #[arg(long, value_name = "BYTES", value_parser = bytes)]
    pub limit: Option<u64>,

    /// Record the call site of every call
    #[arg(long)]
    pub callsites: bool,

    /// Do not measure the library's cost of an entry in MPI_Init
    #[arg(long)]
    pub no_search_cost: bool,

    /// Show the queues of all ranks while the job runs, as `matchpoint top` does: below the job's output, or as a line
    /// every ten seconds if standard error is no terminal
    #[arg(long, conflicts_with = "dry_run")]
    pub live: bool,

    /// Print the environment of the processes, and run nothing
    #[arg(long)]
    pub dry_run: bool,

    /// Launcher with its options, application with its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub command: Vec<String>,
}
