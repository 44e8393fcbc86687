//! Tests of `optimistic_parallel`: batches matched by several threads, compared with `list`.

use std::hint::black_box;
use std::panic::{AssertUnwindSafe, catch_unwind, panic_any};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use matchpoint::{
    ContextId, Drained, Engine, Envelope, Message, MsgId, Outcome, Rank, Receive, RecvId, Refused, Selector,
    Tag, TagMask, Wild,
};
use matchpoint_conformance::{Choices, Options, check};

use crate::against_list::{EngineAndList, engine, play, queued, statistic};
use crate::laws::streams;

/// More threads than messages in a block, fewer, and only the calling thread.
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

/// Few or many communicators, wildcards, few bins, batches longer than a block, and other calls between
/// batches.
#[test]
fn random_streams_match_like_list() {
    let (turns, rounds) = if cfg!(miri) { (1, 1) } else { (2, 12) };
    let mut seed = 0;
    for by in ["order", "pace", "shares", "optimism"] {
        let mut worked = [0.0, 0.0];
        for (bins, threads) in (1..=3).flat_map(|bins| [1, 2, 3, 8].map(|threads| (bins, threads))) {
            for _ in 0..turns {
                seed += 1;
                let block = [2, 7, 64][seed as usize / 5 % 3];
                let name = format!(
                    "optimistic_parallel:capacity=0,bins={bins},by={by},threads={threads},block={block}"
                );
                let two = EngineAndList::played(&name, seed, rounds, &[2, 5, 17, 64, 130, 1024, 3000]);
                let of_name = ["jobs", "shared"].map(|of| statistic(&*two.ours, of));
                worked = [0, 1].map(|at| worked[at] + of_name[at]);
            }
        }
        let is_shared = ["pace", "shares"].contains(&by);
        assert!(cfg!(miri) || worked[0] > 0.0 && (!is_shared || worked[1] > 0.0), "{by}: {worked:?}");
    }
}
