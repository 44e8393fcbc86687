//! Results of a replay: plain data, the only input of reports.
//!
//! An arrival is a *search* of the posted queue; a post is a *search* of the unexpected queue. *Attempts* are
//! the entries compared (MPI_T's match attempts). Ranks are ranks of `MPI_COMM_WORLD`. Times are seconds
//! since the first call of the trace, in the time of the replay.

use std::collections::BTreeMap;

use matchpoint_trace::Function;
use serde::Serialize;

use crate::arrivals::Arrivals;
use crate::library_cost::{LibraryCost, SearchTime};
use crate::loggp::LogGp;

/// Results of a replay.
#[derive(Clone, Debug, Default)]
pub struct Measurements {
    /// Properties of the trace.
    pub trace: TraceFacts,
    /// Number of calls by function.
    pub calls: BTreeMap<Function, u64>,
    /// Counts over all ranks.
    pub totals: Totals,
    /// Arrival order, and its limitations.
    pub arrivals: ArrivalFacts,
    /// Recorded run time, from the first call's entry to the last call's exit.
    pub elapsed_s: f64,
    /// Minimum over the ranks of the time in `MPI_Init` and `MPI_Finalize`, which the replay omits.
    pub setup_s: f64,
    /// Run time in the replay.
    pub replayed_s: f64,
    /// Communicators with messages, by context.
    pub communicators: Vec<CommunicatorFacts>,
    /// Measurements of the engines, in the order of the options. The verdict applies to the first engine.
    pub engines: Vec<EngineMeasurements>,
    /// Measurements of the ranks with a stream, in ascending order.
    pub ranks: Vec<RankMeasurements>,
    /// Numbers of messages and bytes by sender and receiver.
    pub matrix: CommunicationMatrix,
    /// Cost of an attempt in the traced library; `None` if unknown.
    pub library_cost: Option<LibraryCost>,
    /// Processes per processor, at least 1; `None` if unknown.
    pub crowding: Option<f64>,
    /// Machine that measured the engines.
    pub host: String,
    /// Quality of the time measurements.
    pub timings: Timings,
    /// Implausible recorded times.
    pub implausible_times: ImplausibleTimes,
    /// Receives by rank and call site; empty if the trace has no return addresses.
    pub sites: Vec<SiteMeasurements>,
    /// Receives by place in the source code. The replay leaves this list empty; a reader of the program's
    /// symbols fills the list.
    pub places: Vec<PlaceMeasurements>,
}

/// A call site that posts receives.
#[derive(Clone, Debug)]
pub struct SiteMeasurements {
    /// Rank in `MPI_COMM_WORLD`.
    pub rank: u32,
    /// Return address of the call.
    pub address: u64,
    /// Receives that the call site posted.
    pub receives: SiteReceives,
}

/// A place in the application that posts receives.
#[derive(Clone, Debug, Default)]
pub struct PlaceMeasurements {
    /// File that contains the code.
    pub module: String,
    /// Return address of the call, relative to the file.
    pub address: u64,
    /// Function that contains the call site, if known.
    pub function: Option<String>,
    /// Source file and line of the call site, if known.
    pub source: Option<String>,
    /// Number of ranks that posted receives here.
    pub ranks: u64,
    /// Receives that the place posted.
    pub receives: SiteReceives,
}

/// Receives of one call site or place.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SiteReceives {
    /// Number of posted receives.
    pub posted: u64,
    /// Number of receives posted after their message arrived.
    pub late: u64,
    /// Number of receives with `MPI_ANY_SOURCE`.
    pub any_source: u64,
    /// Number of receives with `MPI_ANY_TAG`.
    pub any_tag: u64,
    /// Searches of the posted queue that found these receives, with attempts of the first engine.
    pub found: SearchCounts,
    /// Searches of the unexpected queue for these receives.
    pub sought: SearchCounts,
}

