//! Two clocks: the time that passed, and what this thread had of it.
//!
//! On a machine that runs something else, a thread waits for a processor in the middle of what it times. The wall clock
//! counts that, the thread's own does not: budgets go by the latter, so that a busy machine plays no less of a trace,
//! and the difference tells how busy it was. What a hypervisor takes is in neither.

use std::time::{Duration, Instant};

/// A thread that had this much less than what passed was interrupted. Less is the resolution of the two clocks.
const INTERRUPTED: Duration = Duration::from_micros(20);

/// Time between two readings of both clocks.
#[derive(Clone, Copy, Default)]
pub(crate) struct Lap {
    pub wall: Duration,
    pub cpu: Duration,
}

impl Lap {
    /// Whether the thread waited for a processor in it.
    pub fn was_interrupted(self) -> bool {
        self.wall.saturating_sub(self.cpu) > INTERRUPTED
    }
}

/// Both clocks, read together. One reading ends a lap and begins the next: the thread's clock is a system call.
pub(crate) struct Laps {
    wall: Instant,
    cpu: Option<Duration>,
}

impl Laps {
    pub fn start() -> Self {
        Laps { wall: Instant::now(), cpu: thread_cpu() }
    }

    pub fn lap(&mut self) -> Lap {
        let now = Laps::start();
        let wall = now.wall - self.wall;
        let cpu = now.cpu.zip(self.cpu).map_or(wall, |(now, then)| now.saturating_sub(then));
        *self = now;
        Lap { wall, cpu }
    }
}

/// Processor time of all threads of this process; where it cannot be had, the time that passed.
pub(crate) struct Passed {
    wall: Instant,
    cpu: Option<Duration>,
}

impl Passed {
    pub fn start() -> Self {
        Passed { wall: Instant::now(), cpu: process_cpu() }
    }

    pub fn passed(&self) -> Duration {
        let cpu = process_cpu().zip(self.cpu).map(|(now, then)| now.saturating_sub(then));
        cpu.unwrap_or_else(|| self.wall.elapsed())
    }
}

#[cfg(target_os = "linux")]
fn thread_cpu() -> Option<Duration> {
    read(nix::time::ClockId::CLOCK_THREAD_CPUTIME_ID)
}

#[cfg(target_os = "linux")]
fn process_cpu() -> Option<Duration> {
    read(nix::time::ClockId::CLOCK_PROCESS_CPUTIME_ID)
}

#[cfg(target_os = "linux")]
fn read(clock: nix::time::ClockId) -> Option<Duration> {
    clock.now().ok().map(Duration::from)
}

#[cfg(not(target_os = "linux"))]
fn thread_cpu() -> Option<Duration> {
    None
}

#[cfg(not(target_os = "linux"))]
fn process_cpu() -> Option<Duration> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiting_takes_time_but_no_processor() {
        let mut laps = Laps::start();
        std::thread::sleep(Duration::from_millis(20));
        let asleep = laps.lap();
        assert!(asleep.wall >= Duration::from_millis(20));
        if cfg!(target_os = "linux") {
            assert!(asleep.was_interrupted() && asleep.cpu < asleep.wall / 2, "{:?}", asleep.cpu);
        }
    }
}
