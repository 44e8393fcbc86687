//! Keys of 32 bits in which source and tag keep bits of their own.

use super::super::vector::spread;
use crate::blocks::Keys;
use crate::engine::Receive;
use crate::envelope::{Envelope, Selector, Wild};
use crate::scan::{LANES, Lanes};
use crate::scanning::{Scheme, Waiting};

/// `((tag & tag_window) << rank_window_size) | (rank & rank_window)`, as the paper has it; the context is spread over
/// the key by exclusive or.
#[derive(Clone, Copy)]
pub(crate) struct Windows {
    rank_bits: u32,
    rank: u32,
    tag: u32,
}

/// A key, and the bits of it that count.
#[derive(Clone, Copy)]
pub(crate) struct Masked {
    key: u32,
    mask: u32,
}

fn window(bits: u32) -> u32 {
    ((1u64 << bits) - 1) as u32
}

impl Windows {
    /// Of so many bits each, not more than 32 together.
    pub(super) fn new(rank_bits: u32, tag_bits: u32) -> Self {
        Windows { rank_bits, rank: window(rank_bits), tag: window(tag_bits) }
    }

    #[inline]
    fn join(&self, source: u32, tag: u32) -> u32 {
        (u64::from(tag & self.tag) << self.rank_bits) as u32 | source & self.rank
    }
}

/// The keys of 64 receives.
pub(crate) struct Receives {
    keys: [u32; LANES],
    /// Where a mask is not all ones. May be left set for a hole.
    open: u64,
    masks: [u32; LANES],
}

impl Default for Receives {
    fn default() -> Self {
        Receives { keys: [0; LANES], open: 0, masks: [0; LANES] }
    }
}

impl Keys<Receive, Windows> for Receives {
    #[inline]
    fn set(&mut self, windows: &Windows, lane: usize, receive: &Receive) {
        let Masked { key, mask } = windows.query(&receive.selector);
        self.keys[lane] = key;
        self.masks[lane] = mask;
        self.open = self.open & !(1 << lane) | u64::from(mask != u32::MAX) << lane;
    }
}

/// The keys of 64 messages.
pub(crate) struct Messages([u32; LANES]);

impl Default for Messages {
    fn default() -> Self {
        Messages([0; LANES])
    }
}

impl Keys<Waiting, Windows> for Messages {
    #[inline]
    fn set(&mut self, windows: &Windows, lane: usize, waiting: &Waiting) {
        self.0[lane] = windows.key(&waiting.envelope);
    }
}

impl Scheme for Windows {
    type Posted = Receives;
    type Unexpected = Messages;
    type Key = u32;
    type Query = Masked;

    #[inline]
    fn key(&self, envelope: &Envelope) -> u32 {
        self.join(envelope.source.0 as u32, envelope.tag.0 as u32) ^ spread(envelope.context)
    }

    #[inline]
    fn query(&self, selector: &Selector) -> Masked {
        let (source, source_mask) = match selector.source() {
            Wild::Is(source) => (source.0 as u32, u32::MAX),
            _ => (0, 0),
        };
        let (tag, tag_mask) = match selector.tag() {
            Wild::Is(tag) => (tag.0 as u32, u32::MAX),
            Wild::Masked(mask) => (mask.value.0 as u32, !mask.ignore as u32),
            Wild::Any => (0, 0),
        };
        // What no window covers counts as well: it is the same in every key of a context.
        let uncovered = !self.join(u32::MAX, u32::MAX);
        let mask = self.join(source_mask, tag_mask) | uncovered;
        Masked { key: self.join(source, tag) ^ spread(selector.context()), mask }
    }

    #[inline(always)]
    fn accepting<L: Lanes>(lanes: L, posted: &Receives, &key: &u32) -> u64 {
        if posted.open == 0 {
            return lanes.equal_32(&posted.keys, key);
        }
        lanes.equal_32_under_each(&posted.keys, &posted.masks, key)
    }

    #[inline(always)]
    fn accepted<L: Lanes>(lanes: L, unexpected: &Messages, query: &Masked) -> u64 {
        if query.mask == u32::MAX {
            return lanes.equal_32(&unexpected.0, query.key);
        }
        lanes.equal_32_under(&unexpected.0, query.mask, query.key)
    }
}
