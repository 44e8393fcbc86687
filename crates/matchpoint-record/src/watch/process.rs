//! Processes of this host, read from `/proc`.

use std::fs;
use std::time::{Duration, SystemTime};

/// Fields of `/proc/PID/stat`, see proc_pid_stat(5).
#[derive(Debug, PartialEq, Eq)]
pub struct Stat {
    /// Whether the process has ended. Its id is in use until the parent waits.
    pub is_ended: bool,
    pub parent: u32,
    /// Start time, after the boot of the host.
    started: Duration,
}

/// Tolerance for clock changes, shorter than the reuse of a process id.
const SLACK: Duration = Duration::from_secs(60);

/// Ticks per second in `/proc` (time(7): `USER_HZ`).
const TICKS_PER_S: u64 = 100;

pub fn stat(pid: u64) -> Option<Stat> {
    parse(&fs::read(format!("/proc/{pid}/stat")).ok()?)
}

/// Whether the process that had this id at `then` still runs. A zombie process does not run.
pub fn is_running(pid: u64, then: SystemTime) -> bool {
    stat(pid).is_some_and(|stat| !stat.is_ended && started_at(&stat) <= then + SLACK)
}

fn started_at(stat: &Stat) -> SystemTime {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    let up = Duration::new(now.tv_sec.unsigned_abs(), u32::try_from(now.tv_nsec).unwrap_or(0));
    SystemTime::now() - up.saturating_sub(stat.started)
}

/// State and parent follow the name, which may contain spaces and brackets. The start time is field 22.
fn parse(line: &[u8]) -> Option<Stat> {
    let behind = line.iter().rposition(|&byte| byte == b')')?;
    let words: Vec<&str> = std::str::from_utf8(&line[behind + 1..]).ok()?.split_ascii_whitespace().collect();
    let ticks: u64 = words.get(19)?.parse().ok()?;
    Some(Stat {
        is_ended: matches!(*words.first()?, "Z" | "X"),
        parent: words.get(1)?.parse().ok()?,
        started: Duration::from_millis(ticks.saturating_mul(1000 / TICKS_PER_S)),
    })
}

#[cfg(test)]
mod tests {
    use std::process::Command;
    use std::time::Instant;

    use super::*;

    #[test]
    fn fields_follow_any_process_name() {
        let rest = "7 12 12 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 250 1000";
        let of = |name: &str, state: &str| parse(format!("12 ({name}) {state} {rest}").as_bytes());
        let started = Duration::from_millis(2500);
        assert_eq!(of("mpiexec", "S"), Some(Stat { is_ended: false, parent: 7, started }));
        assert_eq!(of("a) b (c)", "Z"), Some(Stat { is_ended: true, parent: 7, started }));
        assert_eq!(parse(b"12"), None);
        assert_eq!(parse(b"12 (a) S 7"), None);
    }

    /// If the first process of a container does not wait for its children, the children remain zombies.
    #[test]
    fn zombie_process_counts_as_ended() {
        let mut child = Command::new("true").spawn().unwrap();
        let begun = Instant::now();
        while is_running(child.id().into(), SystemTime::now()) && begun.elapsed().as_secs() < 20 {
            std::thread::sleep(Duration::from_millis(5));
        }
        let (seen, kept) = (is_running(child.id().into(), SystemTime::now()), stat(child.id().into()));
        child.wait().unwrap();
        assert!(!seen && kept.is_some(), "{kept:?}");
    }

    #[test]
    fn reused_process_number_is_another_process() {
        let own = std::process::id().into();
        assert!(is_running(own, SystemTime::now()));
        assert!(!is_running(own, SystemTime::UNIX_EPOCH));
    }
}
