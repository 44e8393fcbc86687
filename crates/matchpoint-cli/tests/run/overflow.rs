//! The programs of `crates/matchpoint-run/tests/mpi` check overflow matching with each MPI library and limit.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::job::Job;
use crate::mpi::{self, Mpi};
use crate::ran::{CommandOutput, repository};

const LIMITS: [&str; 3] = ["0", "3", "auto"];

fn built(mpi: &Mpi, name: &str) -> PathBuf {
    let folder = mpi::scratch().join(format!("overflow-{}", mpi.name));
    let mut make = Command::new("make");
    make.args(["--silent", "-C"]).arg(repository("crates/matchpoint-run/tests/mpi"));
    make.arg(format!("MPICC={}", mpi.mpicc().display())).arg(format!("OUT={}", folder.display()));
    if let Some(mpifort) = mpi.mpifort() {
        make.arg(format!("MPIFORT={}", mpifort.display()));
    }
    mpi::run(make.arg(folder.join(name)));
    folder.join(name)
}

#[derive(Default)]
struct Failures(Vec<String>);

impl Failures {
    /// With `watch`, the shim watches every communicator from the start.
    fn run(&mut self, mpi: &Mpi, ranks: u32, name: &str, limit: &str, words: &[&str], watch: bool) {
        eprintln!("{name} with {}, {ranks} ranks, limit {limit}", mpi.name);
        let mut job = Job::new(&["--limit", limit]);
        if watch {
            job = job.env("MATCHPOINT_WATCH", "1");
        }
        let ran = job.with(mpi, ranks, &built(mpi, name)).args(words).run();
        if ran.code != Some(0) || !ran.stdout.contains(&format!("{name}: right\n")) {
            self.0.push(ran.to_string());
        }
    }

    fn run_all(&mut self, mpi: &Mpi, ranks: u32, name: &str, words: &[&str]) {
        for limit in LIMITS {
            self.run(mpi, ranks, name, limit, words, false);
        }
    }

    fn end(self) {
        assert!(self.0.is_empty(), "{} runs failed:\n{}", self.0.len(), self.0.join("\n"));
    }
}

#[test]
fn order_holds_on_several_ranks() {
    let mut failures = Failures::default();
    mpi::each(|mpi| {
        failures.run_all(mpi, 2, "order", &["--rounds", "20", "--operations", "300"]);
        failures.run_all(mpi, 4, "order", &["--rounds", "6", "--operations", "200", "--seed", "2"]);
        let words = ["--rounds", "2", "--operations", "100", "--seed", "3"];
        failures.run(mpi, 8, "order", "3", &words, false);
    });
    failures.end();
}

/// Before each receive, the shim drains the unexpected message queue of every communicator.
#[test]
fn order_holds_with_forced_watch() {
    let mut failures = Failures::default();
    mpi::each(|mpi| {
        for limit in ["3", "1000"] {
            let words = ["--rounds", "20", "--operations", "300", "--seed", "4"];
            failures.run(mpi, 2, "order", limit, &words, true);
        }
    });
    failures.end();
}

/// A program, its ranks and arguments, and the libraries that can run the program. Each run has a limit of [`LIMITS`].
type Case = (&'static str, u32, &'static [&'static str], fn(&Mpi) -> bool);

fn can_run(_: &Mpi) -> bool {
    true
}

fn has_fortran(mpi: &Mpi) -> bool {
    mpi.mpifort().is_some()
}

const CASES: &[Case] = &[
    ("order", 2, &["--threads", "--rounds", "6", "--operations", "200", "--seed", "5"], can_run),
    ("completion", 2, &[], can_run),
    ("persistent", 2, &[], can_run),
    ("blocking", 2, &[], can_run),
    ("probing", 2, &[], can_run),
    ("cancel", 2, &[], can_run),
    ("rsend", 2, &[], can_run),
    ("large", 2, &[], can_run),
    ("flood", 3, &["--messages", "4000"], can_run),
    ("lifetime", 2, &["--serial", "100", "--alive", "100"], can_run),
    ("handlers", 2, &["--rounds", "3000"], can_run),
    ("intercommunicator", 2, &[], can_run),
    ("partitioned", 2, &[], can_run),
    ("agree", 2, &[], can_run),
    ("corners", 2, &[], can_run),
    ("sessions", 2, &[], Mpi::has_sessions),
    ("spawn", 2, &[], Mpi::can_spawn),
    ("f77", 2, &[], has_fortran),
    ("status", 2, &[], has_fortran),
    // The wheel of Intel MPI has no module mpi_f08 for gfortran.
    ("f08", 2, &[], |mpi| has_fortran(mpi) && mpi.name.starts_with("debian")),
];

#[test]
fn programs_find_no_violation() {
    let file = mpi::scratch().join("give-back");
    let mut failures = Failures::default();
    mpi::each(|mpi| {
        for (name, ranks, words, can_run) in CASES {
            if can_run(mpi) {
                failures.run_all(mpi, *ranks, name, words);
            } else {
                eprintln!("{} cannot run {name}", mpi.name);
            }
        }
        failures.run_all(mpi, 2, "give_back", &["--file", file.to_str().unwrap()]);
    });
    failures.end();
}

/// MPICH has at most 2048 communicators. A held message must not keep a freed communicator.
#[test]
fn freed_communicator_releases_held_messages() {
    let mut failures = Failures::default();
    let words = ["--serial", "1", "--alive", "1", "--unreceived", "2500"];
    mpi::each(|mpi| failures.run(mpi, 2, "lifetime", "0", &words, false));
    failures.end();
}

fn transcript(mpi: &Mpi, program: &Path) -> String {
    let mut command = Command::new("timeout");
    CommandOutput::of(command.arg("100").arg(mpi.mpiexec()).args(["-n", "2"]).arg(program)).succeed().stdout
}

/// The part of a line to compare. MPICH 4.0 and Intel MPI choose the error handler of a failed receive differently.
fn compared<'a>(mpi: &Mpi, line: &'a str) -> &'a str {
    let chooses = ["debian-mpich", "intel-wheel"].contains(&mpi.name.as_str());
    line.split_once(" handlers ").filter(|_| chooses).map_or(line, |(before, _)| before)
}

const SHOWN: usize = 8;

#[test]
fn errors_are_those_of_library() {
    let mut differences = Vec::new();
    mpi::each(|mpi| {
        let program = built(mpi, "errors");
        let stock = transcript(mpi, &program);
        assert!(stock.lines().count() > 100, "{stock}");
        for limit in LIMITS {
            let ran = Job::new(&["--limit", limit]).with(mpi, 2, &program).succeed();
            let pairs = ran.stdout.lines().zip(stock.lines());
            let pairs = pairs.filter(|(line, expected)| compared(mpi, line) != compared(mpi, expected));
            let lines: Vec<String> =
                pairs.map(|(line, expected)| format!("is:     {line}\nshould: {expected}")).collect();
            if !lines.is_empty() || ran.stdout.lines().count() != stock.lines().count() {
                let shown = lines.iter().take(SHOWN).cloned().collect::<Vec<_>>().join("\n");
                differences.push(format!("{}, limit {limit}: {} lines\n{shown}", mpi.name, lines.len()));
            }
        }
    });
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}
