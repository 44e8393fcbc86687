//! Every engine of the registry, and the parameters worth trying, under all laws.

use matchpoint::wrap::{Counted, Recorded};
use matchpoint::{ContextId, Engine, Envelope, Message, MsgId, Order, Rank, RecvId, Tag, engines};
use matchpoint_conformance::{Choices, Options, check, check_events, generate};
use proptest::prelude::*;

/// Engines by name: the registry's, and those whose parameters change how they work.
fn names() -> impl Iterator<Item = &'static str> {
    const VARIANTS: [&str; 13] = [
        "rank_array:order=per_source",
        "rank_array:order=per_source,dense=0",
        "rank_array:dense=3",
        "bins:n=1",
        "bins:n=3",
        "bins:n=4096",
        "partner:threshold=1",
        "partner:threshold=2,c=1,processes=4,over=senders",
        "partner:threshold=3,c=0,metric=median",
        "partner:threshold=5,c=2,processes=9,metric=upper_fence,fence=tukey,alpha=1.5",
        "partner:threshold=7,metric=upper_fence,alpha=1.5,over=senders",
        concat!("partner:mode=static,profile=", env!("CARGO_MANIFEST_DIR"), "/tests/some.partners"),
        concat!(
            "partner:mode=static,hash=phf,process=1,profile=",
            env!("CARGO_MANIFEST_DIR"),
            "/tests/some.partners"
        ),
    ];
    engines::REGISTRY.iter().map(|spec| spec.name).chain(VARIANTS)
}

fn create(name: &str) -> Box<dyn Engine> {
    engines::create(name).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn every_engine_keeps_the_laws() {
    for name in names() {
        let report = check(&|| create(name), &Options { streams: 100, ..Options::quick() });
        let report = report.unwrap_or_else(|violation| panic!("{name}\n{violation}"));
        assert!(report.matches > 10_000, "{name}: {report:?}");
    }
}

#[test]
fn counting_and_wrapping_change_nothing() {
    let options = Options { streams: 3, ..Options::quick() };
    for name in names() {
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
            let checked = check_events(&|| create(engine), events.clone(), false, || name.to_owned());
            prop_assert!(checked.is_ok(), "{}\n{}", engine, checked.unwrap_err());
        }
    }

    #[test]
    fn any_bytes_are_a_stream(bytes in proptest::collection::vec(any::<u8>(), 0..600)) {
        let events = generate::decode(&bytes);
        for engine in names() {
            let checked = check_events(&|| create(engine), events.clone(), false, || "bytes".to_owned());
            prop_assert!(checked.is_ok(), "{}\n{}", engine, checked.unwrap_err());
        }
    }
}
