//! Actions of collective, communicator and group functions in DUMPI traces.

use super::action::Arguments;
use super::ids;
use super::layout::Name;
use crate::call::{Action, CommId, NewComm, NewGroup};
use crate::function::Function;

impl Arguments<'_> {
    pub(super) fn comm(&self, name: Name) -> CommId {
        ids::comm(self.get(name))
    }

    pub(super) fn natural(&self, name: Name) -> u32 {
        u32::try_from(self.get(name)).unwrap_or(0)
    }

    pub(super) fn collective(&self, function: Function) -> Option<Action> {
        use Function as F;
        use Name::{count, datatype, recvcount, recvtype, sendcount, sendtype};
        let bytes = |number, of| self.sizes.bytes(self.get(number), self.get(of));
        let sum = |of| {
            let sum = self.record.list.iter().try_fold(0i32, |sum, &one| sum.checked_add(one))?;
            self.sizes.bytes(sum, self.get(of))
        };
        let (rooted, bytes) = match function {
            F::Barrier => (false, Some(0)),
            F::Bcast | F::Reduce => (true, bytes(count, datatype)),
            F::Allreduce | F::Scan | F::Exscan => (false, bytes(count, datatype)),
            F::Gather | F::Gatherv => (true, bytes(sendcount, sendtype)),
            F::Allgather | F::Allgatherv => (false, bytes(sendcount, sendtype)),
            F::Scatter | F::Scatterv => (true, bytes(recvcount, recvtype)),
            F::Alltoall | F::Alltoallw => (false, None),
            F::Alltoallv => (false, sum(sendtype)),
            F::Reduce_scatter => (false, sum(datatype)),
            _ => return None,
        };
        let root = rooted.then(|| self.get(Name::root)).and_then(|root| u32::try_from(root).ok());
        Some(Action::Collective { comm: self.comm(Name::comm), root, bytes, request: None })
    }

    pub(super) fn new_comm(&self, function: Function) -> Option<Action> {
        use Function as F;
        use Name::{comm, newcomm, oldcomm};
        let (old, how, new) = match function {
            F::Comm_dup => (oldcomm, NewComm::Dup, newcomm),
            F::Comm_create => (oldcomm, NewComm::Group(ids::group(self.get(Name::group))), newcomm),
            F::Comm_split => {
                let color = Some(self.get(Name::color)).filter(|color| *color >= 0);
                (oldcomm, NewComm::Split { color, key: self.get(Name::key) }, newcomm)
            }
            F::Cart_create => (oldcomm, NewComm::Cart { reorder: self.get(Name::reorder) != 0 }, newcomm),
            F::Graph_create => {
                let reorder = self.get(Name::reorder) != 0;
                (oldcomm, NewComm::Graph { nodes: self.natural(Name::nodes), reorder }, newcomm)
            }
            F::Cart_sub => (oldcomm, NewComm::CartSub, newcomm),
            F::Intercomm_create => (Name::localcomm, self.inter_args(), newcomm),
            F::Intercomm_merge => (comm, NewComm::Merge { high: self.get(Name::high) != 0 }, newcomm),
            F::Comm_accept | F::Comm_connect => (oldcomm, NewComm::Unknown, newcomm),
            F::Comm_spawn | F::Comm_spawn_multiple => (oldcomm, NewComm::Unknown, newcomm),
            F::Comm_join => return Some(self.create_local_comm(comm)),
            F::Comm_get_parent => return Some(self.create_local_comm(Name::parent)),
            _ => return None,
        };
        Some(Action::CommCreate { parent: self.comm(old), how, comm: self.comm(new), request: None })
    }

    fn create_local_comm(&self, new: Name) -> Action {
        let (parent, how) = (CommId::SELF, NewComm::Unknown);
        Action::CommCreate { parent, how, comm: self.comm(new), request: None }
    }

    fn inter_args(&self) -> NewComm {
        NewComm::Inter {
            local_leader: self.natural(Name::localleader),
            peer_comm: self.comm(Name::remotecomm),
            remote_leader: self.natural(Name::remoteleader),
            tag: self.get(Name::tag),
        }
    }

    pub(super) fn new_group(&self, function: Function) -> Option<Action> {
        use Function as F;
        let group = |name| ids::group(self.get(name));
        let pair = || (group(Name::group1), group(Name::group2));
        let one = group(Name::group);
        let (how, new) = match function {
            F::Comm_group => (NewGroup::OfComm(self.comm(Name::comm)), Name::group),
            F::Comm_remote_group => (NewGroup::OfRemote(self.comm(Name::comm)), Name::group),
            F::Group_incl => (NewGroup::Include(one), Name::newgroup),
            F::Group_excl => (NewGroup::Exclude(one), Name::newgroup),
            F::Group_range_incl => (NewGroup::RangeInclude(one), Name::newgroup),
            F::Group_range_excl => (NewGroup::RangeExclude(one), Name::newgroup),
            F::Group_union => (NewGroup::Union(pair().0, pair().1), Name::newgroup),
            F::Group_intersection => (NewGroup::Intersection(pair().0, pair().1), Name::newgroup),
            F::Group_difference => (NewGroup::Difference(pair().0, pair().1), Name::newgroup),
            _ => return None,
        };
        Some(Action::GroupCreate { how, group: group(new) })
    }
}
