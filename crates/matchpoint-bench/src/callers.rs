//! Throughput of several application threads that post and receive concurrently (`MPI_THREAD_MULTIPLE`).
//!
//! A caller posts a burst of receives, and then delivers their messages. Each caller has a separate source, so callers
//! never compete for an entry. Callers share the engine and possibly the communicator.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Instant;

use matchpoint::concurrent::{self, Concurrent};
use matchpoint::engines::NameError;
use matchpoint::{
    ContextId, Envelope, Hints, Message, MsgId, Rank, Receive, RecvId, Refused, Selector, Tag, Wild,
};
use serde::Serialize;

use crate::results::Full;
use crate::statistics::RateSpread;

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub enum Sharing {
    /// All callers use one communicator without hints.
    #[serde(rename = "one_communicator")]
    Communicator,
    /// All callers use one communicator with `no_any_source`.
    #[serde(rename = "one_communicator_no_any_source")]
    Hinted,
    /// Each caller has a communicator.
    #[serde(rename = "communicator_each")]
    Nothing,
}

impl Sharing {
    pub const ALL: [Sharing; 3] = [Sharing::Communicator, Sharing::Hinted, Sharing::Nothing];

    pub fn title(self) -> &'static str {
        match self {
            Sharing::Communicator => "one communicator",
            Sharing::Hinted => "the same, no_any_source",
            Sharing::Nothing => "one each",
        }
    }
}

#[derive(Clone, Debug, Serialize)]
pub struct CallerOptions {
    #[serde(skip)]
    pub engines: Vec<String>,
    #[serde(skip)]
    pub callers: Vec<usize>,
    pub burst: usize,
    pub bursts: usize,
    pub repetitions: usize,
}

#[derive(Clone, Debug, Serialize)]
pub struct CallerRates {
    #[serde(flatten)]
    pub options: CallerOptions,
    pub processors: usize,
    /// By sharing, then number of callers, then engine.
    #[serde(rename = "callers")]
    pub rates: Vec<CallerRate>,
}

#[derive(Clone, Debug, Serialize)]
pub struct CallerRate {
    pub sharing: Sharing,
    pub callers: usize,
    pub engine: String,
    /// The engine that replaced an inner engine ([`Concurrent::substitute`]).
    pub substitute: Option<String>,
    #[serde(flatten)]
    pub rate: RateSpread,
    /// The position of a full table. The rates are then unknown.
    pub full: Option<Full>,
    #[serde(rename = "right")]
    pub is_right: bool,
}

/// `None` if `progress` stopped the measurement.
pub fn callers(
    options: &CallerOptions,
    progress: &mut dyn FnMut(usize, usize, &str) -> bool,
) -> Result<Option<CallerRates>, NameError> {
    let mut rates = Vec::new();
    let cells = Sharing::ALL.len() * options.callers.len();
    for (at, sharing) in Sharing::ALL.into_iter().enumerate() {
        for (done, &callers) in options.callers.iter().enumerate() {
            let mut engines = Vec::new();
            for name in &options.engines {
                engines.push((concurrent::create(name)?, Vec::new(), CallerOutcome::default()));
            }
            for (engine, _, _) in &engines {
                prepare(&**engine, sharing);
            }
            for repetition in 0..=options.repetitions {
                if !progress(at * options.callers.len() + done, cells, sharing.title()) {
                    return Ok(None);
                }
                for turn in 0..engines.len() {
                    let at = (turn + repetition) % engines.len();
                    let (engine, samples, outcome) = &mut engines[at];
                    if outcome.full.is_some() {
                        continue;
                    }
                    let rate = repeat(&**engine, sharing, callers, options, outcome);
                    // The first repetition is a warm-up.
                    if repetition > 0 {
                        samples.push(rate);
                    }
                }
            }
            for ((engine, mut samples, outcome), name) in engines.into_iter().zip(&options.engines) {
                let CallerOutcome { full, is_wrong } = outcome;
                let rate = RateSpread::of(&mut samples, full.is_none());
                let (engine, substitute, is_right) = (name.clone(), engine.substitute(), !is_wrong);
                rates.push(CallerRate { sharing, callers, engine, substitute, rate, full, is_right });
            }
        }
    }
    let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    Ok(Some(CallerRates { options: options.clone(), processors, rates }))
}

fn prepare(engine: &dyn Concurrent, sharing: Sharing) {
    if sharing == Sharing::Hinted {
        let hints = Hints { no_any_source: true, ..Hints::default() };
        // Only missing memory refuses the hints of an engine without entries. The rates then show the refusal.
        let _ = engine.set_hints(ContextId(0), hints);
    }
}

#[derive(Default)]
struct CallerOutcome {
    full: Option<Full>,
    is_wrong: bool,
}

/// Million messages per second.
fn repeat(
    engine: &dyn Concurrent,
    sharing: Sharing,
    callers: usize,
    options: &CallerOptions,
    outcome: &mut CallerOutcome,
) -> f64 {
    let (ready, go) = (AtomicUsize::new(0), AtomicBool::new(false));
    let elapsed = std::thread::scope(|scope| {
        let (ready, go) = (&ready, &go);
        let threads: Vec<_> = (0..callers)
            .map(|caller| {
                scope.spawn(move || {
                    ready.fetch_add(1, Ordering::Relaxed);
                    while !go.load(Ordering::Acquire) {
                        std::thread::yield_now();
                    }
                    call(engine, sharing, caller, options)
                })
            })
            .collect();
        while ready.load(Ordering::Relaxed) < callers {
            std::thread::yield_now();
        }
        let started = Instant::now();
        go.store(true, Ordering::Release);
        for thread in threads {
            // A panic of a caller counts as a wrong result.
            let CallerOutcome { full, is_wrong } =
                thread.join().unwrap_or(CallerOutcome { full: None, is_wrong: true });
            outcome.full = outcome.full.take().or(full);
            outcome.is_wrong |= is_wrong;
        }
        started.elapsed()
    });
    let messages = callers * options.bursts * options.burst;
    messages as f64 / (elapsed.as_nanos().max(1) as f64 / 1e3)
}

fn call(engine: &dyn Concurrent, sharing: Sharing, caller: usize, options: &CallerOptions) -> CallerOutcome {
    let context = ContextId(if sharing == Sharing::Nothing { caller as u32 } else { 0 });
    let source = Rank(caller as u32);
    let id = |number: usize| ((caller as u64) << 32) | number as u64;
    let mut is_wrong = false;
    let full = |number: usize, what: &str| Some(Full(format!("after {number} {what} of a caller's burst")));
    for _ in 0..options.bursts {
        for number in 0..options.burst {
            let selector = Selector::new(context, Wild::Is(source), Wild::Is(Tag(number as u64)));
            let posted = engine.post(Receive::new(RecvId(id(number)), selector));
            if posted == Err(Refused::Full) {
                return CallerOutcome { full: full(number, "receives"), is_wrong };
            }
            is_wrong |= posted != Ok(None);
        }
        for number in 0..options.burst {
            let envelope = Envelope::new(context, source, Tag(number as u64));
            let arrived = engine.arrive_message(Message::new(MsgId(id(number)), envelope));
            if arrived == Err(Refused::Full) {
                return CallerOutcome { full: full(number, "messages"), is_wrong };
            }
            is_wrong |= arrived != Ok(Some(RecvId(id(number))));
        }
    }
    CallerOutcome { full: None, is_wrong }
}
