//! Who is who: communicators of all ranks resolved together.
//!
//! A trace names communicators by ids that mean something to one process only. What they have in common is the order
//! of creation: all members of a communicator create from it in the same order (MPI-4.1 §6.12, §7.4), so the n-th
//! creation from the same parent is the same call at every member. The ranks' membership calls are therefore played
//! side by side, each rank waiting where the outcome depends on the others (`Comm_split`'s colours, the other side of
//! an inter-communicator). Ranks whose stream is missing make some outcomes unknowable: those are built from what is
//! there, and marked.

mod contexts;
mod create;
mod created;
mod groups;
mod listed;

use std::fmt::{self, Display};
use std::sync::Arc;

use matchpoint_trace::call::{Action, CommId};
use matchpoint_trace::{Trace, TraceError};
use rustc_hash::FxHashMap;

use crate::process::Seat;
use crate::survey::{Calls, Lists, Membership, RankSurvey};
use contexts::Contexts;
use create::{Deposit, Pending};
use created::Created;
use groups::Groups;
use listed::Gatherings;

/// Number of a communicator in [`Communicators`]: the context that engines see.
pub(crate) type Context = u32;

/// `MPI_COMM_WORLD`'s context.
pub(crate) const WORLD: Context = 0;
/// The context of every process's `MPI_COMM_SELF`: no message crosses processes on it, so one number serves all.
pub(crate) const SELF: Context = 1;

/// The rank of a process that is not of this world.
pub(crate) const ELSEWHERE: u32 = u32::MAX;

/// A communicator. Ranks are ranks of `MPI_COMM_WORLD`.
#[derive(Clone, Debug)]
pub(crate) struct Communicator {
    /// How it came to be.
    pub origin: Origin,
    /// Its processes by rank (the first side's, of an inter-communicator).
    pub members: Arc<[u32]>,
    /// The other side's, of an inter-communicator.
    pub remote: Option<Arc<[u32]>>,
    /// Who its members are is known.
    pub resolved: bool,
    /// Every member has a stream.
    pub complete: bool,
    /// The dimensions of a grid.
    dims: Vec<u32>,
}

/// How a communicator came to be. As text: `MPI_Comm_split of 0, color 7`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Origin {
    /// The function that made it, or its own name; `None`: the trace does not determine it.
    pub by: Option<&'static str>,
    /// Of which others.
    pub of: [Option<Context>; 2],
    /// The colour of a split, if it was the same each time.
    pub color: Option<i32>,
}

impl Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.by.unwrap_or("derived"))?;
        match self.of {
            [Some(first), Some(second)] => write!(f, " of {first} and {second}")?,
            [Some(parent), None] if self.by.is_none() => write!(f, " from {parent}")?,
            [Some(parent), None] => write!(f, " of {parent}")?,
            [None, _] => {}
        }
        if let Some(color) = self.color {
            write!(f, ", color {color}")?;
        }
        f.write_str(if self.by.is_none() { ", not determined by the trace" } else { "" })
    }
}

impl Communicator {
    /// Number of processes, both sides together.
    pub fn size(&self) -> u32 {
        (self.members.len() + self.remote.as_ref().map_or(0, |remote| remote.len())) as u32
    }
}

/// All communicators, and which one each rank got from each of its creations.
#[derive(Debug)]
pub(crate) struct Communicators {
    /// By context.
    pub all: Vec<Communicator>,
    /// By context: how many communicators it was, one like the other and one after the other.
    pub times: Vec<u64>,
    /// Per rank of the survey: the outcome of each of its creations, in order; `None`: not a member.
    pub created: Created,
    /// Some have processes that are not of this world.
    pub elsewhere: bool,
    /// Creations that the trace does not determine.
    pub unresolved: u64,
    /// `Comm_rank` and `Comm_size` calls that contradict what was resolved.
    pub contradictions: u64,
}

impl Communicators {
    /// World rank of the process that world rank `own`, in its `seat`, sends to or receives from as `rank`.
    pub fn world_rank(&self, own: u32, seat: Seat, rank: u32) -> Option<u32> {
        if seat.context == SELF {
            return Some(own);
        }
        let communicator = &self.all[seat.context as usize];
        let group = match &communicator.remote {
            Some(remote) if !seat.second => remote,
            _ => &communicator.members,
        };
        group.get(rank as usize).copied().filter(|&rank| rank != ELSEWHERE)
    }
}

/// Resolves the communicators of a trace.
pub(crate) fn resolve(trace: &dyn Trace, surveys: &[RankSurvey]) -> Result<Communicators, TraceError> {
    let lists = Lists::default();
    let mut resolver = Resolver::new(trace, surveys, &lists)?;
    resolver.run()?;
    Ok(resolver.found)
}

/// One rank's view.
struct View<'a> {
    rank: u32,
    calls: Calls<'a>,
    /// The call that is played now.
    now: Option<Membership>,
    comms: FxHashMap<CommId, Context>,
    groups: Groups,
    creations: FxHashMap<Context, u32>,
    /// It has made its deposit for this creation, and waits for the others.
    waits: bool,
    /// It might go on, but the others of what it has joined last are behind.
    is_ahead: bool,
}

