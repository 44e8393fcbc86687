//! What an `mp_concurrent *` points to, and the one way in, for any number of threads: NULL, panics and calls from callbacks
//! of the same engine end here.
#![allow(unsafe_code)]

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use matchpoint::concurrent::Concurrent;
use matchpoint_abi::types::{MP_BUSY, MP_INVALID, MP_OK, MP_PANICKED, OpaqueConcurrent};

/// An engine that any thread may call, and whether a call has panicked.
pub(crate) struct Shared {
    engine: Box<dyn Concurrent>,
    has_panicked: AtomicBool,
}

/// A callback that this thread is in, and the one that it was called from.
struct Callback {
    of: *const Shared,
    outer: *const Callback,
}

thread_local! {
    /// The innermost. Callbacks run under locks of their engine: a call from there would wait for itself.
    static INNERMOST: Cell<*const Callback> = const { Cell::new(ptr::null()) };
}

impl Shared {
    pub(crate) fn engine(&self) -> &dyn Concurrent {
        &*self.engine
    }

    /// Runs a callback of the program's.
    pub(crate) fn call_back<A>(&self, callback: impl FnOnce() -> A) -> A {
        let callback_of_this = Callback { of: self, outer: INNERMOST.get() };
        INNERMOST.set(&callback_of_this);
        // C does not unwind: this is always undone.
        let answer = callback();
        INNERMOST.set(callback_of_this.outer);
        answer
    }

    fn calls_back(&self) -> bool {
        let mut callback = INNERMOST.get();
        // SAFETY: callbacks that this thread is in are in frames of its stack below this one.
        while let Some(Callback { of, outer }) = unsafe { callback.as_ref() } {
            if ptr::eq(*of, self) {
                return true;
            }
            callback = *outer;
        }
        false
    }

    /// Makes a call, unless this thread is in a callback of the engine or a call has panicked.
    #[inline]
    fn enter<S: From<i32>>(&self, call: impl FnOnce(&Shared) -> S) -> S {
        if self.has_panicked.load(Relaxed) {
            return S::from(MP_PANICKED);
        }
        if self.calls_back() {
            return S::from(MP_BUSY);
        }
        catch_unwind(AssertUnwindSafe(|| call(self))).unwrap_or_else(|panic| {
            // Who is in a call now may still be answered: nothing of that depends on what others see of this.
            self.has_panicked.store(true, Relaxed);
            // What was thrown may throw when it is dropped: it is kept for ever instead.
            std::mem::forget(panic);
            S::from(MP_PANICKED)
        })
    }
}

/// Makes a call on the engine behind a pointer.
///
/// # Safety
/// `engine` is NULL, or came from [`give_out`] and is not [taken back](take_back) until this returns.
#[inline]
pub(crate) unsafe fn with<S: From<i32>>(
    engine: *const OpaqueConcurrent,
    call: impl FnOnce(&Shared) -> S,
) -> S {
    // SAFETY: the caller's promise.
    match unsafe { engine.cast::<Shared>().as_ref() } {
        Some(shared) => shared.enter(call),
        None => S::from(MP_INVALID),
    }
}

/// Makes an engine the C program's.
pub(crate) fn give_out(engine: Box<dyn Concurrent>) -> *mut OpaqueConcurrent {
    Box::into_raw(Box::new(Shared { engine, has_panicked: AtomicBool::new(false) })).cast()
}

/// Ends an engine. NULL is none.
///
/// # Safety
/// `engine` is NULL, or came from [`give_out`]; no other thread is in a call on it, and unless this returns MP_BUSY nobody uses it
/// after it.
pub(crate) unsafe fn take_back(engine: *mut OpaqueConcurrent) -> i32 {
    let shared = engine.cast::<Shared>();
    // SAFETY: the caller's promise.
    match unsafe { shared.as_ref() } {
        None => return MP_OK,
        Some(shared) if shared.calls_back() => return MP_BUSY,
        Some(_) => {}
    }
    // SAFETY: it came from `give_out`, and nobody uses it after this.
    let shared = unsafe { Box::from_raw(shared) };
    catch_unwind(AssertUnwindSafe(|| drop(shared))).map_or_else(
        |panic| {
            std::mem::forget(panic);
            MP_PANICKED
        },
        |()| MP_OK,
    )
}

#[cfg(test)]
mod tests {
    use matchpoint::concurrent;

    use super::*;

    fn engine() -> *mut OpaqueConcurrent {
        give_out(concurrent::create("locked:engine=list").unwrap())
    }

    #[test]
    fn a_panic_is_a_status_from_then_on_in_every_thread() {
        let engine = engine();
        // SAFETY: an engine of `give_out`, ended when no thread uses it.
        unsafe {
            assert_eq!(with(engine, |_| -> i32 { panic!("as the test wants it") }), MP_PANICKED);
            let address = engine as usize;
            let other = std::thread::spawn(move || with(address as *mut OpaqueConcurrent, |_| 3_i64));
            assert_eq!(other.join().unwrap(), i64::from(MP_PANICKED));
            assert_eq!(take_back(engine), MP_OK);
        }
    }

    #[test]
    fn a_call_from_a_callback_is_turned_away_and_that_of_another_thread_is_not() {
        let (one, two) = (engine(), engine());
        // SAFETY: engines of `give_out`, ended when no thread uses them.
        unsafe {
            let status = with(one, |first| {
                first.call_back(|| {
                    assert_eq!((with(one, |_| MP_OK), take_back(one)), (MP_BUSY, MP_BUSY));
                    let address = one as usize;
                    let other = std::thread::spawn(move || with(address as *mut OpaqueConcurrent, |_| 3_i32));
                    assert_eq!(other.join().unwrap(), 3);
                    // Of another engine, and from a callback of that.
                    let inner =
                        |second: &Shared| second.call_back(|| (with(one, |_| MP_OK), with(two, |_| MP_OK)));
                    with(two, |second| {
                        assert_eq!(inner(second), (MP_BUSY, MP_BUSY));
                        MP_OK
                    })
                })
            });
            assert_eq!((status, with(one, |_| MP_OK)), (MP_OK, MP_OK));
            assert_eq!((take_back(one), take_back(two)), (MP_OK, MP_OK));
        }
    }

    #[test]
    fn null_is_no_engine() {
        // SAFETY: NULL is allowed.
        unsafe {
            assert_eq!(with(ptr::null(), |_| MP_OK), MP_INVALID);
            assert_eq!(take_back(ptr::null_mut()), MP_OK);
        }
    }
}
