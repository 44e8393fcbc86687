//! The command line: one file per command.

mod analyze;
mod bench;
mod calibrate;
mod check;
mod convert;
mod engines;
mod generate;
mod number;
mod predict;
mod profile;
mod record;
mod run;
mod top;

use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue, Error, ErrorKind};
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use matchpoint::engines::{REGISTRY, Spec, known_specs};
use matchpoint_replay::analysis::stand_in::bare;
use matchpoint_replay::format;

pub use analyze::Analyze;
pub use bench::{
    Bench, CallerBench, EngineBench, GpuBench, LatencyBench, Measurement, OffloadBench, RateBench, TRACE,
};
pub use calibrate::Calibrate;
pub use check::{Check, OrderName};
pub use convert::{Convert, Format};
pub use engines::Engines;
pub use generate::{Generate, visible};
pub use predict::{
    Amg, Exchanged, Figures, Numbers, On, Predict, PredictTrace, Processes, Product, Spgemm, Spmv, Validate,
    What as PredictWhat,
};
pub use profile::Profile;
pub use record::Record;
pub use run::Run;
pub use top::Top;

/// Measures the cost of MPI message matching, and makes long queues fast.
#[derive(Parser, Debug)]
#[command(name = "matchpoint", version, propagate_version = true, max_term_width = 80)]
#[command(
    after_help = "Start with:\n  matchpoint record -o app.trace -- mpiexec -n 8 ./app\n  matchpoint analyze app.trace --html report.html"
)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Subcommand, Debug)]
pub enum Command {
    /// Run an MPI job, and record every point-to-point call
    #[command(after_help = record::EXAMPLES)]
    Record(Record),
    /// Watch the queues of a job while it is recorded
    #[command(after_help = top::EXAMPLES)]
    Top(Top),
    /// Run an MPI job with an engine of Matchpoint, and report the cost of matching
    #[command(after_help = run::EXAMPLES)]
    Run(Run),
    /// Report the version and the providers of a libfabric, in a separate process
    #[command(hide = true)]
    AskLibfabric {
        /// Library
        library: std::path::PathBuf,
    },
    /// Write manual pages and shell completions, for an installation
    #[command(hide = true)]
    Generate(Generate),
    /// Replay a trace, and report the cost of matching: how much, at which rank, when
    #[command(after_help = analyze::EXAMPLES)]
    Analyze(Analyze),
    /// Measure engines: time, memory, rates, with several threads, on a graphics card
    #[command(after_help = bench::EXAMPLES)]
    Bench(Bench),
    /// Measure a machine under its MPI, and fit the parameters of the models
    #[command(after_help = calibrate::EXAMPLES)]
    Calibrate(Calibrate),
    /// Predict the cost of messages: sparse matrix products, multigrid, a traced application
    #[command(after_help = predict::EXAMPLES)]
    Predict(Predict),
    /// Write a trace in another format: DUMPI, native, or a table of all calls
    #[command(after_help = convert::EXAMPLES)]
    Convert(Convert),
    /// Write a profile of senders, for the engine partner in static mode
    #[command(after_help = profile::EXAMPLE)]
    Profile(Profile),
    /// Check engines of Matchpoint, or of a library, against the laws of matching
    #[command(after_help = check::help())]
    Check(Check),
    /// List the engines and their parameters
    #[command(after_help = engines::EXAMPLES)]
    Engines(Engines),
}

pub fn parse() -> Cli {
    let words: Vec<OsString> = std::env::args_os().collect();
    try_parse(&words).unwrap_or_else(|error| {
        let words = words.get(1..).unwrap_or_default();
        if let Some(problem) = missing_dashes(&error, words).or_else(|| bench::missing_option(&error, words))
        {
            crate::failure::print(&problem);
            std::process::exit(error.exit_code());
        }
        error.exit()
    })
}

