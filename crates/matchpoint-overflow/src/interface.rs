//! `core.h` of `matchpoint-run` in Rust. A test compares both texts. `core.h` documents the items.
#![allow(missing_docs)]

use std::ffi::{c_char, c_uint, c_void};

pub const CORE_VERSION: u32 = 3;

pub const CORE_QUEUED: CoreResult = 0;
pub const CORE_MATCHED: CoreResult = 1;
pub const CORE_REFUSED: CoreResult = 2;

pub const CORE_POSTED: CoreQueue = 0;
pub const CORE_UNEXPECTED: CoreQueue = 1;

/// An integer, so that every value is valid.
pub type CoreResult = c_uint;
/// An integer, so that every value is valid.
pub type CoreQueue = c_uint;

/// Opaque to the shim.
#[repr(C)]
#[derive(Debug)]
pub struct Core {
    opaque: [u8; 0],
}

/// A structure, and a table of its fields for the comparison with the header.
macro_rules! structure {
    ($(#[$about:meta])* $name:ident, $fields:ident: $($(#[$field_about:meta])* $field:ident: $type:ty,)*) => {
        $(#[$about])*
        #[repr(C)]
        #[derive(Clone, Copy, Debug)]
        pub struct $name { $($(#[$field_about])* pub $field: $type,)* }

        #[cfg(test)]
        const $fields: &[(&str, &str)] = &[$((stringify!($field), stringify!($type)),)*];
    };
}

structure! {
    CoreEnvelope, ENVELOPE_FIELDS:
    context: u32,
    source: i32,
    tag: i32,
}

structure! {
    CoreCounts, COUNTS_FIELDS:
    receives: u64,
    overflowed: u64,
    given_back: u64,
    give_backs: u64,
    taken: u64,
    watches: u64,
    limit_named: i64,
    limit_any: i64,
    eager_bytes: u64,
    synchronous: u64,
    entry_named_ns: f64,
    entry_any_ns: f64,
    overflow_ns: f64,
    rank: i64,
    off: u64,
}

pub type Each = unsafe extern "C" fn(*mut c_void, u64);

structure! {
    CoreFunctions, FUNCTIONS_FIELDS:
    version: u32,
    open: unsafe extern "C" fn(*const CoreCounts, *mut c_char, usize) -> *mut Core,
    close: unsafe extern "C" fn(*mut Core),
    report: unsafe extern "C" fn(*mut Core),
    post: unsafe extern "C" fn(*mut Core, u64, *const CoreEnvelope, *mut u64) -> CoreResult,
    arrive: unsafe extern "C" fn(*mut Core, u64, *const CoreEnvelope, *mut u64) -> CoreResult,
    probe: unsafe extern "C" fn(*mut Core, *const CoreEnvelope) -> u64,
    take: unsafe extern "C" fn(*mut Core, *const CoreEnvelope) -> u64,
    cancel: unsafe extern "C" fn(*mut Core, u64, *const CoreEnvelope) -> bool,
    visit: unsafe extern "C" fn(*mut Core, CoreQueue, Each, *mut c_void),
    close_context: unsafe extern "C" fn(*mut Core, u32),
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &str = include_str!("../../matchpoint-run/shim/core.h");

    /// The header without comments and with single spaces.
    fn header() -> String {
        let mut text = String::new();
        for (index, part) in HEADER.split("/*").enumerate() {
            let code = if index == 0 { part } else { part.split_once("*/").expect("a comment ends").1 };
            text.push_str(code);
        }
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    /// The text between the braces of `kind name { … };`.
    fn body<'a>(header: &'a str, declaration: &str) -> &'a str {
        let (_, rest) = header.split_once(&format!("{declaration} {{")).expect("the header declares it");
        rest.split_once('}').expect("the declaration ends").0
    }

    fn rust_type(c: &str) -> &'static str {
        let c = c.trim();
        let pointer = c.rfind('*').map(|star| c[..=star].replace(' ', ""));
        match pointer.as_deref().unwrap_or_else(|| c.split(' ').take(2).last().unwrap_or(c)) {
            "structcore*" => "*mut Core",
            "conststructcore_counts*" => "*const CoreCounts",
            "conststructcore_envelope*" => "*const CoreEnvelope",
            "char*" => "*mut c_char",
            "void*" => "*mut c_void",
            "uint64_t*" => "*mut u64",
            "core_result" => "CoreResult",
            "core_queue" => "CoreQueue",
            _ => match c.split(' ').next().unwrap_or_default() {
                "uint64_t" => "u64",
                "int64_t" => "i64",
                "uint32_t" => "u32",
                "int32_t" => "i32",
                "double" => "f64",
                "size_t" => "usize",
                "bool" => "bool",
                other => panic!("unknown C type {other} in {c}"),
            },
        }
    }

    /// Name and Rust type.
    fn field(declaration: &str) -> (String, String) {
        let Some((result, rest)) = declaration.split_once("(*") else {
            let (_, name) = declaration.rsplit_once(' ').expect("a type and a name");
            return (name.to_owned(), rust_type(declaration).to_owned());
        };
        let (name, parameters) = rest.split_once(")(").expect("parameters follow the name");
        let parameters = parameters.strip_suffix(')').expect("a parenthesis ends the parameters");
        let each = "void (*each)(void *argument, uint64_t id)";
        let types: Vec<_> = parameters
            .replace(each, "EACH")
            .split(',')
            .map(|one| if one.trim() == "EACH" { "Each" } else { rust_type(one) })
            .collect();
        let result = match result.trim() {
            "void" => String::new(),
            result => format!(" -> {}", rust_type(result)),
        };
        (name.to_owned(), format!("unsafe extern \"C\" fn({}){result}", types.join(", ")))
    }

    fn assert_equal(declaration: &str, fields: &[(&str, &str)]) {
        let header = header();
        let expected: Vec<_> = body(&header, declaration)
            .split(';')
            .map(str::trim)
            .filter(|d| !d.is_empty())
            .map(field)
            .collect();
        let ours: Vec<_> = fields
            .iter()
            .map(|(name, rust)| ((*name).to_owned(), rust.split_whitespace().collect::<Vec<_>>().join(" ")))
            .collect();
        assert_eq!(ours, expected, "{declaration}");
    }

    #[test]
    fn structures_equal_header() {
        assert_equal("struct core_envelope", ENVELOPE_FIELDS);
        assert_equal("struct core_counts", COUNTS_FIELDS);
        assert_equal("struct core_functions", FUNCTIONS_FIELDS);
    }

    #[test]
    fn constants_equal_header() {
        let header = header();
        assert!(header.contains(&format!("#define CORE_VERSION {CORE_VERSION} ")));
        let values = |declaration: &str| {
            let values = body(&header, declaration).split(',');
            values.map(|value| value.trim().to_owned()).collect::<Vec<_>>()
        };
        let results = [("QUEUED", CORE_QUEUED), ("MATCHED", CORE_MATCHED), ("REFUSED", CORE_REFUSED)];
        assert_eq!(values("enum core_result"), results.map(|(name, value)| format!("CORE_{name} = {value}")));
        let queues = [("POSTED", CORE_POSTED), ("UNEXPECTED", CORE_UNEXPECTED)];
        assert_eq!(values("enum core_queue"), queues.map(|(name, value)| format!("CORE_{name} = {value}")));
    }
}
