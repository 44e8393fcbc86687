//! The calls of engines that any thread may call at any time: those of `mp_engine`, but for what is asked of one thread's engine
//! only.
#![allow(unsafe_code)]

use std::ffi::{c_char, c_void};

use matchpoint::concurrent;
use matchpoint::{ContextId, Drained, Rank, Receive, RecvId, Refused};
use matchpoint_abi::convert;
use matchpoint_abi::types::{
    DeliverFn, DrainFn, Entry, Envelope, Footprint, MP_INVALID, MP_OK, MP_UNKNOWN_SOURCE, Message,
    OpaqueConcurrent, Outcome, Selector, VisitFn,
};

use crate::answers::{self, Delivery, found};
use crate::shared::{self, Shared};
use crate::tell::hand_out;
use crate::{arguments, life};

/// The engine of those who name none.
const DEFAULT: &str = "locked:engine=hybrid";

/// Makes the concurrent engine called `name`: "locked:engine=NAME", "sharded:shards=16,engine=NAME" or "split:engine=NAME", where
/// NAME is as of `mp_engine_create` and comes last (docs/concurrent.md says which to use). NULL and "" are
/// "locked:engine=hybrid". The caller ends it by `mp_concurrent_destroy`.
///
/// Returns as `mp_engine_create`; it may abort the process if no memory is left, too.
///
/// # Safety
/// `name` is NULL or a C string, `engine` NULL or room for a pointer, `error` NULL or room for `error_size` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mp_concurrent_create(
    name: *const c_char,
    engine: *mut *mut OpaqueConcurrent,
    error: *mut c_char,
    error_size: usize,
) -> i32 {
    let make = |name: &str| concurrent::create(if name.is_empty() { DEFAULT } else { name });
    // SAFETY: the caller's promise.
    unsafe { life::create(make, shared::give_out, name, engine, error, error_size) }
}

/// Ends an engine; what is queued is forgotten. NULL is MP_OK.
///
/// Returns MP_OK; or MP_BUSY if a callback of that engine asked, which then is still there.
///
/// # Safety
/// `engine` is NULL, or was made by `mp_concurrent_create` and not destroyed; no other thread is in a call on it, or begins one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mp_concurrent_destroy(engine: *mut OpaqueConcurrent) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { shared::take_back(engine) }
}

/// As `mp_engine_post`, from any thread at any time: it takes effect at one moment between its beginning and its end, as every
/// call below.
///
/// Returns as `mp_engine_post`. MP_BUSY: a callback of this engine called, in this thread; no call of another thread is a reason,
/// here and below.
///
/// # Safety
/// `engine` is NULL, or was made by `mp_concurrent_create` and is not destroyed before the call returns. The other pointers are NULL
/// or point to what their type says, which no other thread changes meanwhile. So it is in every function below.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mp_concurrent_post(
    engine: *mut OpaqueConcurrent,
    receive: u64,
    selector: *const Selector,
    message: *mut u64,
) -> i32 {
    // SAFETY: the caller's promise.
    let Some(asked) = (unsafe { arguments::selector(selector, message) }) else { return MP_INVALID };
    let receive = Receive::new(RecvId(receive), asked);
    // SAFETY: the caller's promise; `message` is not NULL.
    unsafe { shared::with(engine, |shared| answers::matched(shared.engine().post(receive), message)) }
}

/// As `mp_engine_arrive`, from any thread at any time. Messages of one source are handed in by one thread, or one after the other
/// by several: those that two threads hand in at once arrive in either order.
///
/// Returns as `mp_engine_arrive`.
///
/// # Safety
/// As `mp_concurrent_post`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mp_concurrent_arrive(
    engine: *mut OpaqueConcurrent,
    message: u64,
    envelope: *const Envelope,
    receive: *mut u64,
) -> i32 {
    // SAFETY: the caller's promise.
    let Some(arrived) = (unsafe { arguments::message(message, envelope, receive) }) else {
        return MP_INVALID;
    };
    // SAFETY: the caller's promise; `receive` is not NULL.
    unsafe {
        shared::with(engine, |shared| answers::matched(shared.engine().arrive_message(arrived), receive))
    }
}

