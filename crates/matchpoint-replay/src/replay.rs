//! Replay of a trace, from its files to the measurements.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc;

use matchpoint_trace::{SearchCost, Trace};

use rustc_hash::FxHashMap;

use crate::arrivals::{Arrivals, has_arrivals};
use crate::batch::{Batcher, chunks_in_flight};
use crate::bits::Bits;
use crate::clocks::Clocks;
use crate::communicators::{self, Communicators};
use crate::library_cost::{self, LibraryCost};
use crate::loggp::{Delays, LogGp};
use crate::measure::Measurer;
use crate::measurements::*;
use crate::proc_null::{self, NullReceives};
use crate::progress::Progress;
use crate::rank_summary::{RankSummary, summarize_ranks};
use crate::simulation::{Setting, Simulation};
use crate::step::{CallEnd, CompactStep, SendEvent, StepSink};
use crate::tally::Tally;
use crate::{Options, ReplayError, at_wait};

/// # Errors
/// The trace is damaged, an engine's name is wrong, or [`Progress::stop`] was called.
pub fn replay(
    trace: &dyn Trace,
    options: &Options,
    progress: &Progress,
) -> Result<Measurements, ReplayError> {
    replay_with_sink(trace, options, progress, NullSink, 0).map(|(measurements, ..)| measurements)
}

/// Replays `trace`, and also passes the steps to `extra_sink`. `more` is the number of later passes through
/// the trace.
pub(crate) fn replay_with_sink<S: StepSink>(
    trace: &dyn Trace,
    options: &Options,
    progress: &Progress,
    extra_sink: S,
    more: u64,
) -> Result<(Measurements, S, FirstPass), ReplayError> {
    let mut measurer =
        Measurer::new(&options.engines, options.sampled, trace.present(), trace.description().ranks)?;
    let others = Arrivals::ALL.into_iter().filter(|mode| {
        options.compare_arrivals
            && *mode != options.arrivals
            && (*mode != Arrivals::Recorded || has_arrivals(trace))
    });
    let others: Vec<Arrivals> = others.collect();
    progress.bytes_total.store(trace.description().bytes * (2 + others.len() as u64 + more), Relaxed);
    let first_pass = FirstPass::new(trace, progress)?;
    measurer.set_call_count(first_pass.summaries.iter().map(|summary| summary.calls).sum());
    let costs = library_cost::costs_of(trace);
    measurer.set_library_costs(&costs, trace.crowding());
    let setting = |arrivals| first_pass.setting(arrivals, options.loggp);
    let (measurer, extra_sink, tally) =
        simulate_and_measure(trace, &setting(options.arrivals), measurer, extra_sink, progress)?;
    let mut compared = Vec::new();
    if options.compare_arrivals {
        let longest = measurer.observers.iter().map(|of| of.unexpected.longest()).max().unwrap_or(0);
        compared.push(result_of_order(options.arrivals, &tally, longest));
    }
    for mode in others {
        let (lengths, tally) = run(trace, &setting(mode), UnexpectedLengths::new(trace), progress)?;
        compared.push(result_of_order(mode, &tally, lengths.longest));
    }
    let FirstPass { summaries, communicators, clocks, null_receives, undecided, .. } = &first_pass;
    let proc_null = (null_receives.iter().map(NullReceives::len).sum(), *undecided);
    let found = ReplayInputs { trace, options, costs: &costs, summaries, communicators, clocks, proc_null };
    let measurements = found.measurements(&measurer, tally, compared);
    Ok((measurements, extra_sink, first_pass))
}

pub(crate) struct FirstPass {
    summaries: Vec<RankSummary>,
    pub communicators: Communicators,
    clocks: Clocks,
    null_receives: Vec<NullReceives>,
    undecided: u64,
    world: u32,
    one_clock: bool,
}

impl FirstPass {
    pub fn new(trace: &dyn Trace, progress: &Progress) -> Result<Self, ReplayError> {
        let mut summaries = summarize_ranks(trace, progress)?;
        let world = trace.description().ranks;
        let communicators = communicators::resolve(trace, &summaries)?;
        // The second pass does not need the membership calls.
        summaries.iter_mut().for_each(|summary| summary.membership_calls = None);
        let clocks = Clocks::align(&summaries);
        let any_sources =
            summaries.iter_mut().map(|summary| std::mem::take(&mut summary.any_sources)).collect();
        let (null_receives, undecided) = proc_null::classify_receives(trace, &communicators, any_sources)?;
        let one_clock = trace.description().clock_error_ns.is_some();
        Ok(FirstPass { summaries, communicators, clocks, null_receives, undecided, world, one_clock })
    }

