//! Elapsed time and processor time of the measuring thread.
//!
//! A thread may wait for a processor under host load. Limits use processor time, so that load does not change
//! the executed share of a trace. The difference measures the load, without the share of a hypervisor.

use std::time::{Duration, Instant};

/// Smaller differences are the resolution of the clocks.
const INTERRUPTED: Duration = Duration::from_micros(20);

#[derive(Clone, Copy, Default)]
pub(crate) struct Lap {
    pub wall: Duration,
    pub cpu: Duration,
}

impl Lap {
    pub fn was_interrupted(self) -> bool {
        self.wall.saturating_sub(self.cpu) > INTERRUPTED
    }
}

/// One reading ends a measurement and begins the next: the thread's clock needs a system call.
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

/// Processor time of the process; elapsed time where not available.
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
