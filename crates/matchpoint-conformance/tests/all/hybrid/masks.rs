//! Receives under ignore masks: few, many that leave the same part of the tag alone, and many that have nothing in common.

use super::*;

/// A probe by the only bit of a mask, which no message has set: it has to look at all that wait.
pub(crate) fn probe_masked(engine: &mut dyn Engine, bit: u32) -> Option<MsgId> {
    let masked = TagMask { value: Tag(1 << bit), ignore: !(1 << bit | 1 << ((bit + 24) % 64)) };
    engine.probe(&Selector::new(ContextId(0), ANY_SOURCE, Wild::Masked(masked)))
}

#[test]
fn masks_that_take_turns_do_not_each_hold_an_index() {
    let mut engine = engines::create("hybrid").unwrap();
    (0..2000).for_each(|id| _ = arrive(&mut *engine, id, id, 0));
    let without = engine.footprint().now_bytes();
    for round in 0..50 {
        for bit in 20..60 {
            assert_eq!(probe_masked(&mut *engine, bit), None, "round {round}, bit {bit}");
        }
    }
    assert!((1.0..=8.0).contains(&indexes(&*engine)), "{} indexes", indexes(&*engine));
    let with = engine.footprint().peak_bytes;
    assert!(with < 10 * without, "{without}, then {with} bytes");
}

/// Of what one class takes, the indexes of the others remember the dead.
#[test]
fn the_dead_in_indexes_are_few() {
    let mut engine = engines::create("hybrid").unwrap();
    let masked = |class: u64, tag: u64| Wild::Masked(TagMask { value: Tag(tag), ignore: class << 32 });
    for round in 0..20_000 {
        (0..64).for_each(|id| _ = arrive(&mut *engine, 64 * round + id, id, id));
        for id in (0..64).rev() {
            let found = post(&mut *engine, 64 * round + id, from(id), masked(1 + id % 8, id));
            assert_eq!(found, Some(MsgId(64 * round + id)));
        }
    }
    // Two masks have their own, six share one.
    assert_eq!(indexes(&*engine), 3.0);
    let bytes = engine.footprint().peak_bytes;
    assert!(bytes < 2 << 20, "{bytes} bytes for 64 messages");
}

/// A receive under one of many masks, all of which leave the upper half of the tag alone.
fn under_mask(at: u64) -> Wild<Tag> {
    Wild::Masked(TagMask { value: Tag(at << 32), ignore: at + 1 })
}

/// What has to be examined for each of so many masks, four receives each.
fn examined_under_masks(masks: u64, is_posted_first: bool) -> f64 {
    let mut engine = engines::create_counting("hybrid:seed=3").unwrap();
    let mut examined = 0;
    // The first round finds out what the masks ignore together.
    for round in 0..2 {
        let before = engine.attempts();
        for id in 0..4 * masks {
            match is_posted_first {
                true => assert_eq!(post(&mut *engine, id, from(7), under_mask(id % masks)), None),
                false => assert_eq!(arrive(&mut *engine, id, 7, (id % masks) << 32), None),
            }
        }
        // Masks in another order than they came in; four equals of each, first come first served.
        let ids = (0..4 * masks).map(|at| at / masks * masks + at * 37 % masks);
        for id in ids {
            match is_posted_first {
                true => assert_eq!(arrive(&mut *engine, id, 7, (id % masks) << 32), Some(RecvId(id))),
                false => assert_eq!(post(&mut *engine, id, from(7), under_mask(id % masks)), Some(MsgId(id))),
            }
        }
        let attempts = engine.attempts();
        examined = attempts.posted + attempts.unexpected - before.posted - before.unexpected;
        assert_eq!(engine.posted_len() + engine.unexpected_len(), 0, "round {round}");
    }
    examined as f64 / (4 * masks) as f64
}

#[test]
fn what_is_examined_does_not_grow_with_the_masks() {
    for is_posted_first in [true, false] {
        for masks in [16, 128, 1024, 8192] {
            let each = examined_under_masks(masks, is_posted_first);
            assert!(each < 6.0, "{masks} masks: {each} examined for each message");
        }
    }
}

#[test]
fn many_masks_take_memory_for_their_receives_not_for_themselves() {
    for masks in [8, 64, 1024, 8192] {
        let peak = |name| {
            let mut engine = engines::create(name).unwrap();
            for id in 0..4 * masks {
                post(&mut *engine, id, from(7), under_mask(id / 4));
            }
            engine.footprint().peak_bytes
        };
        let (ours, leanest) = (peak("hybrid"), peak("list"));
        // A mask and its tag are kept beside each.
        assert!(ours <= 3 * leanest + (64 << 10), "{masks} masks: {ours} bytes where list takes {leanest}");
    }
}

