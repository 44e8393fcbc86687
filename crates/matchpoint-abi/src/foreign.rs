//! [`ForeignEngine`]: an engine of another library with the C interface, used as an [`Engine`].
//!
//! A result that `matchpoint.h` does not define causes a panic, because [`Engine`] has no such error.
//! `matchpoint check` catches the panic and reports a violation.
#![allow(unsafe_code)]

use std::error::Error;
use std::ffi::{CString, c_char, c_void};
use std::panic::panic_any;
use std::ptr::{self, NonNull};

use matchpoint::{
    ContextId, Drained, Engine, Hints, MsgId, Order, Pair, Queue, Rank, Readdressed, Receive, RecvId,
    Refused, Selector, Tag,
};

use crate::convert;
use crate::library::Library;
use crate::types::{
    self, Calls, Entry, Footprint, MP_DRAINED_MESSAGE, MP_DRAINED_PENDING, MP_DRAINED_RECEIVE, MP_FOUND,
    MP_MATCHED, MP_NAMED, MP_NONE, MP_OK, MP_QUEUE_POSTED, MP_QUEUE_UNEXPECTED, MP_QUEUED, Message, Outcome,
};

/// A function that an engine may lack: its pointer in [`Calls`] may be NULL.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Function {
    /// `retract`.
    Retract,
    /// `readdress`.
    Readdress,
    /// `set_hints`.
    SetHints,
    /// `close`.
    Close,
    /// `fail_source`.
    FailSource,
    /// `arrive_batch`.
    ArriveBatch,
    /// `visit`.
    Visit,
    /// `footprint`.
    Footprint,
    /// `order`. Without this function, the order is total.
    Order,
}

impl Function {
    const ALL: [Function; 9] = [
        Function::Retract,
        Function::Readdress,
        Function::SetHints,
        Function::Close,
        Function::FailSource,
        Function::ArriveBatch,
        Function::Visit,
        Function::Footprint,
        Function::Order,
    ];

    /// The name of the function in `matchpoint.h`.
    pub fn name(self) -> &'static str {
        match self {
            Function::Retract => "mp_retract",
            Function::Readdress => "mp_readdress",
            Function::SetHints => "mp_set_hints",
            Function::Close => "mp_close",
            Function::FailSource => "mp_fail_source",
            Function::ArriveBatch => "mp_arrive_batch",
            Function::Visit => "mp_visit",
            Function::Footprint => "mp_footprint_of",
            Function::Order => "mp_order",
        }
    }

    fn is_in(self, calls: &Calls) -> bool {
        match self {
            Function::Retract => calls.retract.is_some(),
            Function::Readdress => calls.readdress.is_some(),
            Function::SetHints => calls.set_hints.is_some(),
            Function::Close => calls.close.is_some(),
            Function::FailSource => calls.fail_source.is_some(),
            Function::ArriveBatch => calls.arrive_batch.is_some(),
            Function::Visit => calls.visit.is_some(),
            Function::Footprint => calls.footprint.is_some(),
            Function::Order => calls.order.is_some(),
        }
    }
}

/// An engine of another library: see the [module](self).
pub struct ForeignEngine {
    engine: NonNull<types::Engine>,
    /// Declared after `engine`, because [`Drop`] destroys the engine before the library is unloaded.
    _library: Library,
}

// SAFETY: any thread may call an engine, but one at a time; `ForeignEngine` is not `Sync`.
unsafe impl Send for ForeignEngine {}

impl Library {
    /// Creates an engine. The library defines the names of its engines.
    ///
    /// # Errors
    /// The library's error text, or the first missing function.
    pub fn create(&self, name: &str) -> Result<ForeignEngine, String> {
        let text = CString::new(name).map_err(|_| {
            format!("the engine name `{name}` contains a zero byte\nhint: remove the zero byte")
        })?;
        let mut engine: *mut types::Engine = ptr::null_mut();
        let mut error = [0u8; 512];
        // SAFETY: a C string, an output pointer, and a text buffer with its size.
        let status = unsafe {
            (self.create_function())(
                text.as_ptr(),
                0,
                &mut engine,
                error.as_mut_ptr().cast::<c_char>(),
                error.len(),
            )
        };
        let error_of =
            |reason: &str| format!("{} cannot create the engine `{name}`: {reason}", self.path().display());
        match NonNull::new(engine) {
            Some(engine) if status == MP_OK => {
                let foreign = ForeignEngine { engine, _library: self.clone() };
                foreign.check_functions().map_err(|reason| error_of(&reason))?;
                Ok(foreign)
            }
            _ => {
                let end = error.iter().position(|&byte| byte == 0).unwrap_or(error.len());
                let reason = String::from_utf8_lossy(&error[..end]).into_owned();
                Err(error_of(&if reason.is_empty() {
                    format!("status {status}, no error text")
                } else {
                    reason
                }))
            }
        }
    }
}

