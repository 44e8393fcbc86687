//! What a replay measures. Plain data, in units that the names give: reports are made from it, and nothing else.
//!
//! A *search* of the posted queue is an arrival, a search of the unexpected queue a post; *attempts* are the entries
//! compared in it (MPI_T's match attempts). Ranks are ranks of `MPI_COMM_WORLD`. Times are seconds since the first
//! call of the trace, in the time of the replay.

use std::collections::BTreeMap;

use matchpoint_trace::Function;

use crate::arrivals::Arrivals;
use crate::library_cost::{LibraryCost, SearchTime};
use crate::loggp::LogGp;

/// All of it.
#[derive(Clone, Debug)]
pub struct Measurements {
    /// What was read.
    pub trace: TraceFacts,
    /// Calls by function, over all ranks.
    pub calls: BTreeMap<Function, u64>,
    /// What is counted over all ranks.
    pub totals: Totals,
    /// The order of arrivals that was replayed, and how far it can be trusted.
    pub arrivals: ArrivalFacts,
    /// Run time of the traced program, as recorded: from the first call entered to the last call left.
    pub elapsed_s: f64,
    /// What `MPI_Init` and `MPI_Finalize` took of it at every rank at least. They are no part of the replay.
    pub setup_s: f64,
    /// Run time in the replay.
    pub replayed_s: f64,
    /// The communicators that messages used, by context.
    pub communicators: Vec<CommunicatorFacts>,
    /// The engines, in the order asked for. The first is the one that the verdict is about.
    pub engines: Vec<EngineMeasurements>,
    /// The ranks that have a stream, ascending.
    pub ranks: Vec<RankMeasurements>,
    /// Who sends how much to whom.
    pub matrix: CommunicationMatrix,
    /// What the traced MPI library paid for an entry that it compared; `None`: there is nothing to tell it by.
    pub library_cost: Option<LibraryCost>,
    /// Processes that shared a processor when the trace was taken, at least 1; `None`: the trace does not tell.
    pub crowding: Option<f64>,
    /// The machine that the engines were timed on: processor, cores, operating system.
    pub host: String,
    /// How the timing went there.
    pub timings: Timings,
    /// What is odd about the recorded times.
    pub odd_times: OddTimes,
    /// Where in the application receives are posted, as addresses of each rank; empty where the trace has none.
    pub sites: Vec<SiteMeasurements>,
    /// The same by place in the application, for whoever reads the trace knows what the addresses mean: the replay leaves
    /// it empty.
    pub places: Vec<PlaceMeasurements>,
}

/// A call at one rank that posts receives.
#[derive(Clone, Debug)]
pub struct SiteMeasurements {
    /// The rank.
    pub rank: u32,
    /// The address that the call returns to.
    pub address: u64,
    /// What became of its receives.
    pub receives: PostedThere,
}

/// A place in the application that posts receives, over all ranks.
#[derive(Clone, Debug, Default)]
pub struct PlaceMeasurements {
    /// The file with the code.
    pub module: String,
    /// The address that the call returns to, in that file.
    pub address: u64,
    /// The function that calls, if that is known.
    pub function: Option<String>,
    /// Source file and line, if they are known.
    pub source: Option<String>,
    /// How many ranks post receives there.
    pub ranks: u64,
    /// What became of them.
    pub receives: PostedThere,
}

/// Receives that one place posted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PostedThere {
    /// How many.
    pub posted: u64,
    /// Those whose message was there before.
    pub late: u64,
    /// Those that leave the source open.
    pub any_source: u64,
    /// Those that leave the tag open.
    pub any_tag: u64,
    /// Searches of the posted queue that ended at such a receive, and what the first engine compared in them.
    pub found: Compared,
    /// Searches of the unexpected queue for such a receive, and what the first engine compared in them.
    pub sought: Compared,
}

/// Searches, and entries compared in them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Compared {
    /// Searches.
    pub searches: u64,
    /// Entries compared, in all.
    pub attempts: u64,
    /// Entries compared by the search that compared most.
    pub attempts_max: u64,
}

impl Compared {
    /// Counts a search.
    pub fn add(&mut self, attempts: u64) {
        *self += Compared { searches: 1, attempts, attempts_max: attempts };
    }
}

impl std::ops::AddAssign for Compared {
    fn add_assign(&mut self, other: Compared) {
        self.searches += other.searches;
        self.attempts += other.attempts;
        self.attempts_max = self.attempts_max.max(other.attempts_max);
    }
}

impl std::ops::AddAssign for PostedThere {
    fn add_assign(&mut self, other: PostedThere) {
        self.posted += other.posted;
        self.late += other.late;
        self.any_source += other.any_source;
        self.any_tag += other.any_tag;
        self.found += other.found;
        self.sought += other.sought;
    }
}

