//! Who is who: communicators of all ranks resolved together.
//!
//! A trace names communicators by ids that mean something to one process only. What they have in common is the order
//! of creation: all members of a communicator create from it in the same order (MPI-4.1 §6.12, §7.4), so the n-th
//! creation from the same parent is the same call at every member. The ranks' membership calls are therefore played
//! side by side, each rank waiting where the outcome depends on the others (`Comm_split`'s colours, the other side of
//! an inter-communicator). Ranks whose stream is missing make some outcomes unknowable: those are built from what is
//! there, and marked.

mod create;
mod groups;
mod listed;

use std::sync::Arc;

use matchpoint_trace::call::{Action, CommId};
use rustc_hash::FxHashMap;

use crate::process::Seat;
use crate::survey::RankSurvey;
use create::{Deposit, Pending};
use groups::Groups;

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
    /// How it came to be, in words.
    pub origin: String,
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
    /// Per rank of the survey: the outcome of each of its creations, in order; `None`: not a member.
    pub created: Vec<Vec<Option<Context>>>,
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

/// Resolves the communicators of a trace of `world` processes.
pub(crate) fn resolve(surveys: &[RankSurvey], world: u32) -> Communicators {
    let mut resolver = Resolver::new(surveys, world);
    resolver.run();
    resolver.found
}

/// One rank's view.
struct View {
    rank: u32,
    next: usize,
    comms: FxHashMap<CommId, Context>,
    groups: Groups,
    creations: FxHashMap<Context, u32>,
    /// The same of those that only their members make.
    gatherings: FxHashMap<listed::Gathering, u32>,
    /// It has made its deposit for the creation at `next`, and waits for the others.
    waits: bool,
}

struct Resolver<'a> {
    surveys: &'a [RankSurvey],
    views: Vec<View>,
    /// World rank → index into `views`.
    present: FxHashMap<u32, usize>,
    pending: FxHashMap<(Context, u32), Pending>,
    /// Deposits so far: gives creations an age.
    begun: usize,
    /// Those that only their members make.
    gathered: FxHashMap<listed::Gathering, Context>,
    /// Sides of inter-communicators that wait for the other, by (own leader, other leader, tag).
    sides: FxHashMap<(u32, u32, i32), create::Side>,
    found: Communicators,
}

impl<'a> Resolver<'a> {
    fn new(surveys: &'a [RankSurvey], world: u32) -> Self {
        let views = surveys.iter().map(|survey| View {
            rank: survey.rank,
            next: 0,
            comms: [(CommId::WORLD, WORLD), (CommId::SELF, SELF)].into_iter().collect(),
            groups: Groups::default(),
            creations: FxHashMap::default(),
            gatherings: FxHashMap::default(),
            waits: false,
        });
        let complete = surveys.len() == world as usize;
        let predefined = |origin: &str, members: Arc<[u32]>, complete| Communicator {
            origin: origin.to_owned(),
            members,
            remote: None,
            resolved: true,
            complete,
            dims: Vec::new(),
        };
        Resolver {
            surveys,
            views: views.collect(),
            present: surveys.iter().enumerate().map(|(index, survey)| (survey.rank, index)).collect(),
            pending: FxHashMap::default(),
            begun: 0,
            gathered: FxHashMap::default(),
            sides: FxHashMap::default(),
            found: Communicators {
                all: vec![
                    predefined("MPI_COMM_WORLD", (0..world).collect(), complete),
                    predefined("MPI_COMM_SELF", [0].into(), true),
                ],
                created: vec![Vec::new(); surveys.len()],
                elsewhere: false,
                unresolved: 0,
                contradictions: 0,
            },
        }
    }

    /// Plays every rank as far as it gets; where none gets any further, decides the oldest creation from what is
    /// there.
    fn run(&mut self) {
        loop {
            let mut moved = false;
            for index in 0..self.views.len() {
                while self.step(index) {
                    moved = true;
                }
            }
            if !moved && !self.decide_a_stuck_creation() {
                return;
            }
        }
    }

    /// Plays one call of a rank; false if it has to wait, or has none left.
    fn step(&mut self, index: usize) -> bool {
        let surveys = self.surveys;
        let Some(call) = surveys[index].membership.get(self.views[index].next) else { return false };
        if self.views[index].waits {
            return false;
        }
        match call.action {
            Action::CommCreate { parent, how, comm, .. } => {
                let deposit = Deposit { function: call.function, how, comm, integers: &call.integers };
                self.deposit(index, parent, deposit);
                return true;
            }
            Action::CommFree { comm } => {
                self.views[index].comms.remove(&comm);
            }
            Action::GroupCreate { how, group } => self.create_group(index, how, group, &call.integers),
            Action::GroupFree { group } => self.views[index].groups.free(group),
            Action::CommSize { comm, size } => self.check_size(index, comm, size),
            Action::CommRank { comm, rank } => self.check_rank(index, comm, rank),
            _ => {}
        }
        self.views[index].next += 1;
        true
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
