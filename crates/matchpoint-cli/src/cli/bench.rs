//! Options of `matchpoint bench`.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use clap::error::{ContextKind, ContextValue, Error, ErrorKind};

use matchpoint_bench::rate::NO_MATCHING;

use super::engine_or_all;
use super::number::whole;
use crate::bench::defaults;
use crate::wrap::wrap;

const EXAMPLES: &str = "Examples:
  matchpoint bench
  matchpoint bench --engine list --engine bins:n=64 --workload last:1024
  matchpoint bench --workload masks --engine list --engine hybrid
  matchpoint bench --workload trace:traces/lulesh-27 --cold
  matchpoint bench --budget 10 --json results.json --plot results.html
  matchpoint bench --through c
  matchpoint bench --through c --engine bins --workload last:64
  matchpoint bench --latency --entries 100000 --engine bins
  matchpoint bench --message-rate --threads 1,2,4,8 --plot rate.html
  matchpoint bench --callers 1,2,4
  matchpoint bench --offload --budget-kib 4608
  matchpoint bench --gpu --json gpu.json --plot gpu.html
  matchpoint bench --gpu --workload trace:traces/lulesh-27
  matchpoint bench --gpu --from gpu.json --csv gpu.csv

Times are nanoseconds per matched message: one post and one arrival.
Workloads: docs/reference/bench.md. Engines: `matchpoint engines`.";

/// One line per kind of measurement: clap's usage in an error would omit the options of each kind.
pub(super) const USAGE: &str = "matchpoint bench [-e NAME]… [-w NAME[:N]]… [OPTIONS]
       matchpoint bench --latency|--message-rate|--callers N|--offload|--gpu …";

/// Columns of the help, and the column of workload summaries.
const WIDTH: usize = 80;
const SUMMARIES: usize = 22;

/// Examples, workloads, and default engines.
pub(super) fn help() -> String {
    let mut help = format!("{EXAMPLES}\n\nWorkloads, and their usual sizes N:\n");
    for workload in matchpoint_bench::workloads::WORKLOADS {
        let sizes: Vec<String> = workload.sizes.iter().map(usize::to_string).collect();
        let mut head = workload.name;
        for line in wrap(workload.summary, WIDTH - SUMMARIES) {
            help += &format!("  {head:<18}  {line}\n");
            head = "";
        }
        help += &format!("{:SUMMARIES$}N is {}\n", "", sizes.join(", "));
    }
    help + "  trace:PATH          the events of every rank of a trace\n\n" + defaults::help().trim_end()
}

/// The message for a workload, an engine or a trace without its option. `words`: the arguments after the program's
/// name.
pub(super) fn missing_option(error: &Error, words: &[OsString]) -> Option<String> {
    if error.kind() != ErrorKind::UnknownArgument || words.first().is_none_or(|word| word != "bench") {
        return None;
    }
    let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidArg) else { return None };
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

// Kinds of measurement that exclude an option. `requires` is not sufficient: clap ignores it if the required option
// conflicts with a given one.
const CONFLICTS_CALLERS: [&str; 6] = ["through", "latency", "message_rate", "offload", "gpu", "workloads"];
const CONFLICTS_GPU: [&str; 5] = ["through", "latency", "message_rate", "callers", "offload"];
const CONFLICTS_LATENCY: [&str; 6] = ["through", "message_rate", "callers", "offload", "gpu", "workloads"];
const CONFLICTS_OFFLOAD: [&str; 6] = ["through", "latency", "message_rate", "callers", "gpu", "workloads"];
const CONFLICTS_RATE: [&str; 6] = ["through", "latency", "callers", "offload", "gpu", "workloads"];
const CONFLICTS_REPEATED: [&str; 4] = ["through", "latency", "gpu", "workloads"];
const CONFLICTS_SEQUENCES: [&str; 5] = ["through", "latency", "callers", "gpu", "workloads"];

/// `matchpoint bench`.
#[derive(Args, Debug)]
pub struct Bench {
    /// Engine, as name:key=value,… (repeatable); `all` adds every other engine of the processor; with --message-rate,
    /// `none` means no matching [default: below]
    #[arg(short, long = "engine", value_name = "NAME", value_parser = engine_or_none)]
    pub engines: Vec<String>,

    /// Workload, in its usual sizes or in size N, or trace:PATH (repeatable) [default: all but traces]
    #[arg(short, long = "workload", value_name = "NAME[:N]", value_parser = workload_name)]
    pub workloads: Vec<String>,

    /// Flush the caches before every timed call; with --message-rate, before the messages of each sequence
    #[arg(long)]
    pub cold: bool,

