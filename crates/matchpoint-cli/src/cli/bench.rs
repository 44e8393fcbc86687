//! Options of `matchpoint bench`, one struct per measurement.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::error::{ContextKind, ContextValue, Error, ErrorKind};
use clap::{Args, Command, Subcommand};

use matchpoint_bench::rate::NO_MATCHING;

use super::number::whole_number_parser;
use super::{engine_name, engine_or_all};
use crate::bench::defaults;
use crate::wrap::wrap;

pub(super) const EXAMPLES: &str = "Examples:
  matchpoint bench -e list -e bins:n=64 -w last:1024
  matchpoint bench engines --help
  matchpoint bench latency --entries 100000 -e bins
  matchpoint bench rate --threads 1,2,4,8 --plot rate.html
  matchpoint bench callers --threads 1,2,4
  matchpoint bench offload --budget-kib 4608
  matchpoint bench gpu --json gpu.json --plot gpu.html

Without a subcommand, `bench` measures engines on the standard workloads.
Engines: `matchpoint engines`.";

const ENGINES_EXAMPLES: &str = "Examples:
  matchpoint bench engines
  matchpoint bench engines -e list -e bins:n=64 -w last:1024
  matchpoint bench engines -w trace:traces/lulesh-27 --cold
  matchpoint bench engines --budget 10 --json results.json --plot results.html
  matchpoint bench engines --through c -e bins -w last:64

Times are nanoseconds per matched message: one post and one arrival.";

const LATENCY_EXAMPLES: &str = "Examples:
  matchpoint bench latency
  matchpoint bench latency --entries 100000 -e bins -e hybrid";

const GPU_EXAMPLES: &str = "Examples:
  matchpoint bench gpu --json gpu.json --plot gpu.html
  matchpoint bench gpu -w trace:traces/lulesh-27
  matchpoint bench gpu --from gpu.json --csv gpu.csv";

/// Columns of the help, and the column of workload summaries.
const WIDTH: usize = 80;
const SUMMARIES: usize = 22;

fn engines_help() -> String {
    let mut help = format!("{ENGINES_EXAMPLES}\n\nWorkloads, and their usual sizes N:\n");
    for workload in matchpoint_bench::workloads::WORKLOADS {
        let sizes: Vec<String> = workload.sizes.iter().map(usize::to_string).collect();
        let mut head = workload.name;
        for line in wrap(workload.summary, WIDTH - SUMMARIES) {
            help += &format!("  {head:<18}  {line}\n");
            head = "";
        }
        help += &format!("{:SUMMARIES$}N is {}\n", "", sizes.join(", "));
    }
    help + "  trace:PATH          the events of every rank of a trace"
}

/// Lists one engine on each line, for users to copy.
fn help_with_engines(examples: &[&str], engines: &[&str]) -> String {
    let list = |head: &str, lines: &[&str]| {
        lines.iter().fold(format!("{head}:\n"), |text, line| text + "  " + line + "\n")
    };
    let help = list("Examples", examples) + "\n" + &list("Default engines, which -e replaces", engines);
    help.trim_end().to_owned()
}

fn rate_help() -> String {
    let examples = ["matchpoint bench rate", "matchpoint bench rate --threads 1,2,4,8 --plot rate.html"];
    help_with_engines(&examples, &defaults::RATED)
}

fn callers_help() -> String {
    let examples = [
        "matchpoint bench callers --threads 1,2,4",
        "matchpoint bench callers -e sharded:shards=16,engine=bins",
    ];
    help_with_engines(&examples, &defaults::CONCURRENT)
}

fn offload_help() -> String {
    help_with_engines(&["matchpoint bench offload", "matchpoint bench offload -e bins"], &defaults::OFFLOADED)
}

