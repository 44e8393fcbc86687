//! What the library tells of itself: versions, statuses, the engines there are, hash values.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_char};

use matchpoint::engines::{REGISTRY, Spec};
use matchpoint_abi::types::{
    EngineInfo, MP_ABI_VERSION, MP_AGAIN, MP_BUSY, MP_INVALID, MP_MATCHED, MP_NAMED, MP_OK, MP_PANICKED,
    MP_REFUSED_FULL, MP_REFUSED_HINT, MP_REFUSED_MEMORY, MP_UNKNOWN_NAME, ParameterInfo,
};

use crate::tell::hand_out;

/// The version of the interface that the library has: MP_ABI_VERSION of its header. A program that loads it at run
/// time compares them before anything else.
#[unsafe(no_mangle)]
pub extern "C" fn mp_abi_version() -> u32 {
    MP_ABI_VERSION
}

/// The library's release, as a text: "0.1.0".
#[unsafe(no_mangle)]
pub extern "C" fn mp_version() -> *const c_char {
    const { c_string(concat!(env!("CARGO_PKG_VERSION"), "\0")) }.as_ptr()
}

/// A status in words. Never NULL.
#[unsafe(no_mangle)]
pub extern "C" fn mp_status_text(status: i32) -> *const c_char {
    let text = match status {
        MP_OK => c"done: nothing matched, nothing to hand out",
        MP_MATCHED => c"done: matched, or found",
        MP_NAMED => c"done: the message waits on under its name",
        MP_REFUSED_HINT => c"refused: it breaks an assertion made on this context",
        MP_REFUSED_FULL => c"refused: the engine's table is full",
        MP_REFUSED_MEMORY => c"refused: out of memory",
        MP_INVALID => c"an argument is NULL, reserved and not 0, or an unknown flag",
        MP_PANICKED => c"the engine has a bug, and is of no further use",
        MP_BUSY => c"the engine is in another call",
        MP_UNKNOWN_NAME => c"there is no such engine, or not with such parameters",
        MP_AGAIN => c"a ring is full: poll, then try again",
        _ => c"no status of this library",
    };
    text.as_ptr()
}

/// The number of engines there are.
#[unsafe(no_mangle)]
pub extern "C" fn mp_engine_count() -> usize {
    REGISTRY.len()
}

/// Writes what there is to know of engine `index` (from 0) to `*info`, `size` bytes long (sizeof(mp_engine_info)).
/// Any thread may ask at any time.
///
/// Returns MP_OK, or MP_INVALID if there is no such engine.
///
/// # Safety
/// `info` is NULL or room for `size` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mp_engine_describe(index: usize, info: *mut EngineInfo, size: usize) -> i32 {
    let Some(spec) = REGISTRY.get(index).filter(|_| !info.is_null()) else { return MP_INVALID };
    let [name, summary] = [0, 1].map(|number| c_text(index, number));
    let told = EngineInfo { name, summary, parameters: spec.parameters.len() };
    // SAFETY: the caller's promise; pointers and a length have no padding.
    unsafe { hand_out(told, info, size) };
    MP_OK
}

/// Writes what there is to know of parameter `parameter` (from 0) of engine `index` to `*info`, `size` bytes long
/// (sizeof(mp_parameter_info)). Any thread may ask at any time.
///
/// Returns MP_OK, or MP_INVALID if there is no such parameter.
///
/// # Safety
/// `info` is NULL or room for `size` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mp_engine_describe_parameter(
    index: usize,
    parameter: usize,
    info: *mut ParameterInfo,
    size: usize,
) -> i32 {
    let known = REGISTRY.get(index).is_some_and(|spec| parameter < spec.parameters.len());
    if !known || info.is_null() {
        return MP_INVALID;
    }
    let [key, default_value, meaning] = [2, 3, 4].map(|number| c_text(index, 3 * parameter + number));
    // SAFETY: the caller's promise; pointers have no padding.
    unsafe { hand_out(ParameterInfo { key, default_value, meaning }, info, size) };
    MP_OK
}

/// The registry's texts, each with a zero at its end, one after the other: of each engine its name, its summary, and of each
/// parameter key, default and meaning. Put together by the compiler, so that nobody who asks for one needs memory.
static TEXTS: [u8; TEXTS_LEN] = {
    let mut texts = [0; TEXTS_LEN];
    write_texts(&mut texts);
    texts
};

const TEXTS_LEN: usize = write_texts(&mut []);

/// Writes them, unless there is no room at all, and tells how long they are.
const fn write_texts(out: &mut [u8]) -> usize {
    let (mut end, mut engine) = (0, 0);
    while engine < REGISTRY.len() {
        let Spec { name, summary, parameters, .. } = &REGISTRY[engine];
        end = append(out, end, name);
        end = append(out, end, summary);
        let mut parameter = 0;
        while parameter < parameters.len() {
            let of = &parameters[parameter];
            end = append(out, end, of.key);
            end = append(out, end, of.default);
            end = append(out, end, of.meaning);
            parameter += 1;
        }
        engine += 1;
    }
    end
}

/// Writes a text and its zero at `start`, and tells where the next one begins.
const fn append(out: &mut [u8], start: usize, text: &str) -> usize {
    let mut at = 0;
    while at < text.len() && !out.is_empty() {
        out[start + at] = text.as_bytes()[at];
        at += 1;
    }
    start + text.len() + 1
}

/// The texts of an engine, in their order.
fn texts(spec: &'static Spec) -> impl Iterator<Item = &'static str> {
    let parameters = spec.parameters.iter().flat_map(|of| [of.key, of.default, of.meaning]);
    [spec.name, spec.summary].into_iter().chain(parameters)
}

/// Text `number` of engine `index`; both there are.
fn c_text(index: usize, number: usize) -> *const c_char {
    let before = REGISTRY[..index].iter().flat_map(texts).chain(texts(&REGISTRY[index]).take(number));
    let start: usize = before.map(|text| text.len() + 1).sum();
    TEXTS[start..].as_ptr().cast()
}

const fn c_string(text: &str) -> &CStr {
    match CStr::from_bytes_with_nul(text.as_bytes()) {
        Ok(text) => text,
        Err(_) => panic!("a text with one zero, at its end"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_text_of_the_registry_is_a_c_string() {
        for (index, spec) in REGISTRY.iter().enumerate() {
            for (number, text) in texts(spec).enumerate() {
                assert!(!text.contains('\0'), "{text}");
                // SAFETY: `TEXTS` ends with a zero and lives for ever.
                let told = unsafe { CStr::from_ptr(c_text(index, number)) };
                assert_eq!(told.to_str(), Ok(text));
            }
        }
        assert_eq!(TEXTS.last(), Some(&0));
    }
}
