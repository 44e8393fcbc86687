//! What an application's thread still pays where matching is done by another: for each post, and for each completion.
//!
//! A sequence: receives are posted; the wire hands in their messages; when all is matched, completions are polled. Posts and
//! polls are timed by themselves, and compared with the same calls on the engine in the application's own thread, where an
//! arrival is what the application pays instead of a completion. While the other thread matches, the application computes:
//! here it waits, which is not timed.

use std::hint::black_box;
use std::time::{Duration, Instant};

use matchpoint::engines::{self, NameError};
use matchpoint::offload::{Busy, Completion, Offload, Settings};
use matchpoint::{
    ContextId, Engine, Envelope, Message, MsgId, Rank, Receive, RecvId, Refused, Selector, Tag,
};

use crate::full::Full;
use crate::statistics::{median, percentile};

/// What to measure.
#[derive(Clone, Debug)]
pub struct OffloadOptions {
    /// Names of engines.
    pub engines: Vec<String>,
    /// Bytes that the matcher may hold.
    pub budget_bytes: u64,
    /// Messages of a sequence.
    pub messages: usize,
    /// Receives that stand in front and match nothing.
    pub depth: usize,
    /// Sequences of a repetition.
    pub repeats: usize,
    /// Repetitions.
    pub repetitions: usize,
}

/// Median and quartiles, in nanoseconds for each call.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cost {
    /// The median of the repetitions.
    pub median_ns: f64,
    /// A quarter of the repetitions were faster.
    pub p25_ns: f64,
    /// A quarter of the repetitions were slower.
    pub p75_ns: f64,
}

/// What calls of each kind cost.
#[derive(Clone, Copy, Debug, Default)]
pub struct Costs {
    /// A post in the application's own thread, and handed to the other.
    pub post: Cost,
    /// See [`Costs::post`].
    pub post_offloaded: Cost,
    /// An arrival in the application's own thread.
    pub arrive: Cost,
    /// A completion polled instead.
    pub completion_offloaded: Cost,
}

/// What a run found of one engine.
#[derive(Clone, Debug)]
pub struct OffloadCost {
    /// The engine's name.
    pub engine: String,
    /// Who matched in its place, if anybody did: see [`Engine::substitute`].
    pub substitute: Option<String>,
    /// What calls cost.
    pub costs: Result<Costs, Full>,
    /// The budget was exhausted, so that the figures are of the fall-back.
    pub fell_back: bool,
    /// Every completion until then was the one expected.
    pub is_right: bool,
}

/// Measures; `None` if it was stopped.
///
/// # Errors
/// An engine's name cannot be understood, or a thread cannot be had.
pub fn offload(
    options: &OffloadOptions,
    progress: &mut dyn FnMut(usize, usize, &str) -> bool,
) -> Result<Option<Vec<OffloadCost>>, NameError> {
    let mut costs = Vec::new();
    for (done, name) in options.engines.iter().enumerate() {
        match of_engine(name, options, &mut || progress(done, options.engines.len(), name))? {
            Some(cost) => costs.push(cost),
            None => return Ok(None),
        }
    }
    Ok(Some(costs))
}

fn of_engine(
    name: &str,
    options: &OffloadOptions,
    goes_on: &mut dyn FnMut() -> bool,
) -> Result<Option<OffloadCost>, NameError> {
    let mut own = engines::create(name)?;
    let settings = Settings {
        budget_bytes: options.budget_bytes,
        // All of a sequence fits, so that no call has to be made twice.
        ring: options.messages.max(2),
    };
    let mut other = engines::create(name)?;
    let stood = stand(&mut *own, options).and_then(|right| Ok(right & stand(&mut *other, options)?));
    let (mut offload, mut wire) = Offload::start(other, settings)
        .map_err(|refused| NameError::new(format!("`{name}` cannot be offloaded"), refused.to_string()))?;
    let mut is_right = true;
    let mut samples: [Vec<f64>; 4] = Default::default();
    // Whether it came to the end.
    let play = || -> Result<bool, Full> {
        is_right &= stood?;
        for repetition in 0..=options.repetitions {
            if !goes_on() {
                return Ok(false);
            }
            let mut took = [Duration::ZERO; 4];
            for _ in 0..options.repeats {
                let (here, right) = here(&mut *own, options.messages)?;
                let (there, right_too) = there(&mut offload, &mut wire, options.messages)?;
                is_right &= right && right_too;
                for (took, more) in took.iter_mut().zip([here.0, there.0, here.1, there.1]) {
                    *took += more;
                }
            }
            // The first warms up.
            if repetition > 0 {
                let calls = (options.repeats * options.messages) as f64;
                samples
                    .iter_mut()
                    .zip(took)
                    .for_each(|(samples, took)| samples.push(took.as_nanos() as f64 / calls));
            }
        }
        Ok(true)
    };
    let costs = match play() {
        Ok(false) => return Ok(None),
        Ok(true) => {
            let [post, post_offloaded, arrive, completion_offloaded] = samples.map(cost);
            Ok(Costs { post, post_offloaded, arrive, completion_offloaded })
        }
        Err(full) => Err(full),
    };
    let fell_back = offload.fell_back();
    let there = offload.with_engine(|other| other.substitute().map(str::to_owned));
    let substitute = own.substitute().map(str::to_owned).or(there);
    Ok(Some(OffloadCost { engine: name.to_owned(), substitute, costs, fell_back, is_right }))
}

