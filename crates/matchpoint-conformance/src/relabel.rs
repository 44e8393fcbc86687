//! Relabelled streams: generated streams with other ids, contexts, sources and tags, which use all bits.
//!
//! Generated streams count from 0. Here bits are permuted and some are inverted: numbers that differed in a
//! low bit differ at any position. Masks are permuted in the same way, so the same entries match.
//! [`shrink`](crate::shrink) restores small numbers bit by bit.

use matchpoint::{ContextId, Event, Rank, Tag, TagMask, Wild};

use crate::choices::Choices;
use crate::renumber::{Numbers, map};

/// A bijection on `width` bits: bit `at` moves to `at * stride + shift`, then some bits are inverted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Bits {
    width: u32,
    stride: u32,
    shift: u32,
    inverted: u64,
}

impl Bits {
    /// `turn` selects the position of the lowest bit; `width` consecutive turns cover all positions.
    fn new(width: u32, turn: u64, choices: &mut Choices<'_>) -> Self {
        let stride = 2 * choices.below(u64::from(width) / 2) as u32 + 1;
        let shift = (turn % u64::from(width)) as u32;
        // In one of four cases no bit is inverted, so that numbers stay sparse. In one of four, all upper
        // bits are inverted.
        let inverted = match choices.below(4) {
            0 => 0,
            1 => u64::MAX << choices.below(48),
            _ => choices.below(u64::MAX),
        };
        Bits { width, stride, shift, inverted: inverted & (u64::MAX >> (64 - width)) }
    }

    fn move_bits(&self, number: u64) -> u64 {
        let to = |at: u32| (at * self.stride + self.shift) % self.width;
        (0..self.width).map(|at| (number >> at & 1) << to(at)).fold(0, |sum, bit| sum | bit)
    }

    fn number(&self, number: u64) -> u64 {
        self.move_bits(number) ^ self.inverted
    }
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Relabelling {
    contexts: Bits,
    sources: Bits,
    tags: Bits,
    receives: Bits,
    messages: Bits,
}

impl Relabelling {
    /// Creates relabelling `number`. Over 64 consecutive numbers, the lowest bit of each kind moves to every
    /// position.
    pub fn new(number: u64) -> Self {
        let mut choices = Choices::Seed(number ^ 0xD15_6015E);
        let mut bits = |width, turn| Bits::new(width, turn, &mut choices);
        Relabelling {
            contexts: bits(32, number),
            sources: bits(32, number),
            tags: bits(64, number),
            receives: bits(64, number),
            messages: bits(64, number),
        }
    }

    pub fn apply(&self, events: &mut [Event]) {
        events.iter_mut().for_each(|event| *event = map(event, &mut self.clone()));
    }
}

impl Numbers for Relabelling {
    fn context(&mut self, context: ContextId) -> ContextId {
        ContextId(self.contexts.number(context.0.into()) as u32)
    }

    /// Keeps `Rank::UNKNOWN`: the source that maps to `UNKNOWN` gets the image of `UNKNOWN`.
    fn source(&mut self, source: Rank) -> Rank {
        let number = |source: Rank| Rank(self.sources.number(source.0.into()) as u32);
        match number(source) {
            Rank::UNKNOWN => number(Rank::UNKNOWN),
            other => other,
        }
    }

    fn tag(&mut self, tag: Tag) -> Tag {
        Tag(self.tags.number(tag.0))
    }

    fn mask(&mut self, mask: TagMask) -> Wild<Tag> {
        Wild::Masked(TagMask { value: self.tag(mask.value), ignore: self.tags.move_bits(mask.ignore) })
    }

    fn receive(&mut self, id: u64) -> u64 {
        self.receives.number(id)
    }

    fn message(&mut self, id: u64) -> u64 {
        self.messages.number(id)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::generate::{SHAPES, stream};
    use crate::run::run;

    #[test]
    fn relabelling_is_injective() {
        for number in 0..200 {
            let mut relabel = Relabelling::new(number);
            let numbers: Vec<u64> = (0..64).map(|bit| 1 << bit).chain(0..1000).collect();
            let distinct = numbers.iter().collect::<BTreeSet<_>>().len();
            let sources: BTreeSet<_> = (0..1000).map(|at| relabel.source(Rank(at))).collect();
            let tags: BTreeSet<_> = numbers.iter().map(|&at| relabel.tag(Tag(at))).collect();
            assert_eq!((sources.len(), tags.len()), (1000, distinct));
            assert!(!sources.contains(&Rank::UNKNOWN));
            let contexts: BTreeSet<_> = (0..1000).map(|at| relabel.context(ContextId(at))).collect();
            assert_eq!(contexts.len(), 1000);
        }
    }

    #[test]
    fn lowest_bit_reaches_every_position() {
        let mut union = [0, 0, 0];
        for number in 1..65 {
            let mut relabel = Relabelling::new(number);
            union[0] |= relabel.tag(Tag(0)).0 ^ relabel.tag(Tag(1)).0;
            union[1] |= relabel.receive(0) ^ relabel.receive(1);
            union[2] |= u64::from(relabel.context(ContextId(0)).0 ^ relabel.context(ContextId(1)).0);
        }
        assert_eq!(union, [u64::MAX, u64::MAX, u32::MAX.into()]);
    }

    #[test]
    fn relabelled_stream_keeps_matches() {
        for (number, (name, shape)) in (0..).zip(SHAPES) {
            let plain = stream(*shape, Choices::Seed(number), 500);
            let mut other = plain.clone();
            Relabelling::new(number).apply(&mut other);
            assert_ne!(plain, other, "{name}");
            let matches = [plain, other].map(|events| {
                let run = run(&mut *matchpoint::engines::create("list").unwrap(), &events, false);
                (run.matches, run.played.len(), run.broken)
            });
            assert_eq!(matches[0], matches[1], "{name}");
        }
    }
}
