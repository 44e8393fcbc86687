//! Tests of concurrent engines: the laws with one thread, and linearizability of histories with several
//! threads.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Barrier};

use matchpoint::concurrent::{self, Concurrent};
use matchpoint::{
    ContextId, Drained, Engine, Entry, Envelope, Event, Hints, Message, MsgId, Outcome, Pair, Queue, Rank,
    Readdressed, Receive, RecvId, Refused, Selector, Tag, Wild, engines, forwarded,
};
use matchpoint_conformance::{Choices, Options, check};

mod full;
mod readdress;

use self::readdress::{complete, is_permitted_miss};

const NAMES: [&str; 7] = [
    "locked:engine=hybrid",
    "sharded:shards=1,engine=list",
    "sharded:shards=3,engine=list",
    "sharded:shards=16,engine=hybrid",
    "sharded:shards=5,engine=optimistic:bins=3,capacity=0",
    "locked:engine=optimistic_parallel:capacity=0,threads=2,bins=3",
    "locked:engine=optimistic_parallel:capacity=0,threads=3,block=2,by=optimism",
];

fn create(name: &str) -> Box<dyn Concurrent> {
    concurrent::create(name).unwrap_or_else(|error| panic!("{error}"))
}

/// A concurrent engine with one calling thread. Lists of entries are sorted by call order, which a concurrent
/// engine does not promise across sources.
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
    forwarded!(through [engine]: probe matched_probe cancel retract readdress set_hints posted_len);
    forwarded!(through [engine]: unexpected_len footprint);

    fn post_selector(&mut self, id: RecvId, selector: &Selector) -> Result<Option<MsgId>, Refused> {
        let receive = Receive::new(id, *selector);
        self.calls += 1;
        self.receives.insert(receive.id, self.calls);
        self.engine.post(receive)
    }

    fn arrive(&mut self, id: MsgId, pair: Pair, tag: Tag) -> Result<Option<RecvId>, Refused> {
        let message = Message::new(id, Envelope::of(pair, tag));
        self.calls += 1;
        self.messages.insert(message.id, self.calls);
        self.engine.arrive_message(message)
    }

    fn arrive_batch(&mut self, messages: &[Message], out: &mut Vec<Option<RecvId>>) -> Result<(), Refused> {
        for message in messages {
            self.calls += 1;
            self.messages.insert(message.id, self.calls);
        }
        self.engine.arrive_batch(messages, out)
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
}

fn check_one_thread(name: &str, options: Options) {
    let one = || -> Box<dyn Engine> {
        let (receives, messages) = Default::default();
        Box::new(OneThread { engine: create(name), receives, messages, calls: 0 })
    };
    let streams = crate::laws::streams(20, 60);
    let report = check(&one, &Options { streams, ..options });
    report.unwrap_or_else(|violation| panic!("{name}\n{violation}"));
}

#[test]
fn laws_hold_for_one_thread() {
    for name in NAMES {
        check_one_thread(name, Options::quick());
    }
}

#[derive(Clone, Debug)]
enum Request {
    Event(Event),
    Visit(Queue),
}

#[derive(Clone, PartialEq, Debug)]
enum Answer {
    Outcome(Outcome),
    Seen(Vec<Entry>),
}

/// A recorded call with start time, end time and result. Each message of a batch is a call that follows the
/// call of the previous message.
#[derive(Clone, Debug)]
struct Call {
    began: u64,
    ended: u64,
    request: Request,
    answer: Answer,
    follows: bool,
}

fn play(request: &Request, engine: &dyn Concurrent, clock: &AtomicU64) -> Vec<Call> {
    let now = || clock.fetch_add(1, Ordering::SeqCst);
    let began = now();
    let answer = match request {
        Request::Visit(queue) => {
            let mut seen = Vec::new();
            engine.visit(*queue, &mut |entry| seen.push(entry));
            Answer::Seen(seen)
        }
        Request::Event(Event::ArriveBatch(messages)) => return play_batch(messages, engine, began, &now),
        Request::Event(event) => Answer::Outcome(event.play_concurrently(engine)),
    };
    vec![Call { began, ended: now(), request: request.clone(), answer, follows: false }]
}

