//! The messages of a batch, for those who ask meanwhile whether a receive accepts one of them.

use crate::engine::{Message, MsgId, Refused};
use crate::envelope::{Envelope, Selector};

/// Messages of a batch, at most: what each may have to be compared with under the lock.
pub(super) const BATCH: usize = 1024;

/// Fewer are compared faster than marked.
const FEW: usize = 16;

/// Bits of [`Batch::marks`]: sixteen for each message.
const MARKS: usize = 16 * BATCH;

/// See the [module's documentation](self).
pub(super) struct Batch {
    /// In order.
    pub(super) messages: Vec<Message>,
    /// A bit for the hash of each envelope, made by the first who asks: mostly nobody does. Who finds its bit compares with all
    /// messages nevertheless, so that envelopes chosen to collide cost no more than a wildcard, and the hash needs no key.
    marks: [u64; MARKS / 64],
    is_marked: bool,
}

impl Batch {
    pub(super) fn new() -> Self {
        Batch { messages: Vec::new(), marks: [0; MARKS / 64], is_marked: false }
    }

    /// These from now on, in the place of none.
    pub(super) fn begin(&mut self, messages: &[Message]) -> Result<(), Refused> {
        self.messages.try_reserve(messages.len()).map_err(|_| Refused::Memory)?;
        self.messages.extend_from_slice(messages);
        self.is_marked = false;
        Ok(())
    }

    /// Whether a receive accepts one of them.
    pub(super) fn is_wanted(&mut self, selector: &Selector) -> bool {
        if self.messages.len() > FEW
            && let Some(envelope) = selector.exact()
        {
            self.mark();
            let (word, bit) = place(&envelope);
            if self.marks[word] & bit == 0 {
                return false;
            }
        }
        self.messages.iter().any(|message| selector.matches(&message.envelope))
    }

    /// Whether one of them has that name.
    pub(super) fn has(&self, id: MsgId) -> bool {
        self.messages.iter().any(|message| message.id == id)
    }

    fn mark(&mut self) {
        if !std::mem::replace(&mut self.is_marked, true) {
            self.marks.fill(0);
            for message in &self.messages {
                let (word, bit) = place(&message.envelope);
                self.marks[word] |= bit;
            }
        }
    }

    /// Bytes allocated.
    pub(super) fn bytes(&self) -> u64 {
        (self.messages.capacity() * size_of::<Message>()) as u64
    }
}

/// The bit of an envelope: the upper bits of a sum of products by odd constants.
fn place(envelope: &Envelope) -> (usize, u64) {
    let sum = u64::from(envelope.source.0)
        .wrapping_mul(0xE703_7ED1_A0B4_28DB)
        .wrapping_add(envelope.tag.0.wrapping_mul(0x9E37_79B9_7F4A_7C15))
        .wrapping_add(u64::from(envelope.context.0).wrapping_mul(0xC2B2_AE3D_27D4_EB4F));
    let mark = (sum >> (u64::BITS - MARKS.ilog2())) as usize;
    (mark / 64, 1 << (mark % 64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::envelope::{ContextId, Rank, Tag, Wild};

    fn message(number: u64) -> Message {
        Message::new(MsgId(number), Envelope::new(ContextId(1), Rank((number % 7) as u32), Tag(number)))
    }

    #[test]
    fn what_is_wanted_is_what_comparing_says_however_many_there_are() {
        let mut batch = Batch::new();
        for count in [0, 1, FEW as u64, FEW as u64 + 1, 300, BATCH as u64] {
            batch.messages.clear();
            let messages: Vec<Message> = (0..count).map(message).collect();
            batch.begin(&messages).unwrap();
            for number in (0..BATCH as u64 + 50).step_by(if cfg!(miri) { 97 } else { 1 }) {
                let Envelope { context, source, tag } = message(number).envelope;
                assert_eq!(batch.has(MsgId(number)), number < count);
                for (selector, is_wanted) in [
                    (Selector::new(context, Wild::Is(source), Wild::Is(tag)), number < count),
                    (Selector::new(context, Wild::Any, Wild::Is(tag)), number < count),
                    (Selector::new(context, Wild::Is(Rank(source.0 + 7)), Wild::Is(tag)), false),
                    (Selector::new(ContextId(2), Wild::Is(source), Wild::Is(tag)), false),
                ] {
                    assert_eq!(batch.is_wanted(&selector), is_wanted, "{selector} of {count}");
                }
            }
        }
    }
}
