//! `matchpoint run`.

use std::path::PathBuf;

use clap::Args;

use super::engine_of_processor;
use super::number::at_least;

pub(super) const EXAMPLES: &str = "Examples:
  matchpoint run -- mpiexec -n 8 ./app input.dat
  matchpoint run --engine list --stats -- mpirun --oversubscribe -n 64 ./app
  matchpoint run --compare 3 -- mpiexec -n 8 ./app
  matchpoint run --record app.trace -- mpiexec -n 8 ./app
  matchpoint analyze --arrivals recorded app.trace
  matchpoint run --core 'tcp;ofi_rxm' --json f.json -- mpiexec -f hosts -n 64 ./app
  eval \"$(matchpoint run --dry-run --folder $SCRATCH/run -- srun ./app)\"
  srun -n 512 ./app
  matchpoint run --results $SCRATCH/run

The MPI must be MPICH or Open MPI with libfabric, 4.1 or later, or Intel MPI; with any other, matchpoint record works.";

/// `matchpoint run`.
#[derive(Args, Debug)]
pub struct Run {
    /// The engine that matches: one of matchpoint engines, with its parameters
    #[arg(short, long, value_name = "NAME", default_value = "hybrid", value_parser = engine_of_processor)]
    pub engine: String,

    /// What transports messages: a provider of libfabric, as shm or 'tcp;ofi_rxm' (chosen by the hosts of the job)
    #[arg(short, long, value_name = "PROVIDER")]
    pub core: Option<String>,

    /// Record every call as well, and when every message arrived: a trace for matchpoint analyze --arrivals recorded
    #[arg(long, value_name = "TRACE", conflicts_with_all = ["dry_run", "results"])]
    pub record: Option<PathBuf>,

    /// Replace the trace that is there
    #[arg(long, requires = "record")]
    pub replace: bool,

    /// Run it so many times in turn with the engine, as the MPI is shipped, and over the same transport without us; tell how long
    /// each took
    #[arg(long, value_name = "TIMES", conflicts_with_all = ["dry_run", "results", "record"],
          value_parser = at_least(1_u32, 3))]
    pub compare: Option<u32>,

    /// Print a row for every rank, rather than for the ten that matching costs most
    #[arg(long)]
    pub stats: bool,

    /// Write what the ranks told, and the verdict, to a file
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,

    /// The folder for the provider and the reports, which all hosts of the job must see; it is made, and stays
    #[arg(long, value_name = "DIR")]
    pub folder: Option<PathBuf>,

    /// The C compiler of the application's MPI, where neither launcher nor application tell
    #[arg(long, value_name = "PATH")]
    pub mpicc: Option<PathBuf>,

    /// Print the environment that the processes need, make the folder (matchpoint.run), and run nothing
    #[arg(long)]
    pub dry_run: bool,

    /// Run nothing, and tell what the processes of a job with that folder have reported
    #[arg(long, value_name = "DIR", conflicts_with_all = ["dry_run", "folder", "core"])]
    pub results: Option<PathBuf>,

    /// The launcher with its options, and the application with its arguments
    #[arg(last = true, required_unless_present = "results", value_name = "COMMAND")]
    pub command: Vec<String>,
}
