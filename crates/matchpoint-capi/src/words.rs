//! Post, arrive and probe with words for arguments and results: nothing passes through memory.
//!
//! No panic passes these functions: they are `extern "C"`, so that one ends the process with its message.
#![allow(unsafe_code)]

use matchpoint::{MsgId, Pair, Rank, RecvId, Selector, Tag};
use matchpoint_abi::types::{Opaque, Outcome};

use crate::answers::{outcome, probed};
use crate::handle;

/// Posts a receive from one source with one tag. `pair` is `mp_pair(context, source)`.
///
/// Status: MP_MATCHED (`id` is the message), MP_QUEUED, or as `mp_engine_post`.
///
/// # Safety
/// As `mp_engine_post`, and `engine` is not NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mp_post_exact(engine: *mut Opaque, receive: u64, pair: u64, tag: u64) -> Outcome {
    // SAFETY: the caller's promise.
    unsafe {
        handle::with_words(engine, |engine| match Pair(pair) {
            pair if pair.source() == Rank::UNKNOWN => {
                outcome(engine.post_open(RecvId(receive), &Selector::of(pair, tag, 0)))
            }
            pair => outcome(engine.post_exact(RecvId(receive), pair, Tag(tag))),
        })
    }
}

/// Posts any receive. The source in `pair` may be MP_ANY_SOURCE. Bits of the tag that are set in `ignore` do not count.
///
/// Status: as `mp_post_exact`.
///
/// # Safety
/// As `mp_post_exact`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mp_post(
    engine: *mut Opaque,
    receive: u64,
    pair: u64,
    tag: u64,
    ignore: u64,
) -> Outcome {
    // SAFETY: the caller's promise.
    unsafe {
        handle::with_words(engine, |engine| {
            outcome(engine.post_open(RecvId(receive), &Selector::of(Pair(pair), tag, ignore)))
        })
    }
}

/// A message arrives. The source in `pair` may be MP_UNKNOWN_SOURCE.
///
/// Status: MP_MATCHED (`id` is the receive), MP_QUEUED, or as `mp_engine_arrive`.
///
/// # Safety
/// As `mp_post_exact`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mp_arrive(engine: *mut Opaque, message: u64, pair: u64, tag: u64) -> Outcome {
    // SAFETY: the caller's promise.
    unsafe {
        handle::with_words(engine, |engine| outcome(engine.arrive(MsgId(message), Pair(pair), Tag(tag))))
    }
}

/// Finds the message that such a receive would take now, and leaves it in place (MPI_Iprobe).
///
/// Status: MP_FOUND (`id` is the message), MP_NONE, or as `mp_engine_probe`.
///
/// # Safety
/// As `mp_post_exact`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mp_probe(engine: *mut Opaque, pair: u64, tag: u64, ignore: u64) -> Outcome {
    // SAFETY: the caller's promise.
    unsafe {
        handle::with_words(engine, |engine| probed(engine.probe(&Selector::of(Pair(pair), tag, ignore))))
    }
}

/// Finds the message that such a receive would take now, and takes it (MPI_Improbe). An embedding that makes a request only where
/// nothing waits calls this first, then `mp_post`.
///
/// Status: as `mp_probe`.
///
/// # Safety
/// As `mp_post_exact`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mp_matched_probe(engine: *mut Opaque, pair: u64, tag: u64, ignore: u64) -> Outcome {
    // SAFETY: the caller's promise.
    unsafe {
        handle::with_words(engine, |engine| {
            probed(engine.matched_probe(&Selector::of(Pair(pair), tag, ignore)))
        })
    }
}
