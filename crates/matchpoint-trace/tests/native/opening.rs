//! Trace paths, and descriptions of traces.

use std::fs;

use matchpoint_trace::native::block::kind;
use matchpoint_trace::native::file_name;
use matchpoint_trace::native::head::Head;
use matchpoint_trace::{Description, open};

use crate::pieces::{folder, head, head_block, json_block, small, words};
use crate::traces::{calls, opened};

fn of(rank: u32) -> Vec<u8> {
    let head = Head { rank, ..head() };
    [head_block(&head), small()[1..].concat()].concat()
}

fn four() -> Vec<(u32, Vec<u8>)> {
    (0..4).map(|rank| (rank, of(rank))).collect()
}

const MANIFEST: &str = r#"{"format":"matchpoint trace","version":1,"state":"finished","ranks":4,"new":[1]}"#;

#[test]
fn folder_manifest_or_file_opens_trace() {
    let folder = folder("opening", &four(), Some(MANIFEST));
    for path in [folder.clone(), folder.join("manifest.json")] {
        let trace = opened(&path);
        assert_eq!((trace.present(), trace.description().ranks), (&[0, 1, 2, 3][..], 4));
        assert_eq!(trace.description().format, "Matchpoint 1");
        assert_eq!(trace.description().notes, [""; 0]);
        assert_eq!(trace.description().clock_error_ns, Some(0));
        assert!(!trace.description().null_looks_any);
        assert_eq!(calls(&*trace, 2).len(), 6);
    }
    let alone = opened(&folder.join(file_name(2)));
    assert_eq!((alone.present(), alone.description().ranks), (&[2][..], 4));
    assert_eq!(alone.description().missing.len(), 3);
    // The file name need not contain the rank.
    let renamed = folder.join("copy.mpt");
    fs::copy(folder.join(file_name(3)), &renamed).unwrap();
    assert_eq!(opened(&renamed).present(), [3]);
    fs::rename(&renamed, folder.join("copy.data")).unwrap();
    assert_eq!(opened(&folder.join("copy.data")).present(), [3]);
}

fn missing(description: &Description) -> Vec<(u32, &str)> {
    description.missing.iter().map(|missing| (missing.rank, missing.why.as_str())).collect()
}

fn described(head: Head) -> Description {
    let file = [head_block(&head), small()[1..].concat()].concat();
    opened(&folder("described", &[(head.rank, file)], None)).description().clone()
}

#[test]
fn library_and_transport_are_in_description() {
    let by = |library: &str| described(Head { library: library.into(), ..head() }).library;
    assert_eq!(by("MPICH Version:\t5.0.2\nMPICH ABI:\t0").as_deref(), Some("MPICH Version: 5.0.2"));
    assert_eq!(by(""), None);
    let with = |transport: &str| described(Head { transport: transport.into(), ..head() }).transport;
    assert_eq!(with("ucx").as_deref(), Some("ucx"));
    assert_eq!(with(""), None);
}

#[test]
fn trace_needs_no_manifest() {
    let trace = opened(&folder("no-manifest", &four(), None));
    assert_eq!((trace.present().len(), trace.description().ranks), (4, 4));
}

#[test]
fn missing_ranks_are_named_with_reason() {
    let listed = r#"{"format":"matchpoint trace","version":1,"ranks":4,
        "files":[{"rank":1,"file":"rank-00001.mpt","bytes":5}]}"#;
    let head_only = of(3)[..40].to_vec();
    let trace = opened(&folder("missing", &[(0, of(0)), (2, Vec::new()), (3, head_only)], Some(listed)));
    assert_eq!(trace.present(), [0]);
    let why = missing(trace.description());
    assert_eq!(
        why,
        [
            (1, "rank-00001.mpt is in the manifest, but missing"),
            (2, "rank-00002.mpt is empty: its process wrote nothing"),
            (
                3,
                "rank-00003.mpt ends before any call: its process died before the first write, or the file is \
                 incomplete"
            ),
        ]
    );
}

