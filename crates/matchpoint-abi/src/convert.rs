//! How the structs of the C interface stand for the types of the contract.

use matchpoint::{ContextId, Hashes, Hints, Order, Rank, Refused, Tag, TagMask, Wild};

use crate::types::{
    Attempts, Entry, Envelope, Footprint, MP_HINT_ALLOW_OVERTAKING, MP_HINT_EXACT_LENGTH,
    MP_HINT_NO_ANY_SOURCE, MP_HINT_NO_ANY_TAG, MP_HINT_NO_UNEXPECTED, MP_ORDER_NONE, MP_ORDER_PER_SOURCE,
    MP_ORDER_TOTAL, MP_QUEUE_POSTED, MP_QUEUE_UNEXPECTED, MP_REFUSED_FULL, MP_REFUSED_HINT,
    MP_REFUSED_MEMORY, MP_UNKNOWN_SOURCE, Message, Selector,
};

/// The bit of an assertion, and the field it stands for.
type Hint = (u32, fn(&mut Hints) -> &mut bool);

const HINTS: [Hint; 5] = [
    (MP_HINT_NO_ANY_SOURCE, |hints| &mut hints.no_any_source),
    (MP_HINT_NO_ANY_TAG, |hints| &mut hints.no_any_tag),
    (MP_HINT_EXACT_LENGTH, |hints| &mut hints.exact_length),
    (MP_HINT_ALLOW_OVERTAKING, |hints| &mut hints.allow_overtaking),
    (MP_HINT_NO_UNEXPECTED, |hints| &mut hints.no_unexpected),
];

// The one value says both "any" and "unknown", as in the contract.
const _: () = assert!(MP_UNKNOWN_SOURCE == Rank::UNKNOWN.0);

impl Selector {
    /// The contract's, unless the reserved field is used.
    #[inline]
    pub fn read(&self) -> Option<matchpoint::Selector> {
        let tag = Wild::Masked(TagMask { value: Tag(self.tag), ignore: self.ignore });
        let selector = matchpoint::Selector::new(ContextId(self.context), Wild::Is(Rank(self.source)), tag);
        (self.reserved == 0).then_some(selector)
    }
}

impl From<&matchpoint::Selector> for Selector {
    fn from(selector: &matchpoint::Selector) -> Self {
        let source = match selector.source() {
            Wild::Any => MP_UNKNOWN_SOURCE,
            Wild::Is(rank) => rank.0,
        };
        let (tag, ignore) = match selector.tag() {
            Wild::Any => (0, u64::MAX),
            Wild::Is(tag) => (tag.0, 0),
            Wild::Masked(mask) => (mask.value.0, mask.ignore),
        };
        Selector { source, tag, ignore, context: selector.context().0, reserved: 0 }
    }
}

impl Envelope {
    /// The contract's message of that id, unless the reserved field is used. Hash values that nobody computes are none, and
    /// no reason to refuse a message: they may come from a peer, which the caller does not answer for.
    #[inline]
    pub fn read(&self, id: u64) -> Option<matchpoint::Message> {
        let envelope = matchpoint::Envelope::new(ContextId(self.context), Rank(self.source), Tag(self.tag));
        let message = matchpoint::Message::new(matchpoint::MsgId(id), envelope);
        let hashes = Hashes::from_bits(self.hashes);
        let message = hashes.map_or(message, |hashes| message.with_hashes(hashes));
        (self.reserved == 0).then_some(message)
    }
}

impl From<&matchpoint::Message> for Message {
    fn from(message: &matchpoint::Message) -> Self {
        let matchpoint::Envelope { context, source, tag } = message.envelope;
        let hashes = message.hashes.map_or(0, Hashes::to_bits);
        let envelope = Envelope { source: source.0, tag: tag.0, hashes, context: context.0, reserved: 0 };
        Message { id: message.id.0, envelope }
    }
}

impl From<matchpoint::Entry> for Entry {
    fn from(entry: matchpoint::Entry) -> Self {
        match entry {
            matchpoint::Entry::Receive(receive) => {
                let Selector { source, tag, ignore, context, .. } = Selector::from(&receive.selector);
                Entry { id: receive.id.0, source, tag, ignore, context, queue: MP_QUEUE_POSTED }
            }
            matchpoint::Entry::Message(message) => {
                let Message { id, envelope: Envelope { source, tag, context, .. } } = Message::from(&message);
                Entry { id, source, tag, ignore: 0, context, queue: MP_QUEUE_UNEXPECTED }
            }
        }
    }
}

