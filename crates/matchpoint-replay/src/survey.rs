//! The first pass over a trace: every rank is read once, in parallel, to see that it can be, to count its calls, and
//! to note what it takes to resolve communicators and to align clocks.

use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, PoisonError};

use matchpoint_trace::call::{Action, CommId};
use matchpoint_trace::{Call, Function, RankReader, Trace, TraceError};
use rayon::prelude::*;
use rustc_hash::FxHashSet;

use crate::ReplayError;
use crate::plausible::Times;
use crate::proc_null::AnySources;
use crate::progress::Progress;
use crate::tally::by_function;

/// Synchronising collectives on `MPI_COMM_WORLD` that are kept per rank as evidence about clocks.
const SYNCHRONISATIONS_KEPT: usize = 16;

/// Calls between two looks at [`Progress`].
const CALLS_PER_REPORT: u64 = 8192;

/// How many answers about communicators and groups are looked back at for the same one.
const ANSWERS_KEPT: usize = 64;

/// What one rank's stream holds.
pub(crate) struct RankSurvey {
    pub rank: u32,
    pub calls: u64,
    /// The functions that occur.
    pub by_function: Vec<(Function, u64)>,
    /// When the first call was entered and the last was left, in the process's own clock.
    pub first_ns: i64,
    pub last_ns: i64,
    /// What it did to communicators and groups, in order.
    pub membership: Vec<Membership>,
    /// Its non-blocking receives from any source.
    pub any_sources: AnySources,
    /// When it entered and left the first collectives on `MPI_COMM_WORLD` that no process leaves before all entered.
    pub synchronisations: Vec<(i64, i64)>,
    /// Whether its times can be true.
    pub times: Times,
}

/// A call that says something about who belongs to which communicator.
pub(crate) struct Membership {
    pub function: Function,
    pub action: Action,
    pub integers: Arc<[i32]>,
}

/// Reads every rank that is present, ascending.
pub(crate) fn survey(trace: &dyn Trace, progress: &Progress) -> Result<Vec<RankSurvey>, ReplayError> {
    let lists = Lists::default();
    trace.present().par_iter().map(|&rank| survey_rank(trace, rank, &lists, progress)).collect()
}

/// Lists of members, each kept once: where all of thousands of ranks list all of them, that is all the memory there is.
#[derive(Default)]
struct Lists(Mutex<FxHashSet<Arc<[i32]>>>);

impl Lists {
    fn kept(&self, list: &[i32]) -> Arc<[i32]> {
        if list.is_empty() {
            return Arc::default();
        }
        let mut lists = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = lists.get(list) {
            return known.clone();
        }
        let new: Arc<[i32]> = list.into();
        lists.insert(new.clone());
        new
    }
}

fn survey_rank(
    trace: &dyn Trace,
    rank: u32,
    lists: &Lists,
    progress: &Progress,
) -> Result<RankSurvey, ReplayError> {
    let mut reader = trace.rank(rank)?;
    let mut found = RankSurvey {
        rank,
        calls: 0,
        by_function: Vec::new(),
        first_ns: i64::MAX,
        last_ns: i64::MIN,
        membership: Vec::new(),
        any_sources: AnySources::default(),
        synchronisations: Vec::new(),
        times: Times::default(),
    };
    let (mut call, mut reported) = (Call::default(), 0);
    let mut answers = Answers::default();
    let mut counts = vec![0; Function::ALL.len()];
    let null_looks_any = trace.description().null_looks_any;
    while found.read(&mut *reader, &mut call)? {
        counts[call.function as usize] += 1;
        found.note(&call, lists, &mut answers);
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

impl RankSurvey {
    /// What completed says something only of receives from any source.
    #[inline]
    fn read(&self, reader: &mut dyn RankReader, call: &mut Call) -> Result<bool, TraceError> {
        if self.any_sources.awaits_any() { reader.read(call) } else { reader.read_outline(call) }
    }

    fn note(&mut self, call: &Call, lists: &Lists, answers: &mut Answers) {
        self.calls += 1;
        self.first_ns = self.first_ns.min(call.enter_ns);
        self.last_ns = self.last_ns.max(call.leave_ns);
        self.times.note(call.thread, call.enter_ns, call.leave_ns);
        match call.action {
            Action::CommCreate { .. } => {
                answers.forget();
                self.keep(call, lists);
            }
            Action::CommFree { .. } | Action::GroupCreate { .. } | Action::GroupFree { .. } => {
                self.keep(call, lists);
            }
            Action::CommSize { comm, .. } | Action::CommRank { comm, .. }
                if !self.is_known(&call.action, comm, answers) =>
            {
                self.keep(call, lists);
            }
            Action::Collective { comm: CommId::WORLD, request: None, .. }
                if synchronises(call.function) && self.synchronisations.len() < SYNCHRONISATIONS_KEPT =>
            {
                self.synchronisations.push((call.enter_ns, call.leave_ns));
            }
            _ => {}
        }
    }

    fn keep(&mut self, call: &Call, lists: &Lists) {
        let (function, integers) = (call.function, lists.kept(&call.integers));
        self.membership.push(Membership { function, action: call.action, integers });
    }

    /// Whether the same was said of this communicator since it was last created: codes ask for their rank in loops, so
    /// where that was found last is looked at first.
    fn is_known(&self, action: &Action, asked: CommId, answers: &mut Answers) -> bool {
        let kept = self.membership.len();
        if answers.of(asked, action).is_some_and(|at| kept - at <= ANSWERS_KEPT) {
            return true;
        }
        let since = self.membership.iter().rev().take_while(
            |earlier| !matches!(earlier.action, Action::CommCreate { comm, .. } if comm == asked),
        );
        let found = since.take(ANSWERS_KEPT).position(|earlier| earlier.action == *action);
        if let Some(back) = found {
            answers.note(asked, *action, kept - 1 - back);
        }
        found.is_some()
    }
}

/// Where, among what was kept, some of the last answers about communicators are that were given again.
#[derive(Default)]
struct Answers([Option<(Action, usize)>; 8]);

impl Answers {
    fn slot(comm: CommId, action: &Action) -> usize {
        (comm.0 as usize % 4) * 2 + usize::from(matches!(action, Action::CommRank { .. }))
    }

    fn of(&self, comm: CommId, action: &Action) -> Option<usize> {
        let (known, at) = self.0[Self::slot(comm, action)]?;
        // Compared by hand: of all actions, only these two come here.
        let is_same = match (known, action) {
            (Action::CommSize { comm, size }, Action::CommSize { comm: asked, size: said })
            | (Action::CommRank { comm, rank: size }, Action::CommRank { comm: asked, rank: said }) => {
                comm == *asked && size == *said
            }
            _ => false,
        };
        is_same.then_some(at)
    }

    fn note(&mut self, comm: CommId, action: Action, at: usize) {
        self.0[Self::slot(comm, &action)] = Some((action, at));
    }

    /// What was said of others before says nothing of a new communicator, whose id may have been theirs.
    fn forget(&mut self) {
        self.0 = [None; 8];
    }
}

/// Whether no process leaves this collective before every process has entered it.
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