/// While it becomes known what masks leave alone together, an index that is too narrow is made anew of what it was.
#[test]
fn indexes_that_become_too_narrow_make_room_for_the_next() {
    let n = 4096;
    let tag = |at: u64| (at / 4) << 44 | (at % 4) << 32;
    let mut engine = engines::create("hybrid:seed=3").unwrap();
    (0..n).for_each(|id| _ = arrive(&mut *engine, id, 7, tag(id)));
    let without = engine.footprint().now_bytes();
    // The first look far, and so fill what they are not going to share.
    for at in (0..n).map(|at| (at * 37 + 511) % n) {
        let masked = Wild::Masked(TagMask { value: Tag(tag(at)), ignore: at / 4 + 1 });
        assert_eq!(post(&mut *engine, at, from(7), masked), Some(MsgId(at)));
    }
    let peak = engine.footprint().peak_bytes;
    assert!(peak < without + 32 * n, "{without}, then {peak} bytes for {n} messages");
}

/// While it becomes known what masks leave alone together, receives lie in one class after the other.
#[test]
fn classes_that_become_too_narrow_take_no_more_than_the_one_that_remains() {
    for masks in [64, 1024] {
        let mut engine = engines::create("hybrid:seed=3").unwrap();
        let tag = |at: u64| (at / 4) << 44 | (at % 4) << 32;
        let [first, second] = [1, 2].map(|_| {
            for at in 0..4 * masks {
                let masked = Wild::Masked(TagMask { value: Tag(tag(at)), ignore: at / 4 + 1 });
                assert_eq!(post(&mut *engine, at, from(7), masked), None);
            }
            let bytes = engine.footprint().now_bytes();
            (0..4 * masks).for_each(|at| assert_eq!(arrive(&mut *engine, at, 7, tag(at)), Some(RecvId(at))));
            bytes
        });
        assert!(first < second / 10 * 11, "{masks} masks: {first}, then {second} bytes");
    }
}

/// Masks of the lower ten bits under tags that differ in all of them: many meet under one key, some match, few are
/// equal. Beside `list`, with all that can happen to what is queued.
#[test]
fn masks_that_share_come_to_what_the_list_says() {
    for (seed, bits, tags) in [(1, 10, 64), (2, 4, 16), (3, 10, 8), (4, 2, 4), (5, 16, 1024)] {
        let mut choices = Choices::Seed(seed);
        let mut engines = ["hybrid", "list"].map(|name| engines::create(name).unwrap());
        let mut issued = Issued::default();
        for id in 1..=20_000 {
            let tag = Tag(choices.below(tags) << (choices.below(2) * 20) | choices.below(4));
            let source = Rank([0, 1, 1 << 40, Rank::UNKNOWN.0][choices.below(4) as usize]);
            let mask = TagMask { value: tag, ignore: choices.below(1 << bits) };
            let selector = Selector::new(ContextId(0), Wild::Is(source), Wild::Masked(mask));
            let old = id - choices.below(id.min(200));
            // Now one queue is long, now the other.
            let phase = id / 1000 % 2;
            let event = match (choices.below(16), phase) {
                (0..=6, 0) | (0..=2, 1) => Event::Post(Receive::new(RecvId(id), selector)),
                (7..=9, 0) | (3..=9, 1) => {
                    Event::Arrive(Message::new(MsgId(id), Envelope::new(ContextId(0), source, tag)))
                }
                (10, _) => cancel(old),
                (11, _) => retract(old),
                (12, _) => readdress(old, Rank(choices.below(2))),
                (13, _) => Event::MatchedProbe(selector),
                _ => Event::Probe(selector),
            };
            let event = issued.completed(event);
            issued.note(&event);
            let [ours, right] = engines.each_mut().map(|engine| event.play(&mut **engine));
            assert_eq!(ours, right, "seed {seed}: event {id}, {event}");
        }
        let [ours, right] = engines.each_mut().map(|engine| Event::Close(ContextId(0)).play(&mut **engine));
        assert_eq!(ours, right, "seed {seed}");
    }
}

/// One of so many masks that have no bit in common: each keeps `64 / masks` bits, and asks for a value there.
fn disjoint(masks: u64, at: u64, value: u64) -> Wild<Tag> {
    let bits = 64 / masks;
    let kept = u64::MAX >> (64 - bits) << (bits * at);
    Wild::Masked(TagMask { value: Tag(value << (bits * at)), ignore: !kept })
}

