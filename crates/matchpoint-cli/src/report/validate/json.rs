//! Validations for machines. `docs/predict.md` describes every member; members never change their meaning or disappear.

use serde_json::{Map, Value, json};

use crate::predict::Validated;
use crate::predict::validate::validated::{Judgement, Row, Step, Times, Worst};
use crate::report::schema::headed;

/// All of it.
pub fn document(validated: &Validated) -> Value {
    let (of, job) = (&validated.machine.provenance, &validated.job);
    headed(json!({
        "command": "validate",
        "of": validated.subject,
        "machine": {
            "name": validated.machine.name,
            "host": of.host,
            "mpi": of.mpi,
            "when": of.when,
            "confidence": of.confidence,
        },
        "job": {
            "command": job.command,
            "started": job.started,
            "mpi": job.mpi,
            "nodes": job.nodes,
            "host": job.host,
            "load": job.load,
            "ranks": job.ranks,
        },
        "processes": validated.processes,
        "rows": validated.rows.iter().map(row).collect::<Vec<_>>(),
        "errors": validated.judgements.iter().map(judgement).collect::<Vec<_>>(),
        "notes": validated.notes,
    }))
}

fn row(row: &Row) -> Value {
    json!({
        "application": row.application.key(),
        "name": row.name,
        "played_process": row.played,
        "messages": row.messages,
        "bytes": row.bytes,
        "received": row.received,
        "measured": times(&row.measured),
        "measured_reversed": row.reversed.as_ref().map(times),
        "modelled_s": by_step(row.modelled.map(Value::from)),
        "time": {
            "transport_s": row.split.transport_s,
            "queue_s": row.split.queue_s,
            "contention_s": row.split.contention_s,
        },
        "time_shortest_s": row.interval.0,
        "time_longest_s": row.interval.1,
        "searched": row.searched.map(|searched| worst(&searched.natural)),
        "searched_reversed": row.searched.and_then(|searched| searched.reversed).as_ref().map(worst),
    })
}

fn times(times: &Times) -> Value {
    json!({
        "typical_s": times.typical_s,
        "median_s": times.median_s,
        "low_s": times.low_s,
        "high_s": times.high_s,
        "repetitions": times.repetitions,
    })
}

fn worst(worst: &Worst) -> Value {
    json!({ "process": worst.process, "received": worst.received, "attempts": worst.attempts })
}

fn by_step(values: [Value; 6]) -> Value {
    let named = Step::ALL.into_iter().zip(values).map(|(step, value)| (step.key().to_owned(), value));
    Value::Object(named.collect::<Map<_, _>>())
}

fn judgement(of: &Judgement) -> Value {
    json!({
        "application": of.application.key(),
        "rows": of.rows,
        "within": of.within,
        "absolute": by_step(of.errors.map(|off| off.map(|off| off.absolute).into())),
        "signed": by_step(of.errors.map(|off| off.map(|off| off.signed).into())),
        "reasons": of.reasons,
    })
}
