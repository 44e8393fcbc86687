//! The functions of the interface: their types, in one place for those who export and those who load them, and which
//! of them another library must have.

use std::ffi::{c_char, c_void};

use crate::types::{
    Attempts, DeliverFn, DrainFn, Envelope, Footprint, HintsFn, Message, Opaque, Outcome, Selector,
    StatisticFn, VisitFn,
};

/// `mp_abi_version`.
pub type AbiVersion = unsafe extern "C" fn() -> u32;
/// `mp_engine_create`, `mp_engine_create_counting`.
pub type Create = unsafe extern "C" fn(*const c_char, *mut *mut Opaque, *mut c_char, usize) -> i32;
/// `mp_engine_destroy`.
pub type Destroy = unsafe extern "C" fn(*mut Opaque) -> i32;
/// `mp_engine_post`.
pub type Post = unsafe extern "C" fn(*mut Opaque, u64, *const Selector, *mut u64) -> i32;
/// `mp_engine_arrive`.
pub type Arrive = unsafe extern "C" fn(*mut Opaque, u64, *const Envelope, *mut u64) -> i32;
/// `mp_engine_probe`, `mp_engine_matched_probe`.
pub type Probe = unsafe extern "C" fn(*mut Opaque, *const Selector, *mut u64) -> i32;
/// `mp_engine_cancel`.
pub type Cancel = unsafe extern "C" fn(*mut Opaque, u64, *const Selector) -> i32;
/// `mp_engine_retract`.
pub type Retract = unsafe extern "C" fn(*mut Opaque, u64, *const Envelope) -> i32;
/// `mp_engine_posted_len`, `mp_engine_unexpected_len`.
pub type Length = unsafe extern "C" fn(*const Opaque) -> i64;
/// `mp_engine_readdress`.
pub type Readdress = unsafe extern "C" fn(*mut Opaque, u64, *const Envelope, u32, *mut u64) -> i32;
/// `mp_engine_set_hints`.
pub type SetHints = unsafe extern "C" fn(*mut Opaque, u32, u32) -> i32;
/// `mp_engine_hints`.
pub type HintsOf = unsafe extern "C" fn(*const Opaque, HintsFn, *mut c_void) -> i32;
/// `mp_engine_close`.
pub type Close = unsafe extern "C" fn(*mut Opaque, u32, DrainFn, *mut c_void) -> i32;
/// `mp_engine_fail_source`.
pub type FailSource = unsafe extern "C" fn(*mut Opaque, u32, u32, DrainFn, *mut c_void) -> i32;
/// `mp_engine_arrive_batch`.
pub type ArriveBatch =
    unsafe extern "C" fn(*mut Opaque, *const Message, usize, *mut Outcome, *mut usize) -> i32;
/// `mp_engine_deliver_batch`. A library need not have it: [`Foreign`](crate::Foreign) delivers message by message.
pub type DeliverBatch = unsafe extern "C" fn(
    *mut Opaque,
    *const Message,
    usize,
    *mut Outcome,
    *mut usize,
    DeliverFn,
    *mut c_void,
) -> i32;
/// `mp_engine_visit`.
pub type Visit = unsafe extern "C" fn(*const Opaque, i32, VisitFn, *mut c_void) -> i32;
/// `mp_engine_order`.
pub type OrderOf = unsafe extern "C" fn(*const Opaque) -> i32;
/// `mp_engine_footprint`.
pub type FootprintOf = unsafe extern "C" fn(*const Opaque, *mut Footprint, usize) -> i32;
/// `mp_engine_attempts`.
pub type AttemptsOf = unsafe extern "C" fn(*const Opaque, *mut Attempts, usize) -> i32;
/// `mp_engine_statistics`.
pub type Statistics = unsafe extern "C" fn(*const Opaque, StatisticFn, *mut c_void) -> i32;

/// The functions that a library must have to be an engine's.
pub const REQUIRED: [&str; 10] = [
    "mp_abi_version",
    "mp_engine_create",
    "mp_engine_destroy",
    "mp_engine_post",
    "mp_engine_arrive",
    "mp_engine_probe",
    "mp_engine_matched_probe",
    "mp_engine_cancel",
    "mp_engine_posted_len",
    "mp_engine_unexpected_len",
];

/// The functions that [`Foreign`](crate::Foreign) makes use of if they are there.
pub const OPTIONAL: [Function; 9] = [
    Function::Retract,
    Function::Readdress,
    Function::SetHints,
    Function::Close,
    Function::FailSource,
    Function::ArriveBatch,
    Function::Visit,
    Function::Footprint,
    Function::Order,
];

/// A function that a library may lack.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Function {
    /// `mp_engine_retract`.
    Retract,
    /// `mp_engine_readdress`.
    Readdress,
    /// `mp_engine_set_hints`.
    SetHints,
    /// `mp_engine_close`.
    Close,
    /// `mp_engine_fail_source`.
    FailSource,
    /// `mp_engine_arrive_batch`.
    ArriveBatch,
    /// `mp_engine_visit`.
    Visit,
    /// `mp_engine_footprint`.
    Footprint,
    /// `mp_engine_order`: without it the order is total.
    Order,
}

impl Function {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Function::Retract => "mp_engine_retract",
            Function::Readdress => "mp_engine_readdress",
            Function::SetHints => "mp_engine_set_hints",
            Function::Close => "mp_engine_close",
            Function::FailSource => "mp_engine_fail_source",
            Function::ArriveBatch => "mp_engine_arrive_batch",
            Function::Visit => "mp_engine_visit",
            Function::Footprint => "mp_engine_footprint",
            Function::Order => "mp_engine_order",
        }
    }
}
