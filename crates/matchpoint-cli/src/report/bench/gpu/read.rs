//! What an earlier `matchpoint bench --gpu --json` wrote, read again.

use std::collections::HashMap;

use matchpoint_gpu::card::Description;
use matchpoint_gpu::figures::{Figure, Job, Measured};
use matchpoint_gpu::measure::{Fed, Rate};
use serde_json::Value;

/// A card, and what it did.
pub type OnCard<'a> = (Description, Vec<(&'a Job, Measured)>);

/// The card, and what it did of `jobs`: those that the document knows by figure and label. Other measurements are left out, but
/// have to be whole, too.
///
/// # Errors
/// What the document lacks, or which of its results is damaged.
pub fn read<'a>(document: &Value, jobs: &'a [Job]) -> Result<OnCard<'a>, String> {
    let card = card(&document["card"]).ok_or("it has no `card` with all that describes one")?;
    let results = document["results"].as_array().ok_or("it has no `results`")?;
    let mut known = HashMap::new();
    for (at, result) in results.iter().enumerate() {
        let row = Row::of(result).map_err(|damage| format!("number {} of its `results` {damage}", at + 1))?;
        if known.insert((row.figure.to_owned(), row.label), row.measured).is_some() {
            return Err(format!("its `results` have {}, `{}` twice", row.figure, row.label));
        }
    }
    let of = |job: &'a Job| Some((job, known.remove(&(format!("{:?}", job.figure), &*job.label))?));
    let measured: Vec<_> = jobs.iter().filter_map(of).collect();
    if measured.is_empty() { Err("it has none of the measurements".to_owned()) } else { Ok((card, measured)) }
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

/// A result.
struct Row<'a> {
    figure: &'a str,
    label: &'a str,
    measured: Measured,
}

impl<'a> Row<'a> {
    /// # Errors
    /// What is wrong with it.
    fn of(result: &'a Value) -> Result<Self, String> {
        let text = |key: &str| result[key].as_str().ok_or_else(|| format!("has no text `{key}`"));
        let (figure, label) = (text("figure")?, text("label")?);
        let is_fed = figure == format!("{:?}", Figure::Fed);
        let measured = if is_fed { fed(result) } else { rate(result) };
        let measured = measured.map_err(|key| {
            let found = match &result[key] {
                Value::Null => "nothing".to_owned(),
                found => found.to_string(),
            };
            format!("({figure}, `{label}`) has {found} in place of a figure as `{key}`")
        })?;
        Ok(Row { figure, label, measured })
    }
}

/// A number that something measured may be.
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

fn fed(result: &Value) -> Result<Measured, &'static str> {
    Ok(Measured::Fed(Fed {
        entries: count(result, "entries")?,
        by_host: number(result, "by_host")?,
        by_card: number(result, "by_card")?,
        latency_ns: (number(result, "latency_ns")?, number(result, "latency_p99_ns")?),
        engine: ("hybrid".to_owned(), number(result, "hybrid")?),
    }))
}
