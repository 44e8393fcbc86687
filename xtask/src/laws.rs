//! The laws, on every engine, for as long as one likes.

use matchpoint::engines;
use matchpoint_conformance::{Options, check};

use crate::Failure;

/// How hard to look.
#[derive(clap::Args)]
pub struct Arguments {
    /// Engines, as name:key=value,…; every engine with its defaults if none is named.
    engines: Vec<String>,
    /// Random streams of each shape.
    #[arg(long, default_value_t = 5000)]
    streams: u64,
    /// Events in each.
    #[arg(long, default_value_t = 2000)]
    events: usize,
    /// The first seed: the same seed makes the same streams.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The engine's table has a fixed size: it may refuse what does not fit.
    #[arg(long)]
    fixed_table: bool,
}

/// Checks, and prints what was looked at.
///
/// # Errors
/// An engine breaks a law: the error is the script that shows it. Or there is no such engine.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let names: Vec<&str> = match &arguments.engines[..] {
        [] => engines::REGISTRY.iter().map(|spec| spec.name).collect(),
        named => named.iter().map(String::as_str).collect(),
    };
    let options = Options {
        seed: arguments.seed,
        streams: arguments.streams,
        events: arguments.events,
        depths: vec![1, 2, 7, 70, 700],
        fixed_table: arguments.fixed_table,
    };
    for name in names {
        engines::create(name)?;
        let created = || engines::create(name).unwrap_or_else(|_| unreachable!("it was created a line ago"));
        let report = check(&created, &options).map_err(|violation| format!("{name}\n{violation}"))?;
        println!(
            "{name}: {} streams, {} events, {} matches: no law broken",
            report.streams, report.events, report.matches
        );
    }
    Ok(())
}
