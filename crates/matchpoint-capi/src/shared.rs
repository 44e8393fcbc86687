//! Engines for any thread at any time.
#![allow(unsafe_code)]

use std::cell::Cell;
use std::ffi::c_void;
use std::ptr;

use matchpoint::concurrent::Concurrent;
use matchpoint::{ContextId, Drained, MsgId, Pair, Queue, Rank, RecvId, Selector, Tag};
use matchpoint_abi::types::{
    self, DeliverFn, DrainFn, Entry, Footprint, MP_BUSY, MP_INVALID, MP_OK, Outcome, VisitFn,
};

use crate::answers::{self, Batch, Delivery, done, matched, was_there, write_struct};
use crate::calls::{Handle, Kind};

/// An engine for all threads.
pub(crate) struct Shared(Box<dyn Concurrent>);

/// A callback of this thread, and the enclosing callback.
struct Callback {
    of: *const Shared,
    outer: *const Callback,
}

thread_local! {
    /// The innermost callback. Callbacks run with locks of their engine held, so a call from a callback would deadlock.
    static INNERMOST: Cell<*const Callback> = const { Cell::new(ptr::null()) };
}

/// An engine for C.
pub(crate) fn give_out(engine: Box<dyn Concurrent>) -> *mut types::Engine {
    Handle::give_out(Shared(engine), |_| [ptr::null(); 2])
}

impl Shared {
    /// Calls a function of the program.
    fn call_back<A>(&self, callback: impl FnOnce() -> A) -> A {
        let this = Callback { of: self, outer: INNERMOST.get() };
        INNERMOST.set(&raw const this);
        // C does not unwind, so the reset always runs.
        let answer = callback();
        INNERMOST.set(this.outer);
        answer
    }

    /// Returns true if this thread is in a callback of this engine.
    fn calls_back(&self) -> bool {
        let mut callback = INNERMOST.get();
        // SAFETY: callbacks of this thread are in older frames of its stack.
        while let Some(Callback { of, outer }) = unsafe { callback.as_ref() } {
            if ptr::eq(*of, self) {
                return true;
            }
            callback = *outer;
        }
        false
    }
}

/// Calls the engine, unless this thread is in one of its callbacks.
#[inline]
fn call<A: crate::calls::Answer>(
    handle: &Handle<Shared>,
    call: impl FnOnce(&Shared, &dyn Concurrent) -> A,
) -> A {
    let shared = handle.shared();
    if shared.calls_back() { A::status(MP_BUSY) } else { call(shared, &*shared.0) }
}

fn drain(
    handle: &Handle<Shared>,
    each: DrainFn,
    user: *mut c_void,
    drains: impl FnOnce(&dyn Concurrent, &mut Drained),
) -> i32 {
    call(handle, |shared, engine| {
        let mut drained = Drained::default();
        drains(engine, &mut drained);
        // SAFETY: the caller of a method below promises it.
        shared.call_back(|| unsafe { answers::drained(&drained, each, user) });
        MP_OK
    })
}

impl Kind for Shared {
    unsafe fn post_exact(handle: &Handle<Self>, receive: u64, pair: u64, tag: u64) -> Outcome {
        call(handle, |_, engine| {
            matched(engine.post_exact(RecvId(receive), Pair(pair), Tag(tag)), |MsgId(id)| id)
        })
    }

    unsafe fn post(handle: &Handle<Self>, receive: u64, pair: u64, tag: u64, ignore: u64) -> Outcome {
        call(handle, |_, engine| {
            let selector = Selector::of(Pair(pair), tag, ignore);
            matched(engine.post_selector(RecvId(receive), &selector), |MsgId(id)| id)
        })
    }

    unsafe fn arrive(handle: &Handle<Self>, message: u64, pair: u64, tag: u64) -> Outcome {
        call(handle, |_, engine| {
            matched(engine.arrive(MsgId(message), Pair(pair), Tag(tag)), |RecvId(id)| id)
        })
    }

    unsafe fn probe(handle: &Handle<Self>, pair: u64, tag: u64, ignore: u64) -> Outcome {
        call(handle, |_, engine| {
            answers::found(engine.probe(&Selector::of(Pair(pair), tag, ignore)).map(|MsgId(id)| id))
        })
    }

    unsafe fn matched_probe(handle: &Handle<Self>, pair: u64, tag: u64, ignore: u64) -> Outcome {
        call(handle, |_, engine| {
            answers::found(engine.matched_probe(&Selector::of(Pair(pair), tag, ignore)).map(|MsgId(id)| id))
        })
    }

    unsafe fn arrive_batch(
        handle: &Handle<Self>,
        messages: *const types::Message,
        count: usize,
        outcomes: *mut Outcome,
        done: *mut usize,
        deliver: DeliverFn,
        user: *mut c_void,
    ) -> i32 {
        // SAFETY: the caller's promise.
        let Some(batch) = (unsafe { Batch::new(messages, count, outcomes, done) }) else { return MP_INVALID };
        call(handle, |shared, engine| {
            // Memory of this call: threads with shared memory would wait for each other.
            batch.arrive(&mut Vec::new(), &mut Vec::new(), |messages, out| match deliver {
                None => engine.arrive_batch(messages, out),
                Some(deliver) => {
                    let delivery = Delivery { deliver, user };
                    let deliver = |number, receive| shared.call_back(|| delivery.call(number, receive));
                    engine.deliver_batch(messages, out, &deliver)
                }
            })
        })
    }