/// The message for a workload, an engine or a trace without its option, and for a measurement named as an option.
/// `words` are the arguments after the program's name.
pub(super) fn missing_option(error: &Error, words: &[OsString]) -> Option<String> {
    if words.first().is_none_or(|word| word != "bench") {
        return None;
    }
    let context = match error.kind() {
        ErrorKind::UnknownArgument => ContextKind::InvalidArg,
        ErrorKind::InvalidSubcommand => ContextKind::InvalidSubcommand,
        _ => return None,
    };
    let Some(ContextValue::String(word)) = error.get(context) else { return None };
    if let Some(option) = word.strip_prefix("--") {
        let names = measurements_with(option);
        let hint =
            names.iter().map(|name| format!("matchpoint bench {name}")).collect::<Vec<_>>().join(" or ");
        return (!names.is_empty()).then(|| format!("bench has no option '{word}' here\nhint: use {hint}"));
    }
    let (what, option) = if workload_name(word).is_ok() {
        ("workload", format!("-w {word}"))
    } else if engine_or_none(word).is_ok() {
        ("engine", format!("-e {word}"))
    } else if Path::new(word).exists() {
        ("trace", format!("-w {TRACE}{word}"))
    } else {
        return None;
    };
    Some(format!("the {what} '{word}' needs an option\nhint: use {option}"))
}

/// The measurements with this option, or with a name equal to the last word of the option.
fn measurements_with(option: &str) -> Vec<String> {
    let command = Measurement::augment_subcommands(Command::new("bench"));
    let has_option = |measurement: &&Command| {
        option.rsplit('-').next() == Some(measurement.get_name())
            || measurement.get_arguments().any(|argument| argument.get_long() == Some(option))
    };
    command
        .get_subcommands()
        .filter(has_option)
        .map(|measurement| measurement.get_name().to_owned())
        .collect()
}

#[derive(Args, Debug)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Bench {
    #[command(subcommand)]
    pub measurement: Option<Measurement>,

    #[command(flatten)]
    pub engines: EngineBench,
}

#[derive(Subcommand, Debug)]
pub enum Measurement {
    /// Time, memory and compared entries of engines on standard workloads or traces
    #[command(after_help = engines_help())]
    Engines(EngineBench),
    /// Percentiles of single calls while queues grow, with wildcards and cancels
    #[command(after_help = LATENCY_EXAMPLES)]
    Latency(LatencyBench),
    /// Million messages per second, matched and delivered by several threads: the benchmark of the optimistic paper,
    /// without its network
    #[command(after_help = rate_help())]
    Rate(RateBench),
    /// Million messages per second, posted and received by several application threads in one engine
    #[command(after_help = callers_help())]
    Callers(CallerBench),
    /// Cost for the application's thread of each post and completion, if another thread matches
    #[command(after_help = offload_help())]
    Offload(OffloadBench),
    /// Million matches per second on a graphics card: the figures of the GPU paper, and more
    #[command(after_help = GPU_EXAMPLES)]
    Gpu(GpuBench),
}

#[derive(Args, Debug)]
pub struct EngineBench {
    /// Engine, as name:key=value,… (repeatable); `all` adds every other engine of the processor [default: all; with
    /// --through c: hybrid]
    #[arg(short, long = "engine", value_name = "NAME", value_parser = engine_or_all)]
    pub engines: Vec<String>,

    /// Workload, in its usual sizes or in size N, or trace:PATH (repeatable) [default: all but traces]
    #[arg(short, long = "workload", value_name = "NAME[:N]", value_parser = workload_name)]
    pub workloads: Vec<String>,

    /// Flush the caches before every timed call
    #[arg(long)]
    pub cold: bool,

    /// Call engines through the C interface, with requests of 256 bytes as in MPI libraries, next to stand-ins for MPI
    /// libraries in C (warm caches; no traces)
    #[arg(long, value_name = "LANGUAGE", value_parser = ["c"], conflicts_with = "cold")]
    pub through: Option<String>,

    /// Seconds per engine and workload; then the engine is stopped
    #[arg(long, value_name = "SECONDS", default_value = "0.4", value_parser = seconds)]
    pub budget: Duration,

    /// Write the results as JSON to this file (- is standard output, instead of the tables)
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,

    /// Draw time against size into this file: .svg, or .html with the tables
    #[arg(long, value_name = "FILE")]
    pub plot: Option<PathBuf>,
}

#[derive(Args, Debug)]
pub struct LatencyBench {
    /// Engine, as name:key=value,… (repeatable); `all` adds every other engine of the processor [default: all]
    #[arg(short, long = "engine", value_name = "NAME", value_parser = engine_or_all)]
    pub engines: Vec<String>,