    pub fn setting(&self, arrivals: Arrivals, loggp: LogGp) -> Setting<'_> {
        Setting {
            communicators: &self.communicators,
            clocks: &self.clocks,
            null_receives: &self.null_receives,
            arrivals,
            intervals: self.one_clock && arrivals.uses_recorded_times(),
            loggp: if arrivals == Arrivals::Recorded { Delays::none() } else { Delays::of(loggp) },
            world: self.world,
        }
    }
}

fn simulate_and_measure<S: StepSink>(
    trace: &dyn Trace,
    setting: &Setting<'_>,
    measurer: Measurer,
    extra_sink: S,
    progress: &Progress,
) -> Result<(Measurer, S, Tally), ReplayError> {
    let (full, filled) = mpsc::sync_channel(chunks_in_flight(trace.present().len()));
    let (give_back, returned) = mpsc::channel();
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().name("measure".into());
        let measuring = thread
            .spawn_scoped(scope, move || measurer.run(&filled, &give_back))
            .map_err(|error| ReplayError::Thread(error.to_string()))?;
        let batcher = Batcher::new(trace.present().len(), full, returned);
        // Dropping the simulation's batcher ends the measuring thread.
        let simulated = run(trace, setting, SinkPair(batcher, extra_sink), progress).map(|(sinks, tally)| {
            let SinkPair(batcher, extra_sink) = sinks;
            batcher.flush();
            (extra_sink, tally)
        });
        let measurer = measuring.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        simulated.map(|(extra_sink, tally)| (measurer, extra_sink, tally))
    })
}

struct SinkPair<A, B>(A, B);

impl<A: StepSink, B: StepSink> StepSink for SinkPair<A, B> {
    #[inline(always)]
    fn record_step(&mut self, step: CompactStep) {
        self.0.record_step(step);
        self.1.record_step(step);
    }

    #[inline(always)]
    fn record_send(&mut self, sent: SendEvent) {
        self.0.record_send(sent);
        self.1.record_send(sent);
    }

    #[inline(always)]
    fn end_call(&mut self, end: CallEnd) {
        self.0.end_call(end);
        self.1.end_call(end);
    }
}

pub(crate) fn run<S: StepSink>(
    trace: &dyn Trace,
    setting: &Setting<'_>,
    sink: S,
    progress: &Progress,
) -> Result<(S, Tally), ReplayError> {
    match setting.arrivals {
        Arrivals::AtWait => at_wait::run(trace, setting, sink, progress),
        Arrivals::Simulated | Arrivals::Timestamps | Arrivals::Recorded => {
            Simulation::new(trace, setting, sink)?.run(progress)
        }
    }
}

struct NullSink;

impl StepSink for NullSink {
    #[inline(always)]
    fn record_step(&mut self, _: CompactStep) {}
}

struct UnexpectedLengths {
    now: Vec<u32>,
    longest: u32,
}

impl UnexpectedLengths {
    fn new(trace: &dyn Trace) -> Self {
        UnexpectedLengths { now: vec![0; trace.present().len()], longest: 0 }
    }
}

impl StepSink for UnexpectedLengths {
    #[inline(always)]
    fn record_step(&mut self, step: CompactStep) {
        let now = &mut self.now[step.process as usize];
        *now = now.saturating_add_signed(step.unexpected_change());
        self.longest = self.longest.max(*now);
    }
}

fn has_clock_error(trace: &dyn Trace, arrivals: Arrivals) -> bool {
    arrivals.uses_recorded_times() && trace.description().clock_error_ns.is_some()
}

fn result_of_order(mode: Arrivals, tally: &Tally, longest: u32) -> ArrivalOrderResult {
    let late: u64 = tally.totals.late_by_function.values().sum();
    let unexpected_share = late as f64 / tally.totals.receives.max(1) as f64;
    ArrivalOrderResult { mode, unexpected_share, unexpected_longest: longest.into() }
}

struct ReplayInputs<'a> {
    trace: &'a dyn Trace,
    options: &'a Options,
    costs: &'a [SearchCost],
    summaries: &'a [RankSummary],
    communicators: &'a Communicators,
    clocks: &'a Clocks,
    /// Number of receives from `MPI_PROC_NULL`, and of undecided receives.
    proc_null: (u64, u64),
}

