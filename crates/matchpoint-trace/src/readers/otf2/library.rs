//! The OTF2 library, loaded at run time, because the file format is undocumented. `OTF2_Reader.h` and its
//! includes, versions 2.0 to 3.x, declare the interface.
#![allow(unsafe_code)]

use std::ffi::{OsString, c_char, c_int, c_void};
use std::sync::{Mutex, OnceLock};

const VARIABLE: &str = "MATCHPOINT_OTF2";

/// Names of the library upstream and in Debian, newest interface first.
const NAMES: &[&str] = &[
    "libotf2.so.10",
    "libopen-trace-format2.so.10",
    "libotf2.so.12",
    "libotf2.so.11",
    "libotf2.so.9",
    "libotf2.so.8",
    "libotf2.so.7",
    "libotf2.so.6",
    "libotf2.so",
    "libopen-trace-format2.so",
    "libotf2.dylib",
];

/// `OTF2_SUCCESS` and `OTF2_CALLBACK_SUCCESS`.
pub(super) const SUCCESS: c_int = 0;

/// A pointer to an object of the library.
pub(super) type Object = *mut c_void;
pub(super) type Callback = *const c_void;

macro_rules! functions {
    ($($field:ident = $symbol:literal: $type:ty,)*) => {
        /// Functions of the library, valid until the process ends.
        pub(super) struct Functions { $(pub $field: $type,)* }

        impl Functions {
            fn find(library: &libloading::Library) -> Result<Functions, String> {
                Ok(Functions { $(
                    // SAFETY: the types are those of the library's headers. A library of this name with other
                    // types cannot be detected.
                    $field: *unsafe { library.get::<$type>(concat!($symbol, "\0").as_bytes()) }
                        .map_err(|error| error.to_string())?,
                )* })
            }
        }
    };
}

/// `void (reader, object)` or `OTF2_ErrorCode (reader, object)`.
type Close = unsafe extern "C" fn(Object, Object) -> c_int;
/// `OTF2_ErrorCode (reader)`
type OfReader = unsafe extern "C" fn(Object) -> c_int;
/// `(reader, location)`, returns an object.
type OfLocation = unsafe extern "C" fn(Object, u64) -> Object;
/// `OTF2_ErrorCode (reader, object, uint64_t* read)`
type ReadAll = unsafe extern "C" fn(Object, Object, *mut u64) -> c_int;
/// `OTF2_ErrorCode (reader, object, callbacks, userData)`
type Register = unsafe extern "C" fn(Object, Object, Object, *mut c_void) -> c_int;
/// `OTF2_ErrorCode (callbacks, callback)`
type SetCallback = unsafe extern "C" fn(Object, Callback) -> c_int;