    unsafe fn cancel(handle: &Handle<Self>, receive: u64, pair: u64, tag: u64, ignore: u64) -> i32 {
        call(handle, |_, engine| was_there(engine.cancel(&answers::receive(receive, pair, tag, ignore))))
    }

    unsafe fn retract(handle: &Handle<Self>, message: u64, pair: u64, tag: u64) -> i32 {
        call(handle, |_, engine| was_there(engine.retract(&answers::message(message, pair, tag))))
    }

    unsafe fn readdress(handle: &Handle<Self>, message: u64, pair: u64, tag: u64, source: u32) -> Outcome {
        let message = answers::message(message, pair, tag);
        call(handle, |_, engine| answers::readdressed(engine.readdress(&message, Rank(source))))
    }

    unsafe fn set_hints(handle: &Handle<Self>, context: u32, hints: u32) -> i32 {
        let Some((context, hints)) = answers::hints(context, hints) else { return MP_INVALID };
        call(handle, |_, engine| done(engine.set_hints(context, hints)))
    }

    unsafe fn close(handle: &Handle<Self>, context: u32, each: DrainFn, user: *mut c_void) -> i32 {
        drain(handle, each, user, |engine, drained| engine.close(ContextId(context), drained))
    }

    unsafe fn fail_source(
        handle: &Handle<Self>,
        context: u32,
        source: u32,
        each: DrainFn,
        user: *mut c_void,
    ) -> i32 {
        let Some((context, source)) = answers::failed(context, source) else { return MP_INVALID };
        drain(handle, each, user, |engine, drained| engine.fail_source(context, source, drained))
    }

    unsafe fn visit(handle: &Handle<Self>, queue: i32, each: VisitFn, user: *mut c_void) -> i32 {
        let (Some(queue), Some(each)) = (answers::queue(queue), each) else { return MP_INVALID };
        call(handle, |shared, engine| {
            // SAFETY: the caller's promise.
            let mut each = |entry| shared.call_back(|| unsafe { each(user, &Entry::from(entry)) });
            engine.visit(queue, &mut each);
            MP_OK
        })
    }

    unsafe fn length(handle: &Handle<Self>, queue: i32) -> i64 {
        call(handle, |_, engine| match answers::queue(queue) {
            Some(Queue::Posted) => engine.posted_len() as i64,
            Some(Queue::Unexpected) => engine.unexpected_len() as i64,
            None => i64::from(MP_INVALID),
        })
    }

    unsafe fn footprint(handle: &Handle<Self>, footprint: *mut Footprint, size: usize) -> i32 {
        // SAFETY: the caller's promise.
        call(handle, |_, engine| unsafe { write_struct(engine.footprint().into(), footprint, size) })
    }

    fn may_end(handle: &Handle<Self>) -> bool {
        !handle.shared().calls_back()
    }
}

#[cfg(test)]
mod tests {
    use matchpoint::concurrent;
    use matchpoint_abi::types::Engine;

    use super::*;

    fn engine() -> *mut Engine {
        give_out(concurrent::create("locked:engine=list").unwrap())
    }

    /// Calls an engine of [`engine`], from any thread.
    fn length(engine: usize) -> i64 {
        // SAFETY: the engine is not destroyed yet.
        unsafe { Shared::length(&*(engine as *const Handle<Shared>), types::MP_QUEUE_POSTED) }
    }

    #[test]
    fn callbacks_cannot_call_their_engine() {
        let (one, two) = (engine() as usize, engine() as usize);
        // SAFETY: engines of `give_out`.
        let [first, second] = [one, two].map(|engine| unsafe { &*(engine as *const Handle<Shared>) });
        first.shared().call_back(|| {
            assert!(length(one) == i64::from(MP_BUSY) && !Shared::may_end(first));
            assert_eq!(std::thread::spawn(move || length(one)).join().unwrap(), 0);
            assert_eq!(length(two), 0);
            second.shared().call_back(|| assert_eq!([length(one), length(two)], [i64::from(MP_BUSY); 2]));
        });
        assert_eq!(length(one), 0);
        for engine in [one, two] {
            // SAFETY: an engine of `give_out`, and no call uses it.
            let destroyed = unsafe { (Shared::CALLS.destroy.unwrap())(engine as *mut Engine) };
            assert_eq!(destroyed, MP_OK);
        }
    }

    #[test]
    fn searches_without_queueing_are_missing() {
        let engine = engine();
        // SAFETY: an engine of `give_out`.
        let handle = unsafe { &*engine.cast::<Handle<Shared>>() };
        // SAFETY: the arguments are words.
        assert_eq!(unsafe { Shared::take_receive(handle, 0, 0) }, answers::outcome(MP_INVALID, 0));
        // SAFETY: no call uses it.
        assert_eq!(unsafe { (Shared::CALLS.destroy.unwrap())(engine) }, MP_OK);
    }
}
