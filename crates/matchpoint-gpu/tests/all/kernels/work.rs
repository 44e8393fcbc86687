//! Work is linear in the number of entries. Operations are counted, not timed.

use std::collections::HashSet;

use matchpoint::{ContextId, Envelope, Rank, Selector, Tag};
use matchpoint_gpu::batch::{Layout, NONE};
use matchpoint_gpu::machine::Grid;
use matchpoint_gpu::{Algorithm, Batch, Division, Loaded};

use crate::emulation::Emulation;

/// A batch with a run of entries for each envelope.
fn runs(of_messages: &[u64], of_receives: &[u64], entries: usize) -> Batch {
    let envelopes = |of: &[u64]| -> Vec<Envelope> {
        let all = of.iter().flat_map(|&tag| std::iter::repeat_n(tag, entries / of.len()));
        all.map(|tag| Envelope::new(ContextId(0), Rank(1), Tag(tag))).collect()
    };
    let selectors: Vec<Selector> = envelopes(of_receives).iter().map(Selector::exactly).collect();
    Batch::of(&envelopes(of_messages), &selectors)
}

/// Number of steps to match a batch. The k-th receive of each envelope must match its k-th message.
fn steps(
    emulation: &Emulation,
    of_messages: &[u64],
    of_receives: &[u64],
    entries: usize,
    divides: bool,
) -> u64 {
    let batch = runs(of_messages, of_receives, entries);
    let before = emulation.steps();
    let matched = if divides {
        let mut loaded = Loaded::new(emulation, &batch, &[]).unwrap();
        Division::new(emulation, &loaded).unwrap().launch(emulation, &mut loaded, 1).unwrap();
        loaded.matched(emulation).unwrap()
    } else {
        let mut loaded = Loaded::new(emulation, &batch, &[batch.whole()]).unwrap();
        loaded.launch(emulation, Algorithm::Ordered, Grid { blocks: 1, threads: 64 }, 1).unwrap();
        loaded.matched(emulation).unwrap()
    };
    let run = entries / of_receives.len();
    for (at, &message) in matched.iter().enumerate() {
        let begin = of_messages.iter().position(|&tag| tag == of_receives[at / run]);
        let expected = begin.map_or(NONE, |begin| (begin * run + at % run) as u32);
        assert_eq!(message, expected, "receive {at} of {entries}");
    }
    emulation.steps() - before
}

/// Twice the entries need little more than twice the steps: with matches, after other envelopes, without matches, and
/// on the whole card.
#[test]
fn steps_grow_linearly_with_entries() {
    let Some(emulation) = Emulation::built() else { return };
    for (of_messages, of_receives, entries, divides) in [
        (&[1][..], &[1][..], 1024, false),
        (&[1, 2], &[2, 1], 1024, false),
        (&[1], &[2], 1024, false),
        (&[1], &[1], 8192, true),
    ] {
        let of = |entries| steps(&emulation, of_messages, of_receives, entries, divides);
        let (once, twice) = (of(entries), of(2 * entries));
        let what = format!("{of_messages:?}, {of_receives:?}, {entries}, {divides}");
        assert!(twice * 10 < once * 22, "{what}: {once} steps; twice as many: {twice}");
    }
}

/// Sources and tags that cancel each other in a hash need knowledge of the seed. Envelopes with equal hashes
/// would all be compared with each other.
#[test]
fn chosen_envelopes_have_different_hashes() {
    let Some(emulation) = Emulation::built() else { return };
    let of_source = |source: u64| source.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let chosen: [fn(u64, u64) -> u64; 4] = [
        |mixed, _| mixed,
        |mixed, _| mixed.wrapping_neg(),
        |_, source| source,
        |_, source| source.wrapping_neg(),
    ];
    for (which, tag) in chosen.into_iter().enumerate() {
        for seed in [0, 1, 0x7f3a_55aa_1234_5678] {
            let hashes: HashSet<u64> = (1..=1000)
                .map(|source| {
                    let tag = tag(of_source(source), source) ^ 0x0123_4567;
                    emulation.hash(Layout::Wide, &[source, tag, 1], seed)
                })
                .collect();
            assert_eq!(hashes.len(), 1000, "choice {which}, seed {seed:#x}");
        }
    }
}
