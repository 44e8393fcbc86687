//! Handmade files with content that the writer does not write.

use std::fs;
use std::path::{Path, PathBuf};

use matchpoint_trace::native::block::{HEADER, block, kind};
use matchpoint_trace::native::file_name;
use matchpoint_trace::native::head::{Clock, Head};

pub fn varint(mut value: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
    bytes
}

/// Bytes of a handle: the difference to the previous handle, `before`, plus 1. 0 is a null handle.
pub fn handle(before: u64, value: u64) -> Vec<u8> {
    let difference = value as i64 - before as i64;
    varint(1 + ((difference << 1) ^ (difference >> 63)) as u64)
}

pub fn signed(value: i64) -> Vec<u8> {
    varint(((value << 1) ^ (value >> 63)) as u64)
}

/// A call: function index, ticks since the last entry, duration in ticks, fields.
pub fn call(function: u64, after: u64, took: u64, fields: &[Vec<u8>]) -> Vec<u8> {
    [varint(function), varint(after), varint(took), fields.concat()].concat()
}

pub fn calls(thread: u16, from: u64, calls: &[Vec<u8>]) -> Vec<u8> {
    let content = [from.to_le_bytes().to_vec(), calls.concat()].concat();
    block(kind::CALLS, thread, calls.len() as u64, &content, 0).unwrap()
}

pub fn head() -> Head {
    let functions = [
        ("MPI_Init", ""),
        ("MPI_Isend_c", "cpgbqa"),
        ("MPI_Waitall", "QC"),
        ("MPI_Comm_split", "ciic"),
        ("+members", "cGG"),
        ("MPIX_Novelty", "cqIQCSGm"),
        ("+novelty", "SiG"),
        ("MPI_Finalize", ""),
        ("MPI_Send", "cpgb"),
    ];
    Head {
        version: 1,
        rank: 0,
        size: 4,
        host: "here".into(),
        boot: String::new(),
        pid: 1,
        processors: 0,
        library: String::new(),
        transport: String::new(),
        standard: "4.1".into(),
        thread_level: "multiple".into(),
        program: "/bin/true".into(),
        started_ns: 0,
        clock: Clock { source: "tsc".into(), hz: 1e9, ticks: 1000, ns: 1000 },
        null_looks_any: false,
        functions: functions.map(|(name, fields)| (name.to_owned(), fields.to_owned())).to_vec(),
    }
}

pub fn head_block(head: &Head) -> Vec<u8> {
    block(kind::HEAD, 0, 0, &serde_json::to_vec(head).unwrap(), 0).unwrap()
}

pub fn json_block(of: u8, json: &str) -> Vec<u8> {
    block(of, 0, 0, json.as_bytes(), 0).unwrap()
}

pub fn words(of: u8, words: &[i64]) -> Vec<u8> {
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    block(of, 0, 0, &bytes, 0).unwrap()
}

/// Blocks with `MPI_Init`, three sends with one request handle, their completion, `MPI_Finalize`.
pub fn small() -> Vec<Vec<u8>> {
    let request = 0x7f00_1234_5678;
    let send = |before, last_address| {
        let fields = [
            if before == 0 { handle(0, 1) } else { handle(1, 1) },
            signed(2),
            signed(77),
            varint(9),
            handle(before, request),
            handle(last_address, 0x40_0000),
        ];
        call(1, 10, 5, &fields)
    };
    let wait = [
        varint(4),
        handle(request, request),
        handle(request, request),
        varint(0),
        handle(request, request),
        varint(2),
        signed(0),
        varint(0),
        signed(2),
        varint(3),
    ];
    let all = [
        call(0, 0, 3, &[]),
        send(0, 0),
        send(request, 0x40_0000),
        send(request, 0x40_0000),
        call(2, 10, 100, &wait),
        call(7, 1000, 1, &[]),
    ];
    vec![
        head_block(&head()),
        calls(0, 2000, &all),
        json_block(kind::END, r#"{"reason":"finalize","calls":6}"#),
    ]
}

pub fn folder(name: &str, files: &[(u32, Vec<u8>)], manifest: Option<&str>) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("native-by-hand").join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    for (rank, bytes) in files {
        fs::write(folder.join(file_name(*rank)), bytes).unwrap();
    }
    manifest.into_iter().for_each(|text| fs::write(folder.join("manifest.json"), text).unwrap());
    folder
}

/// Changes bytes of a block, and updates the block's checksum.
pub fn change(block: &mut [u8], change: impl FnOnce(&mut [u8])) {
    use matchpoint_trace::native::block::Header;
    change(block);
    let header = Header::read(block[..HEADER].try_into().unwrap()).unwrap();
    let crc = header.checksum(&block[HEADER..]);
    block[..HEADER].copy_from_slice(&Header { crc, ..header }.bytes());
}
