//! The engine under the model checker: in every order in which threads may run, what calls return is what `list` returns of
//! them one by one in some order, each at a moment between its beginning and its end. Then with one of its rules left out: calls
//! are found of which that is not so.
//!
//! `RUSTFLAGS="--cfg loom" cargo test --release -p matchpoint --lib --target-dir target/loom models`
//!
//! The engines inside are lists, which do nothing that a model checker could look into: what is tried are the orders in which
//! calls get the lock, wait and are woken.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use loom::model::Builder;

use super::{Concurrent, Rules, Sound, Split};
use crate::engine::{Entry, Queue, RecvId};
use crate::engines;
use crate::event::{Event, Outcome, script};

/// What is called before, and what threads call at once.
struct Scene {
    before: &'static str,
    threads: &'static [&'static str],
    /// A thread is taken off its processor at most so often, other than when it waits; none: as often as may be.
    preemptions: Option<usize>,
}

/// A call, when it began and ended, and what it returned. A batch is its messages, each behind the one before.
#[derive(Clone, Debug)]
struct Call {
    began: u64,
    ended: u64,
    event: Event,
    outcome: Outcome,
    follows: bool,
}

fn waiting(visit: &mut dyn FnMut(Queue, &mut dyn FnMut(Entry))) -> Vec<Entry> {
    let mut entries = Vec::new();
    for queue in [Queue::Posted, Queue::Unexpected] {
        visit(queue, &mut |entry| entries.push(entry));
    }
    entries
}

/// Makes a call, or those of a batch. Orders of execution are total under loom, so that a counter it does not know is a clock.
fn play(event: &Event, engine: &dyn Concurrent, clock: &AtomicU64) -> Vec<Call> {
    let now = || clock.fetch_add(1, Ordering::SeqCst);
    let began = now();
    if let Event::ArriveBatch(messages) = event {
        let delivered: Vec<AtomicU64> = messages.iter().map(|_| AtomicU64::new(u64::MAX)).collect();
        let deliver = |number: usize, _: RecvId| delivered[number].store(now(), Ordering::SeqCst);
        let mut out = Vec::new();
        engine.deliver_batch(messages, &mut out, &deliver).expect("nothing is refused");
        let ended = now();
        let call = |(number, found): (usize, Option<RecvId>)| Call {
            began,
            ended: ended.min(delivered[number].load(Ordering::SeqCst)),
            event: Event::Arrive(messages[number]),
            outcome: Outcome::Arrived(Ok(found)),
            follows: number > 0,
        };
        return out.into_iter().enumerate().map(call).collect();
    }
    let outcome = event.play_among_others(engine);
    vec![Call { began, ended: now(), event: event.clone(), outcome, follows: false }]
}

/// Whether there is an order of those calls that `list` answers so, after which it holds what is left.
fn is_linearizable(before: &[Event], calls: &[Call], left: &[Entry], order: &mut Vec<usize>) -> bool {
    let mut list = engines::create("list").expect("an engine");
    before.iter().for_each(|event| drop(event.play(&mut *list)));
    if !order.iter().all(|&at| calls[at].event.play(&mut *list) == calls[at].outcome) {
        return false;
    }
    if order.len() == calls.len() {
        return waiting(&mut |queue, each| list.visit(queue, each)) == left;
    }
    let is_left = |at: &usize| !order.contains(at);
    let first_end = (0..calls.len()).filter(is_left).map(|at| calls[at].ended).min().unwrap_or(u64::MAX);
    let may_be_next = |at: &usize| {
        is_left(at) && calls[*at].began < first_end && (!calls[*at].follows || order.contains(&(at - 1)))
    };
    let next: Vec<usize> = (0..calls.len()).filter(may_be_next).collect();
    next.into_iter().any(|at| {
        order.push(at);
        let is_found = is_linearizable(before, calls, left, order);
        order.pop();
        is_found
    })
}

