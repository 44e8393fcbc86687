//! Models of `optimistic_parallel`: loom tries all interleavings, and all values that threads may read.
//!
//! A block must have the results of `list`. If a model omits a step of the protocol, loom must find a wrong
//! result. Threads start with the block, without the worker pool.
//!
//! `scripts/test-models` runs the models.
//!

#![allow(unsafe_code)]

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use loom::model::Builder;

use super::block::BlockMatcher;
use super::delivery::{Delivery, Panicked, Piece};
use super::ordered::Ordered;
use super::protocol::{FullProtocol, ProtocolSteps, Resolution};
use super::workers::{Job, PoolState};
use crate::engine::{Engine, Entry, Message, MsgId, Queue, RecvId};
use crate::engines::optimistic::Optimistic;
use crate::envelope::{ContextId, Envelope, Rank, Tag};
use crate::event::{Event, script};
use crate::linked::SlotIndex;
use crate::sync::Ordering;

struct Scenario {
    threads: usize,
    /// Maximum preemptions per interleaving, waits excluded; `None`: unlimited.
    preemptions: Option<usize>,
    script: &'static str,
    resolutions: &'static [Resolution],
}

fn parse_scenario(script: &str) -> (Vec<Event>, Vec<Message>) {
    let mut posts = script::parse(script).expect("a script");
    match posts.pop() {
        Some(Event::ArriveBatch(messages)) => (posts, messages),
        other => panic!("a script ends with a batch, not with {other:?}"),
    }
}

fn queued_entries(engine: &dyn Engine) -> Vec<Entry> {
    let mut entries = Vec::new();
    for queue in [Queue::Posted, Queue::Unexpected] {
        engine.visit(queue, &mut |entry| entries.push(entry));
    }
    entries
}

fn check<R: ProtocolSteps>(scenario: &Scenario) {
    let (posts, messages) = parse_scenario(scenario.script);
    let mut list = crate::engines::create("list").expect("an engine");
    posts.iter().for_each(|post| drop(post.play(&mut *list)));
    let mut expected = Vec::new();
    list.arrive_batch(&messages, &mut expected).expect("nothing is refused");
    let expected_entries = queued_entries(&*list);

    let (threads, resolutions) = (scenario.threads, scenario.resolutions);
    let mut builder = Builder::new();
    builder.preemption_bound = scenario.preemptions;
    let interleavings = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&interleavings);
    builder.check(move || {
        counted.fetch_add(1, Ordering::Relaxed);
        let mut tables = Optimistic::<()>::new(2, 0);
        posts.iter().for_each(|post| drop(post.play(&mut tables)));
        let mut matcher = BlockMatcher::<(), R>::new(Optimistic::new(2, 0), threads);
        matcher.begin(&mut tables, &messages, threads).expect("memory suffices");
        let matcher = Arc::new(matcher);
        let worker = |_| {
            let matcher = Arc::clone(&matcher);
            loom::thread::spawn(move || matcher.run_all_parts(0, Delivery::new(None, &Panicked::default())))
        };
        let workers: Vec<_> = (1..threads).map(worker).collect();
        matcher.run_all_parts(0, Delivery::new(None, &Panicked::default()));
        workers.into_iter().for_each(|worker| worker.join().expect("the thread does not panic"));
        let settled: Vec<(Option<SlotIndex>, Resolution)> =
            (0..messages.len()).map(|at| matcher.outcome(at)).collect();

        let mut matcher = Arc::into_inner(matcher).expect("the workers have ended");
        let mut out = Vec::new();
        let id = |at: SlotIndex| matcher.receive(at);
        let taken: Vec<Option<RecvId>> = settled.iter().map(|&(at, _)| at.map(id)).collect();
        assert_eq!(taken, expected, "not the result of serial matching");
        if !resolutions.is_empty() {
            assert_eq!(settled.iter().map(|&(_, resolution)| resolution).collect::<Vec<_>>(), resolutions);
        }
        matcher.commit(&mut tables, &mut out).expect("nothing is refused");
        assert_eq!((out, queued_entries(&tables)), (expected.clone(), expected_entries.clone()));
    });
    assert!(interleavings.load(Ordering::Relaxed) > 100, "loom tried only {interleavings:?} interleavings");
}

