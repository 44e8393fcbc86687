//! Tests of `matchpoint top` and `record --live`, with a program that waits with known queues.

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::job::{Job, MATCHPOINT, Running, analyze, limited, number};
use crate::left_out::leave_out;
use crate::mpi::{self, Mpi};
use crate::ran::CommandOutput;

const RANKS: u32 = 4;

/// Entries in the queues of `standing.c`: receives from a source, any-source receives, unexpected messages.
fn pending(rank: u32) -> (u64, u64, u64) {
    let any_source = if rank == 1 { 4 } else { 0 };
    (3 + 2 * u64::from(rank) + 1, any_source, 5 + u64::from(rank) + 1)
}

struct Waiting {
    job: Running,
    stop: TempDir,
}

impl Waiting {
    fn new(mpi: &Mpi, options: &[&str], variable: Option<(&str, &Path)>) -> Waiting {
        let stop = tempfile::tempdir().unwrap();
        let mut job =
            Job::new(options).with(mpi, RANKS, &mpi.program("standing")).args([stop.path().join("stop")]);
        if let Some((name, value)) = variable {
            job = job.env(name, value);
        }
        let mut job = job.start();
        job.wait_for("standing");
        Waiting { job, stop }
    }

    /// Repeats `top` until `is_so`, because the recorder writes calls with a delay.
    fn look(&self, target: &str, is_so: impl Fn(&Value) -> bool) -> Value {
        let begun = Instant::now();
        loop {
            let ran = top(&[target, "--once", "--json"]);
            assert_eq!(ran.code, Some(0), "{ran}{}", self.job.description());
            let seen = ran.json();
            if is_so(&seen) {
                return seen;
            }
            assert!(begun.elapsed() < Duration::from_secs(30), "{seen:#}\n{}", self.job.description());
            thread::sleep(Duration::from_millis(200));
        }
    }

    fn end(self) -> TempDir {
        fs::write(self.stop.path().join("stop"), "").unwrap();
        self.job.end()
    }
}

fn top(arguments: &[&str]) -> CommandOutput {
    CommandOutput::of(limited(MATCHPOINT).arg("top").args(arguments))
}

fn complaint(ran: CommandOutput) -> String {
    let ran = ran.fail(1);
    assert!(ran.stderr.starts_with("error: "), "{ran}");
    ran.stderr
}

fn rows(seen: &Value) -> &[Value] {
    seen["by_rank"].as_array().unwrap()
}

fn have_known_queues(seen: &Value) -> bool {
    let is_expected = |row: &Value| {
        let (posted, any_source, unexpected) = pending(number(row, "rank") as u32);
        number(row, "posted.entries") == posted + any_source
            && number(row, "unexpected.entries") == unexpected
    };
    rows(seen).len() == RANKS as usize && rows(seen).iter().all(is_expected)
}

/// `top` shows the counts of the library where possible. Those of Open MPI exclude any-source receives.
#[test]
fn top_shows_pending_entries() {
    mpi::each(|mpi| {
        let waiting = Waiting::new(mpi, &[], None);
        let measured = mpi.is_open_mpi();
        let how = |measured: bool| if measured { "measured" } else { "estimated" };
        let trace = waiting.job.trace();
        let seen = waiting.look(trace.to_str().unwrap(), |seen| {
            have_known_queues(seen) && rows(seen).iter().all(|row| row["unexpected"]["how"] == how(measured))
        });
        assert_eq!(
            (&seen["state"], &seen["ranks"], &seen["elsewhere"]),
            (&json!("running"), &json!(4), &json!(0))
        );
        for row in rows(&seen) {
            let (_, any_source, _) = pending(number(row, "rank") as u32);
            assert_eq!(row["posted"]["how"], how(measured && any_source == 0), "{}: {row}", mpi.name);
            assert_eq!(row["state"], "running");
            assert!(row["age_s"].as_f64().unwrap() < 30.0, "{row}");
        }
        assert_eq!(seen["posted"], json!({ "entries": 4 + 10 + 8 + 10, "how": "estimated" }));
        assert_eq!(seen["unexpected"], json!({ "entries": 6 + 7 + 8 + 9, "how": how(measured) }));

        // The argument is the process id of a rank or of the launcher.
        let rank = number(&rows(&seen)[2], "pid").to_string();
        for pid in [rank, waiting.job.pid().to_string()] {
            let by_pid = waiting.look(&pid, |_| true);
            let real = |path: &Value| fs::canonicalize(path.as_str().unwrap()).unwrap();
            assert_eq!(real(&by_pid["trace"]), fs::canonicalize(&trace).unwrap());
        }
        let table = top(&[trace.to_str().unwrap(), "--once"]).stdout;
        assert!(table.contains("running") && table.contains(if measured { "=9" } else { "~9" }), "{table}");
        assert!(table.lines().all(|line| line.chars().count() <= 80), "{table}");

        let folder = waiting.end();
        let trace = folder.path().join("trace");
        check_finished(&trace);
        check_no_process(&rows(&seen)[0]);
    });
}

