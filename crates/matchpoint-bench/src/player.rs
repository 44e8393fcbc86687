//! Runs scripts on engines: once with a check of every result, then at full speed.

use std::time::{Duration, Instant};

use matchpoint::{Engine, Message, MsgId, Receive, RecvId, Refused};

use crate::budget::Stopwatch;
use crate::script::{EngineCall, Form, Key, Keys, NONE, Part, Phase, Script};

/// Calls between two clock reads in the first round.
pub(crate) const STRIDE: usize = 64;

/// A full table adds this number to a sum, and other refusals add another.
pub(crate) const FULL: u64 = 1 << 48;
const REFUSED: u64 = 1 << 49;

fn refusal(why: Refused) -> Sum {
    if why == Refused::Full { FULL } else { REFUSED }
}

/// Sum of all results, each id plus 1. A wrong engine may reach the right sum by chance, so [`first`] compares call by
/// call.
pub(crate) type Sum = u64;

pub(crate) fn sum(script: &Script) -> Sum {
    let found = script.expected.iter().flatten().filter(|result| **result != NONE);
    found.map(|result| u64::from(*result) + 1).sum()
}

#[inline(always)]
fn of_post(found: Result<Option<MsgId>, Refused>) -> Sum {
    found.map_or_else(refusal, |message| message.map_or(0, |message| message.0 + 1))
}

#[inline(always)]
fn of_arrival(found: Result<Option<RecvId>, Refused>) -> Sum {
    found.map_or_else(refusal, |receive| receive.map_or(0, |receive| receive.0 + 1))
}

#[inline(always)]
fn post(engine: &mut dyn Engine, id: u64, form: Form, key: Key) -> Sum {
    of_post(engine.post(Receive::new(RecvId(id), form.selector(key))))
}

#[inline(always)]
fn arrive(engine: &mut dyn Engine, id: u64, form: Form, key: Key) -> Sum {
    of_arrival(engine.arrive_message(Message::new(MsgId(id), form.envelope(key))))
}

#[inline(always)]
fn call(engine: &mut dyn Engine, call: &EngineCall) -> Sum {
    match *call {
        EngineCall::Post(id, selector) => of_post(engine.post(Receive::new(RecvId(id.into()), selector))),
        EngineCall::Arrive(id, envelope) => {
            of_arrival(engine.arrive_message(Message::new(MsgId(id.into()), envelope)))
        }
        EngineCall::Probe(selector) => engine.probe(&selector).map_or(0, |message| message.0 + 1),
        EngineCall::MatchedProbe(selector) => {
            engine.matched_probe(&selector).map_or(0, |message| message.0 + 1)
        }
        EngineCall::Cancel(id, selector) => engine.cancel(&Receive::new(RecvId(id.into()), selector)).into(),
        EngineCall::Retract(id, envelope) => engine.retract(&Message::new(MsgId(id.into()), envelope)).into(),
    }
}

// Each form of keys has a separate loop, so that the timed code does not depend on the surrounding code.

/// Calls a loop with the form of its keys as a constant.
macro_rules! by_form {
    ($looped:ident, $engine:expr, $keys:expr) => {
        match $keys.form {
            Form::World => $looped::<{ Form::World as u8 }>($engine, $keys),
            Form::Contexts => $looped::<{ Form::Contexts as u8 }>($engine, $keys),
            Form::Masks => $looped::<{ Form::Masks as u8 }>($engine, $keys),
        }
    };
}

const fn form_of(number: u8) -> Form {
    match number {
        0 => Form::World,
        1 => Form::Contexts,
        _ => Form::Masks,
    }
}

#[inline(never)]
fn posts<const FORM: u8>(engine: &mut dyn Engine, keys: &Keys) -> Sum {
    let form = form_of(FORM);
    (u64::from(keys.first_id)..).zip(&keys.keys).map(|(id, &key)| post(engine, id, form, key)).sum()
}

#[inline(never)]
fn arrivals<const FORM: u8>(engine: &mut dyn Engine, keys: &Keys) -> Sum {
    let form = form_of(FORM);
    (u64::from(keys.first_id)..).zip(&keys.keys).map(|(id, &key)| arrive(engine, id, form, key)).sum()
}