use Resolution::{FastPath, NoCandidate, NoConflict, SlowPath};

const NO_CONFLICT: Scenario = Scenario {
    threads: 2,
    preemptions: None,
    script: "post r1 0/1/1 \n post r2 0/2/2 \n arrive_batch m1=0/2/2 m2=0/1/1",
    resolutions: &[NoConflict, NoConflict],
};

const RUN: Scenario = Scenario {
    threads: 2,
    preemptions: None,
    script: "post r1 0/1/1 \n post r2 0/1/1 \n post r3 0/1/1 \n arrive_batch m1=0/1/1 m2=0/1/1 m3=0/1/1",
    resolutions: &[NoConflict, FastPath, FastPath],
};

/// Two receives with one selector, and another receive between them, so that each run has one receive.
const SHORT_RUN: Scenario = Scenario {
    threads: 2,
    preemptions: None,
    script: "post r1 0/1/1 \n post r2 0/*/1 \n post r3 0/1/1 \n arrive_batch m1=0/1/1 m2=0/1/1 m3=0/1/1",
    resolutions: &[NoConflict, SlowPath, SlowPath],
};

const INTERLEAVED: Scenario = Scenario {
    threads: 2,
    preemptions: None,
    script: "post r1 0/1/1 \n post r2 0/1/1 \n post r3 0/1/1 \n arrive_batch m1=0/1/1 m2=0/2/2 m3=0/1/1",
    resolutions: &[NoConflict, NoCandidate, FastPath],
};

const ANY_SOURCE: Scenario = Scenario {
    threads: 2,
    preemptions: None,
    script: "post r1 0/*/1 \n post r2 0/2/1 \n arrive_batch m1=0/1/1 m2=0/2/1",
    resolutions: &[NoConflict, SlowPath],
};

const ANY_SOURCE_RUN: Scenario = Scenario {
    threads: 2,
    preemptions: None,
    script: "post r1 0/*/1 \n post r2 0/*/1 \n arrive_batch m1=0/1/1 m2=0/2/1",
    resolutions: &[NoConflict, FastPath],
};

/// The second message loses its candidate, and then competes for the candidate of the third.
const LOST_CANDIDATE: Scenario = Scenario {
    threads: 2,
    preemptions: None,
    script: "post r1 0/1/1 \n post r2 0/*/1 \n arrive_batch m1=0/1/1 m2=0/1/1 m3=0/2/1",
    resolutions: &[NoConflict, SlowPath, SlowPath],
};

/// The first message also matches the candidate of the second, but has an older candidate.
const OTHER_WITHOUT_RIVALS: Scenario = Scenario {
    threads: 2,
    preemptions: None,
    script: "post r1 0/1/1 \n post r2 0/*/1 \n arrive_batch m1=0/1/1 m2=0/2/1",
    resolutions: &[NoConflict, Resolution::Waited],
};

const UNEXPECTED: Scenario = Scenario {
    threads: 2,
    preemptions: None,
    script: "post r1 0/1/1 \n arrive_batch m1=0/3/3 m2=0/1/1 m3=0/1/1 m4=0/4/4",
    resolutions: &[NoCandidate, NoConflict, SlowPath, NoCandidate],
};

fn check_faulty<R: ProtocolSteps>(scenario: Scenario) {
    check::<R>(&Scenario { resolutions: &[], ..scenario });
}

/// Three preemptions limit the number of interleavings. Most faults need fewer.
const fn with_three_threads(scenario: Scenario) -> Scenario {
    Scenario { threads: 3, preemptions: Some(3), ..scenario }
}

#[test]
fn messages_without_conflict_take_candidates() {
    check::<FullProtocol>(&NO_CONFLICT);
}

