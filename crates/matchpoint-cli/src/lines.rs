//! How far something is, in lines: where standard error is no terminal, on which a bar would be drawn.

use std::time::{Duration, Instant};

/// Between two lines.
pub const PLAIN: Duration = Duration::from_secs(10);

/// Says when it is time for a line.
pub struct Lines {
    next: Instant,
}

impl Lines {
    /// The first at once.
    pub fn at_once() -> Self {
        Lines { next: Instant::now() }
    }

    /// The first once it has taken long.
    pub fn later() -> Self {
        Lines { next: Instant::now() + PLAIN }
    }

    /// Prints a line on standard error, if it is time to.
    pub fn tell(&mut self, line: impl FnOnce() -> String) {
        if Instant::now() >= self.next {
            anstream::eprintln!("matchpoint: {}", line());
            self.next = Instant::now() + PLAIN;
        }
    }
}
