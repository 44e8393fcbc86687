//! Any bytes are a stream of events; every engine keeps the laws through it.

#![no_main]

use libfuzzer_sys::fuzz_target;
use matchpoint::engines;
use matchpoint::event::script;
use matchpoint_conformance::{generate, run};

/// Parameters under which an engine works differently.
const VARIANTS: [&str; 9] = [
    "rank_array:order=per_source",
    "rank_array:dense=3",
    "bins:n=1",
    "bins:n=3",
    "partner:threshold=1",
    "partner:threshold=2,c=1,processes=4,over=senders",
    "partner:threshold=3,c=0,metric=median",
    "partner:threshold=5,c=2,metric=upper_fence,fence=tukey,alpha=1.5",
    PROFILED,
];

/// Some sources are partners from the beginning.
const PROFILED: &str = concat!(
    "partner:mode=static,profile=",
    env!("CARGO_MANIFEST_DIR"),
    "/../crates/matchpoint-conformance/tests/some.partners"
);

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