#[test]
fn messages_of_one_envelope_share_run() {
    check::<FullProtocol>(&RUN);
    check::<FullProtocol>(&with_three_threads(RUN));
}

#[test]
fn short_run_uses_slow_path() {
    check::<FullProtocol>(&SHORT_RUN);
    check::<FullProtocol>(&with_three_threads(SHORT_RUN));
}

#[test]
fn interleaved_messages_are_no_rivals() {
    check::<FullProtocol>(&INTERLEAVED);
    check::<FullProtocol>(&with_three_threads(INTERLEAVED));
}

#[test]
fn two_sources_compete_for_any_source_receive() {
    check::<FullProtocol>(&ANY_SOURCE);
    check::<FullProtocol>(&ANY_SOURCE_RUN);
}

#[test]
fn message_without_candidate_takes_later_one() {
    check::<FullProtocol>(&LOST_CANDIDATE);
    check::<FullProtocol>(&with_three_threads(LOST_CANDIDATE));
}

#[test]
fn message_without_rivals_waits_for_others() {
    check::<FullProtocol>(&OTHER_WITHOUT_RIVALS);
}

#[test]
fn unexpected_messages_keep_order() {
    check::<FullProtocol>(&UNEXPECTED);
}

struct WithoutBarrier;

impl ProtocolSteps for WithoutBarrier {
    const HAS_BARRIER: bool = false;
}

#[test]
#[should_panic(expected = "not the result of serial matching")]
fn missing_barrier_hides_booking() {
    check_faulty::<WithoutBarrier>(RUN);
}

struct WithoutOthersCheck;

impl ProtocolSteps for WithoutOthersCheck {
    const CHECKS_OTHERS: bool = false;
}

#[test]
#[should_panic(expected = "not the result of serial matching")]
fn unchecked_others_take_next_receive() {
    check_faulty::<WithoutOthersCheck>(LOST_CANDIDATE);
}

struct ShiftedByNumber;

impl ProtocolSteps for ShiftedByNumber {
    fn shift(rivals: u64, message: usize) -> u32 {
        if rivals == 0 { 0 } else { message as u32 }
    }
}

#[test]
#[should_panic(expected = "not the result of serial matching")]
fn shift_by_message_number_omits_receives() {
    check_faulty::<ShiftedByNumber>(INTERLEAVED);
}

struct SearchesCurrentState;

impl ProtocolSteps for SearchesCurrentState {
    const SEARCHES_INITIAL_STATE: bool = false;
}

#[test]
#[should_panic(expected = "not the result of serial matching")]
fn search_of_free_receives_splits_candidates() {
    check_faulty::<SearchesCurrentState>(with_three_threads(RUN));
}

struct SlowPathWithoutWait;

impl ProtocolSteps for SlowPathWithoutWait {
    const SLOW_PATH_WAITS: bool = false;
}

#[test]
#[should_panic(expected = "not the result of serial matching")]
fn slow_path_without_wait_fails() {
    check_faulty::<SlowPathWithoutWait>(SHORT_RUN);
}

struct Unreleased;

impl ProtocolSteps for Unreleased {
    const RELEASE: Ordering = Ordering::Relaxed;
}

#[test]
#[should_panic(expected = "not the result of serial matching")]
fn relaxed_booking_is_detected() {
    check_faulty::<Unreleased>(RUN);
}

/// Loom detects concurrent accesses to a cell, and reads before a part is done.
struct CellJob(Vec<loom::cell::UnsafeCell<(u32, u32)>>);

// SAFETY: loom checks all accesses.
unsafe impl Sync for CellJob {}

impl CellJob {
    fn set_input(&self, part: usize) {
        // SAFETY: loom checks all accesses.
        self.0[part].with_mut(|at| unsafe { (*at).0 = 10 + part as u32 });
    }
}

