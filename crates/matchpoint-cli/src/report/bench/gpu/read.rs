//! What an earlier `matchpoint bench --gpu --json` wrote, read again.

use matchpoint_gpu::card::Description;
use matchpoint_gpu::figures::{Job, Measured};
use matchpoint_gpu::measure::{Fed, Rate};
use serde_json::Value;

/// A card, and what it did.
pub type OnCard<'a> = (Description, Vec<(&'a Job, Measured)>);

/// The card, and what it did of `jobs`: those that the document knows by figure and label.
///
/// # Errors
/// What the document lacks.
pub fn read<'a>(document: &Value, jobs: &'a [Job]) -> Result<OnCard<'a>, String> {
    let card = card(&document["card"]).ok_or("no `card` with all that describes one")?;
    let results = document["results"].as_array().ok_or("no `results`")?;
    let of = |job: &'a Job| {
        let figure = format!("{:?}", job.figure);
        let is_it = |result: &&Value| result["figure"] == *figure && result["label"] == *job.label;
        Some((job, measured(results.iter().find(is_it)?)?))
    };
    let measured: Vec<_> = jobs.iter().filter_map(of).collect();
    if measured.is_empty() { Err("none of the measurements".to_owned()) } else { Ok((card, measured)) }
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

fn measured(result: &Value) -> Option<Measured> {
    let number = |key: &str| result[key].as_f64();
    if let Some(median) = number("rate") {
        let (least, most) = (number("rate_least")?, number("rate_most")?);
        let matches = result["matches"].as_u64()? as usize;
        return Some(Measured::Rate(Rate { median, least, most, matches }));
    }
    Some(Measured::Fed(Fed {
        entries: result["entries"].as_u64()? as usize,
        by_host: number("by_host")?,
        by_card: number("by_card")?,
        latency_ns: (number("latency_ns")?, number("latency_p99_ns")?),
        engine: ("hybrid".to_owned(), number("hybrid")?),
    }))
}
