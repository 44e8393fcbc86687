//! Random and adversarial batches, their matching by a machine, and the reference result of `list`.

use std::collections::HashMap;

use fastrand::Rng;
use matchpoint::{ContextId, Envelope, MsgId, Rank, RecvId, Selector, Tag, TagMask, Wild, engines};
use matchpoint_gpu::batch::{Layout, NONE};
use matchpoint_gpu::compaction::{Compaction, Unmatched};
use matchpoint_gpu::machine::{Grid, Machine};
use matchpoint_gpu::partition::Partition;
use matchpoint_gpu::{Algorithm, Batch, Division, Loaded};

#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Mix {
    pub messages: usize,
    pub receives: usize,
    pub contexts: u32,
    pub sources: u64,
    pub tags: u64,
    /// Percentages of the receives.
    pub any_source: u32,
    pub any_tag: u32,
    pub masked: u32,
}

pub const EXACT: Mix = Mix {
    messages: 60,
    receives: 60,
    contexts: 2,
    sources: 5,
    tags: 6,
    any_source: 0,
    any_tag: 0,
    masked: 0,
};

pub struct Case {
    pub envelopes: Vec<Envelope>,
    pub selectors: Vec<Selector>,
}

impl Case {
    pub fn of(mix: Mix, rng: &mut Rng) -> Case {
        let envelopes: Vec<Envelope> = (0..mix.messages)
            .map(|_| {
                let context = ContextId(rng.u32(..mix.contexts));
                Envelope::new(
                    context,
                    Rank(rng.u64(..mix.sources) as u32),
                    Tag(rng.u64(..mix.tags) << 16 | 3),
                )
            })
            .collect();
        let selectors: Vec<Selector> = (0..mix.receives)
            .map(|_| {
                let context = ContextId(rng.u32(..mix.contexts));
                let open = |percent, rng: &mut Rng| rng.u32(..100) < percent;
                let source = rng.u64(..mix.sources);
                let source =
                    if open(mix.any_source, rng) { Wild::Any } else { Wild::Is(Rank(source as u32)) };
                let value = Tag(rng.u64(..mix.tags) << 16 | 3);
                let tag = if open(mix.any_tag, rng) {
                    Wild::Any
                } else if open(mix.masked, rng) {
                    Wild::Masked(TagMask {
                        value,
                        ignore: [1 << rng.u32(14..20) | 3, 1 << 40][rng.usize(..2)],
                    })
                } else {
                    Wild::Is(value)
                };
                Selector::new(context, source, tag)
            })
            .collect();
        Case { envelopes, selectors }
    }

    /// A batch in a random layout.
    fn batch(&self, rng: &mut Rng) -> Batch {
        let layout = Layout::ALL[rng.usize(..2)];
        Batch::in_layout(layout, &self.envelopes, &self.selectors).expect("all is small")
    }

    /// Result of `list`, after posts and arrivals in random order.
    pub fn matched_by_list(&self, rng: &mut Rng) -> Vec<u32> {
        // For large cases, `hybrid` replaces the slow `list`. The laws check `hybrid`.
        let engine = if self.envelopes.len() > 20_000 { "hybrid" } else { "list" };
        let mut engine = engines::create(engine).unwrap();
        let mut matched = vec![NONE; self.selectors.len()];
        let (mut messages, mut receives) = (self.envelopes.iter(), self.selectors.iter());
        let (mut message, mut receive) = (0, 0);
        while messages.len() + receives.len() > 0 {
            if rng.usize(..messages.len() + receives.len()) < messages.len() {
                let envelope = *messages.next().unwrap();
                let arrival = matchpoint::Message::new(MsgId(message), envelope);
                if let Some(RecvId(taken)) = engine.arrive_message(arrival).unwrap() {
                    matched[taken as usize] = message as u32;
                }
                message += 1;
            } else {
                let post = matchpoint::Receive::new(RecvId(receive), *receives.next().unwrap());
                if let Some(MsgId(taken)) = engine.post(post).unwrap() {
                    matched[receive as usize] = taken as u32;
                }
                receive += 1;
            }
        }
        matched
    }
}

/// Returns for each receive its message.
pub type Match<M> = fn(&M, &Case, &mut Rng) -> Vec<u32>;