impl Job for CellJob {
    fn run_parts(&self, parts: Range<usize>) {
        for part in parts {
            // SAFETY: loom checks all accesses.
            self.0[part].with_mut(|at| unsafe { (*at).1 += (*at).0 });
        }
    }
}

/// A job has `parts` parts per worker, and one for the caller.
fn run_two_jobs<const RELEASES: bool>(workers: usize, parts: usize, preemptions: usize) {
    let mut builder = Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.check(move || {
        let pool = Arc::new(PoolState::<RELEASES>::new(workers));
        let worker = |at| {
            let pool = Arc::clone(&pool);
            loom::thread::spawn(move || {
                for _ in 0..2 {
                    let assigned = pool.assigned_job(at);
                    if assigned > 0 {
                        pool.run_parts(at, assigned);
                    }
                }
            })
        };
        let threads: Vec<_> = (0..workers).map(worker).collect();
        for number in 1..=2 {
            let cells = CellJob((0..=workers * parts).map(|_| Default::default()).collect());
            for at in 0..workers {
                let parts = at * parts..(at + 1) * parts;
                parts.clone().for_each(|part| cells.set_input(part));
                // SAFETY: this job is finished before the cells are dropped; the previous job is finished.
                unsafe { pool.assign(at, number, &cells, &parts) };
            }
            cells.set_input(workers * parts);
            cells.run_parts(workers * parts..workers * parts + 1);
            pool.finish(number, &cells, 0..workers);
            for (part, cell) in cells.0.iter().enumerate() {
                // SAFETY: all parts are done; loom checks this.
                assert_eq!(cell.with(|at| unsafe { (*at).1 }), 10 + part as u32, "every part runs once");
            }
        }
        threads.into_iter().for_each(|worker| worker.join().expect("the thread does not panic"));
    });
}

#[test]
fn parts_of_job_run_once() {
    run_two_jobs::<true>(2, 1, 3);
}

#[test]
fn worker_and_caller_share_parts() {
    run_two_jobs::<true>(1, 2, 3);
}

#[test]
#[should_panic(expected = "access")]
fn unreleased_part_is_detected() {
    run_two_jobs::<false>(2, 1, 3);
}

/// Loom detects a read of an outcome before its write.
#[test]
fn pipelined_messages_are_delivered_once() {
    let mut builder = Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(|| {
        let delivered: &'static [loom::sync::atomic::AtomicUsize] =
            Box::leak((0..6).map(|_| loom::sync::atomic::AtomicUsize::new(0)).collect());
        let deliver = Box::leak(Box::new(|number: usize, receive: RecvId| {
            assert_eq!(receive.0 as usize, 10 + number);
            delivered[number].fetch_add(1, Ordering::Relaxed);
        }));
        let panicked: &'static Panicked = Box::leak(Box::default());
        let delivery = Delivery::new(Some(deliver), panicked);
        let pool = Arc::new(PoolState::<true>::new(1));
        let other = Arc::clone(&pool);
        let worker = loom::thread::spawn(move || other.run_parts(0, 1));
        let messages = [Message::new(MsgId(0), Envelope::new(ContextId(0), Rank(0), Tag(0))); 6];
        let mut out = Vec::with_capacity(6);
        let piece = Piece { messages: &messages, first: 0, delivery };
        let ordered = Ordered::new(&mut out, piece);
        for message in 0..6 {
            // The third message is unexpected. SAFETY: the outcome is not assigned yet.
            unsafe { ordered.set_outcome(message, (message != 2).then_some(RecvId(10 + message as u64))) };
            if message == 3 {
                // SAFETY: the job is finished before `ordered` is dropped.
                unsafe { pool.assign(0, 1, &ordered, &(0..4)) };
            }
        }
        ordered.run_parts(4..6);
        pool.finish(1, &ordered, 0..1);
        let times: Vec<usize> = delivered.iter().map(|times| times.load(Ordering::Relaxed)).collect();
        assert_eq!(times, [1, 1, 0, 1, 1, 1]);
        worker.join().expect("the thread does not panic");
    });
}
