//! `optimistic_parallel`: the tables of [`optimistic`](super::optimistic), where a batch of messages is matched by several
//! threads at once, after García et al., "Offloaded MPI message matching: an optimistic approach" (2024), §III.
//!
//! ```text
//! arrive_batch ──▶ blocks of up to 64 messages ──▶ parts, one for each thread
//!                    each thread: finds and books candidates ─▶ waits until earlier messages have ─▶ decides
//!                    the caller: unlinks the receives taken, files the messages left, in order
//! all other calls ──▶ `optimistic`, in the caller's thread
//! ```
//!
//! The rules by which a thread decides, and why what comes out is what one thread would have found, are in
//! [`protocol`]; who the threads are in [`crew`]. The same answers as `optimistic`, in all cases.
//!
//! * A block is decided as a whole, then its outcomes are put into effect one by one by the caller, who stops at a message
//!   that is refused: what later ones were to take stays posted.
//! * A batch of one message, or one that finds nothing posted, is matched by the caller alone, and so is a batch for which
//!   there is no memory to keep bookings in.
//! * Hash values that messages bring are not used: a sender that computes them wrongly would take receives from others.
//!
//! With `n` bins, `q` entries and `t` threads, a message of a block costs what an arrival costs in `optimistic`, of which
//! the search is shared by the threads, and its share of waking them and waiting for them. In a block, a message whose
//! candidate has a wildcard is compared with the messages before it: O(64).
//!
//! Memory, beside that of `optimistic`, from the first block on: 16 bytes for each receive that was posted at once at
//! most, 64 for each message of a block, and a stack for each worker.
//!
//! It loses wherever messages come one by one, and wherever threads cost more than they spare: in short queues.

mod crew;
#[cfg(all(test, loom))]
mod models;
mod protocol;
mod round;

use self::crew::Crew;
use self::protocol::{MESSAGES, Way};
use super::optimistic::{Counts, Optimistic, Tally};
use super::{Arguments, Built, Parameter, Spec};
use crate::effort::Attempts;
use crate::engine::{Drained, Engine, Entry, Message, MsgId, Queue, Receive, RecvId, Refused};
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
    ],
    variants: &["threads=1,block=3,capacity=0", "threads=4,block=8,bins=3", "threads=4,bins=1,capacity=0"],
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
    let shape = Shape { threads, block, bins, capacity: capacity as usize };
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
}

impl Shape {
    fn tables<T: Tally>(self) -> Optimistic<T> {
        Optimistic::new(self.bins, self.capacity, false)
    }
}

/// See the [module's documentation](self).
struct OptimisticParallel<T: Tally> {
    tables: Optimistic<T>,
    /// None before the first block.
    crew: Option<Crew<T>>,
    shape: Shape,
}

impl<T: Tally + Sync> OptimisticParallel<T> {
    fn new(shape: Shape) -> Self {
        OptimisticParallel { tables: shape.tables(), crew: None, shape }
    }

    /// Several messages that may find something.
    fn arrive_block(&mut self, block: &[Message], out: &mut Vec<Option<RecvId>>) -> Result<(), Refused> {
        match self.play(block, out) {
            Ok(played) => played,
            // No memory for many threads: one needs none.
            Err(_) => self.arrive_singly(block, out),
        }
    }

    fn play(
        &mut self,
        block: &[Message],
        out: &mut Vec<Option<RecvId>>,
    ) -> Result<Result<(), Refused>, Refused> {
        let crew = match &mut self.crew {
            Some(crew) => crew,
            none => none.insert(Crew::gather(self.shape.threads, self.shape.tables())?),
        };
        crew.play(&mut self.tables, block, out)
    }

    fn arrive_singly(&mut self, messages: &[Message], out: &mut Vec<Option<RecvId>>) -> Result<(), Refused> {
        for &message in messages {
            out.push(self.tables.arrive(message)?);
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

    fn arrive_batch(&mut self, messages: &[Message], out: &mut Vec<Option<RecvId>>) -> Result<(), Refused> {
        out.try_reserve(messages.len()).map_err(|_| Refused::Memory)?;
        for block in messages.chunks(self.shape.block) {
            if block.len() == 1 || self.posted_len() == 0 {
                self.arrive_singly(block, out)?;
            } else {
                self.arrive_block(block, out)?;
            }
        }
        Ok(())
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
        let more = own + self.crew.as_ref().map_or(0, Crew::bytes);
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
        let told = self.crew.as_ref().map(|crew| crew.tell(|round| (round.blocks(), round.ways())));
        let (blocks, ways) = told.unwrap_or_default();
        let of = |way: Way| ways[way as usize] as f64;
        all.extend([
            ("blocks", blocks as f64),
            ("blocks_no_candidate", of(Way::NoCandidate)),
            ("blocks_no_conflict", of(Way::NoConflict)),
            ("blocks_fast_path", of(Way::FastPath)),
            ("blocks_waited", of(Way::Waited)),
            ("blocks_slow_path", of(Way::SlowPath)),
        ]);
        all
    }
}
