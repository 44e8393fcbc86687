//! `matchpoint predict`.

use std::num::NonZeroU32;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use matchpoint_model::SearchOrder;
use matchpoint_replay::{Arrivals, LogGp};

use super::engine_or_all;
use super::number::{at_least, whole};
use super::size::seconds;

pub(super) const EXAMPLES: &str = "Examples:
  matchpoint predict spmv A.mtx --machine blue-waters --processes 512
  matchpoint predict spmv A.mtx --machine m.toml --scale 64,512,4096 --json -
  matchpoint predict spgemm A.mtx P.mtx --machine m.toml --processes 512
  matchpoint predict amg levels/ -m m.toml --processes 512 --html amg.html
  matchpoint predict trace app.trace --machine m.toml --engine list -e hybrid
  matchpoint predict figures figures/
  matchpoint predict validate levels/ -m m.toml -n 64 -- mpiexec -n 2

-n before -- is how many processes share the rows, whoever plays them;
-n behind -- is the launcher's own: how many ranks it starts.

A machine that was calibrated on one host knows nothing between nodes, nor how
many processes a node has: say --ppn with as many as there are processes.

Machine files, written by `matchpoint calibrate`: docs/reference/machine.md.
Models and options: docs/reference/predict.md.";

/// `matchpoint predict`.
#[derive(Args, Debug)]
pub struct Predict {
    /// Of what.
    #[command(subcommand)]
    pub what: What,
}

/// What can be predicted.
#[derive(Subcommand, Debug)]
pub enum What {
    /// A product of a sparse matrix and a vector, its rows spread over processes
    Spmv(Spmv),
    /// A product of two sparse matrices, their rows spread over processes
    Spgemm(Spgemm),
    /// Both on every level of a multigrid hierarchy
    Amg(Amg),
    /// What a traced application sends and receives, phase by phase
    Trace(PredictTrace),
    /// Draw the model curves of the paper's figures 2 to 5, 7 and 9
    Figures(Figures),
    /// Have the products of a multigrid hierarchy, gathers and HighVolumePingPong carried out, and compare
    Validate(Validate),
}

/// Where it runs.
#[derive(Args, Clone, Debug)]
pub struct On {
    /// The machine: the file that matchpoint calibrate wrote, or blue-waters, which is the paper's
    #[arg(short, long, value_name = "FILE")]
    pub machine: PathBuf,

    /// Processes per node [default: those of the machine's file]
    #[arg(long, value_name = "N", value_parser = at_least(NonZeroU32::MIN, SIXTEEN))]
    pub ppn: Option<NonZeroU32>,

    /// Sockets per node [default: those of the machine's file]
    #[arg(long, value_name = "N", value_parser = at_least(NonZeroU32::MIN, SIXTEEN))]
    pub sockets: Option<NonZeroU32>,

    /// The network, as docs/reference/predict.md describes its file [default: a cube of a torus, as the paper assumes]
    #[arg(long, value_name = "FILE")]
    pub topology: Option<PathBuf>,

    /// Write all results as JSON to this file (- is standard output, instead of the tables)
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,

    /// Write a report as one HTML file that needs no network
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
}

/// How many processes.
#[derive(Args, Clone, Debug)]
#[group(required = true, multiple = false)]
pub struct Processes {
    /// How many processes share the rows
    #[arg(short = 'n', long, value_name = "P", value_parser = processes)]
    pub processes: Option<NonZeroU32>,

    /// Several such numbers, one after the other, and the memory that engines take
    #[arg(long, value_name = "P1,P2,…", value_delimiter = ',', value_parser = processes)]
    pub scale: Vec<NonZeroU32>,
}

impl Processes {
    /// All numbers, in the order in which they were asked for, each once.
    pub fn all(&self) -> Vec<NonZeroU32> {
        let mut all = Vec::new();
        for number in self.processes.into_iter().chain(self.scale.iter().copied()) {
            if !all.contains(&number) {
                all.push(number);
            }
        }
        all
    }
}

/// What an exchange is, beside its matrix.
#[derive(Args, Clone, Debug)]
pub struct Exchanged {
    /// In which order messages find their receives: bound (γ n²), reversed, third (n² ÷ 3 entries) or in_order
    #[arg(long, value_name = "ORDER", default_value_t = SearchOrder::Bound)]
    pub order: SearchOrder,

    /// What is sent.
    #[command(flatten)]
    pub sizes: Numbers,
}

/// Sizes of what is sent.
#[derive(Args, Clone, Debug)]
pub struct Numbers {
    /// Bytes of a number
    #[arg(long, value_name = "BYTES", default_value_t = 8, value_parser = whole(1..=1024_u64, 8))]
    pub value_bytes: u64,

    /// Bytes of the number of a column
    #[arg(long, value_name = "BYTES", default_value_t = 4, value_parser = whole(1..=1024_u64, 8))]
    pub index_bytes: u64,
}

/// A product whose rows are shared by processes.
#[derive(Args, Clone, Debug)]
pub struct Product {
    /// How many processes.
    #[command(flatten)]
    pub processes: Processes,

    /// Which process owns which row, of a second matrix too if it has as many: a line for each row with a number from 0 on
    /// [default: consecutive rows]
    #[arg(long, value_name = "FILE", conflicts_with = "scale")]
    pub partition: Option<PathBuf>,

    /// What is sent, and in which order it is received.
    #[command(flatten)]
    pub exchanged: Exchanged,

    /// Where it runs.
    #[command(flatten)]
    pub on: On,
}