fn play_batch(
    messages: &[Message],
    engine: &dyn Concurrent,
    began: u64,
    now: &(dyn Fn() -> u64 + Sync),
) -> Vec<Call> {
    let delivered: Vec<AtomicU64> = messages.iter().map(|_| AtomicU64::new(u64::MAX)).collect();
    let deliver = |number: usize, _| {
        delivered[number].store(now(), Ordering::SeqCst);
        std::thread::yield_now();
    };
    let mut out = Vec::new();
    let refused = engine.deliver_batch(messages, &mut out, &deliver).err();
    let ended = now();
    let answers = out.into_iter().map(Ok).chain(refused.map(Err));
    let call = |(number, found): (usize, Result<Option<RecvId>, Refused>)| Call {
        began,
        ended: ended.min(delivered[number].load(Ordering::SeqCst)),
        request: Request::Event(Event::Arrive(messages[number])),
        answer: Answer::Outcome(Outcome::Arrived(found)),
        follows: number > 0,
    };
    answers.enumerate().map(call).collect()
}

/// Promised order of listed entries: of all entries (`None`), or per context and source.
struct Listed(Option<HashMap<u64, (ContextId, Option<Rank>)>>);

impl Listed {
    fn new(name: &str, calls: &[&Request]) -> Self {
        if !name.starts_with("sharded") {
            return Listed(None);
        }
        let mut keys = HashMap::new();
        for request in calls {
            match request {
                Request::Event(Event::Post(Receive { id, selector, .. })) => {
                    let with_source =
                        if let Wild::Is(source) = selector.source() { Some(source) } else { None };
                    keys.insert(id.0, (selector.context(), with_source));
                }
                Request::Event(Event::Arrive(Message { id, envelope, .. })) => {
                    keys.insert(id.0, (envelope.context, Some(envelope.source)));
                }
                _ => {}
            }
        }
        Listed(Some(keys))
    }

    /// Pairs of adjacent ids that have a promised order.
    fn in_order(&self, seen: &[Entry]) -> Vec<(u64, u64)> {
        let id = |entry: &Entry| match entry {
            Entry::Receive(receive) => receive.id.0,
            Entry::Message(message) => message.id.0,
        };
        let key = |id: u64| self.0.as_ref().map(|keys| keys[&id]);
        let mut last_of = HashMap::new();
        let last_and_this = |id| last_of.insert(key(id), id).map(|last| (last, id));
        seen.iter().map(id).filter_map(last_and_this).collect()
    }

    fn is_same(&self, one: &Answer, other: &Answer) -> bool {
        let Listed(Some(keys)) = self else { return one == other };
        let arranged = |answer: &Answer| {
            let mut answer = answer.clone();
            match &mut answer {
                Answer::Seen(entries) => entries.sort_by_key(|entry| match entry {
                    Entry::Receive(receive) => keys[&receive.id.0],
                    Entry::Message(message) => keys[&message.id.0],
                }),
                Answer::Outcome(Outcome::Drained(drained)) => {
                    drained.receives.sort_by_key(|id| keys[&id.0]);
                    drained.messages.sort_by_key(|id| keys[&id.0]);
                }
                Answer::Outcome(_) => {}
            }
            answer
        };
        arranged(one) == arranged(other)
    }
}

fn play_request(request: &Request, list: &mut dyn Engine) -> Answer {
    match request {
        Request::Event(event) => Answer::Outcome(event.play(list)),
        Request::Visit(queue) => {
            let mut seen = Vec::new();
            list.visit(*queue, &mut |entry| seen.push(entry));
            Answer::Seen(seen)
        }
    }
}

/// For each call, the calls that must precede it, as a bit mask: calls that ended before its start, earlier
/// messages of its batch, and calls of entries that a visit listed before its entry.
fn earlier(calls: &[Call], listed: &Listed) -> Vec<u128> {
    let mut by_id = HashMap::new();
    let mut in_order = Vec::new();
    for (at, call) in calls.iter().enumerate() {
        match (&call.request, &call.answer) {
            (Request::Event(Event::Post(Receive { id: RecvId(id), .. })), _)
            | (Request::Event(Event::Arrive(Message { id: MsgId(id), .. })), _) => {
                _ = by_id.insert(*id, at);
            }
            (_, Answer::Seen(seen)) => in_order.extend(listed.in_order(seen)),
            _ => {}
        }
    }
    let ended_before = |call: &Call| {
        let ended = |(at, other): (usize, &Call)| u128::from(other.ended < call.began) << at;
        calls.iter().enumerate().map(ended).fold(0, |all, one| all | one)
    };
    let mut earlier: Vec<u128> = calls.iter().map(ended_before).collect();
    for (at, _) in calls.iter().enumerate().filter(|(_, call)| call.follows) {
        earlier[at] |= 1 << (at - 1);
    }
    for (first, second) in in_order {
        if let (Some(first), Some(second)) = (by_id.get(&first), by_id.get(&second)) {
            earlier[*second] |= 1 << first;
        }
    }
    earlier
}

