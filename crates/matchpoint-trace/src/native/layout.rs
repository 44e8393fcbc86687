//! Fields of each function's calls, as letters of `docs/reference/trace-format.md`.

use crate::call::{Await, SendMode};
use crate::function::{Class, Function};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Field {
    /// A handle: letter `c`, `q`, `m` or `a`.
    Handle(HandleKind),
    Signed,
    Unsigned,
    Status,
    Requests,
    Completions,
    Integers,
    Processes,
}

/// Kind of a handle. Handles of one kind are stored as differences.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum HandleKind {
    Communicator,
    Request,
    Message,
    Address,
}

impl Field {
    pub fn of(letter: char) -> Option<Field> {
        Some(match letter {
            'c' => Field::Handle(HandleKind::Communicator),
            'q' => Field::Handle(HandleKind::Request),
            'm' => Field::Handle(HandleKind::Message),
            'a' => Field::Handle(HandleKind::Address),
            'p' | 'g' | 'i' => Field::Signed,
            'b' | 'f' => Field::Unsigned,
            'S' => Field::Status,
            'Q' => Field::Requests,
            'C' => Field::Completions,
            'I' => Field::Integers,
            'G' => Field::Processes,
            _ => return None,
        })
    }
}

/// Functions with equal fields and effects.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Shape {
    Send(SendMode),
    Isend(SendMode),
    SendInit(SendMode),
    Recv,
    Irecv,
    RecvInit,
    PartitionedInit,
    Sendrecv,
    Isendrecv,
    Start,
    Cancel,
    RequestFree,
    Probe,
    Iprobe,
    Mprobe,
    Improbe,
    Mrecv,
    Imrecv,
    Complete(Await, bool),
    RequestStatus,
    Pready,
    Parrived,
    Collective,
    Icollective,
    CollectiveInit,
    Dup,
    Idup,
    Split,
    /// Creates a communicator from another communicator.
    Create,
    /// Creates a communicator; only the members make the call, with a tag.
    CreateGroup,
    /// Creates a communicator without a parent.
    CreateFromGroup,
    InterCreate,
    Merge,
    CommFree,
    Init,
    Finalize,
    /// A function whose fields, if any, have no use.
    Other,
}

impl Shape {
    pub fn of(function: Function) -> Shape {
        use Function as F;
        use SendMode::{Buffered, Ready, Standard, Synchronous};
        match function {
            F::Send => Shape::Send(Standard),
            F::Bsend => Shape::Send(Buffered),
            F::Ssend => Shape::Send(Synchronous),
            F::Rsend => Shape::Send(Ready),
            F::Isend => Shape::Isend(Standard),
            F::Ibsend => Shape::Isend(Buffered),
            F::Issend => Shape::Isend(Synchronous),
            F::Irsend => Shape::Isend(Ready),
            F::Send_init => Shape::SendInit(Standard),
            F::Bsend_init => Shape::SendInit(Buffered),
            F::Ssend_init => Shape::SendInit(Synchronous),
            F::Rsend_init => Shape::SendInit(Ready),
            F::Recv => Shape::Recv,
            F::Irecv => Shape::Irecv,
            F::Recv_init => Shape::RecvInit,
            F::Psend_init | F::Precv_init => Shape::PartitionedInit,
            F::Sendrecv | F::Sendrecv_replace => Shape::Sendrecv,
            F::Isendrecv | F::Isendrecv_replace => Shape::Isendrecv,
            F::Start | F::Startall => Shape::Start,
            F::Cancel => Shape::Cancel,
            F::Request_free => Shape::RequestFree,
            F::Probe => Shape::Probe,
            F::Iprobe => Shape::Iprobe,
            F::Mprobe => Shape::Mprobe,
            F::Improbe => Shape::Improbe,
            F::Mrecv => Shape::Mrecv,
            F::Imrecv => Shape::Imrecv,
            F::Wait | F::Waitall => Shape::Complete(Await::All, true),
            F::Test | F::Testall => Shape::Complete(Await::All, false),
            F::Waitany => Shape::Complete(Await::Any, true),
            F::Testany => Shape::Complete(Await::Any, false),
            F::Waitsome => Shape::Complete(Await::Some, true),
            F::Testsome => Shape::Complete(Await::Some, false),
            F::Request_get_status
            | F::Request_get_status_all
            | F::Request_get_status_any
            | F::Request_get_status_some => Shape::RequestStatus,
            F::Pready | F::Pready_range | F::Pready_list => Shape::Pready,
            F::Parrived => Shape::Parrived,
            F::Init | F::Init_thread => Shape::Init,
            F::Finalize => Shape::Finalize,
            _ => Shape::of_many(function),
        }
    }