fn check_finished(trace: &Path) {
    let seen = top(&[trace.to_str().unwrap(), "--json"]).json();
    assert_eq!(seen["state"], "finished");
    for row in rows(&seen) {
        assert_eq!(row["state"], "finalized");
        assert_eq!(
            (&row["posted"]["entries"], &row["unexpected"]["entries"]),
            (&json!(0), &json!(0)),
            "{row}"
        );
    }
    let table = top(&[trace.to_str().unwrap()]).stdout;
    assert!(table.contains("finished: last state"), "{table}");
    assert_eq!(table.matches("finalized").count(), RANKS as usize, "{table}");
}

fn check_no_process(row: &Value) {
    let pid = number(row, "pid").to_string();
    let message = complaint(top(&[&pid, "--once"]));
    assert!(message.contains(&format!("no process {pid}")), "{message}");
}

/// `run --record` sets the variable. The library does not count the entries of the engine.
#[test]
fn engine_above_library_gives_estimates() {
    mpi::each(|mpi| {
        let waiting = Waiting::new(mpi, &[], Some(("MATCHPOINT_ENGINE", Path::new("list"))));
        let trace = waiting.job.trace();
        // The recorder reads the library's counts within two seconds.
        thread::sleep(Duration::from_secs(3));
        let seen = waiting.look(trace.to_str().unwrap(), have_known_queues);
        for row in rows(&seen) {
            assert_eq!(
                (&row["posted"]["how"], &row["unexpected"]["how"]),
                (&json!("estimated"), &json!("estimated")),
                "{row}"
            );
        }
        waiting.end();
    });
}

/// A library replaces MPI_T and checks its use, because MPICH as tested lacks the variables of the queues.
#[test]
fn variables_of_mpich_are_read() {
    mpi::each(|mpi| {
        if mpi.is_open_mpi() {
            return;
        }
        let waiting = Waiting::new(mpi, &[], Some(("LD_PRELOAD", &mpi.library("mpi_t"))));
        let trace = waiting.job.trace();
        let measured =
            |row: &Value| row["posted"]["how"] == "measured" && row["unexpected"]["how"] == "measured";
        let asked = |row: &Value| number(row, "posted.entries") >= 41 + 2;
        let seen = waiting.look(trace.to_str().unwrap(), |seen| {
            rows(seen).len() == 4 && rows(seen).iter().all(|row| measured(row) && asked(row))
        });
        for row in rows(&seen) {
            let (posted, unexpected) = (number(row, "posted.entries"), number(row, "unexpected.entries"));
            assert_eq!(posted - 41 + 1, unexpected - 17, "{row}");
        }
        let folder = waiting.end();
        let report = analyze(&folder.path().join("trace"));
        assert_eq!(number(&report, "replay.unmatched_receives"), 0);
        assert_eq!(number(&report, "replay.unmatched_messages"), 0);
    });
}

