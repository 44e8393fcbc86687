//! Creation of communicators (MPI-4.1 §7.4, §7.6, §8). The call of the last member completes a creation.

use std::collections::BTreeMap;
use std::sync::Arc;

use matchpoint_trace::call::{CommId, NewComm};
use rustc_hash::FxHashMap;

use super::communicator::{Communicator, Context, Origin, SELF};
use super::listed;
use super::resolver::{
    CreationCall, IntercommSide, MemberContexts, PendingCreation, Resolver, StoredCall, origin_of,
};

impl Resolver<'_> {
    pub(super) fn add_creation_call(&mut self, index: usize, parent: CommId, call: CreationCall<'_>) {
        let state = &mut self.ranks[index];
        if let Some((of, tag)) = listed::member_creation_key(&call, state.comms.get(&parent).copied()) {
            return self.join_member_creation(index, of, tag, &call);
        }
        let Some(&context) = state.comms.get(&parent) else {
            let contexts = self.create_unresolved(0, vec![self.store_call(index, &call)]);
            return self.assign_contexts(contexts);
        };
        let count = state.creations.entry(context).or_insert(0);
        let key = (context, *count);
        *count += 1;
        state.is_waiting = true;
        let call = self.store_call(index, &call);
        self.call_count += 1;
        let order = self.call_count;
        let pending = self.pending.entry(key).or_insert(PendingCreation { order, calls: Vec::new() });
        pending.calls.push(call);
        if pending.calls.len() == self.expected_calls(context) {
            let pending = self.pending.remove(&key).expect("the entry exists");
            self.complete_creation(context, pending.calls);
        }
    }

    fn expected_calls(&self, context: Context) -> usize {
        if context == SELF {
            return 1;
        }
        let communicator = &self.found.all[context as usize];
        let both =
            communicator.members.iter().chain(communicator.remote.iter().flat_map(|remote| remote.iter()));
        both.filter(|rank| self.present.contains_key(rank)).count()
    }

    /// Completes the oldest creation, although some members have not called the function.
    pub(super) fn complete_oldest_creation(&mut self) -> bool {
        let oldest =
            self.pending.iter().min_by_key(|(key, pending)| (pending.order, **key)).map(|(key, _)| *key);
        if let Some(key) = oldest {
            let pending = self.pending.remove(&key).expect("the entry exists");
            self.complete_creation(key.0, pending.calls);
            return true;
        }
        let Some(key) = self.sides.keys().min().copied() else { return false };
        let side = self.sides.remove(&key).expect("the entry exists");
        let contexts = self.create_unresolved(side.parent, side.calls);
        self.assign_contexts(contexts);
        true
    }

    fn complete_creation(&mut self, parent: Context, calls: Vec<StoredCall>) {
        if calls.iter().any(|call| matches!(call.how, NewComm::Listed { .. })) {
            let contexts = self.create_listed(parent, calls);
            return self.assign_contexts(contexts);
        }
        let contexts = match calls[0].how {
            NewComm::Dup => {
                let copy = self.found.all[parent as usize].clone();
                let copy = Communicator { origin: origin_of("MPI_Comm_dup", parent), ..copy };
                let members = self.parent_members(parent, &calls);
                self.create_for_all(Communicator { members, ..copy }, calls, |_, _| true)
            }
            NewComm::Split { .. } => self.create_split(parent, calls),
            NewComm::Group(_) => self.create_from_groups(parent, calls),
            NewComm::Cart { .. } => self.create_grid(parent, calls),
            NewComm::Graph { nodes, .. } => {
                let origin = origin_of("MPI_Graph_create", parent);
                self.create_from_first_ranks(parent, nodes, origin, Vec::new(), calls)
            }
            NewComm::CartSub => self.create_subgrids(parent, calls),
            NewComm::Inter { .. } => return self.create_intercomm(parent, calls),
            NewComm::Merge { .. } => self.create_merged(parent, calls),
            NewComm::Unknown | NewComm::Listed { .. } => self.create_unresolved(parent, calls),
        };
        self.assign_contexts(contexts);
    }

    /// All processes share one context for `MPI_COMM_SELF`.
    fn parent_members(&self, parent: Context, calls: &[StoredCall]) -> Arc<[u32]> {
        match parent {
            SELF => [self.ranks[calls[0].index].rank].into(),
            _ => self.found.all[parent as usize].members.clone(),
        }
    }

    fn create_split(&mut self, parent: Context, calls: Vec<StoredCall>) -> MemberContexts {
        let members = self.parent_members(parent, &calls);
        let is_resolved = calls.len() == members.len();
        if !is_resolved {
            self.found.unresolved += 1;
        }
        let position: FxHashMap<u32, usize> =
            members.iter().enumerate().map(|(at, &rank)| (rank, at)).collect();
        let first = calls[0].index;
        let mut colors: BTreeMap<i32, Vec<(i32, usize, u32)>> = BTreeMap::new();
        for call in &calls {
            if let NewComm::Split { color: Some(color), key } = call.how {
                let rank = self.ranks[call.index].rank;
                let at = position.get(&rank).copied().unwrap_or(usize::MAX);
                colors.entry(color).or_default().push((key, at, rank));
            }
        }
        let mut contexts = BTreeMap::new();
        for (color, mut of_color) in colors {
            of_color.sort_unstable();
            let members = of_color.into_iter().map(|(_, _, rank)| rank).collect();
            let origin = Origin { color: Some(color), ..origin_of("MPI_Comm_split", parent) };
            let communicator = Communicator { is_resolved, ..self.intracomm(origin, members) };
            contexts.insert(color, self.add(communicator, first));
        }
        let contexts = calls.into_iter().map(|call| {
            let NewComm::Split { color: Some(color), .. } = call.how else {
                return (call, None);
            };
            (call, contexts.get(&color).copied())
        });
        contexts.collect()
    }

    fn create_from_groups(&mut self, parent: Context, calls: Vec<StoredCall>) -> MemberContexts {
        let mut by_group: FxHashMap<Arc<[u32]>, Context> = FxHashMap::default();
        let mut contexts = Vec::new();
        for call in calls {
            if call.comm == CommId::NULL {
                contexts.push((call, None));
                continue;
            }
            let Some(group) = call.group.clone() else {
                contexts.extend(self.create_unresolved(parent, vec![call]));
                continue;
            };
            let context = by_group.get(&group).copied().unwrap_or_else(|| {
                let communicator = self.intracomm(origin_of("MPI_Comm_create", parent), group.clone());
                self.add(communicator, call.index)
            });
            by_group.insert(group, context);
            contexts.push((call, Some(context)));
        }
        contexts
    }

    fn create_from_first_ranks(
        &mut self,
        parent: Context,
        count: u32,
        origin: Origin,
        dims: Vec<u32>,
        calls: Vec<StoredCall>,
    ) -> MemberContexts {
        let members = self.parent_members(parent, &calls);
        let members = members.iter().take(count as usize).copied().collect();
        let communicator = Communicator { dims, ..self.intracomm(origin, members) };
        self.create_for_all(communicator, calls, |communicator, rank| communicator.members.contains(&rank))
    }

    fn create_grid(&mut self, parent: Context, calls: Vec<StoredCall>) -> MemberContexts {
        let dims: Option<Vec<u32>> = calls[0].integers.iter().map(|&dim| u32::try_from(dim).ok()).collect();
        let dims = dims.unwrap_or_default();
        let count = dims.iter().try_fold(1u32, |product, &dim| product.checked_mul(dim));
        self.create_from_first_ranks(
            parent,
            count.unwrap_or(0),
            origin_of("MPI_Cart_create", parent),
            dims,
            calls,
        )
    }

    fn create_subgrids(&mut self, parent: Context, calls: Vec<StoredCall>) -> MemberContexts {
        let dims = self.found.all[parent as usize].dims.clone();
        let keeps: Vec<bool> = calls[0].integers.iter().map(|&keep| keep != 0).collect();
        if dims.is_empty() || keeps.len() != dims.len() {
            return self.create_unresolved(parent, calls);
        }
        let members = self.found.all[parent as usize].members.clone();
        let mut slices: BTreeMap<Vec<u32>, Vec<u32>> = BTreeMap::new();
        for (at, &rank) in members.iter().enumerate() {
            slices.entry(dropped_coordinates(at as u32, &dims, &keeps)).or_default().push(rank);
        }
        let kept: Vec<u32> =
            dims.iter().zip(&keeps).filter(|(_, keep)| **keep).map(|(&dim, _)| dim).collect();
        let mut of_rank = FxHashMap::default();
        for slice in slices.into_values() {
            let communicator = self.intracomm(origin_of("MPI_Cart_sub", parent), slice.as_slice().into());
            let context = self.add(Communicator { dims: kept.clone(), ..communicator }, calls[0].index);
            of_rank.extend(slice.into_iter().map(|rank| (rank, context)));
        }
        let ranks = &self.ranks;
        let contexts = calls.into_iter().map(|call| {
            let context = of_rank.get(&ranks[call.index].rank).copied();
            (call, context)
        });
        contexts.collect()
    }

    fn create_intercomm(&mut self, parent: Context, calls: Vec<StoredCall>) {
        let Some((own, other, tag)) = self.leaders(parent, &calls) else {
            let contexts = self.create_unresolved(parent, calls);
            return self.assign_contexts(contexts);
        };
        let members = self.parent_members(parent, &calls);
        let Some(waiting) = self.sides.remove(&(other, own, tag)) else {
            self.sides.insert((own, other, tag), IntercommSide { parent, members, calls });
            return;
        };
        let both = [Some(waiting.parent), Some(parent)];
        let origin = Origin { of: both, ..origin_of("MPI_Intercomm_create", parent) };
        let communicator = Communicator { remote: Some(members), ..self.intracomm(origin, waiting.members) };
        let both = waiting.calls.into_iter().chain(calls).collect();
        let contexts = self.create_for_all(communicator, both, |_, _| true);
        self.assign_contexts(contexts);
    }

    /// World ranks of the local and the remote leader, and the tag. Only the local leader's call has the
    /// remote leader.
    fn leaders(&self, parent: Context, calls: &[StoredCall]) -> Option<(u32, u32, i32)> {
        let members = self.parent_members(parent, calls);
        calls.iter().find_map(|call| {
            let NewComm::Inter { local_leader, peer_comm, remote_leader, tag } = call.how else {
                return None;
            };
            let state = &self.ranks[call.index];
            if members.get(local_leader as usize) != Some(&state.rank) {
                return None;
            }
            let peers = self.local_group(*state.comms.get(&peer_comm)?, state.rank);
            Some((state.rank, *peers.get(remote_leader as usize)?, tag))
        })
    }

    fn create_merged(&mut self, parent: Context, calls: Vec<StoredCall>) -> MemberContexts {
        let communicator = &self.found.all[parent as usize];
        let Some(remote) = communicator.remote.clone() else {
            return self.create_unresolved(parent, calls);
        };
        let members = communicator.members.clone();
        let first_is_high = calls.iter().any(|call| {
            matches!(call.how, NewComm::Merge { high: true })
                && members.contains(&self.ranks[call.index].rank)
        });
        let (low, high) = if first_is_high { (remote, members) } else { (members, remote) };
        let merged = low.iter().chain(high.iter()).copied().collect();
        let communicator = self.intracomm(origin_of("MPI_Intercomm_merge", parent), merged);
        self.create_for_all(communicator, calls, |_, _| true)
    }
}

/// Coordinates of a rank in the dropped dimensions (row-major, MPI-4.1 §8.5.1).
fn dropped_coordinates(rank: u32, dims: &[u32], keeps: &[bool]) -> Vec<u32> {
    let mut left = rank;
    let mut coordinates: Vec<u32> = Vec::with_capacity(dims.len());
    for &dim in dims.iter().rev() {
        coordinates.push(left % dim.max(1));
        left /= dim.max(1);
    }
    coordinates.iter().rev().zip(keeps).filter(|(_, keep)| !**keep).map(|(&at, _)| at).collect()
}

#[cfg(test)]
mod tests {
    use super::dropped_coordinates;

    #[test]
    fn grid_coordinates_are_row_major() {
        assert_eq!(dropped_coordinates(5, &[2, 3], &[false, true]), [1]);
        assert_eq!(dropped_coordinates(5, &[2, 3], &[true, false]), [2]);
        assert_eq!(dropped_coordinates(5, &[2, 3], &[true, true]), [0; 0]);
    }
}
