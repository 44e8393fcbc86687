//! Engines for one thread at a time.
#![allow(unsafe_code)]

use std::ffi::{CString, c_void};

use matchpoint::engine;
use matchpoint::engines::hybrid::Hybrid;
use matchpoint::hints::HintTable;
use matchpoint::{
    ContextId, Drained, Engine, Message, MsgId, Pair, Place, Queue, Rank, RecvId, Refused, Selector, Tag,
};
use matchpoint_abi::convert;
use matchpoint_abi::types::{
    self, Attempts, DeliverFn, DrainFn, Entry, Footprint, HintsFn, MP_FOUND, MP_INVALID, MP_MATCHED, MP_NONE,
    MP_OK, MP_QUEUED, MP_REFUSED_FULL, MP_REFUSED_HINT, MP_REFUSED_MEMORY, Outcome, StatisticFn, VisitFn,
};

use crate::answers::{self, Batch, Delivery, done, outcome, was_there, write_struct};
use crate::calls::{Handle, Kind};

/// An engine, by its type or by its trait, and the lengths of its queues at a fixed place.
pub(crate) trait Owner: 'static {
    type Owned: Engine + ?Sized;

    fn engine(&mut self) -> &mut Self::Owned;

    fn post_exact(&mut self, receive: u64, pair: Pair, tag: Tag) -> Outcome;

    /// [`Engine::queue_receive`], which without a place is a post.
    fn post(&mut self, receive: u64, selector: &Selector, place: Place) -> Outcome;

    /// [`Engine::queue_message`], which without a place is an arrival.
    fn arrive(&mut self, message: u64, pair: Pair, tag: Tag, place: Place) -> Outcome;

    /// [`Engine::take_receive`], with the place after a search without a match.
    fn take_receive(&mut self, pair: Pair, tag: Tag) -> Outcome;

    /// [`Engine::matched_probe`], with the place after a search without a match.
    fn matched_probe(&mut self, selector: &Selector) -> Outcome;

    fn probe(&mut self, selector: &Selector) -> Outcome {
        answers::found(self.engine().probe(selector).map(|MsgId(id)| id))
    }

    /// Addresses of the lengths of the posted and of the unexpected queue.
    fn lengths(&self) -> [&u64; 2];

    /// Adds to the lengths.
    fn add(&mut self, posted: i64, unexpected: i64);

    /// Reads the lengths again, after a call with another effect.
    fn count(&mut self);
}

/// The default engine, called without dynamic dispatch.
impl Owner for Hybrid {
    type Owned = Hybrid;

    #[inline(always)]
    fn engine(&mut self) -> &mut Hybrid {
        self
    }

    #[inline(always)]
    fn post_exact(&mut self, receive: u64, pair: Pair, tag: Tag) -> Outcome {
        words(self.post_words(receive, pair, tag))
    }

    #[inline(always)]
    fn post(&mut self, receive: u64, selector: &Selector, place: Place) -> Outcome {
        words(self.post_open_words(receive, selector, place))
    }

    #[inline(always)]
    fn arrive(&mut self, message: u64, pair: Pair, tag: Tag, place: Place) -> Outcome {
        words(self.arrive_words(message, pair, tag, place))
    }

    #[inline(always)]
    fn take_receive(&mut self, pair: Pair, tag: Tag) -> Outcome {
        words(self.take_receive_words(pair, tag))
    }

    #[inline(always)]
    fn matched_probe(&mut self, selector: &Selector) -> Outcome {
        words(self.matched_probe_words(selector))
    }

    fn lengths(&self) -> [&u64; 2] {
        Hybrid::lengths(self)
    }

    #[inline(always)]
    fn add(&mut self, _: i64, _: i64) {}

    fn count(&mut self) {}
}

/// Any engine.
struct Dynamic {
    engine: Box<dyn Engine>,
    posted: u64,
    unexpected: u64,
}

impl Owner for Dynamic {
    type Owned = dyn Engine;

    #[inline(always)]
    fn engine(&mut self) -> &mut (dyn Engine + 'static) {
        &mut *self.engine
    }

    fn post_exact(&mut self, receive: u64, pair: Pair, tag: Tag) -> Outcome {
        let answer = self.engine.post_exact(RecvId(receive), pair, tag);
        self.posted(answer)
    }

    fn post(&mut self, receive: u64, selector: &Selector, place: Place) -> Outcome {
        let answer = self.engine.queue_receive(RecvId(receive), selector, place);
        self.posted(answer)
    }