/// `words` begins with the program's name.
pub fn try_parse(words: &[OsString]) -> Result<Cli, clap::Error> {
    let mut command = number::with_negative(Cli::command());
    let matches = command.try_get_matches_from_mut(words);
    let parsed = matches.and_then(|mut matches| Cli::from_arg_matches_mut(&mut matches));
    parsed.map_err(|error| error.format(&mut command))
}

/// The values without duplicates, in the order of their first occurrence.
pub fn without_duplicates<T: Clone + PartialEq>(values: &[T]) -> Vec<T> {
    let is_first = |(at, value): &(usize, &T)| !values[..*at].contains(value);
    values.iter().enumerate().filter(is_first).map(|(_, value)| value.clone()).collect()
}

/// Names every engine of the registry, with default parameters.
pub const ALL: &str = "all";

/// The named engines without duplicates. `all` adds the other engines at the end.
pub fn expand_all(named: &[String]) -> Vec<String> {
    let mut names = without_duplicates(named);
    let wants_all = names.iter().any(|name| name == ALL);
    names.retain(|name| name != ALL);
    if wants_all {
        let missing = REGISTRY.iter().map(|spec| spec.name.to_owned()).filter(|name| !named.contains(name));
        names.extend(missing);
    }
    names
}

fn engine_or_all(name: &str) -> Result<String, String> {
    if name == ALL { Ok(name.to_owned()) } else { engine_name(name) }
}

fn engine_name(name: &str) -> Result<String, String> {
    matchpoint::engines::create(name).map(|_| name.to_owned()).map_err(|error| error.to_string())
}

/// Accepts engines that processes of an MPI job can use.
fn engine_of_processor(name: &str) -> Result<String, String> {
    let kind = bare(name);
    let is_it = |spec: &Spec| spec.name == kind;
    if known_specs().any(is_it) && !REGISTRY.iter().any(is_it) {
        return Err(format!("processes of a job cannot use '{kind}': it needs a graphics card"));
    }
    engine_name(name)
}

const STARTERS: &[&[&str]] = &[&["record"], &["run"], &["calibrate"], &["predict", "validate"]];

/// The error and its hint, if `--` is missing. `words` are the arguments after the program's name.
fn missing_dashes(error: &Error, words: &[OsString]) -> Option<String> {
    if error.kind() != ErrorKind::UnknownArgument || error.get(ContextKind::SuggestedArg).is_some() {
        return None;
    }
    let words: Vec<String> = words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let command = STARTERS
        .iter()
        .find(|names| words.iter().zip(**names).filter(|(a, b)| a == b).count() == names.len())?;
    let Some(ContextValue::String(unknown)) = error.get(ContextKind::InvalidArg) else { return None };
    let name = format!("matchpoint {}", command.join(" "));
    if unknown.starts_with('-') {
        return Some(format!(
            "{name} has no option '{unknown}'\nhint: for an option of the launcher, use {name} -- mpiexec {unknown} …"
        ));
    }
    let at = words.iter().position(|word| word == unknown)?;
    let quoted =
        |words: &[String]| words.iter().map(|word| format::shell_word(word)).collect::<Vec<_>>().join(" ");
    let behind: Vec<String> = words[at..].iter().filter(|word| *word != "--").cloned().collect();
    Some(format!(
        "'--' is missing before the launcher '{unknown}'\nhint: use matchpoint {} -- {}",
        quoted(&words[..at]),
        quoted(&behind)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_adds_unnamed_engines_after_named() {
        let of = |names: &[&str]| expand_all(&names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>());
        assert_eq!(of(&["bins", "list", "bins"]), ["bins", "list"]);
        assert_eq!(of(&[]), [""; 0]);
        let all = of(&["all"]);
        assert!(all.iter().eq(REGISTRY.iter().map(|spec| spec.name)));
        let named = of(&["all", "hybrid", "bins:n=3", "all"]);
        assert_eq!(named[..2], ["hybrid", "bins:n=3"]);
        assert_eq!(named.len(), all.len() + 1);
    }
}
