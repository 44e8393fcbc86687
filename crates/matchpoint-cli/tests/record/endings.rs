//! Traces of jobs that fail, stop early, or reach the limit of disk space.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};
use std::{fs, thread};

use matchpoint_trace::native;
use rustix::process::Signal;

use crate::counts::Counts;
use crate::job::{self, Job, JobOutput, MATCHPOINT, engines_agree, number};
use crate::left_out::leave_out;
use crate::mpi;
use crate::ran::matchpoint;

fn is_readable(ran: &JobOutput) -> serde_json::Value {
    let report = ran.report();
    let what = format!("{ran}");
    assert_eq!(report["trace"]["missing"].as_array().unwrap().len(), 0, "{what}");
    for rank in 0..4 {
        assert!(number(&report, &format!("ranks.{rank}.sends")) > 5, "rank {rank}: {what}");
    }
    engines_agree(&report, &what);
    report
}

fn failed(ran: &JobOutput) {
    let code = ran.code.unwrap_or_else(|| panic!("{ran}"));
    assert!(code != 0, "{ran}");
    assert_eq!(ran.manifest()["exit_status"], code, "{ran}");
}

fn notes(report: &serde_json::Value) -> String {
    report["trace"]["notes"].to_string()
}

#[test]
fn exit_code_is_code_of_job() {
    mpi::each(|mpi| {
        let (launcher, program) = (mpi.mpiexec(), mpi.example("gather_fds"));
        for (ending, code) in [("exit 42", 42), ("kill -TERM $$", 128 + 15)] {
            let script = format!("'{}' -n 2 '{}' && {ending}", launcher.display(), program.display());
            let options = ["--mpicc", mpi.mpicc().to_str().unwrap()].map(str::to_owned);
            let ran = Job::new(&options.each_ref().map(String::as_str)).args(["sh", "-c", &script]).run();
            assert_eq!(ran.code, Some(code), "{ran}");
            assert!(number(&ran.report(), "sends") > 0);
        }
    });
}

/// The command does not suggest to analyze an empty trace.
#[test]
fn crash_before_first_write_is_reported() {
    mpi::each(|mpi| {
        let program = mpi.program("endings");
        let ran = Job::of(mpi, 4, &program).args(["early"]).run();
        failed(&ran);
        ran.reports("no calls of ranks 0, 1, 2, 3: a process writes calls after 0.1 s");
        assert!(!ran.stderr.contains("next: ") && !ran.stderr.contains("are readable"), "{ran}");
        let analyzed = matchpoint(["analyze".as_ref(), ran.trace().as_path()]).exit(1);
        analyzed.reports("no file of a rank has calls: every process died before its first write");
    });
}

#[test]
fn ended_job_leaves_written_calls() {
    const UNFINISHED: &str = "did not reach MPI_Finalize";
    mpi::each(|mpi| {
        let program = mpi.program("endings");
        for (ending, message, note) in [
            ("kill", UNFINISHED, "died"),
            ("segfault", UNFINISHED, "died"),
            // A deadlock: the recorder writes the pending call outside of the blocks of calls.
            ("late", "MPI_Recv had not returned at ranks 0, 2, 3", " s in MPI_Recv"),
            ("fatal", UNFINISHED, ""),
            ("abort", UNFINISHED, "MPI_Abort ended the run, called by rank 1."),
            ("exit", UNFINISHED, "Ended without MPI_Finalize: rank"),
        ] {
            let ran = Job::of(mpi, 4, &program).args([ending]).run();
            failed(&ran);
            ran.reports(message);
            let report = is_readable(&ran);
            let (notes, files) = (notes(&report), ran.manifest()["files"].clone());
            assert!(notes.contains(note), "{ending}: {notes}");
            match ending {
                "kill" | "segfault" => assert_eq!(files[1]["complete"], false, "{files}"),
                "late" => {
                    assert_eq!(notes.matches(note).count(), 3, "{notes}");
                    assert_eq!(report["trace"]["ended_early"].as_array().unwrap().len(), 4, "{notes}");
                }
                "fatal" => {
                    let has_calls = |file: &serde_json::Value| number(file, "calls") > 0;
                    assert!(files.as_array().unwrap().iter().all(has_calls), "{files}");
                }
                _ => {}
            }
        }
    });
}

