//! Structs, constants and callback types of `matchpoint.h`. That header has their documentation. A test
//! compares both.
//!
//! Layouts do not change within one [`MP_ABI_VERSION`], except that [`Calls`] and structs with a `size`
//! argument grow at their end.
#![allow(missing_docs)]

use std::ffi::{c_char, c_void};

pub const MP_ABI_VERSION: u32 = 0;

pub const MP_OK: i32 = 0;
pub const MP_QUEUED: i32 = 0;
pub const MP_NONE: i32 = 0;
pub const MP_MATCHED: i32 = 1;
pub const MP_FOUND: i32 = 1;
pub const MP_NAMED: i32 = 2;
pub const MP_REFUSED_HINT: i32 = -1;
pub const MP_REFUSED_FULL: i32 = -2;
pub const MP_REFUSED_MEMORY: i32 = -3;
pub const MP_INVALID: i32 = -4;
pub const MP_BUSY: i32 = -5;
pub const MP_UNKNOWN_NAME: i32 = -6;
pub const MP_AGAIN: i32 = -7;

pub const MP_COUNT: u32 = 1;
pub const MP_ANY_THREAD: u32 = 2;

pub const MP_ANY_SOURCE: u32 = u32::MAX;
pub const MP_UNKNOWN_SOURCE: u32 = u32::MAX;
pub const MP_ANY_TAG: u64 = u64::MAX;

pub const MP_HINT_NO_ANY_SOURCE: u32 = 1;
pub const MP_HINT_NO_ANY_TAG: u32 = 2;
pub const MP_HINT_EXACT_LENGTH: u32 = 4;
pub const MP_HINT_ALLOW_OVERTAKING: u32 = 8;
pub const MP_HINT_NO_UNEXPECTED: u32 = 16;

pub const MP_ORDER_TOTAL: i32 = 0;
pub const MP_ORDER_PER_SOURCE: i32 = 1;
pub const MP_ORDER_NONE: i32 = 2;

pub const MP_QUEUE_POSTED: i32 = 0;
pub const MP_QUEUE_UNEXPECTED: i32 = 1;

pub const MP_DRAINED_RECEIVE: i32 = 0;
pub const MP_DRAINED_MESSAGE: i32 = 1;
pub const MP_DRAINED_PENDING: i32 = 2;

pub const MP_COMPLETION_MATCHED: i32 = 0;
pub const MP_COMPLETION_RECEIVE_REFUSED: i32 = 1;
pub const MP_COMPLETION_MESSAGE_REFUSED: i32 = 2;

#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Outcome {
    pub id: u64,
    pub status: i64,
}

#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Message {
    pub id: u64,
    pub pair: u64,
    pub tag: u64,
}

#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Entry {
    pub id: u64,
    pub pair: u64,
    pub tag: u64,
    pub ignore: u64,
    pub queue: i32,
    /// 0
    pub reserved: u32,
}

#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Completion {
    pub receive: u64,
    pub message: u64,
    pub kind: i32,
    pub status: i32,
}

#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Footprint {
    pub fixed_bytes: u64,
    pub peers_bytes: u64,
    pub entries_bytes: u64,
    pub peak_bytes: u64,
}

#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Attempts {
    pub posted: u64,
    pub unexpected: u64,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct EngineInfo {
    pub name: *const c_char,
    pub summary: *const c_char,
    pub parameters: usize,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ParameterInfo {
    pub key: *const c_char,
    pub default_value: *const c_char,
    pub meaning: *const c_char,
}

pub type DrainFn = Option<unsafe extern "C" fn(user: *mut c_void, kind: i32, id: u64)>;
pub type DeliverFn = Option<unsafe extern "C" fn(user: *mut c_void, number: usize, receive: u64)>;
pub type HintsFn = Option<unsafe extern "C" fn(user: *mut c_void, context: u32, hints: u32)>;
pub type VisitFn = Option<unsafe extern "C" fn(user: *mut c_void, entry: *const Entry)>;
pub type StatisticFn = Option<unsafe extern "C" fn(user: *mut c_void, name: *const c_char, value: f64)>;

#[repr(C)]
#[derive(Debug)]
pub struct Engine {
    pub calls: *const Calls,
    /// NULL: call `Calls::length`.
    pub posted: *const u64,
    /// NULL: call `Calls::length`.
    pub unexpected: *const u64,
}

pub struct Wire {
    _private: [u8; 0],
}

/// The functions of an engine. The inline functions of `matchpoint.h` call and document these functions.
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
