//! Communicators and their members.

use std::fmt::{self, Display};
use std::sync::Arc;

use matchpoint_trace::call::CommId;

use super::created::Created;

/// Index of a communicator in [`Communicators`]; engines use this index as context id.
pub(crate) type Context = u32;

pub(crate) const WORLD: Context = 0;
/// Context of every process's `MPI_COMM_SELF`, because its messages never leave the process.
pub(crate) const SELF: Context = 1;

/// A process outside `MPI_COMM_WORLD`.
pub(crate) const ELSEWHERE: u32 = u32::MAX;

#[derive(Clone, Debug)]
pub(crate) struct Communicator {
    pub origin: Origin,
    /// All members, as ranks of `MPI_COMM_WORLD`; in an inter-communicator, the first group.
    pub members: Arc<[u32]>,
    pub remote: Option<Arc<[u32]>>,
    pub is_resolved: bool,
    pub is_complete: bool,
    pub dims: Vec<u32>,
}

/// Creation of a communicator, printed as `MPI_Comm_split of 0, color 7`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Origin {
    pub by: Option<&'static str>,
    pub of: [Option<Context>; 2],
    /// Color of `MPI_Comm_split`, if the same in all uses of the context.
    pub color: Option<i32>,
}

impl Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.by.unwrap_or("derived"))?;
        match self.of {
            [Some(first), Some(second)] => write!(f, " of {first} and {second}")?,
            [Some(parent), None] if self.by.is_none() => write!(f, " from {parent}")?,
            [Some(parent), None] => write!(f, " of {parent}")?,
            [None, _] => {}
        }
        if let Some(color) = self.color {
            write!(f, ", color {color}")?;
        }
        f.write_str(if self.by.is_none() { ", not determined by the trace" } else { "" })
    }
}

impl Communicator {
    pub fn size(&self) -> u32 {
        (self.members.len() + self.remote.as_ref().map_or(0, |remote| remote.len())) as u32
    }
}

#[derive(Debug)]
pub(crate) struct Communicators {
    pub all: Vec<Communicator>,
    /// For each context, the number of equal communicators that used the context.
    pub use_counts: Vec<u64>,
    pub created: Created,
    pub has_external_members: bool,
    pub unresolved: u64,
    /// Calls of `MPI_Comm_rank` and `MPI_Comm_size` that contradict the resolved members.
    pub contradictions: u64,
}

impl Communicators {
    pub fn world_rank(&self, own: u32, membership: Membership, rank: u32) -> Option<u32> {
        if membership.context == SELF {
            return Some(own);
        }
        let communicator = &self.all[membership.context as usize];
        let group = match &communicator.remote {
            Some(remote) if !membership.is_in_second_group => remote,
            _ => &communicator.members,
        };
        group.get(rank as usize).copied().filter(|&rank| rank != ELSEWHERE)
    }

    /// The communicator and membership of the `creation`-th communicator of a process; `None` if the process
    /// is not a member.
    pub fn created_membership(&self, process: usize, creation: usize, world: u32) -> Option<Membership> {
        let context = self.created.get(process, creation)?;
        Some(Membership::new(world, context, &self.all[context as usize]))
    }
}

#[derive(Clone, Copy)]
pub(crate) struct Membership {
    pub context: Context,
    pub rank: u32,
    pub is_in_second_group: bool,
}

impl Membership {
    pub fn predefined(world: u32) -> [(CommId, Membership); 2] {
        let of = |context, rank| Membership { context, rank, is_in_second_group: false };
        [(CommId::WORLD, of(WORLD, world)), (CommId::SELF, of(SELF, 0))]
    }

    fn new(world: u32, context: Context, communicator: &Communicator) -> Self {
        let within = |group: &[u32]| group.iter().position(|&member| member == world).map(|rank| rank as u32);
        let first = within(&communicator.members);
        let second = communicator.remote.as_deref().and_then(within);
        match (first, second) {
            (None, Some(rank)) => Membership { context, rank, is_in_second_group: true },
            (rank, _) => Membership { context, rank: rank.unwrap_or(world), is_in_second_group: false },
        }
    }
}
