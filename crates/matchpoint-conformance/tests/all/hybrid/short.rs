//! Short queues are lists.

use matchpoint::{Engine, Entry, MsgId, Queue, RecvId, engines};

use super::{ANY_SOURCE, arrive, from, message, post, receive, statistic, tagged};

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
        let of = |id: u64| receive(id, ANY_SOURCE, tagged(id % 5));
        assert!(!engine.cancel(&of(1000)) && engine.cancel(&of(places + 5)));
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

/// What waits in a round: receives for messages, or these for receives.
#[derive(Clone, Copy, Debug)]
enum Waiting {
    Receives,
    Messages,
}

use Waiting::{Messages, Receives};

impl Waiting {
    fn comes(self, engine: &mut dyn Engine, id: u64, tag: u64) {
        match self {
            Receives => assert_eq!(post(engine, id, from(1), tagged(tag)), None),
            Messages => assert_eq!(arrive(engine, id, 1, tag), None),
        }
    }

    /// The number of what is taken.
    fn is_taken(self, engine: &mut dyn Engine, tag: u64) -> Option<u64> {
        match self {
            Receives => arrive(engine, 1000, 1, tag).map(|RecvId(id)| id),
            Messages => post(engine, 1000, from(1), tagged(tag)).map(|MsgId(id)| id),
        }
    }

    fn comes_and_is_taken_back(self, engine: &mut dyn Engine) {
        self.comes(engine, 500, 500);
        assert!(match self {
            Receives => engine.cancel(&receive(500, from(1), tagged(500))),
            Messages => engine.retract(&message(500, 1, 500)),
        });
    }

    /// What searches of a round examine: one of each tag comes, something is done, and all are taken from the last tag to the first, the
    /// oldest of a tag first.
    fn round(self, engine: &mut dyn Engine, tags: &[u64], between: impl FnOnce(&mut dyn Engine)) -> u64 {
        let examined = |engine: &dyn Engine| match self {
            Receives => engine.attempts().posted,
            Messages => engine.attempts().unexpected,
        };
        (0..).zip(tags).for_each(|(id, &tag)| self.comes(engine, id, tag));
        between(engine);
        let before = examined(engine);
        let mut left: Vec<(u64, u64)> = (0..).zip(tags.iter().copied()).collect();
        for &tag in tags.iter().rev() {
            let oldest = left.iter().position(|&(_, of)| of == tag).map(|at| left.remove(at).0);
            assert_eq!(self.is_taken(engine, tag), oldest);
        }
        examined(engine) - before
    }
}

const DISTINCT: [u64; 6] = [0, 1, 2, 3, 4, 5];
const ALIKE: [u64; 6] = [0, 1, 2, 3, 4, 4];

/// Six distinct entries, the youngest first, and six of which the last two are equal, in a list.
const LISTED: u64 = 6 + 5 + 4 + 3 + 2 + 1;
const LISTED_ALIKE: u64 = 5 + 5 + 4 + 3 + 2 + 1;

