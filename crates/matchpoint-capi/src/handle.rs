//! What the pointers point to that one thread at a time may use (`mp_engine *`, `mp_offload *`, `mp_wire *`), and the one way in:
//! NULL, panics and calls from within a call end here.
#![allow(unsafe_code)]

use std::cell::UnsafeCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU8, Ordering::Relaxed};

use matchpoint::hints::HintTable;
use matchpoint::offload::{Offload, Wire};
use matchpoint::{Drained, Engine, Message, RecvId};
use matchpoint_abi::types::{
    MP_BUSY, MP_INVALID, MP_OK, MP_PANICKED, Opaque, OpaqueOffload, OpaqueWire, Outcome,
};

/// What C's type of a pointer says it points to.
pub(crate) trait Points {
    type To;
}

impl Points for Opaque {
    type To = Held;
}

impl Points for OpaqueOffload {
    type To = Offload;
}

impl Points for OpaqueWire {
    type To = Wire;
}

/// Nobody is in a call.
const READY: u8 = 0;
/// Somebody is. What a panic leaves behind, too, until it is caught.
const BUSY: u8 = 1;
/// A call panicked.
const PANICKED: u8 = 2;

/// An engine, or what leads to one, and whether it can be called.
///
/// The state turns away callbacks that call the engine they were called by, and all calls after a panic. It is no lock:
/// read and written apart, since an exchange made a call 6 ns slower, where a post or an arrival at its best takes 8;
/// as it is the state, with the catching of panics, costs 0.7 ns.
pub(crate) struct Handle<H> {
    state: AtomicU8,
    held: UnsafeCell<H>,
}

/// What a call of an `mp_engine` may use.
pub(crate) struct Held {
    pub(crate) engine: Box<dyn Engine>,
    /// The assertions made on it, to be told again.
    pub(crate) hints: HintTable,
    /// Kept, so that batches allocate only until one has been the largest, and drains of a few entries once.
    pub(crate) messages: Vec<Message>,
    pub(crate) outcomes: Vec<Option<RecvId>>,
    pub(crate) drained: Drained,
}

impl Held {
    pub(crate) fn new(engine: Box<dyn Engine>) -> Self {
        let (hints, messages, outcomes, drained) = Default::default();
        Held { engine, hints, messages, outcomes, drained }
    }
}

impl<H> Handle<H> {
    /// Makes a call, unless the engine is in one or has panicked. A panic leaves it of no further use.
    #[inline]
    fn enter<S: From<i32>>(&self, call: impl FnOnce(&mut H) -> S) -> S {
        match self.state.load(Relaxed) {
            READY => {}
            PANICKED => return S::from(MP_PANICKED),
            _ => return S::from(MP_BUSY),
        }
        self.state.store(BUSY, Relaxed);
        // SAFETY: the state was READY, so that no call of this thread is under way; the interface forbids other
        // threads to call meanwhile. Until the state is READY again nobody comes here.
        let held = unsafe { &mut *self.held.get() };
        match catch_unwind(AssertUnwindSafe(|| call(held))) {
            Ok(status) => {
                self.state.store(READY, Relaxed);
                status
            }
            Err(panic) => {
                self.state.store(PANICKED, Relaxed);
                // What was thrown may throw when it is dropped: it is kept for ever instead.
                std::mem::forget(panic);
                S::from(MP_PANICKED)
            }
        }
    }
}

/// Makes a call on the engine behind a pointer.
///
/// # Safety
/// `engine` is NULL, or came from [`give_out`] and was not [taken back](take_back); no other thread uses it.
#[inline]
pub(crate) unsafe fn with<P: Points, S: From<i32>>(
    engine: *const P,
    call: impl FnOnce(&mut P::To) -> S,
) -> S {
    // SAFETY: the caller's promise.
    match unsafe { engine.cast::<Handle<P::To>>().as_ref() } {
        Some(handle) => handle.enter(call),
        None => S::from(MP_INVALID),
    }
}

