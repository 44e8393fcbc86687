//! Tests of `partner` against its paper: attempts (Equations 7 to 17) and memory (§5.2).
//!
//! The model has one queue per level, as the paper; the engine has one ring. Every search miss must examine
//! the same number of entries in both.

use std::collections::BTreeMap;

use matchpoint::{
    Attempts, ContextId, Drained, Engine, Envelope, Message, MsgId, Rank, Receive, RecvId, Selector, Tag,
    Wild, engines,
};

/// The model has these contexts and ranks. No entry has the tag `NO_TAG`.
const CONTEXTS: u32 = 2;
const RANKS: u64 = 12;
const NO_TAG: Tag = Tag(99);

type Key = (u32, u64);

/// Model of §4.3 with the average over all processes and no bound of partners. No entries match, so numbers
/// of entries suffice.
struct Paper {
    threshold: usize,
    /// Non-partner queues of the levels. The base level is level 0.
    levels: Vec<Vec<Key>>,
    /// Level of each partner, and number of entries in its queue.
    partners: BTreeMap<Key, (usize, u64)>,
}

impl Paper {
    fn new(threshold: usize) -> Self {
        Paper { threshold, levels: vec![Vec::new()], partners: BTreeMap::new() }
    }

    fn add(&mut self, key: Key) {
        if let Some((_, entries)) = self.partners.get_mut(&key) {
            *entries += 1;
            return;
        }
        let last = self.levels.len() - 1;
        self.levels[last].push(key);
        if self.levels[last].len() > self.threshold {
            self.extract(last);
        }
    }

    /// Algorithm 1.
    fn extract(&mut self, level: usize) {
        let mut counts: BTreeMap<Key, u64> = BTreeMap::new();
        self.levels[level].iter().for_each(|&key| *counts.entry(key).or_default() += 1);
        let contexts = (0..CONTEXTS).filter(|context| counts.keys().any(|key| key.0 == *context)).count();
        let average = self.levels[level].len() as f64 / (RANKS as usize * contexts) as f64;
        let before = self.partners.len();
        counts.retain(|_, count| *count as f64 > average);
        self.partners.extend(counts.into_keys().map(|key| (key, (level, 0))));
        if self.partners.len() > before {
            self.levels.push(Vec::new());
        }
    }

    /// Attempts of a search miss with this source: Equation 12, or 13 for a partner.
    fn searched_for(&self, key: Key) -> u64 {
        let non_partner = |levels: &[Vec<Key>]| levels.iter().map(|level| level.len() as u64).sum::<u64>();
        match self.partners.get(&key) {
            None => non_partner(&self.levels),
            Some(&(level, own)) => non_partner(&self.levels[..=level]) + own,
        }
    }

    /// Attempts of an any-source search miss: Equation 17, without partners of other contexts.
    fn searched_for_any(&self, context: u32) -> u64 {
        let own = self.partners.iter().filter(|(key, _)| key.0 == context).map(|(_, (_, entries))| entries);
        self.levels.iter().map(|level| level.len() as u64).sum::<u64>() + own.sum::<u64>()
    }

    fn len(&self, of: impl Fn(Key) -> bool) -> u64 {
        let waiting = self.levels.iter().flatten().filter(|&&key| of(key)).count() as u64;
        waiting
            + self.partners.iter().filter(|(key, _)| of(**key)).map(|(_, (_, entries))| entries).sum::<u64>()
    }
}

/// Sources of messages. Few sources send most messages, and these change over time, so that several levels
/// exist.
fn senders() -> impl Iterator<Item = Key> {
    let mut state = 7u64;
    (0..1200u64).map(move |at| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let draw = state >> 33;
        let busy = 3 * (at / 300) + draw / 8 % 3;
        let rank = if draw % 8 < 5 { busy } else { draw / 8 % RANKS };
        ((draw / 97 % 3 == 0).into(), rank)
    })
}

fn all_keys() -> impl Iterator<Item = Key> {
    (0..CONTEXTS).flat_map(|context| (0..RANKS).map(move |rank| (context, rank)))
}

fn selector(context: u32, source: Wild<Rank>, tag: Tag) -> Selector {
    Selector::new(ContextId(context), source, Wild::Is(tag))
}

fn message(id: u64, (context, rank): Key, tag: Tag) -> Message {
    Message::new(MsgId(id), Envelope::new(ContextId(context), Rank(rank as u32), tag))
}

