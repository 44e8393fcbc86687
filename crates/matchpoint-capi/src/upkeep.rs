//! The calls that nobody waits for: withdrawing, naming, hints, closing, failures.
#![allow(unsafe_code)]

use std::ffi::c_void;

use matchpoint::{ContextId, Drained, MsgId, Rank, RecvId};
use matchpoint_abi::convert::{self, refusal_status};
use matchpoint_abi::types::{
    DrainFn, MP_DRAINED_MESSAGE, MP_DRAINED_PENDING, MP_DRAINED_RECEIVE, MP_FOUND, MP_INVALID, MP_NONE,
    MP_OK, MP_REFUSED_MEMORY, Opaque,
};

use crate::handle::{self, Held};

fn found(found: bool) -> i32 {
    if found { MP_FOUND } else { MP_NONE }
}

/// Withdraws a receive (MPI_Cancel).
///
/// Returns MP_FOUND: it was still posted, and no longer is. MP_NONE: it is not posted. Else MP_INVALID, MP_PANICKED,
/// MP_BUSY. Time: O(receives posted) unless the engine says better.
///
/// # Safety
/// As `mp_engine_post`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mp_engine_cancel(engine: *mut Opaque, receive: u64) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { handle::with(engine, |held| found(held.engine.cancel(RecvId(receive)))) }
}

/// Withdraws an unexpected message.
///
/// Returns MP_FOUND: it was still queued, and no longer is. MP_NONE: it is not queued. Else MP_INVALID, MP_PANICKED,
/// MP_BUSY. Time: O(messages unexpected) unless the engine says better.
///
/// # Safety
/// As `mp_engine_post`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mp_engine_retract(engine: *mut Opaque, message: u64) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { handle::with(engine, |held| found(held.engine.retract(MsgId(message)))) }
}

/// Names the source of an unexpected message that arrived with MP_UNKNOWN_SOURCE. It keeps its age.
///
/// Returns MP_FOUND: it was waiting nameless and now has `source`. MP_NONE, and nothing changed: it is not queued, its
/// source is known, `source` is MP_UNKNOWN_SOURCE, memory cannot be had, or a receive that is posted already would
/// accept it under that name; the caller then retracts it and lets it arrive anew. Else MP_INVALID, MP_PANICKED,
/// MP_BUSY. Time: O(entries queued).
///
/// # Safety
/// As `mp_engine_post`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mp_engine_readdress(engine: *mut Opaque, message: u64, source: u64) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { handle::with(engine, |held| found(held.engine.readdress(MsgId(message), Rank(source)))) }
}

/// Replaces the assertions on a context by `hints`: the sum of some of MP_HINT_..., 0 for MPI's full semantics
/// (MPI-4.1 section 7.4.4).
///
/// Returns MP_OK; MP_REFUSED_HINT if what is queued already breaks one of them; MP_REFUSED_MEMORY; MP_INVALID (for an
/// unknown hint, too), MP_PANICKED, MP_BUSY. Time: O(entries queued).
///
/// # Safety
/// As `mp_engine_post`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mp_engine_set_hints(engine: *mut Opaque, context: u32, hints: u32) -> i32 {
    let Some(hints) = convert::hints(hints) else { return MP_INVALID };
    // SAFETY: the caller's promise.
    unsafe {
        handle::with(engine, |held| {
            held.engine.set_hints(ContextId(context), hints).map_or_else(refusal_status, |()| MP_OK)
        })
    }
}

/// Takes out all that is queued in a context, and forgets its hints (MPI_Comm_free): nothing of it can match any more,
/// and its id may be used again.
///
/// `each` (NULL: nobody asks) is told the receives, then the messages, oldest first, once all are out.
///
/// Returns MP_OK; MP_REFUSED_MEMORY if there is none to list them, with nothing taken out; MP_INVALID, MP_PANICKED,
/// MP_BUSY. Time: O(entries queued), and sorting those of the context.
///
/// # Safety
/// As `mp_engine_post`; `each` is as `mp_drain_fn` says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mp_engine_close(
    engine: *mut Opaque,
    context: u32,
    each: DrainFn,
    user: *mut c_void,
) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { drain(engine, each, user, |held| held.engine.close(ContextId(context), &mut held.drained)) }
}

/// Tells that a peer died (MPI-4.1's fault tolerance, ULFM): takes out the posted receives that name it, keeps the
/// messages that had arrived from it, and leaves the receives from any source of this context posted.
///
/// `each` (NULL: nobody asks) is told the receives taken out, then those from any source as MP_DRAINED_PENDING
/// (MPI_ERR_PROC_FAILED_PENDING), oldest first.
///
/// Returns as `mp_engine_close`.
///
/// # Safety
/// As `mp_engine_close`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mp_engine_fail_source(
    engine: *mut Opaque,
    context: u32,
    source: u64,
    each: DrainFn,
    user: *mut c_void,
) -> i32 {
    let call = |held: &mut Held| {
        held.engine.fail_source(ContextId(context), Rank(source), &mut held.drained);
    };
    // SAFETY: the caller's promise.
    unsafe { drain(engine, each, user, call) }
}

/// # Safety
/// As `mp_engine_close`.
unsafe fn drain(engine: *mut Opaque, each: DrainFn, user: *mut c_void, call: impl FnOnce(&mut Held)) -> i32 {
    // SAFETY: the caller's promise.
    unsafe {
        handle::with(engine, |held| {
            if !make_room(held) {
                return MP_REFUSED_MEMORY;
            }
            call(held);
            let Some(each) = each else { return MP_OK };
            let Drained { receives, messages, pending } = &held.drained;
            receives.iter().for_each(|id| each(user, MP_DRAINED_RECEIVE, id.0));
            messages.iter().for_each(|id| each(user, MP_DRAINED_MESSAGE, id.0));
            pending.iter().for_each(|id| each(user, MP_DRAINED_PENDING, id.0));
            MP_OK
        })
    }
}

/// Empties the list of what was drained, and makes it as long as it can become.
fn make_room(held: &mut Held) -> bool {
    let Drained { receives, messages, pending } = &mut held.drained;
    receives.clear();
    messages.clear();
    pending.clear();
    let (posted, unexpected) = (held.engine.posted_len(), held.engine.unexpected_len());
    receives.try_reserve(posted).is_ok()
        && messages.try_reserve(unexpected).is_ok()
        && pending.try_reserve(posted).is_ok()
}