/// Makes a call that has no callback, without a guard against panics.
///
/// # Safety
/// `engine` came from [`give_out`] and was not [taken back](take_back); no other thread uses it.
#[inline(always)]
pub(crate) unsafe fn with_words(
    engine: *mut Opaque,
    call: impl FnOnce(&mut dyn Engine) -> Outcome,
) -> Outcome {
    // SAFETY: the caller's promise.
    let handle = unsafe { &*engine.cast::<Handle<Held>>() };
    match handle.state.load(Relaxed) {
        // SAFETY: no call of this thread is under way, other threads are not allowed to call meanwhile, and `call` has no
        // callback.
        READY => call(unsafe { &mut *(*handle.held.get()).engine }),
        PANICKED => Outcome { id: 0, status: MP_PANICKED, reserved: 0 },
        _ => Outcome { id: 0, status: MP_BUSY, reserved: 0 },
    }
}

/// Makes an engine the C program's.
pub(crate) fn give_out(engine: Box<dyn Engine>) -> *mut Opaque {
    give(Held::new(engine))
}

/// Makes something that one thread at a time may use the C program's.
pub(crate) fn give<P: Points>(held: P::To) -> *mut P {
    Box::into_raw(Box::new(Handle { state: AtomicU8::new(READY), held: UnsafeCell::new(held) })).cast()
}

/// Ends an engine. NULL is none.
///
/// # Safety
/// As [`with`]; unless this returns MP_BUSY nobody uses the pointer after it.
pub(crate) unsafe fn take_back<P: Points>(engine: *mut P) -> i32 {
    let handle = engine.cast::<Handle<P::To>>();
    // SAFETY: the caller's promise.
    match unsafe { handle.as_ref() } {
        None => return MP_OK,
        Some(handle) if handle.state.load(Relaxed) == BUSY => return MP_BUSY,
        Some(_) => {}
    }
    // SAFETY: it came from `give_out`, and nobody uses it after this.
    let handle = unsafe { Box::from_raw(handle) };
    match catch_unwind(AssertUnwindSafe(|| drop(handle))) {
        Ok(()) => MP_OK,
        Err(panic) => {
            std::mem::forget(panic);
            MP_PANICKED
        }
    }
}

#[cfg(test)]
mod tests {
    use matchpoint::engines;

    use super::*;

    fn engine() -> *mut Opaque {
        give_out(engines::create("list").unwrap())
    }

    #[test]
    fn a_panic_is_a_status_from_then_on() {
        let engine = engine();
        // SAFETY: an engine of `give_out`, used by this thread only.
        unsafe {
            assert_eq!(with(engine, |_| -> i32 { panic!("as the test wants it") }), MP_PANICKED);
            assert_eq!(with(engine, |_| MP_OK), MP_PANICKED);
            assert_eq!(with(engine, |_| 3_i64), i64::from(MP_PANICKED));
            assert_eq!(take_back(engine), MP_OK);
        }
    }

    #[test]
    fn a_call_within_a_call_is_turned_away() {
        let engine = engine();
        // SAFETY: an engine of `give_out`, used by this thread only.
        unsafe {
            let inner = |_: &mut Held| {
                assert_eq!(with(engine, |_| MP_OK), MP_BUSY);
                assert_eq!(take_back(engine), MP_BUSY);
                MP_OK
            };
            assert_eq!(with(engine, inner), MP_OK);
            assert_eq!(with(engine, |_| MP_OK), MP_OK);
            assert_eq!(take_back(engine), MP_OK);
        }
    }

    #[test]
    fn null_is_no_engine() {
        // SAFETY: NULL is allowed.
        unsafe {
            assert_eq!(with(std::ptr::null::<Opaque>(), |_| MP_OK), MP_INVALID);
            assert_eq!(take_back(std::ptr::null_mut::<Opaque>()), MP_OK);
        }
    }
}
