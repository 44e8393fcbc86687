//! Limits of shared memory, from the required minimum to an H100's. Smaller blocks give the same results.

use fastrand::Rng;
use matchpoint_gpu::batch::Layout;
use matchpoint_gpu::kernels::Kernel;
use matchpoint_gpu::machine::Grid;
use matchpoint_gpu::{Algorithm, Batch, Division, Loaded, match_batch};

use crate::cases::{Case, EXACT, LONG, Mix, WILD};
use crate::emulation::{Emulation, Stopped};

/// The guaranteed minimum; Turing, Volta, Ada, Ampere, Hopper.
const KIBIBYTES: [u32; 6] = [48, 64, 96, 99, 163, 227];

/// More entries than threads, almost all distinct, so that hashing and ordering find the same pairs.
const MANY: Mix =
    Mix { messages: 1100, receives: 1050, contexts: 1, sources: 1 << 15, tags: 1 << 7, ..EXACT };

/// A case with a matching message for each receive where possible, in another order.
fn met(mix: Mix, rng: &mut Rng) -> Case {
    let mut case = Case::of(mix, rng);
    for (selector, envelope) in case.selectors.iter_mut().zip(&case.envelopes) {
        *selector = matchpoint::Selector::exactly(envelope);
    }
    rng.shuffle(&mut case.selectors);
    case
}

#[test]
fn every_algorithm_keeps_card_limits() {
    let Some(mut emulation) = Emulation::built() else { return };
    let rng = &mut Rng::with_seed(3);
    let case = met(MANY, rng);
    let expected = case.matched_by_list(rng);
    for kibibytes in KIBIBYTES {
        emulation.limited(kibibytes << 10);
        for (algorithm, layout) in
            Algorithm::ALL.into_iter().flat_map(|one| Layout::ALL.map(|layout| (one, layout)))
        {
            let batch = Batch::in_layout(layout, &case.envelopes, &case.selectors).unwrap();
            let matched = match_batch(&emulation, algorithm, &batch, 5);
            assert_eq!(matched.as_ref(), Ok(&expected), "{}, {layout:?}, {kibibytes} KiB", algorithm.name());
        }
    }
}

#[test]
fn whole_card_keeps_card_limits() {
    let Some(mut emulation) = Emulation::built() else { return };
    let rng = &mut Rng::with_seed(4);
    let case = Case::of(WILD[1], rng);
    let expected = case.matched_by_list(rng);
    for (kibibytes, layout) in KIBIBYTES.into_iter().flat_map(|most| Layout::ALL.map(|layout| (most, layout)))
    {
        emulation.limited(kibibytes << 10);
        assert_eq!(Division::fits(&emulation, layout), kibibytes > 48 || layout == Layout::Wide);
        if Division::fits(&emulation, layout) {
            let batch = Batch::in_layout(layout, &case.envelopes, &case.selectors).unwrap();
            let mut loaded = Loaded::new(&emulation, &batch, &[]).unwrap();
            Division::new(&emulation, &loaded).unwrap().launch(&emulation, &mut loaded, 6).unwrap();
            assert_eq!(loaded.matched(&emulation).as_ref(), Ok(&expected), "{layout:?}, {kibibytes} KiB");
        }
    }
}

/// Blocks are no smaller than necessary: measurements of large blocks hold for cards with enough memory.
#[test]
fn block_size_follows_available_room() {
    let of = |kernel: Kernel, layout| KIBIBYTES.map(|most| kernel.threads_within(most << 10, 1024, layout));
    assert_eq!(of(Kernel::MatchOrdered, Layout::Packed), [256, 256, 512, 512, 1024, 1024]);
    assert_eq!(of(Kernel::MatchOrdered, Layout::Wide), [256, 256, 512, 512, 1024, 1024]);
    assert_eq!(of(Kernel::MatchHash, Layout::Packed), [256, 256, 512, 512, 1024, 1024]);
    assert_eq!(of(Kernel::MatchHash, Layout::Wide), [256, 512, 512, 512, 1024, 1024]);
    assert_eq!(of(Kernel::MatchPartitioned, Layout::Wide), [1024; 6]);
}

#[test]
fn too_small_card_reports_missing_room() {
    let Some(mut emulation) = Emulation::built() else { return };
    let case = Case::of(MANY, &mut Rng::with_seed(5));
    let batch = Batch::of(&case.envelopes, &case.selectors);
    emulation.limited(4 << 10);
    for algorithm in [Algorithm::Matrix, Algorithm::Ordered, Algorithm::Hash] {
        let refused = match_batch(&emulation, algorithm, &batch, 5);
        assert!(matches!(refused, Err(Stopped::SharedMemory(_))), "{}: {refused:?}", algorithm.name());
    }
    let mut loaded = Loaded::new(&emulation, &batch, &[batch.whole()]).unwrap();
    emulation.limited(Kernel::MatchOrdered.shared_bytes(64, batch.layout()));
    loaded.launch(&emulation, Algorithm::Ordered, Grid { blocks: 1, threads: 1024 }, 5).unwrap();
    assert_eq!(loaded.matched(&emulation), Ok(case.matched_by_list(&mut Rng::with_seed(6))));
}

/// Blocks that share receives would write to the same ledger.
#[test]
#[should_panic(expected = "segments have receives in common")]
fn long_segments_sharing_receives_are_refused() {
    let Some(emulation) = Emulation::built() else {
        panic!("segments have receives in common: nobody looked")
    };
    let case = Case::of(LONG[0], &mut Rng::with_seed(1));
    let batch = Batch::of(&case.envelopes, &case.selectors);
    let mut loaded = Loaded::new(&emulation, &batch, &[batch.whole(), batch.whole()]).unwrap();
    let _ = loaded.launch(&emulation, Algorithm::Ordered, Grid { blocks: 2, threads: 64 }, 5);
}
