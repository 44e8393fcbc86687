//! What cold caches cost: a surcharge for each phase, by the number of steps in it.
//!
//! A process that computed finds its queues, and the code that searches them, pushed out of its caches. The steps that
//! follow closely fetch them once, so that what is cold is paid by the phase, not by the step: a phase of one step pays
//! nearly as much as one of ten. Some phases are played on flushed caches, all phases are counted, and a rank's
//! surcharge is the sum over its phases of what the played ones of that size cost.

use crate::step::Step;

/// A process that computes this long between two steps finds its caches taken by something else.
const COMPUTE_PHASE_NS: i64 = 20_000;

/// Sizes of phases that are told apart: 1, 2–3, 4–7, … 512 and more steps.
const SIZES: usize = 10;

/// Of the phases of one size, one in so many is played cold at first, so that more than one rank has its turn; after
/// every so many that were, one in twice as many. So the whole run is sampled whatever its length, at little cost.
const FIRST_INTERVAL: u64 = 4;
const PER_STAGE: u64 = 8;

/// Samples that a surcharge is taken from, at least, if there are so many.
const ENOUGH: usize = 5;

/// Whether the process did not compute for long between two steps.
pub(crate) fn same_phase(one: &Step, next: &Step) -> bool {
    next.at_ns - one.at_ns < COMPUTE_PHASE_NS
}

fn size(steps: usize) -> usize {
    (steps.max(1).ilog2() as usize).min(SIZES - 1)
}

/// How many phases of each size a process has.
#[derive(Clone, Default)]
pub(crate) struct Phases {
    counts: [u64; SIZES],
    /// Steps of the phase that has not ended yet, and the time of the last.
    open: usize,
    last_ns: i64,
}

impl Phases {
    /// Whether this step would begin a phase.
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

    /// Ends the phase that is open.
    pub fn end(&mut self) {
        if self.open > 0 {
            self.counts[size(self.open)] += 1;
            self.open = 0;
        }
    }
}

/// Which phases are played cold. Drawn, not counted: what is counted would fall on the same ranks again and again.
pub(crate) struct Draw {
    drawn: [u64; SIZES],
    state: u64,
}

impl Default for Draw {
    fn default() -> Self {
        Draw { drawn: [0; SIZES], state: 1 }
    }
}

impl Draw {
    /// The same for every run of the same trace.
    pub fn is_drawn(&mut self, steps: usize) -> bool {
        let drawn = &mut self.drawn[size(steps)];
        let interval = FIRST_INTERVAL << (*drawn / PER_STAGE).min(40);
        self.state =
            self.state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let is_drawn = (self.state >> 33) % interval == 0;
        *drawn += u64::from(is_drawn);
        is_drawn
    }
}

/// One phase as an engine played it on flushed caches.
#[derive(Clone, Copy)]
pub(crate) struct Sample {
    pub process: u32,
    pub steps: u32,
    pub ns: f64,
}

/// What a phase costs beyond its steps' warm time, by size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Surcharge([f64; SIZES]);

impl Surcharge {
    /// From samples, and from what a step takes warm at each process.
    pub fn of(samples: &[Sample], warm_ns: impl Fn(u32) -> f64) -> Self {
        let mut by_size: [Vec<f64>; SIZES] = Default::default();
        for sample in samples {
            let warm_ns = warm_ns(sample.process) * f64::from(sample.steps);
            by_size[size(sample.steps as usize)].push((sample.ns - warm_ns).max(0.0));
        }
        // Few of a size say little: those of its neighbours are taken with them.
        let around = |size: usize, radius: usize| -> Vec<f64> {
            let (from, to) = (size.saturating_sub(radius), (size + radius).min(SIZES - 1));
            by_size[from..=to].concat()
        };
        let enough =
            |size: usize| (0..SIZES).map(|radius| around(size, radius)).find(|of| of.len() >= ENOUGH);
        Surcharge(std::array::from_fn(|size| median(enough(size).unwrap_or_else(|| around(size, SIZES)))))
    }

    /// Of all phases of a process.
    pub fn sum(&self, phases: &Phases) -> f64 {
        phases.counts.iter().zip(self.0).map(|(&count, ns)| count as f64 * ns).sum()
    }
}

/// What made less than half of the samples longer does not move it. The lower of two in the middle.
fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len().saturating_sub(1) / 2).copied().unwrap_or(0.0)
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
    fn phases_end_where_the_process_computed() {
        let mut phases = Phases::default();
        for ns in [0, 1, 2, 50_000, 100_000, 100_001] {
            phases.note(&at(ns));
        }
        phases.end();
        assert_eq!(phases.counts[..3], [1, 2, 0]);
    }

    #[test]
    fn two_samples_in_five_may_be_absurd() {
        let sample = |steps, ns| Sample { process: 0, steps, ns };
        let samples = [500.0, 520.0, 4e6, 515.0, 9e9].map(|ns| sample(1, ns));
        let Surcharge(by_size) = Surcharge::of(&samples, |_| 10.0);
        assert_eq!(by_size[0], 510.0);
        assert_eq!(by_size[9], 510.0, "no other size is known");
        let one_more: Vec<Sample> = samples.into_iter().chain([sample(4, 7e7)]).collect();
        assert_eq!(Surcharge::of(&one_more, |_| 10.0).0[2], 510.0, "one sample is not enough");
        let mut phases = Phases::default();
        phases.note(&at(0));
        phases.end();
        assert_eq!(Surcharge(by_size).sum(&phases), 510.0);
    }

    #[test]
    fn ever_fewer_phases_are_drawn() {
        let mut draw = Draw::default();
        let mut count = |of: usize| (0..of).filter(|_| draw.is_drawn(3)).count();
        let (first, rest) = (count(100), count(1_000_000));
        assert!(first >= 8 && rest < 200, "{first} {rest}");
    }
}
