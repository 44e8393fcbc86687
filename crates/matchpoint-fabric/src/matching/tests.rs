//! Compares the matching under ignore masks with two plain queues.

use std::collections::HashMap;

use super::*;

#[derive(Default)]
struct EntryTable {
    receives: HashMap<u64, Criteria>,
    messages: HashMap<u64, (Addr, u64)>,
}

impl EntryData for EntryTable {
    fn criteria(&self, receive: u64) -> Criteria {
        self.receives[&receive]
    }

    fn tag(&self, message: u64) -> u64 {
        self.messages[&message].1
    }

    fn source(&self, message: u64) -> Addr {
        self.messages[&message].0
    }
}

struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % n
    }
}

/// libfabric's matching rule, applied literally to two plain queues.
#[derive(Default)]
struct Plain {
    posted: Vec<(u64, Criteria)>,
    unexpected: Vec<(u64, Addr, u64)>,
}

impl Plain {
    fn accepts(criteria: &Criteria, addr: Addr, tag: u64) -> bool {
        (criteria.tag ^ tag) & !criteria.ignore == 0
            && (criteria.addr == ADDR_UNSPEC || criteria.addr == addr)
    }

    fn find(&self, criteria: &Criteria) -> Option<usize> {
        self.unexpected.iter().position(|&(_, addr, tag)| Self::accepts(criteria, addr, tag))
    }

    fn post(&mut self, id: u64, criteria: Criteria) -> Option<u64> {
        let found = self.find(&criteria).map(|at| self.unexpected.remove(at).0);
        if found.is_none() {
            self.posted.push((id, criteria));
        }
        found
    }

    fn readdress(&mut self, id: u64, addr: Addr) -> Option<u64> {
        let at = self.unexpected.iter().position(|&(of, ..)| of == id)?;
        let tag = self.unexpected[at].2;
        let wants = self.posted.iter().position(|(_, criteria)| Self::accepts(criteria, addr, tag));
        let Some(receive) = wants else {
            self.unexpected[at].1 = addr;
            return None;
        };
        self.unexpected.remove(at);
        Some(self.posted.remove(receive).0)
    }

    fn arrive(&mut self, id: u64, addr: Addr, tag: u64) -> Option<u64> {
        let at = self.posted.iter().position(|(_, criteria)| Self::accepts(criteria, addr, tag));
        let found = at.map(|at| self.posted.remove(at).0);
        if found.is_none() {
            self.unexpected.push((id, addr, tag));
        }
        found
    }
}

/// A mask as in MPI libraries: nearly all receives ignore one bit, some ignore the lower half of the tag, few
/// compare every bit.
fn random_mask(random: &mut Random) -> u64 {
    match random.below(40) {
        0 => 0,
        1 => u64::MAX,
        2..8 => 1 << 32 | 0xFF,
        _ => 1 << 32,
    }
}