fn check<R: Rules>(scene: &Scene) {
    let parse = |text| script::parse(text).expect("a script");
    let before = parse(scene.before);
    let threads: Vec<Vec<Event>> = scene.threads.iter().map(|text| parse(text)).collect();
    let mut builder = Builder::new();
    builder.preemption_bound = scene.preemptions;
    let orders = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&orders);
    builder.check(move || {
        counted.fetch_add(1, Ordering::Relaxed);
        let list = || engines::create("list").expect("an engine");
        let split = Arc::new(Split::<R>::with_rules(list(), list()));
        let clock = Arc::new(AtomicU64::new(0));
        before.iter().for_each(|event| drop(play(event, &*split, &clock)));
        let others: Vec<_> = threads[1..]
            .iter()
            .map(|events| {
                let (split, clock, events) = (Arc::clone(&split), Arc::clone(&clock), events.clone());
                loom::thread::spawn(move || -> Vec<Call> {
                    events.iter().flat_map(|event| play(event, &*split, &clock)).collect()
                })
            })
            .collect();
        let mut calls: Vec<Call> = threads[0].iter().flat_map(|event| play(event, &*split, &clock)).collect();
        for other in others {
            calls.extend(other.join().expect("it does not panic"));
        }
        let left = waiting(&mut |queue, each| split.visit(queue, each));
        let is_right = is_linearizable(&before, &calls, &left, &mut Vec::new());
        assert!(is_right, "no order of these calls: {calls:#?}, which leave {left:?}");
    });
    let orders = orders.load(Ordering::Relaxed);
    assert!(orders > 10, "the model checker has tried few orders: {orders}");
}

/// Receives that the batch meets, some of which its first messages take.
const TWO_POSTED: &str = "post r1 0/1/1 \n post r8 0/8/8";

const ARRIVE_AND_POST: Scene = Scene {
    before: TWO_POSTED,
    threads: &["arrive_batch m1=0/1/1 m2=0/2/2", "post r2 0/2/2 \n post r3 0/3/3", "arrive m3 0/3/3"],
    preemptions: None,
};

const POST_AND_CANCEL: Scene = Scene {
    before: TWO_POSTED,
    threads: &[
        "arrive_batch m1=0/1/1 m2=0/2/2",
        "post r3 0/3/3 \n cancel r1 0/1/1",
        "cancel r3 0/3/3 \n cancel r8 0/8/8",
    ],
    preemptions: None,
};

const ANY_SOURCE_AND_SPECIFIC: Scene = Scene {
    before: "arrive m9 0/9/1 \n post r1 0/1/1 \n post r8 0/8/8",
    threads: &["arrive_batch m1=0/1/1 m2=0/2/1", "post r2 0/*/1 \n post r3 0/*/1", "post r4 0/2/1"],
    preemptions: None,
};

const MATCHED_PROBE_AND_POST: Scene = Scene {
    before: "arrive m9 0/3/3 \n post r1 0/1/1 \n post r8 0/8/8",
    threads: &[
        "arrive_batch m1=0/1/1 m2=0/3/3",
        "matched_probe 0/3/3 \n matched_probe 0/3/3",
        "post r3 0/3/3 \n probe 0/3/3",
    ],
    preemptions: None,
};

const TWO_MESSAGES_AND_POST: Scene = Scene {
    before: TWO_POSTED,
    threads: &["arrive_batch m1=0/1/1 m2=0/2/2", "post r2 0/2/2", "arrive m3 0/2/2 \n probe 0/2/2"],
    preemptions: None,
};

const PENDED_AND_NEXT_BATCH: Scene = Scene {
    before: TWO_POSTED,
    threads: &[
        "arrive_batch m1=0/1/1 m2=0/2/2 \n arrive_batch m3=0/3/3 m4=0/3/3",
        "post r2 0/3/3",
        "post r3 0/3/*",
    ],
    preemptions: None,
};

const TWO_BATCHES: Scene = Scene {
    before: TWO_POSTED,
    threads: &[
        "arrive_batch m1=0/1/1 m2=0/2/2",
        "arrive_batch m3=0/2/2 m4=0/8/8",
        "post r2 0/2/2 \n post r3 0/2/2",
    ],
    preemptions: None,
};

