//! What the kernels match is what MPI matches: on the host that plays a card, against the engine that is the rule.

mod cases;
mod emulation;

use std::path::Path;
use std::process::Command;

use cases::{
    EXACT, LARGE, Match, Mix, REPEATED, WILD, WITH_WILDCARDS, divided, first_not_compacted,
    first_not_hashed_well, first_that_differs, mixes, partitioned, whole,
};
use emulation::Emulation;
use matchpoint_gpu::Algorithm;

const MATRIX: Match<Emulation> = |emulation, case, rng| {
    // One warp that scans, and several; more messages than fit into a turn.
    whole(emulation, case, rng, Algorithm::Matrix, &[64, 96, 192])
};
const ORDERED: Match<Emulation> =
    |emulation, case, rng| whole(emulation, case, rng, Algorithm::Ordered, &[64, 128, 256]);
const PARTITIONED: Match<Emulation> =
    |emulation, case, rng| partitioned(emulation, case, rng, Algorithm::Partitioned);
const DIVIDED: Match<Emulation> = divided;

fn compare(mixes: &[Mix], times: u64, match_case: Match<Emulation>) {
    let Some(emulation) = Emulation::built() else { return };
    assert_eq!(
        first_that_differs(&emulation, mixes, times, match_case),
        None,
        "this mix, with this seed, is matched otherwise"
    );
}

const HASHED_THREADS: &[u32] = &[32, 64, 256];

/// All different, and equal ones.
fn hashed() -> Vec<Mix> {
    let mut mixes = mixes(&WITH_WILDCARDS[..1]);
    mixes.extend([REPEATED, Mix { messages: 700, receives: 650, sources: 900, tags: 200, ..EXACT }]);
    mixes
}

#[test]
fn the_matrix_matches_as_mpi_does() {
    compare(&mixes(WITH_WILDCARDS), 2, MATRIX);
}

#[test]
fn a_matrix_of_as_many_messages_as_it_can_have_matches_as_mpi_does() {
    let mix =
        Mix { messages: 1100, receives: 400, sources: 20, tags: 20, any_source: 5, any_tag: 5, ..EXACT };
    compare(&[mix], 1, |emulation, case, rng| whole(emulation, case, rng, Algorithm::Matrix, &[544]));
}

#[test]
fn segments_match_as_mpi_does() {
    compare(&mixes(&[(0, 0, 0), (0, 50, 20)]), 3, PARTITIONED);
    compare(&mixes(&[(0, 0, 0), (0, 50, 20)]), 1, |emulation, case, rng| {
        partitioned(emulation, case, rng, Algorithm::Matrix)
    });
    compare(&mixes(&[(0, 0, 0), (0, 50, 20)]), 1, |emulation, case, rng| {
        partitioned(emulation, case, rng, Algorithm::Ordered)
    });
}

#[test]
fn numbers_within_each_envelope_match_as_mpi_does() {
    compare(&mixes(WITH_WILDCARDS), 3, ORDERED);
    compare(&[REPEATED, Mix { any_source: 3, any_tag: 3, ..REPEATED }], 10, ORDERED);
}

#[test]
fn a_whole_card_matches_as_mpi_does() {
    compare(&mixes(WITH_WILDCARDS), 1, DIVIDED);
    compare(&[REPEATED, LARGE], 2, DIVIDED);
    compare(WILD, 2, DIVIDED);
}

#[test]
fn what_is_left_is_put_together_in_order() {
    let Some(emulation) = Emulation::built() else { return };
    for are_short in [false, true] {
        assert_eq!(first_not_compacted(&emulation, &mixes(&[(0, 0, 0), (0, 30, 20)]), are_short), None);
    }
}

#[test]
fn hashing_matches_all_that_there_is() {
    let Some(emulation) = Emulation::built() else { return };
    assert_eq!(first_not_hashed_well(&emulation, &hashed(), 5, HASHED_THREADS), None);
}

#[test]
fn mistakes_in_hashing_are_found() {
    let mistakes = [
        (
            "who had a receive is forgotten",
            "names[item] = atomicExch(got + differences[item], names[item]);",
            "got[differences[item]] = names[item], names[item] = NONE;",
        ),
        (
            "a receive of the second table is taken twice",
            "*(volatile unsigned *)(got + difference) == NONE && atomicCAS(got + difference, NONE, name) == NONE",
            "(got[difference] = name, true)",
        ),
        (
            "keys are not compared",
            "is_same(keys[differences[item] % WIDTH], messages[item]) && is_key_same(differences[item])",
            "is_round_same(differences[item]) && ((differences[item] %= WIDTH), true)",
        ),
        (
            "what was displaced is forgotten",
            "place_in_second(tables, chosen(displaced, __ffs(pending) - 1));",
            "continue;",
        ),
        (
            "receives are placed while the table is cleared",
            "meet_team(team, LANES);\n            round = 0;",
            "round = 0;",
        ),
        (
            "receives are looked for before they are placed",
            "meet_team(team, LANES);\n\n        fetch<LANES>(receives",
            "fetch<LANES>(receives",
        ),
        (
            "pairs are written down before all have claimed",
            "meet_team(team, LANES);\n\n#pragma unroll",
            "\n#pragma unroll",
        ),
    ];
    for (what, right, wrong) in mistakes {
        let Some(emulation) = Emulation::changed("hash.cu", right, wrong) else { return };
        assert!(
            first_not_hashed_well(&emulation, &hashed(), 5, HASHED_THREADS).is_some(),
            "nobody notices that {what}"
        );
    }
}

