//! The calls that a program waits for: post, arrive, probe.
#![allow(unsafe_code)]

use std::ffi::c_void;

use matchpoint::{Engine, Receive, RecvId, Refused};
use matchpoint_abi::types::{DeliverFn, Envelope, MP_INVALID, Message, Opaque, Outcome, Selector};

use crate::answers::Delivery;
use crate::handle::{self, Held};
use crate::{answers, arguments};

/// Posts a receive called `receive`: it takes the earliest unexpected message it matches; if none, it joins the posted
/// queue (MPI-4.1 section 3.5).
///
/// `receive` is any number that no receive posted at the same time has: an index, a pointer. A table that reuses
/// its places puts a generation beside the place, so that a stale `mp_engine_cancel` finds nothing.
///
/// Returns MP_MATCHED and writes the message to `*message`, or MP_QUEUED; or MP_REFUSED_HINT if a wildcard breaks an
/// assertion, MP_REFUSED_FULL, MP_REFUSED_MEMORY, MP_INVALID, MP_PANICKED, MP_BUSY. Time: see docs/engines.md.
///
/// # Safety
/// `engine` is NULL, or was made by this library and not destroyed, and no other thread is in a call on it. The other
/// pointers are NULL or point to what their type says. So it is in every function below.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mp_engine_post(
    engine: *mut Opaque,
    receive: u64,
    selector: *const Selector,
    message: *mut u64,
) -> i32 {
    // SAFETY: the caller's promise.
    let Some(asked) = (unsafe { arguments::selector(selector, message) }) else { return MP_INVALID };
    // SAFETY: the caller's promise; `message` is not NULL.
    unsafe {
        handle::with(engine, |held| {
            answers::matched(held.engine.post(Receive::new(RecvId(receive), asked)), message)
        })
    }
}

/// Tells of a message called `message` that arrived: it takes the earliest posted receive it matches; if none, it
/// joins the unexpected queue.
///
/// `message` is any number that no message unexpected at the same time has. Messages of a context that nothing was
/// posted to yet are queued: peers may finish creating a communicator first.
///
/// Returns MP_MATCHED and writes the receive to `*receive`, or MP_QUEUED; or MP_REFUSED_HINT if it would have to wait
/// where MP_HINT_NO_UNEXPECTED was asserted, MP_REFUSED_FULL, MP_REFUSED_MEMORY, MP_INVALID, MP_PANICKED, MP_BUSY.
/// Time: see docs/engines.md.
///
/// # Safety
/// As `mp_engine_post`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mp_engine_arrive(
    engine: *mut Opaque,
    message: u64,
    envelope: *const Envelope,
    receive: *mut u64,
) -> i32 {
    // SAFETY: the caller's promise.
    let Some(arrived) = (unsafe { arguments::message(message, envelope, receive) }) else {
        return MP_INVALID;
    };
    // SAFETY: the caller's promise; `receive` is not NULL.
    unsafe { handle::with(engine, |held| answers::matched(held.engine.arrive_message(arrived), receive)) }
}

/// The same as `mp_engine_arrive` on each of `count` messages in turn: one crossing of the interface instead of `count`.
/// `optimistic_parallel` matches them by several threads, other engines one by one; the order of matches is that of single calls.
/// Stops at the first message that is refused.
///
/// `*done` becomes the number of messages before that one, `count` if there is none; so many of `outcomes` are written.
///
/// Returns MP_OK if all were taken, else why `messages[*done]` was not: MP_REFUSED_HINT, MP_REFUSED_FULL,
/// MP_REFUSED_MEMORY. With MP_INVALID, MP_PANICKED or MP_BUSY nothing is written. It allocates only if no batch before
/// was as large.
///
/// # Safety
/// As `mp_engine_post`; `messages` and `outcomes` are NULL or have `count` elements.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mp_engine_arrive_batch(
    engine: *mut Opaque,
    messages: *const Message,
    count: usize,
    outcomes: *mut Outcome,
    done: *mut usize,
) -> i32 {
    // SAFETY: the caller's promise.
    unsafe {
        batch(engine, (messages, count), (outcomes, done), |engine, messages, out| {
            engine.arrive_batch(messages, out)
        })
    }
}

