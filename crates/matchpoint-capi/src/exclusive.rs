//! Engines that one thread at a time may call.
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

use crate::answers::{self, Batch, Delivery, done, found_status, outcome, write_struct};
use crate::calls::{Handle, Kind};

/// An engine, and the lengths of its queues at fixed addresses, which C programs read.
pub(crate) trait CountedEngine: 'static {
    type Inner: Engine + ?Sized;

    fn engine(&mut self) -> &mut Self::Inner;

    fn post_exact(&mut self, receive: u64, pair: Pair, tag: Tag) -> Outcome;

    /// Calls [`Engine::queue_receive`]. Without a place, the call is a post.
    fn post(&mut self, receive: u64, selector: &Selector, place: Place) -> Outcome;

    /// Calls [`Engine::queue_message`]. Without a place, the call is an arrival.
    fn arrive(&mut self, message: u64, pair: Pair, tag: Tag, place: Place) -> Outcome;

    /// Calls [`Engine::take_receive`]. Without a match, the outcome has the place.
    fn take_receive(&mut self, pair: Pair, tag: Tag) -> Outcome;

    /// Calls [`Engine::matched_probe`]. Without a match, the outcome has the place.
    fn matched_probe(&mut self, selector: &Selector) -> Outcome;

    fn probe(&mut self, selector: &Selector) -> Outcome {
        answers::found(self.engine().probe(selector).map(|MsgId(id)| id))
    }

    /// Addresses of the lengths of the posted and of the unexpected queue.
    fn lengths(&self) -> [&u64; 2];

    fn add_to_lengths(&mut self, posted: i64, unexpected: i64);

    /// Reads the lengths from the engine again.
    fn update_lengths(&mut self);
}

/// The default engine. Calls need no dynamic dispatch, and the engine itself stores the lengths.
impl CountedEngine for Hybrid {
    type Inner = Hybrid;

    #[inline(always)]
    fn engine(&mut self) -> &mut Hybrid {
        self
    }

    #[inline(always)]
    fn post_exact(&mut self, receive: u64, pair: Pair, tag: Tag) -> Outcome {
        outcome_of_hybrid(self.post_words(receive, pair, tag))
    }

    #[inline(always)]
    fn post(&mut self, receive: u64, selector: &Selector, place: Place) -> Outcome {
        outcome_of_hybrid(self.post_open_words(receive, selector, place))
    }

    #[inline(always)]
    fn arrive(&mut self, message: u64, pair: Pair, tag: Tag, place: Place) -> Outcome {
        outcome_of_hybrid(self.arrive_words(message, pair, tag, place))
    }

    #[inline(always)]
    fn take_receive(&mut self, pair: Pair, tag: Tag) -> Outcome {
        outcome_of_hybrid(self.take_receive_words(pair, tag))
    }

    #[inline(always)]
    fn matched_probe(&mut self, selector: &Selector) -> Outcome {
        outcome_of_hybrid(self.matched_probe_words(selector))
    }

    fn lengths(&self) -> [&u64; 2] {
        Hybrid::lengths(self)
    }

    #[inline(always)]
    fn add_to_lengths(&mut self, _: i64, _: i64) {}

    fn update_lengths(&mut self) {}
}

/// Any other engine, called by dynamic dispatch.
struct Dynamic {
    engine: Box<dyn Engine>,
    posted: u64,
    unexpected: u64,
}

impl CountedEngine for Dynamic {
    type Inner = dyn Engine;

    #[inline(always)]
    fn engine(&mut self) -> &mut (dyn Engine + 'static) {
        &mut *self.engine
    }

    fn post_exact(&mut self, receive: u64, pair: Pair, tag: Tag) -> Outcome {
        let answer = self.engine.post_exact(RecvId(receive), pair, tag);
        self.outcome_of_post(answer)
    }

    fn post(&mut self, receive: u64, selector: &Selector, place: Place) -> Outcome {
        let answer = self.engine.queue_receive(RecvId(receive), selector, place);
        self.outcome_of_post(answer)
    }

    fn arrive(&mut self, message: u64, pair: Pair, tag: Tag, place: Place) -> Outcome {
        let answer = self.engine.queue_message(MsgId(message), pair, tag, place);
        if let Ok(found) = answer {
            self.add_to_lengths(-i64::from(found.is_some()), i64::from(found.is_none()));
        }
        answers::matched(answer, |RecvId(id)| id)
    }

