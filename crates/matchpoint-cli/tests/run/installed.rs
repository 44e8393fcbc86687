//! Tests of the installed command, which uses the libraries of the installation.

use std::path::Path;
use std::process::Command;

use crate::job::MATCHPOINT;
use crate::mpi;
use crate::ran::{self, repository};

#[test]
fn installed_command_finds_libraries() {
    let _alone = mpi::alone();
    let Some(mpi) = mpi::named("mpich-wheel") else { return };
    let built = Path::new(MATCHPOINT).parent().unwrap();
    let mut cargo = Command::new(env!("CARGO"));
    cargo.current_dir(repository("")).args(["build", "--locked", "--quiet"]);
    cargo.args(["--package=matchpoint-capi", "--package=matchpoint-fabric", "--package=matchpoint-overflow"]);
    cargo.arg("--target-dir").arg(built.parent().unwrap());
    if built.ends_with("release") {
        cargo.arg("--release");
    }
    // `scripts/test` sets the variable.
    if std::env::var_os("MATCHPOINT_LIBRARIES_BUILT").is_none() {
        mpi::run(&mut cargo);
    }
    let prefix = tempfile::tempdir().unwrap();
    for library in ["lib", "lib64"] {
        let prefix = prefix.path().join(library).join("usr");
        let mut install = Command::new(repository("scripts/install"));
        mpi::run(install.arg("--prefix").arg(&prefix).args(["--libdir", library, "--built"]).arg(built));
        for file in ["man/man1/matchpoint-run.1", "bash-completion/completions/matchpoint"] {
            assert!(prefix.join("share").join(file).exists(), "{file}");
        }
        for (position, ready) in
            [("--limit=0", "hybrid is ready in 2 ranks"), ("--below", "matches for 2 ranks over shm")]
        {
            let mut run = Command::new(prefix.join("bin/matchpoint"));
            run.env_remove("MATCHPOINT_PROVIDER_FILE").env_remove("MATCHPOINT_CORE_FILE");
            run.args(["run", position, "--"]).arg(mpi.mpiexec());
            ran::Ran::of(run.args(["-n", "2"]).arg(mpi.example("halo27"))).succeed().reports(ready);
        }
    }
}