/// The same as `mp_engine_arrive_batch`, and calls `deliver` once for each message that takes a receive, as soon as that is
/// certain and before it returns: with `user`, the message's place in `messages` and the receive. `outcomes` and `*done` are
/// written after that.
///
/// `optimistic_parallel` calls it in the calling thread and in threads of its own, several at once, in any order; all other
/// engines in the calling thread, in the order of messages. The library's threads are called matchpoint-worker, have a stack of
/// 2 MiB (or what RUST_MIN_STACK says), and mask the signals that the thread masked that handed in the engine's first batch.
///
/// Returns as `mp_engine_arrive_batch`; MP_INVALID if `deliver` is NULL, too. If a message is refused nothing is delivered of it
/// and of those behind it; those before it were. With MP_PANICKED any of them may have been.
///
/// # Safety
/// As `mp_engine_arrive_batch`; `deliver` is as `mp_deliver_fn` says, and `user` is good for any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mp_engine_deliver_batch(
    engine: *mut Opaque,
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
        batch(engine, (messages, count), (outcomes, done), |engine, messages, out| {
            engine.deliver_batch(messages, out, &|number, receive| delivery.of(number, receive))
        })
    }
}

/// Makes a call with a batch.
///
/// # Safety
/// As `mp_engine_arrive_batch`.
unsafe fn batch(
    engine: *mut Opaque,
    (messages, count): (*const Message, usize),
    (outcomes, done): (*mut Outcome, *mut usize),
    call: impl FnOnce(&mut dyn Engine, &[matchpoint::Message], &mut Vec<Option<RecvId>>) -> Result<(), Refused>,
) -> i32 {
    // SAFETY: the caller's promise.
    let Some(given) = (unsafe { arguments::batch((messages, count), (outcomes, done)) }) else {
        return MP_INVALID;
    };
    // SAFETY: the caller's promise; there are no more outcomes than messages.
    unsafe {
        handle::with(engine, |held| {
            let Held { engine, messages, outcomes: matched, .. } = held;
            matched.clear();
            let room = matched.try_reserve(given.len()).map_err(|_| Refused::Memory);
            let answer = match room.and_then(|()| arguments::read_batch(given, messages)) {
                Ok(()) => call(&mut **engine, messages, matched),
                Err(refused) => Err(refused),
            };
            answers::batch(answer, matched, (outcomes, done))
        })
    }
}

/// Finds the message that a receive with this selector would take now, and leaves it in place (MPI_Iprobe).
///
/// Returns MP_FOUND and writes the message to `*message`, or MP_NONE: a selector that breaks an assertion finds
/// nothing. Else MP_INVALID, MP_PANICKED, MP_BUSY. Time: that of `mp_engine_post`.
///
/// # Safety
/// As `mp_engine_post`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mp_engine_probe(
    engine: *mut Opaque,
    selector: *const Selector,
    message: *mut u64,
) -> i32 {
    // SAFETY: the caller's promise.
    let Some(asked) = (unsafe { arguments::selector(selector, message) }) else { return MP_INVALID };
    // SAFETY: the caller's promise; `message` is not NULL.
    unsafe { handle::with(engine, |held| answers::seen(held.engine.probe(&asked), message)) }
}

/// Finds the message that a receive with this selector would take now, and takes it: no receive or probe sees it any
/// more (MPI_Improbe).
///
/// Returns as `mp_engine_probe`.
///
/// # Safety
/// As `mp_engine_post`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mp_engine_matched_probe(
    engine: *mut Opaque,
    selector: *const Selector,
    message: *mut u64,
) -> i32 {
    // SAFETY: the caller's promise.
    let Some(asked) = (unsafe { arguments::selector(selector, message) }) else { return MP_INVALID };
    // SAFETY: the caller's promise; `message` is not NULL.
    unsafe { handle::with(engine, |held| answers::seen(held.engine.matched_probe(&asked), message)) }
}
