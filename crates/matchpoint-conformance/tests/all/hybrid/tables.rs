//! Tables that a burst has made large.

use matchpoint::{ContextId, Drained, Hints, RecvId, engines};

use super::{arrive, from, post, receive, tagged};

/// A table that is nearly empty is not made smaller while what it holds is learned by name: all of it is found.
#[test]
fn names_are_learned_whole_where_a_table_is_found_nearly_empty() {
    let n = 100_000;
    let mut engine = engines::create("hybrid").unwrap();
    (0..n).for_each(|id| assert_eq!(post(&mut *engine, id, from(1), tagged(id)), None));
    let (kept, taken): (Vec<u64>, Vec<u64>) = (0..n).partition(|id| id % 500 == 0);
    taken.iter().for_each(|&id| assert_eq!(arrive(&mut *engine, id, 1, id), Some(RecvId(id))));
    for (number, &id) in kept.iter().enumerate() {
        if number == 4 {
            engine.set_hints(ContextId(0), Hints::default()).unwrap();
        }
        assert!(engine.cancel(&receive(id, from(1), tagged(id))), "{id}");
    }
    assert_eq!(engine.posted_len(), 0);
}

/// What a burst needed is given back a little with each call, in lists as well, and at once where no burst came for a while.
#[test]
fn bursts_are_given_back_while_entries_are_listed() {
    let mut engine = engines::create("hybrid").unwrap();
    let mut closed_after = |n: u64| {
        (0..n).for_each(|id| assert_eq!(post(&mut *engine, id, from(1), tagged(id)), None));
        engine.close(ContextId(0), &mut Drained::default());
        for id in 0..2000 {
            assert_eq!(post(&mut *engine, id, from(1), tagged(1)), None);
            assert_eq!(arrive(&mut *engine, id, 1, 1), Some(RecvId(id)));
        }
        engine.footprint().now_bytes()
    };
    let given_back: Vec<usize> = (0..15).filter(|_| closed_after(20_000) < 100_000).collect();
    assert_eq!(given_back, [0, 2, 5, 10], "each time that it was needed again more are left");
    (0..40).for_each(|_| _ = closed_after(1));
    assert!(closed_after(20_000) < 100_000, "the first for long is given back");
}
