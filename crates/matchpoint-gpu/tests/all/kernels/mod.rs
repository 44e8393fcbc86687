//! Kernels match as MPI does: on the emulation, compared with `list`.

mod limits;
mod work;

use std::io::Write;
use std::path::Path;
use std::process::Command;

use crate::cases::{
    CROWDED, Case, EXACT, FOREIGN, LARGE, LONG, Match, Mix, REPEATED, WILD, WITH_WILDCARDS, divided,
    first_different, first_wrong_compaction, first_wrong_hashing, mixes, partitioned, whole,
};
use crate::emulation::Emulation;
use crate::left_out;
use fastrand::Rng;
use matchpoint_gpu::batch::{Layout, NONE};
use matchpoint_gpu::resident::{match_preloaded_batches, match_preloaded_stream};
use matchpoint_gpu::{Algorithm, Batch};

const MATRIX: Match<Emulation> = |emulation, case, rng| {
    // One or several warps scan. Some batches have more messages than one pass.
    whole(emulation, case, rng, Algorithm::Matrix, &[64, 96, 192])
};
const ORDERED: Match<Emulation> =
    |emulation, case, rng| whole(emulation, case, rng, Algorithm::Ordered, &[64, 128, 256]);
const PARTITIONED: Match<Emulation> =
    |emulation, case, rng| partitioned(emulation, case, rng, Algorithm::Partitioned);
const DIVIDED: Match<Emulation> = divided;

fn compare(mixes: &[Mix], times: u64, match_case: Match<Emulation>) {
    let Some(emulation) = Emulation::built() else { return };
    assert_eq!(first_different(&emulation, mixes, times, match_case), None, "{OTHERWISE}");
}

const HASHED_THREADS: &[u32] = &[32, 64, 256];

/// Mixes of distinct entries and of duplicates.
fn hashed() -> Vec<Mix> {
    let mut mixes = mixes(&WITH_WILDCARDS[..1]);
    mixes.extend([REPEATED, Mix { messages: 700, receives: 650, sources: 900, tags: 200, ..EXACT }]);
    mixes
}

#[test]
fn matrix_matches_as_mpi() {
    compare(&mixes(WITH_WILDCARDS), 2, MATRIX);
}

#[test]
fn largest_matrix_matches_as_mpi() {
    let mix =
        Mix { messages: 1100, receives: 400, sources: 20, tags: 20, any_source: 5, any_tag: 5, ..EXACT };
    compare(&[mix], 1, |emulation, case, rng| whole(emulation, case, rng, Algorithm::Matrix, &[544]));
}

#[test]
fn segments_match_as_mpi() {
    compare(&mixes(&[(0, 0, 0), (0, 50, 20)]), 3, PARTITIONED);
    compare(&mixes(&[(0, 0, 0), (0, 50, 20)]), 1, |emulation, case, rng| {
        partitioned(emulation, case, rng, Algorithm::Matrix)
    });
    compare(&mixes(&[(0, 0, 0), (0, 50, 20)]), 1, |emulation, case, rng| {
        partitioned(emulation, case, rng, Algorithm::Ordered)
    });
}

#[test]
fn numbering_within_envelope_matches_as_mpi() {
    compare(&mixes(WITH_WILDCARDS), 3, ORDERED);
    compare(&[REPEATED, Mix { any_source: 3, any_tag: 3, ..REPEATED }], 10, ORDERED);
    compare(LONG, 4, ORDERED);
}

#[test]
fn whole_card_matches_as_mpi() {
    compare(&mixes(WITH_WILDCARDS), 1, DIVIDED);
    compare(&[REPEATED, LARGE], 2, DIVIDED);
    compare(WILD, 2, DIVIDED);
}

#[test]
fn parts_larger_than_block_match_as_mpi() {
    let Some(mut emulation) = Emulation::built() else { return };
    emulation.limited(64 << 10);
    assert_eq!(first_different(&emulation, CROWDED, 1, DIVIDED), None);
}

