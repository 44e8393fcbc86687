//! Short queues are lists.

use matchpoint::{Engine, Entry, Queue, RecvId, engines};

use crate::{ANY_SOURCE, arrive, post, statistic, tagged};

/// Receives from any source wait in a list up to its last place; one more takes all of them to the tables, in order.
#[test]
fn short_queues_have_no_tables() {
    let buckets = |engine: &dyn Engine| statistic(engine, "buckets");
    for places in [0, 1, 3, 32] {
        let mut engine = engines::create_counting(&format!("hybrid:seed=3,short={places}")).unwrap();
        (0..places).for_each(|id| assert_eq!(post(&mut *engine, id, ANY_SOURCE, tagged(id % 5)), None));
        assert_eq!((buckets(&*engine), engine.posted_len() as u64), (0.0, places), "of {places}");
        for id in places..places + 7 {
            assert_eq!(post(&mut *engine, id, ANY_SOURCE, tagged(id % 5)), None);
            assert_eq!(engine.posted_len() as u64, id + 1);
        }
        assert!(!engine.cancel(RecvId(1000)) && engine.cancel(RecvId(places + 5)));
        let mut waiting: Vec<u64> = (0..places + 7).filter(|&id| id != places + 5).collect();
        let mut queued = Vec::new();
        engine.visit(Queue::Posted, &mut |entry| match entry {
            Entry::Receive(receive) => queued.push(receive.id.0),
            Entry::Message(message) => panic!("{message:?}"),
        });
        assert_eq!(queued, waiting, "of {places}");
        for message in 0..waiting.len() as u64 {
            let right =
                waiting.iter().position(|id| id % 5 == message % 5).map(|at| RecvId(waiting.remove(at)));
            assert_eq!(arrive(&mut *engine, message, message, message % 5), right, "of {places}");
        }
    }
    assert!(engines::create("hybrid:short=33").is_err());
}

/// Programs that never have more than a list can hold do without tables for good, and what is examined stays below that.
#[test]
fn lists_come_back_when_queues_are_short_again() {
    let mut engine = engines::create_counting("hybrid:seed=3").unwrap();
    let mut round = |n: u64| {
        let before = engine.attempts().posted;
        (0..n).for_each(|id| assert_eq!(post(&mut *engine, id, ANY_SOURCE, tagged(id)), None));
        let is_list = engine.footprint().now_bytes() < 6000;
        (0..n).rev().for_each(|id| assert_eq!(arrive(&mut *engine, id, 1, id), Some(RecvId(id))));
        (engine.attempts().posted - before, is_list)
    };
    let list: u64 = (1..=32).sum();
    assert_eq!(round(32), (list, true));
    // The tables stay once they are there, and are looked into for a while; then lists are.
    let (examined, _) = round(100);
    assert!(examined < 300, "{examined} examined by 100 searches in tables");
    let rounds: Vec<u64> = (0..8).map(|_| round(32).0).collect();
    assert!(rounds[0] < 100, "{rounds:?}");
    assert_eq!(rounds[1..], [list; 7], "{rounds:?}");
}
