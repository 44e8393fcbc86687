//! The state of a job while it runs, from the growing files of its trace.
//!
//! * [`target`] finds the folder of a trace; `process` checks whether the processes run.
//! * `pending` counts operations of one rank; `flow` counts messages between ranks.
//! * [`snapshot`] is plain data.

#![allow(missing_docs)] // a name that explains an item needs no comment

mod flow;
mod pending;
mod process;
pub mod snapshot;
pub mod target;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use matchpoint_trace::native::head::Head;
use matchpoint_trace::native::manifest::{self, Manifest};
use matchpoint_trace::native::{self, Entry, FollowError, Follower, Queues};

use self::flow::Flow;
use self::pending::{Pending, RANKS_MAX};
use self::snapshot::{JobState, ProcessState, QueueLength, Row, Snapshot};

/// Age from which a measured queue length is not shown, because other ranks may have sent messages.
const MEASURED_FOR: Duration = Duration::from_secs(3);

/// Seconds without data from which a process is silent. The recorder writes every second.
const SILENT_S: f64 = 3.0;

/// Time before the last common report for which messages are kept by time.
const SETTLED_NS: i64 = 1_000_000_000;

#[derive(Default)]
pub struct Watch {
    folder: PathBuf,
    ranks: Vec<Rank>,
    flow: Flow,
    world: u32,
    behind: bool,
    own_host: String,
    manifest: Manifest,
}

struct Rank {
    rank: u32,
    file: Follower,
    lost: Option<FollowError>,
    pending: Pending,
    /// The last measured lengths, and [`Pending::changes`] at the measurement.
    queues: Option<(Queues, u64)>,
    has_ended: bool,
    /// Whether the process had written nothing for [`SILENT_S`] at the last complete read.
    silent: bool,
}

impl Watch {
    pub fn new(folder: &Path) -> Watch {
        let own_host = rustix::system::uname().nodename().to_string_lossy().into_owned();
        Watch { folder: folder.to_owned(), own_host, ..Watch::default() }
    }

    pub fn read_all(&mut self) {
        while self.read_some() {}
    }

    /// Reads a part of the new data. Returns whether more data exist.
    pub fn read_some(&mut self) -> bool {
        // The manifest of a finished job is written after all data, so the manifest is read first.
        let manifest = fs::read(self.folder.join(manifest::FILE)).ok();
        self.manifest = manifest.and_then(|text| serde_json::from_slice(&text).ok()).unwrap_or_default();
        self.find();
        self.behind = false;
        for rank in &mut self.ranks {
            self.behind |= rank.read(&mut self.flow, &self.own_host);
            if let Some(size) = rank.file.head().map(|head| head.size.min(RANKS_MAX)) {
                self.world = self.world.max(size);
            }
        }
        self.flow.merge_before(self.reported_ns().saturating_sub(SETTLED_NS));
        self.behind
    }

    /// The time up to which all ranks have reported, without silent ranks.
    fn reported_ns(&self) -> i64 {
        let is_reporting = |rank: &&Rank| rank.file.head().is_some() && !rank.is_over() && !rank.silent;
        let until = self.ranks.iter().filter(is_reporting).map(|rank| rank.file.until_ns());
        until.min().filter(|_| !self.is_finished()).unwrap_or(i64::MAX)
    }

    /// Opens new files. Hosts start at different times.
    fn find(&mut self) {
        let all = self.world > 0 && self.ranks.len() >= self.world as usize;
        if all {
            return;
        }
        for entry in fs::read_dir(&self.folder).into_iter().flatten().flatten() {
            let Some(rank) = entry.file_name().to_str().and_then(native::rank_of_file_name) else { continue };
            if rank < RANKS_MAX && !self.ranks.iter().any(|known| known.rank == rank) {
                self.ranks.push(Rank::new(rank, entry.path()));
                self.world = self.world.max(rank + 1);
            }
        }
        self.ranks.sort_by_key(|rank| rank.rank);
    }

    fn is_finished(&self) -> bool {
        self.manifest.state == "finished" && !self.behind
    }

