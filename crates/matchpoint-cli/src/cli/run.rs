//! Options of `matchpoint run`.

use std::path::PathBuf;

use clap::Args;
use matchpoint_run::overflow::Limit;

use super::engine_of_processor;
use super::number::at_least;

pub(super) const EXAMPLES: &str = "Examples:
  matchpoint run -- mpiexec -n 8 ./app input.dat
  matchpoint run --compare 3 -- mpiexec -n 8 ./app
  matchpoint run --engine list --limit 0 --stats -- mpirun -n 64 ./app
  matchpoint run --record app.trace -- mpiexec -n 8 ./app
  matchpoint analyze --arrivals recorded app.trace
  matchpoint run --below --core 'tcp;ofi_rxm' -- mpiexec -f hosts -n 64 ./app
  eval \"$(matchpoint run --print-environment --mpicc mpicc)\"
  srun -n 512 ./app
  matchpoint run --results matchpoint.run

Works above any MPI library with a header (mpi.h). --below needs MPICH or Open
MPI with libfabric, or Intel MPI.";

#[derive(Args, Debug)]
pub struct Run {
    /// Engine that matches: one of matchpoint engines, with its parameters
    #[arg(short, long, value_name = "NAME", default_value = "hybrid", value_parser = engine_of_processor)]
    pub engine: String,

    /// Receives in the MPI library before overflow begins: a number (0: the engine matches every message), none, or
    /// auto (measured when each process starts)
    #[arg(short, long, value_name = "RECEIVES", default_value = "auto", value_parser = limit)]
    pub limit: Limit,

    /// Match every message below the MPI library, as a provider of libfabric
    #[arg(long, conflicts_with = "limit")]
    pub below: bool,

    /// With --below: core provider that transports messages, such as shm or 'tcp;ofi_rxm' [default: by the hosts of the
    /// job]
    #[arg(short, long, value_name = "PROVIDER", requires = "below")]
    pub core: Option<String>,

    /// Record every call and arrival time, for matchpoint analyze --arrivals recorded
    #[arg(long, value_name = "TRACE", conflicts_with_all = ["print_environment", "results"])]
    pub record: Option<PathBuf>,

    /// Replace an existing trace
    #[arg(long, requires = "record")]
    pub replace: bool,

    /// Alternate this number of runs with and without the engine, and report their times
    #[arg(long, value_name = "TIMES", conflicts_with_all = ["print_environment", "results", "record"],
          value_parser = at_least(1_u32, 3))]
    pub compare: Option<u32>,

    /// Print a row for every rank, instead of the ten worst
    #[arg(long)]
    pub stats: bool,

    /// Write the reports of all ranks, and the verdict, as JSON to this file
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,

    /// Folder for libraries and reports, which all hosts of the job must see; it is created and kept
    #[arg(long, value_name = "DIR")]
    pub folder: Option<PathBuf>,

    /// C compiler of the application's MPI, if neither launcher nor application show it
    #[arg(long, value_name = "PATH")]
    pub mpicc: Option<PathBuf>,

    /// Print the environment of the processes, create the folder (matchpoint.run), and run nothing. With --mpicc and
    /// without a command, the lines serve every job of that MPI, as in a module file
    #[arg(long)]
    pub print_environment: bool,

    /// Processes without overflow write no report
    #[arg(long, conflicts_with = "below")]
    pub quiet: bool,

    /// Report the results in this folder of an earlier job, and run nothing
    #[arg(long, value_name = "DIR", conflicts_with_all = ["print_environment", "folder", "core", "command"])]
    pub results: Option<PathBuf>,

    /// Launcher with its options, application with its arguments
    #[arg(last = true, required_unless_present_any = ["results", "print_environment"], value_name = "COMMAND")]
    pub command: Vec<String>,
}

fn limit(text: &str) -> Result<Limit, String> {
    match text {
        "auto" => Ok(Limit::Measured),
        "none" => Ok(Limit::None),
        number => number
            .parse()
            .map(Limit::Receives)
            .map_err(|_| "must be a number of receives, auto or none".to_owned()),
    }
}
