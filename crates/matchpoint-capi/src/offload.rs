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

use crate::answers::{self, done, found_status, outcome, write_struct};
use crate::calls::{Handle, Kind};
use crate::create;

/// The engine for a name that is NULL or empty.
const DEFAULT: &str = "offload:engine=hybrid";

/// See `matchpoint.h`.
///
/// # Safety
/// The arguments are as `matchpoint.h` requires.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mp_create_offload(
    name: *const c_char,
    engine: *mut *mut types::Engine,
    wire: *mut *mut Wire,
    error: *mut c_char,
    error_size: usize,
) -> i32 {
    if wire.is_null() {
        // SAFETY: the caller guarantees valid pointers.
        return unsafe { create::reject_arguments("wire is NULL", engine, error, error_size) };
    }
    let mut network = None;
    let make = |name: &str| {
        let (application, wire) = offload::start(if name.is_empty() { DEFAULT } else { name })?;
        network = Some(wire);
        Ok(Handle::into_c_engine(application, |_| [std::ptr::null(); 2]))
    };
    // SAFETY: the caller guarantees valid pointers; `wire` is not NULL.
    unsafe {
        let status = create::create(make, name, engine, error, error_size);
        wire.write(network.map_or(std::ptr::null_mut(), |wire| Box::into_raw(Box::new(wire)).cast()));
        status
    }
}

/// See `matchpoint.h`.
///
/// # Safety
/// The arguments are as `matchpoint.h` requires.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mp_wire_arrive(wire: *mut Wire, message: u64, pair: u64, tag: u64) -> i32 {
    // SAFETY: the caller guarantees a valid `wire`, in one thread at a time.
    submit_status(unsafe { &mut *wire.cast::<offload::Wire>() }.arrive(answers::message(message, pair, tag)))
}

/// See `matchpoint.h`.
///
/// # Safety
/// The arguments are as `matchpoint.h` requires.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mp_wire_destroy(wire: *mut Wire) {
    if !wire.is_null() {
        // SAFETY: created by `mp_create_offload`; the caller does not use it again.
        drop(unsafe { Box::from_raw(wire.cast::<offload::Wire>()) });
    }
}

fn submit_status(answer: Result<(), Busy>) -> i32 {
    answer.map_or(MP_AGAIN, |()| MP_OK)
}