impl Drop for ForeignEngine {
    fn drop(&mut self) {
        if let Some(destroy) = self.calls().destroy {
            // SAFETY: an engine of this library, not used afterwards.
            unsafe { destroy(self.engine.as_ptr()) };
        }
    }
}

/// Converts `MP_FOUND` to true and `MP_NONE` to false.
fn is_found(function: &str, status: i32) -> bool {
    match status {
        MP_NONE => false,
        MP_FOUND => true,
        _ => panic_undefined_status(function, status),
    }
}

fn refused(function: &str, status: i32) -> Refused {
    convert::refusal(status).unwrap_or_else(|| panic_undefined_status(function, status))
}

fn check_ok(function: &str, status: i32) {
    if status != MP_OK {
        panic_undefined_status(function, status)
    }
}

/// Panics with an error as payload, because the payload of other panics is a text.
fn panic_undefined_result(problem: String) -> ! {
    panic_any(Box::<dyn Error + Send + Sync>::from(problem))
}

fn panic_undefined_status(function: &str, status: i32) -> ! {
    panic_undefined_result(format!(
        "{function} returned {status}, which matchpoint.h does not define for this function"
    ))
}

/// Returns a function that [`Library::create`] or the caller has checked.
fn required<F>(function: Option<F>, name: &str) -> F {
    function.unwrap_or_else(|| panic!("the engine has no {name}: its pointer in mp_calls is NULL"))
}

/// Entries that a callback collected. A callback must not panic, so an undefined kind is reported after the
/// call.
struct Collected<T> {
    entries: T,
    undefined_kind: Option<i32>,
}

unsafe extern "C" fn drain(user: *mut c_void, kind: i32, id: u64) {
    // SAFETY: the pointer from `drained`, valid during the call.
    let collected = unsafe { &mut *user.cast::<Collected<&mut Drained>>() };
    match kind {
        MP_DRAINED_RECEIVE => collected.entries.receives.push(RecvId(id)),
        MP_DRAINED_MESSAGE => collected.entries.messages.push(MsgId(id)),
        MP_DRAINED_PENDING => collected.entries.pending.push(RecvId(id)),
        _ => collected.undefined_kind = Some(kind),
    }
}

unsafe extern "C" fn visit(user: *mut c_void, entry: *const Entry) {
    // SAFETY: the pointer from `ForeignEngine::visit`, valid during the call.
    let collected = unsafe { &mut *user.cast::<Collected<Vec<matchpoint::Entry>>>() };
    // SAFETY: NULL, or an entry during the callback.
    let entry = unsafe { entry.as_ref() };
    match entry.and_then(Entry::read) {
        Some(entry) => collected.entries.push(entry),
        None => collected.undefined_kind = Some(entry.map_or(-1, |entry| entry.queue)),
    }
}

fn drained(function: &str, drained: &mut Drained, call: impl FnOnce(*mut c_void) -> i32) {
    let mut collected = Collected { entries: drained, undefined_kind: None };
    check_ok(function, call((&raw mut collected).cast()));
    if let Some(kind) = collected.undefined_kind {
        panic_undefined_result(format!(
            "{function} removed an entry of kind {kind}, which matchpoint.h does not define"
        ));
    }
}

impl ForeignEngine {
    fn engine_fields(&self) -> &types::Engine {
        // SAFETY: the library allocated the struct, and writes to it only during calls.
        unsafe { self.engine.as_ref() }
    }

    fn calls(&self) -> &Calls {
        // SAFETY: the table of functions is valid until the engine is destroyed.
        unsafe { &*self.engine_fields().calls }
    }

    /// Returns the names of the functions that the engine lacks.
    pub fn missing_functions(&self) -> Vec<Function> {
        Function::ALL.into_iter().filter(|function| !function.is_in(self.calls())).collect()
    }

    fn check_functions(&self) -> Result<(), String> {
        if self.engine_fields().calls.is_null() {
            return Err("its table of functions is NULL".to_owned());
        }
        let (fields, calls) = (self.engine_fields(), self.calls());
        let needs = [
            ("post", calls.post.is_some()),
            ("arrive", calls.arrive.is_some()),
            ("probe", calls.probe.is_some()),
            ("matched_probe", calls.matched_probe.is_some()),
            ("cancel", calls.cancel.is_some()),
            ("destroy", calls.destroy.is_some()),
            ("length", calls.length.is_some() || !fields.posted.is_null() && !fields.unexpected.is_null()),
        ];
        match needs.iter().find(|(_, is_present)| !is_present) {
            _ if calls.size < size_of::<Calls>() => Err(format!(
                "its table of functions has {} bytes instead of {}\nhint: build the library with the matchpoint.h of this \
                 program",
                calls.size,
                size_of::<Calls>()
            )),
            Some((name, _)) => Err(format!(
                "its table of functions has no {name}\nhint: an engine needs {}",
                needs.map(|(name, _)| name).join(", ")
            )),
            None => Ok(()),
        }
    }

