//! `optimistic_parallel`: the tables of [`optimistic`](super::optimistic), where a batch of messages is matched by several
//! threads at once, after García et al., "Offloaded MPI message matching: an optimistic approach" (2024), §III.
//!
//! ```text
//! a batch ─┬─ meets no wildcard ──▶ bins are shared out; each thread matches and delivers what is in its share   (shares)
//!          │                        most of it in one share: one thread matches, all deliver                     (ordered)
//!          └─ may meet one ───────▶ blocks of up to 64: book, wait for those before, settle, deliver   (protocol, round)
//!                                   or one thread matches, all deliver
//! or one thread does all of it: whichever was the fastest lately, for batches of that size                        (pace)
//! all other calls ──▶ `optimistic`, in the caller's thread
//! ```
//!
//! Who the threads are, and how they get their shares, is in [`crew`]. Why what comes out is what one thread would have
//! found, in [`shares`] and [`protocol`]. The same answers as `optimistic`, in all cases.
//!
//! * A message is delivered by the thread that matched it, if none before it can be refused: where messages may not wait
//!   (`no_unexpected`), or there is no memory for all of a batch to wait, the caller matches one by one.
//! * A batch of one message, or one that finds nothing posted, is matched by the caller alone, and so is a batch for which
//!   there is no memory to keep bookings in.
//! * Hash values that messages bring are not used: a sender that computes them wrongly would take receives from others.
//! * An engine that counts matches batches without wildcards in the caller's thread: what is compared is the same.
//!
//! With `n` bins, `q` entries and `t` threads, a message of a batch costs what an arrival costs in `optimistic`, shared by the
//! threads, its share of handing the batch out and collecting it, some nanoseconds in the caller's thread, and of what it
//! takes cores to tell each other so. In a block, a message whose candidate has a wildcard is compared with the messages
//! before it: O(64).
//!
//! Memory, beside that of `optimistic`, from the first batch on: room for all of a batch to wait, 24 KiB of tables, and a
//! stack for each worker; from the first block on 16 bytes for each receive that was posted at once at most, and 64 for each
//! message of a block.
//!
//! It loses wherever messages come one by one, and wherever threads cost more than they spare: in short queues whose
//! messages nobody does anything with.

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
use self::delivery::Delivery;
use self::ordered::Ordered;
use self::pace::Pace;
use self::protocol::{MESSAGES, Way};
use self::round::{Played, Round};
use self::shares::{BATCH, Shares, Table, alone};
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
type Paces = [[Pace; 2]; BATCH.ilog2() as usize + 1];

/// Messages handed in together, the first of which has a number in the batch.
#[derive(Clone, Copy)]
struct Piece<'a> {
    messages: &'a [Message],
    first: usize,
    delivery: &'a Delivery<'a>,
}

type Outcomes = Vec<Option<RecvId>>;

/// What was done together.
#[derive(Default)]
struct Work {
    /// Messages matched where bins were shared out, and where one thread matched and others delivered.
    shared: u64,
    ordered: u64,
    /// Read-modify-write operations of all threads.
    atomics: u64,
    /// Waits of one thread for others: those of the caller at the end, and partial barriers.
    barriers: u64,
}

