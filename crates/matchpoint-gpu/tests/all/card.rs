//! A card matches as MPI does.

use crate::laws;
use crate::left_out;
use std::sync::Arc;

use crate::cases::{CROWDED, Case, EXACT, FOREIGN, LARGE, LONG, Mix, REPEATED, WILD, WITH_WILDCARDS};
use crate::cases::{
    divided, first_different, first_wrong_compaction, first_wrong_hashing, mixes, partitioned, whole,
};
use fastrand::Rng;
use matchpoint_conformance::Options;
use matchpoint_gpu::batch::{Layout, NONE};
use matchpoint_gpu::card::CardError;
use matchpoint_gpu::resident::Resident;
use matchpoint_gpu::{Algorithm, Batch, Card};

fn card() -> Option<Card> {
    match Card::open(0) {
        Err(CardError::NoDriver | CardError::NoCard(..)) => {
            left_out::leave_out("no NVIDIA GPU", "run the tests on a machine with one");
            None
        }
        card => Some(card.unwrap_or_else(|error| panic!("{error}"))),
    }
}

#[test]
fn matrix_matches_as_mpi() {
    let Some(card) = card() else { return };
    let mut mixes = mixes(WITH_WILDCARDS);
    mixes.extend([REPEATED, Mix { messages: 3000, receives: 3100, any_source: 2, any_tag: 2, ..EXACT }]);
    let found = first_different(&card, &mixes, 5, |card, case, rng| {
        whole(card, case, rng, Algorithm::Matrix, &[64, 96, 192, 544])
    });
    assert_eq!(found, None);
}

#[test]
fn segments_match_as_mpi() {
    let Some(card) = card() else { return };
    for algorithm in [Algorithm::Partitioned, Algorithm::Matrix, Algorithm::Ordered] {
        let mut mixes = mixes(&[(0, 0, 0), (0, 50, 20)]);
        mixes.push(LARGE);
        let found = match algorithm {
            Algorithm::Partitioned => first_different(&card, &mixes, 3, |card, case, rng| {
                partitioned(card, case, rng, Algorithm::Partitioned)
            }),
            Algorithm::Matrix => first_different(&card, &mixes, 3, |card, case, rng| {
                partitioned(card, case, rng, Algorithm::Matrix)
            }),
            _ => first_different(&card, &mixes, 3, |card, case, rng| {
                partitioned(card, case, rng, Algorithm::Ordered)
            }),
        };
        assert_eq!(found, None, "{algorithm:?}");
    }
}

#[test]
fn numbering_within_envelope_matches_as_mpi() {
    let Some(card) = card() else { return };
    let mut mixes = mixes(WITH_WILDCARDS);
    mixes.extend([
        REPEATED,
        LARGE,
        Mix { messages: 3000, receives: 3100, any_source: 2, any_tag: 2, ..EXACT },
    ]);
    let found = first_different(&card, &mixes, 5, |card, case, rng| {
        whole(card, case, rng, Algorithm::Ordered, &[64, 128, 256, 512, 1024])
    });
    assert_eq!(found, None);
    let long = |card: &_, case: &_, rng: &mut _| whole(card, case, rng, Algorithm::Ordered, &[64]);
    assert_eq!(first_different(&card, LONG, 5, long), None);
}

#[test]
fn whole_card_matches_as_mpi() {
    let Some(card) = card() else { return };
    let mut mixes = mixes(WITH_WILDCARDS);
    let many = Mix { messages: 300_000, receives: 290_000, sources: 2000, tags: 40, ..EXACT };
    mixes.extend(WILD);
    mixes.extend(CROWDED.iter().flat_map(|&mix| [mix, Mix { messages: 5000, receives: 4900, ..mix }]));
    mixes.extend([
        REPEATED,
        LARGE,
        many,
        Mix { any_source: 1, any_tag: 1, masked: 1, ..many },
        Mix { sources: 10, tags: 3, contexts: 1, messages: 100_000, receives: 90_000, ..EXACT },
        Mix {
            sources: 10,
            tags: 200,
            messages: 40_000,
            receives: 50_000,
            any_source: 4,
            any_tag: 4,
            ..EXACT
        },
    ]);
    assert_eq!(first_different(&card, &mixes, 2, divided), None);
}

#[test]
fn hashing_finds_all_pairs() {
    let Some(card) = card() else { return };
    let mut mixes = mixes(&WITH_WILDCARDS[..1]);
    mixes.extend([REPEATED, LARGE, Mix { messages: 3000, receives: 2900, sources: 900, tags: 200, ..EXACT }]);
    assert_eq!(first_wrong_hashing(&card, &mixes, 5, &[32, 64, 256, 1024]), None);
}

