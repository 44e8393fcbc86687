//! Plays scripts through engines: once with every answer looked at, and then as fast as it goes.

use std::time::{Duration, Instant};

use matchpoint::{Engine, Message, MsgId, Receive, RecvId};

use crate::model::NONE;
use crate::script::{Key, Kind, Phase, Script};

/// Calls between two looks at the clock where an engine may take for ever.
const STRIDE: usize = 64;

/// Added up in place of an id where an engine refuses a call.
const REFUSED: u64 = 1 << 48;

/// What engines answered, added up: the same for every engine that answers rightly. A wrong engine could hit it by
/// chance; [`first`] compares call by call.
pub(crate) type Sum = u64;

/// The sum that `answers` come to.
pub(crate) fn sum(answers: &[u32]) -> Sum {
    answers.iter().filter(|answer| **answer != NONE).map(|answer| u64::from(*answer) + 1).sum()
}

/// Nanoseconds of one round: in all, and of its posts and its arrivals by themselves.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Split {
    pub post_ns: f64,
    pub arrive_ns: f64,
}

#[inline(always)]
fn post(engine: &mut dyn Engine, id: u64, key: Key) -> Sum {
    match engine.post(Receive::new(RecvId(id), key.selector())) {
        Ok(found) => found.map_or(0, |message| message.0 + 1),
        Err(_) => REFUSED,
    }
}

#[inline(always)]
fn arrive(engine: &mut dyn Engine, id: u64, key: Key) -> Sum {
    match engine.arrive(Message::new(MsgId(id), key.envelope())) {
        Ok(found) => found.map_or(0, |receive| receive.0 + 1),
        Err(_) => REFUSED,
    }
}

// Each loop is a function of its own, so that the code that is timed does not depend on what stands around it.

#[inline(never)]
fn posts(engine: &mut dyn Engine, keys: &[Key], first_id: u32) -> Sum {
    (u64::from(first_id)..).zip(keys).map(|(id, &key)| post(engine, id, key)).sum()
}

#[inline(never)]
fn arrivals(engine: &mut dyn Engine, keys: &[Key], first_id: u32) -> Sum {
    (u64::from(first_id)..).zip(keys).map(|(id, &key)| arrive(engine, id, key)).sum()
}

#[inline(never)]
fn pairs(engine: &mut dyn Engine, keys: &[Key], first_id: u32) -> Sum {
    let pair = |(id, &key)| post(engine, id, key) + arrive(engine, id, key);
    (u64::from(first_id)..).zip(keys).map(pair).sum()
}

/// Plays a phase.
#[inline]
pub(crate) fn play(engine: &mut dyn Engine, phase: &Phase) -> Sum {
    match phase.kind {
        Kind::Posts => posts(engine, &phase.keys, phase.first_id),
        Kind::Arrivals => arrivals(engine, &phase.keys, phase.first_id),
        Kind::Pairs => pairs(engine, &phase.keys, phase.first_id),
    }
}

/// Plays so many rounds.
pub(crate) fn rounds(engine: &mut dyn Engine, script: &Script, rounds: usize) -> Sum {
    let mut sum: Sum = 0;
    for _ in 0..rounds {
        for phase in &script.round {
            sum = sum.wrapping_add(play(engine, phase));
        }
    }
    sum
}

/// Plays a round, with a clock between phases.
pub(crate) fn split(engine: &mut dyn Engine, script: &Script) -> Split {
    let mut split = Split::default();
    for phase in &script.round {
        let started = Instant::now();
        std::hint::black_box(play(engine, phase));
        let elapsed_ns = started.elapsed().as_nanos() as f64;
        match phase.kind {
            Kind::Posts => split.post_ns += elapsed_ns,
            _ => split.arrive_ns += elapsed_ns,
        }
    }
    split
}

/// How the first round ended.
pub(crate) enum First {
    /// Every answer is right; it took so long.
    Right(Duration),
    /// It was given up after so many calls.
    TooSlow { calls: usize, elapsed: Duration },
    /// An answer is wrong: which, in words.
    Wrong(String),
}

/// Sets up what stands, plays one round, and looks at every answer.
pub(crate) fn first(engine: &mut dyn Engine, script: &Script, expected: &[u32], budget: Duration) -> First {
    for phase in &script.standing {
        play(engine, phase);
    }
    let mut answers = Vec::with_capacity(expected.len());
    let started = Instant::now();
    let mut finished = true;
    'round: for phase in &script.round {
        for (number, keys) in phase.keys.chunks(STRIDE).enumerate() {
            answer(engine, phase.kind, keys, phase.first_id + (number * STRIDE) as u32, &mut answers);
            if started.elapsed() > budget {
                finished = answers.len() == expected.len();
                break 'round;
            }
        }
    }
    let elapsed = started.elapsed();
    if let Some(at) = (0..answers.len()).find(|&at| answers[at] != expected[at]) {
        return First::Wrong(format!(
            "call {at} of a round found {}, not {}",
            told(answers[at]),
            told(expected[at])
        ));
    }
    match finished {
        true => First::Right(elapsed),
        false => First::TooSlow { calls: answers.len(), elapsed },
    }
}

fn answer(engine: &mut dyn Engine, kind: Kind, keys: &[Key], first_id: u32, answers: &mut Vec<u32>) {
    // 0 is nothing, and becomes NONE; a refusal becomes what no call can answer.
    let told = |sum: Sum| if sum == REFUSED { NONE - 1 } else { (sum as u32).wrapping_sub(1) };
    for (id, &key) in (u64::from(first_id)..).zip(keys) {
        if kind != Kind::Arrivals {
            answers.push(told(post(engine, id, key)));
        }
        if kind != Kind::Posts {
            answers.push(told(arrive(engine, id, key)));
        }
    }
}

fn told(answer: u32) -> String {
    match answer {
        NONE => "nothing".to_owned(),
        answer if answer == NONE - 1 => "a refusal".to_owned(),
        id => format!("number {id}"),
    }
}
