//! Engines that any thread may call at any time.
#![allow(unsafe_code)]

use std::cell::Cell;
use std::ffi::c_void;
use std::ptr;

use matchpoint::concurrent::Concurrent;
use matchpoint::{ContextId, Drained, MsgId, Pair, Queue, Rank, RecvId, Selector, Tag};
use matchpoint_abi::types::{
    self, DeliverFn, DrainFn, Entry, Footprint, MP_BUSY, MP_INVALID, MP_OK, Outcome, VisitFn,
};

use crate::answers::{self, Batch, Delivery, done, found_status, matched, write_struct};
use crate::calls::{Handle, Kind};

pub(crate) struct Shared(Box<dyn Concurrent>);

/// A running callback of this thread, and the callback that encloses it.
struct Callback {
    engine: *const Shared,
    outer: *const Callback,
}

thread_local! {
    /// The innermost callback of this thread. A callback runs while locks of its engine are held, so a call
    /// of the same engine would deadlock.
    static INNERMOST: Cell<*const Callback> = const { Cell::new(ptr::null()) };
}

pub(crate) fn into_c_engine(engine: Box<dyn Concurrent>) -> *mut types::Engine {
    Handle::into_c_engine(Shared(engine), |_| [ptr::null(); 2])
}

impl Shared {
    fn run_callbacks<A>(&self, callback: impl FnOnce() -> A) -> A {
        let this = Callback { engine: self, outer: INNERMOST.get() };
        INNERMOST.set(&raw const this);
        // C code does not unwind, so the reset always runs.
        let answer = callback();
        INNERMOST.set(this.outer);
        answer
    }

    fn is_in_callback(&self) -> bool {
        let mut callback = INNERMOST.get();
        // SAFETY: each enclosing callback is still on the stack of this thread.
        while let Some(Callback { engine, outer }) = unsafe { callback.as_ref() } {
            if ptr::eq(*engine, self) {
                return true;
            }
            callback = *outer;
        }
        false
    }
}

/// Calls the engine. Returns `MP_BUSY` if this thread is in a callback of the engine.
#[inline]
fn call<A: crate::calls::CallResult>(
    handle: &Handle<Shared>,
    call: impl FnOnce(&Shared, &dyn Concurrent) -> A,
) -> A {
    let shared = handle.shared();
    if shared.is_in_callback() { A::status(MP_BUSY) } else { call(shared, &*shared.0) }
}

fn drain(
    handle: &Handle<Shared>,
    each: DrainFn,
    user: *mut c_void,
    remove: impl FnOnce(&dyn Concurrent, &mut Drained),
) -> i32 {
    call(handle, |shared, engine| {
        let mut drained = Drained::default();
        remove(engine, &mut drained);
        // SAFETY: the callers of `close` and `fail_source` guarantee a valid callback.
        shared.run_callbacks(|| unsafe { answers::drained(&drained, each, user) });
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
        // SAFETY: the caller guarantees what `matchpoint.h` requires of this function.
        let Some(batch) = (unsafe { Batch::new(messages, count, outcomes, done) }) else { return MP_INVALID };
        call(handle, |shared, engine| {
            // Each call allocates its buffers: threads with shared buffers would wait for each other.
            batch.arrive(&mut Vec::new(), &mut Vec::new(), |messages, out| match deliver {
                None => engine.arrive_batch(messages, out),
                Some(deliver) => {
                    let delivery = Delivery { deliver, user };
                    let deliver = |number, receive| shared.run_callbacks(|| delivery.call(number, receive));
                    engine.deliver_batch(messages, out, &deliver)
                }
            })
        })
    }

    unsafe fn cancel(handle: &Handle<Self>, receive: u64, pair: u64, tag: u64, ignore: u64) -> i32 {
        call(handle, |_, engine| found_status(engine.cancel(&answers::receive(receive, pair, tag, ignore))))
    }

    unsafe fn retract(handle: &Handle<Self>, message: u64, pair: u64, tag: u64) -> i32 {
        call(handle, |_, engine| found_status(engine.retract(&answers::message(message, pair, tag))))
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
        let Some((context, source)) = answers::failed_source(context, source) else { return MP_INVALID };
        drain(handle, each, user, |engine, drained| engine.fail_source(context, source, drained))
    }

    unsafe fn visit(handle: &Handle<Self>, queue: i32, each: VisitFn, user: *mut c_void) -> i32 {
        let (Some(queue), Some(each)) = (answers::queue(queue), each) else { return MP_INVALID };
        call(handle, |shared, engine| {
            // SAFETY: the caller guarantees what `matchpoint.h` requires of this function.
            let mut each = |entry| shared.run_callbacks(|| unsafe { each(user, &Entry::from(entry)) });
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
        // SAFETY: the caller guarantees what `matchpoint.h` requires of this function.
        call(handle, |_, engine| unsafe { write_struct(engine.footprint().into(), footprint, size) })
    }

    fn may_be_destroyed(handle: &Handle<Self>) -> bool {
        !handle.shared().is_in_callback()
    }
}

#[cfg(test)]
mod tests {
    use matchpoint::concurrent;
    use matchpoint_abi::types::Engine;

    use super::*;

    fn engine() -> *mut Engine {
        into_c_engine(concurrent::create("locked:engine=list").unwrap())
    }

    /// Returns `mp_posted_len` of an engine of [`engine`]. The number is the engine's address, because other
    /// threads take no pointer.
    fn length(engine: usize) -> i64 {
        // SAFETY: the engine is not destroyed yet.
        unsafe { Shared::length(&*(engine as *const Handle<Shared>), types::MP_QUEUE_POSTED) }
    }

    #[test]
    fn call_from_callback_returns_busy() {
        let (one, two) = (engine() as usize, engine() as usize);
        // SAFETY: engines of `into_c_engine`.
        let [first, second] = [one, two].map(|engine| unsafe { &*(engine as *const Handle<Shared>) });
        first.shared().run_callbacks(|| {
            assert!(length(one) == i64::from(MP_BUSY) && !Shared::may_be_destroyed(first));
            assert_eq!(std::thread::spawn(move || length(one)).join().unwrap(), 0);
            assert_eq!(length(two), 0);
            second.shared().run_callbacks(|| assert_eq!([length(one), length(two)], [i64::from(MP_BUSY); 2]));
        });
        assert_eq!(length(one), 0);
        for engine in [one, two] {
            // SAFETY: an engine of `into_c_engine`, and no call uses it.
            let destroyed = unsafe { (Shared::CALLS.destroy.unwrap())(engine as *mut Engine) };
            assert_eq!(destroyed, MP_OK);
        }
    }

    #[test]
    fn take_receive_returns_invalid() {
        let engine = engine();
        // SAFETY: an engine of `into_c_engine`.
        let handle = unsafe { &*engine.cast::<Handle<Shared>>() };
        // SAFETY: the arguments are words.
        assert_eq!(unsafe { Shared::take_receive(handle, 0, 0) }, answers::outcome(MP_INVALID, 0));
        // SAFETY: no call uses the engine.
        assert_eq!(unsafe { (Shared::CALLS.destroy.unwrap())(engine) }, MP_OK);
    }
}
