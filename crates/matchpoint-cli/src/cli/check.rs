//! `matchpoint check`.

use std::path::PathBuf;

use clap::builder::RangedU64ValueParser;
use clap::{Args, ValueEnum};
use matchpoint::Order;
use matchpoint_conformance::Calls;

pub(super) const EXAMPLES: &str = "Examples:
  matchpoint check
  matchpoint check bins:n=3 --streams 20000
  matchpoint check --library ./libother.so --save scripts
  matchpoint check --library ./libmpi_shim.so --mpi --order per-source

A script that shows a broken law is as short as could be found; it begins with the law, and what the engine answered.
Ends with 0 if no law is broken, 1 if one is (a library that crashes while it is called breaks one), 2 if there was
nothing to check: no such engine, no such library, a wrong option.";

/// `matchpoint check`.
#[derive(Args, Debug)]
pub struct Check {
    /// Engines, as name:key=value,…: every engine with its defaults if none is named, or `all` is. With --library: names that the
    /// library understands
    #[arg(value_name = "ENGINE")]
    pub engines: Vec<String>,

    /// Check engines of this library, which exports the functions of matchpoint.h (docs/check.md says which it must)
    #[arg(short, long, value_name = "FILE")]
    pub library: Option<PathBuf>,

    /// Random streams of each shape
    #[arg(long, value_name = "N", default_value_t = 200)]
    pub streams: u64,

    /// Events in each
    #[arg(long, value_name = "N", default_value_t = 1000,
        value_parser = RangedU64ValueParser::<usize>::new().range(1..=10_000_000))]
    pub events: usize,

    /// Entries in each queue of the long streams, of which there are four; 0 leaves them out
    #[arg(long, value_name = "N", default_value_t = 70_000,
        value_parser = clap::value_parser!(u64).range(..=10_000_000))]
    pub deep: u64,

    /// The first seed: the same seed makes the same streams
    #[arg(long, value_name = "S", default_value_t = 1)]
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

    /// Save the script of every engine that breaks a law in this folder
    #[arg(long, value_name = "DIR")]
    pub save: Option<PathBuf>,

    /// Write what came of it as JSON (docs/check.md), too; `-` is standard output, and nothing else is written there then
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
    /// How hard to look, at an engine that has these calls.
    pub fn options(&self, calls: Calls) -> matchpoint_conformance::Options {
        matchpoint_conformance::Options {
            seed: self.seed,
            streams: self.streams,
            events: self.events,
            depths: vec![1, 2, 7, 70, 700],
            deep: self.deep,
            deep_may_fill: false,
            fixed_table: self.fixed_table,
            order: self.order.map(Order::from),
            mpi_only: self.mpi,
            calls,
        }
    }
}
