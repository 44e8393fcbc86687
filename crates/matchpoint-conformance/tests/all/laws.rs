//! Tests of all laws on every registered engine, with selected parameters.

use matchpoint::engines::{self, Variant};
use matchpoint::wrap::Counted;
use matchpoint::{ContextId, Engine, Envelope, Message, MsgId, Order, Rank, RecvId, Tag};
use matchpoint_conformance::{Choices, Law, Options, check, check_events, generate};
use proptest::prelude::*;

/// All variants of the registered engines, and `partner` with a profile.
fn variants() -> impl Iterator<Item = Variant> {
    let profiled = |name: &str| Variant { name: name.to_owned(), is_tight: false };
    engines::variants().chain(PROFILED.map(profiled))
}

const PROFILED: [&str; 2] = [
    concat!("partner:mode=static,profile=", env!("CARGO_MANIFEST_DIR"), "/tests/some.partners"),
    concat!("partner:mode=static,process=1,profile=", env!("CARGO_MANIFEST_DIR"), "/tests/some.partners"),
];

/// Number of streams: `short` by default, `long` if `MATCHPOINT_TEST_LONG` is set, one under Miri.
pub fn streams(short: u64, long: u64) -> u64 {
    let is_long = std::env::var_os("MATCHPOINT_TEST_LONG").is_some();
    if cfg!(miri) { 1 } else { [short, long][usize::from(is_long)] }
}

fn create(name: &str) -> Box<dyn Engine> {
    engines::create(name).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn every_engine_keeps_laws() {
    // `.ci/deep` selects an engine per run under Miri, because one engine takes long.
    let only = std::env::var("MATCHPOINT_LAWS_OF").unwrap_or_default();
    for Variant { name, is_tight } in variants().filter(|variant| variant.name.starts_with(&only)) {
        let streams = streams(20, 80);
        let mut options = Options { streams, fixed_table: is_tight, ..Options::quick() };
        let mut matches = 150 * streams;
        if cfg!(miri) {
            // Miri is a thousand times slower, so each engine runs one short stream per shape.
            if name.contains(':') && !PROFILED.contains(&&*name) {
                continue;
            }
            (options.streams, options.events, options.depths, matches) = (1, 60, vec![2, 12], 50);
        }
        let report = check(&|| create(&name), &options);
        let report = report.unwrap_or_else(|violation| panic!("{name}\n{violation}"));
        if cfg!(miri) {
            eprintln!("{name}: {report:?}");
        }
        assert!(report.matches > matches, "{name}: {report:?}");
    }
}

/// Variants queue only 5,000 entries, to save time.
#[test]
fn every_engine_keeps_laws_in_long_queues() {
    for Variant { name, .. } in variants() {
        let spec = engines::REGISTRY.iter().find(|spec| name.starts_with(spec.name)).expect("it is listed");
        let deep_may_fill = !spec.tight.is_empty();
        let deep = if name == spec.name { 70_000 } else { 5_000 };
        let options = Options { streams: 0, depths: Vec::new(), deep, deep_may_fill, ..Options::quick() };
        let report = check(&|| create(&name), &options);
        let report = report.unwrap_or_else(|violation| panic!("{name}\n{violation}"));
        assert!(deep_may_fill || report.matches > 3 * deep, "{name}: {report:?}");
    }
}

#[test]
fn full_table_breaks_law_unless_allowed() {
    for Variant { name, .. } in variants().filter(|variant| variant.is_tight) {
        let violation = check(&|| create(&name), &Options::quick()).expect_err(&name);
        assert_eq!(violation.broken.law, Law::Refusal, "{name}\n{violation}");
    }
}

#[test]
fn counting_engines_and_wrappers_keep_laws() {
    for Variant { name, is_tight } in variants() {
        let streams = streams(1, 3);
        let options = Options { streams, fixed_table: is_tight, ..Options::quick() };
        let counted = || Box::new(Counted::new(engines::create_counting(&name).unwrap())) as Box<dyn Engine>;
        check(&counted, &options).unwrap_or_else(|violation| panic!("{name}\n{violation}"));
    }
}

#[test]
fn batch_appends_to_outcomes() {
    for Variant { name, .. } in variants() {
        let mut out = vec![Some(RecvId(7))];
        let message = Message::new(MsgId(1), Envelope::new(ContextId(0), Rank(1), Tag(2)));
        create(&name).arrive_batch(&[message], &mut out).unwrap();
        assert_eq!(out, [Some(RecvId(7)), None], "{name}");
    }
}

#[test]
fn engines_relax_order_only_if_asserted() {
    for spec in engines::REGISTRY {
        assert_eq!(create(spec.name).order(), Order::Total, "{}", spec.name);
    }
    assert_eq!(create("rank_array:order=per_source").order(), Order::PerSource);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn random_stream_keeps_laws(seed: u64, shape in 0..generate::SHAPES.len()) {
        let (name, shape) = generate::SHAPES[shape];
        let events = generate::stream(shape, Choices::Seed(seed), 300);
        for Variant { name: engine, is_tight } in variants() {
            let checked = check_events(&|| create(&engine), events.clone(), is_tight, || name.to_owned());
            prop_assert!(checked.is_ok(), "{}\n{}", engine, checked.unwrap_err());
        }
    }

    #[test]
    fn any_bytes_decode_to_stream(bytes in proptest::collection::vec(any::<u8>(), 0..600)) {
        let events = generate::decode(&bytes);
        for Variant { name: engine, is_tight } in variants() {
            let checked = check_events(&|| create(&engine), events.clone(), is_tight, || "bytes".to_owned());
            prop_assert!(checked.is_ok(), "{}\n{}", engine, checked.unwrap_err());
        }
    }
}