fn examined(engine: &mut dyn Engine, call: impl FnOnce(&mut dyn Engine)) -> Attempts {
    let before = engine.attempts();
    call(engine);
    let after = engine.attempts();
    Attempts { posted: after.posted - before.posted, unexpected: after.unexpected - before.unexpected }
}

fn statistic(engine: &dyn Engine, name: &str) -> f64 {
    let found = engine.statistics().into_iter().find(|(key, _)| *key == name);
    found.unwrap_or_else(|| panic!("no statistic {name}")).1
}

fn list_array_and_partner(partner: &str) -> [Box<dyn Engine>; 3] {
    ["list", "rank_array", partner].map(|name| engines::create_counting(name).unwrap())
}

#[test]
fn unexpected_searches_cost_as_equations_predict() {
    let [mut list, mut array, mut partner] = list_array_and_partner("partner:threshold=40,c=0,processes=12");
    let mut paper = Paper::new(40);
    for (id, key) in (0..).zip(senders()) {
        for engine in [&mut list, &mut array, &mut partner] {
            assert_eq!(engine.arrive_message(message(id, key, Tag(1))), Ok(None));
        }
        paper.add(key);
        if id % 100 != 99 {
            continue;
        }
        for (context, rank) in all_keys() {
            let request = selector(context, Wild::Is(Rank(rank as u32)), NO_TAG);
            let count = |engine: &mut Box<dyn Engine>| {
                examined(&mut **engine, |engine| assert_eq!(engine.probe(&request), None)).unexpected
            };
            assert_eq!(count(&mut list), id + 1, "Equation 7");
            assert_eq!(count(&mut array), paper.len(|key| key == (context, rank)), "Equation 9");
            assert_eq!(count(&mut partner), paper.searched_for((context, rank)), "Equations 12 and 13");
        }
        for context in 0..CONTEXTS {
            let request = selector(context, Wild::Any, NO_TAG);
            let count = |engine: &mut Box<dyn Engine>| {
                examined(&mut **engine, |engine| assert_eq!(engine.probe(&request), None)).unexpected
            };
            assert_eq!(count(&mut array), paper.len(|key| key.0 == context), "Equation 11");
            assert_eq!(count(&mut partner), paper.searched_for_any(context), "Equation 17");
        }
    }
    assert_eq!(paper.len(|_| true), 1200, "Equation 14");
    assert!(paper.levels.len() >= 4 && paper.partners.len() >= 8, "the test needs several levels");
    assert_eq!(statistic(&*partner, "unexpected_levels"), paper.levels.len() as f64);
    assert_eq!(statistic(&*partner, "unexpected_partners"), paper.partners.len() as f64);
    assert_eq!(statistic(&*partner, "posted_partners"), 0.0, "each queue has separate partners");
}

#[test]
fn posted_searches_cost_as_equations_predict() {
    let [mut list, mut array, mut partner] = list_array_and_partner("partner:threshold=40,c=0,processes=12");
    let (mut paper, mut from_any) = (Paper::new(40), [0; CONTEXTS as usize]);
    for (id, key) in (0..).zip(senders()) {
        let is_from_any = id % 13 == 0;
        let source = if is_from_any { Wild::Any } else { Wild::Is(Rank(key.1 as u32)) };
        let receive = Receive::new(RecvId(id), selector(key.0, source, Tag(1)));
        for engine in [&mut list, &mut array, &mut partner] {
            assert_eq!(engine.post(receive), Ok(None));
        }
        if is_from_any {
            from_any[key.0 as usize] += 1;
        } else {
            paper.add(key);
        }
        if id % 100 != 99 {
            continue;
        }
        for key in all_keys() {
            let count = |engine: &mut Box<dyn Engine>| {
                let posted = examined(&mut **engine, |engine| {
                    assert_eq!(engine.arrive_message(message(1, key, NO_TAG)), Ok(None));
                });
                assert!(engine.retract(&message(1, key, NO_TAG)), "the message is withdrawn");
                posted.posted
            };
            assert_eq!(count(&mut list), id + 1, "Equation 8");
            let own = paper.len(|entry| entry == key);
            assert_eq!(count(&mut array), own + from_any[key.0 as usize], "Equation 10");
            let expected = paper.searched_for(key) + from_any.iter().sum::<u64>();
            assert_eq!(count(&mut partner), expected, "Equations 15 and 16");
        }
    }
    assert!(paper.levels.len() >= 4 && paper.partners.len() >= 8, "the test needs several levels");
    assert_eq!(statistic(&*partner, "posted_levels"), paper.levels.len() as f64);
}