    fn of_many(function: Function) -> Shape {
        use Function as F;
        match function {
            F::Comm_dup | F::Comm_dup_with_info => Shape::Dup,
            F::Comm_idup | F::Comm_idup_with_info => Shape::Idup,
            F::Comm_split => Shape::Split,
            F::Comm_split_type
            | F::Comm_create
            | F::Cart_create
            | F::Cart_sub
            | F::Graph_create
            | F::Dist_graph_create
            | F::Dist_graph_create_adjacent
            | F::Comm_spawn
            | F::Comm_spawn_multiple
            | F::Comm_accept
            | F::Comm_connect
            | F::Comm_join
            | F::Comm_get_parent => Shape::Create,
            F::Comm_create_group => Shape::CreateGroup,
            F::Comm_create_from_group | F::Intercomm_create_from_groups => Shape::CreateFromGroup,
            F::Intercomm_create => Shape::InterCreate,
            F::Intercomm_merge => Shape::Merge,
            F::Comm_free | F::Comm_disconnect => Shape::CommFree,
            _ if function.class() == Class::Collective => {
                let name = function.name().trim_start_matches("MPI_");
                match (name.ends_with("_init"), name.starts_with('I')) {
                    (true, _) => Shape::CollectiveInit,
                    (_, true) => Shape::Icollective,
                    _ => Shape::Collective,
                }
            }
            _ => Shape::Other,
        }
    }

    pub fn fields(self) -> &'static str {
        match self {
            Shape::Send(_) => "cpgb",
            Shape::Isend(_)
            | Shape::SendInit(_)
            | Shape::Irecv
            | Shape::RecvInit
            | Shape::PartitionedInit => "cpgbq",
            Shape::Recv => "cpgbS",
            Shape::Sendrecv => "cpgbpgbS",
            Shape::Isendrecv => "cpgbpgbq",
            Shape::Start | Shape::Cancel | Shape::RequestFree => "Q",
            Shape::Probe => "cpgS",
            Shape::Iprobe => "cpgfS",
            Shape::Mprobe => "cpgmS",
            Shape::Improbe => "cpgfmS",
            Shape::Mrecv => "mbS",
            Shape::Imrecv => "mbq",
            Shape::Complete(..) | Shape::RequestStatus => "QC",
            Shape::Pready => "q",
            Shape::Parrived => "qf",
            Shape::Collective => "cib",
            Shape::Icollective | Shape::CollectiveInit => "cibq",
            Shape::Dup | Shape::Create => "cc",
            Shape::Idup => "ccq",
            Shape::Split => "ciic",
            Shape::CreateGroup => "cic",
            Shape::CreateFromGroup => "ic",
            Shape::CommFree => "c",
            Shape::InterCreate => "ciciic",
            Shape::Merge => "cfc",
            Shape::Init | Shape::Finalize | Shape::Other => "",
        }
    }
}

/// Fields of a function's calls, as letters.
pub fn fields(function: Function) -> &'static str {
    Shape::of(function).fields()
}

/// Name of the remark that lists the members of a new communicator.
pub const MEMBERS: &str = "+members";

/// Fields of the remark `+members`.
pub const MEMBERS_FIELDS: &str = "cGG";

/// Name of the remark with the lengths of the MPI library's queues.
pub const QUEUES: &str = "+queues";

/// Fields of the remark `+queues`.
pub const QUEUES_FIELDS: &str = "iii";

/// Suffix of a function's name for calls that failed.
pub const FAILED: &str = " (failed)";
