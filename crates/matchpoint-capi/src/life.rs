//! Making and ending engines.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_char};

use matchpoint::engines::{self, Built};
use matchpoint_abi::types::{MP_INVALID, MP_OK, MP_PANICKED, MP_UNKNOWN_NAME, Opaque};

use crate::handle;

/// Makes the engine called `name`, written name:key=value,... ("list", "bins:n=64"); `mp_engine_describe` tells which
/// there are. The caller ends it by `mp_engine_destroy`.
///
/// Returns MP_OK and writes `*engine`. Else `*engine` becomes NULL, and `error` what is wrong and what would be right:
/// `error_size` bytes, the last of them always zero, the text cut short where it is longer; `error` may be NULL.
/// MP_UNKNOWN_NAME: the name is not understood or cannot be had; a program that has it from its user says so, or goes on
/// with "list". MP_INVALID: `name` or `engine` is NULL. MP_PANICKED: the engine has a bug. The one function, with
/// `mp_engine_create_counting`, that may abort the process if no memory is left.
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
    unsafe { create(engines::create, name, engine, error, error_size) }
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
    unsafe { create(engines::create_counting, name, engine, error, error_size) }
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

/// # Safety
/// As `mp_engine_create`.
unsafe fn create(
    make: fn(&str) -> Built,
    name: *const c_char,
    engine: *mut *mut Opaque,
    error: *mut c_char,
    error_size: usize,
) -> i32 {
    if name.is_null() || engine.is_null() {
        // SAFETY: the caller's promise.
        unsafe { say("name or engine is NULL", error, error_size) };
        return MP_INVALID;
    }
    // SAFETY: not NULL, so room for a pointer.
    unsafe { engine.write(std::ptr::null_mut()) };
    // SAFETY: not NULL, so a C string.
    let name = unsafe { CStr::from_ptr(name) };
    let unknown = |what: String| (MP_UNKNOWN_NAME, what);
    let made = std::panic::catch_unwind(|| match name.to_str() {
        Ok(name) => make(name).map_err(|error| unknown(error.to_string())),
        Err(_) => Err(unknown("the name is not UTF-8".to_owned())),
    });
    let made = made.unwrap_or_else(|panic| {
        // What was thrown may throw when it is dropped: it is kept for ever instead.
        std::mem::forget(panic);
        Err((MP_PANICKED, "the engine has a bug: making it panicked".to_owned()))
    });
    match made {
        Ok(made) => {
            // SAFETY: not NULL, so room for a pointer.
            unsafe { engine.write(handle::give_out(made)) };
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
unsafe fn say(what: &str, error: *mut c_char, error_size: usize) {
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