    /// Call engines through the C interface, with requests of 256 bytes as in MPI libraries, next to stand-ins for MPI
    /// libraries in C (warm caches; no traces)
    #[arg(long, value_name = "LANGUAGE", value_parser = ["c"],
        conflicts_with_all = ["cold", "latency", "message_rate", "callers", "offload", "gpu", "csv"])]
    pub through: Option<String>,

    /// Time single calls while queues grow, with wildcards and cancels: percentiles
    #[arg(long, conflicts_with_all = ["cold", "workloads", "plot"])]
    pub latency: bool,

    /// Million messages per second, matched and delivered by N threads: the message-rate benchmark of the optimistic
    /// paper, without its network
    #[arg(long, groups = ["tabled", "sequences", "repeated"], conflicts_with_all = ["workloads", "latency"])]
    pub message_rate: bool,

    /// Million messages per second, posted and received by several application threads with concurrent engines
    #[arg(long, value_name = "N,…", value_delimiter = ',', value_parser = whole(1..=1024_u32, 4),
        group = "repeated", conflicts_with_all = ["cold", "workloads", "latency", "message_rate", "plot", "csv"])]
    pub callers: Vec<u32>,

    /// Cost for the application's thread of each post and completion, if another thread matches
    #[arg(long, groups = ["sequences", "repeated"],
        conflicts_with_all = ["cold", "workloads", "latency", "message_rate", "callers", "plot", "csv"])]
    pub offload: bool,

    /// Million matches per second on a graphics card: the figures of the GPU paper, and more; with -w trace:PATH, the
    /// batches of an application
    #[arg(long, group = "tabled", conflicts_with_all = ["cold", "latency", "callers", "offload", "engines"])]
    pub gpu: bool,

    /// With --gpu: number of the card, from 0
    #[arg(long, value_name = "N", default_value_t = 0, requires = "gpu", conflicts_with_all = CONFLICTS_GPU)]
    pub card: usize,

    /// With --gpu: report the results in this JSON file of an earlier run, without measuring
    #[arg(long, value_name = "FILE", requires = "gpu",
        conflicts_with_all = ["card", "json", "through", "workloads", "latency", "message_rate", "callers", "offload"])]
    pub from: Option<PathBuf>,

    /// With --callers: concurrent engine, locked:engine=NAME or sharded:shards=N,engine=NAME (repeatable) [default:
    /// below]
    #[arg(long = "concurrent", value_name = "NAME", requires = "callers", conflicts_with_all = CONFLICTS_CALLERS,
        value_parser = concurrent_name)]
    pub concurrent: Vec<String>,

    /// With --offload: KiB that the matching thread may use before the fallback
    #[arg(long, value_name = "KIB", requires = "offload", conflicts_with_all = CONFLICTS_OFFLOAD,
        default_value_t = matchpoint::offload::BUDGET_KIB)]
    pub budget_kib: u64,

    /// With --message-rate: numbers of threads [default: 1, 2, 4, 8, 16 and 32, up to the number of processors]
    #[arg(long, value_name = "N,…", value_delimiter = ',',
        requires = "message_rate", conflicts_with_all = CONFLICTS_RATE, value_parser = whole(1..=64_u32, 2))]
    pub threads: Vec<u32>,

    /// With --message-rate: messages per batch
    #[arg(long, value_name = "N,…", value_delimiter = ',', default_values_t = [1, 128, 1024],
        requires = "message_rate", conflicts_with_all = CONFLICTS_RATE, value_parser = whole(1..=65536_u32, 128))]
    pub windows: Vec<u32>,

    /// With --message-rate: protocol work per message, in nanoseconds (requested, not measured)
    #[arg(long, value_name = "NS,…", value_delimiter = ',', default_values_t = [0, 50, 200],
        requires = "message_rate", conflicts_with_all = CONFLICTS_RATE, value_parser = whole(0..=1_000_000_u32, 50))]
    pub work_ns: Vec<u32>,

    /// With --message-rate and --offload: messages of a sequence, or the largest multiple that fits into a window
    #[arg(long, value_name = "K", default_value_t = 100, requires = "sequences",
        conflicts_with_all = CONFLICTS_SEQUENCES, value_parser = whole(1..=1_000_000_u32, 100))]
    pub messages: u32,

    /// With --message-rate and --offload: sequences per repetition, fewer if they are longer; with --callers: bursts or
    /// batches
    #[arg(long, value_name = "N", default_value_t = 500, requires = "repeated",
        conflicts_with_all = CONFLICTS_REPEATED, value_parser = whole(1..=1_000_000_u32, 500))]
    pub repeats: u32,

    /// With --message-rate, --offload and --callers: repetitions, of which the median counts
    #[arg(long, value_name = "N", default_value_t = 9, requires = "repeated",
        conflicts_with_all = CONFLICTS_REPEATED, value_parser = whole(1..=1000_u32, 9))]
    pub repetitions: u32,

    /// With --message-rate and --offload: posted receives in front that match nothing, for long queues and cold caches
    #[arg(long, value_name = "N", default_value_t = 0, requires = "sequences",
        conflicts_with_all = CONFLICTS_SEQUENCES, value_parser = whole(0..=10_000_000_u32, 1024))]
    pub depth: u32,

    /// With --message-rate and --gpu: write the results as CSV to this file (- is standard output, instead of the
    /// tables)
    #[arg(long, value_name = "FILE", requires = "tabled", conflicts_with_all = ["through", "latency", "callers", "offload"])]
    pub csv: Option<PathBuf>,

    /// With --latency: largest queue length
    #[arg(long, value_name = "N", default_value_t = 1_000_000, requires = "latency",
        conflicts_with_all = CONFLICTS_LATENCY, value_parser = whole(1000..=16_000_000_u32, 1_000_000))]
    pub entries: u32,

    /// Seconds per engine and workload, or with --latency per stage; then the engine is stopped
    #[arg(long, value_name = "SECONDS", default_value = "0.4", value_parser = seconds,
        conflicts_with_all = ["message_rate", "callers", "offload", "gpu"])]
    pub budget: Duration,

    /// Write the results as JSON to this file (- is standard output, instead of the tables)
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,

    /// Draw time against size, or rates of --message-rate and --gpu, into this file: .svg, or .html with the tables
    #[arg(long, value_name = "FILE")]
    pub plot: Option<PathBuf>,
}