/// As `mp_engine_arrive_batch`, from any thread at any time: each message arrives at a moment of its own, in their order, and calls
/// of other threads may take effect between two.
///
/// Returns as `mp_engine_arrive_batch`. It allocates 56 bytes for each message, given back before it returns.
///
/// # Safety
/// As `mp_concurrent_post`; `messages` and `outcomes` are NULL or have `count` elements.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mp_concurrent_arrive_batch(
    engine: *mut OpaqueConcurrent,
    messages: *const Message,
    count: usize,
    outcomes: *mut Outcome,
    done: *mut usize,
) -> i32 {
    // SAFETY: the caller's promise.
    unsafe {
        batch(engine, (messages, count), (outcomes, done), |shared, messages, out| {
            shared.engine().arrive_batch(messages, out)
        })
    }
}

/// As `mp_engine_deliver_batch`, from any thread at any time. `deliver` must not wait for a thread that calls this engine either:
/// that call may wait for this batch.
///
/// Returns as `mp_engine_deliver_batch`, and allocates as `mp_concurrent_arrive_batch`.
///
/// # Safety
/// As `mp_concurrent_arrive_batch`; `deliver` is as `mp_deliver_fn` says, and `user` is good for any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mp_concurrent_deliver_batch(
    engine: *mut OpaqueConcurrent,
    messages: *const Message,
    count: usize,
    outcomes: *mut Outcome,
    done: *mut usize,
    deliver: DeliverFn,
    user: *mut c_void,
) -> i32 {
    let Some(deliver) = deliver else { return MP_INVALID };
    // SAFETY: the caller's promise.
    unsafe {
        let delivery = Delivery::new(deliver, user);
        batch(engine, (messages, count), (outcomes, done), |shared, messages, out| {
            let deliver = |number, receive| shared.call_back(|| delivery.of(number, receive));
            shared.engine().deliver_batch(messages, out, &deliver)
        })
    }
}

/// Makes a call with a batch.
///
/// # Safety
/// As `mp_concurrent_arrive_batch`.
unsafe fn batch(
    engine: *mut OpaqueConcurrent,
    (messages, count): (*const Message, usize),
    (outcomes, done): (*mut Outcome, *mut usize),
    call: impl FnOnce(&Shared, &[matchpoint::Message], &mut Vec<Option<RecvId>>) -> Result<(), Refused>,
) -> i32 {
    // SAFETY: the caller's promise.
    let Some(given) = (unsafe { arguments::batch((messages, count), (outcomes, done)) }) else {
        return MP_INVALID;
    };
    // SAFETY: the caller's promise; there are no more outcomes than messages.
    unsafe {
        shared::with(engine, |shared| {
            // Of this call only: threads that share them would wait for each other.
            let (mut messages, mut matched) = (Vec::new(), Vec::new());
            let room = matched.try_reserve_exact(given.len()).map_err(|_| Refused::Memory);
            let answer = match room.and_then(|()| arguments::read_batch(given, &mut messages)) {
                Ok(()) => call(shared, &messages, &mut matched),
                Err(refused) => Err(refused),
            };
            answers::batch(answer, &matched, (outcomes, done))
        })
    }
}

/// As `mp_engine_probe`, from any thread at any time. By the time it returns another thread may have received the message.
///
/// Returns as `mp_engine_probe`.
///
/// # Safety
/// As `mp_concurrent_post`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mp_concurrent_probe(
    engine: *mut OpaqueConcurrent,
    selector: *const Selector,
    message: *mut u64,
) -> i32 {
    // SAFETY: the caller's promise.
    let Some(asked) = (unsafe { arguments::selector(selector, message) }) else { return MP_INVALID };
    // SAFETY: the caller's promise; `message` is not NULL.
    unsafe { shared::with(engine, |shared| answers::seen(shared.engine().probe(&asked), message)) }
}

