//! Compares instructions per message of engines and of the libfabric provider ([`fabric`]) with a record.
//!
//! Valgrind's callgrind counts instructions. Counts depend on the compiler, but not on host load. Valgrind does not
//! support AVX-512, so engines use AVX2 code.

mod fabric;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use matchpoint_bench::instructions::Counted;

use crate::Failure;
use crate::measurement::{build, output_text};
use crate::repository::root;

/// Workloads for every engine. They are small, because callgrind is fifty times slower than the processor.
const WORKLOADS: [&str; 8] = [
    "last:0",
    "last:64",
    "identical:64",
    "many_sources:64",
    "wild:64",
    "unexpected:64",
    "posted_any:64",
    "halo:26",
];

/// More workloads for `hybrid`.
const DEEP: [&str; 14] = [
    "identical:2",
    "identical:8",
    "unexpected:1",
    "in_order:2",
    "last:8192",
    "in_order:1024",
    "identical:1024",
    "unexpected:1024",
    "unexpected_any:1024",
    "posted_any:1024",
    "masks:64",
    "unexpected_masks:64",
    "cancel:1024",
    "close:1024",
];

/// Engines that deliver batches. With one thread the counts repeat.
const DELIVERING: [&str; 3] = ["list", HYBRID, "optimistic_parallel:threads=1"];

/// Sequences of the message-rate benchmark, with 100 messages as in the paper.
const DELIVERED: [&str; 4] = ["no_conflict:100", "fast_path:100", "slow_path:100", "wildcards:100"];

/// `hybrid` with a fixed hash key, so that counts repeat.
const HYBRID: &str = "hybrid:seed=0";

/// More engines than those of the registry.
const VARIANTS: [&str; 2] = ["fuzzy:bits=16", "fuzzy:bits=32"];

const RECORD: &str = "benchmarks/instructions.txt";

/// Counts above this multiple of the record are a regression, and counts below its inverse need a new record. Random
/// hash keys change counts by a few percent.
const TOLERANCE: f64 = 1.1;

/// The tolerance if the record has another compiler.
const TOLERANCE_OTHER_COMPILER: f64 = 1.5;

const FUNCTION: &str = "matchpoint_bench::instructions::counted_rounds";

#[derive(clap::Args)]
pub struct Arguments {
    /// Write a new record instead of comparing.
    #[arg(long)]
    record: bool,
    /// Print every count, not only differences.
    #[arg(long)]
    all: bool,
}

type Counts = BTreeMap<(String, String), f64>;

/// Counts instructions, and compares the counts with the record. Without valgrind, nothing is counted, and the function
/// reports that.
///
/// # Errors
/// An engine executes more instructions than in the record, or counting fails.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    if Command::new("valgrind").arg("--version").output().is_err() {
        println!("instructions: left out: no valgrind (Debian's package is called valgrind)");
        return Ok(());
    }
    let mut counts = count()?;
    counts.extend(fabric::count()?);
    let path = root().join(RECORD);
    if arguments.record {
        fs::write(&path, text(&counts))?;
        println!("wrote {RECORD}: {} counts", counts.len());
        return Ok(());
    }
    let (recorded, record_compiler) = parse(&fs::read_to_string(&path).unwrap_or_default());
    let is_same = record_compiler == compiler();
    if !is_same {
        println!(
            "instructions: the record is of `{record_compiler}`, so only gross differences count; --record renews it"
        );
    }
    let tolerance = if is_same { TOLERANCE } else { TOLERANCE_OTHER_COMPILER };
    compare(&counts, &recorded, tolerance, arguments.all)
}

fn compare(counts: &Counts, recorded: &Counts, tolerance: f64, all: bool) -> Result<(), Failure> {
    let mut worse = 0;
    for (cell @ (engine, workload), now) in counts {
        let (note, is_worth_telling) = match recorded.get(cell) {
            None => ("not in the record: --record".to_owned(), true),
            Some(then) if *now > then * tolerance => {
                worse += 1;
                (format!("WORSE: it was {then:.1}"), true)
            }
            Some(then) if *now * tolerance < *then => {
                (format!("better: it was {then:.1}; --record keeps it so"), true)
            }
            Some(then) => (format!("it was {then:.1}"), false),
        };
        if all || is_worth_telling {
            println!("{engine:<20} {workload:<18} {now:>9.1} instructions per message; {note}");
        }
    }
    println!("instructions: {} counts, {worse} worse than recorded in {RECORD}", counts.len());
    if worse > 0 { Err(format!("{worse} counts are worse").into()) } else { Ok(()) }
}

