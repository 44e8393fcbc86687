//! One MPI call of one process, in the form common to all readers.
//!
//! Ranks are relative to the call's communicator. Ids of communicators, groups and requests are local to a
//! process and may be reused. Times are in the process's clock. A field without a comment is the MPI argument
//! of its name.
#![allow(missing_docs)]

use crate::function::Function;

/// Id of a communicator, local to one process.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct CommId(pub u32);

impl CommId {
    /// `MPI_COMM_NULL`
    pub const NULL: CommId = CommId(0);
    /// `MPI_COMM_WORLD`
    pub const WORLD: CommId = CommId(1);
    /// `MPI_COMM_SELF`
    pub const SELF: CommId = CommId(2);
}

/// Id of a group, local to one process.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct GroupId(pub u32);

impl GroupId {
    /// `MPI_GROUP_NULL`
    pub const NULL: GroupId = GroupId(0);
    /// `MPI_GROUP_EMPTY`
    pub const EMPTY: GroupId = GroupId(1);
}

/// Id of a request, local to one process and reused after completion.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct RequestId(pub u32);

impl RequestId {
    /// `MPI_REQUEST_NULL`
    pub const NULL: RequestId = RequestId(0);
    /// A request without a start in the trace.
    pub const UNKNOWN: RequestId = RequestId(u32::MAX);
}

/// A message that a matched probe took (`MPI_Message`), local to one process.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct HandleId(pub u32);

impl HandleId {
    /// `MPI_MESSAGE_NULL`, or a message that is not in the trace.
    pub const NULL: HandleId = HandleId(0);
}

/// Source or destination.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Peer {
    /// A rank of the communicator.
    Rank(u32),
    /// `MPI_ANY_SOURCE`
    Any,
    /// `MPI_PROC_NULL`
    Null,
}

/// Tag of a receive or status. Negative tags of a trace are kept.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum TagArg {
    /// This tag.
    Is(i32),
    /// `MPI_ANY_TAG`
    Any,
}

/// MPI-4.1 §3.4.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum SendMode {
    /// `MPI_Send`
    Standard,
    /// `MPI_Bsend`
    Buffered,
    /// `MPI_Ssend`
    Synchronous,
    /// `MPI_Rsend`
    Ready,
}

/// Arguments of a send.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SendArgs {
    pub mode: SendMode,
    /// Destination; never [`Peer::Any`].
    pub dest: Peer,
    pub tag: i32,
    pub comm: CommId,
    /// Count × size of the datatype; `None` if the size is unknown.
    pub bytes: Option<u64>,
}

/// Arguments of a receive.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReceiveArgs {
    pub source: Peer,
    pub tag: TagArg,
    pub comm: CommId,
    /// Bytes of the buffer: count × size of the datatype; `None` if the size is unknown.
    pub bytes: Option<u64>,
}

/// Status of a completed receive or a probe.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Status {
    /// [`Peer::Any`] without a rank, as after a send.
    pub source: Peer,
    /// [`TagArg::Any`] without a tag.
    pub tag: TagArg,
    /// Bytes of the message.
    pub bytes: Option<u64>,
    /// As `MPI_Test_cancelled` returned.
    pub cancelled: bool,
}

/// Completion by a `Wait*` or `Test*` call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Completion {
    /// Index in [`Call::requests`].
    pub index: u32,
    /// `None` after `MPI_STATUS(ES)_IGNORE`, or without a status in the trace.
    pub status: Option<Status>,
}

/// Requests that a completion call waits for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Await {
    /// `Wait`, `Test`, `Waitall`, `Testall`
    All,
    /// `Waitany`, `Testany`
    Any,
    /// `Waitsome`, `Testsome`
    Some,
}

/// Derivation of a new communicator from its parent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NewComm {
    /// The same members in the same order (`Comm_dup`, `Comm_idup`, `Graph_create` without reorder, …).
    Dup,
    /// Ranks with the same color, ordered by key, then by rank in the parent (`Comm_split`). No color is
    /// `MPI_UNDEFINED`.
    Split { color: Option<i32>, key: i32 },
    /// Members of a group (`Comm_create`, `Comm_create_group`).
    Group(GroupId),
    /// A grid (`Cart_create`) of the first ranks of the parent, in order unless the library reordered them.
    /// [`Call::integers`] has the dimensions.
    Cart {
        /// The application allowed a reordering.
        reorder: bool,
    },
    /// A graph (`Graph_create`) of the first ranks of the parent.
    Graph {
        nodes: u32,
        /// The application allowed a reordering.
        reorder: bool,
    },
    /// A slice of a grid (`Cart_sub`): [`Call::integers`] has 1 for each kept dimension, 0 for each dropped
    /// one.
    CartSub,
    /// An inter-communicator (`Intercomm_create`).
    Inter { local_leader: u32, peer_comm: CommId, remote_leader: u32, tag: i32 },
    /// Both groups of an inter-communicator (`Intercomm_merge`).
    Merge {
        /// The own group comes after the other group.
        high: bool,
    },
    /// [`Call::integers`] has the members' ranks in `MPI_COMM_WORLD`, in order; −1 for a process outside
    /// `MPI_COMM_WORLD`.
    Listed {
        /// Members of the own group, listed first. The others are the remote group.
        own: u32,
        /// Only the members make this call, with this tag (`Comm_create_group`, or a hash of the string of
        /// `Comm_create_from_group`). `None`: all members of the parent make the call.
        tag: Option<i64>,
    },
    /// Members that the trace does not determine (`Comm_spawn`, `Comm_accept`, `Comm_join`, …).
    Unknown,
}

