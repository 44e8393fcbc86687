//! An engine in a library, as an [`Engine`]. An answer that the interface does not know is a panic here, since the
//! contract has no word for it: who calls libraries that may be wrong catches it, as the laws do.
#![allow(unsafe_code)]

use std::error::Error;
use std::ffi::{CString, c_char, c_void};
use std::panic::panic_any;
use std::ptr::{self, NonNull};

use matchpoint::{
    ContextId, Drained, Engine, Hints, MsgId, Order, Pair, Queue, Rank, Readdressed, Receive, RecvId,
    Refused, Tag,
};

use crate::convert;
use crate::library::{Functions, Library};
use crate::symbols::Function;
use crate::types::{
    Entry, Envelope, Footprint, MP_DRAINED_MESSAGE, MP_DRAINED_PENDING, MP_DRAINED_RECEIVE, MP_FOUND,
    MP_MATCHED, MP_NAMED, MP_NONE, MP_OK, MP_QUEUE_POSTED, MP_QUEUE_UNEXPECTED, MP_QUEUED, Message, Opaque,
    Outcome, Selector,
};

/// See the [module's documentation](self).
pub struct Foreign {
    engine: NonNull<Opaque>,
    /// After `engine`, which is destroyed by [`Drop`] before the library can go.
    library: Library,
}

// SAFETY: the interface lets an engine be called by any thread, one at a time, and `Foreign` is not `Sync`.
unsafe impl Send for Foreign {}

impl Library {
    /// Makes an engine. Which names there are is up to the library.
    ///
    /// # Errors
    /// What the library says is wrong with the name.
    pub fn create(&self, name: &str) -> Result<Foreign, String> {
        let text = CString::new(name).map_err(|_| format!("`{name}` has a zero byte in it"))?;
        let mut engine: *mut Opaque = ptr::null_mut();
        let mut error = [0u8; 512];
        // SAFETY: a C string, room for a pointer, and as much room for a text as is said.
        let status = unsafe {
            (self.functions().create)(
                text.as_ptr(),
                &mut engine,
                error.as_mut_ptr().cast::<c_char>(),
                error.len(),
            )
        };
        match NonNull::new(engine) {
            Some(engine) if status == MP_OK => Ok(Foreign { engine, library: self.clone() }),
            _ => {
                let end = error.iter().position(|&byte| byte == 0).unwrap_or(error.len());
                let says = String::from_utf8_lossy(&error[..end]).into_owned();
                let says = if says.is_empty() { format!("status {status}, without a word") } else { says };
                Err(format!("{} makes no engine `{name}`: {says}", self.path().display()))
            }
        }
    }
}

impl Drop for Foreign {
    fn drop(&mut self) {
        // SAFETY: the engine is the library's, and nobody has it after this.
        unsafe { (self.functions().destroy)(self.engine.as_ptr()) };
    }
}

impl Foreign {
    fn functions(&self) -> &Functions {
        self.library.functions()
    }
}

/// What a call that can only say yes or no answered.
fn yes(function: &str, status: i32) -> bool {
    match status {
        MP_NONE => false,
        MP_FOUND => true,
        _ => nonsense(function, status),
    }
}

fn refused(function: &str, status: i32) -> Refused {
    convert::refusal(status).unwrap_or_else(|| nonsense(function, status))
}

fn done(function: &str, status: i32) {
    if status != MP_OK {
        nonsense(function, status)
    }
}

/// The library did not panic: whoever catches this tells it from a panic by what it carries.
fn no_answer(what: String) -> ! {
    panic_any(Box::<dyn Error + Send + Sync>::from(what))
}

fn nonsense(function: &str, status: i32) -> ! {
    no_answer(format!("{function} answered {status}, which is not for it to answer"))
}

/// A function that the caller knows is there: it asked [`Library::lacks`].
fn there<F: Copy>(function: Option<F>, which: Function) -> F {
    function.unwrap_or_else(|| panic!("the library has no {}", which.name()))
}

fn length(function: &str, answer: i64) -> usize {
    usize::try_from(answer).unwrap_or_else(|_| no_answer(format!("{function} answered {answer}")))
}

/// What a callback saw: it must not panic, so it says later what it could not understand.
struct Seen<T> {
    good: T,
    bad: Option<i32>,
}