fn cells() -> Vec<(String, String)> {
    let fixed = |name| if name == "hybrid" { HYBRID } else { name };
    let registered = matchpoint::engines::REGISTRY.iter().map(|spec| fixed(spec.name));
    let engines = registered.chain(VARIANTS);
    let cells = engines.flat_map(|engine| WORKLOADS.map(|workload| (engine, workload)));
    let cells = cells.chain(DEEP.map(|workload| (HYBRID, workload)));
    let delivering = DELIVERING.into_iter().flat_map(|engine| DELIVERED.map(|sequence| (engine, sequence)));
    let cells = cells.chain(delivering);
    cells.map(|(engine, workload)| (engine.to_owned(), workload.to_owned())).collect()
}

fn count() -> Result<Counts, Failure> {
    let cells = cells();
    let arguments = cells.iter().flat_map(|(engine, workload)| [engine.as_str(), workload]);
    let folder = dumps(("matchpoint-bench", "instructions"), FUNCTION, arguments, &[])?;
    let number = |(at, cell): (usize, (String, String))| -> Result<_, Failure> {
        let dump = dump(folder.path(), FUNCTION, at + 1)?;
        let summary = dump.lines().find_map(|line| line.strip_prefix("summary: "));
        let executed: u64 = summary.ok_or("callgrind sums up nothing")?.trim().parse()?;
        let per_message = executed as f64 / messages(&cell)?;
        Ok((cell, per_message))
    };
    cells.into_iter().enumerate().map(number).collect()
}

/// Files of callgrind, which writes a file at each return of `function` in an example of a package.
fn dumps<'a>(
    (package, example): (&str, &str),
    function: &str,
    arguments: impl IntoIterator<Item = &'a str>,
    environment: &[(&str, &str)],
) -> Result<tempfile::TempDir, Failure> {
    let (binary, folder) = (build(&["--package", package, "--example", example])?, tempfile::tempdir()?);
    let mut command = Command::new("valgrind");
    command.args(["--tool=callgrind", "--collect-atstart=no", "--compress-strings=no"]);
    command.arg(format!("--toggle-collect={function}")).arg(format!("--dump-after={function}"));
    command.arg(format!("--callgrind-out-file={}", folder.path().join("out").display())).arg(binary);
    command.args(arguments).envs(environment.iter().copied());
    let output = command.output()?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned().into());
    }
    Ok(folder)
}

fn messages((engine, workload): &(String, String)) -> Result<f64, Failure> {
    Ok(Counted::new(engine, workload)?.messages() as f64)
}

fn dump(folder: &Path, function: &str, nth: usize) -> Result<String, Failure> {
    let path = folder.join(format!("out.{nth}"));
    let missing = |_| format!("callgrind did not see {function} return for the {nth}th time");
    Ok(fs::read_to_string(&path).map_err(missing)?)
}

fn compiler() -> String {
    output_text(Command::new("rustc").arg("--version"))
}

fn text(counts: &Counts) -> String {
    let mut text = format!(
        "# Instructions per matched message: engine, workload, count. Made by `cargo xtask instructions --record`.\n\
         compiler {}\n",
        compiler()
    );
    for ((engine, workload), count) in counts {
        text += &format!("{engine} {workload} {count:.1}\n");
    }
    text
}

fn parse(text: &str) -> (Counts, String) {
    let (mut counts, mut compiler) = (Counts::new(), String::new());
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        if let Some(name) = line.strip_prefix("compiler ") {
            compiler = name.to_owned();
        } else if let [engine, workload, count] = line.split_whitespace().collect::<Vec<_>>()[..] {
            if let Ok(count) = count.parse() {
                counts.insert((engine.to_owned(), workload.to_owned()), count);
            }
        }
    }
    (counts, compiler)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(per_message: f64) -> Counts {
        Counts::from([(("list".to_owned(), "last:0".to_owned()), per_message)])
    }

    #[test]
    fn record_is_read_back() {
        assert_eq!(parse(&text(&counts(12.5))), (counts(12.5), compiler()));
    }

    #[test]
    fn only_increased_work_is_error() {
        for (now, is_worse) in [(100.0, false), (109.0, false), (111.0, true), (50.0, false)] {
            assert_eq!(compare(&counts(now), &counts(100.0), TOLERANCE, false).is_err(), is_worse, "{now}");
        }
        assert!(compare(&counts(1.0), &Counts::new(), TOLERANCE, false).is_ok());
    }
}
