//! What the kernels match is what MPI matches: batches at random and made to hurt, against the engine that is the rule.

mod emulation;

use std::collections::HashMap;

use emulation::Emulation;
use fastrand::Rng;
use matchpoint::{ContextId, Envelope, MsgId, Rank, RecvId, Selector, Tag, TagMask, Wild, engines};
use matchpoint_gpu::layout::{Message, NONE, Receive};
use matchpoint_gpu::partition::Partition;

/// What a batch is made of.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Mix {
    messages: usize,
    receives: usize,
    contexts: u32,
    sources: u64,
    tags: u64,
    /// Of receives, that leave something open, in percent.
    any_source: u32,
    any_tag: u32,
    masked: u32,
}

const EXACT: Mix = Mix {
    messages: 60,
    receives: 60,
    contexts: 2,
    sources: 5,
    tags: 6,
    any_source: 0,
    any_tag: 0,
    masked: 0,
};

struct Batch {
    envelopes: Vec<Envelope>,
    selectors: Vec<Selector>,
    messages: Vec<Message>,
    receives: Vec<Receive>,
}

impl Batch {
    fn of(mix: Mix, rng: &mut Rng) -> Batch {
        let envelopes: Vec<Envelope> = (0..mix.messages)
            .map(|_| {
                let context = ContextId(rng.u32(..mix.contexts));
                Envelope::new(context, Rank(rng.u64(..mix.sources)), Tag(rng.u64(..mix.tags) << 40 | 3))
            })
            .collect();
        let selectors: Vec<Selector> = (0..mix.receives)
            .map(|_| {
                let context = ContextId(rng.u32(..mix.contexts));
                let open = |percent, rng: &mut Rng| rng.u32(..100) < percent;
                let source = rng.u64(..mix.sources);
                let source = if open(mix.any_source, rng) { Wild::Any } else { Wild::Is(Rank(source)) };
                let value = Tag(rng.u64(..mix.tags) << 40 | 3);
                let tag = if open(mix.any_tag, rng) {
                    Wild::Any
                } else if open(mix.masked, rng) {
                    Wild::Masked(TagMask { value, ignore: 1 << rng.u32(38..44) | 3 })
                } else {
                    Wild::Is(value)
                };
                Selector::new(context, source, tag)
            })
            .collect();
        let messages = envelopes.iter().map(Message::from).collect();
        let receives = selectors.iter().map(Receive::from).collect();
        Batch { envelopes, selectors, messages, receives }
    }

