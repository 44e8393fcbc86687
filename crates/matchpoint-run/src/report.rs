//! What the processes of a job tell: a file each, renewed when an endpoint is opened or closed.

use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

/// One process, as its provider wrote it.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct Process {
    /// Where it ran.
    pub host: String,
    /// Its number there.
    pub pid: u64,
    /// In `MPI_COMM_WORLD`, as the launcher says.
    pub rank: Option<u64>,
    /// `2.5`
    pub libfabric: String,
    /// Why endpoints are matched by the core provider itself.
    pub unmatched: Vec<String>,
    /// Endpoints that are matched by ours.
    pub endpoints: Vec<Endpoint>,
    /// Overflow matching: counts and settings of the shim. `None`: the libfabric provider wrote the report.
    pub overflow: Option<Overflow>,
}

/// Counts and settings of overflow matching in one process, the fields as in `shim/core.h`.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, Serialize)]
#[serde(default)]
pub struct Overflow {
    /// Receives posted by the program.
    pub receives: u64,
    /// Receives that the engine queued or matched.
    pub overflowed: u64,
    /// Overflowed receives that were later posted to the MPI library.
    pub given_back: u64,
    /// Calls that gave receives back.
    pub give_backs: u64,
    /// Messages taken from the unexpected queue of the MPI library.
    pub taken: u64,
    /// Long unexpected queues found.
    pub watches: u64,
    /// Receives with a source that the MPI library holds before overflow begins. `None`: no limit.
    pub limit_named: Option<u64>,
    /// The same with `MPI_ANY_SOURCE`.
    pub limit_any: Option<u64>,
    /// Receives up to this size may stay in the engine during a call that may block.
    pub eager_bytes: u64,
    /// The program may send synchronously, so no receive may stay.
    pub synchronous: bool,
    /// Cost of one entry in a search of the MPI library for a receive with a source. `None`: not measured.
    pub entry_named_ns: Option<f64>,
    /// The same with `MPI_ANY_SOURCE`.
    pub entry_any_ns: Option<f64>,
    /// Cost of a message that the engine matches. `None`: not measured.
    pub overflow_ns: Option<f64>,
}

/// One of its endpoints, the fields as in `tally.rs` of `matchpoint-process`.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
#[allow(missing_docs)]
pub struct Endpoint {
    pub front_end: String,
    pub engine: String,
    pub open: bool,
    pub elapsed_ns: u64,
    pub matching_ns: f64,
    pub bytes_max: u64,
    pub posts: u64,
    pub posts_hit: u64,
    pub arrivals: u64,
    pub arrivals_hit: u64,
    pub probes: u64,
    pub posted_max: u64,
    pub unexpected_max: u64,
    pub posted_sum: u64,
    pub unexpected_sum: u64,
    pub posted_left: u64,
    pub unexpected_left: u64,
}

/// A process in numbers: its endpoints together.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Rank {
    /// In `MPI_COMM_WORLD`, as the launcher says.
    pub rank: Option<u64>,
    /// Where it ran.
    pub host: String,
    /// Its number there.
    pub pid: u64,
    /// It closed its endpoints: the figures are those of the whole run, not of its beginning.
    pub complete: bool,
    /// From the first endpoint enabled to the last closed.
    pub elapsed_ns: u64,
    /// Time in the engine, from a sample of calls; none if there were too few to sample.
    pub matching_ns: Option<f64>,
    /// Receives posted.
    pub posts: u64,
    /// Messages arrived.
    pub arrivals: u64,
    /// Messages that no receive was posted for.
    pub unexpected: u64,
    /// Probes.
    pub probes: u64,
    /// The longest queue of posted receives.
    pub posted_max: u64,
    /// The longest queue of unexpected messages.
    pub unexpected_max: u64,
    /// Entries that a plain list would have compared with arrivals, at most.
    pub posted_sum: u64,
    /// The same with posts.
    pub unexpected_sum: u64,
    /// Memory of the engines, at most.
    pub bytes_max: u64,
    /// Receives that were never matched.
    pub posted_left: u64,
    /// Messages that were never received.
    pub unexpected_left: u64,
    /// Counts and settings of overflow matching. `None`: the libfabric provider matched every message.
    pub overflow: Option<Overflow>,
}

/// One call in this many is timed (`tally.rs` of `matchpoint-process`).
pub const SAMPLE: u64 = 64;

impl Process {
    /// At least one of its endpoints is matched by us.
    pub fn is_matched(&self) -> bool {
        !self.endpoints.is_empty()
    }

    /// One of them is open, as far as it has told.
    pub fn is_open(&self) -> bool {
        self.endpoints.iter().any(|endpoint| endpoint.open)
    }

