//! State of the resolver, and the steps of all creations.

use std::collections::VecDeque;
use std::sync::Arc;

use matchpoint_trace::call::{CommId, GroupId, NewComm};
use matchpoint_trace::{Function, Trace, TraceError};
use rustc_hash::{FxHashMap, FxHashSet};

use super::communicator::{Communicator, Communicators, Context, Origin, SELF, WORLD};
use super::contexts::{Contexts, Taken};
use super::created::Created;
use crate::survey::{Calls, Lists, Membership, RankSurvey};

pub(super) struct View<'a> {
    pub rank: u32,
    pub calls: Calls<'a>,
    pub now: Option<Membership>,
    pub comms: FxHashMap<CommId, Context>,
    /// Without groups that the trace does not determine.
    pub groups: FxHashMap<GroupId, Arc<[u32]>>,
    pub creations: FxHashMap<Context, u32>,
    /// The rank waits for the other members of its creation.
    pub waits: bool,
    /// The rank waits for the other members, although it knows the result.
    pub is_ahead: bool,
}

pub(super) struct Resolver<'a> {
    pub views: Vec<View<'a>>,
    /// World rank → index into `views`.
    pub present: FxHashMap<u32, usize>,
    pub pending: FxHashMap<(Context, u32), Pending>,
    /// Number of creation calls, the age of a creation.
    pub begun: usize,
    /// Incomplete creations over the members only.
    pub gatherings: Gatherings,
    /// By own leader, other leader and tag.
    pub sides: FxHashMap<(u32, u32, i32), Side>,
    pub contexts: Contexts,
    pub found: Communicators,
}

pub(super) struct Deposit<'a> {
    pub function: Function,
    pub how: NewComm,
    pub comm: CommId,
    pub integers: &'a Arc<[i32]>,
}

/// Stored arguments of one member.
pub(super) struct Deposited {
    /// Index into `views`.
    pub index: usize,
    pub function: Function,
    pub how: NewComm,
    pub comm: CommId,
    pub integers: Arc<[i32]>,
    /// Members of the group argument.
    pub group: Option<Arc<[u32]>>,
}

/// A creation that some members have not reached.
pub(super) struct Pending {
    pub order: usize,
    pub deposits: Vec<Deposited>,
}

pub(super) struct Side {
    pub parent: Context,
    pub members: Arc<[u32]>,
    pub deposits: Vec<Deposited>,
}

pub(super) type Outcome = Vec<(Deposited, Option<Context>)>;

/// Both groups, sorted, because each side lists its own group first.
pub(super) type Members = (Vec<u32>, Vec<u32>);

/// By parent (if known), tag and members; the oldest first. Each member joins in order.
pub(super) type Gatherings = FxHashMap<(Option<Context>, i64, Members), VecDeque<Gathering>>;

pub(super) struct Gathering {
    pub context: Context,
    /// Members that joined, and the number of expected members.
    pub joined: FxHashSet<usize>,
    pub expected: usize,
}

impl<'a> Resolver<'a> {
    pub fn new(
        trace: &'a dyn Trace,
        surveys: &'a [RankSurvey],
        lists: &'a Lists,
    ) -> Result<Self, TraceError> {
        let world = trace.description().ranks;
        let view = |(survey, calls): (&RankSurvey, _)| View {
            rank: survey.rank,
            calls,
            now: None,
            comms: [(CommId::WORLD, WORLD), (CommId::SELF, SELF)].into_iter().collect(),
            groups: FxHashMap::default(),
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

    pub fn deposited(&self, index: usize, deposit: &Deposit<'_>) -> Deposited {
        let group = match deposit.how {
            NewComm::Group(group) => self.views[index].groups.get(&group).cloned(),
            _ => None,
        };
        let Deposit { function, how, comm, integers } = *deposit;
        Deposited { index, function, how, comm, integers: integers.clone(), group }
    }

    pub fn finish(&mut self, outcome: Outcome) {
        for (deposited, context) in outcome {
            let view = &mut self.views[deposited.index];
            let context = context.filter(|_| deposited.comm != CommId::NULL);
            let before = context.and_then(|context| view.comms.insert(deposited.comm, context));
            view.waits = false;
            view.now = None;
            self.found.created.push(deposited.index, context);
            context.into_iter().for_each(|context| self.contexts.held(context));
            before.into_iter().for_each(|before| self.leave(deposited.index, before));
        }
    }

    pub fn add(&mut self, mut communicator: Communicator, first: usize) -> Context {
        let both =
            communicator.members.iter().chain(communicator.remote.iter().flat_map(|remote| remote.iter()));
        communicator.complete =
            communicator.resolved && both.into_iter().all(|rank| self.present.contains_key(rank));
        if let Taken::Again(context) = self.contexts.take(&communicator, first) {
            self.found.times[context as usize] += 1;
            let color = &mut self.found.all[context as usize].origin.color;
            *color = color.filter(|&color| Some(color) == communicator.origin.color);
            return context;
        }
        self.found.all.push(communicator);
        self.found.times.push(1);
        (self.found.all.len() - 1) as Context
    }

    pub fn plain(&self, origin: Origin, members: Arc<[u32]>) -> Communicator {
        Communicator { origin, members, remote: None, resolved: true, complete: false, dims: Vec::new() }
    }

    /// Assigns one communicator to the members for which `belongs` holds.
    pub fn one_for_all(
        &mut self,
        communicator: Communicator,
        deposits: Vec<Deposited>,
        belongs: impl Fn(&Communicator, u32) -> bool,
    ) -> Outcome {
        let kept = communicator.clone();
        let first = deposits.first().map_or(0, |deposited| deposited.index);
        let context = self.add(communicator, first);
        let views = &self.views;
        let outcome = deposits.into_iter().map(|deposited| {
            let rank = views[deposited.index].rank;
            (deposited, belongs(&kept, rank).then_some(context))
        });
        outcome.collect()
    }

    pub fn unknown(&mut self, parent: Context, deposits: Vec<Deposited>) -> Outcome {
        self.found.unresolved += 1;
        let world = self.found.all[WORLD as usize].members.clone();
        let origin = Origin { by: None, of: [Some(parent), None], color: None };
        let communicator = Communicator { resolved: false, ..self.plain(origin, world) };
        self.one_for_all(communicator, deposits, |_, _| true)
    }

    /// The context may be reused, so its count of creations is reset.
    pub fn leave(&mut self, index: usize, context: Context) {
        if context > SELF {
            self.views[index].creations.remove(&context);
        }
        self.contexts.freed(context);
    }

    /// The group that contains `rank`.
    pub fn side_of(&self, context: Context, rank: u32) -> Arc<[u32]> {
        let communicator = &self.found.all[context as usize];
        match &communicator.remote {
            Some(remote) if !communicator.members.contains(&rank) => remote.clone(),
            _ => communicator.members.clone(),
        }
    }

    /// The group of an inter-communicator that does not contain `rank`.
    pub fn other_side_of(&self, context: Context, rank: u32) -> Option<Arc<[u32]>> {
        let communicator = &self.found.all[context as usize];
        let remote = communicator.remote.clone()?;
        Some(if communicator.members.contains(&rank) { remote } else { communicator.members.clone() })
    }
}

pub(super) fn of(by: &'static str, parent: Context) -> Origin {
    Origin { by: Some(by), of: [Some(parent), None], color: None }
}
