//! Tests that cannot run on this host.

use std::env;
use std::fs::OpenOptions;
use std::io::Write;
use std::thread;

/// Reports that the calling test, or a part of the test, cannot run. Appends test, reason and remedy, separated by
/// tabs, to the file `MATCHPOINT_LEFT_OUT`, which `scripts/test` prints. Without the variable the test panics.
pub fn leave_out(missing: &str, remedy: &str) {
    let thread = thread::current();
    let test = thread.name().unwrap_or("a test");
    let Some(list) = env::var_os("MATCHPOINT_LEFT_OUT") else {
        panic!(
            "cannot run: {missing}: {remedy}. With MATCHPOINT_LEFT_OUT=/dev/stderr such tests are left out"
        );
    };
    let line = format!("{test}\t{}\t{remedy}\n", missing.trim().replace('\n', " "));
    let mut list = OpenOptions::new().create(true).append(true).open(&list).unwrap();
    list.write_all(line.as_bytes()).unwrap();
}