/// Searches and their attempts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SearchCounts {
    /// Number of searches.
    pub searches: u64,
    /// Number of attempts.
    pub attempts: u64,
    /// Maximum number of attempts in one search.
    pub attempts_max: u64,
}

impl SearchCounts {
    /// Counts a search with this number of attempts.
    pub fn add(&mut self, attempts: u64) {
        *self += SearchCounts { searches: 1, attempts, attempts_max: attempts };
    }
}

impl std::ops::AddAssign for SearchCounts {
    fn add_assign(&mut self, other: SearchCounts) {
        self.searches += other.searches;
        self.attempts += other.attempts;
        self.attempts_max = self.attempts_max.max(other.attempts_max);
    }
}

impl std::ops::AddAssign for SiteReceives {
    fn add_assign(&mut self, other: SiteReceives) {
        self.posted += other.posted;
        self.late += other.late;
        self.any_source += other.any_source;
        self.any_tag += other.any_tag;
        self.found += other.found;
        self.sought += other.sought;
    }
}

/// Host load during the time measurements.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Timings {
    /// Elapsed time of bursts with warm caches. The excess over `processor_s` is time without a processor.
    pub wall_s: f64,
    /// Processor time of the bursts with warm caches.
    pub processor_s: f64,
    /// Number of timed bursts; a burst counts once for each engine.
    pub bursts: u64,
    /// Number of interrupted bursts.
    #[serde(rename = "bursts_interrupted")]
    pub interrupted: u64,
    /// Number of phases measured with flushed caches.
    pub cold_phases: u64,
    /// Ratio of the median to the minimum time of the first engine's repetitions, minus 1. The minimum is the
    /// reported time.
    pub repetition_excess: f64,
}

/// Impossible or implausible recorded times.
#[derive(Clone, Debug, Default)]
pub struct ImplausibleTimes {
    /// Number of calls that end before they begin.
    pub negative: u64,
    /// Number of calls that begin before an earlier call of the same thread.
    pub backward: u64,
    /// First rank with such an implausible call.
    pub first_rank: Option<u32>,
    /// Ranks with a first or last time far from the times of the other ranks.
    pub outliers: Vec<u32>,
}

/// Properties of the trace.
#[derive(Clone, Debug, Default, Serialize)]
pub struct TraceFacts {
    /// Format of the trace, and version of the format.
    pub format: String,
    /// Version string of the MPI library; `None` if unknown.
    pub library: Option<String>,
    /// Component of the library that matched messages; `None` if unknown.
    pub transport: Option<String>,
    /// Command line of the job; `None` if unknown.
    pub command: Option<String>,
    /// Words of that command line.
    #[serde(skip)]
    pub command_words: Vec<String>,
    /// Start of the job, in RFC 3339 format.
    pub started: Option<String>,
    /// Path of the trace, as given by the user.
    pub path: String,
    /// Number of processes of the traced program.
    pub ranks: u32,
    /// Missing ranks, each with the reason.
    #[serde(skip)]
    pub missing: Vec<(u32, String)>,
    /// Number of calls read.
    pub calls: u64,
    /// Number of calls that the tracer did not write.
    pub calls_left_out: u64,
    /// Number of calls that the tracer wrote but that the files no longer contain.
    pub calls_cut_off: u64,
    /// Ranks that lack an unknown number of last calls, ascending. Ranks in `missing` are excluded.
    pub ended_early: Vec<u32>,
    /// Limitations of the trace, as full sentences.
    pub notes: Vec<String>,
}