/// `matchpoint predict spmv`.
#[derive(Args, Clone, Debug)]
pub struct Spmv {
    /// The matrix, a Matrix Market file
    #[arg(value_name = "A.mtx")]
    pub matrix: PathBuf,

    /// How its rows are shared.
    #[command(flatten)]
    pub product: Product,
}

/// `matchpoint predict spgemm`.
#[derive(Args, Clone, Debug)]
pub struct Spgemm {
    /// The first matrix, a Matrix Market file
    #[arg(value_name = "A.mtx")]
    pub matrix: PathBuf,

    /// The second matrix [default: the first]
    #[arg(value_name = "B.mtx")]
    pub second: Option<PathBuf>,

    /// How rows are shared.
    #[command(flatten)]
    pub product: Product,
}

/// `matchpoint predict amg`.
#[derive(Args, Clone, Debug)]
pub struct Amg {
    /// A folder with the levels: A0.mtx (the finest), A1.mtx, …, and their interpolations P0.mtx, P1.mtx, …
    #[arg(value_name = "DIR")]
    pub levels: PathBuf,

    /// How many processes share the rows of a level; levels with fewer rows are on as many processes as rows
    #[arg(short = 'n', long, value_name = "P", value_parser = processes)]
    pub processes: NonZeroU32,

    /// What is sent, and in which order it is received.
    #[command(flatten)]
    pub exchanged: Exchanged,

    /// Where it runs.
    #[command(flatten)]
    pub on: On,
}

/// `matchpoint predict trace`.
#[derive(Args, Clone, Debug)]
pub struct PredictTrace {
    /// The trace: a recorded one, a folder of DUMPI files, its .meta file, text from dumpi2ascii, or OTF2's .otf2 file
    #[arg(value_name = "TRACE")]
    pub trace: PathBuf,

    /// An engine, as name:key=value,… (repeat for several); `all` is every other one; the first is the one that the times are of
    #[arg(short, long = "engine", value_name = "NAME", value_parser = engine_or_all, default_values = ["list", "hybrid"])]
    pub engines: Vec<String>,

    /// In how many phases of equal time the run is cut, from its first message to its last
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = whole(1..=1000_u32, 10))]
    pub phases: u32,

    /// How the order of arrivals is found: simulated, timestamps, at_wait, or recorded (only traces of run --record)
    #[arg(short, long, value_name = "MODE", default_value_t)]
    pub arrivals: Arrivals,

    /// The network of the replay: L, o, g in ns, G in ns per byte, S in bytes (larger messages wait for their receive)
    /// [default: that of the machine's file; else as of analyze]
    #[arg(long, value_name = "KEY=VALUE,…")]
    pub loggp: Option<LogGp>,

    /// Other numbers of processes, and the memory that engines take there
    #[arg(long, value_name = "P1,P2,…", value_delimiter = ',', value_parser = processes)]
    pub scale: Vec<NonZeroU32>,

    /// Where it runs.
    #[command(flatten)]
    pub on: On,
}

/// `matchpoint predict figures`.
#[derive(Args, Clone, Debug)]
pub struct Figures {
    /// The folder for the figures, one SVG file each
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,

    /// The machine: a file, or blue-waters, which is the paper's
    #[arg(short, long, value_name = "FILE", default_value = "blue-waters")]
    pub machine: PathBuf,
}

/// `matchpoint predict validate`.
#[derive(Args, Clone, Debug)]
pub struct Validate {
    /// A folder with the levels, as of amg
    #[arg(value_name = "DIR")]
    pub levels: PathBuf,

    /// How many processes share the rows of a level, not how many ranks the launcher starts, which its own -n says; where
    /// those are fewer, two of them exchange the messages of the process that receives most [default: as many as the job has
    /// ranks]
    #[arg(short = 'n', long, value_name = "P", value_parser = played)]
    pub processes: Option<NonZeroU32>,

    /// Seconds for each operation; there are some fifty
    #[arg(long, value_name = "SECONDS", default_value_t = 0.4, value_parser = seconds)]
    pub seconds: f64,

    /// The largest number of messages of HighVolumePingPong
    #[arg(long, value_name = "N", default_value_t = 5000, value_parser = whole(1..=5000_u32, 1000))]
    pub max_messages: u32,

    /// The C compiler of the MPI, where the launcher does not tell (as srun)
    #[arg(long, value_name = "PATH")]
    pub mpicc: Option<PathBuf>,

    /// What is sent.
    #[command(flatten)]
    pub sizes: Numbers,

    /// The machine, as calibrate measured it under this launcher.
    #[command(flatten)]
    pub on: On,

    /// The launcher with its options, and no program
    #[arg(last = true, value_name = "LAUNCHER", required = true)]
    pub command: Vec<String>,
}

/// An example of a small number.
const SIXTEEN: NonZeroU32 = NonZeroU32::MIN.saturating_add(15);

/// More are no machine's.
const PROCESSES_MAX: u32 = 1 << 20;

fn processes(text: &str) -> Result<NonZeroU32, String> {
    let number = text.trim().parse::<NonZeroU32>().ok().filter(|number| number.get() <= PROCESSES_MAX);
    number.ok_or_else(|| format!("give a number of processes, 1 to {PROCESSES_MAX}, as 512"))
}

/// Messages of two ranks are told apart by their tags, of which MPI promises so many (MPI-4.1 §9.1.1).
const PLAYED_MAX: u32 = 1 << 15;

fn played(text: &str) -> Result<NonZeroU32, String> {
    processes(text).ok().filter(|number| (2..=PLAYED_MAX).contains(&number.get())).ok_or_else(|| {
        format!("give a number of processes, 2 to {PLAYED_MAX}: MPI has tags for the messages of no more")
    })
}
