//! Arbitrary bytes as a stream of events: every engine keeps the laws.

#![no_main]

use libfuzzer_sys::fuzz_target;
use matchpoint::engines::{self, Variant};
use matchpoint::event::script;
use matchpoint_conformance::{generate, run};

/// Some sources are partners from the start.
const PROFILED: &str = concat!(
    "partner:mode=static,profile=",
    env!("CARGO_MANIFEST_DIR"),
    "/../crates/matchpoint-conformance/tests/some.partners"
);

fuzz_target!(|bytes: &[u8]| {
    let events = generate::decode(bytes);
    let profiled = Variant { name: PROFILED.to_owned(), is_tight: false };
    for Variant { name, is_tight } in engines::variants().chain([profiled]) {
        let mut engine = engines::create(&name).expect("the registry makes what it lists");
        let run = run(&mut *engine, &events, is_tight);
        if let Some(broken) = run.broken {
            panic!("{name}: {broken}\n{}", script::print(&run.played));
        }
    }
});
