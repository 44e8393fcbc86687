//! Access to an OTF2 archive through the [`library`]. Callbacks only append to a vector.
#![allow(unsafe_code)]

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::path::Path;

use super::library::{Functions, Object, SUCCESS, library};
use crate::error::TraceError;

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Definition {
    String { id: u32, text: String },
    Clock { ticks_per_second: u64, start: u64 },
    Location { id: u64, kind: u8, events: u64, group: u32 },
    Region { id: u32, name: u32 },
    Group { id: u32, kind: u8, paradigm: u8, flags: u32, members: Vec<u64> },
    Comm { id: u32, group: u32, parent: u32 },
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Event {
    Enter(u32),
    Leave(u32),
    Send { to: u32, comm: u32, tag: u32, bytes: u64, request: Option<u64> },
    SendComplete(u64),
    ReceiveBegins(u64),
    Received { from: u32, comm: u32, tag: u32, bytes: u64, request: Option<u64> },
    Tested(u64),
    Cancelled(u64),
    Collective { comm: u32, root: u32, sent: u64, received: u64 },
}

pub(super) type Timed = (u64, Event);

pub(super) struct Archive {
    reader: Object,
    locations: Vec<Location>,
}

struct Location {
    events: Object,
    /// Callbacks append to this vector. The archive owns the vector, and the library has the address of the
    /// vector.
    sink: *mut Vec<Timed>,
}

// SAFETY: the objects have no other users. The library has no thread-local state and is called under a lock.
unsafe impl Send for Archive {}

fn error(path: &Path, problem: impl Into<String>, advice: &str) -> TraceError {
    TraceError::new(path, problem, advice)
}

fn functions(path: &Path) -> Result<std::sync::MutexGuard<'static, Functions>, TraceError> {
    let functions = library().map_err(|problem| {
        let advice = "install it (Debian: libotf2-trace-dev), or name its file in MATCHPOINT_OTF2";
        error(path, problem, advice)
    })?;
    Ok(functions.lock().unwrap_or_else(std::sync::PoisonError::into_inner))
}

impl Archive {
    pub fn open(path: &Path) -> Result<Self, TraceError> {
        let functions = functions(path)?;
        let name = CString::new(path.as_os_str().as_encoded_bytes())
            .map_err(|_| error(path, "the path has a NUL in it", "rename the file"))?;
        // SAFETY: the call copies the name. The reader is new, and closed in `drop`.
        let reader = unsafe { (functions.open)(name.as_ptr()) };
        let archive = Archive { reader, locations: Vec::new() };
        // SAFETY: a reader that is not null is open.
        let is_open = !reader.is_null() && unsafe { (functions.serial)(reader) } == SUCCESS;
        // The drop of the archive takes the lock.
        drop(functions);
        if !is_open {
            return Err(error(path, "OTF2 cannot open this archive", "copy all of its folder again"));
        }
        Ok(archive)
    }

    pub fn definitions(&mut self, path: &Path) -> Result<Vec<Definition>, TraceError> {
        let functions = functions(path)?;
        let mut found: Vec<Definition> = Vec::new();
        let into = (&raw mut found).cast::<c_void>();
        let mut count = 0;
        // SAFETY: the reader is open; callbacks have the types of the headers, and get the address of
        // `found`, which has no other use until all have run. All created objects are closed.
        let read = unsafe {
            let definitions = (functions.global_definitions)(self.reader);
            let callbacks = (functions.new_definition_callbacks)();
            (functions.on_string)(callbacks, on_string as *const c_void);
            (functions.on_clock)(callbacks, on_clock as *const c_void);
            (functions.on_location)(callbacks, on_location as *const c_void);
            (functions.on_region)(callbacks, on_region as *const c_void);
            (functions.on_group)(callbacks, on_group as *const c_void);
            (functions.on_comm)(callbacks, on_comm as *const c_void);
            (functions.register_definitions)(self.reader, definitions, callbacks, into);
            (functions.delete_definition_callbacks)(callbacks);
            let read = (functions.read_definitions)(self.reader, definitions, &raw mut count);
            (functions.close_definitions)(self.reader, definitions);
            read
        };
        if read != SUCCESS {
            return Err(error(
                path,
                "the definitions of the archive cannot be read",
                "copy its folder again",
            ));
        }
        Ok(found)
    }

