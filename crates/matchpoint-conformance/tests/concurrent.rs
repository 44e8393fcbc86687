//! Engines that several threads call at once: the laws of one thread; and, of short histories of several threads, whether
//! there is an order of the calls, each at one moment between its beginning and its end, in which `list` answers the same.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Barrier};

use matchpoint::concurrent::{self, Concurrent};
use matchpoint::{
    ContextId, Drained, Engine, Entry, Envelope, Event, Footprint, Hints, Message, MsgId, Outcome, Queue,
    Rank, Receive, RecvId, Refused, Selector, Tag, Wild, engines,
};
use matchpoint_conformance::{Choices, Options, check};

const NAMES: [&str; 5] = [
    "locked:engine=hybrid",
    "sharded:shards=1,engine=list",
    "sharded:shards=3,engine=list",
    "sharded:shards=16,engine=hybrid",
    "sharded:shards=5,engine=optimistic:bins=3,capacity=0",
];

fn made(name: &str) -> Box<dyn Concurrent> {
    concurrent::create(name).unwrap_or_else(|error| panic!("{error}"))
}

/// One thread's view: an engine as any other. What it lists of several sources it puts into the order of its own calls,
/// which a concurrent engine does not promise.
struct OneThread {
    engine: Box<dyn Concurrent>,
    receives: HashMap<RecvId, u64>,
    messages: HashMap<MsgId, u64>,
    calls: u64,
}

impl OneThread {
    fn sort(&self, drained: &mut Drained, from: &Drained) {
        drained.receives[from.receives.len()..].sort_by_key(|id| self.receives[id]);
        drained.messages[from.messages.len()..].sort_by_key(|id| self.messages[id]);
        drained.pending[from.pending.len()..].sort_by_key(|id| self.receives[id]);
    }
}

impl Engine for OneThread {
    fn post(&mut self, receive: Receive) -> Result<Option<MsgId>, Refused> {
        self.calls += 1;
        self.receives.insert(receive.id, self.calls);
        self.engine.post(receive)
    }

    fn arrive(&mut self, message: Message) -> Result<Option<RecvId>, Refused> {
        self.calls += 1;
        self.messages.insert(message.id, self.calls);
        self.engine.arrive(message)
    }

    fn probe(&mut self, selector: &Selector) -> Option<MsgId> {
        self.engine.probe(selector)
    }

    fn matched_probe(&mut self, selector: &Selector) -> Option<MsgId> {
        self.engine.matched_probe(selector)
    }

    fn cancel(&mut self, receive: RecvId) -> bool {
        self.engine.cancel(receive)
    }

    fn retract(&mut self, message: MsgId) -> bool {
        self.engine.retract(message)
    }

    fn readdress(&mut self, message: MsgId, source: Rank) -> bool {
        self.engine.readdress(message, source)
    }

    fn set_hints(&mut self, context: ContextId, hints: Hints) -> Result<(), Refused> {
        self.engine.set_hints(context, hints)
    }

    fn close(&mut self, context: ContextId, drained: &mut Drained) {
        let before = drained.clone();
        self.engine.close(context, drained);
        self.sort(drained, &before);
    }

    fn fail_source(&mut self, context: ContextId, source: Rank, drained: &mut Drained) {
        let before = drained.clone();
        self.engine.fail_source(context, source, drained);
        self.sort(drained, &before);
    }

    fn visit(&self, queue: Queue, each: &mut dyn FnMut(Entry)) {
        let mut entries = Vec::new();
        self.engine.visit(queue, &mut |entry| entries.push(entry));
        entries.sort_by_key(|entry| match entry {
            Entry::Receive(receive) => self.receives[&receive.id],
            Entry::Message(message) => self.messages[&message.id],
        });
        entries.into_iter().for_each(each);
    }

    fn posted_len(&self) -> usize {
        self.engine.posted_len()
    }

    fn unexpected_len(&self) -> usize {
        self.engine.unexpected_len()
    }

    fn footprint(&self) -> Footprint {
        self.engine.footprint()
    }
}

#[test]
fn the_laws_hold_for_one_thread() {
    let streams = if cfg!(miri) { 1 } else { 60 };
    for name in NAMES {
        let one = || -> Box<dyn Engine> {
            let (receives, messages) = Default::default();
            Box::new(OneThread { engine: made(name), receives, messages, calls: 0 })
        };
        let report = check(&one, &Options { streams, ..Options::quick() });
        report.unwrap_or_else(|violation| panic!("{name}\n{violation}"));
    }
}

/// A call of a history: when it began and ended, and what it returned.
#[derive(Clone, Debug)]
struct Call {
    began: u64,
    ended: u64,
    event: Event,
    outcome: Outcome,
}

fn play(event: &Event, engine: &dyn Concurrent) -> Outcome {
    match *event {
        Event::Post(receive) => Outcome::Posted(engine.post(receive)),
        Event::Arrive(message) => Outcome::Arrived(engine.arrive(message)),
        Event::Probe(selector) => Outcome::Found(engine.probe(&selector)),
        Event::MatchedProbe(selector) => Outcome::Found(engine.matched_probe(&selector)),
        Event::Cancel(receive) => Outcome::Done(engine.cancel(receive)),
        Event::Retract(message) => Outcome::Done(engine.retract(message)),
        Event::Readdress(message, source) => Outcome::Done(engine.readdress(message, source)),
        Event::SetHints(context, hints) => Outcome::Hinted(engine.set_hints(context, hints)),
        ref other => panic!("{other:?} is in no history"),
    }
}

