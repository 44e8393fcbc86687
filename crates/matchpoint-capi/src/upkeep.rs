//! The calls that nobody waits for: withdrawing, naming, hints, closing, failures.
#![allow(unsafe_code)]

use std::ffi::c_void;

use matchpoint::{ContextId, Drained, Rank, Receive, RecvId};
use matchpoint_abi::convert;
use matchpoint_abi::types::{
    DrainFn, Envelope, HintsFn, MP_INVALID, MP_OK, MP_REFUSED_MEMORY, MP_UNKNOWN_SOURCE, Opaque, Selector,
};

use crate::answers::{self, found};
use crate::arguments;
use crate::handle::{self, Held};

/// Withdraws a receive (MPI_Cancel), by the name that it was posted under: for a caller that names receives by pointers
/// to its requests, the request. `selector` is the one that the receive was posted with.
///
/// A name may be used again once its receive was taken, withdrawn or drained; a caller that withdraws requests which
/// may be another's by then puts a generation into the name.
///
/// Returns MP_FOUND: it was still posted, and no longer is. MP_NONE: it is not posted. Else MP_INVALID, MP_PANICKED,
/// MP_BUSY. A name that is posted with another selector is an error of the caller: the receive is withdrawn and MP_FOUND
/// returned, or neither. Time: O(receives posted) unless the engine says better.
///
/// # Safety
/// As `mp_engine_post`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mp_engine_cancel(
    engine: *mut Opaque,
    receive: u64,
    selector: *const Selector,
) -> i32 {
    // SAFETY: the caller's promise.
    let Some(asked) = (unsafe { arguments::asked(selector) }) else { return MP_INVALID };
    let posted = Receive::new(RecvId(receive), asked);
    // SAFETY: the caller's promise.
    unsafe { handle::with(engine, |held| found(held.engine.cancel(&posted))) }
}

/// Withdraws an unexpected message. `envelope` is the one that it is queued with: the one that it arrived with, and after
/// MP_NAMED with the source that it was given. `hashes` is ignored.
///
/// Returns MP_FOUND: it was still queued, and no longer is. MP_NONE: it is not queued. Else MP_INVALID, MP_PANICKED,
/// MP_BUSY. A name that is queued with another envelope is an error of the caller: the message is withdrawn and MP_FOUND
/// returned, or neither. Time: O(messages unexpected) unless the engine says better.
///
/// # Safety
/// As `mp_engine_post`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mp_engine_retract(
    engine: *mut Opaque,
    message: u64,
    envelope: *const Envelope,
) -> i32 {
    // SAFETY: the caller's promise.
    let Some(queued) = (unsafe { arguments::said(message, envelope) }) else { return MP_INVALID };
    // SAFETY: the caller's promise.
    unsafe { handle::with(engine, |held| found(held.engine.retract(&queued))) }
}

/// Names the source of an unexpected message that arrived with MP_UNKNOWN_SOURCE: it takes the earliest posted receive that
/// it matches under that name; if none, it waits on, at its age. `envelope` is the one that it arrived with.
///
/// Who learns the source of several messages at once names the oldest first, or a younger one takes the receive of an older
/// one.
///
/// Returns MP_NAMED: no receive that is posted accepts it; it has `source` now, and waits on. MP_MATCHED, and writes the
/// receive that it took to `*receive`: neither is queued any more. MP_NONE, and nothing changed: no message of that name
/// waits nameless (it was taken, withdrawn or named before, or never came), or `envelope->source` is not
/// MP_UNKNOWN_SOURCE, or `source` is, which is no name. MP_REFUSED_MEMORY or MP_REFUSED_FULL, and nothing changed: it waits, nameless, at its age, and the call may be
/// tried again; let to arrive anew it would lose its place. Else MP_INVALID, MP_PANICKED, MP_BUSY. Time: O(entries queued)
/// unless the engine says better.
///
/// # Safety
/// As `mp_engine_post`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mp_engine_readdress(
    engine: *mut Opaque,
    message: u64,
    envelope: *const Envelope,
    source: u32,
    receive: *mut u64,
) -> i32 {
    // SAFETY: the caller's promise.
    let Some(queued) = (unsafe { arguments::message(message, envelope, receive) }) else {
        return MP_INVALID;
    };
    let source = Rank(source);
    // SAFETY: the caller's promise; `receive` is not NULL.
    unsafe {
        handle::with(engine, |held| answers::readdressed(held.engine.readdress(&queued, source), receive))
    }
}