/// Matches one segment with one block.
pub fn whole<M: Machine>(
    machine: &M,
    case: &Case,
    rng: &mut Rng,
    algorithm: Algorithm,
    threads: &[u32],
) -> Vec<u32> {
    let batch = case.batch(rng);
    let grid = Grid { blocks: 1, threads: threads[rng.usize(..threads.len())] };
    let mut loaded = Loaded::new(machine, &batch, &[batch.whole()]).unwrap();
    loaded.launch(machine, algorithm, grid, rng.u64(..)).unwrap();
    loaded.matched(machine).unwrap()
}

/// Matches segments by source, with fewer or more blocks than segments.
pub fn partitioned<M: Machine>(machine: &M, case: &Case, rng: &mut Rng, algorithm: Algorithm) -> Vec<u32> {
    let partition = Partition::by_source(&case.batch(rng), rng.usize(1..9)).unwrap();
    let grid = Grid { blocks: rng.u32(1..4), threads: [64, 128][rng.usize(..2)] };
    let mut loaded = Loaded::new(machine, &partition.batch, &partition.segments).unwrap();
    loaded.launch(machine, algorithm, grid, rng.u64(..)).unwrap();
    partition.matched_before(&loaded.matched(machine).unwrap())
}

/// Sizes around those of warps and windows, and difficult content: few envelopes, many wildcards, no matches.
pub fn mixes(open: &[(u32, u32, u32)]) -> Vec<Mix> {
    let mut mixes = Vec::new();
    for &(any_source, any_tag, masked) in open {
        for (messages, receives) in [(0, 5), (5, 0), (1, 1), (31, 33), (64, 65), (150, 130), (33, 200)] {
            for (contexts, sources, tags) in [(1, 1, 1), (1, 2, 3), (3, 4, 5), (1, 50, 50)] {
                mixes.push(Mix { messages, receives, contexts, sources, tags, any_source, any_tag, masked });
            }
        }
    }
    mixes
}

pub const WITH_WILDCARDS: &[(u32, u32, u32)] =
    &[(0, 0, 0), (10, 10, 10), (60, 0, 0), (0, 60, 0), (0, 0, 100), (100, 100, 0)];

/// One side has many duplicates: linked entries across warps, next to slots with one entry.
pub const REPEATED: Mix = Mix { messages: 300, receives: 280, sources: 3, tags: 1, contexts: 1, ..EXACT };

/// Segments of more than eight parts on both sides: one, some or many envelopes, with and without wildcards.
pub const LONG: &[Mix] = &[
    Mix { messages: 700, receives: 650, sources: 1, tags: 1, contexts: 1, ..EXACT },
    Mix { messages: 650, receives: 700, sources: 3, tags: 2, contexts: 1, ..EXACT },
    Mix { messages: 1200, receives: 1100, sources: 40, tags: 30, ..EXACT },
    Mix { messages: 650, receives: 700, sources: 3, tags: 2, contexts: 1, any_tag: 2, ..EXACT },
];

/// Most entries have no match. Each batch leaves several blocks of 64 threads.
pub const FOREIGN: Mix = Mix { messages: 1000, receives: 900, sources: 60, tags: 60, ..EXACT };

/// Several tiles and several parts.
pub const LARGE: Mix = Mix { messages: 9000, receives: 10_000, sources: 300, tags: 10, ..EXACT };

/// Wildcard receives of several parts that compete for messages: few of many, and many of few.
pub const WILD: &[Mix] = &[
    Mix { any_source: 3, any_tag: 3, masked: 2, ..REPEATED },
    Mix {
        messages: 1500,
        receives: 1400,
        sources: 40,
        tags: 10,
        any_source: 2,
        any_tag: 2,
        masked: 1,
        ..EXACT
    },
    Mix {
        messages: 800,
        receives: 900,
        sources: 200,
        tags: 50,
        contexts: 1,
        any_source: 20,
        any_tag: 20,
        masked: 0,
    },
];

/// Parts longer than eight blocks of 256 threads: few envelopes, some wildcards.
pub const CROWDED: &[Mix] = &[
    Mix { messages: 700, receives: 650, sources: 2, tags: 1, contexts: 1, any_tag: 1, ..EXACT },
    Mix { messages: 2200, receives: 2150, sources: 1, tags: 1, contexts: 1, ..EXACT },
    Mix { messages: 2150, receives: 2200, sources: 1, tags: 1, contexts: 1, any_tag: 1, ..EXACT },
];

