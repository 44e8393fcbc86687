//! Time of an engine's operations with warm caches.

#[derive(Clone, Copy, Default)]
pub(crate) struct Timing {
    pub ns: f64,
    pub steps: u64,
}

impl Timing {
    pub fn add(&mut self, ns: f64, steps: usize) {
        self.ns += ns;
        self.steps += steps as u64;
    }

    pub fn per_step(self) -> Option<f64> {
        (self.steps > 0).then(|| self.ns / self.steps as f64)
    }
}

/// Recent time per step, which distinguishes interrupted bursts from slow bursts.
#[derive(Clone, Copy, Default)]
pub(crate) struct RecentTime {
    per_step_ns: f64,
}

/// An interrupted burst took longer than `INTERRUPTION_NS` and than a multiple of the recent time. If the
/// clocks show that the thread waited, the multiple is smaller.
const INTERRUPTION_NS: f64 = 20_000.0;
const INTERRUPTION_FACTOR: f64 = 8.0;
const KNOWN_FACTOR: f64 = 2.0;

const LATEST: f64 = 0.125;

impl RecentTime {
    pub fn filter_interrupted(&mut self, ns: f64, steps: usize, waited: bool) -> (f64, bool) {
        let usual_ns = self.per_step_ns * steps as f64;
        let known = self.per_step_ns > 0.0;
        let factor = if waited { KNOWN_FACTOR } else { INTERRUPTION_FACTOR };
        let interrupted = known && ns > INTERRUPTION_NS && ns > factor * usual_ns;
        let ns_per_step = ns / steps as f64;
        // After a permanent change, the recent time slowly approaches the new time.
        let latest = if interrupted { factor * self.per_step_ns } else { ns_per_step };
        let weight = if known { LATEST } else { 1.0 };
        self.per_step_ns += weight * (latest - self.per_step_ns);
        (if interrupted { usual_ns } else { ns }, interrupted)
    }
}

#[cfg(test)]
mod tests {
    use super::RecentTime;

    #[test]
    fn interruption_is_ignored_lasting_change_counts() {
        let mut recent = RecentTime::default();
        for _ in 0..10 {
            assert_eq!(recent.filter_interrupted(320.0, 32, false), (320.0, false));
        }
        let (counted, interrupted) = recent.filter_interrupted(5_000_000.0, 32, true);
        assert!(interrupted && (counted - 320.0).abs() < 1e-6, "{counted}");
        let slow: Vec<f64> = (0..20).map(|_| recent.filter_interrupted(320_000.0, 32, false).0).collect();
        assert_eq!(slow[19], 320_000.0);
    }
}
