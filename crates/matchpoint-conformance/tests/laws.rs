//! Every engine of the registry, and the parameters worth trying, under all laws.

use matchpoint::wrap::{Counted, Recorded};
use matchpoint::{ContextId, Engine, Envelope, Message, MsgId, Order, Rank, RecvId, Tag, engines};
use matchpoint_conformance::{Choices, Law, Options, check, check_events, generate};
use proptest::prelude::*;

/// Engines by name: the registry's, and those whose parameters change how they work.
fn names() -> impl Iterator<Item = &'static str> {
    const VARIANTS: &[&str] = &[
        "rank_array:order=per_source",
        "rank_array:order=per_source,dense=0",
        "rank_array:dense=3",
        "bins:n=1",
        "bins:n=3",
        "bins:n=4096",
        "fuzzy:bits=16",
        "fuzzy:bits=32",
        "fuzzy:bits=32,rank=3,tag=2",
        "hybrid:seed=0",
        "adaptive:threshold=1,window=4,n=3",
        "adaptive:threshold=1,window=3,n=3,ranks=yes",
        "adaptive:threshold=1,window=5,n=3,ranks=yes,back=6",
        "four_d:ranks=1",
        "four_d:ranks=81",
        "optimistic:bins=1,hashes=own",
        "optimistic:bins=3,capacity=0",
    ];
    engines::REGISTRY.iter().map(|spec| spec.name).chain(VARIANTS.iter().chain(FIXED_TABLES).copied())
}

/// Those whose table is so small that the streams fill it.
const FIXED_TABLES: &[&str] = &["optimistic:capacity=1", "optimistic:capacity=16,bins=3"];

fn has_fixed_table(name: &str) -> bool {
    FIXED_TABLES.contains(&name)
}

fn create(name: &str) -> Box<dyn Engine> {
    engines::create(name).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn every_engine_keeps_the_laws() {
    for name in names() {
        let options = Options { streams: 100, fixed_table: has_fixed_table(name), ..Options::quick() };
        let report = check(&|| create(name), &options);
        let report = report.unwrap_or_else(|violation| panic!("{name}\n{violation}"));
        assert!(report.matches > 10_000, "{name}: {report:?}");
    }
}

#[test]
fn a_table_that_fills_breaks_a_law_unless_it_may() {
    for name in FIXED_TABLES {
        let violation = check(&|| create(name), &Options::quick()).expect_err(name);
        assert_eq!(violation.broken.law, Law::Refusal, "{name}\n{violation}");
    }
}

#[test]
fn counting_and_wrapping_change_nothing() {
    for name in names() {
        let options = Options { streams: 3, fixed_table: has_fixed_table(name), ..Options::quick() };
        let counting = || engines::create_counting(name).unwrap();
        for (wrapper, wrapped) in [
            ("Counted", &(|| Box::new(Counted::new(counting())) as Box<dyn Engine>) as &dyn Fn() -> _),
            ("Recorded", &(|| Box::new(Recorded::new(counting())) as Box<dyn Engine>)),
        ] {
            check(wrapped, &options).unwrap_or_else(|violation| panic!("{wrapper} {name}\n{violation}"));
        }
    }
}

#[test]
fn a_batch_adds_to_the_outcomes_that_are_there() {
    for name in names() {
        let mut out = vec![Some(RecvId(7))];
        let message = Message::new(MsgId(1), Envelope::new(ContextId(0), Rank(1), Tag(2)));
        create(name).arrive_batch(&[message], &mut out).unwrap();
        assert_eq!(out, [Some(RecvId(7)), None], "{name}");
    }
}

#[test]
fn engines_relax_the_order_only_when_asked() {
    for spec in engines::REGISTRY {
        assert_eq!(create(spec.name).order(), Order::Total, "{}", spec.name);
    }
    assert_eq!(create("rank_array:order=per_source").order(), Order::PerSource);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_seed_will_do(seed: u64, shape in 0..generate::SHAPES.len()) {
        let (name, shape) = generate::SHAPES[shape];
        let events = generate::stream(shape, Choices::Seed(seed), 300);
        for engine in names() {
            let fixed_table = has_fixed_table(engine);
            let checked = check_events(&|| create(engine), events.clone(), fixed_table, || name.to_owned());
            prop_assert!(checked.is_ok(), "{}\n{}", engine, checked.unwrap_err());
        }
    }

    #[test]
    fn any_bytes_are_a_stream(bytes in proptest::collection::vec(any::<u8>(), 0..600)) {
        let events = generate::decode(&bytes);
        for engine in names() {
            let fixed_table = has_fixed_table(engine);
            let checked =
                check_events(&|| create(engine), events.clone(), fixed_table, || "bytes".to_owned());
            prop_assert!(checked.is_ok(), "{}\n{}", engine, checked.unwrap_err());
        }
    }
}
