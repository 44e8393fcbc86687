//! Structs, constants and callback types of `matchpoint.h`, which is generated from them.
//!
//! Layouts never change within one [`MP_ABI_VERSION`]. What the caller hands in has a reserved field instead of room to
//! grow; what is handed out is filled as far as the caller's `size` goes.

use std::ffi::{c_char, c_void};

/// The version of this interface. A library is fit for a program if both have the same (`mp_abi_version`). 0 is the
/// interface before its first release, which may still change.
pub const MP_ABI_VERSION: u32 = 0;

/// Status: done, and there is nothing to hand out.
pub const MP_OK: i32 = 0;
/// Status of a post or an arrival: nothing matched; the receive or the message waits in its queue.
pub const MP_QUEUED: i32 = 0;
/// Status of a probe, a withdrawal, a readdressing: there is no such message, or receive.
pub const MP_NONE: i32 = 0;
/// Status of a post, an arrival, a readdressing: it matched, and the id of what it matched was written.
pub const MP_MATCHED: i32 = 1;
/// Status of a probe, a withdrawal: there was such a message, or receive.
pub const MP_FOUND: i32 = 1;
/// Status of a readdressing: no receive that is posted accepts the message, which has its source now and waits on.
pub const MP_NAMED: i32 = 2;
/// Status: refused, since it breaks an assertion made by `mp_engine_set_hints`. The engine is as it was.
pub const MP_REFUSED_HINT: i32 = -1;
/// Status: refused, since a table of fixed size is full: fall back to another engine. The engine is as it was.
pub const MP_REFUSED_FULL: i32 = -2;
/// Status: refused, since memory cannot be had. The engine is as it was.
pub const MP_REFUSED_MEMORY: i32 = -3;
/// Status: an argument is NULL, a reserved field is not 0, or a flag is unknown. Nothing was done.
pub const MP_INVALID: i32 = -4;
/// Status: the engine has a bug and is of no further use; standard error has a line about it. Every later call on it
/// but `mp_engine_destroy` answers this.
pub const MP_PANICKED: i32 = -5;
/// Status: the engine is in another call: a callback called it, or another thread. Nothing was done. That another
/// thread did so is not always noticed; of an mp_concurrent it is no reason.
pub const MP_BUSY: i32 = -6;
/// Status of making an engine: the name is not understood, or cannot be had: there is no such engine, it does not take
/// such a parameter or value, or it needs what this machine has not (an instruction set, a file). Nothing was made.
pub const MP_UNKNOWN_NAME: i32 = -7;
/// Status of handing something to an `mp_offload` or an `mp_wire`: a ring is full. Nothing was done: poll, then try again.
pub const MP_AGAIN: i32 = -8;

/// Kind of a completion: the receive has the message.
pub const MP_COMPLETION_MATCHED: i32 = 0;
/// Kind of a completion: the receive was not posted; its status says why.
pub const MP_COMPLETION_RECEIVE_REFUSED: i32 = 1;
/// Kind of a completion: the message was not taken; its status says why.
pub const MP_COMPLETION_MESSAGE_REFUSED: i32 = 2;

/// As the `source` of a selector: any source (MPI_ANY_SOURCE).
pub const MP_ANY_SOURCE: u32 = u32::MAX;
/// As the `source` of an envelope: not known yet (libfabric's FI_ADDR_UNSPEC). Only receives from any source match it,
/// until `mp_engine_readdress` names its source. Such messages keep their order among themselves, as if of one source;
/// once named, a message has its age among those of its source.
pub const MP_UNKNOWN_SOURCE: u32 = u32::MAX;
/// As the `ignore` mask of a selector: any tag (MPI_ANY_TAG).
pub const MP_ANY_TAG: u64 = u64::MAX;

