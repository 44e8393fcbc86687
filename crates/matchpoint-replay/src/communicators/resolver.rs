//! State of the resolver.

use std::collections::VecDeque;
use std::sync::Arc;

use matchpoint_trace::call::{CommId, GroupId, NewComm};
use matchpoint_trace::{Function, Trace, TraceError};
use rustc_hash::{FxHashMap, FxHashSet};

use super::communicator::{Communicator, Communicators, Context, Origin, SELF, WORLD};
use super::contexts::{AssignedContext, Contexts};
use super::created::Created;
use crate::rank_summary::{MemberLists, MembershipCall, MembershipCalls, RankSummary};

pub(super) struct RankState<'a> {
    pub rank: u32,
    pub calls: MembershipCalls<'a>,
    pub now: Option<MembershipCall>,
    pub comms: FxHashMap<CommId, Context>,
    pub groups: FxHashMap<GroupId, Arc<[u32]>>,
    pub creations: FxHashMap<Context, u32>,
    pub is_waiting: bool,
    pub is_waiting_with_result: bool,
}

pub(super) struct Resolver<'a> {
    pub ranks: Vec<RankState<'a>>,
    /// Maps a world rank to an index into `ranks`.
    pub present: FxHashMap<u32, usize>,
    pub pending: FxHashMap<(Context, u32), PendingCreation>,
    /// Number of executed calls, which gives the age of a creation.
    pub call_count: usize,
    pub member_creations: MemberCreations,
    /// Calls that wait for the other side, by own leader, other leader and tag.
    pub sides: FxHashMap<(u32, u32, i32), IntercommSide>,
    pub contexts: Contexts,
    pub found: Communicators,
}

pub(super) struct CreationCall<'a> {
    pub function: Function,
    pub how: NewComm,
    pub comm: CommId,
    pub integers: &'a Arc<[i32]>,
}

pub(super) struct StoredCall {
    pub index: usize,
    pub function: Function,
    pub how: NewComm,
    pub comm: CommId,
    pub integers: Arc<[i32]>,
    pub group: Option<Arc<[u32]>>,
}

pub(super) struct PendingCreation {
    pub order: usize,
    pub calls: Vec<StoredCall>,
}

pub(super) struct IntercommSide {
    pub parent: Context,
    pub members: Arc<[u32]>,
    pub calls: Vec<StoredCall>,
}

pub(super) type MemberContexts = Vec<(StoredCall, Option<Context>)>;

/// Sorted, because each side of an inter-communicator lists its own group first.
pub(super) type GroupPair = (Vec<u32>, Vec<u32>);

/// Open creations by key, oldest first. Each member joins in this order.
pub(super) type MemberCreations = FxHashMap<(Option<Context>, i64, GroupPair), VecDeque<MemberCreation>>;

pub(super) struct MemberCreation {
    pub context: Context,
    pub joined: FxHashSet<usize>,
    pub expected: usize,
}

impl<'a> Resolver<'a> {
    pub fn new(
        trace: &'a dyn Trace,
        summaries: &'a [RankSummary],
        lists: &'a MemberLists,
    ) -> Result<Self, TraceError> {
        let world = trace.description().ranks;
        let state = |(summary, calls): (&RankSummary, _)| RankState {
            rank: summary.rank,
            calls,
            now: None,
            comms: [(CommId::WORLD, WORLD), (CommId::SELF, SELF)].into_iter().collect(),
            groups: FxHashMap::default(),
            creations: FxHashMap::default(),
            is_waiting: false,
            is_waiting_with_result: false,
        };
        let calls = MembershipCalls::of(trace, summaries, lists)?;
        let ranks = summaries.iter().zip(calls).map(state);
        let is_complete = summaries.len() == world as usize;
        let predefined = |name, members: Arc<[u32]>, is_complete| Communicator {
            origin: Origin { by: Some(name), of: [None; 2], color: None },
            members,
            remote: None,
            is_resolved: true,
            is_complete,
            dims: Vec::new(),
        };
        Ok(Resolver {
            ranks: ranks.collect(),
            present: summaries.iter().enumerate().map(|(index, summary)| (summary.rank, index)).collect(),
            pending: FxHashMap::default(),
            call_count: 0,
            member_creations: MemberCreations::default(),
            sides: FxHashMap::default(),
            contexts: Contexts::default(),
            found: Communicators {
                all: vec![
                    predefined("MPI_COMM_WORLD", (0..world).collect(), is_complete),
                    predefined("MPI_COMM_SELF", [0].into(), true),
                ],
                use_counts: vec![1, 1],
                created: Created::new(summaries.len()),
                has_external_members: false,
                unresolved: 0,
                contradictions: 0,
            },
        })
    }

