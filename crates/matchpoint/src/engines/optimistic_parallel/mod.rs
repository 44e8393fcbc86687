//! `optimistic_parallel`: the tables of [`optimistic`](super::optimistic), where a batch of messages is matched by several
//! threads at once, after García et al., "Offloaded MPI message matching: an optimistic approach" (2024), §III.
//!
//! ```text
//! a batch ─┬─▶ one thread matches, all deliver                                                              (ordered)
//!          ├─▶ meets no wildcard: bins are shared out; each thread matches and delivers what is in its share  (shares)
//!          ├─▶ may meet one: blocks of up to 64: book, wait for those before, settle, deliver      (protocol, round)
//!          └─▶ one thread does all of it
//! whichever was the fastest lately, for batches of that size                                                   (pace)
//! all other calls ──▶ `optimistic`, in the caller's thread
//! ```
//!
//! Who the threads are, and how they get their parts, is in [`crew`]. Why what comes out is what one thread would have
//! found, in [`shares`] and [`protocol`]. The same answers as `optimistic`, in all cases.
//!
//! * A message is delivered before the batch is matched only if none before it can be refused: where messages may not wait
//!   (`no_unexpected`), or there is no memory for all of a batch to wait, the caller matches one by one.
//! * A batch of one message, or one that finds nothing posted, is matched by the caller alone. Messages of one communicator
//!   that follow one another are matched together; if it changes, those behind are another batch.
//! * Hash values that messages bring are not used: a sender that computes them wrongly would take receives from others.
//! * An engine that counts matches one by one, or in blocks if that is asked for: what is compared is the same.
//!
//! With `n` bins, `q` entries and `t` threads, a message of a batch costs what an arrival costs in `optimistic`, less where its
//! envelope is that of the message before it; and its delivery, shared by the threads. Where bins are shared out the former is shared
//! as well, and it costs some nanoseconds in the caller's thread to share it out and to collect it. In a block, a message whose
//! candidate has a wildcard is compared with the messages before it: O(64).
//!
//! Memory, beside that of `optimistic`, from the first batch on: room for all of a batch to wait, some 35 KiB of tables, and a
//! stack for each worker; from the first block on 16 bytes for each receive that was posted at once at most, and 64 for each
//! message of a block.
//!
//! It loses wherever messages come one by one, and gains nothing where messages are few or cost little.

mod crew;
mod delivery;
#[cfg(all(test, loom))]
mod models;
mod ordered;
mod pace;
mod protocol;
mod round;
mod shares;

use self::crew::{Crew, Job};
use self::delivery::{Delivery, Panicked};
use self::ordered::Balance;
use self::pace::Pace;
use self::protocol::{MESSAGES, Way};
use self::round::{Played, Round};
use self::shares::{Shares, Table};
use super::optimistic::{Counts, Optimistic, Tally};
use super::{Arguments, Built, Parameter, Spec};
use crate::effort::Attempts;
use crate::engine::{Deliver, Drained, Engine, Entry, Message, MsgId, Queue, Receive, RecvId, Refused};
use crate::envelope::{ContextId, Rank, Selector};
use crate::footprint::Footprint;
use crate::hashes;
use crate::hints::Hints;

