//! Long streams beside `list`, from wherever its numbers stand: messages wait while thousands come and go, indexes are made anew
//! while messages get their sources, and numbers outgrow 32 bits. (In tests records of four thousand messages are far apart.)

use super::{Hashing, Hybrid, Kernel, Log};
use crate::engine::{Engine, Message, MsgId, Queue, Receive, RecvId};
use crate::engines;
use crate::envelope::{ContextId, Envelope, Rank, Selector, Tag, TagMask, Wild};

const STEPS: u64 = if cfg!(miri) { 100 } else { 200_000 };

/// Messages that wait, about.
const WAITING: usize = 500;

const SOURCES: u64 = 4;
const TAGS: u64 = 40;

/// Of messages that nobody asks for.
const LEFT: Tag = Tag(1 << 20);

struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

/// A receive that leaves one thing or another open.
fn selector(random: &mut Random) -> Selector {
    let (source, tag) = (Rank(random.below(SOURCES)), Tag(random.below(TAGS)));
    let (source, tag) = match random.below(8) {
        0 | 1 => (Wild::Any, Wild::Is(tag)),
        2 => (Wild::Is(source), Wild::Masked(TagMask { value: tag, ignore: 3 })),
        3 => (Wild::Any, Wild::Masked(TagMask { value: tag, ignore: 8 })),
        // Nobody has the lower bits of those that are left: it takes none of them.
        4 | 5 => (Wild::Is(source), Wild::Masked(TagMask { value: Tag(0), ignore: LEFT.0 - 1 })),
        _ => (Wild::Is(source), Wild::Is(tag)),
    };
    Selector::new(ContextId(0), source, tag)
}

/// The same call on both, which is to come to the same.
fn same<T: PartialEq + std::fmt::Debug>(
    pair: &mut [&mut dyn Engine; 2],
    what: &str,
    call: impl Fn(&mut dyn Engine) -> T,
) -> T {
    let [ours, right] = pair.each_mut().map(|engine| call(&mut **engine));
    assert_eq!(ours, right, "{what}");
    right
}

/// The number of the first message is this. That of the last.
fn stream(first: u64) -> u64 {
    let mut hybrid = Hybrid::<()>::new(Hashing::of_seed(7), 0, Kernel::fastest());
    (hybrid.posts, hybrid.arrivals, hybrid.log) = (first | 1, first, Log::from(first));
    let mut list = engines::create("list").unwrap();
    let mut random = Random(first);
    let (mut nameless, mut left) = (Vec::new(), Vec::new());
    let mut most_ahead = 0;
    for step in 0..STEPS {
        let pair: &mut [&mut dyn Engine; 2] = &mut [&mut hybrid, &mut *list];
        let what = format!("first {first}, step {step}");
        let is_full = pair[1].unexpected_len() > WAITING;
        match random.below(20) {
            0..=8 if !is_full => {
                let (source, tag) = (Rank(random.below(SOURCES)), Tag(random.below(TAGS)));
                let is_left = step % 997 == 0;
                let is_nameless = !is_left && random.below(4) == 0;
                let envelope = Envelope::new(
                    ContextId(0),
                    if is_nameless { Rank::UNKNOWN } else { source },
                    if is_left { LEFT } else { tag },
                );
                let _ = same(pair, &what, |engine| engine.arrive(Message::new(MsgId(step), envelope)));
                if is_nameless {
                    nameless.push(Message::new(MsgId(step), envelope));
                }
                if is_left {
                    left.push(Message::new(MsgId(step), envelope));
                }
            }
            0..=15 => {
                let receive = Receive::new(RecvId(step), selector(&mut random));
                let found = same(pair, &what, |engine| engine.post(receive).unwrap());
                if found.is_none() {
                    assert!(same(pair, &what, |engine| engine.cancel(&receive)), "{what}");
                }
            }
            16 if !nameless.is_empty() => {
                let message = nameless.swap_remove(random.below(nameless.len() as u64) as usize);
                let source = Rank(random.below(SOURCES));
                let _ = same(pair, &what, |engine| engine.readdress(&message, source));
            }
            _ => {
                let selector = selector(&mut random);
                same(pair, &what, |engine| engine.probe(&selector));
            }
        }
        most_ahead = most_ahead.max(hybrid.indexes.ahead());
    }
    assert!(cfg!(miri) || hybrid.indexes.len() > 2, "indexes are sought, too");
    assert!(cfg!(miri) || most_ahead > 0, "no index was far behind");
    let pair: &mut [&mut dyn Engine; 2] = &mut [&mut hybrid, &mut *list];
    same(pair, "what waits", |engine| {
        let mut entries = Vec::new();
        engine.visit(Queue::Unexpected, &mut |entry| entries.push(entry));
        entries
    });
    for message in left {
        assert!(same(pair, "left", |engine| engine.retract(&message)), "{message:?}");
    }
    hybrid.arrivals
}

#[test]
fn long_streams_come_to_what_the_list_says() {
    for number in 0..8 {
        stream(2 + 2 * number);
    }
}

/// A number has 59 bits.
#[test]
fn numbers_outgrow_what_holds_their_differences() {
    for bits in [31, 32, 33, 34] {
        let power = 1 << bits;
        let last = stream(power - STEPS / 4);
        // As far behind as before, about.
        assert!(last > power + STEPS / 4, "{last} is {} from 2^{bits}", last.abs_diff(power));
    }
    stream((1 << 59) - 4 * STEPS);
}
