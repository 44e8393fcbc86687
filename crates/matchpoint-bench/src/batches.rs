//! One thread hands in batches, as the thread does that empties a network's completion queue; application threads post
//! meanwhile: what they get done together, and what a post costs its caller while a batch is under way.
//!
//! A batch is handed in once its receives are posted, but for those that are late on purpose. The next one's are posted from
//! the moment on in which it is under way, and none before: so each message has one receive that it may find, in whichever
//! order threads run. Nothing is done with what matches.

#[cfg(test)]
mod tests;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Barrier, OnceLock};
use std::time::{Duration, Instant};

use matchpoint::concurrent::{self, Concurrent};
use matchpoint::engines::NameError;
use matchpoint::{ContextId, Envelope, Message, MsgId, Rank, Receive, RecvId, Refused, Selector, Tag};

use crate::cold::clock_ns;
use crate::full::Full;
use crate::statistics::{median, percentile};

/// What is posted while a batch is under way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Posts {
    /// Receives that accept no message of that batch.
    OtherEnvelopes,
    /// Receives of the envelopes that the batch has, which already has a receive for each: what an iterative program posts.
    SameEnvelopes,
    /// As [`Posts::OtherEnvelopes`], but of each caller's receives every eighth is posted once its batch is under way.
    SomeLate,
}

impl Posts {
    /// All of them.
    pub const ALL: [Posts; 3] = [Posts::OtherEnvelopes, Posts::SameEnvelopes, Posts::SomeLate];

    /// Its name in files.
    pub fn name(self) -> &'static str {
        match self {
            Posts::OtherEnvelopes => "other_envelopes",
            Posts::SameEnvelopes => "same_envelopes",
            Posts::SomeLate => "some_late",
        }
    }

    /// Its name for readers.
    pub fn title(self) -> &'static str {
        match self {
            Posts::OtherEnvelopes => "other envelopes than the batch has",
            Posts::SameEnvelopes => "the envelopes that the batch has",
            Posts::SomeLate => "other envelopes, one of eight late",
        }
    }
}

/// One of so many receives of a caller is late.
const LATE: usize = 8;

/// What to measure.
#[derive(Clone, Debug)]
pub struct BatchOptions {
    /// Names of concurrent engines.
    pub engines: Vec<String>,
    /// Threads that post; one more hands in.
    pub callers: Vec<usize>,
    /// Messages of a batch.
    pub batch: usize,
    /// Batches of a repetition.
    pub batches: usize,
    /// Repetitions.
    pub repetitions: usize,
}

/// What a run found.
#[derive(Clone, Debug)]
pub struct BatchRates {
    /// What was asked for.
    pub options: BatchOptions,
    /// Processors that this process may use.
    pub processors: usize,
    /// Posts by posts, callers by callers, and of each engine by engine.
    pub rates: Vec<BatchRate>,
}

/// One engine, so many callers.
#[derive(Clone, Debug)]
pub struct BatchRate {
    /// What is posted meanwhile.
    pub posts: Posts,
    /// How many callers there are.
    pub callers: usize,
    /// The engine's name.
    pub engine: String,
    /// Who matched in the place of an engine inside, if anybody did: see [`Concurrent::substitute`].
    pub substitute: Option<String>,
    /// Million messages matched per second: the median of the repetitions.
    pub median: f64,
    /// A quarter of the repetitions were slower.
    pub p25: f64,
    /// A quarter of the repetitions were faster.
    pub p75: f64,
    /// What a post cost that began while a batch was under way; `None` if there was none.
    pub post: Option<PostCost>,
    /// The engine's table of fixed size was full: when, in words. It goes no further then, and its figures tell nothing.
    pub full: Option<Full>,
    /// Every call until then was answered rightly; and nothing was left, if it was not full.
    pub is_right: bool,
}

/// Nanoseconds that posts took, less those of the clock: medians of what each repetition found.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct PostCost {
    /// The median of a repetition's posts.
    pub median_ns: f64,
    /// One in a hundred took longer.
    pub p99_ns: f64,
    /// Posts that were timed, in all repetitions.
    pub timed: usize,
}

