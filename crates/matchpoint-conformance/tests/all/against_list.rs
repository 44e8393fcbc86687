//! Random calls, with batches, of an engine and of `list`.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Mutex;

use matchpoint::{
    ContextId, Drained, Engine, Entry, Envelope, Event, Hints, Message, MsgId, Outcome, Queue, Rank, Receive,
    RecvId, Selector, Tag, TagMask, Wild, engines, event::script,
};
use matchpoint_conformance::{Choices, Issued};

pub fn engine(name: &str) -> Box<dyn Engine> {
    engines::create(name).unwrap_or_else(|error| panic!("{error}"))
}

pub fn statistic(engine: &dyn Engine, name: &str) -> f64 {
    let all = engine.statistics();
    all.iter().find(|(of, _)| *of == name).unwrap_or_else(|| panic!("{name} is not among {all:?}")).1
}

/// Oldest first.
pub fn queued(engine: &dyn Engine) -> Vec<u64> {
    let mut ids = Vec::new();
    for queue in [Queue::Posted, Queue::Unexpected] {
        engine.visit(queue, &mut |entry| {
            ids.push(match entry {
                Entry::Receive(receive) => receive.id.0,
                Entry::Message(message) => message.id.0,
            });
        });
    }
    ids
}

pub fn play(engine: &mut dyn Engine, text: &str) -> Vec<Outcome> {
    script::parse(text).unwrap().iter().map(|event| event.play(engine)).collect()
}

fn one<A: Copy>(choices: &mut Choices<'_>, of: &[A]) -> A {
    of[choices.below(of.len() as u64) as usize]
}

struct BatchStreamParameters {
    contexts: u64,
    keys: u64,
    tags: u64,
    any_source_percent: u64,
    any_tag_percent: u64,
    masked_percent: u64,
    /// Maximum length of runs of duplicate receives and messages.
    receives_alike: u64,
    messages_alike: u64,
    /// Messages of a batch.
    batch: u64,
    /// Queued entries after which the communicators are closed.
    queued: usize,
}

impl BatchStreamParameters {
    /// Batches have up to one of `batches` messages.
    fn draw(choices: &mut Choices<'_>, batches: &[u64]) -> Self {
        BatchStreamParameters {
            contexts: one(choices, &[1, 1, 1, 2, 3]),
            keys: one(choices, &[1, 2, 3, 5, 40]),
            tags: one(choices, &[1, 2, 3, 40]),
            any_source_percent: one(choices, &[0, 3, 20, 50, 90]),
            any_tag_percent: one(choices, &[0, 3, 20, 50]),
            masked_percent: one(choices, &[0, 10, 50]),
            receives_alike: one(choices, &[1, 3, 9, 60]),
            messages_alike: one(choices, &[1, 2, 10, 200]),
            batch: one(choices, batches),
            queued: 2 * batches.iter().max().map_or(0, |&most| most as usize),
        }
    }
}

/// An engine and `list` with the same calls. The results must be the same.
pub struct EngineAndList {
    pub ours: Box<dyn Engine>,
    right: Box<dyn Engine>,
    choices: Choices<'static>,
    sort: BatchStreamParameters,
    issued: Issued,
    next: u64,
}

impl EngineAndList {
    /// Plays rounds of posts, other calls and batches of at most one of `batches` messages.
    pub fn played(name: &str, seed: u64, rounds: u32, batches: &[u64]) -> Self {
        let mut choices = Choices::Seed(seed);
        let sort = BatchStreamParameters::draw(&mut choices, batches);
        let (ours, right) = (engine(name), engine("list"));
        let mut two = EngineAndList { ours, right, choices, sort, issued: Issued::default(), next: 0 };
        let play = AssertUnwindSafe(|| (0..rounds).for_each(|_| two.round()));
        if let Err(panic) = catch_unwind(play) {
            eprintln!("{name}, seed {seed}");
            resume_unwind(panic);
        }
        two
    }

    fn same<A: PartialEq + std::fmt::Debug>(&mut self, what: &str, call: impl Fn(&mut dyn Engine) -> A) -> A {
        let (ours, right) = (call(&mut *self.ours), call(&mut *self.right));
        assert_eq!(ours, right, "{what}");
        ours
    }