impl ReplayInputs<'_> {
    fn measurements(
        &self,
        measurer: &Measurer,
        mut tally: Tally,
        compared: Vec<ArrivalOrderResult>,
    ) -> Measurements {
        let shared = &measurer.shared;
        let totals = Totals {
            compatible_runs: up_to_last(&shared.runs),
            compatible_run_max: shared.run_max,
            blocks: shared.blocks,
            conflicts: shared.conflicts,
            blocks_with_conflict: shared.blocks_with_conflict,
            ..std::mem::take(&mut tally.totals)
        };
        let peers = self.peer_counts(measurer, &tally);
        let ranks = (0..self.summaries.len())
            .map(|process| self.rank_measurements(process, measurer, &tally, peers[process]));
        let ranks = ranks.collect();
        let sites = self.site_measurements(measurer, &tally);
        let mut calls = BTreeMap::new();
        for &(function, count) in self.summaries.iter().flat_map(|summary| &summary.by_function) {
            *calls.entry(function).or_insert(0) += count;
        }
        let any_source = totals.wildcards.any_source + totals.wildcards.both;
        let any_source = any_source as f64 / totals.receives.max(1) as f64;
        let library_cost = LibraryCost::of(self.costs, any_source);
        Measurements {
            trace: self.trace_facts(),
            calls,
            totals,
            arrivals: ArrivalFacts {
                mode: self.options.arrivals,
                loggp: self.options.loggp,
                ended_calls: tally.ended_calls,
                made_up_messages: tally.made_up_messages,
                lost_messages: tally.lost_messages,
                intervals_known: has_clock_error(self.trace, self.options.arrivals),
                arrivals_moved: tally.arrivals_moved,
                arrivals_outside: tally.arrivals_outside,
                unexplained_ranks: tally.unexplained_ranks,
                compared,
            },
            elapsed_s: seconds(self.clocks.elapsed_ns(self.summaries)),
            setup_s: seconds(self.summaries.iter().map(|summary| summary.setup_ns).min().unwrap_or(0)),
            replayed_s: seconds(tally.end_ns),
            communicators: self.used_communicators(&tally.messages_by_context),
            engines: measurer.engines(),
            library_cost,
            crowding: self.trace.crowding(),
            ranks,
            matrix: tally.matrix,
            host: crate::host::host(),
            timings: measurer.timings(),
            implausible_times: crate::clocks::implausible_times(self.summaries, self.clocks),
            sites,
            places: Vec::new(),
        }
    }

    fn site_measurements(&self, measurer: &Measurer, tally: &Tally) -> Vec<SiteMeasurements> {
        let compared = measurer.sites();
        let site = |(at, &(process, address, posted)): (usize, &(u32, u64, SiteReceives))| {
            let (found, sought) = compared.get(at + 1).copied().unwrap_or_default();
            let rank = self.trace.present()[process as usize];
            SiteMeasurements { rank, address, receives: SiteReceives { found, sought, ..posted } }
        };
        tally.sites.iter().enumerate().map(site).collect()
    }

    fn trace_facts(&self) -> TraceFacts {
        let description = self.trace.description();
        TraceFacts {
            format: description.format.clone(),
            library: description.library.clone(),
            transport: description.transport.clone(),
            command: Some(description.command.join(" ")).filter(|command| !command.is_empty()),
            command_words: description.command.clone(),
            started: description.started.clone(),
            path: description.path.display().to_string(),
            ranks: description.ranks,
            missing: description.missing.iter().map(|missing| (missing.rank, missing.why.clone())).collect(),
            calls: self.summaries.iter().map(|summary| summary.calls).sum(),
            calls_left_out: description.calls_left_out,
            calls_cut_off: description.calls_cut_off,
            ended_early: description.ended_early.clone(),
            notes: [description.notes.clone(), self.trace_notes()].concat(),
        }
    }

    fn trace_notes(&self) -> Vec<String> {
        let Communicators { unresolved, contradictions, .. } = *self.communicators;
        let shifted = self.clocks.shifted;
        let mut notes = Vec::new();
        if unresolved > 0 {
            notes.push(format!(
                "The trace does not determine the members of {unresolved} communicators: unknown ranks count as \
                 ranks of MPI_COMM_WORLD."
            ));
        }
        if contradictions > 0 {
            notes.push(format!(
                "{contradictions} calls of MPI_Comm_rank or MPI_Comm_size contradict the resolved members (perhaps a \
                 reordering topology)."
            ));
        }
        let (null_receives, undecided) = self.proc_null;
        if null_receives > 0 {
            notes.push(format!(
                "{null_receives} any-source receives of the trace were from MPI_PROC_NULL: they completed without a \
                 source, or no message was left."
            ));
        }
        if undecided > 0 {
            notes.push(format!(
                "{undecided} any-source receives of the trace may have been from MPI_PROC_NULL. Their statuses were \
                 ignored, so they count as wildcards."
            ));
        }
        if self.clocks.irreconcilable > 0 {
            notes.push(format!(
                "The clocks of {} rank(s) contradict collectives: they drift, or the trace is damaged. Do not use \
                 --arrivals timestamps or the recorded run time.",
                self.clocks.irreconcilable
            ));
        }
        if shifted > 0 {
            notes.push(format!("The clocks of {shifted} rank(s) were shifted to agree with collectives."));
        }
        notes
    }

    fn used_communicators(&self, messages: &[u64]) -> Vec<CommunicatorFacts> {
        let used = self
            .communicators
            .all
            .iter()
            .zip(messages)
            .enumerate()
            .filter(|(_, (_, messages))| **messages > 0);
        used.map(|(context, (communicator, &messages))| CommunicatorFacts {
            context: context as u32,
            origin: match self.communicators.use_counts[context] {
                1 => communicator.origin.to_string(),
                times => format!("{} ({times} times, one after the other)", communicator.origin),
            },
            size: communicator.size(),
            messages,
            resolved: communicator.is_resolved,
        })
        .collect()
    }

    fn peer_counts(&self, measurer: &Measurer, tally: &Tally) -> Vec<u32> {
        let process_of: FxHashMap<u32, usize> =
            self.summaries.iter().enumerate().map(|(process, summary)| (summary.rank, process)).collect();
        // With all-to-all communication, hash sets would take fifty times as much memory.
        let mut peers: Vec<Bits> = vec![Bits::default(); self.summaries.len()];
        for (process, observer) in measurer.observers.iter().enumerate() {
            tally.ranks[process].lost_peers.iter().for_each(|&rank| peers[process].insert(rank));
            for (from, _) in observer.peers.iter() {
                peers[process].insert(from);
                if let Some(&sender) = process_of.get(&from) {
                    peers[sender].insert(self.summaries[process].rank);
                }
            }
        }
        peers.iter().map(Bits::len).collect()
    }

    fn rank_measurements(
        &self,
        process: usize,
        measurer: &Measurer,
        tally: &Tally,
        peers: u32,
    ) -> RankMeasurements {
        let (summary, observer) = (&self.summaries[process], &measurer.observers[process]);
        let counts = &tally.ranks[process];
        let tuples = observer.tuples();
        let (posted, unexpected) = observer.queues(tally.end_ns);
        let (peer_uniformity, peer_weight_max) = uniformity(observer.peers.iter().map(|(_, count)| count));
        RankMeasurements {
            rank: summary.rank,
            calls: summary.calls,
            sends: counts.sends,
            receives: observer.unexpected_searched.searches,
            messages: observer.posted_searched.searches,
            elapsed_s: if summary.calls == 0 { 0.0 } else { seconds(summary.last_ns - summary.first_ns) },
            setup_s: seconds(summary.setup_ns),
            peers,
            peer_uniformity,
            peer_weight_max,
            tuples_unique: tuples.unique,
            tuples_exact: tuples.exact,
            tuple_share_max: tuples.share_max,
            tuples_per_receive: tuples.per_receive,
            any_source: observer.any_source,
            posted,
            unexpected,
            late_receives: observer.unexpected_searched.hits,
            worst_at_s: seconds(observer.worst_at_ns),
            worst_length: observer.worst_length,
        }
    }
}

