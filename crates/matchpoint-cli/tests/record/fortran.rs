//! Fortran bindings of some libraries call `MPI_` functions, of others `PMPI_` functions. Every call is recorded once.

use crate::counts::{Counts, by_function};
use crate::job::{Job, is_whole};
use crate::left_out::leave_out;
use crate::mpi::{self, Mpi};

/// The wheels of MPICH and Open MPI have no Fortran bindings.
fn without_fortran(mpi: &Mpi, program: &str) {
    if mpi.name.starts_with("debian") {
        leave_out("no gfortran", "`apt-get install gfortran`");
    } else {
        eprintln!("{} has no Fortran for {program}", mpi.name);
    }
}

fn compare(program: &str, has: fn(&str) -> bool, recorded_besides: &[(&str, u64)]) {
    mpi::each(|mpi| {
        if mpi.mpifort().is_none() || !has(&mpi.name) {
            return without_fortran(mpi, program);
        }
        let ran = Job::of(mpi, 4, &mpi.example(program)).counting().succeed();
        let report = ran.report();
        let what = format!("{ran}");
        let counts = Counts::read(&ran.prefix(), 4);
        counts.messages_agree(&report, &what);
        is_whole(&report, &what);
        let mut expected = counts.calls();
        expected.extend(recorded_besides.iter().map(|&(name, each)| (name.to_owned(), 4 * each)));
        assert_eq!(by_function(&report), expected, "{what}");
    });
}

/// Intel's wheel has no `mpi_f08` module for gfortran.
#[test]
fn mpi_f08_calls_are_recorded() {
    let besides = [
        ("MPI_Init", 1),
        ("MPI_Finalize", 1),
        ("MPI_Cart_create", 1),
        ("MPI_Comm_free", 1),
        ("MPI_Allreduce", 2),
    ];
    compare("heat", |mpi| mpi != "intel-wheel", &besides);
}

#[test]
fn mpif_h_calls_are_recorded() {
    compare("ring", |_| true, &[("MPI_Init", 1), ("MPI_Finalize", 1), ("MPI_Allreduce", 1)]);
}