/// Measures; `None` if it was stopped.
///
/// # Errors
/// An engine's name cannot be understood.
pub fn batches(
    options: &BatchOptions,
    progress: &mut dyn FnMut(usize, usize, &str) -> bool,
) -> Result<Option<BatchRates>, NameError> {
    let clock_ns = clock_ns();
    let mut rates = Vec::new();
    let cells = Posts::ALL.len() * options.callers.len();
    for posts in Posts::ALL {
        for &callers in &options.callers {
            let done = rates.len() / options.engines.len().max(1);
            let mut engines = Vec::new();
            for name in &options.engines {
                engines.push((concurrent::create(name)?, Samples::default()));
            }
            let traffic = Traffic { posts, callers, batch: options.batch, batches: options.batches };
            for repetition in 0..=options.repetitions {
                if !progress(done, cells, posts.title()) {
                    return Ok(None);
                }
                for turn in 0..engines.len() {
                    let at = (turn + repetition) % engines.len();
                    let (engine, samples) = &mut engines[at];
                    if samples.full.is_some() {
                        continue;
                    }
                    let mut played = traffic.play(&**engine);
                    samples.full = played.full.take();
                    samples.is_wrong |= !played.is_right;
                    // The first warms up.
                    if repetition > 0 {
                        samples.add(played, clock_ns);
                    }
                }
            }
            for ((engine, samples), name) in engines.into_iter().zip(&options.engines) {
                rates.push(samples.rate(posts, callers, (name.clone(), engine.substitute())));
            }
        }
    }
    let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    Ok(Some(BatchRates { options: options.clone(), processors, rates }))
}

/// What the repetitions found of one engine.
#[derive(Default)]
struct Samples {
    rates: Vec<f64>,
    medians_ns: Vec<f64>,
    p99s_ns: Vec<f64>,
    timed: usize,
    full: Option<Full>,
    is_wrong: bool,
}

impl Samples {
    fn add(&mut self, played: Played, clock_ns: f64) {
        let Played { messages, elapsed, mut post_ns, .. } = played;
        self.rates.push(messages as f64 / (elapsed.as_nanos().max(1) as f64 / 1e3));
        if post_ns.is_empty() {
            return;
        }
        post_ns.sort_unstable();
        let less_clock = |ns: u32| (f64::from(ns) - clock_ns).max(0.0);
        self.medians_ns.push(less_clock(percentile(&post_ns, 0.5)));
        self.p99s_ns.push(less_clock(percentile(&post_ns, 0.99)));
        self.timed += post_ns.len();
    }

    fn rate(
        mut self,
        posts: Posts,
        callers: usize,
        (engine, substitute): (String, Option<String>),
    ) -> BatchRate {
        let post = (self.timed > 0).then(|| PostCost {
            median_ns: median(&mut self.medians_ns),
            p99_ns: median(&mut self.p99s_ns),
            timed: self.timed,
        });
        let median = median(&mut self.rates);
        let (p25, p75) = (percentile(&self.rates, 0.25), percentile(&self.rates, 0.75));
        let (full, is_right) = (self.full, !self.is_wrong);
        BatchRate { posts, callers, engine, substitute, median, p25, p75, post, full, is_right }
    }
}

/// What threads do in a repetition.
#[derive(Clone, Copy)]
struct Traffic {
    posts: Posts,
    callers: usize,
    batch: usize,
    batches: usize,
}

/// What came of it.
struct Played {
    messages: usize,
    elapsed: Duration,
    /// Of posts that began while a batch was under way, the clock included.
    post_ns: Vec<u32>,
    full: Option<Full>,
    is_right: bool,
}

/// What one thread saw.
#[derive(Default)]
struct Seen {
    post_ns: Vec<u32>,
    /// Late receives and their messages that this thread was told of.
    late_matched: usize,
    is_wrong: bool,
}

/// Posts of a caller that are timed in a repetition, the first of them: 4 MiB.
const TIMED: usize = 1 << 20;

