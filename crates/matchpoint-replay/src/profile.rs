//! Profiles for the static approach of the engine `partner` (partner paper §4.2).

use std::collections::BTreeMap;
use std::sync::atomic::Ordering::Relaxed;

use matchpoint::engines::partner::profile::{Process, Profile, Source};
use matchpoint::{ContextId, Rank, Wild};
use matchpoint_trace::Trace;
use rustc_hash::FxHashMap;

use crate::ReplayError;
use crate::arrivals::Arrivals;
use crate::loggp::LogGp;
use crate::progress::Progress;
use crate::replay::{FirstPass, run};
use crate::step::{CompactStep, Kind, StepSink};

/// Counts queued entries by source: receives without a message, and messages without a receive.
///
/// Receives from any source do not count. Memory is proportional to the pairs of processes that communicate.
///
/// # Errors
/// The trace is damaged, or [`Progress::stop`] was called.
pub fn profile(
    trace: &dyn Trace,
    arrivals: Arrivals,
    loggp: LogGp,
    progress: &Progress,
) -> Result<Profile, ReplayError> {
    progress.bytes_total.store(trace.description().bytes * 2, Relaxed);
    let first_pass = FirstPass::new(trace, progress)?;
    let counters = trace.present().iter().map(|_| Counter::default()).collect();
    let (Counters(counters), _) =
        run(trace, &first_pass.setting(arrivals, loggp), Counters(counters), progress)?;
    let known: Vec<Process> =
        trace.present().iter().zip(counters).map(|(&rank, counter)| counter.process(rank)).collect();
    // Ranks of an unresolved communicator may exceed those of `MPI_COMM_WORLD`.
    let highest = known.iter().flat_map(|process| &process.sources).map(|source| source.source).max();
    let processes =
        u64::from(trace.description().ranks).max(highest.map_or(0, |highest| u64::from(highest) + 1));
    Ok(Profile { processes, known })
}

struct Counters(Vec<Counter>);

#[derive(Default)]
struct Counter {
    numbers: FxHashMap<ContextId, u64>,
    sources: FxHashMap<(u64, Rank), (u64, u64)>,
}

impl StepSink for Counters {
    fn record_step(&mut self, step: CompactStep) {
        let counter = &mut self.0[step.process as usize];
        match step.expand().kind {
            Kind::Post { receive, took: None } => {
                let number = counter.number(receive.selector.context());
                if let Wild::Is(source) = receive.selector.source() {
                    counter.sources.entry((number, source)).or_default().0 += 1;
                }
            }
            Kind::Arrive { message, took: None, .. } => {
                let number = counter.number(message.envelope.context);
                counter.sources.entry((number, message.envelope.source)).or_default().1 += 1;
            }
            _ => {}
        }
    }
}

impl Counter {
    fn number(&mut self, context: ContextId) -> u64 {
        let next = self.numbers.len() as u64;
        *self.numbers.entry(context).or_insert(next)
    }

    fn process(self, rank: u32) -> Process {
        let sorted: BTreeMap<_, _> = self.sources.into_iter().collect();
        let source =
            |((context, Rank(source)), (posted, unexpected))| Source { context, source, posted, unexpected };
        Process { process: rank.into(), sources: sorted.into_iter().map(source).collect() }
    }
}