/// Counts over all ranks.
#[derive(Clone, Debug, Default)]
pub struct Totals {
    /// Number of messages sent: a persistent send counts at each start, `Sendrecv` counts once, a send to
    /// `MPI_PROC_NULL` never.
    pub sends: u64,
    /// Number of posted receives, counted like sends.
    pub receives: u64,
    /// Number of receives by wildcard class.
    pub wildcards: Wildcards,
    /// Number of sends and receives with `MPI_PROC_NULL`. Other counts exclude these operations.
    pub proc_null: u64,
    /// Number of receives cancelled while posted.
    pub cancelled: u64,
    /// Number of probes that found a message.
    pub probes_found: u64,
    /// Number of probes that found no message.
    pub probes_missed: u64,
    /// Number of probes with `MPI_ANY_SOURCE`.
    pub probes_any_source: u64,
    /// Number of probes with `MPI_ANY_TAG`.
    pub probes_any_tag: u64,
    /// Bytes of sends with a known size.
    pub bytes: u64,
    /// Number of sends of unknown size.
    pub sends_without_size: u64,
    /// Number of distinct tags of sends.
    pub tags_unique: u64,
    /// False if `tags_unique` is only a lower bound.
    pub tags_exact: bool,
    /// Largest tag sent; `None` without sends.
    pub tag_max: Option<i32>,
    /// The 32 most frequent tags, each with its number of sends, in descending order.
    pub sends_per_tag: Vec<(i32, u64)>,
    /// Number of late receives by function.
    pub late_by_function: BTreeMap<Function, u64>,
    /// Number of posted receives by function.
    pub posted_by_function: BTreeMap<Function, u64>,
    /// Histogram of runs: consecutive receives of one rank with the same selector. Element i counts runs of
    /// 2^i to 2^(i+1) − 1 receives.
    pub compatible_runs: Vec<u64>,
    /// Length of the longest run of receives with the same selector.
    pub compatible_run_max: u64,
    /// Blocks of up to [`CONFLICT_BLOCK`] consecutive arrivals at one rank. A match with a receive posted
    /// during the block ends the block, because the block's messages were not available together.
    pub blocks: u64,
    /// Number of messages that would take the receive of an earlier message, if all messages of a block were
    /// matched in parallel.
    pub conflicts: u64,
    /// Number of blocks with a conflict.
    pub blocks_with_conflict: u64,
    /// Number of wildcard receives and probes with a recorded status.
    pub recorded_wildcards: u64,
    /// Number of wildcard receives and probes that matched the recorded source and tag.
    pub reproduced_wildcards: u64,
    /// Number of receives still posted at the end.
    pub unmatched_receives: u64,
    /// Number of messages still unexpected at the end.
    pub unmatched_messages: u64,
}

/// Number of arrivals that the offload paper matches in parallel (N = 32 threads).
pub const CONFLICT_BLOCK: usize = 32;

/// Number of receives by wildcard class.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Wildcards {
    /// Number of exact receives.
    pub none: u64,
    /// Number of receives with only `MPI_ANY_SOURCE`.
    pub any_source: u64,
    /// Number of receives with only `MPI_ANY_TAG`.
    pub any_tag: u64,
    /// Number of receives with `MPI_ANY_SOURCE` and `MPI_ANY_TAG`.
    pub both: u64,
}

/// Arrival order, and its limitations.
#[derive(Clone, Debug, Default)]
pub struct ArrivalFacts {
    /// Arrival order.
    pub mode: Arrivals,
    /// Network model.
    pub loggp: LogGp,
    /// Number of released calls by reason: calls that could not complete in the replayed order.
    pub released: BTreeMap<&'static str, u64>,
    /// Number of messages that the replay invented from the receiver's calls, because the sender has no
    /// stream.
    pub made_up_messages: u64,
    /// Number of messages to ranks without a stream.
    pub lost_messages: u64,
    /// True if recorded times limit the arrival of a message: from the entry of the send to the end of the
    /// call that completes the receive. Requires arrival order `timestamps` and one clock.
    pub intervals_known: bool,
    /// Number of messages that arrived earlier because of recorded times.
    pub arrivals_moved: u64,
    /// Number of receives and probes that ended before the recorded time of the send.
    pub arrivals_outside: u64,
    /// Number of ranks with a communicator that the trace uses but does not create. Messages of such a
    /// communicator count for `MPI_COMM_WORLD`.
    pub unexplained_ranks: u64,
    /// Results under the other arrival orders, if the user requested a comparison.
    pub compared: Vec<ArrivalOrderResult>,
}