    /// In numbers.
    pub fn sums(&self) -> Rank {
        let (host, overflow) = (self.host.clone(), self.overflow.clone());
        let mut sums = Rank { rank: self.rank, host, pid: self.pid, overflow, ..Rank::default() };
        sums.complete = self.endpoints.iter().all(|endpoint| !endpoint.open);
        let mut matching_ns = 0.0;
        for endpoint in &self.endpoints {
            sums.elapsed_ns = sums.elapsed_ns.max(endpoint.elapsed_ns);
            matching_ns += endpoint.matching_ns;
            sums.posts += endpoint.posts;
            sums.arrivals += endpoint.arrivals;
            sums.unexpected += endpoint.arrivals.saturating_sub(endpoint.arrivals_hit);
            sums.probes += endpoint.probes;
            sums.posted_max = sums.posted_max.max(endpoint.posted_max);
            sums.unexpected_max = sums.unexpected_max.max(endpoint.unexpected_max);
            sums.posted_sum += endpoint.posted_sum;
            sums.unexpected_sum += endpoint.unexpected_sum;
            sums.bytes_max += endpoint.bytes_max;
            sums.posted_left += endpoint.posted_left;
            sums.unexpected_left += endpoint.unexpected_left;
        }
        sums.matching_ns = (sums.posts + sums.arrivals >= SAMPLE).then_some(matching_ns);
        sums
    }
}

impl Rank {
    /// Of the run time, in matching.
    pub fn share(&self) -> Option<f64> {
        let share = self.matching_ns? / self.elapsed_ns as f64;
        share.is_finite().then_some(share)
    }

    /// Entries that a plain list would have looked at, at most.
    pub fn list_entries(&self) -> u64 {
        self.posted_sum + self.unexpected_sum
    }

    /// Searches: each post searches one queue, each arrival the other.
    pub fn searches(&self) -> u64 {
        self.posts + self.arrivals
    }
}

/// All that is there, by rank. A file that is being replaced, or broken, is left out.
pub fn read(folder: &Path) -> Vec<Process> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let files = entries.filter(|path| path.extension().is_some_and(|extension| extension == "json"));
    let process = |path| serde_json::from_slice(&fs::read(path).ok()?).ok();
    let mut all: Vec<Process> = files.filter_map(process).collect();
    all.sort_by_key(|process| (process.rank.unwrap_or(u64::MAX), process.host.clone(), process.pid));
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"{"schema":1,"host":"a","pid":7,"rank":3,"libfabric":"2.5","unmatched":[],"later":1,"endpoints":[
        {"front_end":"peer","engine":"hybrid","open":false,"elapsed_ns":1000000,"matching_ns":5000,"bytes_max":10,
         "posts":40,"posts_hit":10,"arrivals":40,"arrivals_hit":30,"posted_max":5,"posted_sum":90,"unexpected_sum":20},
        {"front_end":"peer","engine":"hybrid","open":false,"elapsed_ns":2000000,"bytes_max":1}]}"#;

    #[test]
    fn endpoints_are_added_up() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("a-7.json"), TEXT).unwrap();
        fs::write(folder.path().join("a-8.json"), "{\"rank\":1").unwrap();
        fs::write(folder.path().join("a-9.json.new"), TEXT).unwrap();
        let all = read(folder.path());
        assert_eq!(all.len(), 1);
        let sums = all[0].sums();
        assert_eq!((sums.rank, sums.posts, sums.unexpected, sums.bytes_max), (Some(3), 40, 10, 11));
        assert_eq!((sums.list_entries(), sums.searches(), sums.complete), (110, 80, true));
        assert_eq!(sums.share(), Some(0.0025));
    }

    #[test]
    fn overflow_member_is_read() {
        let text = r#"{"schema":1,"host":"a","pid":7,"rank":0,"unmatched":[],"overflow":{"receives":10,"overflowed":4,
            "given_back":1,"give_backs":2,"taken":3,"watches":5,"limit_named":32,"limit_any":null,"eager_bytes":1024,
            "synchronous":true,"entry_named_ns":1.5,"entry_any_ns":null,"overflow_ns":500},"endpoints":[]}"#;
        let process: Process = serde_json::from_str(text).unwrap();
        let expected = Overflow {
            receives: 10,
            overflowed: 4,
            given_back: 1,
            give_backs: 2,
            taken: 3,
            watches: 5,
            limit_named: Some(32),
            limit_any: None,
            eager_bytes: 1024,
            synchronous: true,
            entry_named_ns: Some(1.5),
            entry_any_ns: None,
            overflow_ns: Some(500.0),
        };
        assert_eq!((process.overflow, process.libfabric), (Some(expected), String::new()));
        let process: Process = serde_json::from_str(TEXT).unwrap();
        assert_eq!(process.overflow, None);
    }

    #[test]
    fn what_was_not_sampled_is_not_told() {
        let process = Process {
            endpoints: vec![Endpoint { posts: 10, arrivals: 20, elapsed_ns: 1000, ..Endpoint::default() }],
            ..Process::default()
        };
        assert_eq!(process.sums().share(), None);
    }
}
