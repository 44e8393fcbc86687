//! Resolution of communicators over all ranks.
//!
//! A trace identifies communicators by ids of one process. All members of a parent create communicators in
//! the same order (MPI-4.1 §6.12, §7.4). The n-th creation from the parent is therefore the same collective
//! call at every member. The resolver executes the membership calls of all ranks concurrently. A rank waits
//! if the result depends on other ranks, such as the colors of `MPI_Comm_split`. The resolver marks results
//! that missing ranks leave open.

pub(crate) mod communicator;
mod contexts;
mod create;
mod created;
mod groups;
mod listed;
mod resolver;

use matchpoint_trace::call::{Action, CommId};
use matchpoint_trace::{Trace, TraceError};

use crate::rank_summary::{MemberLists, RankSummary};
pub(crate) use communicator::{Communicators, Context, ELSEWHERE, Membership, SELF};
use resolver::{CreationCall, Resolver};

pub(crate) fn resolve(trace: &dyn Trace, summaries: &[RankSummary]) -> Result<Communicators, TraceError> {
    let lists = MemberLists::default();
    let mut resolver = Resolver::new(trace, summaries, &lists)?;
    resolver.run()?;
    Ok(resolver.found)
}

impl Resolver<'_> {
    /// If no rank can continue, completes the oldest creation without its missing members.
    fn run(&mut self) -> Result<(), TraceError> {
        loop {
            let mut moved = false;
            for index in 0..self.ranks.len() {
                while self.execute_next_call(index)? {
                    moved = true;
                }
            }
            if !moved && !self.release_waiting_ranks() && !self.complete_oldest_creation() {
                return Ok(());
            }
        }
    }

    fn execute_next_call(&mut self, index: usize) -> Result<bool, TraceError> {
        let state = &mut self.ranks[index];
        if state.is_waiting || state.is_waiting_with_result {
            return Ok(false);
        }
        if state.now.is_none() {
            state.now = state.calls.next()?;
        }
        let Some(call) = state.now.clone() else { return Ok(false) };
        match call.action {
            Action::CommCreate { parent, how, comm, .. } => {
                let call = CreationCall { function: call.function, how, comm, integers: &call.integers };
                self.add_creation_call(index, parent, call);
                return Ok(true);
            }
            Action::CommFree { comm } => {
                let context = self.ranks[index].comms.remove(&comm);
                context.into_iter().for_each(|context| self.release_context(index, context));
            }
            Action::GroupCreate { how, group } => self.create_group(index, how, group, &call.integers),
            Action::GroupFree { group } => {
                self.ranks[index].groups.remove(&group);
            }
            Action::CommSize { comm, size } => self.check_size(index, comm, size),
            Action::CommRank { comm, rank } => self.check_rank(index, comm, rank),
            _ => {}
        }
        self.ranks[index].now = None;
        Ok(true)
    }

    fn check_size(&mut self, index: usize, comm: CommId, size: u32) {
        let Some(&context) = self.ranks[index].comms.get(&comm) else { return };
        let own = self.local_group(context, self.ranks[index].rank);
        if self.found.all[context as usize].is_resolved && own.len() != size as usize {
            self.found.contradictions += 1;
        }
    }

    fn check_rank(&mut self, index: usize, comm: CommId, rank: u32) {
        let Some(&context) = self.ranks[index].comms.get(&comm) else { return };
        let me = self.ranks[index].rank;
        if context == SELF || !self.found.all[context as usize].is_resolved {
            return;
        }
        if self.local_group(context, me).get(rank as usize) != Some(&me) {
            self.found.contradictions += 1;
        }
    }
}
