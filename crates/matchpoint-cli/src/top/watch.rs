//! All files of a trace, as they grow.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use matchpoint_trace::native::head::Head;
use matchpoint_trace::native::manifest::{self, Manifest};
use matchpoint_trace::native::{self, Entry, FollowError, Follower, Queues};

use super::flow::Flow;
use super::process;
use super::snapshot::{Length, Life, Row, Snapshot, State};
use super::standing::{MOST_RANKS, Standing};

/// A measured length that is older, by what the rank has reported since, is not shown: the rank has not called MPI, or is
/// within a call, and others may have sent to it meanwhile.
const MEASURED_FOR: Duration = Duration::from_secs(3);

/// A process writes each second, whether it calls MPI or not.
const SILENT_S: f64 = 3.0;

/// How long before what all ranks have told of messages are kept apart by their times.
const SETTLED_NS: i64 = 1_000_000_000;

/// A trace that is looked at again and again.
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
    standing: Standing,
    queues: Option<Queues>,
    /// Its process is not there any more, as far as can be seen from here.
    gone: bool,
    /// It had written nothing for long when all that it wrote was read.
    silent: bool,
}

impl Watch {
    /// Of the trace in a folder, in which there may be nothing yet.
    pub fn new(folder: &Path) -> Watch {
        let own_host = rustix::system::uname().nodename().to_string_lossy().into_owned();
        Watch { folder: folder.to_owned(), own_host, ..Watch::default() }
    }

    /// Reads what was added.
    pub fn read_all(&mut self) {
        while self.read_some() {}
    }

    /// Reads some of what was added to each file; whether there is more.
    pub fn read_some(&mut self) -> bool {
        // Before the files: what it says has ended then has written all that it will.
        let manifest = fs::read(self.folder.join(manifest::FILE)).ok();
        self.manifest = manifest.and_then(|text| serde_json::from_slice(&text).ok()).unwrap_or_default();
        self.find();
        self.behind = false;
        for rank in &mut self.ranks {
            self.behind |= rank.read(&mut self.flow, &self.own_host);
            if let Some(size) = rank.file.head().map(|head| head.size.min(MOST_RANKS)) {
                self.world = self.world.max(size);
            }
        }
        self.flow.settle(self.told_ns().saturating_sub(SETTLED_NS));
        self.behind
    }

    /// Until when all ranks have told what they did. One that is silent is not waited for.
    fn told_ns(&self) -> i64 {
        let tells = |rank: &&Rank| rank.file.head().is_some() && !rank.is_over() && !rank.silent;
        let until = self.ranks.iter().filter(tells).map(|rank| rank.file.until_ns());
        until.min().filter(|_| !self.is_finished()).unwrap_or(i64::MAX)
    }

    /// Finds files that have been made since. Names count ranks without a gap, but not all hosts begin at once.
    fn find(&mut self) {
        let all = self.world > 0 && self.ranks.len() >= self.world as usize;
        if all {
            return;
        }
        for entry in fs::read_dir(&self.folder).into_iter().flatten().flatten() {
            let Some(rank) = entry.file_name().to_str().and_then(native::rank_of_file_name) else { continue };
            if rank < MOST_RANKS && !self.ranks.iter().any(|known| known.rank == rank) {
                self.ranks.push(Rank::new(rank, entry.path()));
                self.world = self.world.max(rank + 1);
            }
        }
        self.ranks.sort_by_key(|rank| rank.rank);
    }

    /// The launcher has ended.
    fn is_finished(&self) -> bool {
        self.manifest.state == "finished" && !self.behind
    }

    /// What it looks like now.
    pub fn snapshot(&self) -> Snapshot {
        let at = SystemTime::now();
        let told_ns = self.told_ns();
        let rows: Vec<Row> = self.ranks.iter().filter_map(|rank| rank.row(at, told_ns, self)).collect();
        let heads: Vec<&Head> = self.ranks.iter().filter_map(|rank| rank.file.head()).collect();
        let ranks = heads.first().map_or(0, |head| head.size);
        let state = if self.is_finished() { State::Finished } else { state(&rows, ranks) };
        let library = heads.first().and_then(|head| head.library.lines().next()).unwrap_or_default();
        Snapshot {
            at,
            folder: self.folder.clone(),
            command: self.manifest.command.clone(),
            library: library.split_whitespace().collect::<Vec<_>>().join(" "),
            state,
            exit_status: self.manifest.exit_status.filter(|_| state == State::Finished),
            ranks,
            elsewhere: self.ranks.iter().map(|rank| rank.standing.elsewhere).sum(),
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
            standing: Standing::new(rank),
            queues: None,
            gone: false,
            silent: false,
        }
    }

    fn read(&mut self, flow: &mut Flow, own_host: &str) -> bool {
        if self.lost.is_some() || self.file.end().is_some() {
            return false;
        }
        // Looked at before what it wrote last is read.
        let gone = self.file.head().is_some_and(|head| is_gone(head, own_host));
        let (standing, queues) = (&mut self.standing, &mut self.queues);
        let more = self.file.read(&mut |entry| match entry {
            Entry::Call(call) => standing.call(call, flow),
            Entry::Queues(said) => *queues = Some(said),
        });
        let behind = matches!(more, Ok(true));
        self.gone = gone && !behind;
        // Not when it is shown: reading the others takes its time.
        self.silent = !behind && self.age_s(SystemTime::now()) > SILENT_S;
        more.unwrap_or_else(|lost| {
            self.lost = Some(lost);
            false
        })
    }

