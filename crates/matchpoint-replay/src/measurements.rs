//! Results of a replay: plain data, the only input of reports.
//!
//! An arrival is a *search* of the posted queue; a post is a *search* of the unexpected queue. *Attempts* are
//! the entries compared (MPI_T's match attempts). Ranks are ranks of `MPI_COMM_WORLD`. Times are seconds
//! since the first call of the trace, in the time of the replay. Integers without a unit are counts. A field
//! without a comment is described by its name and in `docs/reference/json.md`.

use std::collections::BTreeMap;

use matchpoint_trace::Function;
use serde::Serialize;

use crate::arrivals::Arrivals;
use crate::library_cost::{LibraryCost, SearchTime};
use crate::loggp::LogGp;

#[derive(Clone, Debug, Default)]
pub struct Measurements {
    pub trace: TraceFacts,
    pub calls: BTreeMap<Function, u64>,
    pub totals: Totals,
    pub arrivals: ArrivalFacts,
    /// Recorded run time, from the first call's entry to the last call's exit.
    pub elapsed_s: f64,
    /// Minimum over the ranks of the time in `MPI_Init` and `MPI_Finalize`, which the replay omits.
    pub setup_s: f64,
    pub replayed_s: f64,
    pub communicators: Vec<CommunicatorFacts>,
    /// The first engine is the engine of the verdict.
    pub engines: Vec<EngineMeasurements>,
    pub ranks: Vec<RankMeasurements>,
    pub matrix: CommunicationMatrix,
    /// Cost of an attempt in the traced library; `None` if unknown.
    pub library_cost: Option<LibraryCost>,
    /// Processes per processor, at least 1; `None` if unknown.
    pub crowding: Option<f64>,
    pub host: String,
    pub timings: Timings,
    pub implausible_times: ImplausibleTimes,
    /// Receives by rank and call site; empty if the trace has no return addresses.
    pub sites: Vec<SiteMeasurements>,
    /// Receives by place in the source code. The replay leaves this vector empty; a reader of the program's
    /// symbols fills the vector.
    pub places: Vec<PlaceMeasurements>,
}

#[derive(Clone, Debug)]
pub struct SiteMeasurements {
    pub rank: u32,
    pub address: u64,
    pub receives: SiteReceives,
}