/// How timing the engines went: whether the machine had anything else to do.
#[derive(Clone, Copy, Debug, Default)]
pub struct Timings {
    /// Time that passed while bursts were played on warm caches, and the processor time that the measuring thread had
    /// in it. What is missing it spent waiting for a processor.
    pub wall_s: f64,
    /// See `wall_s`.
    pub processor_s: f64,
    /// Bursts that engines were timed on, each engine's for itself, and those of them that were interrupted.
    pub bursts: u64,
    /// See `bursts`.
    pub interrupted: u64,
    /// Phases played on flushed caches.
    pub cold_phases: u64,
    /// By how much the median of the first engine's repetitions of a burst exceeds the shortest, which counts: 0.1 is a
    /// tenth.
    pub repetition_excess: f64,
}

/// Recorded times that cannot be true, or can hardly be.
#[derive(Clone, Debug, Default)]
pub struct OddTimes {
    /// Calls that end before they begin, over all ranks.
    pub negative: u64,
    /// Calls that begin before an earlier call of the same thread does.
    pub backward: u64,
    /// The first rank with either.
    pub first_rank: Option<u32>,
    /// Ranks whose first or last time is far outside of those of the others.
    pub outliers: Vec<u32>,
}

/// What was read.
#[derive(Clone, Debug)]
pub struct TraceFacts {
    /// Format and version.
    pub format: String,
    /// The MPI library, as it calls itself, on one line; `None` if the trace does not tell.
    pub library: Option<String>,
    /// The part of the MPI library that matched messages; `None`: unknown.
    pub transport: Option<String>,
    /// The command line of the traced job, with spaces; `None`: unknown.
    pub command: Option<String>,
    /// When the job started, as in RFC 3339.
    pub started: Option<String>,
    /// Path given by the user.
    pub path: String,
    /// Processes in the traced program.
    pub ranks: u32,
    /// Ranks without a readable stream, or with one that holds none of their calls, and why.
    pub missing: Vec<(u32, String)>,
    /// Calls read, of whatever kind.
    pub calls: u64,
    /// Calls that the tracer says it did not write.
    pub calls_left_out: u64,
    /// Calls that were written, as the trace says, and that its files have no more.
    pub calls_cut_off: u64,
    /// Ranks of which an unknown number of last calls is not in the trace, ascending; without the missing ones.
    pub ended_early: Vec<u32>,
    /// What limits the trace: full sentences.
    pub notes: Vec<String>,
}

/// What is counted over all ranks.
#[derive(Clone, Debug, Default)]
pub struct Totals {
    /// Messages started. A persistent send counts at each start, `Sendrecv` once; to `MPI_PROC_NULL` none.
    pub sends: u64,
    /// Receives posted, counted alike.
    pub receives: u64,
    /// Receives by what they left open.
    pub wildcards: Wildcards,
    /// Sends and receives with `MPI_PROC_NULL`, which count as neither.
    pub proc_null: u64,
    /// Receives cancelled while still posted.
    pub cancelled: u64,
    /// Probes that reported a message, and those that did not.
    pub probes_found: u64,
    /// Probes that reported none.
    pub probes_missed: u64,
    /// Probes that left the source open.
    pub probes_any_source: u64,
    /// Probes that left the tag open.
    pub probes_any_tag: u64,
    /// Bytes sent, as far as the trace gives sizes.
    pub bytes: u64,
    /// Sends whose size the trace does not give.
    pub sends_without_size: u64,
    /// Distinct tags of sends.
    pub tags_unique: u64,
    /// False: there were too many distinct tags to keep, and `tags_unique` is a lower bound.
    pub tags_exact: bool,
    /// Largest tag sent; `None` without sends.
    pub tag_max: Option<i32>,
    /// The most used tags, with the number of sends that used each, descending; at most 32.
    pub sends_per_tag: Vec<(i32, u64)>,
    /// Receives that found their message waiting, by the function that posted them.
    pub late_by_function: BTreeMap<Function, u64>,
    /// Receives by the function that posted them.
    pub posted_by_function: BTreeMap<Function, u64>,
    /// Lengths of runs of compatible receives: same selector, posted consecutively at one rank. Number of runs whose
    /// length is in [2^i, 2^(i+1)).
    pub compatible_runs: Vec<u64>,
    /// The longest such run.
    pub compatible_run_max: u64,
    /// Blocks of [`CONFLICT_BLOCK`] consecutive arrivals at one rank. A block ends earlier where a receive is taken
    /// that was posted since it began: its messages were not there at once.
    pub blocks: u64,
    /// Messages that, matched at once with the others of their block, would have taken a receive that an earlier
    /// message of the block takes.
    pub conflicts: u64,
    /// Blocks with at least one such message.
    pub blocks_with_conflict: u64,
    /// Wildcard receives and probes whose status the trace has.
    pub recorded_wildcards: u64,
    /// Those of them that the replay gave the same source and tag.
    pub reproduced_wildcards: u64,
    /// Receives left posted at the end.
    pub unmatched_receives: u64,
    /// Messages left unexpected at the end.
    pub unmatched_messages: u64,
}

