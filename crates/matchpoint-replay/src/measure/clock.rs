//! Elapsed time and processor time of the measuring thread.
//!
//! Limits use processor time, so that host load does not change how much of a trace is executed. Elapsed time
//! minus processor time measures the host load, except the load of a hypervisor.

use std::time::{Duration, Instant};

const INTERRUPTED: Duration = Duration::from_micros(20);

#[derive(Clone, Copy, Default)]
pub(crate) struct Elapsed {
    pub wall: Duration,
    pub cpu: Duration,
}

impl Elapsed {
    pub fn was_interrupted(self) -> bool {
        self.wall.saturating_sub(self.cpu) > INTERRUPTED
    }
}

/// One reading ends a measurement and begins the next, because a reading of the thread's clock needs a system
/// call.
pub(crate) struct Stopwatch {
    wall: Instant,
    cpu: Option<Duration>,
}

impl Stopwatch {
    pub fn start() -> Self {
        Stopwatch { wall: Instant::now(), cpu: thread_cpu() }
    }

    pub fn restart(&mut self) -> Elapsed {
        let now = Stopwatch::start();
        let wall = now.wall - self.wall;
        let cpu = now.cpu.zip(self.cpu).map_or(wall, |(now, then)| now.saturating_sub(then));
        *self = now;
        Elapsed { wall, cpu }
    }
}

/// Processor time of the process; elapsed time if the system has no such clock.
pub(crate) struct ProcessorClock {
    wall: Instant,
    cpu: Option<Duration>,
}

impl ProcessorClock {
    pub fn start() -> Self {
        ProcessorClock { wall: Instant::now(), cpu: process_cpu() }
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
    fn sleep_uses_no_processor_time() {
        let mut stopwatch = Stopwatch::start();
        std::thread::sleep(Duration::from_millis(20));
        let asleep = stopwatch.restart();
        assert!(asleep.wall >= Duration::from_millis(20));
        if cfg!(target_os = "linux") {
            assert!(asleep.was_interrupted() && asleep.cpu < asleep.wall / 2, "{:?}", asleep.cpu);
        }
    }
}
