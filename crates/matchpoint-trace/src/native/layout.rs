//! Fields of each function's calls, as letters of `docs/reference/trace-format.md`.

use crate::call::{Await, SendMode};
use crate::function::{Class, Function};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Field {
    /// Letters `c`, `q`, `m` and `a`.
    Handle(HandleKind),
    Signed,
    Unsigned,
    Status,
    Requests,
    Completions,
    Integers,
    Processes,
}

/// Handles of one kind are stored as differences.
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

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum FieldLayout {
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
    /// Communicator created from another communicator.
    Create,
    /// Communicator created by its members only, with a tag.
    CreateGroup,
    /// Communicator created without a parent.
    CreateFromGroup,
    InterCreate,
    Merge,
    CommFree,
    Init,
    Finalize,
    /// A function without fields that readers use.
    Other,
}

impl FieldLayout {
    pub fn of(function: Function) -> FieldLayout {
        use Function as F;
        use SendMode::{Buffered, Ready, Standard, Synchronous};
        match function {
            F::Send => FieldLayout::Send(Standard),
            F::Bsend => FieldLayout::Send(Buffered),
            F::Ssend => FieldLayout::Send(Synchronous),
            F::Rsend => FieldLayout::Send(Ready),
            F::Isend => FieldLayout::Isend(Standard),
            F::Ibsend => FieldLayout::Isend(Buffered),
            F::Issend => FieldLayout::Isend(Synchronous),
            F::Irsend => FieldLayout::Isend(Ready),
            F::Send_init => FieldLayout::SendInit(Standard),
            F::Bsend_init => FieldLayout::SendInit(Buffered),
            F::Ssend_init => FieldLayout::SendInit(Synchronous),
            F::Rsend_init => FieldLayout::SendInit(Ready),
            F::Recv => FieldLayout::Recv,
            F::Irecv => FieldLayout::Irecv,
            F::Recv_init => FieldLayout::RecvInit,
            F::Psend_init | F::Precv_init => FieldLayout::PartitionedInit,
            F::Sendrecv | F::Sendrecv_replace => FieldLayout::Sendrecv,
            F::Isendrecv | F::Isendrecv_replace => FieldLayout::Isendrecv,
            F::Start | F::Startall => FieldLayout::Start,
            F::Cancel => FieldLayout::Cancel,
            F::Request_free => FieldLayout::RequestFree,
            F::Probe => FieldLayout::Probe,
            F::Iprobe => FieldLayout::Iprobe,
            F::Mprobe => FieldLayout::Mprobe,
            F::Improbe => FieldLayout::Improbe,
            F::Mrecv => FieldLayout::Mrecv,
            F::Imrecv => FieldLayout::Imrecv,
            F::Wait | F::Waitall => FieldLayout::Complete(Await::All, true),
            F::Test | F::Testall => FieldLayout::Complete(Await::All, false),
            F::Waitany => FieldLayout::Complete(Await::Any, true),
            F::Testany => FieldLayout::Complete(Await::Any, false),
            F::Waitsome => FieldLayout::Complete(Await::Some, true),
            F::Testsome => FieldLayout::Complete(Await::Some, false),
            F::Request_get_status
            | F::Request_get_status_all
            | F::Request_get_status_any
            | F::Request_get_status_some => FieldLayout::RequestStatus,
            F::Pready | F::Pready_range | F::Pready_list => FieldLayout::Pready,
            F::Parrived => FieldLayout::Parrived,
            F::Init | F::Init_thread => FieldLayout::Init,
            F::Finalize => FieldLayout::Finalize,
            _ => FieldLayout::of_many(function),
        }
    }

    fn of_many(function: Function) -> FieldLayout {
        use Function as F;
        match function {
            F::Comm_dup | F::Comm_dup_with_info => FieldLayout::Dup,
            F::Comm_idup | F::Comm_idup_with_info => FieldLayout::Idup,
            F::Comm_split => FieldLayout::Split,
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
            | F::Comm_get_parent => FieldLayout::Create,
            F::Comm_create_group => FieldLayout::CreateGroup,
            F::Comm_create_from_group | F::Intercomm_create_from_groups => FieldLayout::CreateFromGroup,
            F::Intercomm_create => FieldLayout::InterCreate,
            F::Intercomm_merge => FieldLayout::Merge,
            F::Comm_free | F::Comm_disconnect => FieldLayout::CommFree,
            _ if function.class() == Class::Collective => {
                let name = function.name().trim_start_matches("MPI_");
                match (name.ends_with("_init"), name.starts_with('I')) {
                    (true, _) => FieldLayout::CollectiveInit,
                    (_, true) => FieldLayout::Icollective,
                    _ => FieldLayout::Collective,
                }
            }
            _ => FieldLayout::Other,
        }
    }

    pub fn fields(self) -> &'static str {
        match self {
            FieldLayout::Send(_) => "cpgb",
            FieldLayout::Isend(_)
            | FieldLayout::SendInit(_)
            | FieldLayout::Irecv
            | FieldLayout::RecvInit
            | FieldLayout::PartitionedInit => "cpgbq",
            FieldLayout::Recv => "cpgbS",
            FieldLayout::Sendrecv => "cpgbpgbS",
            FieldLayout::Isendrecv => "cpgbpgbq",
            FieldLayout::Start | FieldLayout::Cancel | FieldLayout::RequestFree => "Q",
            FieldLayout::Probe => "cpgS",
            FieldLayout::Iprobe => "cpgfS",
            FieldLayout::Mprobe => "cpgmS",
            FieldLayout::Improbe => "cpgfmS",
            FieldLayout::Mrecv => "mbS",
            FieldLayout::Imrecv => "mbq",
            FieldLayout::Complete(..) | FieldLayout::RequestStatus => "QC",
            FieldLayout::Pready => "q",
            FieldLayout::Parrived => "qf",
            FieldLayout::Collective => "cib",
            FieldLayout::Icollective | FieldLayout::CollectiveInit => "cibq",
            FieldLayout::Dup | FieldLayout::Create => "cc",
            FieldLayout::Idup => "ccq",
            FieldLayout::Split => "ciic",
            FieldLayout::CreateGroup => "cic",
            FieldLayout::CreateFromGroup => "ic",
            FieldLayout::CommFree => "c",
            FieldLayout::InterCreate => "ciciic",
            FieldLayout::Merge => "cfc",
            FieldLayout::Init | FieldLayout::Finalize | FieldLayout::Other => "",
        }
    }
}

pub fn fields(function: Function) -> &'static str {
    FieldLayout::of(function).fields()
}

/// Remark with the members of a new communicator.
pub const MEMBERS: &str = "+members";

pub const MEMBERS_FIELDS: &str = "cGG";

/// Remark with the lengths of the MPI library's queues.
pub const QUEUES: &str = "+queues";

pub const QUEUES_FIELDS: &str = "iii";

/// Suffix of a function's name for calls that failed.
pub const FAILED: &str = " (failed)";
