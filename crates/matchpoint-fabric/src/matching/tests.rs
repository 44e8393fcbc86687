//! Compares the matching under ignore masks with two plain queues.

use std::collections::HashMap;

use super::*;

/// The criteria of each receive, and the source and tag of each message.
#[derive(Default)]
struct Book {
    receives: HashMap<u64, Asked>,
    messages: HashMap<u64, (Addr, u64)>,
}

impl Remember for Book {
    fn asked(&self, receive: u64) -> Asked {
        self.receives[&receive]
    }

    fn tag(&self, message: u64) -> u64 {
        self.messages[&message].1
    }

    fn source(&self, message: u64) -> Addr {
        self.messages[&message].0
    }
}

/// A pseudo-random generator.
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % n
    }
}

/// Two plain queues under the literal rule.
#[derive(Default)]
struct Plain {
    posted: Vec<(u64, Asked)>,
    unexpected: Vec<(u64, Addr, u64)>,
}

impl Plain {
    fn accepts(asked: &Asked, addr: Addr, tag: u64) -> bool {
        (asked.tag ^ tag) & !asked.ignore == 0 && (asked.addr == ADDR_UNSPEC || asked.addr == addr)
    }

    fn find(&self, asked: &Asked) -> Option<usize> {
        self.unexpected.iter().position(|&(_, addr, tag)| Self::accepts(asked, addr, tag))
    }

    fn post(&mut self, id: u64, asked: Asked) -> Option<u64> {
        let found = self.find(&asked).map(|at| self.unexpected.remove(at).0);
        if found.is_none() {
            self.posted.push((id, asked));
        }
        found
    }

    fn readdress(&mut self, id: u64, addr: Addr) -> Option<u64> {
        let at = self.unexpected.iter().position(|&(of, ..)| of == id)?;
        let tag = self.unexpected[at].2;
        let wants = self.posted.iter().position(|(_, asked)| Self::accepts(asked, addr, tag));
        let Some(receive) = wants else {
            self.unexpected[at].1 = addr;
            return None;
        };
        self.unexpected.remove(at);
        Some(self.posted.remove(receive).0)
    }

    fn arrive(&mut self, id: u64, addr: Addr, tag: u64) -> Option<u64> {
        let at = self.posted.iter().position(|(_, asked)| Self::accepts(asked, addr, tag));
        let found = at.map(|at| self.posted.remove(at).0);
        if found.is_none() {
            self.unexpected.push((id, addr, tag));
        }
        found
    }
}

/// Masks of MPI libraries: nearly all receives ignore one bit, some ignore the lower half of the tag, few compare every
/// bit.
fn mask(dice: &mut Dice) -> u64 {
    match dice.below(40) {
        0 => 0,
        1 => u64::MAX,
        2..8 => 1 << 32 | 0xFF,
        _ => 1 << 32,
    }
}

