//! Random streams of calls and messages through both front ends, on a core that is made up ([`mock`]), compared with two
//! plain lists: what takes what, every payload, what peeks find, in every format of completions and with every form of
//! a peer's entries.
#![allow(unsafe_code)]

mod application;
mod mock;
mod oracle;

use std::process::Command;

use application::{Stream, Wanted};

/// Runs this test once more in a process that believes in that libfabric: a process has one.
fn with_version(test: &str, major: u32, minor: u32, engine: &str) {
    with(test, major, minor, engine, 1 << 30);
}

/// The same, where so many bytes may wait in a layered endpoint.
fn with(test: &str, major: u32, minor: u32, engine: &str, kept_bytes: usize) {
    let this = std::env::current_exe().expect("a test has a file");
    let output = Command::new(this)
        .args(["--exact", test, "--nocapture"])
        .env("MOCK_VERSION", (major << 16 | minor).to_string())
        .env("MATCHPOINT_CORE", "mock")
        .env("MATCHPOINT_ENGINE", engine)
        .env("MATCHPOINT_KEPT_BYTES", kept_bytes.to_string())
        .output()
        .expect("a test can be run again");
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "libfabric {major}.{minor}, {engine}: {text}");
}

fn version() -> Option<u32> {
    std::env::var("MOCK_VERSION").ok()?.parse().ok()
}

/// Streams of all kinds with these front ends.
fn streams(version: u32, takes_peers: bool) {
    mock::objects::give(version);
    let formats = [1, 2, 3, 4];
    for seed in 0..36 {
        let wanted = Wanted {
            seed,
            version,
            takes_peers,
            endpoints: 1 + seed as usize % 4,
            format: formats[seed as usize % formats.len()],
            is_selective: seed % 3 == 0,
            busy_percent: [0, 20, 80][seed as usize % 3],
            steps: 3000,
            depth: [4, 40, 400][seed as usize / 3 % 3],
            inject_bytes: [64, 20_000][seed as usize % 2],
            is_late: seed % 4 > 1,
        };
        Stream::new(wanted).run();
    }
}

#[test]
fn the_owner_of_a_queue() {
    match version() {
        Some(version) => streams(version, true),
        None => {
            with_version("the_owner_of_a_queue", 2, 5, "hybrid");
            with_version("the_owner_of_a_queue", 2, 5, "list");
            with_version("the_owner_of_a_queue", 2, 3, "bins");
            with_version("the_owner_of_a_queue", 2, 0, "hybrid");
            with_version("the_owner_of_a_queue", 1, 22, "hybrid");
            with_version("the_owner_of_a_queue", 1, 19, "rank_array");
        }
    }
}

#[test]
fn above_a_core() {
    match version() {
        Some(version) => streams(version, false),
        None => {
            with_version("above_a_core", 2, 5, "hybrid");
            with_version("above_a_core", 2, 5, "list");
            with_version("above_a_core", 1, 17, "hybrid");
            // More waits than may, nearly always: it comes all the same.
            with("above_a_core", 2, 5, "hybrid", 2000);
        }
    }
}
