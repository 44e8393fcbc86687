//! Test: engines do not allocate after warm-up. A separate program, because the allocator counts the whole
//! process.

use std::alloc::System;

use cap::Cap;
use matchpoint::engines::{self, Variant};
use matchpoint::{
    ContextId, Engine, Envelope, Message, MsgId, Rank, Receive, RecvId, Selector, Tag, TagMask, Wild,
};
use matchpoint_conformance::Choices;

#[global_allocator]
static MEMORY: Cap<System> = Cap::new(System, usize::MAX);

/// Engines that still allocate. The test fails if a listed engine no longer allocates.
const KNOWN: &[&str] = &[];

/// Permitted allocating calls per million, because queues rarely still reach new maximum lengths.
const ALLOCATIONS_PER_MILLION: u64 = 50;

const WARM_UP_CALLS: u64 = 150_000;

/// Calls of an engine; the next constant is for variants.
const CALLS: u64 = 300_000;
const VARIANT_CALLS: u64 = 150_000;

const DEPTH: usize = 128;

/// Frequency of wildcards and cancels: one call in this number; 0: never.
#[derive(Clone, Copy)]
struct Pattern {
    name: &'static str,
    any_source: u64,
    any_tag: u64,
    masked: u64,
    cancelled: u64,
}

const NEVER: Pattern = Pattern { name: "", any_source: 0, any_tag: 0, masked: 0, cancelled: 0 };

const PATTERNS: &[Pattern] = &[
    Pattern { name: "no wildcards", ..NEVER },
    Pattern { name: "any source now and then", any_source: 997, ..NEVER },
    Pattern { name: "any source rarely", any_source: 20_011, ..NEVER },
    Pattern { name: "all sorts, often", any_source: 5, any_tag: 11, masked: 13, cancelled: 17 },
    Pattern { name: "all sorts, rarely", any_source: 997, any_tag: 1499, masked: 4001, cancelled: 701 },
];

/// A program: the queues of one context grow to [`DEPTH`] entries and shrink, as in applications.
struct Program {
    pattern: Pattern,
    choices: Choices<'static>,
    next: u64,
    is_growing: bool,
    /// Copy of the queues, because a query of the engine may allocate.
    posted: Vec<Receive>,
    unexpected: Vec<Message>,
}

impl Program {
    fn new(pattern: Pattern) -> Self {
        let (posted, unexpected) = (Vec::with_capacity(DEPTH), Vec::with_capacity(DEPTH));
        Program { pattern, choices: Choices::Seed(7), next: 0, is_growing: true, posted, unexpected }
    }

    fn one_in(&mut self, number: u64) -> bool {
        number > 0 && self.choices.below(number) == 0
    }

    fn receive(&mut self) -> Receive {
        let (source, tag) = (self.choices.below(7), self.choices.below(32));
        let Pattern { any_source, any_tag, masked, .. } = self.pattern;
        let source = if self.one_in(any_source) { Wild::Any } else { Wild::Is(Rank(source as u32)) };
        let tag = if self.one_in(any_tag) {
            Wild::Any
        } else if self.one_in(masked) {
            Wild::Masked(TagMask { value: Tag(tag), ignore: 3 })
        } else {
            Wild::Is(Tag(tag))
        };
        self.next += 1;
        Receive::new(RecvId(self.next), Selector::new(ContextId(0), source, tag))
    }

    fn message(&mut self) -> Message {
        let (source, tag) = (self.choices.below(7), self.choices.below(32));
        self.next += 1;
        Message::new(MsgId(self.next), Envelope::new(ContextId(0), Rank(source as u32), Tag(tag)))
    }

    fn post(&mut self, engine: &mut dyn Engine, receive: Receive) {
        match engine.post(receive).expect("the table is not full") {
            Some(id) => self.unexpected.retain(|message| message.id != id),
            None => self.posted.push(receive),
        }
    }

    fn arrive(&mut self, engine: &mut dyn Engine, message: Message) {
        match engine.arrive_message(message).expect("the table is not full") {
            Some(id) => self.posted.retain(|receive| receive.id != id),
            None => self.unexpected.push(message),
        }
    }

    fn step(&mut self, engine: &mut dyn Engine) {
        let waiting = self.posted.len() + self.unexpected.len();
        self.is_growing = if waiting >= DEPTH { false } else { self.is_growing || waiting < 8 };
        if self.one_in(self.pattern.cancelled) {
            self.withdraw(engine);
        } else if !self.is_growing {
            self.match_oldest(engine);
        } else if self.choices.below(2) == 0 {
            let receive = self.receive();
            self.post(engine, receive);
        } else {
            let message = self.message();
            self.arrive(engine, message);
        }
    }

    fn withdraw(&mut self, engine: &mut dyn Engine) {
        let [posted, unexpected] = [self.posted.len(), self.unexpected.len()]
            .map(|length| self.choices.below(length as u64 + 1) as usize);
        if posted < self.posted.len() {
            assert!(engine.cancel(&self.posted.swap_remove(posted)));
        }
        if unexpected < self.unexpected.len() {
            assert!(engine.retract(&self.unexpected.swap_remove(unexpected)));
        }
    }

    fn match_oldest(&mut self, engine: &mut dyn Engine) {
        self.next += 1;
        if let Some(receive) = self.posted.first() {
            let source = if let Wild::Is(source) = receive.selector.source() { source } else { Rank(3) };
            let tag = match receive.selector.tag() {
                Wild::Is(tag) => tag,
                Wild::Masked(mask) => mask.value,
                Wild::Any => Tag(1),
            };
            let envelope = Envelope::new(ContextId(0), source, tag);
            self.arrive(engine, Message::new(MsgId(self.next), envelope));
        } else if let Some(message) = self.unexpected.first() {
            let selector = Selector::exactly(&message.envelope);
            self.post(engine, Receive::new(RecvId(self.next), selector));
        }
    }
}

fn count_allocating_calls(name: &str, pattern: Pattern, calls: u64) -> u64 {
    let mut engine = engines::create(name).unwrap_or_else(|error| panic!("{error}"));
    let mut program = Program::new(pattern);
    (0..WARM_UP_CALLS).for_each(|_| program.step(&mut *engine));
    // Both counters, because a reallocation may change only one.
    let counts = || (MEMORY.total_allocated(), MEMORY.allocated());
    let allocates = |_: &u64| {
        let before = counts();
        program.step(&mut *engine);
        counts() != before
    };
    (0..calls).filter(allocates).count() as u64
}

fn main() {
    let mut wrong = Vec::new();
    for Variant { name, .. } in engines::variants().filter(|variant| !variant.is_tight) {
        let calls = if name.contains(':') { VARIANT_CALLS } else { CALLS };
        let known = KNOWN.contains(&name.as_str());
        let mut is_fixed = known;
        for &pattern in PATTERNS {
            let allocating = count_allocating_calls(&name, pattern, calls);
            let many = allocating * 1_000_000 > ALLOCATIONS_PER_MILLION * calls;
            is_fixed &= !many;
            let text = format!("{name}, {}: {allocating} of {calls} calls allocate", pattern.name);
            match (many, known) {
                (true, false) => wrong.push(text),
                (true, true) => println!("known: {text}"),
                _ => {}
            }
        }
        if is_fixed {
            wrong.push(format!("{name} no longer allocates: remove the engine from KNOWN"));
        }
    }
    assert!(wrong.is_empty(), "calls allocate after warm-up:\n{}", wrong.join("\n"));
    println!("test result: ok. 1 passed; 0 failed; 0 ignored; no engine allocates after warm-up");
}
