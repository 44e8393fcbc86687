//! The programs of `crates/matchpoint-run/tests/mpi` check overflow matching. Each runs under every MPI library with overflow
//! limits 0, 3 and `auto`.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::job::{Job, Ran};
use crate::mpi::{self, Mpi};

const LIMITS: [&str; 3] = ["0", "3", "auto"];

/// A program of the folder, built with this MPI library.
fn built(mpi: &Mpi, name: &str) -> PathBuf {
    let folder = mpi::scratch().join(format!("overflow-{}", mpi.name));
    let mut make = Command::new("make");
    make.args(["--silent", "-C"]).arg(mpi::root().join("crates/matchpoint-run/tests/mpi"));
    make.arg(format!("MPICC={}", mpi.mpicc().display())).arg(format!("OUT={}", folder.display()));
    if let Some(mpifort) = mpi.mpifort() {
        make.arg(format!("MPIFORT={}", mpifort.display()));
    }
    mpi::run(make.arg(folder.join(name)));
    folder.join(name)
}

/// A job of a program with one limit.
fn job(mpi: &Mpi, ranks: u32, name: &str, limit: &str) -> Job {
    eprintln!("{name} with {}, {ranks} ranks, limit {limit}", mpi.name);
    Job::new(&["--limit", limit]).with(mpi, ranks, &built(mpi, name))
}

/// The program found no error.
fn is_right(ran: &Ran, name: &str) {
    assert!(ran.stdout.contains(&format!("{name}: right\n")), "{ran}");
}

fn check(mpi: &Mpi, ranks: u32, name: &str, arguments: &[&str]) {
    for limit in LIMITS {
        is_right(&job(mpi, ranks, name, limit).args(arguments).succeed(), name);
    }
}

/// Runs the program under every MPI library.
fn check_all(ranks: u32, name: &str, arguments: &[&str]) {
    mpi::each(|mpi| check(mpi, ranks, name, arguments));
}

#[test]
fn order_holds_on_several_ranks() {
    mpi::each(|mpi| {
        check(mpi, 2, "order", &["--rounds", "20", "--operations", "300"]);
        check(mpi, 4, "order", &["--rounds", "6", "--operations", "200", "--seed", "2"]);
        let eight = job(mpi, 8, "order", "3").args(["--rounds", "2", "--operations", "100", "--seed", "3"]);
        is_right(&eight.succeed(), "order");
    });
}

/// The unexpected queue of every communicator is drained before each posting.
#[test]
fn order_holds_with_forced_watch() {
    mpi::each(|mpi| {
        for limit in ["3", "1000"] {
            let job = job(mpi, 2, "order", limit).env("MATCHPOINT_WATCH", "1");
            is_right(&job.args(["--rounds", "20", "--operations", "300", "--seed", "4"]).succeed(), "order");
        }
    });
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
    mpi::each(|mpi| {
        let file = mpi::scratch().join(format!("give-back-{}", mpi.name));
        check(mpi, 2, "give_back", &["--file", file.to_str().unwrap()]);
    });
}

#[test]
fn objects_may_be_freed_early() {
    check_all(2, "lifetime", &["--serial", "300", "--alive", "100"]);
}

#[test]
fn sessions_match() {
    mpi::each(|mpi| {
        if mpi.has_sessions() {
            check(mpi, 2, "sessions", &[]);
        }
    });
}

#[test]
fn spawned_processes_match() {
    mpi::each(|mpi| {
        if mpi.can_spawn() {
            check(mpi, 2, "spawn", &[]);
        }
    });
}

#[test]
fn fortran_bindings_match() {
    mpi::each(|mpi| {
        if mpi.mpifort().is_none() {
            eprintln!("left out: {} has no Fortran compiler", mpi.name);
            return;
        }
        check(mpi, 2, "f77", &[]);
        check(mpi, 2, "status", &[]);
        if mpi.name.starts_with("debian") {
            check(mpi, 2, "f08", &[]);
        }
    });
}

/// What `errors` prints without the command.
fn transcript(mpi: &Mpi, program: &Path) -> String {
    let output =
        Command::new("timeout").arg("100").arg(mpi.mpiexec()).args(["-n", "2"]).arg(program).output();
    let output = output.unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn errors_are_those_of_library() {
    mpi::each(|mpi| {
        let stock = transcript(mpi, &built(mpi, "errors"));
        assert!(stock.contains("errors: right") && stock.lines().count() > 20, "{stock}");
        for limit in LIMITS {
            let ran = job(mpi, 2, "errors", limit).succeed();
            for (at, (line, expected)) in ran.stdout.lines().zip(stock.lines()).enumerate() {
                assert_eq!(line, expected, "line {} with {}, limit {limit}", at + 1, mpi.name);
            }
            assert_eq!(ran.stdout.lines().count(), stock.lines().count(), "{ran}");
        }
    });
}
