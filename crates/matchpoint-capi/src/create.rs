//! The function `mp_create`, which creates an engine.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_char};

use matchpoint::concurrent;
use matchpoint::engines::{self, NameError};
use matchpoint_abi::types::{Engine, MP_ANY_THREAD, MP_COUNT, MP_INVALID, MP_OK, MP_UNKNOWN_NAME};

use crate::{exclusive, shared};

/// Default engine for one thread.
const DEFAULT: &str = "hybrid";
/// Default engine for any thread.
const SHARED_DEFAULT: &str = "locked:engine=hybrid";

/// See `matchpoint.h`.
///
/// # Safety
/// The arguments are as `matchpoint.h` requires.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mp_create(
    name: *const c_char,
    flags: u32,
    engine: *mut *mut Engine,
    error: *mut c_char,
    error_size: usize,
) -> i32 {
    let name_or = |name: &str, default: &str| if name.is_empty() { default } else { name }.to_owned();
    let make = |name: &str| match flags {
        MP_ANY_THREAD => concurrent::create(&name_or(name, SHARED_DEFAULT)).map(shared::into_c_engine),
        MP_COUNT => engines::create_counting(&name_or(name, DEFAULT)).map(exclusive::into_c_engine),
        _ => engines::create(&name_or(name, DEFAULT)).map(exclusive::into_c_engine),
    };
    // SAFETY: the caller guarantees valid pointers.
    unsafe {
        if ![0, MP_COUNT, MP_ANY_THREAD].contains(&flags) {
            return reject_arguments("flags are 0, MP_COUNT or MP_ANY_THREAD", engine, error, error_size);
        }
        create(make, name, engine, error, error_size)
    }
}

/// Calls `make` with the engine's name, and writes the engine or the error.
///
/// # Safety
/// The arguments are as `matchpoint.h` requires of `mp_create`.
pub(crate) unsafe fn create(
    make: impl FnOnce(&str) -> Result<*mut Engine, NameError>,
    name: *const c_char,
    engine: *mut *mut Engine,
    error: *mut c_char,
    error_size: usize,
) -> i32 {
    // SAFETY: the caller guarantees valid pointers. No pointer used here is NULL.
    unsafe {
        if engine.is_null() {
            return reject_arguments("engine is NULL", engine, error, error_size);
        }
        let name = if name.is_null() { c"" } else { CStr::from_ptr(name) };
        let made = match name.to_str() {
            Ok(name) => make(name).map_err(|error| error.to_string()),
            Err(_) => Err("the name is not UTF-8".to_owned()),
        };
        engine.write(*made.as_ref().unwrap_or(&std::ptr::null_mut()));
        let Err(text) = made else { return MP_OK };
        write_error(&text, error, error_size);
        MP_UNKNOWN_NAME
    }
}

/// Returns `MP_INVALID`, and writes the reason. `*engine` becomes NULL.
///
/// # Safety
/// The arguments are as `matchpoint.h` requires of `mp_create`, but `engine` may be NULL.
pub(crate) unsafe fn reject_arguments(
    reason: &str,
    engine: *mut *mut Engine,
    error: *mut c_char,
    error_size: usize,
) -> i32 {
    // SAFETY: the caller guarantees valid pointers.
    unsafe {
        if let Some(engine) = engine.as_mut() {
            *engine = std::ptr::null_mut();
        }
        write_error(reason, error, error_size);
    }
    MP_INVALID
}

/// Writes a text as a C string, truncated to the available space.
///
/// # Safety
/// `error` is NULL or has space for `error_size` bytes.
unsafe fn write_error(text: &str, error: *mut c_char, error_size: usize) {
    if !error.is_null() && error_size > 0 {
        let mut length = text.len().min(error_size - 1);
        while !text.is_char_boundary(length) {
            length -= 1;
        }
        // SAFETY: `length` is less than `error_size`, and no longer than the text.
        unsafe {
            error.cast::<u8>().copy_from_nonoverlapping(text.as_ptr(), length);
            error.add(length).write(0);
        }
    }
}