/// Attempts of a gather: `sources` send 64 messages each in turn, and receives take the messages source by
/// source.
fn gathered(name: &str, sources: u64) -> u64 {
    let mut engine = engines::create_counting(name).unwrap();
    for id in 0..64 * sources {
        engine.arrive_message(message(id, (0, id % sources), Tag(id / sources))).unwrap();
    }
    for id in 0..64 * sources {
        let request = selector(0, Wild::Is(Rank((id / 64) as u32)), Tag(id % 64));
        assert!(matches!(engine.post(Receive::new(RecvId(id), request)), Ok(Some(_))));
    }
    engine.attempts().unexpected
}

#[test]
fn gather_at_root_costs_less_with_partners() {
    // A list examines about (64·sources)² ÷ 4 entries. With partners, a search examines one or two levels
    // first.
    let [small, large] = [128, 256].map(|sources| gathered("partner:processes=256,c=0", sources));
    assert!(large < 3 * small, "{small}, {large}");
    let list = gathered("list", 128);
    assert!(list > 30 * small, "{list}, {small}");
    // With c=4, at most half of the sources become partners, and the share of the other sources is unchanged.
    let bounded = gathered("partner:processes=256,c=4", 128);
    assert!(small < bounded && bounded < list, "{small}, {bounded}, {list}");
}

#[test]
fn memory_grows_with_root_of_processes() {
    let peers_bytes = |name: &str, sources: u64| {
        let mut engine = engines::create(name).unwrap();
        for id in 0..8 * sources {
            engine.arrive_message(message(id, (0, id % sources), Tag(0))).unwrap();
        }
        engine.footprint().peers_bytes
    };
    let root = |processes: u64| format!("partner:c=4,processes={processes}");
    let [small, large] = [1024, 16_384].map(|processes| peers_bytes(&root(processes), processes));
    assert!(large < 5 * small, "16 times the processes take 4 times the memory: {small}, {large}");
    // 4 × 128 partners of 32 bytes, 128 entries of 4 bytes, and the counters of extraction.
    assert!((512 * 32..512 * 32 + 512 + 8192).contains(&large), "{large}");
    let array = peers_bytes("rank_array", 16_384);
    assert!(array > 6 * large, "{array}, {large}");
    let unbounded = peers_bytes("partner:c=0,processes=16384", 16_384);
    assert!(unbounded > array, "every process is a partner: {unbounded}, {array}");
}

#[test]
fn equal_senders_become_no_partners() {
    let mut engine = engines::create_counting("partner:threshold=10,over=senders").unwrap();
    // No source has more entries than the average.
    for id in 0..10_000 {
        engine.arrive_message(message(id, (0, id), Tag(0))).unwrap();
    }
    assert_eq!(statistic(&*engine, "unexpected_partners"), 0.0);
    let extractions = statistic(&*engine, "extractions");
    assert!((8.0..=11.0).contains(&extractions), "{extractions} extractions, not about log2(10000 ÷ 10)");
    assert_eq!(statistic(&*engine, "extractions_without_partner"), extractions);
}

#[test]
fn queue_without_partners_has_no_lookup() {
    let mut engine = engines::create_counting("partner:processes=64").unwrap();
    for id in 0..100 {
        engine.arrive_message(message(id, (0, id % 50), Tag(0))).unwrap();
    }
    assert_eq!(statistic(&*engine, "hash_lookups"), 0.0);
    // The 101st message makes partners of the 50 sources, up to the table's capacity. The 102nd needs a
    // lookup.
    for id in 100..102 {
        engine.arrive_message(message(id, (0, id % 50), Tag(0))).unwrap();
    }
    assert_eq!(statistic(&*engine, "unexpected_partners"), 32.0, "8 table entries with 4 partners each");
    assert_eq!(statistic(&*engine, "hash_lookups"), 1.0);
    // No lookup for a match at the base level (Algorithm 3, lines 1 to 3).
    let request = selector(0, Wild::Is(Rank(49)), Tag(0));
    assert_eq!(engine.post(Receive::new(RecvId(0), request)), Ok(Some(MsgId(49))));
    assert_eq!(statistic(&*engine, "hash_lookups"), 1.0);
}