#[test]
fn rank_without_calls_is_missing() {
    let headed = |rank: u32, end: Option<&str>| {
        let head = head_block(&Head { rank, ..head() });
        [head, end.map(|json| json_block(kind::END, json)).unwrap_or_default()].concat()
    };
    let limited = r#"{"reason":"finalize","calls":0,"left_out":7,"limit_ticks":null}"#;
    let idle = r#"{"reason":"finalize","calls":0,"left_out":0,"limit_ticks":null}"#;
    let files = [(0, of(0)), (1, headed(1, None)), (2, headed(2, Some(limited))), (3, headed(3, Some(idle)))];
    let trace = opened(&folder("silent", &files, None));
    assert_eq!(trace.present(), [0, 3], "a process that calls nothing is there");
    let description = trace.description();
    let why = missing(description);
    assert_eq!(
        why,
        [
            (
                1,
                "rank-00001.mpt has no call: its process died before the first write, or the file is incomplete"
            ),
            (2, "rank-00002.mpt has no call: the limit of disk space was reached before the first"),
        ]
    );
    assert_eq!((description.calls_left_out, &description.ended_early[..]), (7, &[][..]));
    assert_eq!(
        description.notes[0],
        "1 file ends early (its process died or could not write, or the trace was copied in part): rank 1 before \
         its first call."
    );
    let refused = |name: &str, files: &[(u32, Vec<u8>)]| open(&folder(name, files, None)).err().unwrap();
    let error = refused("all-silent", &[(0, headed(0, None)), (1, headed(1, None))]);
    assert!(error.problem.contains("every process died before its first write"), "{error}");
    assert!(error.advice.contains("once a second"), "{error}");
    let error = refused("all-limited", &[(0, headed(0, Some(limited))), (1, headed(1, Some(limited)))]);
    assert!(error.problem.contains("the limit of disk space") && error.advice.contains("--limit"), "{error}");
}

