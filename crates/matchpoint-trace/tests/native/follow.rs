//! A file that is read while it grows gives the same calls as the whole file. The follower waits for
//! incomplete blocks.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::Path;

use matchpoint_trace::native::block::{HEADER, block, kind};
use matchpoint_trace::native::head::Head;
use matchpoint_trace::native::{Entry, FollowError, Follower, Queues, Settings};
use matchpoint_trace::{Call, Function};
use tempfile::tempdir;

use crate::pieces::{call, calls, handle, head, head_block, signed, small, varint, words};
use crate::random::{self, Random};
use crate::streams;
use crate::traces::unplaced;

fn more(follower: &mut Follower) -> Result<(Vec<Call>, Vec<Queues>), FollowError> {
    let (mut calls, mut queues) = (Vec::new(), Vec::new());
    while follower.read(&mut |entry| match entry {
        Entry::Call(call) => calls.push(call.clone()),
        Entry::Queues(said) => queues.push(said),
    })? {}
    Ok((calls, queues))
}

fn append(path: &Path, bytes: &[u8]) {
    OpenOptions::new().create(true).append(true).open(path).unwrap().write_all(bytes).unwrap();
}

fn some_calls() -> Vec<Call> {
    let mut random = Random::new(9);
    (0..200)
        .map(|at| {
            let function = Function::ALL[random.below(200) as usize];
            Call { thread: 0, ..random::call(&mut random, function, at * 50) }
        })
        .collect()
}

#[test]
fn growing_file_is_read_like_whole() {
    let folder = tempdir().unwrap();
    for (name, level, step) in [("bytes", 0, 1), ("packed", 3, 7), ("parts", 0, 1000), ("whole", 1, 1 << 20)]
    {
        let settings = Settings { level, block_bytes: 300, ..Settings::of(0, 2000) };
        let bytes = streams::file(&settings, &some_calls());
        let path = folder.path().join(name);
        let mut follower = Follower::new(path.clone());
        assert!(more(&mut follower).unwrap().0.is_empty() && follower.head().is_none());
        let mut read = Vec::new();
        for part in bytes.chunks(step) {
            assert!(follower.end().is_none(), "{name}");
            append(&path, part);
            read.extend(more(&mut follower).unwrap().0);
        }
        // The offsets of a follower are relative to the start of reading.
        assert_eq!(unplaced(read), unplaced(streams::read(&bytes)), "{name}");
        assert_eq!(follower.calls(), 200);
        assert_eq!(follower.end().unwrap().reason, "finalize");
    }
}

/// The file size may become visible before the bytes: the file then ends with zeros, in a header or after a
/// header.
#[test]
fn follower_waits_for_incomplete_block() {
    let folder = tempdir().unwrap();
    let blocks = small();
    let whole: usize = blocks.iter().map(Vec::len).sum();
    for cut in [0, 1, HEADER - 1, HEADER, HEADER + 1, blocks[1].len() - 1] {
        let path = folder.path().join(cut.to_string());
        let torn = [&blocks[0][..], &blocks[1][..cut]].concat();
        let padded = [torn.clone(), vec![0; whole - torn.len()]].concat();
        fs::write(&path, &padded).unwrap();
        let mut follower = Follower::new(path.clone());
        assert!(more(&mut follower).unwrap().0.is_empty(), "cut at {cut}");
        assert_eq!(follower.head().map(|head| head.size), Some(4));
        let mut file = OpenOptions::new().write(true).open(&path).unwrap();
        file.write_all(&blocks.concat()).unwrap();
        assert_eq!(more(&mut follower).unwrap().0.len(), 6, "cut at {cut}");
        assert!(follower.end().is_some());
    }
}

#[test]
fn calls_before_damage_are_read() {
    let folder = tempdir().unwrap();
    let blocks = small();
    let path = folder.path().join("damaged");
    let mut bytes = blocks.concat();
    let last = blocks[0].len() + blocks[1].len();
    append(&path, &bytes);
    bytes[blocks[0].len() + HEADER + 9] ^= 1;
    fs::write(&path, &bytes).unwrap();
    let Err(FollowError::Unreadable(error)) = more(&mut Follower::new(path.clone())) else {
        panic!("nothing was found")
    };
    assert!(error.problem.contains("checksum"), "{error}");
    assert_eq!(error.offset, Some(blocks[0].len() as u64));
    let mut bytes = blocks.concat();
    bytes.truncate(last);
    bytes.extend([7; 100]);
    fs::write(&path, &bytes).unwrap();
    let (mut count, mut follower) = (0, Follower::new(path));
    let lost = follower.read(&mut |_| count += 1);
    let Err(FollowError::Unreadable(error)) = lost else { panic!("{lost:?}") };
    assert_eq!((count, error.offset), (6, Some(last as u64)), "{error}");
}