    fn length(&self, length: *const u64, queue: i32) -> usize {
        let answer = match NonNull::new(length.cast_mut()) {
            // SAFETY: the engine stores the length at this address, and no call is active.
            Some(length) => i64::try_from(unsafe { length.read() }).unwrap_or(-1),
            None => {
                let call = required(self.calls().length, "length");
                // SAFETY: an engine of this library.
                unsafe { call(self.engine.as_ptr(), queue) }
            }
        };
        usize::try_from(answer).unwrap_or_else(|_| {
            panic_undefined_result(format!("the engine returned {answer} as the length of a queue"))
        })
    }
}

/// A status that does not fit becomes `i32::MIN`, which `matchpoint.h` does not define.
fn id_and_status(outcome: Outcome) -> (u64, i32) {
    (outcome.id, i32::try_from(outcome.status).unwrap_or(i32::MIN))
}

fn selector_words(selector: &Selector) -> (u64, u64, u64) {
    let (tag, ignore) = selector.tag_and_ignored();
    (selector.pair().0, tag, ignore)
}

impl Engine for ForeignEngine {
    fn post_selector(&mut self, id: RecvId, selector: &Selector) -> Result<Option<MsgId>, Refused> {
        let (call, (pair, tag, ignore)) = (required(self.calls().post, "mp_post"), selector_words(selector));
        // SAFETY: an engine of this library.
        let (id, status) = id_and_status(unsafe { call(self.engine.as_ptr(), id.0, pair, tag, ignore) });
        match status {
            MP_QUEUED => Ok(None),
            MP_MATCHED => Ok(Some(MsgId(id))),
            status => Err(refused("mp_post", status)),
        }
    }

    fn post_exact(&mut self, id: RecvId, pair: Pair, tag: Tag) -> Result<Option<MsgId>, Refused> {
        let Some(call) = self.calls().post_exact else {
            return self.post_selector(id, &Selector::of(pair, tag.0, 0));
        };
        // SAFETY: an engine of this library.
        let (id, status) = id_and_status(unsafe { call(self.engine.as_ptr(), id.0, pair.0, tag.0) });
        match status {
            MP_QUEUED => Ok(None),
            MP_MATCHED => Ok(Some(MsgId(id))),
            status => Err(refused("mp_post_exact", status)),
        }
    }

    fn arrive(&mut self, id: MsgId, pair: Pair, tag: Tag) -> Result<Option<RecvId>, Refused> {
        let call = required(self.calls().arrive, "mp_arrive");
        // SAFETY: an engine of this library.
        let (id, status) = id_and_status(unsafe { call(self.engine.as_ptr(), id.0, pair.0, tag.0) });
        match status {
            MP_QUEUED => Ok(None),
            MP_MATCHED => Ok(Some(RecvId(id))),
            status => Err(refused("mp_arrive", status)),
        }
    }

    fn probe(&mut self, selector: &Selector) -> Option<MsgId> {
        let (call, (pair, tag, ignore)) =
            (required(self.calls().probe, "mp_probe"), selector_words(selector));
        // SAFETY: an engine of this library.
        let (id, status) = id_and_status(unsafe { call(self.engine.as_ptr(), pair, tag, ignore) });
        is_found("mp_probe", status).then_some(MsgId(id))
    }

    fn matched_probe(&mut self, selector: &Selector) -> Option<MsgId> {
        let call = required(self.calls().matched_probe, "mp_matched_probe");
        let (pair, tag, ignore) = selector_words(selector);
        // SAFETY: an engine of this library.
        let (id, status) = id_and_status(unsafe { call(self.engine.as_ptr(), pair, tag, ignore) });
        is_found("mp_matched_probe", status).then_some(MsgId(id))
    }

    fn cancel(&mut self, receive: &Receive) -> bool {
        let call = required(self.calls().cancel, "mp_cancel");
        let (pair, tag, ignore) = selector_words(&receive.selector);
        // SAFETY: an engine of this library.
        is_found("mp_cancel", unsafe { call(self.engine.as_ptr(), receive.id.0, pair, tag, ignore) })
    }

    fn retract(&mut self, message: &matchpoint::Message) -> bool {
        let call = required(self.calls().retract, "mp_retract");
        let Message { id, pair, tag } = Message::from(message);
        // SAFETY: an engine of this library.
        is_found("mp_retract", unsafe { call(self.engine.as_ptr(), id, pair, tag) })
    }