/// Uniformity of the messages by sender, 1 if uniform, and the largest fraction of one sender.
fn uniformity(messages: impl Iterator<Item = u32> + Clone) -> (f64, f64) {
    let messages = messages.filter(|&count| count > 0);
    let (peers, sum) = (messages.clone().count(), messages.clone().map(f64::from).sum::<f64>());
    if peers == 0 {
        return (0.0, 0.0);
    }
    let shares = messages.map(|count| f64::from(count) / sum);
    let largest = shares.clone().fold(0.0, f64::max);
    let entropy: f64 = shares.map(|share| -share * share.ln()).sum();
    (if peers == 1 { 0.0 } else { entropy / (peers as f64).ln() }, largest)
}

fn up_to_last(counts: &[u64]) -> Vec<u64> {
    let used = counts.iter().rposition(|&count| count > 0).map_or(0, |last| last + 1);
    counts[..used].to_vec()
}

fn seconds(ns: i64) -> f64 {
    ns as f64 / 1e9
}

#[cfg(test)]
mod tests {
    use super::uniformity;

    #[test]
    fn uniformity_of_equal_peers_is_one() {
        assert!((uniformity([3, 3, 0, 3].into_iter()).0 - 1.0).abs() < 1e-12);
        assert_eq!(uniformity([7].into_iter()), (0.0, 1.0));
        assert_eq!(uniformity([].into_iter()), (0.0, 0.0));
        let (even, largest) = uniformity([9, 1].into_iter());
        assert!(even < 0.5 && largest == 0.9);
    }
}
