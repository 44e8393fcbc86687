//! The calibration as JSON. `docs/reference/calibrate.md` describes every member; members never change or disappear.

use matchpoint_calibrate::fit::parameters::{Link, Search};
use matchpoint_calibrate::fit::rates::NodeRate;
use matchpoint_calibrate::fit::robust::CONFIDENCE;
use serde_json::{Value, json};

use super::Calibration;
use crate::report::schema::headed;

pub fn document(of: &Calibration<'_>) -> Value {
    let parameters = of.parameters;
    headed(json!({
        "machine": of.machine.name,
        "host": of.raw.head.host,
        "mpi": of.raw.head.mpi,
        "started": of.raw.head.started,
        "command": of.raw.head.command,
        "ranks": of.raw.head.ranks.0.len(),
        "nodes": of.raw.head.ranks.nodes().len(),
        "measurements": of.raw.measured.len(),
        "complete": of.raw.complete,
        "rounds": of.raw.head.settings.rounds,
        "confidence": CONFIDENCE,
        "links": parameters.links.iter().map(link).collect::<Vec<_>>(),
        "queue_search": parameters.search.as_ref().map(search),
        "contention": parameters.contention.as_ref().map(|cost| json!({
            "delta_s_per_byte": cost.each_s,
            "residuals": pairs("bytes", &cost.residuals),
        })),
        "logp": parameters.logp,
        "warnings": parameters.warnings,
    }))
}

fn link(link: &Link) -> Value {
    let segment = |(index, segment): (usize, &matchpoint_calibrate::fit::protocols::Segment)| {
        let residuals: Vec<(f64, f64)> =
            segment.residuals.iter().map(|(bytes, residual)| (f64::from(*bytes), *residual)).collect();
        json!({
            "protocol": segment.protocol.key(),
            "bytes_min": segment.bytes.0,
            "bytes_max": segment.bytes.1,
            "alpha_s": segment.alpha_s,
            "beta_s_per_byte": segment.beta_s_per_byte,
            "node_rate_bytes_per_s": link.node_rates.get(index).map(node_rate),
            "scatter": segment.scale,
            "residuals": pairs("bytes", &residuals),
        })
    };
    json!({
        "placement": link.placement,
        "at_once_max_bytes": link.at_once_max_bytes,
        "protocols": link.segments.iter().enumerate().map(segment).collect::<Vec<_>>(),
        "measured": link.points,
    })
}

fn node_rate(rate: &NodeRate) -> Value {
    match rate {
        NodeRate::Limit(found) => json!(found),
        NodeRate::NotMet { pairs } => json!({ "not_met_by_pairs": pairs }),
        NodeRate::Latency => json!({ "latency": true }),
        NodeRate::NotMeasured => Value::Null,
    }
}

fn search(search: &Search) -> Value {
    let by_messages = search.by_messages.iter();
    json!({
        "gamma_s": search.gamma_s(),
        "attempt_s": search.attempt_s,
        "random_share": search.random_share,
        "by_messages": by_messages
            .map(|(messages, each)| json!({
                "messages": messages,
                "attempt_s": each.value,
                "low_s": each.low,
                "high_s": each.high,
            }))
            .collect::<Vec<_>>(),
        "residuals": pairs("attempts", &search.residuals),
    })
}

fn pairs(name: &str, residuals: &[(f64, f64)]) -> Vec<Value> {
    residuals.iter().map(|(at, residual)| json!({ name: at, "residual": residual })).collect()
}
