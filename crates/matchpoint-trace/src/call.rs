//! One MPI call, as one process made it: the common form that every reader gives.
//!
//! Nothing here is interpreted: ranks are relative to the communicator of the call, communicators, groups and
//! requests are named by the ids of the process that used them (which it may recycle), and times are that process's
//! own clock. What those mean across processes is for the replay to find out.

use crate::function::Function;

/// A communicator, by the id its process knew it by.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct CommId(pub u32);

impl CommId {
    /// `MPI_COMM_NULL`.
    pub const NULL: CommId = CommId(0);
    /// `MPI_COMM_WORLD`.
    pub const WORLD: CommId = CommId(1);
    /// `MPI_COMM_SELF`.
    pub const SELF: CommId = CommId(2);
}

/// A group of processes, by the id its process knew it by.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct GroupId(pub u32);

impl GroupId {
    /// `MPI_GROUP_NULL`.
    pub const NULL: GroupId = GroupId(0);
    /// `MPI_GROUP_EMPTY`.
    pub const EMPTY: GroupId = GroupId(1);
}

/// A request, by the id its process knew it by; ids are recycled once a request is complete.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct RequestId(pub u32);

impl RequestId {
    /// `MPI_REQUEST_NULL`.
    pub const NULL: RequestId = RequestId(0);
    /// A request whose beginning the trace does not show.
    pub const UNKNOWN: RequestId = RequestId(u32::MAX);
}

/// A message that a matched probe took (`MPI_Message`), by the id its process knew it by.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct HandleId(pub u32);

impl HandleId {
    /// `MPI_MESSAGE_NULL`, or a message that the trace does not show.
    pub const NULL: HandleId = HandleId(0);
}

/// The other end of a send or receive, in ranks of the call's communicator (of its remote group, for an
/// inter-communicator).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Peer {
    /// That rank.
    Rank(u32),
    /// `MPI_ANY_SOURCE`.
    Any,
    /// `MPI_PROC_NULL`: the call does nothing.
    Null,
}

/// The tag of a send or receive. MPI's tags are non-negative; what was recorded is kept.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum TagArg {
    /// That tag.
    Is(i32),
    /// `MPI_ANY_TAG`.
    Any,
}

/// How a send may complete (MPI-4.1 §3.4).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum SendMode {
    /// `MPI_Send`: as the library likes.
    Standard,
    /// `MPI_Bsend`: at once.
    Buffered,
    /// `MPI_Ssend`: not before the receive has been matched.
    Synchronous,
    /// `MPI_Rsend`: the receive is posted already.
    Ready,
}

/// The arguments of a send.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SendArgs {
    /// How it may complete.
    pub mode: SendMode,
    /// To whom. Never [`Peer::Any`].
    pub dest: Peer,
    /// Its tag.
    pub tag: i32,
    /// On which communicator.
    pub comm: CommId,
    /// Count × size of the datatype; `None` if the trace does not give that size.
    pub bytes: Option<u64>,
}

/// The arguments of a receive.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReceiveArgs {
    /// From whom.
    pub source: Peer,
    /// Its tag.
    pub tag: TagArg,
    /// On which communicator.
    pub comm: CommId,
    /// Size of the buffer: count × size of the datatype; `None` if the trace does not give that size.
    pub bytes: Option<u64>,
}

/// What a completed receive, or a probe, reported.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Status {
    /// Who sent it ([`Peer::Any`] where the field holds no rank, as after a send).
    pub source: Peer,
    /// Its tag ([`TagArg::Any`] likewise).
    pub tag: TagArg,
    /// Its length.
    pub bytes: Option<u64>,
    /// `MPI_Test_cancelled` would say true.
    pub cancelled: bool,
}

/// A request that a call of the `Wait*`/`Test*` family found complete.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Completion {
    /// Which: an index into [`Call::requests`].
    pub index: u32,
    /// What was reported; `None` after `MPI_STATUS(ES)_IGNORE`, or where the trace has none.
    pub status: Option<Status>,
}

/// Which of its requests a completion call waits for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Await {
    /// `Wait`, `Test` (one request), `Waitall`, `Testall`.
    All,
    /// `Waitany`, `Testany`.
    Any,
    /// `Waitsome`, `Testsome`.
    Some,
}