    pub fn snapshot(&self) -> Snapshot {
        let at = SystemTime::now();
        let reported_ns = self.reported_ns();
        let rows: Vec<Row> = self.ranks.iter().filter_map(|rank| rank.row(at, reported_ns, self)).collect();
        let heads: Vec<&Head> = self.ranks.iter().filter_map(|rank| rank.file.head()).collect();
        let ranks = heads.first().map_or(0, |head| head.size);
        let state = if self.is_finished() { JobState::Finished } else { state(&rows, ranks) };
        let library = heads.first().and_then(|head| head.library.lines().next()).unwrap_or_default();
        Snapshot {
            at,
            folder: self.folder.clone(),
            command: self.manifest.command.clone(),
            library: library.split_whitespace().collect::<Vec<_>>().join(" "),
            state,
            exit_status: self.manifest.exit_status.filter(|_| state == JobState::Finished),
            ranks,
            elsewhere: self.ranks.iter().map(|rank| rank.pending.elsewhere).sum(),
            behind: self.behind,
            rows,
        }
    }
}

impl Rank {
    fn new(rank: u32, path: PathBuf) -> Rank {
        Rank {
            rank,
            file: Follower::new(path),
            lost: None,
            pending: Pending::new(rank),
            queues: None,
            has_ended: false,
            silent: false,
        }
    }

    fn read(&mut self, flow: &mut Flow, own_host: &str) -> bool {
        if self.lost.is_some() || self.file.end().is_some() {
            return false;
        }
        // The process must be checked before its last data is read.
        let has_ended = self.file.head().is_some_and(|head| is_ended(head, own_host));
        let (pending, queues) = (&mut self.pending, &mut self.queues);
        let more = self.file.read(&mut |entry| match entry {
            Entry::Call(call) => pending.call(call, flow),
            Entry::Queues(said) => *queues = Some((said, pending.changes)),
        });
        let behind = matches!(more, Ok(true));
        self.has_ended = has_ended && !behind;
        // The age is computed here, because reads of other files take time.
        self.silent = !behind && self.age_s(SystemTime::now()) > SILENT_S;
        more.unwrap_or_else(|lost| {
            self.lost = Some(lost);
            false
        })
    }

    fn row(&self, at: SystemTime, reported_ns: i64, watch: &Watch) -> Option<Row> {
        if self.lost.is_none() {
            self.file.head()?;
        }
        let head = self.file.head();
        let age_s = self.age_s(at);
        let silent_s = seconds(self.file.until_ns().saturating_sub(self.pending.left_ns));
        let has_called = self.pending.left_ns > i64::MIN;
        Some(Row {
            rank: self.rank,
            host: head.map(|head| head.host.clone()).unwrap_or_default(),
            pid: head.map_or(0, |head| head.pid),
            posted: self.posted(),
            unexpected: self.unexpected(reported_ns, watch),
            calls: self.file.calls(),
            calls_per_s: if self.file.end().is_some() { 0.0 } else { self.file.calls_per_s() },
            age_s,
            last_call_s: has_called.then_some(age_s + silent_s),
            within: self.file.unfinished_call().map(str::to_owned),
            life: self.life(age_s, watch.is_finished()),
        })
    }

    fn age_s(&self, at: SystemTime) -> f64 {
        let since_1970 = at.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_nanos() as i64;
        seconds(since_1970 - self.file.until_wall_ns())
    }

    fn is_over(&self) -> bool {
        self.lost.is_some() || self.has_ended || self.file.end().is_some()
    }

    fn measured(&self) -> Option<Queues> {
        let is_new = |queues: &Queues| {
            self.file.until_ns().saturating_sub(queues.at_ns) <= MEASURED_FOR.as_nanos() as i64
        };
        let (queues, changes) = self.queues?;
        // After MPI_Finalize there are no queues.
        let is_current = self.file.end().is_none() && changes == self.pending.changes && is_new(&queues);
        is_current.then_some(queues)
    }

    fn posted(&self) -> QueueLength {
        let pending = &self.pending;
        match self.measured().and_then(|queues| Some((queues.posted?, queues.excludes_any_source))) {
            // The library does not count any-source receives, so a sum with them is an estimate.
            Some((posted, excludes_any_source)) => {
                let rest = if excludes_any_source { pending.posted_from_any } else { 0 };
                QueueLength { entries: posted + rest, measured: rest == 0 }
            }
            None => QueueLength { entries: pending.posted_from + pending.posted_from_any, measured: false },
        }
    }

