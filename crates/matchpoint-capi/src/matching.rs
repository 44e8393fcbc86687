//! The calls that a program waits for: post, arrive, probe.
#![allow(unsafe_code)]

use std::ffi::c_void;

use matchpoint::{Engine, MsgId, Receive, RecvId, Refused};
use matchpoint_abi::convert::refusal_status;
use matchpoint_abi::types::{
    DeliverFn, Envelope, MP_FOUND, MP_INVALID, MP_MATCHED, MP_NONE, MP_OK, MP_QUEUED, MP_REFUSED_MEMORY,
    Message, Opaque, Outcome, Selector,
};

use crate::handle::{self, Held};

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
    let Some(asked) = (unsafe { selector.as_ref() }).and_then(Selector::read) else { return MP_INVALID };
    if message.is_null() {
        return MP_INVALID;
    }
    // SAFETY: the caller's promise.
    unsafe {
        handle::with(engine, |held| match held.engine.post(Receive::new(RecvId(receive), asked)) {
            Ok(None) => MP_QUEUED,
            Ok(Some(found)) => {
                message.write(found.0);
                MP_MATCHED
            }
            Err(refused) => refusal_status(refused),
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
    let arrived = unsafe { envelope.as_ref() }.and_then(|envelope| envelope.read(message));
    let Some(arrived) = arrived else { return MP_INVALID };
    if receive.is_null() {
        return MP_INVALID;
    }
    // SAFETY: the caller's promise.
    unsafe {
        handle::with(engine, |held| match held.engine.arrive(arrived) {
            Ok(None) => MP_QUEUED,
            Ok(Some(found)) => {
                receive.write(found.0);
                MP_MATCHED
            }
            Err(refused) => refusal_status(refused),
        })
    }
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
    let delivery = Delivery { deliver, user };
    // SAFETY: the caller's promise.
    unsafe {
        batch(engine, (messages, count), (outcomes, done), |engine, messages, out| {
            engine.deliver_batch(messages, out, &|number, receive| delivery.of(number, receive))
        })
    }
}

/// A program's callback.
struct Delivery {
    deliver: unsafe extern "C" fn(*mut c_void, usize, u64),
    user: *mut c_void,
}

// SAFETY: the program promised a function, and a pointer for it, that are good for several threads at once.
unsafe impl Sync for Delivery {}

impl Delivery {
    #[inline]
    fn of(&self, number: usize, receive: RecvId) {
        // SAFETY: it is told what the program wants to be told, while the call lasts.
        unsafe { (self.deliver)(self.user, number, receive.0) }
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
    let is_missing = count > 0 && (messages.is_null() || outcomes.is_null());
    if is_missing || done.is_null() {
        return MP_INVALID;
    }
    let given = if count == 0 {
        &[]
    } else {
        // SAFETY: not NULL, and the caller's promise of `count` elements.
        unsafe { std::slice::from_raw_parts(messages, count) }
    };
    // SAFETY: the caller's promise.
    unsafe {
        handle::with(engine, |held| {
            let (status, matched) = matched(held, given, call);
            if status == MP_INVALID {
                return status;
            }
            for (at, found) in matched.iter().enumerate() {
                let status = if found.is_some() { MP_MATCHED } else { MP_QUEUED };
                let receive = found.map_or(0, |found| found.0);
                outcomes.add(at).write(Outcome { receive, status, reserved: 0 });
            }
            done.write(matched.len());
            status
        })
    }
}

/// The status, and an outcome for each message before the one refused.
fn matched<'a>(
    held: &'a mut Held,
    given: &[Message],
    call: impl FnOnce(&mut dyn Engine, &[matchpoint::Message], &mut Vec<Option<RecvId>>) -> Result<(), Refused>,
) -> (i32, &'a [Option<RecvId>]) {
    let Held { engine, messages, outcomes, .. } = held;
    messages.clear();
    outcomes.clear();
    let room = messages.try_reserve(given.len()).and_then(|()| outcomes.try_reserve(given.len()));
    if room.is_err() {
        return (MP_REFUSED_MEMORY, outcomes);
    }
    messages.extend(given.iter().map_while(|message| message.envelope.read(message.id)));
    if messages.len() < given.len() {
        return (MP_INVALID, outcomes);
    }
    let status = call(&mut **engine, messages, outcomes).map_or_else(refusal_status, |()| MP_OK);
    (status, outcomes)
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
    unsafe { look(engine, selector, message, |engine, asked| engine.probe(asked)) }
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
    unsafe { look(engine, selector, message, |engine, asked| engine.matched_probe(asked)) }
}

/// # Safety
/// As `mp_engine_post`.
unsafe fn look(
    engine: *mut Opaque,
    selector: *const Selector,
    message: *mut u64,
    call: impl FnOnce(&mut dyn Engine, &matchpoint::Selector) -> Option<MsgId>,
) -> i32 {
    // SAFETY: the caller's promise.
    let Some(asked) = (unsafe { selector.as_ref() }).and_then(Selector::read) else { return MP_INVALID };
    if message.is_null() {
        return MP_INVALID;
    }
    // SAFETY: the caller's promise.
    unsafe {
        handle::with(engine, |held| match call(&mut *held.engine, &asked) {
            None => MP_NONE,
            Some(found) => {
                message.write(found.0);
                MP_FOUND
            }
        })
    }
}
