//! Several application threads that post and receive at once (`MPI_THREAD_MULTIPLE`): what they get done together.
//!
//! Every caller has a source of its own, of which it posts a burst of receives and then has their messages arrive. So no two
//! callers ever want the same; what they share is the engine, and the communicator or not.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Instant;

use matchpoint::concurrent::{self, Concurrent};
use matchpoint::engines::NameError;
use matchpoint::{
    ContextId, Envelope, Hints, Message, MsgId, Rank, Receive, RecvId, Refused, Selector, Tag, Wild,
};

use crate::full::Full;
use crate::statistics::{median, percentile};

/// What callers share.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sharing {
    /// One communicator, of which nothing was asserted.
    Communicator,
    /// One communicator, with `no_any_source`.
    Hinted,
    /// Nothing: each caller has a communicator of its own.
    Nothing,
}

impl Sharing {
    /// All of them.
    pub const ALL: [Sharing; 3] = [Sharing::Communicator, Sharing::Hinted, Sharing::Nothing];

    /// Its name in files.
    pub fn name(self) -> &'static str {
        match self {
            Sharing::Communicator => "one_communicator",
            Sharing::Hinted => "one_communicator_no_any_source",
            Sharing::Nothing => "communicator_each",
        }
    }

    /// Its name for readers.
    pub fn title(self) -> &'static str {
        match self {
            Sharing::Communicator => "one communicator",
            Sharing::Hinted => "the same, no_any_source",
            Sharing::Nothing => "one each",
        }
    }
}

/// What to measure.
#[derive(Clone, Debug)]
pub struct CallerOptions {
    /// Names of concurrent engines.
    pub engines: Vec<String>,
    /// Callers.
    pub callers: Vec<usize>,
    /// Receives that a caller posts before their messages arrive.
    pub burst: usize,
    /// Bursts of each caller in a repetition.
    pub bursts: usize,
    /// Repetitions.
    pub repetitions: usize,
}

/// What a run found.
#[derive(Clone, Debug)]
pub struct CallerRates {
    /// What was asked for.
    pub options: CallerOptions,
    /// Processors that this process may use.
    pub processors: usize,
    /// Sharing by sharing, callers by callers, and of each engine by engine.
    pub rates: Vec<CallerRate>,
}

/// One engine, so many callers.
#[derive(Clone, Debug)]
pub struct CallerRate {
    /// What callers share.
    pub sharing: Sharing,
    /// How many there are.
    pub callers: usize,
    /// The engine's name.
    pub engine: String,
    /// Who matched in the place of an engine inside, if anybody did: see [`Concurrent::substitute`].
    pub substitute: Option<String>,
    /// Million messages matched per second, of all callers together: the median of the repetitions.
    pub median: f64,
    /// A quarter of the repetitions were slower.
    pub p25: f64,
    /// A quarter of the repetitions were faster.
    pub p75: f64,
    /// The engine's table of fixed size was full: when, in words. It goes no further then, and its rates tell nothing.
    pub full: Option<Full>,
    /// Every call until then was answered rightly.
    pub is_right: bool,
}

/// Measures; `None` if it was stopped.
///
/// # Errors
/// An engine's name cannot be understood.
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
                engines.push((concurrent::create(name)?, Vec::new(), Answers::default()));
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
                    let (engine, samples, answers) = &mut engines[at];
                    if answers.full.is_some() {
                        continue;
                    }
                    let rate = repeat(&**engine, sharing, callers, options, answers);
                    // The first warms up.
                    if repetition > 0 {
                        samples.push(rate);
                    }
                }
            }
            for ((engine, mut samples, answers), name) in engines.into_iter().zip(&options.engines) {
                let median = median(&mut samples);
                let (p25, p75) = (percentile(&samples, 0.25), percentile(&samples, 0.75));
                let (engine, substitute) = (name.clone(), engine.substitute());
                let Answers { full, is_wrong } = answers;
                let is_right = !is_wrong;
                rates.push(CallerRate {
                    sharing,
                    callers,
                    engine,
                    substitute,
                    median,
                    p25,
                    p75,
                    full,
                    is_right,
                });
            }
        }
    }
    let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    Ok(Some(CallerRates { options: options.clone(), processors, rates }))
}

fn prepare(engine: &dyn Concurrent, sharing: Sharing) {
    if sharing == Sharing::Hinted {
        let hints = Hints { no_any_source: true, ..Hints::default() };
        // Nothing is queued: if there is no memory, the rates will tell.
        let _ = engine.set_hints(ContextId(0), hints);
    }
}

/// How calls were answered, until one was refused for want of a place.
#[derive(Default)]
struct Answers {
    full: Option<Full>,
    is_wrong: bool,
}

/// Million messages per second.
fn repeat(
    engine: &dyn Concurrent,
    sharing: Sharing,
    callers: usize,
    options: &CallerOptions,
    answers: &mut Answers,
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
            // A caller that panicked has answered wrongly.
            let Answers { full, is_wrong } = thread.join().unwrap_or(Answers { full: None, is_wrong: true });
            answers.full = answers.full.take().or(full);
            answers.is_wrong |= is_wrong;
        }
        started.elapsed()
    });
    let messages = callers * options.bursts * options.burst;
    messages as f64 / (elapsed.as_nanos().max(1) as f64 / 1e3)
}

/// What one caller does, until the table is full.
fn call(engine: &dyn Concurrent, sharing: Sharing, caller: usize, options: &CallerOptions) -> Answers {
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
                return Answers { full: full(number, "receives"), is_wrong };
            }
            is_wrong |= posted != Ok(None);
        }
        for number in 0..options.burst {
            let envelope = Envelope::new(context, source, Tag(number as u64));
            let arrived = engine.arrive_message(Message::new(MsgId(id(number)), envelope));
            if arrived == Err(Refused::Full) {
                return Answers { full: full(number, "messages"), is_wrong };
            }
            is_wrong |= arrived != Ok(Some(RecvId(id(number))));
        }
    }
    Answers { full: None, is_wrong }
}
