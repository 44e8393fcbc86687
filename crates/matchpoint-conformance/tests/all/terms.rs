//! Engines that lack calls: missing calls are not made.

use matchpoint::{Engine, Hints, Order, engines, forwarded};
use matchpoint_conformance::{Law, OptionalCalls, Options, check};

/// Panics in all calls that an engine may lack.
struct Bare(Box<dyn Engine>, Hints);

impl Bare {
    fn lacking(&self) -> &mut dyn Engine {
        panic!("the engine lacks this call")
    }
}

impl Engine for Bare {
    forwarded!(through [0]: post_selector arrive probe matched_probe cancel posted_len unexpected_len);
    forwarded!(through [lacking()]: arrive_batch retract readdress set_hints close fail_source visit footprint);

    fn demands(&self) -> Hints {
        self.1
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

fn bare() -> Box<dyn Engine> {
    Box::new(Bare(engines::create("list").unwrap(), Hints::default()))
}

#[test]
fn missing_calls_are_not_made() {
    let report = check(&bare, &options(NONE)).unwrap_or_else(|violation| panic!("{violation}"));
    assert!(report.matches > 1000, "{report:?}");
}

#[test]
fn present_calls_are_made() {
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
    for (says, calls) in each {
        let violation = check(&bare, &options(calls)).unwrap_err();
        assert_eq!(violation.broken.law, Law::Panic, "{violation}");
        assert!(violation.broken.how.contains(says), "{violation}");
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