fn compare_with_plain(engine: &str, seed: u64, events: u64, breadth: u64) -> Tally {
    let mut matching = Matching::new(engine).expect("it is one");
    let (mut plain, mut entries, mut random) = (Plain::default(), EntryTable::default(), Random(seed));
    // Queues grow and shrink in long phases.
    for id in 1..=events {
        let leaning = if (id / 700) % 2 == 0 { 7 } else { 3 };
        let tag = random.below(breadth) | random.below(2) << 32;
        let addr = random.below(3);
        if random.below(50) == 0 {
            let criteria = Criteria { addr, tag, ignore: random_mask(&mut random) };
            let take = random.below(2) == 0;
            let at = plain.find(&criteria);
            let expected =
                at.map(|at| if take { plain.unexpected.remove(at).0 } else { plain.unexpected[at].0 });
            assert_eq!(
                matching.probe(criteria, take, &entries),
                Ok(expected),
                "{engine}, seed {seed}, event {id}"
            );
        } else if random.below(30) == 0 && !plain.posted.is_empty() {
            let at = random.below(plain.posted.len() as u64) as usize;
            let (gone, _) = plain.posted.remove(at);
            assert!(matching.cancel(gone, &entries), "{engine}, seed {seed}, event {id}");
            assert!(!matching.cancel(gone, &entries), "a second time");
        } else if random.below(20) == 0 {
            let without_source = |&&(_, from, _): &&(u64, Addr, u64)| from == ADDR_UNSPEC;
            let Some(&(message, _, tag)) = plain.unexpected.iter().find(without_source) else { continue };
            entries.messages.insert(message, (addr, tag));
            let expected = plain.readdress(message, addr);
            let received = matching.readdress(message, addr, &entries);
            assert_eq!(received, expected, "{engine}, seed {seed}, event {id}");
        } else if random.below(10) < leaning {
            let addr = if random.below(8) == 0 { ADDR_UNSPEC } else { addr };
            let criteria = Criteria { addr, tag, ignore: random_mask(&mut random) };
            entries.receives.insert(id, criteria);
            let expected = plain.post(id, criteria);
            assert_eq!(
                matching.post(id, criteria, &entries),
                Ok(expected),
                "{engine}, seed {seed}, event {id}"
            );
        } else {
            let addr = if random.below(8) == 0 { ADDR_UNSPEC } else { addr };
            entries.messages.insert(id, (addr, tag));
            let expected = plain.arrive(id, addr, tag);
            assert_eq!(
                matching.arrive(id, addr, tag, &entries),
                Ok(expected),
                "{engine}, seed {seed}, event {id}"
            );
        }
        assert_eq!(matching.tally().posted_now, plain.posted.len() as u64);
        assert_eq!(matching.tally().unexpected_now, plain.unexpected.len() as u64);
    }
    let mut left = Vec::new();
    matching.visit(Queue::Posted, |id| left.push(id));
    assert_eq!(left, plain.posted.iter().map(|&(id, _)| id).collect::<Vec<_>>());
    left.clear();
    matching.visit(Queue::Unexpected, |id| left.push(id));
    assert_eq!(left, plain.unexpected.iter().map(|&(id, ..)| id).collect::<Vec<_>>());
    *matching.tally()
}

#[test]
fn random_masks_equal_plain_queues() {
    for seed in 1..20 {
        let tally = compare_with_plain("hybrid", seed * 0x9E37_79B9, 6_000, 200);
        assert!(tally.moved_to_engine > 0, "the engine was asked");
    }
    for spec in engines::REGISTRY {
        compare_with_plain(spec.name, 77, 3_000, 60);
    }
}

#[test]
fn full_table_is_replaced_by_hybrid() {
    let tally = compare_with_plain("optimistic:capacity=64", 5, 3_000, 400);
    assert!(tally.moved_to_engine > 0);
}

fn long_queues() -> (Matching, EntryTable) {
    let mut matching = Matching::new("hybrid").expect("it is one");
    let mut entries = EntryTable::default();
    for id in 0..100 {
        let criteria = Criteria { addr: 0, tag: id, ignore: 0 };
        entries.receives.insert(id, criteria);
        assert_eq!(matching.post(id, criteria, &entries), Ok(None));
    }
    assert!(!matching.is_short);
    (matching, entries)
}

#[test]
fn burst_end_restores_short_queues() {
    let (mut matching, mut entries) = long_queues();
    for id in 0..100 {
        entries.messages.insert(id, (0, id));
        assert_eq!(matching.arrive(id, 0, id, &entries), Ok(Some(id)));
    }
    for id in 0..2 * AGREEING_POSTS {
        let criteria = Criteria { addr: 0, tag: 7, ignore: 0 };
        entries.receives.insert(id, criteria);
        assert_eq!(matching.post(id, criteria, &entries), Ok(None));
        assert_eq!(matching.arrive(id, 0, 7, &entries), Ok(Some(id)));
    }
    assert!(matching.is_short);
}

#[test]
fn burst_after_probes_keeps_messages() {
    let (mut matching, mut entries) = long_queues();
    for id in 0..100 {
        assert!(matching.cancel(id, &entries));
    }
    let nothing = Criteria { addr: 0, tag: 7, ignore: 0 };
    for _ in 0..2 * AGREEING_POSTS {
        assert_eq!(matching.probe(nothing, false, &entries), Ok(None));
    }
    for id in 0..200 {
        entries.messages.insert(id, (0, id));
        assert_eq!(matching.arrive(id, 0, id, &entries), Ok(None));
    }
    for id in 0..200 {
        let criteria = Criteria { addr: 0, tag: id, ignore: 0 };
        entries.receives.insert(1000 + id, criteria);
        assert_eq!(matching.post(1000 + id, criteria, &entries), Ok(Some(id)));
    }
}
