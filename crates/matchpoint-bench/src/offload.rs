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
use matchpoint::{ContextId, Engine, Envelope, Message, MsgId, Rank, Receive, RecvId, Selector, Tag};

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

/// What a run found of one engine.
#[derive(Clone, Debug)]
pub struct OffloadCost {
    /// The engine's name.
    pub engine: String,
    /// Who matched in its place, if anybody did: see [`Engine::substitute`].
    pub substitute: Option<String>,
    /// A post in the application's own thread, and handed to the other.
    pub post: Cost,
    /// See [`OffloadCost::post`].
    pub post_offloaded: Cost,
    /// An arrival in the application's own thread.
    pub arrive: Cost,
    /// A completion polled instead.
    pub completion_offloaded: Cost,
    /// The budget was exhausted, so that the figures are of the fall-back.
    pub fell_back: bool,
    /// Every completion was the one expected.
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
        let mut own = engines::create(name)?;
        let settings = Settings {
            budget_bytes: options.budget_bytes,
            // All of a sequence fits, so that no call has to be made twice.
            ring: options.messages.max(2),
        };
        let mut other = engines::create(name)?;
        let mut is_right = stand(&mut *own, options) && stand(&mut *other, options);
        let (mut offload, mut wire) = Offload::start(other, settings).map_err(|refused| {
            NameError::new(format!("`{name}` cannot be offloaded"), refused.to_string())
        })?;
        let mut samples: [Vec<f64>; 4] = Default::default();
        for repetition in 0..=options.repetitions {
            if !progress(done, options.engines.len(), name) {
                return Ok(None);
            }
            let mut took = [Duration::ZERO; 4];
            for _ in 0..options.repeats {
                let (here, right) = here(&mut *own, options.messages);
                let (there, right_too) = there(&mut offload, &mut wire, options.messages);
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
        let [post, post_offloaded, arrive, completion_offloaded] = samples.map(cost);
        let fell_back = offload.fell_back();
        let there = offload.with_engine(|other| other.substitute().map(str::to_owned));
        costs.push(OffloadCost {
            engine: name.clone(),
            substitute: own.substitute().map(str::to_owned).or(there),
            post,
            post_offloaded,
            arrive,
            completion_offloaded,
            fell_back,
            is_right,
        });
    }
    Ok(Some(costs))
}

fn cost(mut samples: Vec<f64>) -> Cost {
    let median_ns = median(&mut samples);
    Cost { median_ns, p25_ns: percentile(&samples, 0.25), p75_ns: percentile(&samples, 0.75) }
}

fn envelope(number: usize) -> Envelope {
    Envelope::new(ContextId(0), Rank(number as u64), Tag(number as u64))
}

fn receive(number: usize) -> Receive {
    Receive::new(RecvId(number as u64), Selector::exactly(&envelope(number)))
}

fn message(number: usize) -> Message {
    Message::new(MsgId(number as u64), envelope(number))
}

/// Receives that match nothing.
fn stand(engine: &mut dyn Engine, options: &OffloadOptions) -> bool {
    (0..options.depth).all(|number| engine.post(receive((1 << 32) + number)) == Ok(None))
}

/// Posts and arrivals in this thread; whether all were answered rightly.
fn here(engine: &mut dyn Engine, messages: usize) -> ((Duration, Duration), bool) {
    let mut right = true;
    let started = Instant::now();
    for number in 0..messages {
        right &= engine.post(receive(black_box(number))) == Ok(None);
    }
    let posted = started.elapsed();
    let started = Instant::now();
    for number in 0..messages {
        right &= engine.arrive(message(black_box(number))) == Ok(Some(RecvId(number as u64)));
    }
    ((posted, started.elapsed()), right)
}

/// Posts handed in, and completions polled; whether all were those expected.
fn there(
    offload: &mut Offload,
    wire: &mut matchpoint::offload::Wire,
    messages: usize,
) -> ((Duration, Duration), bool) {
    let mut right = true;
    let started = Instant::now();
    for number in 0..messages {
        right &= offload.post(receive(black_box(number))).is_ok();
    }
    let posted = started.elapsed();
    // So that no message is unexpected, as in this thread.
    offload.settle(wire.handed_in());
    for number in 0..messages {
        while wire.arrive(message(number)) == Err(Busy) {
            std::hint::spin_loop();
        }
    }
    offload.settle(wire.handed_in());
    let started = Instant::now();
    for number in 0..messages {
        let id = number as u64;
        right &= black_box(offload.poll()) == Some(Completion::Matched(RecvId(id), MsgId(id)));
    }
    ((posted, started.elapsed()), right)
}
