//! Summaries of the ranks from the first pass over a trace: counts of calls, data about communicators and clocks.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

use matchpoint_trace::call::{Action, CommId};
use matchpoint_trace::{Call, Function, RankReader, Trace, TraceError};
use rayon::prelude::*;
use rustc_hash::FxHashSet;

use crate::ReplayError;
use crate::proc_null::AnySourceTracker;
use crate::progress::Progress;

const SYNCHRONISATIONS_MAX: usize = 16;

const CALLS_PER_REPORT: u64 = 8192;

/// Maximum number of stored calls of all ranks together, with about 100 bytes each. A later pass reads a
/// larger number of calls again.
const MEMBERSHIP_CALLS_MAX: usize = 1 << 16;

const RECENT_CALLS: usize = 64;

pub(crate) struct RankSummary {
    pub rank: u32,
    pub calls: u64,
    pub by_function: Vec<(Function, u64)>,
    pub first_ns: i64,
    pub last_ns: i64,
    pub setup_ns: i64,
    /// Calls about communicators and groups; `None` if there are too many.
    pub membership_calls: Option<Vec<MembershipCall>>,
    pub any_sources: AnySourceTracker,
    /// Entry and exit of synchronizing collectives on `MPI_COMM_WORLD`.
    pub synchronisations: Vec<(i64, i64)>,
    pub time_errors: TimeErrors,
}

#[derive(Default)]
pub(crate) struct TimeErrors {
    pub negative: u64,
    pub backward: u64,
    /// Last entry of each thread. A process has few threads, so a vector suffices.
    entered: Vec<(u16, i64)>,
}

impl TimeErrors {
    #[inline]
    pub fn note(&mut self, thread: u16, enter_ns: i64, leave_ns: i64) {
        self.negative += u64::from(leave_ns < enter_ns);
        match self.entered.iter_mut().find(|(of, _)| *of == thread) {
            Some((_, last_ns)) => {
                self.backward += u64::from(enter_ns < *last_ns);
                *last_ns = enter_ns;
            }
            None => self.entered.push((thread, enter_ns)),
        }
    }
}

/// A call that determines members of communicators or groups.
#[derive(Clone)]
pub(crate) struct MembershipCall {
    pub function: Function,
    pub action: Action,
    pub integers: Arc<[i32]>,
}

pub(crate) fn summarize_ranks(
    trace: &dyn Trace,
    progress: &Progress,
) -> Result<Vec<RankSummary>, ReplayError> {
    let lists = MemberLists::default();
    let ranks = trace.present().par_iter().map(|&rank| summarize_rank(trace, rank, &lists, progress));
    let mut summaries: Vec<RankSummary> = ranks.collect::<Result<_, _>>()?;
    // The second pass then reads all ranks again.
    if summaries.iter().any(|summary| summary.membership_calls.is_none()) {
        summaries.iter_mut().for_each(|summary| summary.membership_calls = None);
    }
    Ok(summaries)
}

/// Lists of members, stored once, because thousands of ranks may list all ranks.
#[derive(Default)]
pub(crate) struct MemberLists {
    lists: Mutex<ListSet>,
    calls: AtomicUsize,
}

#[derive(Default)]
struct ListSet {
    lists: FxHashSet<Arc<[i32]>>,
    in_use: usize,
}

const LISTS_UNUSED: usize = 1024;

impl ListSet {
    fn insert(&mut self, list: Arc<[i32]>) {
        if self.lists.len() >= 2 * self.in_use + LISTS_UNUSED {
            self.lists.retain(|list| Arc::strong_count(list) > 1);
            self.in_use = self.lists.len();
        }
        self.lists.insert(list);
    }
}

impl MemberLists {
    fn of(&self, call: &Call) -> MembershipCall {
        let (function, integers) = (call.function, self.intern(&call.integers));
        MembershipCall { function, action: call.action, integers }
    }

    fn intern(&self, list: &[i32]) -> Arc<[i32]> {
        if list.is_empty() {
            return Arc::default();
        }
        let mut lists = self.lists.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = lists.lists.get(list) {
            return known.clone();
        }
        let new: Arc<[i32]> = list.into();
        lists.insert(new.clone());
        new
    }
}

