//! The interface between shim and core: `core.h` of `matchpoint-run` in Rust. A test compares both texts.

use std::ffi::{c_char, c_uint, c_void};

/// [`CoreFunctions::version`].
pub const CORE_VERSION: u32 = 2;

/// The call queued its receive or message.
pub const CORE_QUEUED: CoreResult = 0;
/// The call found a match.
pub const CORE_MATCHED: CoreResult = 1;
/// There is no memory; nothing has changed.
pub const CORE_REFUSED: CoreResult = 2;

/// The queue of posted receives.
pub const CORE_POSTED: CoreQueue = 0;
/// The queue of unexpected messages.
pub const CORE_UNEXPECTED: CoreQueue = 1;

/// `enum core_result`. An integer, so that every value is valid.
pub type CoreResult = c_uint;
/// `enum core_queue`. An integer, so that every value is valid.
pub type CoreQueue = c_uint;

/// `struct core`, which the shim only refers to.
#[repr(C)]
#[derive(Debug)]
pub struct Core {
    opaque: [u8; 0],
}

/// Defines a structure together with the names and types of its fields, for the comparison with the header.
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
    /// The envelope of a receive or a message. A wildcard is -1; a message has none.
    CoreEnvelope, ENVELOPE_FIELDS:
    /// One value for each communicator.
    context: u32,
    /// The rank in the communicator.
    source: i32,
    /// The tag.
    tag: i32,
}

structure! {
    /// Counts and settings of the shim. The core copies them into the report.
    CoreCounts, COUNTS_FIELDS:
    /// Receives posted by the program.
    receives: u64,
    /// Receives that the engine queued or matched.
    overflowed: u64,
    /// Overflowed receives that were later posted to the MPI library.
    given_back: u64,
    /// Calls that gave receives back.
    give_backs: u64,
    /// Messages taken from the unexpected queue of the MPI library.
    taken: u64,
    /// Long unexpected queues found.
    watches: u64,
    /// Receives with a source that the MPI library holds before overflow begins. -1: no limit.
    limit_named: i64,
    /// Receives with `MPI_ANY_SOURCE` that the MPI library holds before overflow begins. -1: no limit.
    limit_any: i64,
    /// Receives up to this size may stay in the engine during a call that may block.
    eager_bytes: u64,
    /// 1: the program may send synchronously, so no receive may stay.
    synchronous: u64,
    /// Cost of one entry in a search of the MPI library for a receive with a source. 0: not measured.
    entry_named_ns: f64,
    /// Cost of one entry in a search of the MPI library for a receive with `MPI_ANY_SOURCE`. 0: not measured.
    entry_any_ns: f64,
    /// Cost of a message that the engine matches. 0: not measured.
    overflow_ns: f64,
    /// The rank in `MPI_COMM_WORLD`. -1: none.
    rank: i64,
}

/// A function of the shim that [`CoreFunctions::visit`] calls for each entry.
pub type Each = unsafe extern "C" fn(*mut c_void, u64);

structure! {
    /// The functions of the core.
    CoreFunctions, FUNCTIONS_FIELDS:
    /// [`CORE_VERSION`]
    version: u32,
    /// Opens a core with the engine that the environment names. Null: `error` has the reason.
    open: unsafe extern "C" fn(*const CoreCounts, *mut c_char, usize) -> *mut Core,
    /// Writes the last report and frees the core.
    close: unsafe extern "C" fn(*mut Core),
    /// Writes an intermediate report.
    report: unsafe extern "C" fn(*mut Core),
    /// Posts a receive. [`CORE_MATCHED`]: the result has the message.
    post: unsafe extern "C" fn(*mut Core, u64, *const CoreEnvelope, *mut u64) -> CoreResult,
    /// Hands in a message that arrived. [`CORE_MATCHED`]: the result has the receive.
    arrive: unsafe extern "C" fn(*mut Core, u64, *const CoreEnvelope, *mut u64) -> CoreResult,
    /// Returns the first unexpected message that matches, or 0.
    probe: unsafe extern "C" fn(*mut Core, *const CoreEnvelope) -> u64,
    /// Removes and returns the first unexpected message that matches. 0: there is none.
    take: unsafe extern "C" fn(*mut Core, *const CoreEnvelope) -> u64,
    /// Withdraws a receive that was posted with this envelope. False: it is not posted.
    cancel: unsafe extern "C" fn(*mut Core, u64, *const CoreEnvelope) -> bool,
    /// Calls a function for every entry of a queue, oldest first.
    visit: unsafe extern "C" fn(*mut Core, CoreQueue, Each, *mut c_void),
    /// Removes every receive and message of a context.
    close_context: unsafe extern "C" fn(*mut Core, u32),
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &str = include_str!("../../matchpoint-run/shim/core.h");

    /// The header without comments, with single spaces.
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

    /// A C type or parameter as Rust spells its type.
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

    /// Name and Rust type of one field of the header.
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