#[test]
fn removed_file_is_reported() {
    let folder = tempdir().unwrap();
    let (path, bytes) = (folder.path().join("file"), small().concat());
    let followed = || {
        fs::write(&path, &bytes[..bytes.len() - 10]).unwrap();
        let mut follower = Follower::new(path.clone());
        assert_eq!(more(&mut follower).unwrap().0.len(), 6);
        follower
    };
    let mut follower = followed();
    fs::remove_file(&path).unwrap();
    assert!(matches!(more(&mut follower), Err(FollowError::Removed)));
    // Another file replaces the followed file, as with `--replace`.
    let mut follower = followed();
    fs::write(folder.path().join("other"), &bytes).unwrap();
    fs::rename(folder.path().join("other"), &path).unwrap();
    assert!(matches!(more(&mut follower), Err(FollowError::Replaced)));
    let mut follower = followed();
    OpenOptions::new().write(true).open(&path).unwrap().set_len(100).unwrap();
    assert!(matches!(more(&mut follower), Err(FollowError::Replaced)));
}

/// The remark has three fields: posted, unexpected, and exclusions; −1 is unknown. More fields may follow.
#[test]
fn queue_length_remarks_are_returned() {
    let folder = tempdir().unwrap();
    let mut head: Head = head();
    head.functions.push(("+queues".to_owned(), "iiic".to_owned()));
    let at = head.functions.len() as u64 - 1;
    let said = |after, fields: [i64; 3]| {
        call(at, after, 1, &[signed(fields[0]), signed(fields[1]), signed(fields[2]), handle(0, 90)])
    };
    let send = |before| call(8, 5, 1, &[handle(before, 1), signed(1), signed(5), varint(9)]);
    let stream = [said(1, [7, 2, 0]), send(90), said(2, [12, -1, 1]), call(0, 1, 1, &[]), said(1, [0, 3, 0])];
    let bytes = [head_block(&head), calls(0, 2000, &stream), words(kind::CLOCK, &[3000, 3500])].concat();
    assert_eq!(streams::read(&bytes).len(), 2);
    let path = folder.path().join("queues");
    fs::write(&path, &bytes).unwrap();
    let mut follower = Follower::new(path.clone());
    let (calls, queues) = more(&mut follower).unwrap();
    assert_eq!(calls.len(), 2);
    // The last remark before a call counts. The clock runs a quarter too fast.
    let lengths: Vec<_> =
        queues.iter().map(|said| (said.posted, said.unexpected, said.excludes_any_source)).collect();
    assert_eq!(lengths, [(Some(12), None, true), (Some(0), Some(3), false)]);
    assert_eq!(queues[0].at_ns, 1000 + (2008 - 1000) * 2500 / 2000);
    assert_eq!(follower.until_ns(), 3500);
    append(
        &path,
        &block(kind::CALLS, 0, 0, &[3000u64.to_le_bytes().to_vec(), said(0, [1, 1, 0])].concat(), 0).unwrap(),
    );
    assert_eq!(more(&mut follower).unwrap().1.len(), 1);
}

/// The clock's rate is that of the last writes: a process writes the time each second for many days.
#[test]
fn call_rate_uses_last_writes() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("rate");
    append(&path, &head_block(&head()));
    let mut follower = Follower::new(path.clone());
    for second in 1..100u64 {
        let ticks = 1000 + second * 1_000_000_000;
        let each = if second < 50 { 1 } else { 3 };
        let of_second: Vec<Vec<u8>> = (0..each).map(|at| call(0, u64::from(at > 0), 1, &[])).collect();
        append(&path, &calls(0, ticks - 10, &of_second));
        append(&path, &words(kind::CLOCK, &[ticks as i64, ticks as i64]));
        more(&mut follower).unwrap();
    }
    assert_eq!(follower.calls(), 49 + 3 * 50);
    assert!((follower.calls_per_s() - 3.0).abs() < 1e-6, "{}", follower.calls_per_s());
    assert_eq!(follower.until_wall_ns(), 99 * 1_000_000_000);
}