fn engine_or_none(name: &str) -> Result<String, String> {
    if name == NO_MATCHING { Ok(name.to_owned()) } else { engine_or_all(name) }
}

fn concurrent_name(name: &str) -> Result<String, String> {
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

/// Shortest useful budget.
const LEAST_BUDGET: Duration = Duration::from_millis(1);

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    /// Longer lines would be wrapped at the left edge.
    #[test]
    fn bench_help_fits_terminal() {
        let wide = help().lines().find(|line| line.chars().count() > WIDTH).map(str::to_owned);
        assert_eq!(wide, None);
        assert!(help().contains("stand ahead of\n                      the one that matches\n"));
    }

    #[derive(Parser)]
    struct Command {
        #[command(flatten)]
        _bench: Bench,
    }

    fn is_understood(words: &[&str]) -> bool {
        Command::try_parse_from(["bench"].iter().chain(words)).is_ok()
    }

    /// Kinds of measurement.
    const KINDS: [(&str, &[&str]); 7] = [
        ("workloads", &["-w", "last"]),
        ("through", &["--through", "c"]),
        ("latency", &["--latency"]),
        ("rate", &["--message-rate"]),
        ("callers", &["--callers", "2"]),
        ("offload", &["--offload"]),
        ("gpu", &["--gpu"]),
    ];

    /// Options, and their kinds of measurement.
    const OPTIONS: [(&[&str], &[&str]); 18] = [
        (&["--cold"], &["workloads", "rate"]),
        (&["--card", "1"], &["gpu"]),
        (&["--from", "x.json"], &["gpu"]),
        (&["--concurrent", "locked:engine=list"], &["callers"]),
        (&["--budget-kib", "3"], &["offload"]),
        (&["--threads", "2"], &["rate"]),
        (&["--windows", "3"], &["rate"]),
        (&["--work-ns", "3"], &["rate"]),
        (&["--messages", "3"], &["rate", "offload"]),
        (&["--depth", "3"], &["rate", "offload"]),
        (&["--repeats", "3"], &["rate", "callers", "offload"]),
        (&["--repetitions", "3"], &["rate", "callers", "offload"]),
        (&["--csv", "x.csv"], &["rate", "gpu"]),
        (&["--plot", "x.svg"], &["workloads", "through", "rate", "gpu"]),
        (&["--entries", "3000"], &["latency"]),
        (&["--budget", "3"], &["workloads", "through", "latency"]),
        // `--callers` rejects `-e` later, with a hint.
        (&["-e", "list"], &["workloads", "through", "latency", "rate", "callers", "offload"]),
        (&["--json", "x.json"], &["workloads", "through", "latency", "rate", "callers", "offload", "gpu"]),
    ];

    #[test]
    fn option_needs_its_kind_of_bench() {
        for (option, kinds) in OPTIONS {
            for (kind, words) in KINDS {
                let is_for = kinds.contains(&kind);
                assert_eq!(is_understood(&[words, option].concat()), is_for, "{words:?} {option:?}");
            }
            assert_eq!(is_understood(option), kinds.contains(&"workloads"), "{option:?}");
        }
    }

    #[test]
    fn measurements_exclude_each_other() {
        for (one, first) in KINDS {
            for (other, second) in KINDS {
                // A card plays traces, and C plays workloads.
                let pair = [one, other];
                let may = pair.contains(&"workloads") && (pair.contains(&"gpu") || pair.contains(&"through"));
                if one != other {
                    assert_eq!(is_understood(&[first, second].concat()), may, "{one} {other}");
                }
            }
        }
    }
}