    fn arrive(&mut self, message: u64, pair: Pair, tag: Tag, place: Place) -> Outcome {
        let answer = self.engine.queue_message(MsgId(message), pair, tag, place);
        if let Ok(found) = answer {
            self.add(-i64::from(found.is_some()), i64::from(found.is_none()));
        }
        answers::matched(answer, |RecvId(id)| id)
    }

    fn take_receive(&mut self, pair: Pair, tag: Tag) -> Outcome {
        let taken = self.engine.take_receive(pair, tag);
        self.add(-i64::from(taken.is_some()), 0);
        taken.map_or_else(|| self.none_at(pair, tag), |RecvId(id)| outcome(MP_FOUND, id))
    }

    fn matched_probe(&mut self, selector: &Selector) -> Outcome {
        let taken = self.engine.matched_probe(selector);
        self.add(0, -i64::from(taken.is_some()));
        let (pair, tag) = (selector.pair(), Tag(selector.tag_and_ignored().0));
        taken.map_or_else(|| self.none_at(pair, tag), |MsgId(id)| outcome(MP_FOUND, id))
    }

    fn lengths(&self) -> [&u64; 2] {
        [&self.posted, &self.unexpected]
    }

    #[inline(always)]
    fn add(&mut self, posted: i64, unexpected: i64) {
        self.posted = self.posted.wrapping_add_signed(posted);
        self.unexpected = self.unexpected.wrapping_add_signed(unexpected);
    }

    fn count(&mut self) {
        self.posted = self.engine.posted_len() as u64;
        self.unexpected = self.engine.unexpected_len() as u64;
    }
}

/// The fields of the engine that most calls use come first: short offsets make short instructions.
#[repr(C)]
pub(crate) struct Exclusive<O> {
    owner: O,
    /// All hints, for `mp_hints`.
    hints: HintTable,
    /// Reused, so that warm batches and small drains do not allocate.
    messages: Vec<Message>,
    matched: Vec<Option<RecvId>>,
    drained: Drained,
}

impl<O: Owner> Exclusive<O> {
    fn new(owner: O) -> Self {
        let (hints, messages, matched, drained) = Default::default();
        Exclusive { owner, hints, messages, matched, drained }
    }
}

/// An engine for C.
pub(crate) fn give_out(engine: Box<dyn Engine>) -> *mut types::Engine {
    if !engine.as_any().is_some_and(|engine| engine.is::<Hybrid>()) {
        return Exclusive::new(Dynamic { engine, posted: 0, unexpected: 0 }).give_out();
    }
    // SAFETY: `as_any` returns the engine, so that is its type.
    let hybrid = unsafe { Box::from_raw(Box::into_raw(engine).cast::<Hybrid>()) };
    Exclusive::new(*hybrid).give_out()
}

impl<O: Owner> Exclusive<O> {
    fn give_out(self) -> *mut types::Engine {
        Handle::give_out(self, |this| this.owner.lengths().map(std::ptr::from_ref))
    }
}

impl<O: Owner> Handle<Exclusive<O>> {
    /// The engine.
    ///
    /// # Safety
    /// As [`exclusive`](Handle::exclusive).
    #[inline(always)]
    #[allow(clippy::mut_from_ref)]
    unsafe fn owner(&self) -> &mut O {
        // SAFETY: the caller's promise.
        &mut unsafe { self.exclusive() }.owner
    }

    /// # Safety
    /// As [`exclusive`](Handle::exclusive), and `each` is as `matchpoint.h` demands.
    unsafe fn drain(
        &self,
        each: DrainFn,
        user: *mut c_void,
        what: Drain,
        call: impl FnOnce(&mut O::Owned, &mut Drained),
    ) -> i32 {
        // SAFETY: the caller's promise.
        let Exclusive { owner, drained, .. } = unsafe { self.exclusive() };
        if !make_room(owner.engine(), drained, what) {
            return MP_REFUSED_MEMORY;
        }
        call(owner.engine(), drained);
        owner.count();
        // SAFETY: the caller's promise.
        self.call_back(|| unsafe { answers::drained(drained, each, user) });
        empty(drained);
        MP_OK
    }
}

impl Dynamic {
    /// A search found no entry.
    fn none_at(&self, pair: Pair, tag: Tag) -> Outcome {
        outcome(MP_NONE, self.engine.place(pair, tag).0)
    }

    /// The outcome of a post.
    fn posted(&mut self, answer: Result<Option<MsgId>, Refused>) -> Outcome {
        if let Ok(found) = answer {
            self.add(i64::from(found.is_none()), -i64::from(found.is_some()));
        }
        answers::matched(answer, |MsgId(id)| id)
    }
}