/// Replaces the assertions on a context by `hints`: the sum of some of MP_HINT_..., 0 for MPI's full semantics
/// (MPI-4.1 section 7.4.4).
///
/// Returns MP_OK; MP_REFUSED_HINT if what is queued already breaks one of them; MP_REFUSED_MEMORY; MP_INVALID (for an
/// unknown hint, too), MP_PANICKED, MP_BUSY. Time: O(entries queued), or as the engine says.
///
/// # Safety
/// As `mp_engine_post`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mp_engine_set_hints(engine: *mut Opaque, context: u32, hints: u32) -> i32 {
    let Some(hints) = convert::hints(hints) else { return MP_INVALID };
    // SAFETY: the caller's promise.
    unsafe {
        handle::with(engine, |held| {
            // Room first: what the engine has taken can then be noted.
            let set = held.hints.reserve().and_then(|()| held.engine.set_hints(ContextId(context), hints));
            answers::done(set.and_then(|()| held.hints.set(ContextId(context), hints)))
        })
    }
}

/// Tells `each` the assertions that hold, for every context that has any, in the order of contexts: what a caller that
/// goes on with another engine (MP_REFUSED_FULL) sets there before it posts what `mp_engine_visit` shows.
///
/// Returns MP_OK, MP_INVALID, MP_PANICKED or MP_BUSY. Time: O(contexts with assertions).
///
/// For the thread that may call the engine now, as every call: `const` lets no other thread sample it meanwhile (docs/c.md,
/// "Threads", says how lengths are shown to others).
///
/// # Safety
/// As `mp_engine_post`; `each` is as `mp_hints_fn` says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mp_engine_hints(engine: *const Opaque, each: HintsFn, user: *mut c_void) -> i32 {
    let Some(each) = each else { return MP_INVALID };
    // SAFETY: the caller's promise.
    unsafe {
        handle::with(engine, |held| {
            held.hints.iter().for_each(|(context, hints)| each(user, context.0, convert::hint_bits(hints)));
            MP_OK
        })
    }
}

/// Takes out all that is queued in a context, and forgets its hints (MPI_Comm_free): nothing of it can match any more,
/// and its id may be used again.
///
/// `each` (NULL: nobody asks) is told the receives, then the messages, oldest first, once all are out.
///
/// Returns MP_OK; MP_REFUSED_MEMORY if there is none to list them (8 bytes for each entry of the context, given back
/// before the call returns, but for 8 KiB of each kind), with nothing taken out; MP_INVALID, MP_PANICKED, MP_BUSY. Time:
/// O(entries queued), and sorting those of the context, or as the engine says: `hybrid` looks at all places that it has for
/// entries, too.
///
/// # Safety
/// As `mp_engine_post`; `each` is as `mp_drain_fn` says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mp_engine_close(
    engine: *mut Opaque,
    context: u32,
    each: DrainFn,
    user: *mut c_void,
) -> i32 {
    let context = ContextId(context);
    let call = |held: &mut Held| {
        held.engine.close(context, &mut held.drained);
        held.hints.forget(context);
    };
    // SAFETY: the caller's promise.
    unsafe { drain(engine, each, user, Drain::Close(context), call) }
}

/// Tells that a peer died (the ULFM proposal to the MPI Forum; not in MPI-4.1): takes out the posted receives that name it, keeps the
/// messages that had arrived from it, and leaves the receives from any source of this context posted.
///
/// `each` (NULL: nobody asks) is told the receives taken out, then those from any source as MP_DRAINED_PENDING
/// (MPI_ERR_PROC_FAILED_PENDING), oldest first.
///
/// Returns as `mp_engine_close`, but that the lists take 16 bytes for each receive of the context, which may be in either, and
/// none for messages; MP_INVALID, with nothing done, if `source` is MP_UNKNOWN_SOURCE, which is nobody who could have died.
///
/// # Safety
/// As `mp_engine_close`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mp_engine_fail_source(
    engine: *mut Opaque,
    context: u32,
    source: u32,
    each: DrainFn,
    user: *mut c_void,
) -> i32 {
    if source == MP_UNKNOWN_SOURCE {
        return MP_INVALID;
    }
    let context = ContextId(context);
    let call = |held: &mut Held| held.engine.fail_source(context, Rank(source), &mut held.drained);
    // SAFETY: the caller's promise.
    unsafe { drain(engine, each, user, Drain::Fail(context), call) }
}