/// How a new communicator's members and ranks follow from its parent's.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NewComm {
    /// The same members in the same order (`Comm_dup`, `Comm_idup`, `Graph_create` without reorder, …).
    Dup,
    /// Those with this colour, by key, then by rank in the parent (`Comm_split`). `None`: `MPI_UNDEFINED`.
    Split {
        /// The colour.
        color: Option<i32>,
        /// The key.
        key: i32,
    },
    /// The members of a group (`Comm_create`, `Comm_create_group`).
    Group(GroupId),
    /// A grid (`Cart_create`): its dimensions are [`Call::integers`]; the members are the first ranks of the
    /// parent, as many as the grid holds, in order unless the library chose to reorder.
    Cart {
        /// The application allowed other ranks.
        reorder: bool,
    },
    /// A graph (`Graph_create`) of `nodes` processes, the first ranks of the parent.
    Graph {
        /// Number of processes in the graph.
        nodes: u32,
        /// The application allowed other ranks.
        reorder: bool,
    },
    /// A slice of a grid (`Cart_sub`): [`Call::integers`] has 1 for each dimension kept, 0 for each left out.
    CartSub,
    /// An inter-communicator (`Intercomm_create`).
    Inter {
        /// The local leader, a rank of the parent.
        local_leader: u32,
        /// The communicator that both leaders share.
        peer_comm: CommId,
        /// The other leader, a rank of `peer_comm`.
        remote_leader: u32,
        /// The tag that the leaders used.
        tag: i32,
    },
    /// Both groups of an inter-communicator as one (`Intercomm_merge`).
    Merge {
        /// This process's group comes second.
        high: bool,
    },
    /// The trace says who its members are: [`Call::integers`] has their ranks in `MPI_COMM_WORLD`, in order; −1 for a
    /// process that is not of this world.
    Listed {
        /// How many of them are of this process's group: those that come first. The others are the remote group, of an
        /// inter-communicator.
        own: u32,
        /// Only those who become members make this call, with that tag (`Comm_create_group`, or a hash of the
        /// string of `Comm_create_from_group`). `None`: all of the parent make it.
        tag: Option<i64>,
    },
    /// In a way that this trace cannot tell (`Comm_spawn`, `Comm_accept`, `Comm_join`, …).
    Unknown,
}

/// How a new group's members follow from others'.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NewGroup {
    /// Those of a communicator (`Comm_group`).
    OfComm(CommId),
    /// Those of the remote side of an inter-communicator (`Comm_remote_group`).
    OfRemote(CommId),
    /// The ranks of [`Call::integers`], in that order (`Group_incl`).
    Include(GroupId),
    /// All but the ranks of [`Call::integers`] (`Group_excl`).
    Exclude(GroupId),
    /// The ranges of [`Call::integers`], triples of first, last and stride (`Group_range_incl`).
    RangeInclude(GroupId),
    /// All but those ranges (`Group_range_excl`).
    RangeExclude(GroupId),
    /// The first's, then those of the second that are not in the first (`Group_union`).
    Union(GroupId, GroupId),
    /// Those of the first that are in the second (`Group_intersection`).
    Intersection(GroupId, GroupId),
    /// Those of the first that are not in the second (`Group_difference`).
    Difference(GroupId, GroupId),
}