/// The outcome of `hybrid`: its numbers are the statuses.
#[inline(always)]
fn words(outcome: engine::Outcome) -> Outcome {
    const {
        assert!(engine::Outcome::QUEUED.status == MP_QUEUED as i64);
        assert!(engine::Outcome::TOOK == MP_MATCHED as i64 && MP_MATCHED == MP_FOUND);
        assert!(engine::Outcome::HINT.status == MP_REFUSED_HINT as i64);
        assert!(engine::Outcome::FULL.status == MP_REFUSED_FULL as i64);
        assert!(engine::Outcome::MEMORY.status == MP_REFUSED_MEMORY as i64);
    }
    Outcome { id: outcome.id, status: outcome.status }
}

impl<O: Owner> Kind for Exclusive<O> {
    #[inline(always)]
    unsafe fn post_exact(handle: &Handle<Self>, receive: u64, pair: u64, tag: u64) -> Outcome {
        // SAFETY: the caller's promise; so below.
        unsafe { handle.owner() }.post_exact(receive, Pair(pair), Tag(tag))
    }

    #[inline(always)]
    unsafe fn post(handle: &Handle<Self>, receive: u64, pair: u64, tag: u64, ignore: u64) -> Outcome {
        let selector = Selector::of(Pair(pair), tag, ignore);
        // SAFETY: as above.
        unsafe { handle.owner() }.post(receive, &selector, Place::default())
    }

    #[inline(always)]
    unsafe fn arrive(handle: &Handle<Self>, message: u64, pair: u64, tag: u64) -> Outcome {
        // SAFETY: as above.
        unsafe { handle.owner() }.arrive(message, Pair(pair), Tag(tag), Place::default())
    }

    #[inline(always)]
    unsafe fn probe(handle: &Handle<Self>, pair: u64, tag: u64, ignore: u64) -> Outcome {
        let selector = Selector::of(Pair(pair), tag, ignore);
        // SAFETY: as above.
        unsafe { handle.owner() }.probe(&selector)
    }

    #[inline(always)]
    unsafe fn matched_probe(handle: &Handle<Self>, pair: u64, tag: u64, ignore: u64) -> Outcome {
        let selector = Selector::of(Pair(pair), tag, ignore);
        // SAFETY: as above.
        unsafe { handle.owner() }.matched_probe(&selector)
    }

    #[inline(always)]
    unsafe fn take_receive(handle: &Handle<Self>, pair: u64, tag: u64) -> Outcome {
        // SAFETY: as above.
        unsafe { handle.owner() }.take_receive(Pair(pair), Tag(tag))
    }

    #[inline(always)]
    unsafe fn queue_message(handle: &Handle<Self>, message: u64, pair: u64, tag: u64, place: u64) -> Outcome {
        // SAFETY: as above.
        unsafe { handle.owner() }.arrive(message, Pair(pair), Tag(tag), Place(place))
    }

    #[inline(always)]
    unsafe fn queue_receive(
        handle: &Handle<Self>,
        receive: u64,
        pair: u64,
        tag: u64,
        ignore: u64,
        place: u64,
    ) -> Outcome {
        let selector = Selector::of(Pair(pair), tag, ignore);
        // SAFETY: as above.
        unsafe { handle.owner() }.post(receive, &selector, Place(place))
    }

    unsafe fn arrive_batch(
        handle: &Handle<Self>,
        messages: *const types::Message,
        count: usize,
        outcomes: *mut Outcome,
        done: *mut usize,
        deliver: DeliverFn,
        user: *mut c_void,
    ) -> i32 {
        // SAFETY: as above.
        let Some(batch) = (unsafe { Batch::new(messages, count, outcomes, done) }) else { return MP_INVALID };
        // SAFETY: as above.
        let Exclusive { owner, messages, matched, .. } = unsafe { handle.exclusive() };
        let engine = owner.engine();
        let status = batch.arrive(messages, matched, |messages, out| match deliver {
            None => engine.arrive_batch(messages, out),
            Some(deliver) => {
                let delivery = Delivery { deliver, user };
                let deliver = |number, receive| delivery.call(number, receive);
                handle.call_back(|| engine.deliver_batch(messages, out, &deliver))
            }
        });
        owner.count();
        status
    }

    unsafe fn cancel(handle: &Handle<Self>, receive: u64, pair: u64, tag: u64, ignore: u64) -> i32 {
        // SAFETY: as above.
        let owner = unsafe { handle.owner() };
        let found = owner.engine().cancel(&answers::receive(receive, pair, tag, ignore));
        owner.add(-i64::from(found), 0);
        was_there(found)
    }

