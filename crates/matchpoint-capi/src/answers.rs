//! Conversion between arguments and results of C and the types of the crate `matchpoint`.
#![allow(unsafe_code)]

use std::ffi::c_void;

use matchpoint::{
    ContextId, Drained, Envelope, Hints, MsgId, Pair, Queue, Rank, Readdressed, Receive, RecvId, Refused,
    Selector, Tag,
};
use matchpoint_abi::convert::{self, refusal_status};
use matchpoint_abi::types::{
    DrainFn, MP_DRAINED_MESSAGE, MP_DRAINED_PENDING, MP_DRAINED_RECEIVE, MP_FOUND, MP_MATCHED, MP_NAMED,
    MP_NONE, MP_OK, MP_QUEUE_POSTED, MP_QUEUE_UNEXPECTED, MP_QUEUED, Message, Outcome,
};

#[inline(always)]
pub(crate) fn outcome(status: i32, id: u64) -> Outcome {
    Outcome { id, status: i64::from(status) }
}

/// The outcome of a refused call.
#[cold]
#[inline(never)]
pub(crate) fn refused(refused: Refused) -> Outcome {
    outcome(refusal_status(refused), 0)
}

/// The outcome of a post or an arrival.
#[inline(always)]
pub(crate) fn matched<I>(answer: Result<Option<I>, Refused>, number: impl Fn(I) -> u64) -> Outcome {
    match answer {
        Ok(None) => outcome(MP_QUEUED, 0),
        Ok(Some(id)) => outcome(MP_MATCHED, number(id)),
        Err(reason) => refused(reason),
    }
}

/// The outcome of a probe.
#[inline(always)]
pub(crate) fn found(id: Option<u64>) -> Outcome {
    id.map_or(outcome(MP_NONE, 0), |id| outcome(MP_FOUND, id))
}

/// The outcome of [`readdress`](matchpoint::Engine::readdress).
pub(crate) fn readdressed(answer: Result<Readdressed, Refused>) -> Outcome {
    match answer {
        Ok(Readdressed::SourceSet) => outcome(MP_NAMED, 0),
        Ok(Readdressed::Matched(receive)) => outcome(MP_MATCHED, receive.0),
        Ok(Readdressed::Unchanged) => outcome(MP_NONE, 0),
        Err(reason) => refused(reason),
    }
}

/// The status of a cancelled or retracted entry.
pub(crate) fn found_status(found: bool) -> i32 {
    if found { MP_FOUND } else { MP_NONE }
}

/// The status of a call that has no id to return.
#[inline]
pub(crate) fn done(answer: Result<(), Refused>) -> i32 {
    answer.map_or_else(refusal_status, |()| MP_OK)
}

pub(crate) fn receive(id: u64, pair: u64, tag: u64, ignore: u64) -> Receive {
    Receive::new(RecvId(id), Selector::of(Pair(pair), tag, ignore))
}

pub(crate) fn message(id: u64, pair: u64, tag: u64) -> matchpoint::Message {
    matchpoint::Message::new(MsgId(id), Envelope::of(Pair(pair), Tag(tag)))
}

pub(crate) fn queue(number: i32) -> Option<Queue> {
    match number {
        MP_QUEUE_POSTED => Some(Queue::Posted),
        MP_QUEUE_UNEXPECTED => Some(Queue::Unexpected),
        _ => None,
    }
}

/// Returns `None` if a bit is not a hint.
pub(crate) fn hints(context: u32, bits: u32) -> Option<(ContextId, Hints)> {
    convert::hints(bits).map(|hints| (ContextId(context), hints))
}

/// Returns `None` for the unknown source, which cannot fail.
pub(crate) fn failed_source(context: u32, source: u32) -> Option<(ContextId, Rank)> {
    (Rank(source) != Rank::UNKNOWN).then_some((ContextId(context), Rank(source)))
}

/// The messages of `mp_arrive_batch`, and space for their outcomes.
#[derive(Clone, Copy)]
pub(crate) struct Batch<'a> {
    given: &'a [Message],
    outcomes: *mut Outcome,
    done: *mut usize,
}

