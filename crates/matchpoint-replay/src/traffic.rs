//! Messages by sender, receiver and phase, and attempts: the input of a performance model.

use std::collections::BTreeMap;

use matchpoint::engines::{at_process, create_counting};
use matchpoint::event::Outcome;
use matchpoint::{Engine, Refused};
use matchpoint_trace::Trace;
use rustc_hash::FxHashMap;

use crate::events::event;
use crate::replay::{replay_with_sink, run};
use crate::step::{CompactStep, Kind, SendEvent, StepSink};
use crate::{Measurements, Options, Progress, ReplayError};

#[derive(Clone, Copy, Debug)]
pub struct TrafficClasses<'a> {
    /// Number of phases, at least 1. Phases divide the time between the first and the last message equally.
    pub phases: u32,
    /// Ascending limits in bytes between size classes.
    pub size_limits: &'a [u64],
}

#[derive(Clone, Debug, Default)]
pub struct PhaseTraffic {
    /// Begin of the phase, in the time of the replay.
    pub begin_s: f64,
    pub flows: Vec<Flow>,
    pub matching: Vec<Matching>,
}

/// Messages of one size class from one rank to another rank.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Flow {
    pub from: u32,
    pub to: u32,
    pub messages: u64,
    pub bytes: u64,
}

#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Matching {
    pub operations: u64,
    /// Attempts by engine; `None` after the engine's table was full.
    pub attempts: Vec<Option<u64>>,
}

/// Replays `trace` twice: once to find the phases, once to count messages. Memory is proportional to phases ×
/// pairs of communicating ranks.
///
/// # Errors
/// The trace is damaged, an engine's name is wrong, or [`Progress::stop`] was called.
pub fn traffic(
    trace: &dyn Trace,
    options: &Options,
    classes: TrafficClasses<'_>,
    progress: &Progress,
) -> Result<(Measurements, Vec<PhaseTraffic>), ReplayError> {
    let (measurements, span, first_pass) =
        replay_with_sink(trace, options, progress, TimeSpan::default(), 1)?;
    let counter = TrafficCounter::new(trace, &options.engines, classes, &span)?;
    let setting = first_pass.setting(options.arrivals, options.loggp);
    let (counter, _) = run(trace, &setting, counter, progress)?;
    Ok((measurements, counter.phases()))
}

#[derive(Default)]
struct TimeSpan {
    times_ns: Option<(i64, i64)>,
}

impl TimeSpan {
    fn note(&mut self, at_ns: i64) {
        let (first, last) = self.times_ns.unwrap_or((at_ns, at_ns));
        self.times_ns = Some((first.min(at_ns), last.max(at_ns)));
    }
}

impl StepSink for TimeSpan {
    fn record_step(&mut self, compact: CompactStep) {
        let step = compact.expand();
        if is_search(&step.kind) {
            self.note(step.at_ns);
        }
    }

    fn record_send(&mut self, sent: SendEvent) {
        self.note(sent.at_ns);
    }
}

fn is_search(kind: &Kind) -> bool {
    !matches!(kind, Kind::Cancel { .. } | Kind::Retract { .. })
}

struct TrafficCounter<'a> {
    size_limits: &'a [u64],
    phases: u32,
    begin_ns: i64,
    length_ns: f64,
    flows: FxHashMap<(u32, u32, u32, u32), (u64, u64)>,
    matching: Vec<Vec<Matching>>,
    engines: Vec<Vec<PhaseEngine>>,
}

/// `None` after the engine's table was full.
struct PhaseEngine {
    engine: Option<Box<dyn Engine>>,
    before: u64,
}

impl<'a> TrafficCounter<'a> {
    fn new(
        trace: &dyn Trace,
        names: &[String],
        classes: TrafficClasses<'a>,
        span: &TimeSpan,
    ) -> Result<Self, ReplayError> {
        let world = trace.description().ranks;
        let counted = |name: &String, rank: u32| {
            let engine = create_counting(&at_process(name, rank.into(), world.into()))?;
            Ok(PhaseEngine { engine: Some(engine), before: 0 })
        };
        let of_rank = |&rank: &u32| names.iter().map(|name| counted(name, rank)).collect();
        let engines: Result<Vec<Vec<PhaseEngine>>, ReplayError> =
            trace.present().iter().map(of_rank).collect();
        let nothing = Matching { operations: 0, attempts: vec![Some(0); names.len()] };
        let phases = classes.phases.max(1);
        let (begin_ns, end_ns) = span.times_ns.unwrap_or_default();
        Ok(TrafficCounter {
            size_limits: classes.size_limits,
            phases,
            begin_ns,
            length_ns: (end_ns - begin_ns).max(1) as f64,
            flows: FxHashMap::default(),
            matching: vec![vec![nothing; trace.present().len()]; phases as usize],
            engines: engines?,
        })
    }

    fn phase(&self, at_ns: i64) -> u32 {
        let part = ((at_ns - self.begin_ns) as f64 / self.length_ns).clamp(0.0, 1.0);
        ((part * f64::from(self.phases)) as u32).min(self.phases - 1)
    }

    fn phases(self) -> Vec<PhaseTraffic> {
        let (begin_s, each_s) = (self.begin_ns as f64 / 1e9, self.length_ns / 1e9 / f64::from(self.phases));
        let phase = |(at, matching)| PhaseTraffic {
            begin_s: begin_s + each_s * at as f64,
            flows: Vec::new(),
            matching,
        };
        let mut phases: Vec<PhaseTraffic> = self.matching.into_iter().enumerate().map(phase).collect();
        // The sorted map gives a reproducible order.
        for ((phase, from, to, _), (messages, bytes)) in self.flows.into_iter().collect::<BTreeMap<_, _>>() {
            phases[phase as usize].flows.push(Flow { from, to, messages, bytes });
        }
        phases
    }
}

impl StepSink for TrafficCounter<'_> {
    fn record_step(&mut self, compact: CompactStep) {
        let process = compact.process as usize;
        let step = compact.expand();
        let phase = self.phase(step.at_ns);
        let matching = &mut self.matching[phase as usize][process];
        matching.operations += u64::from(is_search(&step.kind));
        let (event, _) = event(step.kind);
        for (counted, sum) in self.engines[process].iter_mut().zip(&mut matching.attempts) {
            let Some(engine) = &mut counted.engine else {
                *sum = None;
                continue;
            };
            let outcome = event.play(engine.as_mut());
            if matches!(outcome, Outcome::Posted(Err(Refused::Full)) | Outcome::Arrived(Err(Refused::Full))) {
                (counted.engine, *sum) = (None, None);
                continue;
            }
            let attempts = engine.attempts();
            let now = attempts.posted + attempts.unexpected;
            if let Some(sum) = sum {
                *sum += now - counted.before;
            }
            counted.before = now;
        }
    }

    fn record_send(&mut self, sent: SendEvent) {
        let class = self.size_limits.partition_point(|&limit| sent.bytes > limit) as u32;
        let key = (self.phase(sent.at_ns), sent.from, sent.to, class);
        let (messages, bytes) = self.flows.entry(key).or_default();
        *messages += 1;
        *bytes += sent.bytes;
    }
}
