//! Results of a replay: plain data, the only input of reports.
//!
//! A *search* of the posted queue is an arrival, one of the unexpected queue a post. *Attempts* are the
//! entries compared (MPI_T's match attempts). Ranks are ranks of `MPI_COMM_WORLD`. Times are seconds since
//! the first call of the trace, in the time of the replay.

use std::collections::BTreeMap;

use matchpoint_trace::Function;

use crate::arrivals::Arrivals;
use crate::library_cost::{LibraryCost, SearchTime};
use crate::loggp::LogGp;

/// Results of a replay.
#[derive(Clone, Debug)]
pub struct Measurements {
    /// The trace.
    pub trace: TraceFacts,
    /// Calls by function.
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
    /// In the order of the options. The verdict applies to the first.
    pub engines: Vec<EngineMeasurements>,
    /// Ranks with a stream, ascending.
    pub ranks: Vec<RankMeasurements>,
    /// Messages by sender and receiver.
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
    /// Receives by rank and call; empty without addresses in the trace.
    pub sites: Vec<SiteMeasurements>,
    /// Receives by place in the source. The replay leaves it empty; a reader of the program's symbols fills
    /// it.
    pub places: Vec<PlaceMeasurements>,
}

/// A call that posts receives.
#[derive(Clone, Debug)]
pub struct SiteMeasurements {
    /// Rank.
    pub rank: u32,
    /// Return address of the call.
    pub address: u64,
    /// Its receives.
    pub receives: SiteReceives,
}

/// A place in the application that posts receives.
#[derive(Clone, Debug, Default)]
pub struct PlaceMeasurements {
    /// File of the code.
    pub module: String,
    /// Return address in that file.
    pub address: u64,
    /// Calling function, if known.
    pub function: Option<String>,
    /// Source file and line, if known.
    pub source: Option<String>,
    /// Number of ranks.
    pub ranks: u64,
    /// Its receives.
    pub receives: SiteReceives,
}

/// Receives of one place.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SiteReceives {
    /// Number of receives.
    pub posted: u64,
    /// The message arrived before the post.
    pub late: u64,
    /// With `MPI_ANY_SOURCE`.
    pub any_source: u64,
    /// With `MPI_ANY_TAG`.
    pub any_tag: u64,
    /// Searches of the posted queue that matched these receives, with the first engine's attempts.
    pub found: SearchCounts,
    /// Searches of the unexpected queue for these receives.
    pub sought: SearchCounts,
}

/// Searches and their attempts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SearchCounts {
    /// Searches.
    pub searches: u64,
    /// Attempts.
    pub attempts: u64,
    /// Maximum in one search.
    pub attempts_max: u64,
}

