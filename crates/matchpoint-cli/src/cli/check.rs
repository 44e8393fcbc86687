//! `matchpoint check`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use matchpoint::Order;
use matchpoint_conformance::generate::SHAPES;
use matchpoint_conformance::{Calls, Options};

use super::number::{at_least, whole};
use crate::format::count;

const EXAMPLES: &str = "Examples:
  matchpoint check
  matchpoint check list bins:n=3
  matchpoint check -e bins:n=3 --streams 20000
  matchpoint check --library ./libother.so --save scripts
  matchpoint check --library ./libmpi_shim.so --mpi --order per-source

A script that shows a broken law is as short as could be found; it begins with
the law, and what the engine answered.
Ends with 0 if no law is broken, 1 if one is (a library that crashes while it is
called breaks one), 2 if there was nothing to check: no such engine, no such
library, a wrong option.";

/// What an engine is made to play, and examples.
pub(super) fn help() -> String {
    let streams = |streams: u64| {
        let options = Options { streams, depths: DEPTHS.to_vec(), deep: DEEP, ..Options::quick() };
        (options.streams_by_kind(), count(options.streams_total()))
    };
    let shapes = SHAPES.len();
    let ([random, by_turns, adversarial, deep], total) = streams(STREAMS);
    let (_, least) = streams(0);
    format!(
        "Streams that every engine plays:
  of each of {shapes} shapes --streams, of --events each: {} by default
  a tenth as many more, by turns on two engines: {by_turns} by default
  made to hurt, with 1 to 700 entries queued: {adversarial} in any case
  long, with --deep entries queued: {deep}, or none if that is 0
In all {total} by default, {least} with --streams 0. The output says of each engine
how many streams and events it played, and how many messages matched.

{EXAMPLES}",
        count(random)
    )
}

/// Defaults of the options.
const STREAMS: u64 = 200;
const EVENTS: usize = 1000;
const DEEP: u64 = 70_000;

/// Entries queued by the streams that are made to hurt.
const DEPTHS: [u64; 5] = [1, 2, 7, 70, 700];

/// `matchpoint check`.
#[derive(Args, Debug)]
pub struct Check {
    /// Engines, as name:key=value,…, one after the other or each behind -e: those of `matchpoint engines` that need no
    /// card, with their defaults, if none is named, or `all` is. With --library: names that the library understands
    #[arg(value_name = "ENGINE")]
    pub engines: Vec<String>,

    /// An engine, as other commands have it (repeat for several)
    #[arg(short = 'e', long = "engine", value_name = "ENGINE")]
    pub more: Vec<String>,

    /// Check engines of this library, which exports the functions of matchpoint.h (docs/reference/check.md says which it must)
    #[arg(short, long, value_name = "FILE")]
    pub library: Option<PathBuf>,

    /// Random streams of each shape
    #[arg(long, value_name = "N", default_value_t = STREAMS, value_parser = at_least(0_u64, 20_000))]
    pub streams: u64,

    /// Events in each
    #[arg(long, value_name = "N", default_value_t = EVENTS, value_parser = whole(1..=10_000_000, EVENTS))]
    pub events: usize,

    /// Entries in each queue of the long streams, of which there are four; 0 leaves them out
    #[arg(long, value_name = "N", default_value_t = DEEP, value_parser = whole(0..=10_000_000_u64, 5000))]
    pub deep: u64,

    /// The first seed: the same seed makes the same streams
    #[arg(long, value_name = "S", default_value_t = 1, value_parser = at_least(0_u64, 7))]
    pub seed: u64,

    /// It is for MPI alone: ranks and tags are ints, contexts have 16 bits, no masks, no sources learned late
    #[arg(long)]
    pub mpi: bool,

    /// The engine's table has a fixed size: it may refuse what does not fit
    #[arg(long)]
    pub fixed_table: bool,

    /// The order to hold it to, if not to the one that it promises
    #[arg(long, value_enum)]
    pub order: Option<OrderName>,

    /// Load the library into this process, where a debugger sees it, and keep the name of the stream being played in
    /// FILE: without this, a library has a process of its own, which may crash
    #[arg(long, value_name = "FILE", requires = "library")]
    pub trail: Option<PathBuf>,

    /// Where a process that may crash writes what was found so far, for the one that is left and tells it
    #[arg(long, value_name = "FILE", requires = "trail", hide = true)]
    pub so_far: Option<PathBuf>,

    /// Save the script of every engine that breaks a law in this folder
    #[arg(long, value_name = "DIR")]
    pub save: Option<PathBuf>,

    /// Write what came of it as JSON (docs/reference/check.md), too; `-` is standard output, and nothing else is written there then
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
}

/// Which of several messages that match may be taken.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum OrderName {
    /// The earliest, over all sources
    Total,
    /// The earliest of its source, from whichever source
    #[value(alias = "per_source")]
    PerSource,
    /// Any that matches
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
    /// The engines named, in either way, each once.
    pub fn named(&self) -> Vec<String> {
        super::each_once(&[&self.engines[..], &self.more].concat())
    }

    /// How hard to look, at an engine that has these calls.
    pub fn options(&self, calls: Calls) -> Options {
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

#[cfg(test)]
mod tests {
    use super::help;

    /// Else it would be wrapped once more.
    #[test]
    fn help_is_in_lines_that_fit() {
        assert_eq!(help().lines().find(|line| line.chars().count() > 80), None);
    }
}