pub(super) const SPEC: Spec = Spec {
    name: "optimistic_parallel",
    summary: "the tables of optimistic, batches of messages matched by several threads (García et al. 2024)",
    parameters: &[
        Parameter {
            key: "threads",
            default: "2",
            meaning: "threads that match a batch, the caller among them, 1 to 64; more than there are processors only slow each other down",
        },
        Parameter {
            key: "block",
            default: "64",
            meaning: "messages matched at once, 2 to 64; the paper has 32 (§VI)",
        },
        Parameter {
            key: "bins",
            default: "128",
            meaning: "bins of each table, 1 to 2097152, as in optimistic",
        },
        Parameter {
            key: "capacity",
            default: "8192",
            meaning: "receives that may be posted at once, of all communicators; more are refused as full; 0: any number",
        },
        Parameter {
            key: "by",
            default: "pace",
            meaning: "how batches are matched: pace (in whichever of these ways was faster lately, or by one thread), optimism (as the paper has it), shares (bins shared out where no wildcard is posted, else optimism), order (one thread matches, all deliver)",
        },
    ],
    variants: &[
        "threads=1,block=3,capacity=0",
        "threads=4,block=8,bins=3",
        "threads=4,bins=1,capacity=0",
        "threads=3,bins=300,by=shares",
        "threads=2,block=5,bins=7,by=optimism",
    ],
    tight: &["capacity=1", "capacity=16,bins=3,block=5"],
    build,
};

fn build(arguments: &Arguments<'_>, counting: bool) -> Built {
    let within = |at: usize, range: std::ops::RangeInclusive<u32>| {
        let Parameter { key, meaning, .. } = SPEC.parameters[at];
        let value: u32 = arguments.get(key)?;
        if range.contains(&value) {
            Ok(value)
        } else {
            Err(arguments.invalid(key, &value.to_string(), meaning))
        }
    };
    let threads = within(0, 1..=MESSAGES as u32)? as usize;
    let block = within(1, 2..=MESSAGES as u32)? as usize;
    let bins = within(2, 1..=1 << hashes::BITS)?;
    let capacity: u32 = arguments.get("capacity")?;
    let by: String = arguments.get("by")?;
    let by = match by.as_str() {
        "pace" => By::Pace,
        "optimism" => By::Optimism,
        "shares" => By::Shares,
        "order" => By::Order,
        other => return Err(arguments.invalid("by", other, SPEC.parameters[4].meaning)),
    };
    let shape = Shape { threads, block, bins, capacity: capacity as usize, by };
    Ok(if counting {
        Box::new(OptimisticParallel::<Counts>::new(shape))
    } else {
        Box::new(OptimisticParallel::<()>::new(shape))
    })
}

/// The parameters.
#[derive(Clone, Copy)]
struct Shape {
    threads: usize,
    block: usize,
    bins: u32,
    capacity: usize,
    by: By,
}

/// How batches are matched, if the user says so.
#[derive(Clone, Copy, PartialEq, Eq)]
enum By {
    /// In whichever way was faster lately.
    Pace,
    /// As the paper has it: optimistically, whatever is posted.
    Optimism,
    /// Shared out where no wildcard is posted, else optimistically.
    Shares,
    /// One thread matches, all deliver.
    Order,
}

impl Shape {
    fn tables<T: Tally>(self) -> Optimistic<T> {
        Optimistic::new(self.bins, self.capacity, false)
    }
}

/// Messages matched at once, at most.
const BATCH: usize = 1024;

/// Messages that one thread matches before it delivers them: a few, as each is delivered as soon as it may be.
const AT_ONCE: usize = 16;

const _: () = assert!(BATCH <= crew::PARTS, "a thread may be given all of them");

/// What several threads need.
struct Several<T: Tally> {
    crew: Crew,
    round: Round<T>,
    table: Table,
    /// Of batches that meet no wildcard.
    exact: Paces,
    /// Of others.
    wild: Paces,
}

/// By the logarithm of the size of batches, and by whether anything is delivered.
type Paces = [[Habit; 2]; BATCH.ilog2() as usize + 1];

/// How batches that are alike are matched.
#[derive(Clone, Copy)]
struct Habit {
    pace: Pace,
    /// That of [`Balance`].
    ratio: f64,
}

impl Default for Habit {
    fn default() -> Self {
        Habit { pace: Pace::default(), ratio: 1.0 }
    }
}

/// Who matches.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Who {
    /// One thread, and delivers.
    One,
    /// One thread, and all deliver.
    OneForAll,
    /// All.
    All,
}

