//! Tests of `matchpoint analyze` with damaged native traces.

use std::fs;

use matchpoint_trace::native::file_name;
use tempfile::tempdir;

use crate::ran::{bundled, matchpoint};

#[test]
fn dead_rank_is_reported() {
    let folder = tempdir().unwrap();
    let trace = folder.path().join("lulesh.trace").display().to_string();
    matchpoint(["convert", &bundled("lulesh-8"), "-o", &trace]).succeed();
    let file = folder.path().join("lulesh.trace").join(file_name(3));
    let whole = fs::read(&file).unwrap();
    fs::write(&file, &whole[..whole.len() / 2]).unwrap();
    let report = matchpoint(["analyze", &trace, "--engine", "list", "--json", "-"]).succeed().json();
    let notes = report["trace"]["notes"].to_string();
    assert!(notes.contains("rank 3,") || notes.contains("rank-00003.mpt"), "{notes}");
    let mut damaged = whole.clone();
    let middle = damaged.len() * 3 / 4;
    damaged[middle] ^= 0x55;
    fs::write(&file, damaged).unwrap();
    let output = matchpoint(["analyze", &trace, "--engine", "list"]).exit(1);
    output.reports("rank-00003.mpt', byte ").reports("the checksum");
}