struct Resolver<'a> {
    views: Vec<View<'a>>,
    /// World rank → index into `views`.
    present: FxHashMap<u32, usize>,
    pending: FxHashMap<(Context, u32), Pending>,
    /// Deposits so far: gives creations an age.
    begun: usize,
    /// Those that only their members make.
    gatherings: Gatherings,
    /// Sides of inter-communicators that wait for the other, by (own leader, other leader, tag).
    sides: FxHashMap<(u32, u32, i32), create::Side>,
    contexts: Contexts,
    found: Communicators,
}

impl<'a> Resolver<'a> {
    fn new(trace: &'a dyn Trace, surveys: &'a [RankSurvey], lists: &'a Lists) -> Result<Self, TraceError> {
        let world = trace.description().ranks;
        let view = |(survey, calls): (&RankSurvey, _)| View {
            rank: survey.rank,
            calls,
            now: None,
            comms: [(CommId::WORLD, WORLD), (CommId::SELF, SELF)].into_iter().collect(),
            groups: Groups::default(),
            creations: FxHashMap::default(),
            waits: false,
            is_ahead: false,
        };
        let calls = Calls::of(trace, surveys, lists)?;
        let views = surveys.iter().zip(calls).map(view);
        let complete = surveys.len() == world as usize;
        let predefined = |name, members: Arc<[u32]>, complete| Communicator {
            origin: Origin { by: Some(name), of: [None; 2], color: None },
            members,
            remote: None,
            resolved: true,
            complete,
            dims: Vec::new(),
        };
        Ok(Resolver {
            views: views.collect(),
            present: surveys.iter().enumerate().map(|(index, survey)| (survey.rank, index)).collect(),
            pending: FxHashMap::default(),
            begun: 0,
            gatherings: Gatherings::default(),
            sides: FxHashMap::default(),
            contexts: Contexts::default(),
            found: Communicators {
                all: vec![
                    predefined("MPI_COMM_WORLD", (0..world).collect(), complete),
                    predefined("MPI_COMM_SELF", [0].into(), true),
                ],
                times: vec![1, 1],
                created: Created::new(surveys.len()),
                elsewhere: false,
                unresolved: 0,
                contradictions: 0,
            },
        })
    }

    /// Plays every rank as far as it gets; where none gets any further, decides the oldest creation from what is
    /// there.
    fn run(&mut self) -> Result<(), TraceError> {
        loop {
            let mut moved = false;
            for index in 0..self.views.len() {
                while self.step(index)? {
                    moved = true;
                }
            }
            if !moved && !self.catch_up() && !self.decide_a_stuck_creation() {
                return Ok(());
            }
        }
    }

    /// Plays one call of a rank; false if it has to wait, or has none left.
    fn step(&mut self, index: usize) -> Result<bool, TraceError> {
        let view = &mut self.views[index];
        if view.waits || view.is_ahead {
            return Ok(false);
        }
        if view.now.is_none() {
            view.now = view.calls.next()?;
        }
        let Some(call) = view.now.clone() else { return Ok(false) };
        match call.action {
            Action::CommCreate { parent, how, comm, .. } => {
                let deposit = Deposit { function: call.function, how, comm, integers: &call.integers };
                self.deposit(index, parent, deposit);
                return Ok(true);
            }
            Action::CommFree { comm } => {
                let context = self.views[index].comms.remove(&comm);
                context.into_iter().for_each(|context| self.leave(index, context));
            }
            Action::GroupCreate { how, group } => self.create_group(index, how, group, &call.integers),
            Action::GroupFree { group } => self.views[index].groups.free(group),
            Action::CommSize { comm, size } => self.check_size(index, comm, size),
            Action::CommRank { comm, rank } => self.check_rank(index, comm, rank),
            _ => {}
        }
        self.views[index].now = None;
        Ok(true)
    }

    /// A rank knows a communicator no more. If it was the last, another may have its context: it begins anew.
    fn leave(&mut self, index: usize, context: Context) {
        if context > SELF {
            self.views[index].creations.remove(&context);
        }
        self.contexts.freed(context);
    }

    fn check_size(&mut self, index: usize, comm: CommId, size: u32) {
        let Some(&context) = self.views[index].comms.get(&comm) else { return };
        let own = self.side_of(context, self.views[index].rank);
        if self.found.all[context as usize].resolved && own.len() != size as usize {
            self.found.contradictions += 1;
        }
    }

    fn check_rank(&mut self, index: usize, comm: CommId, rank: u32) {
        let Some(&context) = self.views[index].comms.get(&comm) else { return };
        let me = self.views[index].rank;
        if context == SELF || !self.found.all[context as usize].resolved {
            return;
        }
        if self.side_of(context, me).get(rank as usize) != Some(&me) {
            self.found.contradictions += 1;
        }
    }

    /// The group of `context` that `rank` belongs to.
    fn side_of(&self, context: Context, rank: u32) -> Arc<[u32]> {
        let communicator = &self.found.all[context as usize];
        match &communicator.remote {
            Some(remote) if !communicator.members.contains(&rank) => remote.clone(),
            _ => communicator.members.clone(),
        }
    }
}
