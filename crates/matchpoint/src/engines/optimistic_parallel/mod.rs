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
//! * An engine that counts matches one by one, or in blocks if that is asked for: what is compared is the same.
//!
//! With `n` bins, `q` entries and `t` threads, a message of a batch costs what an arrival costs in `optimistic`, less where its
//! envelope is that of the message before it; and its delivery, shared by the threads. Where bins are shared out the former is shared
//! as well, and it costs some nanoseconds in the caller's thread to share it out and to collect it. In a block, a message whose
//! candidate has a wildcard is compared with the messages before it: O(64).
//!
//! Memory, beside that of `optimistic`, from the first batch on: room for all of a batch to wait, some 27 KiB of tables, and
//! what is used of the stack of each worker; from the first block on 16 bytes for each receive that was posted at once at most, and 64 for each
//! message of a block.
//!
//! It loses wherever messages come one by one, and gains nothing where messages are few or cost little.

mod batch;
mod crew;
mod delivery;
#[cfg(all(test, loom))]
mod models;
mod ordered;
mod pace;
mod protocol;
mod round;
mod shares;

use self::crew::Crew;
use self::delivery::{BATCH, Outcomes, Piece};
use self::pace::Pace;
use self::protocol::{MESSAGES, Way};
use self::round::Round;
use self::shares::Table;
use super::optimistic::{Counts, Optimistic, Tally};
use super::software::{self, Tables};
use super::{Arguments, Built, Parameter, Spec};
use crate::engine::{Deliver, Engine, Message, Refused};
use crate::envelope::ContextId;
use crate::footprint::Footprint;
use crate::forward::forwarded;
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
            meaning: "receives that may be posted at once, of all communicators; for more, see `full`; 0: any number",
        },
        software::FULL,
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
        "threads=3,block=5,bins=3,capacity=4,full=software",
    ],
    tight: &["capacity=1", "capacity=16,bins=3,block=5"],
    build,
};

fn build(arguments: &Arguments<'_>, counting: bool) -> Built {
    let threads = arguments.within("threads", 1..=MESSAGES)?;
    let block = arguments.within("block", 2..=MESSAGES)?;
    let bins = arguments.within("bins", 1..=1 << hashes::BITS)?;
    let capacity: u32 = arguments.get("capacity")?;
    let by = arguments.word(
        "by",
        &[("pace", By::Pace), ("optimism", By::Optimism), ("shares", By::Shares), ("order", By::Order)],
    )?;
    let shape = Shape { threads, block, bins, capacity: capacity as usize, by };
    if counting {
        software::build(OptimisticParallel::<Counts>::new(shape), arguments, counting)
    } else {
        software::build(OptimisticParallel::<()>::new(shape), arguments, counting)
    }
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
        Optimistic::new(self.bins, self.capacity)
    }
}

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

impl<T: Tally> Several<T> {
    /// What is known of batches like this one.
    fn habit(&mut self, is_exact: bool, piece: &Piece<'_>) -> &mut Habit {
        let paces = if is_exact { &mut self.exact } else { &mut self.wild };
        &mut paces[piece.messages.len().ilog2() as usize][usize::from(piece.delivery.is_asked())]
    }
}

/// By the logarithm of the size of batches, and by whether anything is delivered.
type Paces = [[Habit; 2]; BATCH.ilog2() as usize + 1];

/// How batches that are alike are matched.
#[derive(Clone, Copy)]
struct Habit {
    pace: Pace,
    /// That of [`ordered::Balance`].
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

/// What was done together.
#[derive(Default)]
struct Work {
    /// Messages matched where bins were shared out, and where one thread matched and others delivered.
    shared: u64,
    ordered: u64,
}

/// See the [module's documentation](self).
struct OptimisticParallel<T: Tally> {
    tables: Optimistic<T>,
    /// None before the first batch.
    several: Option<Box<Several<T>>>,
    shape: Shape,
    counts: Work,
}

impl<T: Tally> OptimisticParallel<T> {
    fn call<A>(&mut self, call: impl FnOnce(&mut Optimistic<T>) -> A) -> A {
        call(&mut self.tables)
    }

    fn read<A>(&self, read: impl FnOnce(&Optimistic<T>) -> A) -> A {
        read(&self.tables)
    }
}

impl<T: Tally + Sync> Tables for OptimisticParallel<T> {
    fn hints_on(&self, context: ContextId) -> Hints {
        self.tables.hints_on(context)
    }

    fn clear(&mut self) {
        self.tables.clear();
    }
}

impl<T: Tally + Sync> Engine for OptimisticParallel<T> {
    forwarded!(inside: post_open arrive probe matched_probe cancel retract readdress set_hints close fail_source);
    forwarded!(inside: visit queued_in posted_len unexpected_len attempts);

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

    fn statistics(&self) -> Vec<(&'static str, f64)> {
        let mut all = self.tables.statistics();
        let several = self.several.as_deref();
        let (blocks, ways) =
            several.map(|several| (several.round.blocks(), several.round.ways())).unwrap_or_default();
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
            ("jobs", several.map_or(0, |several| several.crew.jobs) as f64),
        ]);
        all
    }
}