    fn id(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    fn earlier_id(&mut self) -> u64 {
        1 + self.choices.below(self.next.max(1))
    }

    fn context(&mut self) -> ContextId {
        ContextId(self.choices.below(self.sort.contexts) as u32)
    }

    fn source(&mut self) -> Rank {
        Rank(self.choices.below(self.sort.keys) as u32)
    }

    fn selector(&mut self) -> Selector {
        let (source, tag) = (self.source(), self.choices.below(self.sort.tags));
        let is_any = self.choices.chance(self.sort.any_source_percent);
        let source = if is_any { Wild::Any } else { Wild::Is(source) };
        let tag = if self.choices.chance(self.sort.any_tag_percent) {
            Wild::Any
        } else if self.choices.chance(self.sort.masked_percent) {
            let ignore = one(&mut self.choices, &[1, 3, 0x10, u64::MAX]);
            Wild::Masked(TagMask { value: Tag(tag & !ignore), ignore })
        } else {
            Wild::Is(Tag(tag))
        };
        Selector::new(self.context(), source, tag)
    }

    fn post_some(&mut self) {
        let about = self.choices.below(2 * self.sort.batch + 4);
        let mut posted = 0;
        while posted < about {
            let selector = self.selector();
            for _ in 0..=self.choices.below(self.sort.receives_alike) {
                let receive = Receive::new(RecvId(self.id()), selector);
                self.issued.note(&Event::Post(receive));
                self.same("post", |engine| engine.post(receive)).ok();
                posted += 1;
            }
        }
    }

    fn call_something_else(&mut self) {
        match self.choices.below(6) {
            0 => {
                let id = RecvId(self.earlier_id());
                let receive = self.issued.receive(id);
                self.same("cancel", |engine| engine.cancel(&receive));
            }
            1 => {
                let id = MsgId(self.earlier_id());
                let message = self.issued.message(id);
                self.same("retract", |engine| engine.retract(&message));
            }
            2 => {
                let any = Selector::new(self.context(), Wild::Any, Wild::Any);
                self.same("matched_probe", |engine| engine.matched_probe(&any));
            }
            3 => {
                let context = self.context();
                let hints = Hints {
                    no_any_source: self.choices.chance(30),
                    no_any_tag: self.choices.chance(30),
                    no_unexpected: self.choices.chance(40),
                    ..Hints::default()
                };
                self.same("set_hints", |engine| engine.set_hints(context, hints)).ok();
            }
            4 => {
                let (id, source) = (MsgId(self.earlier_id()), self.source());
                let message = self.issued.message(id);
                let _ = self.same("readdress", |engine| engine.readdress(&message, source));
                self.issued.note(&Event::Readdress(message, source));
            }
            _ => {
                let (context, source) = (self.context(), self.source());
                if self.choices.chance(20) {
                    self.drained("fail_source", |engine, drained| {
                        engine.fail_source(context, source, drained)
                    });
                }
            }
        }
    }

    fn drained(&mut self, what: &str, call: impl Fn(&mut dyn Engine, &mut Drained)) {
        self.same(what, |engine| {
            let mut drained = Drained::default();
            call(engine, &mut drained);
            format!("{drained:?}")
        });
    }

    /// Most use one communicator.
    fn messages(&mut self) -> Vec<Message> {
        let count = 2 + self.choices.below(self.sort.batch - 1) as usize;
        let (stays, mut context) = (self.choices.chance(70), self.context());
        let mut messages = Vec::new();
        while messages.len() < count {
            if !stays || self.choices.chance(3) {
                context = self.context();
            }
            let source = if self.choices.chance(2) { Rank::UNKNOWN } else { self.source() };
            let envelope = Envelope::new(context, source, Tag(self.choices.below(self.sort.tags)));
            for _ in 0..=self.choices.below(self.sort.messages_alike) {
                messages.push(Message::new(MsgId(self.id()), envelope));
            }
        }
        messages.truncate(count);
        self.issued.note(&Event::ArriveBatch(messages.clone()));
        messages
    }

    fn batch(&mut self) {
        let messages = self.messages();
        let (mut out, mut expected) = (Vec::new(), Vec::new());
        let right = self.right.arrive_batch(&messages, &mut expected);
        let ours = if self.choices.chance(40) {
            self.ours.arrive_batch(&messages, &mut out)
        } else {
            let delivered = Mutex::new(Vec::new());
            let deliver = |number, receive| delivered.lock().unwrap().push((number, receive));
            let ours = self.ours.deliver_batch(&messages, &mut out, &deliver);
            let mut delivered = delivered.into_inner().unwrap();
            delivered.sort_unstable();
            let matched = (0..).zip(&expected).filter_map(|(number, found)| Some((number, (*found)?)));
            assert_eq!(delivered, matched.collect::<Vec<_>>(), "deliveries of a batch");
            ours
        };
        assert_eq!((ours, out), (right, expected), "a batch");
    }

    fn round(&mut self) {
        self.post_some();
        for _ in 0..self.choices.below(6) {
            self.call_something_else();
        }
        self.batch();
        assert_eq!(waiting(&*self.ours), waiting(&*self.right), "queues");
        if self.same("lengths", |engine| engine.posted_len() + engine.unexpected_len()) > self.sort.queued {
            for context in 0..self.sort.contexts as u32 {
                self.drained("close", |engine, drained| engine.close(ContextId(context), drained));
            }
        }
    }
}

/// Oldest first, with the sources of messages.
fn waiting(engine: &dyn Engine) -> Vec<(Queue, u64, Option<Rank>)> {
    let mut all = Vec::new();
    for queue in [Queue::Posted, Queue::Unexpected] {
        engine.visit(queue, &mut |entry| {
            all.push(match entry {
                Entry::Receive(receive) => (queue, receive.id.0, None),
                Entry::Message(message) => (queue, message.id.0, Some(message.envelope.source)),
            });
        });
    }
    all
}