impl SearchCounts {
    /// Counts a search.
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
#[derive(Clone, Copy, Debug, Default)]
pub struct Timings {
    /// Elapsed time of bursts on warm caches. The excess over `processor_s` is time without a processor.
    pub wall_s: f64,
    /// Processor time of these bursts.
    pub processor_s: f64,
    /// Timed bursts, counted for each engine.
    pub bursts: u64,
    /// Interrupted bursts.
    pub interrupted: u64,
    /// Phases measured with flushed caches.
    pub cold_phases: u64,
    /// Median of the first engine's repetitions ÷ minimum − 1. The minimum is the result.
    pub repetition_excess: f64,
}

/// Impossible or implausible recorded times.
#[derive(Clone, Debug, Default)]
pub struct ImplausibleTimes {
    /// Calls that end before they begin.
    pub negative: u64,
    /// Calls that begin before an earlier call of the same thread.
    pub backward: u64,
    /// First rank with such a call.
    pub first_rank: Option<u32>,
    /// Ranks with a first or last time far from the times of the other ranks.
    pub outliers: Vec<u32>,
}

/// Properties of the trace.
#[derive(Clone, Debug)]
pub struct TraceFacts {
    /// Format and version.
    pub format: String,
    /// Version string of the MPI library; `None` if unknown.
    pub library: Option<String>,
    /// Component of the library that matched messages; `None` if unknown.
    pub transport: Option<String>,
    /// Command line of the job; `None` if unknown.
    pub command: Option<String>,
    /// Start of the job, in RFC 3339 format.
    pub started: Option<String>,
    /// Path given by the user.
    pub path: String,
    /// Processes of the traced program.
    pub ranks: u32,
    /// Missing ranks and reasons.
    pub missing: Vec<(u32, String)>,
    /// Calls read.
    pub calls: u64,
    /// Calls that the tracer did not write.
    pub calls_left_out: u64,
    /// Calls that the tracer wrote and the files no longer contain.
    pub calls_cut_off: u64,
    /// Ranks with an unknown number of missing last calls, ascending; without missing ranks.
    pub ended_early: Vec<u32>,
    /// Limitations of the trace, as full sentences.
    pub notes: Vec<String>,
}

/// Counts over all ranks.
#[derive(Clone, Debug, Default)]
pub struct Totals {
    /// Messages started: a persistent send at each start, `Sendrecv` once, `MPI_PROC_NULL` never.
    pub sends: u64,
    /// Receives posted, by the same rules.
    pub receives: u64,
    /// Receives by wildcard.
    pub wildcards: Wildcards,
    /// Sends and receives with `MPI_PROC_NULL`, which other counts omit.
    pub proc_null: u64,
    /// Receives cancelled while posted.
    pub cancelled: u64,
    /// Probes that found a message.
    pub probes_found: u64,
    /// Probes that found none.
    pub probes_missed: u64,
    /// Probes with `MPI_ANY_SOURCE`.
    pub probes_any_source: u64,
    /// Probes with `MPI_ANY_TAG`.
    pub probes_any_tag: u64,
    /// Bytes of sends with a known size.
    pub bytes: u64,
    /// Sends of unknown size.
    pub sends_without_size: u64,
    /// Distinct tags of sends.
    pub tags_unique: u64,
    /// False: `tags_unique` is a lower bound.
    pub tags_exact: bool,
    /// Largest tag sent; `None` without sends.
    pub tag_max: Option<i32>,
    /// The 32 most frequent tags and their sends, descending.
    pub sends_per_tag: Vec<(i32, u64)>,
    /// Late receives by function.
    pub late_by_function: BTreeMap<Function, u64>,
    /// Receives by function.
    pub posted_by_function: BTreeMap<Function, u64>,
    /// Runs of receives with the same selector, consecutive at one rank. Element i counts runs of length
    /// [2^i, 2^(i+1)).
    pub compatible_runs: Vec<u64>,
    /// The longest such run.
    pub compatible_run_max: u64,
    /// Blocks of up to [`CONFLICT_BLOCK`] consecutive arrivals at one rank. A match with a receive posted
    /// during the block ends it: its messages were not available together.
    pub blocks: u64,
    /// Messages that would take the receive of an earlier message of the block if all were matched in
    /// parallel.
    pub conflicts: u64,
    /// Blocks with a conflict.
    pub blocks_with_conflict: u64,
    /// Wildcard receives and probes with a recorded status.
    pub recorded_wildcards: u64,
    /// Those that matched the recorded source and tag.
    pub reproduced_wildcards: u64,
    /// Still posted at the end.
    pub unmatched_receives: u64,
    /// Still unexpected at the end.
    pub unmatched_messages: u64,
}

/// Arrivals that the offload paper matches in parallel (N = 32 threads).
pub const CONFLICT_BLOCK: usize = 32;

/// Receives by wildcard.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Wildcards {
    /// Exact receives.
    pub none: u64,
    /// Only `MPI_ANY_SOURCE`.
    pub any_source: u64,
    /// Only `MPI_ANY_TAG`.
    pub any_tag: u64,
    /// Both.
    pub both: u64,
}

/// Arrival order, and its limitations.
#[derive(Clone, Debug)]
pub struct ArrivalFacts {
    /// Arrival order.
    pub mode: Arrivals,
    /// Network model.
    pub loggp: LogGp,
    /// Calls released because they could not complete in the replayed order, by reason.
    pub released: BTreeMap<&'static str, u64>,
    /// Messages invented from the receiver's record, because the sender has no stream.
    pub made_up_messages: u64,
    /// Messages to ranks without a stream.
    pub lost_messages: u64,
    /// Recorded times limit arrivals: from the send's entry to the end of the call that completes the
    /// receive. Needs `timestamps` and one clock.
    pub intervals_known: bool,
    /// Messages that arrived earlier because of that limit.
    pub arrivals_moved: u64,
    /// Receives and probes with a recorded end before the recorded send.
    pub arrivals_outside: u64,
    /// Ranks with a communicator that the trace uses but does not create. Its messages count for
    /// `MPI_COMM_WORLD`.
    pub unexplained_ranks: u64,
    /// Results under the other arrival orders, if requested.
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
#[derive(Clone, Debug)]
pub struct CommunicatorFacts {
    /// Context in the engines.
    pub context: u32,
    /// Creation in words: `MPI_Comm_split of 0`.
    pub origin: String,
    /// Number of processes.
    pub size: u32,
    /// Messages sent in it.
    pub messages: u64,
    /// False: ranks were treated as ranks of `MPI_COMM_WORLD`.
    pub resolved: bool,
}

/// An engine that replaced one that cannot run here: see
/// [`Engine::substitute`](matchpoint::Engine::substitute).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Substitute {
    /// Name at the first rank, if ranks differ.
    pub name: String,
    /// Ranks with a substitute in any instance.
    pub ranks: u32,
    /// Ranks with matching operations.
    pub of_ranks: u32,
}

