//! Execution of steps as calls of an engine, and the expected results of the calls.

use std::hint::black_box;
use std::time::Instant;

use matchpoint::engines::{self, NameError};
use matchpoint::wrap::Counted;
use matchpoint::wrap::counted::Counts;
use matchpoint::{
    ContextId, Engine, Envelope, Message, MsgId, Rank, Receive, RecvId, Refused, Selector, Tag,
};

use crate::step::{Kind, Step};

/// Time of the steps in nanoseconds, without the clock reading.
pub(crate) fn time(engine: &mut dyn Engine, steps: &[Step], clock_ns: f64) -> f64 {
    let begin = Instant::now();
    for step in steps {
        let _ = black_box(execute_step(engine, step));
    }
    (begin.elapsed().as_nanos() as f64 - clock_ns).max(0.0)
}

pub(crate) struct StepResult {
    pub outcome: Result<Option<u64>, Refused>,
    pub attempts: u64,
}

/// Includes the [cost of counting](counting_ns).
pub(crate) fn time_counted(
    engine: &mut Counted,
    steps: &[Step],
    clock_ns: f64,
    results: &mut Vec<StepResult>,
) -> f64 {
    results.clear();
    results.reserve(steps.len());
    let begin = Instant::now();
    for step in steps {
        let outcome = execute_step(engine, step);
        results.push(StepResult { outcome, attempts: compared(engine.counts()) });
    }
    (begin.elapsed().as_nanos() as f64 - clock_ns).max(0.0)
}

const TRIALS: usize = 32;

/// Receives posted and matched in a trial.
const PAIRS: u32 = 32;

/// Time that counting adds to a step, measured with short queues. The shortest trial counts.
pub(crate) fn counting_ns(name: &str, clock_ns: f64) -> Result<f64, NameError> {
    let mut plain = engines::create(name)?;
    let mut counted = Counted::new(engines::create_counting(name)?);
    let envelope = |number: u32| Envelope::new(ContextId(0), Rank(number % 4), Tag(number.into()));
    let receive =
        |number: u32| Receive::new(RecvId::new(number, number), Selector::exactly(&envelope(number)));
    let post = |number| Kind::Post { receive: receive(number), took: None };
    let arrive = |number| {
        let message = Message::new(MsgId::new(number, 0), envelope(number));
        Kind::Arrive { message, from: 0, took: Some(receive(number)) }
    };
    let kinds = (0..PAIRS).map(post).chain((0..PAIRS).map(arrive));
    let steps: Vec<Step> = kinds.map(|kind| Step { at_ns: 0, kind, site: 0 }).collect();
    let (mut without, mut with, mut results) = (f64::MAX, f64::MAX, Vec::new());
    for _ in 0..TRIALS {
        without = without.min(time(&mut *plain, &steps, clock_ns));
        with = with.min(time_counted(&mut counted, &steps, clock_ns, &mut results));
    }
    Ok((with - without).max(0.0) / steps.len() as f64)
}

/// Bytes of an engine with one receive and one message that do not match.
pub(crate) fn loaded_bytes(engine: &mut dyn Engine) -> u64 {
    let envelope = |tag| Envelope::new(ContextId(0), Rank(0), Tag(tag));
    let _ = engine.post(Receive::new(RecvId::new(0, 0), Selector::exactly(&envelope(0))));
    let _ = engine.arrive_message(Message::new(MsgId::new(0, 0), envelope(1)));
    engine.footprint().peak_bytes
}

#[inline]
pub(crate) fn execute_step(engine: &mut dyn Engine, step: &Step) -> Result<Option<u64>, Refused> {
    Ok(match &step.kind {
        Kind::Post { receive, .. } => engine.post(*receive)?.map(|message| message.0),
        Kind::Arrive { message, .. } => engine.arrive_message(*message)?.map(|receive| receive.0),
        Kind::Probe { selector, .. } => engine.probe(selector).map(|message| message.0),
        Kind::MatchedProbe { selector, .. } => engine.matched_probe(selector).map(|message| message.0),
        Kind::Cancel { receive, .. } => engine.cancel(receive).then_some(1),
        Kind::Retract { message } => engine.retract(message).then_some(1),
    })
}

pub(crate) fn expected_result(step: &Step) -> Option<u64> {
    let message = |id: Option<MsgId>| id.map(|id| id.0);
    match step.kind {
        Kind::Post { took, .. } | Kind::MatchedProbe { took, .. } => message(took),
        Kind::Probe { found, .. } => message(found),
        Kind::Arrive { took, .. } => took.map(|receive| receive.id.0),
        Kind::Cancel { was_posted, .. } => was_posted.then_some(1),
        Kind::Retract { .. } => Some(1),
    }
}

/// Number of attempts, including probes.
pub(super) fn compared(counts: &Counts) -> u64 {
    attempts(counts) + counts.probes.attempts
}

/// Number of attempts in searches, without probes.
pub(super) fn attempts(counts: &Counts) -> u64 {
    counts.posted.attempts() + counts.unexpected.attempts()
}
