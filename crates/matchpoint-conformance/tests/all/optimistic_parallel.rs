//! Tests of `optimistic_parallel`: batches matched by several threads, compared with `list`.

use std::hint::black_box;
use std::panic::{AssertUnwindSafe, catch_unwind, panic_any, resume_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use matchpoint::{
    ContextId, Drained, Engine, Entry, Envelope, Event, Hints, Message, MsgId, Outcome, Queue, Rank, Receive,
    RecvId, Refused, Selector, Tag, TagMask, Wild, engines, event::script,
};
use matchpoint_conformance::{Choices, Issued, Options, check};

use crate::laws::streams;

fn engine(name: &str) -> Box<dyn Engine> {
    engines::create(name).unwrap_or_else(|error| panic!("{error}"))
}

/// Engines with more threads than messages in a block, with fewer, and with the calling thread only.
const NAMES: [&str; 10] = [
    "optimistic_parallel:capacity=0,threads=1",
    "optimistic_parallel:capacity=0,threads=2",
    "optimistic_parallel:capacity=0,threads=4",
    "optimistic_parallel:capacity=0,threads=4,block=7,bins=1",
    "optimistic_parallel:capacity=0,threads=3,block=2,bins=5",
    "optimistic_parallel:capacity=0,threads=8,block=5",
    "optimistic_parallel:capacity=0,threads=3,bins=300,by=shares",
    "optimistic_parallel:capacity=0,threads=8,bins=5,by=shares",
    "optimistic_parallel:capacity=0,threads=3,by=order",
    "optimistic_parallel:capacity=0,threads=3,by=optimism",
];

fn statistic(engine: &dyn Engine, name: &str) -> f64 {
    let all = engine.statistics();
    all.iter().find(|(key, _)| *key == name).unwrap_or_else(|| panic!("{name} is not among {all:?}")).1
}

/// Ids of both queues, oldest first.
fn queued(engine: &dyn Engine) -> Vec<u64> {
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

fn play(engine: &mut dyn Engine, text: &str) -> Vec<Outcome> {
    script::parse(text).unwrap().iter().map(|event| event.play(engine)).collect()
}

#[test]
fn laws_hold_with_any_thread_count() {
    let streams = streams(15, 40);
    for name in NAMES {
        let report = check(&|| engine(name), &Options { streams, ..Options::quick() });
        report.unwrap_or_else(|violation| panic!("{name}\n{violation}"));
    }
}

/// Parameters of random receives and messages. Few keys cause many conflicts.
struct Load {
    contexts: u64,
    keys: u64,
    any_source_percent: u64,
    any_tag_percent: u64,
    masked_percent: u64,
    /// Maximum length of a run of duplicate receives.
    run: u64,
}

const LOADS: [Load; 9] = [
    Load { contexts: 2, keys: 1, any_source_percent: 0, any_tag_percent: 0, masked_percent: 0, run: 1 },
    Load { contexts: 2, keys: 2, any_source_percent: 0, any_tag_percent: 0, masked_percent: 0, run: 9 },
    Load { contexts: 2, keys: 2, any_source_percent: 50, any_tag_percent: 0, masked_percent: 0, run: 4 },
    Load { contexts: 2, keys: 3, any_source_percent: 20, any_tag_percent: 20, masked_percent: 20, run: 3 },
    Load { contexts: 2, keys: 2, any_source_percent: 10, any_tag_percent: 40, masked_percent: 0, run: 30 },
    Load { contexts: 2, keys: 40, any_source_percent: 3, any_tag_percent: 3, masked_percent: 0, run: 2 },
    // Without wildcards, bins are partitioned.
    Load { contexts: 1, keys: 20, any_source_percent: 0, any_tag_percent: 0, masked_percent: 0, run: 1 },
    Load { contexts: 1, keys: 4, any_source_percent: 0, any_tag_percent: 0, masked_percent: 0, run: 5 },
    Load { contexts: 1, keys: 1, any_source_percent: 0, any_tag_percent: 0, masked_percent: 0, run: 50 },
];

struct Stream<'a> {
    load: &'a Load,
    choices: Choices<'static>,
    next: u64,
}

impl Stream<'_> {
    fn id(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    fn selector(&mut self) -> Selector {
        let (source, tag) = (self.choices.below(self.load.keys), self.choices.below(self.load.keys));
        let source = if self.choices.chance(self.load.any_source_percent) {
            Wild::Any
        } else {
            Wild::Is(Rank(source as u32))
        };
        let tag = if self.choices.chance(self.load.any_tag_percent) {
            Wild::Any
        } else if self.choices.chance(self.load.masked_percent) {
            Wild::Masked(TagMask { value: Tag(tag), ignore: 1 })
        } else {
            Wild::Is(Tag(tag))
        };
        Selector::new(ContextId(self.choices.below(self.load.contexts) as u32), source, tag)
    }

    /// At least `about` receives, in runs.
    fn receives(&mut self, about: u64) -> Vec<Receive> {
        let mut all = Vec::new();
        while (all.len() as u64) < about {
            let selector = self.selector();
            let length = 1 + self.choices.below(self.load.run);
            all.extend((0..length).map(|_| Receive::new(RecvId(self.id()), selector)));
        }
        all
    }

    fn messages(&mut self, count: u64) -> Vec<Message> {
        let message = |_| {
            let (source, tag) = (self.choices.below(self.load.keys), self.choices.below(self.load.keys));
            let source = if self.choices.chance(3) { Rank::UNKNOWN } else { Rank(source as u32) };
            let envelope =
                Envelope::new(ContextId(self.choices.below(self.load.contexts) as u32), source, Tag(tag));
            Message::new(MsgId(self.id()), envelope)
        };
        (0..count).map(message).collect()
    }
}

#[test]
fn conflicting_batches_match_like_single_messages() {
    let rounds = if cfg!(miri) { 3 } else { 300 };
    for name in NAMES {
        for (seed, load) in (0..).zip(&LOADS) {
            let (mut tested, mut list) = (engine(name), engine("list"));
            let mut stream = Stream { load, choices: Choices::Seed(seed), next: 0 };
            for round in 0..rounds {
                let about = stream.choices.below(200);
                for receive in stream.receives(about) {
                    assert_eq!(
                        tested.post(receive),
                        list.post(receive),
                        "{name}, load {seed}, round {round}"
                    );
                }
                let count = stream.choices.below(200);
                let messages = stream.messages(count);
                let (mut out, mut expected) = (Vec::new(), Vec::new());
                list.arrive_batch(&messages, &mut expected).unwrap();
                if round % 2 == 0 {
                    tested.arrive_batch(&messages, &mut out).unwrap();
                } else {
                    let delivered = Mutex::new(Vec::new());
                    let deliver = |number, receive| delivered.lock().unwrap().push((number, receive));
                    tested.deliver_batch(&messages, &mut out, &deliver).unwrap();
                    let mut delivered = delivered.into_inner().unwrap();
                    delivered.sort_unstable();
                    let matched =
                        (0..).zip(&expected).filter_map(|(number, found)| Some((number, (*found)?)));
                    assert_eq!(delivered, matched.collect::<Vec<_>>(), "{name}, load {seed}, round {round}");
                }
                assert_eq!(out, expected, "{name}, load {seed}, round {round}");
                assert_eq!(queued(&*tested), queued(&*list), "{name}, load {seed}, round {round}");
                if queued(&*tested).len() > 1000 {
                    for engine in [&mut tested, &mut list] {
                        (0..2).for_each(|context| engine.close(ContextId(context), &mut Drained::default()));
                    }
                }
            }
            let reported = |name| statistic(&*tested, name) > 0.0;
            let is_shared = load.contexts == 1 && !name.contains("by=o") && load.keys > 1;
            let threads = statistic(&*tested, "threads");
            assert!(
                threads == 1.0 || reported(if is_shared { "shared" } else { "jobs" }),
                "{name}, load {seed}"
            );
        }
    }
}

#[test]
fn refused_message_takes_no_receive() {
    for name in NAMES {
        let mut engine = engine(name);
        let outcomes = play(
            &mut *engine,
            "set_hints 0 no_unexpected
             post r1 0/1/1 \n post r2 0/1/1 \n post r3 0/1/1
             arrive_batch m1=0/1/1 m2=0/2/2 m3=0/1/1
             arrive_batch m4=0/1/1 m5=0/1/1",
        );
        let batches = [
            Outcome::ArrivedBatch(vec![Some(RecvId(1))], Err(Refused::Hint)),
            Outcome::ArrivedBatch(vec![Some(RecvId(2)), Some(RecvId(3))], Ok(())),
        ];
        assert_eq!(outcomes[4..], batches, "{name}");
    }
}

#[test]
fn statistics_count_paths_of_messages() {
    for _ in 0..if cfg!(miri) { 1 } else { 50 } {
        let mut engine = engine("optimistic_parallel:threads=3,by=optimism");
        // Of five duplicate messages, two take the run, one the receive after the run, one a later receive,
        // and one is unexpected.
        play(
            &mut *engine,
            "post r1 0/1/1 \n post r2 0/1/1 \n post r3 0/*/1 \n post r4 0/1/1 \n post r5 0/*/9
             arrive_batch m1=0/1/1 m2=0/1/1 m3=0/1/1 m4=0/1/1 m5=0/1/1 m6=0/5/5 m7=0/3/9",
        );
        let reported = ["blocks", "blocks_no_conflict", "blocks_fast_path", "blocks_slow_path"];
        assert_eq!(reported.map(|name| statistic(&*engine, name)), [1.0, 2.0, 1.0, 3.0]);
        assert_eq!(statistic(&*engine, "blocks_no_candidate"), 1.0);
        assert_eq!(queued(&*engine), [5, 6]);
    }
}

#[test]
fn panic_in_delivery_loses_no_match() {
    for name in NAMES {
        let (mut tested, mut list) = (engine(name), engine("list"));
        let posts = (0..100).map(|number| {
            let selector =
                Selector::new(ContextId(0), Wild::Is(Rank(number % 10)), Wild::Is(Tag((number % 7).into())));
            Receive::new(RecvId(number.into()), selector)
        });
        posts
            .for_each(|receive| assert_eq!((tested.post(receive), list.post(receive)), (Ok(None), Ok(None))));
        let messages: Vec<Message> = (0..60)
            .map(|number| {
                Message::new(
                    MsgId(number),
                    Envelope::new(ContextId(0), Rank((number % 10) as u32), Tag(number % 7)),
                )
            })
            .collect();
        let (mut out, mut expected) = (Vec::new(), Vec::new());
        list.arrive_batch(&messages, &mut expected).unwrap();
        let fails = |number: usize, _| assert_ne!(number, 33, "the delivery of message 33 panics");
        let call = std::panic::AssertUnwindSafe(|| tested.deliver_batch(&messages, &mut out, &fails));
        assert!(std::panic::catch_unwind(call).is_err(), "{name}: the panic is reported");
        assert_eq!((&out, queued(&*tested)), (&expected, queued(&*list)), "{name}");
    }
}

fn matching_pairs(count: u64) -> (Vec<Receive>, Vec<Message>) {
    let envelope = |at: u64| Envelope::new(ContextId(0), Rank((at % 50) as u32), Tag(at));
    let receives = (0..count).map(|at| Receive::new(RecvId(at), Selector::exactly(&envelope(at))));
    (receives.collect(), (0..count).map(|at| Message::new(MsgId(at), envelope(at))).collect())
}

fn post_all(engine: &mut dyn Engine, receives: &[Receive]) {
    receives.iter().for_each(|&receive| assert_eq!(engine.post(receive), Ok(None)));
}

#[test]
fn delivery_threads_have_default_stack() {
    let mut engine = engine("optimistic_parallel:threads=2,by=order");
    let (receives, messages) = matching_pairs(8);
    let caller = thread::current().id();
    let has_helped = AtomicBool::new(false);
    // 200 KiB: a tenth of a thread's standard stack size.
    let deliver = |number: usize, _| {
        black_box([number as u8; 200 << 10]);
        if thread::current().id() == caller {
            // Gives the workers time to start.
            thread::sleep(Duration::from_millis(1));
        } else {
            assert_eq!(thread::current().name(), Some("matchpoint-worker"));
            has_helped.store(true, Ordering::Relaxed);
        }
    };
    for _ in 0..if cfg!(miri) { 3 } else { 1000 } {
        post_all(&mut *engine, &receives);
        engine.deliver_batch(&messages, &mut Vec::new(), &deliver).unwrap();
        if has_helped.load(Ordering::Relaxed) {
            return;
        }
    }
    assert!(cfg!(miri) || has_helped.load(Ordering::Relaxed), "no worker delivered a message");
}

struct Bomb(usize);

impl Drop for Bomb {
    fn drop(&mut self) {
        if !thread::panicking() {
            panic!("the panic value of delivery {} was dropped", self.0);
        }
    }
}

#[test]
fn first_panic_of_deliveries_is_reported() {
    let (receives, messages) = matching_pairs(60);
    for name in NAMES {
        let mut engine = engine(name);
        post_all(&mut *engine, &receives);
        let (mut out, delivered) = (Vec::new(), Mutex::new(Vec::new()));
        let deliver = |number: usize, _| {
            delivered.lock().unwrap().push(number);
            panic_any(Bomb(number));
        };
        let call = AssertUnwindSafe(|| engine.deliver_batch(&messages, &mut out, &deliver));
        let reported = catch_unwind(call)
            .expect_err("the panic is reported")
            .downcast::<Bomb>()
            .expect("the value of the panic");
        let number = reported.0;
        std::mem::forget(reported);
        assert!(out.iter().all(Option::is_some) && out.len() == 60 && engine.posted_len() == 0, "{name}");
        let mut delivered = delivered.into_inner().unwrap();
        if name.contains("threads=1") {
            assert_eq!((number, delivered[0]), (0, 0), "{name}");
        }
        delivered.sort_unstable();
        assert!(delivered.into_iter().eq(0..60), "{name}: not all messages are delivered");
    }
}

fn choose<A: Copy>(choices: &mut Choices<'_>, values: &[A]) -> A {
    values[choices.below(values.len() as u64) as usize]
}

struct BatchStreamParameters {
    contexts: u64,
    keys: u64,
    tags: u64,
    any_source_percent: u64,
    any_tag_percent: u64,
    masked_percent: u64,
    /// Maximum length of runs of duplicate receives; the next field is of messages.
    receive_run_max: u64,
    message_run_max: u64,
    batch: u64,
}

impl BatchStreamParameters {
    fn draw(choices: &mut Choices<'_>) -> Self {
        BatchStreamParameters {
            contexts: choose(choices, &[1, 1, 1, 2, 3]),
            keys: choose(choices, &[1, 2, 3, 5, 40]),
            tags: choose(choices, &[1, 2, 3, 40]),
            any_source_percent: choose(choices, &[0, 3, 20, 50, 90]),
            any_tag_percent: choose(choices, &[0, 3, 20, 50]),
            masked_percent: choose(choices, &[0, 10, 50]),
            receive_run_max: choose(choices, &[1, 3, 9, 60]),
            message_run_max: choose(choices, &[1, 2, 10, 200]),
            batch: choose(choices, &[2, 5, 17, 64, 130, 1024, 3000]),
        }
    }
}

/// The tested engine and `list`, which must give the same results.
struct EngineAndList {
    tested: Box<dyn Engine>,
    list: Box<dyn Engine>,
    choices: Choices<'static>,
    parameters: BatchStreamParameters,
    issued: Issued,
    next: u64,
}

impl EngineAndList {
    fn new(name: &str, seed: u64) -> Self {
        let mut choices = Choices::Seed(seed);
        let parameters = BatchStreamParameters::draw(&mut choices);
        EngineAndList {
            tested: engine(name),
            list: engine("list"),
            choices,
            parameters,
            issued: Issued::default(),
            next: 0,
        }
    }

    fn assert_same<A: PartialEq + std::fmt::Debug>(
        &mut self,
        what: &str,
        call: impl Fn(&mut dyn Engine) -> A,
    ) -> A {
        let (tested, list) = (call(&mut *self.tested), call(&mut *self.list));
        assert_eq!(tested, list, "{what}");
        tested
    }

    fn id(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    fn earlier_id(&mut self) -> u64 {
        1 + self.choices.below(self.next.max(1))
    }

    fn context(&mut self) -> ContextId {
        ContextId(self.choices.below(self.parameters.contexts) as u32)
    }

    fn source(&mut self) -> Rank {
        Rank(self.choices.below(self.parameters.keys) as u32)
    }

    fn selector(&mut self) -> Selector {
        let (source, tag) = (self.source(), self.choices.below(self.parameters.tags));
        let is_any = self.choices.chance(self.parameters.any_source_percent);
        let source = if is_any { Wild::Any } else { Wild::Is(source) };
        let tag = if self.choices.chance(self.parameters.any_tag_percent) {
            Wild::Any
        } else if self.choices.chance(self.parameters.masked_percent) {
            let ignore = choose(&mut self.choices, &[1, 3, 0x10, u64::MAX]);
            Wild::Masked(TagMask { value: Tag(tag & !ignore), ignore })
        } else {
            Wild::Is(Tag(tag))
        };
        Selector::new(self.context(), source, tag)
    }

    fn post_some(&mut self) {
        let about = self.choices.below(2 * self.parameters.batch + 4);
        let mut posted = 0;
        while posted < about {
            let selector = self.selector();
            for _ in 0..=self.choices.below(self.parameters.receive_run_max) {
                let receive = Receive::new(RecvId(self.id()), selector);
                self.issued.note(&Event::Post(receive));
                self.assert_same("post", |engine| engine.post(receive)).ok();
                posted += 1;
            }
        }
    }

    fn call_something_else(&mut self) {
        match self.choices.below(6) {
            0 => {
                let id = RecvId(self.earlier_id());
                let receive = self.issued.receive(id);
                self.assert_same("cancel", |engine| engine.cancel(&receive));
            }
            1 => {
                let id = MsgId(self.earlier_id());
                let message = self.issued.message(id);
                self.assert_same("retract", |engine| engine.retract(&message));
            }
            2 => {
                let any = Selector::new(self.context(), Wild::Any, Wild::Any);
                self.assert_same("matched_probe", |engine| engine.matched_probe(&any));
            }
            3 => {
                let context = self.context();
                let hints = Hints {
                    no_any_source: self.choices.chance(30),
                    no_any_tag: self.choices.chance(30),
                    no_unexpected: self.choices.chance(40),
                    ..Hints::default()
                };
                self.assert_same("set_hints", |engine| engine.set_hints(context, hints)).ok();
            }
            4 => {
                let (id, source) = (MsgId(self.earlier_id()), self.source());
                let message = self.issued.message(id);
                let _ = self.assert_same("readdress", |engine| engine.readdress(&message, source));
                self.issued.note(&Event::Readdress(message, source));
            }
            _ => {
                let (context, source) = (self.context(), self.source());
                if self.choices.chance(20) {
                    self.assert_same_drained("fail_source", |engine, drained| {
                        engine.fail_source(context, source, drained)
                    });
                }
            }
        }
    }

    fn assert_same_drained(&mut self, what: &str, call: impl Fn(&mut dyn Engine, &mut Drained)) {
        self.assert_same(what, |engine| {
            let mut drained = Drained::default();
            call(engine, &mut drained);
            format!("{drained:?}")
        });
    }

    /// Messages of a batch, mostly of one communicator.
    fn messages(&mut self) -> Vec<Message> {
        let count = 2 + self.choices.below(self.parameters.batch - 1) as usize;
        let (stays, mut context) = (self.choices.chance(70), self.context());
        let mut messages = Vec::new();
        while messages.len() < count {
            if !stays || self.choices.chance(3) {
                context = self.context();
            }
            let source = if self.choices.chance(2) { Rank::UNKNOWN } else { self.source() };
            let envelope = Envelope::new(context, source, Tag(self.choices.below(self.parameters.tags)));
            for _ in 0..=self.choices.below(self.parameters.message_run_max) {
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
        let list = self.list.arrive_batch(&messages, &mut expected);
        let tested = if self.choices.chance(40) {
            self.tested.arrive_batch(&messages, &mut out)
        } else {
            let delivered = Mutex::new(Vec::new());
            let deliver = |number, receive| delivered.lock().unwrap().push((number, receive));
            let tested = self.tested.deliver_batch(&messages, &mut out, &deliver);
            let mut delivered = delivered.into_inner().unwrap();
            delivered.sort_unstable();
            let matched = (0..).zip(&expected).filter_map(|(number, found)| Some((number, (*found)?)));
            assert_eq!(delivered, matched.collect::<Vec<_>>(), "deliveries of a batch");
            tested
        };
        assert_eq!((tested, out), (list, expected), "a batch");
    }

    fn play_round(&mut self) {
        self.post_some();
        for _ in 0..self.choices.below(6) {
            self.call_something_else();
        }
        self.batch();
        assert_eq!(queued_with_sources(&*self.tested), queued_with_sources(&*self.list), "queues");
        if self.assert_same("lengths", |engine| engine.posted_len() + engine.unexpected_len()) > 6000 {
            for context in 0..self.parameters.contexts as u32 {
                self.assert_same_drained("close", |engine, drained| {
                    engine.close(ContextId(context), drained)
                });
            }
        }
    }
}

/// Ids of both queues, oldest first, with the sources of messages.
fn queued_with_sources(engine: &dyn Engine) -> Vec<(Queue, u64, Option<Rank>)> {
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

/// Few or many communicators, wildcards, few bins, batches longer than a block, and other calls between
/// batches.
#[test]
fn random_streams_match_like_list() {
    let (turns, rounds) = if cfg!(miri) { (1, 1) } else { (2, 12) };
    let mut seed = 0;
    for _ in 0..turns {
        for bins in 1..=3 {
            for by in ["order", "pace", "shares", "optimism"] {
                for threads in 1..=3 {
                    seed += 1;
                    let block = [2, 7, 64][seed as usize / 5 % 3];
                    let name = format!(
                        "optimistic_parallel:capacity=0,bins={bins},by={by},threads={threads},block={block}"
                    );
                    let play = || {
                        let mut two = EngineAndList::new(&name, seed);
                        (0..rounds).for_each(|_| two.play_round());
                    };
                    if let Err(panic) = catch_unwind(play) {
                        eprintln!("{name}, seed {seed}");
                        resume_unwind(panic);
                    }
                }
            }
        }
    }
}
