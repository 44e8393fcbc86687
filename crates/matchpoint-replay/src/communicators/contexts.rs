//! Which contexts are free to be used again.
//!
//! A code that makes and frees a communicator in a loop makes one that is like the last in everything. Once it is freed at
//! all who had it, its context serves another like it, as libraries do. Not at once: a receive that is still posted there
//! when the communicator is freed completes all the same (MPI-4.1 §7.4.3), and nothing sent on the next one may be taken
//! for its message.
//!
//! What is made of a communicator is alike if those it was made of were alike, not the same: where contexts take turns,
//! what is made of each would else need as many turns again, and what is made of that as many again.

use std::collections::VecDeque;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::communicator::{Communicator, Context, Origin, SELF, WORLD};

/// Contexts of communicators that are alike, freed, before one of them is used again.
const RESTING: usize = 64;

/// A number for communicators that are alike.
type Kind = u32;

/// What makes communicators alike: how they came to be and of what kind of others, both groups, dimensions. Who had one
/// first whose members the trace does not determine: it may be known to others as something else.
#[derive(PartialEq, Eq, Hash)]
struct Likeness {
    by: Option<&'static str>,
    of: [Option<Kind>; 2],
    members: Arc<[u32]>,
    remote: Option<Arc<[u32]>>,
    dims: Vec<u32>,
    undetermined_at: Option<usize>,
}

/// See the [module's documentation](self).
pub(super) struct Contexts {
    kinds: FxHashMap<Likeness, Kind>,
    /// By context.
    kind_of: Vec<Kind>,
    /// By context: at how many ranks it is known, and one more as long as others may come to know it.
    holders: Vec<u32>,
    resting: FxHashMap<Kind, VecDeque<Context>>,
}

impl Default for Contexts {
    /// With those of the world and of every process itself, like which there is no other.
    fn default() -> Self {
        let (kinds, resting) = Default::default();
        Contexts { kinds, kind_of: vec![WORLD, SELF], holders: vec![0; 2], resting }
    }
}

impl Contexts {
    /// A context for a communicator that a rank is among the first to have: one that has rested, else a new one.
    pub fn take(&mut self, communicator: &Communicator, first: usize) -> Taken {
        let Communicator { origin, members, remote, dims, resolved, .. } = communicator;
        let Origin { by, of, .. } = *origin;
        let likeness = Likeness {
            by,
            of: of.map(|of| Some(self.kind_of[of? as usize])),
            members: members.clone(),
            remote: remote.clone(),
            dims: dims.clone(),
            undetermined_at: (!resolved).then_some(first),
        };
        let next = SELF + 1 + self.kinds.len() as Kind;
        let kind = *self.kinds.entry(likeness).or_insert(next);
        let rested = self.resting.get_mut(&kind).filter(|resting| resting.len() >= RESTING);
        if let Some(context) = rested.and_then(VecDeque::pop_front) {
            return Taken::Again(context);
        }
        self.kind_of.push(kind);
        self.holders.push(0);
        Taken::New
    }

    /// A rank knows it from now on; or somebody else may come to.
    pub fn held(&mut self, context: Context) {
        self.holders[context as usize] += 1;
    }

    /// A rank has freed it; or nobody else will come to know it.
    pub fn freed(&mut self, context: Context) {
        let holders = &mut self.holders[context as usize];
        if context <= SELF || *holders == 0 {
            return;
        }
        *holders -= 1;
        if *holders == 0 {
            self.resting.entry(self.kind_of[context as usize]).or_default().push_back(context);
        }
    }
}

/// What context a new communicator has.
pub(super) enum Taken {
    /// One that has rested.
    Again(Context),
    /// The next that there is none of yet.
    New,
}
