//! Compares the counts of a program of `examples/mpi` with the analysis of its trace.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::job::number;

/// The recorder does not record local queries without messages.
const NOT_RECORDED: &[&str] = &[
    "MPI_Cart_coords",
    "MPI_Cart_rank",
    "MPI_Cart_shift",
    "MPI_Comm_group",
    "MPI_Comm_rank",
    "MPI_Comm_remote_size",
    "MPI_Comm_size",
    "MPI_Dims_create",
    "MPI_Get_count",
    "MPI_Test_cancelled",
];

/// The programs do not count these recorded functions.
const NOT_COUNTED: &[&str] = &["MPI_Session_finalize", "MPI_Session_init"];

pub struct Counts {
    ranks: Vec<Value>,
}

impl Counts {
    pub fn read(prefix: &Path, ranks: u32) -> Counts {
        let file = |rank: u32| {
            let path = format!("{}.{rank}.json", prefix.display());
            let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
            serde_json::from_str(&text).unwrap_or_else(|error| panic!("{path}: {error}: {text}"))
        };
        Counts { ranks: (0..ranks).map(file).collect() }
    }

    pub fn sum(&self, path: &str) -> u64 {
        self.ranks.iter().map(|rank| number(rank, path)).sum()
    }

    pub fn calls(&self) -> BTreeMap<String, u64> {
        let mut sums = BTreeMap::new();
        for rank in &self.ranks {
            for (name, count) in rank["calls"].as_object().unwrap() {
                // Reports count a function for large counts (`_c`) with the function for `int` counts.
                let name = name.strip_suffix("_c").unwrap_or(name).to_owned();
                *sums.entry(name).or_insert(0) += count.as_u64().unwrap();
            }
        }
        sums.retain(|name, _| !NOT_RECORDED.contains(&name.as_str()));
        sums
    }

    pub fn agree(&self, report: &Value, what: &str) {
        self.messages_agree(report, what);
        let counted = self.calls();
        let mut recorded = by_function(report);
        recorded.retain(|name, _| !NOT_COUNTED.contains(&name.as_str()));
        assert_eq!(recorded, counted, "calls: {what}");
    }

    pub fn messages_agree(&self, report: &Value, what: &str) {
        let same = [
            "sends",
            "receives",
            "wildcards.none",
            "wildcards.any_source",
            "wildcards.any_tag",
            "wildcards.both",
        ];
        let pairs = same.map(|path| (path, path)).into_iter();
        for (path, counted) in
            pairs.chain([("messages.proc_null", "proc_null"), ("messages.bytes", "bytes_sent")])
        {
            assert_eq!(number(report, path), self.sum(counted), "{path}: {what}");
        }
        for (rank, counted) in self.ranks.iter().enumerate() {
            for path in ["sends", "receives"] {
                let recorded = number(report, &format!("ranks.{rank}.{path}"));
                assert_eq!(recorded, number(counted, path), "rank {rank}, {path}: {what}");
            }
        }
    }
}

pub fn by_function(report: &Value) -> BTreeMap<String, u64> {
    let calls = report["calls"]["by_function"].as_object().unwrap();
    calls.iter().map(|(name, count)| (name.clone(), count.as_u64().unwrap())).collect()
}
