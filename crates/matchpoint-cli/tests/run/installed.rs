//! Tests of the installed command, which uses the libraries of the installation.

use std::process::Command;

use crate::mpi;
use crate::ran::{self, repository};

#[test]
fn installed_command_finds_libraries() {
    let _alone = mpi::alone();
    let Some(mpi) = mpi::named("mpich-wheel") else { return };
    let built = ran::build_libraries(&["matchpoint-capi", "matchpoint-fabric", "matchpoint-overflow"]);
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
            ran::CommandOutput::of(run.args(["-n", "2"]).arg(mpi.example("halo27"))).succeed().reports(ready);
        }
    }
}