    fn take_receive(&mut self, pair: Pair, tag: Tag) -> Outcome {
        let taken = self.engine.take_receive(pair, tag);
        self.add_to_lengths(-i64::from(taken.is_some()), 0);
        taken.map_or_else(|| self.miss_outcome(pair, tag), |RecvId(id)| outcome(MP_FOUND, id))
    }

    fn matched_probe(&mut self, selector: &Selector) -> Outcome {
        let taken = self.engine.matched_probe(selector);
        self.add_to_lengths(0, -i64::from(taken.is_some()));
        let (pair, tag) = (selector.pair(), Tag(selector.tag_and_ignored().0));
        taken.map_or_else(|| self.miss_outcome(pair, tag), |MsgId(id)| outcome(MP_FOUND, id))
    }

    fn lengths(&self) -> [&u64; 2] {
        [&self.posted, &self.unexpected]
    }

    #[inline(always)]
    fn add_to_lengths(&mut self, posted: i64, unexpected: i64) {
        self.posted = self.posted.wrapping_add_signed(posted);
        self.unexpected = self.unexpected.wrapping_add_signed(unexpected);
    }

    fn update_lengths(&mut self) {
        self.posted = self.engine.posted_len() as u64;
        self.unexpected = self.engine.unexpected_len() as u64;
    }
}

/// The engine comes first, because small offsets make short instructions.
#[repr(C)]
pub(crate) struct Exclusive<O> {
    counted: O,
    /// The hints of all contexts, for `mp_hints`.
    hints: HintTable,
    /// Reused, so that most batches and drains do not allocate.
    messages: Vec<Message>,
    matched: Vec<Option<RecvId>>,
    drained: Drained,
}

impl<O: CountedEngine> Exclusive<O> {
    fn new(counted: O) -> Self {
        let (hints, messages, matched, drained) = Default::default();
        Exclusive { counted, hints, messages, matched, drained }
    }
}

pub(crate) fn into_c_engine(engine: Box<dyn Engine>) -> *mut types::Engine {
    if !engine.as_any().is_some_and(|engine| engine.is::<Hybrid>()) {
        return Exclusive::new(Dynamic { engine, posted: 0, unexpected: 0 }).into_c_engine();
    }
    // SAFETY: `as_any` returns the engine itself, so the box contains a `Hybrid`.
    let hybrid = unsafe { Box::from_raw(Box::into_raw(engine).cast::<Hybrid>()) };
    Exclusive::new(*hybrid).into_c_engine()
}

impl<O: CountedEngine> Exclusive<O> {
    fn into_c_engine(self) -> *mut types::Engine {
        Handle::into_c_engine(self, |this| this.counted.lengths().map(std::ptr::from_ref))
    }
}

impl<O: CountedEngine> Handle<Exclusive<O>> {
    /// # Safety
    /// The requirements of [`exclusive`](Handle::exclusive) hold.
    #[inline(always)]
    #[allow(clippy::mut_from_ref)]
    unsafe fn counted(&self) -> &mut O {
        // SAFETY: the caller guarantees exclusive access.
        &mut unsafe { self.exclusive() }.counted
    }

    /// # Safety
    /// The requirements of [`exclusive`](Handle::exclusive) hold, and `each` is as `matchpoint.h` requires.
    unsafe fn drain(
        &self,
        each: DrainFn,
        user: *mut c_void,
        kind: DrainKind,
        call: impl FnOnce(&mut O::Inner, &mut Drained),
    ) -> i32 {
        // SAFETY: the caller guarantees exclusive access.
        let Exclusive { counted, drained, .. } = unsafe { self.exclusive() };
        if !reserve_drained(counted.engine(), drained, kind) {
            return MP_REFUSED_MEMORY;
        }
        call(counted.engine(), drained);
        counted.update_lengths();
        // SAFETY: the caller guarantees a valid callback.
        self.run_callbacks(|| unsafe { answers::drained(drained, each, user) });
        clear_drained(drained);
        MP_OK
    }
}

impl Dynamic {
    /// The outcome of a search without a match.
    fn miss_outcome(&self, pair: Pair, tag: Tag) -> Outcome {
        outcome(MP_NONE, self.engine.place(pair, tag).0)
    }