/// Hint: no receive or probe will leave the source open (mpi_assert_no_any_source).
pub const MP_HINT_NO_ANY_SOURCE: u32 = 1;
/// Hint: no receive or probe will leave the tag, or part of it, open (mpi_assert_no_any_tag).
pub const MP_HINT_NO_ANY_TAG: u32 = 2;
/// Hint: buffers have just the length of the message (mpi_assert_exact_length). Does not affect matching.
pub const MP_HINT_EXACT_LENGTH: u32 = 4;
/// Hint: messages may match in any order (mpi_assert_allow_overtaking).
pub const MP_HINT_ALLOW_OVERTAKING: u32 = 8;
/// Hint, ours: every receive is posted before its message arrives. A message that would have to wait is refused.
pub const MP_HINT_NO_UNEXPECTED: u32 = 16;

/// Order: the earliest, over all sources.
pub const MP_ORDER_TOTAL: i32 = 0;
/// Order: receives in the order they were posted; of the unexpected messages the earliest of its source, from
/// whichever source (MPI's minimum, MPI-4.1 section 3.5). Those with MP_UNKNOWN_SOURCE count as being of one.
pub const MP_ORDER_PER_SOURCE: i32 = 1;
/// Order: any that matches.
pub const MP_ORDER_NONE: i32 = 2;

/// Queue: receives that wait for a message (the PRQ).
pub const MP_QUEUE_POSTED: i32 = 0;
/// Queue: messages that wait for a receive (the UMQ).
pub const MP_QUEUE_UNEXPECTED: i32 = 1;

/// Drained: a receive that is no longer posted.
pub const MP_DRAINED_RECEIVE: i32 = 0;
/// Drained: a message that is no longer queued.
pub const MP_DRAINED_MESSAGE: i32 = 1;
/// Drained: a receive that stays posted although the failed source might have been the one to serve it
/// (MPI_ERR_PROC_FAILED_PENDING).
pub const MP_DRAINED_PENDING: i32 = 2;

/// A matching engine: the two queues of one process.
///
/// Opaque. One thread at a time may call an engine (lock it, or keep it to one thread); different engines have nothing
/// in common and may be called at the same time.
pub struct Opaque {
    _private: [u8; 0],
}

/// A matching engine that any thread may call at any time, several at once (MPI_THREAD_MULTIPLE): the two queues of one process.
///
/// Opaque. The `mp_concurrent_...` functions are those of `mp_engine`; nothing is one for the other. All calls together return what
/// they would return one after the other, in the order of some moments between the beginning and the end of each.
pub struct OpaqueConcurrent {
    _private: [u8; 0],
}

/// The application's side of an engine that works in a thread of its own.
///
/// Opaque. One thread at a time may call it, as an `mp_engine`.
pub struct OpaqueOffload {
    _private: [u8; 0],
}

/// The side of an `mp_offload` from which messages come.
///
/// Opaque. One thread at a time may call it: another than calls the `mp_offload`, at the same time, or the same.
pub struct OpaqueWire {
    _private: [u8; 0],
}

/// What a receive or a probe asks for. It matches an envelope with the same context, with the same source unless it is
/// MP_ANY_SOURCE, and with the same tag but for the bits set in `ignore`.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Selector {
    /// The tag, in the bits that count.
    pub tag: u64,
    /// One in every bit of the tag that does not count: 0, MP_ANY_TAG, or any mask.
    pub ignore: u64,
    /// The communicator's context id.
    pub context: u32,
    /// A rank in the communicator, or MP_ANY_SOURCE.
    pub source: u32,
}

/// What a message says of itself.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Envelope {
    /// Its tag, all bits of which count.
    pub tag: u64,
    /// The communicator's context id.
    pub context: u32,
    /// A rank in the communicator, or MP_UNKNOWN_SOURCE.
    pub source: u32,
}

/// A message, as it arrives in a batch.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Message {
    /// Its name, chosen by the caller.
    pub id: u64,
    /// What it says of itself.
    pub envelope: Envelope,
}

/// What became of a receive, a message or a probe. Functions return it in two registers.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Outcome {
    /// What was matched or found: a receive or a message; else 0.
    pub id: u64,
    /// As the function says.
    pub status: i32,
    /// 0.
    pub reserved: u32,
}