/// Arrivals that the offload paper matches at once (N = 32 threads).
pub const CONFLICT_BLOCK: usize = 32;

/// Receives by what they left open.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Wildcards {
    /// Nothing.
    pub none: u64,
    /// The source.
    pub any_source: u64,
    /// The tag.
    pub any_tag: u64,
    /// Both.
    pub both: u64,
}

/// The order of arrivals that was replayed, and how far it can be trusted.
#[derive(Clone, Debug)]
pub struct ArrivalFacts {
    /// How arrivals were ordered.
    pub mode: Arrivals,
    /// The network that was assumed.
    pub loggp: LogGp,
    /// Calls that could not complete in the replayed order although they did in the traced run, and were let go: by
    /// reason, in words. Empty for a trace that is complete and consistent.
    pub released: BTreeMap<&'static str, u64>,
    /// Messages whose sender has no stream, made up from what their receiver recorded.
    pub made_up_messages: u64,
    /// Messages to ranks that have no stream.
    pub lost_messages: u64,
    /// Arrivals were kept within what the recorded times allow: between the entry of the send and the end of the call that
    /// reports the receive complete. Only if `timestamps` is the mode, and all ranks' times are of one clock.
    pub intervals_known: bool,
    /// Messages that arrived earlier for that than the network would have them.
    pub arrivals_moved: u64,
    /// Receives and probes that ended in the traced run before their message was sent, by its clocks: they had it when
    /// it came.
    pub arrivals_outside: u64,
    /// Ranks that use a communicator whose making the trace does not show (by an extension of MPI, or in a callback). Its
    /// messages are taken for ones of `MPI_COMM_WORLD`.
    pub unexplained_ranks: u64,
    /// The same replay under the other modes, if asked for: how far the choice moves the result.
    pub compared: Vec<UnderArrivals>,
}

/// What the order of arrivals decides.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct UnderArrivals {
    /// The mode.
    pub mode: Arrivals,
    /// Receives that found their message waiting ÷ receives.
    pub unexpected_share: f64,
    /// The longest unexpected queue of any rank, in messages.
    pub unexpected_longest: u64,
}

/// A communicator that messages used.
#[derive(Clone, Debug)]
pub struct CommunicatorFacts {
    /// The context the engines saw.
    pub context: u32,
    /// How it came to be, in words: `MPI_COMM_WORLD`, `MPI_Comm_split of 0`.
    pub origin: String,
    /// Number of processes.
    pub size: u32,
    /// Messages sent on it.
    pub messages: u64,
    /// False: the trace does not tell who its members are, and ranks were taken as ranks of `MPI_COMM_WORLD`.
    pub resolved: bool,
}

/// An engine that matched in the place of another, which could not: see
/// [`Engine::substitute`](matchpoint::Engine::substitute).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Substitute {
    /// Its name; that at the first rank, if several have several.
    pub name: String,
    /// Ranks at which it did, from the first call or some later one on: of the engine that counts there, or of one that is timed.
    pub ranks: u32,
    /// Ranks at which anything was played.
    pub of_ranks: u32,
}

/// One engine, replayed over all ranks.
#[derive(Clone, Debug)]
pub struct EngineMeasurements {
    /// Its name, with parameters.
    pub name: String,
    /// The engine that matched in its place, if any did.
    pub substitute: Option<Substitute>,
    /// Share of the searches that it was played, 0 to 1. Below 1 it took too long or was full, and was stopped; its times,
    /// its attempts and its depths are estimates, and its footprint is that of the part played.
    pub sampled: f64,
    /// Its table of fixed size was full ([`Refused::Full`](matchpoint::Refused::Full)), which is why it was stopped.
    pub full: bool,
    /// It held too much memory, which is why it was stopped.
    pub too_large: bool,
    /// Share of the operations that were timed while they were counted, what counting takes being taken off: so much was
    /// held that there was one engine of a kind for both.
    pub timed_counting: f64,
    /// Time of all its operations at all ranks, caches warm.
    pub match_ns: f64,
    /// The same, the core's private caches flushed wherever the process computed between two operations.
    pub match_cold_ns: f64,
    /// Messages matched.
    pub matched: u64,
    /// Receives left posted at the end.
    pub unmatched_receives: u64,
    /// Messages left unexpected at the end.
    pub unmatched_messages: u64,
    /// Operations on which it answered otherwise than the replay's own matcher. Zero, or the engine is wrong.
    pub disagreements: u64,
    /// The posted queue.
    pub posted: QueueMeasurements,
    /// The unexpected queue.
    pub unexpected: QueueMeasurements,
    /// What it tells of itself ([`Engine::statistics`](matchpoint::Engine::statistics)), over the ranks where it was played.
    pub statistics: Vec<Statistic>,
    /// Largest footprint of one rank's engine, in bytes.
    pub bytes_max: u64,
    /// Sum of all ranks' engines' footprints, in bytes.
    pub bytes_sum: u64,
    /// Per rank, as in [`Measurements::ranks`].
    pub ranks: Vec<EngineAtRank>,
}