    /// Updates the lengths after a post, and returns its outcome.
    fn outcome_of_post(&mut self, answer: Result<Option<MsgId>, Refused>) -> Outcome {
        if let Ok(found) = answer {
            self.add_to_lengths(i64::from(found.is_none()), -i64::from(found.is_some()));
        }
        answers::matched(answer, |MsgId(id)| id)
    }
}

/// Converts an outcome of `hybrid`, which has the status numbers of `matchpoint.h`.
#[inline(always)]
fn outcome_of_hybrid(outcome: engine::Outcome) -> Outcome {
    const {
        assert!(engine::Outcome::QUEUED.status == MP_QUEUED as i64);
        assert!(engine::Outcome::TOOK == MP_MATCHED as i64 && MP_MATCHED == MP_FOUND);
        assert!(engine::Outcome::HINT.status == MP_REFUSED_HINT as i64);
        assert!(engine::Outcome::FULL.status == MP_REFUSED_FULL as i64);
        assert!(engine::Outcome::MEMORY.status == MP_REFUSED_MEMORY as i64);
    }
    Outcome { id: outcome.id, status: outcome.status }
}

impl<O: CountedEngine> Kind for Exclusive<O> {
    #[inline(always)]
    unsafe fn post_exact(handle: &Handle<Self>, receive: u64, pair: u64, tag: u64) -> Outcome {
        // SAFETY: the caller guarantees what `matchpoint.h` requires of this function.
        unsafe { handle.counted() }.post_exact(receive, Pair(pair), Tag(tag))
    }

    #[inline(always)]
    unsafe fn post(handle: &Handle<Self>, receive: u64, pair: u64, tag: u64, ignore: u64) -> Outcome {
        let selector = Selector::of(Pair(pair), tag, ignore);
        // SAFETY: as for `post_exact`.
        unsafe { handle.counted() }.post(receive, &selector, Place::default())
    }

    #[inline(always)]
    unsafe fn arrive(handle: &Handle<Self>, message: u64, pair: u64, tag: u64) -> Outcome {
        // SAFETY: as for `post_exact`.
        unsafe { handle.counted() }.arrive(message, Pair(pair), Tag(tag), Place::default())
    }

    #[inline(always)]
    unsafe fn probe(handle: &Handle<Self>, pair: u64, tag: u64, ignore: u64) -> Outcome {
        let selector = Selector::of(Pair(pair), tag, ignore);
        // SAFETY: as for `post_exact`.
        unsafe { handle.counted() }.probe(&selector)
    }

    #[inline(always)]
    unsafe fn matched_probe(handle: &Handle<Self>, pair: u64, tag: u64, ignore: u64) -> Outcome {
        let selector = Selector::of(Pair(pair), tag, ignore);
        // SAFETY: as for `post_exact`.
        unsafe { handle.counted() }.matched_probe(&selector)
    }

    #[inline(always)]
    unsafe fn take_receive(handle: &Handle<Self>, pair: u64, tag: u64) -> Outcome {
        // SAFETY: as for `post_exact`.
        unsafe { handle.counted() }.take_receive(Pair(pair), Tag(tag))
    }

    #[inline(always)]
    unsafe fn queue_message(handle: &Handle<Self>, message: u64, pair: u64, tag: u64, place: u64) -> Outcome {
        // SAFETY: as for `post_exact`.
        unsafe { handle.counted() }.arrive(message, Pair(pair), Tag(tag), Place(place))
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
        // SAFETY: as for `post_exact`.
        unsafe { handle.counted() }.post(receive, &selector, Place(place))
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
        // SAFETY: as for `post_exact`.
        let Some(batch) = (unsafe { Batch::new(messages, count, outcomes, done) }) else { return MP_INVALID };
        // SAFETY: as for `post_exact`.
        let Exclusive { counted, messages, matched, .. } = unsafe { handle.exclusive() };
        let engine = counted.engine();
        let status = batch.arrive(messages, matched, |messages, out| match deliver {
            None => engine.arrive_batch(messages, out),
            Some(deliver) => {
                let delivery = Delivery { deliver, user };
                let deliver = |number, receive| delivery.call(number, receive);
                handle.run_callbacks(|| engine.deliver_batch(messages, out, &deliver))
            }
        });
        counted.update_lengths();
        status
    }

    unsafe fn cancel(handle: &Handle<Self>, receive: u64, pair: u64, tag: u64, ignore: u64) -> i32 {
        // SAFETY: as for `post_exact`.
        let counted = unsafe { handle.counted() };
        let found = counted.engine().cancel(&answers::receive(receive, pair, tag, ignore));
        counted.add_to_lengths(-i64::from(found), 0);
        found_status(found)
    }

