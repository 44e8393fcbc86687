//! Reuse of context ids by equal communicators, for programs that create and free communicators in a loop.
//!
//! Ids are reused late: a receive that is still posted at `MPI_Comm_free` must complete (MPI-4.1 §7.4.3), and
//! must not match messages of the next communicator. Communicators are equal if the kinds of their parents
//! are equal; with the contexts of the parents, each generation would multiply the number of contexts.

use std::collections::VecDeque;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::communicator::{Communicator, Context, Origin, SELF, WORLD};

/// Freed contexts of one kind before the oldest is reused.
const REUSE_DELAY: usize = 64;

type Kind = u32;

/// Key of a kind. Ranks may resolve unknown members differently, so the key includes the first rank.
#[derive(PartialEq, Eq, Hash)]
struct KindKey {
    by: Option<&'static str>,
    of: [Option<Kind>; 2],
    members: Arc<[u32]>,
    remote: Option<Arc<[u32]>>,
    dims: Vec<u32>,
    undetermined_at: Option<usize>,
}

pub(super) struct Contexts {
    kinds: FxHashMap<KindKey, Kind>,
    kind_of: Vec<Kind>,
    /// For each context, the number of ranks that hold the context, plus one while more ranks may join.
    holders: Vec<u32>,
    freed_contexts: FxHashMap<Kind, VecDeque<Context>>,
}

impl Default for Contexts {
    fn default() -> Self {
        let (kinds, freed_contexts) = Default::default();
        Contexts { kinds, kind_of: vec![WORLD, SELF], holders: vec![0; 2], freed_contexts }
    }
}

impl Contexts {
    pub fn take(&mut self, communicator: &Communicator, first: usize) -> AssignedContext {
        let Communicator { origin, members, remote, dims, is_resolved, .. } = communicator;
        let Origin { by, of, .. } = *origin;
        let key = KindKey {
            by,
            of: of.map(|of| Some(self.kind_of[of? as usize])),
            members: members.clone(),
            remote: remote.clone(),
            dims: dims.clone(),
            undetermined_at: (!is_resolved).then_some(first),
        };
        let next = SELF + 1 + self.kinds.len() as Kind;
        let kind = *self.kinds.entry(key).or_insert(next);
        let reusable =
            self.freed_contexts.get_mut(&kind).filter(|freed_contexts| freed_contexts.len() >= REUSE_DELAY);
        if let Some(context) = reusable.and_then(VecDeque::pop_front) {
            return AssignedContext::Reused(context);
        }
        self.kind_of.push(kind);
        self.holders.push(0);
        AssignedContext::New
    }

    pub fn add_holder(&mut self, context: Context) {
        self.holders[context as usize] += 1;
    }

    pub fn remove_holder(&mut self, context: Context) {
        let holders = &mut self.holders[context as usize];
        if context <= SELF || *holders == 0 {
            return;
        }
        *holders -= 1;
        if *holders == 0 {
            self.freed_contexts.entry(self.kind_of[context as usize]).or_default().push_back(context);
        }
    }
}

pub(super) enum AssignedContext {
    Reused(Context),
    New,
}