#[derive(Clone, Debug, Default)]
pub struct PlaceMeasurements {
    pub module: String,
    /// Return address of the call, relative to the file.
    pub address: u64,
    pub function: Option<String>,
    /// Source file and line of the call site, if known.
    pub source: Option<String>,
    pub ranks: u64,
    pub receives: SiteReceives,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SiteReceives {
    pub posted: u64,
    pub late: u64,
    pub any_source: u64,
    pub any_tag: u64,
    /// Searches of the posted queue that found these receives, with attempts of the first engine.
    pub found: SearchCounts,
    pub sought: SearchCounts,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SearchCounts {
    pub searches: u64,
    pub attempts: u64,
    pub attempts_max: u64,
}

impl SearchCounts {
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
    pub processor_s: f64,
    /// Number of timed bursts; a burst counts once for each engine.
    pub bursts: u64,
    #[serde(rename = "bursts_interrupted")]
    pub interrupted: u64,
    /// Number of phases measured with flushed caches.
    pub cold_phases: u64,
    /// Ratio of the median to the minimum time of the first engine's repetitions, minus 1.
    pub repetition_excess: f64,
}

#[derive(Clone, Debug, Default)]
pub struct ImplausibleTimes {
    pub negative: u64,
    pub backward: u64,
    pub first_rank: Option<u32>,
    /// Ranks with a first or last time far from the times of the other ranks.
    pub outliers: Vec<u32>,
}

#[derive(Clone, Debug, Default, Serialize)]
pub struct TraceFacts {
    pub format: String,
    pub library: Option<String>,
    pub transport: Option<String>,
    pub command: Option<String>,
    #[serde(skip)]
    pub command_words: Vec<String>,
    pub started: Option<String>,
    pub path: String,
    pub ranks: u32,
    /// Missing ranks, each with the reason.
    #[serde(skip)]
    pub missing: Vec<(u32, String)>,
    pub calls: u64,
    /// Number of calls that the recorder omitted, according to the trace.
    pub calls_left_out: u64,
    /// Number of recorded calls that the files lack.
    pub calls_cut_off: u64,
    /// Ranks that lack an unknown number of last calls, ascending. Ranks in `missing` are excluded.
    pub ended_early: Vec<u32>,
    pub notes: Vec<String>,
}

#[derive(Clone, Debug, Default)]
pub struct Totals {
    /// Number of messages sent: a persistent send counts at each start, `MPI_Sendrecv` counts once, a send to
    /// `MPI_PROC_NULL` never.
    pub sends: u64,
    /// Number of posted receives, counted like sends.
    pub receives: u64,
    pub wildcards: Wildcards,
    /// Other counts exclude these operations.
    pub proc_null: u64,
    pub cancelled: u64,
    pub probes_found: u64,
    pub probes_missed: u64,
    pub probes_any_source: u64,
    pub probes_any_tag: u64,
    pub bytes: u64,
    pub sends_without_size: u64,
    pub tags_unique: u64,
    pub tags_exact: bool,
    pub tag_max: Option<i32>,
    /// The 32 most frequent tags, each with its number of sends, in descending order.
    pub sends_per_tag: Vec<(i32, u64)>,
    pub late_by_function: BTreeMap<Function, u64>,
    pub posted_by_function: BTreeMap<Function, u64>,
    /// Histogram of runs: consecutive receives of one rank with the same selector. Element i counts runs of
    /// 2^i to 2^(i+1) − 1 receives.
    pub compatible_runs: Vec<u64>,
    pub compatible_run_max: u64,
    /// Blocks of up to [`CONFLICT_BLOCK`] consecutive arrivals at one rank. A match with a receive posted during the
    /// block ends the block, because the block's messages were not available together.
    pub blocks: u64,
    /// Messages that would take the receive of an earlier message, if all messages of a block were matched in
    /// parallel.
    pub conflicts: u64,
    pub blocks_with_conflict: u64,
    /// Number of wildcard receives and probes with a recorded status.
    pub recorded_wildcards: u64,
    /// Number of wildcard receives and probes that matched the recorded source and tag.
    pub reproduced_wildcards: u64,
    pub unmatched_receives: u64,
    pub unmatched_messages: u64,
}

/// Number of arrivals that the offload paper matches in parallel (N = 32 threads).
pub const CONFLICT_BLOCK: usize = 32;

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Wildcards {
    pub none: u64,
    /// Receives with `MPI_ANY_SOURCE`, but without `MPI_ANY_TAG`.
    pub any_source: u64,
    /// Receives with `MPI_ANY_TAG`, but without `MPI_ANY_SOURCE`.
    pub any_tag: u64,
    pub both: u64,
}

/// Arrival order, and its limitations.
#[derive(Clone, Debug, Default)]
pub struct ArrivalFacts {
    pub mode: Arrivals,
    pub loggp: LogGp,
    /// Number of calls that the simulation ended because they could not complete in the replayed order, by reason.
    pub ended_calls: BTreeMap<&'static str, u64>,
    /// Number of messages that the replay invented from the receiver's calls, because the sender has no stream.
    pub made_up_messages: u64,
    pub lost_messages: u64,
    /// True if recorded times limit the arrival of a message: from the entry of the send to the end of the
    /// call that completes the receive. Requires arrival order `timestamps` and one clock.
    pub intervals_known: bool,
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
    pub mode: Arrivals,
    pub unexpected_share: f64,
    pub unexpected_longest: u64,
}

#[derive(Clone, Debug, Serialize)]
pub struct CommunicatorFacts {
    pub context: u32,
    /// Creation of the communicator: `MPI_Comm_split of 0`.
    pub origin: String,
    pub size: u32,
    pub messages: u64,
    /// False: the members of the communicator are unknown, so its ranks count as ranks of `MPI_COMM_WORLD`.
    pub resolved: bool,
}

/// Fallback engine, used because the requested engine cannot run here: see
/// [`Engine::substitute`](matchpoint::Engine::substitute).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Substitute {
    /// At the first rank; ranks may differ.
    pub name: String,
    /// Number of ranks with a fallback engine in any instance.
    pub ranks: u32,
    /// Number of ranks with matching operations.
    pub of_ranks: u32,
}

#[derive(Clone, Debug, Default, Serialize)]
pub struct EngineMeasurements {
    pub name: String,
    #[serde(skip)]
    pub substitute: Option<Substitute>,
    /// Fraction of the searches that was executed, 0 to 1. Below 1, times, attempts and depths are estimates.
    pub sampled: f64,
    #[serde(skip)]
    pub full: bool,
    #[serde(skip)]
    pub too_large: bool,
    /// Fraction of the operations that one instance both timed and counted, to save memory. The cost of
    /// counting is subtracted.
    pub timed_counting: f64,
    pub match_ns: f64,
    /// Time of all operations, if private caches are flushed after each compute phase.
    pub match_cold_ns: f64,
    pub matched: u64,
    pub unmatched_receives: u64,
    pub unmatched_messages: u64,
    /// Number of operations with another result than the replay's matcher; 0 for a correct engine.
    pub disagreements: u64,
    pub posted: QueueMeasurements,
    pub unexpected: QueueMeasurements,
    /// [`Engine::statistics`](matchpoint::Engine::statistics) over the ranks that executed the engine.
    pub statistics: Vec<Statistic>,
    pub bytes_max: u64,
    pub bytes_sum: u64,
    /// In the order of [`Measurements::ranks`].
    #[serde(skip)]
    pub ranks: Vec<EngineAtRank>,
}

#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Statistic {
    pub name: &'static str,
    pub mean: f64,
    pub max: f64,
}