#[inline(never)]
fn pairs<const FORM: u8>(engine: &mut dyn Engine, keys: &Keys) -> Sum {
    let form = form_of(FORM);
    let pair = |(id, &key)| post(engine, id, form, key) + arrive(engine, id, form, key);
    (u64::from(keys.first_id)..).zip(&keys.keys).map(pair).sum()
}

#[inline(never)]
fn calls(engine: &mut dyn Engine, calls: &[EngineCall]) -> Sum {
    calls.iter().map(|one| call(engine, one)).sum()
}

#[inline]
pub(crate) fn play(engine: &mut dyn Engine, phase: &Phase) -> Sum {
    match phase {
        Phase::Posts(keys) => by_form!(posts, engine, keys),
        Phase::Arrivals(keys) => by_form!(arrivals, engine, keys),
        Phase::Pairs(keys) => by_form!(pairs, engine, keys),
        Phase::EngineCalls(each) => calls(engine, each),
    }
}

#[inline]
pub(crate) fn step(engine: &mut dyn Engine, phase: &Phase, at: usize) -> Sum {
    match phase {
        Phase::Posts(Keys { keys, first_id, form }) => {
            post(engine, u64::from(*first_id) + at as u64, *form, keys[at])
        }
        Phase::Arrivals(Keys { keys, first_id, form }) => {
            arrive(engine, u64::from(*first_id) + at as u64, *form, keys[at])
        }
        Phase::Pairs(Keys { keys, first_id, form }) => {
            let (id, key) = (u64::from(*first_id) + at as u64 / 2, keys[at / 2]);
            if at % 2 == 0 { post(engine, id, *form, key) } else { arrive(engine, id, *form, key) }
        }
        Phase::EngineCalls(each) => call(engine, &each[at]),
    }
}

pub(crate) fn clean(engine: &mut dyn Engine, part: &Part) {
    for &(id, selector) in &part.receives_left {
        engine.cancel(&Receive::new(RecvId(id.into()), selector));
    }
    for &(id, envelope) in &part.messages_left {
        engine.retract(&Message::new(MsgId(id.into()), envelope));
    }
}

/// One engine for each part of a script.
pub(crate) type Engines = Vec<Box<dyn Engine>>;

pub(crate) fn set_up(engines: &mut Engines, script: &Script) {
    for (engine, part) in engines.iter_mut().zip(&script.parts) {
        for phase in &part.setup {
            play(&mut **engine, phase);
        }
    }
}

pub(crate) fn rounds(engines: &mut Engines, script: &Script, rounds: usize) -> (Sum, Duration) {
    match (&mut engines[..], &script.parts[..]) {
        // One clock interval for all rounds, because a round of 26 messages is shorter than two clock reads.
        ([engine], [part]) if !part.leaves_entries() => {
            let started = Instant::now();
            let sum = (0..rounds).map(|_| round(&mut **engine, part)).fold(0, Sum::wrapping_add);
            (sum, started.elapsed())
        }
        _ => {
            let (mut sum, mut elapsed): (Sum, _) = (0, Duration::ZERO);
            for _ in 0..rounds {
                for (engine, part) in engines.iter_mut().zip(&script.parts) {
                    let started = Instant::now();
                    sum = sum.wrapping_add(round(&mut **engine, part));
                    elapsed += started.elapsed();
                    clean(&mut **engine, part);
                }
            }
            (sum, elapsed)
        }
    }
}

fn round(engine: &mut dyn Engine, part: &Part) -> Sum {
    part.round.iter().map(|phase| play(engine, phase)).fold(0, Sum::wrapping_add)
}

#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Split {
    pub post_ns: f64,
    pub arrive_ns: f64,
}

/// Minimum mean calls of a phase that is timed separately, so that two clock reads are 1 % of the time.
const SPLIT_CALLS: usize = 500;