/// Derivation of a group.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NewGroup {
    /// Members of a communicator (`Comm_group`).
    OfComm(CommId),
    /// Remote group of an inter-communicator (`Comm_remote_group`).
    OfRemote(CommId),
    /// The ranks in [`Call::integers`] (`Group_incl`).
    Include(GroupId),
    /// All members except the ranks in [`Call::integers`] (`Group_excl`).
    Exclude(GroupId),
    /// The ranges in [`Call::integers`], triples of first, last and stride (`Group_range_incl`).
    RangeInclude(GroupId),
    /// All members except the ranges in [`Call::integers`] (`Group_range_excl`).
    RangeExclude(GroupId),
    /// `Group_union`
    Union(GroupId, GroupId),
    /// `Group_intersection`
    Intersection(GroupId, GroupId),
    /// `Group_difference`
    Difference(GroupId, GroupId),
}

/// Effect of a call on message matching.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Action {
    /// A send; blocking if `request` is `None`.
    Send {
        args: SendArgs,
        /// Request of a non-blocking send.
        request: Option<RequestId>,
    },
    /// A receive; blocking if `request` is `None`.
    Receive {
        args: ReceiveArgs,
        /// Request of a non-blocking receive.
        request: Option<RequestId>,
        /// Status of a blocking receive.
        status: Option<Status>,
    },
    /// `MPI_Sendrecv`, `MPI_Sendrecv_replace`, `MPI_Isendrecv`.
    SendReceive {
        send: SendArgs,
        receive: ReceiveArgs,
        /// Request of `MPI_Isendrecv`.
        request: Option<RequestId>,
        /// Status of the receive.
        status: Option<Status>,
    },
    /// Creates a persistent send (`MPI_Send_init`, …).
    SendInit { args: SendArgs, request: RequestId },
    /// Creates a persistent receive (`MPI_Recv_init`).
    ReceiveInit { args: ReceiveArgs, request: RequestId },
    /// Starts the persistent [`Call::requests`] (`MPI_Start`, `MPI_Startall`).
    Start,
    /// A probe.
    Probe {
        /// `bytes` is `None`.
        args: ReceiveArgs,
        /// `MPI_Probe` and `MPI_Mprobe`.
        blocking: bool,
        found: bool,
        status: Option<Status>,
        /// Handle of `MPI_Mprobe`, `MPI_Improbe`.
        handle: Option<HandleId>,
    },
    /// `MPI_Mrecv`, `MPI_Imrecv`.
    MatchedReceive {
        handle: HandleId,
        /// Request of `MPI_Imrecv`.
        request: Option<RequestId>,
        /// Status of `MPI_Mrecv`.
        status: Option<Status>,
    },
    /// `Wait*`, `Test*`: completes the [`Call::completions`] among the [`Call::requests`].
    Complete {
        awaits: Await,
        /// `Wait*`
        blocking: bool,
    },
    /// `MPI_Request_get_status`: a complete request is in [`Call::completions`], and stays valid.
    RequestStatus,
    /// `MPI_Cancel` of the request.
    Cancel,
    /// `MPI_Request_free` of the request.
    RequestFree,
    /// Blocking if `request` is `None`.
    Collective {
        comm: CommId,
        root: Option<u32>,
        /// Bytes that this process sends or receives, according to the trace.
        bytes: Option<u64>,
        request: Option<RequestId>,
    },
    /// Creates a persistent collective (`MPI_Bcast_init`, …).
    CollectiveInit {
        comm: CommId,
        root: Option<u32>,
        /// Bytes that this process sends or receives, according to the trace.
        bytes: Option<u64>,
        request: RequestId,
    },
    /// Collectively over `parent`.
    CommCreate {
        /// Parent communicator, or [`CommId::NULL`].
        parent: CommId,
        how: NewComm,
        /// [`CommId::NULL`] if this process is not a member.
        comm: CommId,
        /// Request of `MPI_Comm_idup`.
        request: Option<RequestId>,
    },
    /// `MPI_Comm_free`, `MPI_Comm_disconnect`.
    CommFree { comm: CommId },
    /// `MPI_Comm_size`.
    CommSize {
        comm: CommId,
        /// Size of the local group.
        size: u32,
    },
    /// `MPI_Comm_rank`.
    CommRank { comm: CommId, rank: u32 },
    /// Creates a group.
    GroupCreate { how: NewGroup, group: GroupId },
    /// `MPI_Group_free`.
    GroupFree { group: GroupId },
    /// `MPI_Pready`, `MPI_Parrived`, …: not part of tag matching, and only counted.
    Partitioned,
    /// Return of `MPI_Init` or `MPI_Init_thread`.
    Init,
    /// `MPI_Finalize`.
    Finalize,
    /// A call without effect on matching.
    Other,
}

/// One call. Readers overwrite the same `Call` without allocation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Call {
    /// The MPI function.
    pub function: Function,
    /// Thread in its process.
    pub thread: u16,
    /// Entry, in the process's wall clock.
    pub enter_ns: i64,
    /// Return, in the process's wall clock.
    pub leave_ns: i64,
    /// Byte of the trace file.
    pub offset: u64,
    /// Return address in the program; 0 if unknown.
    pub site: u64,
    /// Effect of the call on matching.
    pub action: Action,
    /// Requests of the call in order, including null requests.
    pub requests: Vec<RequestId>,
    /// Requests that the call completed, without null requests.
    pub completions: Vec<Completion>,
    /// Ranks, dimensions or ranges of the [`Action`].
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