/// Messages handed in together, the first of which has a number in the batch.
#[derive(Clone, Copy)]
struct Piece<'a> {
    messages: &'a [Message],
    first: usize,
    delivery: Delivery<'a>,
}

type Outcomes = Vec<Option<RecvId>>;

/// What was done together.
#[derive(Default)]
struct Work {
    /// Messages matched where bins were shared out, and where one thread matched and others delivered.
    shared: u64,
    ordered: u64,
    /// Read-modify-write operations of all threads in blocks.
    atomics: u64,
    /// Waits of one thread for others: those of the caller at the end, and partial barriers.
    barriers: u64,
}

/// See the [module's documentation](self).
struct OptimisticParallel<T: Tally> {
    tables: Optimistic<T>,
    /// None before the first batch.
    several: Option<Box<Several<T>>>,
    shape: Shape,
    counts: Work,
}

impl<T: Tally + Sync> OptimisticParallel<T> {
    fn new(shape: Shape) -> Self {
        OptimisticParallel { tables: shape.tables(), several: None, shape, counts: Work::default() }
    }

    fn batch(
        &mut self,
        messages: &[Message],
        out: &mut Outcomes,
        deliver: Option<&Deliver<'_>>,
    ) -> Result<(), Refused> {
        out.try_reserve(messages.len()).map_err(|_| Refused::Memory)?;
        if let [message] = *messages {
            let found = self.tables.arrive(message)?;
            out.push(found);
            if let (Some(receive), Some(deliver)) = (found, deliver) {
                deliver(0, receive);
            }
            return Ok(());
        }
        let panicked = Panicked::default();
        let delivery = Delivery::new(deliver, &panicked);
        let mut matched = Ok(());
        let mut first = 0;
        while first < messages.len() && matched.is_ok() {
            let messages = self.together(&messages[first..]);
            matched = self.piece(Piece { messages, first, delivery }, out);
            first += messages.len();
        }
        panicked.end();
        matched
    }