#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct EngineAtRank {
    pub match_ns: f64,
    pub match_cold_ns: f64,
    /// Number of attempts in both queues.
    pub attempts: u64,
    /// For the first engine: search time in the traced library; `None` if unknown.
    #[serde(skip)]
    pub library: Option<SearchTime>,
    pub bytes: u64,
}

#[derive(Clone, Debug, Default, Serialize)]
pub struct QueueMeasurements {
    pub length_max: u64,
    pub length_mean: f64,
    pub attempts: u64,
    pub searches: u64,
    pub hits: u64,
    /// Histogram of search hits by attempts: element 0 counts hits without attempts, element i hits with
    /// 2^(i−1) to 2^i − 1 attempts.
    pub depth_hit: Vec<u64>,
    pub depth_miss: Vec<u64>,
    pub attempts_hit: u64,
    pub attempts_miss: u64,
}

#[derive(Clone, Debug, Default, Serialize)]
pub struct RankMeasurements {
    pub rank: u32,
    pub calls: u64,
    pub sends: u64,
    pub receives: u64,
    pub messages: u64,
    pub elapsed_s: f64,
    pub setup_s: f64,
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
    #[serde(skip)]
    pub any_source: u64,
    pub posted: RankQueue,
    pub unexpected: RankQueue,
    pub late_receives: u64,
    /// Time of the longest search.
    pub worst_at_s: f64,
    /// Queue length at the longest search.
    pub worst_length: u64,
}

#[derive(Clone, Debug, Default, Serialize)]
pub struct RankQueue {
    pub length_max: u64,
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
    pub cells: u32,
    /// By sender (row) and receiver (column), row after row.
    pub messages: Vec<u64>,
    pub bytes: Vec<u64>,
}
