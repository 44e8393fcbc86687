//! What an engine tells of itself.
#![allow(unsafe_code)]

use std::ffi::{CString, c_void};

use matchpoint_abi::convert;
use matchpoint_abi::types::{Attempts, Entry, Footprint, MP_INVALID, MP_OK, Opaque, StatisticFn, VisitFn};

use crate::{arguments, handle};

/// The number of receives posted (MPI_T's posted_recvq_length); or MP_INVALID, MP_PANICKED, MP_BUSY, which are
/// negative. O(1).
///
/// For the thread that may call the engine now, as every call: `const` lets no other thread sample it meanwhile (docs/c.md,
/// "Threads", says how lengths are shown to others).
///
/// # Safety
/// As `mp_engine_post`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mp_engine_posted_len(engine: *const Opaque) -> i64 {
    // SAFETY: the caller's promise.
    unsafe { handle::with(engine, |held| held.engine.posted_len() as i64) }
}

/// The number of messages unexpected (MPI_T's unexpected_recvq_length); or MP_INVALID, MP_PANICKED, MP_BUSY, which are
/// negative. O(1).
///
/// For the thread that may call the engine now, as every call: `const` lets no other thread sample it meanwhile (docs/c.md,
/// "Threads", says how lengths are shown to others).
///
/// # Safety
/// As `mp_engine_post`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mp_engine_unexpected_len(engine: *const Opaque) -> i64 {
    // SAFETY: the caller's promise.
    unsafe { handle::with(engine, |held| held.engine.unexpected_len() as i64) }
}

/// Shows `each` all that is in `queue` (MP_QUEUE_...), over all contexts, oldest first.
///
/// Returns MP_OK, MP_INVALID, MP_PANICKED or MP_BUSY. Time: O(entries), and sorting them.
///
/// For the thread that may call the engine now, as every call: `const` lets no other thread sample it meanwhile (docs/c.md,
/// "Threads", says how lengths are shown to others).
///
/// # Safety
/// As `mp_engine_post`; `each` is as `mp_visit_fn` says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mp_engine_visit(
    engine: *const Opaque,
    queue: i32,
    each: VisitFn,
    user: *mut c_void,
) -> i32 {
    let (Some(queue), Some(each)) = (arguments::queue(queue), each) else { return MP_INVALID };
    // SAFETY: the caller's promise.
    unsafe {
        handle::with(engine, |held| {
            held.engine.visit(queue, &mut |entry| each(user, &Entry::from(entry)));
            MP_OK
        })
    }
}

/// The order that the engine promises in a context whose hints relax nothing: one of MP_ORDER_...; or MP_INVALID,
/// MP_PANICKED, MP_BUSY, which are negative.
///
/// For the thread that may call the engine now, as every call: `const` lets no other thread sample it meanwhile (docs/c.md,
/// "Threads", says how lengths are shown to others).
///
/// # Safety
/// As `mp_engine_post`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mp_engine_order(engine: *const Opaque) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { handle::with(engine, |held| convert::order_number(held.engine.order())) }
}

/// Writes the bytes that the engine holds to `*footprint`, `size` bytes long (sizeof(mp_footprint)).
///
/// Returns MP_OK, MP_INVALID, MP_PANICKED or MP_BUSY.
///
/// For the thread that may call the engine now, as every call: `const` lets no other thread sample it meanwhile (docs/c.md,
/// "Threads", says how lengths are shown to others).
///
/// # Safety
/// As `mp_engine_post`; `footprint` is NULL or room for `size` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mp_engine_footprint(
    engine: *const Opaque,
    footprint: *mut Footprint,
    size: usize,
) -> i32 {
    if footprint.is_null() {
        return MP_INVALID;
    }
    // SAFETY: the caller's promise.
    unsafe {
        handle::with(engine, |held| {
            hand_out(Footprint::from(held.engine.footprint()), footprint, size);
            MP_OK
        })
    }
}

/// Writes the entries that the engine examined so far to `*attempts`, `size` bytes long (sizeof(mp_attempts)).
///
/// Returns MP_OK, MP_INVALID, MP_PANICKED or MP_BUSY.
///
/// For the thread that may call the engine now, as every call: `const` lets no other thread sample it meanwhile (docs/c.md,
/// "Threads", says how lengths are shown to others).
///
/// # Safety
/// As `mp_engine_post`; `attempts` is NULL or room for `size` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mp_engine_attempts(
    engine: *const Opaque,
    attempts: *mut Attempts,
    size: usize,
) -> i32 {
    if attempts.is_null() {
        return MP_INVALID;
    }
    // SAFETY: the caller's promise.
    unsafe {
        handle::with(engine, |held| {
            hand_out(Attempts::from(held.engine.attempts()), attempts, size);
            MP_OK
        })
    }
}

/// Tells `each` what only this engine has to tell: name, with its unit, and value.
///
/// Returns MP_OK, MP_INVALID, MP_PANICKED or MP_BUSY. It allocates, and may abort the process if no memory is left.
///
/// For the thread that may call the engine now, as every call: `const` lets no other thread sample it meanwhile (docs/c.md,
/// "Threads", says how lengths are shown to others).
///
/// # Safety
/// As `mp_engine_post`; `each` is as `mp_statistic_fn` says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mp_engine_statistics(
    engine: *const Opaque,
    each: StatisticFn,
    user: *mut c_void,
) -> i32 {
    let Some(each) = each else { return MP_INVALID };
    // SAFETY: the caller's promise.
    unsafe {
        handle::with(engine, |held| {
            for (name, value) in held.engine.statistics() {
                let name = CString::new(name).unwrap_or_default();
                each(user, name.as_ptr(), value);
            }
            MP_OK
        })
    }
}

/// Fills as much of the caller's struct as the caller knows of ours, and the rest of it with zeros: programs and
/// libraries of different ages understand each other.
///
/// # Safety
/// `out` is room for `size` bytes. `T` has no padding.
pub(crate) unsafe fn hand_out<T: Copy>(value: T, out: *mut T, size: usize) {
    let known = size.min(size_of::<T>());
    // SAFETY: `known` is no more than either side has; bytes need no alignment.
    unsafe {
        let out = out.cast::<u8>();
        out.copy_from_nonoverlapping((&raw const value).cast(), known);
        out.add(known).write_bytes(0, size - known);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn structs_of_another_age_are_filled_as_far_as_they_go() {
        let value = Attempts { posted: 1, unexpected: 2 };
        let mut out = [Attempts { posted: 7, unexpected: 7 }; 2];
        for (size, expected) in [(0, [7, 7, 7, 7]), (8, [1, 7, 7, 7]), (16, [1, 2, 7, 7]), (32, [1, 2, 0, 0])]
        {
            out = [Attempts { posted: 7, unexpected: 7 }; 2];
            // SAFETY: `out` is 32 bytes long.
            unsafe { hand_out(value, out.as_mut_ptr(), size) };
            assert_eq!([out[0].posted, out[0].unexpected, out[1].posted, out[1].unexpected], expected);
        }
        assert_eq!(size_of_val(&out), 32);
    }
}