functions! {
    open = "OTF2_Reader_Open": unsafe extern "C" fn(*const c_char) -> Object,
    close = "OTF2_Reader_Close": OfReader,
    serial = "OTF2_Reader_SetSerialCollectiveCallbacks": OfReader,
    select = "OTF2_Reader_SelectLocation": unsafe extern "C" fn(Object, u64) -> c_int,
    global_definitions = "OTF2_Reader_GetGlobalDefReader": unsafe extern "C" fn(Object) -> Object,
    register_definitions = "OTF2_Reader_RegisterGlobalDefCallbacks": Register,
    read_definitions = "OTF2_Reader_ReadAllGlobalDefinitions": ReadAll,
    close_definitions = "OTF2_Reader_CloseGlobalDefReader": Close,
    open_local_files = "OTF2_Reader_OpenDefFiles": OfReader,
    close_local_files = "OTF2_Reader_CloseDefFiles": OfReader,
    local_definitions = "OTF2_Reader_GetDefReader": OfLocation,
    read_local_definitions = "OTF2_Reader_ReadAllLocalDefinitions": ReadAll,
    close_local_definitions = "OTF2_Reader_CloseDefReader": Close,
    open_event_files = "OTF2_Reader_OpenEvtFiles": OfReader,
    events = "OTF2_Reader_GetEvtReader": OfLocation,
    register_events = "OTF2_Reader_RegisterEvtCallbacks": Register,
    read_events = "OTF2_Reader_ReadLocalEvents": unsafe extern "C" fn(Object, Object, u64, *mut u64) -> c_int,
    new_definition_callbacks = "OTF2_GlobalDefReaderCallbacks_New": unsafe extern "C" fn() -> Object,
    delete_definition_callbacks = "OTF2_GlobalDefReaderCallbacks_Delete": OfReader,
    on_string = "OTF2_GlobalDefReaderCallbacks_SetStringCallback": SetCallback,
    on_clock = "OTF2_GlobalDefReaderCallbacks_SetClockPropertiesCallback": SetCallback,
    on_location = "OTF2_GlobalDefReaderCallbacks_SetLocationCallback": SetCallback,
    on_region = "OTF2_GlobalDefReaderCallbacks_SetRegionCallback": SetCallback,
    on_group = "OTF2_GlobalDefReaderCallbacks_SetGroupCallback": SetCallback,
    on_comm = "OTF2_GlobalDefReaderCallbacks_SetCommCallback": SetCallback,
    new_event_callbacks = "OTF2_EvtReaderCallbacks_New": unsafe extern "C" fn() -> Object,
    delete_event_callbacks = "OTF2_EvtReaderCallbacks_Delete": OfReader,
    on_enter = "OTF2_EvtReaderCallbacks_SetEnterCallback": SetCallback,
    on_leave = "OTF2_EvtReaderCallbacks_SetLeaveCallback": SetCallback,
    on_send = "OTF2_EvtReaderCallbacks_SetMpiSendCallback": SetCallback,
    on_isend = "OTF2_EvtReaderCallbacks_SetMpiIsendCallback": SetCallback,
    on_isend_complete = "OTF2_EvtReaderCallbacks_SetMpiIsendCompleteCallback": SetCallback,
    on_irecv_request = "OTF2_EvtReaderCallbacks_SetMpiIrecvRequestCallback": SetCallback,
    on_recv = "OTF2_EvtReaderCallbacks_SetMpiRecvCallback": SetCallback,
    on_irecv = "OTF2_EvtReaderCallbacks_SetMpiIrecvCallback": SetCallback,
    on_test = "OTF2_EvtReaderCallbacks_SetMpiRequestTestCallback": SetCallback,
    on_cancelled = "OTF2_EvtReaderCallbacks_SetMpiRequestCancelledCallback": SetCallback,
    on_collective = "OTF2_EvtReaderCallbacks_SetMpiCollectiveEndCallback": SetCallback,
}

/// Functions of the library under a lock, because the library's thread safety is undocumented.
pub(super) fn library() -> Result<&'static Mutex<Functions>, String> {
    static LIBRARY: OnceLock<Result<Mutex<Functions>, String>> = OnceLock::new();
    LIBRARY.get_or_init(|| load().map(Mutex::new)).as_ref().map_err(Clone::clone)
}

fn load() -> Result<Functions, String> {
    let named = std::env::var_os(VARIABLE);
    let names: Vec<OsString> = match &named {
        Some(named) => vec![named.clone()],
        None => NAMES.iter().map(OsString::from).collect(),
    };
    // SAFETY: the system's OTF2 library. Loading it runs its constructors.
    let found = names.iter().find_map(|name| unsafe { libloading::Library::new(name) }.ok());
    let Some(library) = found else {
        return Err(match named {
            Some(named) => format!("{VARIABLE} names {}, which cannot be loaded", named.to_string_lossy()),
            None => "the library that reads OTF2 is not installed".to_owned(),
        });
    };
    let functions =
        Functions::find(&library).map_err(|error| format!("the library of OTF2 is another: {error}"));
    // The library is never unloaded: its functions may be called until the process ends.
    std::mem::forget(library);
    functions
}
