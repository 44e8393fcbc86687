//! What the library tells of itself: versions, statuses, the engines there are, hash values.
#![allow(unsafe_code)]

use std::ffi::{CStr, CString, c_char};
use std::sync::OnceLock;

use matchpoint::Hashes;
use matchpoint::engines::REGISTRY;
use matchpoint_abi::types::{
    EngineInfo, Envelope, MP_ABI_VERSION, MP_BUSY, MP_INVALID, MP_MATCHED, MP_OK, MP_PANICKED,
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
        MP_REFUSED_HINT => c"refused: it breaks an assertion made on this context",
        MP_REFUSED_FULL => c"refused: the engine's table is full",
        MP_REFUSED_MEMORY => c"refused: out of memory",
        MP_INVALID => c"an argument is NULL, reserved and not 0, or an unknown flag",
        MP_PANICKED => c"the engine has a bug, and is of no further use",
        MP_BUSY => c"the engine is in another call",
        MP_UNKNOWN_NAME => c"there is no such engine, or not with such parameters",
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
    let Some(engine) = described().get(index).filter(|_| !info.is_null()) else { return MP_INVALID };
    let told = EngineInfo {
        name: engine.name.as_ptr(),
        summary: engine.summary.as_ptr(),
        parameters: engine.parameters.len(),
    };
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
    let found = described().get(index).and_then(|engine| engine.parameters.get(parameter));
    let Some([key, default_value, meaning]) = found.filter(|_| !info.is_null()) else { return MP_INVALID };
    let (key, default_value, meaning) = (key.as_ptr(), default_value.as_ptr(), meaning.as_ptr());
    // SAFETY: the caller's promise; pointers have no padding.
    unsafe { hand_out(ParameterInfo { key, default_value, meaning }, info, size) };
    MP_OK
}

/// The hash values of an envelope, for the sender to compute and the message to carry (the optimistic paper's inline
/// hash values): an engine that can use them is spared the work. The same on every machine and in every release. Put
/// them into `hashes` of the envelope that arrives; they must be of its source and tag, or it may not be found.
///
/// Returns 0 for NULL, which says that there are none. Any thread may ask at any time. Two or three multiplications.
///
/// # Safety
/// `envelope` is NULL or points to one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mp_hashes(envelope: *const Envelope) -> u64 {
    // SAFETY: the caller's promise.
    let envelope =
        unsafe { envelope.as_ref() }.map(|envelope| Envelope { hashes: 0, reserved: 0, ..*envelope });
    let message = envelope.and_then(|envelope| envelope.read(0));
    message.map_or(0, |message| Hashes::of(&message.envelope).to_bits())
}

/// The registry's texts, each with a zero at its end.
struct Described {
    name: CString,
    summary: CString,
    parameters: Vec<[CString; 3]>,
}

fn described() -> &'static [Described] {
    static DESCRIBED: OnceLock<Vec<Described>> = OnceLock::new();
    let text = |text: &str| CString::new(text).unwrap_or_default();
    DESCRIBED.get_or_init(|| {
        let engines = REGISTRY.iter().map(|spec| Described {
            name: text(spec.name),
            summary: text(spec.summary),
            parameters: spec
                .parameters
                .iter()
                .map(|parameter| [parameter.key, parameter.default, parameter.meaning].map(text))
                .collect(),
        });
        engines.collect()
    })
}

const fn c_string(text: &str) -> &CStr {
    match CStr::from_bytes_with_nul(text.as_bytes()) {
        Ok(text) => text,
        Err(_) => panic!("a text with one zero, at its end"),
    }
}
