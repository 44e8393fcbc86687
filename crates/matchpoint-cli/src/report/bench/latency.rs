//! The report of single calls.

use matchpoint_bench::latency::{Latencies, Percentiles, Stage, StageEnd};
use matchpoint_replay::format::{count, duration_ns, in_place};
use serde_json::{Value, json};

use super::tables;
use crate::report::document::{Document, Rows};
use crate::report::schema::measured;

pub fn document(latencies: &Latencies) -> Document {
    let mut document = Document::default();
    document.section(format!(
        "Single calls, queues of up to {} entries; minimum of {} repetitions",
        count(latencies.entries as u64),
        latencies.repetitions
    ));
    let lines = latencies.engines.iter().flat_map(|engine| {
        let is_whole = engine.stages.iter().all(|stage| stage.ended.is_none());
        let name = in_place(&engine.engine, engine.substitute.as_deref());
        let name = if is_whole { name } else { format!("{name}, calls so far") };
        let stages = engine.stages.iter().map(|stage| (format!("  {}", called(stage)), &stage.percentiles));
        [(name, &engine.all)].into_iter().chain(stages)
    });
    let lines = lines.chain([("(no engine: clock only)".to_owned(), &latencies.nothing)]);
    let time = |of: &Percentiles, ns: u32| match of.calls {
        0 => "·".to_owned(),
        _ => duration_ns(ns.into()),
    };
    let rows = Rows::of(lines)
        .column("", |(name, _)| name.clone())
        .column("calls", |(_, of)| count(of.calls as u64))
        .column("p50", |(_, of)| time(of, of.p50_ns))
        .column("p99", |(_, of)| time(of, of.p99_ns))
        .column("p99.99", |(_, of)| time(of, of.p9999_ns))
        .column("longest", |(_, of)| time(of, of.max_ns))
        .column("once", |(_, of)| time(of, of.p9999_once_ns));
    document.rows(rows);
    document.note(format!(
        "once: p99.99 of the first of {} repetitions, with interrupts. Other columns: minimum of the repetitions.",
        latencies.repetitions
    ));
    for engine in &latencies.engines {
        for stage in &engine.stages {
            if let Some((what, text)) = unfinished(stage) {
                document.item(what, format!("{}, {}: {text}", engine.engine, stage.what));
            }
        }
        let not_reached = engine.stages.iter().filter(|stage| stage.ended == Some(StageEnd::NotReached));
        let not_reached: Vec<&str> = not_reached.map(|stage| stage.what).collect();
        if !not_reached.is_empty() {
            document.item("Not reached", format!("{}: {}", engine.engine, not_reached.join("; ")));
        }
    }
    for of in &latencies.engines {
        if let Some(sentence) = tables::substitute(&of.engine, of.substitute.as_deref()) {
            document.item("Substitute", format!("{sentence}."));
        }
    }
    document.item(
        "Clock",
        format!("two clock reads take {}, which is subtracted.", duration_ns(latencies.clock_ns)),
    );
    document
}

fn called(stage: &Stage) -> String {
    match &stage.ended {
        Some(StageEnd::Full(_)) => format!("{}, until full", stage.what),
        Some(StageEnd::Differs(_)) => format!("{}, until it differs", stage.what),
        Some(StageEnd::Wrong(_)) => format!("{}, until WRONG", stage.what),
        Some(StageEnd::NotReached | StageEnd::GivenUp(_)) | None => stage.what.to_owned(),
    }
}

fn unfinished(stage: &Stage) -> Option<(&'static str, String)> {
    Some(match stage.ended.as_ref()? {
        StageEnd::NotReached => return None,
        StageEnd::GivenUp(why) => ("Given up", why.clone()),
        StageEnd::Full(when) => ("Full", tables::full(when)),
        StageEnd::Differs(what) => ("Differs", tables::differs(what)),
        StageEnd::Wrong(what) => ("WRONG", format!("{what}.")),
    })
}

pub fn json(latencies: &Latencies, load: Option<f64>) -> Value {
    measured(
        load,
        json!({
            "entries": latencies.entries,
            "repetitions": latencies.repetitions,
            "clock_ns": latencies.clock_ns,
            "nothing": percentiles(&latencies.nothing),
            "engines": latencies.engines.iter().map(|engine| json!({
                "engine": engine.engine,
                "substitute": engine.substitute,
                "all": percentiles(&engine.all),
                "stages": engine.stages.iter().map(stage).collect::<Vec<_>>(),
            })).collect::<Vec<_>>(),
        }),
    )
}

fn stage(stage: &Stage) -> Value {
    let mut value = percentiles(&stage.percentiles);
    value["stage"] = json!(stage.what);
    if let Some(ended) = &stage.ended {
        let (member, why) = match ended {
            StageEnd::NotReached => ("unfinished", "not reached"),
            StageEnd::GivenUp(why) => ("unfinished", why.as_str()),
            StageEnd::Full(when) => ("full", when.as_str()),
            StageEnd::Differs(what) => ("differs", what.as_str()),
            StageEnd::Wrong(what) => ("wrong", what.as_str()),
        };
        value["unfinished"] = json!(why);
        value[member] = json!(why);
    }
    value
}

/// Percentiles of no calls are null, because 0 ns would be the best time.
fn percentiles(of: &Percentiles) -> Value {
    let some = |ns: u32| (of.calls > 0).then_some(ns);
    json!({
        "calls": of.calls,
        "p50_ns": some(of.p50_ns),
        "p99_ns": some(of.p99_ns),
        "p9999_ns": some(of.p9999_ns),
        "max_ns": some(of.max_ns),
        "p9999_once_ns": some(of.p9999_once_ns),
    })
}
