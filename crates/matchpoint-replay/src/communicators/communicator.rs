//! Communicators, and the processes that they have.

use std::fmt::{self, Display};
use std::sync::Arc;

use super::created::Created;

/// Number of a communicator in [`Communicators`]: the context that engines see.
pub(crate) type Context = u32;

/// `MPI_COMM_WORLD`'s context.
pub(crate) const WORLD: Context = 0;
/// The context of every process's `MPI_COMM_SELF`: no message crosses processes on it, so one number serves all.
pub(crate) const SELF: Context = 1;

/// The rank of a process that is not of this world.
pub(crate) const ELSEWHERE: u32 = u32::MAX;

/// A communicator. Ranks are ranks of `MPI_COMM_WORLD`.
#[derive(Clone, Debug)]
pub(crate) struct Communicator {
    /// How it came to be.
    pub origin: Origin,
    /// Its processes by rank (the first side's, of an inter-communicator).
    pub members: Arc<[u32]>,
    /// The other side's, of an inter-communicator.
    pub remote: Option<Arc<[u32]>>,
    /// Who its members are is known.
    pub resolved: bool,
    /// Every member has a stream.
    pub complete: bool,
    /// The dimensions of a grid.
    pub dims: Vec<u32>,
}

/// How a communicator came to be. As text: `MPI_Comm_split of 0, color 7`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Origin {
    /// The function that made it, or its own name; `None`: the trace does not determine it.
    pub by: Option<&'static str>,
    /// Of which others.
    pub of: [Option<Context>; 2],
    /// The colour of a split, if it was the same each time.
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
    /// Number of processes, both sides together.
    pub fn size(&self) -> u32 {
        (self.members.len() + self.remote.as_ref().map_or(0, |remote| remote.len())) as u32
    }
}

/// All communicators, and which one each rank got from each of its creations.
#[derive(Debug)]
pub(crate) struct Communicators {
    /// By context.
    pub all: Vec<Communicator>,
    /// By context: how many communicators it was, one like the other and one after the other.
    pub times: Vec<u64>,
    /// Per rank of the survey: the outcome of each of its creations, in order; `None`: not a member.
    pub created: Created,
    /// Some have processes that are not of this world.
    pub elsewhere: bool,
    /// Creations that the trace does not determine.
    pub unresolved: u64,
    /// `Comm_rank` and `Comm_size` calls that contradict what was resolved.
    pub contradictions: u64,
}

impl Communicators {
    /// World rank of the process that world rank `own`, in its `seat`, sends to or receives from as `rank`.
    pub fn world_rank(&self, own: u32, seat: Seat, rank: u32) -> Option<u32> {
        if seat.context == SELF {
            return Some(own);
        }
        let communicator = &self.all[seat.context as usize];
        let group = match &communicator.remote {
            Some(remote) if !seat.second => remote,
            _ => &communicator.members,
        };
        group.get(rank as usize).copied().filter(|&rank| rank != ELSEWHERE)
    }
}

/// A communicator, as one of its processes sees it.
#[derive(Clone, Copy)]
pub(crate) struct Seat {
    pub context: Context,
    /// The process's rank, in its own group.
    pub rank: u32,
    /// Its own group is the second of an inter-communicator.
    pub second: bool,
}

impl Seat {
    /// The place of world rank `world` in `communicator`.
    pub fn of(world: u32, context: Context, communicator: &Communicator) -> Self {
        let within = |group: &[u32]| group.iter().position(|&member| member == world).map(|rank| rank as u32);
        let first = within(&communicator.members);
        let second = communicator.remote.as_deref().and_then(within);
        match (first, second) {
            (None, Some(rank)) => Seat { context, rank, second: true },
            (rank, _) => Seat { context, rank: rank.unwrap_or(world), second: false },
        }
    }
}