/// As `mp_engine_matched_probe`, from any thread at any time: of several that ask at once, one gets the message.
///
/// Returns as `mp_engine_probe`.
///
/// # Safety
/// As `mp_concurrent_post`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mp_concurrent_matched_probe(
    engine: *mut OpaqueConcurrent,
    selector: *const Selector,
    message: *mut u64,
) -> i32 {
    // SAFETY: the caller's promise.
    let Some(asked) = (unsafe { arguments::selector(selector, message) }) else { return MP_INVALID };
    // SAFETY: the caller's promise; `message` is not NULL.
    unsafe { shared::with(engine, |shared| answers::seen(shared.engine().matched_probe(&asked), message)) }
}

/// As `mp_engine_cancel`, from any thread at any time. After MP_FOUND no thread is told of that receive; MP_NONE may come before
/// the thread whose call matched it is answered.
///
/// Returns as `mp_engine_cancel`.
///
/// # Safety
/// As `mp_concurrent_post`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mp_concurrent_cancel(
    engine: *mut OpaqueConcurrent,
    receive: u64,
    selector: *const Selector,
) -> i32 {
    // SAFETY: the caller's promise.
    let Some(asked) = (unsafe { arguments::asked(selector) }) else { return MP_INVALID };
    let posted = Receive::new(RecvId(receive), asked);
    // SAFETY: the caller's promise.
    unsafe { shared::with(engine, |shared| found(shared.engine().cancel(&posted))) }
}

/// As `mp_engine_retract`, from any thread at any time.
///
/// Returns as `mp_engine_retract`.
///
/// # Safety
/// As `mp_concurrent_post`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mp_concurrent_retract(
    engine: *mut OpaqueConcurrent,
    message: u64,
    envelope: *const Envelope,
) -> i32 {
    // SAFETY: the caller's promise.
    let Some(queued) = (unsafe { arguments::said(message, envelope) }) else { return MP_INVALID };
    // SAFETY: the caller's promise.
    unsafe { shared::with(engine, |shared| found(shared.engine().retract(&queued))) }
}

/// As `mp_engine_readdress`, from any thread at any time. The message is named, and matched if it is wanted, at one moment: no
/// lock is needed, and of several threads that name it at once one is told MP_NAMED or MP_MATCHED. MP_NONE may come before the
/// thread whose call matched the message is answered.
///
/// Returns as `mp_engine_readdress`.
///
/// # Safety
/// As `mp_concurrent_post`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mp_concurrent_readdress(
    engine: *mut OpaqueConcurrent,
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
    unsafe {
        shared::with(engine, |shared| {
            answers::readdressed(shared.engine().readdress(&queued, source), receive)
        })
    }
}

/// As `mp_engine_set_hints`, from any thread at any time.
///
/// Returns as `mp_engine_set_hints`.
///
/// # Safety
/// As `mp_concurrent_post`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mp_concurrent_set_hints(
    engine: *mut OpaqueConcurrent,
    context: u32,
    hints: u32,
) -> i32 {
    let Some(hints) = convert::hints(hints) else { return MP_INVALID };
    // SAFETY: the caller's promise.
    unsafe {
        shared::with(engine, |shared| answers::done(shared.engine().set_hints(ContextId(context), hints)))
    }
}

/// As `mp_engine_close`, from any thread at any time. Where MP_HINT_NO_ANY_SOURCE holds "sharded" tells of each source what is
/// older first, of different sources in any order; so does `mp_concurrent_visit`.
///
/// Returns MP_OK, MP_INVALID, MP_PANICKED or MP_BUSY. It may abort the process if there is no memory to list what is taken out: how
/// much that will be nobody can tell while other threads post.
///
/// # Safety
/// As `mp_concurrent_post`; `each` is as `mp_drain_fn` says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mp_concurrent_close(
    engine: *mut OpaqueConcurrent,
    context: u32,
    each: DrainFn,
    user: *mut c_void,
) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { drain(engine, each, user, |shared, drained| shared.engine().close(ContextId(context), drained)) }
}

