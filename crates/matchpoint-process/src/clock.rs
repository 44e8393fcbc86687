//! Clocks for time stamps, which take a few nanoseconds to read.
#![allow(unsafe_code)]

use std::time::Instant;

/// Returns the time-stamp counter, or nanoseconds on processors other than x86-64.
#[inline]
pub fn ticks() -> u64 {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: every x86-64 processor has the instruction, which only reads a counter.
    return unsafe { std::arch::x86_64::_rdtsc() };
    #[cfg(not(target_arch = "x86_64"))]
    return nanoseconds();
}

/// The clock of the recorder, `matchpoint record`. Both choose the clock by the same rule, so their time
/// stamps are comparable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SharedClock {
    /// `CLOCK_MONOTONIC`, in nanoseconds.
    Monotonic = 0,
    /// The time-stamp counter of x86-64, if all cores have the same rate.
    Tsc = 1,
    /// The register `CNTVCT_EL0` of AArch64.
    Cntvct = 2,
}

impl SharedClock {
    /// Returns the clock for this host.
    pub fn choose() -> Self {
        #[cfg(target_arch = "x86_64")]
        {
            const LEAF: u32 = 0x8000_0007;
            // Older versions of Rust declare the function as unsafe.
            #[allow(unused_unsafe)]
            // SAFETY: every x86-64 processor has the instruction; it only returns numbers.
            let cpuid = |leaf| unsafe { std::arch::x86_64::__cpuid(leaf) };
            let has_leaf = cpuid(0x8000_0000).eax >= LEAF;
            if has_leaf && cpuid(LEAF).edx & 1 << 8 != 0 {
                return SharedClock::Tsc;
            }
        }
        if cfg!(target_arch = "aarch64") { SharedClock::Cntvct } else { SharedClock::Monotonic }
    }

    /// Reads the clock.
    pub fn now(self) -> u64 {
        match self {
            SharedClock::Tsc => ticks(),
            SharedClock::Cntvct => virtual_count(),
            SharedClock::Monotonic => monotonic(),
        }
    }
}

#[cfg(target_arch = "aarch64")]
fn virtual_count() -> u64 {
    let count: u64;
    // SAFETY: user code may read this register.
    unsafe { std::arch::asm!("mrs {}, cntvct_el0", out(reg) count) };
    count
}

#[cfg(not(target_arch = "aarch64"))]
fn virtual_count() -> u64 {
    monotonic()
}

fn monotonic() -> u64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `now` has room for the result.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut now) };
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// Nanoseconds since the first call.
pub fn nanoseconds() -> u64 {
    static START: std::sync::OnceLock<Instant> = std::sync::OnceLock::new();
    START.get_or_init(Instant::now).elapsed().as_nanos() as u64
}

/// A time on both clocks. Two moments give the length of a tick.
#[derive(Clone, Copy)]
pub struct Moment {
    ticks: u64,
    nanoseconds: u64,
}

impl Moment {
    /// The current time on both clocks.
    pub fn now() -> Self {
        Moment { ticks: ticks(), nanoseconds: nanoseconds() }
    }

    /// Returns the nanoseconds since this moment, and the nanoseconds per tick. Inaccurate within the first
    /// microsecond.
    pub fn since(self) -> (u64, f64) {
        let now = Moment::now();
        let passed = (now.nanoseconds - self.nanoseconds).max(1);
        (passed, passed as f64 / now.ticks.saturating_sub(self.ticks).max(1) as f64)
    }
}
