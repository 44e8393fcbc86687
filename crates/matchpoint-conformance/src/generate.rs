//! Random streams of events, from a seed or a fuzzer's bytes.

use matchpoint::{
    ContextId, Envelope, Event, Hints, Message, MsgId, Rank, Receive, RecvId, Selector, Tag, TagMask, Wild,
};

use crate::choices::Choices;
use crate::issued::Issued;
use crate::relabel::Relabelling;

/// Parameters of a random stream. Weights are relative to their sum.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StreamParameters {
    pub contexts: u64,
    pub sources: u64,
    pub tags: u64,
    /// True: sources and tags use all bits. False: they count from 0.
    pub wide: bool,
    /// Percentage of receives and probes with any source.
    pub any_source_percent: u64,
    /// Percentage of receives and probes with any tag.
    pub any_tag_percent: u64,
    /// Percentage of masked tags among all other receives and probes.
    pub masked_percent: u64,
    /// Number of tag masks in use. The first six are masks of real programs, all others are random.
    pub masks: u64,
    /// Percentage of messages with an unknown source.
    pub unknown_percent: u64,
    pub posts: u64,
    pub arrivals: u64,
    pub probes: u64,
    pub withdrawals: u64,
    pub batches: u64,
    pub batch: u64,
    pub maintenance: u64,
}

/// Ignored bits: the lowest, two, all but the sign, the lower half, the upper half, all but the lowest.
const USUAL_MASKS: [u64; 6] = [1, 6, u64::MAX >> 1, u32::MAX as u64, !(u32::MAX as u64), u64::MAX ^ 1];

/// Some events of each kind. Other shapes change single fields.
const MIXED: StreamParameters = StreamParameters {
    contexts: 2,
    sources: 4,
    tags: 4,
    wide: false,
    any_source_percent: 15,
    any_tag_percent: 10,
    masked_percent: 10,
    masks: USUAL_MASKS.len() as u64,
    unknown_percent: 5,
    posts: 40,
    arrivals: 40,
    probes: 8,
    withdrawals: 8,
    batches: 2,
    batch: 4,
    maintenance: 2,
};

/// Many receives with the same selector.
const DUPLICATES: StreamParameters =
    StreamParameters { contexts: 1, tags: 2, masked_percent: 0, posts: 60, maintenance: 1, ..MIXED };

/// Shapes of [`check`](crate::check()), by name.
pub const SHAPES: &[(&str, StreamParameters)] = &[
    ("mixed", MIXED),
    ("one key", StreamParameters { contexts: 1, sources: 1, tags: 1, ..MIXED }),
    (
        "wildcards",
        StreamParameters { any_source_percent: 45, any_tag_percent: 35, masked_percent: 50, ..MIXED },
    ),
    (
        "wide numbers",
        StreamParameters { wide: true, sources: 12, tags: 12, contexts: 3, masked_percent: 30, ..MIXED },
    ),
    (
        "wildcards and duplicates",
        StreamParameters { sources: 2, any_source_percent: 30, any_tag_percent: 30, ..DUPLICATES },
    ),
    // Two sources are equal in their lower bits.
    (
        "wide numbers and duplicates",
        StreamParameters { wide: true, tags: 1, any_source_percent: 50, any_tag_percent: 0, ..DUPLICATES },
    ),
    (
        "no wildcards",
        StreamParameters { any_source_percent: 0, any_tag_percent: 0, masked_percent: 0, tags: 16, ..MIXED },
    ),
    ("many sources", StreamParameters { sources: 1000, tags: 2, any_source_percent: 5, ..MIXED }),
    ("many tags", StreamParameters { sources: 1, tags: 1000, contexts: 1, ..MIXED }),
    (
        "long posted queue",
        StreamParameters { posts: 70, arrivals: 30, tags: 64, maintenance: 0, withdrawals: 2, ..MIXED },
    ),
    (
        "long unexpected queue",
        StreamParameters { posts: 30, arrivals: 70, tags: 64, maintenance: 0, withdrawals: 2, ..MIXED },
    ),
    ("unknown sources", StreamParameters { unknown_percent: 50, withdrawals: 30, ..MIXED }),
    ("withdrawals", StreamParameters { withdrawals: 60, contexts: 1, sources: 2, tags: 2, ..MIXED }),
    ("many contexts", StreamParameters { contexts: 300, sources: 2, tags: 2, ..MIXED }),
    (
        "many masks",
        StreamParameters {
            masks: 400,
            masked_percent: 85,
            any_tag_percent: 5,
            tags: 64,
            contexts: 1,
            ..MIXED
        },
    ),
    (
        "maintenance",
        StreamParameters { maintenance: 20, batches: 10, sources: 2, tags: 2, contexts: 3, ..MIXED },
    ),
    // Some hundred messages match some hundred receives, many of them duplicates.
    (
        "large batches",
        StreamParameters { posts: 90, arrivals: 5, batches: 4, batch: 150, sources: 2, tags: 2, ..MIXED },
    ),
];

/// `events` events, or fewer if the choices run out.
pub fn stream(shape: StreamParameters, choices: Choices<'_>, events: usize) -> Vec<Event> {
    let issued = Issued::default();
    let mut generator = Generator { shape, choices, receives: 0, messages: 0, issued, probed: None };
    let mut stream = Vec::with_capacity(events.min(4096));
    while stream.len() < events && !generator.choices.is_exhausted() {
        let event = generator.event();
        stream.push(event);
    }
    stream
}

