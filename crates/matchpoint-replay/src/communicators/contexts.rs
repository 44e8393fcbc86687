//! Which contexts are free to be used again.
//!
//! A code that makes and frees a communicator in a loop makes one that is like the last in everything. Once it is freed at
//! all who had it, its context serves another like it, as libraries do. Not at once: a receive that is still posted there
//! when the communicator is freed completes all the same (MPI-4.1 §7.4.3), and nothing sent on the next one may be taken
//! for its message.

use std::collections::VecDeque;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::{Communicator, Context, SELF};

/// Contexts of communicators that are alike, freed, before one of them is used again.
const RESTING: usize = 64;

/// What makes communicators alike: how they came to be, both groups, dimensions.
type Kind = (String, Arc<[u32]>, Option<Arc<[u32]>>, Vec<u32>);

/// See the [module's documentation](self).
#[derive(Default)]
pub(super) struct Contexts {
    /// By context: at how many ranks it is known; none any more if members may yet come to know it one by one.
    holders: Vec<u32>,
    resting: FxHashMap<Kind, VecDeque<Context>>,
}

fn kind(communicator: &Communicator) -> Kind {
    let Communicator { origin, members, remote, dims, .. } = communicator;
    (origin.clone(), members.clone(), remote.clone(), dims.clone())
}

/// In `holders`: it is not used again.
const FOREVER: u32 = u32::MAX;

impl Contexts {
    /// A context for a communicator like this, if one has rested.
    pub fn again(&mut self, communicator: &Communicator) -> Option<Context> {
        if self.resting.is_empty() {
            return None;
        }
        let resting = self.resting.get_mut(&kind(communicator))?;
        if resting.len() < RESTING { None } else { resting.pop_front() }
    }

    fn holders(&mut self, context: Context) -> &mut u32 {
        let at = context as usize;
        if at >= self.holders.len() {
            self.holders.resize(at + 1, 0);
        }
        &mut self.holders[at]
    }

    /// A rank knows it from now on.
    pub fn held(&mut self, context: Context) {
        let holders = self.holders(context);
        if *holders != FOREVER {
            *holders += 1;
        }
    }

    /// Its members come to know it one by one, so when all have freed it is not known.
    pub fn keep(&mut self, context: Context) {
        *self.holders(context) = FOREVER;
    }

    /// A rank has freed it.
    pub fn freed(&mut self, context: Context, communicator: &Communicator) {
        let holders = self.holders(context);
        if context <= SELF || *holders == FOREVER || *holders == 0 {
            return;
        }
        *holders -= 1;
        // What the trace does not determine may be known to others as something else.
        if *holders == 0 && communicator.resolved {
            self.resting.entry(kind(communicator)).or_default().push_back(context);
        }
    }
}
