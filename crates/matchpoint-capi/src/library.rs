//! Functions of `matchpoint.h` about the library: versions, texts of statuses, names of engines.
#![allow(unsafe_code)]

use std::ffi::{CString, c_char};
use std::sync::LazyLock;

use matchpoint::engines::REGISTRY;
use matchpoint_abi::types::{
    EngineInfo, MP_ABI_VERSION, MP_AGAIN, MP_BUSY, MP_INVALID, MP_MATCHED, MP_NAMED, MP_OK, MP_REFUSED_FULL,
    MP_REFUSED_HINT, MP_REFUSED_MEMORY, MP_UNKNOWN_NAME, ParameterInfo,
};

use crate::answers::write_struct;

/// See `matchpoint.h`.
#[unsafe(no_mangle)]
pub extern "C" fn mp_abi_version() -> u32 {
    MP_ABI_VERSION
}

/// See `matchpoint.h`.
#[unsafe(no_mangle)]
pub extern "C" fn mp_version() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}

/// See `matchpoint.h`.
#[unsafe(no_mangle)]
pub extern "C" fn mp_status_text(status: i64) -> *const c_char {
    let text = match i32::try_from(status).unwrap_or(i32::MIN) {
        MP_OK => c"done: queued, or not found",
        MP_MATCHED => c"done: matched, or found",
        MP_NAMED => c"done: the message has its source, and is queued",
        MP_REFUSED_HINT => c"refused: the call breaks a hint of its context",
        MP_REFUSED_FULL => c"refused: the table of the engine is full",
        MP_REFUSED_MEMORY => c"refused: out of memory",
        MP_INVALID => c"an argument is invalid, or the engine does not have this function",
        MP_BUSY => c"a callback called its own engine",
        MP_UNKNOWN_NAME => c"no such engine, parameter or value on this machine",
        MP_AGAIN => c"a ring is full: poll, then try again",
        _ => c"not a status of this library",
    };
    text.as_ptr()
}

/// See `matchpoint.h`.
#[unsafe(no_mangle)]
pub extern "C" fn mp_engine_count() -> usize {
    REGISTRY.len()
}

/// The texts of each engine: name, summary, then key, default and meaning of each parameter.
static TEXTS: LazyLock<Vec<Vec<CString>>> = LazyLock::new(|| {
    let texts_of_engines = REGISTRY.iter().map(|spec| {
        let parameters = spec
            .parameters
            .iter()
            .flat_map(|parameter| [parameter.key, parameter.default, parameter.meaning]);
        let texts = [spec.name, spec.summary].into_iter().chain(parameters);
        texts.map(|text| CString::new(text).expect("engine texts contain no zero byte")).collect()
    });
    texts_of_engines.collect()
});

/// See `matchpoint.h`.
///
/// # Safety
/// The arguments are as `matchpoint.h` requires.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mp_engine_describe(index: usize, info: *mut EngineInfo, size: usize) -> i32 {
    let Some([name, summary, parameters @ ..]) = TEXTS.get(index).map(Vec::as_slice) else {
        return MP_INVALID;
    };
    let (name, summary) = (name.as_ptr(), summary.as_ptr());
    let description = EngineInfo { name, summary, parameters: parameters.len() / 3 };
    // SAFETY: the caller guarantees valid pointers; pointers and a length have no padding.
    unsafe { write_struct(description, info, size) }
}

/// See `matchpoint.h`.
///
/// # Safety
/// The arguments are as `matchpoint.h` requires.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mp_engine_describe_parameter(
    index: usize,
    parameter: usize,
    info: *mut ParameterInfo,
    size: usize,
) -> i32 {
    let texts = TEXTS.get(index).and_then(|texts| texts[2..].chunks_exact(3).nth(parameter));
    let Some([key, default_value, meaning]) = texts else { return MP_INVALID };
    let [key, default_value, meaning] = [key, default_value, meaning].map(|text| text.as_ptr());
    // SAFETY: the caller guarantees valid pointers; pointers have no padding.
    unsafe { write_struct(ParameterInfo { key, default_value, meaning }, info, size) }
}
