//! Time, cheaply.

use std::time::Instant;

/// Ticks of the processor's own clock, or nanoseconds where it has none that user code may read.
#[inline]
pub fn ticks() -> u64 {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: every x86-64 has the instruction; it reads a counter and nothing else.
    return unsafe { std::arch::x86_64::_rdtsc() };
    #[cfg(not(target_arch = "x86_64"))]
    return nanoseconds();
}

/// Nanoseconds since some moment in the past.
pub fn nanoseconds() -> u64 {
    static START: std::sync::OnceLock<Instant> = std::sync::OnceLock::new();
    START.get_or_init(Instant::now).elapsed().as_nanos() as u64
}

/// Both clocks at one moment; the rate of the one by the other is found from two such.
#[derive(Clone, Copy)]
pub struct Moment {
    ticks: u64,
    nanoseconds: u64,
}

impl Moment {
    /// Now.
    pub fn now() -> Self {
        Moment { ticks: ticks(), nanoseconds: nanoseconds() }
    }

    /// Nanoseconds that have passed since, and how many a tick has; at least a microsecond must have passed.
    pub fn since(self) -> (u64, f64) {
        let now = Moment::now();
        let passed = (now.nanoseconds - self.nanoseconds).max(1);
        (passed, passed as f64 / now.ticks.saturating_sub(self.ticks).max(1) as f64)
    }
}
