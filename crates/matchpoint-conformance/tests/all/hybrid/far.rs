//! Searches by a kind of wildcard whose index is far behind.

use super::*;

/// Messages in numbers that wait for the first search of a kind are not indexed by it, but by later ones, a few with each.
#[test]
fn the_first_search_of_a_kind_does_not_index_all_that_waits() {
    let n = 200_000;
    let nowhere: [(Wild<Rank>, Wild<Tag>); 3] = [
        (ANY_SOURCE, tagged(1 << 40)),
        (from(1 << 40), ANY_TAG),
        (ANY_SOURCE, Wild::Masked(TagMask { value: Tag(1 << 40), ignore: 0xFF })),
    ];
    for (source, tag) in nowhere {
        let mut engine = engines::create_counting("hybrid:seed=3").unwrap();
        (0..n).for_each(|id| _ = arrive(&mut *engine, id, id, id * 7919 % n));
        let selector = Selector::new(ContextId(0), source, tag);
        let (mut before, mut bytes) = (engine.attempts().unexpected, 0.0);
        let mut probe = |engine: &mut dyn Engine| {
            assert_eq!(engine.probe(&selector), None);
            let examined =
                engine.attempts().unexpected - std::mem::replace(&mut before, engine.attempts().unexpected);
            let grown = statistic(engine, "index_bytes") - bytes;
            bytes += grown;
            (examined, grown)
        };
        // Four bytes for each, and a sixty-fourth of them indexed.
        let (examined, grown) = probe(&mut *engine);
        assert!(examined <= n + 24, "{selector:?}: {examined} examined of {n}");
        assert!(grown < 5.0 * n as f64 + 65536.0, "{selector:?}: {grown} bytes more");
        let mut in_all = 0;
        for _ in 0..32 {
            let (examined, grown) = probe(&mut *engine);
            assert!(
                examined <= n && grown < n as f64 + 65536.0,
                "{selector:?}: {examined}, {grown} bytes more"
            );
            in_all += examined;
        }
        assert!(in_all < 16 * n, "{selector:?}: {in_all} examined of {n}");
        let (examined, grown) = probe(&mut *engine);
        assert!(examined < 4 && grown == 0.0, "{selector:?}: {examined} examined, {grown} bytes more");
        assert_eq!(statistic(&*engine, "hashes_to_index"), 0.0);
    }
}

/// Where most of those that came were taken no hashes are kept, until the log has fewer of them: who looks far goes through the
/// table again, eight times at most.
#[test]
fn where_few_still_wait_the_table_is_passed_eight_times_at_most() {
    let n = 60_000;
    let mut engine = engines::create_counting("hybrid:seed=3").unwrap();
    for id in 0..4 * n {
        _ = arrive(&mut *engine, id, id, id);
        if id % 4 > 0 {
            assert_eq!(post(&mut *engine, id, from(id), tagged(id)), Some(MsgId(id)));
        }
    }
    let nowhere = Selector::new(ContextId(0), ANY_SOURCE, tagged(1 << 40));
    let mut passes = 0;
    for _ in 0..64 {
        let before = engine.attempts().unexpected;
        assert_eq!(engine.probe(&nowhere), None);
        let examined = engine.attempts().unexpected - before;
        assert!(examined <= n + 24, "{examined} examined of {n}");
        let are_kept = statistic(&*engine, "hashes_to_index") > 0.0;
        passes += u32::from(examined > n / 16 && !are_kept);
    }
    assert!((1..=8).contains(&passes), "{passes} searches looked at more than a sixteenth, and kept nothing");
}

/// Searches that go far, while indexes have not taken over all that they found; and all else that can happen to what they found:
/// beside `list`.
#[test]
fn who_looks_far_finds_what_the_list_does() {
    let mut most_ahead = 0.0;
    for seed in 1..=6 {
        let mut choices = Choices::Seed(seed);
        let mut engines = ["hybrid", "list"].map(|name| engines::create(name).unwrap());
        let mut issued = Issued::default();
        let mut next = 0;
        for round in 0..6 {
            // Some are equal, some from sources beyond 2^32, some nameless.
            for _ in 0..[6_000, 3_000][round % 2] {
                next += 1;
                let source = [3, 1 << 40, choices.below(2_000), Rank::UNKNOWN.0][choices.below(4) as usize];
                let tag = choices.below(3) * choices.below(2_000);
                let arrival = Event::Arrive(message(next, source, tag));
                play_both(&mut engines, &mut issued, arrival, seed);
            }
            for _ in 0..60 {
                let source = Rank([3, 1 << 40, choices.below(2_000)][choices.below(3) as usize]);
                let value = Tag(choices.below(3) * choices.below(2_500));
                let (from, tag) = match choices.below(8) {
                    0 => (ANY_SOURCE, Wild::Is(Tag(1 << 40))),
                    1 | 2 => (ANY_SOURCE, Wild::Is(value)),
                    3 => (Wild::Is(source), ANY_TAG),
                    at => {
                        let ignore = [0x3, 0x30, 0x300, 0x30 << seed, 1 << 50][at as usize % 5];
                        (Wild::Is(source), Wild::Masked(TagMask { value, ignore }))
                    }
                };
                let selector = Selector::new(ContextId(0), from, tag);
                let old = choices.below(next) + 1;
                for event in [
                    [Event::Probe(selector), Event::MatchedProbe(selector)][choices.below(2) as usize]
                        .clone(),
                    retract(old),
                    readdress(choices.below(next) + 1, source),
                ] {
                    play_both(&mut engines, &mut issued, event, seed);
                }
                most_ahead = f64::max(most_ahead, statistic(&*engines[0], "hashes_to_index"));
            }
            // Nearly all go, so that what was kept is mostly of the dead.
            if round == 3 {
                (next / 2..next).for_each(|id| play_both(&mut engines, &mut issued, retract(id), seed));
            }
        }
        play_both(&mut engines, &mut issued, Event::Close(ContextId(0)), seed);
    }
    assert!(most_ahead > 8_000.0, "{most_ahead} hashes were kept: no search went far");
}
