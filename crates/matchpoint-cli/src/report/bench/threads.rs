//! The reports of concurrent callers and of offloaded matching: tables and JSON.

use std::collections::BTreeSet;

use matchpoint_bench::callers::{CallerRates, Sharing};
use matchpoint_bench::offload::{Cost, Costs, OffloadCost, OffloadOptions};
use matchpoint_bench::results::Full;
use matchpoint_replay::format::{counted, in_place, with_spread};
use serde_json::{Value, json};

use super::tables;
use crate::report::document::{Document, Rows};
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
        let of_engine = |name: &str| {
            let name = name.to_owned();
            rates.rates.iter().filter(move |rate| rate.sharing == sharing && rate.engine == name)
        };
        let engines = Rows::of(&rates.options.engines).column("engine", |name| {
            in_place(name, of_engine(name).find_map(|rate| rate.substitute.as_deref()))
        });
        let rows = rates.options.callers.iter().fold(engines, |rows, &callers| {
            rows.column(counted(callers as u64, "caller"), |name| {
                match of_engine(name).find(|rate| rate.callers == callers) {
                    None => String::new(),
                    Some(rate) if rate.full.is_some() => FULL.to_owned(),
                    Some(rate) => with_spread(rate.rate.values()),
                }
            })
        });
        document.rows(rows);
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
    measured(load, json!(rates))
}

pub fn offload(options: &OffloadOptions, costs: &[OffloadCost]) -> Document {
    let mut document = Document::default();
    document.section("Nanoseconds of the application's thread per call (p25–p75)");
    let cell = |of: &OffloadCost, cost: fn(&Costs) -> &Cost| match cost(&of.costs) {
        _ if of.full.is_some() => FULL.to_owned(),
        cost => with_spread([cost.median_ns, cost.p25_ns, cost.p75_ns]),
    };
    let rows = Rows::of(costs)
        .column("engine", |of| {
            let fell_back = if of.fell_back { ", fell back" } else { "" };
            in_place(&of.engine, of.substitute.as_deref()) + fell_back
        })
        .column("post here", |of| cell(of, |costs| &costs.post))
        .column("post offloaded", |of| cell(of, |costs| &costs.post_offloaded))
        .column("arrival here", |of| cell(of, |costs| &costs.arrive))
        .column("completion offloaded", |of| cell(of, |costs| &costs.completion_offloaded));
    document.rows(rows);
    full_tables(&mut document, costs.iter().map(|cost| (&*cost.engine, cost.full.as_ref())));
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

pub fn offload_json(options: &OffloadOptions, costs: &[OffloadCost], load: Option<f64>) -> Value {
    let mut document = json!(options);
    document["offload"] = json!(costs);
    measured(load, document)
}