const RETRACT: Scene = Scene {
    before: "arrive m9 0/2/2 \n post r1 0/1/1 \n post r8 0/8/8",
    threads: &["arrive_batch m1=0/1/1 m2=0/2/2", "retract m2 0/2/2 \n retract m9 0/2/2", "post r2 0/2/2"],
    preemptions: None,
};

/// Who sent `m9` is learned while another thread posts the receive that asks for it.
const NAME_AND_POST: Scene = Scene {
    before: "arrive m9 0/?/3 \n post r1 0/1/1 \n post r8 0/8/8",
    threads: &["arrive_batch m1=0/1/1 m2=0/2/2", "readdress m9 0/?/3 3", "post r3 0/3/3 \n probe 0/3/3"],
    preemptions: None,
};

/// The same, of two receives, one of which the batch has.
const NAME_AND_RECEIVES: Scene = Scene {
    before: "arrive m9 0/?/3 \n post r1 0/1/1 \n post r3 0/3/3",
    threads: &["arrive_batch m1=0/1/1 m3=0/3/3", "readdress m9 0/?/3 3", "post r4 0/3/*"],
    preemptions: None,
};

#[test]
fn arrivals_and_posts() {
    check::<Sound>(&ARRIVE_AND_POST);
}

#[test]
fn posts_and_cancels() {
    check::<Sound>(&POST_AND_CANCEL);
}

#[test]
fn any_source_and_specific() {
    check::<Sound>(&ANY_SOURCE_AND_SPECIFIC);
}

#[test]
fn matched_probes_and_posts() {
    check::<Sound>(&MATCHED_PROBE_AND_POST);
}

#[test]
fn two_messages_and_a_post_of_one_envelope() {
    check::<Sound>(&TWO_MESSAGES_AND_POST);
}

#[test]
fn what_is_pended_and_the_next_batch() {
    check::<Sound>(&PENDED_AND_NEXT_BATCH);
}

#[test]
fn two_batches_and_posts() {
    check::<Sound>(&TWO_BATCHES);
}

#[test]
fn retracted_messages_and_posts() {
    check::<Sound>(&RETRACT);
}

#[test]
fn names_and_posts() {
    check::<Sound>(&NAME_AND_POST);
}

#[test]
fn names_and_receives_of_the_batch() {
    check::<Sound>(&NAME_AND_RECEIVES);
}

struct NamesInHaste;

impl Rules for NamesInHaste {
    const WAITS_TO_NAME: bool = false;
}

#[test]
#[should_panic(expected = "no order of these calls")]
fn a_name_given_beside_a_batch_is_missed_by_the_receive_that_asks_for_it() {
    check::<NamesInHaste>(&NAME_AND_POST);
}

struct NobodyWaits;

impl Rules for NobodyWaits {
    const WAITS: bool = false;
}

#[test]
#[should_panic(expected = "no order of these calls")]
fn a_post_that_does_not_wait_for_a_message_of_the_batch_misses_it() {
    check::<NobodyWaits>(&TWO_MESSAGES_AND_POST);
}

struct LeavesPended;

impl Rules for LeavesPended {
    const POSTS_PENDED: bool = false;
}

#[test]
#[should_panic(expected = "no order of these calls")]
fn what_is_pended_beyond_its_batch_is_missed_by_the_next() {
    check::<LeavesPended>(&PENDED_AND_NEXT_BATCH);
}

struct LeavesMessages;

impl Rules for LeavesMessages {
    const FILES_LEFT: bool = false;
}

#[test]
#[should_panic(expected = "no order of these calls")]
fn messages_that_are_not_filed_are_missed_by_probes() {
    check::<LeavesMessages>(&TWO_MESSAGES_AND_POST);
}

struct CancelsInHaste;

impl Rules for CancelsInHaste {
    const WAITS_TO_CANCEL: bool = false;
}

#[test]
#[should_panic(expected = "no order of these calls")]
fn a_cancel_that_does_not_wait_denies_what_is_posted() {
    check::<CancelsInHaste>(&POST_AND_CANCEL);
}
