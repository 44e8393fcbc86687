//! Steps of the replay as calls on an engine, and what it should answer.

use std::hint::black_box;
use std::time::Instant;

use matchpoint::{Engine, MsgId, Refused};

use crate::step::{Kind, Step};

/// Time that an engine takes for steps, less that of reading the clock.
pub(crate) fn time(engine: &mut dyn Engine, steps: &[Step], clock_ns: f64) -> f64 {
    let begin = Instant::now();
    for step in steps {
        let _ = black_box(answer(engine, step));
    }
    (begin.elapsed().as_nanos() as f64 - clock_ns).max(0.0)
}

/// What an engine answers to an event, in a form that all events share.
#[inline]
pub(crate) fn answer(engine: &mut dyn Engine, step: &Step) -> Result<Option<u64>, Refused> {
    Ok(match &step.kind {
        Kind::Post { receive, .. } => engine.post(*receive)?.map(|message| message.0),
        Kind::Arrive { message, .. } => engine.arrive(*message)?.map(|receive| receive.0),
        Kind::Probe { selector, .. } => engine.probe(selector).map(|message| message.0),
        Kind::MatchedProbe { selector, .. } => engine.matched_probe(selector).map(|message| message.0),
        Kind::Cancel { receive, .. } => engine.cancel(*receive).then_some(1),
        Kind::Retract { message } => engine.retract(*message).then_some(1),
    })
}

/// What the replay's own matcher answered.
pub(crate) fn expected(step: &Step) -> Option<u64> {
    let message = |id: Option<MsgId>| id.map(|id| id.0);
    match step.kind {
        Kind::Post { took, .. } | Kind::MatchedProbe { took, .. } => message(took),
        Kind::Probe { found, .. } => message(found),
        Kind::Arrive { took, .. } => took.map(|receive| receive.id.0),
        Kind::Cancel { was_posted, .. } => was_posted.then_some(1),
        Kind::Retract { .. } => Some(1),
    }
}
