//! Files of a trace, and errors for paths without a trace.

use std::fs;
use std::path::{Path, PathBuf};

use matchpoint_trace::{Call, Trace, TraceError, open};

use crate::traces::{calls, opened};
use crate::writer::{Bytes, Writer};

fn create_folder(name: &str, files: &[(&str, Vec<u8>)]) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("opening").join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    for (name, bytes) in files {
        fs::write(folder.join(name), bytes).unwrap();
    }
    folder
}

fn new_stream() -> Writer {
    Writer::new([13, 0, 0])
}

fn finalize_file() -> Vec<u8> {
    new_stream().call(125, Bytes::default()).file()
}

fn meta_file(ranks: u32) -> Vec<u8> {
    format!("numprocs={ranks}\nfileprefix=t\nversion=13\nsubversion=0\nsubsubversion=0\n").into_bytes()
}

fn open_error(path: &Path) -> TraceError {
    open(path).err().unwrap_or_else(|| panic!("{} was opened", path.display()))
}

fn missing_ranks(trace: &dyn Trace) -> Vec<(u32, &str)> {
    trace.description().missing.iter().map(|missing| (missing.rank, missing.why.as_str())).collect()
}

#[test]
fn folder_or_meta_file_is_trace() {
    let folder = create_folder(
        "whole",
        &[("t.meta", meta_file(2)), ("t-0000.bin", finalize_file()), ("t-0001.bin", finalize_file())],
    );
    for path in [folder.clone(), folder.join("t.meta")] {
        let trace = opened(&path);
        let description = trace.description();
        assert_eq!((description.format.as_str(), description.ranks), ("DUMPI 13.0.0", 2));
        assert_eq!((&description.path, description.bytes), (&path, 2 * finalize_file().len() as u64));
        assert_eq!((trace.present(), missing_ranks(&*trace)), (&[0, 1][..], vec![]));
        assert_eq!(description.notes, ["The tracer did not write 2 calls: MPI_Send (2 of 2)."]);
        assert_eq!(calls(&*trace, 1).len(), 1);
    }
}

#[test]
fn single_rank_file_omits_other_ranks() {
    let folder = create_folder(
        "one",
        &[("t.meta", meta_file(3)), ("t-0000.bin", finalize_file()), ("t-0001.bin", finalize_file())],
    );
    let trace = opened(&folder.join("t-0001.bin"));
    let why = "only the file of rank 1 was given";
    assert_eq!((trace.present(), missing_ranks(&*trace)), (&[1][..], vec![(0, why), (2, why)]));
}

#[test]
fn single_file_gives_its_rank() {
    let told = new_stream()
        .call(81, Bytes::default().half(2).int(4))
        .call(82, Bytes::default().half(2).int(3))
        .file();
    let trace = opened(&create_folder("told", &[("app.bin", told)]));
    assert_eq!((trace.present(), trace.description().ranks), (&[3][..], 4));
    let untold = new_stream().call(0, Bytes::default().int(3).half(9).int(6).int(7).half(4)).file();
    let trace = opened(&create_folder("untold", &[("app.bin", untold)]));
    assert_eq!((trace.present(), trace.description().ranks), (&[0][..], 7));
    let notes = &trace.description().notes;
    assert_eq!(notes[0], "The stream does not contain the rank of its process: assumed to be 0.");
    assert_eq!(notes[1], "The stream does not contain the number of processes: at least 7.");
}

#[test]
fn ranks_without_calls_are_missing() {
    let folder = create_folder(
        "missing",
        &[("t.meta", meta_file(3)), ("t-0000.bin", finalize_file()), ("t-0001.bin", vec![])],
    );
    let trace = opened(&folder);
    let (empty, none) = ("t-0001.bin is empty, as a killed run leaves it", "no file of rank 2 of t");
    assert_eq!(missing_ranks(&*trace), [(1, empty), (2, none)]);
}

#[test]
fn meta_file_may_differ_from_files() {
    let lies = b"numprocs=1\nfileprefix=t\nversion=9\nsubversion=0\nsubsubversion=0\n".to_vec();
    let folder = create_folder(
        "lies",
        &[("t.meta", lies), ("t-0000.bin", finalize_file()), ("t-0001.bin", finalize_file())],
    );
    let trace = opened(&folder);
    assert_eq!((trace.present(), trace.description().ranks), (&[0, 1][..], 2));
    let notes = trace.description().notes.join("\n");
    assert!(notes.contains("has 1 processes, but there are files of ranks up to 1"), "{notes}");
    assert!(notes.contains("has version 9.0.0, but the .bin files have version 13.0.0"), "{notes}");
}

#[test]
fn trace_needs_no_meta_file() {
    let trace =
        opened(&create_folder("bare", &[("t-0000.bin", finalize_file()), ("t-0002.bin", finalize_file())]));
    assert_eq!((trace.present(), trace.description().ranks), (&[0, 2][..], 3));
    assert!(trace.description().notes[0].starts_with("The number of processes is unknown"));
}

#[test]
fn meta_file_finds_renamed_trace() {
    let trace =
        opened(&create_folder("renamed", &[("new.meta", meta_file(1)), ("new-0000.bin", finalize_file())]));
    assert_eq!(trace.present(), [0]);
}