fn completion(completion: offload::Completion) -> Completion {
    let (receive, message, kind, status) = match completion {
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

/// Waits until the engine's thread has taken all submitted receives, then calls the engine.
///
/// # Safety
/// The requirements of [`exclusive`](Handle::exclusive) hold.
unsafe fn call_engine<A>(handle: &Handle<Offload>, call: impl FnOnce(&mut dyn Engine) -> A) -> A {
    // SAFETY: the caller guarantees exclusive access.
    unsafe { handle.exclusive() }.with_engine(call)
}

/// # Safety
/// The requirements of [`call_engine`] hold, and `each` is as `matchpoint.h` requires.
unsafe fn drain(
    handle: &Handle<Offload>,
    each: DrainFn,
    user: *mut c_void,
    call: impl FnOnce(&mut dyn Engine, &mut Drained),
) -> i32 {
    let mut drained = Drained::default();
    // SAFETY: the caller guarantees exclusive access and a valid callback.
    unsafe {
        call_engine(handle, |engine| call(engine, &mut drained));
        handle.run_callbacks(|| answers::drained(&drained, each, user));
    }
    MP_OK
}

impl Kind for Offload {
    unsafe fn post_exact(handle: &Handle<Self>, receive: u64, pair: u64, tag: u64) -> Outcome {
        // SAFETY: the caller guarantees what `matchpoint.h` requires of this function.
        unsafe { <Self as Kind>::post(handle, receive, pair, tag, 0) }
    }

    unsafe fn post(handle: &Handle<Self>, receive: u64, pair: u64, tag: u64, ignore: u64) -> Outcome {
        let receive = answers::receive(receive, pair, tag, ignore);
        // SAFETY: as for `post_exact`.
        outcome(submit_status(unsafe { handle.exclusive() }.post(receive)), 0)
    }

    unsafe fn probe(handle: &Handle<Self>, pair: u64, tag: u64, ignore: u64) -> Outcome {
        let selector = Selector::of(Pair(pair), tag, ignore);
        // SAFETY: as for `post_exact`.
        answers::found(unsafe { call_engine(handle, |engine| engine.probe(&selector)) }.map(|MsgId(id)| id))
    }

    unsafe fn matched_probe(handle: &Handle<Self>, pair: u64, tag: u64, ignore: u64) -> Outcome {
        let selector = Selector::of(Pair(pair), tag, ignore);
        // SAFETY: as for `post_exact`.
        let found = unsafe { call_engine(handle, |engine| engine.matched_probe(&selector)) };
        answers::found(found.map(|MsgId(id)| id))
    }

    unsafe fn cancel(handle: &Handle<Self>, receive: u64, pair: u64, tag: u64, ignore: u64) -> i32 {
        let receive = answers::receive(receive, pair, tag, ignore);
        // SAFETY: as for `post_exact`.
        found_status(unsafe { call_engine(handle, |engine| engine.cancel(&receive)) })
    }

    unsafe fn retract(handle: &Handle<Self>, message: u64, pair: u64, tag: u64) -> i32 {
        let message = answers::message(message, pair, tag);
        // SAFETY: as for `post_exact`.
        found_status(unsafe { call_engine(handle, |engine| engine.retract(&message)) })
    }

    unsafe fn readdress(handle: &Handle<Self>, message: u64, pair: u64, tag: u64, source: u32) -> Outcome {
        let message = answers::message(message, pair, tag);
        // SAFETY: as for `post_exact`.
        answers::readdressed(unsafe {
            call_engine(handle, |engine| engine.readdress(&message, Rank(source)))
        })
    }

    unsafe fn set_hints(handle: &Handle<Self>, context: u32, hints: u32) -> i32 {
        let Some((context, hints)) = answers::hints(context, hints) else { return MP_INVALID };
        // SAFETY: as for `post_exact`.
        done(unsafe { call_engine(handle, |engine| engine.set_hints(context, hints)) })
    }

    unsafe fn close(handle: &Handle<Self>, context: u32, each: DrainFn, user: *mut c_void) -> i32 {
        // SAFETY: as for `post_exact`.
        unsafe { drain(handle, each, user, |engine, drained| engine.close(ContextId(context), drained)) }
    }

    unsafe fn fail_source(
        handle: &Handle<Self>,
        context: u32,
        source: u32,
        each: DrainFn,
        user: *mut c_void,
    ) -> i32 {
        let Some((context, source)) = answers::failed_source(context, source) else { return MP_INVALID };
        // SAFETY: as for `post_exact`.
        unsafe { drain(handle, each, user, |engine, drained| engine.fail_source(context, source, drained)) }
    }

    unsafe fn visit(handle: &Handle<Self>, queue: i32, each: VisitFn, user: *mut c_void) -> i32 {
        let (Some(queue), Some(each)) = (answers::queue(queue), each) else { return MP_INVALID };
        // SAFETY: as for `post_exact`.
        unsafe {
            call_engine(handle, |engine| {
                handle.run_callbacks(|| engine.visit(queue, &mut |entry| each(user, &Entry::from(entry))));
            });
        }
        MP_OK
    }

    unsafe fn length(handle: &Handle<Self>, queue: i32) -> i64 {
        let Some(queue) = answers::queue(queue) else { return i64::from(MP_INVALID) };
        // SAFETY: as for `post_exact`.
        unsafe {
            call_engine(handle, |engine| match queue {
                Queue::Posted => engine.posted_len() as i64,
                Queue::Unexpected => engine.unexpected_len() as i64,
            })
        }
    }

    unsafe fn footprint(handle: &Handle<Self>, footprint: *mut Footprint, size: usize) -> i32 {
        // SAFETY: as for `post_exact`.
        unsafe { write_struct(call_engine(handle, |engine| engine.footprint()).into(), footprint, size) }
    }

    unsafe fn poll(handle: &Handle<Self>, completions: *mut Completion, room: usize) -> i64 {
        if completions.is_null() && room > 0 {
            return i64::from(MP_INVALID);
        }
        // SAFETY: as for `post_exact`.
        let offload = unsafe { handle.exclusive() };
        let mut count = 0;
        while count < room {
            let Some(next) = offload.poll() else { break };
            // SAFETY: there is space for `room` completions.
            unsafe { completions.add(count).write(completion(next)) };
            count += 1;
        }
        count as i64
    }

    unsafe fn fell_back(handle: &Handle<Self>) -> i32 {
        // SAFETY: as for `post_exact`.
        i32::from(unsafe { handle.exclusive() }.fell_back())
    }
}
