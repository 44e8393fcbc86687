//! Structs, constants and callback types of `matchpoint.h`, which documents them. A test compares both.
//!
//! Layouts never change within one [`MP_ABI_VERSION`]. [`Calls`] and structs with a `size` argument grow at their end.

use std::ffi::{c_char, c_void};

/// The version of the interface.
pub const MP_ABI_VERSION: u32 = 0;

/// Success, without an id.
pub const MP_OK: i32 = 0;
/// The entry is queued.
pub const MP_QUEUED: i32 = 0;
/// No such entry.
pub const MP_NONE: i32 = 0;
/// The entry matched. The outcome has the id of the other entry.
pub const MP_MATCHED: i32 = 1;
/// The entry exists.
pub const MP_FOUND: i32 = 1;
/// The source of the message is set. The message stays queued.
pub const MP_NAMED: i32 = 2;
/// The call contradicts a hint of its context.
pub const MP_REFUSED_HINT: i32 = -1;
/// A table of fixed size is full.
pub const MP_REFUSED_FULL: i32 = -2;
/// No memory.
pub const MP_REFUSED_MEMORY: i32 = -3;
/// An argument is invalid, or the engine lacks the function.
pub const MP_INVALID: i32 = -4;
/// A callback called its own engine.
pub const MP_BUSY: i32 = -5;
/// No such engine on this machine.
pub const MP_UNKNOWN_NAME: i32 = -6;
/// A ring is full.
pub const MP_AGAIN: i32 = -7;

/// Flag of `mp_create`: the engine counts compared entries.
pub const MP_COUNT: u32 = 1;
/// Flag of `mp_create`: any thread may call the engine.
pub const MP_ANY_THREAD: u32 = 2;

/// The source of a receive from any source.
pub const MP_ANY_SOURCE: u32 = u32::MAX;
/// The source of a message with an unknown source.
pub const MP_UNKNOWN_SOURCE: u32 = u32::MAX;
/// The ignore mask of a receive with any tag.
pub const MP_ANY_TAG: u64 = u64::MAX;

/// Hint: mpi_assert_no_any_source.
pub const MP_HINT_NO_ANY_SOURCE: u32 = 1;
/// Hint: mpi_assert_no_any_tag.
pub const MP_HINT_NO_ANY_TAG: u32 = 2;
/// Hint: mpi_assert_exact_length.
pub const MP_HINT_EXACT_LENGTH: u32 = 4;
/// Hint: mpi_assert_allow_overtaking.
pub const MP_HINT_ALLOW_OVERTAKING: u32 = 8;
/// Hint: each receive is posted before its message arrives.
pub const MP_HINT_NO_UNEXPECTED: u32 = 16;

/// Order: the oldest message of all sources.
pub const MP_ORDER_TOTAL: i32 = 0;
/// Order: the messages of each source in order.
pub const MP_ORDER_PER_SOURCE: i32 = 1;
/// Order: any matching entry.
pub const MP_ORDER_NONE: i32 = 2;

/// The posted receive queue.
pub const MP_QUEUE_POSTED: i32 = 0;
/// The unexpected message queue.
pub const MP_QUEUE_UNEXPECTED: i32 = 1;

/// A drained receive.
pub const MP_DRAINED_RECEIVE: i32 = 0;
/// A drained message.
pub const MP_DRAINED_MESSAGE: i32 = 1;
/// A receive that remains posted after its source failed.
pub const MP_DRAINED_PENDING: i32 = 2;

/// Completion: the receive has the message.
pub const MP_COMPLETION_MATCHED: i32 = 0;
/// Completion: the receive was refused.
pub const MP_COMPLETION_RECEIVE_REFUSED: i32 = 1;
/// Completion: the message was refused.
pub const MP_COMPLETION_MESSAGE_REFUSED: i32 = 2;

/// The outcome of a call, in two registers.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Outcome {
    /// The receive or message of the match.
    pub id: u64,
    /// One of the statuses.
    pub status: i64,
}

/// A message of a batch.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Message {
    /// The id.
    pub id: u64,
    /// The context and source.
    pub pair: u64,
    /// The tag.
    pub tag: u64,
}

/// An entry of a queue.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Entry {
    /// The id.
    pub id: u64,
    /// The context and source.
    pub pair: u64,
    /// The tag.
    pub tag: u64,
    /// The ignore mask of a receive; 0 for a message.
    pub ignore: u64,
    /// `MP_QUEUE_…`.
    pub queue: i32,
    /// 0.
    pub reserved: u32,
}

/// A completion of an offloaded engine.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Completion {
    /// The receive; 0 if a message was refused.
    pub receive: u64,
    /// The message; 0 if a receive was refused.
    pub message: u64,
    /// `MP_COMPLETION_…`.
    pub kind: i32,
    /// [`MP_MATCHED`], or the reason of the refusal.
    pub status: i32,
}

/// Bytes allocated by an engine.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Footprint {
    /// With empty queues.
    pub fixed_bytes: u64,
    /// For peers.
    pub peers_bytes: u64,
    /// For entries.
    pub entries_bytes: u64,
    /// The largest sum so far.
    pub peak_bytes: u64,
}

/// Compared entries.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Attempts {
    /// Of the posted receive queue.
    pub posted: u64,
    /// Of the unexpected message queue.
    pub unexpected: u64,
}

/// An engine of the library.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct EngineInfo {
    /// The name.
    pub name: *const c_char,
    /// A one-line description.
    pub summary: *const c_char,
    /// The number of parameters.
    pub parameters: usize,
}