/// A tag that none of the masks asks for by its highest value.
fn unsought(masks: u64, choices: &mut Choices) -> u64 {
    let bits = 64 / masks;
    (0..masks).map(|at| choices.below((1 << bits) - 1) << (bits * at)).fold(0, |tag, part| tag | part)
}

/// What a search examines under each of so many masks in turn, while so many messages wait that none of them takes.
fn examined_among(waiting: u64, masks: u64) -> f64 {
    let mut engine = engines::create_counting("hybrid:seed=3").unwrap();
    let mut choices = Choices::Seed(waiting);
    for id in 0..waiting {
        assert_eq!(arrive(&mut *engine, id, id % 7, unsought(masks, &mut choices)), None);
    }
    let highest = (1 << (64 / masks)) - 1;
    let mut before = 0;
    let (rounds, warm) = (64, 16);
    for round in 0..rounds {
        if round == warm {
            before = engine.attempts().unexpected;
        }
        for at in 0..masks {
            let id = waiting + round * masks + at;
            arrive(&mut *engine, id, 3, unsought(masks, &mut choices) | highest << (64 / masks * at));
            let sought = disjoint(masks, at, highest);
            assert_eq!(post(&mut *engine, id, ANY_SOURCE, sought), Some(MsgId(id)), "mask {at}");
        }
    }
    (engine.attempts().unexpected - before) as f64 / ((rounds - warm) * masks) as f64
}

#[test]
fn what_is_examined_under_masks_with_nothing_in_common_does_not_grow_with_the_depth() {
    for masks in [9, 12, 16, 32] {
        for waiting in [4_000, 8_000, 16_000] {
            let each = examined_among(waiting, masks);
            assert!(each < 4.0, "{masks} masks, {waiting} messages: {each} examined by a search");
        }
    }
    // Where so few wait that an index for each is not worth it, what a list would, and those who were taken lately.
    let each = examined_among(500, 32);
    assert!(each < 1000.0, "{each} examined by a search");
}

/// Two bits of 64: 2016 masks, of which few can have an index.
fn two_bits(at: u64, value: u64) -> Wild<Tag> {
    let (one, other) = (at % 64, (at % 64 + 1 + at / 64) % 64);
    let kept = 1 << one | 1 << other;
    Wild::Masked(TagMask { value: Tag(value & kept), ignore: !kept })
}

#[test]
fn a_search_without_an_index_examines_what_a_list_would() {
    let mut engines = ["hybrid", "list"].map(|name| engines::create_counting(name).unwrap());
    let mut choices = Choices::Seed(9);
    for id in 0..3_000 {
        let tag = choices.below(1 << 20);
        _ = engines.each_mut().map(|engine| arrive(&mut **engine, id, id, tag));
    }
    for at in 0..2_000 {
        let before = engines.each_ref().map(|engine| engine.attempts().unexpected);
        let sought = two_bits(at, choices.below(u64::MAX) << 12);
        let [ours, right] = engines.each_mut().map(|engine| post(&mut **engine, at, ANY_SOURCE, sought));
        assert_eq!(ours, right, "mask {at}");
        let after = engines.each_ref().map(|engine| engine.attempts().unexpected);
        let [ours, list] = [0, 1].map(|which: usize| after[which] - before[which]);
        // What others took is met as well, until it is left out.
        assert!(ours <= list + at + 64, "mask {at}: {ours} examined, where a list examines {list}");
    }
    assert!(statistic(&*engines[0], "unexpected_copied") > 0.0);
}

/// Messages that receives without a wildcard took, and that a search without an index meets in the copy.
#[test]
fn the_dead_are_met_in_the_copy_once() {
    let mut engine = engines::create_counting("hybrid:seed=3").unwrap();
    let tag = |id: u64| 1 << 60 | id;
    (0..2_000).for_each(|id| _ = arrive(&mut *engine, id, id, tag(id)));
    let probe = |engine: &mut dyn Engine, at: u64, value: u64| {
        engine.probe(&Selector::new(ContextId(0), ANY_SOURCE, two_bits(at, value)))
    };
    // These have all the indexes that so few messages have.
    for at in 0..400 {
        probe(&mut *engine, at, u64::MAX);
    }
    assert_eq!(probe(&mut *engine, 60, 1 << 60), Some(MsgId(0)));
    assert!(statistic(&*engine, "unexpected_copied") > 500.0);
    (0..500).for_each(|id| assert_eq!(post(&mut *engine, id, from(id), tagged(tag(id))), Some(MsgId(id))));
    let mut examined = [0; 2];
    for examined in &mut examined {
        let before = engine.attempts().unexpected;
        assert_eq!(probe(&mut *engine, 60, 1 << 60), Some(MsgId(500)));
        *examined = engine.attempts().unexpected - before;
    }
    assert!(examined[0] > 500 && examined[1] + 400 < examined[0], "{examined:?} examined");
}

