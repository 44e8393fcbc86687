//! Tests of checks of engines that lack calls.

use matchpoint::{
    ContextId, Drained, Engine, Entry, Footprint, Hints, Message, Order, Queue, Rank, Readdressed, RecvId,
    Refused, engines, forwarded,
};
use matchpoint_conformance::{Law, OptionalCalls, Options, check};

/// An engine that panics in all calls that an engine may lack.
struct Bare(Box<dyn Engine>, Hints);

impl Engine for Bare {
    forwarded!(through [0]: post_selector arrive probe matched_probe cancel posted_len unexpected_len);

    fn retract(&mut self, _: &Message) -> bool {
        panic!("no retract")
    }

    fn readdress(&mut self, _: &Message, _: Rank) -> Result<Readdressed, Refused> {
        panic!("no readdress")
    }

    fn set_hints(&mut self, _: ContextId, _: Hints) -> Result<(), Refused> {
        panic!("no set_hints")
    }

    fn close(&mut self, _: ContextId, _: &mut Drained) {
        panic!("no close")
    }

    fn fail_source(&mut self, _: ContextId, _: Rank, _: &mut Drained) {
        panic!("no fail_source")
    }

    fn visit(&self, _: Queue, _: &mut dyn FnMut(Entry)) {
        panic!("no visit")
    }

    fn arrive_batch(&mut self, _: &[Message], _: &mut Vec<Option<RecvId>>) -> Result<(), Refused> {
        panic!("no arrive_batch")
    }

    fn demands(&self) -> Hints {
        self.1
    }

    fn footprint(&self) -> Footprint {
        panic!("no footprint")
    }
}

const NONE: OptionalCalls = OptionalCalls {
    retract: false,
    readdress: false,
    set_hints: false,
    close: false,
    fail_source: false,
    arrive_batch: false,
    visit: false,
    footprint: false,
};

fn options(calls: OptionalCalls) -> Options {
    Options { streams: 3, calls, ..Options::quick() }
}

fn engine_without_optional_calls() -> Box<dyn Engine> {
    Box::new(Bare(engines::create("list").unwrap(), Hints::default()))
}

#[test]
fn missing_calls_are_not_made() {
    let report = check(&engine_without_optional_calls, &options(NONE))
        .unwrap_or_else(|violation| panic!("{violation}"));
    assert!(report.matches > 1000, "{report:?}");
}

#[test]
fn available_calls_are_made() {
    let each: [(&str, OptionalCalls); 8] = [
        ("no retract", OptionalCalls { retract: true, ..NONE }),
        ("no readdress", OptionalCalls { readdress: true, ..NONE }),
        ("no set_hints", OptionalCalls { set_hints: true, ..NONE }),
        ("no close", OptionalCalls { close: true, ..NONE }),
        ("no fail_source", OptionalCalls { fail_source: true, ..NONE }),
        ("no arrive_batch", OptionalCalls { arrive_batch: true, ..NONE }),
        ("no visit", OptionalCalls { visit: true, ..NONE }),
        ("no footprint", OptionalCalls { footprint: true, ..NONE }),
    ];
    for (panic, calls) in each {
        let violation = check(&engine_without_optional_calls, &options(calls)).unwrap_err();
        assert_eq!(violation.broken.law, Law::Panic, "{violation}");
        assert!(violation.broken.how.contains(panic), "{violation}");
    }
}

#[test]
fn requested_order_precedes_promised_order() {
    let relaxed = || engines::create("rank_array:order=per_source").unwrap();
    let held_to =
        |order| check(&relaxed, &Options { order: Some(order), ..options(OptionalCalls::default()) });
    assert!(held_to(Order::PerSource).is_ok() && held_to(Order::None).is_ok());
    assert_eq!(held_to(Order::Total).unwrap_err().broken.law, Law::Post);
}

#[test]
fn call_against_demand_must_be_refused() {
    let lax = || -> Box<dyn Engine> {
        Box::new(Bare(engines::create("list").unwrap(), Hints { no_any_source: true, ..Hints::default() }))
    };
    let violation = check(&lax, &options(NONE)).unwrap_err();
    assert_eq!(violation.broken.law, Law::Refusal, "{violation}");
}
