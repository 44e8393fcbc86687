//! `matchpoint calibrate`.

use std::path::PathBuf;

use clap::Args;
use matchpoint_calibrate::plan::ROUNDS;

use super::number::whole;
use super::size::{bytes, seconds};

pub(super) const EXAMPLES: &str = "Examples:
  matchpoint calibrate -- mpiexec -n 2
  matchpoint calibrate -o cluster.toml --html cluster.html -- \\
      mpiexec -n 32 -ppn 16 -hosts n001,n002 -bind-to core
  matchpoint calibrate -o cluster.toml -- srun -N 4 --ntasks-per-node 16
  matchpoint calibrate --from cluster.raw.jsonl -o cluster.toml

-n behind -- is the launcher's own: how many ranks it starts. A machine has no
number of processes; predict takes that.

The launcher comes without a program: the benchmark is put behind it. Two ranks
on a node give latency, rate and the cost of queue search; two nodes what lies
between them, several ranks on each the rate of a node, four nodes in a line the
cost of shared links. What was interrupted goes on where it stopped, when the
same command is given again.";

/// `matchpoint calibrate`.
#[derive(Args, Debug)]
pub struct Calibrate {
    /// The file to write the machine to
    #[arg(short, long, value_name = "FILE", default_value = "machine.toml")]
    pub output: PathBuf,

    /// The file of the raw measurements [default: beside the machine, as machine.raw.jsonl]
    #[arg(long, value_name = "FILE")]
    pub raw: Option<PathBuf>,

    /// Measure nothing: fit these raw measurements
    #[arg(long, value_name = "RAW", conflicts_with_all = ["command", "raw", "replace", "mpicc"])]
    pub from: Option<PathBuf>,

    /// Measure again what was measured already
    #[arg(long)]
    pub replace: bool,

    /// What to call the machine [default: the host of the first rank]
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,

    /// The C compiler of the MPI, where the launcher does not tell (as srun)
    #[arg(long, value_name = "PATH")]
    pub mpicc: Option<PathBuf>,

    /// The largest message of the ping-pong (K and M are known)
    #[arg(long, value_name = "BYTES", default_value = "4M", value_parser = size)]
    pub max_bytes: u32,

    /// The largest number of messages at once
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = whole(1..=32_767_u32, 1000))]
    pub max_messages: u32,

    /// Bytes of all messages where there are many at once, whatever their number
    #[arg(long, value_name = "BYTES", default_value = "1M", value_parser = size)]
    pub total_bytes: u32,

    /// Seconds for each measurement, of all rounds; there are some hundred
    #[arg(long, value_name = "SECONDS", default_value_t = 0.1, value_parser = seconds)]
    pub seconds: f64,

    /// How often everything is measured, each time in another order: what differs between rounds makes intervals wide
    #[arg(long, value_name = "N", default_value_t = ROUNDS, value_parser = whole(1..=100, ROUNDS))]
    pub rounds: u32,

    /// Write parameters, measurements and residuals as JSON to this file (- is standard output, instead of the table)
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,

    /// Write a page with measured and modelled times and their residuals
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,

    /// The launcher with its options, and no program
    #[arg(last = true, value_name = "LAUNCHER", required_unless_present = "from")]
    pub command: Vec<String>,
}

/// The benchmark counts bytes in an int, and a buffer for each direction should be had everywhere.
const SIZE_MAX: u64 = 1 << 30;

fn size(text: &str) -> Result<u32, String> {
    let size = bytes(text)?;
    u32::try_from(size)
        .ok()
        .filter(|_| (1..=SIZE_MAX).contains(&size))
        .ok_or_else(|| "give 1 byte to 1G, as 4M".to_owned())
}