/// One engine over all ranks.
#[derive(Clone, Debug)]
pub struct EngineMeasurements {
    /// Name with parameters.
    pub name: String,
    /// Substitute of the engine, if any.
    pub substitute: Option<Substitute>,
    /// Executed share of the searches, 0 to 1. Below 1, times, attempts and depths are estimates.
    pub sampled: f64,
    /// Stopped: its table was full ([`Refused::Full`](matchpoint::Refused::Full)).
    pub full: bool,
    /// Stopped: it used too much memory.
    pub too_large: bool,
    /// Share of the operations that one instance measured and counted, to save memory. The cost of counting
    /// is subtracted.
    pub timed_counting: f64,
    /// Time of all operations with warm caches.
    pub match_ns: f64,
    /// Time with private caches flushed after each compute phase.
    pub match_cold_ns: f64,
    /// Messages matched.
    pub matched: u64,
    /// Still posted at the end.
    pub unmatched_receives: u64,
    /// Still unexpected at the end.
    pub unmatched_messages: u64,
    /// Operations with another result than the replay's matcher. A correct engine has none.
    pub disagreements: u64,
    /// Posted queue.
    pub posted: QueueMeasurements,
    /// Unexpected queue.
    pub unexpected: QueueMeasurements,
    /// [`Engine::statistics`](matchpoint::Engine::statistics) over the ranks that executed it.
    pub statistics: Vec<Statistic>,
    /// Maximal footprint at one rank, in bytes.
    pub bytes_max: u64,
    /// Sum over the ranks, in bytes.
    pub bytes_sum: u64,
    /// By rank, as in [`Measurements::ranks`].
    pub ranks: Vec<EngineAtRank>,
}

/// One statistic over the ranks that executed the engine.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Statistic {
    /// Name, as in the manual.
    pub name: &'static str,
    /// Mean over the ranks.
    pub mean: f64,
    /// Maximum over the ranks.
    pub max: f64,
}

/// One engine at one rank.
#[derive(Clone, Copy, Debug, Default)]
pub struct EngineAtRank {
    /// Time with warm caches.
    pub match_ns: f64,
    /// Time with cold caches.
    pub match_cold_ns: f64,
    /// Attempts in both queues.
    pub attempts: u64,
    /// First engine: search time in the traced library; `None` if unknown.
    pub library: Option<SearchTime>,
    /// Peak footprint in bytes.
    pub bytes: u64,
}

/// One queue of one engine over all ranks.
#[derive(Clone, Debug, Default)]
pub struct QueueMeasurements {
    /// Maximal length.
    pub length_max: u64,
    /// Mean queue length at search.
    pub length_mean: f64,
    /// Attempts.
    pub attempts: u64,
    /// Searches.
    pub searches: u64,
    /// Search hits.
    pub hits: u64,
    /// Search hits by attempts: element 0 without attempts, element i with [2^(i−1), 2^i).
    pub depth_hit: Vec<u64>,
    /// Search misses by attempts.
    pub depth_miss: Vec<u64>,
    /// Attempts in search hits.
    pub attempts_hit: u64,
    /// Attempts in search misses.
    pub attempts_miss: u64,
}

/// One rank.
#[derive(Clone, Debug)]
pub struct RankMeasurements {
    /// Rank.
    pub rank: u32,
    /// Calls read.
    pub calls: u64,
    /// Messages sent.
    pub sends: u64,
    /// Receives posted.
    pub receives: u64,
    /// Messages that arrived.
    pub messages: u64,
    /// Recorded run time.
    pub elapsed_s: f64,
    /// Time in `MPI_Init` and `MPI_Finalize`.
    pub setup_s: f64,
    /// Communication partners.
    pub peers: u32,
    /// Entropy of messages by sender ÷ log of the number of senders: 1 is uniform, 0 a single sender.
    pub peer_uniformity: f64,
    /// Largest share of one sender.
    pub peer_weight_max: f64,
    /// Distinct pairs of source and tag of arrived messages.
    pub tuples_unique: u64,
    /// False: `tuples_unique` is a lower bound.
    pub tuples_exact: bool,
    /// Share of the most frequent pair (Klenk et al. §VI-C).
    pub tuple_share_max: f64,
    /// Distinct pairs of the receives, with wildcards ÷ receives (García et al. §V).
    pub tuples_per_receive: f64,
    /// Posted queue.
    pub posted: RankQueue,
    /// Unexpected queue.
    pub unexpected: RankQueue,
    /// Late receives.
    pub late_receives: u64,
    /// Time of the longest search.
    pub worst_at_s: f64,
    /// Queue length at that search.
    pub worst_length: u64,
}

/// One queue of one rank, the same for all engines.
#[derive(Clone, Debug, Default)]
pub struct RankQueue {
    /// Maximal length.
    pub length_max: u64,
    /// Mean length over time.
    pub length_mean: f64,
    /// Maximal length in equal intervals of the replay, the same for all ranks.
    pub timeline: Vec<u32>,
}

/// Messages and bytes between groups of consecutive ranks.
#[derive(Clone, Debug, Default)]
pub struct CommunicationMatrix {
    /// Ranks per group (1 for small runs).
    pub ranks_per_cell: u32,
    /// Rows and columns.
    pub cells: u32,
    /// Messages; row: sender, column: receiver; row after row.
    pub messages: Vec<u64>,
    /// Bytes, in the same layout.
    pub bytes: Vec<u64>,
}