#[test]
fn compaction_keeps_order() {
    let Some(card) = card() else { return };
    for are_short in [false, true] {
        assert_eq!(first_wrong_compaction(&card, &mixes(&[(0, 0, 0), (0, 30, 20)]), are_short), None);
    }
}

/// Under compute-sanitizer, the other tests take hours.
#[test]
#[ignore = "a little of each kernel, for compute-sanitizer"]
fn each_kernel_matches_small_batch() {
    let Some(card) = card() else { return };
    let exact = Mix { messages: 150, receives: 140, sources: 20, ..EXACT };
    let open = Mix { any_source: 4, any_tag: 4, masked: 4, ..exact };
    let long =
        Mix { messages: 1500, receives: 1400, sources: 40, tags: 10, any_source: 1, any_tag: 1, ..EXACT };
    let right = [
        first_different(&card, &[exact, open, REPEATED], 1, |card, case, rng| {
            whole(card, case, rng, Algorithm::Matrix, &[64, 96])
        }),
        first_different(&card, &[exact, open, REPEATED], 1, |card, case, rng| {
            whole(card, case, rng, Algorithm::Ordered, &[64, 256])
        }),
        // The ledger of long segments, alone and with messages that wildcard receives hold.
        first_different(&card, &LONG[..2], 1, |card, case, rng| {
            whole(card, case, rng, Algorithm::Ordered, &[64])
        }),
        first_different(&card, &[Mix { messages: 4300, receives: 4200, ..CROWDED[2] }], 1, divided),
        first_different(&card, &[exact, Mix { any_tag: 20, ..exact }], 1, |card, case, rng| {
            partitioned(card, case, rng, Algorithm::Partitioned)
        }),
        first_different(&card, &[exact, open, long], 1, divided),
        first_wrong_hashing(&card, &[exact, REPEATED], 2, &[64, 256]),
    ];
    assert_eq!(right, [None; 7]);
    assert_eq!([false, true].map(|are_short| first_wrong_compaction(&card, &[exact], are_short)), [None; 2]);
}

/// All batches together match as MPI does.
#[test]
fn persistent_kernel_keeps_entries_between_batches() {
    let Some(card) = card() else { return };
    let open = Mix { any_source: 2, any_tag: 2, masked: 2, ..EXACT };
    for mix in [
        Mix { messages: 3000, receives: 2900, sources: 40, tags: 20, ..EXACT },
        Mix { messages: 3000, receives: 3100, sources: 4, tags: 3, ..EXACT },
        Mix { messages: 2000, receives: 2100, sources: 20, tags: 20, ..open },
        FOREIGN,
    ] {
        for layout in Layout::ALL {
            let rng = &mut Rng::with_seed(11);
            let case = Case::of(mix, rng);
            let expected = case.matched_by_list(rng);
            let mut matched = vec![NONE; case.selectors.len()];
            let mut note = |receive: u32, message: u32| {
                assert_eq!(matched[receive as usize], NONE, "receive {receive} is matched twice");
                matched[receive as usize] = message;
            };
            let mut resident = Resident::start(&card, layout, 5).unwrap();
            let (mut messages, mut receives) = (&case.envelopes[..], &case.selectors[..]);
            while !messages.is_empty() || !receives.is_empty() {
                let mut batch = Batch::empty(layout);
                let (some, others) = messages.split_at(rng.usize(..messages.len().min(1024) + 1));
                assert!(some.iter().all(|envelope| batch.push_message(envelope)));
                messages = others;
                let (some, others) = receives.split_at(rng.usize(..receives.len().min(1024) + 1));
                assert!(some.iter().all(|selector| batch.push_receive(selector)));
                receives = others;
                if !resident.has_room(&batch) || rng.bool() && resident.in_flight() > 0 {
                    resident.take(&mut note).unwrap();
                }
                resident.feed(&batch);
            }
            while resident.in_flight() > 0 {
                resident.take(&mut note).unwrap();
            }
            assert_eq!(matched, expected, "{mix:?}, {layout:?}");
        }
    }
}

#[test]
fn engines_keep_laws() {
    let Some(card) = card() else { return };
    let card = Arc::new(card);
    let options = Options { streams: 10, ..Options::quick() };
    for algorithm in Algorithm::ALL {
        let report = laws::report(&card, algorithm, &options);
        assert!(report.matches > 1000, "{}: {report:?}", algorithm.name());
    }
}
