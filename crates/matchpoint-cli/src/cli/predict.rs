//! Options of `matchpoint predict`.

use std::num::NonZeroU32;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use matchpoint_model::SearchOrder;
use matchpoint_replay::{Arrivals, LogGp};

use super::engine_or_all;
use super::number::{at_least, seconds, whole_number_parser};

pub(super) const EXAMPLES: &str = "Examples:
  matchpoint predict spmv A.mtx --machine blue-waters --processes 512
  matchpoint predict spmv A.mtx --machine m.toml --scale 64,512,4096 --json -
  matchpoint predict spgemm A.mtx P.mtx --machine m.toml --processes 512
  matchpoint predict amg levels/ -m m.toml --processes 512 --html amg.html
  matchpoint predict trace app.trace --machine m.toml --engine list -e hybrid
  matchpoint predict figures figures/
  matchpoint predict validate levels/ -m m.toml -n 64 -- mpiexec -n 2

The -n before -- is the number of processes that share the rows. The -n after --
is an option of the launcher: the number of ranks.

A machine calibrated on one host has no parameters between nodes, and no number
of processes per node: set --ppn to the number of processes.

Machine files, written by `matchpoint calibrate`: docs/reference/machine.md.
Models and options: docs/reference/predict.md.";

#[derive(Args, Debug)]
pub struct Predict {
    #[command(subcommand)]
    pub what: What,
}

/// The usage in two lines, because clap does not wrap usage.
const SPMV_USAGE: &str = "matchpoint predict spmv [OPTIONS] --machine <FILE>
       <--processes <P>|--scale <P1,P2,…>> <A.mtx>";
const SPGEMM_USAGE: &str = "matchpoint predict spgemm [OPTIONS] --machine <FILE>
       <--processes <P>|--scale <P1,P2,…>> <A.mtx> [B.mtx]";
const VALIDATE_USAGE: &str = "matchpoint predict validate [OPTIONS] --machine <FILE>
       <DIR> -- <LAUNCHER>...";

#[derive(Subcommand, Debug)]
pub enum What {
    /// A sparse matrix-vector product, with rows distributed over processes
    #[command(override_usage = SPMV_USAGE)]
    Spmv(Spmv),
    /// A product of two sparse matrices, with rows distributed over processes
    #[command(override_usage = SPGEMM_USAGE)]
    Spgemm(Spgemm),
    /// Both products on every level of a multigrid hierarchy
    Amg(Amg),
    /// The messages of a traced application, by phase
    Trace(PredictTrace),
    /// Draw the model curves of the paper's figures 2 to 5, 7 and 9
    Figures(Figures),
    /// Run the products of a multigrid hierarchy, gathers and HighVolumePingPong, and compare
    #[command(override_usage = VALIDATE_USAGE)]
    Validate(Validate),
}

#[derive(Args, Clone, Debug)]
pub struct On {
    /// Machine: a file of matchpoint calibrate, or blue-waters, the paper's machine
    #[arg(short, long, value_name = "FILE")]
    pub machine: PathBuf,

    /// Processes per node [default: those of the machine file]
    #[arg(long, value_name = "N", value_parser = at_least(NonZeroU32::MIN, SIXTEEN))]
    pub ppn: Option<NonZeroU32>,

    /// Sockets per node [default: those of the machine file]
    #[arg(long, value_name = "N", value_parser = at_least(NonZeroU32::MIN, SIXTEEN))]
    pub sockets: Option<NonZeroU32>,

    /// Network file, see docs/reference/predict.md [default: a cube of a torus, as in the paper]
    #[arg(long, value_name = "FILE")]
    pub topology: Option<PathBuf>,

    /// Write all results as JSON to this file (- is standard output, instead of the tables)
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,

    /// Write a report as one HTML file, without network access
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
}

#[derive(Args, Clone, Debug)]
#[group(required = true, multiple = false)]
pub struct Processes {
    /// Number of processes that share the rows
    #[arg(short = 'n', long, value_name = "P", value_parser = processes)]
    pub processes: Option<NonZeroU32>,

    /// Several numbers of processes, and the memory of engines
    #[arg(long, value_name = "P1,P2,…", value_delimiter = ',', value_parser = processes)]
    pub scale: Vec<NonZeroU32>,
}

impl Processes {
    pub fn all(&self) -> Vec<NonZeroU32> {
        super::without_duplicates(&[self.processes.as_slice(), &self.scale].concat())
    }
}

#[derive(Args, Clone, Debug)]
pub struct Exchanged {
    /// Order of messages and receives: bound (γ n²), reversed, third (n² ÷ 3 entries) or in_order
    #[arg(long, value_name = "ORDER", default_value_t = SearchOrder::Bound)]
    pub order: SearchOrder,

    #[command(flatten)]
    pub sizes: Numbers,
}

#[derive(Args, Clone, Debug)]
pub struct Numbers {
    /// Bytes of a value
    #[arg(long, value_name = "BYTES", default_value_t = 8, value_parser = whole_number_parser(1..=1024_u64, 8))]
    pub value_bytes: u64,

    /// Bytes of a column index
    #[arg(long, value_name = "BYTES", default_value_t = 4, value_parser = whole_number_parser(1..=1024_u64, 8))]
    pub index_bytes: u64,
}

#[derive(Args, Clone, Debug)]
pub struct Product {
    #[command(flatten)]
    pub processes: Processes,