    fn unexpected(&self, reported_ns: i64, watch: &Watch) -> QueueLength {
        match self.measured().and_then(|queues| queues.unexpected) {
            Some(entries) => QueueLength { entries, measured: true },
            None => QueueLength { entries: watch.flow.pending(self.rank, reported_ns), measured: false },
        }
    }

    fn life(&self, age_s: f64, all_ended: bool) -> ProcessState {
        if let Some(end) = self.file.end() {
            return match end.reason.as_str() {
                "finalize" => ProcessState::Finalized,
                "abort" => ProcessState::Aborted,
                _ => ProcessState::Exited,
            };
        }
        if let Some(lost) = &self.lost {
            return ProcessState::Unreadable(lost.to_string());
        }
        // A container hides the processes of other containers. A process that writes still runs.
        if all_ended || (self.has_ended && age_s > SILENT_S) {
            ProcessState::Died
        } else {
            ProcessState::Running
        }
    }
}

/// The state of a job without a state in the manifest, from its processes.
fn state(rows: &[Row], ranks: u32) -> JobState {
    let all_over = !rows.is_empty() && rows.iter().all(|row| row.life != ProcessState::Running);
    // `MPI_Init` waits for all processes, so missing processes do not start after a process died.
    let all_came = ranks > 0 && rows.len() == ranks as usize;
    if all_over && (all_came || rows.iter().any(|row| row.life == ProcessState::Died)) {
        JobState::Finished
    } else if rows.is_empty() {
        JobState::Waiting
    } else {
        JobState::Running
    }
}

/// A process id is valid on one host.
fn is_ended(head: &Head, own_host: &str) -> bool {
    head.host == own_host && head.pid > 0 && !process::is_running(head.pid, began(head))
}

fn began(head: &Head) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_nanos(u64::try_from(head.started_ns).unwrap_or(0))
}

fn seconds(ns: i64) -> f64 {
    ns.max(0) as f64 / 1e9
}

#[cfg(test)]
mod tests {
    use matchpoint_trace::Call;
    use matchpoint_trace::call::{Action, CommId, Peer, ReceiveArgs, RequestId, TagArg};

    use super::*;

    fn row(life: ProcessState) -> Row {
        Row {
            rank: 0,
            host: String::new(),
            pid: 1,
            posted: QueueLength::default(),
            unexpected: QueueLength::default(),
            calls: 0,
            calls_per_s: 0.0,
            age_s: 9.0,
            last_call_s: None,
            within: None,
            life,
        }
    }

    #[test]
    fn receive_after_measurement_gives_estimate() {
        let args =
            ReceiveArgs { source: Peer::Rank(1), tag: TagArg::Is(1), comm: CommId::WORLD, bytes: None };
        let post = |id| Call {
            action: Action::Receive { args, request: Some(RequestId(id)), status: None },
            ..Call::default()
        };
        let mut watch = Watch::default();
        let mut rank = Rank::new(0, PathBuf::new());
        let lengths = |rank: &Rank, watch: &Watch| (rank.posted(), rank.unexpected(0, watch));
        let measured = |entries| QueueLength { entries, measured: true };
        let estimated = |entries| QueueLength { entries, measured: false };
        rank.pending.call(&post(1), &mut watch.flow);
        let queues = Queues { at_ns: 0, posted: Some(1), unexpected: Some(7), excludes_any_source: false };
        rank.queues = Some((queues, rank.pending.changes));
        rank.pending.call(&Call::default(), &mut watch.flow);
        assert_eq!(lengths(&rank, &watch), (measured(1), measured(7)));
        (2..=2000).for_each(|id| rank.pending.call(&post(id), &mut watch.flow));
        assert_eq!(lengths(&rank, &watch), (estimated(2000), estimated(0)));
    }

    #[test]
    fn job_without_processes_is_not_running() {
        let of =
            |lives: &[ProcessState], ranks| state(&lives.iter().cloned().map(row).collect::<Vec<_>>(), ranks);
        assert_eq!(of(&[], 0), JobState::Waiting);
        assert_eq!(of(&[ProcessState::Finalized, ProcessState::Running], 2), JobState::Running);
        assert_eq!(of(&[ProcessState::Finalized, ProcessState::Died], 2), JobState::Finished);
        assert_eq!(of(&[ProcessState::Died, ProcessState::Died], 3), JobState::Finished);
        // A short process may finish before the other files exist.
        assert_eq!(of(&[ProcessState::Finalized], 2), JobState::Running);
    }
}