#[test]
fn closed_context_frees_partner_slots() {
    let mut engine = engines::create("partner:threshold=4,c=1,processes=4").unwrap();
    let partners = |engine: &dyn Engine| {
        ["posted_partners", "unexpected_partners"].map(|name| statistic(engine, name) as u64)
    };
    for round in 0..3 {
        for id in 0..8 {
            engine.arrive_message(message(id, (round, id % 2), Tag(0))).unwrap();
            let request = selector(round, Wild::Is(Rank((id % 2) as u32)), NO_TAG);
            engine.post(Receive::new(RecvId(id), request)).unwrap();
        }
        assert_eq!(partners(&*engine), [2, 2], "round {round}");
        engine.close(ContextId(round), &mut Drained::default());
        assert_eq!(partners(&*engine), [0, 0], "round {round}");
    }
}

/// An engine with a profile and these parameters, and its number of partners in the unexpected queue.
fn profiled(parameters: &str) -> (u64, Box<dyn Engine>) {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/some.partners");
    let name = format!("partner:mode=static,profile={file},{parameters}");
    let mut engine = engines::create_counting(&name).unwrap_or_else(|error| panic!("{error}"));
    for id in 0..100 {
        engine.arrive_message(message(id, (0, id % 4), Tag(0))).unwrap();
    }
    let attempts = [0, 2, 3].map(|rank| {
        let request = selector(0, Wild::Is(Rank(rank)), NO_TAG);
        examined(&mut *engine, |engine| assert_eq!(engine.probe(&request), None)).unexpected
    });
    // In the profile, ranks 0 and 2 had unexpected messages; rank 1 had none, rank 3 only in another context.
    assert_eq!(attempts, [25, 25, 50]);
    (statistic(&*engine, "unexpected_partners") as u64, engine)
}

#[test]
fn profile_makes_partners_before_first_entry() {
    let (partners, engine) = profiled("process=0");
    assert_eq!(partners, 3);
    assert_eq!(statistic(&*engine, "posted_partners"), 4.0);
    assert_eq!(statistic(&*engine, "extractions"), 0.0);
    // The median of 1, 7 and 3 is 3: only rank 2 has more.
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/some.partners");
    let name = format!("partner:mode=static,profile={file},metric=median,over=senders");
    let engine = engines::create(&name).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(statistic(&*engine, "unexpected_partners"), 1.0);
}

/// The memory of `rank_array` equals the formula, except for its list of communicators.
#[test]
fn memory_stays_below_rank_array() {
    let [_, mut array, mut partner] = list_array_and_partner("partner:threshold=10,processes=1024");
    let memory_statistics = |engine: &dyn Engine| {
        ["partners_bytes", "rank_array_bytes", "partners_bytes_per_rank_array_bytes"]
            .map(|name| statistic(engine, name))
    };
    assert_eq!(memory_statistics(&*partner)[1..], [0.0, 0.0]);
    // The highest rank first, so that the array has its final size at once.
    let ranks =
        (0..1024).rev().flat_map(|rank| std::iter::repeat_n(rank, if rank % 16 == 0 { 4 } else { 1 }));
    for (id, key) in (0..).zip((0..2).flat_map(|context| ranks.clone().map(move |rank| (context, rank)))) {
        for engine in [&mut array, &mut partner] {
            assert_eq!(engine.arrive_message(message(id, key, Tag(1))), Ok(None));
        }
    }
    let [partners, formula, ratio] = memory_statistics(&*partner);
    assert_eq!(formula, 8.0 * 1024.0 * 2.0);
    let additional = array.footprint().peers_bytes as f64 - formula;
    assert!((0.0..1000.0).contains(&additional), "{additional} bytes more than the formula");
    assert_eq!((partners, ratio), (partner.footprint().peers_bytes as f64, partners / formula));
    assert!(statistic(&*partner, "unexpected_partners") > 10.0 && ratio > 0.0, "{ratio}");
    // An address is in no array.
    assert_eq!(partner.arrive_message(message(u64::MAX, (1, 1 << 60), Tag(1))), Ok(None));
    partner.close(ContextId(0), &mut Drained::default());
    assert_eq!(memory_statistics(&*partner)[1], 8.0 * 1024.0);
}
