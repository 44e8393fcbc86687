//! Programs with the recorder: the results are unchanged, and the trace has the calls.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;
use std::process::Command;

use matchpoint_trace::native;

use crate::counts::by_function;
use crate::job::{self, Job, JobOutput, TIMED_OUT, is_matched, number};
use crate::mpi::{self, Mpi, run, scratch};

fn hazards(mpi: &Mpi, ranks: u32, words: &[&str]) -> Job {
    Job::of(mpi, ranks, &mpi.program("hazards")).args(words)
}

fn failed(trace: &Path) -> bool {
    let files = native::summaries(trace).unwrap();
    files[0]
        .head
        .functions
        .iter()
        .any(|(name, fields)| name == "MPI_Send (failed)" && fields.starts_with('i'))
}

/// Intercommunicator collectives, failed calls, truncated messages, an MPI call left by `longjmp`, a closed file
/// descriptor, callbacks in `MPI_Finalize`, and a fork.
#[test]
fn program_results_are_unchanged() {
    mpi::each(|mpi| {
        let results = scratch().join("results");
        let ran = hazards(mpi, 4, &["many", results.to_str().unwrap()]).succeed();
        let what = format!("{ran}");
        for expected in ["rank 0: 27 sends, 0 receives", "rank 1: 10 sends, 17 receives"] {
            assert!(ran.stdout.contains(expected), "{what}");
        }
        let report = ran.report();
        // Messages to MPI_PROC_NULL are not sends. Failed calls are MPI calls.
        assert_eq!([number(&report, "sends"), number(&report, "receives")], [17, 17], "{what}");
        assert_eq!(number(&report, "messages.proc_null"), 40, "{what}");
        is_matched(&report, &what);
        // At each rank, 5 more calls failed. The call left by `longjmp` never returned.
        assert_eq!(by_function(&report)["MPI_Send"], 57 + 4 * 5, "{what}");
        ran.reports("4 calls were not recorded");
        assert!(failed(&ran.trace()));
        assert!(number(&report, "messages.bytes") < 1000, "{what}");
    });
}

/// The number of calls in the end record of the only file.
fn is_sound(ran: &JobOutput, reason: &str) -> u64 {
    let files = native::summaries(&ran.trace()).unwrap();
    let end = files[0].end.as_ref().unwrap_or_else(|| panic!("no end: {ran}"));
    assert_eq!((end.reason.as_str(), end.calls, end.left_out), (reason, files[0].calls, 0), "{ran}");
    end.calls
}

#[test]
fn threads_may_call_during_exit() {
    mpi::each(|mpi| {
        let ran = hazards(mpi, 1, &["exit"]).run();
        assert!(is_sound(&ran, "exit") > 1000, "{ran}");
        let ran = hazards(mpi, 1, &["abort"]).run();
        assert!(is_sound(&ran, "abort") > 1000, "{ran}");
        let ran = hazards(mpi, 1, &["abort-in-handler"]).run();
        assert_eq!(is_sound(&ran, "abort"), 1001, "{ran}");
    });
}

#[test]
fn callbacks_may_free_communicators() {
    mpi::each(|mpi| {
        let ran = hazards(mpi, 2, &["callbacks"]).succeed();
        is_sound(&ran, "finalize");
    });
}

/// The signal may interrupt the thread that writes, so no other thread may wait for that thread.
#[test]
fn signal_may_end_process_during_write() {
    mpi::each(|mpi| {
        let ran = hazards(mpi, 1, &["signal"]).run();
        assert!(ran.code != Some(0) && ran.code != Some(TIMED_OUT), "{ran}");
    });
}

#[test]
fn call_with_too_many_requests_may_fail() {
    mpi::each(|mpi| {
        if !mpi.name.contains("openmpi") {
            eprintln!("{} ends a program that starts no request", mpi.name);
            return;
        }
        let ran = hazards(mpi, 1, &["requests"]).succeed();
        is_sound(&ran, "finalize");
    });
}

#[test]
fn sessions_begin_at_once_and_outlive_finalize() {
    mpi::each(|mpi| {
        if !mpi.has_sessions() {
            eprintln!("{} has no sessions", mpi.name);
            return;
        }
        let ran = hazards(mpi, 1, &["sessions"]).succeed();
        assert_eq!(is_sound(&ran, "finalize"), 3 * 14, "{ran}");
        let ran = hazards(mpi, 1, &["outlives"]).succeed();
        assert_eq!(is_sound(&ran, "finalize"), 11, "{ran}");
    });
}

/// The recorded ranks do not communicate with a process without the recorder.
#[test]
fn some_ranks_may_lack_recorder() {
    mpi::each(|mpi| {
        let (launcher, program) = (mpi.mpiexec(), mpi.program("hazards"));
        let program = program.to_str().unwrap();
        let words = format!("-n 1 {program} collective : -n 1 env -u LD_PRELOAD {program} collective");
        let ran = Job::new(&[]).args([launcher.as_os_str()]).args(words.split(' ')).succeed();
        ran.reports("no file of rank 1");
        let report = ran.report();
        assert_eq!(report["trace"]["missing"].as_array().unwrap().len(), 1, "{ran}");
    });
}