/// Results that depend on the arrival order.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ArrivalOrderResult {
    /// Arrival order.
    pub mode: Arrivals,
    /// Late receives ÷ receives.
    pub unexpected_share: f64,
    /// Maximal length of the unexpected queue of any rank.
    pub unexpected_longest: u64,
}

/// A communicator with messages.
#[derive(Clone, Debug, Serialize)]
pub struct CommunicatorFacts {
    /// Context id in the engines.
    pub context: u32,
    /// Creation of the communicator in words: `MPI_Comm_split of 0`.
    pub origin: String,
    /// Number of processes.
    pub size: u32,
    /// Number of messages sent in the communicator.
    pub messages: u64,
    /// False if the members are unknown and ranks were treated as ranks of `MPI_COMM_WORLD`.
    pub resolved: bool,
}

/// Fallback engine, used because the requested engine cannot run here: see
/// [`Engine::substitute`](matchpoint::Engine::substitute).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Substitute {
    /// Name of the fallback engine at the first rank; ranks may differ.
    pub name: String,
    /// Number of ranks with a fallback engine in any instance.
    pub ranks: u32,
    /// Number of ranks with matching operations.
    pub of_ranks: u32,
}

/// Measurements of one engine over all ranks.
#[derive(Clone, Debug, Default, Serialize)]
pub struct EngineMeasurements {
    /// Name of the engine with parameters.
    pub name: String,
    /// Fallback engine, if in use.
    #[serde(skip)]
    pub substitute: Option<Substitute>,
    /// Fraction of the searches that was executed, 0 to 1. Below 1, times, attempts and depths are estimates.
    pub sampled: f64,
    /// True if the engine was stopped because its table was full
    /// ([`Refused::Full`](matchpoint::Refused::Full)).
    #[serde(skip)]
    pub full: bool,
    /// True if the engine was stopped because of too much memory.
    #[serde(skip)]
    pub too_large: bool,
    /// Fraction of the operations that one instance both timed and counted, to save memory. The cost of
    /// counting is subtracted.
    pub timed_counting: f64,
    /// Time of all operations with warm caches.
    pub match_ns: f64,
    /// Time of all operations, if private caches are flushed after each compute phase.
    pub match_cold_ns: f64,
    /// Number of messages matched.
    pub matched: u64,
    /// Number of receives still posted at the end.
    pub unmatched_receives: u64,
    /// Number of messages still unexpected at the end.
    pub unmatched_messages: u64,
    /// Number of operations with another result than the replay's matcher; 0 for a correct engine.
    pub disagreements: u64,
    /// Measurements of the posted queue.
    pub posted: QueueMeasurements,
    /// Measurements of the unexpected queue.
    pub unexpected: QueueMeasurements,
    /// [`Engine::statistics`](matchpoint::Engine::statistics) over the ranks that executed the engine.
    pub statistics: Vec<Statistic>,
    /// Maximal footprint at one rank, in bytes.
    pub bytes_max: u64,
    /// Sum of the footprints of all ranks, in bytes.
    pub bytes_sum: u64,
    /// Measurements by rank, in the order of [`Measurements::ranks`].
    #[serde(skip)]
    pub ranks: Vec<EngineAtRank>,
}

/// One statistic over the ranks that executed the engine.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Statistic {
    /// Name of the statistic, as in the manual.
    pub name: &'static str,
    /// Mean of the statistic over the ranks.
    pub mean: f64,
    /// Maximum of the statistic over the ranks.
    pub max: f64,
}