unsafe extern "C" fn drain(user: *mut c_void, kind: i32, id: u64) {
    // SAFETY: `user` is what `Foreign::drained` handed in, for as long as the call lasts.
    let seen = unsafe { &mut *user.cast::<Seen<&mut Drained>>() };
    match kind {
        MP_DRAINED_RECEIVE => seen.good.receives.push(RecvId(id)),
        MP_DRAINED_MESSAGE => seen.good.messages.push(MsgId(id)),
        MP_DRAINED_PENDING => seen.good.pending.push(RecvId(id)),
        _ => seen.bad = Some(kind),
    }
}

unsafe extern "C" fn visit(user: *mut c_void, entry: *const Entry) {
    // SAFETY: `user` is what `Foreign::visit` handed in, for as long as the call lasts.
    let seen = unsafe { &mut *user.cast::<Seen<Vec<matchpoint::Entry>>>() };
    // SAFETY: the interface promises a good entry for as long as the callback runs; NULL is looked for anyway.
    let entry = unsafe { entry.as_ref() };
    match entry.and_then(Entry::read) {
        Some(entry) => seen.good.push(entry),
        None => seen.bad = Some(entry.map_or(-1, |entry| entry.queue)),
    }
}

fn drained(function: &str, drained: &mut Drained, call: impl FnOnce(*mut c_void) -> i32) {
    let mut seen = Seen { good: drained, bad: None };
    done(function, call((&raw mut seen).cast()));
    if let Some(kind) = seen.bad {
        no_answer(format!("{function} drained something of kind {kind}, which there is not"));
    }
}

impl Engine for Foreign {
    fn post_open(&mut self, id: RecvId, selector: &matchpoint::Selector) -> Result<Option<MsgId>, Refused> {
        let (selector, mut message) = (Selector::from(selector), u64::MAX);
        let call = self.functions().post;
        // SAFETY: an engine of this library; the structs outlive the call.
        match unsafe { call(self.engine.as_ptr(), id.0, &selector, &mut message) } {
            MP_QUEUED => Ok(None),
            MP_MATCHED => Ok(Some(MsgId(message))),
            status => Err(refused("mp_engine_post", status)),
        }
    }

    fn arrive(&mut self, id: MsgId, pair: Pair, tag: Tag) -> Result<Option<RecvId>, Refused> {
        let envelope = Envelope { tag: tag.0, context: pair.context().0, source: pair.source().0 };
        let mut receive = u64::MAX;
        let call = self.functions().arrive;
        // SAFETY: as in `post`.
        match unsafe { call(self.engine.as_ptr(), id.0, &envelope, &mut receive) } {
            MP_QUEUED => Ok(None),
            MP_MATCHED => Ok(Some(RecvId(receive))),
            status => Err(refused("mp_engine_arrive", status)),
        }
    }

    fn probe(&mut self, selector: &matchpoint::Selector) -> Option<MsgId> {
        let (selector, mut message) = (Selector::from(selector), u64::MAX);
        // SAFETY: as in `post`.
        let status = unsafe { (self.functions().probe)(self.engine.as_ptr(), &selector, &mut message) };
        yes("mp_engine_probe", status).then_some(MsgId(message))
    }

    fn matched_probe(&mut self, selector: &matchpoint::Selector) -> Option<MsgId> {
        let (selector, mut message) = (Selector::from(selector), u64::MAX);
        let call = self.functions().matched_probe;
        // SAFETY: as in `post`.
        let status = unsafe { call(self.engine.as_ptr(), &selector, &mut message) };
        yes("mp_engine_matched_probe", status).then_some(MsgId(message))
    }

    fn cancel(&mut self, receive: &Receive) -> bool {
        let selector = Selector::from(&receive.selector);
        let call = self.functions().cancel;
        // SAFETY: as in `post`.
        yes("mp_engine_cancel", unsafe { call(self.engine.as_ptr(), receive.id.0, &selector) })
    }

    fn retract(&mut self, message: &matchpoint::Message) -> bool {
        let message = Message::from(message);
        let call = there(self.functions().retract, Function::Retract);
        // SAFETY: as in `post`.
        yes("mp_engine_retract", unsafe { call(self.engine.as_ptr(), message.id, &message.envelope) })
    }

    fn readdress(&mut self, message: &matchpoint::Message, source: Rank) -> Result<Readdressed, Refused> {
        let call = there(self.functions().readdress, Function::Readdress);
        let (message, mut receive) = (Message::from(message), u64::MAX);
        // SAFETY: as in `post`.
        match unsafe { call(self.engine.as_ptr(), message.id, &message.envelope, source.0, &mut receive) } {
            MP_NAMED => Ok(Readdressed::Named),
            MP_MATCHED => Ok(Readdressed::Matched(RecvId(receive))),
            MP_NONE => Ok(Readdressed::NotNameless),
            status => Err(refused("mp_engine_readdress", status)),
        }
    }

