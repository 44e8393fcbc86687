//! Progress as lines, if standard error is no terminal.

use std::time::{Duration, Instant};

pub const PLAIN: Duration = Duration::from_secs(10);

/// Prints progress at intervals.
pub struct Lines {
    next: Instant,
}

impl Lines {
    pub fn at_once() -> Self {
        Lines { next: Instant::now() }
    }

    pub fn later() -> Self {
        Lines { next: Instant::now() + PLAIN }
    }

    /// Prints a line on standard error if the interval has passed.
    pub fn print(&mut self, line: impl FnOnce() -> String) {
        if Instant::now() >= self.next {
            anstream::eprintln!("matchpoint: {}", line());
            self.next = Instant::now() + PLAIN;
        }
    }
}