    unsafe fn retract(handle: &Handle<Self>, message: u64, pair: u64, tag: u64) -> i32 {
        // SAFETY: as for `post_exact`.
        let counted = unsafe { handle.counted() };
        let found = counted.engine().retract(&answers::message(message, pair, tag));
        counted.add_to_lengths(0, -i64::from(found));
        found_status(found)
    }

    unsafe fn readdress(handle: &Handle<Self>, message: u64, pair: u64, tag: u64, source: u32) -> Outcome {
        // SAFETY: as for `post_exact`.
        let counted = unsafe { handle.counted() };
        let readdressed = counted.engine().readdress(&answers::message(message, pair, tag), Rank(source));
        counted.update_lengths();
        answers::readdressed(readdressed)
    }

    unsafe fn set_hints(handle: &Handle<Self>, context: u32, hints: u32) -> i32 {
        let Some((context, set)) = answers::hints(context, hints) else { return MP_INVALID };
        // SAFETY: as for `post_exact`.
        let Exclusive { counted, hints, .. } = unsafe { handle.exclusive() };
        // The table's memory is reserved first. Otherwise the engine could have hints that the table has no
        // memory for.
        let reserved = hints.reserve().and_then(|()| counted.engine().set_hints(context, set));
        done(reserved.and_then(|()| hints.set(context, set)))
    }

    unsafe fn hints(handle: &Handle<Self>, each: HintsFn, user: *mut c_void) -> i32 {
        let Some(each) = each else { return MP_INVALID };
        // SAFETY: as for `post_exact`.
        let hints = &unsafe { handle.exclusive() }.hints;
        handle.run_callbacks(|| {
            for (context, hints) in hints.iter() {
                // SAFETY: as for `post_exact`.
                unsafe { each(user, context.0, convert::hint_bits(hints)) };
            }
        });
        MP_OK
    }