impl Batch<'_> {
    /// Returns `None` if a required pointer is NULL.
    ///
    /// # Safety
    /// Each pointer is NULL, or valid as long as the batch is used: `done` for one element, the others for
    /// `count`.
    pub(crate) unsafe fn new(
        messages: *const Message,
        count: usize,
        outcomes: *mut Outcome,
        done: *mut usize,
    ) -> Option<Self> {
        if done.is_null() || count > 0 && (messages.is_null() || outcomes.is_null()) {
            return None;
        }
        // SAFETY: not NULL; the caller guarantees `count` elements.
        let given = if count == 0 { &[][..] } else { unsafe { std::slice::from_raw_parts(messages, count) } };
        Some(Batch { given, outcomes, done })
    }

    /// Calls `arrive` with the messages, and writes the outcomes. `read` and `matched` are buffers that calls
    /// may reuse.
    pub(crate) fn arrive(
        self,
        read: &mut Vec<matchpoint::Message>,
        matched: &mut Vec<Option<RecvId>>,
        arrive: impl FnOnce(&[matchpoint::Message], &mut Vec<Option<RecvId>>) -> Result<(), Refused>,
    ) -> i32 {
        read.clear();
        matched.clear();
        let count = self.given.len();
        let has_room = read.try_reserve(count).is_ok() && matched.try_reserve(count).is_ok();
        let answer = if has_room {
            read.extend(self.given.iter().map(|given| message(given.id, given.pair, given.tag)));
            arrive(read, matched)
        } else {
            Err(Refused::Memory)
        };
        for (at, &receive) in matched.iter().enumerate() {
            let outcome = self::matched(Ok(receive), |RecvId(id)| id);
            // SAFETY: there are no more outcomes than messages.
            unsafe { self.outcomes.add(at).write(outcome) };
        }
        // SAFETY: not NULL.
        unsafe { self.done.write(matched.len()) };
        self::done(answer)
    }
}

/// The program's callback for matched messages of a batch, with its argument.
pub(crate) struct Delivery {
    pub(crate) deliver: unsafe extern "C" fn(*mut c_void, usize, u64),
    pub(crate) user: *mut c_void,
}

// SAFETY: `matchpoint.h` requires a function and an argument that several threads may use at once.
unsafe impl Sync for Delivery {}

impl Delivery {
    #[inline]
    pub(crate) fn call(&self, number: usize, receive: RecvId) {
        // SAFETY: the program passed both for such a call.
        unsafe { (self.deliver)(self.user, number, receive.0) }
    }
}

/// Calls `each`, unless NULL, with the drained entries.
///
/// # Safety
/// `each` is as `matchpoint.h` requires.
pub(crate) unsafe fn drained(drained: &Drained, each: DrainFn, user: *mut c_void) {
    let Some(each) = each else { return };
    let Drained { receives, messages, pending } = drained;
    // SAFETY: the caller guarantees a valid function and argument.
    unsafe {
        receives.iter().for_each(|id| each(user, MP_DRAINED_RECEIVE, id.0));
        messages.iter().for_each(|id| each(user, MP_DRAINED_MESSAGE, id.0));
        pending.iter().for_each(|id| each(user, MP_DRAINED_PENDING, id.0));
    }
}

/// Writes a struct of which the program's version has `size` bytes. Bytes that only the program's version has
/// become 0.
///
/// # Safety
/// `out` is NULL or has space for `size` bytes. `T` has no padding.
pub(crate) unsafe fn write_struct<T: Copy>(value: T, out: *mut T, size: usize) -> i32 {
    if out.is_null() {
        return matchpoint_abi::types::MP_INVALID;
    }
    let known = size.min(size_of::<T>());
    // SAFETY: `known` is at most the size of either side; bytes need no alignment.
    unsafe {
        let out = out.cast::<u8>();
        out.copy_from_nonoverlapping((&raw const value).cast(), known);
        out.add(known).write_bytes(0, size - known);
    }
    MP_OK
}

#[cfg(test)]
mod tests {
    use matchpoint_abi::types::Attempts;

    use super::*;

    #[test]
    fn struct_of_any_size_is_filled() {
        let value = Attempts { posted: 1, unexpected: 2 };
        for (size, expected) in [(0, [7, 7, 7, 7]), (8, [1, 7, 7, 7]), (16, [1, 2, 7, 7]), (32, [1, 2, 0, 0])]
        {
            let mut out = [Attempts { posted: 7, unexpected: 7 }; 2];
            // SAFETY: `out` is 32 bytes long.
            assert_eq!(unsafe { write_struct(value, out.as_mut_ptr(), size) }, MP_OK);
            assert_eq!([out[0].posted, out[0].unexpected, out[1].posted, out[1].unexpected], expected);
        }
    }
}
