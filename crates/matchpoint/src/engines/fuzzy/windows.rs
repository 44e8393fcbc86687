//! Keys of 32 bits with separate bits for source and tag.

use super::super::vector::hash_context;
use crate::blocks::Keys;
use crate::engine::{Message, Receive};
use crate::envelope::{Envelope, Selector, Wild};
use crate::scan::{LANES, Lanes};
use crate::scan_engine::Scheme;

/// The fuzzy paper's key `((tag & tag_window) << rank_window_size) | (rank & rank_window)`. Bits beyond a
/// window, and the context, are folded into the key by exclusive or.
#[derive(Clone, Copy)]
pub(crate) struct Windows {
    rank: Window,
    tag: Window,
}

#[derive(Clone, Copy)]
struct Window {
    bits: u32,
    mask: u64,
}

#[derive(Clone, Copy)]
pub(crate) struct Masked {
    key: u32,
    mask: u32,
}

#[cold]
fn fold_pieces(mut word: u64, window: Window, join: fn(u64, u64) -> u64) -> u64 {
    let mut folded = 0;
    while word != 0 && window.bits != 0 {
        folded = join(folded, word & window.mask);
        word >>= window.bits;
    }
    folded
}

impl Window {
    fn new(bits: u32) -> Self {
        Window { bits, mask: (1 << bits) - 1 }
    }

    #[inline]
    fn fold(self, word: u64) -> u64 {
        if word & !self.mask == 0 { word } else { fold_pieces(word, self, |folded, piece| folded ^ piece) }
    }

    /// The bits into which no ignored tag bit is folded.
    #[inline]
    fn compared_bits(self, ignore: u64) -> u64 {
        self.mask & !fold_pieces(ignore, self, |folded, piece| folded | piece)
    }
}

impl Windows {
    pub(super) fn new(rank_bits: u32, tag_bits: u32) -> Self {
        Windows { rank: Window::new(rank_bits), tag: Window::new(tag_bits) }
    }

    #[inline]
    fn join(&self, source: u64, tag: u64) -> u32 {
        (tag << self.rank.bits | source) as u32
    }
}

pub(crate) struct Receives {
    keys: [u32; LANES],
    /// Bits of free slots are undefined.
    wildcards: u64,
    masks: [u32; LANES],
}

impl Default for Receives {
    fn default() -> Self {
        Receives { keys: [0; LANES], wildcards: 0, masks: [0; LANES] }
    }
}

impl Keys<Receive, Windows> for Receives {
    #[inline]
    fn set(&mut self, windows: &Windows, lane: usize, receive: &Receive) {
        let Masked { key, mask } = windows.query(&receive.selector);
        self.keys[lane] = key;
        self.masks[lane] = mask;
        self.wildcards = self.wildcards & !(1 << lane) | u64::from(mask != u32::MAX) << lane;
    }
}

pub(crate) struct Messages([u32; LANES]);

impl Default for Messages {
    fn default() -> Self {
        Messages([0; LANES])
    }
}

impl Keys<Message, Windows> for Messages {
    #[inline]
    fn set(&mut self, windows: &Windows, lane: usize, message: &Message) {
        self.0[lane] = windows.key(&message.envelope);
    }
}

impl Scheme for Windows {
    type Posted = Receives;
    type Unexpected = Messages;
    type Key = u32;
    type Query = Masked;

    #[inline]
    fn key(&self, envelope: &Envelope) -> u32 {
        let (source, tag) = (self.rank.fold(envelope.source.0.into()), self.tag.fold(envelope.tag.0));
        self.join(source, tag) ^ hash_context(envelope.context)
    }

    #[inline]
    fn query(&self, selector: &Selector) -> Masked {
        let (source, source_mask) = match selector.source() {
            Wild::Is(source) => (self.rank.fold(source.0.into()), self.rank.mask),
            _ => (0, 0),
        };
        let (tag, tag_mask) = match selector.tag() {
            Wild::Is(tag) => (self.tag.fold(tag.0), self.tag.mask),
            Wild::Masked(mask) => (self.tag.fold(mask.value.0), self.tag.compared_bits(mask.ignore)),
            Wild::Any => (0, 0),
        };
        // Bits outside both windows are the same in all keys of a context.
        let uncovered = !self.join(self.rank.mask, self.tag.mask);
        let mask = self.join(source_mask, tag_mask) | uncovered;
        Masked { key: self.join(source, tag) ^ hash_context(selector.context()), mask }
    }

    #[inline(always)]
    fn matching_receives<L: Lanes>(lanes: L, posted: &Receives, &key: &u32) -> u64 {
        if posted.wildcards == 0 {
            return lanes.equal_u32(&posted.keys, key);
        }
        lanes.equal_u32_under_each(&posted.keys, &posted.masks, key)
    }

    #[inline(always)]
    fn matching_messages<L: Lanes>(lanes: L, unexpected: &Messages, query: &Masked) -> u64 {
        if query.mask == u32::MAX {
            return lanes.equal_u32(&unexpected.0, query.key);
        }
        lanes.equal_u32_under(&unexpected.0, query.mask, query.key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn value_within_window_is_unchanged() {
        let byte = Window::new(8);
        assert_eq!([0xFF, 0x1FF, 0xAB << 48].map(|word| byte.fold(word)), [0xFF, 0xFE, 0xAB]);
        assert_eq!((Window::new(0).fold(u64::MAX), Window::new(24).fold(0x7F00_0000_1000)), (0, 0x7F_1000));
    }

    #[test]
    fn folded_bit_with_ignored_bit_is_excluded() {
        let byte = Window::new(8);
        assert_eq!(
            [0, u64::MAX, 0xF000, 1 << 63].map(|ignore| byte.compared_bits(ignore)),
            [0xFF, 0, 0x0F, 0x7F]
        );
        assert_eq!(Window::new(0).compared_bits(0xFF), 0);
    }
}