fn play(engine: &str, seed: u64, events: u64, breadth: u64) -> Tally {
    let mut matching = Matching::new(engine).expect("it is one");
    let (mut plain, mut book, mut dice) = (Plain::default(), Book::default(), Dice(seed));
    // Long phases with more receives than messages, then the opposite, so that queues grow and shrink.
    for id in 1..=events {
        let leaning = if (id / 700) % 2 == 0 { 7 } else { 3 };
        let tag = dice.below(breadth) | dice.below(2) << 32;
        let addr = dice.below(3);
        if dice.below(50) == 0 {
            let asked = Asked { addr, tag, ignore: mask(&mut dice) };
            let take = dice.below(2) == 0;
            let at = plain.find(&asked);
            let expected =
                at.map(|at| if take { plain.unexpected.remove(at).0 } else { plain.unexpected[at].0 });
            assert_eq!(matching.probe(asked, take, &book), Ok(expected), "{engine}, seed {seed}, event {id}");
        } else if dice.below(30) == 0 && !plain.posted.is_empty() {
            let at = dice.below(plain.posted.len() as u64) as usize;
            let (gone, _) = plain.posted.remove(at);
            assert!(matching.cancel(gone, &book), "{engine}, seed {seed}, event {id}");
            assert!(!matching.cancel(gone, &book), "a second time");
        } else if dice.below(20) == 0 {
            let nameless = |&&(_, from, _): &&(u64, Addr, u64)| from == ADDR_UNSPEC;
            let Some(&(message, _, tag)) = plain.unexpected.iter().find(nameless) else { continue };
            book.messages.insert(message, (addr, tag));
            let expected = plain.readdress(message, addr);
            let received = matching.readdress(message, addr, &book);
            assert_eq!(received, expected, "{engine}, seed {seed}, event {id}");
        } else if dice.below(10) < leaning {
            let addr = if dice.below(8) == 0 { ADDR_UNSPEC } else { addr };
            let asked = Asked { addr, tag, ignore: mask(&mut dice) };
            book.receives.insert(id, asked);
            let expected = plain.post(id, asked);
            assert_eq!(matching.post(id, asked, &book), Ok(expected), "{engine}, seed {seed}, event {id}");
        } else {
            let addr = if dice.below(8) == 0 { ADDR_UNSPEC } else { addr };
            book.messages.insert(id, (addr, tag));
            let expected = plain.arrive(id, addr, tag);
            assert_eq!(
                matching.arrive(id, addr, tag, &book),
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
fn whatever_the_masks_it_is_the_rule() {
    for seed in 1..20 {
        let tally = play("hybrid", seed * 0x9E37_79B9, 6_000, 200);
        assert!(tally.lengthened > 0, "the engine was asked");
    }
    for spec in engines::REGISTRY {
        play(spec.name, 77, 3_000, 60);
    }
}

#[test]
fn a_full_table_gives_way_to_hybrid() {
    let tally = play("optimistic:capacity=64", 5, 3_000, 400);
    assert!(tally.lengthened > 0);
}

/// A hundred posted receives: too many for the short queues.
fn long() -> (Matching, Book) {
    let mut matching = Matching::new("hybrid").expect("it is one");
    let mut book = Book::default();
    for id in 0..100 {
        let asked = Asked { addr: 0, tag: id, ignore: 0 };
        book.receives.insert(id, asked);
        assert_eq!(matching.post(id, asked, &book), Ok(None));
    }
    assert!(!matching.is_short);
    (matching, book)
}

#[test]
fn short_queues_come_back_after_a_burst() {
    let (mut matching, mut book) = long();
    for id in 0..100 {
        book.messages.insert(id, (0, id));
        assert_eq!(matching.arrive(id, 0, id, &book), Ok(Some(id)));
    }
    for id in 0..2 * PATIENCE {
        let asked = Asked { addr: 0, tag: 7, ignore: 0 };
        book.receives.insert(id, asked);
        assert_eq!(matching.post(id, asked, &book), Ok(None));
        assert_eq!(matching.arrive(id, 0, 7, &book), Ok(Some(id)));
    }
    assert!(matching.is_short);
}

/// A process that probes repeatedly without a match, then a burst of messages.
#[test]
fn a_burst_after_many_probes_is_kept() {
    let (mut matching, mut book) = long();
    for id in 0..100 {
        assert!(matching.cancel(id, &book));
    }
    let nothing = Asked { addr: 0, tag: 7, ignore: 0 };
    for _ in 0..2 * PATIENCE {
        assert_eq!(matching.probe(nothing, false, &book), Ok(None));
    }
    for id in 0..200 {
        book.messages.insert(id, (0, id));
        assert_eq!(matching.arrive(id, 0, id, &book), Ok(None));
    }
    for id in 0..200 {
        let asked = Asked { addr: 0, tag: id, ignore: 0 };
        book.receives.insert(1000 + id, asked);
        assert_eq!(matching.post(1000 + id, asked, &book), Ok(Some(id)));
    }
}