    /// The first messages of these that may be matched at once.
    fn together<'a>(&self, messages: &'a [Message]) -> &'a [Message] {
        let messages = &messages[..messages.len().min(BATCH)];
        let context = messages[0].envelope.context;
        let other = |message: &Message| message.envelope.context != context;
        let end = messages.iter().position(other).filter(|_| self.shape.by != By::Optimism);
        &messages[..end.unwrap_or(messages.len())]
    }

    fn piece(&mut self, piece: Piece<'_>, out: &mut Outcomes) -> Result<(), Refused> {
        if piece.messages.len() == 1 || self.posted_len() == 0 || self.gather().is_err() {
            return self.singly(piece, out);
        }
        let is_sure = self.cannot_be_refused(piece.messages);
        let in_blocks = match self.shape.by {
            By::Optimism => true,
            By::Shares => T::LISTENS || !is_sure,
            By::Pace | By::Order => false,
        };
        if in_blocks && (is_sure || !piece.delivery.is_asked()) {
            // What is delivered of a message cannot be undone if one before it is refused.
            return self.optimistically(piece, out);
        }
        if T::LISTENS || !is_sure {
            return self.singly(piece, out);
        }
        self.surely(piece, out)
    }

    /// Has a crew from now on.
    fn gather(&mut self) -> Result<(), Refused> {
        if self.several.is_none() {
            // The box aborts if there is no memory for it.
            Vec::<u8>::new().try_reserve_exact(size_of::<Several<T>>()).map_err(|_| Refused::Memory)?;
            let crew = Crew::gather(self.shape.threads)?;
            let table = Table::new(crew.threads())?;
            let round = Round::new(self.shape.tables(), crew.threads());
            let (exact, wild) = Default::default();
            self.several = Some(Box::new(Several { crew, round, table, exact, wild }));
        }
        Ok(())
    }

    /// There is room for all of them, in each of their communicators, and they may wait there.
    fn cannot_be_refused(&mut self, messages: &[Message]) -> bool {
        let tables = &mut self.tables;
        let mut in_context = |context| tables.expect_unexpected(context, messages.len()).is_ok();
        if self.shape.by != By::Optimism {
            return in_context(messages[0].envelope.context);
        }
        // Those that follow one another are asked for once.
        let mut last = None;
        messages.iter().map(|message| message.envelope.context).all(|context| {
            let is_known = last.replace(context) == Some(context);
            is_known || in_context(context)
        })
    }

    /// Messages of one communicator of which none can be refused.
    fn surely(&mut self, piece: Piece<'_>, out: &mut Outcomes) -> Result<(), Refused> {
        let Piece { messages, delivery, .. } = piece;
        let is_exact = self.tables.is_exact(messages[0].envelope.context);
        let Some(several) = self.several.as_deref_mut() else { return self.singly(piece, out) };
        let ways: &[Who] = match (several.crew.threads(), delivery.is_asked()) {
            (1, _) => &[Who::One],
            (_, true) => &[Who::OneForAll, Who::All, Who::One],
            (_, false) => &[Who::All, Who::One],
        };
        let (size, asked) = (messages.len().ilog2() as usize, usize::from(delivery.is_asked()));
        let habit = if is_exact { &mut several.exact } else { &mut several.wild };
        let Habit { pace, ratio } = &mut habit[size][asked];
        let lap = pace.start(ways.len());
        let balance = Balance { ratio: *ratio, is_timed: lap.is_timed() };
        let who = match self.shape.by {
            By::Pace => ways[lap.way],
            By::Order if ways.contains(&Who::OneForAll) => Who::OneForAll,
            By::Shares if ways.len() > 1 => Who::All,
            _ => Who::One,
        };
        let threads = several.crew.threads();
        let is_complete = who == Who::One || several.crew.muster() == threads;
        let mut learned = None;
        match who {
            Who::One => self.alone(piece, out),
            Who::All if !is_exact => self.optimistically(piece, out)?,
            Who::All if self.in_shares(piece, out, threads) => {}
            // Most messages are in few bins.
            _ if delivery.is_asked() => learned = self.in_order(piece, out, (threads, balance)),
            _ => self.alone(piece, out),
        }
        if let Some(several) = self.several.as_deref_mut() {
            let habit = if is_exact { &mut several.exact } else { &mut several.wild };
            let Habit { pace, ratio } = &mut habit[size][asked];
            // One that was interrupted meanwhile is not to decide.
            *ratio += (learned.unwrap_or(*ratio) - *ratio) / 4.0;
            pace.stop(&lap, ways.len(), messages.len(), is_complete);
        }
        Ok(())
    }

    /// Bins shared out, if that is even, among so many threads.
    fn in_shares(&mut self, piece: Piece<'_>, out: &mut Outcomes, threads: usize) -> bool {
        let Piece { messages, first, delivery } = piece;
        let context = messages[0].envelope.context;
        // A share of less than a few messages is not worth having.
        let threads = threads.min(messages.len().div_ceil(4));
        let (Some(several), Some(exact)) = (&mut self.several, self.tables.lend(context)) else {
            return false;
        };
        let Several { crew, table, .. } = &mut **several;
        table.plan.make(&exact, messages, threads);
        if !table.plan.is_even(messages.len(), threads) {
            return false;
        }
        let begin = out.len();
        let shares = Shares { exact: &exact, messages, first, table, delivery };
        crew.run(&shares, |hands| {
            (1..threads).for_each(|share| hands.give(&(share..share + 1)));
            shares.take_parts(0..1);
        });
        self.counts.barriers += threads as u64 - 1;
        self.counts.shared += messages.len() as u64;
        table.collect(messages.len(), out);
        table.gone(threads).for_each(|taken| self.tables.take_back(context, &taken));
        self.file(messages, &out[begin..]);
        true
    }

    /// One thread matches, so many deliver. The ratio of [`Balance`], if it was found out.
    fn in_order(
        &mut self,
        piece: Piece<'_>,
        out: &mut Outcomes,
        (threads, balance): (usize, Balance),
    ) -> Option<f64> {
        let messages = piece.messages;
        let (Some(several), Some(mut stream)) =
            (&mut self.several, self.tables.stream(&messages[0].envelope))
        else {
            self.alone(piece, out);
            return None;
        };
        let begin = out.len();
        let matched = |message: &Message| stream.take(&message.envelope);
        let ratio = ordered::run(&mut several.crew, piece, out, (threads, balance), matched);
        self.counts.barriers += threads as u64 - 1;
        self.counts.ordered += messages.len() as u64;
        self.file(messages, &out[begin..]);
        ratio
    }

    /// One thread matches and delivers.
    fn alone(&mut self, piece: Piece<'_>, out: &mut Outcomes) {
        let begin = out.len();
        let mut stream = self.tables.stream(&piece.messages[0].envelope);
        for (number, messages) in piece.messages.chunks(AT_ONCE).enumerate() {
            let from = out.len();
            match &mut stream {
                Some(stream) => out.extend(messages.iter().map(|message| stream.take(&message.envelope))),
                None => out.extend(messages.iter().map(|_| None)),
            }
            piece.delivery.all(piece.first + number * AT_ONCE, &out[from..]);
        }
        self.file(piece.messages, &out[begin..]);
    }

    /// Has those of the messages wait that found nothing.
    fn file(&mut self, messages: &[Message], outcomes: &[Option<RecvId>]) {
        if outcomes.iter().all(Option::is_some) {
            return;
        }
        for (&message, _) in messages.iter().zip(outcomes).filter(|(_, found)| found.is_none()) {
            let kept = self.tables.keep_unexpected(message);
            debug_assert_eq!(kept, Ok(()), "room was made for it");
        }
    }

    fn optimistically(&mut self, piece: Piece<'_>, out: &mut Outcomes) -> Result<(), Refused> {
        for (number, messages) in piece.messages.chunks(self.shape.block).enumerate() {
            let block = Piece { messages, first: piece.first + number * self.shape.block, ..piece };
            let Some(several) = &mut self.several else { return self.singly(block, out) };
            let Several { crew, round, .. } = &mut **several;
            crew.muster();
            let parts = crew.threads();
            // No memory for bookings: one thread needs none.
            if messages.len() == 1 || round.begin(&mut self.tables, messages, parts).is_err() {
                self.singly(block, out)?;
                continue;
            }
            let played = Played { round, first: block.first, delivery: piece.delivery };
            crew.run(&played, |hands| {
                (1..parts).for_each(|part| hands.give(&(part..part + 1)));
                played.take_parts(0..1);
            });
            let (parts, candidates) = (parts as u64, round.candidates() as u64);
            // Claims, and one in vain for each thread; a part's bookings are told at once, messages settled one by one.
            self.counts.atomics += 3 * parts + candidates + messages.len() as u64;
            self.counts.barriers += 2 * (parts - 1);
            round.commit(&mut self.tables, out)?;
        }
        Ok(())
    }

    fn singly(&mut self, piece: Piece<'_>, out: &mut Outcomes) -> Result<(), Refused> {
        for (number, &message) in (piece.first..).zip(piece.messages) {
            let found = self.tables.arrive(message)?;
            out.push(found);
            if let Some(receive) = found {
                piece.delivery.of(number, receive);
            }
        }
        Ok(())
    }
}

