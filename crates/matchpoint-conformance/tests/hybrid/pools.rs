//! Pools of receives that are equal and leave the source or the tag open, as a server posts them.

use matchpoint::{Engine, MsgId, Rank, RecvId, Tag, Wild, engines};
use matchpoint_conformance::Choices;

use crate::{ANY_SOURCE, ANY_TAG, arrive, from, post, tagged};

const WIDE: u64 = 1 << 32 | 3;

/// Two engines that are told the same, and say the same.
struct Pair {
    one: Box<dyn Engine>,
    other: Box<dyn Engine>,
    next: u64,
}

impl Pair {
    fn post(&mut self, source: Wild<Rank>, tag: Wild<Tag>) {
        self.next += 1;
        let [one, other] =
            [&mut self.one, &mut self.other].map(|engine| post(&mut **engine, self.next, source, tag));
        assert_eq!(one, other, "receive {}", self.next);
    }

    fn arrive(&mut self, source: u64, tag: u64) {
        self.next += 1;
        let [one, other] =
            [&mut self.one, &mut self.other].map(|engine| arrive(&mut **engine, self.next, source, tag));
        assert_eq!(one, other, "message {}", self.next);
    }

    fn withdraw(&mut self, id: u64) {
        let [one, other] = [&mut self.one, &mut self.other].map(|engine| engine.cancel(RecvId(id)));
        assert_eq!(one, other, "receive {id}");
        let [one, other] = [&mut self.one, &mut self.other].map(|engine| engine.retract(MsgId(id)));
        assert_eq!(one, other, "message {id}");
    }
}

/// Receives of few kinds in long runs, and messages of few sources and tags in runs as long, two of whose sources are equal in
/// their lower half: the oldest that matches is taken, be it of a pool, of another pool, or none.
#[test]
fn pools_are_taken_in_turn_with_others() {
    for seed in 0..200 {
        let mut choices = Choices::Seed(seed);
        let mut pair = Pair {
            one: engines::create_counting(&format!("hybrid:seed={seed},short=0")).unwrap(),
            other: engines::create("list").unwrap(),
            next: 0,
        };
        // Most streams have one kind of wildcard, as most programs.
        let kinds = 1 + choices.below(4);
        for _ in 0..60 {
            let (source, tag) = ([1, 3, WIDE][choices.below(3) as usize], choices.below(2));
            let (kind, turns) = (choices.below(kinds), choices.below(2));
            let length = choices.below(40);
            if choices.chance(50) {
                for nth in 0..length {
                    match kind {
                        _ if nth % 2 < turns => pair.post(from(source), tagged(tag)),
                        0 => pair.post(ANY_SOURCE, tagged(tag)),
                        1 => pair.post(from(source), ANY_TAG),
                        2 => pair.post(ANY_SOURCE, ANY_TAG),
                        _ => pair.post(from(source), tagged(tag)),
                    }
                }
            } else {
                let other = [1, 3, WIDE][choices.below(3) as usize];
                (0..length).for_each(|nth| pair.arrive(if nth % 2 < turns { other } else { source }, tag));
            }
            if choices.chance(10) && pair.next > 0 {
                (0..choices.below(4)).for_each(|_| pair.withdraw(1 + choices.below(pair.next)));
            }
        }
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
