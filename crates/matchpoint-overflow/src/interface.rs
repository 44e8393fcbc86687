//! The interface of shim and core: `core.h` of `matchpoint-run` in Rust. A test compares both texts.

use std::ffi::{c_char, c_uint, c_void};

/// The value of [`CoreFunctions::version`].
pub const CORE_VERSION: u32 = 2;

/// The receive or message is queued.
pub const CORE_QUEUED: CoreResult = 0;
/// The receive or message matched.
pub const CORE_MATCHED: CoreResult = 1;
/// There is no memory. The queues are unchanged.
pub const CORE_REFUSED: CoreResult = 2;

/// The posted receive queue.
pub const CORE_POSTED: CoreQueue = 0;
/// The unexpected message queue.
pub const CORE_UNEXPECTED: CoreQueue = 1;

/// `enum core_result`. An integer, so that every value is valid.
pub type CoreResult = c_uint;
/// `enum core_queue`. An integer, so that every value is valid.
pub type CoreQueue = c_uint;

/// `struct core`, opaque to the shim.
#[repr(C)]
#[derive(Debug)]
pub struct Core {
    opaque: [u8; 0],
}

/// Defines a structure, and a table of its fields for the comparison with the header.
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
    /// The envelope of a receive or a message. -1 in a receive: any source, any tag.
    CoreEnvelope, ENVELOPE_FIELDS:
    /// The context id.
    context: u32,
    /// The rank in the communicator.
    source: i32,
    /// The tag.
    tag: i32,
}

structure! {
    /// Counts and settings of the shim, copied into the report.
    CoreCounts, COUNTS_FIELDS:
    /// Receives posted by the program.
    receives: u64,
    /// Receives that the engine matched or queued.
    overflowed: u64,
    /// Overflowed receives posted to the MPI library later.
    given_back: u64,
    /// Calls that gave receives back.
    give_backs: u64,
    /// Messages taken from the unexpected queue of the MPI library.
    taken: u64,
    /// Detected long unexpected queues.
    watches: u64,
    /// Limit of receives with a source in the MPI library. -1: no limit.
    limit_named: i64,
    /// Limit of receives with `MPI_ANY_SOURCE` in the MPI library. -1: no limit.
    limit_any: i64,
    /// Largest receive that may stay in the engine during a call that may block, in bytes.
    eager_bytes: u64,
    /// 1: the program may send synchronously, so all receives are given back before a call that may block.
    synchronous: u64,
    /// Cost of one entry in a search of the MPI library for a receive with a source, in ns. 0: not measured.
    entry_named_ns: f64,
    /// Cost of one entry in a search of the MPI library for a receive with `MPI_ANY_SOURCE`, in ns. 0: not measured.
    entry_any_ns: f64,
    /// Cost of a message that the engine matches, in ns. 0: not measured.
    overflow_ns: f64,
    /// The rank in `MPI_COMM_WORLD`. -1: unknown.
    rank: i64,
}

/// A function of the shim that [`CoreFunctions::visit`] calls for each entry.
pub type Each = unsafe extern "C" fn(*mut c_void, u64);

structure! {
    /// The functions of the core.
    CoreFunctions, FUNCTIONS_FIELDS:
    /// [`CORE_VERSION`]
    version: u32,
    /// Opens a core with the engine from the environment. NULL: `error` has the reason.
    open: unsafe extern "C" fn(*const CoreCounts, *mut c_char, usize) -> *mut Core,
    /// Writes the last report and frees the core.
    close: unsafe extern "C" fn(*mut Core),
    /// Writes an intermediate report.
    report: unsafe extern "C" fn(*mut Core),
    /// Posts a receive. [`CORE_MATCHED`]: the output is the message.
    post: unsafe extern "C" fn(*mut Core, u64, *const CoreEnvelope, *mut u64) -> CoreResult,
    /// Adds an arriving message. [`CORE_MATCHED`]: the output is the receive.
    arrive: unsafe extern "C" fn(*mut Core, u64, *const CoreEnvelope, *mut u64) -> CoreResult,
    /// Returns the oldest unexpected message that matches, or 0.
    probe: unsafe extern "C" fn(*mut Core, *const CoreEnvelope) -> u64,
    /// Removes and returns the oldest unexpected message that matches, or returns 0.
    take: unsafe extern "C" fn(*mut Core, *const CoreEnvelope) -> u64,
    /// Cancels a receive posted with this envelope. Returns whether it was posted.
    cancel: unsafe extern "C" fn(*mut Core, u64, *const CoreEnvelope) -> bool,
    /// Calls a function for every entry of a queue, oldest first.
    visit: unsafe extern "C" fn(*mut Core, CoreQueue, Each, *mut c_void),
    /// Removes all receives and messages of a context.
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

    /// The name and Rust type of a field of the header.
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