/// The length in the manifest distinguishes a truncated file from the file of a killed process.
#[test]
fn truncated_file_differs_from_killed_process() {
    let whole = four();
    let told = |rank: u32| {
        let bytes = whole[rank as usize].1.len();
        format!(r#"{{"rank":{rank},"file":"{}","bytes":{bytes},"calls":6,"complete":true}}"#, file_name(rank))
    };
    let listed: Vec<String> = (0..4).map(told).collect();
    let manifest = format!(
        r#"{{"format":"matchpoint trace","version":1,"state":"finished","ranks":4,"files":[{}]}}"#,
        listed.join(",")
    );
    let blocks = small();
    let mut files = whole.clone();
    files[1].1.truncate(whole[1].1.len() - blocks[2].len() - 1);
    let missing = blocks[2..].concat().len();
    files[3].1.truncate(whole[3].1.len() - missing);
    let (third_has, third_had) = (files[3].1.len(), whole[3].1.len());
    let trace = opened(&folder("cut", &files, Some(&manifest)));
    let description = trace.description();
    assert_eq!(trace.present(), [0, 2, 3]);
    assert_eq!(
        (description.missing[0].rank, description.missing[0].why.as_str()),
        (1, "rank-00001.mpt was truncated after the run, and has none of its 6 calls")
    );
    assert_eq!((description.calls_cut_off, &description.ended_early[..]), (6, &[3][..]));
    let notes = description.notes.concat();
    assert!(notes.starts_with("2 files were truncated after the run"), "{notes}");
    assert!(notes.contains(&format!("rank-00003.mpt has {third_has} of {third_had} bytes and 6 of 6 calls")));
    assert!(notes.ends_with("Copy the trace again."), "{notes}");
    assert!(!notes.contains("died") && !notes.contains("manifest"), "{notes}");
    for file in &mut files {
        let head = head_block(&Head { rank: file.0, ..head() });
        file.1.truncate(head.len());
    }
    let error = open(&folder("all-cut", &files, Some(&manifest))).err().unwrap();
    assert!(
        error.problem.contains("truncated after the run") && error.advice.contains("copy the trace again"),
        "{error}"
    );
}

#[test]
fn only_empty_files_is_error() {
    let error = open(&folder("all-empty", &[(0, Vec::new()), (1, vec![0; 64])], None)).err().unwrap();
    assert!(error.problem.contains("no file of a rank has calls"), "{error}");
    let error = open(&folder("only-manifest", &[], Some(MANIFEST))).err().unwrap();
    assert!(error.problem.contains("no file of a rank"), "{error}");
}

#[test]
fn contradicting_manifest_is_reported() {
    let tells =
        |text: &str| open(&folder("lying", &four(), Some(text))).map(|trace| trace.description().clone());
    for (text, says) in [
        ("{", "no JSON"),
        (r#"{"format":"other matchpoint trace","version":1}"#, "its format is"),
        (r#"{"format":"matchpoint trace","version":7}"#, "version 7"),
        (r#"{"format":"matchpoint trace","version":1,"ranks":4000000000}"#, "4000000000 processes"),
        (r#"{"format":"matchpoint trace"}"#, "not the manifest of a trace"),
    ] {
        let error = tells(text).err().unwrap();
        assert!(error.problem.contains(says), "{error}");
    }
    let few = tells(r#"{"format":"matchpoint trace","version":1,"ranks":2}"#).unwrap();
    assert_eq!(few.ranks, 4);
    assert_eq!(few.notes, ["The manifest has 2 processes, the files have 4, which is used."]);
    let short = r#"{"format":"matchpoint trace","version":1,"state":"finished",
        "files":[{"rank":0,"file":"rank-00000.mpt","bytes":1}]}"#;
    let notes = tells(short).unwrap().notes;
    assert!(notes[0].contains("longer than in the manifest: rank-00000.mpt has "), "{notes:?}");
}

#[test]
fn two_traces_in_folder_are_error() {
    let other = Head { rank: 1, size: 9, ..head() };
    let mixed = [(0, of(0)), (1, head_block(&other))];
    let error = open(&folder("mixed", &mixed, None)).err().unwrap();
    assert!(error.problem.contains("different runs: of 4 and 9 processes"), "{error}");
    let error = open(&folder("renamed", &[(0, of(0)), (1, of(2))], None)).err().unwrap();
    assert!(error.problem.contains("rank 1, its head rank 2"), "{error}");
    let twice = folder("twice", &[(0, of(0))], None);
    fs::write(twice.join("rank-0.mpt"), of(0)).unwrap();
    assert!(open(&twice).err().unwrap().problem.contains("two files of rank 0"));
}

#[test]
fn killed_process_has_time_of_last_call() {
    let mut files = four();
    let blocks = small();
    files[1].1 = [head_block(&Head { rank: 1, ..head() }), blocks[1].clone()].concat();
    let whole = files[2].1.len();
    files[2].1.truncate(whole - blocks[2].len() - 1);
    let trace = opened(&folder("died", &files, None));
    assert_eq!(
        trace.description().notes,
        [
            "2 files end early (their processes died or could not write, or the trace was copied in part): rank 1 \
             after 0.000 s, rank 2 before its first call."
        ]
    );
    assert_eq!((trace.present(), calls(&*trace, 1).len()), (&[0, 1, 3][..], 6));
    assert_eq!(trace.description().ended_early, [1]);
    for (state, why) in [
        ("finished", "their processes died, or could not write"),
        ("running", "their processes died or could not write, or the job still runs"),
    ] {
        let manifest = MANIFEST.replace("finished", state);
        let notes = opened(&folder("died", &files, Some(&manifest))).description().notes.clone();
        assert!(notes[0].starts_with(&format!("2 files end early ({why}): ")), "{notes:?}");
    }
}

#[test]
fn end_of_run_is_reported_in_sentences() {
    let mut files = four();
    let end = |rank: u32, json: &str| {
        let head = Head { rank, ..head() };
        [head_block(&head), small()[1].clone(), json_block(kind::END, json)].concat()
    };
    files[0].1 = end(0, r#"{"reason":"abort","calls":6,"left_out":5,"limit_ticks":1000001000}"#);
    files[1].1 = end(1, r#"{"reason":"exit","calls":6,"left_out":7,"limit_ticks":null,"waited_ns":2500000}"#);
    let manifest = r#"{"format":"matchpoint trace","version":1,"state":"running","spawned":["spawned-1"]}"#;
    let trace = opened(&folder("ended", &files, Some(manifest)));
    let notes = &trace.description().notes;
    assert_eq!(trace.description().calls_left_out, 12);
    for says in [
        "MPI_Abort ended the run, called by rank 0. Ended without MPI_Finalize: rank 1.",
        "The limit of disk space was reached by 2 ranks, 1.000 s into the run at the earliest: 12 later calls",
        "Threads of 1 ranks waited for the recorder, one up to 0.003 s",
        "marks the job as running",
        "have separate traces: spawned-1.",
    ] {
        assert!(notes.iter().any(|note| note.contains(says)), "{says}: {notes:?}");
    }
}

#[test]
fn hosts_without_clock_offsets_share_no_time() {
    let on = |rank: u32, host: &str, offsets: &[Vec<u8>]| {
        let head = Head { rank, host: host.into(), ..head() };
        [head_block(&head), offsets.concat(), small()[1..].concat()].concat()
    };
    let error = |files: &[(u32, Vec<u8>)]| {
        let trace = opened(&folder("hosts", files, None));
        (trace.description().clock_error_ns, trace.description().notes.concat())
    };
    let offset = words(kind::OFFSET, &[1000, 40, 300]);
    let apart = [(0, on(0, "a", &[])), (1, on(1, "b", &[]))];
    assert_eq!(error(&apart).0, None);
    assert!(error(&apart).1.contains("The clocks of 2 hosts were not compared"));
    let known = words(kind::OFFSET, &[1000, 0, 0]);
    let both = [(0, on(0, "a", &[known])), (1, on(1, "b", &[offset]))];
    assert_eq!(error(&both), (Some(300), String::new()));
    let backward = [words(kind::CLOCK, &[5000, 5000, 4000, 6000])];
    assert!(error(&[(0, on(0, "a", &backward))]).1.contains("went backward"));
}
