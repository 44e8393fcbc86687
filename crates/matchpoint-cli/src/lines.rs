//! Progress as lines, if standard error is no terminal.

use std::time::{Duration, Instant};

pub const INTERVAL: Duration = Duration::from_secs(10);

pub struct ProgressLines {
    next: Instant,
}

impl ProgressLines {
    pub fn at_once() -> Self {
        ProgressLines { next: Instant::now() }
    }

    pub fn later() -> Self {
        ProgressLines { next: Instant::now() + INTERVAL }
    }

    pub fn print(&mut self, line: impl FnOnce() -> String) {
        if Instant::now() >= self.next {
            anstream::eprintln!("matchpoint: {}", line());
            self.next = Instant::now() + INTERVAL;
        }
    }
}