/// Search for a sequential order of `calls`, after the calls in `before`, in which `list` gives the recorded
/// results (Wing & Gong 1993).
struct Search<'a> {
    before: &'a [Call],
    calls: &'a [Call],
    listed: Listed,
    /// For each call, a bit mask of the calls that precede it in every order.
    earlier: Vec<u128>,
    /// States without a solution: the calls made, and the queues and hints after these calls.
    dead_ends: HashSet<(u128, Vec<u64>)>,
    /// Remaining steps of the search.
    budget: u64,
}

impl<'a> Search<'a> {
    fn new(name: &str, before: &'a [Call], calls: &'a [Call], budget: u64) -> Self {
        let request: Vec<&Request> = before.iter().chain(calls).map(|call| &call.request).collect();
        assert!(calls.len() <= 128, "a bit for each call");
        let listed = Listed::new(name, &request);
        let earlier = earlier(calls, &listed);
        Search { before, calls, listed, earlier, dead_ends: HashSet::new(), budget }
    }

    /// True if an order exists; `None` if the search ran out of steps.
    fn run(mut self) -> Option<bool> {
        let is_found = self.search(&mut Vec::new());
        (is_found || self.budget > 0).then_some(is_found)
    }

    fn search(&mut self, order: &mut Vec<usize>) -> bool {
        let calls = self.calls;
        if order.len() == calls.len() {
            return true;
        }
        let made = order.iter().fold(0, |made, &at| made | 1 << at);
        let may_be_next = |at: &usize| made & 1 << at == 0 && self.earlier[*at] & !made == 0;
        let mut next: Vec<usize> = (0..calls.len()).filter(may_be_next).collect();
        // Tries the rest of a batch first, then the call that ended first.
        let is_repetition = |at: usize| calls[at].follows && order.last() == Some(&(at - 1));
        next.sort_by_key(|&at| (!is_repetition(at), calls[at].ended));
        for at in next {
            if self.budget == 0 {
                return false;
            }
            self.budget -= 1;
            order.push(at);
            if let Some(state) = self.after(order) {
                let made = made | 1 << at;
                if !self.dead_ends.contains(&(made, state.clone())) {
                    if self.search(order) {
                        return true;
                    }
                    self.dead_ends.insert((made, state));
                }
            }
            order.pop();
        }
        false
    }

    /// The state after calls in this order: queued entries, and the order of calls that changed hints. `None`
    /// if a result differs from the recorded result.
    fn after(&self, order: &[usize]) -> Option<Vec<u64>> {
        let mut list = engines::create("list").unwrap();
        self.before.iter().for_each(|call| drop(play_request(&call.request, &mut *list)));
        let mut state = Vec::new();
        for &at in order {
            let call = &self.calls[at];
            if !is_permitted_miss(call, &*list)
                && !self.listed.is_same(&play_request(&call.request, &mut *list), &call.answer)
            {
                return None;
            }
            if matches!(call.request, Request::Event(Event::SetHints(..) | Event::Close(_))) {
                state.push(at as u64);
            }
        }
        for queue in [Queue::Posted, Queue::Unexpected] {
            state.push(u64::MAX);
            list.visit(queue, &mut |entry| {
                state.push(match entry {
                    Entry::Receive(receive) => receive.id.0,
                    Entry::Message(message) => message.id.0,
                });
            });
        }
        Some(state)
    }
}

#[derive(Clone, Copy)]
struct HistoryParameters {
    calls: u64,
    /// No receive uses any source, as a hint asserts.
    is_hinted: bool,
    /// One call in `rare` is a close, visit, failed source or hint.
    rare: u64,
}

