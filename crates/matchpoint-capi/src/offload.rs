//! Engines that work in a thread of their own: `mp_offload` is the application's side, `mp_wire` that of the network.
#![allow(unsafe_code)]

use std::ffi::{c_char, c_void};

use matchpoint::offload::{self, Busy, Offload};
use matchpoint::{ContextId, Drained, Engine, Rank, Receive, RecvId};
use matchpoint_abi::convert::{self, refusal_status};
use matchpoint_abi::types::{
    Completion, DrainFn, Entry, Envelope, Footprint, MP_AGAIN, MP_COMPLETION_MATCHED,
    MP_COMPLETION_MESSAGE_REFUSED, MP_COMPLETION_RECEIVE_REFUSED, MP_INVALID, MP_MATCHED, MP_OK,
    MP_UNKNOWN_SOURCE, OpaqueOffload, OpaqueWire, Selector, VisitFn,
};

use crate::answers::{self, found};
use crate::tell::hand_out;
use crate::{arguments, handle, life};

/// The engine of those who name none.
const DEFAULT: &str = "offload:engine=hybrid";

/// Has the engine called `name` work in a thread of its own: "offload:budget_kib=4608,ring=1024,engine=NAME", where NAME is as of
/// `mp_engine_create` and comes last; NULL and "" are "offload:engine=hybrid". When engine and rings hold more than `budget_kib`
/// the application falls back: the same engine goes on where it was, in the thread that posts and polls (docs/offload.md). The
/// caller ends both sides, by `mp_offload_destroy` and `mp_wire_destroy`.
///
/// Returns as `mp_engine_create`; `*wire` is written as `*offload` is. MP_UNKNOWN_NAME also if no thread can be had. It may abort
/// the process if no memory is left.
///
/// # Safety
/// `name` is NULL or a C string, `offload` and `wire` NULL or room for a pointer, `error` NULL or room for `error_size` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mp_offload_create(
    name: *const c_char,
    offload: *mut *mut OpaqueOffload,
    wire: *mut *mut OpaqueWire,
    error: *mut c_char,
    error_size: usize,
) -> i32 {
    if wire.is_null() {
        if !offload.is_null() {
            // SAFETY: not NULL, so room for a pointer.
            unsafe { offload.write(std::ptr::null_mut()) };
        }
        // SAFETY: the caller's promise.
        unsafe { life::say("wire is NULL", error, error_size) };
        return MP_INVALID;
    }
    let mut messages = None;
    let make = |name: &str| {
        let (application, network) = offload::start(if name.is_empty() { DEFAULT } else { name })?;
        messages = Some(network);
        Ok(application)
    };
    // SAFETY: the caller's promise.
    let status = unsafe { life::create(make, handle::give, name, offload, error, error_size) };
    // SAFETY: not NULL, so room for a pointer.
    unsafe { wire.write(messages.map_or(std::ptr::null_mut(), handle::give)) };
    status
}

/// Ends the application's side, the engine and its thread; what is queued or on its way is forgotten. NULL is MP_OK. A wire that is
/// left takes messages until its ring is full.
///
/// Returns MP_OK; or MP_BUSY if a callback of one of its calls asked.
///
/// # Safety
/// `offload` is NULL, or was made by `mp_offload_create` and not destroyed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mp_offload_destroy(offload: *mut OpaqueOffload) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { handle::take_back(offload) }
}

/// Ends the side of the network. NULL is MP_OK. What was handed in is still taken.
///
/// Returns MP_OK.
///
/// # Safety
/// `wire` is NULL, or was made by `mp_offload_create` and not destroyed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mp_wire_destroy(wire: *mut OpaqueWire) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { handle::take_back(wire) }
}

