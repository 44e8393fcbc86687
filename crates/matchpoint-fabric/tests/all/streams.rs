//! Random streams of calls and messages on the simulated core provider ([`mock`]), compared with two plain
//! lists: matches, payloads and peeks, with every completion format and every form of peer entries.

use std::process::Command;

use crate::application::{Stream, StreamOptions};
use crate::mock;

const TEST: &str = "streams::streams_equal_plain_lists";

/// Runs this test in a new process with a simulated libfabric of this version. A process has one libfabric.
fn with_version(major: u32, minor: u32, engine: &str) {
    let this = std::env::current_exe().expect("a test has a file");
    let output = Command::new(this)
        .args(["--exact", TEST, "--nocapture"])
        .env("MOCK_VERSION", (major << 16 | minor).to_string())
        .env("MATCHPOINT_CORE", "mock")
        .env("MATCHPOINT_ENGINE", engine)
        .output()
        .expect("a test can be run again");
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "libfabric {major}.{minor}, {engine}: {text}");
}

fn requested_version() -> Option<u32> {
    std::env::var("MOCK_VERSION").ok()?.parse().ok()
}

fn run_streams(version: u32) {
    mock::objects::install(version);
    let formats = [1, 2, 3, 4];
    for seed in 0..36 {
        let options = StreamOptions {
            seed,
            version,
            endpoints: 1 + seed as usize % 4,
            format: formats[seed as usize % formats.len()],
            is_selective: seed % 3 == 0,
            busy_percent: [0, 20, 80][seed as usize % 3],
            steps: 3000,
            depth: [4, 40, 400][seed as usize / 3 % 3],
            inject_bytes: [64, 20_000][seed as usize % 2],
            is_late: seed % 4 > 1,
        };
        Stream::new(options).run();
    }
}

#[test]
fn streams_equal_plain_lists() {
    match requested_version() {
        Some(version) => run_streams(version),
        None => {
            with_version(2, 5, "hybrid");
            with_version(2, 5, "list");
            with_version(2, 3, "bins");
            with_version(2, 0, "hybrid");
            with_version(1, 22, "hybrid");
            with_version(1, 19, "rank_array");
        }
    }
}