    fn row(&self, at: SystemTime, told_ns: i64, watch: &Watch) -> Option<Row> {
        if self.lost.is_none() {
            self.file.head()?;
        }
        let head = self.file.head();
        let age_s = self.age_s(at);
        let silent_s = seconds(self.file.until_ns().saturating_sub(self.standing.left_ns));
        let has_called = self.standing.left_ns > i64::MIN;
        Some(Row {
            rank: self.rank,
            host: head.map(|head| head.host.clone()).unwrap_or_default(),
            pid: head.map_or(0, |head| head.pid),
            posted: self.posted(),
            unexpected: self.unexpected(told_ns, watch),
            calls: self.file.calls(),
            calls_per_s: if self.file.end().is_some() { 0.0 } else { self.file.calls_per_s() },
            age_s,
            last_call_s: has_called.then_some(age_s + silent_s),
            within: self.file.within().map(str::to_owned),
            life: self.life(age_s, watch.is_finished()),
        })
    }

    /// How old what it wrote last is.
    fn age_s(&self, at: SystemTime) -> f64 {
        let since_1970 = at.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_nanos() as i64;
        seconds(since_1970 - self.file.until_wall_ns())
    }

    /// Nothing more will be read of it.
    fn is_over(&self) -> bool {
        self.lost.is_some() || self.gone || self.file.end().is_some()
    }

    /// What the library said last, unless that is old.
    fn measured(&self) -> Option<Queues> {
        let is_new = |queues: &Queues| {
            self.file.until_ns().saturating_sub(queues.at_ns) <= MEASURED_FOR.as_nanos() as i64
        };
        // After MPI_Finalize there are no queues.
        self.queues.filter(|queues| self.file.end().is_none() && is_new(queues))
    }

    fn posted(&self) -> Length {
        let standing = &self.standing;
        match self.measured().and_then(|queues| Some((queues.posted?, queues.excludes_any_source))) {
            // What the library leaves out is estimated: the sum is as well, unless there is nothing of it.
            Some((posted, excludes_any_source)) => {
                let rest = if excludes_any_source { standing.posted_from_any } else { 0 };
                Length { entries: posted + rest, measured: rest == 0 }
            }
            None => Length { entries: standing.posted_from + standing.posted_from_any, measured: false },
        }
    }

    fn unexpected(&self, told_ns: i64, watch: &Watch) -> Length {
        match self.measured().and_then(|queues| queues.unexpected) {
            Some(entries) => Length { entries, measured: true },
            None => Length { entries: watch.flow.standing(self.rank, told_ns), measured: false },
        }
    }

    fn life(&self, age_s: f64, all_ended: bool) -> Life {
        if let Some(end) = self.file.end() {
            return match end.reason.as_str() {
                "finalize" => Life::Finalized,
                "abort" => Life::Aborted,
                _ => Life::Left,
            };
        }
        if let Some(lost) = &self.lost {
            return Life::Lost(lost.to_string());
        }
        // From within a container other processes cannot be seen: one that goes on writing lives.
        if all_ended || (self.gone && age_s > SILENT_S) { Life::Died } else { Life::Running }
    }
}

/// How far a job is whose launcher may still run, or may be gone without a word.
fn state(rows: &[Row], ranks: u32) -> State {
    let all_over = !rows.is_empty() && rows.iter().all(|row| row.life != Life::Running);
    // `MPI_Init` waits for all: where one has died and nobody is left, those that are not there do not come.
    let all_came = ranks > 0 && rows.len() == ranks as usize;
    match () {
        () if all_over && (all_came || rows.iter().any(|row| row.life == Life::Died)) => State::Finished,
        () if rows.is_empty() => State::Waiting,
        () => State::Running,
    }
}

/// Numbers of processes mean something on their host alone.
fn is_gone(head: &Head, own_host: &str) -> bool {
    head.host == own_host && head.pid > 0 && !process::is_there(head.pid, began(head))
}

fn began(head: &Head) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_nanos(u64::try_from(head.started_ns).unwrap_or(0))
}

fn seconds(ns: i64) -> f64 {
    ns.max(0) as f64 / 1e9
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(life: Life) -> Row {
        Row {
            rank: 0,
            host: String::new(),
            pid: 1,
            posted: Length::default(),
            unexpected: Length::default(),
            calls: 0,
            calls_per_s: 0.0,
            age_s: 9.0,
            last_call_s: None,
            within: None,
            life,
        }
    }

    #[test]
    fn job_without_processes_is_not_running() {
        let of = |lives: &[Life], ranks| state(&lives.iter().cloned().map(row).collect::<Vec<_>>(), ranks);
        assert_eq!(of(&[], 0), State::Waiting);
        assert_eq!(of(&[Life::Finalized, Life::Running], 2), State::Running);
        assert_eq!(of(&[Life::Finalized, Life::Died], 2), State::Finished);
        // Of the third nothing was written before it was killed, too.
        assert_eq!(of(&[Life::Died, Life::Died], 3), State::Finished);
        // One that is quick may be through before others' files are seen.
        assert_eq!(of(&[Life::Finalized], 2), State::Running);
    }
}