/// A parameter of an engine.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ParameterInfo {
    /// The key.
    pub key: *const c_char,
    /// The default value.
    pub default_value: *const c_char,
    /// The meaning and unit.
    pub meaning: *const c_char,
}

/// Called with each drained entry.
pub type DrainFn = Option<unsafe extern "C" fn(user: *mut c_void, kind: i32, id: u64)>;
/// Called with each message of a batch that matched.
pub type DeliverFn = Option<unsafe extern "C" fn(user: *mut c_void, number: usize, receive: u64)>;
/// Called with the hints of each context.
pub type HintsFn = Option<unsafe extern "C" fn(user: *mut c_void, context: u32, hints: u32)>;
/// Called with each entry of a queue.
pub type VisitFn = Option<unsafe extern "C" fn(user: *mut c_void, entry: *const Entry)>;
/// Called with each statistic.
pub type StatisticFn = Option<unsafe extern "C" fn(user: *mut c_void, name: *const c_char, value: f64)>;

/// An engine: its functions and queue lengths.
#[repr(C)]
#[derive(Debug)]
pub struct Engine {
    /// The functions.
    pub calls: *const Calls,
    /// The number of posted receives. NULL: call `Calls::length`.
    pub posted: *const u64,
    /// The number of unexpected messages. NULL: call `Calls::length`.
    pub unexpected: *const u64,
}

/// The arrival side of an offloaded engine.
pub struct Wire {
    _private: [u8; 0],
}

/// The functions of an engine. The inline functions of `matchpoint.h` call and document them.
#[repr(C)]
#[derive(Debug)]
#[allow(missing_docs)]
pub struct Calls {
    /// Bytes of this struct.
    pub size: usize,
    pub post_exact:
        Option<unsafe extern "C" fn(engine: *mut Engine, receive: u64, pair: u64, tag: u64) -> Outcome>,
    pub post: Option<
        unsafe extern "C" fn(engine: *mut Engine, receive: u64, pair: u64, tag: u64, ignore: u64) -> Outcome,
    >,
    pub arrive:
        Option<unsafe extern "C" fn(engine: *mut Engine, message: u64, pair: u64, tag: u64) -> Outcome>,
    pub probe: Option<unsafe extern "C" fn(engine: *mut Engine, pair: u64, tag: u64, ignore: u64) -> Outcome>,
    pub matched_probe:
        Option<unsafe extern "C" fn(engine: *mut Engine, pair: u64, tag: u64, ignore: u64) -> Outcome>,
    pub take_receive: Option<unsafe extern "C" fn(engine: *mut Engine, pair: u64, tag: u64) -> Outcome>,
    pub queue_message: Option<
        unsafe extern "C" fn(engine: *mut Engine, message: u64, pair: u64, tag: u64, place: u64) -> Outcome,
    >,
    pub queue_receive: Option<
        unsafe extern "C" fn(
            engine: *mut Engine,
            receive: u64,
            pair: u64,
            tag: u64,
            ignore: u64,
            place: u64,
        ) -> Outcome,
    >,
    pub arrive_batch: Option<
        unsafe extern "C" fn(
            engine: *mut Engine,
            messages: *const Message,
            count: usize,
            outcomes: *mut Outcome,
            done: *mut usize,
            deliver: DeliverFn,
            user: *mut c_void,
        ) -> i32,
    >,
    pub cancel: Option<
        unsafe extern "C" fn(engine: *mut Engine, receive: u64, pair: u64, tag: u64, ignore: u64) -> i32,
    >,
    pub retract: Option<unsafe extern "C" fn(engine: *mut Engine, message: u64, pair: u64, tag: u64) -> i32>,
    pub readdress: Option<
        unsafe extern "C" fn(engine: *mut Engine, message: u64, pair: u64, tag: u64, source: u32) -> Outcome,
    >,
    pub set_hints: Option<unsafe extern "C" fn(engine: *mut Engine, context: u32, hints: u32) -> i32>,
    pub hints: Option<unsafe extern "C" fn(engine: *mut Engine, each: HintsFn, user: *mut c_void) -> i32>,
    pub close: Option<
        unsafe extern "C" fn(engine: *mut Engine, context: u32, each: DrainFn, user: *mut c_void) -> i32,
    >,
    pub fail_source: Option<
        unsafe extern "C" fn(
            engine: *mut Engine,
            context: u32,
            source: u32,
            each: DrainFn,
            user: *mut c_void,
        ) -> i32,
    >,
    pub visit: Option<
        unsafe extern "C" fn(engine: *mut Engine, queue: i32, each: VisitFn, user: *mut c_void) -> i32,
    >,
    pub length: Option<unsafe extern "C" fn(engine: *mut Engine, queue: i32) -> i64>,
    pub order: Option<unsafe extern "C" fn(engine: *mut Engine) -> i32>,
    pub reserve: Option<unsafe extern "C" fn(engine: *mut Engine, entries: usize) -> i32>,
    pub footprint:
        Option<unsafe extern "C" fn(engine: *mut Engine, footprint: *mut Footprint, size: usize) -> i32>,
    pub attempts:
        Option<unsafe extern "C" fn(engine: *mut Engine, attempts: *mut Attempts, size: usize) -> i32>,
    pub statistics:
        Option<unsafe extern "C" fn(engine: *mut Engine, each: StatisticFn, user: *mut c_void) -> i32>,
    pub poll:
        Option<unsafe extern "C" fn(engine: *mut Engine, completions: *mut Completion, room: usize) -> i64>,
    pub fell_back: Option<unsafe extern "C" fn(engine: *mut Engine) -> i32>,
    pub destroy: Option<unsafe extern "C" fn(engine: *mut Engine) -> i32>,
}