    /// Largest queue length
    #[arg(long, value_name = "N", default_value_t = 1_000_000, value_parser = whole_number_parser(1000..=16_000_000_u32, 1_000_000))]
    pub entries: u32,

    /// Time limit of each stage of a scenario, in seconds. The benchmark stops a slower engine
    #[arg(long, value_name = "SECONDS", default_value = "0.4", value_parser = seconds)]
    pub budget: Duration,

    /// Write the results as JSON to this file (- is standard output, instead of the tables)
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
}

#[derive(Args, Debug)]
pub struct RateBench {
    /// Engine, as name:key=value,… (repeatable); `all` adds every other engine of the processor; `none` means no
    /// matching [default: below]
    #[arg(short, long = "engine", value_name = "NAME", value_parser = engine_or_none)]
    pub engines: Vec<String>,

    /// Numbers of threads [default: 1, 2, 4, 8, 16 and 32, up to the number of processors]
    #[arg(long, value_name = "N,…", value_delimiter = ',', value_parser = whole_number_parser(1..=64_u32, 2))]
    pub threads: Vec<u32>,

    /// Messages per batch
    #[arg(long, value_name = "N,…", value_delimiter = ',', default_values_t = [1, 128, 1024],
        value_parser = whole_number_parser(1..=65536_u32, 128))]
    pub windows: Vec<u32>,

    /// Protocol work per message, in nanoseconds (requested, not measured)
    #[arg(long, value_name = "NS,…", value_delimiter = ',', default_values_t = [0, 50, 200],
        value_parser = whole_number_parser(0..=1_000_000_u32, 50))]
    pub work_ns: Vec<u32>,

    /// Flush the caches before the messages of each sequence
    #[arg(long)]
    pub cold: bool,

    #[command(flatten)]
    pub sequences: Sequences,

    #[command(flatten)]
    pub repeats: Repeats,

    #[command(flatten)]
    pub files: RateFiles,
}

#[derive(Args, Debug)]
pub struct CallerBench {
    /// Concurrent engine, locked:engine=NAME or sharded:shards=N,engine=NAME (repeatable) [default: below]
    #[arg(short, long = "engine", value_name = "NAME", value_parser = concurrent_name)]
    pub engines: Vec<String>,

    /// Numbers of application threads [default: 1, 2, 4, 8, 16 and 32, up to the number of processors]
    #[arg(long, value_name = "N,…", value_delimiter = ',', value_parser = whole_number_parser(1..=1024_u32, 4))]
    pub threads: Vec<u32>,

    #[command(flatten)]
    pub repeats: Repeats,

    /// Write the results as JSON to this file (- is standard output, instead of the tables)
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
}

#[derive(Args, Debug)]
pub struct OffloadBench {
    /// Engine, as name:key=value,… (repeatable); `all` adds every other engine of the processor [default: below]
    #[arg(short, long = "engine", value_name = "NAME", value_parser = engine_or_all)]
    pub engines: Vec<String>,

    /// KiB that the matching thread may use before the fallback
    #[arg(long, value_name = "KIB", default_value_t = matchpoint::offload::BUDGET_KIB)]
    pub budget_kib: u64,

    #[command(flatten)]
    pub sequences: Sequences,

    #[command(flatten)]
    pub repeats: Repeats,

    /// Write the results as JSON to this file (- is standard output, instead of the tables)
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
}

#[derive(Args, Debug)]
pub struct GpuBench {
    /// trace:PATH: the batches of an application (repeatable) [default: the figures of the paper]
    #[arg(short, long = "workload", value_name = "trace:PATH", value_parser = workload_name)]
    pub workloads: Vec<String>,

    /// Number of the card, from 0
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub card: usize,

    /// Report the results in this JSON file of an earlier run, without measuring
    #[arg(long, value_name = "FILE", conflicts_with_all = ["card", "json", "workloads"])]
    pub from: Option<PathBuf>,

    #[command(flatten)]
    pub files: RateFiles,
}

#[derive(Args, Debug)]
pub struct RateFiles {
    /// Write the results as CSV to this file (- is standard output, instead of the tables)
    #[arg(long, value_name = "FILE")]
    pub csv: Option<PathBuf>,

    /// Write the results as JSON to this file (- is standard output, instead of the tables)
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,

