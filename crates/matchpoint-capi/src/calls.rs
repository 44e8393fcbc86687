//! Tables of functions for `matchpoint.h`, one per kind of engine.
#![allow(unsafe_code)]

use std::cell::{Cell, UnsafeCell};
use std::ffi::c_void;

use matchpoint_abi::types::{
    Attempts, Calls, Completion, DeliverFn, DrainFn, Engine, Footprint, HintsFn, MP_BUSY, MP_INVALID, MP_OK,
    Message, Outcome, StatisticFn, VisitFn,
};

/// The object behind an `mp_engine *`: the fields of [`Engine`], and the engine itself.
#[repr(C)]
pub(crate) struct Handle<K> {
    calls: Cell<*const Calls>,
    posted: Cell<*const u64>,
    unexpected: Cell<*const u64>,
    kind: UnsafeCell<K>,
}

/// A result of a function in the table.
pub(crate) trait Answer {
    /// The result that has this status.
    fn status(status: i32) -> Self;
}

impl Answer for i32 {
    fn status(status: i32) -> Self {
        status
    }
}

impl Answer for i64 {
    fn status(status: i32) -> Self {
        i64::from(status)
    }
}

impl Answer for Outcome {
    fn status(status: i32) -> Self {
        Outcome { id: 0, status: i64::from(status) }
    }
}

/// For each function: the method of a kind of engine, the function in its table, and the function in the table of an
/// engine during a callback. A function that a kind lacks returns `MP_INVALID`.
macro_rules! calls {
    ($($name:ident($($argument:ident: $type:ty),*) -> $answer:ty;)*) => {
        /// A kind of engine: of one thread, of any thread, offloaded.
        pub(crate) trait Kind: Sized + 'static {
            $(
                /// # Safety
                /// The arguments are as `matchpoint.h` demands.
                unsafe fn $name(handle: &Handle<Self>, $($argument: $type),*) -> $answer {
                    _ = (handle, $($argument),*);
                    <$answer>::status(MP_INVALID)
                }
            )*

            /// Returns true if the engine may be destroyed now.
            fn may_end(handle: &Handle<Self>) -> bool {
                _ = handle;
                true
            }

            const CALLS: &'static Calls = &Calls {
                size: size_of::<Calls>(),
                $($name: Some(of_kind::$name::<Self>),)*
                destroy: Some(of_kind::destroy::<Self>),
            };
        }

        mod of_kind {
            use super::*;

            $(
                pub(super) unsafe extern "C" fn $name<K: Kind>(
                    engine: *mut Engine,
                    $($argument: $type),*
                ) -> $answer {
                    // SAFETY: this function is in the tables of engines of this kind only; the caller's promise.
                    unsafe { K::$name(&*engine.cast::<Handle<K>>(), $($argument),*) }
                }
            )*

            pub(super) unsafe extern "C" fn destroy<K: Kind>(engine: *mut Engine) -> i32 {
                let handle = engine.cast::<Handle<K>>();
                // SAFETY: as above.
                if !K::may_end(unsafe { &*handle }) {
                    return MP_BUSY;
                }
                // SAFETY: `Handle::give_out` made it, and the caller does not use it again.
                drop(unsafe { Box::from_raw(handle) });
                MP_OK
            }
        }

        mod of_busy {
            use super::*;

            $(
                pub(super) unsafe extern "C" fn $name(_: *mut Engine, $(_: $type),*) -> $answer {
                    <$answer>::status(MP_BUSY)
                }
            )*

            pub(super) unsafe extern "C" fn destroy(_: *mut Engine) -> i32 {
                MP_BUSY
            }
        }

        /// Table of an engine of one thread during a callback.
        static BUSY: Calls = Calls {
            size: size_of::<Calls>(),
            $($name: Some(of_busy::$name),)*
            destroy: Some(of_busy::destroy),
        };
    };
}

calls! {
    post_exact(receive: u64, pair: u64, tag: u64) -> Outcome;
    post(receive: u64, pair: u64, tag: u64, ignore: u64) -> Outcome;
    arrive(message: u64, pair: u64, tag: u64) -> Outcome;
    probe(pair: u64, tag: u64, ignore: u64) -> Outcome;
    matched_probe(pair: u64, tag: u64, ignore: u64) -> Outcome;
    take_receive(pair: u64, tag: u64) -> Outcome;
    queue_message(message: u64, pair: u64, tag: u64, place: u64) -> Outcome;
    queue_receive(receive: u64, pair: u64, tag: u64, ignore: u64, place: u64) -> Outcome;
    arrive_batch(
        messages: *const Message, count: usize, outcomes: *mut Outcome, done: *mut usize, deliver: DeliverFn,
        user: *mut c_void
    ) -> i32;
    cancel(receive: u64, pair: u64, tag: u64, ignore: u64) -> i32;
    retract(message: u64, pair: u64, tag: u64) -> i32;
    readdress(message: u64, pair: u64, tag: u64, source: u32) -> Outcome;
    set_hints(context: u32, hints: u32) -> i32;
    hints(each: HintsFn, user: *mut c_void) -> i32;
    close(context: u32, each: DrainFn, user: *mut c_void) -> i32;
    fail_source(context: u32, source: u32, each: DrainFn, user: *mut c_void) -> i32;
    visit(queue: i32, each: VisitFn, user: *mut c_void) -> i32;
    length(queue: i32) -> i64;
    order() -> i32;
    reserve(entries: usize) -> i32;
    footprint(footprint: *mut Footprint, size: usize) -> i32;
    attempts(attempts: *mut Attempts, size: usize) -> i32;
    statistics(each: StatisticFn, user: *mut c_void) -> i32;
    poll(completions: *mut Completion, room: usize) -> i64;
    fell_back() -> i32;
}

impl<K: Kind> Handle<K> {
    /// A new engine for C. `lengths` returns where C reads the lengths of the queues, if it can.
    pub(crate) fn give_out(kind: K, lengths: impl FnOnce(&K) -> [*const u64; 2]) -> *mut Engine {
        let none = || Cell::new(std::ptr::null());
        let (calls, kind) = (Cell::new(std::ptr::from_ref(K::CALLS)), UnsafeCell::new(kind));
        let pointer = Box::into_raw(Box::new(Handle { calls, posted: none(), unexpected: none(), kind }));
        // SAFETY: created above. The addresses of the lengths are final only now.
        let handle = unsafe { &*pointer };
        let [posted, unexpected] = lengths(handle.shared());
        handle.posted.set(posted);
        handle.unexpected.set(unexpected);
        pointer.cast()
    }

    /// The engine, which several threads may share.
    pub(crate) fn shared(&self) -> &K {
        // SAFETY: kinds of engine use this or `exclusive`, not both.
        unsafe { &*self.kind.get() }
    }

    /// The engine, for exclusive access.
    ///
    /// # Safety
    /// No other thread is in a call, and the caller is not in a callback, where [`BUSY`] has no call that comes here.
    #[inline(always)]
    #[allow(clippy::mut_from_ref)]
    pub(crate) unsafe fn exclusive(&self) -> &mut K {
        // SAFETY: the caller's promise.
        unsafe { &mut *self.kind.get() }
    }

    /// Calls a function that runs callbacks. During this, calls of this engine return `MP_BUSY`.
    pub(crate) fn call_back<A>(&self, call: impl FnOnce() -> A) -> A {
        self.calls.set(&raw const BUSY);
        let answer = call();
        self.calls.set(K::CALLS);
        answer
    }
}
