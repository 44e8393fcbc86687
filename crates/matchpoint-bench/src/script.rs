//! Calls of a workload in compact form.
//!
//! The list of calls competes with the engine for the caches, so a [`Key`] has 8 bytes, and a receive has 40. As in a
//! library, the receive is created just before the call. The [`Form`] defines the receive or message of a key.

use matchpoint::{ContextId, Envelope, Rank, Selector, Tag, TagMask, Wild};

/// Wildcard in a [`Key`].
pub const ANY: u32 = u32::MAX;

/// The context of all workloads except `contexts` and traces.
pub const WORLD: ContextId = ContextId(0);

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(C)]
pub struct Key {
    pub source: u32,
    pub tag: u32,
}

impl Key {
    pub fn new(source: usize, tag: usize) -> Self {
        Key { source: source as u32, tag: tag as u32 }
    }

    #[inline]
    pub fn selector(self) -> Selector {
        let source = if self.source == ANY { Wild::Any } else { Wild::Is(Rank(self.source)) };
        let tag = if self.tag == ANY { Wild::Any } else { Wild::Is(Tag(self.tag.into())) };
        Selector::new(WORLD, source, tag)
    }

    #[inline]
    pub fn envelope(self) -> Envelope {
        Envelope::new(WORLD, Rank(self.source), Tag(self.tag.into()))
    }
}

/// Mapping of keys to entries. A message matches the receives that its key matches.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Form {
    /// Source and tag of the key, in [`WORLD`].
    #[default]
    World,
    /// Each source is rank 0 of context 1 + *source*.
    Contexts,
    /// Rank 0. Receives ignore the tag bits of mask *source*. All masks differ, and no mask is empty.
    Masks,
}

/// Tag bits that a receive with this source ignores: bits of the lower half, which no key uses.
#[inline]
fn ignored(source: u32) -> u64 {
    u64::from(source) + 1
}

impl Form {
    // If the form is a constant, the compiler keeps one arm.
    #[inline(always)]
    pub fn selector(self, key: Key) -> Selector {
        match self {
            Form::World => key.selector(),
            Form::Contexts => {
                let context = ContextId(key.source + 1);
                Selector::new(context, Wild::Is(Rank(0)), Wild::Is(Tag(key.tag.into())))
            }
            Form::Masks => {
                let (value, ignore) = (Tag(named(key)), ignored(key.source));
                Selector::new(WORLD, Wild::Is(Rank(0)), Wild::Masked(TagMask { value, ignore }))
            }
        }
    }

    #[inline(always)]
    pub fn envelope(self, key: Key) -> Envelope {
        match self {
            Form::World => key.envelope(),
            Form::Contexts => Envelope::new(ContextId(key.source + 1), Rank(0), Tag(key.tag.into())),
            // All ignored bits are set, so an engine that ignores the mask finds no match.
            Form::Masks => Envelope::new(WORLD, Rank(0), Tag(named(key) | ignored(key.source))),
        }
    }
}

/// Source and tag in the upper half of a tag.
#[inline]
fn named(key: Key) -> u64 {
    u64::from(key.source) << 44 | u64::from(key.tag) << 32
}

/// The entry of the nth key has the id `first_id + n`. The ids of entries in a queue differ.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Keys {
    pub keys: Vec<Key>,
    pub first_id: u32,
    pub form: Form,
}

/// One engine call of a traced process. The number is the id of the receive or message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EngineCall {
    Post(u32, Selector),
    Arrive(u32, Envelope),
    Probe(Selector),
    MatchedProbe(Selector),
    Cancel(u32, Selector),
    Retract(u32, Envelope),
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Phase {
    Posts(Keys),
    Arrivals(Keys),
    Pairs(Keys),
    EngineCalls(Vec<EngineCall>),
}

impl Phase {
    pub fn posts(keys: Vec<Key>, first_id: usize) -> Self {
        Phase::Posts(Keys { keys, first_id: first_id as u32, form: Form::World })
    }

    pub fn arrivals(keys: Vec<Key>, first_id: usize) -> Self {
        Phase::Arrivals(Keys { keys, first_id: first_id as u32, form: Form::World })
    }

    pub fn pairs(keys: Vec<Key>, first_id: usize) -> Self {
        Phase::Pairs(Keys { keys, first_id: first_id as u32, form: Form::World })
    }

    pub fn calls(&self) -> usize {
        match self {
            Phase::Posts(keys) | Phase::Arrivals(keys) => keys.keys.len(),
            Phase::Pairs(keys) => 2 * keys.keys.len(),
            Phase::EngineCalls(calls) => calls.len(),
        }
    }
}

/// The calls of one process on one engine: setup, and a repeated round.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Part {
    pub setup: Vec<Phase>,
    pub round: Vec<Phase>,
    /// Receives to cancel after each round, untimed, so that the queues are as before.
    pub receives_left: Vec<(u32, Selector)>,
    /// Messages to retract after each round, untimed.
    pub messages_left: Vec<(u32, Envelope)>,
}

impl Part {
    /// A part without setup and without remaining entries.
    pub fn of(round: Vec<Phase>) -> Self {
        Part { round, ..Part::default() }
    }

    pub fn of_form(mut self, form: Form) -> Self {
        for phase in &mut self.round {
            if let Phase::Posts(keys) | Phase::Arrivals(keys) | Phase::Pairs(keys) = phase {
                keys.form = form;
            }
        }
        self
    }

    pub fn calls(&self) -> usize {
        self.round.iter().map(Phase::calls).sum()
    }

    pub fn leaves_entries(&self) -> bool {
        !self.receives_left.is_empty() || !self.messages_left.is_empty()
    }
}

/// No match, or no result.
pub const NONE: u32 = u32::MAX;

/// A workload of one size with the right results.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Script {
    pub parts: Vec<Part>,
    /// Whether the parts are the ranks of a traced job, so that each rank has an engine.
    pub is_job: bool,
    /// The result of each call of a round, an id or [`NONE`], by part.
    pub expected: Vec<Vec<u32>>,
    pub matched: usize,
}

impl Script {
    pub fn calls(&self) -> usize {
        self.parts.iter().map(Part::calls).sum()
    }
}