/// Whether there is such an order of the calls (Wing and Gong 1993). `before` has been played already.
fn is_linearizable(before: &[Event], calls: &[Call]) -> bool {
    fn search(before: &[Event], calls: &[Call], order: &mut Vec<usize>) -> bool {
        if order.len() == calls.len() {
            return true;
        }
        let left: Vec<usize> = (0..calls.len()).filter(|at| !order.contains(at)).collect();
        let first_end = left.iter().map(|&at| calls[at].ended).min().unwrap_or(u64::MAX);
        for at in left {
            // It began after another that is left had ended: that one was before it.
            if calls[at].began > first_end {
                continue;
            }
            order.push(at);
            if agrees(before, calls, order) && search(before, calls, order) {
                return true;
            }
            order.pop();
        }
        false
    }
    search(before, calls, &mut Vec::new())
}

/// Whether the last of these calls, after the others, is answered as it was.
fn agrees(before: &[Event], calls: &[Call], order: &[usize]) -> bool {
    let mut list = engines::create("list").unwrap();
    before.iter().for_each(|event| drop(event.play(&mut *list)));
    order.iter().all(|&at| calls[at].event.play(&mut *list) == calls[at].outcome)
}

/// Events of one thread, of few keys, so that they meet those of others.
fn events(choices: &mut Choices<'_>, thread: u64, count: u64, hinted: bool) -> Vec<Event> {
    let id = |thread, number| 1000 * (thread + 1) + number;
    let mut event = |number: u64| {
        let context = ContextId(choices.below(2) as u32);
        let (source, tag) = (Rank(choices.below(2)), Tag(choices.below(2)));
        let any = !hinted && choices.chance(30);
        let selector = Selector::new(
            context,
            if any { Wild::Any } else { Wild::Is(source) },
            if choices.chance(20) { Wild::Any } else { Wild::Is(tag) },
        );
        match choices.below(20) {
            0..8 => Event::Post(Receive::new(RecvId(id(thread, number)), selector)),
            8..16 => {
                let source = if choices.chance(if hinted { 2 } else { 10 }) { Rank::UNKNOWN } else { source };
                let envelope = Envelope::new(context, source, tag);
                Event::Arrive(Message::new(MsgId(id(thread, number)), envelope))
            }
            16 => Event::Probe(selector),
            17 => Event::MatchedProbe(selector),
            // What any of the threads may have.
            18 => Event::Cancel(RecvId(id(choices.below(3), choices.below(count)))),
            _ => Event::Retract(MsgId(id(choices.below(3), choices.below(count)))),
        }
    };
    (0..count).map(&mut event).collect()
}

/// Plays events in threads at once; the history.
fn record(engine: &Arc<dyn Concurrent>, of_threads: Vec<Vec<Event>>) -> Vec<Call> {
    let (clock, barrier) = (AtomicU64::new(0), Barrier::new(of_threads.len()));
    let (clock, barrier) = (&clock, &barrier);
    std::thread::scope(|scope| {
        let spawned: Vec<_> = of_threads
            .into_iter()
            .map(|events| {
                scope.spawn(move || {
                    barrier.wait();
                    let call = |event: Event| {
                        let began = clock.fetch_add(1, Ordering::SeqCst);
                        let outcome = play(&event, &**engine);
                        let ended = clock.fetch_add(1, Ordering::SeqCst);
                        Call { began, ended, event, outcome }
                    };
                    events.into_iter().map(call).collect::<Vec<Call>>()
                })
            })
            .collect();
        spawned.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    })
}

#[test]
fn histories_of_several_threads_are_linearizable() {
    let histories = if cfg!(miri) { 3 } else { 1500 };
    let spread = Hints { no_any_source: true, ..Hints::default() };
    for name in NAMES {
        for seed in 0..histories {
            let mut choices = Choices::Seed(seed);
            let engine: Arc<dyn Concurrent> = Arc::from(made(name));
            let hinted = seed % 2 == 0;
            let mut before = Vec::new();
            if hinted {
                before.extend((0..2).map(|context| Event::SetHints(ContextId(context), spread)));
            }
            before.extend(events(&mut choices, 9, 4, hinted));
            before.iter().for_each(|event| drop(play(event, &*engine)));
            let mut of_threads: Vec<_> =
                (0..3).map(|thread| events(&mut choices, thread, 4, hinted)).collect();
            if hinted && seed % 8 == 0 {
                // While others call, a context stops being spread.
                of_threads[0].insert(2, Event::SetHints(ContextId(0), Hints::default()));
            }
            let calls = record(&engine, of_threads);
            assert!(is_linearizable(&before, &calls), "{name}, history {seed}: {before:?}, then {calls:#?}");
        }
    }
}

#[test]
fn a_history_without_an_order_is_told() {
    let receive = Receive::new(RecvId(1), Selector::new(ContextId(0), Wild::Any, Wild::Any));
    let message = |id| Message::new(MsgId(id), Envelope::new(ContextId(0), Rank(1), Tag(1)));
    let call = |began, ended, event, outcome| Call { began, ended, event, outcome };
    let post = call(0, 1, Event::Post(receive), Outcome::Posted(Ok(None)));
    let first = |ended, took| call(2, ended, Event::Arrive(message(1)), Outcome::Arrived(Ok(took)));
    let second = |took| call(4, 5, Event::Arrive(message(2)), Outcome::Arrived(Ok(took)));
    let (took, waits) = (Some(RecvId(1)), None);
    assert!(is_linearizable(&[], &[post.clone(), first(3, took), second(waits)]));
    assert!(!is_linearizable(&[], &[post.clone(), first(3, waits), second(took)]), "the first was over");
    assert!(is_linearizable(&[], &[post.clone(), first(6, waits), second(took)]), "they overlap");
    assert!(!is_linearizable(&[], &[post, first(6, took), second(took)]), "one receive, two messages");
}
