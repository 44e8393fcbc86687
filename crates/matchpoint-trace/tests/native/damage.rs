//! Damaged files give errors with a position, or end at a truncation, without a crash.

use std::fs;

use matchpoint_trace::native::block::{HEADER, Header, codec, kind};
use matchpoint_trace::native::{Settings, file_name};
use matchpoint_trace::readers::native::read_bytes;
use matchpoint_trace::{Call, Function, RankReader, TraceError, open};

use crate::pieces::{call, calls, change, folder, head, head_block, json_block, small, varint};
use crate::random::{self, Random};
use crate::streams;
use crate::traces::opened;

/// Number of calls, and error.
pub fn drain(bytes: &[u8]) -> (usize, Option<TraceError>) {
    let mut stream = match read_bytes(bytes) {
        Ok(stream) => stream,
        Err(error) => return (0, Some(error)),
    };
    let (mut call, mut count) = (Call::default(), 0);
    loop {
        match stream.read(&mut call) {
            Ok(true) => count += 1,
            Ok(false) => return (count, None),
            Err(error) => return (count, Some(error)),
        }
    }
}

fn some_file(level: i32, threads: u64) -> Vec<u8> {
    let mut random = Random::new(5);
    let calls: Vec<Call> = (0..120)
        .map(|at| {
            let function = Function::ALL[random.below(200) as usize];
            let thread = random.below(threads) as u16;
            Call { thread, ..random::call(&mut random, function, at * 50) }
        })
        .collect();
    streams::file(&Settings { level, block_bytes: 700, ..Settings::of(0, 2000) }, &calls)
}

#[test]
fn truncated_file_ends_at_last_block() {
    for bytes in [some_file(0, 1), some_file(3, 3)] {
        let whole = drain(&bytes).0;
        let mut most = 0;
        for length in 0..bytes.len() {
            let (count, error) = drain(&bytes[..length]);
            match error {
                None => assert!(count >= most && count <= whole, "cut at {length}"),
                Some(error) => {
                    assert!(error.problem.contains("the head is incomplete"), "cut at {length}: {error}")
                }
            }
            most = most.max(count);
        }
        assert_eq!(most, whole);
    }
}

#[test]
fn trailing_bytes_except_zeros_are_damage() {
    let good = some_file(1, 2);
    let whole = drain(&good).0;
    let (count, error) = drain(&[&good[..], &[0; 5000]].concat());
    assert_eq!((count, error.is_none()), (whole, true));
    let (count, error) = drain(&[&good[..], &[9; 5000]].concat());
    let error = error.unwrap();
    assert_eq!((count, error.offset), (whole, Some(good.len() as u64)));
    assert_eq!(error.problem, "no block here");
}

#[test]
fn wrong_byte_causes_at_most_error() {
    for mut bytes in [some_file(0, 1), some_file(3, 3), small().concat()] {
        let whole = drain(&bytes).0;
        for at in (0..bytes.len()).step_by(1 + bytes.len() / 1500).chain(0..HEADER) {
            for wrong in [0x00, 0x7f, 0xff, bytes[at] ^ 0x80, bytes[at] ^ 1] {
                let right = std::mem::replace(&mut bytes[at], wrong);
                let (count, _) = drain(&bytes);
                assert!(count <= whole, "byte {at}");
                bytes[at] = right;
            }
        }
    }
}

#[test]
fn wrong_byte_with_checksum_causes_error() {
    let blocks = small();
    let mut random = Random::new(3);
    for _ in 0..20_000 {
        let mut block = blocks[1].clone();
        let at = HEADER + random.below((block.len() - HEADER) as u64) as usize;
        change(&mut block, |bytes| bytes[at] = random.next() as u8);
        drain(&[&blocks[0][..], &block, &blocks[2]].concat());
    }
}

