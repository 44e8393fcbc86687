//! Collectives: dependencies between the members, and costs.

use matchpoint_trace::Function;
use matchpoint_trace::call::CommId;

use crate::entries::Owner;

pub(super) struct CollectiveCall {
    arrived: u32,
    expected: u32,
    latest_ns: i64,
    root_ns: Option<i64>,
    pub waiting: Vec<(u32, Owner)>,
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Dependency {
    All,
    FromRoot,
    ToRoot,
    /// No member waits: the trace does not contain the neighbors of a neighborhood collective.
    Local,
}

pub(super) fn dependency(function: Function, root: Option<u32>) -> Dependency {
    use Function::*;
    match function {
        Bcast | Scatter | Scatterv | Ibcast | Iscatter | Iscatterv | Bcast_init | Scatter_init
        | Scatterv_init
            if root.is_some() =>
        {
            Dependency::FromRoot
        }
        Reduce | Gather | Gatherv | Ireduce | Igather | Igatherv | Reduce_init | Gather_init
        | Gatherv_init
            if root.is_some() =>
        {
            Dependency::ToRoot
        }
        Neighbor_allgather
        | Neighbor_allgatherv
        | Neighbor_alltoall
        | Neighbor_alltoallv
        | Neighbor_alltoallw
        | Ineighbor_allgather
        | Ineighbor_allgatherv
        | Ineighbor_alltoall
        | Ineighbor_alltoallv
        | Ineighbor_alltoallw
        | Neighbor_allgather_init
        | Neighbor_allgatherv_init
        | Neighbor_alltoall_init
        | Neighbor_alltoallv_init
        | Neighbor_alltoallw_init => Dependency::Local,
        _ => Dependency::All,
    }
}

#[derive(Clone, Copy)]
pub(super) struct CollectiveArgs {
    pub function: Function,
    pub comm: CommId,
    pub root: Option<u32>,
    pub bytes: u64,
    pub recorded_ns: i64,
    pub owner: Owner,
}

impl CollectiveCall {
    pub fn of(expected: u32) -> Self {
        CollectiveCall { arrived: 0, expected, latest_ns: i64::MIN, root_ns: None, waiting: Vec::new() }
    }

    pub fn enter(
        &mut self,
        index: usize,
        now_ns: i64,
        dependency: Dependency,
        is_root: bool,
        cost_ns: i64,
        owner: Owner,
    ) -> Option<i64> {
        self.arrived += 1;
        self.latest_ns = self.latest_ns.max(now_ns);
        if is_root {
            self.root_ns = Some(now_ns);
        }
        let end = match dependency {
            Dependency::FromRoot if is_root => Some(now_ns),
            Dependency::FromRoot => self.root_ns.map(|root_ns| root_ns.max(now_ns) + cost_ns),
            Dependency::ToRoot if !is_root => Some(now_ns),
            _ => self.is_complete().then_some(self.latest_ns + cost_ns),
        };
        if end.is_none() {
            self.waiting.push((index as u32, owner));
        }
        end
    }

    pub fn is_complete(&self) -> bool {
        self.arrived == self.expected
    }

    pub fn take_unblocked(
        &mut self,
        dependency: Dependency,
        cost_ns: i64,
    ) -> Option<(Vec<(u32, Owner)>, i64)> {
        let go = match dependency {
            Dependency::FromRoot => self.root_ns.is_some(),
            _ => self.is_complete(),
        };
        let at_ns = self.latest_ns + cost_ns;
        (go && !self.waiting.is_empty()).then(|| (std::mem::take(&mut self.waiting), at_ns))
    }
}
