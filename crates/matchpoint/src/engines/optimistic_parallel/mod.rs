//! `optimistic_parallel`: the tables of [`optimistic`](super::optimistic), with batches matched by several
//! threads.
//!
//! After García et al., "Offloaded MPI message matching: an optimistic approach" (2024), §III.
//!
//! ```text
//! batch ─┬─▶ one thread matches, all deliver                                              (ordered.rs)
//!        ├─▶ no wildcard receives: bins are partitioned; each thread matches and delivers (partitions.rs)
//!        ├─▶ with wildcard receives: blocks of up to 64: book, barrier, settle, deliver   (protocol.rs, block.rs)
//!        └─▶ one thread matches and delivers
//! the fastest method for recent batches of this size is used                              (policy.rs)
//! other calls ──▶ `optimistic`, in the calling thread
//! ```
//!
//! All results equal those of `optimistic`; `partitions.rs` and `protocol.rs` have the proofs.
//!
//! * A message is delivered before the end of matching only if no earlier message can be refused. Otherwise
//!   (`no_unexpected`, or no memory) the calling thread matches one message at a time.
//! * The calling thread alone matches a batch of one message, and a batch without posted receives. Threads
//!   match consecutive messages of one communicator.
//! * An engine that counts attempts matches one message at a time, or in blocks if requested, so that counts
//!   are reproducible.

mod batch;
mod block;
mod delivery;
#[cfg(all(test, loom))]
mod models;
mod ordered;
mod partitions;
mod policy;
mod protocol;
mod workers;

use self::block::BlockMatcher;
use self::delivery::{BATCH, Outcomes, Piece};
use self::partitions::PartitionTable;
use self::policy::BatchingPolicy;
use self::protocol::{MESSAGES, Resolution};
use self::workers::WorkerPool;
use super::optimistic::{Counts, Optimistic, Tally};
use super::software::{self, Tables};
use super::{Arguments, Built, Parameter, Spec};
use crate::engine::{Deliver, Engine, Message, Refused};
use crate::envelope::ContextId;
use crate::footprint::Footprint;
use crate::forwarded;
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

fn build(arguments: &Arguments<'_>, is_counting: bool) -> Built {
    let threads = arguments.within("threads", 1..=MESSAGES)?;
    let block = arguments.within("block", 2..=MESSAGES)?;
    let bins = arguments.within("bins", 1..=1 << hashes::BITS)?;
    let capacity: u32 = arguments.get("capacity")?;
    let strategy = arguments.word(
        "by",
        &[
            ("pace", Strategy::Fastest),
            ("optimism", Strategy::Blocks),
            ("shares", Strategy::Partitions),
            ("order", Strategy::Pipeline),
        ],
    )?;
    let parameters = Parameters { threads, block, bins, capacity: capacity as usize, strategy };
    if is_counting {
        software::build(OptimisticParallel::<Counts>::new(parameters), arguments, is_counting)
    } else {
        software::build(OptimisticParallel::<()>::new(parameters), arguments, is_counting)
    }
}

#[derive(Clone, Copy)]
struct Parameters {
    threads: usize,
    block: usize,
    bins: u32,
    capacity: usize,
    strategy: Strategy,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Strategy {
    Fastest,
    /// The method of the paper.
    Blocks,
    Partitions,
    Pipeline,
}

impl Parameters {
    fn tables<T: Tally>(self) -> Optimistic<T> {
        Optimistic::new(self.bins, self.capacity)
    }
}

const _: () = assert!(BATCH <= workers::PARTS, "a thread may get all messages of a batch");

struct ParallelState<T: Tally> {
    workers: WorkerPool,
    block_matcher: BlockMatcher<T>,
    table: PartitionTable,
    exact: BatchHistories,
    wild: BatchHistories,
}

impl<T: Tally> ParallelState<T> {
    fn history(&mut self, is_exact: bool, piece: &Piece<'_>) -> &mut BatchHistory {
        let histories = if is_exact { &mut self.exact } else { &mut self.wild };
        &mut histories[piece.messages.len().ilog2() as usize][usize::from(piece.delivery.is_requested())]
    }
}

/// Indexed by the logarithm of the batch size, then by 1 with and 0 without deliveries.
type BatchHistories = [[BatchHistory; 2]; BATCH.ilog2() as usize + 1];

#[derive(Clone, Copy)]
struct BatchHistory {
    policy: BatchingPolicy,
    ratio: f64,
}

impl Default for BatchHistory {
    fn default() -> Self {
        BatchHistory { policy: BatchingPolicy::default(), ratio: 1.0 }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Method {
    SingleThread,
    Pipelined,
    AllThreads,
}

#[derive(Default)]
struct MessageCounts {
    shared: u64,
    ordered: u64,
}

struct OptimisticParallel<T: Tally> {
    tables: Optimistic<T>,
    parallel: Option<Box<ParallelState<T>>>,
    parameters: Parameters,
    counts: MessageCounts,
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
    forwarded!(inside: post_selector arrive probe matched_probe cancel retract readdress set_hints close fail_source);
    forwarded!(inside: visit queued_in posted_len unexpected_len attempts);

    fn arrive_batch(&mut self, messages: &[Message], out: &mut Outcomes) -> Result<(), Refused> {
        self.match_batch(messages, out, None)
    }

    fn deliver_batch(
        &mut self,
        messages: &[Message],
        out: &mut Outcomes,
        deliver: &Deliver<'_>,
    ) -> Result<(), Refused> {
        self.match_batch(messages, out, Some(deliver))
    }

    fn footprint(&self) -> Footprint {
        let Footprint { fixed_bytes, peers_bytes, entries_bytes, peak_bytes } = self.tables.footprint();
        // This memory is never freed, so it is part of the peak.
        let own = (size_of::<Self>() - size_of::<Optimistic<T>>()) as u64;
        let more = own
            + self.parallel.as_ref().map_or(0, |parallel| {
                let ParallelState { workers, block_matcher, table, .. } = &**parallel;
                size_of::<ParallelState<T>>() as u64 + workers.bytes() + block_matcher.bytes() + table.bytes()
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
        let parallel = self.parallel.as_deref();
        let (blocks, resolutions) = parallel
            .map(|parallel| (parallel.block_matcher.blocks(), parallel.block_matcher.resolutions()))
            .unwrap_or_default();
        let count_of = |resolution: Resolution| resolutions[resolution as usize] as f64;
        all.extend([
            ("blocks", blocks as f64),
            ("blocks_no_candidate", count_of(Resolution::NoCandidate)),
            ("blocks_no_conflict", count_of(Resolution::NoConflict)),
            ("blocks_fast_path", count_of(Resolution::FastPath)),
            ("blocks_waited", count_of(Resolution::Waited)),
            ("blocks_slow_path", count_of(Resolution::SlowPath)),
            ("threads", parallel.map_or(1, |parallel| parallel.workers.threads()) as f64),
            ("shared", self.counts.shared as f64),
            ("ordered", self.counts.ordered as f64),
            ("jobs", parallel.map_or(0, |parallel| parallel.workers.jobs) as f64),
        ]);
        all
    }
}
