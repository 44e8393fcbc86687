//! Cost of cold caches: a surcharge per phase, by the number of its steps.
//!
//! After a compute phase, the next steps fetch queues and code once, so a phase with one step costs nearly as
//! much as a phase with ten. Some phases are measured with flushed caches; all are counted.

use std::hint::black_box;

use crate::step::Step;

/// A compute phase of this length replaces the queues in the caches.
const COMPUTE_PHASE_NS: i64 = 20_000;

const SIZES: usize = 10;

/// One phase in `FIRST_INTERVAL` is measured; after every `PER_STAGE` samples of a size, the fraction halves.
/// This covers several ranks and the whole run.
const FIRST_INTERVAL: u64 = 4;
const PER_STAGE: u64 = 8;

const SAMPLES_MIN: usize = 5;

pub(crate) fn is_same_phase(one: &Step, next: &Step) -> bool {
    next.at_ns - one.at_ns < COMPUTE_PHASE_NS
}

fn size_class(steps: usize) -> usize {
    (steps.max(1).ilog2() as usize).min(SIZES - 1)
}

#[derive(Clone, Default)]
pub(crate) struct PhaseCounts {
    counts: [u64; SIZES],
    open: usize,
    last_ns: i64,
}

impl PhaseCounts {
    pub fn begins(&self, step: &Step) -> bool {
        self.open == 0 || step.at_ns - self.last_ns >= COMPUTE_PHASE_NS
    }

    pub fn note(&mut self, step: &Step) {
        if self.begins(step) {
            self.end();
        }
        self.open += 1;
        self.last_ns = step.at_ns;
    }

    pub fn end(&mut self) {
        if self.open > 0 {
            self.counts[size_class(self.open)] += 1;
            self.open = 0;
        }
    }
}

/// Selects program phases at random, equally in every replay. A regular selection would always select the same
/// ranks.
pub(crate) struct PhaseSampler {
    drawn: [u64; SIZES],
    state: u64,
}

impl Default for PhaseSampler {
    fn default() -> Self {
        PhaseSampler { drawn: [0; SIZES], state: 1 }
    }
}

impl PhaseSampler {
    pub fn selects(&mut self, steps: usize) -> bool {
        let drawn = &mut self.drawn[size_class(steps)];
        let interval = FIRST_INTERVAL << (*drawn / PER_STAGE).min(40);
        self.state =
            self.state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let is_drawn = (self.state >> 33) % interval == 0;
        *drawn += u64::from(is_drawn);
        is_drawn
    }
}

#[derive(Clone, Copy)]
pub(crate) struct Sample {
    pub process: u32,
    pub steps: u32,
    pub ns: f64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Surcharge([f64; SIZES]);

impl Surcharge {
    pub fn of(samples: &[Sample], warm_ns: impl Fn(u32) -> f64) -> Self {
        let mut by_size: [Vec<f64>; SIZES] = Default::default();
        for sample in samples {
            let warm_ns = warm_ns(sample.process) * f64::from(sample.steps);
            by_size[size_class(sample.steps as usize)].push((sample.ns - warm_ns).max(0.0));
        }
        // A size with few samples includes samples of neighboring sizes.
        let around = |size: usize, radius: usize| -> Vec<f64> {
            let (from, to) = (size.saturating_sub(radius), (size + radius).min(SIZES - 1));
            by_size[from..=to].concat()
        };
        let sufficient =
            |size: usize| (0..SIZES).map(|radius| around(size, radius)).find(|of| of.len() >= SAMPLES_MIN);
        Surcharge(std::array::from_fn(|size| median(sufficient(size).unwrap_or_else(|| around(size, SIZES)))))
    }

    pub fn sum(&self, phases: &PhaseCounts) -> f64 {
        phases.counts.iter().zip(self.0).map(|(&count, ns)| count as f64 * ns).sum()
    }
}

/// The lower median: outliers in less than half of the samples do not change the result.
fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len().saturating_sub(1) / 2).copied().unwrap_or(0.0)
}

const FLUSH_BYTES: usize = 16 << 20;

const LINE: usize = 64;

/// Flushes only the core's private caches: a shared last-level cache may be larger than any buffer.
#[derive(Default)]
pub(crate) struct CacheFlusher(Vec<u8>);

impl CacheFlusher {
    pub fn flush(&mut self) {
        // The first use allocates, because the allocation takes as long as a few thousand calls.
        if self.0.is_empty() {
            self.0 = vec![1; FLUSH_BYTES];
        }
        for line in self.0.chunks_mut(LINE) {
            line[0] = line[0].wrapping_add(1);
        }
        black_box(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::step::Kind;
    use matchpoint::{ContextId, Envelope, Message, MsgId, Rank, Tag};

    fn at(at_ns: i64) -> Step {
        let message = Message::new(MsgId(0), Envelope::new(ContextId(0), Rank(0), Tag(0)));
        Step { at_ns, kind: Kind::Retract { message }, site: 0 }
    }

    #[test]
    fn compute_time_ends_phase() {
        let mut phases = PhaseCounts::default();
        for ns in [0, 1, 2, 50_000, 100_000, 100_001] {
            phases.note(&at(ns));
        }
        phases.end();
        assert_eq!(phases.counts[..3], [1, 2, 0]);
    }

    #[test]
    fn two_outliers_do_not_change_surcharge() {
        let sample = |steps, ns| Sample { process: 0, steps, ns };
        let samples = [500.0, 520.0, 4e6, 515.0, 9e9].map(|ns| sample(1, ns));
        let Surcharge(by_size) = Surcharge::of(&samples, |_| 10.0);
        assert_eq!(by_size[0], 510.0);
        assert_eq!(by_size[9], 510.0, "no other size is known");
        let one_more: Vec<Sample> = samples.into_iter().chain([sample(4, 7e7)]).collect();
        assert_eq!(Surcharge::of(&one_more, |_| 10.0).0[2], 510.0, "one sample is not enough");
        let mut phases = PhaseCounts::default();
        phases.note(&at(0));
        phases.end();
        assert_eq!(Surcharge(by_size).sum(&phases), 510.0);
    }

    #[test]
    fn later_phases_are_sampled_less() {
        let mut sampler = PhaseSampler::default();
        let mut count = |of: usize| (0..of).filter(|_| sampler.selects(3)).count();
        let (first, rest) = (count(100), count(1_000_000));
        assert!(first >= 8 && rest < 200, "{first} {rest}");
    }
}
