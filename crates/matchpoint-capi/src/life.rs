//! Making and ending engines.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};

use matchpoint::engines::{self, Built, NameError};
use matchpoint_abi::types::{MP_INVALID, MP_OK, MP_PANICKED, MP_UNKNOWN_NAME, Opaque};

use crate::handle;

/// The engine of those who name none: the default of the commands, too.
const DEFAULT: &str = "hybrid";

/// Makes the engine called `name`, written name:key=value,... ("list", "bins:n=64"); `mp_engine_describe` tells which
/// there are. NULL and "" are the default, "hybrid": what getenv() answers can be handed in as it is. The caller ends the
/// engine by `mp_engine_destroy`.
///
/// Returns MP_OK and writes `*engine`. Else `*engine` becomes NULL, and `error` what is wrong and what would be right:
/// `error_size` bytes, the last of them always zero, the text cut short where it is longer; `error` may be NULL.
/// MP_UNKNOWN_NAME: the name is not understood or cannot be had; a program that has it from its user says so, or goes on
/// with NULL. MP_INVALID: `engine` is NULL. MP_PANICKED: the engine has a bug. It may abort the process if no memory is
/// left, as may `mp_engine_create_counting` and `mp_engine_statistics`, and no other function of an engine for one thread.
///
/// # Safety
/// `name` is NULL or a C string, `engine` NULL or room for a pointer, `error` NULL or room for `error_size` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mp_engine_create(
    name: *const c_char,
    engine: *mut *mut Opaque,
    error: *mut c_char,
    error_size: usize,
) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { create(named(engines::create), handle::give_out, name, engine, error, error_size) }
}

/// The same engine as by `mp_engine_create`, counting the entries it examines (`mp_engine_attempts`). It is slower.
///
/// # Safety
/// As `mp_engine_create`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mp_engine_create_counting(
    name: *const c_char,
    engine: *mut *mut Opaque,
    error: *mut c_char,
    error_size: usize,
) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { create(named(engines::create_counting), handle::give_out, name, engine, error, error_size) }
}

/// Ends an engine; what is queued is forgotten. NULL is MP_OK.
///
/// Returns MP_OK; or MP_BUSY if a callback of that engine asked, which then is still there.
///
/// # Safety
/// `engine` is NULL, or was made by this library and not destroyed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mp_engine_destroy(engine: *mut Opaque) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { handle::take_back(engine) }
}

/// Makes the engine of that name, or the default.
fn named(make: fn(&str) -> Built) -> impl Fn(&str) -> Built {
    move |name| make(if name.is_empty() { DEFAULT } else { name })
}

/// Makes an engine of either kind, as C asks for it, and gives it out.
///
/// # Safety
/// As `mp_engine_create`.
pub(crate) unsafe fn create<E, P>(
    make: impl FnOnce(&str) -> Result<E, NameError>,
    give_out: fn(E) -> *mut P,
    name: *const c_char,
    engine: *mut *mut P,
    error: *mut c_char,
    error_size: usize,
) -> i32 {
    if engine.is_null() {
        // SAFETY: the caller's promise.
        unsafe { say("engine is NULL", error, error_size) };
        return MP_INVALID;
    }
    // SAFETY: not NULL, so room for a pointer.
    unsafe { engine.write(std::ptr::null_mut()) };
    let name = if name.is_null() {
        c""
    } else {
        // SAFETY: not NULL, so a C string.
        unsafe { CStr::from_ptr(name) }
    };
    let unknown = |what: String| (MP_UNKNOWN_NAME, what);
    let make = || match name.to_str() {
        Ok(name) => make(name).map_err(|error| unknown(error.to_string())),
        Err(_) => Err(unknown("the name is not UTF-8".to_owned())),
    };
    let made = catch_unwind(AssertUnwindSafe(make));
    let made = made.unwrap_or_else(|panic| {
        // What was thrown may throw when it is dropped: it is kept for ever instead.
        std::mem::forget(panic);
        Err((MP_PANICKED, "the engine has a bug: making it panicked".to_owned()))
    });
    match made {
        Ok(made) => {
            // SAFETY: not NULL, so room for a pointer.
            unsafe { engine.write(give_out(made)) };
            MP_OK
        }
        Err((status, what)) => {
            // SAFETY: the caller's promise.
            unsafe { say(&what, error, error_size) };
            status
        }
    }
}

/// Writes a text as a C string, as far as there is room.
///
/// # Safety
/// `error` is NULL or room for `error_size` bytes.
pub(crate) unsafe fn say(what: &str, error: *mut c_char, error_size: usize) {
    if !error.is_null() && error_size > 0 {
        let mut length = what.len().min(error_size - 1);
        while !what.is_char_boundary(length) {
            length -= 1;
        }
        // SAFETY: `length` is less than `error_size`, and no longer than the text.
        unsafe {
            error.cast::<u8>().copy_from_nonoverlapping(what.as_ptr(), length);
            error.add(length).write(0);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::ptr;

    use matchpoint_abi::types::Opaque;

    use super::*;

    /// The footprint and the statistics of a new engine of that name: no two engines have the same.
    fn traits(name: *const c_char) -> String {
        let mut engine: *mut Opaque = ptr::null_mut();
        // SAFETY: NULL or a C string, room for a pointer, an engine of `create` that is used by this thread only.
        unsafe {
            assert_eq!(mp_engine_create_counting(name, &mut engine, ptr::null_mut(), 0), MP_OK);
            let mut text = String::new();
            let told = handle::with(engine, |held| {
                text = format!("{:?} {:?}", held.engine.footprint(), held.engine.statistics());
                MP_OK
            });
            assert_eq!((told, mp_engine_destroy(engine)), (MP_OK, MP_OK));
            text
        }
    }

    #[test]
    fn who_names_no_engine_gets_the_default() {
        let hybrid = traits(c"hybrid".as_ptr());
        assert_eq!((traits(ptr::null()), traits(c"".as_ptr())), (hybrid.clone(), hybrid.clone()));
        assert_ne!(traits(c"list".as_ptr()), hybrid);
    }
}