#[test]
fn damaged_rank_does_not_hide_others() {
    let cut = finalize_file()[..100].to_vec();
    let folder = create_folder(
        "damaged",
        &[("t.meta", meta_file(2)), ("t-0000.bin", finalize_file()), ("t-0001.bin", cut)],
    );
    let trace = opened(&folder);
    assert_eq!(calls(&*trace, 0).len(), 1);
    let note = "The files of 1 ranks are damaged, the first at byte 100: no index at the end";
    assert!(trace.description().notes.iter().any(|found| found.starts_with(note)));
    let error = trace.rank(1).err().unwrap();
    assert_eq!((error.path, error.offset), (folder.join("t-0001.bin"), Some(100)));
}

#[test]
fn two_traces_in_folder_are_named() {
    let error = open_error(&create_folder("two", &[("a.meta", meta_file(1)), ("b.meta", meta_file(1))]));
    assert_eq!(error.problem, "the folder contains 2 traces: a.meta, b.meta");
    assert!(error.advice.ends_with("two/a.meta"), "{error}");
    let error = open_error(&create_folder(
        "two-bare",
        &[("a-0000.bin", finalize_file()), ("b-0000.bin", finalize_file())],
    ));
    assert_eq!(error.problem, "the folder contains 2 traces without a .meta file: a-0000.bin, b-0000.bin");
}

#[test]
fn other_file_is_error_with_kind() {
    let files: &[(&str, &[u8], &str)] = &[
        ("none.txt", b"Dear all,\n", "unknown trace format"),
        ("a.tar.xz", b"\xfd7zXZ\0\0\0", "a xz archive"),
        ("a.gz", b"\x1f\x8b\x08", "a gzip archive"),
        ("other.bin", b"PNG and so on", "the first bytes are"),
        ("empty.bin", b"", "the file is empty"),
        ("alone.meta", b"numprocs=2\nfileprefix=alone\n", "no file alone-0000.bin"),
    ];
    for (name, bytes, problem) in files {
        let error = open_error(&create_folder("other", &[(*name, bytes.to_vec())]).join(name));
        assert!(error.to_string().contains(problem), "{error}");
        assert!(!error.advice.is_empty());
    }
    assert!(open_error(&create_folder("nothing", &[])).problem.contains("no trace among its 0 files"));
    let packed = create_folder("packed", &[("a.tar.xz", b"\xfd7zXZ\0\0\0".to_vec())]);
    assert!(
        open_error(&packed)
            .to_string()
            .contains("a.tar.xz': this is a xz archive\nhint: unpack it first (tar -xJf")
    );
    let gone = open_error(Path::new("/no/such/trace"));
    assert_eq!(gone.path, Path::new("/no/such/trace"));
}

#[test]
fn trace_of_empty_files_is_error() {
    let error = open_error(&create_folder("killed", &[("t.meta", meta_file(1)), ("t-0000.bin", vec![])]));
    assert_eq!(error.problem, "the file of every rank is empty");
}

const TEXT: &str = "MPI_Finalize entering at walltime 1.5, cputime 0.5 seconds in thread 0.\n\
                    MPI_Finalize returning at walltime 1.6, cputime 0.6 seconds in thread 0.\n";

#[test]
fn text_is_recognised_by_content() {
    let trace =
        opened(&create_folder("text", &[("rank0000.txt", TEXT.into()), ("rank0002.txt", TEXT.into())]));
    assert_eq!((trace.present(), trace.description().ranks), (&[0, 2][..], 3));
    assert_eq!(trace.description().format, "DUMPI, as text");
    let trace = opened(&create_folder("text-bin", &[("x.bin", TEXT.into())]).join("x.bin"));
    assert_eq!(calls(&*trace, 0).len(), 1);
    let named = create_folder("text-among", &[("t.meta", meta_file(1)), ("t-0000.bin", TEXT.into())]);
    assert!(open_error(&named).problem.contains("the text that dumpi2ascii prints"));
    let two = create_folder("texts", &[("a.rank0.txt", TEXT.into()), ("b.rank0.txt", TEXT.into())]);
    assert_eq!(
        open_error(&two).problem,
        "the folder contains 2 texts of different traces: a.rank0.txt, b.rank0.txt"
    );
}

#[test]
fn ranks_are_read_at_once_and_again() {
    let trace = opened(&create_folder(
        "again",
        &[("t.meta", meta_file(2)), ("t-0000.bin", finalize_file()), ("t-0001.bin", finalize_file())],
    ));
    std::thread::scope(|scope| {
        for rank in [0, 1, 0, 1] {
            let trace = &trace;
            scope.spawn(move || assert_eq!(calls(&**trace, rank).len(), 1));
        }
    });
    let (mut stream, mut call) = (trace.rank(0).unwrap(), Call::default());
    assert!(stream.read(&mut call).unwrap());
    assert!(!stream.read(&mut call).unwrap());
    assert!(!stream.read(&mut call).unwrap());
    assert_eq!(stream.position(), finalize_file().len() as u64);
}