/// How far all are.
struct Stages {
    /// Twice the batches that are over, and one more while the next is under way.
    batch: Line,
    /// Of each caller: batches whose receives it has posted, those apart that are late.
    posted: Vec<Line>,
    /// The batch at which a call was refused, for the engine's table was full: nobody goes on, or judges what comes of that.
    full: OnceLock<usize>,
}

/// A counter that has its cache line to itself.
#[repr(align(128))]
struct Line(AtomicUsize);

/// A thread that ends tells nobody to wait for it, though it panicked.
struct Ends<'a>(&'a Line);

impl Ends<'_> {
    /// Even: no batch is under way.
    const END: usize = usize::MAX - 1;
}

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.0.store(Self::END, Ordering::Release);
    }
}

impl Line {
    /// Returns once it has come so far. Who waits looks for some microseconds if every thread has a processor, then offers its
    /// own, then sleeps.
    fn wait_for(&self, number: usize, has_processor: bool) {
        let mut waited: u32 = 0;
        while self.0.load(Ordering::Acquire) < number {
            waited += 1;
            match waited {
                ..LOOKS if has_processor => std::hint::spin_loop(),
                ..OFFERS => std::thread::yield_now(),
                _ => {
                    waited = OFFERS;
                    std::thread::sleep(NAP);
                }
            }
        }
    }
}

const LOOKS: u32 = 500;
const OFFERS: u32 = 1000;
const NAP: Duration = Duration::from_micros(50);

impl Traffic {
    fn play(self, engine: &dyn Concurrent) -> Played {
        let line = || Line(AtomicUsize::new(0));
        let stages = Stages {
            batch: line(),
            posted: (0..self.callers).map(|_| line()).collect(),
            full: OnceLock::new(),
        };
        let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let has_processor = self.callers < processors;
        let start = Barrier::new(self.callers + 1);
        let mut is_right = true;
        let (mut post_ns, mut late_matched) = (Vec::new(), 0);
        let elapsed = std::thread::scope(|scope| {
            let (stages, start) = (&stages, &start);
            let call = |caller| {
                move || {
                    let mut seen = Seen { post_ns: Vec::with_capacity(self.timed()), ..Seen::default() };
                    start.wait();
                    self.call(engine, caller, stages, has_processor, &mut seen);
                    seen
                }
            };
            let threads: Vec<_> = (0..self.callers).map(|caller| scope.spawn(call(caller))).collect();
            start.wait();
            let started = Instant::now();
            let mut all = vec![Some(self.hand_in(engine, stages, has_processor))];
            // A caller that panicked has answered wrongly.
            all.extend(threads.into_iter().map(|thread| thread.join().ok()));
            let elapsed = started.elapsed();
            for seen in all {
                let Some(seen) = seen.filter(|seen| !seen.is_wrong) else {
                    is_right = false;
                    continue;
                };
                post_ns.extend(seen.post_ns);
                late_matched += seen.late_matched;
            }
            elapsed
        });
        // Of a late receive and its message the one was told of the other that came second, and only that.
        let late = (0..self.batch).filter(|&number| self.is_late(number)).count() * self.batches;
        let is_empty = engine.posted_len() == 0 && engine.unexpected_len() == 0;
        let full =
            stages.full.into_inner().map(|batch| Full(format!("in batch {} of {}", batch + 1, self.batches)));
        is_right &= full.is_some() || late_matched == late && is_empty;
        Played { messages: self.batch * self.batches, elapsed, post_ns, full, is_right }
    }

    /// Posts of a caller that can be timed.
    fn timed(self) -> usize {
        (self.batch.div_ceil(self.callers)).saturating_mul(self.batches).min(TIMED)
    }

    /// The caller that receives message `number` of every batch.
    fn caller(self, number: usize) -> usize {
        number % self.callers
    }

    fn is_late(self, number: usize) -> bool {
        self.posts == Posts::SomeLate && number / self.callers % LATE == 0
    }

    fn id(self, batch: usize, number: usize) -> u64 {
        (batch * self.batch + number) as u64
    }