    unsafe fn close(handle: &Handle<Self>, context: u32, each: DrainFn, user: *mut c_void) -> i32 {
        let context = ContextId(context);
        // SAFETY: as for `post_exact`.
        unsafe {
            let status = handle.drain(each, user, DrainKind::Close(context), |engine, drained| {
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
        let Some((context, source)) = answers::failed_source(context, source) else { return MP_INVALID };
        // SAFETY: as for `post_exact`.
        unsafe {
            handle.drain(each, user, DrainKind::Fail(context), |engine, drained| {
                engine.fail_source(context, source, drained);
            })
        }
    }

    unsafe fn visit(handle: &Handle<Self>, queue: i32, each: VisitFn, user: *mut c_void) -> i32 {
        let (Some(queue), Some(each)) = (answers::queue(queue), each) else { return MP_INVALID };
        // SAFETY: as for `post_exact`.
        let engine = unsafe { handle.counted() }.engine();
        // SAFETY: as for `post_exact`.
        handle.run_callbacks(|| engine.visit(queue, &mut |entry| unsafe { each(user, &Entry::from(entry)) }));
        MP_OK
    }

    unsafe fn length(handle: &Handle<Self>, queue: i32) -> i64 {
        // SAFETY: as for `post_exact`.
        let [posted, unexpected] = unsafe { handle.counted() }.lengths();
        match answers::queue(queue) {
            Some(Queue::Posted) => *posted as i64,
            Some(Queue::Unexpected) => *unexpected as i64,
            None => i64::from(MP_INVALID),
        }
    }

    unsafe fn order(handle: &Handle<Self>) -> i32 {
        // SAFETY: as for `post_exact`.
        convert::order_number(unsafe { handle.counted() }.engine().order())
    }

    unsafe fn reserve(handle: &Handle<Self>, entries: usize) -> i32 {
        // SAFETY: as for `post_exact`.
        done(unsafe { handle.counted() }.engine().reserve(entries))
    }

    unsafe fn footprint(handle: &Handle<Self>, footprint: *mut Footprint, size: usize) -> i32 {
        // SAFETY: as for `post_exact`.
        unsafe { write_struct(Footprint::from(handle.counted().engine().footprint()), footprint, size) }
    }

    unsafe fn attempts(handle: &Handle<Self>, attempts: *mut Attempts, size: usize) -> i32 {
        // SAFETY: as for `post_exact`.
        unsafe { write_struct(Attempts::from(handle.counted().engine().attempts()), attempts, size) }
    }

    unsafe fn statistics(handle: &Handle<Self>, each: StatisticFn, user: *mut c_void) -> i32 {
        let Some(each) = each else { return MP_INVALID };
        // SAFETY: as for `post_exact`.
        let statistics = unsafe { handle.counted() }.engine().statistics();
        handle.run_callbacks(|| {
            for (name, value) in statistics {
                let name = CString::new(name).unwrap_or_default();
                // SAFETY: as for `post_exact`.
                unsafe { each(user, name.as_ptr(), value) };
            }
        });
        MP_OK
    }
}

/// A call that removes entries.
#[derive(Clone, Copy)]
enum DrainKind {
    /// All entries of a context.
    Close(ContextId),
    /// The receives of a context from one source. The call also lists any-source receives.
    Fail(ContextId),
}

/// Maximum capacity of each list between calls, in ids of 8 bytes.
const KEPT_CAPACITY: usize = 1024;

/// Reserves capacity for all ids that the call can list. Returns false without memory.
fn reserve_drained(engine: &(impl Engine + ?Sized), drained: &mut Drained, kind: DrainKind) -> bool {
    let (DrainKind::Close(context) | DrainKind::Fail(context)) = kind;
    let (mut posted, mut unexpected) = (engine.posted_len(), engine.unexpected_len());
    if posted.max(unexpected) > KEPT_CAPACITY {
        (posted, unexpected) = engine.queued_in(context);
    }
    drained.receives.try_reserve(posted).is_ok()
        && match kind {
            DrainKind::Close(_) => drained.messages.try_reserve(unexpected).is_ok(),
            DrainKind::Fail(_) => drained.pending.try_reserve(posted).is_ok(),
        }
}

/// Clears the lists, and frees memory beyond [`KEPT_CAPACITY`].
fn clear_drained(drained: &mut Drained) {
    let Drained { receives, messages, pending } = drained;
    receives.clear();
    messages.clear();
    pending.clear();
    receives.shrink_to(KEPT_CAPACITY);
    messages.shrink_to(KEPT_CAPACITY);
    pending.shrink_to(KEPT_CAPACITY);
}
#[cfg(test)]
mod tests {
    use matchpoint::{Envelope, Wild, engines};

    use super::*;

    /// Closes contexts with these numbers of messages. Returns the maximum and the final capacity of the list
    /// of messages.
    fn capacities_after_closes(counts: &[u32]) -> (usize, usize) {
        let mut engine = engines::create("list").unwrap();
        let contexts = counts.iter().zip(0..).flat_map(|(&count, context)| (0..count).map(move |_| context));
        for (id, context) in (0..).zip(contexts) {
            let envelope = Envelope::new(ContextId(context), Rank(0), Tag(0));
            assert_eq!(engine.arrive_message(Message::new(MsgId(id), envelope)), Ok(None));
        }
        let mut drained = Drained::default();
        let mut maximum = 0;
        for context in (0..).take(counts.len()) {
            assert!(reserve_drained(&*engine, &mut drained, DrainKind::Close(ContextId(context))));
            maximum = maximum.max(drained.messages.capacity());
            engine.close(ContextId(context), &mut drained);
            assert_eq!(drained.messages.len(), counts[context as usize] as usize);
            clear_drained(&mut drained);
        }
        (maximum, drained.messages.capacity())
    }

    #[test]
    fn close_reserves_only_its_context() {
        assert_eq!(capacities_after_closes(&[0, 100_000]).0, 100_000);
        let (maximum, kept) = capacities_after_closes(&[3, 5000, 0]);
        assert!(maximum < 8000 && kept <= KEPT_CAPACITY, "maximum {maximum}, kept {kept}");
    }

    /// Returns the capacity that a call reserves for receives, messages and pending receives.
    fn reserved_capacities(kind: DrainKind) -> [usize; 3] {
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
        assert!(reserve_drained(&*engine, &mut drained, kind));
        let Drained { receives, messages, pending } = &drained;
        [receives.capacity(), messages.capacity(), pending.capacity()]
    }

    #[test]
    fn only_needed_lists_are_reserved() {
        assert_eq!(reserved_capacities(DrainKind::Close(ContextId(7))), [5000, 3000, 0]);
        assert_eq!(reserved_capacities(DrainKind::Fail(ContextId(7))), [5000, 0, 5000]);
    }
}
