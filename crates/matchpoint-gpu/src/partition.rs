//! Segments by source (Klenk et al. 2017, §VI-A): blocks match in parallel if no receive uses
//! `MPI_ANY_SOURCE`.

use crate::batch::{Batch, NONE, Segment, Source};

/// A batch sorted by source, with the original positions of its entries.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Partition {
    /// Segment after segment. Each segment keeps its order.
    pub batch: Batch,
    pub segments: Vec<Segment>,
    message_order: Vec<u32>,
    receive_order: Vec<u32>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AnySource(pub usize);

impl Partition {
    /// Divides a batch into segments by context and source. O(messages + receives + parts).
    ///
    /// # Errors
    /// A receive uses `MPI_ANY_SOURCE`.
    pub fn by_source(batch: &Batch, parts: usize) -> Result<Partition, AnySource> {
        let parts = parts.max(1);
        let (messages, receives) = batch.sources();
        if let Some(any_source) = receives.iter().position(Option::is_none) {
            return Err(AnySource(any_source));
        }
        let receives: Vec<Source> = receives.into_iter().flatten().collect();
        let divided_by_source =
            |of: &[Source]| divided(of.iter().map(|&(context, source)| part(context, source, parts)), parts);
        let (message_order, message_ends) = divided_by_source(&messages);
        let (receive_order, receive_ends) = divided_by_source(&receives);
        let begins = |ends: &[u32], part: usize| if part == 0 { 0 } else { ends[part - 1] };
        let segments = (0..parts).map(|part| Segment {
            message: begins(&message_ends, part),
            message_end: message_ends[part],
            receive: begins(&receive_ends, part),
            receive_end: receive_ends[part],
        });
        let segments = segments.collect();
        let batch = batch.gathered(&message_order, &receive_order);
        Ok(Partition { batch, segments, message_order, receive_order })
    }

    /// Converts the divided batch's result into the original batch's result: for each receive its message, or
    /// [`NONE`].
    ///
    /// # Panics
    /// `matched` has another number of receives.
    pub fn matched_before(&self, matched: &[u32]) -> Vec<u32> {
        assert_eq!(matched.len(), self.receive_order.len(), "one for each receive");
        let mut before = vec![NONE; matched.len()];
        for (&receive, &message) in self.receive_order.iter().zip(matched) {
            before[receive as usize] =
                if message == NONE { NONE } else { self.message_order[message as usize] };
        }
        before
    }
}

/// Multiplication by the golden ratio spreads neighbouring ranks evenly (Knuth, TAOCP §6.4).
fn part(context: u32, source: u64, parts: usize) -> usize {
    let mixed = (source ^ u64::from(context).rotate_left(32)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    ((u128::from(mixed) * parts as u128) >> 64) as usize
}

/// Indexes sorted by part, stable, and the end of each part.
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
    use matchpoint::{ContextId, Envelope, Rank, Selector, Tag, Wild};

    use super::*;

    fn batch(messages: &[(u64, u64)], receives: &[(u64, u64)]) -> Batch {
        let envelope =
            |&(source, tag): &(u64, u64)| Envelope::new(ContextId(0), Rank(source as u32), Tag(tag));
        let messages: Vec<Envelope> = messages.iter().map(envelope).collect();
        let receives: Vec<Selector> =
            receives.iter().map(|receive| Selector::exactly(&envelope(receive))).collect();
        Batch::of(&messages, &receives)
    }

    #[test]
    fn messages_of_source_stay_in_segment() {
        let messages: Vec<(u64, u64)> = (0..100).map(|at| (at % 7, at)).collect();
        let receives: Vec<(u64, u64)> = (0..50).map(|at| (at % 5, at)).collect();
        let partition = Partition::by_source(&batch(&messages, &receives), 4).unwrap();
        assert_eq!(partition.segments.len(), 4);
        assert_eq!(partition.segments[3].message_end, 100);
        assert_eq!(partition.segments[3].receive_end, 50);
        for source in 0..7 {
            let within = |segment: &&Segment| {
                let range = segment.message as usize..segment.message_end as usize;
                partition.message_order[range].iter().any(|&index| messages[index as usize].0 == source)
            };
            assert_eq!(partition.segments.iter().filter(within).count(), 1);
        }
        for segment in &partition.segments {
            let range = segment.receive as usize..segment.receive_end as usize;
            assert!(partition.receive_order[range].is_sorted());
        }
    }

    #[test]
    fn receives_from_any_source_are_refused() {
        let any = Selector::new(ContextId(0), Wild::Any, Wild::Is(Tag(1)));
        let one = Selector::new(ContextId(0), Wild::Is(Rank(1)), Wild::Is(Tag(1)));
        assert_eq!(Partition::by_source(&Batch::of(&[], &[one, any]), 4), Err(AnySource(1)));
    }

    #[test]
    fn empty_batch_gives_empty_segments() {
        let partition = Partition::by_source(&batch(&[], &[]), 3).unwrap();
        assert_eq!(partition.segments, [Segment::default(); 3]);
    }
}
