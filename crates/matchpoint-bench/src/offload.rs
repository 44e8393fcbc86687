//! Cost in the application's thread if another thread matches: for each post, and for each completion.
//!
//! A sequence posts receives, delivers their messages, and polls completions after the last match. Posts and polls are
//! timed. The comparison is an engine in the application's thread, with timed posts and arrivals. During matching the
//! application would compute, so this time is not measured.

use std::hint::black_box;
use std::time::{Duration, Instant};

use matchpoint::engines::{self, NameError};
use matchpoint::offload::{Busy, Completion, Offload, Settings};
use matchpoint::{
    ContextId, Engine, Envelope, Message, MsgId, Rank, Receive, RecvId, Refused, Selector, Tag,
};
use serde::Serialize;

use crate::results::Full;
use crate::statistics::quartiles;

#[derive(Clone, Debug, Serialize)]
pub struct OffloadOptions {
    #[serde(skip)]
    pub engines: Vec<String>,
    /// Memory limit of the matching thread, in bytes.
    pub budget_bytes: u64,
    pub messages: usize,
    pub depth: usize,
    pub repeats: usize,
    pub repetitions: usize,
}

/// Nanoseconds per call. Not a number if unknown.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Cost {
    pub median_ns: f64,
    pub p25_ns: f64,
    pub p75_ns: f64,
}

#[derive(Clone, Copy, Debug, Serialize)]
pub struct Costs {
    /// Nanoseconds of a post in the application's thread.
    pub post: Cost,
    /// Nanoseconds to hand a post to the matching thread.
    pub post_offloaded: Cost,
    /// Nanoseconds of an arrival in the application's thread.
    pub arrive: Cost,
    /// Nanoseconds to poll a completion.
    pub completion_offloaded: Cost,
}

#[derive(Clone, Debug, Serialize)]
pub struct OffloadCost {
    pub engine: String,
    /// The engine that replaced this engine ([`Engine::substitute`]).
    pub substitute: Option<String>,
    #[serde(flatten)]
    pub costs: Costs,
    /// The position of a full table. The costs are then unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub full: Option<Full>,
    /// Whether the memory limit was exceeded, so that the costs are those of the fallback engine.
    pub fell_back: bool,
    #[serde(rename = "right")]
    pub is_right: bool,
}

/// `None` if `progress` stopped the measurement.
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
        // A whole sequence fits into the ring, so no call is repeated.
        ring: options.messages.max(2),
    };
    let mut other = engines::create(name)?;
    let posted = post_unmatched(&mut *own, options)
        .and_then(|right| Ok(right & post_unmatched(&mut *other, options)?));
    let (mut offload, mut wire) = Offload::start(other, settings)
        .map_err(|refused| NameError::new(format!("`{name}` cannot be offloaded"), refused.to_string()))?;
    let mut is_right = true;
    let mut samples: [Vec<f64>; 4] = Default::default();
    // Returns false if `goes_on` stopped the measurement.
    let play = || -> Result<bool, Full> {
        is_right &= posted?;
        for repetition in 0..=options.repetitions {
            if !goes_on() {
                return Ok(false);
            }
            let mut took = [Duration::ZERO; 4];
            for _ in 0..options.repeats {
                let (here, right) = time_local(&mut *own, options.messages)?;
                let (there, right_too) = time_offloaded(&mut offload, &mut wire, options.messages)?;
                is_right &= right && right_too;
                for (took, more) in took.iter_mut().zip([here.0, there.0, here.1, there.1]) {
                    *took += more;
                }
            }
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
    let full = match play() {
        Ok(false) => return Ok(None),
        Ok(true) => None,
        Err(full) => Some(full),
    };
    let [post, post_offloaded, arrive, completion_offloaded] =
        samples.map(|samples| cost(samples, full.is_none()));
    let costs = Costs { post, post_offloaded, arrive, completion_offloaded };
    let fell_back = offload.fell_back();
    let there = offload.with_engine(|other| other.substitute().map(str::to_owned));
    let substitute = own.substitute().map(str::to_owned).or(there);
    Ok(Some(OffloadCost { engine: name.to_owned(), substitute, costs, full, fell_back, is_right }))
}

fn cost(mut samples: Vec<f64>, is_known: bool) -> Cost {
    let [median_ns, p25_ns, p75_ns] = if is_known { quartiles(&mut samples) } else { [f64::NAN; 3] };
    Cost { median_ns, p25_ns, p75_ns }
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

fn post_unmatched(engine: &mut dyn Engine, options: &OffloadOptions) -> Result<bool, Full> {
    let mut right = true;
    for number in 0..options.depth {
        let result = engine.post(receive((1 << 32) + number));
        if result == Err(Refused::Full) {
            let depth = options.depth;
            return Err(Full(format!("after {number} of the {depth} receives in front")));
        }
        right &= result == Ok(None);
    }
    Ok(right)
}

fn full_after(number: usize, what: &str) -> Full {
    Full(format!("after {number} {what} of a sequence"))
}

fn time_local(engine: &mut dyn Engine, messages: usize) -> Result<((Duration, Duration), bool), Full> {
    let mut right = true;
    let started = Instant::now();
    for number in 0..messages {
        match engine.post(receive(black_box(number))) {
            Err(Refused::Full) => return Err(full_after(number, "receives")),
            result => right &= result == Ok(None),
        }
    }
    let posted = started.elapsed();
    let started = Instant::now();
    for number in 0..messages {
        match engine.arrive_message(message(black_box(number))) {
            Err(Refused::Full) => return Err(full_after(number, "messages")),
            result => right &= result == Ok(Some(RecvId(number as u64))),
        }
    }
    Ok(((posted, started.elapsed()), right))
}

fn time_offloaded(
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
    // All receives are posted before the messages, as with the engine in this thread.
    offload.wait_processed(wire.message_count());
    // The ring may not have space for the completions of receives and messages.
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
