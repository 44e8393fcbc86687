//! What C hands in, as the contract has it: `None` for what is `MP_INVALID`.
#![allow(unsafe_code)]

use matchpoint::{Queue, Refused};
use matchpoint_abi::types::{Envelope, MP_QUEUE_POSTED, MP_QUEUE_UNEXPECTED, Message, Outcome, Selector};

/// What a receive asks for.
///
/// # Safety
/// `selector` is NULL or points to one.
#[inline]
pub(crate) unsafe fn asked(selector: *const Selector) -> Option<matchpoint::Selector> {
    // SAFETY: the caller's promise.
    unsafe { selector.as_ref() }.map(Selector::read)
}

/// A message of that name.
///
/// # Safety
/// `envelope` is NULL or points to one.
#[inline]
pub(crate) unsafe fn said(message: u64, envelope: *const Envelope) -> Option<matchpoint::Message> {
    // SAFETY: the caller's promise.
    unsafe { envelope.as_ref() }.map(|envelope| envelope.read(message))
}

/// A selector, beside room for the answer.
///
/// # Safety
/// `selector` is NULL or points to one.
#[inline]
pub(crate) unsafe fn selector(selector: *const Selector, answer: *const u64) -> Option<matchpoint::Selector> {
    if answer.is_null() {
        return None;
    }
    // SAFETY: the caller's promise.
    unsafe { asked(selector) }
}

/// A message of that name, beside room for the answer.
///
/// # Safety
/// `envelope` is NULL or points to one.
#[inline]
pub(crate) unsafe fn message(
    message: u64,
    envelope: *const Envelope,
    answer: *const u64,
) -> Option<matchpoint::Message> {
    if answer.is_null() {
        return None;
    }
    // SAFETY: the caller's promise.
    unsafe { said(message, envelope) }
}

/// The messages of a batch, beside room for what becomes of them.
///
/// # Safety
/// `messages` is NULL or has `count` elements, which stay as they are as long as the slice is used.
pub(crate) unsafe fn batch<'a>(
    (messages, count): (*const Message, usize),
    (outcomes, done): (*const Outcome, *const usize),
) -> Option<&'a [Message]> {
    let is_missing = count > 0 && (messages.is_null() || outcomes.is_null());
    if is_missing || done.is_null() {
        return None;
    }
    if count == 0 {
        return Some(&[]);
    }
    // SAFETY: not NULL, and the caller's promise of `count` elements.
    Some(unsafe { std::slice::from_raw_parts(messages, count) })
}

/// Puts the messages of a batch into `read`, in the place of what it has.
///
/// # Errors
/// There is no room for them.
pub(crate) fn read_batch(given: &[Message], read: &mut Vec<matchpoint::Message>) -> Result<(), Refused> {
    read.clear();
    read.try_reserve(given.len()).map_err(|_| Refused::Memory)?;
    read.extend(given.iter().map(|message| message.envelope.read(message.id)));
    Ok(())
}

/// A queue.
pub(crate) fn queue(number: i32) -> Option<Queue> {
    match number {
        MP_QUEUE_POSTED => Some(Queue::Posted),
        MP_QUEUE_UNEXPECTED => Some(Queue::Unexpected),
        _ => None,
    }
}
