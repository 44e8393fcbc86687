//! The tables of functions that C programs call (`mp_calls`), one per kind of engine.
#![allow(unsafe_code)]

use std::cell::{Cell, UnsafeCell};
use std::ffi::c_void;

use matchpoint_abi::types::{
    Attempts, Calls, Completion, DeliverFn, DrainFn, Engine, Footprint, HintsFn, MP_BUSY, MP_INVALID, MP_OK,
    Message, Outcome, StatisticFn, VisitFn,
};

/// The object to which an `mp_engine *` points: the fields of [`Engine`], then the engine itself.
#[repr(C)]
pub(crate) struct Handle<K> {
    calls: Cell<*const Calls>,
    posted: Cell<*const u64>,
    unexpected: Cell<*const u64>,
    kind: UnsafeCell<K>,
}

/// A result type of the functions in the tables.
pub(crate) trait CallResult {
    /// Returns a result with this status.
    fn status(status: i32) -> Self;
}

impl CallResult for i32 {
    fn status(status: i32) -> Self {
        status
    }
}

impl CallResult for i64 {
    fn status(status: i32) -> Self {
        i64::from(status)
    }
}

impl CallResult for Outcome {
    fn status(status: i32) -> Self {
        Outcome { id: 0, status: i64::from(status) }
    }
}

/// Defines for each function of `mp_calls`: a method of [`Kind`], the C function that calls the method, and a
/// C function that returns `MP_BUSY`. A method that a kind of engine does not implement returns `MP_INVALID`.
macro_rules! calls {
    ($($name:ident($($argument:ident: $type:ty),*) -> $answer:ty;)*) => {
        /// A kind of engine: for one thread, for any thread, or offloaded.
        pub(crate) trait Kind: Sized + 'static {
            $(
                /// # Safety
                /// The arguments are as `matchpoint.h` requires.
                unsafe fn $name(handle: &Handle<Self>, $($argument: $type),*) -> $answer {
                    _ = (handle, $($argument),*);
                    <$answer>::status(MP_INVALID)
                }
            )*

            /// Returns false in a callback of the engine.
            fn may_be_destroyed(handle: &Handle<Self>) -> bool {
                _ = handle;
                true
            }

            const CALLS: &'static Calls = &Calls {
                size: size_of::<Calls>(),
                $($name: Some(kind_functions::$name::<Self>),)*
                destroy: Some(kind_functions::destroy::<Self>),
            };
        }

        mod kind_functions {
            use super::*;

            $(
                pub(super) unsafe extern "C" fn $name<K: Kind>(
                    engine: *mut Engine,
                    $($argument: $type),*
                ) -> $answer {
                    // SAFETY: only engines of this kind have this function; the caller guarantees the arguments.
                    unsafe { K::$name(&*engine.cast::<Handle<K>>(), $($argument),*) }
                }
            )*

            pub(super) unsafe extern "C" fn destroy<K: Kind>(engine: *mut Engine) -> i32 {
                let handle = engine.cast::<Handle<K>>();
                // SAFETY: only engines of this kind have this function.
                if !K::may_be_destroyed(unsafe { &*handle }) {
                    return MP_BUSY;
                }
                // SAFETY: `Handle::into_c_engine` allocated it, and the caller does not use it again.
                drop(unsafe { Box::from_raw(handle) });
                MP_OK
            }
        }

        mod busy_functions {
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

        /// The table of an engine for one thread during a callback. Every call returns `MP_BUSY`.
        static BUSY: Calls = Calls {
            size: size_of::<Calls>(),
            $($name: Some(busy_functions::$name),)*
            destroy: Some(busy_functions::destroy),
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
    /// Allocates the engine for C. `lengths` returns the addresses at which C reads the lengths of the
    /// queues; NULL: C calls `length`.
    pub(crate) fn into_c_engine(kind: K, lengths: impl FnOnce(&K) -> [*const u64; 2]) -> *mut Engine {
        let none = || Cell::new(std::ptr::null());
        let (calls, kind) = (Cell::new(std::ptr::from_ref(K::CALLS)), UnsafeCell::new(kind));
        let pointer = Box::into_raw(Box::new(Handle { calls, posted: none(), unexpected: none(), kind }));
        // SAFETY: allocated above. The engine does not move any more, so the addresses of its lengths are final.
        let handle = unsafe { &*pointer };
        let [posted, unexpected] = lengths(handle.shared());
        handle.posted.set(posted);
        handle.unexpected.set(unexpected);
        pointer.cast()
    }

    /// Returns the engine, which several threads may share.
    pub(crate) fn shared(&self) -> &K {
        // SAFETY: each kind of engine uses either this function or `exclusive`.
        unsafe { &*self.kind.get() }
    }

    /// Returns the engine for exclusive access.
    ///
    /// # Safety
    /// No other thread is in a call of this engine. In a callback this holds too: no function of [`BUSY`]
    /// calls this one.
    #[inline(always)]
    #[allow(clippy::mut_from_ref)]
    pub(crate) unsafe fn exclusive(&self) -> &mut K {
        // SAFETY: the caller guarantees exclusive access.
        unsafe { &mut *self.kind.get() }
    }

    /// Runs code that calls callbacks of the program. Meanwhile calls of this engine return `MP_BUSY`.
    pub(crate) fn run_callbacks<A>(&self, run: impl FnOnce() -> A) -> A {
        self.calls.set(&raw const BUSY);
        let answer = run();
        self.calls.set(K::CALLS);
        answer
    }
}