/// Hands in receive number `receive`, and does not wait. Receives are taken in the order in which they were handed in.
///
/// Returns MP_OK: a completion will tell what came of it, unless it is cancelled. MP_AGAIN: the ring is full, poll first. MP_INVALID,
/// MP_PANICKED, MP_BUSY. Time: O(1), a store; after the fall-back that of the
/// engine for what was handed in, as much as both rings hold at most.
///
/// # Safety
/// `offload` is NULL, or was made by `mp_offload_create` and not destroyed, and no other thread is in a call on it. The other
/// pointers are NULL or point to what their type says. So it is in every function below.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mp_offload_post(
    offload: *mut OpaqueOffload,
    receive: u64,
    selector: *const Selector,
) -> i32 {
    // SAFETY: the caller's promise.
    let Some(asked) = (unsafe { selector.as_ref() }).map(Selector::read) else { return MP_INVALID };
    let receive = Receive::new(RecvId(receive), asked);
    // SAFETY: the caller's promise.
    unsafe { handle::with(offload, |offload| handed_in(offload.post(receive))) }
}

/// Hands in message number `message`, and does not wait. Messages are taken in the order in which they were handed in; those and
/// receives that are handed in at the same time may pass each other.
///
/// Returns MP_OK: it arrives. MP_AGAIN: the ring is full; it has room again once the application has polled, and never if that was
/// answered by MP_PANICKED, or the `mp_offload` is destroyed. MP_INVALID. Time: O(1), a store.
///
/// # Safety
/// As `mp_offload_post`, of `wire`: any thread may be in a call on the `mp_offload`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mp_wire_arrive(
    wire: *mut OpaqueWire,
    message: u64,
    envelope: *const Envelope,
) -> i32 {
    // SAFETY: the caller's promise.
    let arrived = unsafe { envelope.as_ref() }.map(|envelope| envelope.read(message));
    let Some(arrived) = arrived else { return MP_INVALID };
    // SAFETY: the caller's promise.
    unsafe { handle::with(wire, |wire| handed_in(wire.arrive(arrived))) }
}

fn handed_in(answer: Result<(), Busy>) -> i32 {
    answer.map_or(MP_AGAIN, |()| MP_OK)
}

/// Writes what came of what was handed in to `completions`, `room` of them at most, oldest first, and does not wait. Each match is
/// told once. What the engine refuses is told here as well, since `mp_offload_post` and `mp_wire_arrive` do not wait for it.
///
/// Returns how many were written, 0 if there is no news, or if `room` is 0, where `completions` may be NULL; or MP_INVALID,
/// MP_PANICKED, MP_BUSY, which are negative. Time: O(1) each, a load; after the fall-back that of the engine for what was handed
/// in, as much as both rings hold at most.
///
/// # Safety
/// As `mp_offload_post`; `completions` is NULL (MP_INVALID unless `room` is 0) or has room for `room` elements.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mp_offload_poll(
    offload: *mut OpaqueOffload,
    completions: *mut Completion,
    room: usize,
) -> i64 {
    if completions.is_null() && room > 0 {
        return i64::from(MP_INVALID);
    }
    // SAFETY: the caller's promise.
    unsafe {
        handle::with(offload, |offload| {
            let mut count = 0;
            while count < room {
                let Some(news) = offload.poll() else { break };
                completions.add(count).write(told(news));
                count += 1;
            }
            count as i64
        })
    }
}

fn told(news: offload::Completion) -> Completion {
    let (receive, message, kind, status) = match news {
        offload::Completion::Matched(receive, message) => {
            (receive.0, message.0, MP_COMPLETION_MATCHED, MP_MATCHED)
        }
        offload::Completion::ReceiveRefused(receive, refused) => {
            (receive.0, 0, MP_COMPLETION_RECEIVE_REFUSED, refusal_status(refused))
        }
        offload::Completion::MessageRefused(message, refused) => {
            (0, message.0, MP_COMPLETION_MESSAGE_REFUSED, refusal_status(refused))
        }
    };
    Completion { receive, message, kind, status }
}

/// Whether the budget was exhausted, so that matching is done in calls of the application's.
///
/// Returns 1 or 0; or MP_INVALID, MP_PANICKED, MP_BUSY, which are negative.
///
/// # Safety
/// As `mp_offload_post`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mp_offload_fell_back(offload: *const OpaqueOffload) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { handle::with(offload, |offload| i32::from(offload.fell_back())) }
}