    pub fn store_call(&self, index: usize, call: &CreationCall<'_>) -> StoredCall {
        let group = match call.how {
            NewComm::Group(group) => self.ranks[index].groups.get(&group).cloned(),
            _ => None,
        };
        let CreationCall { function, how, comm, integers } = *call;
        StoredCall { index, function, how, comm, integers: integers.clone(), group }
    }

    pub fn assign_contexts(&mut self, contexts: MemberContexts) {
        for (call, context) in contexts {
            let state = &mut self.ranks[call.index];
            let context = context.filter(|_| call.comm != CommId::NULL);
            let before = context.and_then(|context| state.comms.insert(call.comm, context));
            state.is_waiting = false;
            state.now = None;
            self.found.created.push(call.index, context);
            context.into_iter().for_each(|context| self.contexts.add_holder(context));
            before.into_iter().for_each(|before| self.release_context(call.index, before));
        }
    }

    pub fn add(&mut self, mut communicator: Communicator, first: usize) -> Context {
        let both =
            communicator.members.iter().chain(communicator.remote.iter().flat_map(|remote| remote.iter()));
        communicator.is_complete =
            communicator.is_resolved && both.into_iter().all(|rank| self.present.contains_key(rank));
        if let AssignedContext::Reused(context) = self.contexts.take(&communicator, first) {
            self.found.use_counts[context as usize] += 1;
            let color = &mut self.found.all[context as usize].origin.color;
            *color = color.filter(|&color| Some(color) == communicator.origin.color);
            return context;
        }
        self.found.all.push(communicator);
        self.found.use_counts.push(1);
        (self.found.all.len() - 1) as Context
    }

    pub fn intracomm(&self, origin: Origin, members: Arc<[u32]>) -> Communicator {
        Communicator {
            origin,
            members,
            remote: None,
            is_resolved: true,
            is_complete: false,
            dims: Vec::new(),
        }
    }

    pub fn create_for_all(
        &mut self,
        communicator: Communicator,
        calls: Vec<StoredCall>,
        belongs: impl Fn(&Communicator, u32) -> bool,
    ) -> MemberContexts {
        let kept = communicator.clone();
        let first = calls.first().map_or(0, |call| call.index);
        let context = self.add(communicator, first);
        let ranks = &self.ranks;
        let contexts = calls.into_iter().map(|call| {
            let rank = ranks[call.index].rank;
            (call, belongs(&kept, rank).then_some(context))
        });
        contexts.collect()
    }

    pub fn create_unresolved(&mut self, parent: Context, calls: Vec<StoredCall>) -> MemberContexts {
        self.found.unresolved += 1;
        let world = self.found.all[WORLD as usize].members.clone();
        let origin = Origin { by: None, of: [Some(parent), None], color: None };
        let communicator = Communicator { is_resolved: false, ..self.intracomm(origin, world) };
        self.create_for_all(communicator, calls, |_, _| true)
    }

    /// The context may be reused, so its count of creations is reset.
    pub fn release_context(&mut self, index: usize, context: Context) {
        if context > SELF {
            self.ranks[index].creations.remove(&context);
        }
        self.contexts.remove_holder(context);
    }

    pub fn local_group(&self, context: Context, rank: u32) -> Arc<[u32]> {
        let communicator = &self.found.all[context as usize];
        match &communicator.remote {
            Some(remote) if !communicator.members.contains(&rank) => remote.clone(),
            _ => communicator.members.clone(),
        }
    }

    pub fn remote_group(&self, context: Context, rank: u32) -> Option<Arc<[u32]>> {
        let communicator = &self.found.all[context as usize];
        let remote = communicator.remote.clone()?;
        Some(if communicator.members.contains(&rank) { remote } else { communicator.members.clone() })
    }
}

pub(super) fn origin_of(by: &'static str, parent: Context) -> Origin {
    Origin { by: Some(by), of: [Some(parent), None], color: None }
}
