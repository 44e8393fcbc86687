//! What a workload does, written down: phases of posts and arrivals, in the least memory that says it.
//!
//! A [`Key`] says little by itself: the workload's [`Form`] says what a receive or a message makes of it. The list of calls competes with the engine for the caches. A [`Key`] has 8 bytes where a receive has 40, and the
//! receive is made just before the call, as a library makes it of the arguments of `MPI_Irecv`.

use matchpoint::{ContextId, Envelope, Rank, Selector, Tag, TagMask, Wild};

/// In a [`Key`]: left open.
pub const ANY: u32 = u32::MAX;

/// The one context of every workload but `contexts` and traces.
pub const WORLD: ContextId = ContextId(0);

/// Source and tag, of a message or of what a receive asks for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(C)]
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

    /// What a receive with this key asks for, where the form is [`Form::World`].
    #[inline]
    pub fn selector(self) -> Selector {
        let source = if self.source == ANY { Wild::Any } else { Wild::Is(Rank(self.source)) };
        let tag = if self.tag == ANY { Wild::Any } else { Wild::Is(Tag(self.tag.into())) };
        Selector::new(WORLD, source, tag)
    }

    /// What a message with this key says of itself, where the form is [`Form::World`].
    #[inline]
    pub fn envelope(self) -> Envelope {
        Envelope::new(WORLD, Rank(self.source), Tag(self.tag.into()))
    }
}

/// What is made of keys. In every form a message matches the receives that its key matches.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Form {
    /// Source and tag, in [`WORLD`].
    #[default]
    World,
    /// Each source is rank 0 of a context of its own: context 1 + *source*.
    Contexts,
    /// The source is rank 0; receives ignore bits of the tag, those of mask *source*: all masks differ, and none is empty.
    Masks,
}

/// The bits that a receive of source `source` ignores, of the lower half of its tag, which is nobody's name.
#[inline]
fn ignored(source: u32) -> u64 {
    u64::from(source) + 1
}

impl Form {
    /// What a receive with this key asks for.
    // Always: where the form is known, what is left is one arm.
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

    /// What a message with this key says of itself.
    #[inline(always)]
    pub fn envelope(self, key: Key) -> Envelope {
        match self {
            Form::World => key.envelope(),
            Form::Contexts => Envelope::new(ContextId(key.source + 1), Rank(0), Tag(key.tag.into())),
            // All that is ignored is set: an engine that forgets the mask finds nothing.
            Form::Masks => Envelope::new(WORLD, Rank(0), Tag(named(key) | ignored(key.source))),
        }
    }
}

/// Source and tag, in the upper half of a tag.
#[inline]
fn named(key: Key) -> u64 {
    u64::from(key.source) << 44 | u64::from(key.tag) << 32
}

/// The nth key's receive or message has the id `first_id + n`. Ids of all that is queued at once differ, among
/// receives and among messages.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Keys {
    /// In order.
    pub keys: Vec<Key>,
    /// The id of the first.
    pub first_id: u32,
    /// What is made of them.
    pub form: Form,
}

/// One call of a trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Call {
    /// A receive of this id.
    Post(u32, Selector),
    /// A message of this id.
    Arrive(u32, Envelope),
    /// `MPI_Iprobe`.
    Probe(Selector),
    /// `MPI_Improbe`.
    MatchedProbe(Selector),
    /// Of the receive of this id.
    Cancel(u32, Selector),
    /// Of the message of this id.
    Retract(u32, Envelope),
}

/// A run of calls.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Phase {
    /// A post for each key.
    Posts(Keys),
    /// An arrival for each key.
    Arrivals(Keys),
    /// A post and then an arrival for each key.
    Pairs(Keys),
    /// Whatever a trace had.
    Calls(Vec<Call>),
}

impl Phase {
    /// A post for each key.
    pub fn posts(keys: Vec<Key>, first_id: usize) -> Self {
        Phase::Posts(Keys { keys, first_id: first_id as u32, form: Form::World })
    }

    /// An arrival for each key.
    pub fn arrivals(keys: Vec<Key>, first_id: usize) -> Self {
        Phase::Arrivals(Keys { keys, first_id: first_id as u32, form: Form::World })
    }

    /// A post and then an arrival for each key.
    pub fn pairs(keys: Vec<Key>, first_id: usize) -> Self {
        Phase::Pairs(Keys { keys, first_id: first_id as u32, form: Form::World })
    }

    /// The same, its keys of another form.
    pub fn of_form(mut self, of: Form) -> Self {
        if let Phase::Posts(keys) | Phase::Arrivals(keys) | Phase::Pairs(keys) = &mut self {
            keys.form = of;
        }
        self
    }

    /// How many calls it makes.
    pub fn calls(&self) -> usize {
        match self {
            Phase::Posts(keys) | Phase::Arrivals(keys) => keys.keys.len(),
            Phase::Pairs(keys) => 2 * keys.keys.len(),
            Phase::Calls(calls) => calls.len(),
        }
    }
}

/// What one process does, with an engine of its own: what is done once beforehand, and the round that is repeated and
/// timed.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Part {
    /// Not timed.
    pub standing: Vec<Phase>,
    /// Timed, as a whole.
    pub round: Vec<Phase>,
    /// Receives to cancel after each round, not timed, so that the queues are as they were before it.
    pub receives_left: Vec<(u32, Selector)>,
    /// Messages to retract likewise.
    pub messages_left: Vec<(u32, Envelope)>,
}

impl Part {
    /// One that nothing stands before and that leaves nothing behind.
    pub fn of(round: Vec<Phase>) -> Self {
        Part { round, ..Part::default() }
    }

    /// Calls of one round.
    pub fn calls(&self) -> usize {
        self.round.iter().map(Phase::calls).sum()
    }

    /// Whether a round leaves something behind.
    pub fn leaves(&self) -> bool {
        !self.receives_left.is_empty() || !self.messages_left.is_empty()
    }
}

/// An answer: nothing found, or nothing done.
pub const NONE: u32 = u32::MAX;

/// A workload of one size, with the right answers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Script {
    /// Process by process.
    pub parts: Vec<Part>,
    /// They are all ranks of a job that a trace is of, so that an engine may be made for each of these.
    pub is_job: bool,
    /// Of each part, what each call of its round answers: an id, or [`NONE`].
    pub answers: Vec<Vec<u32>>,
    /// Messages that find their receive in one round, or receives their message.
    pub matched: usize,
}

impl Script {
    /// Calls of one round.
    pub fn calls(&self) -> usize {
        self.parts.iter().map(Part::calls).sum()
    }
}
