//! Reports of a job's processes: one file per process, replaced when an endpoint is opened or closed.

use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

/// One process.
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
    /// Why the core provider matches the messages of some endpoints.
    pub unmatched: Vec<String>,
    /// Endpoints with a Matchpoint engine.
    pub endpoints: Vec<Endpoint>,
    /// `None` in a report of the libfabric provider.
    pub overflow: Option<Overflow>,
}

/// Overflow matching in one process. `shim/core.h` documents the fields. `None` is no limit, or a time that
/// was not measured.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, Serialize)]
#[serde(default)]
#[allow(missing_docs)]
pub struct Overflow {
    pub receives: u64,
    pub overflowed: u64,
    pub given_back: u64,
    pub give_backs: u64,
    pub taken: u64,
    pub watches: u64,
    pub limit_named: Option<u64>,
    pub limit_any: Option<u64>,
    pub eager_bytes: u64,
    pub synchronous: bool,
    pub entry_named_ns: Option<f64>,
    pub entry_any_ns: Option<f64>,
    pub overflow_ns: Option<f64>,
    pub off: Option<String>,
}

/// Counts of an endpoint, as in `tally.rs` of `matchpoint-process`.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
#[allow(missing_docs)]
pub struct Endpoint {
    pub front_end: String,
    pub engine: String,
    /// The engine of the job, if another engine replaced it because its table was full.
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
    /// All endpoints are closed: the counts cover the whole run.
    pub complete: bool,
    /// Longest time of an endpoint from its enabling to its close or last report.
    pub elapsed_ns: u64,
    /// Time in the engine, estimated from sampled calls. `None` if too few calls were timed.
    pub matching_ns: Option<f64>,
    /// Posted receives.
    pub posts: u64,
    /// Arrived messages.
    pub arrivals: u64,
    /// Unexpected messages.
    pub unexpected: u64,
    /// Probes.
    pub probes: u64,
    /// Maximum length of the posted queue.
    pub posted_max: u64,
    /// Maximum length of the unexpected queue.
    pub unexpected_max: u64,
    /// Number of attempts that a plain list would need at most, in searches of arrivals.
    pub posted_sum: u64,
    /// Number of attempts that a plain list would need at most, in searches of posts.
    pub unexpected_sum: u64,
    /// Largest memory of the engines.
    pub bytes_max: u64,
    /// Receives without a match at the end.
    pub posted_left: u64,
    /// Messages without a match at the end.
    pub unexpected_left: u64,
    /// `None` if the libfabric provider matched every message.
    pub overflow: Option<Overflow>,
}

/// One call in `SAMPLE` is timed (`tally.rs` of `matchpoint-process`).
pub const SAMPLE: u64 = 64;

impl Process {
    /// True if a Matchpoint engine matches an endpoint's messages.
    pub fn is_matched(&self) -> bool {
        !self.endpoints.is_empty()
    }

    /// True if an endpoint of the process was still open when the report was written.
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

    /// Each post searches the unexpected queue, each arrival the posted queue.
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
            "synchronous":true,"entry_named_ns":1.5,"entry_any_ns":null,"overflow_ns":500,"off":"program"},"endpoints":[]}"#;
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
            off: Some("program".to_owned()),
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
