//! Reports of the processes of a job: one file per process, replaced when an endpoint is opened or closed.

use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

/// The report of one process.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct Process {
    /// The host name.
    pub host: String,
    /// The process id.
    pub pid: u64,
    /// Rank in `MPI_COMM_WORLD`, according to the launcher.
    pub rank: Option<u64>,
    /// Version of libfabric, such as `2.5`.
    pub libfabric: String,
    /// Reasons why the core provider matches the messages of some endpoints.
    pub unmatched: Vec<String>,
    /// Endpoints with a Matchpoint engine.
    pub endpoints: Vec<Endpoint>,
    /// Counts and settings of overflow matching. `None` if the libfabric provider wrote the report.
    pub overflow: Option<Overflow>,
}

/// Counts and settings of overflow matching in one process. The fields have the names in `shim/core.h`.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, Serialize)]
#[serde(default)]
pub struct Overflow {
    /// Number of receives posted by the program.
    pub receives: u64,
    /// Number of receives that the engine matched or queued.
    pub overflowed: u64,
    /// Number of overflowed receives that were later given back to the MPI library.
    pub given_back: u64,
    /// Number of calls that gave receives back.
    pub give_backs: u64,
    /// Number of messages taken from the unexpected queue of the MPI library.
    pub taken: u64,
    /// Number of long unexpected queues that the shim detected.
    pub watches: u64,
    /// Limit of receives with a source in the MPI library. `None` means no limit.
    pub limit_named: Option<u64>,
    /// Limit of receives with `MPI_ANY_SOURCE` in the MPI library. `None` means no limit.
    pub limit_any: Option<u64>,
    /// Largest receive that may stay in the engine during a call that may block, in bytes.
    pub eager_bytes: u64,
    /// True if the program may send synchronously, so that all receives are given back before a call that may
    /// block.
    pub synchronous: bool,
    /// Cost of one entry in a search of the MPI library for a receive with a source. `None` if not measured.
    pub entry_named_ns: Option<f64>,
    /// Cost of one entry in a search for a receive with `MPI_ANY_SOURCE`. `None` if not measured.
    pub entry_any_ns: Option<f64>,
    /// Cost of a message that the engine matches. `None` if not measured.
    pub overflow_ns: Option<f64>,
}

/// Counts of an endpoint. The fields have the names in `tally.rs` of `matchpoint-process`.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
#[allow(missing_docs)]
pub struct Endpoint {
    pub front_end: String,
    pub engine: String,
    /// The engine of the job, if its table was full and `engine` replaced it.
    pub replaced: Option<String>,
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

/// Sums of a process over its endpoints.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Rank {
    /// Rank in `MPI_COMM_WORLD`, according to the launcher.
    pub rank: Option<u64>,
    /// The host name.
    pub host: String,
    /// The process id.
    pub pid: u64,
    /// True if all endpoints are closed, so that the counts cover the whole run.
    pub complete: bool,
    /// The longest time of an endpoint from its enabling to its close or last report.
    pub elapsed_ns: u64,
    /// Time in the engine, estimated from sampled calls. `None` if too few calls were timed.
    pub matching_ns: Option<f64>,
    /// Number of posted receives.
    pub posts: u64,
    /// Number of arrived messages.
    pub arrivals: u64,
    /// Number of unexpected messages.
    pub unexpected: u64,
    /// Number of probes.
    pub probes: u64,
    /// Maximum length of the posted receive queue.
    pub posted_max: u64,
    /// Maximum length of the unexpected message queue.
    pub unexpected_max: u64,
    /// Number of attempts that a plain list would need at most, in searches of arrivals.
    pub posted_sum: u64,
    /// Number of attempts that a plain list would need at most, in searches of posts.
    pub unexpected_sum: u64,
    /// Largest memory of the engines, in bytes.
    pub bytes_max: u64,
    /// Number of receives without a match at the end.
    pub posted_left: u64,
    /// Number of messages without a match at the end.
    pub unexpected_left: u64,
    /// Counts and settings of overflow matching. `None` if the libfabric provider matched every message.
    pub overflow: Option<Overflow>,
}

/// One call in `SAMPLE` calls is timed (`tally.rs` of `matchpoint-process`).
pub const SAMPLE: u64 = 64;

impl Process {
    /// Returns true if a Matchpoint engine matches the messages of an endpoint.
    pub fn is_matched(&self) -> bool {
        !self.endpoints.is_empty()
    }

    /// Returns true if an endpoint is open, according to the report.
    pub fn is_open(&self) -> bool {
        self.endpoints.iter().any(|endpoint| endpoint.open)
    }

    /// Sums the figures of all endpoints.
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
    /// Time of matching ÷ run time.
    pub fn share(&self) -> Option<f64> {
        let share = self.matching_ns? / self.elapsed_ns as f64;
        share.is_finite().then_some(share)
    }

    /// Number of attempts that a plain list would need at most.
    pub fn list_entries(&self) -> u64 {
        self.posted_sum + self.unexpected_sum
    }

    /// Number of searches: each post searches the unexpected queue, each arrival the posted queue.
    pub fn searches(&self) -> u64 {
        self.posts + self.arrivals
    }
}

/// Reads the reports in a folder, sorted by rank. Incomplete files are skipped.
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
    fn endpoints_are_summed() {
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
    fn few_calls_have_no_matching_time() {
        let process = Process {
            endpoints: vec![Endpoint { posts: 10, arrivals: 20, elapsed_ns: 1000, ..Endpoint::default() }],
            ..Process::default()
        };
        assert_eq!(process.sums().share(), None);
    }
}