    fn set_hints(&mut self, context: ContextId, hints: Hints) -> Result<(), Refused> {
        let call = there(self.functions().set_hints, Function::SetHints);
        // SAFETY: an engine of this library.
        match unsafe { call(self.engine.as_ptr(), context.0, convert::hint_bits(hints)) } {
            MP_OK => Ok(()),
            status => Err(refused("mp_engine_set_hints", status)),
        }
    }

    fn close(&mut self, context: ContextId, out: &mut Drained) {
        let call = there(self.functions().close, Function::Close);
        // SAFETY: an engine of this library; `drain` is told what to do with `user`.
        let call = |user| unsafe { call(self.engine.as_ptr(), context.0, Some(drain), user) };
        drained("mp_engine_close", out, call);
    }

    fn fail_source(&mut self, context: ContextId, source: Rank, out: &mut Drained) {
        let call = there(self.functions().fail_source, Function::FailSource);
        // SAFETY: as in `close`.
        let call = |user| unsafe { call(self.engine.as_ptr(), context.0, source.0, Some(drain), user) };
        drained("mp_engine_fail_source", out, call);
    }

    fn visit(&self, queue: Queue, each: &mut dyn FnMut(matchpoint::Entry)) {
        let call = there(self.functions().visit, Function::Visit);
        let number = match queue {
            Queue::Posted => MP_QUEUE_POSTED,
            Queue::Unexpected => MP_QUEUE_UNEXPECTED,
        };
        // Kept first: `each` may panic, and no panic may cross the library's frames.
        let mut seen = Seen { good: Vec::new(), bad: None };
        // SAFETY: an engine of this library; `visit` is told what to do with `user`.
        let status = unsafe { call(self.engine.as_ptr(), number, Some(visit), (&raw mut seen).cast()) };
        done("mp_engine_visit", status);
        if let Some(queue) = seen.bad {
            no_answer(format!("mp_engine_visit showed an entry of queue {queue}, which there is not"));
        }
        seen.good.into_iter().for_each(each);
    }

    fn posted_len(&self) -> usize {
        // SAFETY: an engine of this library.
        length("mp_engine_posted_len", unsafe { (self.functions().posted_len)(self.engine.as_ptr()) })
    }

    fn unexpected_len(&self) -> usize {
        // SAFETY: an engine of this library.
        length("mp_engine_unexpected_len", unsafe { (self.functions().unexpected_len)(self.engine.as_ptr()) })
    }

    fn arrive_batch(
        &mut self,
        messages: &[matchpoint::Message],
        out: &mut Vec<Option<RecvId>>,
    ) -> Result<(), Refused> {
        let call = there(self.functions().arrive_batch, Function::ArriveBatch);
        let given: Vec<Message> = messages.iter().map(Message::from).collect();
        let mut outcomes = vec![Outcome { id: u64::MAX, status: i32::MIN, reserved: 0 }; given.len()];
        let mut count = usize::MAX;
        // SAFETY: an engine of this library; as many messages as are said, and as many outcomes.
        let status = unsafe {
            call(self.engine.as_ptr(), given.as_ptr(), given.len(), outcomes.as_mut_ptr(), &mut count)
        };
        assert!(count <= given.len(), "mp_engine_arrive_batch did {count} of {} messages", given.len());
        out.extend(outcomes[..count].iter().map(|outcome| match outcome.status {
            MP_QUEUED => None,
            MP_MATCHED => Some(RecvId(outcome.id)),
            status => nonsense("mp_engine_arrive_batch", status),
        }));
        if status == MP_OK { Ok(()) } else { Err(refused("mp_engine_arrive_batch", status)) }
    }

    fn order(&self) -> Order {
        let Some(call) = self.functions().order else { return Order::Total };
        // SAFETY: an engine of this library.
        let number = unsafe { call(self.engine.as_ptr()) };
        convert::order(number).unwrap_or_else(|| nonsense("mp_engine_order", number))
    }

    fn footprint(&self) -> matchpoint::Footprint {
        let call = there(self.functions().footprint, Function::Footprint);
        let mut footprint = Footprint::default();
        // SAFETY: an engine of this library; as much room as is said.
        let status = unsafe { call(self.engine.as_ptr(), &mut footprint, size_of::<Footprint>()) };
        done("mp_engine_footprint", status);
        footprint.into()
    }
}