/// Makes a call on the engine itself, once it has taken the receives handed in before. That waits for the engine's thread.
///
/// # Safety
/// As `mp_offload_post`.
unsafe fn directly<S: From<i32>>(
    offload: *const OpaqueOffload,
    call: impl FnOnce(&mut dyn Engine) -> S,
) -> S {
    // SAFETY: the caller's promise.
    unsafe { handle::with(offload, |offload: &mut Offload| offload.with_engine(call)) }
}

/// As `mp_engine_cancel`, whether or not the engine has come to the receive. It, and every call below, waits for the engine's thread
/// and for all receives handed in before to be taken; messages that were handed in and not taken have not arrived yet.
///
/// Returns MP_FOUND: it was posted, and no completion will tell of it. MP_NONE: it was not; a completion told of it, or will.
/// MP_INVALID, MP_PANICKED, MP_BUSY.
///
/// # Safety
/// As `mp_offload_post`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mp_offload_cancel(
    offload: *mut OpaqueOffload,
    receive: u64,
    selector: *const Selector,
) -> i32 {
    // SAFETY: the caller's promise.
    let Some(asked) = (unsafe { arguments::asked(selector) }) else { return MP_INVALID };
    let posted = Receive::new(RecvId(receive), asked);
    // SAFETY: the caller's promise.
    unsafe { directly(offload, |engine| found(engine.cancel(&posted))) }
}

/// As `mp_engine_retract`, of a message that has arrived.
///
/// # Safety
/// As `mp_offload_post`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mp_offload_retract(
    offload: *mut OpaqueOffload,
    message: u64,
    envelope: *const Envelope,
) -> i32 {
    // SAFETY: the caller's promise.
    let Some(queued) = (unsafe { arguments::said(message, envelope) }) else { return MP_INVALID };
    // SAFETY: the caller's promise.
    unsafe { directly(offload, |engine| found(engine.retract(&queued))) }
}

/// As `mp_engine_probe`, of the messages that have arrived.
///
/// # Safety
/// As `mp_offload_post`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mp_offload_probe(
    offload: *mut OpaqueOffload,
    selector: *const Selector,
    message: *mut u64,
) -> i32 {
    // SAFETY: the caller's promise.
    let Some(asked) = (unsafe { arguments::selector(selector, message) }) else { return MP_INVALID };
    // SAFETY: the caller's promise; `message` is not NULL.
    unsafe { directly(offload, |engine| answers::seen(engine.probe(&asked), message)) }
}

/// As `mp_engine_matched_probe`, of the messages that have arrived. No completion will tell of the message.
///
/// # Safety
/// As `mp_offload_post`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mp_offload_matched_probe(
    offload: *mut OpaqueOffload,
    selector: *const Selector,
    message: *mut u64,
) -> i32 {
    // SAFETY: the caller's promise.
    let Some(asked) = (unsafe { arguments::selector(selector, message) }) else { return MP_INVALID };
    // SAFETY: the caller's promise; `message` is not NULL.
    unsafe { directly(offload, |engine| answers::seen(engine.matched_probe(&asked), message)) }
}

/// As `mp_engine_readdress`, of a message that has arrived. A match is told here alone, by no completion.
///
/// # Safety
/// As `mp_offload_post`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mp_offload_readdress(
    offload: *mut OpaqueOffload,
    message: u64,
    envelope: *const Envelope,
    source: u32,
    receive: *mut u64,
) -> i32 {
    // SAFETY: the caller's promise.
    let Some(queued) = (unsafe { arguments::message(message, envelope, receive) }) else {
        return MP_INVALID;
    };
    let source = Rank(source);
    // SAFETY: the caller's promise; `receive` is not NULL.
    unsafe { directly(offload, |engine| answers::readdressed(engine.readdress(&queued, source), receive)) }
}

