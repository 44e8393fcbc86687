//! Tests of the oracle with outcomes that no engine of Matchpoint gives.

use matchpoint::event::script;
use matchpoint::{MsgId, Order, Outcome, Readdressed, RecvId, Refused};
use matchpoint_conformance::{Law, Oracle};

const QUEUED: Outcome = Outcome::Arrived(Ok(None));

fn found(id: u64) -> Outcome {
    Outcome::Found(Some(MsgId(id)))
}

fn posted(id: u64) -> Outcome {
    Outcome::Posted(Ok(Some(MsgId(id))))
}

/// The law that the last outcome breaks. Earlier outcomes must break no law.
fn verdict(order: Order, text: &str, outcomes: &[Outcome]) -> Option<Law> {
    let events = script::parse(text).unwrap();
    assert_eq!(events.len(), outcomes.len());
    let mut oracle = Oracle::new(order, false);
    let mut laws = events.iter().zip(outcomes).map(|(event, outcome)| oracle.check(event, outcome));
    let last = laws.nth(events.len() - 1);
    last.and_then(|verdict| verdict.err()).map(|broken| broken.law)
}

const TWO_SOURCES: &str = "arrive m1 0/1/7\n arrive m2 0/2/7\n";

#[test]
fn probe_per_source_binds_only_next_call() {
    for (then, outcome) in [("post r1 0/*/7", posted(1)), ("matched_probe 0/*/7", found(1))] {
        let text = format!("{TWO_SOURCES} probe 0/*/7\n {then}");
        let law = verdict(Order::PerSource, &text, &[QUEUED, QUEUED, found(2), outcome.clone()]);
        assert_eq!(law, Some(Law::Probe), "{then}");
        let text = format!("{TWO_SOURCES} probe 0/*/7\n cancel r9 0/1/7\n {then}");
        let outcomes = [QUEUED, QUEUED, found(2), Outcome::Done(false), outcome];
        assert_eq!(verdict(Order::PerSource, &text, &outcomes), None, "{then}");
    }
}

#[test]
fn promised_order_decides_allowed_matches() {
    let text = format!("{TWO_SOURCES} arrive m3 0/2/7\n post r1 0/*/7");
    let taking = |order, id| verdict(order, &text, &[QUEUED, QUEUED, QUEUED, posted(id)]);
    assert_eq!([1, 2, 3].map(|id| taking(Order::Total, id)), [None, Some(Law::Post), Some(Law::Post)]);
    assert_eq!([1, 2, 3].map(|id| taking(Order::PerSource, id)), [None, None, Some(Law::Post)]);
    assert_eq!([1, 2, 3].map(|id| taking(Order::None, id)), [None; 3]);
}

/// All messages of unknown source may have the same source, also a known source.
#[test]
fn messages_of_unknown_source_keep_order() {
    let text = "arrive m1 0/?/7\n arrive m2 0/3/7\n arrive m3 0/?/7\n post r1 0/*/7";
    let taking = |order, id| verdict(order, text, &[QUEUED, QUEUED, QUEUED, posted(id)]);
    assert_eq!([1, 2, 3].map(|id| taking(Order::Total, id)), [None, Some(Law::Post), Some(Law::Post)]);
    assert_eq!([1, 2, 3].map(|id| taking(Order::PerSource, id)), [None, None, Some(Law::Post)]);
    // The readdressed message keeps its age and is the oldest of its source.
    let text = "arrive m1 0/?/7\n arrive m2 0/3/7\n readdress m1 0/?/7 3\n post r1 0/*/7";
    let outcomes = |id| [QUEUED, QUEUED, Outcome::Readdressed(Ok(Readdressed::SourceSet)), posted(id)];
    let taking = |id| verdict(Order::PerSource, text, &outcomes(id));
    assert_eq!([1, 2].map(taking), [None, Some(Law::Post)]);
}

#[test]
fn readdressed_message_takes_oldest_matching_receive() {
    let text = "arrive m1 0/?/7\n post r1 0/3/*\n post r2 0/3/7\n readdress m1 0/?/7 3";
    let queued = Outcome::Posted(Ok(None));
    let verdict_of = |result| {
        let outcomes = [QUEUED, queued.clone(), queued.clone(), Outcome::Readdressed(result)];
        verdict(Order::Total, text, &outcomes)
    };
    let matched = |id| Ok(Readdressed::Matched(RecvId(id)));
    assert_eq!(
        [1, 2, 9].map(|id| verdict_of(matched(id))),
        [None, Some(Law::Readdress), Some(Law::Readdress)]
    );
    let others = [Ok(Readdressed::SourceSet), Ok(Readdressed::Unchanged)];
    assert_eq!(others.map(verdict_of), [Some(Law::Readdress); 2]);
    // The table has no fixed size, and memory suffices.
    assert_eq!([Refused::Full, Refused::Memory].map(|why| verdict_of(Err(why))), [Some(Law::Refusal); 2]);
}

#[test]
fn asserted_overtaking_is_allowed() {
    let text = |context| {
        format!("set_hints {context} allow_overtaking\n arrive m1 0/1/7\n arrive m2 0/1/7\n post r1 0/1/7")
    };
    let outcomes = [Outcome::Hinted(Ok(())), QUEUED, QUEUED, posted(2)];
    assert_eq!(verdict(Order::Total, &text(0), &outcomes), None);
    assert_eq!(verdict(Order::Total, &text(1), &outcomes), Some(Law::Post));
}
