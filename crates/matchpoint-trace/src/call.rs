//! One MPI call of one process, in the form common to all readers.
//!
//! Ranks are relative to the call's communicator. Ids of communicators, groups and requests are local to a
//! process and may be reused. Times are in the process's clock. A variant or field without a comment has the
//! name of its MPI constant, function or argument.

use crate::function::Function;

#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct CommId(pub u32);

impl CommId {
    pub const NULL: CommId = CommId(0);
    pub const WORLD: CommId = CommId(1);
    pub const SELF: CommId = CommId(2);
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct GroupId(pub u32);

impl GroupId {
    pub const NULL: GroupId = GroupId(0);
    pub const EMPTY: GroupId = GroupId(1);
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct RequestId(pub u32);

impl RequestId {
    pub const NULL: RequestId = RequestId(0);
    /// A request that no call of the trace started.
    pub const UNKNOWN: RequestId = RequestId(u32::MAX);
}

/// Id of a message that a matched probe took (`MPI_Message`), local to one process.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct HandleId(pub u32);

impl HandleId {
    /// `MPI_MESSAGE_NULL`, or a message that is not in the trace.
    pub const NULL: HandleId = HandleId(0);
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Peer {
    Rank(u32),
    Any,
    Null,
}

/// Tag of a receive or status, possibly negative.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum TagArg {
    Is(i32),
    Any,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum SendMode {
    Standard,
    Buffered,
    Synchronous,
    Ready,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SendArgs {
    pub mode: SendMode,
    /// Never [`Peer::Any`].
    pub dest: Peer,
    pub tag: i32,
    pub comm: CommId,
    /// Count × size of the datatype; `None` if the size is unknown.
    pub bytes: Option<u64>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReceiveArgs {
    pub source: Peer,
    pub tag: TagArg,
    pub comm: CommId,
    /// Size of the buffer; `None` if the size of the datatype is unknown.
    pub bytes: Option<u64>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Status {
    /// [`Peer::Any`] if the trace has no source, as after a send.
    pub source: Peer,
    /// [`TagArg::Any`] if the trace has no tag.
    pub tag: TagArg,
    pub bytes: Option<u64>,
    pub cancelled: bool,
}

/// A request that a `Wait*` or `Test*` call completed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Completion {
    pub index: u32,
    /// `None` after `MPI_STATUS(ES)_IGNORE`, or without a status in the trace.
    pub status: Option<Status>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Await {
    All,
    Any,
    Some,
}

/// Members of a new communicator.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NewComm {
    /// The members of the parent, in the same order.
    Dup,
    /// Ranks with the same color, ordered by key, then by rank in the parent. `None` is `MPI_UNDEFINED`.
    Split {
        color: Option<i32>,
        key: i32,
    },
    Group(GroupId),
    /// The first ranks of the parent (`MPI_Cart_create`). [`Call::integers`] has the dimensions.
    Cart {
        reorder: bool,
    },
    /// The first ranks of the parent (`MPI_Graph_create`).
    Graph {
        nodes: u32,
        reorder: bool,
    },
    /// A slice of a grid (`MPI_Cart_sub`). [`Call::integers`] has 1 for each kept dimension, and 0 for each
    /// dropped dimension.
    CartSub,
    Inter {
        local_leader: u32,
        peer_comm: CommId,
        remote_leader: u32,
        tag: i32,
    },
    /// Both groups of an inter-communicator (`MPI_Intercomm_merge`).
    Merge {
        high: bool,
    },
    /// [`Call::integers`] has the members' ranks in `MPI_COMM_WORLD`, in order; −1 for a process outside
    /// `MPI_COMM_WORLD`.
    Listed {
        /// Size of the local group, which is listed first. The other members are the remote group.
        own: u32,
        /// Only the members make this call, with this tag (`Comm_create_group`, or a hash of the string of
        /// `Comm_create_from_group`). `None`: all members of the parent make the call.
        tag: Option<i64>,
    },
    Unknown,
}

/// Members of a new group. [`Call::integers`] has the ranks of `Include` and `Exclude`. The ranges of
/// `RangeInclude` and `RangeExclude` are triples of first rank, last rank and stride.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NewGroup {
    OfComm(CommId),
    OfRemote(CommId),
    Include(GroupId),
    Exclude(GroupId),
    RangeInclude(GroupId),
    RangeExclude(GroupId),
    Union(GroupId, GroupId),
    Intersection(GroupId, GroupId),
    Difference(GroupId, GroupId),
}

/// Effect of a call on message matching. An operation without a `request` is blocking.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Action {
    Send {
        args: SendArgs,
        request: Option<RequestId>,
    },
    Receive {
        args: ReceiveArgs,
        request: Option<RequestId>,
        status: Option<Status>,
    },
    /// `MPI_Sendrecv`, `MPI_Sendrecv_replace`, `MPI_Isendrecv`.
    SendReceive {
        send: SendArgs,
        receive: ReceiveArgs,
        request: Option<RequestId>,
        status: Option<Status>,
    },
    SendInit {
        args: SendArgs,
        request: RequestId,
    },
    ReceiveInit {
        args: ReceiveArgs,
        request: RequestId,
    },
    /// Starts the persistent requests in [`Call::requests`].
    Start,
    Probe {
        /// `args.bytes` is `None`.
        args: ReceiveArgs,
        blocking: bool,
        found: bool,
        status: Option<Status>,
        handle: Option<HandleId>,
    },
    MatchedReceive {
        handle: HandleId,
        request: Option<RequestId>,
        status: Option<Status>,
    },
    /// `Wait*` or `Test*` completed the requests in [`Call::completions`].
    Complete {
        awaits: Await,
        blocking: bool,
    },
    /// `MPI_Request_get_status`: a complete request is in [`Call::completions`], and stays valid.
    RequestStatus,
    Cancel,
    RequestFree,
    Collective {
        comm: CommId,
        root: Option<u32>,
        /// Bytes that this process sends or receives, according to the trace.
        bytes: Option<u64>,
        request: Option<RequestId>,
    },
    CollectiveInit {
        comm: CommId,
        root: Option<u32>,
        bytes: Option<u64>,
        request: RequestId,
    },
    /// The call is collective over `parent`, which may be [`CommId::NULL`].
    CommCreate {
        parent: CommId,
        how: NewComm,
        /// [`CommId::NULL`] if this process is not a member.
        comm: CommId,
        request: Option<RequestId>,
    },
    CommFree {
        comm: CommId,
    },
    CommSize {
        comm: CommId,
        size: u32,
    },
    CommRank {
        comm: CommId,
        rank: u32,
    },
    GroupCreate {
        how: NewGroup,
        group: GroupId,
    },
    GroupFree {
        group: GroupId,
    },
    /// A function of partitioned communication, which has no effect on tag matching.
    Partitioned,
    Init,
    Finalize,
    Other,
}

/// One call. Readers overwrite the same `Call` without allocation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Call {
    pub function: Function,
    pub thread: u16,
    pub enter_ns: i64,
    pub leave_ns: i64,
    pub offset: u64,
    /// Return address in the program; 0 if unknown.
    pub site: u64,
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