    /// Draw the rates into this file: .svg, or .html with the tables
    #[arg(long, value_name = "FILE")]
    pub plot: Option<PathBuf>,
}

impl RateFiles {
    pub fn paths(&self) -> [Option<&Path>; 3] {
        [&self.csv, &self.json, &self.plot].map(Option::as_deref)
    }
}

#[derive(Args, Debug)]
pub struct Sequences {
    /// Messages of a sequence, or the largest multiple that fits into a window
    #[arg(long, value_name = "K", default_value_t = 100, value_parser = whole_number_parser(1..=1_000_000_u32, 100))]
    pub messages: u32,

    /// Older posted receives that match nothing, for long queues and cold caches
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = whole_number_parser(0..=10_000_000_u32, 1024))]
    pub depth: u32,
}

#[derive(Args, Debug)]
pub struct Repeats {
    /// Sequences, bursts or batches per repetition; fewer sequences if they are longer
    #[arg(long, value_name = "N", default_value_t = 500, value_parser = whole_number_parser(1..=1_000_000_u32, 500))]
    pub repeats: u32,

    /// Repetitions, of which the median counts
    #[arg(long, value_name = "N", default_value_t = 9, value_parser = whole_number_parser(1..=1000_u32, 9))]
    pub repetitions: u32,
}

fn engine_or_none(name: &str) -> Result<String, String> {
    if name == NO_MATCHING { Ok(name.to_owned()) } else { engine_or_all(name) }
}

fn concurrent_name(name: &str) -> Result<String, String> {
    if engine_name(name).is_ok() {
        return Err(format!("callers share a concurrent engine, such as locked:engine={name}"));
    }
    matchpoint::concurrent::create(name).map(|_| name.to_owned()).map_err(|error| error.to_string())
}

fn workload_name(name: &str) -> Result<String, String> {
    match name.strip_prefix(TRACE) {
        Some("") => Err("'trace:' needs the path of a trace".to_owned()),
        Some(_) => Ok(name.to_owned()),
        None => matchpoint_bench::workloads::parse(name).map(|_| name.to_owned()),
    }
}

/// Prefix of a workload that is a trace.
pub const TRACE: &str = "trace:";

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: Option<f64> = text.parse().ok();
    let duration = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    duration
        .filter(|duration| *duration >= LEAST_BUDGET)
        .ok_or_else(|| "must be at least 0.001 seconds".to_owned())
}

const LEAST_BUDGET: Duration = Duration::from_millis(1);

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        bench: Bench,
    }

    fn parsed(words: &[&str]) -> Result<Bench, Error> {
        Line::try_parse_from(["bench"].iter().chain(words)).map(|line| line.bench)
    }

    #[test]
    fn bench_without_subcommand_measures_engines() {
        let bench = parsed(&["-e", "list", "--cold"]).unwrap();
        assert!(bench.measurement.is_none() && bench.engines.cold);
        let bench = parsed(&["engines", "-e", "list"]).unwrap();
        let Some(Measurement::Engines(engines)) = bench.measurement else { panic!() };
        assert_eq!(engines.engines, ["list"]);
        assert!(parsed(&["-e", "list", "latency"]).is_err(), "an option before the subcommand has no effect");
    }

    #[test]
    fn measurement_rejects_options_of_others() {
        for (option, measurements) in [
            (&["--cold"][..], &["engines", "rate"][..]),
            (&["--through", "c"], &["engines"]),
            (&["--card", "1"], &["gpu"]),
            (&["--budget-kib", "3"], &["offload"]),
            (&["--threads", "2"], &["rate", "callers"]),
            (&["--windows", "3"], &["rate"]),
            (&["--depth", "3"], &["rate", "offload"]),
            (&["--repeats", "3"], &["rate", "callers", "offload"]),
            (&["--csv", "x.csv"], &["rate", "gpu"]),
            (&["--plot", "x.svg"], &["engines", "rate", "gpu"]),
            (&["--entries", "3000"], &["latency"]),
            (&["--budget", "3"], &["engines", "latency"]),
        ] {
            for name in ["engines", "latency", "rate", "callers", "offload", "gpu"] {
                let is_understood = parsed(&[&[name], option].concat()).is_ok();
                assert_eq!(is_understood, measurements.contains(&name), "{name} {option:?}");
            }
        }
    }
}
