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

fn check_where(has: impl Fn(&Mpi) -> bool, ranks: u32, name: &str, words: &[&str]) {
    let mut failures = Failures::default();
    mpi::each(|mpi| {
        if has(mpi) {
            failures.run_all(mpi, ranks, name, words);
        } else {
            eprintln!("{} cannot run {name}", mpi.name);
        }
    });
    failures.end();
}

fn check_all(ranks: u32, name: &str, words: &[&str]) {
    check_where(|_| true, ranks, name, words);
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

#[test]
fn order_holds_with_threads() {
    check_all(2, "order", &["--threads", "--rounds", "6", "--operations", "200", "--seed", "5"]);
}

#[test]
fn completion_calls_handle_mixed_requests() {
    check_all(2, "completion", &[]);
}

#[test]
fn persistent_requests_restart() {
    check_all(2, "persistent", &[]);
}

#[test]
fn blocking_calls_make_progress() {
    check_all(2, "blocking", &[]);
}

#[test]
fn probes_find_held_messages() {
    check_all(2, "probing", &[]);
}

#[test]
fn cancel_withdraws_queued_receives() {
    check_all(2, "cancel", &[]);
}

#[test]
fn ready_sends_find_queued_receives() {
    check_all(2, "rsend", &[]);
}

#[test]
fn large_counts_match() {
    check_all(2, "large", &[]);
}

#[test]
fn flood_is_received_in_any_order() {
    check_all(3, "flood", &["--messages", "4000"]);
}

#[test]
fn receives_are_given_back() {
    let file = mpi::scratch().join("give-back");
    check_all(2, "give_back", &["--file", file.to_str().unwrap()]);
}

#[test]
fn objects_may_be_freed_early() {
    check_all(2, "lifetime", &["--serial", "100", "--alive", "100"]);
}

/// MPICH has at most 2048 communicators. A held message must not keep a freed communicator.
#[test]
fn freed_communicator_releases_held_messages() {
    let mut failures = Failures::default();
    let words = ["--serial", "1", "--alive", "1", "--unreceived", "2500"];
    mpi::each(|mpi| failures.run(mpi, 2, "lifetime", "0", &words, false));
    failures.end();
}

#[test]
fn error_handlers_see_every_error() {
    check_all(2, "handlers", &["--rounds", "3000"]);
}

#[test]
fn intercommunicators_match() {
    check_all(2, "intercommunicator", &[]);
}

#[test]
fn partitioned_receives_match() {
    check_all(2, "partitioned", &[]);
}

#[test]
fn fault_tolerant_programs_match() {
    check_all(2, "agree", &[]);
}

#[test]
fn corners_match() {
    check_all(2, "corners", &[]);
}

#[test]
fn sessions_match() {
    check_where(Mpi::has_sessions, 2, "sessions", &[]);
}

#[test]
fn spawned_processes_match() {
    check_where(Mpi::can_spawn, 2, "spawn", &[]);
}

#[test]
fn fortran_bindings_match() {
    let has_fortran = |mpi: &Mpi| mpi.mpifort().is_some();
    check_where(has_fortran, 2, "f77", &[]);
    check_where(has_fortran, 2, "status", &[]);
    // The wheel of Intel MPI has no module mpi_f08 for gfortran.
    check_where(|mpi| has_fortran(mpi) && mpi.name.starts_with("debian"), 2, "f08", &[]);
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
