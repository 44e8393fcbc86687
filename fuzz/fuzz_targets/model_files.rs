//! Arbitrary text as each file of the models: a matrix, a machine, a network. Invalid text is an error. No
//! text causes a panic, a hang, or memory out of proportion to its size.

#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use matchpoint_model::matrix_market::Reader;
use matchpoint_model::{Topology, machine};

fuzz_target!(|data: &[u8]| {
    let path = Path::new("fuzzed");
    if let Ok(mut reader) = Reader::new(data, data.len() as u64, path) {
        let header = reader.header();
        let _ = reader.entries(
            |row, column| {
                assert!(row < header.rows.max(header.columns) && column < header.columns.max(header.rows))
            },
            |_| true,
        );
    }
    let Ok(text) = std::str::from_utf8(data) else { return };
    if let Ok(machine) = machine::parse(text, path) {
        let again = machine::parse(&machine.to_toml(), path);
        assert!(again.is_ok(), "{:?}", again.err());
    }
    if let Ok(network) = Topology::parse(text, path) {
        let last = u32::try_from(network.nodes().saturating_sub(1)).unwrap_or(0).min(64);
        (0..=last).for_each(|node| network.routes_to(node).route(0, &mut |_| {}));
    }
});
