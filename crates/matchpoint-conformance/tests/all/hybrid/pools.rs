//! Pools of receives that are equal and leave the source or the tag open, as a server posts them.

use matchpoint::{ContextId, Envelope, Event, Message, MsgId, Rank, Receive, RecvId, Selector, Tag, engines};
use matchpoint_conformance::Choices;

use super::{ANY_SOURCE, ANY_TAG, arrive, beside_list, cancel, from, post, retract, tagged};

/// The last two are equal in their lower half.
const SOURCES: [u64; 3] = [1, 3, 1 << 32 | 3];

/// Receives of few kinds in long runs, and messages of few sources and tags in runs as long: the oldest that matches is taken, be it
/// of a pool, of another pool, or none.
#[test]
fn pools_are_taken_in_turn_with_others() {
    for seed in 0..200 {
        let mut choices = Choices::Seed(seed);
        // Most streams have one kind of wildcard, as most programs.
        let kinds = 1 + choices.below(4);
        let mut events = Vec::new();
        for _ in 0..60 {
            let mut source = || SOURCES[choices.below(3) as usize];
            let (source, other) = (source(), source());
            let (tag, kind) = (choices.below(2), choices.below(kinds));
            let (alternates, is_posted, length) = (choices.chance(50), choices.chance(50), choices.below(40));
            let asks = match kind {
                0 => (ANY_SOURCE, tagged(tag)),
                1 => (from(source), ANY_TAG),
                2 => (ANY_SOURCE, ANY_TAG),
                _ => (from(source), tagged(tag)),
            };
            for nth in 0..length {
                let id = events.len() as u64;
                let is_other = alternates && nth % 2 == 0;
                events.push(if is_posted {
                    let (source, tag) = if is_other { (from(source), tagged(tag)) } else { asks };
                    Event::Post(Receive::new(RecvId(id), Selector::new(ContextId(0), source, tag)))
                } else {
                    let source = Rank(if is_other { other } else { source });
                    Event::Arrive(Message::new(MsgId(id), Envelope::new(ContextId(0), source, Tag(tag))))
                });
            }
            if choices.chance(10) && !events.is_empty() {
                for _ in 0..choices.below(4) {
                    let id = choices.below(events.len() as u64);
                    events.extend([cancel(id), retract(id)]);
                }
            }
        }
        beside_list(&format!("hybrid:seed={seed},short=0"), &events, seed);
    }
}

/// Who looks at a pool again looks at its first, whoever sent the message, and at the first receive of that sender, if there is one.
#[test]
fn a_pool_costs_a_look_or_two() {
    for turns in [0, 1] {
        let mut engine = engines::create_counting("hybrid:seed=3").unwrap();
        for n in 1..=1000 {
            let source = if n % 2 < turns { from(5) } else { ANY_SOURCE };
            assert_eq!(post(&mut *engine, n, source, tagged(7)), None);
        }
        let before = engine.attempts().posted;
        for n in 1..=1000 {
            let source = if turns == 0 { n } else { 5 };
            assert_eq!(arrive(&mut *engine, n, source, 7), Some(RecvId(n)));
        }
        let examined = engine.attempts().posted - before;
        assert!(examined <= (1 + turns) * 1010, "{examined}");
    }
}

/// Where receives that name their source are older than the pool, each is found at once, too.
#[test]
fn what_is_older_than_a_pool_costs_no_more() {
    let mut engine = engines::create_counting("hybrid:seed=3").unwrap();
    let (named, pool) = (1..=500, 501..=510);
    // The pool is met, and so noted, first.
    (0..3).for_each(|n| assert_eq!(post(&mut *engine, n, ANY_SOURCE, tagged(7)), None));
    named.clone().for_each(|n| assert_eq!(post(&mut *engine, n, from(n), tagged(7)), None));
    pool.clone().for_each(|n| assert_eq!(post(&mut *engine, n, ANY_SOURCE, tagged(7)), None));
    (0..3).for_each(|n| assert_eq!(arrive(&mut *engine, n, 1000, 7), Some(RecvId(n))));
    let before = engine.attempts().posted;
    named.for_each(|n| assert_eq!(arrive(&mut *engine, n, n, 7), Some(RecvId(n))));
    let examined = engine.attempts().posted - before;
    assert!(examined <= 1100, "{examined} to find 500");
    pool.for_each(|n| assert_eq!(arrive(&mut *engine, n, n, 7), Some(RecvId(n))));
}
