//! The reports of `matchpoint predict validate`, from a [`Validated`].

mod bars;
mod table;

use std::collections::BTreeMap;

use anstyle::Style;
use matchpoint_calibrate::validation::{Judgement, Row, Step, Validated};
use serde_json::{Value, json};

use super::document::Document;
use super::predict::machine;
use super::schema::headed;

pub fn document(validated: &Validated) -> Document {
    let mut document = Document::new(&validated.subject, "Accuracy of the models");
    document.lead(table::answer(validated), Style::new().bold());
    document.html(bars::of_applications(validated));
    for (label, text) in table::facts(validated) {
        document.fact(label, text);
    }
    document.section("Errors of the models");
    document.rows(table::errors(validated));
    document.note(table::ERRORS);
    table::reasons(validated).into_iter().for_each(|reason| document.item("Worse", reason));
    document.section("Measured times");
    document.on_terminal().rows(table::measured(validated, |of| !of.is_volume()));
    document.on_page().rows(table::measured(validated, |_| true));
    document.note(table::TIMES);
    document.section("Modelled times");
    document.on_terminal().rows(table::modelled(validated, |of| !of.is_volume()));
    document.on_page().rows(table::modelled(validated, |_| true));
    document.on_terminal().note("Times of HighVolumePingPong: JSON and HTML.");
    document.section("Attempts per queue");
    document.rows(table::searches(validated));
    document.note(table::SEARCHES);
    validated.notes.iter().for_each(|note| document.item("Note", note));
    document
}

/// `docs/reference/validate.md` describes every member; members never change or disappear.
pub fn json(validated: &Validated) -> Value {
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