/// Beside `list`, with all that can happen to what is queued; so many masks that most have no index.
#[test]
fn masks_without_an_index_come_to_what_the_list_says() {
    let mut most_copied = 0.0;
    for (seed, bits) in [(1, 12), (2, 20), (3, 64), (4, 40)] {
        let mut choices = Choices::Seed(seed);
        let mut engines = ["hybrid", "list"].map(|name| engines::create(name).unwrap());
        let mut issued = Issued::default();
        for id in 1..=30_000 {
            let tag =
                Tag(choices.below(1 << 16).wrapping_mul(0x0001_0003_0005_0007) & (u64::MAX >> (64 - bits)));
            let context = ContextId(choices.below(2) as u32);
            let source = Rank([0, 1, 1 << 40, 1 << 41, Rank::UNKNOWN.0][choices.below(5) as usize]);
            let from = if choices.below(2) == 0 { ANY_SOURCE } else { Wild::Is(source) };
            let selector = Selector::new(context, from, two_bits(choices.below(100 << (seed % 3)), tag.0));
            let old = id - choices.below(id.min(3000));
            // Messages pile up, then most of them are received.
            let event = match (choices.below(32), id / 3000 % 2) {
                (0..=21, 0) | (0..=2, 1) => {
                    Event::Arrive(Message::new(MsgId(id), Envelope::new(context, source, tag)))
                }
                (22..=24, 0) | (3..=9, 1) => Event::Post(Receive::new(RecvId(id), selector)),
                (25, 0) | (10..=15, 1) => Event::MatchedProbe(selector),
                (26, 0) | (16..=22, 1) => retract(old),
                (27, _) => readdress(old, Rank(choices.below(2) << 40)),
                (28, _) => cancel(old),
                _ => Event::Probe(selector),
            };
            let event = issued.completed(event);
            issued.note(&event);
            let [ours, right] = engines.each_mut().map(|engine| event.play(&mut **engine));
            assert_eq!(ours, right, "seed {seed}: event {id}, {event}");
            most_copied = f64::max(most_copied, statistic(&*engines[0], "unexpected_copied"));
            if id % 15_000 == 0 {
                let [ours, right] =
                    engines.each_mut().map(|engine| Event::Close(ContextId(1)).play(&mut **engine));
                assert_eq!(ours, right, "seed {seed}");
            }
        }
    }
    assert!(most_copied > 500.0, "{most_copied} messages were copied: nearly all masks had an index");
}

/// Masks under which all messages differ: an index of each is as large as can be.
#[test]
fn what_all_indexes_take_is_bounded() {
    let mut engine = engines::create("hybrid").unwrap();
    let tag = |id: u64| id * 0x0001_0001_0001_0001;
    (0..6_000).for_each(|id| _ = arrive(&mut *engine, id, 0, tag(id)));
    let mut most = 0.0;
    for round in 0..40 {
        for at in 0..64 {
            // 15 of 16 bits.
            let kept = (0xFFFF & !(1 << (at / 4 % 15))) << (at % 4 * 16);
            let mask = TagMask { value: Tag(0x8000_8000_8000_8000), ignore: !kept };
            let selector = Selector::new(ContextId(0), ANY_SOURCE, Wild::Masked(mask));
            assert_eq!(engine.probe(&selector), None, "round {round}, mask {at}");
        }
        most = f64::max(most, statistic(&*engine, "index_bytes"));
    }
    assert!(indexes(&*engine) > 8.0, "{} indexes", indexes(&*engine));
    assert!(most < f64::from(7 << 20), "{most} bytes of indexes for 6000 messages");
}

