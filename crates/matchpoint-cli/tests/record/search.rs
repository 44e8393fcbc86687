//! The recorder measures the search costs of the MPI library. Manifest and report contain the costs.

use serde_json::Value;

use crate::job::{Job, JobOutput, number};
use crate::mpi::each;

const QUEUES: [&str; 4] = ["posted", "posted_any", "unexpected", "unexpected_any"];

#[test]
fn entry_cost_is_measured_and_used() {
    each(|mpi| {
        let record = || Job::of(mpi, 4, &mpi.example("alltoall_reverse")).succeed();
        // Other jobs may disturb a measurement, so the job is repeated twice.
        let ran = (1..3).map(|_| record()).find(has_plausible_costs).unwrap_or_else(record);
        let search = ran.manifest()["search"].clone();
        assert!(has_plausible_costs(&ran), "{search}");
        assert_eq!(
            (number(&search[0], "pairs"), &search[0]["same_host"]),
            (measuring_pairs(4), &true.into()),
            "{search}"
        );
        for queue in QUEUES {
            let prices = search[0][queue]["warm_ns"].as_array().map_or(0, Vec::len);
            assert_eq!(prices, 3, "{queue}: {search}");
        }
        assert_eq!(search[0]["bursts"][0]["messages"], 128, "{search}");
        assert!(search[0]["ring_message_ns"].as_f64().unwrap() > 0.0, "{search}");
        let report = ran.report();
        let cost = &report["library_cost"];
        assert_eq!(cost["posted"]["lengths"], serde_json::json!([64.0, 256.0, 1024.0]));
        assert!(report["crowding"].as_f64().unwrap() >= 1.0);
    });
}

/// The number of pairs of ranks that measure: one for every two processors, and at least one.
pub fn measuring_pairs(ranks: u32) -> u64 {
    let processors = std::thread::available_parallelism().unwrap().get() as u64;
    (processors / 2).clamp(1, u64::from(ranks) / 2)
}

fn has_plausible_costs(ran: &JobOutput) -> bool {
    let search = ran.manifest()["search"][0].clone();
    let longest = search["posted"]["warm_ns"][2].as_f64().unwrap();
    let costs =
        |queue| [&search[queue]["warm_ns"][1], &search[queue]["cold_ns"]].map(|ns| ns.as_f64().unwrap());
    longest > 0.1 && ["posted", "posted_any"].map(costs).iter().all(|[warm, cold]| cold > warm)
}

#[test]
fn transport_is_recorded_on_one_host() {
    each(|mpi| {
        let ran = Job::of(mpi, 2, &mpi.example("halo27")).succeed();
        let (transport, engine) = match &*mpi.name {
            _ if mpi.is_open_mpi() => ("ob1", "rank_array"),
            "debian-mpich" => ("ucx", "list"), // UCX is the only network module of this library.
            _ => ("shm", "list"),
        };
        assert_eq!(ran.manifest()["transport"], transport);
        let report = ran.report();
        assert_eq!(
            (&report["trace"]["transport"], &report["engines"][0]["name"]),
            (&transport.into(), &engine.into())
        );
    });
}

#[test]
fn no_search_cost_measures_nothing() {
    each(|mpi| {
        let ran = Job::new(&["--no-search-cost"]).with(mpi, 2, &mpi.example("halo27")).succeed();
        assert_eq!(ran.manifest()["search"], Value::Null);
        assert_eq!(ran.report()["library_cost"]["pairs"], 0, "as typical");
    });
}

#[test]
fn any_number_of_ranks_measures() {
    each(|mpi| {
        for (ranks, pairs) in [(1, 0), (2, 1), (3, 1)] {
            let ran = Job::of(mpi, ranks, &mpi.example("halo27")).succeed();
            assert_eq!(ran.report()["library_cost"]["pairs"], pairs, "{ranks} ranks");
        }
    });
}

/// A rank alone cannot measure unexpected messages, so both ranks measure the same kinds.
#[test]
fn ranks_of_pair_measure_same_kinds() {
    each(|mpi| {
        if mpi.name == "intel-wheel" {
            return; // Ranks with different I_MPI_FABRICS do not start.
        }
        let program = mpi.example("halo27").display().to_string();
        let words = ["env", "I_MPI_FABRICS=ofi", &program, ":", "-n", "1", &program];
        let ran = Job::new(&[]).args([mpi.mpiexec().as_os_str()]).args(["-n", "1"]).args(words).succeed();
        assert_eq!(ran.manifest()["search"][0]["pairs"], 1);
    });
}

/// MPICH 5.0.2 over UCX never completes an any-source receive of an unexpected message.
#[test]
fn receive_without_end_ends_measurement() {
    let _alone = crate::mpi::alone();
    let Some(mpi) = crate::mpi::named("mpich-wheel") else { return };
    let job = Job::of(&mpi, 2, &mpi.example("halo27")).env("MPIR_CVAR_CH4_NETMOD", "ucx");
    let ran = job.env("MPIR_CVAR_NUM_CLIQUES", "2").succeed();
    let manifest = ran.manifest();
    assert_eq!((&manifest["transport"], &manifest["search"][0]["pairs"]), (&"ucx".into(), &1.into()));
}

/// The library sends local messages over a network provider that stores few unexpected messages.
#[test]
fn full_network_ends_measurement() {
    let _alone = crate::mpi::alone();
    let Some(mpi) = crate::mpi::named("mpich-wheel") else { return };
    let job = Job::of(&mpi, 2, &mpi.example("halo27")).env("FI_PROVIDER", "tcp");
    let ran = job.env("MPIR_CVAR_CH4_NETMOD", "ofi").env("MPIR_CVAR_ODD_EVEN_CLIQUES", "1").succeed();
    let search = ran.manifest()["search"].clone();
    assert_eq!((&search[0]["pairs"], &search[0]["unexpected"]), (&1.into(), &Value::Null), "{search}");
}