/// What is wrong, in which file, what stands there, what is put in its place, and who should notice.
type Mistake = (&'static str, &'static str, &'static str, &'static str, Match<Emulation>);

const MISTAKES: [Mistake; 19] = [
    ("a message is taken twice", "matrix.cu", "left ^= wins ? first : 0;", "", MATRIX),
    ("a receive is taken twice", "matrix.cu", "(is_first || batch.matched[fetched] == NONE)", "true", MATRIX),
    (
        "nobody waits for the window",
        "matrix.cu",
        "__syncthreads_or(is_left)",
        "is_left || turn < windows_here",
        MATRIX,
    ),
    ("all bidders win", "matrix.cu", "votes != 0 && (bidders & below) == 0", "votes != 0", MATRIX),
    ("masks are not looked at", "batch.h", " & ~open.ignore) == 0", ") == 0", MATRIX),
    ("a warp's messages are taken twice", "partitioned.cu", "*left ^= first;", "", PARTITIONED),
    ("lanes of one envelope share a number", "ordered.cu", "__popc(same & ((1u << lane) - 1))", "0", ORDERED),
    ("a warp counts itself as earlier", "ordered.cu", "(1u << warp % 4 * 8) - 1", "ALL", ORDERED),
    (
        "counts are summed up before they are there",
        "ordered.cu",
        "__syncthreads();\n    place_in_queue",
        "place_in_queue",
        ORDERED,
    ),
    (
        "receives are looked up before they are queued",
        "ordered.cu",
        "receive_number] = threadIdx.x;\n    __syncthreads();",
        "receive_number] = threadIdx.x;",
        ORDERED,
    ),
    (
        "those after a message that a wildcard took do not move up",
        "ordered.cu",
        "number - ++taken",
        "number - taken",
        ORDERED,
    ),
    (
        "a wildcard gets what was promised to an earlier receive",
        "ordered.cu",
        "partner > receive &&",
        "",
        ORDERED,
    ),
    (
        "tiles of a digit are in no order",
        "divide.cu",
        "counts[tile] = before + sum - count;",
        "counts[tile] = before + sums[blockDim.x - 1] - sum;",
        DIVIDED,
    ),
    ("warps of a tile share a place", "divide.cu", "next += count;", "", DIVIDED),
    ("a wildcard takes what an earlier receive has", "wild.cu", "holder > own.name && ", "", DIVIDED),
    (
        "two wildcards take of one envelope at once",
        "wild.cu",
        "bool waits = finds && *place != threadIdx.x;",
        "bool waits = false;",
        DIVIDED,
    ),
    (
        "a wildcard takes what an earlier one may want that waits",
        "wild.cu",
        "accepts(envelopes[earlier], opens[earlier], envelope)",
        "false",
        DIVIDED,
    ),
    (
        "who lost a message to a wildcard gets no other",
        "wild.cu",
        "wildcards.changed[threadIdx.x] = wildcards.segments[part];",
        "{}",
        DIVIDED,
    ),
    ("a message that a wildcard has is given away", "ordered.cu", "seeks = *held != TAKEN;", "", DIVIDED),
];

/// Kernels with a mistake are found out by the comparisons above. Each in a process of its own, which it may bring down.
#[test]
fn mistakes_are_found() {
    if Emulation::built().is_none() {
        return;
    }
    for (index, mistake) in MISTAKES.iter().enumerate() {
        // Otherwise the process would fail for want of the place, and nobody notice that.
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("kernels").join(mistake.1);
        let source = std::fs::read_to_string(source).unwrap();
        assert!(source.contains(mistake.2), "{} has no {}", mistake.1, mistake.2);
        let mut process = Command::new(std::env::current_exe().unwrap());
        process.args(["--exact", "nobody_notices_a_mistake", "--ignored"]).env(MISTAKE, index.to_string());
        let output = process.output().unwrap();
        assert!(!output.status.success(), "nobody notices that {}", mistake.0);
    }
}

/// Which of the mistakes the process of it has.
const MISTAKE: &str = "MATCHPOINT_TEST_MISTAKE";

#[test]
#[ignore = "one mistake, of the test that starts this process"]
fn nobody_notices_a_mistake() {
    let Ok(index) = std::env::var(MISTAKE) else { return };
    let (_, file, right, wrong, match_case) = MISTAKES[index.parse::<usize>().unwrap()];
    let emulation = Emulation::changed(file, right, wrong).unwrap();
    let open = match file {
        "divide.cu" => &WITH_WILDCARDS[..1],
        "partitioned.cu" => &[(0, 50, 20)],
        _ => WITH_WILDCARDS,
    };
    let mut mixes = mixes(open);
    mixes.push(REPEATED);
    match file {
        "divide.cu" => mixes.push(LARGE),
        "wild.cu" => mixes.extend(WILD),
        _ => {}
    }
    assert_eq!(first_that_differs(&emulation, &mixes, 3, match_case), None);
}
