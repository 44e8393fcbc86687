//! Tests of the JSON schema and of its manual page.

use std::collections::BTreeSet;
use std::fs;

use matchpoint_cli::report::{Report, json};
use matchpoint_replay::Measurements;
use matchpoint_replay::library_cost::{Curve, LibraryCost};
use matchpoint_trace::BurstCost;
use serde_json::Value;

use crate::synthetic;

/// JSON objects in which the member names are data, such as MPI function names.
const MAPS: [&str; 7] = [
    "advice[].numbers",
    "calls.by_function",
    "messages.late_by_function",
    "messages.posted_by_function",
    "replay.released",
    "replay.unexpected_longest",
    "replay.unexpected_share",
];

pub fn written(measurements: &Measurements) -> Value {
    let mut bytes = Vec::new();
    json::write(&Report::new(measurements), &mut bytes).unwrap();
    serde_json::from_slice(&bytes).unwrap()
}

fn full() -> Measurements {
    let mut measurements = synthetic::run(8);
    measurements.trace.missing.push((3, "no file".to_owned()));
    measurements.trace.ended_early.push(2);
    measurements.arrivals.ended_calls.insert("a wait that never ends", 2);
    let curve = Curve { warm: vec![(16.0, 1.0), (1024.0, 4.0)], cold_ns: 12.0, empty_ns: 100.0 };
    measurements.library_cost = Some(LibraryCost {
        pairs: 4,
        same_host: true,
        posted: curve.clone(),
        unexpected: curve,
        bursts: vec![BurstCost { messages: 128, message_ns: 500.0 }],
        ring_message_ns: 700.0,
    });
    measurements
}

fn members(value: &Value, path: &str, into: &mut BTreeSet<String>) {
    match value {
        Value::Object(map) if MAPS.contains(&path) => {
            assert!(!map.is_empty(), "{path} shows nothing");
            into.insert(format!("{path}.*"));
        }
        Value::Object(map) => {
            let separator = if path.is_empty() { "" } else { "." };
            map.iter().for_each(|(name, value)| members(value, &format!("{path}{separator}{name}"), into));
        }
        Value::Array(items) => items.iter().for_each(|item| members(item, &format!("{path}[]"), into)),
        _ => {
            into.insert(path.to_owned());
        }
    }
}

#[test]
fn page_names_exactly_all_members() {
    let page =
        fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/json.md")).unwrap();
    let rows = page.lines().filter_map(|line| line.strip_prefix("| `")?.split_once('`'));
    let documented: BTreeSet<String> = rows.map(|(name, _)| name.to_owned()).collect();
    let mut found = BTreeSet::new();
    members(&written(&full()), "", &mut found);
    let missing: Vec<_> = found.difference(&documented).collect();
    let superfluous: Vec<_> = documented.difference(&found).collect();
    assert!(missing.is_empty() && superfluous.is_empty(), "undocumented {missing:?}, gone {superfluous:?}");
}

#[test]
fn fixed_members_keep_their_places() {
    let json = written(&full());
    for pointer in "trace/format trace/ranks trace/calls calls/point_to_point calls/collective calls/one_sided \
        calls/by_function/MPI_Isend wildcards/none wildcards/any_source wildcards/any_tag wildcards/both tags/unique \
        tags/max peers/mean peers/max verdict/text engines/0/matched engines/0/match_ns \
        engines/0/unmatched_receives engines/0/unmatched_messages engines/0/posted/hits \
        engines/0/unexpected/length_mean engines/0/bytes_max ranks/7/rank"
        .split(' ')
    {
        assert!(json.pointer(&format!("/{pointer}")).is_some(), "{pointer}");
    }
    assert_eq!(json["schema"], 1);
    for number in ["sends", "receives", "communicators", "elapsed_s"] {
        assert!(json[number].is_number(), "{number}");
    }
    assert_eq!(json["arrivals"], "simulated");
}

#[test]
fn verdict_is_always_finite() {
    let mut odd = synthetic::run(8);
    odd.ranks.iter_mut().for_each(|rank| rank.elapsed_s = 0.0);
    let mut empty = synthetic::run(8);
    empty.ranks.clear();
    empty.engines.clear();
    let mut broken = synthetic::run(8);
    broken.engines[0].ranks[2].match_ns = f64::NAN;
    for measurements in [odd, empty, broken] {
        let json = written(&measurements);
        for name in ["share", "low", "high", "rank", "at_s"] {
            assert!(json["verdict"][name].is_number(), "{name}");
        }
    }
}

#[test]
fn equal_measurements_give_equal_text() {
    let text = |ranks| written(&synthetic::run(ranks)).to_string();
    assert_eq!(text(64), text(64));
}