/// Equal entries take several times as long in tables as in a short list: who has met some is listed, as long as that does not cost
/// more than it is worth. What has no equals then is in tables, until there were many again; what is more than a few is in any case.
#[test]
fn few_entries_are_listed_where_equal_ones_are_usual() {
    for waiting in [Receives, Messages] {
        let mut engine = engines::create_counting("hybrid:seed=3").unwrap();
        let mut round = |tags: &[u64]| waiting.round(&mut *engine, tags, |_| ());
        // 256 receives that leave nothing open, until it is known that others are rare.
        let at_first = (0..1000).take_while(|_| round(&DISTINCT) == LISTED).count();
        // The last round's messages wait before its receives are posted.
        let last = usize::from(matches!(waiting, Messages));
        assert_eq!(at_first, 256 / DISTINCT.len() + last, "{waiting:?}");
        let tabled: Vec<u64> = (0..200).map(|_| round(&DISTINCT)).collect();
        assert!(tabled.iter().all(|&examined| examined < LISTED), "{waiting:?} {tabled:?}");
        round(&ALIKE);
        assert_eq!(round(&ALIKE), LISTED_ALIKE, "{waiting:?}: one key with two entries is enough");
        let mut listed = (0..1000).take_while(|_| round(&DISTINCT) == LISTED).count();
        assert!((50..80).contains(&listed), "{waiting:?}: {listed} rounds are listed for one that was equal");
        assert!((0..200).all(|_| round(&DISTINCT) < LISTED));
        let again = (0..1000).take_while(|_| round(&ALIKE) < LISTED_ALIKE).count();
        assert!(
            (10..40).contains(&again),
            "{waiting:?}: {again} rounds with equals until they are listed again"
        );
        listed = (0..100).take_while(|_| round(&ALIKE) == LISTED_ALIKE).count();
        assert!(listed > 50, "{waiting:?}: {listed} rounds are listed");

        let many: Vec<u64> = (0..40).map(|id| id / 2).collect();
        let rounds: Vec<u64> = (0..50).map(|_| round(&many)).collect();
        assert!(rounds[2..].iter().all(|&examined| examined < 200), "{waiting:?} {rounds:?}");
    }
}

/// Who takes an entry back in the tables has them learn all names: where few are queued the next are listed.
#[test]
fn few_entries_are_listed_where_some_are_taken_back() {
    for waiting in [Receives, Messages] {
        let mut engine = engines::create_counting("hybrid:seed=3").unwrap();
        let taken_back = |engine: &mut dyn Engine| waiting.comes_and_is_taken_back(engine);
        // Until a list has four places.
        (0..256).for_each(|_| _ = waiting.round(&mut *engine, &DISTINCT[..1], |_| ()));
        let rounds: Vec<u64> = (0..100).map(|_| waiting.round(&mut *engine, &DISTINCT, taken_back)).collect();
        assert!(rounds[0] < LISTED, "{waiting:?} {rounds:?}");
        assert_eq!(rounds[2..], [LISTED; 98], "{waiting:?} {rounds:?}");
    }
}

/// What a job has that is over after some hundred calls never needs tables, which cost more to begin than they save.
#[test]
fn the_first_few_hundred_receives_begin_no_tables() {
    let mut engine = engines::create("hybrid").unwrap();
    for first in (0..256).step_by(32) {
        (first..first + 31).for_each(|id| assert_eq!(post(&mut *engine, id, from(id), tagged(1)), None));
        assert_eq!(statistic(&*engine, "buckets"), 0.0, "{first}");
        assert_eq!(post(&mut *engine, first + 31, from(first + 31), tagged(1)), None);
        (first..first + 32).for_each(|id| assert_eq!(arrive(&mut *engine, id, id, 1), Some(RecvId(id))));
    }
    (0..8).for_each(|id| assert_eq!(post(&mut *engine, id, from(id), tagged(1)), None));
    assert!(statistic(&*engine, "buckets") > 0.0);
}

/// After an entry was taken back a list has as many places as `short=` says, and no more, even where 256 receives left nothing open.
#[test]
fn a_list_has_the_places_that_it_may_have() {
    for (places, waiting) in (1..=32).flat_map(|places| [(places, Receives), (places, Messages)]) {
        let mut engine = engines::create_counting(&format!("hybrid:seed=3,short={places}")).unwrap();
        for id in 0..256 {
            assert_eq!(post(&mut *engine, id, from(1), tagged(id)), None);
            assert_eq!(arrive(&mut *engine, id, 1, id), Some(RecvId(id)));
        }
        waiting.comes_and_is_taken_back(&mut *engine);
        let tags: Vec<u64> = (0..=places).collect();
        for _ in 0..3 {
            let listed = waiting.round(&mut *engine, &tags[1..], |engine| {
                assert_eq!(statistic(engine, "buckets"), 0.0, "{places} {waiting:?}");
            });
            assert_eq!(listed, places * (places + 1) / 2, "{places} {waiting:?}");
        }
        waiting.round(&mut *engine, &tags, |engine| {
            assert!(statistic(engine, "buckets") > 0.0, "{places} {waiting:?}");
        });
    }
}
