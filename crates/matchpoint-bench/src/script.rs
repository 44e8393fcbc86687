//! What a workload does, written down: phases of posts and arrivals, in the least memory that says it.
//!
//! The list of calls competes with the engine for the caches. A [`Key`] has 8 bytes where a receive has 40, and the
//! receive is made just before the call, as a library makes it of the arguments of `MPI_Irecv`.

use matchpoint::{ContextId, Envelope, Rank, Selector, Tag, Wild};

/// In a [`Key`]: left open.
pub const ANY: u32 = u32::MAX;

/// The one context of every workload but traces.
pub const WORLD: ContextId = ContextId(0);

/// Source and tag, of a message or of what a receive asks for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Key {
    /// A rank, or [`ANY`].
    pub source: u32,
    /// A tag, or [`ANY`].
    pub tag: u32,
}

impl Key {
    /// Of its two fields.
    pub fn new(source: usize, tag: usize) -> Self {
        Key { source: source as u32, tag: tag as u32 }
    }

    /// What a receive with this key asks for.
    #[inline]
    pub fn selector(self) -> Selector {
        let source = if self.source == ANY { Wild::Any } else { Wild::Is(Rank(self.source.into())) };
        let tag = if self.tag == ANY { Wild::Any } else { Wild::Is(Tag(self.tag.into())) };
        Selector::new(WORLD, source, tag)
    }

    /// What a message with this key says of itself.
    #[inline]
    pub fn envelope(self) -> Envelope {
        Envelope::new(WORLD, Rank(self.source.into()), Tag(self.tag.into()))
    }
}

/// Calls of one kind, one after another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A post for each key.
    Posts,
    /// An arrival for each key.
    Arrivals,
    /// A post and then an arrival for each key.
    Pairs,
}

/// A run of calls. The receive or message made of the nth key of a phase has the id `first_id + n`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Phase {
    /// What is called.
    pub kind: Kind,
    /// With what, in order.
    pub keys: Vec<Key>,
    /// Ids of all that is queued at once differ, among receives and among messages.
    pub first_id: u32,
}

impl Phase {
    /// A phase of its three parts.
    pub fn new(kind: Kind, keys: Vec<Key>, first_id: usize) -> Self {
        Phase { kind, keys, first_id: first_id as u32 }
    }

    /// How many calls it makes.
    pub fn calls(&self) -> usize {
        self.keys.len() * if self.kind == Kind::Pairs { 2 } else { 1 }
    }
}

/// A workload of one size: what is done once beforehand, and the round that is repeated and timed. A round leaves the
/// queues as it found them.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Script {
    /// Not timed.
    pub standing: Vec<Phase>,
    /// Timed, as a whole.
    pub round: Vec<Phase>,
}

impl Script {
    /// Messages that find their receive in one round: each is one post and one arrival.
    pub fn matched(&self) -> usize {
        self.calls() / 2
    }

    /// Calls of one round.
    pub fn calls(&self) -> usize {
        self.round.iter().map(Phase::calls).sum()
    }
}