impl Work {
    /// A job of so many threads: its number, and a claim for each seat; the caller waits for the others.
    fn job(&mut self, threads: usize) {
        self.atomics += threads as u64;
        self.barriers += threads as u64 - 1;
    }
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
        let delivery = Delivery::new(deliver);
        let mut matched = Ok(());
        for (number, messages) in messages.chunks(BATCH).enumerate() {
            let piece = Piece { messages, first: number * BATCH, delivery: &delivery };
            matched = self.piece(piece, out);
            if matched.is_err() {
                break;
            }
        }
        delivery.end();
        matched
    }

    fn piece(&mut self, piece: Piece<'_>, out: &mut Outcomes) -> Result<(), Refused> {
        if piece.messages.len() == 1 || self.posted_len() == 0 || self.gather().is_err() {
            return self.singly(piece, out);
        }
        if self.exactly(piece, out) {
            return Ok(());
        }
        self.wildly(piece, out)
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

    /// Messages that meet no wildcard, and of which none can be refused. Whether they are such.
    fn exactly(&mut self, piece: Piece<'_>, out: &mut Outcomes) -> bool {
        let messages = piece.messages;
        let context = messages[0].envelope.context;
        let is_apt = !T::LISTENS
            && self.shape.by != By::Optimism
            && messages.iter().all(|message| message.envelope.context == context)
            && self.tables.expect_unexpected(context, messages.len()).is_ok();
        let (true, Some(several), Some(mut exact)) = (is_apt, &mut self.several, self.tables.lend(context))
        else {
            return false;
        };
        let Several { crew, table, exact: paces, .. } = &mut **several;
        // A share of less than a few messages is not worth having.
        let threads = crew.threads().min(messages.len().div_ceil(4));
        let begin = out.len();
        let size = messages.len().ilog2() as usize;
        // Together, or alone.
        let ways = if threads > 1 { 2 } else { 1 };
        let pace = &mut paces[size][usize::from(piece.delivery.is_asked())];
        let lap = pace.start(ways);
        let together = ways == 2 && (lap.way == 0 || self.shape.by != By::Pace);
        let is_even = together && self.shape.by != By::Order && {
            table.plan.make(&exact, messages, threads);
            table.plan.is_even(messages.len(), threads)
        };
        let mut gone = None;
        let unexpected = if is_even {
            let shares = Shares {
                exact: &exact,
                messages,
                first: piece.first,
                table,
                delivery: piece.delivery,
                threads,
            };
            crew.run(&shares, || shares.take_part(0));
            self.counts.job(crew.threads());
            self.counts.shared += messages.len() as u64;
            table.collect(messages.len(), out)
        } else if together && piece.delivery.is_asked() {
            let ordered = Ordered::new(piece.first, piece.delivery, crew.threads());
            let (taken, unexpected) = crew.run(&ordered, || {
                let mut number = 0;
                let matched = alone(&mut exact, messages, |found| {
                    out.push(found);
                    ordered.tell(number, found);
                    number += 1;
                });
                ordered.end(number);
                ordered.take_part(0);
                matched
            });
            gone = Some(taken);
            self.counts.job(crew.threads());
            self.counts.ordered += messages.len() as u64;
            self.counts.atomics += Ordered::claims(messages.len(), crew.threads());
            unexpected
        } else {
            let mut number = piece.first;
            let (taken, unexpected) = alone(&mut exact, messages, |found| {
                out.push(found);
                if let Some(receive) = found {
                    piece.delivery.of(number, receive);
                }
                number += 1;
            });
            gone = Some(taken);
            unexpected
        };
        match gone {
            Some(taken) => self.tables.take_back(context, &taken),
            None => table.gone(threads).for_each(|taken| self.tables.take_back(context, &taken)),
        }
        if unexpected > 0 {
            for (&message, _) in messages.iter().zip(&out[begin..]).filter(|(_, found)| found.is_none()) {
                let kept = self.tables.keep_unexpected(message);
                debug_assert_eq!(kept, Ok(()), "room was made for it");
            }
        }
        pace.stop(&lap, ways, messages.len());
        true
    }

    /// Messages that may meet wildcards.
    fn wildly(&mut self, piece: Piece<'_>, out: &mut Outcomes) -> Result<(), Refused> {
        let messages = piece.messages;
        let is_sure = self.cannot_be_refused(messages);
        // What is delivered of a message cannot be undone if one before it is refused.
        if piece.delivery.is_asked() && !is_sure {
            return self.singly(piece, out);
        }
        // Optimistically; by one thread, all deliver; alone.
        let Some(several) = &mut self.several else { return self.singly(piece, out) };
        let threads = several.crew.threads();
        let ways = if threads == 1 { 1 } else { 3 };
        let (size, asked) = (messages.len().ilog2() as usize, usize::from(piece.delivery.is_asked()));
        let lap = several.wild[size][asked].start(ways);
        let way = match self.shape.by {
            By::Pace if threads == 1 => 2,
            By::Pace => lap.way,
            By::Optimism | By::Shares => 0,
            By::Order => 1,
        };
        match way {
            0 => self.optimistically(piece, out)?,
            1 if piece.delivery.is_asked() => self.in_order(piece, out)?,
            _ => self.singly(piece, out)?,
        }
        if let Some(several) = &mut self.several {
            several.wild[size][asked].stop(&lap, ways, messages.len());
        }
        Ok(())
    }

    fn cannot_be_refused(&mut self, messages: &[Message]) -> bool {
        // Room for all of them, in each of their contexts: those that follow one another are asked for once.
        let mut last = None;
        messages.iter().all(|message| {
            let context = message.envelope.context;
            let is_known = last.replace(context) == Some(context);
            is_known || self.tables.expect_unexpected(context, messages.len()).is_ok()
        })
    }

    fn optimistically(&mut self, piece: Piece<'_>, out: &mut Outcomes) -> Result<(), Refused> {
        for (number, messages) in piece.messages.chunks(self.shape.block).enumerate() {
            let block = Piece { messages, first: piece.first + number * self.shape.block, ..piece };
            let Some(several) = &mut self.several else { return self.singly(block, out) };
            let Several { crew, round, .. } = &mut **several;
            // No memory for bookings: one thread needs none.
            if messages.len() == 1 || round.begin(&mut self.tables, messages, crew.threads()).is_err() {
                self.singly(block, out)?;
                continue;
            }
            let played = Played { round, first: block.first, delivery: piece.delivery };
            crew.run(&played, || played.take_part(0));
            let (parts, candidates) = (crew.threads() as u64, round.candidates() as u64);
            self.counts.job(crew.threads());
            // Claims, and one in vain for each thread; a part's bookings are told at once, messages settled one by one.
            self.counts.atomics += 3 * parts + candidates + messages.len() as u64;
            self.counts.barriers += parts - 1;
            round.commit(&mut self.tables, out)?;
        }
        Ok(())
    }

    fn in_order(&mut self, piece: Piece<'_>, out: &mut Outcomes) -> Result<(), Refused> {
        let Some(several) = &mut self.several else { return self.singly(piece, out) };
        let ordered = Ordered::new(piece.first, piece.delivery, several.crew.threads());
        self.counts.job(several.crew.threads());
        self.counts.ordered += piece.messages.len() as u64;
        self.counts.atomics += Ordered::claims(piece.messages.len(), several.crew.threads());
        several.crew.run(&ordered, || {
            let mut matched = Ok(());
            let mut count = 0;
            for &message in piece.messages {
                match self.tables.arrive(message) {
                    Ok(found) => {
                        out.push(found);
                        ordered.tell(count, found);
                        count += 1;
                    }
                    Err(refused) => {
                        matched = Err(refused);
                        break;
                    }
                }
            }
            ordered.end(count);
            ordered.take_part(0);
            matched
        })
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
        let crew = several.map(|several| (several.crew.jobs, several.crew.stood_in, several.crew.woken));
        let (jobs, stood_in, woken) = crew.unwrap_or_default();
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
            ("atomics", self.counts.atomics as f64),
            ("barriers", self.counts.barriers as f64),
            ("jobs", jobs as f64),
            ("jobs_stood_in", stood_in as f64),
            ("jobs_woken", woken as f64),
        ]);
        all
    }
}