/// Matches a case with the whole machine.
pub fn divided<M: Machine>(machine: &M, case: &Case, rng: &mut Rng) -> Vec<u32> {
    let batch = case.batch(rng);
    let mut loaded = Loaded::new(machine, &batch, &[]).unwrap();
    let mut division = Division::new(machine, &loaded).unwrap();
    division.launch(machine, &mut loaded, rng.u64(..)).unwrap();
    loaded.matched(machine).unwrap()
}

/// First case with an incorrect compaction, by a block or a warp per segment.
pub fn first_wrong_compaction<M: Machine>(machine: &M, mixes: &[Mix], are_short: bool) -> Option<Mix> {
    mixes.iter().copied().find(|&mix| {
        let rng = &mut Rng::with_seed(7);
        let partition = Partition::by_source(&Case::of(mix, rng).batch(rng), rng.usize(1..9)).unwrap();
        let grid = Grid { blocks: rng.u32(1..4), threads: [64, 128][rng.usize(..2)] };
        let mut loaded = Loaded::new(machine, &partition.batch, &partition.segments).unwrap();
        loaded.launch(machine, Algorithm::Ordered, grid, rng.u64(..)).unwrap();
        let mut compaction = Compaction::new(machine, &loaded).unwrap();
        compaction.launch(machine, &mut loaded, are_short, grid).unwrap();
        let matched = loaded.matched(machine).unwrap();
        let Unmatched { messages, receives, segments } = compaction.read_unmatched(machine, &loaded).unwrap();
        partition.segments.iter().zip(&segments).any(|(whole, left)| {
            let is_free = |&message: &u32| !matched.contains(&message);
            let free: Vec<u32> = (whole.message..whole.message_end).filter(is_free).collect();
            let waiting =
                (whole.receive..whole.receive_end).filter(|&receive| matched[receive as usize] == NONE);
            let expected = partition.batch.gathered(&free, &waiting.collect::<Vec<u32>>());
            let width = partition.batch.layout().envelope_words();
            let range = |from: u32, end: u32| from as usize * width..end as usize * width;
            (whole.message, whole.receive) != (left.message, left.receive)
                || messages[range(left.message, left.message_end)] != *expected.words().0
                || receives[range(left.receive, left.receive_end)] != *expected.words().1
        })
    })
}

/// First of `times` cases of each mix with another result than `list`.
pub fn first_different<M: Machine>(
    machine: &M,
    mixes: &[Mix],
    times: u64,
    match_case: Match<M>,
) -> Option<(Mix, u64)> {
    let all = mixes.iter().flat_map(|&mix| (0..times).map(move |seed| (mix, seed)));
    all.into_iter().find(|&(mix, seed)| {
        let rng = &mut Rng::with_seed(seed);
        let case = Case::of(mix, rng);
        let expected = case.matched_by_list(rng);
        match_case(machine, &case, rng) != expected
    })
}

/// First case with an incorrect result without order. A result is incorrect if a message has two receives, if
/// a pair does not match, or if an envelope has an unmatched message and an unmatched receive.
pub fn first_wrong_hashing<M: Machine>(
    machine: &M,
    mixes: &[Mix],
    times: u64,
    threads: &[u32],
) -> Option<(Mix, u64)> {
    let all = mixes.iter().flat_map(|&mix| (0..times).map(move |seed| (mix, seed)));
    all.into_iter().find(|&(mix, seed)| {
        let rng = &mut Rng::with_seed(seed);
        let case = Case::of(mix, rng);
        let matched = if rng.bool() {
            whole(machine, &case, rng, Algorithm::Hash, threads)
        } else {
            partitioned(machine, &case, rng, Algorithm::Hash)
        };
        let mut taken = vec![false; case.envelopes.len()];
        let mut left: HashMap<Envelope, (usize, usize)> = HashMap::new();
        let mut are_right = true;
        for (&message, selector) in matched.iter().zip(&case.selectors) {
            if message == NONE {
                left.entry(selector.exact().unwrap()).or_default().1 += 1;
            } else {
                are_right &= selector.matches(&case.envelopes[message as usize]);
                are_right &= !std::mem::replace(&mut taken[message as usize], true);
            }
        }
        let unmatched = case.envelopes.iter().zip(&taken).filter(|(_, is_taken)| !**is_taken);
        unmatched.for_each(|(&envelope, _)| left.entry(envelope).or_default().0 += 1);
        !are_right || left.values().any(|&(messages, receives)| messages > 0 && receives > 0)
    })
}