    /// Selects locations. Call this function once.
    pub fn select(&mut self, path: &Path, locations: &[u64]) -> Result<(), TraceError> {
        let functions = functions(path)?;
        let advice = "copy all of the archive's folder again";
        // SAFETY: as for `definitions`. Each sink is a separate allocation that lives until `drop`, after the
        // reader is closed; callbacks use it within `read` only.
        unsafe {
            for &location in locations {
                (functions.select)(self.reader, location);
            }
            let has_local = (functions.open_local_files)(self.reader) == SUCCESS;
            if (functions.open_event_files)(self.reader) != SUCCESS {
                return Err(error(path, "the archive has no events", advice));
            }
            let callbacks = (functions.new_event_callbacks)();
            set_event_callbacks(&functions, callbacks);
            for &location in locations {
                if has_local {
                    let local = (functions.local_definitions)(self.reader, location);
                    if !local.is_null() {
                        let mut count = 0;
                        (functions.read_local_definitions)(self.reader, local, &raw mut count);
                        (functions.close_local_definitions)(self.reader, local);
                    }
                }
                let events = (functions.events)(self.reader, location);
                if events.is_null() {
                    (functions.delete_event_callbacks)(callbacks);
                    return Err(error(path, format!("no events of location {location}"), advice));
                }
                let sink = Box::into_raw(Box::<Vec<Timed>>::default());
                self.locations.push(Location { events, sink });
                (functions.register_events)(self.reader, events, callbacks, sink.cast());
            }
            (functions.delete_event_callbacks)(callbacks);
            if has_local {
                (functions.close_local_files)(self.reader);
            }
        }
        Ok(())
    }

    /// Reads up to `count` events of a location, and returns the number of events. After fewer than `count`,
    /// no further call is allowed.
    ///
    /// # Errors
    /// The events are damaged.
    pub fn read(
        &mut self,
        path: &Path,
        at: usize,
        count: u64,
        into: &mut Vec<Timed>,
    ) -> Result<u64, TraceError> {
        let functions = functions(path)?;
        let location = &self.locations[at];
        let mut read = 0;
        // SAFETY: reader and event reader are open; only callbacks use the sink during the call.
        let result = unsafe { (functions.read_events)(self.reader, location.events, count, &raw mut read) };
        // SAFETY: `select` created the sink, and no callback runs now.
        let sink = unsafe { &mut *location.sink };
        into.append(sink);
        if result != SUCCESS {
            let problem = format!("the events of an OTF2 location are damaged after {} of them", into.len());
            return Err(error(path, problem, "copy all of the archive's folder again"));
        }
        Ok(read)
    }
}

impl Drop for Archive {
    fn drop(&mut self) {
        if let Ok(functions) = functions(Path::new("")) {
            // SAFETY: the reader is open, or null, for which the call has no effect. Also closes all event
            // readers.
            unsafe { (functions.close)(self.reader) };
        }
        for location in &self.locations {
            // SAFETY: `select` created the sink, which has no other user.
            drop(unsafe { Box::from_raw(location.sink) });
        }
    }
}

/// # Safety
/// `callbacks` must be an event callbacks object of the library.
unsafe fn set_event_callbacks(functions: &Functions, callbacks: Object) {
    // SAFETY: the callbacks have the types of the headers.
    unsafe {
        (functions.on_enter)(callbacks, on_enter as *const c_void);
        (functions.on_leave)(callbacks, on_leave as *const c_void);
        (functions.on_send)(callbacks, on_send as *const c_void);
        (functions.on_isend)(callbacks, on_isend as *const c_void);
        (functions.on_isend_complete)(callbacks, on_isend_complete as *const c_void);
        (functions.on_irecv_request)(callbacks, on_irecv_request as *const c_void);
        (functions.on_recv)(callbacks, on_recv as *const c_void);
        (functions.on_irecv)(callbacks, on_irecv as *const c_void);
        (functions.on_test)(callbacks, on_test as *const c_void);
        (functions.on_cancelled)(callbacks, on_cancelled as *const c_void);
        (functions.on_collective)(callbacks, on_collective as *const c_void);
    }
}