    /// Message `number` of a batch.
    fn envelope(self, batch: usize, number: usize) -> Envelope {
        let tag = match self.posts {
            Posts::SameEnvelopes => number,
            // Of two batches that follow one another no envelope is the same.
            Posts::OtherEnvelopes | Posts::SomeLate => number + batch % 2 * self.batch,
        };
        Envelope::new(ContextId(0), Rank(self.caller(number) as u32), Tag(tag as u64))
    }

    /// What the thread does that hands in.
    fn hand_in(self, engine: &dyn Concurrent, stages: &Stages, has_processor: bool) -> Seen {
        let _ends = Ends(&stages.batch);
        let mut seen = Seen::default();
        let mut messages = Vec::with_capacity(self.batch);
        let mut outcomes = Vec::with_capacity(self.batch);
        for batch in 0..self.batches {
            messages.clear();
            outcomes.clear();
            messages.extend(
                (0..self.batch)
                    .map(|number| Message::new(MsgId(self.id(batch, number)), self.envelope(batch, number))),
            );
            stages.posted.iter().for_each(|posted| posted.wait_for(batch + 1, has_processor));
            stages.batch.0.store(2 * batch + 1, Ordering::Release);
            let taken = engine.arrive_batch(&messages, &mut outcomes);
            stages.batch.0.store(2 * batch + 2, Ordering::Release);
            if taken == Err(Refused::Full) {
                _ = stages.full.set(batch);
            }
            if stages.full.get().is_some() {
                break;
            }
            seen.is_wrong |= taken.is_err() || outcomes.len() != self.batch;
            for (number, outcome) in outcomes.iter().enumerate() {
                match outcome {
                    None => seen.is_wrong |= !self.is_late(number),
                    Some(receive) => {
                        seen.is_wrong |= *receive != RecvId(self.id(batch, number));
                        seen.late_matched += usize::from(self.is_late(number));
                    }
                }
            }
        }
        seen
    }

    /// What one caller does.
    fn call(
        self,
        engine: &dyn Concurrent,
        caller: usize,
        stages: &Stages,
        has_processor: bool,
        seen: &mut Seen,
    ) {
        let _ends = Ends(&stages.posted[caller]);
        let own = || (caller..self.batch).step_by(self.callers);
        for batch in 0..self.batches {
            // The one before is under way.
            stages.batch.wait_for((2 * batch).saturating_sub(1), has_processor);
            for number in own().filter(|&number| !self.is_late(number)) {
                let Some(answer) = self.post(engine, stages, (batch, number), seen) else { return };
                seen.is_wrong |= answer != Ok(None);
            }
            stages.posted[caller].0.store(batch + 1, Ordering::Release);
            for number in own().filter(|&number| self.is_late(number)) {
                stages.batch.wait_for(2 * batch + 1, has_processor);
                let Some(answer) = self.post(engine, stages, (batch, number), seen) else { return };
                match answer {
                    Ok(None) => {}
                    Ok(Some(message)) if message == MsgId(self.id(batch, number)) => seen.late_matched += 1,
                    _ => seen.is_wrong = true,
                }
            }
        }
    }

    /// Posts the receive of a message; its answer, `None` if the table is full.
    fn post(
        self,
        engine: &dyn Concurrent,
        stages: &Stages,
        (batch, number): (usize, usize),
        seen: &mut Seen,
    ) -> Option<Result<Option<MsgId>, Refused>> {
        let selector = Selector::exactly(&self.envelope(batch, number));
        let receive = Receive::new(RecvId(self.id(batch, number)), selector);
        let is_beside = stages.batch.0.load(Ordering::Relaxed) % 2 == 1;
        let started = Instant::now();
        let answer = engine.post(receive);
        let took = started.elapsed();
        if is_beside && seen.post_ns.len() < TIMED {
            seen.post_ns.push(u32::try_from(took.as_nanos()).unwrap_or(u32::MAX));
        }
        if answer == Err(Refused::Full) {
            _ = stages.full.set(batch);
        }
        stages.full.get().is_none().then_some(answer)
    }
}