impl<T: Tally + Sync> Engine for OptimisticParallel<T> {
    fn post(&mut self, receive: Receive) -> Result<Option<MsgId>, Refused> {
        self.tables.post(receive)
    }

    fn arrive(&mut self, message: Message) -> Result<Option<RecvId>, Refused> {
        self.tables.arrive(message)
    }

    fn arrive_batch(&mut self, messages: &[Message], out: &mut Outcomes) -> Result<(), Refused> {
        self.batch(messages, out, None)
    }

    fn deliver_batch(
        &mut self,
        messages: &[Message],
        out: &mut Outcomes,
        deliver: &Deliver<'_>,
    ) -> Result<(), Refused> {
        self.batch(messages, out, Some(deliver))
    }

    fn probe(&mut self, selector: &Selector) -> Option<MsgId> {
        self.tables.probe(selector)
    }

    fn matched_probe(&mut self, selector: &Selector) -> Option<MsgId> {
        self.tables.matched_probe(selector)
    }

    fn cancel(&mut self, receive: RecvId) -> bool {
        self.tables.cancel(receive)
    }

    fn retract(&mut self, message: MsgId) -> bool {
        self.tables.retract(message)
    }

    fn readdress(&mut self, message: MsgId, source: Rank) -> bool {
        self.tables.readdress(message, source)
    }

