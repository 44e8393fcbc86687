//! Host load during a measurement.

use std::num::NonZero;
use std::{fs, thread};

use matchpoint_replay::format::{counted, digits};

#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Load {
    /// Mean number of running or runnable threads in the last minute.
    pub average: f64,
    /// All processors of the host, because the load average covers the host.
    cores: u64,
}

impl Load {
    /// `None`: the system is not Linux.
    pub fn now() -> Option<Load> {
        Load::of(&fs::read_to_string("/proc/loadavg").ok()?, &fs::read_to_string("/proc/stat").ok()?)
    }

    fn of(loadavg: &str, stat: &str) -> Option<Load> {
        let is_core = |line: &&str| {
            line.strip_prefix("cpu")
                .is_some_and(|rest| rest.starts_with(|first: char| first.is_ascii_digit()))
        };
        let average = loadavg.split_whitespace().next()?.parse().ok()?;
        Some(Load { average, cores: stat.lines().filter(is_core).count() as u64 })
    }

    pub fn warning(self) -> Option<String> {
        let idle = self.cores.saturating_sub(1);
        // An idle host has a load of up to 0.1.
        let is_busy = self.average >= idle as f64 + 0.1;
        is_busy.then(|| {
            format!(
                "host load: the load average is {}, and a measurement leaves {} idle. The times may be too high.\nhint: end \
                 other programs, wait a minute, and measure again",
                digits(self.average),
                counted(idle, "core")
            )
        })
    }
}

pub fn too_few_processors(threads: usize) -> Option<String> {
    let processors = thread::available_parallelism().map_or(1, NonZero::get);
    (threads > processors).then(|| {
        format!(
            "this process may use {}: in measurements with more threads, up to {threads} here, threads wait for a processor",
            counted(processors as u64, "processor")
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_few_processors_give_warning() {
        let warning = too_few_processors(1 << 20).unwrap();
        assert!(warning.contains(", up to 1048576 here, "), "{warning}");
        assert_eq!(too_few_processors(1), None);
    }

    const STAT: &str = "cpu  4 0 2 9\ncpu0 2 0 1 4\ncpu1 2 0 1 5\nctxt 7\ncpufreq 1\n";

    #[test]
    fn load_parses_linux_files() {
        assert_eq!(Load::of("1.25 2.63 1.72 7/139 16950\n", STAT), Some(Load { average: 1.25, cores: 2 }));
        assert_eq!(Load::of("", STAT), None);
        assert_eq!(Load::of("busy", STAT), None);
    }

    #[test]
    fn load_above_idle_processors_gives_warning() {
        let warning = |average: f64, cores: u64| Load { average, cores }.warning();
        for (average, cores) in [(0.0, 1), (0.09, 1), (1.0, 2), (1.05, 2), (63.0, 64)] {
            assert_eq!(warning(average, cores), None, "{average} {cores}");
        }
        assert!(warning(0.5, 1).unwrap().contains("load average is 0.500, and a measurement leaves 0 cores"));
        assert!(
            warning(1.2, 2).unwrap().contains("load average is 1.20, and a measurement leaves 1 core idle")
        );
        assert!(warning(70.0, 64).unwrap().ends_with("wait a minute, and measure again"));
    }
}