/// What a call does to message matching, or to what matching depends on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Action {
    /// A send; blocking unless there is a request.
    Send {
        /// Its arguments.
        args: SendArgs,
        /// The request of a non-blocking send.
        request: Option<RequestId>,
    },
    /// A receive; blocking unless there is a request.
    Receive {
        /// Its arguments.
        args: ReceiveArgs,
        /// The request of a non-blocking receive.
        request: Option<RequestId>,
        /// What a blocking receive reported.
        status: Option<Status>,
    },
    /// `MPI_Sendrecv`, `MPI_Sendrecv_replace`; blocking unless there is a request (`MPI_Isendrecv`).
    SendReceive {
        /// Of the send.
        send: SendArgs,
        /// Of the receive.
        receive: ReceiveArgs,
        /// The request of `MPI_Isendrecv`.
        request: Option<RequestId>,
        /// What the receive reported.
        status: Option<Status>,
    },
    /// A persistent send is set up (`MPI_Send_init`, …).
    SendInit {
        /// Its arguments.
        args: SendArgs,
        /// Its request.
        request: RequestId,
    },
    /// A persistent receive is set up (`MPI_Recv_init`).
    ReceiveInit {
        /// Its arguments.
        args: ReceiveArgs,
        /// Its request.
        request: RequestId,
    },
    /// The persistent [`Call::requests`] begin (`MPI_Start`, `MPI_Startall`).
    Start,
    /// A probe.
    Probe {
        /// What it asked for; `bytes` is `None`.
        args: ReceiveArgs,
        /// It waits until there is a message (`MPI_Probe`, `MPI_Mprobe`).
        blocking: bool,
        /// There was one.
        found: bool,
        /// What it reported.
        status: Option<Status>,
        /// It took the message (`MPI_Mprobe`, `MPI_Improbe`).
        handle: Option<HandleId>,
    },
    /// `MPI_Mrecv`, `MPI_Imrecv`: receives what a matched probe took.
    MatchedReceive {
        /// The message.
        handle: HandleId,
        /// The request of `MPI_Imrecv`.
        request: Option<RequestId>,
        /// What a blocking one reported.
        status: Option<Status>,
    },
    /// `Wait*`, `Test*`: of [`Call::requests`], the [`Call::completions`] are complete now.
    Complete {
        /// Which of them it is about.
        awaits: Await,
        /// It waits (`Wait*`).
        blocking: bool,
    },
    /// `MPI_Request_get_status`: the one of [`Call::requests`] is complete if it is in [`Call::completions`], and
    /// stays a request.
    RequestStatus,
    /// `MPI_Cancel` of the one of [`Call::requests`].
    Cancel,
    /// `MPI_Request_free` of the one of [`Call::requests`].
    RequestFree,
    /// A collective call; blocking unless there is a request.
    Collective {
        /// On which communicator.
        comm: CommId,
        /// The root, for those that have one.
        root: Option<u32>,
        /// Bytes that this process puts in or takes out, whichever the trace gives.
        bytes: Option<u64>,
        /// The request of a non-blocking collective.
        request: Option<RequestId>,
    },
    /// A persistent collective is set up (`MPI_Bcast_init`, …).
    CollectiveInit {
        /// On which communicator.
        comm: CommId,
        /// The root, for those that have one.
        root: Option<u32>,
        /// Bytes that this process puts in or takes out, whichever the trace gives.
        bytes: Option<u64>,
        /// Its request.
        request: RequestId,
    },
    /// A communicator is created, collectively over `parent`. [`CommId::NULL`]: not for this process.
    CommCreate {
        /// From which. [`CommId::NULL`]: of no other.
        parent: CommId,
        /// How.
        how: NewComm,
        /// The new one.
        comm: CommId,
        /// The request of `MPI_Comm_idup`.
        request: Option<RequestId>,
    },
    /// `MPI_Comm_free`, `MPI_Comm_disconnect`.
    CommFree {
        /// Which.
        comm: CommId,
    },
    /// `MPI_Comm_size`: evidence about a communicator.
    CommSize {
        /// Which.
        comm: CommId,
        /// Number of processes in it (in the local group).
        size: u32,
    },
    /// `MPI_Comm_rank`: evidence about a communicator.
    CommRank {
        /// Which.
        comm: CommId,
        /// This process's rank in it.
        rank: u32,
    },
    /// A group is made.
    GroupCreate {
        /// How.
        how: NewGroup,
        /// The new one.
        group: GroupId,
    },
    /// `MPI_Group_free`.
    GroupFree {
        /// Which.
        group: GroupId,
    },
    /// A partitioned transfer begins or ends a part (`MPI_Pready`, `MPI_Parrived`), or is set up: outside matching's
    /// tag space, and only counted.
    Partitioned,
    /// `MPI_Init`, `MPI_Init_thread` returned.
    Init,
    /// `MPI_Finalize`.
    Finalize,
    /// Nothing that matters here.
    Other,
}

/// One call. A reader fills the same value again and again, so that reading does not allocate.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Call {
    /// Which MPI function.
    pub function: Function,
    /// Which thread of the process made it.
    pub thread: u16,
    /// When it was entered, in nanoseconds of the process's wall clock.
    pub enter_ns: i64,
    /// When it returned.
    pub leave_ns: i64,
    /// Where in the trace's file it stands, in bytes.
    pub offset: u64,
    /// Where in the application it was made: the address that it returns to, 0 where the trace has none.
    pub site: u64,
    /// What it does.
    pub action: Action,
    /// The requests it names, in the order given, null ones included.
    pub requests: Vec<RequestId>,
    /// Those of them that were found complete; null ones never are.
    pub completions: Vec<Completion>,
    /// Ranks, dimensions or ranges, as [`Action`] says.
    pub integers: Vec<i32>,
}

impl Default for Call {
    fn default() -> Self {
        Call {
            function: Function::Init,
            thread: 0,
            enter_ns: 0,
            leave_ns: 0,
            offset: 0,
            site: 0,
            action: Action::Other,
            requests: Vec::new(),
            completions: Vec::new(),
            integers: Vec::new(),
        }
    }
}