/// Random requests of a thread, with few keys, so that entries of different threads match.
fn events(choices: &mut Choices<'_>, thread: u64, shape: HistoryParameters) -> Vec<Request> {
    let id = |thread, number| 10_000 * (thread + 1) + 100 * number;
    (0..shape.calls)
        .map(|number| {
            let of_any = |choices: &mut Choices<'_>| id(choices.below(3), choices.below(shape.calls));
            let context = ContextId(choices.below(2) as u32);
            let selector = selector(choices, context, shape);
            let envelope = Envelope::new(context, Rank(0), Tag(0));
            if choices.below(shape.rare) == 0 {
                return rare_request(choices, context, shape);
            }
            Request::Event(match choices.below(25) {
                0..8 => Event::Post(Receive::new(RecvId(id(thread, number)), selector)),
                8..14 => Event::Arrive(message(choices, id(thread, number), shape)),
                14..18 => {
                    let count = 2 + choices.below(3);
                    let first = id(thread, number);
                    Event::ArriveBatch((first..first + count).map(|id| message(choices, id, shape)).collect())
                }
                18 => Event::Probe(selector),
                19 => Event::MatchedProbe(selector),
                // An entry of any thread.
                20 => Event::Cancel(Receive::new(RecvId(of_any(choices)), selector)),
                21 => Event::Retract(Message::new(MsgId(of_any(choices)), envelope)),
                _ => {
                    let message = Message::new(MsgId(of_any(choices)), envelope);
                    Event::Readdress(message, Rank(choices.below(2) as u32))
                }
            })
        })
        .collect()
}

fn selector(choices: &mut Choices<'_>, context: ContextId, shape: HistoryParameters) -> Selector {
    let (source, tag) = (Rank(choices.below(2) as u32), Tag(choices.below(2)));
    let any = !shape.is_hinted && choices.chance(30);
    let source = if any { Wild::Any } else { Wild::Is(source) };
    Selector::new(context, source, if choices.chance(20) { Wild::Any } else { Wild::Is(tag) })
}

fn message(choices: &mut Choices<'_>, id: u64, shape: HistoryParameters) -> Message {
    let (context, source, tag) = (choices.below(2), choices.below(2), choices.below(2));
    let has_unknown_source = choices.chance(if shape.is_hinted { 2 } else { 10 });
    let source = if has_unknown_source { Rank::UNKNOWN } else { Rank(source as u32) };
    Message::new(MsgId(id), Envelope::new(ContextId(context as u32), source, Tag(tag)))
}

fn rare_request(choices: &mut Choices<'_>, context: ContextId, shape: HistoryParameters) -> Request {
    let hints = match choices.below(3) {
        0 => Hints { no_unexpected: true, no_any_source: shape.is_hinted, ..Hints::default() },
        1 => Hints { no_any_tag: true, no_any_source: shape.is_hinted, ..Hints::default() },
        _ => Hints { no_any_source: choices.chance(50), ..Hints::default() },
    };
    match choices.below(5) {
        0 => Request::Visit(Queue::Posted),
        1 => Request::Visit(Queue::Unexpected),
        2 => Request::Event(Event::FailSource(context, Rank(choices.below(2) as u32))),
        3 => Request::Event(Event::Close(context)),
        _ => Request::Event(Event::SetHints(context, hints)),
    }
}

fn record(engine: &Arc<dyn Concurrent>, of_threads: Vec<Vec<Request>>) -> Vec<Call> {
    let (clock, barrier) = (AtomicU64::new(0), Barrier::new(of_threads.len()));
    let (clock, barrier) = (&clock, &barrier);
    std::thread::scope(|scope| {
        let spawned: Vec<_> = of_threads
            .into_iter()
            .map(|events| {
                scope.spawn(move || {
                    barrier.wait();
                    events.iter().flat_map(|request| play(request, &**engine, clock)).collect::<Vec<Call>>()
                })
            })
            .collect();
        spawned.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    })
}

