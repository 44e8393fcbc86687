//! What C is told: what the contract answers, as statuses, through the program's pointers and by its callbacks.
#![allow(unsafe_code)]

use std::ffi::c_void;

use matchpoint::{Drained, MsgId, Readdressed, RecvId, Refused};
use matchpoint_abi::convert::refusal_status;
use matchpoint_abi::types::{
    DrainFn, MP_DRAINED_MESSAGE, MP_DRAINED_PENDING, MP_DRAINED_RECEIVE, MP_FOUND, MP_MATCHED, MP_NAMED,
    MP_NONE, MP_OK, MP_QUEUED, Outcome,
};

/// A name that the caller chose.
pub(crate) trait Name {
    fn number(self) -> u64;
}

impl Name for RecvId {
    #[inline]
    fn number(self) -> u64 {
        self.0
    }
}

impl Name for MsgId {
    #[inline]
    fn number(self) -> u64 {
        self.0
    }
}

/// The outcome of a post or an arrival.
#[inline(always)]
pub(crate) fn outcome(answer: Result<Option<impl Name>, Refused>) -> Outcome {
    let (id, status) = match answer {
        Ok(None) => (0, MP_QUEUED),
        Ok(Some(matched)) => (matched.number(), MP_MATCHED),
        Err(refused) => (0, refusal_status(refused)),
    };
    Outcome { id, status, reserved: 0 }
}

/// The outcome of a probe.
#[inline(always)]
pub(crate) fn probed(answer: Option<MsgId>) -> Outcome {
    let (id, status) = answer.map_or((0, MP_NONE), |message| (message.0, MP_FOUND));
    Outcome { id, status, reserved: 0 }
}

/// The status of a post or an arrival; what it matched is written.
///
/// # Safety
/// `room` is room for a number.
#[inline]
pub(crate) unsafe fn matched(answer: Result<Option<impl Name>, Refused>, room: *mut u64) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { written(outcome(answer), room) }
}

/// The status of a probe; the message is written.
///
/// # Safety
/// As [`matched`].
#[inline]
pub(crate) unsafe fn seen(answer: Option<MsgId>, room: *mut u64) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { written(probed(answer), room) }
}

/// The status of an outcome; its id is written, if it has one.
///
/// # Safety
/// As [`matched`].
#[inline(always)]
unsafe fn written(outcome: Outcome, room: *mut u64) -> i32 {
    const { assert!(MP_MATCHED == MP_FOUND) };
    if outcome.status == MP_MATCHED {
        // SAFETY: the caller's promise.
        unsafe { room.write(outcome.id) };
    }
    outcome.status
}

/// The status of a readdressing; the receive that the message took is written.
///
/// # Safety
/// As [`matched`].
pub(crate) unsafe fn readdressed(answer: Result<Readdressed, Refused>, room: *mut u64) -> i32 {
    match answer {
        Ok(Readdressed::Named) => MP_NAMED,
        Ok(Readdressed::Matched(receive)) => {
            // SAFETY: the caller's promise.
            unsafe { room.write(receive.0) };
            MP_MATCHED
        }
        Ok(Readdressed::NotNameless) => MP_NONE,
        Err(refused) => refusal_status(refused),
    }
}

/// The status of a call that looks for something.
#[inline]
pub(crate) fn found(found: bool) -> i32 {
    if found { MP_FOUND } else { MP_NONE }
}

/// The status of a call that has nothing to hand out.
#[inline]
pub(crate) fn done(answer: Result<(), Refused>) -> i32 {
    answer.map_or_else(refusal_status, |()| MP_OK)
}

/// The status of a batch; what became of the messages before the one refused is written.
///
/// # Safety
/// `outcomes` has room for as many, `done` for a number.
pub(crate) unsafe fn batch(
    answer: Result<(), Refused>,
    matched: &[Option<RecvId>],
    (outcomes, done): (*mut Outcome, *mut usize),
) -> i32 {
    for (at, found) in matched.iter().enumerate() {
        let status = if found.is_some() { MP_MATCHED } else { MP_QUEUED };
        let id = found.map_or(0, |found| found.0);
        // SAFETY: the caller's promise.
        unsafe { outcomes.add(at).write(Outcome { id, status, reserved: 0 }) };
    }
    // SAFETY: the caller's promise.
    unsafe { done.write(matched.len()) };
    self::done(answer)
}

/// Tells `each` what was drained.
///
/// # Safety
/// `each` is as `mp_drain_fn` says.
pub(crate) unsafe fn drained(drained: &Drained, each: DrainFn, user: *mut c_void) {
    let Some(each) = each else { return };
    let Drained { receives, messages, pending } = drained;
    // SAFETY: the caller's promise.
    unsafe {
        receives.iter().for_each(|id| each(user, MP_DRAINED_RECEIVE, id.0));
        messages.iter().for_each(|id| each(user, MP_DRAINED_MESSAGE, id.0));
        pending.iter().for_each(|id| each(user, MP_DRAINED_PENDING, id.0));
    }
}

/// A program's callback for what is delivered.
pub(crate) struct Delivery {
    deliver: unsafe extern "C" fn(*mut c_void, usize, u64),
    user: *mut c_void,
}

// SAFETY: who makes one promises a function, and a pointer for it, that are good for several threads at once.
unsafe impl Sync for Delivery {}

impl Delivery {
    /// # Safety
    /// `deliver` is as `mp_deliver_fn` says, and `user` is good for any thread, while the call lasts that they were handed to.
    pub(crate) unsafe fn new(
        deliver: unsafe extern "C" fn(*mut c_void, usize, u64),
        user: *mut c_void,
    ) -> Self {
        Delivery { deliver, user }
    }

    /// Tells that message `number` has taken a receive.
    #[inline]
    pub(crate) fn of(&self, number: usize, receive: RecvId) {
        // SAFETY: it is told what the program wants to be told, while the call lasts.
        unsafe { (self.deliver)(self.user, number, receive.0) }
    }
}
