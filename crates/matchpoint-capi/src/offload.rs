//! Engines in a separate thread: an `mp_engine` for receives, and an `mp_wire` for messages.
#![allow(unsafe_code)]

use std::ffi::{c_char, c_void};

use matchpoint::offload::{self, Busy, Offload};
use matchpoint::{ContextId, Drained, Engine, MsgId, Pair, Queue, Rank, Selector};
use matchpoint_abi::convert::refusal_status;
use matchpoint_abi::types::{
    self, Completion, DrainFn, Entry, Footprint, MP_AGAIN, MP_COMPLETION_MATCHED,
    MP_COMPLETION_MESSAGE_REFUSED, MP_COMPLETION_RECEIVE_REFUSED, MP_INVALID, MP_MATCHED, MP_OK, Outcome,
    VisitFn, Wire,
};

use crate::answers::{self, done, outcome, was_there, write_struct};
use crate::calls::{Handle, Kind};
use crate::create;

/// Default engine.
const DEFAULT: &str = "offload:engine=hybrid";

/// See `matchpoint.h`.
///
/// # Safety
/// As `matchpoint.h` demands.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mp_create_offload(
    name: *const c_char,
    engine: *mut *mut types::Engine,
    wire: *mut *mut Wire,
    error: *mut c_char,
    error_size: usize,
) -> i32 {
    if wire.is_null() {
        // SAFETY: the caller's promise.
        return unsafe { create::create_nothing("wire is NULL", engine, error, error_size) };
    }
    let mut network = None;
    let make = |name: &str| {
        let (application, messages) = offload::start(if name.is_empty() { DEFAULT } else { name })?;
        network = Some(messages);
        Ok(Handle::give_out(application, |_| [std::ptr::null(); 2]))
    };
    // SAFETY: the caller's promise; `wire` is not NULL.
    unsafe {
        let status = create::create(make, name, engine, error, error_size);
        wire.write(network.map_or(std::ptr::null_mut(), |of| Box::into_raw(Box::new(of)).cast()));
        status
    }
}

/// See `matchpoint.h`.
///
/// # Safety
/// As `matchpoint.h` demands.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mp_wire_arrive(wire: *mut Wire, message: u64, pair: u64, tag: u64) -> i32 {
    // SAFETY: the caller's promise.
    handed_in(unsafe { &mut *wire.cast::<offload::Wire>() }.arrive(answers::message(message, pair, tag)))
}

/// See `matchpoint.h`.
///
/// # Safety
/// As `matchpoint.h` demands.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mp_wire_destroy(wire: *mut Wire) {
    if !wire.is_null() {
        // SAFETY: created by `mp_create_offload`; the caller does not use it again.
        drop(unsafe { Box::from_raw(wire.cast::<offload::Wire>()) });
    }
}

fn handed_in(answer: Result<(), Busy>) -> i32 {
    answer.map_or(MP_AGAIN, |()| MP_OK)
}

fn completion(news: offload::Completion) -> Completion {
    let (receive, message, kind, status) = match news {
        offload::Completion::Matched(receive, message) => {
            (receive.0, message.0, MP_COMPLETION_MATCHED, MP_MATCHED)
        }
        offload::Completion::ReceiveRefused(receive, why) => {
            (receive.0, 0, MP_COMPLETION_RECEIVE_REFUSED, refusal_status(why))
        }
        offload::Completion::MessageRefused(message, why) => {
            (0, message.0, MP_COMPLETION_MESSAGE_REFUSED, refusal_status(why))
        }
    };
    Completion { receive, message, kind, status }
}

/// Waits until the engine's thread has taken all submitted receives, then calls the engine.
///
/// # Safety
/// As [`exclusive`](Handle::exclusive).
unsafe fn directly<A>(handle: &Handle<Offload>, call: impl FnOnce(&mut dyn Engine) -> A) -> A {
    // SAFETY: the caller's promise.
    unsafe { handle.exclusive() }.with_engine(call)
}

/// # Safety
/// As [`directly`], and `each` is as `matchpoint.h` demands.
unsafe fn drain(
    handle: &Handle<Offload>,
    each: DrainFn,
    user: *mut c_void,
    call: impl FnOnce(&mut dyn Engine, &mut Drained),
) -> i32 {
    let mut drained = Drained::default();
    // SAFETY: the caller's promise.
    unsafe {
        directly(handle, |engine| call(engine, &mut drained));
        handle.call_back(|| answers::drained(&drained, each, user));
    }
    MP_OK
}

impl Kind for Offload {
    unsafe fn post_exact(handle: &Handle<Self>, receive: u64, pair: u64, tag: u64) -> Outcome {
        // SAFETY: the caller's promise; so below.
        unsafe { <Self as Kind>::post(handle, receive, pair, tag, 0) }
    }