#[test]
fn wrong_checksum_error_has_file_and_place() {
    let mut blocks = small();
    let at = blocks[0].len() as u64;
    *blocks[1].last_mut().unwrap() ^= 1;
    let folder = folder("checksum", &[(0, blocks.concat())], None);
    let trace = opened(&folder);
    let error = trace.rank(0).err().unwrap();
    assert_eq!(error.path, folder.join(file_name(0)));
    assert_eq!(error.offset, Some(at));
    assert!(error.problem.starts_with("the block has the checksum"), "{error}");
    assert!(error.advice.contains("copy it again"), "{error}");
}

#[test]
fn absurd_counts_are_errors() {
    let huge = varint(1 << 60);
    let waits = call(2, 1, 1, std::slice::from_ref(&huge));
    let members = call(4, 0, 0, &[varint(0), varint(1), varint(0), varint(0), huge.clone()]);
    let split = call(3, 1, 1, &[varint(3), varint(0), varint(0), varint(9)]);
    let strange = call(999, 1, 1, &[]);
    for (stream, says) in [
        (vec![waits], "claims 1152921504606846976 elements"),
        (vec![split, members], "claims 1152921504606846976 elements"),
        (vec![strange], "function 999, which the head does not list"),
        (vec![vec![2, 1]], "is truncated"),
    ] {
        let error = drain(&[head_block(&head()), calls(0, 0, &stream)].concat()).1.unwrap();
        assert!(error.problem.contains(says), "{error}");
    }
}

#[test]
fn short_block_needs_no_extra_memory() {
    let mut claims = calls(0, 0, &[call(7, 0, 0, &[])]);
    change(&mut claims, |bytes| {
        let header = Header::read(bytes[..HEADER].try_into().unwrap()).unwrap();
        let header = Header { codec: codec::ZSTD, unpacked: 16 << 20, ..header };
        bytes[..HEADER].copy_from_slice(&header.bytes());
    });
    let (count, error) = drain(&[head_block(&head()), claims].concat());
    assert_eq!(count, 0);
    assert!(error.unwrap().problem.contains("no block"));
}

#[test]
fn newer_format_is_refused_with_version() {
    let mut newer = head();
    newer.version = 3;
    let error = drain(&head_block(&newer)).1.unwrap();
    assert!(error.problem.contains("version 3") && error.problem.contains("versions up to 2"), "{error}");
    // The other fields of a newer head may have any form.
    let error = drain(&json_block(kind::HEAD, r#"{"version": 4, "clock": null}"#)).1.unwrap();
    assert!(error.problem.contains("version 4"), "{error}");
}

#[test]
fn other_file_is_error() {
    for (bytes, says) in [
        (
            b"#!/bin/sh\necho this is a program, and longer than a header".to_vec(),
            "not a file of a recorded trace",
        ),
        (json_block(kind::HEAD, "{"), "cannot be understood"),
        (
            json_block(
                kind::HEAD,
                r#"{"version":1,"rank":9,"size":4,"clock":{"hz":1,"ticks":0,"ns":0},"functions":[]}"#,
            ),
            "rank 9 of 4",
        ),
        (calls(0, 0, &[]), "kind 2, and is not a head"),
    ] {
        let error = drain(&bytes).1.unwrap();
        assert!(error.problem.contains(says), "{error}");
    }
}

#[test]
fn damaged_rank_does_not_stop_others() {
    let folder = folder("one-bad", &[(0, small().concat()), (1, vec![1; 100])], None);
    let trace = opened(&folder);
    assert_eq!(trace.present(), [0, 1]);
    assert!(trace.rank(0).is_ok());
    assert_eq!(trace.rank(1).err().unwrap().path, folder.join(file_name(1)));
    assert!(trace.description().notes[0].contains("1 ranks are damaged"), "{:?}", trace.description().notes);
    fs::remove_file(folder.join(file_name(0))).unwrap();
    assert!(open(&folder).err().unwrap().problem.contains("not a file of a recorded trace"));
}