impl Entry {
    /// The contract's, unless it names no queue.
    pub fn read(&self) -> Option<matchpoint::Entry> {
        let Entry { id, source, tag, ignore, context, queue } = *self;
        match queue {
            MP_QUEUE_POSTED => {
                let selector = Selector { source, tag, ignore, context, reserved: 0 }.read()?;
                let receive = matchpoint::Receive::new(matchpoint::RecvId(id), selector);
                Some(matchpoint::Entry::Receive(receive))
            }
            MP_QUEUE_UNEXPECTED => {
                let envelope = Envelope { source, tag, hashes: 0, context, reserved: 0 };
                envelope.read(id).map(matchpoint::Entry::Message)
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

/// The bits of assertions.
pub fn hint_bits(mut hints: Hints) -> u32 {
    HINTS.iter().filter(|(_, field)| *field(&mut hints)).map(|(bit, _)| bit).sum()
}

/// The assertions of bits, unless one of them is unknown.
pub fn hints(bits: u32) -> Option<Hints> {
    let mut hints = Hints::default();
    for (bit, field) in HINTS {
        *field(&mut hints) = bits & bit != 0;
    }
    (hint_bits(hints) == bits).then_some(hints)
}

/// The status of a refusal.
#[inline]
pub fn refusal_status(refused: Refused) -> i32 {
    match refused {
        Refused::Hint => MP_REFUSED_HINT,
        Refused::Full => MP_REFUSED_FULL,
        Refused::Memory => MP_REFUSED_MEMORY,
    }
}

/// The refusal of a status, if it is one.
pub fn refusal(status: i32) -> Option<Refused> {
    [Refused::Hint, Refused::Full, Refused::Memory]
        .into_iter()
        .find(|&refused| refusal_status(refused) == status)
}

/// The number of an order.
pub fn order_number(order: Order) -> i32 {
    match order {
        Order::Total => MP_ORDER_TOTAL,
        Order::PerSource => MP_ORDER_PER_SOURCE,
        Order::None => MP_ORDER_NONE,
    }
}

/// The order of a number, if it is one's.
pub fn order(number: i32) -> Option<Order> {
    [Order::Total, Order::PerSource, Order::None].into_iter().find(|&order| order_number(order) == number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn selectors_come_back_as_they_went() {
        for source in [Wild::Any, Wild::Is(Rank(7))] {
            for tag in
                [Wild::Any, Wild::Is(Tag(u64::MAX)), Wild::Masked(TagMask { value: Tag(0xA0), ignore: 0xF })]
            {
                let selector = matchpoint::Selector::new(ContextId(3), source, tag);
                assert_eq!(Selector::from(&selector).read(), Some(selector));
            }
        }
    }

    #[test]
    fn messages_come_back_as_they_went() {
        let envelope = matchpoint::Envelope::new(ContextId(3), Rank(4), Tag(5));
        let bare = matchpoint::Message::new(matchpoint::MsgId(9), envelope);
        for message in [bare, bare.with_hashes(Hashes::of(&envelope))] {
            assert_eq!(Message::from(&message).envelope.read(9), Some(message));
        }
    }

    #[test]
    fn what_is_reserved_or_unknown_is_not_understood() {
        assert_eq!(Selector { reserved: 1, ..Selector::default() }.read(), None);
        assert_eq!(Envelope { reserved: 1, ..Envelope::default() }.read(1), None);
        assert_eq!(Entry { queue: 2, ..Entry::default() }.read(), None);
        assert_eq!((hints(32), order(3), refusal(0)), (None, None, None));
    }

    #[test]
    fn hash_values_that_nobody_computes_are_none() {
        for hashes in [0, 2, 4, u64::MAX - 1] {
            let read = Envelope { hashes, ..Envelope::default() }.read(1);
            assert_eq!(read.map(|message| message.hashes), Some(None), "{hashes}");
        }
    }

    #[test]
    fn hints_come_back_as_they_went() {
        for bits in 0..32 {
            assert_eq!(hints(bits).map(hint_bits), Some(bits));
        }
    }
}