/// What came of something that was handed to an `mp_offload`, or to its `mp_wire`.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Completion {
    /// The receive; 0 if a message was not taken.
    pub receive: u64,
    /// The message; 0 if a receive was not taken.
    pub message: u64,
    /// MP_COMPLETION_...
    pub kind: i32,
    /// MP_MATCHED, or why it was not taken: MP_REFUSED_...
    pub status: i32,
}

/// What waits in a queue.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Entry {
    /// The receive's or the message's name.
    pub id: u64,
    /// Its tag.
    pub tag: u64,
    /// Of a receive: the bits of the tag that do not count. Of a message: 0.
    pub ignore: u64,
    /// Its context.
    pub context: u32,
    /// Its source, MP_ANY_SOURCE or MP_UNKNOWN_SOURCE.
    pub source: u32,
    /// MP_QUEUE_POSTED: it is a receive. MP_QUEUE_UNEXPECTED: it is a message.
    pub queue: i32,
    /// 0.
    pub reserved: u32,
}

/// Bytes an engine holds, allocated and not merely used.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Footprint {
    /// Held whether or not anything is queued.
    pub fixed_bytes: u64,
    /// Held per peer that was heard of, all peers together.
    pub peers_bytes: u64,
    /// Held for what is queued, or was: capacity, not length.
    pub entries_bytes: u64,
    /// The largest sum of the three so far.
    pub peak_bytes: u64,
}

/// Entries examined, by posts, arrivals and probes alike: MPI_T's match attempts. 0 unless the engine was made by
/// `mp_engine_create_counting`.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Attempts {
    /// MPICH's posted_recvq_match_attempts.
    pub posted: u64,
    /// MPICH's unexpected_recvq_match_attempts.
    pub unexpected: u64,
}

/// What there is to know of an engine before one is made. The texts are the library's, and last as long as it is
/// loaded.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct EngineInfo {
    /// What `mp_engine_create` knows it by.
    pub name: *const c_char,
    /// One line: its structure, and who uses it.
    pub summary: *const c_char,
    /// How many parameters it has.
    pub parameters: usize,
}

/// One parameter of an engine. The texts are the library's, and last as long as it is loaded.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ParameterInfo {
    /// Its key.
    pub key: *const c_char,
    /// The value it has unless given.
    pub default_value: *const c_char,
    /// What it means, with its unit.
    pub meaning: *const c_char,
}

/// Told what is taken out of an engine: one of MP_DRAINED_..., and the id.
///
/// As every callback: called in the thread of the call that it was handed to, with the `user` pointer handed in
/// beside it, and only until that call returns. It must return, neither by longjmp nor by an exception, and must not
/// call the same engine (such a call answers MP_BUSY).
pub type DrainFn = Option<unsafe extern "C" fn(user: *mut c_void, kind: i32, id: u64)>;

/// Told that message number `number` of a batch has taken `receive`: a copy, or a request for the data, is the caller's to do.
///
/// Unlike other callbacks it may run in several threads at once, those of the engine among them, in any order of the messages
/// (`mp_engine_deliver_batch` says which threads): what it shares with itself it guards. It is called until that call returns,
/// and not after. It must return, neither by longjmp nor by an exception, must not end its thread, and must not call the same engine,
/// from whichever thread it is in (such a call answers MP_BUSY), nor fork.
pub type DeliverFn = Option<unsafe extern "C" fn(user: *mut c_void, number: usize, receive: u64)>;

/// Told the assertions on a context: the sum of some of MP_HINT_..., never 0. For the rest see `mp_drain_fn`.
pub type HintsFn = Option<unsafe extern "C" fn(user: *mut c_void, context: u32, hints: u32)>;

/// Told what waits in a queue. `entry` lasts until it returns. For the rest see `mp_drain_fn`.
pub type VisitFn = Option<unsafe extern "C" fn(user: *mut c_void, entry: *const Entry)>;

/// Told a figure of one engine: its name, with its unit, and its value. `name` lasts until it returns. For the rest
/// see `mp_drain_fn`.
pub type StatisticFn = Option<unsafe extern "C" fn(user: *mut c_void, name: *const c_char, value: f64)>;