    /// What the engine `list` makes of it, the calls of both sides mixed at random.
    fn matched_by_list(&self, rng: &mut Rng) -> Vec<u32> {
        let mut engine = engines::create("list").unwrap();
        let mut matched = vec![NONE; self.selectors.len()];
        let (mut messages, mut receives) = (self.envelopes.iter(), self.selectors.iter());
        let (mut message, mut receive) = (0, 0);
        while messages.len() + receives.len() > 0 {
            if rng.usize(..messages.len() + receives.len()) < messages.len() {
                let envelope = *messages.next().unwrap();
                let arrival = matchpoint::Message::new(MsgId(message), envelope);
                if let Some(RecvId(taken)) = engine.arrive(arrival).unwrap() {
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

/// Runs `match_batch` on batches of `mixes`, `times` each: the first that it matches otherwise than `list`.
fn first_that_differs(
    mixes: &[Mix],
    times: u64,
    match_batch: impl Fn(&Batch, &mut Rng) -> Vec<u32>,
) -> Option<(Mix, u64)> {
    let all = mixes.iter().flat_map(|&mix| (0..times).map(move |seed| (mix, seed)));
    all.into_iter().find(|&(mix, seed)| {
        let rng = &mut Rng::with_seed(seed);
        let batch = Batch::of(mix, rng);
        let expected = batch.matched_by_list(rng);
        match_batch(&batch, rng) != expected
    })
}

fn compare(mixes: &[Mix], times: u64, match_batch: impl Fn(&Batch, &mut Rng) -> Vec<u32>) {
    assert_eq!(
        first_that_differs(mixes, times, match_batch),
        None,
        "this mix, with this seed, is matched otherwise"
    );
}

/// Sizes around those of warps and windows, and what makes matching hard: few envelopes, many wildcards, nothing to match.
fn mixes(open: &[(u32, u32, u32)]) -> Vec<Mix> {
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

const WITH_WILDCARDS: &[(u32, u32, u32)] =
    &[(0, 0, 0), (10, 10, 10), (60, 0, 0), (0, 60, 0), (0, 0, 100), (100, 100, 0)];

#[test]
fn the_matrix_matches_as_mpi_does() {
    let Some(emulation) = Emulation::built() else { return };
    compare(&mixes(WITH_WILDCARDS), 2, |batch, rng| {
        // One warp that does all; one that scans and one that reduces; more messages than threads.
        let threads = [32, 64, 96, 192][rng.usize(..4)];
        emulation.matrix(&batch.messages, &batch.receives, threads, rng.u64(..))
    });
}

#[test]
fn a_matrix_of_all_threads_that_a_block_may_have_matches_as_mpi_does() {
    let Some(emulation) = Emulation::built() else { return };
    let mix =
        Mix { messages: 1100, receives: 400, sources: 20, tags: 20, any_source: 5, any_tag: 5, ..EXACT };
    compare(&[mix], 1, |batch, rng| emulation.matrix(&batch.messages, &batch.receives, 1024, rng.u64(..)));
}

#[test]
fn segments_match_as_mpi_does() {
    let Some(emulation) = Emulation::built() else { return };
    compare(&mixes(&[(0, 0, 0), (0, 50, 20)]), 3, |batch, rng| {
        let partition = Partition::by_source(&batch.messages, &batch.receives, rng.usize(1..9)).unwrap();
        let threads = [32, 64, 96][rng.usize(..3)];
        emulation.partitioned(&batch.messages, &batch.receives, &partition, threads, rng.u64(..))
    });
}

#[test]
fn numbers_within_each_envelope_match_as_mpi_does() {
    let Some(emulation) = Emulation::built() else { return };
    compare(&mixes(&[(0, 0, 0)]), 5, |batch, rng| {
        let threads = [64, 96, 256][rng.usize(..3)];
        emulation.ordered(&batch.messages, &batch.receives, threads, rng.u64(..))
    });
}

/// No order: as many matches of every envelope as there can be, no message twice.
#[test]
fn hashing_matches_all_that_there_is() {
    let Some(emulation) = Emulation::built() else { return };
    for mix in mixes(&[(0, 0, 0)]) {
        for seed in 0..5 {
            let rng = &mut Rng::with_seed(seed);
            let batch = Batch::of(mix, rng);
            let threads = [32, 64, 256][rng.usize(..3)];
            let matched = emulation.hash(&batch.messages, &batch.receives, threads, rng.u64(..));
            let mut taken = vec![false; batch.messages.len()];
            let mut left: HashMap<Envelope, (usize, usize)> = HashMap::new();
            batch.envelopes.iter().for_each(|&envelope| left.entry(envelope).or_default().0 += 1);
            for (&message, selector) in matched.iter().zip(&batch.selectors) {
                if message == NONE {
                    left.entry(selector.exact().unwrap()).or_default().1 += 1;
                    continue;
                }
                let envelope = &batch.envelopes[message as usize];
                assert!(selector.matches(envelope), "{mix:?}, seed {seed}");
                assert!(!std::mem::replace(&mut taken[message as usize], true), "{mix:?}, seed {seed}");
                left.get_mut(envelope).unwrap().0 -= 1;
            }
            let unmet = left.iter().find(|(_, (messages, receives))| *messages > 0 && *receives > 0);
            assert_eq!(unmet, None, "{mix:?}, seed {seed}");
        }
    }
}

/// Kernels with a mistake are found out by the comparisons above.
#[test]
fn mistakes_are_found() {
    let matrix: fn(&Emulation, &Batch, &mut Rng) -> Vec<u32> = |emulation, batch, rng| {
        emulation.matrix(&batch.messages, &batch.receives, [64, 96][rng.usize(..2)], rng.u64(..))
    };
    let ordered: fn(&Emulation, &Batch, &mut Rng) -> Vec<u32> =
        |emulation, batch, rng| emulation.ordered(&batch.messages, &batch.receives, 96, rng.u64(..));
    let mistakes = [
        ("a message is taken twice", "matrix.cu", "left &= ~(1u << bit);", "", matrix),
        ("a receive is taken twice", "matrix.cu", "matched[index] == NONE && ", "", matrix),
        (
            "nobody waits for the window",
            "matrix.cu",
            "            }\n            __syncthreads();",
            "            }",
            matrix,
        ),
        (
            "the youngest bidder wins",
            "matrix.cu",
            "__ffs(bidders) - 1",
            "31 - __builtin_clz(bidders)",
            matrix,
        ),
        ("masks are not looked at", "batch.h", " & ~receive.ignore", "", matrix),
        (
            "lanes of one envelope share a number",
            "ordered.cu",
            "__popc(same & ((1u << lane) - 1))",
            "0",
            ordered,
        ),
        (
            "numbers are used before they are there",
            "ordered.cu",
            "receive_count, entries, number);\n    __syncthreads();",
            "receive_count, entries, number);",
            ordered,
        ),
        (
            "receives are looked up before they are queued",
            "ordered.cu",
            "= receive;\n    __syncthreads();",
            "= receive;",
            ordered,
        ),
    ];
    for (what, file, right, wrong, match_batch) in mistakes {
        let Some(emulation) = Emulation::changed(file, right, wrong) else { return };
        let open = if file == "ordered.cu" { &WITH_WILDCARDS[..1] } else { WITH_WILDCARDS };
        let found = first_that_differs(&mixes(open), 3, |batch, rng| match_batch(&emulation, batch, rng));
        assert!(found.is_some(), "nobody notices that {what}");
    }
}
