//! Segments by source (Klenk et al. 2017, §VI-A): blocks that match side by side, where no receive leaves its source open.

use crate::layout::{Message, Receive, Segment};

/// Messages and receives in segments, each in the order in which they were: what the matrix kernel is given beside them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Partition {
    /// Indices of messages, segment after segment.
    pub message_order: Vec<u32>,
    /// Indices of receives, segment after segment.
    pub receive_order: Vec<u32>,
    /// Where each segment lies in these.
    pub segments: Vec<Segment>,
}

/// A receive from any source: it belongs to no segment. The index of the first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AnySource(pub usize);

impl Partition {
    /// Divides them into `parts` segments by context and source: O(messages + receives + parts).
    ///
    /// # Errors
    /// A receive leaves its source open.
    pub fn by_source(
        messages: &[Message],
        receives: &[Receive],
        parts: usize,
    ) -> Result<Partition, AnySource> {
        if let Some(index) = receives.iter().position(|receive| receive.any_source != 0) {
            return Err(AnySource(index));
        }
        let parts = parts.max(1);
        let of = |context: u32, source: u64| part(context, source, parts);
        let (message_order, message_ends) =
            divided(messages.iter().map(|message| of(message.context, message.source)), parts);
        let (receive_order, receive_ends) =
            divided(receives.iter().map(|receive| of(receive.context, receive.source)), parts);
        let begins = |ends: &[u32], part: usize| if part == 0 { 0 } else { ends[part - 1] };
        let segments = (0..parts).map(|part| Segment {
            message: begins(&message_ends, part),
            message_end: message_ends[part],
            receive: begins(&receive_ends, part),
            receive_end: receive_ends[part],
        });
        let segments = segments.collect();
        Ok(Partition { message_order, receive_order, segments })
    }
}

/// The upper half of a product by the golden ratio spreads neighbouring ranks evenly (Knuth, TAOCP §6.4).
fn part(context: u32, source: u64, parts: usize) -> usize {
    let mixed = (source ^ u64::from(context).rotate_left(32)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    ((u128::from(mixed) * parts as u128) >> 64) as usize
}

/// Indices by part, in order within each, and where each part ends.
fn divided(parts_of: impl Iterator<Item = usize> + Clone, parts: usize) -> (Vec<u32>, Vec<u32>) {
    let mut ends = vec![0u32; parts];
    parts_of.clone().for_each(|part| ends[part] += 1);
    let mut next = 0;
    let mut begins = Vec::with_capacity(parts);
    for end in &mut ends {
        begins.push(next);
        next += *end;
        *end = next;
    }
    let mut order = vec![0; next as usize];
    for (index, part) in parts_of.enumerate() {
        order[begins[part] as usize] = index as u32;
        begins[part] += 1;
    }
    (order, ends)
}

#[cfg(test)]
mod tests {
    use matchpoint::{ContextId, Envelope, Rank, Tag};

    use super::*;

    fn message(source: u64, tag: u64) -> Message {
        Message::from(&Envelope::new(ContextId(0), Rank(source), Tag(tag)))
    }

    fn receive(source: u64, tag: u64) -> Receive {
        Receive { source, tag, ..Receive::default() }
    }

    #[test]
    fn all_of_one_source_stay_in_order_in_one_segment() {
        let messages: Vec<Message> = (0..100).map(|at| message(at % 7, at)).collect();
        let receives: Vec<Receive> = (0..50).map(|at| receive(at % 5, at)).collect();
        let partition = Partition::by_source(&messages, &receives, 4).unwrap();
        assert_eq!(partition.segments.len(), 4);
        assert_eq!(partition.segments[3].message_end, 100);
        assert_eq!(partition.segments[3].receive_end, 50);
        for source in 0..7 {
            let within = |segment: &&Segment| {
                let order = &partition.message_order[segment.message as usize..segment.message_end as usize];
                order.iter().any(|&index| messages[index as usize].source == source)
            };
            assert_eq!(partition.segments.iter().filter(within).count(), 1);
        }
        for segment in &partition.segments {
            let order = &partition.receive_order[segment.receive as usize..segment.receive_end as usize];
            assert!(order.is_sorted());
        }
    }

    #[test]
    fn receives_from_any_source_are_refused() {
        let any = Receive { any_source: 1, ..Receive::default() };
        assert_eq!(Partition::by_source(&[], &[receive(1, 1), any], 4), Err(AnySource(1)));
    }

    #[test]
    fn nothing_is_divided_into_empty_segments() {
        let partition = Partition::by_source(&[], &[], 3).unwrap();
        assert_eq!(partition.segments, [Segment::default(); 3]);
    }
}
