//! The reports of concurrent callers and of offloaded matching: tables and JSON.

use std::collections::BTreeSet;

use matchpoint_bench::callers::{CallerRates, Sharing};
use matchpoint_bench::offload::{Cost, Costs, OffloadCost, OffloadOptions};
use matchpoint_bench::results::Full;
use matchpoint_replay::format::{counted, in_place, with_spread};
use serde_json::{Value, json};

use super::tables;
use crate::report::document::Document;
use crate::report::schema::measured;

pub fn callers(rates: &CallerRates) -> Document {
    let mut document = Document::default();
    for sharing in Sharing::ALL {
        document.section(format!(
            "Million messages per second, all callers together, sharing {} (p25–p75)",
            match sharing {
                Sharing::Nothing => "the engine: a communicator each",
                shared => shared.title(),
            }
        ));
        let counts: Vec<String> =
            rates.options.callers.iter().map(|&callers| counted(callers as u64, "caller")).collect();
        let header: Vec<&str> = ["engine"].into_iter().chain(counts.iter().map(String::as_str)).collect();
        let row = |name: &String| {
            let cells = rates.rates.iter().filter(|rate| rate.sharing == sharing && rate.engine == *name);
            let substitute = cells.clone().find_map(|rate| rate.substitute.as_deref());
            let text = cells.map(|rate| match rate.full {
                Some(_) => FULL.to_owned(),
                None => with_spread([rate.median, rate.p25, rate.p75]),
            });
            [in_place(name, substitute)].into_iter().chain(text).collect()
        };
        document.table(&header, rates.options.engines.iter().map(row).collect());
    }
    full_tables(&mut document, rates.rates.iter().map(|rate| (&*rate.engine, rate.full.as_ref())));
    document.item(
        "Here",
        format!(
            "{} processors. Each caller posts {} receives of a separate source, then their messages arrive; \
             repeatedly.",
            rates.processors, rates.options.burst
        ),
    );
    document
}

/// The first measurement with a full table, for each engine.
pub(super) fn full_tables<'a>(
    document: &mut Document,
    rates: impl Iterator<Item = (&'a str, Option<&'a Full>)>,
) {
    let mut reported = BTreeSet::new();
    for (engine, full) in rates {
        if let Some(Full(when)) = full.filter(|_| reported.insert(engine)) {
            document.item("Full", format!("{engine}: {}", tables::full(when)));
        }
    }
}

pub fn callers_json(rates: &CallerRates, load: Option<f64>) -> Value {
    let each = |rate: &matchpoint_bench::callers::CallerRate| {
        let measured = |figure: f64| rate.full.is_none().then_some(figure);
        json!({
            "sharing": rate.sharing.name(),
            "callers": rate.callers,
            "engine": rate.engine,
            "substitute": rate.substitute,
            "rate_millions_per_s": measured(rate.median),
            "rate_p25": measured(rate.p25),
            "rate_p75": measured(rate.p75),
            "full": rate.full.as_ref().map(|Full(when)| when),
            "right": rate.is_right,
        })
    };
    measured(
        load,
        json!({
            "processors": rates.processors,
            "burst": rates.options.burst,
            "bursts": rates.options.bursts,
            "repetitions": rates.options.repetitions,
            "callers": rates.rates.iter().map(each).collect::<Vec<_>>(),
        }),
    )
}

pub fn offload(options: &OffloadOptions, costs: &[OffloadCost]) -> Document {
    let mut document = Document::default();
    document.section("Nanoseconds of the application's thread per call (p25–p75)");
    let text = |cost: &Cost| with_spread([cost.median_ns, cost.p25_ns, cost.p75_ns]);
    let row = |cost: &OffloadCost| {
        let name = in_place(&cost.engine, cost.substitute.as_deref());
        let name = if cost.fell_back { format!("{name}, fell back") } else { name };
        let of_each = match &cost.costs {
            Ok(costs) => all_costs(costs).map(text),
            Err(Full(_)) => [FULL; 4].map(str::to_owned),
        };
        [name].into_iter().chain(of_each).collect()
    };
    document.table(
        &["engine", "post here", "post offloaded", "arrival here", "completion offloaded"],
        costs.iter().map(row).collect(),
    );
    full_tables(&mut document, costs.iter().map(|cost| (&*cost.engine, cost.costs.as_ref().err())));
    document.item(
        "Here",
        format!(
            "sequences of {} messages, {} receives in front, a budget of {} KiB for engine and rings.",
            options.messages,
            options.depth,
            options.budget_bytes >> 10
        ),
    );
    document
}

pub(super) const FULL: &str = "full";

fn all_costs(costs: &Costs) -> [&Cost; 4] {
    [&costs.post, &costs.post_offloaded, &costs.arrive, &costs.completion_offloaded]
}

pub fn offload_json(options: &OffloadOptions, costs: &[OffloadCost], load: Option<f64>) -> Value {
    let of = |cost: Option<&Cost>| -> Value {
        json!({
            "median_ns": cost.map(|cost| cost.median_ns),
            "p25_ns": cost.map(|cost| cost.p25_ns),
            "p75_ns": cost.map(|cost| cost.p75_ns),
        })
    };
    let one = |cost: &OffloadCost| {
        let [post, post_offloaded, arrive, completion_offloaded] =
            cost.costs.as_ref().map_or([None; 4], |costs| all_costs(costs).map(Some)).map(of);
        let mut value = json!({
            "engine": cost.engine,
            "substitute": cost.substitute,
            "post": post,
            "post_offloaded": post_offloaded,
            "arrive": arrive,
            "completion_offloaded": completion_offloaded,
            "fell_back": cost.fell_back,
            "right": cost.is_right,
        });
        if let Err(Full(when)) = &cost.costs {
            value["full"] = json!(when);
        }
        value
    };
    measured(
        load,
        json!({
            "messages": options.messages,
            "depth": options.depth,
            "budget_bytes": options.budget_bytes,
            "repeats": options.repeats,
            "repetitions": options.repetitions,
            "offload": costs.iter().map(one).collect::<Vec<_>>(),
        }),
    )
}
