//! Reads the JSON of an earlier `matchpoint bench gpu --json`.

use std::collections::HashMap;

use matchpoint_gpu::card::Description;
use matchpoint_gpu::figures::{Figure, Job, Measured};
use matchpoint_gpu::measure::{Fed, Rate};
use serde_json::Value;

use super::{Lacking, OnCard};

/// For each command, a member that only its JSON has.
const KINDS: [(&str, &str); 8] = [
    ("processes", "run --json"),
    ("verdict", "analyze --json"),
    ("reference_ns", "bench engines --json"),
    ("clock_ns", "bench latency --json"),
    ("rates", "bench rate --json"),
    ("callers", "bench callers --json"),
    ("offload", "bench offload --json"),
    ("queue_search", "predict --json"),
];

/// Other results must be valid, and only their names are returned.
pub fn read<'a>(document: &Value, jobs: &'a [Job]) -> Result<OnCard<'a>, String> {
    if document["card"].is_null() {
        let kind = KINDS.iter().find(|(member, _)| document.get(member).is_some());
        return Err(match kind {
            Some((_, command)) => format!("a file of `matchpoint {command}`"),
            None => "no `card`".to_owned(),
        });
    }
    let card = card(&document["card"]).ok_or("incomplete `card`")?;
    let results = document["results"].as_array().ok_or("no `results`")?;
    let count = document.get("measurements").map_or(Some(results.len() as u64), Value::as_u64);
    match count.ok_or("`measurements` is not a count")? {
        whole if whole == results.len() as u64 => {}
        whole => return Err(format!("{} of {whole} results", results.len())),
    }
    let mut known = HashMap::new();
    for (at, result) in results.iter().enumerate() {
        let row = Row::of(result).map_err(|damage| format!("number {} of its `results` {damage}", at + 1))?;
        if known.insert((row.figure.to_owned(), row.label), (at, row.measured)).is_some() {
            return Err(format!("duplicate result {}, `{}`", row.figure, row.label));
        }
    }
    let mut on_card = OnCard { card, measured: Vec::new(), lacking: Vec::new(), others: Vec::new() };
    for job in jobs.iter().filter(|job| job.fits(on_card.card.multiprocessors)) {
        match known.remove(&(format!("{:?}", job.figure), &*job.label)) {
            Some((_, Ok(measured))) => on_card.measured.push((job, measured)),
            Some((_, Err(why))) => on_card.lacking.push(Lacking { job, why, has_failed: true }),
            None => {
                let why = "not in this result".to_owned();
                on_card.lacking.push(Lacking { job, why, has_failed: false });
            }
        }
    }
    let mut others: Vec<_> =
        known.into_iter().map(|((figure, label), (at, _))| (at, figure, label)).collect();
    others.sort_unstable();
    on_card.others = others.into_iter().map(|(_, figure, label)| format!("{figure}, `{label}`")).collect();
    match on_card.others.first() {
        _ if !on_card.measured.is_empty() => Ok(on_card),
        None => Err("no measurements".to_owned()),
        Some(first) => Err(format!(
            "no requested measurement, but {} others, such as {first}: give the same -w trace:PATH as in the \
             measurement, or none",
            on_card.others.len()
        )),
    }
}

fn card(card: &Value) -> Option<Description> {
    let number = |key: &str| card[key].as_u64();
    let (major, minor) = card["compute_capability"].as_str()?.split_once('.')?;
    Some(Description {
        name: card["name"].as_str()?.to_owned(),
        compute_capability: (major.parse().ok()?, minor.parse().ok()?),
        multiprocessors: number("multiprocessors")?.try_into().ok()?,
        clock_khz: number("clock_khz")?.try_into().ok()?,
        memory_clock_khz: number("memory_clock_khz")?.try_into().ok()?,
        l2_bytes: number("l2_bytes")?.try_into().ok()?,
        memory_bytes: number("memory_bytes")?.try_into().ok()?,
        driver_version: number("driver_version")?.try_into().ok()?,
    })
}

struct Row<'a> {
    figure: &'a str,
    label: &'a str,
    measured: Result<Measured, String>,
}

impl<'a> Row<'a> {
    fn of(result: &'a Value) -> Result<Self, String> {
        let text = |key: &str| result[key].as_str().ok_or_else(|| format!("has no text `{key}`"));
        let (figure, label) = (text("figure")?, text("label")?);
        if let Some(why) = result["missing"].as_str() {
            return Ok(Row { figure, label, measured: Err(why.to_owned()) });
        }
        let is_fed = figure == format!("{:?}", Figure::Fed);
        let measured = if is_fed { fed(result) } else { rate(result) };
        let measured = measured.map_err(|key| {
            let found = match &result[key] {
                Value::Null => "nothing".to_owned(),
                found => found.to_string(),
            };
            format!("({figure}, `{label}`) has {found} in place of a figure as `{key}`")
        })?;
        Ok(Row { figure, label, measured: Ok(measured) })
    }
}

fn number(result: &Value, key: &'static str) -> Result<f64, &'static str> {
    result[key].as_f64().filter(|number| number.is_finite() && *number >= 0.0).ok_or(key)
}

fn count(result: &Value, key: &'static str) -> Result<usize, &'static str> {
    result[key].as_u64().and_then(|count| count.try_into().ok()).ok_or(key)
}

fn rate(result: &Value) -> Result<Measured, &'static str> {
    Ok(Measured::Rate(Rate {
        median: number(result, "rate")?,
        least: number(result, "rate_least")?,
        most: number(result, "rate_most")?,
        matches: count(result, "matches")?,
    }))
}

/// Files of earlier versions have one pass.
fn of_passes(
    result: &Value,
    [median, least, most]: [&'static str; 3],
    passes: usize,
) -> Result<Rate, &'static str> {
    let median = number(result, median)?;
    if passes == 1 {
        return Ok(Rate { median, least: median, most: median, matches: 0 });
    }
    let (least, most) = (number(result, least)?, number(result, most)?);
    Ok(Rate { median, least, most, matches: count(result, "matches")? })
}

fn fed(result: &Value) -> Result<Measured, &'static str> {
    let passes = if result["passes"].is_null() { 1 } else { count(result, "passes")? };
    let rate = |keys| of_passes(result, keys, passes);
    Ok(Measured::Fed(Fed {
        entries: count(result, "entries")?,
        passes,
        by_host: rate(["by_host", "by_host_least", "by_host_most"])?,
        by_card: rate(["by_card", "by_card_least", "by_card_most"])?,
        latency_ns: (number(result, "latency_ns")?, number(result, "latency_p99_ns")?),
        engine: ("hybrid".to_owned(), rate(["hybrid", "hybrid_least", "hybrid_most"])?),
    }))
}
