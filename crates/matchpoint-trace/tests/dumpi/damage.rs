//! Damaged files give errors with a position, and no crash.

use std::fs;

use matchpoint_trace::Call;
use matchpoint_trace::RankReader;
use matchpoint_trace::readers::dumpi::{read_bytes, text};

use crate::every_function::files;
use crate::records::read_calls;
use crate::traces::REAL;
use crate::writer::{Bytes, Writer};

/// Reads a file until the end or an error. The number of calls must be possible for the number of bytes.
fn read_binary(bytes: &[u8]) {
    let Ok(mut stream) = read_bytes(bytes) else { return };
    let mut call = Call::default();
    while stream.read(&mut call).unwrap_or(false) {
        assert!(call.requests.capacity() + call.integers.capacity() <= bytes.len());
    }
}

fn read_text(bytes: &[u8]) {
    let (mut stream, mut call) = (text::read(bytes), Call::default());
    while stream.read(&mut call).unwrap_or(false) {}
}

fn small_files() -> Vec<Vec<u8>> {
    let real =
        REAL.get("sstdumpi-testtrace-4").into_iter().flat_map(|real| fs::read_dir(&real.folder).unwrap());
    let real = real.flatten().map(|entry| fs::read(entry.path()).unwrap());
    real.chain(files("bin").into_iter().map(|(_, bytes)| bytes)).collect()
}

#[test]
fn truncation_causes_at_most_error() {
    for bytes in small_files() {
        for length in (0..bytes.len()).step_by(7) {
            read_binary(&bytes[..length]);
        }
    }
}

#[test]
fn wrong_byte_causes_at_most_error() {
    for mut bytes in small_files() {
        let step = 1 + bytes.len() / 1500;
        for at in (0..bytes.len()).step_by(step).chain(bytes.len().saturating_sub(64)..bytes.len()) {
            for wrong in [0x00, 0x7f, 0xff, bytes[at] ^ 0x80, bytes[at] ^ 1] {
                let right = std::mem::replace(&mut bytes[at], wrong);
                read_binary(&bytes);
                bytes[at] = right;
            }
        }
    }
}

#[test]
fn wrong_byte_of_text_causes_error() {
    for (_, mut bytes) in files("txt") {
        bytes.truncate(20_000);
        for at in (0..bytes.len()).step_by(23) {
            for wrong in *b"\n-9=[" {
                let right = std::mem::replace(&mut bytes[at], wrong);
                read_text(&bytes);
                bytes[at] = right;
            }
        }
    }
}

#[test]
fn short_record_error_has_place() {
    let file = Writer::new([13, 0, 0]).call(0, Bytes::default().int(3).half(9)).unended().file();
    let error = read_calls(&file).unwrap_err();
    assert_eq!(error.offset, Some(16 + 29 + 6));
    assert_eq!(error.problem, "the record of MPI_Send at byte 16 is cut short");
}

#[test]
fn absurd_count_is_error() {
    for count in [i32::MAX, i32::MIN, -1, 200] {
        let file = Writer::new([13, 0, 0]).call(18, Bytes::default().int(2).int(count)).file();
        let problem =
            format!("the record of MPI_Waitall at byte 16 claims {count} elements, but the file ends before");
        assert_eq!(read_calls(&file).unwrap_err().problem, problem);
    }
}

#[test]
fn unknown_function_is_error() {
    let file = Writer::new([13, 0, 0]).call(999, Bytes::default()).file();
    let error = read_calls(&file).unwrap_err();
    assert_eq!(
        (error.offset, error.problem.as_str()),
        (Some(16), "999 is not the number of an MPI function in DUMPI")
    );
}

#[test]
fn missing_index_is_error_at_end() {
    let file = Writer::new([13, 0, 0]).call(125, Bytes::default()).file();
    let cut = &file[..file.len() - 1];
    let error = read_bytes(cut).err().unwrap();
    assert_eq!(error.offset, Some(cut.len() as u64));
    assert!(error.problem.contains("no index"), "{error}");
}

#[test]
fn wrong_index_is_error() {
    let mut file = Writer::new([13, 0, 0]).call(125, Bytes::default()).file();
    let body = file.len() - 24;
    file[body..body + 8].copy_from_slice(&u64::MAX.to_be_bytes());
    assert!(read_bytes(&file).err().unwrap().problem.contains("after the index"));
}
