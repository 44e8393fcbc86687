//! Options of `matchpoint check`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use matchpoint::Order;
use matchpoint_conformance::generate::SHAPES;
use matchpoint_conformance::{OptionalCalls, Options};
use matchpoint_replay::format::count;

use super::number::{at_least, whole_number_parser};

const EXAMPLES: &str = "Examples:
  matchpoint check
  matchpoint check list bins:n=3
  matchpoint check -e bins:n=3 --streams 20000
  matchpoint check --library ./libother.so --save scripts
  matchpoint check --library ./libmpi_shim.so --mpi --order per-source

If a law is broken, the output is the law, the engine's answer, and the shortest
script found.
Exit codes: 0 no law is broken; 1 a law is broken, or the library crashed;
2 nothing to check: unknown engine, unusable library, or wrong option.";

pub(super) fn help() -> String {
    let streams = |streams: u64| {
        let options = Options { streams, depths: DEPTHS.to_vec(), deep: DEEP, ..Options::quick() };
        (options.streams_by_kind(), count(options.streams_total()))
    };
    let shapes = SHAPES.len();
    let ([random, by_turns, adversarial, deep], total) = streams(STREAMS);
    let (_, least) = streams(0);
    format!(
        "Streams per engine:
  random: --streams of each of {shapes} shapes, with --events each: {} by default
  a tenth as many, in alternation on two engines: {by_turns} by default
  adversarial, with 1 to 700 entries queued: {adversarial}
  long, with --deep entries queued: {deep}, or none with --deep 0
Total: {total} by default, {least} with --streams 0. The output has the numbers of
streams, events and matches of each engine.

{EXAMPLES}",
        count(random)
    )
}

const STREAMS: u64 = 200;
const EVENTS: usize = 1000;
const DEEP: u64 = 70_000;

/// Numbers of queued entries in the adversarial streams.
const DEPTHS: [u64; 5] = [1, 2, 7, 70, 700];

#[derive(Args, Debug)]
pub struct Check {
    /// Engines, as name:key=value,… [default: `all`, every engine of `matchpoint engines` that needs no card]. With
    /// --library: names that the library defines
    #[arg(value_name = "ENGINE")]
    pub engines: Vec<String>,

    /// Engine, as in other commands (repeatable)
    #[arg(short = 'e', long = "engine", value_name = "ENGINE")]
    pub more: Vec<String>,

    /// Check engines of this library, which exports functions of matchpoint.h (docs/reference/check.md)
    #[arg(short, long, value_name = "FILE")]
    pub library: Option<PathBuf>,

    /// Random streams of each shape
    #[arg(long, value_name = "N", default_value_t = STREAMS, value_parser = at_least(0_u64, 20_000))]
    pub streams: u64,

    /// Events per stream
    #[arg(long, value_name = "N", default_value_t = EVENTS, value_parser = whole_number_parser(1..=10_000_000, EVENTS))]
    pub events: usize,

    /// Entries per queue in the four long streams; 0 omits them
    #[arg(long, value_name = "N", default_value_t = DEEP, value_parser = whole_number_parser(0..=10_000_000_u64, 5000))]
    pub deep: u64,

    /// First seed; the same seed makes the same streams
    #[arg(long, value_name = "S", default_value_t = 1, value_parser = at_least(0_u64, 7))]
    pub seed: u64,

    /// Only MPI's ranges: int ranks and tags, 16-bit contexts, no masks, no unknown sources
    #[arg(long)]
    pub mpi: bool,

    /// The table has a fixed size: the engine may refuse receives
    #[arg(long)]
    pub fixed_table: bool,

    /// Order to require, instead of the promised one
    #[arg(long, value_enum)]
    pub order: Option<OrderName>,

    /// Load the library into this process, for a debugger; FILE names the current stream. Without this option, the
    /// library is loaded into a separate process
    #[arg(long, value_name = "FILE", requires = "library")]
    pub trail: Option<PathBuf>,

    /// File for findings of a process that may crash
    #[arg(long, value_name = "FILE", requires = "trail", hide = true)]
    pub so_far: Option<PathBuf>,

    /// Save the script of every engine that breaks a law in this folder
    #[arg(long, value_name = "DIR")]
    pub save: Option<PathBuf>,

    /// Write the results as JSON to this file (docs/reference/check.md); `-` is standard output, instead of the text
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum OrderName {
    /// The oldest message of all sources
    Total,
    /// The oldest message of any one source
    #[value(alias = "per_source")]
    PerSource,
    /// Any message that matches
    None,
}

impl From<OrderName> for Order {
    fn from(name: OrderName) -> Self {
        match name {
            OrderName::Total => Order::Total,
            OrderName::PerSource => Order::PerSource,
            OrderName::None => Order::None,
        }
    }
}

impl Check {
    pub fn named(&self) -> Vec<String> {
        super::without_duplicates(&[&self.engines[..], &self.more].concat())
    }

    pub fn options(&self, calls: OptionalCalls) -> Options {
        Options {
            seed: self.seed,
            streams: self.streams,
            events: self.events,
            depths: DEPTHS.to_vec(),
            deep: self.deep,
            deep_may_fill: false,
            fixed_table: self.fixed_table,
            order: self.order.map(Order::from),
            mpi_only: self.mpi,
            calls,
        }
    }
}
