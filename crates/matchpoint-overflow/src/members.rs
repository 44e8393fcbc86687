//! The member `overflow` of the report.

use matchpoint_process::report::or_null;

use crate::interface::CoreCounts;

/// The values of `enum core_off` in `core.h`.
fn off(reason: u64) -> &'static str {
    match reason {
        0 => "null",
        1 => "\"program\"",
        2 => "\"library\"",
        _ => "\"processes\"",
    }
}

/// As a JSON object. `null`: no limit, or a time that was not measured.
pub fn object(counts: &CoreCounts) -> String {
    let limit = |limit: i64| or_null(u64::try_from(limit).ok());
    let time = |ns: f64| or_null((ns.is_finite() && ns > 0.0).then_some(ns));
    let members = [
        ("receives", counts.receives.to_string()),
        ("overflowed", counts.overflowed.to_string()),
        ("given_back", counts.given_back.to_string()),
        ("give_backs", counts.give_backs.to_string()),
        ("taken", counts.taken.to_string()),
        ("watches", counts.watches.to_string()),
        ("limit_named", limit(counts.limit_named)),
        ("limit_any", limit(counts.limit_any)),
        ("eager_bytes", counts.eager_bytes.to_string()),
        ("synchronous", (counts.synchronous != 0).to_string()),
        ("entry_named_ns", time(counts.entry_named_ns)),
        ("entry_any_ns", time(counts.entry_any_ns)),
        ("overflow_ns", time(counts.overflow_ns)),
        ("off", off(counts.off).to_owned()),
    ];
    let members: Vec<_> = members.iter().map(|(name, value)| format!("\"{name}\":{value}")).collect();
    format!("{{{}}}", members.join(","))
}