    fn readdress(&mut self, message: &matchpoint::Message, source: Rank) -> Result<Readdressed, Refused> {
        let call = required(self.calls().readdress, "mp_readdress");
        let Message { id, pair, tag } = Message::from(message);
        // SAFETY: an engine of this library.
        let (id, status) = id_and_status(unsafe { call(self.engine.as_ptr(), id, pair, tag, source.0) });
        match status {
            MP_NAMED => Ok(Readdressed::SourceSet),
            MP_MATCHED => Ok(Readdressed::Matched(RecvId(id))),
            MP_NONE => Ok(Readdressed::Unchanged),
            status => Err(refused("mp_readdress", status)),
        }
    }

    fn set_hints(&mut self, context: ContextId, hints: Hints) -> Result<(), Refused> {
        let call = required(self.calls().set_hints, "mp_set_hints");
        // SAFETY: an engine of this library.
        match unsafe { call(self.engine.as_ptr(), context.0, convert::hint_bits(hints)) } {
            MP_OK => Ok(()),
            status => Err(refused("mp_set_hints", status)),
        }
    }

    fn close(&mut self, context: ContextId, out: &mut Drained) {
        let call = required(self.calls().close, "mp_close");
        // SAFETY: an engine of this library. `drain` gets the type of `user` that it expects.
        drained("mp_close", out, |user| unsafe { call(self.engine.as_ptr(), context.0, Some(drain), user) });
    }

    fn fail_source(&mut self, context: ContextId, source: Rank, out: &mut Drained) {
        let call = required(self.calls().fail_source, "mp_fail_source");
        // SAFETY: as in `close`.
        drained("mp_fail_source", out, |user| unsafe {
            call(self.engine.as_ptr(), context.0, source.0, Some(drain), user)
        });
    }

    fn visit(&self, queue: Queue, each: &mut dyn FnMut(matchpoint::Entry)) {
        let call = required(self.calls().visit, "mp_visit");
        let number = match queue {
            Queue::Posted => MP_QUEUE_POSTED,
            Queue::Unexpected => MP_QUEUE_UNEXPECTED,
        };
        // Entries are collected first: `each` may panic, and no panic may unwind through the library's
        // functions.
        let mut collected = Collected { entries: Vec::new(), undefined_kind: None };
        // SAFETY: an engine of this library. `visit` gets the type of `user` that it expects.
        let status = unsafe { call(self.engine.as_ptr(), number, Some(visit), (&raw mut collected).cast()) };
        check_ok("mp_visit", status);
        if let Some(queue) = collected.undefined_kind {
            panic_undefined_result(format!(
                "mp_visit listed an entry of queue {queue}, which matchpoint.h does not define"
            ));
        }
        collected.entries.into_iter().for_each(each);
    }

    fn posted_len(&self) -> usize {
        self.length(self.engine_fields().posted, MP_QUEUE_POSTED)
    }

    fn unexpected_len(&self) -> usize {
        self.length(self.engine_fields().unexpected, MP_QUEUE_UNEXPECTED)
    }

    fn arrive_batch(
        &mut self,
        messages: &[matchpoint::Message],
        out: &mut Vec<Option<RecvId>>,
    ) -> Result<(), Refused> {
        let call = required(self.calls().arrive_batch, "mp_arrive_batch");
        let given: Vec<Message> = messages.iter().map(Message::from).collect();
        let mut outcomes = vec![Outcome { id: u64::MAX, status: i64::MIN }; given.len()];
        let (mut count, room) = (usize::MAX, outcomes.as_mut_ptr());
        // SAFETY: an engine of this library. The arrays have as many elements as the arguments declare.
        let status = unsafe {
            call(self.engine.as_ptr(), given.as_ptr(), given.len(), room, &mut count, None, ptr::null_mut())
        };
        assert!(count <= given.len(), "mp_arrive_batch reported {count} of {} messages", given.len());
        out.extend(outcomes[..count].iter().map(|&outcome| match id_and_status(outcome) {
            (_, MP_QUEUED) => None,
            (id, MP_MATCHED) => Some(RecvId(id)),
            (_, status) => panic_undefined_status("mp_arrive_batch", status),
        }));
        if status == MP_OK { Ok(()) } else { Err(refused("mp_arrive_batch", status)) }
    }

    fn order(&self) -> Order {
        let Some(call) = self.calls().order else { return Order::Total };
        // SAFETY: an engine of this library.
        let number = unsafe { call(self.engine.as_ptr()) };
        convert::order(number).unwrap_or_else(|| panic_undefined_status("mp_order", number))
    }

    fn footprint(&self) -> matchpoint::Footprint {
        let call = required(self.calls().footprint, "mp_footprint");
        let mut footprint = Footprint::default();
        // SAFETY: an engine of this library. The struct has the given size.
        let status = unsafe { call(self.engine.as_ptr(), &mut footprint, size_of::<Footprint>()) };
        check_ok("mp_footprint_of", status);
        footprint.into()
    }
}