/// Measurements of one engine at one rank.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct EngineAtRank {
    /// Time of all operations with warm caches.
    pub match_ns: f64,
    /// Time of all operations with cold caches.
    pub match_cold_ns: f64,
    /// Number of attempts in both queues.
    pub attempts: u64,
    /// For the first engine: search time in the traced library; `None` if unknown.
    #[serde(skip)]
    pub library: Option<SearchTime>,
    /// Peak footprint in bytes.
    pub bytes: u64,
}

/// Measurements of one queue of one engine over all ranks.
#[derive(Clone, Debug, Default, Serialize)]
pub struct QueueMeasurements {
    /// Maximum queue length.
    pub length_max: u64,
    /// Mean queue length at search.
    pub length_mean: f64,
    /// Number of attempts.
    pub attempts: u64,
    /// Number of searches.
    pub searches: u64,
    /// Number of search hits.
    pub hits: u64,
    /// Histogram of search hits by attempts: element 0 counts hits without attempts, element i hits with
    /// 2^(i−1) to 2^i − 1 attempts.
    pub depth_hit: Vec<u64>,
    /// Histogram of search misses by attempts, like `depth_hit`.
    pub depth_miss: Vec<u64>,
    /// Number of attempts in search hits.
    pub attempts_hit: u64,
    /// Number of attempts in search misses.
    pub attempts_miss: u64,
}

/// Measurements of one rank that do not depend on the engine.
#[derive(Clone, Debug, Default, Serialize)]
pub struct RankMeasurements {
    /// Rank in `MPI_COMM_WORLD`.
    pub rank: u32,
    /// Number of calls read.
    pub calls: u64,
    /// Number of messages sent.
    pub sends: u64,
    /// Number of posted receives.
    pub receives: u64,
    /// Number of messages that arrived.
    pub messages: u64,
    /// Recorded run time of the rank.
    pub elapsed_s: f64,
    /// Time in `MPI_Init` and `MPI_Finalize`.
    pub setup_s: f64,
    /// Number of processes that the rank communicates with.
    pub peers: u32,
    /// Entropy of messages by sender ÷ log of the number of senders: 1 is uniform, 0 a single sender.
    pub peer_uniformity: f64,
    /// Fraction of the messages from the most frequent sender.
    pub peer_weight_max: f64,
    /// Number of distinct pairs of source and tag of arrived messages.
    pub tuples_unique: u64,
    /// False if `tuples_unique` is only a lower bound.
    pub tuples_exact: bool,
    /// Fraction of the messages with the most frequent pair of source and tag (Klenk et al. §VI-C).
    pub tuple_share_max: f64,
    /// Number of distinct pairs of source and tag of the receives, wildcards included, ÷ number of receives
    /// (García et al. §V).
    pub tuples_per_receive: f64,
    /// Lengths of the posted queue.
    pub posted: RankQueue,
    /// Lengths of the unexpected queue.
    pub unexpected: RankQueue,
    /// Number of late receives.
    pub late_receives: u64,
    /// Time of the longest search.
    pub worst_at_s: f64,
    /// Queue length at the longest search.
    pub worst_length: u64,
}

/// Lengths of one queue of one rank, the same for all engines.
#[derive(Clone, Debug, Default, Serialize)]
pub struct RankQueue {
    /// Maximum length of the queue.
    pub length_max: u64,
    /// Mean length of the queue over time.
    pub length_mean: f64,
    /// Maximum length of the queue in each of equal intervals of the replay. The intervals are the same for
    /// all ranks.
    #[serde(skip)]
    pub timeline: Vec<u32>,
}

/// Messages and bytes between groups of consecutive ranks.
#[derive(Clone, Debug, Default)]
pub struct CommunicationMatrix {
    /// Number of ranks per group; 1 if the program has few ranks.
    pub ranks_per_cell: u32,
    /// Number of rows, equal to the number of columns.
    pub cells: u32,
    /// Number of messages by sender (row) and receiver (column), row after row.
    pub messages: Vec<u64>,
    /// Number of bytes, in the same layout as `messages`.
    pub bytes: Vec<u64>,
}
