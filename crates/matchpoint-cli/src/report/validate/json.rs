//! Validations as JSON. `docs/reference/validate.md` describes every member; members never change or disappear.

use std::collections::BTreeMap;

use matchpoint_calibrate::validation::{Judgement, Row, Step};
use serde_json::{Value, json};

use crate::predict::Validated;
use crate::report::predict::json::machine;
use crate::report::schema::headed;

pub fn document(validated: &Validated) -> Value {
    headed(json!({
        "command": "validate",
        "of": validated.subject,
        "machine": machine(&validated.machine),
        "job": validated.job,
        "processes": validated.processes,
        "rows": validated.rows.iter().map(row).collect::<Vec<_>>(),
        "errors": validated.judgements.iter().map(judgement).collect::<Vec<_>>(),
        "notes": validated.notes,
    }))
}

fn row(row: &Row) -> Value {
    json!({
        "application": row.application,
        "name": row.name,
        "played_process": row.played,
        "messages": row.messages,
        "bytes": row.bytes,
        "received": row.received,
        "measured": row.measured,
        "measured_reversed": row.reversed,
        "modelled_s": by_step(row.modelled),
        "time": {
            "transport_s": row.split.transport_s,
            "queue_s": row.split.queue_s,
            "contention_s": row.split.contention_s,
        },
        "time_shortest_s": row.interval.0,
        "time_longest_s": row.interval.1,
        "searched": row.searched.map(|searched| searched.natural),
        "searched_reversed": row.searched.and_then(|searched| searched.reversed),
    })
}

fn by_step(values: [Option<f64>; 6]) -> BTreeMap<Step, Option<f64>> {
    Step::ALL.into_iter().zip(values).collect()
}

fn judgement(of: &Judgement) -> Value {
    json!({
        "application": of.application,
        "rows": of.rows,
        "within": of.within,
        "absolute": by_step(of.errors.map(|off| Some(off?.absolute))),
        "signed": by_step(of.errors.map(|off| Some(off?.signed))),
        "reasons": of.reasons,
    })
}