/// Batch systems send SIGTERM at the time limit.
#[test]
fn stopped_job_keeps_trace() {
    mpi::each(|mpi| {
        let program = mpi.program("endings");
        let folder = tempfile::tempdir().unwrap();
        let trace = folder.path().join("trace");
        let mut command = Command::new(MATCHPOINT);
        command.env("XDG_CACHE_HOME", mpi::cache()).arg("record").arg("-o").arg(&trace).arg("--");
        command.arg(mpi.mpiexec()).args(["-n", "4"]).arg(&program).arg("never");
        let message = fs::File::create(folder.path().join("message")).unwrap();
        let mut child = command.stderr(message).spawn().unwrap();
        let begin = Instant::now();
        let written = || {
            native::summaries(&trace)
                .is_ok_and(|files| files.iter().filter(|file| file.calls > 50).count() == 4)
        };
        while !written() {
            assert!(begin.elapsed() < Duration::from_secs(60), "nothing is recorded under {}", mpi.name);
            thread::sleep(Duration::from_millis(50));
        }
        assert!(mpi::send_signal(child.id(), Signal::TERM));
        let status = child.wait().unwrap();
        let message = fs::read_to_string(folder.path().join("message")).unwrap();
        assert!(!status.success(), "{message}");
        assert!(message.contains("did not reach MPI_Finalize"), "{message}");
        let report = job::analyze(&trace);
        assert!(number(&report, "sends") > 20, "{message}");
        engines_agree(&report, &message);
        assert_eq!(job::manifest(&trace)["state"], "finished");
        let pids: Vec<u64> = native::summaries(&trace).unwrap().iter().map(|file| file.head.pid).collect();
        let alive = || {
            pids.iter().any(|pid| fs::read_link(format!("/proc/{pid}/exe")).is_ok_and(|exe| exe == program))
        };
        let begin = Instant::now();
        while alive() {
            assert!(begin.elapsed() < Duration::from_secs(20), "processes are left: {message}");
            thread::sleep(Duration::from_millis(50));
        }
    });
}

/// Every call is written, or counted as left out. Compression depends on the times, so the written part varies.
#[test]
fn limit_bounds_file_size() {
    mpi::each(|mpi| {
        let program = mpi.example("threads_halo");
        let ran = Job::new(&["--limit", "40K"])
            .with(mpi, 4, &program)
            .args(["--steps", "2000"])
            .counting()
            .succeed();
        ran.reports("the limit was reached");
        let counted: u64 = Counts::read(&ran.prefix(), 4).calls().values().sum();
        let files = native::summaries(&ran.trace()).unwrap();
        let left_out: u64 = files.iter().map(|file| file.end.as_ref().unwrap().left_out).sum();
        let written: u64 = files.iter().map(|file| file.calls).sum();
        assert_eq!(written + left_out, counted, "{ran}");
        assert!(left_out > 0 && files.iter().all(|file| file.end.as_ref().unwrap().limit_ticks.is_some()));
        // Clock measurements and the end of the trace are written beyond the limit.
        assert!(files.iter().all(|file| file.bytes < 44 << 10), "{ran}");
        let report = ran.report();
        assert_eq!(number(&report, "trace.calls_left_out"), left_out);
        assert!(notes(&report).contains("The limit of disk space was reached"), "{}", notes(&report));
        engines_agree(&report, &format!("{ran}"));
    });
}

#[test]
fn limit_below_first_call_is_reported() {
    mpi::each(|mpi| {
        let ran = Job::new(&["--limit", "1K"]).with(mpi, 2, &mpi.example("gather_fds")).succeed();
        ran.reports("no calls of ranks 0, 1 within the limit");
        assert!(!ran.stderr.contains("next: "), "{ran}");
        let analyzed = matchpoint(["analyze".as_ref(), ran.trace().as_path()]).exit(1);
        analyzed.reports("the limit of disk space was reached before the first");
    });
}

/// The trace ends, and the job continues. A private mount provides a disk of 200 KiB.
#[test]
fn full_disk_ends_trace_only() {
    let mount = "mount -t tmpfs -o size=200k none \"$0\"";
    let alone = |script: &str, disk: &Path| {
        let mut command = Command::new("unshare");
        command.args(["--mount", "sh", "-c", script]).arg(disk);
        command
    };
    let folder = tempfile::tempdir().unwrap();
    let disk = folder.path().join("disk");
    fs::create_dir(&disk).unwrap();
    if !alone(mount, &disk).output().is_ok_and(|output| output.status.success()) {
        leave_out("no right to mount a file system", "run the tests as root");
        return;
    }
    mpi::each(|mpi| {
        let (copy, prefix) =
            (folder.path().join(&mpi.name), folder.path().join(format!("{}-count", mpi.name)));
        let script = format!("{mount} && \"$@\"; cp -r \"$0/trace\" '{}'", copy.display());
        let mut command = alone(&script, &disk);
        command
            .args(["timeout", "-k", "5", "120", MATCHPOINT, "record", "-o"])
            .arg(disk.join("trace"))
            .arg("--");
        command
            .arg(mpi.mpiexec())
            .args(["-n", "2"])
            .arg(mpi.example("halo27"))
            .args(["--steps", "2000", "--count"]);
        command.arg(&prefix).env("XDG_CACHE_HOME", mpi::cache());
        let output = command.output().unwrap();
        let message = String::from_utf8_lossy(&output.stderr);
        assert!(message.contains("the trace of this process ends here"), "{message}");
        assert!(String::from_utf8_lossy(&output.stdout).contains(": right"), "{message}");
        let counts = Counts::read(&prefix, 2);
        let report = job::analyze(&copy);
        let written = number(&report, "sends");
        assert!(0 < written && written < counts.sum("sends"), "{written}: {message}");
        engines_agree(&report, &message);
    });
}
