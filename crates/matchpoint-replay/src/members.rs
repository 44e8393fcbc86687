//! Members of communicators. [`RankMembers`] adds them to the calls of a trace as [`NewComm::Listed`].

use matchpoint_trace::Trace;
use matchpoint_trace::call::{Action, Call, CommId, NewComm};

use crate::ReplayError;
use crate::communicators::{Communicators, ELSEWHERE, resolve};
use crate::progress::Progress;
use crate::rank_summary::summarize_ranks;

pub struct Members(Communicators, usize);

impl Members {
    /// Determines the members of all communicators in one pass through the trace.
    ///
    /// # Errors
    /// The trace is damaged, or [`Progress::stop`] was called.
    pub fn of(trace: &dyn Trace, progress: &Progress) -> Result<Members, ReplayError> {
        Ok(Members(resolve(trace, &summarize_ranks(trace, progress)?)?, trace.present().len()))
    }

    /// Index: among the ranks with a stream.
    ///
    /// # Panics
    /// If the index is out of bounds.
    pub fn rank(&self, index: usize) -> RankMembers<'_> {
        assert!(index < self.1, "there are {} ranks", self.1);
        RankMembers { all: &self.0, index, created: 0 }
    }
}

/// Communicators of one rank, in the order of their creation.
pub struct RankMembers<'a> {
    all: &'a Communicators,
    index: usize,
    created: usize,
}

impl RankMembers<'_> {
    /// Adds the members to `call`, if known and not implied by the call. The caller passes all calls of the
    /// rank in order.
    pub fn list(&mut self, call: &mut Call) {
        let Action::CommCreate { how, comm, .. } = &mut call.action else { return };
        let context = self.all.created.get(self.index, self.created);
        self.created += 1;
        let follows = matches!(how, NewComm::Dup | NewComm::Inter { .. } | NewComm::Merge { .. });
        let Some(context) = context.filter(|_| !follows && *comm != CommId::NULL) else { return };
        let communicator = &self.all.all[context as usize];
        if !communicator.is_resolved {
            return;
        }
        let ranks = |group: &[u32]| -> Vec<i32> {
            group.iter().map(|&rank| if rank == ELSEWHERE { -1 } else { rank as i32 }).collect()
        };
        call.integers = ranks(&communicator.members);
        let own = call.integers.len() as u32;
        call.integers.extend(communicator.remote.iter().flat_map(|remote| ranks(remote)));
        let tag = if let NewComm::Listed { tag, .. } = how { *tag } else { None };
        *how = NewComm::Listed { own, tag };
    }
}
