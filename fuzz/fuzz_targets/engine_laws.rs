//! Any bytes are a stream of events; every engine keeps the laws through it.

#![no_main]

use libfuzzer_sys::fuzz_target;
use matchpoint::engines;
use matchpoint::event::script;
use matchpoint_conformance::{generate, run};

/// Parameters under which an engine works differently.
const VARIANTS: [&str; 5] =
    ["rank_array:order=per_source", "rank_array:dense=3", "bins:n=1", "bins:n=3", "hybrid:seed=0"];

fuzz_target!(|bytes: &[u8]| {
    let events = generate::decode(bytes);
    for name in engines::REGISTRY.iter().map(|spec| spec.name).chain(VARIANTS) {
        let mut engine = engines::create(name).expect("the registry makes what it lists");
        let run = run(&mut *engine, &events, false);
        if let Some(broken) = run.broken {
            panic!("{name}: {broken}\n{}", script::print(&run.played));
        }
    }
});