/// What engines tell of themselves at the end: one thing, over the ranks where one was played.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Statistic {
    /// Its name, as the page of the engine explains it.
    pub name: &'static str,
    /// Mean over these ranks.
    pub mean: f64,
    /// The largest.
    pub max: f64,
}

/// One engine at one rank.
#[derive(Clone, Copy, Debug, Default)]
pub struct EngineAtRank {
    /// Time of its operations, caches warm.
    pub match_ns: f64,
    /// The same, caches cold.
    pub match_cold_ns: f64,
    /// Entries compared, in both queues.
    pub attempts: u64,
    /// What so many comparisons took the traced MPI library, of the first engine; `None`: its costs are not known.
    pub library: Option<SearchTime>,
    /// Peak footprint.
    pub bytes: u64,
}

/// One queue of one engine, over all ranks.
#[derive(Clone, Debug, Default)]
pub struct QueueMeasurements {
    /// Longest, at any rank.
    pub length_max: u64,
    /// Mean length found by a search.
    pub length_mean: f64,
    /// Entries compared, over all searches.
    pub attempts: u64,
    /// Number of searches.
    pub searches: u64,
    /// Searches that found something.
    pub hits: u64,
    /// Searches that found something: element 0 counts those that compared no entry, element i those that compared
    /// a number of entries in [2^(i−1), 2^i).
    pub depth_hit: Vec<u64>,
    /// Searches that found nothing, likewise.
    pub depth_miss: Vec<u64>,
    /// Entries compared by searches that found something.
    pub attempts_hit: u64,
    /// Entries compared by those that did not.
    pub attempts_miss: u64,
}

/// One rank.
#[derive(Clone, Debug)]
pub struct RankMeasurements {
    /// Which.
    pub rank: u32,
    /// Calls read.
    pub calls: u64,
    /// Messages it sent.
    pub sends: u64,
    /// Receives it posted.
    pub receives: u64,
    /// Messages that arrived at it.
    pub messages: u64,
    /// Run time of this process as recorded.
    pub elapsed_s: f64,
    /// What `MPI_Init` and `MPI_Finalize` took of it.
    pub setup_s: f64,
    /// Ranks it sent to or that it had messages from.
    pub peers: u32,
    /// How evenly its messages come from its peers: entropy ÷ log of their number; 1 is uniform, 0 one peer only.
    pub peer_uniformity: f64,
    /// Largest share that one peer has in the messages that arrived.
    pub peer_weight_max: f64,
    /// Distinct (source, tag) combinations among the messages that arrived.
    pub tuples_unique: u64,
    /// False: there were too many to keep, and `tuples_unique` is a lower bound.
    pub tuples_exact: bool,
    /// Messages of the most frequent (source, tag) ÷ all messages that arrived (Klenk et al. §VI-C).
    pub tuple_share_max: f64,
    /// Distinct (source, tag) combinations, wildcards included, among the receives it posted, ÷ their number
    /// (García et al. §V).
    pub tuples_per_receive: f64,
    /// The posted queue.
    pub posted: RankQueue,
    /// The unexpected queue.
    pub unexpected: RankQueue,
    /// Receives that found their message waiting.
    pub late_receives: u64,
    /// When one of its searches was the longest, and how long that queue was then.
    pub worst_at_s: f64,
    /// Length of the queue searched at that moment.
    pub worst_length: u64,
}

/// One queue of one rank: the same under every engine.
#[derive(Clone, Debug, Default)]
pub struct RankQueue {
    /// Longest.
    pub length_max: u64,
    /// Mean over time.
    pub length_mean: f64,
    /// Longest in each of equal spans of the replayed run, first span first. All ranks have the same spans.
    pub timeline: Vec<u32>,
}

/// Messages and bytes between groups of consecutive ranks.
#[derive(Clone, Debug, Default)]
pub struct CommunicationMatrix {
    /// Ranks in one group (1 for small runs).
    pub ranks_per_cell: u32,
    /// Rows and columns.
    pub cells: u32,
    /// Messages, row = sender, column = receiver, row after row.
    pub messages: Vec<u64>,
    /// Bytes, likewise.
    pub bytes: Vec<u64>,
}
