//! What application threads pay and get done while one thread hands in batches: tables and JSON.

use std::io::{self, Write};

use matchpoint_bench::batches::{BatchRate, BatchRates, Posts};
use serde_json::json;

use super::json::SCHEMA;
use crate::format::digits;
use crate::report::terminal::layout::Page;

/// The whole text, on a terminal of so many columns.
pub fn terminal(rates: &BatchRates, width: usize) -> String {
    let mut page = Page::of_width(width);
    for posts in Posts::ALL {
        page.heading(&format!("Posted while a batch is under way: {}", posts.title()));
        let rows = rates.rates.iter().filter(|rate| rate.posts == posts).map(row);
        page.wide_table(&HEADER, &rows.collect::<Vec<_>>());
    }
    let here = format!(
        "{} processors. One more thread hands in batches of {} messages, for receives that callers posted; again. Million messages \
         per second (p25–p75); posts that begin while a batch is under way.",
        rates.processors, rates.options.batch
    );
    page.item("Here", &here);
    page.into_text()
}

const HEADER: [&str; 5] = ["engine", "callers", "million/s", "ns a post", "p99"];

fn row(rate: &BatchRate) -> Vec<String> {
    let [median, p99] = match rate.post {
        Some(post) => [post.median_ns, post.p99_ns].map(digits),
        None => ["none", ""].map(str::to_owned),
    };
    let speed = format!("{} ({}–{})", digits(rate.median), digits(rate.p25), digits(rate.p75));
    vec![rate.engine.clone(), rate.callers.to_string(), speed, median, p99]
}

/// Writes all of it as JSON.
///
/// # Errors
/// Those of `out`.
pub fn json(rates: &BatchRates, out: &mut dyn Write) -> io::Result<()> {
    let each = |rate: &BatchRate| {
        json!({
            "posts": rate.posts.name(),
            "callers": rate.callers,
            "engine": rate.engine,
            "rate_millions_per_s": rate.median,
            "rate_p25": rate.p25,
            "rate_p75": rate.p75,
            "post_ns_median": rate.post.map(|post| post.median_ns),
            "post_ns_p99": rate.post.map(|post| post.p99_ns),
            "posts_timed": rate.post.map_or(0, |post| post.timed),
            "right": rate.is_right,
        })
    };
    let document = json!({
        "schema": SCHEMA,
        "matchpoint": env!("CARGO_PKG_VERSION"),
        "host": matchpoint_replay::host::host(),
        "processors": rates.processors,
        "batch": rates.options.batch,
        "batches": rates.options.batches,
        "repetitions": rates.options.repetitions,
        "beside_batches": rates.rates.iter().map(each).collect::<Vec<_>>(),
    });
    serde_json::to_writer_pretty(&mut *out, &document)?;
    out.write_all(b"\n")
}
