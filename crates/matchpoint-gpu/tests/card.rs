//! What a card matches is what MPI matches, where there is a card.
//!
//! `MATCHPOINT_REQUIRE_CARD` says that there must be one.

#[path = "kernels/cases.rs"]
mod cases;

use cases::{EXACT, LARGE, Mix, REPEATED, WITH_WILDCARDS};
use cases::{divided, first_not_hashed_well, first_that_differs, mixes, partitioned, whole};
use matchpoint_gpu::card::CardError;
use matchpoint_gpu::{Algorithm, Card};

fn card() -> Option<Card> {
    match Card::open(0) {
        Err(CardError::NoDriver | CardError::NoCard(..))
            if std::env::var_os("MATCHPOINT_REQUIRE_CARD").is_none() =>
        {
            None
        }
        card => Some(card.unwrap_or_else(|error| panic!("{error}"))),
    }
}

#[test]
fn the_matrix_matches_as_mpi_does() {
    let Some(card) = card() else { return };
    let mut mixes = mixes(WITH_WILDCARDS);
    mixes.extend([REPEATED, Mix { messages: 3000, receives: 3100, any_source: 2, any_tag: 2, ..EXACT }]);
    let found = first_that_differs(&card, &mixes, 5, |card, case, rng| {
        whole(card, case, rng, Algorithm::Matrix, &[64, 96, 192, 544])
    });
    assert_eq!(found, None);
}

#[test]
fn segments_match_as_mpi_does() {
    let Some(card) = card() else { return };
    for algorithm in [Algorithm::Partitioned, Algorithm::Matrix, Algorithm::Ordered] {
        let mut mixes = mixes(&[(0, 0, 0), (0, 50, 20)]);
        mixes.push(LARGE);
        let found = match algorithm {
            Algorithm::Partitioned => first_that_differs(&card, &mixes, 3, |card, case, rng| {
                partitioned(card, case, rng, Algorithm::Partitioned)
            }),
            Algorithm::Matrix => first_that_differs(&card, &mixes, 3, |card, case, rng| {
                partitioned(card, case, rng, Algorithm::Matrix)
            }),
            _ => first_that_differs(&card, &mixes, 3, |card, case, rng| {
                partitioned(card, case, rng, Algorithm::Ordered)
            }),
        };
        assert_eq!(found, None, "{algorithm:?}");
    }
}

#[test]
fn numbers_within_each_envelope_match_as_mpi_does() {
    let Some(card) = card() else { return };
    let mut mixes = mixes(WITH_WILDCARDS);
    mixes.extend([
        REPEATED,
        LARGE,
        Mix { messages: 3000, receives: 3100, any_source: 2, any_tag: 2, ..EXACT },
    ]);
    let found = first_that_differs(&card, &mixes, 5, |card, case, rng| {
        whole(card, case, rng, Algorithm::Ordered, &[64, 128, 256, 512, 1024])
    });
    assert_eq!(found, None);
}

#[test]
fn a_whole_card_matches_as_mpi_does() {
    let Some(card) = card() else { return };
    let mut mixes = mixes(&[(0, 0, 0)]);
    let many = Mix { messages: 300_000, receives: 290_000, sources: 2000, tags: 40, ..EXACT };
    mixes.extend([
        REPEATED,
        LARGE,
        many,
        Mix { sources: 10, tags: 3, contexts: 1, messages: 100_000, receives: 90_000, ..EXACT },
    ]);
    assert_eq!(first_that_differs(&card, &mixes, 2, divided), None);
}

#[test]
fn hashing_matches_all_that_there_is() {
    let Some(card) = card() else { return };
    assert_eq!(first_not_hashed_well(&card, &[32, 64, 256, 1024]), None);
}