    unsafe fn retract(handle: &Handle<Self>, message: u64, pair: u64, tag: u64) -> i32 {
        // SAFETY: as above.
        let owner = unsafe { handle.owner() };
        let found = owner.engine().retract(&answers::message(message, pair, tag));
        owner.add(0, -i64::from(found));
        was_there(found)
    }

    unsafe fn readdress(handle: &Handle<Self>, message: u64, pair: u64, tag: u64, source: u32) -> Outcome {
        // SAFETY: as above.
        let owner = unsafe { handle.owner() };
        let readdressed = owner.engine().readdress(&answers::message(message, pair, tag), Rank(source));
        owner.count();
        answers::readdressed(readdressed)
    }

    unsafe fn set_hints(handle: &Handle<Self>, context: u32, hints: u32) -> i32 {
        let Some((context, set)) = answers::hints(context, hints) else { return MP_INVALID };
        // SAFETY: as above.
        let Exclusive { owner, hints, .. } = unsafe { handle.exclusive() };
        // Memory first: a table without memory would lack hints that the engine has.
        let reserved = hints.reserve().and_then(|()| owner.engine().set_hints(context, set));
        done(reserved.and_then(|()| hints.set(context, set)))
    }

    unsafe fn hints(handle: &Handle<Self>, each: HintsFn, user: *mut c_void) -> i32 {
        let Some(each) = each else { return MP_INVALID };
        // SAFETY: as above.
        let hints = &unsafe { handle.exclusive() }.hints;
        handle.call_back(|| {
            for (context, hints) in hints.iter() {
                // SAFETY: as above.
                unsafe { each(user, context.0, convert::hint_bits(hints)) };
            }
        });
        MP_OK
    }

    unsafe fn close(handle: &Handle<Self>, context: u32, each: DrainFn, user: *mut c_void) -> i32 {
        let context = ContextId(context);
        // SAFETY: as above.
        unsafe {
            let status = handle.drain(each, user, Drain::Close(context), |engine, drained| {
                engine.close(context, drained);
            });
            if status == MP_OK {
                handle.exclusive().hints.forget(context);
            }
            status
        }
    }

    unsafe fn fail_source(
        handle: &Handle<Self>,
        context: u32,
        source: u32,
        each: DrainFn,
        user: *mut c_void,
    ) -> i32 {
        let Some((context, source)) = answers::failed(context, source) else { return MP_INVALID };
        // SAFETY: as above.
        unsafe {
            handle.drain(each, user, Drain::Fail(context), |engine, drained| {
                engine.fail_source(context, source, drained);
            })
        }
    }

    unsafe fn visit(handle: &Handle<Self>, queue: i32, each: VisitFn, user: *mut c_void) -> i32 {
        let (Some(queue), Some(each)) = (answers::queue(queue), each) else { return MP_INVALID };
        // SAFETY: as above.
        let engine = unsafe { handle.owner() }.engine();
        // SAFETY: as above.
        handle.call_back(|| engine.visit(queue, &mut |entry| unsafe { each(user, &Entry::from(entry)) }));
        MP_OK
    }

    unsafe fn length(handle: &Handle<Self>, queue: i32) -> i64 {
        // SAFETY: as above.
        let [posted, unexpected] = unsafe { handle.owner() }.lengths();
        match answers::queue(queue) {
            Some(Queue::Posted) => *posted as i64,
            Some(Queue::Unexpected) => *unexpected as i64,
            None => i64::from(MP_INVALID),
        }
    }

    unsafe fn order(handle: &Handle<Self>) -> i32 {
        // SAFETY: as above.
        convert::order_number(unsafe { handle.owner() }.engine().order())
    }

    unsafe fn reserve(handle: &Handle<Self>, entries: usize) -> i32 {
        // SAFETY: as above.
        done(unsafe { handle.owner() }.engine().reserve(entries))
    }

    unsafe fn footprint(handle: &Handle<Self>, footprint: *mut Footprint, size: usize) -> i32 {
        // SAFETY: as above.
        unsafe { write_struct(Footprint::from(handle.owner().engine().footprint()), footprint, size) }
    }

    unsafe fn attempts(handle: &Handle<Self>, attempts: *mut Attempts, size: usize) -> i32 {
        // SAFETY: as above.
        unsafe { write_struct(Attempts::from(handle.owner().engine().attempts()), attempts, size) }
    }