/// What is drained.
#[derive(Clone, Copy)]
enum Drain {
    /// All of a context.
    Close(ContextId),
    /// Its receives that name a source, which are listed, as are those from any source, which stay.
    Fail(ContextId),
}

/// # Safety
/// As `mp_engine_close`.
unsafe fn drain(
    engine: *mut Opaque,
    each: DrainFn,
    user: *mut c_void,
    what: Drain,
    call: impl FnOnce(&mut Held),
) -> i32 {
    // SAFETY: the caller's promise.
    unsafe {
        handle::with(engine, |held| {
            if !make_room(held, what) {
                return MP_REFUSED_MEMORY;
            }
            call(held);
            answers::drained(&held.drained, each, user);
            empty(&mut held.drained);
            MP_OK
        })
    }
}

/// Ids of each kind that the list of what was drained keeps room for: 8 KiB each.
const KEPT: usize = 1024;

/// Makes the lists of what is drained, which are empty, as long as they can become: what waits in other contexts takes no
/// room, nor does a list that this call does not fill.
fn make_room(held: &mut Held, what: Drain) -> bool {
    let Held { engine, drained, .. } = held;
    let (Drain::Close(context) | Drain::Fail(context)) = what;
    let (mut posted, mut unexpected) = (engine.posted_len(), engine.unexpected_len());
    // So much is kept anyway: nothing is counted.
    if posted.max(unexpected) > KEPT {
        (posted, unexpected) = engine.queued_in(context);
    }
    drained.receives.try_reserve(posted).is_ok()
        && match what {
            Drain::Close(_) => drained.messages.try_reserve(unexpected).is_ok(),
            Drain::Fail(_) => drained.pending.try_reserve(posted).is_ok(),
        }
}

/// Empties the list of what was drained, and gives back what a large context took.
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
    use matchpoint::{Envelope, Message, MsgId, Tag, Wild, engines};

    use super::*;

    /// Closes contexts of so many messages each, and tells the most that is kept for the list.
    fn kept_after(counts: &[u32]) -> (usize, usize) {
        let mut engine = engines::create("list").unwrap();
        let contexts = counts.iter().zip(0..).flat_map(|(&count, context)| (0..count).map(move |_| context));
        for (id, context) in (0..).zip(contexts) {
            let envelope = Envelope::new(ContextId(context), Rank(0), Tag(0));
            assert_eq!(engine.arrive_message(Message::new(MsgId(id), envelope)), Ok(None));
        }
        let mut held = Held::new(engine);
        let mut most = 0;
        for context in (0..).take(counts.len()) {
            assert!(make_room(&mut held, Drain::Close(ContextId(context))));
            most = most.max(held.drained.messages.capacity());
            held.engine.close(ContextId(context), &mut held.drained);
            assert_eq!(held.drained.messages.len(), counts[context as usize] as usize);
            empty(&mut held.drained);
        }
        (most, held.drained.messages.capacity())
    }

    #[test]
    fn a_drain_takes_room_for_its_context_and_gives_it_back() {
        assert_eq!(kept_after(&[0, 100_000]).0, 100_000);
        let (most, kept) = kept_after(&[3, 5000, 0]);
        assert!(most < 8000 && kept <= KEPT, "{most}, {kept}");
    }

    /// Places of the lists that a call makes room in: receives, messages, those that stay.
    fn room(what: Drain) -> [usize; 3] {
        let mut held = Held::new(engines::create("list").unwrap());
        for id in 0..5000 {
            let from = |source| matchpoint::Selector::new(ContextId(7), source, Wild::Is(Tag(0)));
            let asked = from(if id % 2 == 0 { Wild::Any } else { Wild::Is(Rank(1)) });
            assert_eq!(held.engine.post(matchpoint::Receive::new(RecvId(id), asked)), Ok(None));
        }
        for id in 0..3000 {
            let envelope = Envelope::new(ContextId(7), Rank(2), Tag(1));
            assert_eq!(held.engine.arrive_message(Message::new(MsgId(id), envelope)), Ok(None));
        }
        assert!(make_room(&mut held, what));
        let Drained { receives, messages, pending } = &held.drained;
        [receives.capacity(), messages.capacity(), pending.capacity()]
    }

    #[test]
    fn room_is_made_in_the_lists_that_a_call_fills() {
        assert_eq!(room(Drain::Close(ContextId(7))), [5000, 3000, 0]);
        assert_eq!(room(Drain::Fail(ContextId(7))), [5000, 0, 5000]);
    }
}
