//! Time budget of an engine, in processor time of its thread.

use std::time::{Duration, Instant};

/// Multiple of the budget, in elapsed time, after which an engine with other threads or a GPU is stopped.
const ELAPSED_FACTOR_MAX: u32 = 16;

/// Smallest budget with [`ELAPSED_FACTOR_MAX`]. Under host load a thread can wait tens of milliseconds for a processor.
const ELAPSED_BUDGET_MIN: Duration = Duration::from_secs(1);

pub(crate) struct Stopwatch {
    started: Instant,
    cpu: Option<Duration>,
}

impl Stopwatch {
    pub fn start() -> Self {
        Stopwatch { started: Instant::now(), cpu: cpu() }
    }

    /// The processor time, if above `budget`. Below the budget, a call costs one clock read.
    pub fn exceeding(&self, budget: Duration) -> Option<Duration> {
        let elapsed = self.started.elapsed();
        if elapsed <= budget {
            return None;
        }
        let spent = self.cpu.zip(cpu()).map_or(elapsed, |(before, now)| now.saturating_sub(before));
        is_exceeded(budget, elapsed, spent).then_some(spent)
    }
}

fn is_exceeded(budget: Duration, elapsed: Duration, spent: Duration) -> bool {
    spent > budget || elapsed > ELAPSED_FACTOR_MAX * budget.max(ELAPSED_BUDGET_MIN)
}

pub(crate) fn format_duration(spent: Duration) -> String {
    let ns = spent.as_nanos() as f64;
    let (of, unit) = match ns {
        ..1e3 => (ns, "ns"),
        ..1e6 => (ns / 1e3, "µs"),
        ..1e9 => (ns / 1e6, "ms"),
        _ => (ns / 1e9, "s"),
    };
    let decimals = if of < 10.0 { 2 } else { usize::from(of < 100.0) };
    format!("{of:.decimals$} {unit}")
}

fn cpu() -> Option<Duration> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split_whitespace().next()?.parse().ok().map(Duration::from_nanos)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sleep_takes_no_processor_time() {
        let spent = Stopwatch::start();
        assert!(spent.exceeding(Duration::from_secs(60)).is_none());
        std::thread::sleep(Duration::from_millis(20));
        assert_eq!(spent.exceeding(Duration::from_millis(10)).is_some(), cpu().is_none());
    }

    #[test]
    fn waiting_thread_has_larger_limit() {
        let is_exceeded = |budget, elapsed| {
            is_exceeded(Duration::from_millis(budget), Duration::from_millis(elapsed), Duration::ZERO)
        };
        assert!(!is_exceeded(1, 16_000) && is_exceeded(1, 16_001));
        assert!(!is_exceeded(2_000, 32_000) && is_exceeded(2_000, 32_001));
    }

    #[test]
    fn short_durations_are_not_rounded_to_zero() {
        for (micros, text) in
            [(1, "1.00 µs"), (2_340, "2.34 ms"), (40_500, "40.5 ms"), (12_345_678, "12.3 s")]
        {
            assert_eq!(format_duration(Duration::from_micros(micros)), text);
        }
    }

    #[test]
    fn work_takes_processor_time() {
        let spent = Stopwatch::start();
        let budget = Duration::from_millis(20);
        let mut sum = 0_u64;
        let found = loop {
            (0..10_000_u64).for_each(|number| sum = std::hint::black_box(sum ^ number));
            if let Some(found) = spent.exceeding(budget) {
                break found;
            }
        };
        assert!(cpu().is_none() || spent.started.elapsed() > ELAPSED_FACTOR_MAX * budget || found > budget);
    }
}
