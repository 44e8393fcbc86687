//! Creation of communicators (MPI-4.1 §7.4, §7.6, §8). The last member completes it.

use std::collections::BTreeMap;
use std::sync::Arc;

use matchpoint_trace::call::{CommId, NewComm};
use rustc_hash::FxHashMap;

use super::communicator::{Communicator, Context, Origin, SELF};
use super::listed;
use super::resolver::{Deposit, Deposited, Outcome, Pending, Resolver, Side, of};

impl Resolver<'_> {
    /// Adds a rank's arguments. The last ones complete the creation.
    pub(super) fn deposit(&mut self, index: usize, parent: CommId, deposit: Deposit<'_>) {
        let view = &mut self.views[index];
        if let Some((of, tag)) = listed::gathers(&deposit, view.comms.get(&parent).copied()) {
            return self.gather(index, of, tag, &deposit);
        }
        let Some(&context) = view.comms.get(&parent) else {
            // The parent was created in an untraced part of the run.
            let outcome = self.unknown(0, vec![self.deposited(index, &deposit)]);
            return self.finish(outcome);
        };
        let count = view.creations.entry(context).or_insert(0);
        let key = (context, *count);
        *count += 1;
        view.waits = true;
        let deposited = self.deposited(index, &deposit);
        self.begun += 1;
        let order = self.begun;
        let pending = self.pending.entry(key).or_insert(Pending { order, deposits: Vec::new() });
        pending.deposits.push(deposited);
        if pending.deposits.len() == self.expected(context) {
            let pending = self.pending.remove(&key).expect("it was there a line ago");
            self.decide(context, pending.deposits);
        }
    }

    /// Number of members with a stream.
    fn expected(&self, context: Context) -> usize {
        if context == SELF {
            return 1;
        }
        let communicator = &self.found.all[context as usize];
        let both =
            communicator.members.iter().chain(communicator.remote.iter().flat_map(|remote| remote.iter()));
        both.filter(|rank| self.present.contains_key(rank)).count()
    }

    /// Completes the oldest creation without the missing members.
    pub(super) fn decide_a_stuck_creation(&mut self) -> bool {
        let oldest =
            self.pending.iter().min_by_key(|(key, pending)| (pending.order, **key)).map(|(key, _)| *key);
        if let Some(key) = oldest {
            let pending = self.pending.remove(&key).expect("it was found a line ago");
            self.decide(key.0, pending.deposits);
            return true;
        }
        let Some(key) = self.sides.keys().min().copied() else { return false };
        let side = self.sides.remove(&key).expect("it was found a line ago");
        let outcome = self.unknown(side.parent, side.deposits);
        self.finish(outcome);
        true
    }

    fn decide(&mut self, parent: Context, deposits: Vec<Deposited>) {
        if deposits.iter().any(|deposited| matches!(deposited.how, NewComm::Listed { .. })) {
            let outcome = self.listed(parent, deposits);
            return self.finish(outcome);
        }
        let outcome = match deposits[0].how {
            NewComm::Dup => {
                let copy = self.found.all[parent as usize].clone();
                let copy = Communicator { origin: of("MPI_Comm_dup", parent), ..copy };
                let members = self.own_members(parent, &deposits);
                self.one_for_all(Communicator { members, ..copy }, deposits, |_, _| true)
            }
            NewComm::Split { .. } => self.split(parent, deposits),
            NewComm::Group(_) => self.by_group(parent, deposits),
            NewComm::Cart { .. } => self.grid(parent, deposits),
            NewComm::Graph { nodes, .. } => {
                let origin = of("MPI_Graph_create", parent);
                self.first_ranks(parent, nodes, origin, Vec::new(), deposits)
            }
            NewComm::CartSub => self.slices(parent, deposits),
            NewComm::Inter { .. } => return self.join_sides(parent, deposits),
            NewComm::Merge { .. } => self.merge(parent, deposits),
            NewComm::Unknown | NewComm::Listed { .. } => self.unknown(parent, deposits),
        };
        self.finish(outcome);
    }

    /// All processes share one context for `MPI_COMM_SELF`.
    fn own_members(&self, parent: Context, deposits: &[Deposited]) -> Arc<[u32]> {
        match parent {
            SELF => [self.views[deposits[0].index].rank].into(),
            _ => self.found.all[parent as usize].members.clone(),
        }
    }

    fn split(&mut self, parent: Context, deposits: Vec<Deposited>) -> Outcome {
        let members = self.own_members(parent, &deposits);
        let resolved = deposits.len() == members.len();
        if !resolved {
            self.found.unresolved += 1;
        }
        let position: FxHashMap<u32, usize> =
            members.iter().enumerate().map(|(at, &rank)| (rank, at)).collect();
        let first = deposits[0].index;
        let mut colors: BTreeMap<i32, Vec<(i32, usize, u32)>> = BTreeMap::new();
        for deposited in &deposits {
            if let NewComm::Split { color: Some(color), key } = deposited.how {
                let rank = self.views[deposited.index].rank;
                let at = position.get(&rank).copied().unwrap_or(usize::MAX);
                colors.entry(color).or_default().push((key, at, rank));
            }
        }
        let mut contexts = BTreeMap::new();
        for (color, mut of_color) in colors {
            of_color.sort_unstable();
            let members = of_color.into_iter().map(|(_, _, rank)| rank).collect();
            let origin = Origin { color: Some(color), ..of("MPI_Comm_split", parent) };
            let communicator = Communicator { resolved, ..self.plain(origin, members) };
            contexts.insert(color, self.add(communicator, first));
        }
        let outcome = deposits.into_iter().map(|deposited| {
            let NewComm::Split { color: Some(color), .. } = deposited.how else { return (deposited, None) };
            (deposited, contexts.get(&color).copied())
        });
        outcome.collect()
    }

    fn by_group(&mut self, parent: Context, deposits: Vec<Deposited>) -> Outcome {
        let mut contexts: FxHashMap<Arc<[u32]>, Context> = FxHashMap::default();
        let mut outcome = Vec::new();
        for deposited in deposits {
            if deposited.comm == CommId::NULL {
                outcome.push((deposited, None));
                continue;
            }
            let Some(group) = deposited.group.clone() else {
                outcome.extend(self.unknown(parent, vec![deposited]));
                continue;
            };
            let context = contexts.get(&group).copied().unwrap_or_else(|| {
                let communicator = self.plain(of("MPI_Comm_create", parent), group.clone());
                self.add(communicator, deposited.index)
            });
            contexts.insert(group, context);
            outcome.push((deposited, Some(context)));
        }
        outcome
    }

    fn first_ranks(
        &mut self,
        parent: Context,
        count: u32,
        origin: Origin,
        dims: Vec<u32>,
        deposits: Vec<Deposited>,
    ) -> Outcome {
        let members = self.own_members(parent, &deposits);
        let members = members.iter().take(count as usize).copied().collect();
        let communicator = Communicator { dims, ..self.plain(origin, members) };
        self.one_for_all(communicator, deposits, |communicator, rank| communicator.members.contains(&rank))
    }

    fn grid(&mut self, parent: Context, deposits: Vec<Deposited>) -> Outcome {
        let dims: Option<Vec<u32>> =
            deposits[0].integers.iter().map(|&dim| u32::try_from(dim).ok()).collect();
        let dims = dims.unwrap_or_default();
        let count = dims.iter().try_fold(1u32, |product, &dim| product.checked_mul(dim));
        self.first_ranks(parent, count.unwrap_or(0), of("MPI_Cart_create", parent), dims, deposits)
    }

    fn slices(&mut self, parent: Context, deposits: Vec<Deposited>) -> Outcome {
        let dims = self.found.all[parent as usize].dims.clone();
        let keeps: Vec<bool> = deposits[0].integers.iter().map(|&keep| keep != 0).collect();
        if dims.is_empty() || keeps.len() != dims.len() {
            return self.unknown(parent, deposits);
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
            let communicator = self.plain(of("MPI_Cart_sub", parent), slice.as_slice().into());
            let context = self.add(Communicator { dims: kept.clone(), ..communicator }, deposits[0].index);
            of_rank.extend(slice.into_iter().map(|rank| (rank, context)));
        }
        let views = &self.views;
        let outcome = deposits.into_iter().map(|deposited| {
            let context = of_rank.get(&views[deposited.index].rank).copied();
            (deposited, context)
        });
        outcome.collect()
    }

    /// Joins the other side of `MPI_Intercomm_create`, or waits for it.
    fn join_sides(&mut self, parent: Context, deposits: Vec<Deposited>) {
        let Some((own, other, tag)) = self.leaders(parent, &deposits) else {
            let outcome = self.unknown(parent, deposits);
            return self.finish(outcome);
        };
        let members = self.own_members(parent, &deposits);
        let Some(waiting) = self.sides.remove(&(other, own, tag)) else {
            self.sides.insert((own, other, tag), Side { parent, members, deposits });
            return;
        };
        let both = [Some(waiting.parent), Some(parent)];
        let origin = Origin { of: both, ..of("MPI_Intercomm_create", parent) };
        let communicator = Communicator { remote: Some(members), ..self.plain(origin, waiting.members) };
        let both = waiting.deposits.into_iter().chain(deposits).collect();
        let outcome = self.one_for_all(communicator, both, |_, _| true);
        self.finish(outcome);
    }

    /// Own and remote leader, and the tag. Only the leader knows the remote one.
    fn leaders(&self, parent: Context, deposits: &[Deposited]) -> Option<(u32, u32, i32)> {
        let members = self.own_members(parent, deposits);
        deposits.iter().find_map(|deposited| {
            let NewComm::Inter { local_leader, peer_comm, remote_leader, tag } = deposited.how else {
                return None;
            };
            let view = &self.views[deposited.index];
            if members.get(local_leader as usize) != Some(&view.rank) {
                return None;
            }
            let peers = self.side_of(*view.comms.get(&peer_comm)?, view.rank);
            Some((view.rank, *peers.get(remote_leader as usize)?, tag))
        })
    }

    fn merge(&mut self, parent: Context, deposits: Vec<Deposited>) -> Outcome {
        let communicator = &self.found.all[parent as usize];
        let Some(remote) = communicator.remote.clone() else { return self.unknown(parent, deposits) };
        let members = communicator.members.clone();
        let first_is_high = deposits.iter().any(|deposited| {
            matches!(deposited.how, NewComm::Merge { high: true })
                && members.contains(&self.views[deposited.index].rank)
        });
        let (low, high) = if first_is_high { (remote, members) } else { (members, remote) };
        let merged = low.iter().chain(high.iter()).copied().collect();
        let communicator = self.plain(of("MPI_Intercomm_merge", parent), merged);
        self.one_for_all(communicator, deposits, |_, _| true)
    }
}

/// Coordinates in the dropped dimensions (row-major, MPI-4.1 §8.5.1).
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
    fn grids_are_row_major() {
        assert_eq!(dropped_coordinates(5, &[2, 3], &[false, true]), [1]);
        assert_eq!(dropped_coordinates(5, &[2, 3], &[true, false]), [2]);
        assert_eq!(dropped_coordinates(5, &[2, 3], &[true, true]), [0; 0]);
    }
}