/// Decodes a fuzzer's bytes to a stream. The first byte selects the shape, the second a
/// [relabelling](Relabelling), if any. An event takes about three bytes. All bytes are valid.
pub fn decode(bytes: &[u8]) -> Vec<Event> {
    let mut choices = Choices::Bytes(bytes);
    let shape = SHAPES[choices.below(SHAPES.len() as u64) as usize].1;
    let relabel = choices.below(256);
    let mut events = stream(shape, choices, usize::MAX);
    if relabel > 0 {
        Relabelling::new(relabel).apply(&mut events);
    }
    events
}

struct Generator<'a> {
    shape: StreamParameters,
    choices: Choices<'a>,
    receives: u64,
    messages: u64,
    issued: Issued,
    probed: Option<Selector>,
}

impl Generator<'_> {
    fn event(&mut self) -> Event {
        if let Some(selector) = self.probed.take() {
            // The next event is often a call that must find the probed message.
            match self.choices.below(4) {
                0 => return Event::Post(self.receive(selector)),
                1 => return Event::MatchedProbe(selector),
                _ => {}
            }
        }
        let StreamParameters { posts, arrivals, probes, withdrawals, batches, maintenance, .. } = self.shape;
        let weights = [posts, arrivals, probes, withdrawals, batches, maintenance];
        let mut at = self.choices.below(weights.iter().sum());
        let kind = weights.iter().position(|&weight| {
            let is_selected = at < weight;
            at = at.saturating_sub(weight);
            is_selected
        });
        match kind {
            Some(0) => {
                let selector = self.selector();
                Event::Post(self.receive(selector))
            }
            Some(2) => self.probe(),
            Some(3) => self.withdrawal(),
            Some(4) => Event::ArriveBatch(
                (0..self.choices.below(self.shape.batch + 1)).map(|_| self.message()).collect(),
            ),
            Some(5) => self.maintenance(),
            _ => Event::Arrive(self.message()),
        }
    }

    fn context(&mut self) -> ContextId {
        ContextId(self.choices.below(self.shape.contexts) as u32)
    }

    fn source(&mut self) -> Rank {
        let at = self.choices.below(self.shape.sources) as u32;
        Rank(if self.shape.wide {
            [at, (1 << 30) + at, u32::MAX - 1 - at, at << 16][at as usize % 4]
        } else {
            at
        })
    }

    fn tag(&mut self) -> Tag {
        let at = self.choices.below(self.shape.tags);
        // Negative tags, as in Open MPI's collectives, are sign-extended.
        Tag(if self.shape.wide { [at, !at, at << 32, 1 << 63 | at][at as usize % 4] } else { at })
    }

    fn selector(&mut self) -> Selector {
        let source = if self.choices.chance(self.shape.any_source_percent) {
            Wild::Any
        } else {
            Wild::Is(self.source())
        };
        let tag = if self.choices.chance(self.shape.any_tag_percent) {
            Wild::Any
        } else if self.choices.chance(self.shape.masked_percent) {
            self.masked()
        } else {
            Wild::Is(self.tag())
        };
        Selector::new(self.context(), source, tag)
    }

    fn masked(&mut self) -> Wild<Tag> {
        let at = self.choices.below(self.shape.masks);
        // One bit, all bits except one, and random bits.
        let random = Choices::Seed(at).below(u64::MAX);
        let ignore = match (USUAL_MASKS.get(at as usize), at % 4) {
            (Some(&plain), _) => plain,
            (None, 0) => 1 << (random % 64),
            (None, 1) => !(1 << (random % 64)),
            (None, 2) => random,
            (None, _) => random | 0x3F,
        };
        Wild::Masked(TagMask { value: self.tag(), ignore })
    }

    /// A new id, or sometimes an earlier id, because a caller may reuse the id of a removed entry.
    fn id(&mut self, issued: u64) -> u64 {
        if issued > 0 && self.choices.below(16) == 15 { 1 + self.choices.below(issued) } else { issued + 1 }
    }

    fn receive(&mut self, selector: Selector) -> Receive {
        let id = self.id(self.receives);
        self.receives = self.receives.max(id);
        let receive = Receive::new(RecvId(id), selector);
        self.issued.note_receive(&receive);
        receive
    }

    fn message(&mut self) -> Message {
        let id = self.id(self.messages);
        self.messages = self.messages.max(id);
        let unknown = self.choices.chance(self.shape.unknown_percent);
        let source = if unknown { Rank::UNKNOWN } else { self.source() };
        let message = Message::new(MsgId(id), Envelope::new(self.context(), source, self.tag()));
        self.issued.note_message(&message);
        message
    }

    fn probe(&mut self) -> Event {
        let selector = self.selector();
        if self.choices.below(4) == 0 {
            return Event::MatchedProbe(selector);
        }
        self.probed = Some(selector);
        Event::Probe(selector)
    }

    fn withdrawal(&mut self) -> Event {
        // The range includes one id that was not issued.
        let receive = self.issued.receive(RecvId(1 + self.choices.below(self.receives + 1)));
        let message = self.issued.message(MsgId(1 + self.choices.below(self.messages + 1)));
        match self.choices.below(4) {
            0 => Event::Cancel(receive),
            1 => Event::Retract(message),
            _ => {
                let event = Event::Readdress(message, self.source());
                self.issued.note(&event);
                event
            }
        }
    }

    fn maintenance(&mut self) -> Event {
        let context = self.context();
        match self.choices.below(8) {
            0 | 1 => Event::Close(context),
            2 | 3 => Event::FailSource(context, self.source()),
            4 => Event::SetHints(context, Hints::default()),
            _ => Event::SetHints(
                context,
                Hints {
                    no_any_source: self.choices.chance(30),
                    no_any_tag: self.choices.chance(30),
                    exact_length: self.choices.chance(30),
                    allow_overtaking: self.choices.chance(30),
                    no_unexpected: self.choices.chance(30),
                },
            ),
        }
    }
}
