//! How much time an engine has spent: its own, not that of whatever else ran on the processor meanwhile.

use std::time::{Duration, Instant};

/// An engine that hardly gets a processor is given up after so many times its budget.
const STARVED: u32 = 16;

/// Runs from when it is made.
pub(crate) struct Spent {
    started: Instant,
    cpu: Option<Duration>,
}

impl Spent {
    pub fn start() -> Self {
        Spent { started: Instant::now(), cpu: cpu() }
    }

    /// What was spent, if it is more than `budget`. Until then it costs a look at the clock, and afterwards some
    /// microseconds.
    pub fn beyond(&self, budget: Duration) -> Option<Duration> {
        let elapsed = self.started.elapsed();
        if elapsed <= budget {
            return None;
        }
        let spent = self.cpu.zip(cpu()).map_or(elapsed, |(before, now)| now.saturating_sub(before));
        (spent > budget || elapsed > STARVED * budget).then_some(spent)
    }
}

/// So long, in words: three digits in a unit that leaves some before the point.
pub(crate) fn told(spent: Duration) -> String {
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

/// Time that this thread has had a processor, as Linux tells it.
fn cpu() -> Option<Duration> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split_whitespace().next()?.parse().ok().map(Duration::from_nanos)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sleeping_spends_nothing_where_the_system_tells() {
        let spent = Spent::start();
        assert!(spent.beyond(Duration::from_secs(60)).is_none());
        std::thread::sleep(Duration::from_millis(20));
        assert_eq!(spent.beyond(Duration::from_millis(10)).is_some(), cpu().is_none());
        assert!(spent.beyond(Duration::from_millis(1)).is_some(), "starved for sixteen times the budget");
    }

    #[test]
    fn short_durations_are_not_rounded_to_zero() {
        for (micros, text) in
            [(1, "1.00 µs"), (2_340, "2.34 ms"), (40_500, "40.5 ms"), (12_345_678, "12.3 s")]
        {
            assert_eq!(told(Duration::from_micros(micros)), text);
        }
    }

    #[test]
    fn working_spends() {
        let spent = Spent::start();
        let budget = Duration::from_millis(20);
        let mut sum = 0_u64;
        let found = loop {
            (0..10_000_u64).for_each(|number| sum = std::hint::black_box(sum ^ number));
            if let Some(found) = spent.beyond(budget) {
                break found;
            }
        };
        assert!(cpu().is_none() || spent.started.elapsed() > STARVED * budget || found > budget);
    }
}