fn summarize_rank(
    trace: &dyn Trace,
    rank: u32,
    lists: &MemberLists,
    progress: &Progress,
) -> Result<RankSummary, ReplayError> {
    let mut reader = trace.rank(rank)?;
    let mut found = RankSummary { membership_calls: Some(Vec::new()), ..RankSummary::new(rank) };
    let (mut call, mut reported) = (Call::default(), 0);
    let mut filter = MembershipFilter::default();
    let mut counts = vec![0; Function::ALL.len()];
    let null_looks_any = trace.description().null_looks_any;
    while found.read(&mut *reader, &mut call)? {
        counts[call.function as usize] += 1;
        found.note(&call, lists, &mut filter);
        if null_looks_any {
            found.any_sources.note(&call, |_, _| {});
        }
        if found.calls % CALLS_PER_REPORT == 0 {
            if progress.stopped() {
                return Err(ReplayError::Stopped);
            }
            progress.bytes.fetch_add(reader.position() - reported, Relaxed);
            reported = reader.position();
        }
    }
    progress.bytes.fetch_add(reader.position() - reported, Relaxed);
    found.by_function = by_function(&counts).into_iter().collect();
    Ok(found)
}

impl RankSummary {
    pub fn new(rank: u32) -> Self {
        RankSummary {
            rank,
            calls: 0,
            by_function: Vec::new(),
            first_ns: i64::MAX,
            last_ns: i64::MIN,
            setup_ns: 0,
            membership_calls: None,
            any_sources: AnySourceTracker::default(),
            synchronisations: Vec::new(),
            time_errors: TimeErrors::default(),
        }
    }

    /// Completions are read only while receives from any source are pending.
    #[inline]
    fn read(&self, reader: &mut dyn RankReader, call: &mut Call) -> Result<bool, TraceError> {
        if self.any_sources.awaits_any() { reader.read(call) } else { reader.read_outline(call) }
    }

    fn note(&mut self, call: &Call, lists: &MemberLists, filter: &mut MembershipFilter) {
        self.calls += 1;
        self.first_ns = self.first_ns.min(call.enter_ns);
        self.last_ns = self.last_ns.max(call.leave_ns);
        if is_setup(call.function) {
            let took_ns = call.leave_ns.saturating_sub(call.enter_ns).max(0);
            self.setup_ns = self.setup_ns.saturating_add(took_ns);
        }
        self.time_errors.note(call.thread, call.enter_ns, call.leave_ns);
        match call.action {
            Action::Collective { comm: CommId::WORLD, request: None, .. }
                if synchronises(call.function) && self.synchronisations.len() < SYNCHRONISATIONS_MAX =>
            {
                self.synchronisations.push((call.enter_ns, call.leave_ns));
            }
            _ if filter.picks(call) && self.membership_calls.is_some() => self.keep(call, lists),
            _ => {}
        }
    }

    fn keep(&mut self, call: &Call, lists: &MemberLists) {
        if lists.calls.fetch_add(1, Relaxed) >= MEMBERSHIP_CALLS_MAX {
            self.membership_calls = None;
        } else if let Some(kept) = &mut self.membership_calls {
            kept.push(lists.of(call));
        }
    }
}

pub(crate) enum MembershipCalls<'a> {
    Kept(std::slice::Iter<'a, MembershipCall>),
    Read {
        reader: Box<dyn RankReader + 'a>,
        call: Box<Call>,
        filter: Box<MembershipFilter>,
        lists: &'a MemberLists,
    },
}

impl<'a> MembershipCalls<'a> {
    pub fn of(
        trace: &'a dyn Trace,
        summaries: &'a [RankSummary],
        lists: &'a MemberLists,
    ) -> Result<Vec<MembershipCalls<'a>>, TraceError> {
        let kept: Option<Vec<_>> =
            summaries.iter().map(|summary| summary.membership_calls.as_ref()).collect();
        if let Some(kept) = kept {
            return Ok(kept.into_iter().map(|kept| MembershipCalls::Kept(kept.iter())).collect());
        }
        let read = |summary: &RankSummary| {
            let (call, filter) = (Box::default(), Box::default());
            Ok(MembershipCalls::Read { reader: trace.rank(summary.rank)?, call, filter, lists })
        };
        summaries.iter().map(read).collect()
    }

    pub fn next(&mut self) -> Result<Option<MembershipCall>, TraceError> {
        match self {
            MembershipCalls::Kept(kept) => Ok(kept.next().cloned()),
            MembershipCalls::Read { reader, call, filter, lists } => {
                while reader.read_outline(call)? {
                    if filter.picks(call) {
                        return Ok(Some(lists.of(call)));
                    }
                }
                Ok(None)
            }
        }
    }
}