    unsafe fn post(handle: &Handle<Self>, receive: u64, pair: u64, tag: u64, ignore: u64) -> Outcome {
        let receive = answers::receive(receive, pair, tag, ignore);
        // SAFETY: as above.
        outcome(handed_in(unsafe { handle.exclusive() }.post(receive)), 0)
    }

    unsafe fn probe(handle: &Handle<Self>, pair: u64, tag: u64, ignore: u64) -> Outcome {
        let selector = Selector::of(Pair(pair), tag, ignore);
        // SAFETY: as above.
        answers::found(unsafe { directly(handle, |engine| engine.probe(&selector)) }.map(|MsgId(id)| id))
    }

    unsafe fn matched_probe(handle: &Handle<Self>, pair: u64, tag: u64, ignore: u64) -> Outcome {
        let selector = Selector::of(Pair(pair), tag, ignore);
        // SAFETY: as above.
        let found = unsafe { directly(handle, |engine| engine.matched_probe(&selector)) };
        answers::found(found.map(|MsgId(id)| id))
    }

    unsafe fn cancel(handle: &Handle<Self>, receive: u64, pair: u64, tag: u64, ignore: u64) -> i32 {
        let receive = answers::receive(receive, pair, tag, ignore);
        // SAFETY: as above.
        was_there(unsafe { directly(handle, |engine| engine.cancel(&receive)) })
    }

    unsafe fn retract(handle: &Handle<Self>, message: u64, pair: u64, tag: u64) -> i32 {
        let message = answers::message(message, pair, tag);
        // SAFETY: as above.
        was_there(unsafe { directly(handle, |engine| engine.retract(&message)) })
    }

    unsafe fn readdress(handle: &Handle<Self>, message: u64, pair: u64, tag: u64, source: u32) -> Outcome {
        let message = answers::message(message, pair, tag);
        // SAFETY: as above.
        answers::readdressed(unsafe { directly(handle, |engine| engine.readdress(&message, Rank(source))) })
    }

    unsafe fn set_hints(handle: &Handle<Self>, context: u32, hints: u32) -> i32 {
        let Some((context, hints)) = answers::hints(context, hints) else { return MP_INVALID };
        // SAFETY: as above.
        done(unsafe { directly(handle, |engine| engine.set_hints(context, hints)) })
    }

    unsafe fn close(handle: &Handle<Self>, context: u32, each: DrainFn, user: *mut c_void) -> i32 {
        // SAFETY: as above.
        unsafe { drain(handle, each, user, |engine, drained| engine.close(ContextId(context), drained)) }
    }

    unsafe fn fail_source(
        handle: &Handle<Self>,
        context: u32,
        source: u32,
        each: DrainFn,
        user: *mut c_void,
    ) -> i32 {
        let Some((context, source)) = answers::failed(context, source) else { return MP_INVALID };
        // SAFETY: as above.
        unsafe { drain(handle, each, user, |engine, drained| engine.fail_source(context, source, drained)) }
    }

    unsafe fn visit(handle: &Handle<Self>, queue: i32, each: VisitFn, user: *mut c_void) -> i32 {
        let (Some(queue), Some(each)) = (answers::queue(queue), each) else { return MP_INVALID };
        // SAFETY: as above.
        unsafe {
            directly(handle, |engine| {
                handle.call_back(|| engine.visit(queue, &mut |entry| each(user, &Entry::from(entry))));
            });
        }
        MP_OK
    }

    unsafe fn length(handle: &Handle<Self>, queue: i32) -> i64 {
        let Some(queue) = answers::queue(queue) else { return i64::from(MP_INVALID) };
        // SAFETY: as above.
        unsafe {
            directly(handle, |engine| match queue {
                Queue::Posted => engine.posted_len() as i64,
                Queue::Unexpected => engine.unexpected_len() as i64,
            })
        }
    }

    unsafe fn footprint(handle: &Handle<Self>, footprint: *mut Footprint, size: usize) -> i32 {
        // SAFETY: as above.
        unsafe { write_struct(directly(handle, |engine| engine.footprint()).into(), footprint, size) }
    }

    unsafe fn poll(handle: &Handle<Self>, completions: *mut Completion, room: usize) -> i64 {
        if completions.is_null() && room > 0 {
            return i64::from(MP_INVALID);
        }
        // SAFETY: as above.
        let offload = unsafe { handle.exclusive() };
        let mut count = 0;
        while count < room {
            let Some(news) = offload.poll() else { break };
            // SAFETY: there is space for `room` completions.
            unsafe { completions.add(count).write(completion(news)) };
            count += 1;
        }
        count as i64
    }

    unsafe fn fell_back(handle: &Handle<Self>) -> i32 {
        // SAFETY: as above.
        i32::from(unsafe { handle.exclusive() }.fell_back())
    }
}
