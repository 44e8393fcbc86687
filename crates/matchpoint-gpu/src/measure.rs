//! Matching rate of a card: streams of independent batches in its memory, matched by one multiprocessor or by
//! all.
//!
//! The paper measures one multiprocessor (Klenk et al. 2017, §II-C), because the application's kernels run
//! concurrently. A kernel of one block matches many batches one after the other. The card's events measure
//! its time. The rate counts matches, not messages.

use std::collections::HashSet;
use std::time::Instant;

use matchpoint::{ContextId, Envelope, MsgId, Rank, RecvId, Selector, Tag, Wild};

use crate::batch::{Batch, NONE, Segment};
use crate::card::{Card, CardError};
use crate::compaction::Compaction;
use crate::division::Division;
use crate::machine::Grid;
use crate::matching::{Algorithm, Loaded};
use crate::recorded::Recorded;
use crate::resident::{self, CAPACITY, Resident};
use crate::timeout::TIMEOUT;

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum PostedOrder {
    InOrder,
    AtRandom,
    Reversed,
}

/// Content of a stream's batches. Envelopes are random, as in the paper (§V-B, §VI-C).
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Mix {
    pub entries: usize,
    pub queues: usize,
    /// Distinct envelopes per queue. Fewer than the entries are duplicates.
    pub envelopes: usize,
    pub posted: PostedOrder,
    /// Percentage of messages with a receive. The same number of receives as of other messages has no match.
    pub matched_percent: u32,
    /// Percentage of receives with any source, and of receives with any tag.
    pub wildcard_percent: f64,
}

impl Mix {
    /// One queue of distinct entries in random order, all with a match.
    pub fn of(entries: usize) -> Mix {
        Mix {
            entries,
            queues: 1,
            envelopes: entries,
            posted: PostedOrder::AtRandom,
            matched_percent: 100,
            wildcard_percent: 0.0,
        }
    }

    pub fn stream(&self, batches: usize, seed: u64) -> (Batch, Vec<Segment>) {
        let (envelopes, selectors, segments) = self.entries(batches, seed);
        (Batch::of(&envelopes, &selectors), segments)
    }

    fn entries(&self, batches: usize, seed: u64) -> (Vec<Envelope>, Vec<Selector>, Vec<Segment>) {
        let rng = &mut fastrand::Rng::with_seed(seed);
        let (mut envelopes, mut selectors, mut segments) = (Vec::new(), Vec::new(), Vec::new());
        for queue in 0..batches * self.queues {
            let entries = self.entries / self.queues;
            let (message, receive) = (envelopes.len() as u32, selectors.len() as u32);
            self.push_queue(queue % self.queues, entries, rng, &mut envelopes, &mut selectors);
            segments.push(Segment {
                message,
                message_end: envelopes.len() as u32,
                receive,
                receive_end: selectors.len() as u32,
            });
        }
        (envelopes, selectors, segments)
    }

    fn push_queue(
        &self,
        queue: usize,
        entries: usize,
        rng: &mut fastrand::Rng,
        envelopes: &mut Vec<Envelope>,
        selectors: &mut Vec<Selector>,
    ) {
        const CONTEXT: ContextId = ContextId(1);
        let kinds = (self.envelopes / self.queues).clamp(1, entries.max(1));
        let mut seen = HashSet::new();
        let mut drawn = Vec::with_capacity(kinds);
        while drawn.len() < kinds {
            let (source, tag) = (rng.u64(..1 << 16) << 8 | queue as u64, rng.u64(..1 << 22));
            if seen.insert((source, tag)) {
                drawn.push(Envelope::new(CONTEXT, Rank(source as u32), Tag(tag)));
            }
        }
        let mut messages: Vec<Envelope> = (0..entries).map(|at| drawn[at % kinds]).collect();
        rng.shuffle(&mut messages);
        let mut posted = messages.clone();
        // Tags without an entry on the other side.
        let unmatched = entries - entries * self.matched_percent as usize / 100;
        for at in rng.choose_multiple(0..entries, unmatched) {
            posted[at].tag = Tag(1 << 22 | at as u64);
        }
        match self.posted {
            PostedOrder::InOrder => {}
            PostedOrder::AtRandom => rng.shuffle(&mut posted),
            PostedOrder::Reversed => posted.reverse(),
        }
        envelopes.extend(messages);
        selectors.extend(posted.iter().map(|envelope| {
            let is_open = |rng: &mut fastrand::Rng| rng.f64() * 100.0 < self.wildcard_percent;
            let source = if is_open(rng) { Wild::Any } else { Wild::Is(envelope.source) };
            let tag = if is_open(rng) { Wild::Any } else { Wild::Is(envelope.tag) };
            Selector::new(CONTEXT, source, tag)
        }));
    }
}