    fn set_hints(&mut self, context: ContextId, hints: Hints) -> Result<(), Refused> {
        self.tables.set_hints(context, hints)
    }

    fn close(&mut self, context: ContextId, drained: &mut Drained) {
        self.tables.close(context, drained);
    }

    fn fail_source(&mut self, context: ContextId, source: Rank, drained: &mut Drained) {
        self.tables.fail_source(context, source, drained);
    }

    fn visit(&self, queue: Queue, each: &mut dyn FnMut(Entry)) {
        self.tables.visit(queue, each);
    }

    fn posted_len(&self) -> usize {
        self.tables.posted_len()
    }

    fn unexpected_len(&self) -> usize {
        self.tables.unexpected_len()
    }

    fn queued_in(&self, context: ContextId) -> (usize, usize) {
        self.tables.queued_in(context)
    }

    fn footprint(&self) -> Footprint {
        let Footprint { fixed_bytes, peers_bytes, entries_bytes, peak_bytes } = self.tables.footprint();
        // Nothing of it is given back, so that it is in the peak as well.
        let own = (size_of::<Self>() - size_of::<Optimistic<T>>()) as u64;
        let more = own
            + self.several.as_ref().map_or(0, |several| {
                let Several { crew, round, table, .. } = &**several;
                size_of::<Several<T>>() as u64 + crew.bytes() + round.bytes() + table.bytes()
            });
        Footprint {
            fixed_bytes: fixed_bytes + more,
            peers_bytes,
            entries_bytes,
            peak_bytes: peak_bytes + more,
        }
    }

    fn attempts(&self) -> Attempts {
        self.tables.attempts()
    }

    fn statistics(&self) -> Vec<(&'static str, f64)> {
        let mut all = self.tables.statistics();
        let several = self.several.as_deref();
        let (blocks, ways) =
            several.map(|several| (several.round.blocks(), several.round.ways())).unwrap_or_default();
        let crew = several.map(|Several { crew, .. }| (crew.jobs, crew.stood_in, crew.woken, crew.claims()));
        let (jobs, stood_in, woken, claims) = crew.unwrap_or_default();
        let of = |way: Way| ways[way as usize] as f64;
        all.extend([
            ("blocks", blocks as f64),
            ("blocks_no_candidate", of(Way::NoCandidate)),
            ("blocks_no_conflict", of(Way::NoConflict)),
            ("blocks_fast_path", of(Way::FastPath)),
            ("blocks_waited", of(Way::Waited)),
            ("blocks_slow_path", of(Way::SlowPath)),
            ("threads", several.map_or(1, |several| several.crew.threads()) as f64),
            ("shared", self.counts.shared as f64),
            ("ordered", self.counts.ordered as f64),
            ("atomics", (self.counts.atomics + claims + stood_in) as f64),
            ("barriers", self.counts.barriers as f64),
            ("jobs", jobs as f64),
            ("jobs_stood_in", stood_in as f64),
            ("jobs_woken", woken as f64),
        ]);
        all
    }
}
