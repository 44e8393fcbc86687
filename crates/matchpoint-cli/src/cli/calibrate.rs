//! Options of `matchpoint calibrate`.

use std::path::PathBuf;

use clap::Args;
use matchpoint_calibrate::plan::ROUNDS;

use super::number::{bytes, seconds, whole_number_parser};

pub(super) const EXAMPLES: &str = "Examples:
  matchpoint calibrate -- mpiexec -n 2
  matchpoint calibrate -o cluster.toml --html cluster.html -- \\
      mpiexec -n 32 -ppn 16 -hosts n001,n002 -bind-to core
  matchpoint calibrate -o cluster.toml -- srun -N 4 --ntasks-per-node 16
  matchpoint calibrate --from cluster.raw.jsonl -o cluster.toml

The -n after -- is an option of the launcher: the number of ranks. The number of
processes of a prediction is an option of predict.

Give the launcher without a program: matchpoint adds the benchmark. Two ranks on
a node determine latency, rate and the cost of queue search; two nodes, the
parameters between nodes; several ranks on each, the rate of a node; four nodes
in a line, the cost of shared links. Repeat the command after an interrupt to
continue.";

#[derive(Args, Debug)]
pub struct Calibrate {
    /// Write the machine to this file
    #[arg(short, long, value_name = "FILE", default_value = "machine.toml")]
    pub output: PathBuf,

    /// File of the raw measurements [default: next to the machine, as machine.raw.jsonl]
    #[arg(long, value_name = "FILE")]
    pub raw: Option<PathBuf>,

    /// Fit these raw measurements, without measuring
    #[arg(long, value_name = "RAW", conflicts_with_all = ["command", "raw", "replace", "mpicc"])]
    pub from: Option<PathBuf>,

    /// Repeat existing measurements
    #[arg(long)]
    pub replace: bool,

    /// Name of the machine [default: the host of the first rank]
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,

    /// C compiler of the MPI, if the launcher does not show it (srun)
    #[arg(long, value_name = "PATH")]
    pub mpicc: Option<PathBuf>,

    /// Largest message of the ping-pong (suffixes K, M)
    #[arg(long, value_name = "BYTES", default_value = "4M", value_parser = size)]
    pub max_bytes: u32,

    /// Largest number of messages at once
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = whole_number_parser(1..=32_767_u32, 1000))]
    pub max_messages: u32,

    /// Bytes of all messages at once, whatever their number
    #[arg(long, value_name = "BYTES", default_value = "1M", value_parser = size)]
    pub total_bytes: u32,

    /// Seconds per measurement, over all rounds; about a hundred measurements
    #[arg(long, value_name = "SECONDS", default_value_t = 0.1, value_parser = seconds)]
    pub seconds: f64,

    /// Rounds of all measurements, each in another order: differences between rounds widen the intervals
    #[arg(long, value_name = "N", default_value_t = ROUNDS, value_parser = whole_number_parser(1..=100, ROUNDS))]
    pub rounds: u32,

    /// Write parameters, measurements and residuals as JSON to this file (- is standard output, instead of the table)
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,

    /// Write a page with measured and modelled times, and their residuals
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,

    /// Launcher with its options, without a program
    #[arg(last = true, value_name = "LAUNCHER", required_unless_present = "from")]
    pub command: Vec<String>,
}

/// The benchmark stores a size in an int, and needs a buffer for each direction.
const SIZE_MAX: u64 = 1 << 30;

fn size(text: &str) -> Result<u32, String> {
    let size = bytes(text)?;
    u32::try_from(size)
        .ok()
        .filter(|_| (1..=SIZE_MAX).contains(&size))
        .ok_or_else(|| "must be 1 byte to 1G, such as 4M".to_owned())
}
