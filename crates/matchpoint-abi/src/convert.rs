//! Conversions between the types of `matchpoint.h` and the types of the crate `matchpoint`.

use matchpoint::{Envelope, Hints, MsgId, Order, Pair, Rank, Receive, RecvId, Refused, Selector, Tag};

use crate::types::{
    Attempts, Entry, Footprint, MP_HINT_ALLOW_OVERTAKING, MP_HINT_EXACT_LENGTH, MP_HINT_NO_ANY_SOURCE,
    MP_HINT_NO_ANY_TAG, MP_HINT_NO_UNEXPECTED, MP_ORDER_NONE, MP_ORDER_PER_SOURCE, MP_ORDER_TOTAL,
    MP_QUEUE_POSTED, MP_QUEUE_UNEXPECTED, MP_REFUSED_FULL, MP_REFUSED_HINT, MP_REFUSED_MEMORY,
    MP_UNKNOWN_SOURCE, Message,
};

/// The bit of a hint in C, and the field of the hint.
type Hint = (u32, fn(&mut Hints) -> &mut bool);

const HINTS: [Hint; 5] = [
    (MP_HINT_NO_ANY_SOURCE, |hints| &mut hints.no_any_source),
    (MP_HINT_NO_ANY_TAG, |hints| &mut hints.no_any_tag),
    (MP_HINT_EXACT_LENGTH, |hints| &mut hints.exact_length),
    (MP_HINT_ALLOW_OVERTAKING, |hints| &mut hints.allow_overtaking),
    (MP_HINT_NO_UNEXPECTED, |hints| &mut hints.no_unexpected),
];

// "Any source" and "unknown source" are the same value in C and in Rust.
const _: () = assert!(MP_UNKNOWN_SOURCE == Rank::UNKNOWN.0);

impl From<&matchpoint::Message> for Message {
    fn from(message: &matchpoint::Message) -> Self {
        let matchpoint::Message { id, envelope, .. } = message;
        Message { id: id.0, pair: envelope.pair().0, tag: envelope.tag.0 }
    }
}

impl From<matchpoint::Entry> for Entry {
    fn from(entry: matchpoint::Entry) -> Self {
        let (id, pair, tag, ignore, queue) = match entry {
            matchpoint::Entry::Receive(receive) => {
                let (tag, ignore) = receive.selector.tag_and_ignored();
                (receive.id.0, receive.selector.pair(), tag, ignore, MP_QUEUE_POSTED)
            }
            matchpoint::Entry::Message(matchpoint::Message { id, envelope, .. }) => {
                (id.0, envelope.pair(), envelope.tag.0, 0, MP_QUEUE_UNEXPECTED)
            }
        };
        Entry { id, pair: pair.0, tag, ignore, queue, reserved: 0 }
    }
}

impl Entry {
    /// Returns `None` if the queue's number is unknown.
    pub fn read(&self) -> Option<matchpoint::Entry> {
        let Entry { id, pair, tag, ignore, queue, .. } = *self;
        match queue {
            MP_QUEUE_POSTED => {
                let selector = Selector::of(Pair(pair), tag, ignore);
                Some(matchpoint::Entry::Receive(Receive::new(RecvId(id), selector)))
            }
            MP_QUEUE_UNEXPECTED => {
                let envelope = Envelope::of(Pair(pair), Tag(tag));
                Some(matchpoint::Entry::Message(matchpoint::Message::new(MsgId(id), envelope)))
            }
            _ => None,
        }
    }
}

impl From<matchpoint::Footprint> for Footprint {
    fn from(footprint: matchpoint::Footprint) -> Self {
        let matchpoint::Footprint { fixed_bytes, peers_bytes, entries_bytes, peak_bytes } = footprint;
        Footprint { fixed_bytes, peers_bytes, entries_bytes, peak_bytes }
    }
}

impl From<Footprint> for matchpoint::Footprint {
    fn from(footprint: Footprint) -> Self {
        let Footprint { fixed_bytes, peers_bytes, entries_bytes, peak_bytes } = footprint;
        matchpoint::Footprint { fixed_bytes, peers_bytes, entries_bytes, peak_bytes }
    }
}

impl From<matchpoint::Attempts> for Attempts {
    fn from(attempts: matchpoint::Attempts) -> Self {
        Attempts { posted: attempts.posted, unexpected: attempts.unexpected }
    }
}

/// Returns the hints as bits of C.
pub fn hint_bits(mut hints: Hints) -> u32 {
    HINTS.iter().filter(|(_, field)| *field(&mut hints)).map(|(bit, _)| bit).sum()
}

/// Returns `None` if a bit is unknown.
pub fn hints(bits: u32) -> Option<Hints> {
    let mut hints = Hints::default();
    for (bit, field) in HINTS {
        *field(&mut hints) = bits & bit != 0;
    }
    (hint_bits(hints) == bits).then_some(hints)
}

/// Returns the status of a refusal.
#[inline]
pub fn refusal_status(refused: Refused) -> i32 {
    match refused {
        Refused::Hint => MP_REFUSED_HINT,
        Refused::Full => MP_REFUSED_FULL,
        Refused::Memory => MP_REFUSED_MEMORY,
    }
}

/// Returns `None` if the status is no refusal.
pub fn refusal(status: i32) -> Option<Refused> {
    [Refused::Hint, Refused::Full, Refused::Memory]
        .into_iter()
        .find(|&refused| refusal_status(refused) == status)
}

/// Returns the order as a number of C.
pub fn order_number(order: Order) -> i32 {
    match order {
        Order::Total => MP_ORDER_TOTAL,
        Order::PerSource => MP_ORDER_PER_SOURCE,
        Order::None => MP_ORDER_NONE,
    }
}

/// Returns `None` if the number is no order.
pub fn order(number: i32) -> Option<Order> {
    [Order::Total, Order::PerSource, Order::None].into_iter().find(|&order| order_number(order) == number)
}

#[cfg(test)]
mod tests {
    use matchpoint::{ContextId, TagMask, Wild};

    use super::*;

    #[test]
    fn converted_entry_converts_back() {
        for source in [Wild::Any, Wild::Is(Rank(7))] {
            for tag in
                [Wild::Any, Wild::Is(Tag(u64::MAX)), Wild::Masked(TagMask { value: Tag(0xA0), ignore: 0xF })]
            {
                let selector = Selector::new(ContextId(3), source, tag);
                let entry = matchpoint::Entry::Receive(Receive::new(RecvId(9), selector));
                assert_eq!(Entry::from(entry).read(), Some(entry));
            }
        }
        let envelope = Envelope::new(ContextId(3), Rank(4), Tag(5));
        let entry = matchpoint::Entry::Message(matchpoint::Message::new(MsgId(9), envelope));
        assert_eq!(Entry::from(entry).read(), Some(entry));
    }

    #[test]
    fn unknown_numbers_are_rejected() {
        assert_eq!(Entry { queue: 2, ..Entry::default() }.read(), None);
        assert_eq!((hints(32), order(3), refusal(0)), (None, None, None));
    }

    #[test]
    fn converted_hints_convert_back() {
        for bits in 0..32 {
            assert_eq!(hints(bits).map(hint_bits), Some(bits));
        }
    }
}