/// # Safety
/// `into` is the address of the vector, which has no other user now.
unsafe fn push<T>(into: *mut c_void, value: T) -> c_int {
    // SAFETY: guaranteed by the caller.
    unsafe { (*into.cast::<Vec<T>>()).push(value) };
    SUCCESS
}

// The library calls these functions with the registered address and the arguments of the headers. Newer versions
// may add arguments.

macro_rules! definition_callbacks {
    ($($name:ident($($argument:ident: $type:ty),*) => $definition:expr;)*) => {$(
        unsafe extern "C" fn $name(into: *mut c_void, $($argument: $type),*) -> c_int {
            // SAFETY: the library passes the registered address. Passed strings and arrays outlive the callback.
            unsafe { push(into, $definition) }
        }
    )*};
}

definition_callbacks! {
    on_string(id: u32, text: *const c_char) =>
        Definition::String { id, text: CStr::from_ptr(text).to_string_lossy().into_owned() };
    on_clock(ticks_per_second: u64, start: u64, _length: u64) => Definition::Clock { ticks_per_second, start };
    on_location(id: u64, _name: u32, kind: u8, events: u64, group: u32) =>
        Definition::Location { id, kind, events, group };
    on_region(id: u32, name: u32, _canonical: u32) => Definition::Region { id, name };
    on_group(id: u32, _name: u32, kind: u8, paradigm: u8, flags: u32, count: u32, members: *const u64) =>
        Definition::Group { id, kind, paradigm, flags, members: copy_members(members, count) };
    on_comm(id: u32, _name: u32, group: u32, parent: u32) => Definition::Comm { id, group, parent };
}

/// # Safety
/// `members` is null, or has `count` elements.
unsafe fn copy_members(members: *const u64, count: u32) -> Vec<u64> {
    if members.is_null() {
        return Vec::new();
    }
    // SAFETY: guaranteed by the caller.
    unsafe { std::slice::from_raw_parts(members, count as usize) }.to_vec()
}

macro_rules! event_callbacks {
    ($($name:ident($($argument:ident: $type:ty),*) => $event:expr;)*) => {$(
        unsafe extern "C" fn $name(
            _location: u64,
            time: u64,
            _position: u64,
            into: *mut c_void,
            _attributes: *mut c_void,
            $($argument: $type),*
        ) -> c_int {
            // SAFETY: the library passes the registered address.
            unsafe { push(into, (time, $event)) }
        }
    )*};
}

event_callbacks! {
    on_enter(region: u32) => Event::Enter(region);
    on_leave(region: u32) => Event::Leave(region);
    on_send(to: u32, comm: u32, tag: u32, bytes: u64) => Event::Send { to, comm, tag, bytes, request: None };
    on_isend(to: u32, comm: u32, tag: u32, bytes: u64, request: u64) =>
        Event::Send { to, comm, tag, bytes, request: Some(request) };
    on_isend_complete(request: u64) => Event::SendComplete(request);
    on_irecv_request(request: u64) => Event::ReceiveBegins(request);
    on_recv(from: u32, comm: u32, tag: u32, bytes: u64) => Event::Received { from, comm, tag, bytes, request: None };
    on_irecv(from: u32, comm: u32, tag: u32, bytes: u64, request: u64) =>
        Event::Received { from, comm, tag, bytes, request: Some(request) };
    on_test(request: u64) => Event::Tested(request);
    on_cancelled(request: u64) => Event::Cancelled(request);
    on_collective(_operation: u8, comm: u32, root: u32, sent: u64, received: u64) =>
        Event::Collective { comm, root, sent, received };
}