/// Masks of which no two have a bit in common, each of one receive: who takes them in order looks at the oldest alone, and what they have
/// in common, nothing, is not found out each time.
#[test]
fn masks_without_anything_in_common_are_taken_in_order() {
    let mut engine = engines::create_counting("hybrid:seed=3,short=0").unwrap();
    let bit = |id: u64| Wild::Masked(TagMask { value: Tag(0), ignore: 1 << id });
    let mut examined = Vec::new();
    let mut bytes = Vec::new();
    for _ in 0..200 {
        (0..60).for_each(|id| assert_eq!(post(&mut *engine, id, from(0), bit(id)), None));
        let before = engine.attempts().posted;
        (0..60).for_each(|id| assert_eq!(arrive(&mut *engine, id, 0, 0), Some(RecvId(id))));
        examined.push(engine.attempts().posted - before);
        bytes.push(engine.footprint().now_bytes());
    }
    assert!(examined.iter().all(|&examined| examined <= 4 * 60), "{examined:?}");
    let changes = bytes.windows(2).filter(|pair| pair[0] != pair[1]).count();
    assert!(changes < 20, "{bytes:?}");
}

/// Masks that have nothing in common have a class each, and some that they share; once none of these receives is posted any more, what
/// others have in common is found out anew.
#[test]
fn masks_that_come_later_share_what_those_before_did_not() {
    let mut engine = engines::create("hybrid").unwrap();
    let mut round = |masks: u64, tag: fn(u64) -> u64, ignore: fn(u64) -> u64| {
        let n = 12 * masks;
        for id in 0..n {
            let masked = Wild::Masked(TagMask { value: Tag(tag(id)), ignore: ignore(id % masks) });
            assert_eq!(post(&mut *engine, id, from(1), masked), None);
        }
        let used = classes(&*engine);
        (0..n).for_each(|id| assert_eq!(arrive(&mut *engine, id, 1, tag(id)), Some(RecvId(id))));
        used
    };
    let apart = round(16, |_| 0, |mask| 0xF << (4 * mask));
    assert!(
        (16.0..=32.0).contains(&apart),
        "{apart} classes: a mask has two at most where all name the source"
    );
    let shared = [1, 2].map(|_| round(16, |id| id << 32, |mask| 1 + mask));
    assert!(shared[1] <= 3.0, "{shared:?} classes, where the upper half of the tag is in common");
}

/// A steady time of two masks does not have others find out anew what they ignore together, as long as receives lie where they shared.
#[test]
fn classes_stay_few_where_steady_times_come_between() {
    let mut engine = engines::create("hybrid:seed=3,short=0").unwrap();
    let bit = |mask: u64, tag: u64| Wild::Masked(TagMask { value: Tag(tag), ignore: 1 << mask });
    let mut choices = Choices::Seed(1);
    let mut ids = 0..;
    let mut stays = |engine: &mut dyn Engine, mask, tag| {
        assert_eq!(post(engine, ids.next().unwrap(), from(0), bit(mask, tag << 16)), None);
    };
    (0..2).for_each(|mask| stays(&mut *engine, mask, mask));
    let mut most = Vec::new();
    for round in 1..12 {
        let mut masks: Vec<u64> = (0..16).collect();
        (1..16).rev().for_each(|at| masks.swap(at, choices.below(at as u64 + 1) as usize));
        masks.into_iter().for_each(|mask| stays(&mut *engine, mask, 16 * round + mask));
        for id in 0..2200 {
            assert_eq!(post(&mut *engine, 1 << 32 | id, from(0), bit(id % 2, 7 << 40)), None);
            assert_eq!(arrive(&mut *engine, id, 0, 7 << 40), Some(RecvId(1 << 32 | id)));
        }
        most.push(classes(&*engine));
    }
    assert!(most.iter().all(|&classes| classes <= 32.0), "{most:?} classes of 16 masks");
}

/// Places of receives under masks that were taken have links in the place of names: nobody is called so.
#[test]
fn a_receive_is_found_by_its_name_behind_places_that_are_free() {
    let mut engine = engines::create("hybrid:short=0").unwrap();
    let under = |mask: u64, tag: u64| Wild::Masked(TagMask { value: Tag(tag << 8), ignore: 1 << mask });
    (0..2).for_each(|id| assert_eq!(post(&mut *engine, id, from(0), under(id, id)), None));
    let name = |k: u64| if k == 30 { 5 } else { 1000 + k };
    (0..40).for_each(|k| assert_eq!(post(&mut *engine, name(k), from(0), under(k % 3, 100 + k)), None));
    for k in [7, 4] {
        assert_eq!(arrive(&mut *engine, k, 0, (100 + k) << 8), Some(RecvId(name(k))));
    }
    let fifth = receive(5, from(0), under(0, 130));
    assert!(engine.cancel(&fifth));
    assert!(!engine.cancel(&fifth));
}