/// Checks a history per seed. Returns the number of completed searches.
fn histories(name: &str, seeds: std::ops::Range<u64>, shape: HistoryParameters, budget: u64) -> u64 {
    let spread = Hints { no_any_source: true, ..Hints::default() };
    let mut searched = 0;
    for seed in seeds {
        let mut choices = Choices::Seed(seed);
        let shape = HistoryParameters { is_hinted: seed % 2 == 0, ..shape };
        let mut before = Vec::new();
        if shape.is_hinted {
            before.extend((0..2).map(|context| Request::Event(Event::SetHints(ContextId(context), spread))));
        }
        before.extend(events(&mut choices, 9, HistoryParameters { calls: 4, rare: u64::MAX, ..shape }));
        let mut of_threads: Vec<_> = (0..3).map(|thread| events(&mut choices, thread, shape)).collect();
        if shape.is_hinted && seed % 8 == 0 {
            // The withdrawn hint merges the context's queues during other calls.
            of_threads[0].insert(2, Request::Event(Event::SetHints(ContextId(0), Hints::default())));
        }
        searched += u64::from(is_searched(name, seed, &before, of_threads, budget));
    }
    searched
}

/// Records and checks one history. Returns false if the search is incomplete.
fn is_searched(
    name: &str,
    seed: u64,
    before: &[Request],
    mut of_threads: Vec<Vec<Request>>,
    budget: u64,
) -> bool {
    complete(before, &mut of_threads);
    let engine: Arc<dyn Concurrent> = Arc::from(create(name));
    let before: Vec<Call> =
        before.iter().flat_map(|request| play(request, &*engine, &AtomicU64::new(0))).collect();
    let mut calls = record(&engine, of_threads);
    // The remaining entries restrict the possible orders.
    for queue in [Queue::Posted, Queue::Unexpected] {
        calls.extend(play(&Request::Visit(queue), &*engine, &AtomicU64::new(u64::MAX - 2)));
    }
    match Search::new(name, &before, &calls, budget).run() {
        Some(false) => panic!("{name}, history {seed}: {before:#?}, then {calls:#?}"),
        found => found.is_some(),
    }
}

#[test]
fn histories_of_several_threads_are_linearizable() {
    let seeds = if cfg!(miri) { 3 } else { 1500 };
    let shape = HistoryParameters { calls: 4, is_hinted: false, rare: 8 };
    for name in NAMES {
        let searched = histories(name, 0..seeds, shape, 1_000_000);
        assert_eq!(searched, seeds, "{name}: not all searches completed");
    }
}

/// Some searches may be incomplete. `.ci/deep` sets the number of histories in `MATCHPOINT_HISTORIES`.
#[test]
fn long_histories_of_several_threads_are_linearizable() {
    let request = std::env::var("MATCHPOINT_HISTORIES").ok().map(|number| number.parse().expect("a number"));
    let seeds: u64 = request.unwrap_or(if cfg!(miri) { 1 } else { 25 });
    let shape = HistoryParameters { calls: 16, is_hinted: false, rare: 10 };
    for name in NAMES {
        let searched = histories(name, 0..seeds, shape, 100_000);
        assert!(searched * 20 >= seeds * 19, "{name}: only {searched} of {seeds} searched to the end");
    }
}

#[test]
fn unlinearizable_history_is_rejected() {
    let receive = Receive::new(RecvId(1), Selector::new(ContextId(0), Wild::Any, Wild::Any));
    let message = |id| Message::new(MsgId(id), Envelope::new(ContextId(0), Rank(1), Tag(1)));
    let call = |began, ended, event, outcome| {
        let (request, answer) = (Request::Event(event), Answer::Outcome(outcome));
        Call { began, ended, request, answer, follows: false }
    };
    let is_linearizable =
        |calls: &[Call]| Search::new("locked", &[], calls, 1000).run().expect("the search completes");
    let post = call(0, 1, Event::Post(receive), Outcome::Posted(Ok(None)));
    let first = |ended, took| call(2, ended, Event::Arrive(message(1)), Outcome::Arrived(Ok(took)));
    let second = |took| call(4, 5, Event::Arrive(message(2)), Outcome::Arrived(Ok(took)));
    let (took, waits) = (Some(RecvId(1)), None);
    assert!(is_linearizable(&[post.clone(), first(3, took), second(waits)]));
    assert!(!is_linearizable(&[post.clone(), first(3, waits), second(took)]), "the first arrival had ended");
    assert!(is_linearizable(&[post.clone(), first(6, waits), second(took)]), "the arrivals overlap");
    assert!(!is_linearizable(&[post.clone(), first(6, took), second(took)]), "two messages took one receive");
    let behind = Call { follows: true, ..second(took) };
    assert!(
        !is_linearizable(&[post, first(6, waits), behind]),
        "the second message of a batch overtook the first"
    );
}