/// Whether posts and arrivals are in separate phases of sufficient length.
pub(crate) fn can_split(script: &Script) -> bool {
    let mut phases = script.parts.iter().flat_map(|part| &part.round);
    let number = phases.clone().count();
    phases.all(|phase| matches!(phase, Phase::Posts(_) | Phase::Arrivals(_)))
        && script.calls() >= number * SPLIT_CALLS
}

pub(crate) fn split(engines: &mut Engines, script: &Script) -> Split {
    let mut split = Split::default();
    for (engine, part) in engines.iter_mut().zip(&script.parts) {
        for phase in &part.round {
            let started = Instant::now();
            std::hint::black_box(play(&mut **engine, phase));
            let elapsed_ns = started.elapsed().as_nanos() as f64;
            match phase {
                Phase::Posts(_) => split.post_ns += elapsed_ns,
                _ => split.arrive_ns += elapsed_ns,
            }
        }
        clean(&mut **engine, part);
    }
    split
}

pub(crate) enum FirstRound {
    Right,
    /// The budget was exceeded after this number of calls.
    TooSlow {
        calls: usize,
        spent: Duration,
    },
    Wrong(String),
    /// The table was full after this number of calls.
    Full {
        calls: usize,
    },
}

/// Runs one round after [`set_up`] and checks every result.
pub(crate) fn first(engines: &mut Engines, script: &Script, budget: Duration) -> FirstRound {
    let (mut calls, spent) = (0, Stopwatch::start());
    for ((engine, part), expected) in engines.iter_mut().zip(&script.parts).zip(&script.expected) {
        let mut expected = expected.iter();
        for phase in &part.round {
            for at in 0..phase.calls() {
                let result = step(&mut **engine, phase, at);
                if result == FULL {
                    return FirstRound::Full { calls };
                }
                let right = expected.next().copied().unwrap_or(NONE);
                if let Some(what) = mismatch(calls, result_of(result), right) {
                    return FirstRound::Wrong(what);
                }
                calls += 1;
                if calls % STRIDE == 0 && calls < script.calls() {
                    if let Some(spent) = spent.exceeding(budget) {
                        return FirstRound::TooSlow { calls, spent };
                    }
                }
            }
        }
        clean(&mut **engine, part);
    }
    FirstRound::Right
}

/// The result of a call. 0 in the sum is no match. A refusal becomes an id that no entry has.
pub(crate) fn result_of(sum: Sum) -> u32 {
    if sum == REFUSED { NONE - 1 } else { (sum as u32).wrapping_sub(1) }
}

pub(crate) fn mismatch(call: usize, found: u32, right: u32) -> Option<String> {
    (found != right).then(|| format!("call {call} found {}, not {}", named(found), named(right)))
}

fn named(result: u32) -> String {
    match result {
        NONE => "nothing".to_owned(),
        result if result == NONE - 1 => "a refusal".to_owned(),
        id => format!("number {id}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::floor::Floor;
    use crate::workloads::parse;

    fn floor(workload: &str) -> FirstRound {
        let script = parse(workload).unwrap().pop().unwrap().script();
        let mut engines: Engines = vec![Box::new(Floor::default())];
        set_up(&mut engines, &script);
        first(&mut engines, &script, Duration::from_secs(1))
    }

    #[test]
    fn first_wrong_result_is_reported() {
        assert!(matches!(floor("last:8"), FirstRound::Right), "here the last receive is the right one");
        let FirstRound::Wrong(what) = floor("reverse:3") else { panic!("it gives the youngest twice") };
        assert_eq!(what, "call 4 found number 2, not number 1");
        let FirstRound::Wrong(what) = floor("unexpected:2") else { panic!("it queues no message") };
        assert_eq!(what, "call 0 found number 0, not nothing");
    }

    #[test]
    fn sum_reveals_wrong_round() {
        let script = parse("reverse:3").unwrap().pop().unwrap().script();
        let mut engines: Engines = vec![Box::new(Floor::default())];
        assert_ne!(rounds(&mut engines, &script, 1).0, sum(&script));
        let mut engines: Engines = vec![matchpoint::engines::create("list").unwrap()];
        assert_eq!(rounds(&mut engines, &script, 3).0, 3 * sum(&script));
    }
}