#[derive(Default)]
pub(crate) struct MembershipFilter {
    recent: VecDeque<Action>,
    picked: usize,
    queries: QueryCache,
}

impl MembershipFilter {
    /// Inlined, because most calls are not about membership.
    #[inline]
    fn picks(&mut self, call: &Call) -> bool {
        let is_about_it = matches!(
            call.action,
            Action::CommCreate { .. }
                | Action::CommFree { .. }
                | Action::GroupCreate { .. }
                | Action::GroupFree { .. }
                | Action::CommSize { .. }
                | Action::CommRank { .. }
        );
        is_about_it && self.is_new(call)
    }

    fn is_new(&mut self, call: &Call) -> bool {
        let is_picked = match call.action {
            Action::CommCreate { .. } => {
                self.queries.forget();
                true
            }
            Action::CommFree { .. } | Action::GroupCreate { .. } | Action::GroupFree { .. } => true,
            Action::CommSize { comm, .. } | Action::CommRank { comm, .. } => {
                !self.is_repeated(&call.action, comm)
            }
            _ => false,
        };
        if is_picked {
            if self.recent.len() == RECENT_CALLS {
                self.recent.pop_front();
            }
            self.recent.push_back(call.action);
            self.picked += 1;
        }
        is_picked
    }

    /// Programs query their rank in loops.
    fn is_repeated(&mut self, action: &Action, queried: CommId) -> bool {
        let picked = self.picked;
        if self.queries.of(queried, action).is_some_and(|at| picked - at <= RECENT_CALLS) {
            return true;
        }
        let mut since =
            self.recent.iter().rev().take_while(
                |earlier| !matches!(earlier, Action::CommCreate { comm, .. } if *comm == queried),
            );
        let found = since.position(|earlier| earlier == action);
        if let Some(back) = found {
            self.queries.note(queried, *action, picked - 1 - back);
        }
        found.is_some()
    }
}

/// Recent queries, with their positions in the sequence of calls.
#[derive(Default)]
struct QueryCache([Option<(Action, usize)>; 8]);

impl QueryCache {
    fn slot(comm: CommId, action: &Action) -> usize {
        (comm.0 as usize % 4) * 2 + usize::from(matches!(action, Action::CommRank { .. }))
    }

    fn of(&self, comm: CommId, action: &Action) -> Option<usize> {
        let (known, at) = self.0[Self::slot(comm, action)]?;
        // This comparison is faster than the comparison of all actions.
        let is_same = match (known, action) {
            (Action::CommSize { comm, size }, Action::CommSize { comm: queried, size: size_queried })
            | (
                Action::CommRank { comm, rank: size },
                Action::CommRank { comm: queried, rank: size_queried },
            ) => comm == *queried && size == *size_queried,
            _ => false,
        };
        is_same.then_some(at)
    }

    fn note(&mut self, comm: CommId, action: Action, at: usize) {
        self.0[Self::slot(comm, &action)] = Some((action, at));
    }

    /// A new communicator may have the id of a freed communicator.
    fn forget(&mut self) {
        self.0 = [None; 8];
    }
}

#[inline]
fn is_setup(function: Function) -> bool {
    matches!(function, Function::Init | Function::Init_thread | Function::Finalize)
}

/// No process leaves the collective before every process has entered.
pub(crate) fn synchronises(function: Function) -> bool {
    use Function::*;
    matches!(
        function,
        Barrier
            | Allreduce
            | Allgather
            | Allgatherv
            | Alltoall
            | Alltoallv
            | Alltoallw
            | Reduce_scatter
            | Reduce_scatter_block
    )
}

pub(crate) fn by_function(counts: &[u64]) -> BTreeMap<Function, u64> {
    let pairs = Function::ALL.iter().copied().zip(counts.iter().copied());
    pairs.filter(|&(_, count)| count > 0).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_ordered_by_thread() {
        let mut time_errors = TimeErrors::default();
        for (thread, enter) in [(0, 10), (1, 5), (0, 11), (1, 6)] {
            time_errors.note(thread, enter, enter + 1);
        }
        assert_eq!(time_errors.backward, 0);
    }
}