#[test]
fn second_job_has_separate_trace() {
    mpi::each(|mpi| {
        let (launcher, program) = (mpi.mpiexec(), mpi.program("hazards"));
        let (launcher, program) = (launcher.display(), program.display());
        let script =
            format!("'{launcher}' -n 2 '{program}' collective && '{launcher}' -n 3 '{program}' collective");
        let ran = Job::new(&["--mpicc", mpi.mpicc().to_str().unwrap()]).args(["sh", "-c", &script]).succeed();
        ran.reports("separate trace of 3 processes of another job");
        for (trace, ranks) in [(ran.trace(), 2), (ran.trace().join("job-2"), 3)] {
            let report = job::analyze(&trace);
            assert_eq!(by_function(&report)["MPI_Allgather"], ranks, "{ran}");
            assert!(fs::symlink_metadata(trace.join("job")).is_err(), "{ran}");
        }
    });
}

#[test]
fn linked_tool_sees_every_call() {
    mpi::each(|mpi| {
        let folder = scratch().join(format!("{}-tool", mpi.name));
        fs::create_dir_all(&folder).unwrap();
        let programs = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/record/programs");
        let (tool, program) = (folder.join("libtool.so"), folder.join("hazards"));
        let mut mpicc = Command::new(mpi.mpicc());
        run(mpicc.args(["-fPIC", "-shared"]).arg(programs.join("tool.c")).arg("-o").arg(&tool));
        let mut mpicc = Command::new(mpi.mpicc());
        run(mpicc
            .arg("-std=gnu11")
            .arg(programs.join("hazards.c"))
            .arg("-o")
            .arg(&program)
            .arg(&tool)
            .args(["-Wl,-rpath,$ORIGIN", "-lpthread"]));
        let ran = Job::of(mpi, 1, &program).args(["sends"]).succeed();
        ran.reports("tool: 10 sends");
        assert_eq!(by_function(&ran.report())["MPI_Send"], 10, "{ran}");
    });
}

/// ROMIO, a component of Open MPI, calls `MPI_` functions as a program does.
#[test]
fn inner_calls_of_romio_are_not_recorded() {
    let _alone = mpi::alone();
    let Some(mpi) = mpi::named("debian-openmpi") else { return };
    let file = scratch().join("file");
    let job = hazards(&mpi, 2, &["file", file.to_str().unwrap()]).env("OMPI_MCA_io", "romio321");
    let ran = job.succeed();
    let recorded = by_function(&ran.report());
    let names: Vec<&str> = recorded.keys().map(String::as_str).collect();
    assert_eq!(names, ["MPI_Finalize", "MPI_Init_thread"], "{ran}");
}

#[test]
fn file_size_limit_does_not_end_program() {
    mpi::each(|mpi| {
        let ran = hazards(mpi, 1, &["size-limit"]).succeed();
        ran.reports("the trace of this process ends here");
        ran.reports("could not write to the end");
    });
}

#[test]
fn preloaded_library_is_kept() {
    mpi::each(|mpi| {
        let library = scratch().join(format!("{}-preloaded", mpi.name)).join("libempty.so");
        fs::create_dir_all(library.parent().unwrap()).unwrap();
        let source = library.with_file_name("empty.c");
        fs::write(&source, "int matchpoint_test_of_preloading;\n").unwrap();
        run(Command::new(mpi.mpicc()).args(["-fPIC", "-shared"]).arg(&source).arg("-o").arg(&library));
        let library = library.to_str().unwrap();
        let option = if mpi.name.contains("openmpi") {
            vec!["-x".to_owned(), format!("LD_PRELOAD={library}")]
        } else {
            vec!["-env".to_owned(), "LD_PRELOAD".to_owned(), library.to_owned()]
        };
        let job =
            Job::new(&[]).args([mpi.mpiexec().as_os_str(), OsStr::new("-n"), OsStr::new("1")]).args(option);
        let ran = job.args([mpi.program("hazards").as_os_str(), OsStr::new("preload")]).succeed();
        assert!(ran.stdout.contains("preloaded: ") && ran.stdout.contains(library), "{ran}");
        assert_eq!(by_function(&ran.report())["MPI_Init_thread"], 1, "{ran}");
    });
}

/// LD_PRELOAD does not support these paths.
#[test]
fn cache_path_with_space_is_refused() {
    let _alone = mpi::alone();
    let Some(mpi) = mpi::first() else { return };
    let cache = tempfile::tempdir().unwrap();
    let program = mpi.program("hazards");
    for name in ["with space", "with:colon"] {
        let job = Job::new(&[]).env("XDG_CACHE_HOME", cache.path().join(name));
        let words = [mpi.mpiexec().as_os_str().to_owned(), "-n".into(), "1".into(), program.clone().into()];
        let ran = job.args(words.iter().map(|word| word as &OsStr)).run();
        assert_eq!(ran.code, Some(1), "{ran}");
        ran.reports("set XDG_CACHE_HOME");
    }
}