/// Matches per second over several launches.
#[derive(Clone, PartialEq, Debug)]
pub struct Rate {
    pub median: f64,
    pub least: f64,
    pub most: f64,
    pub matches: usize,
}

impl Rate {
    fn of(matches: usize, mut nanoseconds: Vec<f64>) -> Rate {
        nanoseconds.sort_by(f64::total_cmp);
        let rate = |nanoseconds: f64| matches as f64 / nanoseconds * 1e9;
        Rate {
            median: rate(nanoseconds[nanoseconds.len() / 2]),
            least: rate(nanoseconds[nanoseconds.len() - 1]),
            most: rate(nanoseconds[0]),
            matches,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Run {
    pub algorithm: Algorithm,
    pub mix: Mix,
    /// Each block has a multiprocessor to itself if the card has enough.
    pub blocks: u32,
    /// A compaction of the unmatched entries follows each batch.
    pub compacts: bool,
}

impl Run {
    pub fn of(algorithm: Algorithm, mix: Mix) -> Run {
        Run { algorithm, mix, blocks: 1, compacts: false }
    }
}

/// Minimum number of messages of a stream: a launch takes much longer than its start.
const STREAM_ENTRIES: usize = 1 << 18;

/// Rate over several launches. One warm-up launch is not measured.
pub fn rate(card: &Card, run: Run, launches: usize) -> Result<Rate, CardError> {
    let Run { algorithm, mix, blocks, compacts } = run;
    let batches =
        (STREAM_ENTRIES * blocks as usize).div_ceil(mix.entries).clamp(4 * blocks as usize, 1 << 16);
    let stream = mix.stream(batches, 1);
    let threads = algorithm.threads(batches * mix.queues, mix.entries / mix.queues);
    rate_of_stream(card, algorithm, &stream, Grid { blocks, threads }, compacts, launches)
}

/// Queues by source for an application: one warp per queue, one block per batch.
const QUEUES: usize = 32;

/// Measures an application's batches on one multiprocessor. The receives must [suit](Recorded::suits) the
/// algorithm.
///
/// # Errors
/// The card fails or finds another number of pairs ([`CardError::PairCount`]).
pub fn rate_of_recorded(
    card: &Card,
    algorithm: Algorithm,
    recorded: &Recorded,
    launches: usize,
) -> Result<Rate, CardError> {
    let queues = if algorithm == Algorithm::Partitioned { QUEUES } else { 1 };
    let threads = algorithm.threads(recorded.batches() * queues, recorded.mean_entries().ceil() as usize);
    let grid = Grid { blocks: 1, threads };
    let rate = rate_of_stream(card, algorithm, &recorded.stream(queues), grid, false, launches)?;
    found(rate.matches, recorded.matches)?;
    Ok(rate)
}

fn rate_of_stream(
    card: &Card,
    algorithm: Algorithm,
    (batch, segments): &(Batch, Vec<Segment>),
    grid: Grid,
    compacts: bool,
    launches: usize,
) -> Result<Rate, CardError> {
    let mut loaded = Loaded::new(card, batch, segments)?;
    let mut compaction = compacts.then(|| Compaction::new(card, &loaded)).transpose()?;
    let nanoseconds = timed(card, launches, |launch| {
        loaded.launch(card, algorithm, grid, launch)?;
        let Some(compaction) = &mut compaction else { return Ok(()) };
        let are_short = algorithm == Algorithm::Partitioned;
        let grid = Grid { threads: grid.threads.max(256), ..grid };
        compaction.launch(card, &mut loaded, are_short, grid)
    })?;
    Ok(Rate::of(matches(&loaded.matched(card)?), nanoseconds))
}

/// Nanoseconds of each launch after a warm-up launch. `launch` gets its number as seed.
fn timed(
    card: &Card,
    launches: usize,
    mut launch: impl FnMut(u64) -> Result<(), CardError>,
) -> Result<Vec<f64>, CardError> {
    let mut nanoseconds = Vec::with_capacity(launches);
    for number in 0..=launches {
        let elapsed = card.timed(|| launch(number as u64))?;
        if number > 0 {
            nanoseconds.push(elapsed);
        }
    }
    Ok(nanoseconds)
}

fn matches(matched: &[u32]) -> usize {
    matched.iter().filter(|&&message| message != NONE).count()
}

pub fn rate_of_whole_card(card: &Card, mix: Mix, launches: usize) -> Result<Rate, CardError> {
    let (batch, _) = mix.stream(1, 1);
    let mut loaded = Loaded::new(card, &batch, &[])?;
    let mut division = Division::new(card, &loaded)?;
    let nanoseconds = timed(card, launches, |launch| division.launch(card, &mut loaded, launch))?;
    Ok(Rate::of(matches(&loaded.matched(card)?), nanoseconds))
}

#[derive(Clone, PartialEq, Debug)]
pub struct Fed {
    pub entries: usize,
    pub passes: usize,
    pub by_host: Rate,
    pub by_card: Rate,
    /// From the submission of a batch to its pairs, alone in flight: median and 99th percentile.
    pub latency_ns: (f64, f64),
    /// A CPU engine with the same batches.
    pub engine: (String, Rate),
}

const LATENCIES: usize = 1000;

/// Measures a persistent kernel and a CPU engine in `passes` passes after a warm-up pass. Each receive is
/// posted before the messages of its batch arrive, and all entries match.
///
/// # Errors
/// The card fails or does not match all entries ([`CardError::PairCount`]).
///
/// # Panics
/// A batch is too large, the engine does not exist, or the engine does not match all entries.
pub fn fed(card: &Card, entries: usize, engine: &str, passes: usize) -> Result<Fed, CardError> {
    // The longest stream that a card submits.
    let batches = (CAPACITY / entries).min(4096);
    let matches = batches * entries;
    let mix = Mix::of(entries);
    let (stream, segments) = mix.stream(batches, 1);
    let singles: Vec<Batch> = segments.iter().map(|segment| stream.segment(segment)).collect();
    let mut resident = Resident::start(card, stream.layout(), 1)?;
    let (mut latencies, mut by_host) = (Vec::new(), Vec::new());
    for pass in 0..=passes {
        let (latencies_here, nanoseconds) = pass_by_host(&mut resident, &singles, matches)?;
        if pass > 0 {
            latencies.extend(latencies_here);
            by_host.push(nanoseconds);
        }
    }
    resident.stop()?;
    let mut by_card = Vec::new();
    for pass in 0..=passes {
        let (nanoseconds, last) = resident::match_stream_on_card(card, &stream, entries, 1, TIMEOUT)?;
        found(last, entries)?;
        if pass > 0 {
            by_card.push(nanoseconds);
        }
    }
    let by_engine: Vec<f64> = (0..=passes).map(|_| pass_of_engine(engine, mix, batches)).skip(1).collect();
    latencies.sort_by(f64::total_cmp);
    Ok(Fed {
        entries,
        passes,
        by_host: Rate::of(matches, by_host),
        by_card: Rate::of(matches, by_card),
        latency_ns: (latencies[latencies.len() / 2], latencies[latencies.len() * 99 / 100]),
        engine: (engine.to_owned(), Rate::of(matches, by_engine)),
    })
}

fn found(pairs: usize, expected: usize) -> Result<(), CardError> {
    if pairs == expected { Ok(()) } else { Err(CardError::PairCount(pairs, expected)) }
}

/// Nanoseconds of each batch alone, and of all batches with a full ring. No entry stays unmatched.
fn pass_by_host(
    resident: &mut Resident,
    singles: &[Batch],
    matches: usize,
) -> Result<(Vec<f64>, f64), CardError> {
    let mut latencies = Vec::with_capacity(LATENCIES);
    for batch in singles.iter().cycle().take(LATENCIES) {
        let begin = Instant::now();
        resident.feed(batch);
        resident.take(|_, _| {})?;
        latencies.push(begin.elapsed().as_nanos() as f64);
    }
    let (begin, mut pairs) = (Instant::now(), 0);
    for batch in singles {
        if !resident.has_room(batch) {
            pairs += resident.take(|_, _| {})?;
        }
        resident.feed(batch);
    }
    while resident.in_flight() > 0 {
        pairs += resident.take(|_, _| {})?;
    }
    let nanoseconds = begin.elapsed().as_nanos() as f64;
    found(pairs, matches)?;
    Ok((latencies, nanoseconds))
}

fn pass_of_engine(engine: &str, mix: Mix, batches: usize) -> f64 {
    let (envelopes, selectors, segments) = mix.entries(batches, 1);
    let mut engine = matchpoint::engines::create(engine).expect("an engine of that name");
    let begin = Instant::now();
    for segment in &segments {
        for at in segment.receive..segment.receive_end {
            let receive = matchpoint::Receive::new(RecvId(u64::from(at)), selectors[at as usize]);
            engine.post(receive).expect("engines take this");
        }
        for at in segment.message..segment.message_end {
            let message = matchpoint::Message::new(MsgId(u64::from(at)), envelopes[at as usize]);
            engine.arrive_message(message).expect("engines take this");
        }
    }
    let nanoseconds = begin.elapsed().as_nanos() as f64;
    assert_eq!(engine.posted_len(), 0, "all are matched");
    nanoseconds
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matched(mix: Mix, batches: usize) -> Vec<usize> {
        let (envelopes, selectors, segments) = mix.entries(batches, 3);
        let of = |segment: &Segment| {
            let mut engine = matchpoint::engines::create("list").unwrap();
            for at in segment.receive..segment.receive_end {
                let receive = matchpoint::Receive::new(RecvId(u64::from(at)), selectors[at as usize]);
                assert_eq!(engine.post(receive), Ok(None));
            }
            let arrive = |&at: &u32| {
                let message = matchpoint::Message::new(MsgId(u64::from(at)), envelopes[at as usize]);
                engine.arrive_message(message).unwrap().is_some()
            };
            (segment.message..segment.message_end).filter(arrive).count()
        };
        segments.iter().map(of).collect()
    }

    #[test]
    fn mix_has_requested_matches() {
        for posted in [PostedOrder::InOrder, PostedOrder::AtRandom, PostedOrder::Reversed] {
            assert_eq!(matched(Mix { posted, ..Mix::of(100) }, 2), [100, 100]);
            assert_eq!(
                matched(Mix { posted, matched_percent: 30, envelopes: 7, ..Mix::of(100) }, 2),
                [30, 30]
            );
        }
        assert_eq!(matched(Mix { queues: 4, ..Mix::of(128) }, 2), [32; 8]);
    }

    #[test]
    fn queues_have_separate_sources() {
        let (envelopes, _, segments) = Mix { queues: 40, ..Mix::of(40 * 32) }.entries(1, 3);
        let sources = |segment: &Segment| -> HashSet<Rank> {
            let range = segment.message as usize..segment.message_end as usize;
            envelopes[range].iter().map(|envelope| envelope.source).collect()
        };
        let all: HashSet<Rank> = segments.iter().flat_map(sources).collect();
        assert_eq!(all.len(), segments.iter().map(|segment| sources(segment).len()).sum::<usize>());
    }
}