fn cost(mut samples: Vec<f64>) -> Cost {
    let median_ns = median(&mut samples);
    Cost { median_ns, p25_ns: percentile(&samples, 0.25), p75_ns: percentile(&samples, 0.75) }
}

fn envelope(number: usize) -> Envelope {
    Envelope::new(ContextId(0), Rank(number as u32), Tag(number as u64))
}

fn receive(number: usize) -> Receive {
    Receive::new(RecvId(number as u64), Selector::exactly(&envelope(number)))
}

fn message(number: usize) -> Message {
    Message::new(MsgId(number as u64), envelope(number))
}

/// Receives that match nothing; whether all were answered rightly.
fn stand(engine: &mut dyn Engine, options: &OffloadOptions) -> Result<bool, Full> {
    let mut right = true;
    for number in 0..options.depth {
        let answer = engine.post(receive((1 << 32) + number));
        if answer == Err(Refused::Full) {
            let depth = options.depth;
            return Err(Full(format!("after {number} of the {depth} receives that stand in front")));
        }
        right &= answer == Ok(None);
    }
    Ok(right)
}

/// In the middle of a sequence.
fn full_after(number: usize, what: &str) -> Full {
    Full(format!("after {number} {what} of a sequence"))
}

/// Posts and arrivals in this thread; whether all were answered rightly.
fn here(engine: &mut dyn Engine, messages: usize) -> Result<((Duration, Duration), bool), Full> {
    let mut right = true;
    let started = Instant::now();
    for number in 0..messages {
        match engine.post(receive(black_box(number))) {
            Err(Refused::Full) => return Err(full_after(number, "receives")),
            answer => right &= answer == Ok(None),
        }
    }
    let posted = started.elapsed();
    let started = Instant::now();
    for number in 0..messages {
        match engine.arrive_message(message(black_box(number))) {
            Err(Refused::Full) => return Err(full_after(number, "messages")),
            answer => right &= answer == Ok(Some(RecvId(number as u64))),
        }
    }
    Ok(((posted, started.elapsed()), right))
}

/// Posts handed in, and completions polled; whether all were those expected.
fn there(
    offload: &mut Offload,
    wire: &mut matchpoint::offload::Wire,
    messages: usize,
) -> Result<((Duration, Duration), bool), Full> {
    let mut right = true;
    let started = Instant::now();
    for number in 0..messages {
        right &= offload.post(receive(black_box(number))).is_ok();
    }
    let posted = started.elapsed();
    // So that no message is unexpected, as in this thread.
    offload.wait_processed(wire.message_count());
    // Told before the messages come: what came of both might have no room in the ring.
    if let Some(Completion::ReceiveRefused(RecvId(id), Refused::Full)) = offload.poll() {
        return Err(full_after(id as usize, "receives"));
    }
    for number in 0..messages {
        while wire.arrive(message(number)) == Err(Busy) {
            std::hint::spin_loop();
        }
    }
    offload.wait_processed(wire.message_count());
    let started = Instant::now();
    for number in 0..messages {
        let id = number as u64;
        match black_box(offload.poll()) {
            Some(Completion::MessageRefused(_, Refused::Full)) => return Err(full_after(number, "messages")),
            completion => right &= completion == Some(Completion::Matched(RecvId(id), MsgId(id))),
        }
    }
    Ok(((posted, started.elapsed()), right))
}