/// Matches a case on a persistent kernel, in batches of new entries.
fn resident(emulation: &Emulation, case: &Case, rng: &mut Rng) -> Vec<u32> {
    let layout = Layout::ALL[rng.usize(..2)];
    let batches: Vec<Batch> = (0..8)
        .map(|turn| {
            let share = |count: usize| count * turn / 8..count * (turn + 1) / 8;
            let (envelopes, selectors) = (share(case.envelopes.len()), share(case.selectors.len()));
            Batch::in_layout(layout, &case.envelopes[envelopes], &case.selectors[selectors]).unwrap()
        })
        .collect();
    let mut matched = vec![NONE; case.selectors.len()];
    for (receive, message) in match_preloaded_batches(emulation, 64, &batches, rng.u64(..)).unwrap().concat()
    {
        assert_eq!(matched[receive as usize], NONE, "receive {receive} is matched twice");
        matched[receive as usize] = message;
    }
    matched
}

#[test]
fn persistent_kernel_matches_as_mpi() {
    compare(&mixes(WITH_WILDCARDS), 1, resident);
    compare(&[REPEATED, FOREIGN], 3, resident);
    compare(LONG, 1, resident);
}

#[test]
fn persistent_kernel_takes_batches_from_kernel() {
    let Some(emulation) = Emulation::built() else { return };
    for (batches, entries) in [(1, 1), (3, 100), (8, 7), (8, 64)] {
        let (stream, _) = matchpoint_gpu::measure::Mix::of(entries).stream(batches, 3);
        for seed in [1, 5] {
            let last = match_preloaded_stream(&emulation, 64, &stream, entries, seed);
            assert_eq!(last, Ok(entries), "{batches} batches of {entries}");
        }
    }
}

#[test]
fn compaction_keeps_order() {
    let Some(emulation) = Emulation::built() else { return };
    for are_short in [false, true] {
        assert_eq!(first_wrong_compaction(&emulation, &mixes(&[(0, 0, 0), (0, 30, 20)]), are_short), None);
    }
}

#[test]
fn hashing_finds_all_pairs() {
    let Some(emulation) = Emulation::built() else { return };
    assert_eq!(first_wrong_hashing(&emulation, &hashed(), 5, HASHED_THREADS), None);
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
        let Some(emulation) = Emulation::changed("-O1", "hash.cu", right, wrong) else { return };
        assert!(
            first_wrong_hashing(&emulation, &hashed(), 5, HASHED_THREADS).is_some(),
            "nobody notices that {what}"
        );
    }
}

/// Description, file, original text, replacement, and the comparison that finds the mistake.
type Mistake = (&'static str, &'static str, &'static str, &'static str, Match<Emulation>);

const MISTAKES: [Mistake; 29] = [
    (
        "what came meets nothing that was left before",
        "resident.cu",
        "message_base + threads <= old_messages ? old_receives : 0",
        "old_receives",
        resident,
    ),
    (
        "messages that were left meet nothing that comes",
        "resident.cu",
        "message_base + threads <= old_messages ? old_receives : 0",
        "message_base + threads <= old_messages ? receive_count : 0",
        resident,
    ),
    (
        "what is left loses its name",
        "resident.cu",
        "rest.message_names[left] = queue.message_names[at];",
        "",
        resident,
    ),
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
    ("masks are not looked at", "batch.h", " & ~wild_mask.ignore) == 0", ") == 0", MATRIX),
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
        "accepts(envelopes[earlier], wild_masks[earlier], envelope)",
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
    ("a message that a wildcard has is given away", "segments.cu", "seeks = *held != TAKEN;", "", DIVIDED),
    ("a part is left while its messages seek", "segments.cu", "if (!any_seeks)", "if (is_first)", ORDERED),
    (
        "a part in which receives wait is passed over",
        "ordered.cu",
        "__syncthreads_or(waits)",
        "true",
        ORDERED,
    ),
    (
        "receives of a long segment are queued over those before",
        "long.cu",
        "ledger.placed[slot] += tables.receives[threadIdx.x];",
        "",
        ORDERED,
    ),
    (
        "receives of a long segment are given away twice",
        "long.cu",
        "ledger.left[slot] = left - min(left, tables.receives[threadIdx.x]);",
        "",
        ORDERED,
    ),
    (
        "a long segment is queued before others have read where",
        "long.cu",
        "        __syncthreads();\n        if (own.slot != NONE)\n            ledger.queued",
        "        if (own.slot != NONE)\n            ledger.queued",
        ORDERED,
    ),
    (
        "messages of a long segment take before it is said what there is",
        "long.cu",
        "        __syncthreads();\n        unsigned receive = NONE;",
        "        unsigned receive = NONE;",
        ORDERED,
    ),
    (
        "envelopes of a long segment are not compared",
        "long.cu",
        "is_same(ledger.keys[found], envelope)",
        "true",
        ORDERED,
    ),
];