/// As `mp_engine_set_hints`.
///
/// # Safety
/// As `mp_offload_post`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mp_offload_set_hints(offload: *mut OpaqueOffload, context: u32, hints: u32) -> i32 {
    let Some(hints) = convert::hints(hints) else { return MP_INVALID };
    // SAFETY: the caller's promise.
    unsafe { directly(offload, |engine| answers::done(engine.set_hints(ContextId(context), hints))) }
}

/// As `mp_engine_close`. It may abort the process if there is no memory to list what is taken out.
///
/// # Safety
/// As `mp_offload_post`; `each` is as `mp_drain_fn` says, where the engine is the `mp_offload`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mp_offload_close(
    offload: *mut OpaqueOffload,
    context: u32,
    each: DrainFn,
    user: *mut c_void,
) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { drain(offload, each, user, |engine, drained| engine.close(ContextId(context), drained)) }
}

/// As `mp_engine_fail_source`. It may abort the process if there is no memory to list what is taken out.
///
/// # Safety
/// As `mp_offload_close`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mp_offload_fail_source(
    offload: *mut OpaqueOffload,
    context: u32,
    source: u32,
    each: DrainFn,
    user: *mut c_void,
) -> i32 {
    if source == MP_UNKNOWN_SOURCE {
        return MP_INVALID;
    }
    let (context, source) = (ContextId(context), Rank(source));
    // SAFETY: the caller's promise.
    unsafe { drain(offload, each, user, |engine, drained| engine.fail_source(context, source, drained)) }
}

/// # Safety
/// As `mp_offload_close`.
unsafe fn drain(
    offload: *mut OpaqueOffload,
    each: DrainFn,
    user: *mut c_void,
    call: impl FnOnce(&mut dyn Engine, &mut Drained),
) -> i32 {
    // SAFETY: the caller's promise.
    unsafe {
        handle::with(offload, |offload: &mut Offload| {
            let mut drained = Drained::default();
            offload.with_engine(|engine| call(engine, &mut drained));
            answers::drained(&drained, each, user);
            MP_OK
        })
    }
}

/// As `mp_engine_visit`. The engine's thread waits until `each` has seen the last.
///
/// # Safety
/// As `mp_offload_post`; `each` is as `mp_visit_fn` says, where the engine is the `mp_offload`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mp_offload_visit(
    offload: *const OpaqueOffload,
    queue: i32,
    each: VisitFn,
    user: *mut c_void,
) -> i32 {
    let (Some(queue), Some(each)) = (arguments::queue(queue), each) else { return MP_INVALID };
    // SAFETY: the caller's promise.
    unsafe {
        directly(offload, |engine| {
            engine.visit(queue, &mut |entry| each(user, &Entry::from(entry)));
            MP_OK
        })
    }
}

/// As `mp_engine_posted_len`.
///
/// # Safety
/// As `mp_offload_post`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mp_offload_posted_len(offload: *const OpaqueOffload) -> i64 {
    // SAFETY: the caller's promise.
    unsafe { directly(offload, |engine| engine.posted_len() as i64) }
}

/// As `mp_engine_unexpected_len`, of the messages that have arrived.
///
/// # Safety
/// As `mp_offload_post`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mp_offload_unexpected_len(offload: *const OpaqueOffload) -> i64 {
    // SAFETY: the caller's promise.
    unsafe { directly(offload, |engine| engine.unexpected_len() as i64) }
}

/// As `mp_engine_footprint`, of the engine, rings left out.
///
/// # Safety
/// As `mp_offload_post`; `footprint` is NULL or room for `size` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mp_offload_footprint(
    offload: *const OpaqueOffload,
    footprint: *mut Footprint,
    size: usize,
) -> i32 {
    if footprint.is_null() {
        return MP_INVALID;
    }
    // SAFETY: the caller's promise.
    unsafe {
        directly(offload, |engine| {
            hand_out(Footprint::from(engine.footprint()), footprint, size);
            MP_OK
        })
    }
}