    unsafe fn statistics(handle: &Handle<Self>, each: StatisticFn, user: *mut c_void) -> i32 {
        let Some(each) = each else { return MP_INVALID };
        // SAFETY: as above.
        let statistics = unsafe { handle.owner() }.engine().statistics();
        handle.call_back(|| {
            for (name, value) in statistics {
                let name = CString::new(name).unwrap_or_default();
                // SAFETY: as above.
                unsafe { each(user, name.as_ptr(), value) };
            }
        });
        MP_OK
    }
}

/// A call that drains.
#[derive(Clone, Copy)]
enum Drain {
    /// All entries of a context.
    Close(ContextId),
    /// Receives of a context from a source. Any-source receives are listed too.
    Fail(ContextId),
}

/// Capacity of each list between calls, in ids: 8 KiB each.
const KEPT: usize = 1024;

/// Reserves capacity for all ids that this call can drain.
fn make_room(engine: &(impl Engine + ?Sized), drained: &mut Drained, what: Drain) -> bool {
    let (Drain::Close(context) | Drain::Fail(context)) = what;
    let (mut posted, mut unexpected) = (engine.posted_len(), engine.unexpected_len());
    if posted.max(unexpected) > KEPT {
        (posted, unexpected) = engine.queued_in(context);
    }
    drained.receives.try_reserve(posted).is_ok()
        && match what {
            Drain::Close(_) => drained.messages.try_reserve(unexpected).is_ok(),
            Drain::Fail(_) => drained.pending.try_reserve(posted).is_ok(),
        }
}

/// Empties the lists, and frees the memory of a large context.
fn empty(drained: &mut Drained) {
    let Drained { receives, messages, pending } = drained;
    receives.clear();
    messages.clear();
    pending.clear();
    receives.shrink_to(KEPT);
    messages.shrink_to(KEPT);
    pending.shrink_to(KEPT);
}
#[cfg(test)]
mod tests {
    use matchpoint::{Envelope, Wild, engines};

    use super::*;

    /// Closes contexts with these numbers of messages. Returns the maximum and the final capacity.
    fn kept_after(counts: &[u32]) -> (usize, usize) {
        let mut engine = engines::create("list").unwrap();
        let contexts = counts.iter().zip(0..).flat_map(|(&count, context)| (0..count).map(move |_| context));
        for (id, context) in (0..).zip(contexts) {
            let envelope = Envelope::new(ContextId(context), Rank(0), Tag(0));
            assert_eq!(engine.arrive_message(Message::new(MsgId(id), envelope)), Ok(None));
        }
        let mut drained = Drained::default();
        let mut most = 0;
        for context in (0..).take(counts.len()) {
            assert!(make_room(&*engine, &mut drained, Drain::Close(ContextId(context))));
            most = most.max(drained.messages.capacity());
            engine.close(ContextId(context), &mut drained);
            assert_eq!(drained.messages.len(), counts[context as usize] as usize);
            empty(&mut drained);
        }
        (most, drained.messages.capacity())
    }

    #[test]
    fn drain_has_room_for_its_context() {
        assert_eq!(kept_after(&[0, 100_000]).0, 100_000);
        let (most, kept) = kept_after(&[3, 5000, 0]);
        assert!(most < 8000 && kept <= KEPT, "{most}, {kept}");
    }

    /// Capacity that a call reserves: receives, messages, pending receives.
    fn room(what: Drain) -> [usize; 3] {
        let (mut engine, mut drained) = (engines::create("list").unwrap(), Drained::default());
        for id in 0..5000 {
            let from = |source| matchpoint::Selector::new(ContextId(7), source, Wild::Is(Tag(0)));
            let asked = from(if id % 2 == 0 { Wild::Any } else { Wild::Is(Rank(1)) });
            assert_eq!(engine.post(matchpoint::Receive::new(RecvId(id), asked)), Ok(None));
        }
        for id in 0..3000 {
            let envelope = Envelope::new(ContextId(7), Rank(2), Tag(1));
            assert_eq!(engine.arrive_message(Message::new(MsgId(id), envelope)), Ok(None));
        }
        assert!(make_room(&*engine, &mut drained, what));
        let Drained { receives, messages, pending } = &drained;
        [receives.capacity(), messages.capacity(), pending.capacity()]
    }

    #[test]
    fn reserved_room_is_in_filled_lists() {
        assert_eq!(room(Drain::Close(ContextId(7))), [5000, 3000, 0]);
        assert_eq!(room(Drain::Fail(ContextId(7))), [5000, 0, 5000]);
    }
}