const DIVIDE: &str = "divide.cu";

/// Only large batches find mistakes in this file.
fn takes_large_batches(file: &str) -> bool {
    ["segments.cu", "long.cu", DIVIDE].contains(&file)
}

#[test]
fn mistakes_are_found_by_small_batches() {
    find_mistakes(|file| !takes_large_batches(file));
}

#[test]
fn mistakes_are_found_by_large_batches() {
    find_mistakes(takes_large_batches);
}

/// Each mistake runs in a separate process, which it may crash.
fn find_mistakes(are_in: fn(&str) -> bool) {
    if Emulation::built().is_none() {
        return;
    }
    for (index, mistake) in MISTAKES.iter().enumerate().filter(|(_, mistake)| are_in(mistake.1)) {
        // A missing original text would look like a found mistake.
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("kernels").join(mistake.1);
        let source = std::fs::read_to_string(source).unwrap();
        assert!(source.contains(mistake.2), "{} has no {}", mistake.1, mistake.2);
        let mut process = Command::new(std::env::current_exe().unwrap());
        process
            .args(["--exact", "kernels::kernel_with_mistake_passes", "--ignored"])
            .env(MISTAKE, index.to_string());
        let output = process.output().unwrap();
        let said = [&output.stdout[..], &output.stderr].concat();
        let said = String::from_utf8_lossy(&said);
        assert!(!output.status.success(), "nobody notices that {}: {said}", mistake.0);
        // A source that does not compile, or a process that does not start, also fails: only a running kernel
        // counts.
        let is_brought_down = said.contains(RUNS) && output.status.code().is_none();
        let is_found = is_brought_down || FINDINGS.iter().any(|finding| said.contains(finding));
        assert!(is_found, "it fails for another reason where {} ({}): {said}", mistake.0, output.status);
    }
}

/// Output of a process with a found mistake: from the comparison, the count, or a deadlock.
const FINDINGS: [&str; 3] = [OTHERWISE, "is matched twice", "Deadlock("];

/// Output before the comparison.
const RUNS: &str = "the kernels with the mistake run";

const OTHERWISE: &str = "this mix, with this seed, is matched otherwise";

const MISTAKE: &str = "MATCHPOINT_TEST_MISTAKE";

#[test]
#[ignore = "one mistake, of the test that starts this process"]
fn kernel_with_mistake_passes() {
    let Ok(index) = std::env::var(MISTAKE) else {
        return left_out::leave_out("no mistake is chosen", "`find_mistakes` starts this test");
    };
    let (_, file, right, wrong, match_case) = MISTAKES[index.parse::<usize>().unwrap()];
    // Small batches run for less time than optimization takes.
    let optimisation = if takes_large_batches(file) { "-O1" } else { "-O0" };
    let emulation = Emulation::changed(optimisation, file, right, wrong).unwrap();
    // The test harness delays captured output.
    writeln!(std::io::stderr(), "{RUNS}").unwrap();
    let open = match file {
        DIVIDE => &WITH_WILDCARDS[..1],
        "partitioned.cu" => &[(0, 50, 20)],
        _ => WITH_WILDCARDS,
    };
    // Cases that show mistakes in this file most often.
    let mut made = vec![REPEATED];
    match file {
        DIVIDE => made.push(LARGE),
        "wild.cu" => made.extend(WILD),
        "resident.cu" => made.push(FOREIGN),
        "long.cu" | "ordered.cu" => made.extend(LONG),
        "segments.cu" => made.extend(LONG.iter().chain(WILD)),
        _ => {}
    }
    made.extend(mixes(open));
    assert_eq!(first_different(&emulation, &made, 3, match_case), None, "{OTHERWISE}");
}
