//! What is known of all ranks while their communicators are resolved, and the steps that all creations take.

use std::collections::VecDeque;
use std::sync::Arc;

use matchpoint_trace::call::{CommId, GroupId, NewComm};
use matchpoint_trace::{Function, Trace, TraceError};
use rustc_hash::{FxHashMap, FxHashSet};

use super::communicator::{Communicator, Communicators, Context, Origin, SELF, WORLD};
use super::contexts::{Contexts, Taken};
use super::created::Created;
use crate::survey::{Calls, Lists, Membership, RankSurvey};

/// One rank's view.
pub(super) struct View<'a> {
    pub rank: u32,
    pub calls: Calls<'a>,
    /// The call that is played now.
    pub now: Option<Membership>,
    pub comms: FxHashMap<CommId, Context>,
    /// Those that it knows. One that the trace does not determine is absent.
    pub groups: FxHashMap<GroupId, Arc<[u32]>>,
    pub creations: FxHashMap<Context, u32>,
    /// It has made its deposit for this creation, and waits for the others.
    pub waits: bool,
    /// It might go on, but the others of what it has joined last are behind.
    pub is_ahead: bool,
}

pub(super) struct Resolver<'a> {
    pub views: Vec<View<'a>>,
    /// World rank → index into `views`.
    pub present: FxHashMap<u32, usize>,
    pub pending: FxHashMap<(Context, u32), Pending>,
    /// Deposits so far: gives creations an age.
    pub begun: usize,
    /// Those that only their members make.
    pub gatherings: Gatherings,
    /// Sides of inter-communicators that wait for the other, by (own leader, other leader, tag).
    pub sides: FxHashMap<(u32, u32, i32), Side>,
    pub contexts: Contexts,
    pub found: Communicators,
}

/// What one member brings to a creation.
pub(super) struct Deposit<'a> {
    pub function: Function,
    pub how: NewComm,
    pub comm: CommId,
    pub integers: &'a Arc<[i32]>,
}

/// A deposit that waits.
pub(super) struct Deposited {
    /// Whose: an index into the resolver's views.
    pub index: usize,
    pub function: Function,
    pub how: NewComm,
    pub comm: CommId,
    pub integers: Arc<[i32]>,
    /// The group that it named.
    pub group: Option<Arc<[u32]>>,
}

/// A creation that not all members have reached.
pub(super) struct Pending {
    pub order: usize,
    pub deposits: Vec<Deposited>,
}

/// One side of an inter-communicator.
pub(super) struct Side {
    pub parent: Context,
    pub members: Arc<[u32]>,
    pub deposits: Vec<Deposited>,
}

/// What a creation amounts to for each of its depositors.
pub(super) type Outcome = Vec<(Deposited, Option<Context>)>;

/// Both groups, that with the lower first rank first: each side names its own first.
pub(super) type Members = (Vec<u32>, Vec<u32>);

/// Those that only their members make and that not all have joined, by what they are told from each other by: parent (if
/// it is known), tag, members. The earliest first: each member joins them in order.
pub(super) type Gatherings = FxHashMap<(Option<Context>, i64, Members), VecDeque<Gathering>>;

/// A communicator that its members come to know one by one.
pub(super) struct Gathering {
    pub context: Context,
    /// Indices of those who joined, and how many will, if all do.
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

    /// A new communicator, which the rank of that index is among the first to have.
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

    /// The same communicator for every depositor whom `belongs` (given the resolver and its world rank) lets in.
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

    /// A rank knows a communicator no more. If it was the last, another may have its context: it begins anew.
    pub fn leave(&mut self, index: usize, context: Context) {
        if context > SELF {
            self.views[index].creations.remove(&context);
        }
        self.contexts.freed(context);
    }

    /// The group of `context` that `rank` belongs to.
    pub fn side_of(&self, context: Context, rank: u32) -> Arc<[u32]> {
        let communicator = &self.found.all[context as usize];
        match &communicator.remote {
            Some(remote) if !communicator.members.contains(&rank) => remote.clone(),
            _ => communicator.members.clone(),
        }
    }

    /// The group of an inter-communicator that `rank` does not belong to.
    pub fn other_side_of(&self, context: Context, rank: u32) -> Option<Arc<[u32]>> {
        let communicator = &self.found.all[context as usize];
        let remote = communicator.remote.clone()?;
        Some(if communicator.members.contains(&rank) { remote } else { communicator.members.clone() })
    }
}

/// What was made of another by that function.
pub(super) fn of(by: &'static str, parent: Context) -> Origin {
    Origin { by: Some(by), of: [Some(parent), None], color: None }
}