    /// File with the owner of each row, also of a second matrix of the same size: one process number per line, from 0
    /// [default: consecutive rows]
    #[arg(long, value_name = "FILE", conflicts_with = "scale")]
    pub partition: Option<PathBuf>,

    #[command(flatten)]
    pub exchanged: Exchanged,

    #[command(flatten)]
    pub on: On,
}

#[derive(Args, Clone, Debug)]
pub struct Spmv {
    /// Matrix, a Matrix Market file
    #[arg(value_name = "A.mtx")]
    pub matrix: PathBuf,

    #[command(flatten)]
    pub product: Product,
}

#[derive(Args, Clone, Debug)]
pub struct Spgemm {
    /// First matrix, a Matrix Market file
    #[arg(value_name = "A.mtx")]
    pub matrix: PathBuf,

    /// Second matrix [default: the first]
    #[arg(value_name = "B.mtx")]
    pub second: Option<PathBuf>,

    #[command(flatten)]
    pub product: Product,
}

#[derive(Args, Clone, Debug)]
pub struct Amg {
    /// Folder with the levels: A0.mtx (the finest), A1.mtx, …, and the interpolations P0.mtx, P1.mtx, …
    #[arg(value_name = "DIR")]
    pub levels: PathBuf,

    /// Processes that share the rows of a level, at most one per row
    #[arg(short = 'n', long, value_name = "P", value_parser = processes)]
    pub processes: NonZeroU32,

    #[command(flatten)]
    pub exchanged: Exchanged,

    #[command(flatten)]
    pub on: On,
}

#[derive(Args, Clone, Debug)]
pub struct PredictTrace {
    /// Trace: a recorded trace, a folder of DUMPI files, a .meta file, text of dumpi2ascii, or an .otf2 file
    #[arg(value_name = "TRACE")]
    pub trace: PathBuf,

    /// Engine, as name:key=value,… (repeatable); `all` adds every other engine; the times are those of the first
    #[arg(short, long = "engine", value_name = "NAME", value_parser = engine_or_all, default_values = ["list", "hybrid"])]
    pub engines: Vec<String>,

    /// Phases of equal time, from the first message to the last
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = whole_number_parser(1..=1000_u32, 10))]
    pub phases: u32,

    /// Arrival order: simulated, timestamps, at_wait, or recorded (only traces of run --record)
    #[arg(short, long, value_name = "MODE", default_value_t)]
    pub arrivals: Arrivals,

    /// Network of the replay: L, o, g in ns, G in ns per byte, S in bytes (rendezvous above) [default: that of the
    /// machine file, else that of analyze]
    #[arg(long, value_name = "KEY=VALUE,…")]
    pub loggp: Option<LogGp>,

    /// Other numbers of processes, and the memory of engines there
    #[arg(long, value_name = "P1,P2,…", value_delimiter = ',', value_parser = processes)]
    pub scale: Vec<NonZeroU32>,

    #[command(flatten)]
    pub on: On,
}

#[derive(Args, Clone, Debug)]
pub struct Figures {
    /// Folder for the figures, one SVG file each
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,

    /// Machine: a file, or blue-waters, the paper's machine
    #[arg(short, long, value_name = "FILE", default_value = "blue-waters")]
    pub machine: PathBuf,
}

#[derive(Args, Clone, Debug)]
pub struct Validate {
    /// Folder with the levels, as for amg
    #[arg(value_name = "DIR")]
    pub levels: PathBuf,

    /// Processes that share the rows of a level. With fewer ranks, two ranks exchange the messages of the process that
    /// receives most [default: the ranks of the job]
    #[arg(short = 'n', long, value_name = "P", value_parser = played)]
    pub processes: Option<NonZeroU32>,

    /// Seconds per operation; about fifty operations
    #[arg(long, value_name = "SECONDS", default_value_t = 0.4, value_parser = seconds)]
    pub seconds: f64,

    /// Largest number of messages of HighVolumePingPong
    #[arg(long, value_name = "N", default_value_t = 5000, value_parser = whole_number_parser(1..=5000_u32, 1000))]
    pub max_messages: u32,

    /// C compiler of the MPI, if the launcher does not show it (srun)
    #[arg(long, value_name = "PATH")]
    pub mpicc: Option<PathBuf>,

    #[command(flatten)]
    pub sizes: Numbers,

    #[command(flatten)]
    pub on: On,

    /// Launcher with its options, without a program
    #[arg(last = true, value_name = "LAUNCHER", required = true)]
    pub command: Vec<String>,
}

const SIXTEEN: NonZeroU32 = NonZeroU32::MIN.saturating_add(15);

const PROCESSES_MAX: u32 = 1 << 20;

fn processes(text: &str) -> Result<NonZeroU32, String> {
    let number = text.trim().parse::<NonZeroU32>().ok().filter(|number| number.get() <= PROCESSES_MAX);
    number.ok_or_else(|| format!("must be a number of processes from 1 to {PROCESSES_MAX}, such as 512"))
}

/// A job of two ranks distinguishes processes by tag, and MPI guarantees this number of tags (MPI-4.1 §9.1.1).
const PLAYED_MAX: u32 = 1 << 15;

fn played(text: &str) -> Result<NonZeroU32, String> {
    processes(text).ok().filter(|number| (2..=PLAYED_MAX).contains(&number.get())).ok_or_else(|| {
        format!(
            "must be a number of processes from 2 to {PLAYED_MAX}, the number of tags that MPI guarantees"
        )
    })
}