/// As `mp_engine_fail_source`, from any thread at any time.
///
/// Returns as `mp_concurrent_close`; MP_INVALID, with nothing done, if `source` is MP_UNKNOWN_SOURCE, which is nobody who
/// could have died.
///
/// # Safety
/// As `mp_concurrent_close`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mp_concurrent_fail_source(
    engine: *mut OpaqueConcurrent,
    context: u32,
    source: u32,
    each: DrainFn,
    user: *mut c_void,
) -> i32 {
    if source == MP_UNKNOWN_SOURCE {
        return MP_INVALID;
    }
    // SAFETY: the caller's promise.
    unsafe {
        drain(engine, each, user, |shared, drained| {
            shared.engine().fail_source(ContextId(context), Rank(source), drained)
        })
    }
}

/// # Safety
/// As `mp_concurrent_close`.
unsafe fn drain(
    engine: *mut OpaqueConcurrent,
    each: DrainFn,
    user: *mut c_void,
    call: impl FnOnce(&Shared, &mut Drained),
) -> i32 {
    // SAFETY: the caller's promise.
    unsafe {
        shared::with(engine, |shared| {
            let mut drained = Drained::default();
            call(shared, &mut drained);
            shared.call_back(|| answers::drained(&drained, each, user));
            MP_OK
        })
    }
}

/// As `mp_engine_visit`, from any thread at any time, all of it at one moment: other calls wait until `each` has seen the last.
/// It must not wait for a thread that calls this engine.
///
/// Returns MP_OK, MP_INVALID, MP_PANICKED or MP_BUSY.
///
/// # Safety
/// As `mp_concurrent_post`; `each` is as `mp_visit_fn` says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mp_concurrent_visit(
    engine: *const OpaqueConcurrent,
    queue: i32,
    each: VisitFn,
    user: *mut c_void,
) -> i32 {
    let (Some(queue), Some(each)) = (arguments::queue(queue), each) else { return MP_INVALID };
    // SAFETY: the caller's promise.
    unsafe {
        shared::with(engine, |shared| {
            let mut tell = |entry| shared.call_back(|| each(user, &Entry::from(entry)));
            shared.engine().visit(queue, &mut tell);
            MP_OK
        })
    }
}

/// The number of receives posted; or MP_INVALID, MP_PANICKED, MP_BUSY, which are negative. From any thread at any time, so that a
/// tool may sample it, which may have to wait as any call may; exact while no other thread calls.
///
/// # Safety
/// As `mp_concurrent_post`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mp_concurrent_posted_len(engine: *const OpaqueConcurrent) -> i64 {
    // SAFETY: the caller's promise.
    unsafe { shared::with(engine, |shared| shared.engine().posted_len() as i64) }
}

/// The number of messages unexpected; as `mp_concurrent_posted_len`.
///
/// # Safety
/// As `mp_concurrent_post`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mp_concurrent_unexpected_len(engine: *const OpaqueConcurrent) -> i64 {
    // SAFETY: the caller's promise.
    unsafe { shared::with(engine, |shared| shared.engine().unexpected_len() as i64) }
}

/// As `mp_engine_footprint`, from any thread at any time, locks included.
///
/// Returns MP_OK, MP_INVALID, MP_PANICKED or MP_BUSY.
///
/// # Safety
/// As `mp_concurrent_post`; `footprint` is NULL or room for `size` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mp_concurrent_footprint(
    engine: *const OpaqueConcurrent,
    footprint: *mut Footprint,
    size: usize,
) -> i32 {
    if footprint.is_null() {
        return MP_INVALID;
    }
    // SAFETY: the caller's promise.
    unsafe {
        shared::with(engine, |shared| {
            hand_out(Footprint::from(shared.engine().footprint()), footprint, size);
            MP_OK
        })
    }
}