#[test]
fn unrecorded_process_is_reported() {
    let mut child = Command::new("sleep").arg("60").env_remove("MATCHPOINT_RECORD_DIR").spawn().unwrap();
    let pid = child.id().to_string();
    let message = complaint(top(&[&pid]));
    assert!(message.contains("is not recorded") && message.contains("matchpoint record"), "{message}");
    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join("matchpoint");
    fs::copy(MATCHPOINT, &copy).unwrap();
    Command::new("chmod").args(["755"]).arg(folder.path()).status().unwrap();
    let as_other = Command::new(&copy).args(["top", &pid]).uid(65534).gid(65534).output();
    if as_other.is_ok_and(|output| !output.stderr.is_empty()) {
        let ran = CommandOutput::of(Command::new(&copy).args(["top", &pid]).uid(65534).gid(65534));
        assert!(complaint(ran).contains("permission denied"));
    } else {
        leave_out("no right to become another user", "run the tests as root");
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let message = complaint(top(&[&pid]));
    assert!(message.contains("no process"), "{message}");
    let message = complaint(top(&[folder.path().to_str().unwrap()]));
    assert!(message.contains("contains no recorded trace"), "{message}");
}

#[test]
fn died_rank_is_shown() {
    let _alone = mpi::alone();
    let Some(mpi) = mpi::first() else { return };
    let waiting = Waiting::new(&mpi, &[], None);
    let trace = waiting.job.trace();
    let seen = waiting.look(trace.to_str().unwrap(), have_known_queues);
    // The signal goes to all ranks, because a launcher ends the other ranks anyway.
    for row in rows(&seen) {
        mpi::send_signal(number(row, "pid") as u32, Signal::KILL);
    }
    let seen = waiting.look(trace.to_str().unwrap(), |seen| seen["state"] == "finished");
    assert!(have_known_queues(&seen), "{seen:#}");
    let died = rows(&seen).iter().filter(|row| row["state"] == "died").count();
    assert_eq!(died, 4, "{seen:#}");
}

#[test]
fn table_is_below_job_output() {
    let _alone = mpi::alone();
    let Some(mpi) = mpi::first() else { return };
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("job.sh");
    let text = format!(
        "for i in $(seq 100 139); do echo line $i of the job; sleep 0.1; done &\n(sleep 7; touch '{0}/stop') &\nexec '{1}' -n \
         4 '{2}' '{0}/stop'\n",
        folder.path().display(),
        mpi.mpiexec().display(),
        mpi.program("standing").display()
    );
    fs::write(&script, text).unwrap();
    let record = format!(
        "stty rows 24 cols 80; '{MATCHPOINT}' record --live --mpicc '{}' -o '{}' -- sh '{}'",
        mpi.mpicc().display(),
        folder.path().join("trace").display(),
        script.display()
    );
    let terminal = limited("script")
        .args(["-qec", &record, "/dev/null"])
        .env("TERM", "xterm")
        .env("SHELL", "/bin/sh")
        .stdin(std::process::Stdio::null())
        .output();
    let Some(output) = terminal.ok().filter(|output| output.status.code() != Some(127)) else {
        leave_out("no script(1)", "`apt-get install bsdutils`");
        return;
    };
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{printed}");
    let screen = Screen::show(&printed);
    for line in 100..140 {
        let wanted = format!("line {line} of the job");
        assert_eq!(screen.iter().filter(|shown| **shown == wanted).count(), 1, "{wanted}: {screen:#?}");
    }
    assert!(printed.contains("last call") && printed.contains(": running"), "{printed}");
    assert!(screen.iter().all(|line| !line.contains("last call")), "{screen:#?}");
    assert!(screen.iter().any(|line| line.contains("matchpoint: recorded")), "{screen:#?}");
}

/// A minimal terminal, which has the lines that were shown and not erased.
struct Screen;

impl Screen {
    fn show(printed: &str) -> Vec<String> {
        let (mut lines, mut row, mut column) = (vec![String::new()], 0usize, 0usize);
        let mut letters = printed.chars().peekable();
        while let Some(letter) = letters.next() {
            match letter {
                '\n' => {
                    row += 1;
                    if row == lines.len() {
                        lines.push(String::new());
                    }
                }
                '\r' => column = 0,
                '\x1b' => {
                    letters.next();
                    let sequence: String =
                        std::iter::from_fn(|| letters.next_if(|next| !next.is_ascii_alphabetic())).collect();
                    match letters.next() {
                        Some('A') => row -= sequence.parse::<usize>().unwrap(),
                        Some('J') => {
                            lines.truncate(row + 1);
                            let kept = lines[row].chars().take(column).collect();
                            lines[row] = kept;
                        }
                        _ => {}
                    }
                }
                letter => {
                    let kept: String = lines[row].chars().take(column).collect();
                    lines[row] = kept + &letter.to_string();
                    column += 1;
                }
            }
        }
        lines
    }
}

#[test]
fn lines_replace_table_without_terminal() {
    let _alone = mpi::alone();
    let Some(mpi) = mpi::first() else { return };
    let mut waiting = Waiting::new(&mpi, &["--live"], None);
    waiting.job.wait_for("matchpoint: after ");
    waiting.job.wait_for("PRQ");
    let folder = waiting.end();
    let printed = fs::read_to_string(folder.path().join("stdout")).unwrap();
    assert_eq!(printed, "standing\n");
    let message = fs::read_to_string(folder.path().join("stderr")).unwrap();
    assert!(!message.contains('\x1b'), "{message}");
}

#[test]
fn call_sites_of_receives_are_named() {
    mpi::each(|mpi| {
        let ran = Job::new(&["--callsites"]).with(mpi, 4, &mpi.example("gather_fds")).succeed();
        let report = ran.report_of("list");
        let places = report["places"].as_array().unwrap();
        let sum = |member: &str| places.iter().map(|place| number(place, member)).sum::<u64>();
        assert_eq!(sum("receives"), number(&report, "receives"), "{ran}");
        assert_eq!(sum("late"), number(&report, "messages.late_receives"), "{ran}");
        assert_eq!(
            sum("any_source"),
            number(&report, "wildcards.any_source") + number(&report, "wildcards.both"),
            "{ran}"
        );
        let attempts = |queue: &str| number(&report, &format!("engines.0.{queue}.attempts"));
        // Failed searches of the posted receive queue belong to no receive.
        assert_eq!(sum("posted_attempts"), number(&report, "engines.0.posted.attempts_hit"), "{ran}");
        assert_eq!(sum("unexpected_attempts"), attempts("unexpected"), "{ran}");
        let busiest = &places[0];
        assert_eq!(busiest["function"], "collect", "{busiest}");
        let source = busiest["source"].as_str().unwrap();
        assert!(source.contains("gather_fds.c:"), "{source}");
        assert!(number(busiest, "unexpected_attempts_max") > 1, "{ran}");
        let ran = Job::of(mpi, 2, &mpi.example("gather_fds")).succeed();
        assert_eq!(ran.report()["places"], json!([]));
    });
}
